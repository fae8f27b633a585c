"""One pass over the links of a crawl, piece by piece: who is linked, and who links to some URLs.

Millions of links never become Python objects: each piece is filtered by Arrow first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd
    import pyarrow as pa

    from crawlkit.audit.table_columns import TableColumns

__all__ = ["LEADING", "READABLE", "LinkPass", "pass_links"]

READABLE = ("anchor", "area", "frame", "pagination")
"""Kinds of links that a reader follows."""
LEADING = (*READABLE, "redirect")
"""Kinds that lead to a page; a canonical or an alternate is no way to get there."""

_COLUMNS = ("source", "target", "text", "region", "kind")


class LinkPass(NamedTuple):
    """What one pass found.

    Attributes
    ----------
    linked
        URLs to which another page leads.
    carriers
        ``source target text region`` (str) of the links of `READABLE` kinds to the URLs that were
        watched, one row per source and target.
    """

    linked: set[str]
    carriers: pd.DataFrame


def pass_links(tables: TableColumns, watched: Collection[str] = ()) -> LinkPass:
    """Go over all links once.

    Parameters
    ----------
    tables
        Of the crawl; without ``links.kind`` every link counts as one that a reader follows.
    watched
        URLs whose carriers are wanted.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    linked: set[str] = set()
    found: list[pd.DataFrame] = []
    wanted = pa.array(sorted(watched), pa.large_string())
    names = [name for name in _COLUMNS if tables.has("links", name) or name in ("source", "target")]
    for piece in tables.texts("links", names):
        leading = piece.filter(pc.and_(pc.is_valid(piece["source"]), pc.is_valid(piece["target"])))
        if "kind" in names:
            leading = leading.filter(pc.is_in(leading["kind"], value_set=_texts(piece, LEADING)))
        if leading.num_rows:
            other = pc.not_equal(leading["source"], leading["target"])
            targets = pc.unique(leading["target"].filter(other))
            linked.update(url for url in targets.to_pylist() if url)
        if len(wanted):
            values = wanted.cast(piece.schema.field("target").type)
            hits = leading.filter(pc.is_in(leading["target"], value_set=values))
            if "kind" in names and hits.num_rows:
                hits = hits.filter(pc.is_in(hits["kind"], value_set=_texts(hits, READABLE)))
            if hits.num_rows:
                found.append(_carriers(hits))
    if not found:
        empty = pd.DataFrame({name: [] for name in _COLUMNS[:4]}).astype("str")
        return LinkPass(linked, empty)
    carriers = pd.concat(found, ignore_index=True).drop_duplicates(["source", "target"])
    return LinkPass(linked, carriers.reset_index(drop=True))


def _texts(piece: pa.Table, values: tuple[str, ...]) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, piece.schema.field("kind").type)


def _carriers(hits: pa.Table) -> pd.DataFrame:
    import pandas as pd

    there = hits.column_names
    columns = {
        name: hits[name].to_pylist() if name in there else [None] * hits.num_rows
        for name in _COLUMNS[:4]
    }
    return pd.DataFrame(columns).astype("str").drop_duplicates(["source", "target"])
