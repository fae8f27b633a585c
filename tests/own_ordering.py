"""An ordering of a user's own, in a module that other processes can import."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import crawlkit as ck

if TYPE_CHECKING:
    from crawlkit import FoundPage

__all__ = ["LongestFirst"]


class LongestFirst(ck.Ordering):
    """Long addresses first."""

    name: ClassVar[str] = "longest_first"

    def start(self, page: FoundPage) -> float:
        """Return the length."""
        return len(page.url)
