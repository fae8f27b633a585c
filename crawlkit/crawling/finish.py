"""Leave a folder's tables in order when a crawl ends."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING

from crawlkit.crawling.database import transaction
from crawlkit.crawling.faults import point
from crawlkit.crawling.meta import save_meta
from crawlkit.crawling.readers import records_to_arrow, urls_to_arrow
from crawlkit.crawling.tables import compact, flush_buffer, sync_folder
from crawlkit.errors import StorageFailed

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from crawlkit.crawling.session import Session

__all__ = ["finish_tables"]


def finish_tables(session: Session, reason: str, stop: threading.Event | None = None) -> None:
    """Write what is buffered, record the end, and compact unless somebody is waiting.

    Parameters
    ----------
    session
        The session that is about to end.
    reason
        Why the crawl ended.
    stop
        Set, perhaps on the way, when somebody is waiting.

    Raises
    ------
    StorageFailed
        The disk refused a write; the rows are safe in the database.
    """
    connection, folder = session.connection, session.folder
    flush_buffer(connection, folder)
    with transaction(connection):
        end = {"reason": reason, "at": time.time(), "pending": session.frontier.pending}
        save_meta(connection, "stop", end)
    point("finish.recorded")
    stop = stop or threading.Event()
    if reason == "interrupted" or stop.is_set():
        return
    compact(connection, folder, stop)
    for name, read in (("urls", urls_to_arrow), ("records", records_to_arrow)):
        if stop.is_set():
            return
        # Arrow loads pandas to make an empty table, so it is not asked for one.
        if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() is not None:
            _snapshot(folder / name, read(connection))
    # A disk too full for it says so at the next write: the log holds everything as well.
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _snapshot(folder: Path, table: pa.Table) -> None:
    """Write a whole table for other tools; crawlkit itself reads it from the database."""
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    hidden = folder / ".part-000000.parquet"
    try:
        with hidden.open("wb") as file:
            pq.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(folder / "part-000000.parquet")
        sync_folder(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            hidden.unlink()
        raise StorageFailed(
            f"{folder} cannot be written: {error}. The crawl is safe in its database; free some "
            f"space and run the same call again."
        ) from error
