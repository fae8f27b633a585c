"""The hosts of a crawl with their politeness clocks, as the database keeps them.

Clocks run on the monotonic clock. What a later process must respect is written with the
transaction: that a host was asked, how long it wants to be left alone, and whose turn it was.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from crawlkit.crawling.hosts import HostQueue, HostQueues

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from crawlkit.crawling.settings import Settings

__all__ = ["HostClocks"]

_LONGEST_PAUSE = 86_400.0


class HostClocks(HostQueues):
    """All hosts of a crawl; each method that writes runs in the caller's transaction.

    Parameters
    ----------
    connection
        The writing connection.
    settings
        What the crawl was told.
    host_score
        The ordering's rank of a host; None where it ranks none.
    local
        Whether a host's rank changes only when something is found, asked or set aside there.
    clock
        Monotonic seconds.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        settings: Settings,
        *,
        host_score: Callable[[str], float] | None,
        local: bool,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(
            workers=settings.workers,
            pages_per_host=settings.limits.pages_per_host,
            host_score=host_score,
            local=local,
        )
        self._connection = connection
        self._delay = settings.delay
        self._clock = clock
        self._touched: set[HostQueue] = set()
        self._load()

    def _load(self) -> None:
        """Read the hosts; one that was asked before waits one full delay, or its Retry-After."""
        ask = self._connection.execute
        now = self._clock()
        wall = time.time()
        pages = dict(ask("SELECT host, count(*) FROM urls WHERE leases > 0 GROUP BY host"))
        for host_id, name, asked, not_before, longest, served in ask(
            "SELECT id, name, asked, not_before, pause, served FROM hosts"
        ).fetchall():
            pause = self._delay if asked else 0.0
            if not_before is not None:
                # A clock set back since must not lengthen the pause.
                pause = max(pause, min(not_before - wall, longest, _LONGEST_PAUSE))
            self.add(
                HostQueue(
                    host_id, name, self._delay, now + pause, bool(asked),
                    pages=pages.get(host_id, 0), served=served,
                )
            )  # fmt: skip

    def named(self, name: str) -> HostQueue:
        """Return a host by name; a new one is taken in."""
        host = self.get(name)
        if host is None:
            cursor = self._connection.execute("INSERT INTO hosts (name) VALUES (?)", (name,))
            if len(self) == 1:  # a lone host had no turns to write
                for first in self:
                    self._write_turn(first)
            host = HostQueue(cursor.lastrowid or 0, name, self._delay)
            self.add(host)
        return host

    # -- queues ----------------------------------------------------------------------------

    def touch(self, host: HostQueue) -> None:
        """Take note that a host's head, clock or load changed; :meth:`settle` queues it anew."""
        self._touched.add(host)

    def settle(self) -> None:
        """Queue the hosts anew that were touched."""
        for host in self._touched:
            self.update(host)
        self._touched.clear()

    # -- clocks ----------------------------------------------------------------------------

    def start_request(self, host: HostQueue, *, page: bool = True) -> None:
        """Start a host's clock, durably marking it as asked the first time.

        Parameters
        ----------
        host
            The host that is about to be asked.
        page
            Whether it is asked for a page, and so has had its turn.
        """
        first = not host.asked
        self.serve(host, self._clock(), page=page)
        if first or (page and len(self) > 1):
            self._write_turn(host)

    def _write_turn(self, host: HostQueue) -> None:
        self._connection.execute(
            "UPDATE hosts SET asked = ?, served = ? WHERE id = ?",
            (host.asked, host.served, host.id),
        )

    def note_start(self, name: str, started: float) -> None:
        """Let a host's pause count from a request that started then (monotonic seconds)."""
        host = self.named(name)
        host.next_at = max(host.next_at, started + host.delay)
        self.touch(host)

    def reserve(self, name: str) -> float:
        """Reserve the next moment of a host's clock for one request; return it (monotonic)."""
        host = self.named(name)
        at = max(self._clock(), host.next_at)
        host.next_at = at + host.delay
        host.asked = True
        self._write_turn(host)
        self.touch(host)
        return at

    def end_request(self, host: HostQueue, *, started: float | None) -> None:
        """Set a host's clock by when its request really started (monotonic seconds)."""
        host.in_flight = max(0, host.in_flight - 1)
        if started is not None:
            host.next_at = max(host.next_at, started + host.delay)
        self.touch(host)

    def pause(self, host: HostQueue, seconds: float) -> None:
        """Let a host wait, durably, as after Retry-After."""
        host.next_at = max(host.next_at, self._clock() + seconds)
        until = time.time() + seconds
        self._connection.execute(
            "UPDATE hosts SET not_before = ?, pause = ? "
            "WHERE id = ? AND (coalesce(not_before, 0) < ? OR pause < ?)",
            (until, seconds, host.id, until, seconds),
        )
        self.touch(host)
