"""PageRank of a crawl as it grows: downloaded pages, and the frontier that they link to."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from crawlkit.order.pagerank import solve_pagerank

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from crawlkit.order.pagerank import Vector

__all__ = ["GrowingPageRank"]


class GrowingPageRank:
    """The PageRank of a graph to which pages are added one by one.

    Links are appended to flat arrays and nothing is ever rebuilt. A page without known links,
    which is most of a frontier, only receives: so the iteration runs over the downloaded pages
    that have links, and one last step gives the others theirs. Pages without links spread their
    rank over all known pages.

    Parameters
    ----------
    damping
        Share of rank that follows links.
    tol
        Greatest L1 error of a result.

    Examples
    --------
    >>> growing = GrowingPageRank(damping=0.85, tol=1e-12)
    >>> growing.add(0, [1, 2])
    >>> growing.solve(3).round(4).tolist()
    [0.2597, 0.3701, 0.3701]
    """

    def __init__(self, *, damping: float, tol: float) -> None:
        self._damping = damping
        self._tol = tol
        self._pages = array("q")
        self._ends = array("q", [0])
        self._targets = array("i")
        self._added = bytearray()

    def add(self, page: int, links: Sequence[int]) -> None:
        """Take a downloaded page in, with links to pages of any number; the first time counts."""
        if links:
            if page >= len(self._added):
                self._added.extend(bytes(page + 1 - len(self._added)))
            if self._added[page]:
                return
            self._added[page] = 1
            self._pages.append(page)
            self._targets.extend(links)
            self._ends.append(len(self._targets))

    def solve(self, known: int, start: Sequence[float] | None = None) -> Vector:
        """Return the PageRank of the pages from 0 to ``known - 1``.

        Parameters
        ----------
        known
            Number of pages: all that were added and all that they link to.
        start
            Where to begin: any positive scores of these pages, for example the last result with
            estimates for the pages that are new.
        """
        import numpy as np

        if not known:
            return np.zeros(0)
        pages = np.array(self._pages, dtype=np.int64)
        if not len(pages):
            return np.full(known, 1.0 / known)
        ends = np.array(self._ends, dtype=np.int64)
        targets = np.frombuffer(self._targets, dtype=np.int32)
        share = 1.0 / np.diff(ends)
        begin = np.full(known, 1.0 / known) if start is None else np.array(start)
        if not begin.sum() > 0:
            begin = np.ones(known)
        begin /= begin.sum()
        rank = self._solve_inside(pages, ends, targets, share, begin)
        return self._give_out(ends, targets, share, rank, known)

    def _solve_inside(
        self,
        pages: NDArray[np.int64],
        ends: NDArray[np.int64],
        targets: NDArray[np.int32],
        share: Vector,
        begin: Vector,
    ) -> Vector:
        """Return the rank of the downloaded pages with links, in order of download."""
        import numpy as np
        import scipy.sparse as sp

        known, rows = len(begin), len(pages)
        row_of = np.full(known, -1, dtype=np.int32)
        row_of[pages] = np.arange(rows, dtype=np.int32)
        inner = row_of[targets]
        inside = inner >= 0
        before = np.zeros(len(targets) + 1, dtype=np.int32)
        np.cumsum(inside, out=before[1:])
        inner = inner[inside]
        # By target: a step then writes each page once, which is worth the turning round.
        links = sp.csc_array((np.ones(len(inner)), inner, before[ends]), shape=(rows, rows)).tocsr()
        rank, damping = begin[pages], self._damping

        def step(rank: Vector) -> Vector:
            moved: Vector = links @ (rank * share)
            moved *= damping
            moved += (1.0 - damping * float(rank.sum())) / known
            return moved

        # The rank outside follows from the sum inside, so it changes by no more than the inside.
        return solve_pagerank(step, rank, damping=damping, tol=self._tol / 2.0)

    def _give_out(
        self, ends: NDArray[np.int64], targets: NDArray[np.int32], share: Vector, rank: Vector,
        known: int,
    ) -> Vector:  # fmt: skip
        """Return the rank of all known pages from that of the downloaded ones with links."""
        import numpy as np
        import scipy.sparse as sp

        links = sp.csc_array(
            (np.ones(len(targets)), targets, ends.astype(np.int32)), shape=(known, len(rank))
        )
        everyone: Vector = links @ (rank * share)
        everyone *= self._damping
        everyone += (1.0 - self._damping * float(rank.sum())) / known
        everyone /= everyone.sum()
        return everyone
