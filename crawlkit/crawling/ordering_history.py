"""What an ordering was told, kept so that a fresh one can be told it again after a death.

Some orderings hold more than may be written with every page: ranks, cash, the links of every page
so far. They resume by hearing the same calls in the same order, so that every number comes out
as it was. One row a call: which page, how many URLs were known by then (each of them was a
``start``, unless a row says that it was refused on entry), and the links. Orderings that resume
by nothing or by a small state write no row.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections import deque
from typing import TYPE_CHECKING

from crawlkit.crawling.admission import FOUND_BY_LINK
from crawlkit.order.base import FoundPage

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from crawlkit.order.base import Ordering

__all__ = ["OrderingHistory", "as_seen", "found_pages"]

# What a row stands for. CHANGED holds the facts of a page as they were until that moment.
_DOWNLOADED, _STARTED, _RESCORED, _CHANGED, _REFUSED, _SNAPSHOT = range(6)
# The last snapshot has one place of its own, in front of the calls.
_SNAPSHOT_SEQ = 0
_APPEND = "INSERT INTO ordering_history (kind, page, known, data) VALUES (?, ?, ?, ?)"
_FACTS = (
    "SELECT urls.id, urls.url, hosts.name, urls.depth, urls.source, urls.lastmod "
    "FROM urls JOIN hosts ON hosts.id = urls.host "
)


def as_seen(page: FoundPage) -> FoundPage:
    """Return a page as an ordering sees it: a seed is a seed, whatever named it.

    Examples
    --------
    >>> as_seen(FoundPage(0, "http://a.example/", source="feed")).source
    'seed'
    """
    return page if page.source in FOUND_BY_LINK else page._replace(source="seed")


def found_pages(
    connection: sqlite3.Connection, where: str, values: Sequence[object] = ()
) -> Iterator[FoundPage]:
    """Yield pages as an ordering sees them; ``where`` is SQL of our own."""
    for row in connection.execute(f"{_FACTS} WHERE {where} ORDER BY urls.id", values):
        yield as_seen(FoundPage(*row))


def _pack(links: Sequence[int]) -> bytes | None:
    """Return page ids as four little-endian bytes each."""
    if not links:
        return None
    packed = array("I", links)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpack(data: bytes | None) -> list[int]:
    packed = array("I", data or b"")
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tolist()


class OrderingHistory:
    """The calls of one crawl's ordering; each method runs in the caller's transaction.

    Parameters
    ----------
    connection
        The writing connection.
    keeps_links
        Whether the ordering reads the links of a download.
    """

    def __init__(self, connection: sqlite3.Connection, *, keeps_links: bool) -> None:
        self._connection = connection
        self._keeps_links = keeps_links

    # -- writing ---------------------------------------------------------------------------

    def downloaded(self, page_id: int, known: int, links: Sequence[int]) -> None:
        """Write a download, or that nothing will come of a page that waited."""
        data = _pack(links) if self._keeps_links else None
        self._connection.execute(_APPEND, (_DOWNLOADED, page_id, known, data))

    def started(self, page_id: int, known: int) -> None:
        """Write that a page waits again."""
        self._connection.execute(_APPEND, (_STARTED, page_id, known, None))

    def refused(self, page_id: int) -> None:
        """Write that a page was set aside on entry: the ordering heard nothing of it."""
        self._connection.execute(_APPEND, (_REFUSED, page_id, page_id, None))

    def rescored(self, known: int, snapshot: bytes | None) -> None:
        """Write that all scores were made anew, and what the ordering saves of that."""
        self._connection.execute(_APPEND, (_RESCORED, None, known, None))
        if snapshot is not None:
            self._connection.execute(
                "INSERT OR REPLACE INTO ordering_history (seq, kind, data) VALUES (?, ?, ?)",
                (_SNAPSHOT_SEQ, _SNAPSHOT, snapshot),
            )

    def about_to_change(self, page_id: int, known: int) -> None:
        """Write what a page is like; call it before its depth, source or lastmod changes."""
        row = self._connection.execute(
            "SELECT depth, source, lastmod FROM urls WHERE id = ?", (page_id,)
        ).fetchone()
        self._connection.execute(_APPEND, (_CHANGED, page_id, known, json.dumps(row)))

    # -- reading ---------------------------------------------------------------------------

    def feed(self, ordering: Ordering, known: int) -> None:
        """Tell a fresh ordering everything that was told until now; its answers are ignored.

        Parameters
        ----------
        ordering
            An ordering that was told nothing yet.
        known
            The number of URLs known.
        """
        snapshot = self._connection.execute(
            "SELECT data FROM ordering_history WHERE seq = ?", (_SNAPSHOT_SEQ,)
        ).fetchone()
        if snapshot is not None:
            ordering.load_snapshot(snapshot[0])
        pages = _Pages(self._connection)
        started = 0
        for kind, page_id, then, data in self._connection.execute(
            "SELECT kind, page, known, data FROM ordering_history WHERE seq > ? ORDER BY seq",
            (_SNAPSHOT_SEQ,),
        ):
            for page in pages.found(started, then):
                ordering.start(page)
            started = max(started, then)
            if kind == _DOWNLOADED:
                ordering.downloaded(pages.get(page_id), _unpack(data))
            elif kind == _STARTED:
                ordering.start(pages.get(page_id))
            elif kind == _RESCORED:
                ordering.rescore()
            elif kind == _REFUSED:
                started = page_id + 1
            else:
                pages.change(page_id)
        for page in pages.found(started, known):
            ordering.start(page)


class _Pages:
    """Pages as they were at a moment of the history: facts change when a way turns out shorter."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._earlier: dict[int, deque[tuple[int, str, float | None]]] = {}
        for page_id, facts in connection.execute(
            f"SELECT page, data FROM ordering_history WHERE kind = {_CHANGED} ORDER BY seq"
        ):
            self._earlier.setdefault(page_id, deque()).append(tuple(json.loads(facts)))

    def found(self, first: int, end: int) -> Iterator[FoundPage]:
        """Yield the pages with numbers from ``first`` up to ``end``, without it."""
        if first < end:
            where = "urls.id >= ? AND urls.id < ?"
            for page in found_pages(self._connection, where, (first, end)):
                yield self._then(page)

    def get(self, page_id: int) -> FoundPage:
        """Return one page."""
        return self._then(next(found_pages(self._connection, "urls.id = ?", (page_id,))))

    def change(self, page_id: int) -> None:
        """Go past a change of a page's facts."""
        self._earlier[page_id].popleft()

    def _then(self, page: FoundPage) -> FoundPage:
        earlier = self._earlier.get(page.id)
        return as_seen(FoundPage(page.id, page.url, page.host, *earlier[0])) if earlier else page
