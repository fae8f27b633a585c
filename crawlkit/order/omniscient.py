"""Omniscient: the waiting page of the greatest true value, in replays only."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from crawlkit.errors import BadSetting
from crawlkit.order.base import Ordering, ResumesBy

if TYPE_CHECKING:
    from crawlkit.order.base import FoundPage

__all__ = ["Omniscient"]


class Omniscient(Ordering):
    """The waiting page that is worth the most: knows what no crawl can know.

    The upper curve to compare with, from Boldi, Santini and Vigna, "Do your worst to make the
    best", WAW 2004. It is greedy: a worthless page that alone leads to a treasure waits.

    Examples
    --------
    >>> from crawlkit.order.base import FoundPage
    >>> Omniscient().start(FoundPage(id=3, url="http://a.example/", value=0.25))
    0.25
    """

    name: ClassVar[str] = "omniscient"
    resumes_by: ClassVar[ResumesBy] = "nothing"

    def start(self, page: FoundPage) -> float:
        """Return what the page is worth.

        Raises
        ------
        BadSetting
            Nobody knows: this is no replay.
        """
        if page.value is None:
            raise BadSetting(
                "order",
                "'omniscient' must know what each page is worth, which no crawl does",
                "Use it in replays, or pass another ordering.",
            )
        return page.value
