"""A region under examination, and what is found against it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.audit.trap_statistics import Growth, growth_of
from crawlkit.audit.url_regions import Region, UrlParts, split_url

if TYPE_CHECKING:
    from crawlkit.audit.crawl_facts import CrawlFacts

__all__ = ["FEWEST_COPIES", "Finding", "Suspect"]

FEWEST_COPIES = 20
"""Pages that speak against a region before any test is taken."""


@dataclass(eq=False)
class Suspect:
    """A region under examination; what is expensive is computed once.

    Attributes
    ----------
    region, members
        The region, and the positions of its URLs.
    pages
        Positions of its fetched URLs, in order of fetching.
    facts
        The crawl's facts.
    """

    region: Region
    members: list[int]
    pages: list[int]
    facts: CrawlFacts
    _growth: Growth | None = None
    _parts: dict[int, UrlParts] = field(default_factory=dict)

    @property
    def growth(self) -> Growth:
        """How it makes URLs."""
        if self._growth is None:
            self._growth = growth_of(self.pages, set(self.members), self.facts.children)
        return self._growth

    def parts(self, number: int) -> UrlParts:
        """Return a URL of it taken apart."""
        found = self._parts.get(number)
        if found is None:
            found = self._parts[number] = split_url(self.facts.urls[number])
        return found

    @property
    def answered(self) -> list[int]:
        """Its pages with a text."""
        return [page for page in self.pages if self.facts.text[page] >= 0]

    @property
    def copies(self) -> list[int]:
        """Its pages whose text another page stands for."""
        return [page for page in self.answered if not self.facts.original[page]]

    @property
    def pending(self) -> list[int]:
        """Its URLs that wait."""
        return [number for number in self.members if self.facts.pending[number]]


class Finding(NamedTuple):
    """A piece of evidence.

    Parameters
    ----------
    kind
        The kind of trap.
    chance
        The p-value: the largest one, where several conditions were tested.
    members
        Positions of the URLs that are the trap.
    text
        What was found, for the reader.
    above
        The page number above which they lie, for pagination; else None.
    names
        The parameters that make them, where only some of the region's do.
    """

    kind: str
    chance: float
    members: list[int]
    text: str
    above: int | None = None
    names: tuple[str, ...] = ()
