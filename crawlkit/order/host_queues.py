"""The waiting pages of a replay in a queue for each host, each with a clock of its own.

The choice is that of the live frontier (``crawling/hosts.py``), in ticks instead of seconds.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from crawlkit.order.page_queue import negated, pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlkit.order.base import Scores

__all__ = ["HostQueues"]


class _Host:
    """The queue and the clock of one host."""

    __slots__ = (
        "heap", "name", "next_at", "number", "score", "served", "told", "version", "waiting",
    )  # fmt: skip

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.heap: list[tuple[float, int]] = []
        self.waiting = 0
        self.next_at = 0
        self.told = 0.0  # the ordering's rank of the host
        self.score = 0.0  # the same, negated and rounded
        self.served = 0
        self.version = 0


_Entry = tuple[float, float, int, int, int]


class HostQueues:
    """A queue for each host; after a download a host rests.

    Among the hosts that may be asked, the best host score goes first, then the best page, then
    the host that has waited longest, then the one that was found first: as in a live crawl.

    Parameters
    ----------
    names
        Names of the hosts by number.
    rest
        Ticks that a host waits between two downloads; a tick brings up to ``fetchers`` of them.
    host_score
        The ordering's rank of a host, or ``None`` if it has none.
    local
        Whether a host's rank changes only with its own pages, so that the others need no look.
    """

    def __init__(
        self,
        names: list[str],
        *,
        rest: int,
        host_score: Callable[[str], float] | None,
        local: bool = False,
    ) -> None:
        self._names = names
        self._rest = rest
        self._host_score = host_score
        self._local = local
        self._scores: list[float | None] = []
        self._hosts: dict[int, _Host] = {}  # by number in the graph
        self._in_order: list[_Host] = []
        self._host_of: list[_Host] = []  # by page
        self._ready: list[_Entry] = []
        self._resting: list[tuple[int, int, int]] = []
        self._touched: set[_Host] = set()
        self._tick = 0
        self._served = 0

    def add(self, page: int, host: int, score: float) -> None:
        """Let a newly found page wait on its host."""
        del page
        entered = negated(score)
        queue = self._hosts.get(host)
        if queue is None:
            queue = self._hosts[host] = _Host(len(self._in_order), self._names[host])
            self._in_order.append(queue)
        heapq.heappush(queue.heap, (entered, len(self._scores)))
        queue.waiting += 1
        self._scores.append(entered)
        self._host_of.append(queue)
        self._touched.add(queue)

    def update(self, scores: Scores) -> None:
        """Take new scores of waiting pages."""
        known = self._scores
        for page, score in pairs(scores):
            if page >= len(known) or known[page] is None:
                continue
            new = negated(score)
            if new != known[page]:
                known[page] = new
                host = self._host_of[page]
                heapq.heappush(host.heap, (new, page))
                self._touched.add(host)
                if len(host.heap) > 2 * host.waiting + 64:
                    host.heap = list({one for one in host.heap if known[one[1]] == one[0]})
                    heapq.heapify(host.heap)

    def take(self, most: int) -> list[int]:
        """Take out the pages that go in the next tick in which a host may be asked."""
        self._tick += 1
        if self._host_score is not None:
            self._rank_hosts(self._host_score)
        for host in self._touched:
            self._queue_anew(host)
        self._touched.clear()
        self._wake()
        if not self._peek():
            self._drop_stale_rests()
            if not self._resting:
                return []
            self._tick = self._resting[0][0]
            self._wake()
        taken: list[int] = []
        while len(taken) < most:
            chosen = self._peek()
            if chosen is None:
                break
            taken.append(self._serve(chosen))
            if len(taken) < most:  # the next tick does it otherwise, with what the page brings
                self._queue_anew(chosen)
        return taken

    def _rank_hosts(self, host_score: Callable[[str], float]) -> None:
        for host in tuple(self._touched) if self._local else self._in_order:
            score = host_score(host.name)
            if score != host.told:
                host.told = score
                host.score = negated(score)
                self._touched.add(host)

    def _head(self, host: _Host) -> tuple[float, int] | None:
        heap, known = host.heap, self._scores
        while heap and known[heap[0][1]] != heap[0][0]:
            heapq.heappop(heap)
        return heap[0] if heap else None

    def _rank(self, host: _Host, head: tuple[float, int]) -> _Entry:
        return (host.score, head[0], host.served, host.number, host.version)

    def _queue_anew(self, host: _Host) -> None:
        """Queue a host after its head, its clock or its rank may have changed."""
        host.version += 1
        head = self._head(host)
        if head is None:
            return
        if host.next_at > self._tick:
            heapq.heappush(self._resting, (host.next_at, host.number, host.version))
        else:
            heapq.heappush(self._ready, self._rank(host, head))

    def _drop_stale_rests(self) -> None:
        resting, hosts = self._resting, self._in_order
        while resting and hosts[resting[0][1]].version != resting[0][2]:
            heapq.heappop(resting)

    def _wake(self) -> None:
        resting, hosts = self._resting, self._in_order
        while resting and resting[0][0] <= self._tick:
            _, number, version = heapq.heappop(resting)
            head = self._head(hosts[number])
            if hosts[number].version == version and head is not None:
                heapq.heappush(self._ready, self._rank(hosts[number], head))

    def _peek(self) -> _Host | None:
        """Return the best host that may be asked, which stays on top."""
        ready = self._ready
        while ready:
            entry = ready[0]
            host = self._in_order[entry[3]]
            if entry[4] == host.version:
                return host
            heapq.heappop(ready)
        return None

    def _serve(self, host: _Host) -> int:
        page = heapq.heappop(host.heap)[1]
        self._scores[page] = None
        host.waiting -= 1
        self._served += 1
        host.served = self._served
        host.next_at = self._tick + self._rest + 1 if self._rest else self._tick
        self._touched.add(host)
        return page
