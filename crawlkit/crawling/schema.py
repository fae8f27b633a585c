"""The columns of every table: names, types and what null means, in one place.

Types are given by short names and turned into an Arrow schema or pandas dtypes on first use, so
that a running crawl need not load Arrow before it writes its first segment.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import pyarrow as pa

__all__ = [
    "COLUMNS",
    "SEGMENTED",
    "TABLE_VERSION",
    "arrow_schema",
    "empty_frame",
    "read_json_rows",
    "to_frame",
    "to_json",
]

TABLE_VERSION = 1

# Tables that grow by appending rows, and so lie in segments.
SEGMENTED = ("pages", "links", "fetches", "changes", "events")

COLUMNS: dict[str, dict[str, str]] = {
    # One row per URL, its latest fetch. ``seq`` is the number of that fetch in ``fetches``.
    "pages": {
        "url": "text",
        "key": "text",
        "url_hash": "int",
        "host": "text",
        "depth": "int",
        "found_on": "text",  # null: a seed
        "status": "int",  # null: no answer, see error
        "error": "text",  # null: none; else a code of crawlkit.web.fetch.REASONS
        "content_type": "text",
        "size": "int",  # bytes of the decoded body
        "wire_bytes": "int",
        "fetched_at": "time",
        "elapsed": "float",  # seconds
        "redirected_to": "text",
        "title": "text",
        "description": "text",
        "h1": "text",
        "lang": "text",
        "words": "int",  # null: no HTML
        "canonical": "text",
        "canonicals": "texts",
        "robots": "text",
        "indexable": "bool",
        "hreflang": "pairs",
        "etag": "text",
        "last_modified": "time",
        "date_modified": "time",
        "date_modified_source": "text",
        "date_published": "time",
        "body_hash": "text",
        "text_hash": "text",
        "text_hash_by": "text",
        "expected_found": "bool",
        "links_found": "int",
        "new_urls": "int",
        "attempts": "int",
        "round": "int",
        "seq": "int",
        "links_not_http": "int",
        "flags": "texts",
    },
    "links": {
        "source": "text",
        "target": "text",
        "href": "text",
        "position": "int",
        "region": "text",
        "text": "text",
        "rel": "text",
        "kind": "text",
        "internal": "bool",
        "new": "bool",
    },
    "fetches": {
        "seq": "int",
        "url": "text",
        "host": "text",
        "started_at": "time",
        "elapsed": "float",
        "status": "int",
        "error": "text",
        "wire_bytes": "int",
        "attempt": "int",
        "round": "int",
        "new_urls": "int",
        "known_urls": "int",
        "frontier_size": "int",
    },
    "urls": {
        "url": "text",
        "key": "text",
        "url_hash": "int",
        "host": "text",
        "depth": "int",
        "state": "text",
        "reason": "text",
        "score": "float",
        "found_on": "text",
        "found_seq": "int",
        "source": "text",  # link, redirect, warc, or what a seed was given as: seed, sitemap ...
        "lastmod": "time",  # null: none was given for it
    },
    "records": {
        "record_id": "text",
        "version_key": "text",
        "id": "text",
        "url": "text",
        "content_hash": "text",
        "first_seen": "time",
        "last_changed": "time",
    },
    # One row per page and round; filled by recrawls.
    "changes": {
        "url": "text",
        "round": "int",
        "checked_at": "time",
        "status": "int",
        "not_modified": "bool",
        "body_changed": "bool",
        "text_changed": "bool",
        "lastmod": "time",
    },
    "events": {
        "at": "time",
        "kind": "text",
        "url": "text",
        "host": "text",
        "detail": "text",
    },
}

_PANDAS = {
    "text": "str",
    "int": "Int64",
    "float": "float64",
    "bool": "boolean",
    "time": "datetime64[us, UTC]",
    "texts": "object",
    "pairs": "object",
}


@cache
def arrow_schema(table: str) -> pa.Schema:
    """Return the Arrow schema of a table, with its version in the metadata."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        # Parquet names what a list holds "element"; other names would make two schemas of one.
        "texts": pa.list_(pa.field("element", pa.string())),
        "pairs": pa.list_(
            pa.field("element", pa.struct([("lang", pa.string()), ("url", pa.string())]))
        ),
    }
    columns = [(name, types[kind]) for name, kind in COLUMNS[table].items()]
    return pa.schema(columns, metadata={"crawlkit.table": f"{table}:{TABLE_VERSION}"})


def to_json(value: object) -> str:
    """Return JSON that SQLite and Arrow can hold: what no encoding holds becomes ``?``."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate, or a number beyond 64 bits
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace").decode()


def read_json_rows(rows: Sequence[bytes], schema: pa.Schema) -> pa.Table:
    """Return JSON objects, one a row, as an Arrow table of a schema."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    text = b"\n".join(rows)
    return arrow_json.read_json(
        pa.BufferReader(text),
        # One block holds all rows: a row must not be cut in two.
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=arrow_json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior="ignore"
        ),
        # Arrow's own pool keeps what it has had once; here that is twenty megabytes for nothing.
        memory_pool=pa.system_memory_pool(),
    )


def to_frame(table: str, arrow: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a DataFrame with the documented dtypes.

    Whole numbers with nulls become ``Int64`` and truth values ``boolean``; a missing value is
    null in every column.
    """
    import pandas as pd
    import pyarrow as pa

    mapping: dict[Any, Any] = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    frame: pd.DataFrame = arrow.to_pandas(types_mapper=mapping.get, timestamp_as_object=False)
    for name, kind in COLUMNS[table].items():
        if str(frame[name].dtype) != _PANDAS[kind]:
            frame[name] = frame[name].astype(_PANDAS[kind])  # type: ignore[call-overload]
    return frame


def empty_frame(table: str) -> pd.DataFrame:
    """Return a table with its columns and dtypes and no row."""
    return to_frame(table, arrow_schema(table).empty_table())
