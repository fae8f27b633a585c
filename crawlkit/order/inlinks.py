"""In-links: the page with the most known links to it goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from crawlkit.order.base import Ordering

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlkit.order.base import FoundPage

__all__ = ["InLinks"]


class InLinks(Ordering):
    """The waiting page that the most downloaded pages link to.

    Called backlink count by Cho, Garcia-Molina and Page, "Efficient crawling through URL
    ordering", WWW 1998.

    Parameters
    ----------
    links_as_found
        Whether a page's links to itself and its repeated links count too.

    Examples
    --------
    >>> from crawlkit.order.base import FoundPage
    >>> order = InLinks()
    >>> pages = [FoundPage(id=number, url=f"http://a.example/{number}") for number in range(3)]
    >>> scores = [order.start(page) for page in pages]
    >>> _ = order.downloaded(pages[0], [1, 2])
    >>> order.downloaded(pages[1], [2])
    {2: 2}
    """

    name: ClassVar[str] = "inlinks"

    def __init__(self, *, links_as_found: bool = False) -> None:
        self.links_as_found = links_as_found
        self._counts: list[int] = []

    def parameters(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"links_as_found": self.links_as_found}

    def start(self, page: FoundPage) -> float:
        """Return 0: the links of the page that it was found on count with its download."""
        del page
        return 0.0

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        """Count the links."""
        del page
        counts = self._counts
        changed: dict[int, float] = {}
        for target in links:
            if target >= len(counts):
                counts.extend([0] * (target + 1 - len(counts) + len(counts) // 8))
            counts[target] += 1
            changed[target] = counts[target]
        return changed

    def explain(self, page_id: int) -> dict[str, Any]:
        """Return the number of links to a page."""
        return {"links": self._counts[page_id] if page_id < len(self._counts) else 0}
