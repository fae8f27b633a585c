"""One queue per host with its own politeness clock, and the choice among the hosts that are ready.

Everything here is in memory and knows no database: what waits in a host's queue is told by its
head, the best URL that waits there. The cost of a choice grows with the logarithm of the number
of hosts and not with the number of URLs.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.order.base import round_score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Head", "HostQueue", "HostQueues"]


class Head(NamedTuple):
    """The best waiting URL of a host.

    ``urgent`` marks a URL that was leased before: it was counted against the limits then, and
    goes first.
    """

    urgent: int
    score: float
    id: int

    def beats(self, other: Head | None) -> bool:
        """Return whether this URL goes before another one of its host."""
        if other is None:
            return True
        return (-self.urgent, -self.score, self.id) < (-other.urgent, -other.score, other.id)


@dataclass(slots=True, eq=False)
class HostQueue:
    """What the scheduler knows of one host; ``next_at`` is on the monotonic clock."""

    id: int
    name: str
    delay: float
    next_at: float = 0.0
    asked: bool = False
    in_flight: int = 0
    pages: int = 0
    failures: int = 0
    head: Head | None = None
    score: float = 0.0
    served: int = 0
    version: int = 0


class HostQueues:
    """All hosts of a crawl.

    Parameters
    ----------
    workers
        Number of workers; at ``delay=0`` no host holds more than half of them while another
        host is ready.
    pages_per_host
        Limit of pages of one host, or ``None``.
    host_score
        The ordering's rank of a host, higher goes first; None where it ranks none.
    local
        Whether a host's rank changes only when something is found, asked or set aside there.
    """

    def __init__(
        self,
        *,
        workers: int,
        pages_per_host: int | None,
        host_score: Callable[[str], float] | None,
        local: bool = False,
    ) -> None:
        self._fair_share = max(1, workers // 2)
        self._pages_per_host = pages_per_host
        self._host_score = host_score
        self._local = local
        self._scores_changed = False
        self._scores: list[float] = []
        self._hosts: dict[int, HostQueue] = {}
        self._by_name: dict[str, HostQueue] = {}
        # Entries of both heaps go stale instead of being removed: each carries the version of
        # the host that it was made for, and is dropped when the host has moved on.
        self._ready: list[tuple[float, float, float, int, int, int]] = []
        self._waiting: list[tuple[float, int, int]] = []
        self._serving = 0

    def __len__(self) -> int:
        return len(self._hosts)

    def __iter__(self) -> Iterator[HostQueue]:
        return iter(self._hosts.values())

    def get(self, name: str) -> HostQueue | None:
        """Return a host by name."""
        return self._by_name.get(name)

    def by_id(self, host_id: int) -> HostQueue:
        """Return a host by its number."""
        return self._hosts[host_id]

    def add(self, host: HostQueue) -> None:
        """Take a host in."""
        self._hosts[host.id] = host
        self._by_name[host.name] = host
        self._scores.append(host.score)
        self._scores_changed = True
        self._serving = max(self._serving, host.served)

    def scores_changed(self) -> None:
        """Take note that the ordering was told something, so that any host's score may differ."""
        self._scores_changed = True

    def _update_scores(self) -> None:
        """Queue the hosts anew whose score has changed: also one that has risen must be found."""
        if self._host_score is None or self._local or not self._scores_changed:
            return
        self._scores_changed = False
        scores = list(map(self._host_score, self._by_name))
        if scores == self._scores:
            return
        for host, old, new in zip(self._hosts.values(), self._scores, scores, strict=True):
            if new != old:
                host.score = round_score(new)
                self.update(host)
        self._scores = scores

    def at_limit(self, host: HostQueue) -> bool:
        """Return whether a host has had all the pages it may have."""
        return self._pages_per_host is not None and host.pages >= self._pages_per_host

    def update(self, host: HostQueue) -> None:
        """Queue a host anew after its head, clock, score or load changed."""
        host.version += 1
        if self._local and self._host_score is not None:
            host.score = round_score(self._host_score(host.name))
        head = host.head
        if head is None or (not head.urgent and self.at_limit(host)):
            return
        if host.in_flight and host.delay > 0:
            return
        heapq.heappush(self._waiting, (host.next_at, host.id, host.version))

    def _ripen(self, now: float) -> None:
        """Move the hosts whose pause is over to the ready heap."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            _, host_id, version = heapq.heappop(waiting)
            host = self._hosts[host_id]
            if version == host.version and host.head is not None:
                heapq.heappush(self._ready, self._rank(host, host.head))

    def _rank(self, host: HostQueue, head: Head) -> tuple[float, float, float, int, int, int]:
        return (
            -head.urgent,
            -host.score,
            -head.score,
            host.served,
            host.id,
            host.version,
        )

    def _peek(self, now: float) -> HostQueue | None:
        """Return the best ready host, which stays on top of the heap."""
        self._ripen(now)
        ready = self._ready
        while ready:
            entry = ready[0]
            host = self._hosts[entry[4]]
            if entry[5] != host.version or host.head is None:
                heapq.heappop(ready)
                continue
            return host
        return None

    def has_ready(self, now: float) -> bool:
        """Return whether any host may be asked now."""
        return self._peek(now) is not None

    def take(self, now: float, *, only_urgent: bool = False) -> HostQueue | None:
        """Choose the host to ask next, or ``None``; the caller then calls :meth:`serve`.

        Parameters
        ----------
        now
            Monotonic seconds.
        only_urgent
            Whether only URLs that were counted before may go, since a limit is reached.
        """
        self._update_scores()
        crowded: list[tuple[float, float, float, int, int, int]] = []
        chosen: HostQueue | None = None
        while True:
            host = self._peek(now)
            if host is None or (only_urgent and host.head is not None and not host.head.urgent):
                break
            if host.in_flight < self._fair_share:
                chosen = host
                break
            crowded.append(heapq.heappop(self._ready))
        if chosen is None and crowded:
            chosen = self._hosts[crowded[0][4]]
        for entry in crowded:
            heapq.heappush(self._ready, entry)
        return chosen

    def serve(self, host: HostQueue, now: float, *, page: bool = True) -> None:
        """Count a request to a host: its clock starts, and after a page goes behind its equals."""
        if page:
            self._serving += 1
            host.served = self._serving
        host.in_flight += 1
        host.asked = True
        host.next_at = max(host.next_at, now + host.delay)

    def next_ready_at(self) -> float | None:
        """Return when the next pause ends (monotonic seconds), or ``None`` if nothing waits."""
        waiting = self._waiting
        while waiting:
            at, host_id, version = waiting[0]
            if self._hosts[host_id].version == version:
                return at
            heapq.heappop(waiting)
        return None
