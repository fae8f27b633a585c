"""Partial PageRank: PageRank of what is known so far, computed again every K downloads."""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, Any, ClassVar

from crawlkit.order.base import SEED_SOURCES, Ordering, check_number
from crawlkit.order.growing_pagerank import GrowingPageRank
from crawlkit.order.pagerank import check_damping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlkit.order.base import FoundPage, Scores

__all__ = ["PartialPageRank"]

_NO_CHANGES: dict[int, float] = {}
_LEAST_K = 50


class PartialPageRank(Ordering):
    """The waiting page with the greatest PageRank in the graph that is known so far.

    PageRank of the downloaded pages and the frontier is computed every ``k`` downloads,
    beginning with the last result. In between, a newly found page gets a provisional rank: the
    sum of rank / links over the downloaded pages that link to it. Where no computation comes,
    this is OPIC with the cash on the seeds.

    Parameters
    ----------
    k
        Downloads between two computations; by default 1 % of the pages known at the last one,
        at least 50.
    damping
        Share of rank that follows links, between 0 and 1, both excluded.
    provisional
        Whether new pages get a provisional rank. Without it they wait for the next computation
        (batch PageRank).
    tol
        Greatest L1 error of each computation.
    links_as_found
        Whether a page's links to itself and its repeated links count too.

    Raises
    ------
    BadSetting
        A parameter is out of bounds.

    References
    ----------
    Cho, Garcia-Molina and Page, "Efficient crawling through URL ordering", WWW 1998;
    Baeza-Yates, Castillo, Marin and Rodriguez, "Crawling a country", WWW 2005.

    Examples
    --------
    >>> from crawlkit.order.base import FoundPage
    >>> order = PartialPageRank(k=1)
    >>> pages = [FoundPage(id=number, url=f"http://a.example/{number}") for number in range(3)]
    >>> order.start(pages[0]._replace(source="seed")), order.start(pages[1]), order.start(pages[2])
    (1.0, 0.0, 0.0)
    >>> order.downloaded(pages[0], [1, 2])
    {1: 0.5, 2: 0.5}
    >>> ids, scores = order.rescore()
    >>> ids.tolist(), scores.round(4).tolist()
    ([1, 2], [0.3701, 0.3701])
    """

    name: ClassVar[str] = "partial_pagerank"

    def __init__(
        self,
        k: int | None = None,
        *,
        damping: float = 0.85,
        provisional: bool = True,
        tol: float = 1e-10,
        links_as_found: bool = False,
    ) -> None:
        if k is not None:
            check_number("k", k, least=1, whole=True)
        check_damping(damping)
        check_number("tol", tol, least=1e-15)
        self.k = k
        self.damping = damping
        self.provisional = bool(provisional)
        self.tol = tol
        self.links_as_found = links_as_found
        self.rescore_every = _LEAST_K if k is None else k
        self._graph = GrowingPageRank(damping=damping, tol=tol)
        self._rank = array("d")
        self._ranked = 0  # pages that the last computation knew
        self._downloads = 0
        self._done = bytearray()
        self._snapshot: tuple[dict[str, int], bytes] | None = None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters."""
        return {
            "k": self.k,
            "damping": self.damping,
            "provisional": self.provisional,
            "tol": self.tol,
            "links_as_found": self.links_as_found,
        }

    def _grow(self, page_id: int) -> None:
        missing = page_id + 1 - len(self._rank)
        if missing > 0:
            self._rank.frombytes(bytes(8 * missing))
            self._done.extend(bytes(missing))

    def start(self, page: FoundPage) -> float:
        """Return 1 for a seed; of other pages, the rank comes with the next download."""
        self._grow(page.id)
        if page.source in SEED_SOURCES and page.id >= self._ranked:
            self._rank[page.id] = 1.0
        return self._rank[page.id]

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        """Take the links in; return the provisional ranks of pages that are new."""
        self._grow(max(page.id, max(links, default=0)))
        self._downloads += 1
        self._done[page.id] = 1
        self._graph.add(page.id, links)
        if not links or not self.provisional or self._snapshot is not None:
            return _NO_CHANGES
        rank, ranked = self._rank, self._ranked
        share = rank[page.id] / len(links)
        changed: dict[int, float] = {}
        for target in links:
            if target >= ranked:
                rank[target] += share
                changed[target] = rank[target]
        return changed

    def rescore(self) -> Scores:
        """Compute PageRank; return the ids of the waiting pages and their ranks, two arrays."""
        import numpy as np

        known = len(self._rank)
        if self.k is None:
            self.rescore_every = max(_LEAST_K, known // 100)
        if self._snapshot is not None:
            if not self._take_snapshot():
                return _NO_CHANGES
            ranks = np.array(self._rank)
        else:
            ranks = self._graph.solve(known, self._rank)
            self._rank = array("d", ranks.tobytes())
        self._ranked = known
        waiting = np.flatnonzero(np.frombuffer(bytes(self._done), dtype=np.uint8) == 0)
        return waiting, ranks[waiting]

    def _take_snapshot(self) -> bool:
        """Take the ranks from the snapshot, if this is the point where it was made."""
        import numpy as np

        head, data = self._snapshot or ({}, b"")
        if self._downloads < head["downloads"]:
            return False
        self._rank = array("d", np.frombuffer(data, dtype="<f8").astype(np.float64).tobytes())
        self._snapshot = None
        return True

    def snapshot(self) -> bytes:
        """Return the ranks of the last computation, and at which download it was made."""
        import numpy as np

        head = {"downloads": self._downloads, "known": self._ranked}
        ranks = np.array(self._rank[: self._ranked], dtype="<f8")
        return json.dumps(head).encode() + b"\n" + ranks.tobytes()

    def load_snapshot(self, data: bytes) -> None:
        """Take a snapshot: computations before it are left out, at its point its ranks count."""
        head, _, ranks = data.partition(b"\n")
        self._snapshot = (json.loads(head), ranks)

    def explain(self, page_id: int) -> dict[str, Any]:
        """Return a page's rank, and whether it is only provisional."""
        if page_id >= len(self._rank):
            return {"rank": 0.0, "provisional": True}
        return {"rank": self._rank[page_id], "provisional": page_id >= self._ranked}
