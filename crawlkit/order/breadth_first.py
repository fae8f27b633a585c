"""Breadth first: new links go to the end of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from crawlkit.order.base import Ordering

if TYPE_CHECKING:
    from crawlkit.order.base import FoundPage

__all__ = ["BreadthFirst"]


class BreadthFirst(Ordering):
    """Pages in the order in which they were found, level by level.

    The score is the negative depth, so that several workers who finish out of order still go
    through one level before the next.

    Examples
    --------
    >>> from crawlkit.order.base import FoundPage
    >>> BreadthFirst().start(FoundPage(id=7, url="http://a.example/", depth=2))
    -2.0
    """

    name: ClassVar[str] = "breadth_first"

    def start(self, page: FoundPage) -> float:
        """Return the negative depth."""
        return -float(page.depth)
