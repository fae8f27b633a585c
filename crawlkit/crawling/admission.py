"""Who is let into the frontier: scope, patterns, depth; each refusal has a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crawlkit.crawling.trap_records import HELD

if TYPE_CHECKING:
    from crawlkit.crawling.settings import Scope, Settings
    from crawlkit.crawling.trap_records import TrapBook
    from crawlkit.web.urls import Address

__all__ = ["FOUND_BY_LINK", "Admission", "Found"]

# Sources of URLs that links led to; any other source means a seed.
FOUND_BY_LINK = ("link", "redirect")


class Found(NamedTuple):
    """A URL as it enters the frontier.

    ``found_on`` is the id of the page it was found on, ``found_in`` what a seed was read from.
    """

    address: Address
    depth: int
    source: str = "link"
    found_on: int | None = None
    follow: bool = True
    lastmod: float | None = None
    found_in: str | None = None


class Admission:
    """The rules of entry of one crawl.

    Parameters
    ----------
    settings
        What the crawl was told.
    scope
        The hosts that belong to it.
    traps
        What is known of its traps.
    """

    def __init__(self, settings: Settings, scope: Scope, traps: TrapBook) -> None:
        self._settings = settings
        self._scope = scope
        self._traps = traps
        self._scope_memo: dict[str, bool] = {}

    def refusal(self, found: Found) -> str | None:
        """Return why a URL is set aside at entry, or ``None``; seeds pass the patterns."""
        if not found.follow:
            return "not_followed"
        name = found.address.host
        allowed = self._scope_memo.get(name)
        if allowed is None:
            allowed = self._scope_memo[name] = self._scope.allows(name)
        if not allowed:
            return "scope"
        if found.source not in FOUND_BY_LINK:
            return None  # a seed was asked for by name
        return self._refusal_of_link(found)

    def _refusal_of_link(self, found: Found) -> str | None:
        settings = self._settings
        if settings.max_depth is not None and found.depth > settings.max_depth:
            return "depth"
        url = found.address.url
        if settings.include and settings.include.matches(url) is None:
            return "include"
        if settings.exclude and settings.exclude.matches(url) is not None:
            return "exclude"
        return HELD if self._traps.any_held and self._traps.holds(url) else None

    def is_held(self, url: str, source: str) -> bool:
        """Return whether a URL lies in a region that is held as a trap; seeds never do."""
        return self._traps.any_held and source in FOUND_BY_LINK and self._traps.holds(url)
