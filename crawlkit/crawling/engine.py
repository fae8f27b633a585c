"""The loop: lease, fetch, parse, commit.

Workers are plain threads. A worker that has a result enters the *turn*: one thread at a time
holds the turn's lock, writes every result that is waiting, its own and those that arrived while
the last commit ran, leases the next URLs, and commits all of it in one transaction. So results
share commits under load, a lone worker pays for no hand-over between threads, and a worker never
holds a new URL before its last result is safe.

How many workers are at work follows the latency of the servers: threads only hide waiting, so
more of them are woken while the processor has time to spare.
"""

from __future__ import annotations

import contextlib
import math
import random
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.archive import compress
from crawlkit.crawling.database import transaction
from crawlkit.crawling.frontier import Lease
from crawlkit.crawling.interrupts import uninterrupted
from crawlkit.crawling.memory import give_back
from crawlkit.crawling.results import Event, PageResult
from crawlkit.crawling.revive import judge_depths
from crawlkit.crawling.robots_cache import RobotsCache, authority_of
from crawlkit.crawling.tables import flush_buffer
from crawlkit.crawling.worker import RobotsResult, RobotsTask, Worker
from crawlkit.crawling.writer import ResultWriter, save_meta, was_asked
from crawlkit.web.robots import ROBOTS_BYTES
from crawlkit.web.urls import url_host

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from crawlkit.crawling.frontier import Frontier
    from crawlkit.crawling.hosts import HostQueue
    from crawlkit.crawling.results import Extractor
    from crawlkit.crawling.settings import Settings
    from crawlkit.crawling.writer import Counters

__all__ = ["Engine"]

# Rows of results that may wait in the buffer before a Parquet segment is written.
_SEGMENT_RESULTS = 2_000
# URLs that one turn may refuse by robots.txt before it lets others go on.
_REFUSALS_PER_TURN = 500
# Share of one processor above which no further worker is woken.
_BUSY = 0.9
_WINDOW_SECONDS = 0.02
# How long the worker that watches the clocks sleeps at most.
_WATCH_SECONDS = 0.5
# A stopped crawl lets requests in flight come home, cuts off those that take longer, and waits so
# long in all; what comes later is asked again.
_GRACE_SECONDS = 0.8
_STOP_SECONDS = 1.5


@dataclass(slots=True, eq=False)
class _Slot:
    """One worker's place: its result on the way in, its task on the way out."""

    number: int
    wake: threading.Event = field(default_factory=threading.Event)
    result: PageResult | RobotsResult | None = None
    task: Lease | RobotsTask | None = None
    lease_ends: float = 0.0

    def let_go(self) -> None:
        """Forget the task, which is done."""
        self.task = None


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
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._turn = threading.Lock()
        self._inbox: deque[_Slot] = deque()
        self._idle: list[_Slot] = []
        self._slots: list[_Slot] = []
        self._threads: list[threading.Thread] = []
        self._working = 0
        self._robots_asked: set[str] = set()
        self._suspect: int | None = None
        self._worker = Worker(
            settings,
            stop=self._cut_off,
            wait_for_host=self._wait_for_host,
            extractor=extractor,
            allow_private=allow_private,
            auth_hosts=auth_hosts,
        )
        self._draw = random.Random(settings.random_seed)  # noqa: S311 - jitter, no secret
        self._writer = ResultWriter(connection, frontier, settings, counters, self._draw)
        self._robots = RobotsCache(connection, self._worker.agent, on_load=self._pace_again)
        slowest = settings.http.timeout * (settings.http.retries + 1)
        self._lease_seconds = slowest + 60.0
        self._wanted = 1
        self._window = (time.monotonic(), time.process_time())
        self._began = time.monotonic()
        self._seconds_before = counters.seconds
        self._last_flush = counters.buffered
        self._downloads = 0
        self._saved_state: Any = None
        self._budget_spent = False
        self._closed = False
        self._watched_until = math.inf

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
            self._start_worker()
            while not self._ended.wait(tick):
                if on_tick is not None:
                    on_tick(self)
        except KeyboardInterrupt:
            self.stop("interrupted")
        except BaseException:  # the caller's function failed: it must not wait for the end
            self.stop("failed")
            raise
        finally:
            uninterrupted(self._join, lambda: self.stop("interrupted"))
        if self._error is not None:
            raise self._error
        if on_tick is not None:
            on_tick(self)
        return self.stop_reason or "interrupted"

    def stop(self, reason: str) -> None:
        """Ask the crawl to stop soon; safe from any thread."""
        if self.stop_reason is None:
            self.stop_reason = reason
        self._stop.set()
        self._ended.set()
        for slot in list(self._slots):
            slot.wake.set()

    def in_flight(self) -> int:
        """Return how many requests are out."""
        return self._working

    def _join(self) -> None:
        """Wait for the workers, a bounded time, and write what they have brought."""
        began = time.monotonic()
        for seconds in (_GRACE_SECONDS, _STOP_SECONDS):
            for thread in self._threads:
                thread.join(max(0.0, began + seconds - time.monotonic()))
            self._cut_off.set()
        with self._turn:  # whoever comes after this finds the engine closed
            self._closed = True
            if self._error is None:
                self._last_commit()
        self._worker.close()

    def _last_commit(self) -> None:
        results = self._drain()
        try:
            with transaction(self._connection):
                self._write(results)
                self._save_totals()
        except BaseException as error:  # noqa: BLE001 - raised again by run()
            self._error = error

    # -- workers ---------------------------------------------------------------------------

    def _start_worker(self) -> _Slot:
        slot = _Slot(len(self._slots))
        self._slots.append(slot)
        name = f"crawlkit-worker-{slot.number}"
        thread = threading.Thread(target=self._work, args=(slot,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()
        return slot

    def _work(self, slot: _Slot) -> None:
        """Run one worker: bring the last result, take the next task, until there is none."""
        try:
            while True:
                task = self._exchange(slot)
                if task is None:
                    return
                if isinstance(task, Lease):
                    slot.result = self._worker.fetch_page(task)
                else:
                    slot.result = self._worker.fetch_robots(task)
        except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
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
                self.frontier.note_start(last, time.monotonic())
                at = self.frontier.reserve(name)
        while not self._stop.is_set():
            left = at - time.monotonic()
            if left <= 0:
                return None
            self._stop.wait(min(left, 0.5))
        return "interrupted"

    # -- the turn --------------------------------------------------------------------------

    def _exchange(self, slot: _Slot) -> Lease | RobotsTask | None:
        """Hand a result in and get the next task; ``None`` when the crawl is over."""
        slot.let_go()
        self._inbox.append(slot)
        while True:
            with self._turn:
                if self._closed:
                    return None
                if slot.task is None:
                    self._take_turn(slot)
                task = slot.task
                wait = None if task is not None else self._wait_of(slot)
            if task is not None:
                return task
            if self._stop.is_set():
                return None
            slot.wake.wait(wait)
            slot.wake.clear()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run a block in a transaction, the last one if it fails.

        Memory then knows more than the disk, so no other worker may write on that ground.
        """
        try:
            with transaction(self._connection):
                yield
        except BaseException as error:
            self._closed = True
            self._fail(error)
            raise

    def _wait_of(self, slot: _Slot) -> float | None:
        """Let one idle worker watch the clocks; the others sleep until they are woken."""
        if not self._idle or self._idle[0] is not slot:
            return None
        now = time.monotonic()
        if self._working >= self._settings.workers:
            wait = _WATCH_SECONDS
        else:
            event = self.frontier.next_event_in()
            wait = _WATCH_SECONDS if event is None else min(event + 0.0005, _WATCH_SECONDS)
            if self._working >= self._wanted:
                # Requests may be stuck on a slow host: look again soon whether to wake more.
                wait = 2 * _WINDOW_SECONDS
        self._watched_until = now + wait
        return wait

    def _drain(self) -> list[_Slot]:
        arrived: list[_Slot] = []
        while self._inbox:
            arrived.append(self._inbox.popleft())
        return arrived

    def _take_turn(self, current: _Slot) -> None:
        """Write what has arrived, lease what may be asked, commit, and hand the tasks out."""
        arrived = self._drain()
        self._idle.extend(arrived)
        results = [slot for slot in arrived if slot.result is not None]
        stopping = self._stop.is_set()
        if not stopping:
            self._adapt()
        late = self._late_slots()
        if results or late or (not stopping and self._may_lease()):
            assigned: list[tuple[_Slot, Lease | RobotsTask]] = []
            with self._transaction():
                self._write(results)
                if late:
                    self._renew(late)
                if not stopping:
                    assigned = self._assign()
                self._save_totals()
            self._hand_out(assigned, current)
            if self.counters.buffered - self._last_flush >= _SEGMENT_RESULTS:
                flush_buffer(self._connection, self.folder)
                give_back()
                self._last_flush = self.counters.buffered
        if not stopping and not self._working:
            reason = self._end_reason()
            if reason == "finished" and self._bring_back_late():
                reason = None
            if reason is not None:
                self.stop(reason)
        self._wake_watcher(current)

    def _wake_watcher(self, current: _Slot) -> None:
        """Let the watching worker look at the clocks anew if they now ring earlier."""
        if not self._idle or self._idle[0] is current or self._working >= self._wanted:
            return
        event = self.frontier.next_event_in()
        if event is not None and time.monotonic() + event < self._watched_until - 0.001:
            self._idle[0].wake.set()

    def _may_lease(self) -> bool:
        if self._suspect is not None:
            return False
        return self._working < self._wanted and self.frontier.has_ready()

    def _write(self, slots: list[_Slot]) -> None:
        for slot in slots:
            result, slot.result = slot.result, None
            self._working -= 1
            if isinstance(result, PageResult):
                self._clear_suspect(result)
                self._writer.write(result)
                if result.outcome == "returned" and result.response.error == "body_too_large":
                    self._budget_spent = True
                self._downloads += 1
                every = self.frontier.ordering.rescore_every
                if every and self._downloads % every == 0:
                    self.frontier.write_scores(self.frontier.ordering.rescore())
            elif result is not None:
                self._write_robots(result)

    def _clear_suspect(self, result: PageResult) -> None:
        if result.lease.id == self._suspect:
            self._suspect = None
            if result.outcome in ("done", "failed"):
                self.frontier.suspects.discard(result.lease.id)

    def _write_robots(self, result: RobotsResult) -> None:
        host, authority = result.task.host, result.task.authority
        self._robots_asked.discard(authority)
        asked = [response for response in result.responses if was_asked(response)]
        rows = [
            self._writer.fetch_row(response, url_host(response.url), 1, None) for response in asked
        ]
        self._writer.append({"fetches": rows})
        self.frontier.end_request(host, started=None)
        error, budget = result.responses[-1].error, result.task.byte_budget
        if error == "body_too_large" and budget is not None and budget < ROBOTS_BYTES:
            self._budget_spent = True  # we ended it, so it says nothing about the site
        elif error != "interrupted":
            self._take_robots(result)
        for response in asked:
            if response.sent_at is not None:
                self.frontier.note_start(url_host(response.url), response.sent_at)

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
            self.frontier.pause_host(host, pause)
        if not wait:
            self.frontier.exclude_host(host, "robots_unreachable")

    def _assign(self) -> list[tuple[_Slot, Lease | RobotsTask]]:
        """Give tasks to idle workers; one more thread than works stays to watch the clocks."""
        assigned: list[tuple[_Slot, Lease | RobotsTask]] = []
        while self._working < self._wanted and self._idle:
            task = self._next_task()
            if task is None:
                break
            self._working += 1
            assigned.append((self._idle.pop(), task))
            if not self._idle and len(self._slots) <= self._settings.workers:
                self._start_worker()  # it comes by itself, and takes the next turn
        return assigned

    def _hand_out(self, assigned: list[tuple[_Slot, Lease | RobotsTask]], current: _Slot) -> None:
        for slot, task in assigned:
            slot.task = task
            slot.lease_ends = time.monotonic() + self._lease_seconds
            if slot is not current:
                slot.wake.set()

    def _adapt(self) -> None:
        """Follow the latency: as many workers as keep one processor busy, and no more."""
        now = time.monotonic()
        elapsed = now - self._window[0]
        if elapsed < _WINDOW_SECONDS:
            return
        cpu = time.process_time()
        load = (cpu - self._window[1]) / elapsed
        self._window = (now, cpu)
        enough = math.ceil(max(1, self._working) * _BUSY / max(load, 0.01))
        if enough > self._wanted and self._working >= self._wanted:
            self._wanted = min(enough, 2 * self._wanted, self._settings.workers)
        elif enough < self._wanted:
            self._wanted -= 1

    def _next_task(self) -> Lease | RobotsTask | None:
        """Choose the next request; URLs that robots.txt refuses become rows on the way."""
        budget = self._limit_reached()
        if budget is not None or self._suspect is not None:
            return None
        for _ in range(_REFUSALS_PER_TURN):
            found = self.frontier.candidate()
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
                    self.frontier.exclude_page(page_id, host, verdict)
                    self._writer.event(Event(verdict, url, host.name))
                    continue
                if host.delay and host.next_at > time.monotonic():  # see _pace_again
                    self.frontier.hosts.update(host)
                    continue
            if page_id in self.frontier.suspects:
                if self._working:
                    return None  # it is asked for alone, once the others are home
                self._suspect = page_id
            return self._lease(host)
        return None

    def _ask_robots(self, host: HostQueue, url: str) -> RobotsTask | None:
        authority = authority_of(url)
        if authority in self._robots_asked:  # without a delay, several workers may come by
            host.next_at = time.monotonic() + 0.01
            self.frontier.hosts.update(host)
            return None
        self._robots_asked.add(authority)
        self.frontier.start_request(host)
        self.frontier.hosts.update(host)
        limits = self._settings.limits
        if limits.bytes is None:
            return RobotsTask(host, authority)
        left = min(limits.body, limits.bytes - self.counters.bytes)
        return RobotsTask(host, authority, min(left, ROBOTS_BYTES + 1))

    def _delay_of(self, host: HostQueue) -> float:
        """Return the seconds between two requests to a host, its Crawl-delay included."""
        crawl_delays = (self._robots.crawl_delay(f"{s}://{host.name}") for s in ("http", "https"))
        return max(self._settings.delay, *crawl_delays)

    def _pace_again(self, authority: str) -> None:
        """Let the Crawl-delay of a robots.txt of an earlier run count from this one's start."""
        host = self.frontier.hosts.get(url_host(authority))
        if host is not None:
            host.delay = self._delay_of(host)
            if host.asked:
                host.next_at = max(host.next_at, self._began + host.delay)

    def _lease(self, host: HostQueue) -> Lease:
        lease = self.frontier.lease(host, seconds=self._lease_seconds)
        limit = self._settings.limits.bytes
        if limit is not None:
            left = limit - self.counters.bytes
            lease.byte_budget = left if left < self._settings.limits.body else None
        return lease

    # -- limits and ends -------------------------------------------------------------------

    def _limit_reached(self) -> str | None:
        """Return the limit, other than of pages, that forbids a new request now."""
        limits = self._settings.limits
        if limits.seconds is not None and self._seconds() >= limits.seconds:
            return "seconds"
        if limits.bytes is not None:
            # A lease reserves the largest body it may bring, so the sum never passes the limit.
            left = limits.bytes - self.counters.bytes
            if left <= 0 or self._budget_spent:
                return "bytes"
            if self._working and left < limits.body * (self._working + 1):
                return "bytes"
        return None

    def _seconds(self) -> float:
        return self._seconds_before + time.monotonic() - self._began

    def _end_reason(self) -> str | None:
        """Return why nothing can be asked any more, or ``None`` while something can."""
        frontier = self.frontier
        if not frontier.pending:
            return "finished"
        reached = self._limit_reached()
        if reached is not None:
            return reached
        if frontier.has_ready() or frontier.next_event_in() is not None:
            limit = self._settings.max_pages
            if limit is not None and frontier.pages >= limit and not frontier.urgent:
                return "max_pages"
            return None
        return "pages_per_host"

    def _bring_back_late(self) -> bool:
        """Look, before the end, for URLs that are inside ``max_depth`` after all."""
        frontier = self.frontier
        if self._settings.max_depth is None or not frontier.found_late:
            return False
        frontier.found_late = False
        with self._transaction():
            return judge_depths(self._connection, frontier, self.folder) > 0

    def _save_totals(self) -> None:
        self.counters.seconds = self._seconds()
        self.counters.save(self._connection)
        state = self.frontier.ordering.state()
        if state is not None and state != self._saved_state:
            save_meta(self._connection, "ordering", state)
            self._saved_state = dict(state)

    def _late_slots(self) -> list[_Slot]:
        """Return the workers whose lease is more than half over."""
        soon = time.monotonic() + self._lease_seconds / 2
        return [slot for slot in self._slots if slot.task is not None and slot.lease_ends < soon]

    def _renew(self, late: list[_Slot]) -> None:
        """Renew the leases of workers at work, free those whose worker is gone."""
        alive = [
            slot for slot in late if self._threads[slot.number].is_alive() and slot.task is not None
        ]
        tokens = [slot.task.token for slot in alive if isinstance(slot.task, Lease)]
        self.frontier.renew(tokens, seconds=self._lease_seconds)
        for slot in alive:
            slot.lease_ends = time.monotonic() + self._lease_seconds
        for url in self.frontier.reclaim_expired():
            self._writer.event(Event("lease_expired", url))
