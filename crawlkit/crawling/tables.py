"""Parquet segments: how they are written.

Finished rows first wait in the database's ``buffer``, written with the result they belong to.
When enough wait, they become one segment per table: written under a name that starts with a dot,
synced, renamed, and then listed in ``segments`` in the transaction that empties the buffer. A
file that is not listed does not exist.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Self

from crawlkit.crawling.buffer import buffer_to_arrow
from crawlkit.crawling.database import transaction
from crawlkit.crawling.faults import point
from crawlkit.crawling.schema import (
    SEGMENTED,
    arrow_schema,
)
from crawlkit.errors import StorageFailed

if TYPE_CHECKING:
    import sqlite3
    import threading
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    import pyarrow as pa

__all__ = [
    "clean_folder",
    "compact",
    "flush_buffer",
]

# Bytes of results decoded at a time, rows of a row group, and rows of one in a compacted
# file: they bound the memory in use.
_CHUNK = 500_000
_ROW_GROUP = 8_192
_COMPACTED = 16_384


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _new_segment(path: Path, table: str, fault: str) -> Iterator[Any]:
    """Give a Parquet writer; the file gets its name only when it is whole and on the disk."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(exist_ok=True)
    hidden = path.with_name("." + path.name)
    try:
        with hidden.open("wb") as file:
            pool = pa.system_memory_pool()  # it gives back what a segment took
            schema = arrow_schema(table)
            with pq.ParquetWriter(file, schema, compression="zstd", memory_pool=pool) as writer:
                yield writer
            file.flush()
            os.fsync(file.fileno())
        point(f"{fault}.written")
        hidden.replace(path)
        sync_folder(path.parent)
        point(f"{fault}.renamed")
    except BaseException as error:
        with contextlib.suppress(OSError):
            hidden.unlink()
        if not isinstance(error, OSError) or isinstance(error, StorageFailed):
            raise
        raise StorageFailed(
            f"{path} cannot be written: {error}. The rows are safe in the database; free some "
            f"space and run the same call again."
        ) from error


class _Part:
    """One table's part of a segment: rows are gathered into row groups of a useful size."""

    def __init__(self, path: Path, table: str) -> None:
        self.rows = 0
        self._path = path
        self._table = table
        self._open_file = contextlib.ExitStack()
        self._writer: Any = None
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0

    def add(self, rows: pa.Table) -> None:
        """Take rows in; write them once there are enough for a row group."""
        self._waiting.append(rows)
        self._waiting_rows += rows.num_rows
        if self._waiting_rows >= _ROW_GROUP:
            self.write()

    def write(self) -> None:
        """Write what is waiting as one row group."""
        import pyarrow as pa

        if not self._waiting:
            return
        if self._writer is None:
            segment = _new_segment(self._path, self._table, "segment")
            self._writer = self._open_file.enter_context(segment)
        self._writer.write_table(pa.concat_tables(self._waiting))
        self.rows += self._waiting_rows
        self._waiting, self._waiting_rows = [], 0

    def close(self) -> None:
        """Give the file its name."""
        self._open_file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open_file.__exit__(kind, error, trace)


def _next_number(connection: sqlite3.Connection) -> int:
    last = connection.execute(
        "SELECT max(name) FROM (SELECT substr(name, -14) AS name FROM segments)"
    )
    name = last.fetchone()[0]
    return 1 if name is None else int(name[:6]) + 1


def flush_buffer(connection: sqlite3.Connection, folder: Path) -> int:
    """Turn all waiting rows into one segment per table; return how many results that were.

    Raises
    ------
    StorageFailed
        The disk refused a write; the rows stay in the buffer.
    """
    last = connection.execute("SELECT max(seq) FROM buffer").fetchone()[0]
    if last is None:
        return 0
    number = _next_number(connection)
    with contextlib.ExitStack() as open_files:
        parts = {
            name: open_files.enter_context(
                _Part(folder / name / f"part-{number:06d}.parquet", name)
            )
            for name in SEGMENTED
        }
        for chunk in _chunks(connection, last):
            for name, table in buffer_to_arrow(chunk).items():
                parts[name].add(table)
        for part in parts.values():
            part.write()
            part.close()  # one after the other: an open writer holds some megabytes
    written = {name: part.rows for name, part in parts.items() if part.rows}
    with transaction(connection):
        for name, rows in written.items():
            connection.execute(
                "INSERT INTO segments (name, tablename, first_seq, rows) VALUES (?, ?, ?, ?)",
                (f"{name}/part-{number:06d}.parquet", name, number, rows),
            )
        count = connection.execute("DELETE FROM buffer WHERE seq <= ?", (last,)).rowcount
    point("segment.recorded")
    return count


def _chunks(connection: sqlite3.Connection, last: int) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for (rows,) in connection.execute(
        "SELECT CAST(rows AS BLOB) FROM buffer WHERE seq <= ? ORDER BY seq", (last,)
    ):
        if chunk and size + len(rows) > _CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append(rows)
        size += len(rows)
    if chunk:
        yield chunk


class _StoppedError(Exception):
    """Somebody is waiting for the end; what is half done goes, and nothing is lost."""


def compact(
    connection: sqlite3.Connection, folder: Path, stop: threading.Event | None = None
) -> None:
    """Join the segments of each table into one with large row groups.

    The old files go only after the new one is recorded; a reader that has just listed them looks
    again. Where ``stop`` is set on the way, the tables that are not done yet stay as they are.
    """
    for table in SEGMENTED:
        with contextlib.suppress(_StoppedError):
            _compact_table(connection, folder, table, stop)


def _compact_table(
    connection: sqlite3.Connection, folder: Path, table: str, stop: threading.Event | None
) -> None:
    old = [
        row[0]
        for row in connection.execute(
            "SELECT name FROM segments WHERE tablename = ? ORDER BY first_seq", (table,)
        )
    ]
    if len(old) < 2:
        return
    number = _next_number(connection)
    name = f"{table}/part-{number:06d}.parquet"
    rows = 0
    with _new_segment(folder / name, table, "compact") as writer:
        for group in _row_groups(folder, old, table):
            if stop is not None and stop.is_set():
                raise _StoppedError
            writer.write_table(group, row_group_size=_COMPACTED)
            rows += group.num_rows
    with transaction(connection):
        connection.execute("DELETE FROM segments WHERE tablename = ?", (table,))
        connection.execute(
            "INSERT INTO segments (name, tablename, first_seq, rows) VALUES (?, ?, ?, ?)",
            (name, table, number, rows),
        )
    point("compact.recorded")
    for gone in old:
        (folder / gone).unlink(missing_ok=True)


def _row_groups(folder: Path, names: list[str], table: str) -> Iterator[pa.Table]:
    """Yield the rows of many segments in large pieces."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = arrow_schema(table)
    waiting: list[pa.Table] = []
    rows = 0
    for name in names:
        # Without threads and reading ahead, each of which has megabytes of its own.
        with pq.ParquetFile(folder / name, pre_buffer=False, buffer_size=65_536) as file:
            for index in range(file.num_row_groups):
                piece = file.read_row_group(index, use_threads=False)
                piece = piece.replace_schema_metadata(schema.metadata)
                waiting.append(piece)
                rows += piece.num_rows
                if rows >= _COMPACTED:
                    yield pa.concat_tables(waiting)
                    waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def clean_folder(connection: sqlite3.Connection, folder: Path) -> list[str]:
    """Remove files that a death left behind unrecorded; return their names."""
    listed = {row[0] for row in connection.execute("SELECT name FROM segments")}
    gone: list[str] = []
    for table in SEGMENTED:
        for path in (folder / table).glob("*"):
            name = f"{table}/{path.name}"
            if path.is_file() and name not in listed and path.name.endswith(".parquet"):
                path.unlink(missing_ok=True)
                gone.append(name)
    return gone
