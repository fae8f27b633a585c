"""The requests of a crawl that are out: sent, or about to be, and not answered yet.

One thread does all the work of a crawl that takes the processor. Requests on connections that are
open it sends by itself, and reads their answers when they are there: threads that take turns on
the interpreter's lock cost more than they do. What may have to be waited for - a connection, a
robots.txt, an answer that comes in pieces, what an extractor does - is an errand, and a thread of
its own runs it.
"""

from __future__ import annotations

import contextlib
import queue
import select
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.crawling.worker import RobotsTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlkit.crawling.leases import Lease
    from crawlkit.crawling.results import PageResult
    from crawlkit.crawling.worker import RobotsResult, Worker
    from crawlkit.web.asked import Asked
    from crawlkit.web.response import Response

__all__ = ["Arrival", "Outstanding", "Request"]

# How often an answer that comes in pieces is looked at before a thread waits for the rest.
_LOOKS = 3
# How often it is looked whether a request has used up its time.
_DUE_SECONDS = 0.25
_READABLE = 1  # POLLIN, where there is a poll


@dataclass(slots=True, eq=False)
class Request:
    """A request that is out.

    ``lease_ends`` is when its lease ends (monotonic seconds), ``thread`` the one that runs its
    errand, if it has one.
    """

    task: Lease | RobotsTask
    lease_ends: float
    asked: Asked | None = None
    looks: int = 0
    thread: threading.Thread | None = None

    def is_alive(self) -> bool:
        """Return whether anyone still waits for the answer."""
        return self.thread is None or self.thread.is_alive()


class Arrival(NamedTuple):
    """What came of a request: an answer still to be digested, or what a thread has made of it.

    ``brought`` is ``None`` where the thread has failed.
    """

    request: Request
    brought: Response | PageResult | RobotsResult | None


class Outstanding:
    """Sends requests and brings what comes of them; its methods are for the crawl's one thread.

    Only :meth:`wake`, :meth:`join` and :meth:`dismiss` may be called by others.

    Parameters
    ----------
    worker
        Asks, and knows whether pages are digested where they are fetched.
    cut_off
        Set when answers must not be waited for any longer.
    on_failure
        Called, in a thread of an errand, with what the errand has raised.
    """

    def __init__(
        self,
        worker: Worker,
        *,
        cut_off: threading.Event,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._worker = worker
        self._cut_off = cut_off
        self._on_failure = on_failure
        self._requests: set[Request] = set()
        self._watched: dict[int, Request] = {}
        self._poll: Any = select.poll() if hasattr(select, "poll") else _Select()
        self._next_due = 0.0
        self._errands: queue.SimpleQueue[tuple[Request, Callable[[], Any]] | None]
        self._errands = queue.SimpleQueue()
        self._errands_out = 0
        self._threads: list[threading.Thread] = []
        self._brought: deque[Arrival] = deque()
        self._asleep = False
        self._bell, self._button = socket.socketpair()
        for end in (self._bell, self._button):
            end.settimeout(0.0)
        self._poll.register(self._bell.fileno(), _READABLE)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._requests)

    # -- out -------------------------------------------------------------------------------

    def start(self, task: Lease | RobotsTask, *, lease_ends: float) -> None:
        """Send a request, or let a thread send it."""
        request = Request(task, lease_ends)
        self._requests.add(request)
        worker = self._worker
        if isinstance(task, RobotsTask):
            self._send_on_errand(request, lambda: worker.fetch_robots(task))
        elif worker.has_extractor:
            self._send_on_errand(request, lambda: worker.fetch_page(task))
        else:
            request.asked = worker.begin(task)
            if request.asked is None:
                self._send_on_errand(request, lambda: worker.fetch(task))
            else:
                self._watch(request, request.asked)

    def _watch(self, request: Request, asked: Asked) -> None:
        handle = asked.fileno()
        if handle < 0:
            self._send_on_errand(request, asked.wait)
            return
        self._watched[handle] = request
        self._poll.register(handle, _READABLE)

    def _send_on_errand(self, request: Request, errand: Callable[[], Any]) -> None:
        self._errands_out += 1
        if self._errands_out > len(self._threads):
            name = f"crawlkit-errand-{len(self._threads)}"
            thread = threading.Thread(target=self._run_errands, name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system gives no more: the errand waits for one of ours
                if not self._threads:
                    raise
            else:
                self._threads.append(thread)
        self._errands.put((request, errand))

    def _run_errands(self) -> None:
        while (job := self._errands.get()) is not None:
            request, errand = job
            request.thread = threading.current_thread()
            brought = None
            try:
                brought = errand()
            except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
                self._on_failure(error)
            self._brought.append(Arrival(request, brought))
            if self._asleep:
                self.wake()
        self._errands.put(None)  # for the next thread, also one that is started only now

    # -- home ------------------------------------------------------------------------------

    def arrivals(self, seconds: float) -> list[Arrival]:
        """Return what has arrived; wait for it, but not longer than some seconds.

        An answer is read as soon as it is there, so that its time is that of the server.
        """
        self._asleep = True  # from here on, whoever brings something rings
        if self._brought:
            seconds = 0.0
        elif self._watched:
            seconds = min(seconds, _DUE_SECONDS)
        ready = self._poll.poll(1000.0 * seconds)
        self._asleep = False
        arrived: list[Arrival] = []
        for handle, _ in ready:
            request = self._watched.get(handle)
            if request is None:
                self._silence()
            else:
                self._look(handle, request, arrived)
        self._look_at_due(arrived)
        while self._brought:
            self._errands_out -= 1
            arrived.append(self._brought.popleft())
        for arrival in arrived:
            self._requests.discard(arrival.request)
        return arrived

    def _look(self, handle: int, request: Request, arrived: list[Arrival]) -> None:
        asked = request.asked
        if asked is None:
            return
        response = asked.answer()
        if response is None:
            request.looks += 1
            patient = request.looks < _LOOKS and asked.may_take_long()
            if patient and asked.fileno() == handle:
                return
        del self._watched[handle]
        self._poll.unregister(handle)
        if response is None:
            self._send_on_errand(request, asked.wait)
        else:
            arrived.append(Arrival(request, response))

    def _look_at_due(self, arrived: list[Arrival]) -> None:
        """Look at the requests that have no time left, so that they end."""
        now = time.monotonic()
        if now < self._next_due and not self._cut_off.is_set():
            return
        self._next_due = now + _DUE_SECONDS
        for handle, request in list(self._watched.items()):
            if request.asked is not None and request.asked.is_due():
                self._look(handle, request, arrived)

    def give_up(self) -> None:
        """Close the connections of the requests that are watched: nobody will read the answers."""
        for request in self._watched.values():
            if request.asked is not None:
                request.asked.close()
        self._watched.clear()

    # -- from other threads ----------------------------------------------------------------

    def wake(self) -> None:
        """End the waiting of :meth:`arrivals`; safe from any thread."""
        with contextlib.suppress(OSError):  # it rings already, or nobody is left
            self._button.send(b"!")

    def _silence(self) -> None:
        with contextlib.suppress(OSError):
            self._bell.recv(4096)

    def join(self, seconds: float) -> None:
        """Wait for the threads of errands, once :meth:`dismiss` was called."""
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def dismiss(self) -> None:
        """Let the threads of errands end when they have done what they do."""
        self._errands.put(None)

    def close(self) -> None:
        """Close what wakes; nothing can be waited for any more."""
        self._bell.close()
        self._button.close()


class _Select:
    """`select.poll` where the system has none."""

    def __init__(self) -> None:
        self._watched: set[int] = set()

    def register(self, handle: int, _: int) -> None:
        self._watched.add(handle)

    def unregister(self, handle: int) -> None:
        self._watched.discard(handle)

    def poll(self, milliseconds: float) -> list[tuple[int, int]]:
        watched = list(self._watched)
        ready, _, broken = select.select(watched, [], watched, milliseconds / 1000.0)
        return [(handle, _READABLE) for handle in {*ready, *broken}]
