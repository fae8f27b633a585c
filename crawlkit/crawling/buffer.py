"""Rows of the database's buffer, as Arrow tables.

A row of the buffer is one JSON object of lists: ``pages``, ``fetches``, ``changes`` and
``events`` hold objects, ``links`` one object whose columns are lists. Arrow reads it without
making a Python object of each value. Only what Arrow does by itself is used here: its compute
functions, and arrays from Python lists, would load pandas and more into a running crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.crawling.schema import SEGMENTED, arrow_schema, read_json_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

__all__ = ["buffer_to_arrow"]


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


def buffer_to_arrow(rows: Sequence[str]) -> dict[str, pa.Table]:
    """Return Arrow tables of rows of the buffer; tables without a row are left out."""
    if not rows:
        return {}
    read = read_json_rows(rows, _buffer_schema())
    found: dict[str, pa.Table] = {}
    for name in SEGMENTED:
        # All rows were read as one block, so there is one chunk; a null list adds nothing.
        structs = read[name].chunk(0).values
        if len(structs):
            found[name] = _links(structs) if name == "links" else _from_structs(name, structs)
    return {name: table for name, table in found.items() if table.num_rows}


def _from_structs(table: str, structs: Any) -> pa.Table:
    import pyarrow as pa

    schema = arrow_schema(table)
    columns = structs.flatten()
    arrays = [
        c.view(f.type) if c.type != f.type else c for c, f in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _links(structs: Any) -> pa.Table:
    """Unfold the lists of each page's links; all lists of one page have one length."""
    import pyarrow as pa

    schema = arrow_schema("links")
    columns = dict(zip(schema.names, structs.flatten(), strict=True))
    bounds = columns["target"].offsets.to_pylist()
    repeated = [
        pa.repeat(source, end - start)
        for source, start, end in zip(columns.pop("source"), bounds, bounds[1:], strict=False)
    ]
    flat = [column.values for column in columns.values()]
    return pa.Table.from_arrays([pa.concat_arrays(repeated), *flat], schema=schema)
