"""What is done with a task: one request, and everything that can be made of the answer."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlkit.crawling.faults import point
from crawlkit.crawling.results import Event, PageResult, digest, transport_facts
from crawlkit.web.fetch import Fetcher
from crawlkit.web.robots import ROBOTS_BYTES, product_token, robots_url, rules_from_responses
from crawlkit.web.spare_memory import return_spare_memory
from crawlkit.web.urls import LinkResolver, url_host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawlkit.crawling.frontier import Lease
    from crawlkit.crawling.hosts import HostQueue
    from crawlkit.crawling.results import Extractor
    from crawlkit.crawling.settings import Settings
    from crawlkit.web.asked import Asked
    from crawlkit.web.fetch import Response
    from crawlkit.web.robots import RobotsVerdict

__all__ = ["RobotsResult", "RobotsTask", "Worker"]

# A parsed page takes some ten times its size, so large ones are parsed one at a time.
_LARGE_BODY = 262_144


@dataclass(slots=True, eq=False)
class RobotsTask:
    """Ask for the robots.txt of an authority."""

    host: HostQueue
    authority: str
    byte_budget: int | None = None


@dataclass(slots=True, eq=False)
class RobotsResult:
    """What came of asking for a robots.txt."""

    task: RobotsTask
    responses: list[Response]
    verdict: RobotsVerdict


class Worker:
    """Fetches and digests; one for all threads of a crawl.

    Parameters
    ----------
    settings
        What the crawl was told.
    stop
        Ends waiting requests soon after it is set.
    wait_for_host
        Waits for the turn of a host that a robots.txt redirects to; given that host and the one
        asked last, it returns a reason to give up, or ``None``.
    extractor
        Gives records for a page.
    allow_private
        Whether a host may have a private address.
    auth_hosts
        Hosts that passwords and secret headers are sent to.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        stop: threading.Event,
        wait_for_host: Callable[[str, str], str | None],
        extractor: Extractor | None,
        allow_private: Callable[[str], bool] | bool,
        auth_hosts: Sequence[str] | None,
    ) -> None:
        self.agent = product_token(settings.http.user_agent_line())
        self._settings = settings
        self._wait_for_host = wait_for_host
        self._extractor = extractor
        self._resolver = LinkResolver(settings.url_rules)
        self._large = threading.Lock()
        self._fetcher = Fetcher(
            settings.http,
            body_limit=settings.limits.body,
            allow_private=allow_private,
            stop=stop,
            auth_hosts=auth_hosts,
        )

    @property
    def has_extractor(self) -> bool:
        """Whether pages are digested where they are fetched.

        An extractor may wait for something of its own, and must not let the others wait with it.
        """
        return self._extractor is not None

    def begin(self, lease: Lease) -> Asked | None:
        """Ask for a page if that takes no waiting; see :meth:`Fetcher.begin`."""
        return self._fetcher.begin(lease.url, body_limit=lease.byte_budget)

    def fetch(self, lease: Lease) -> Response:
        """Ask for a page and wait for the answer."""
        return self._fetcher.fetch(lease.url, body_limit=lease.byte_budget)

    def fetch_page(self, lease: Lease) -> PageResult:
        """Ask for a page and digest the answer."""
        return self.digest(lease, self.fetch(lease))

    def digest(self, lease: Lease, response: Response) -> PageResult:
        """Make of an answer everything that is written."""
        point("fetch.done")
        if len(response.body) < _LARGE_BODY:
            return self._digest(lease, response)
        with self._large:
            result = self._digest(lease, response)
            response.body = b""
            return_spare_memory()
        return result

    def _digest(self, lease: Lease, response: Response) -> PageResult:
        settings = self._settings
        # Names and handshakes may have taken their time: the host was asked when it was sent to.
        started = response.sent_at
        if started is None:
            started = time.monotonic() - response.elapsed
        try:
            return digest(
                lease,
                response,
                started=started,
                resolver=self._resolver,
                retries=settings.http.retries,
                links_per_page=settings.limits.links_per_page,
                keep_body=settings.keep_bodies,
                extractor=self._extractor,
                robots_agent=self.agent,
                expect=settings.expect,
            )
        except Exception as error:  # noqa: BLE001 - a page that defeats us is a row, not the end
            result = PageResult(lease, response, started, "failed")
            result.page = {**transport_facts(lease, response), "error": "internal_error"}
            detail = f"{type(error).__name__}: {error}"[:500]
            result.events.append(Event("internal_error", lease.url, lease.host.name, detail))
            return result

    def fetch_robots(self, task: RobotsTask) -> RobotsResult:
        """Ask for a robots.txt, following redirects at each host's pace."""
        previous = task.host.name

        def wait_for_turn(url: str) -> str | None:
            nonlocal previous
            last, previous = previous, url_host(url)
            return self._wait_for_host(previous, last)

        responses = self._fetcher.fetch_following(
            robots_url(task.authority + "/"),
            hops=5,
            before_hop=wait_for_turn,
            # One byte more than counts, so that the cut is noticed.
            body_limit=ROBOTS_BYTES + 1 if task.byte_budget is None else task.byte_budget,
            keep_start=True,
        )
        return RobotsResult(task, responses, rules_from_responses(responses))

    def close(self) -> None:
        """Close the connections."""
        self._fetcher.close()
