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
from typing import TYPE_CHECKING

from crawlkit.crawling.archive import compress
from crawlkit.crawling.database import transaction
from crawlkit.crawling.dispatch import BUDGETS, Dispatcher
from crawlkit.crawling.frontier import Lease
from crawlkit.crawling.interrupts import Gate, uninterrupted
from crawlkit.crawling.results import Event, PageResult
from crawlkit.crawling.tables import flush_buffer
from crawlkit.crawling.trap_answers import answer_traps
from crawlkit.crawling.trap_watch import TrapWatch
from crawlkit.crawling.worker import RobotsResult, RobotsTask, Worker
from crawlkit.crawling.writer import ResultWriter
from crawlkit.web.spare_memory import return_spare_memory

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from crawlkit.crawling.frontier import Frontier
    from crawlkit.crawling.results import Extractor
    from crawlkit.crawling.settings import Settings
    from crawlkit.crawling.trap_watch import TrapNews
    from crawlkit.crawling.writer import Counters

__all__ = ["Engine"]

# Rows of results that may wait in the buffer before a Parquet segment is written.
_SEGMENT_RESULTS = 2_000
# Share of one processor above which no further worker is woken.
_BUSY = 0.9
# Share below which servers are clearly what is waited for: workers are woken at once.
_IDLE = 0.5
_WINDOW_SECONDS = 0.02
# Weight of the newest answer in the mean latency, and how many times the work on a page it must
# last for the servers to be clearly what is waited for.
_SMOOTHING = 0.2
_CLEARLY = 8
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
        self._ended = Gate()
        self._error: BaseException | None = None
        self._turn = threading.Lock()
        self._inbox: deque[_Slot] = deque()
        self._idle: list[_Slot] = []
        self._slots: list[_Slot] = []
        self._threads: list[threading.Thread] = []
        self._working = 0
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
        self._wanted = 1
        self._was_scarce = False
        self._window = (time.monotonic(), time.process_time())
        self._window_pages = 0
        self._latency = 0.0
        self._last_flush = counters.buffered
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
            self._window = (time.monotonic(), time.process_time())
            self._start_worker()
            while not self._ended.wait(tick):
                if on_tick is not None:
                    on_tick(self)
                self._look_for_traps()
            if self.stop_reason in BUDGETS:
                self._look_for_traps()  # a crawl that is over in a moment has had no look
        except KeyboardInterrupt:
            pass  # the end below stops the workers, in a thread that no second interrupt reaches
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
        """Look, if it is time to, and hand over what was seen to whoever has the next turn."""
        if self._news:
            return
        news = self._watch.look_if_due()
        if news is not None:
            self._news.append(news)
            for slot in self._idle[:1]:
                slot.wake.set()

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
        for slot in list(self._slots):
            slot.wake.set()

    def end(self) -> None:
        """Stop the workers, wait for them a bounded time, and write what they have brought."""
        self.stop("interrupted")
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
                trapped = self._answer_traps()
                self._save_totals()
            if trapped is not None and self.stop_reason in BUDGETS:
                self.stop_reason = trapped  # a larger limit alone would not let it go on
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
        except KeyboardInterrupt:  # raised by an extractor: it means what it says
            self.stop("interrupted")
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
                self.frontier.hosts.note_start(last, time.monotonic())
                at = self.frontier.hosts.reserve(name)
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
        if results or late or self._news or (not stopping and self._may_lease()):
            trapped = None
            assigned: list[tuple[_Slot, Lease | RobotsTask]] = []
            with self._transaction():
                self._write(results)
                if late:
                    self._renew(late)
                trapped = self._answer_traps()
                if not stopping and trapped is None:
                    assigned = self._assign()
                self._save_totals()
            self._hand_out(assigned, current)
            if trapped is not None:
                self.stop(trapped)
                stopping = True
            if self.counters.buffered - self._last_flush >= _SEGMENT_RESULTS:
                flush_buffer(self._connection, self.folder)
                return_spare_memory()
                self._last_flush = self.counters.buffered
        if not stopping and not self._working:
            reason = self._dispatcher.end_reason()
            if reason == "finished":
                with self._transaction():
                    if self._dispatcher.bring_back_late(self.folder):
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
        return self._working < self._wanted and self._dispatcher.may_lease()

    def _write(self, slots: list[_Slot]) -> None:
        for slot in slots:
            result, slot.result = slot.result, None
            self._working -= 1
            if isinstance(result, PageResult):
                self._dispatcher.note_page(result)
                self._window_pages += 1
                self._latency += _SMOOTHING * (result.response.elapsed - self._latency)
                self._watch.note_page(result.page)
                self._writer.write(result)
            elif result is not None:
                self._dispatcher.write_robots(result)

    def _assign(self) -> list[tuple[_Slot, Lease | RobotsTask]]:
        """Give tasks to idle workers; one more thread than works stays to watch the clocks."""
        assigned: list[tuple[_Slot, Lease | RobotsTask]] = []
        while self._working < self._wanted and self._idle:
            task = self._dispatcher.next_task(self._working)
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
        used, pages = cpu - self._window[1], self._window_pages
        self._window, self._window_pages = (now, cpu), 0
        load = used / elapsed
        enough = math.ceil(max(1, self._working) * _BUSY / max(load, 0.01))
        scarce = enough > self._wanted and self._working >= self._wanted
        if scarce and self._latency > _CLEARLY * used / max(1, pages):
            # The servers are what is waited for: one page's latency hides the work on many.
            hidden = math.ceil(self._latency * max(1, pages) / max(used, 1e-6))
            self._wanted = min(max(hidden, enough), self._settings.workers)
        elif scarce and load < _IDLE:
            self._wanted = min(enough, 2 * self._wanted, self._settings.workers)
        elif scarce and self._was_scarce:  # nearly busy: one more, if that was no moment's whim
            self._wanted = min(self._wanted + 1, self._settings.workers)
        elif enough < self._wanted:
            self._wanted -= 1
        self._was_scarce = scarce

    def _save_totals(self) -> None:
        self.counters.seconds = self._dispatcher.seconds()
        self.counters.save(self._connection)
        self.frontier.ordering.save()

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
        self.frontier.leases.renew(tokens, seconds=self._lease_seconds)
        for slot in alive:
            slot.lease_ends = time.monotonic() + self._lease_seconds
        for url in self.frontier.reclaim_expired():
            self._writer.event(Event("lease_expired", url))
