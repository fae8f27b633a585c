"""Readers of the tables that live in the database: URLs and records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.archive import find_url, load_body
from crawlkit.crawling.database import has_column, read_only
from crawlkit.crawling.frontier import STATES
from crawlkit.crawling.schema import COLUMNS, arrow_schema, read_json_rows, to_frame

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

    from crawlkit.web.urls import UrlRules

__all__ = [
    "read_bodies",
    "read_records",
    "read_url_batches",
    "read_urls",
    "records_to_arrow",
    "urls_to_arrow",
]

# SQLite makes the JSON and Arrow reads it, so that a million rows never become Python objects.
_STATE = " ".join(f"WHEN {number} THEN {name!r}" for number, name in enumerate(STATES))
_URL_COLUMNS = {
    "url": "urls.url",
    "key": "coalesce(urls.key, urls.url)",
    "url_hash": "urls.hash",
    "host": "hosts.name",
    "depth": "urls.depth",
    "state": f"CASE urls.state {_STATE} END",
    "reason": "urls.reason",
    "score": "urls.score",
    "found_on": "coalesce({found_in}, parents.url)",
    "found_seq": "urls.id",
    "source": "urls.source",
    "lastmod": "CAST(round(urls.lastmod * 1e6) AS INTEGER)",
}
_URLS = (
    "FROM urls JOIN hosts ON hosts.id = urls.host LEFT JOIN urls AS parents "
    "ON parents.id = urls.found_on ORDER BY urls.id"
)
_RECORDS = (
    "SELECT record_id, version_key, id, url, content_hash, first_seen, last_changed, data "
    "FROM records ORDER BY url, id"
)


def urls_to_arrow(connection: sqlite3.Connection) -> pa.Table:
    """Return every URL ever found, in order of discovery."""
    import pyarrow as pa

    schema = arrow_schema("urls")
    pieces = list(_url_batches(connection, schema.names))
    return pa.concat_tables(pieces) if pieces else schema.empty_table()


def _url_batches(connection: sqlite3.Connection, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield columns of the URLs, some thousand at a time."""
    import pyarrow as pa

    whole = arrow_schema("urls")
    schema = pa.schema([whole.field(name) for name in columns], metadata=whole.metadata)
    # A folder of an earlier release that nobody has gone on with lacks the column.
    found_in = "urls.found_in" if has_column(connection, "urls", "found_in") else "NULL"
    parts = ", ".join(f"'{name}', {_URL_COLUMNS[name]}" for name in columns)
    statement = f"SELECT CAST(json_object({parts}) AS BLOB) {_URLS}".replace("{found_in}", found_in)
    cursor = connection.execute(statement)
    # JSON has no times: they are whole microseconds on the way. Looked at as times again rather
    # than cast: casting loads Arrow's compute functions, and numpy with them.
    place = schema.get_field_index("lastmod")
    plain = schema if place < 0 else schema.set(place, pa.field("lastmod", pa.int64()))
    while rows := cursor.fetchmany(5_000):
        piece = read_json_rows([row[0] for row in rows], plain)
        if place >= 0:
            field = schema.field(place)
            times = [chunk.view(field.type) for chunk in piece.column(place).chunks]
            piece = piece.set_column(place, field, pa.chunked_array(times, field.type))
        yield piece.replace_schema_metadata(schema.metadata)


def read_url_batches(folder: Path, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield columns of the table ``urls`` in pieces, as it is at this moment."""
    with read_only(folder) as connection:
        yield from _url_batches(connection, columns)


def read_bodies(folder: Path, urls: Iterable[str], rules: UrlRules) -> Iterator[tuple[str, bytes]]:
    """Yield URL and body of pages, given in any spelling, where one is kept."""
    with read_only(folder) as connection:
        for url in urls:
            page_id = find_url(connection, url, rules)
            body = None if page_id is None else load_body(connection, page_id)
            if body is not None:
                yield url, body


def read_urls(folder: Path) -> pd.DataFrame:
    """Return the table ``urls`` of a crawl folder as it is at this moment."""
    with read_only(folder) as connection:
        arrow = urls_to_arrow(connection)
    return to_frame("urls", arrow)


def _record_rows(connection: sqlite3.Connection) -> tuple[list[list[Any]], list[dict[str, Any]]]:
    columns: list[list[Any]] = [[] for _ in COLUMNS["records"]]
    own: list[dict[str, Any]] = []
    for *fixed, data in connection.execute(_RECORDS):
        fixed[5] = int(fixed[5] * 1e6)
        fixed[6] = int(fixed[6] * 1e6)
        for column, value in zip(columns, fixed, strict=True):
            column.append(value)
        own.append(json.loads(data))
    return columns, own


def records_to_arrow(connection: sqlite3.Connection) -> pa.Table:
    """Return the records with the extractor's own columns behind the fixed ones.

    A column whose values do not share one type is written as JSON text. A name that is already
    taken gets an underscore behind it.
    """
    import pyarrow as pa

    schema = arrow_schema("records")
    columns, own = _record_rows(connection)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    names = list(schema.names)
    for name in dict.fromkeys(name for row in own for name in row):
        values = [row.get(name) for row in own]
        try:
            array = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            array = pa.array([None if v is None else json.dumps(v) for v in values], pa.string())
        while name in names:
            name += "_"  # noqa: PLW2901 - the extractor's name gives way
        names.append(name)
        arrays.append(array)
    return pa.table(arrays, names=names)


def read_records(folder: Path) -> pd.DataFrame:
    """Return the table ``records`` of a crawl folder, ordered by URL and id."""
    with read_only(folder) as connection:
        arrow = records_to_arrow(connection)
    fixed = to_frame("records", arrow.select(list(COLUMNS["records"])))
    extra = arrow.drop_columns(list(COLUMNS["records"]))
    if not extra.num_columns:
        return fixed
    import pandas as pd

    frame: pd.DataFrame = pd.concat([fixed, extra.to_pandas()], axis=1)
    return frame
