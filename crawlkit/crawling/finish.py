"""Leave a folder's tables in order when a crawl ends."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from crawlkit.crawling.database import transaction
from crawlkit.crawling.faults import point
from crawlkit.crawling.readers import records_to_arrow, urls_to_arrow
from crawlkit.crawling.tables import compact, flush_buffer, sync_folder
from crawlkit.crawling.writer import save_meta

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from crawlkit.crawling.session import Session

__all__ = ["finish_tables"]


def finish_tables(session: Session, reason: str) -> None:
    """Write what is buffered, record the end, and compact unless somebody is waiting.

    Parameters
    ----------
    session
        The session that is about to end.
    reason
        Why the crawl ended.

    Raises
    ------
    StorageFailed
        The disk refused a write; the rows are safe in the database.
    """
    connection, folder = session.connection, session.folder
    flush_buffer(connection, folder)
    with transaction(connection):
        stop = {"reason": reason, "at": time.time(), "pending": session.frontier.pending}
        save_meta(connection, "stop", stop)
    point("finish.recorded")
    if reason == "interrupted":
        return
    compact(connection, folder)
    _snapshot(folder / "urls", urls_to_arrow(connection))
    if connection.execute("SELECT 1 FROM records LIMIT 1").fetchone() is not None:
        _snapshot(folder / "records", records_to_arrow(connection))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _snapshot(folder: Path, table: pa.Table) -> None:
    """Write a whole table for other tools; crawlkit itself reads it from the database."""
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    hidden = folder / ".part-000000.parquet"
    with hidden.open("wb") as file:
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())
    hidden.replace(folder / "part-000000.parquet")
    sync_folder(folder)
