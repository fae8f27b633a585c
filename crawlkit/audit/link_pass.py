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

_AT_ONCE = 1_000_000
"""Rows of columns that are joined at a time."""
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

    linked = _Union()
    found: list[pd.DataFrame] = []
    wanted = pa.array(sorted(watched), pa.large_string())
    names = [name for name in _COLUMNS if tables.has("links", name) or name in ("source", "target")]
    for piece in tables.texts("links", names):
        # Only masks until the few rows that are wanted are known: copying texts costs most.
        leading = pc.and_(pc.is_valid(piece["source"]), pc.is_valid(piece["target"]))
        if "kind" in names:
            kinds = _texts(piece, LEADING)
            leading = pc.and_(leading, pc.is_in(piece["kind"], value_set=kinds))
        other = pc.and_(leading, pc.not_equal(piece["source"], piece["target"]))
        linked.add(pc.unique(piece["target"].filter(other)))
        if len(wanted):
            values = wanted.cast(piece.schema.field("target").type)
            hit = pc.and_(leading, pc.is_in(piece["target"], value_set=values))
            hits = piece.filter(hit)
            if "kind" in names and hits.num_rows:
                hits = hits.filter(pc.is_in(hits["kind"], value_set=_texts(hits, READABLE)))
            if hits.num_rows:
                found.append(_carriers(hits))
    if not found:
        empty = pd.DataFrame({name: [] for name in _COLUMNS[:4]}).astype("str")
        return LinkPass(linked.values(), empty)
    carriers = pd.concat(found, ignore_index=True).drop_duplicates(["source", "target"])
    return LinkPass(linked.values(), carriers.reset_index(drop=True))


class _Union:
    """The different texts of many columns; few of them are Python objects before the end."""

    def __init__(self) -> None:
        self._waiting: list[pa.Array] = []
        self._rows, self._most = 0, _AT_ONCE

    def add(self, values: pa.Array) -> None:
        """Take in a column without repetitions."""
        self._waiting.append(values)
        self._rows += len(values)
        if self._rows > self._most:
            joined = self._joined()
            self._waiting, self._rows = [joined], len(joined)
            # It must double before the next time, so that no text is looked at often.
            self._most = max(_AT_ONCE, 2 * len(joined))

    def _joined(self) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        return pc.unique(pa.chunked_array(self._waiting))

    def values(self) -> set[str]:
        """Return them; empty texts and nulls are none."""
        if not self._waiting:
            return set()
        return {text for text in self._joined().to_pylist() if text}


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
