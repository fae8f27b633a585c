"""Depth first: last in, first out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from crawlkit.order.base import SEED_SOURCES, Ordering

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlkit.order.base import FoundPage

__all__ = ["DepthFirst"]


class DepthFirst(Ordering):
    """The pages found last go first; of one page, its first link is on top.

    A page keeps the place of its first discovery: a later link to it does not move it.

    Examples
    --------
    >>> from crawlkit.order.base import FoundPage
    >>> order = DepthFirst()
    >>> first = order.start(FoundPage(id=1, url="http://a.example/1"))
    >>> _ = order.downloaded(FoundPage(id=1, url="http://a.example/1"), [])
    >>> order.start(FoundPage(id=2, url="http://a.example/2")) > first
    True
    """

    name: ClassVar[str] = "depth_first"
    needs_links = False

    def __init__(self) -> None:
        self._downloads = 0

    def start(self, page: FoundPage) -> float:
        """Return the number of the download that found the page: its links share it."""
        return 0.0 if page.source in SEED_SOURCES else float(self._downloads + 1)

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        """Count the download; nothing waiting changes its place."""
        self._downloads += 1
        del page, links
        return {}

    def state(self) -> dict[str, Any]:
        """Return the number of downloads."""
        return {"downloads": self._downloads}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on counting from the saved number."""
        self._downloads = int(state["downloads"])
