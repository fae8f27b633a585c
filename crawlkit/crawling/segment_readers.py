"""Readers of Parquet segments: whole tables, or some columns of them in pieces.

A reader takes the list of segments and the rows that still wait in the database from one snapshot
of it, so it sees each row once at any moment, also while a crawl runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlkit.crawling.buffer import buffer_to_arrow
from crawlkit.crawling.database import read_only
from crawlkit.crawling.schema import arrow_schema, empty_frame, to_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

__all__ = ["read_batches", "read_link_targets", "read_table"]

# Rows of a piece at most.
_BATCH = 65_536


def read_table(folder: Path, table: str) -> pd.DataFrame:
    """Return a table of a crawl folder as it is at this moment, each row once.

    Parameters
    ----------
    folder
        The crawl folder; a crawl may be running in it.
    table
        ``"pages"``, ``"links"``, ``"fetches"``, ``"changes"`` or ``"events"``.
    """
    for _ in range(10):
        try:
            arrow = _read_once(folder, table)
        except FileNotFoundError:  # compacted away between the list and the file: look again
            continue
        break
    else:
        arrow = _read_once(folder, table)
    if arrow is None:
        return empty_frame(table)
    frame = to_frame(table, arrow)
    if table == "pages":
        frame = _latest(frame)
    return frame


def _read_once(folder: Path, table: str) -> pa.Table | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names, waiting = _segments(folder, table)
    schema = arrow_schema(table)
    parts: list[pa.Table] = []
    for name in names:
        with pq.ParquetFile(folder / name) as file:
            parts.append(file.read())
    if parts:
        # Segments of an earlier release may lack a column: it is null in their rows.
        whole = pa.concat_tables([schema.empty_table(), *parts], promote_options="default")
        parts = [whole.select(schema.names).cast(schema)]
    buffered = buffer_to_arrow(waiting).get(table)
    if buffered is not None:
        parts.append(buffered)
    return pa.concat_tables(parts) if parts else None


def read_batches(folder: Path, table: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield some columns of a table in pieces, rows in the order in which they were written.

    Nothing but these columns is read from the disk, and one piece is in memory at a time. Of a
    page that was fetched again there are several rows; the last one is the latest.

    Parameters
    ----------
    folder
        The crawl folder; a crawl may be running in it.
    table
        As for :func:`read_table`.
    columns
        Names of columns; a segment of an earlier release that lacks one has nulls in it.
    """
    import pyarrow as pa

    full = arrow_schema(table)
    schema = pa.schema([full.field(name) for name in columns])
    given = 0
    for attempt in range(10):
        seen = 0
        try:
            for piece in _batches(folder, table, schema):
                rows = piece.num_rows
                if seen + rows > given:  # compacting keeps the order of the rows
                    yield piece.slice(max(0, given - seen))
                    given = seen + rows
                seen += rows
        except FileNotFoundError:  # compacted away meanwhile: go on in the new file
            if attempt == 9:
                raise
            continue
        return


def _batches(folder: Path, table: str, schema: pa.Schema) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names, waiting = _segments(folder, table)
    empty = schema.empty_table()
    for name in names:
        with pq.ParquetFile(folder / name) as file:
            there = [column for column in schema.names if column in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=_BATCH, columns=there):
                piece = pa.Table.from_batches([batch])
                whole = pa.concat_tables([empty, piece], promote_options="default")
                yield whole.select(schema.names).cast(schema)
    buffered = buffer_to_arrow(waiting).get(table)
    if buffered is not None:
        yield buffered.select(schema.names).cast(schema)


def read_link_targets(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield source, target and kind of every link kept, without loading them all at once."""
    import pyarrow.parquet as pq

    columns = ["source", "target", "kind"]
    names, waiting = _segments(folder, "links")
    for name in names:
        with pq.ParquetFile(folder / name) as file:
            for batch in file.iter_batches(columns=columns):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
    table = buffer_to_arrow(waiting).get("links")
    if table is not None:
        yield from zip(*(table[name].to_pylist() for name in columns), strict=True)


def _segments(folder: Path, table: str) -> tuple[list[str], list[bytes]]:
    """Return the names of a table's segments, and the rows of all tables that wait for one."""
    with read_only(folder) as connection:
        listed = connection.execute(
            "SELECT name FROM segments WHERE tablename = ? ORDER BY first_seq", (table,)
        )
        names = [row[0] for row in listed]
        rows = connection.execute("SELECT CAST(rows AS BLOB) FROM buffer ORDER BY seq")
        waiting = [row[0] for row in rows]
    return names, waiting


def _latest(pages: pd.DataFrame) -> pd.DataFrame:
    """Keep each page's latest row; the rows are in the order of the fetches."""
    if pages["url"].is_unique:
        return pages
    return pages.drop_duplicates("url", keep="last").reset_index(drop=True)
