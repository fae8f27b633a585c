"""What is asked next, and what forbids it: limits, robots.txt, suspects, and the end.

Everything here runs inside the turn of the engine, and what it writes inside that turn's
transaction.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from crawlkit.crawling.results import Event, PageResult
from crawlkit.crawling.revive import judge_depths
from crawlkit.crawling.robots_cache import RobotsCache, authority_of
from crawlkit.crawling.worker import RobotsResult, RobotsTask
from crawlkit.crawling.writer import was_asked
from crawlkit.web.robots import ROBOTS_BYTES
from crawlkit.web.urls import url_host

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from crawlkit.crawling.frontier import Frontier, Lease
    from crawlkit.crawling.hosts import HostQueue
    from crawlkit.crawling.settings import Settings
    from crawlkit.crawling.writer import Counters, ResultWriter

__all__ = ["BUDGETS", "Dispatcher"]

BUDGETS = ("max_pages", "pages_per_host", "bytes", "seconds")
"""The limits that end a crawl; each is the reason of the end by its name."""

# URLs that one turn may refuse by robots.txt before it lets others go on.
_REFUSALS_PER_TURN = 500


class Dispatcher:
    """Chooses the next request of a crawl.

    Parameters
    ----------
    connection
        The writing connection.
    frontier
        The frontier to choose from.
    settings
        What the crawl was told.
    counters
        The crawl's totals.
    writer
        Writes events and requests for robots.txt.
    agent
        Our product token, for robots.txt.
    lease_seconds
        How long a worker may keep a URL without a sign of life.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        frontier: Frontier,
        settings: Settings,
        counters: Counters,
        writer: ResultWriter,
        *,
        agent: str,
        lease_seconds: float,
    ) -> None:
        self._connection = connection
        self._frontier = frontier
        self._settings = settings
        self._counters = counters
        self._writer = writer
        self._lease_seconds = lease_seconds
        self._robots = RobotsCache(connection, agent, on_load=self._pace_again)
        self._robots_asked: set[str] = set()
        self._suspect: int | None = None
        self._budget_spent = False
        self._began = time.monotonic()
        self._seconds_before = counters.seconds

    # -- choosing --------------------------------------------------------------------------

    def may_lease(self) -> bool:
        """Return whether anything is ready to be asked for."""
        return self._suspect is None and self._frontier.has_ready()

    def next_task(self, working: int) -> Lease | RobotsTask | None:
        """Choose the next request; URLs that robots.txt refuses become rows on the way."""
        budget = self.limit_reached(working)
        if budget is not None or self._suspect is not None:
            return None
        for _ in range(_REFUSALS_PER_TURN):
            found = self._frontier.candidate()
            if found is None:
                return None
            host, url, page_id = found
            if self._settings.obey_robots:
                verdict = self._robots.verdict(url)
                if verdict == "ask":
                    task = self._ask_robots(host, url)
                    if task is not None:
                        return task
                    continue
                if verdict != "allowed":
                    self._frontier.exclude_page(page_id, host, verdict)
                    self._writer.event(Event(verdict, url, host.name))
                    continue
                if host.delay and host.next_at > time.monotonic():  # see _pace_again
                    self._frontier.hosts.update(host)
                    continue
            if page_id in self._frontier.suspects:
                if working:
                    return None  # it is asked for alone, once the others are home
                self._suspect = page_id
            return self._lease(host)
        return None

    def _ask_robots(self, host: HostQueue, url: str) -> RobotsTask | None:
        authority = authority_of(url)
        if authority in self._robots_asked:  # without a delay, several workers may come by
            host.next_at = time.monotonic() + 0.01
            self._frontier.hosts.update(host)
            return None
        self._robots_asked.add(authority)
        self._frontier.hosts.start_request(host, page=False)
        self._frontier.hosts.update(host)
        limits = self._settings.limits
        if limits.bytes is None:
            return RobotsTask(host, authority)
        left = min(limits.body, limits.bytes - self._counters.bytes)
        return RobotsTask(host, authority, min(left, ROBOTS_BYTES + 1))

    def _lease(self, host: HostQueue) -> Lease:
        lease = self._frontier.lease(host, seconds=self._lease_seconds)
        limit = self._settings.limits.bytes
        if limit is not None:
            left = limit - self._counters.bytes
            lease.byte_budget = left if left < self._settings.limits.body else None
        return lease

    def _delay_of(self, host: HostQueue) -> float:
        """Return the seconds between two requests to a host, its Crawl-delay included."""
        crawl_delays = (self._robots.crawl_delay(f"{s}://{host.name}") for s in ("http", "https"))
        return max(self._settings.delay, *crawl_delays)

    def _pace_again(self, authority: str) -> None:
        """Let the Crawl-delay of a robots.txt of an earlier run count from this one's start."""
        host = self._frontier.hosts.get(url_host(authority))
        if host is not None:
            host.delay = self._delay_of(host)
            if host.asked:
                host.next_at = max(host.next_at, self._began + host.delay)

    # -- results ---------------------------------------------------------------------------

    def note_page(self, result: PageResult) -> None:
        """Take note of a page's result, before it is written."""
        if result.lease.id == self._suspect:
            self._suspect = None
            if result.outcome in ("done", "failed"):
                self._frontier.suspects.discard(result.lease.id)
        if result.outcome == "returned" and result.response.error == "body_too_large":
            self._budget_spent = True

    def write_robots(self, result: RobotsResult) -> None:
        """Write the requests for a robots.txt, and go by what came of them."""
        host, authority = result.task.host, result.task.authority
        self._robots_asked.discard(authority)
        asked = [response for response in result.responses if was_asked(response)]
        rows = [
            self._writer.fetch_row(response, url_host(response.url), 1, None) for response in asked
        ]
        self._writer.append({"fetches": rows})
        self._frontier.hosts.end_request(host, started=None)
        error, budget = result.responses[-1].error, result.task.byte_budget
        if error == "body_too_large" and budget is not None and budget < ROBOTS_BYTES:
            self._budget_spent = True  # we ended it, so it says nothing about the site
        elif error != "interrupted":
            self._take_robots(result)
        for response in asked:
            if response.sent_at is not None:
                self._frontier.hosts.note_start(url_host(response.url), response.sent_at)

    def _take_robots(self, result: RobotsResult) -> None:
        """Go by what came of asking for robots.txt: rules, a pause, or a host that is closed."""
        host, authority = result.task.host, result.task.authority
        wait = self._robots.store(authority, result.verdict)
        host.delay = self._delay_of(host)
        if result.verdict.status != "unreachable":
            return
        detail = f"robots.txt: {result.verdict.reason}"
        self._writer.event(Event("robots_unreachable", authority, host.name, detail))
        pause = max(wait, result.responses[-1].retry_after or 0.0)
        if pause:
            self._frontier.hosts.pause(host, pause)
        if not wait:
            self._frontier.exclude_host(host, "robots_unreachable")

    # -- limits and ends -------------------------------------------------------------------

    def seconds(self) -> float:
        """Return the seconds of crawling so far, over all runs."""
        return self._seconds_before + time.monotonic() - self._began

    def limit_reached(self, working: int) -> str | None:
        """Return the limit, other than of pages, that forbids a new request now."""
        limits = self._settings.limits
        if limits.seconds is not None and self.seconds() >= limits.seconds:
            return "seconds"
        if limits.bytes is not None:
            # A lease reserves the largest body it may bring, so the sum never passes the limit.
            left = limits.bytes - self._counters.bytes
            if left <= 0 or self._budget_spent:
                return "bytes"
            if working and left < limits.body * (working + 1):
                return "bytes"
        return None

    def end_reason(self) -> str | None:
        """Return why nothing can be asked any more, or ``None`` while something can."""
        frontier = self._frontier
        if not frontier.pending:
            return "finished"
        reached = self.limit_reached(0)
        if reached is not None:
            return reached
        if frontier.has_ready() or frontier.next_event_in() is not None:
            limit = self._settings.max_pages
            if limit is not None and frontier.pages >= limit and not frontier.urgent:
                return "max_pages"
            return None
        return "pages_per_host"

    def bring_back_late(self, folder: Path) -> bool:
        """Look, before the end, for URLs that are inside ``max_depth`` after all."""
        frontier = self._frontier
        if self._settings.max_depth is None or not frontier.found_late:
            return False
        frontier.found_late = False
        return judge_depths(self._connection, frontier, folder) > 0
