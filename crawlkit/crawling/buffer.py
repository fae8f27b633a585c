"""Rows of the database's buffer: how they are written, and how they become Arrow tables.

A row of the buffer is one JSON object of lists: ``pages``, ``fetches``, ``changes`` and
``events`` hold objects, ``links`` one object whose columns are lists. Arrow reads it without
making a Python object of each value. Only what Arrow does by itself is used here: its compute
functions, and arrays from Python lists, would load pandas and more into a running crawl.

The texts of links are most of what a crawl writes. They stand behind the JSON, one a line and
column after column, since joining and splitting lines costs a quarter of what JSON does. Then the
columns in `_IN_LINES` are left out of the JSON, and so are ``position``, which counts from 0, and
``rel`` where no link has one. Links that do not fit (a text with a line break in it) stay JSON.
"""

from __future__ import annotations

from array import array
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.schema import SEGMENTED, arrow_schema, read_json_rows, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

__all__ = ["buffer_to_arrow", "pack_rows"]

_IN_LINES = ("target", "href", "text", "region", "kind")
_NULL = "\x1e"
_NOWHERE = "\x1f"
"""Parts fields of a line for Arrow's reader; no line has more than one."""


def pack_rows(rows: Mapping[str, Any]) -> str:
    """Return rows of any tables as one row of the buffer.

    Parameters
    ----------
    rows
        Table -> its rows; of ``links`` one object at most, whose columns are lists.
    """
    if "links" not in rows:
        return to_json(rows)
    (links,) = rows["links"]
    lines = _to_lines(links)
    if lines is None:
        return to_json(rows)
    few = {name: links[name] for name in ("source", "internal", "new")}
    rel = links["rel"]
    if rel.count(None) < len(rel):
        few["rel"] = rel
    return f"{to_json({**rows, 'links': [few]})}\n{lines}"


def _to_lines(links: Mapping[str, Any]) -> str | None:
    """Return the texts of a page's links as lines, or None where they do not fit."""
    count = len(links["target"])
    if tuple(links["position"]) != tuple(range(count)):
        return None
    values: list[str] = []
    nulls = 0
    for name in _IN_LINES:
        column = links[name]
        if None in column:
            nulls += column.count(None)
            column = [_NULL if value is None else value for value in column]
        values += column
    lines = "\n".join(values)
    fits = (
        lines.count("\n") == len(values) - 1
        and "\r" not in lines
        and _NOWHERE not in lines
        and lines.count(_NULL) == nulls
    )
    if not lines.isascii():
        try:
            lines.encode()
        except UnicodeEncodeError:  # a lone surrogate
            return None
    return lines if fits and values else None


@cache
def _buffer_schema() -> pa.Schema:
    import pyarrow as pa

    def plain(table: str) -> list[pa.Field]:
        return [pa.field(f.name, _in_json(f.type)) for f in arrow_schema(table)]

    tables = {table: plain(table) for table in SEGMENTED}
    tables["links"] = [
        pa.field(f.name, f.type if f.name == "source" else pa.list_(f.type))
        for f in tables["links"]
    ]
    return pa.schema([(name, pa.list_(pa.struct(columns))) for name, columns in tables.items()])


def _in_json(kind: pa.DataType) -> pa.DataType:
    """Return the type a column has in the buffer, where times are whole microseconds."""
    import pyarrow as pa

    return pa.int64() if pa.types.is_timestamp(kind) else kind


def buffer_to_arrow(rows: Sequence[bytes]) -> dict[str, pa.Table]:
    """Return Arrow tables of rows of the buffer; tables without a row are left out.

    Parameters
    ----------
    rows
        As they stand in the database, in UTF-8.
    """
    if not rows:
        return {}
    parted = [row.partition(b"\n") for row in rows]
    read = read_json_rows([row for row, _, _ in parted], _buffer_schema())
    lines = [texts for _, mark, texts in parted if mark]
    found: dict[str, pa.Table] = {}
    for name in SEGMENTED:
        # All rows were read as one block, so there is one chunk; a null list adds nothing.
        structs = read[name].chunk(0).values
        if len(structs):
            found[name] = _links(structs, lines) if name == "links" else _plain(name, structs)
    return {name: table for name, table in found.items() if table.num_rows}


def _plain(table: str, structs: Any) -> pa.Table:
    import pyarrow as pa

    schema = arrow_schema(table)
    columns = structs.flatten()
    arrays = [
        c.view(f.type) if c.type != f.type else c for c, f in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _links(structs: Any, lines: Sequence[bytes]) -> pa.Table:
    """Unfold the lists of each page's links; all columns of one page have one length."""
    import pyarrow as pa

    schema = arrow_schema("links")
    columns = dict(zip(schema.names, structs.flatten(), strict=True))
    sources = columns.pop("source")
    bounds = columns["internal"].offsets.to_pylist()
    sizes = [end - start for start, end in pairwise(bounds)]
    from_lines = _from_lines(sizes, columns["target"], lines) if lines else {}
    implied = {"position": _counted(max(sizes)), "rel": pa.nulls(max(sizes), pa.string())}
    arrays = [pa.concat_arrays([pa.repeat(*pair) for pair in zip(sources, sizes, strict=True)])]
    for name, column in columns.items():
        values = column.values
        if len(values) < bounds[-1]:  # some pages or all of them have it elsewhere
            pieces = from_lines.get(name) or [implied[name].slice(0, size) for size in sizes]
            if len(values):
                for row, (start, end) in enumerate(pairwise(column.offsets.to_pylist())):
                    if end > start:
                        pieces[row] = values.slice(start, end - start)
            values = pa.concat_arrays(pieces)
        arrays.append(values)
    return pa.Table.from_arrays(arrays, schema=schema)


def _from_lines(
    sizes: Sequence[int], targets: Any, lines: Sequence[bytes]
) -> dict[str, list[pa.Array]]:
    """Return the columns that stand in lines, page by page; what is in JSON is empty here."""
    texts = _read_lines(lines)
    pieces: dict[str, list[pa.Array]] = {name: [] for name in _IN_LINES}
    at = 0
    own = targets.offsets.to_pylist()
    for size, (start, end) in zip(sizes, pairwise(own), strict=True):
        here = 0 if end > start else size
        for column in pieces.values():
            column.append(texts.slice(at, here))
            at += here
    return pieces


def _counted(size: int) -> pa.Array:
    """Return the numbers from 0."""
    import pyarrow as pa

    numbers = pa.py_buffer(array("q", range(size)))
    return pa.Array.from_buffers(pa.int64(), size, [None, numbers])


def _read_lines(lines: Sequence[bytes]) -> pa.Array:
    """Return texts, one a line, as one array: a table of one column in Arrow's reader of CSV."""
    import pyarrow as pa
    from pyarrow import csv

    text = b"\n".join(lines)
    table = csv.read_csv(
        pa.BufferReader(text),
        read_options=csv.ReadOptions(
            use_threads=False, block_size=len(text) + 1, column_names=["text"]
        ),
        parse_options=csv.ParseOptions(
            delimiter=_NOWHERE, quote_char=False, double_quote=False, ignore_empty_lines=False
        ),
        convert_options=csv.ConvertOptions(
            column_types={"text": pa.string()},
            null_values=[_NULL],
            strings_can_be_null=True,
            check_utf8=False,  # SQLite has it from Python's own encoder
        ),
        memory_pool=pa.system_memory_pool(),  # as for JSON
    )
    return table["text"].chunk(0)
