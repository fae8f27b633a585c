"""When a running crawl looks for traps, and what it sees.

Where
    The looks are taken in the thread that called the crawl, which has nothing else to do, on a
    read-only connection of their own: no worker waits, no commit and no host's clock. What was
    found is handed over and written by the next worker in its turn, in that turn's transaction. An
    interrupt ends a look at once, and the crawl with it, as it does everywhere.

When
    A look costs about as much as twenty pages of reading for each thousand URLs known, so that
    counters decide first. Nothing is looked at before `FIRST_PAGES`, while nothing waits, or
    while over the last tenth of the crawl (50 pages at least) fewer than `FEWEST_NEW` new URLs
    come with each page, and fewer than `MANY_COPIES` of the pages have the text of one of the
    thousands before: what finds nothing new is coming to its end. Looks are due when the
    crawl has grown by half since the last one, and one that is due when a limit ends the crawl
    is still taken. All of them together may take some seconds, or a share of the time of crawling
    where that is more (`BUDGETS`: less for a crawl that only warns than for one that acts); a
    look that would take more, by what the last one took, waits until the time has been earned. A
    crawl that waits for its servers earns it at once. Past `MOST_URLS` no look is taken any more.

Error rate
    Look number k is taken at ``ALPHA / (k (k + 1))``; over any number of looks these add up to
    less than `ALPHA`, so that a site without traps is wrongly told of with at most that chance,
    as far as the p-values go (see `crawlkit.audit.traps` for what was measured). The number of
    looks is kept in the folder: a resume goes on counting.

A region is told of once. What is found later counts as known when half of its waiting URLs match
a pattern that was told, held, or released. A region where nothing waits costs nothing more, and
is no news.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.crawling.trap_records import TrapRegion
from crawlkit.web.patterns import compile_patterns
from crawlkit.web.spare_memory import return_spare_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from crawlkit.audit.crawl_facts import CrawlFacts
    from crawlkit.audit.traps import Trap
    from crawlkit.crawling.frontier import Frontier
    from crawlkit.crawling.settings import Settings
    from crawlkit.crawling.trap_facts import RunningFacts
    from crawlkit.crawling.writer import Counters

__all__ = ["SeenTrap", "TrapNews", "TrapWatch"]

ALPHA = 0.01
FIRST_PAGES = 200
GROWTH = 1.5
FEWEST_NEW = 0.25
MANY_COPIES = 0.4
BUDGETS = {"warn": (0.4, 0.0125), "hold": (1.5, 0.05), "stop": (1.5, 0.05)}
"""Seconds that all looks may take, and their share of the time of crawling if that is more."""
MOST_URLS = 200_000
_SECONDS_PER_URL = 40e-6
"""Of a first look; later ones go by what the last one took."""
_WINDOW_PAGES = 50
_SWITCH_SECONDS = 0.0002
_TEXTS = 2_000
# A pattern fits that takes nearly all of the trap, and of everything else next to nothing.
_COVERED, _LOST = 0.95, 0.01


class SeenTrap(NamedTuple):
    """A region that a look has found, and the numbers of its URLs that wait."""

    region: TrapRegion
    waiting: list[int]


class TrapNews(NamedTuple):
    """What came of a look.

    Parameters
    ----------
    traps
        What was found.
    pages
        Pages fetched by then.
    seen_to
        The number of the URL found last by then.
    seconds
        Processor time that it took.
    problem
        Why it could not be taken, and none will be.
    """

    traps: list[SeenTrap]
    pages: int
    seen_to: int
    seconds: float
    problem: str | None = None


class TrapWatch:
    """Looks for traps while a crawl runs; see the module for when.

    Parameters
    ----------
    folder
        The crawl folder.
    settings
        What the crawl was told.
    frontier
        The frontier of the crawl; its counts and its book of traps are read.
    counters
        The crawl's totals.
    """

    def __init__(
        self, folder: Path, settings: Settings, frontier: Frontier, counters: Counters
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._frontier = frontier
        self._counters = counters
        self._per_url = _SECONDS_PER_URL
        self._over = False
        self._copies = 0
        self._texts: set[int] = set()
        self._earlier_texts: set[int] = set()
        self._samples: deque[tuple[int, int, int]] = deque([self._counts()])

    def _counts(self) -> tuple[int, int, int]:
        """Return pages fetched, URLs found and copies seen so far."""
        pages = self._frontier.pages - self._frontier.leased
        return pages, self._counters.new_urls, self._copies

    def note_page(self, page: Mapping[str, Any]) -> None:
        """Count a page whose text was seen before, among the latest few thousand of them."""
        if page.get("text_hash") is None or page.get("status") != 200:
            return
        text = hash(page["text_hash"])
        if text in self._texts or text in self._earlier_texts:
            self._copies += 1
            return
        if len(self._texts) >= _TEXTS:
            self._earlier_texts, self._texts = self._texts, set()
        self._texts.add(text)

    def look_if_due(self) -> TrapNews | None:
        """Look, if it is time to; call it now and then."""
        if self._over or not self._is_due():
            return None
        if self._frontier.known > MOST_URLS:
            self._over = True
            problem = f"no look for traps is taken past {MOST_URLS:,} known URLs"
            return TrapNews([], self._frontier.traps.looked_at, -1, 0.0, problem)
        return self._look()

    def _is_due(self) -> bool:
        """Decide by counters alone."""
        pages, found, copies = now = self._counts()
        samples = self._samples
        if pages >= samples[-1][0] + 10:
            samples.append(now)
        start = pages - max(_WINDOW_PAGES, pages // 10)
        while len(samples) > 1 and samples[1][0] <= start:
            samples.popleft()
        book, frontier = self._frontier.traps, self._frontier
        if pages < max(FIRST_PAGES, GROWTH * book.looked_at):
            return False
        if not frontier.pending + frontier.leased:
            return False
        grown = pages - samples[0][0]
        if grown < FIRST_PAGES // 4:  # just resumed
            return False
        few = found - samples[0][1] < FEWEST_NEW * grown
        if few and copies - samples[0][2] < MANY_COPIES * grown:
            return False
        seconds, share = BUDGETS[self._settings.on_trap]
        allowed = max(seconds, share * self._counters.seconds)
        expected = self._per_url * self._frontier.known
        return bool(book.seconds + expected <= allowed)

    def _look(self) -> TrapNews:
        # A crawl that has nothing to look at need not load what looks.
        from crawlkit.audit.traps import trap_regions
        from crawlkit.audit.url_regions import shape
        from crawlkit.crawling.trap_facts import running_facts

        began = time.thread_time()
        pages = self._counts()[0]
        number = self._frontier.traps.looks + 1
        seen: list[SeenTrap] = []
        seen_to = known = 0
        problem = None
        try:
            with _giving_way():
                running = running_facts(self._folder, bodies=self._settings.keep_bodies)
                known, seen_to = len(running.facts.urls), running.last
                traps = trap_regions(running.facts, alpha=ALPHA / (number * (number + 1)))
                seen = [new for trap in traps if (new := self._judge(trap, running, pages))]
        except Exception as error:  # noqa: BLE001 - the crawl must not end for it; it is told
            self._over = True
            problem = f"{type(error).__name__}: {error}"[:500]
        else:
            del running, traps
        shape.cache_clear()
        return_spare_memory()
        seconds = time.thread_time() - began
        if problem is None:
            self._per_url = seconds / max(1, known)
        return TrapNews(seen, pages, seen_to, seconds, problem)

    def _judge(self, trap: Trap, running: RunningFacts, pages: int) -> SeenTrap | None:
        """Return a trap with its pattern and what waits in it, or None where it is no news."""
        if trap.exclude is None or not trap.pending:
            return None
        facts, book = running.facts, self._frontier.traps
        waiting = [facts.urls[number] for number in trap.members if facts.pending[number]]
        holds = self._settings.on_trap == "hold"
        if book.knows(waiting, but="told" if holds else None):
            return None
        region = TrapRegion(
            region=trap.pattern,
            kind=trap.kind,
            evidence=trap.evidence,
            example=trap.example,
            exclude=compile_patterns(trap.exclude).to_list(),
            fits=False,
            status="told",
            at_page=pages,
            pages=trap.pages,
            pending=trap.pending,
        )
        matches = region.matcher()
        region.fits = _fits(matches, trap, facts)
        return SeenTrap(region, [number for url, number in running.waiting.items() if matches(url)])


@contextlib.contextmanager
def _giving_way() -> Iterator[None]:
    """Let the crawl have the interpreter soon whenever it wants it, not after 5 ms each time."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(usual, _SWITCH_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def _fits(matches: Callable[[str], bool], trap: Trap, facts: CrawlFacts) -> bool:
    """Tell whether a pattern takes the trap, and hardly anything else.

    A region is cut a little narrower than the trap where addresses of one make have several
    shapes. So it is no loss what leads nowhere but to what matches, nor what waits and was found
    on pages that match.
    """
    members = trap.members
    hit = {number for number, url in enumerate(facts.urls) if matches(url)}
    covered = len(hit & members)
    lost = 0
    for number in hit - members:
        if facts.pending[number]:
            lost += facts.finder[number] not in hit
        else:
            found = facts.children[number]
            lost += not found or not hit.issuperset(found)
    others = len(facts.urls) - len(members)
    return covered >= _COVERED * len(members) and lost <= max(1, _LOST * others)
