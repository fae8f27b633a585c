"""The loop: lease, ask, digest, commit.

One thread does it all, for any number of requests that are out: it digests what has arrived,
writes the results, leases the next URLs, commits all of that in one transaction, and only then
sends the next requests. So results that arrive together share a commit, and no new URL is in
flight before the results that made room for it are safe. What has to be waited for is left to
threads, see :mod:`crawlkit.crawling.outstanding`; they bring results and never write.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, cast

from crawlkit.crawling.archive import compress
from crawlkit.crawling.crew import WINDOW_SECONDS, Crew
from crawlkit.crawling.database import transaction
from crawlkit.crawling.dispatch import BUDGETS, Dispatcher
from crawlkit.crawling.interrupts import Gate, uninterrupted
from crawlkit.crawling.leases import Lease
from crawlkit.crawling.outstanding import Outstanding
from crawlkit.crawling.results import Event, PageResult
from crawlkit.crawling.tables import flush_buffer
from crawlkit.crawling.trap_answers import answer_traps
from crawlkit.crawling.trap_watch import TrapWatch
from crawlkit.crawling.worker import RobotsResult, Worker
from crawlkit.crawling.writer import ResultWriter
from crawlkit.web.response import Response
from crawlkit.web.spare_memory import return_spare_memory

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from crawlkit.crawling.frontier import Frontier
    from crawlkit.crawling.outstanding import Arrival, Request
    from crawlkit.crawling.results import Extractor
    from crawlkit.crawling.settings import Settings
    from crawlkit.crawling.trap_watch import TrapNews
    from crawlkit.crawling.worker import RobotsTask
    from crawlkit.crawling.writer import Counters

__all__ = ["Engine"]

# Rows of results that may wait in the buffer before a Parquet segment is written, and how long
# that waits for the requests that are out, whose answers would seem slow.
_SEGMENT_RESULTS = 2_000
_SEGMENT_SECONDS = 0.3
# How long pages that wait are digested at most before the results are written.
_TURN_SECONDS = 0.005
# How long the crawl's thread sleeps at most.
_WATCH_SECONDS = 0.5
# A stopped crawl lets requests in flight come home, cuts off those that take longer, and waits so
# long in all; what comes later is asked again.
_GRACE_SECONDS = 0.8
_STOP_SECONDS = 1.5


class Engine:
    """Runs one crawl in one folder until it ends, reaches a limit or is stopped.

    Parameters
    ----------
    folder
        The crawl folder, which this process owns.
    connection
        Its writing connection.
    frontier
        The frontier of the crawl.
    settings
        What the crawl was told.
    counters
        The crawl's totals.
    extractor
        Gives records for a page.
    allow_private
        Whether a host may have a private address.
    auth_hosts
        Hosts that passwords and secret headers are sent to.
    """

    def __init__(
        self,
        folder: Path,
        connection: sqlite3.Connection,
        frontier: Frontier,
        settings: Settings,
        counters: Counters,
        *,
        extractor: Extractor | None = None,
        allow_private: Callable[[str], bool] | bool = False,
        auth_hosts: Sequence[str] | None = None,
    ) -> None:
        self.folder = folder
        self.counters = counters
        self.frontier = frontier
        self.stop_reason: str | None = None
        self._connection = connection
        self._settings = settings
        self._stop = threading.Event()
        self._cut_off = threading.Event()
        self._ended = Gate()
        self._error: BaseException | None = None
        self._turn = threading.Lock()
        self._arrived: deque[Arrival] = deque()
        self._results: deque[PageResult | RobotsResult | None] = deque()
        self._working = 0
        self._thread = threading.Thread(target=self._work, name="crawlkit-crawl", daemon=True)
        self._worker = Worker(
            settings,
            stop=self._cut_off,
            wait_for_host=self._wait_for_host,
            extractor=extractor,
            allow_private=allow_private,
            auth_hosts=auth_hosts,
        )
        self._requests = Outstanding(
            self._worker, cut_off=self._cut_off, on_failure=self._errand_failed
        )
        self._crew = None if extractor is None else Crew(settings.workers)
        self._draw = random.Random(settings.random_seed)  # noqa: S311 - jitter, no secret
        self._writer = ResultWriter(connection, frontier, settings, counters, self._draw)
        slowest = settings.http.timeout * (settings.http.retries + 1)
        self._lease_seconds = slowest + 60.0
        self._dispatcher = Dispatcher(
            connection,
            frontier,
            settings,
            counters,
            self._writer,
            agent=self._worker.agent,
            lease_seconds=self._lease_seconds,
        )
        self._watch = TrapWatch(folder, settings, frontier, counters)
        self._news: deque[TrapNews] = deque()
        self._last_flush = counters.buffered
        self._flush_at: float | None = None
        self._closed = False

    # -- from outside ----------------------------------------------------------------------

    def run(self, on_tick: Callable[[Engine], None] | None = None, *, tick: float = 0.25) -> str:
        """Crawl; return the reason of the end.

        Parameters
        ----------
        on_tick
            Called about every ``tick`` seconds in the calling thread, and once at the end.
        tick
            Seconds.

        Raises
        ------
        StorageFailed
            The disk refused a write; what was committed is safe.
        """
        try:
            if self._settings.keep_bodies:
                compress(b"")  # its library loads now, so that no page in hand waits for it
            if self._crew is not None:
                self._crew.start()
            self._thread.start()
            while not self._ended.wait(tick):
                if on_tick is not None:
                    on_tick(self)
                self._look_for_traps()
            if self.stop_reason in BUDGETS:
                self._look_for_traps()  # a crawl that is over in a moment has had no look
        except KeyboardInterrupt:
            pass  # the end below stops the crawl, in a thread that no second interrupt reaches
        except BaseException:  # the caller's function failed: it must not wait for the end
            self.stop("failed")
            raise
        finally:
            uninterrupted(self.end, lambda: None)
        if self._error is not None:
            raise self._error
        if on_tick is not None:
            on_tick(self)
        return self.stop_reason or "interrupted"

    def _look_for_traps(self) -> None:
        """Look, if it is time to, and hand over what was seen to the crawl's thread."""
        if self._news:
            return
        news = self._watch.look_if_due()
        if news is not None:
            self._news.append(news)
            self._requests.wake()

    def _answer_traps(self) -> str | None:
        """Write what a look has found and do what is to be done; return why the crawl ends."""
        reason = None
        while self._news:
            events, stop = answer_traps(
                self._connection, self.frontier, self._news.popleft(), self._settings.on_trap
            )
            for event in events:
                self._writer.event(event)
            reason = reason or stop
        return reason

    def stop(self, reason: str) -> None:
        """Ask the crawl to stop soon; safe from any thread."""
        if self.stop_reason is None:
            self.stop_reason = reason
        self._stop.set()
        self._ended.open()
        self._requests.wake()

    def end(self) -> None:
        """Stop the crawl, wait for what is out a bounded time, and write what it has brought."""
        self.stop("interrupted")
        began = time.monotonic()
        for seconds in (_GRACE_SECONDS, _STOP_SECONDS):
            if self._thread.ident is not None:
                self._thread.join(max(0.0, began + seconds - time.monotonic()))
            self._cut_off.set()
            self._requests.wake()
        self._requests.dismiss()
        self._requests.join(max(0.0, began + _STOP_SECONDS - time.monotonic()))
        with self._turn:  # whoever comes after this finds the engine closed
            self._closed = True
            if self._error is None:
                self._last_commit()
        self._requests.close()
        self._worker.close()

    def _last_commit(self) -> None:
        results = self._drain()
        try:
            with transaction(self._connection):
                self._write(results)
                trapped = self._answer_traps()
                self._save_totals()
            if trapped is not None and self.stop_reason in BUDGETS:
                self.stop_reason = trapped  # a larger limit alone would not let it go on
        except BaseException as error:  # noqa: BLE001 - raised again by run()
            self._error = error

    # -- the crawl's thread ----------------------------------------------------------------

    def _work(self) -> None:
        """Take turns and wait for arrivals until nothing is out and there is nothing to do."""
        try:
            while self._take_turn():
                self._arrived.extend(self._requests.arrivals(self._wait()))
                self._digest()
        except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
            self._fail(error)
        finally:
            self._requests.give_up()

    def _digest(self) -> None:
        """Make results of what has arrived.

        Where servers are waited for, of one answer: the sooner it is written, the sooner its place
        is taken again. Where most answers wait for us, of several, which then share a commit.
        """
        waiting = len(self._arrived)
        until = time.monotonic() + _TURN_SECONDS
        for _ in range(waiting if 2 * waiting > self._working else min(1, waiting)):
            request, brought = self._arrived.popleft()
            if isinstance(brought, Response):
                brought = self._worker.digest(cast("Lease", request.task), brought)
            self._results.append(brought)
            if time.monotonic() > until:
                return

    def _wait(self) -> float:
        """Return how long arrivals may be waited for (seconds)."""
        if self._arrived:
            return 0.0
        if self._flush_at is not None:
            return 0.01
        if self._stop.is_set() or self._working >= self._settings.workers:
            return _WATCH_SECONDS
        if self._working >= self._wanted():
            # Requests may be stuck on a slow host: look again soon whether to send more.
            return 2 * WINDOW_SECONDS
        event = self.frontier.next_event_in()
        return _WATCH_SECONDS if event is None else min(event + 0.0005, _WATCH_SECONDS)

    def _wanted(self) -> int:
        """Return how many requests should be out."""
        return self._settings.workers if self._crew is None else self._crew.wanted

    def _errand_failed(self, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):  # raised by an extractor: it means what it says
            self.stop("interrupted")
        else:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
        self.stop("failed")

    def _wait_for_host(self, name: str, last: str) -> str | None:
        """Reserve the next moment of a host and wait for it; ``last`` was asked just now."""
        with self._turn:
            if self._closed:
                return "interrupted"
            with self._transaction():
                self.frontier.hosts.note_start(last, time.monotonic())
                at = self.frontier.hosts.reserve(name)
        while not self._stop.is_set():
            left = at - time.monotonic()
            if left <= 0:
                return None
            self._stop.wait(min(left, 0.5))
        return "interrupted"

    # -- the turn --------------------------------------------------------------------------

    def _transaction(self) -> transaction:
        """Return a transaction that is the last one if it fails.

        Memory then knows more than the disk, so nobody may write on that ground.
        """
        return transaction(self._connection, on_failure=self._commit_failed)

    def _commit_failed(self, error: BaseException) -> None:
        self._closed = True
        self._fail(error)

    def _drain(self) -> list[PageResult | RobotsResult | None]:
        results: list[PageResult | RobotsResult | None] = []
        while self._results:
            results.append(self._results.popleft())
        return results

    def _take_turn(self) -> bool:
        """Write what has arrived, lease what may be asked, commit, and ask.

        Returns whether there is anything more to do.
        """
        with self._turn:
            if self._closed:
                return False
            results = self._drain()
            if self._crew is not None:
                self._crew.adapt(self._working)
            late = self._late_requests()
            if results or late or self._news or self._may_lease():
                self._commit(results, late)
            if self._flush_if_due() and self._may_lease():
                self._commit([], [])
            if not self._working and not self._stop.is_set():
                self._judge_end()
            return bool(self._working) or not self._stop.is_set()

    def _commit(self, results: list[PageResult | RobotsResult | None], late: list[Request]) -> None:
        tasks: list[Lease | RobotsTask] = []
        with self._transaction():
            self._write(results)
            if late:
                self._renew(late)
            trapped = self._answer_traps()
            if trapped is None and not self._stop.is_set():
                tasks = self._assign()
            self._save_totals()
        ends = time.monotonic() + self._lease_seconds
        for task in tasks:
            self._requests.start(task, lease_ends=ends)
        if trapped is not None:
            self.stop(trapped)

    def _flush_if_due(self) -> bool:
        """Write a segment when there are enough rows, and nothing is out or it takes too long."""
        if self.counters.buffered - self._last_flush < _SEGMENT_RESULTS:
            return False
        now = time.monotonic()
        if self._flush_at is None:
            self._flush_at = now + _SEGMENT_SECONDS
        if self._working and now < self._flush_at:
            return False
        flush_buffer(self._connection, self.folder)
        return_spare_memory()
        self._last_flush = self.counters.buffered
        self._flush_at = None
        return True

    def _judge_end(self) -> None:
        """Find out whether there is nothing more to ask, and why."""
        reason = self._dispatcher.end_reason()
        if reason == "finished":
            with self._transaction():
                if self._dispatcher.bring_back_late(self.folder):
                    reason = None
        if reason is not None:
            self.stop(reason)

    def _may_lease(self) -> bool:
        return (
            self._working < self._wanted()
            and self._flush_at is None
            and not self._stop.is_set()
            and self._dispatcher.may_lease()
        )

    def _write(self, results: list[PageResult | RobotsResult | None]) -> None:
        for result in results:
            self._working -= 1
            if isinstance(result, PageResult):
                self._dispatcher.note_page(result)
                if self._crew is not None:
                    self._crew.note_page(result.response.elapsed)
                self._watch.note_page(result.page)
                self._writer.write(result)
            elif result is not None:
                self._dispatcher.write_robots(result)

    def _assign(self) -> list[Lease | RobotsTask]:
        """Lease what may be asked now."""
        tasks: list[Lease | RobotsTask] = []
        while self._working < self._wanted() and self._flush_at is None:
            task = self._dispatcher.next_task(self._working)
            if task is None:
                break
            self._working += 1
            tasks.append(task)
        return tasks

    def _save_totals(self) -> None:
        self.counters.seconds = self._dispatcher.seconds()
        self.counters.save(self._connection)
        self.frontier.ordering.save()

    def _late_requests(self) -> list[Request]:
        """Return the requests whose lease is more than half over."""
        soon = time.monotonic() + self._lease_seconds / 2
        return [request for request in self._requests if request.lease_ends < soon]

    def _renew(self, late: list[Request]) -> None:
        """Renew the leases of requests that are out, free those that nobody waits for."""
        alive = [request for request in late if request.is_alive()]
        tokens = [request.task.token for request in alive if isinstance(request.task, Lease)]
        self.frontier.leases.renew(tokens, seconds=self._lease_seconds)
        for request in alive:
            request.lease_ends = time.monotonic() + self._lease_seconds
        for url in self.frontier.reclaim_expired():
            self._writer.event(Event("lease_expired", url))
