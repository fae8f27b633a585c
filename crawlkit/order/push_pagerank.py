"""Push PageRank: rank is pushed along links as it comes, without recomputing anything."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar

from crawlkit.order.base import Ordering, check_number
from crawlkit.order.pagerank import check_damping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlkit.order.base import FoundPage

__all__ = ["PushPageRank"]


class PushPageRank(Ordering):
    """The waiting page with the most PageRank that has come to it so far.

    Each page is found with 1 of rank to pass on. A download passes what the page holds, times
    ``damping``, to its links in equal parts; a downloaded page to which more than ``eps`` has
    come since passes it on again. There is no K and no recomputation: with ``eps`` near 0 each
    choice is that of a partial PageRank after every single download.

    Parameters
    ----------
    eps
        What a downloaded page may hold back; above 0. Smaller is more exact and slower.
    damping
        Share of rank that follows links, between 0 and 1, both excluded.
    links_as_found
        Whether a page's links to itself and its repeated links count too.

    Raises
    ------
    BadSetting
        A parameter is out of bounds.

    References
    ----------
    Andersen, Chung and Lang, "Local graph partitioning using PageRank vectors", FOCS 2006, for
    the push; Cho and Schonfeld, "RankMass crawler", VLDB 2007, for crawling by it.

    Examples
    --------
    >>> from crawlkit.order.base import FoundPage
    >>> order = PushPageRank(damping=0.5)
    >>> pages = [FoundPage(id=number, url=f"http://a.example/{number}") for number in range(3)]
    >>> [order.start(page) for page in pages]
    [1.0, 1.0, 1.0]
    >>> order.downloaded(pages[0], [1, 2])
    {1: 1.25, 2: 1.25}
    """

    name: ClassVar[str] = "push_pagerank"

    def __init__(
        self, eps: float = 0.5, *, damping: float = 0.85, links_as_found: bool = False
    ) -> None:
        check_number("eps", eps, least=0.0, above=True)
        check_damping(damping)
        self.eps = eps
        self.damping = damping
        self.links_as_found = links_as_found
        self._held: list[float] = []
        self._started = bytearray()
        self._links: list[Sequence[int] | None] = []  # None until downloaded

    def parameters(self) -> dict[str, Any]:
        """Return the parameters."""
        return {
            "eps": self.eps,
            "damping": self.damping,
            "links_as_found": self.links_as_found,
        }

    def _grow(self, page_id: int) -> None:
        missing = page_id + 1 - len(self._held)
        if missing > 0:
            self._held.extend([0.0] * missing)
            self._started.extend(bytes(missing))
            self._links.extend([None] * missing)

    def start(self, page: FoundPage) -> float:
        """Return the page's rank to pass on: 1, if it is new."""
        self._grow(page.id)
        if not self._started[page.id]:
            self._started[page.id] = 1
            self._held[page.id] += 1.0
        return self._held[page.id]

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        """Pass the page's rank on, and what comes back, until little is held back."""
        self._grow(max(page.id, max(links, default=0)))
        held, known, eps, damping = self._held, self._links, self.eps, self.damping
        known[page.id] = tuple(links)
        changed: dict[int, float] = {}
        turns = deque((page.id,))
        while turns:
            source = turns.popleft()
            onward = known[source]
            amount, held[source] = held[source], 0.0
            if not onward:
                continue
            share = damping * amount / len(onward)
            for target in onward:
                before = held[target]
                held[target] = after = before + share
                if known[target] is None:
                    changed[target] = after
                elif before <= eps < after:  # else it has its turn to come, or holds too little
                    turns.append(target)
        return changed

    def explain(self, page_id: int) -> dict[str, Any]:
        """Return the rank that a page holds."""
        return {"rank": self._held[page_id] if page_id < len(self._held) else 0.0}
