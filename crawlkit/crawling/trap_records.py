"""The regions that were found to be traps: what became of each, kept in the folder.

A region is ``told`` (the crawl went on), ``stopped`` (the crawl ended for it, and waits for a
decision), ``held`` (its URLs are set aside, and new ones on entry) or ``released`` (the user let
it go on). Regions and what was released of them are one named value of the database, written in
the transaction that changes the URLs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.meta import load_meta, save_meta
from crawlkit.web.patterns import Patterns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

__all__ = ["HELD", "TrapBook", "TrapRegion"]

HELD = "trap_held"
"""The reason of a URL that is set aside because its region is held."""
_NAME = "traps"


@dataclass(slots=True)
class TrapRegion:
    """A region and what became of it.

    Attributes
    ----------
    region, kind, evidence, example
        As in ``ck.find_traps``.
    exclude : list
        Its pattern, as ``Patterns.to_list`` gives it.
    fits : bool
        Whether the pattern takes the trap and hardly anything else: only then is it held.
    status : str
        ``told``, ``stopped``, ``held`` or ``released``.
    at_page : int
        Pages that the crawl had fetched when it was found.
    pages, pending : int
        Pages of it that were fetched, and URLs of it that waited, by then.
    """

    region: str
    kind: str
    evidence: str
    example: str
    exclude: list[Any]
    fits: bool
    status: str
    at_page: int
    pages: int
    pending: int

    @property
    def host(self) -> str:
        """The host that it is a region of."""
        return self.region.partition("/")[0]

    def matcher(self) -> Callable[[str], bool]:
        """Return a function that tells whether a URL matches the pattern, on its host."""
        patterns, host = Patterns.from_list(self.exclude), self.host
        return lambda url: _host_of(url) == host and patterns.matches(url) is not None

    @property
    def rule(self) -> str:
        """The pattern as one writes it in Python."""
        one = self.exclude[0]
        return repr(one) if isinstance(one, str) else f"re.compile({one['regex']!r})"


@dataclass(slots=True)
class TrapBook:
    """All regions of a crawl, and the looks that were taken.

    Attributes
    ----------
    regions : list of TrapRegion
        In the order in which they were found.
    released : list
        Patterns by which parts of held regions were released; they go before the regions.
    looks : int
        Looks taken so far.
    looked_at : int
        Pages fetched at the last look.
    seconds : float
        Processor time of all looks.
    """

    regions: list[TrapRegion] = field(default_factory=list)
    released: list[Any] = field(default_factory=list)
    looks: int = 0
    looked_at: int = 0
    seconds: float = 0.0
    _held: dict[str, Patterns] = field(default_factory=dict)
    _let_go: Patterns | None = None

    @classmethod
    def load(cls, connection: sqlite3.Connection) -> TrapBook:
        """Read what the folder knows."""
        saved = load_meta(connection, _NAME) or {}
        book = cls(**{**saved, "regions": [TrapRegion(**one) for one in saved.get("regions", ())]})
        book.changed()
        return book

    def save(self, connection: sqlite3.Connection) -> None:
        """Write it, inside the caller's transaction."""
        value = {
            "regions": [asdict(region) for region in self.regions],
            "released": self.released,
            "looks": self.looks,
            "looked_at": self.looked_at,
            "seconds": round(self.seconds, 4),
        }
        save_meta(connection, _NAME, value)

    def changed(self) -> None:
        """Compile anew what is held, after regions or releases changed."""
        held: dict[str, list[Any]] = {}
        for region in self.regions:
            if region.status == "held":
                held.setdefault(region.host, []).extend(region.exclude)
        self._held = {host: Patterns.from_list(rules) for host, rules in held.items()}
        self._let_go = Patterns.from_list(self.released) if self.released else None

    def holds(self, url: str) -> bool:
        """Return whether a URL lies in a held region, and in no released part of it."""
        held = self._held.get(_host_of(url))
        if held is None or held.matches(url) is None:
            return False
        return self._let_go is None or self._let_go.matches(url) is None

    @property
    def any_held(self) -> bool:
        """Whether a region is held."""
        return bool(self._held)

    def knows(self, urls: list[str], *, but: str | None = None) -> bool:
        """Return whether at least half of some URLs lie in regions or parts that are known.

        Parameters
        ----------
        urls
            Addresses.
        but
            Regions with this status do not count.
        """
        tests = [region.matcher() for region in self.regions if region.status != but]
        let_go = Patterns.from_list(self.released)
        known = sum(
            let_go.matches(url) is not None or any(test(url) for test in tests) for url in urls
        )
        return 2 * known >= len(urls)


def _host_of(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
