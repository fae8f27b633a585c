"""The durable frontier: states, leases and limits of every URL ever found.

Every method that writes must run inside a transaction of the one writing connection; the engine
opens it, so that a result, its links, the new URLs and the next lease become true together. What
is held in memory is rebuilt from the tables when a folder is opened.
"""

from __future__ import annotations

import heapq
import time
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.admission import Found
from crawlkit.crawling.entry import (
    DEAD,
    DONE,
    EXCLUDED,
    FAILED,
    LEASED,
    PENDING,
    STATES,
    Entry,
)
from crawlkit.crawling.leases import Lease, LeaseBook
from crawlkit.crawling.ordering_history import found_pages
from crawlkit.crawling.trap_records import HELD

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence

    from crawlkit.crawling.hosts import HostQueue
    from crawlkit.crawling.settings import Scope, Settings
    from crawlkit.order.base import FoundPage

__all__ = [
    "DEAD",
    "DONE",
    "EXCLUDED",
    "FAILED",
    "LEASED",
    "PENDING",
    "STATES",
    "Found",
    "Frontier",
    "Lease",
]

_ROW = (
    "SELECT id, url, key, hash, depth, source, leases, tries, lastmod, "
    "(SELECT url FROM urls AS parents WHERE parents.id = urls.found_on) FROM urls WHERE id = ?"
)
# Pages that one look-up names.
_AT_ONCE = 500


class Frontier(Entry):
    """The frontier of one crawl: the way in, and what is asked next and what came of it.

    Parameters
    ----------
    connection, settings, scope, clock
        As of :class:`~crawlkit.crawling.entry.Entry`.

    Attributes
    ----------
    suspects : set of int
        Pages in hand at several deaths: each is asked for alone, so that one of them that kills
        the process uses up the attempts of no other.
    given_up : list of str
        Addresses that were leased as often as they may be.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        settings: Settings,
        scope: Scope,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(connection, settings, scope, clock=clock)
        self.leases = LeaseBook(connection)
        self.suspects: set[int] = set()
        self.given_up: list[str] = []
        self._parked: list[tuple[float, int, int]] = []
        self._candidate: tuple[Any, ...] = (None,)

    def recover(self) -> list[str]:
        """Free the leases of dead owners and parked URLs; return the addresses that were leased.

        Freed URLs are urgent: they go first, as they would have without the death. One that was
        leased too often is given up.
        """
        execute = self._connection.execute
        limit = self._settings.limits.attempts
        given_up: list[int] = []
        rows = execute("SELECT id, url, host, leases FROM urls WHERE state = 1").fetchall()
        for page_id, url, _, leases in rows:
            if leases >= limit:
                self.given_up.append(url)
                given_up.append(page_id)
                execute(
                    "UPDATE urls SET state = 3, reason = 'attempts', urgent = 0 WHERE id = ?",
                    (page_id,),
                )
            else:
                execute("UPDATE urls SET state = 0, urgent = 1 WHERE id = ?", (page_id,))
                self.pending += 1
                self.urgent += 1
                if leases > limit // 3:
                    self.suspects.add(page_id)
        self.leases.clear()
        execute("UPDATE urls SET retry_at = NULL, urgent = 1 WHERE retry_at IS NOT NULL")
        for host in self.hosts:
            self.reload_head(host)
        self.tell_excluded(given_up)
        return [row[1] for row in rows]

    # -- leasing ---------------------------------------------------------------------------

    def has_ready(self) -> bool:
        """Return whether a lease, or the return of a parked URL, is due now."""
        now = self._clock()
        self.hosts.settle()
        return self.hosts.has_ready(now) or bool(self._parked and self._parked[0][0] <= now)

    def candidate(self) -> tuple[HostQueue, str, int] | None:
        """Return the host to ask next, its best URL and that URL's id; nothing is leased yet."""
        now = self._clock()
        self._unpark(now)
        self.hosts.settle()
        limit = self._settings.max_pages
        only_urgent = limit is not None and self.pages >= limit
        host = self.hosts.take(now, only_urgent=only_urgent)
        if host is None or host.head is None:
            return None
        page_id = host.head.id
        self._candidate = self._connection.execute(_ROW, (page_id,)).fetchone()
        return host, self._candidate[1], page_id

    def lease(self, host: HostQueue, *, seconds: float) -> Lease:
        """Lease a host's best URL for some seconds; the attempt is counted here, in advance."""
        head = host.head
        if head is None:
            raise RuntimeError(f"{host.name} has nothing to lease")
        execute = self._connection.execute
        row, self._candidate = self._candidate, (None,)
        if row[0] != head.id:
            row = execute(_ROW, (head.id,)).fetchone()
        _, url, key, hashed, depth, source, leases, tries, lastmod, found_on = row
        token = self.leases.open(head.id, seconds=seconds)
        execute(
            "UPDATE urls SET state = 1, urgent = 0, leases = leases + 1 WHERE id = ?", (head.id,)
        )
        self.pending -= 1
        self.urgent -= head.urgent
        self.leased += 1
        if not leases:
            self.pages += 1
            host.pages += 1
        self.hosts.start_request(host)
        self.reload_head(host)
        return Lease(
            head.id, token, url, url if key is None else key, hashed, host, depth, source,
            leases + 1, tries, found_on, lastmod,
        )  # fmt: skip

    def owns(self, lease: Lease) -> bool:
        """Return whether a lease is still the valid one for its URL, and end it."""
        if not self.leases.close(lease):
            return False
        self.leased -= 1
        return True

    def reclaim_expired(self) -> list[str]:
        """Free leases whose time is over though their owner lives; return the addresses."""
        rows = self.leases.expire()
        for page_id, _, host_id in rows:
            self._connection.execute(
                "UPDATE urls SET state = 0, urgent = 1 WHERE id = ?", (page_id,)
            )
            self.leased -= 1
            self.pending += 1
            self.urgent += 1
            host = self.hosts.by_id(host_id)
            host.in_flight = max(0, host.in_flight - 1)
            self.reload_head(host)
        return [row[1] for row in rows]

    def close_lease(self, lease: Lease, state: int, reason: str | None) -> None:
        """Write the end of a leased URL: done, failed or excluded."""
        self._connection.execute(
            "UPDATE urls SET state = ?, reason = ? WHERE id = ?", (state, reason, lease.id)
        )

    def give_back(self, lease: Lease) -> None:
        """Return a URL that was not asked after all; it goes first next time."""
        if self._hold_back(lease):
            return
        self._connection.execute("UPDATE urls SET state = 0, urgent = 1 WHERE id = ?", (lease.id,))
        self.pending += 1
        self.urgent += 1
        self.reload_head(lease.host)

    def park(self, lease: Lease, seconds: float, reason: str) -> None:
        """Set a URL aside to be tried again after some seconds."""
        if self._hold_back(lease):
            return
        self._connection.execute(
            "UPDATE urls SET state = 0, urgent = 1, tries = tries + 1, reason = ?, retry_at = ? "
            "WHERE id = ?",
            (reason, time.time() + seconds, lease.id),
        )
        self.pending += 1
        self.urgent += 1
        heapq.heappush(self._parked, (self._clock() + seconds, lease.id, lease.host.id))

    def _hold_back(self, lease: Lease) -> bool:
        """Set a URL aside that would wait again, where its region is held by now."""
        if not self.admission.is_held(lease.url, lease.source):
            return False
        self.close_lease(lease, EXCLUDED, HELD)
        self.tell_excluded((lease.id,))
        return True

    def _unpark(self, now: float) -> None:
        while self._parked and self._parked[0][0] <= now:
            _, page_id, host_id = heapq.heappop(self._parked)
            self._connection.execute(
                "UPDATE urls SET retry_at = NULL WHERE id = ? AND state = 0", (page_id,)
            )
            self.reload_head(self.hosts.by_id(host_id))

    def next_event_in(self) -> float | None:
        """Return the seconds until a pause or a parked URL's wait ends; ``None`` if none will."""
        self.hosts.settle()
        times = [at for at in (self.hosts.next_ready_at(), self._first_parked()) if at is not None]
        if not times:
            return None
        return max(0.0, min(times) - self._clock())

    def _first_parked(self) -> float | None:
        return self._parked[0][0] if self._parked else None

    # -- what the ordering hears -----------------------------------------------------------

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> None:
        """Tell the ordering of a download and write the scores that it changes."""
        for scores in self.ordering.downloaded(page, links):
            self.write_scores(scores)
        self.hosts.scores_changed()

    def tell_excluded(self, page_ids: Iterable[int]) -> None:
        """Tell the ordering that nothing will come of pages that waited."""
        if not self.ordering.listens:
            return
        ids = list(page_ids)
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            for page in list(found_pages(self._connection, f"urls.id IN ({marks})", some)):
                self.write_scores(self.ordering.excluded(page))
        self.hosts.scores_changed()

    def exclude_page(self, page_id: int, host: HostQueue, reason: str) -> None:
        """Set one waiting URL aside, and tell the ordering that nothing will come of it."""
        self._connection.execute(
            "UPDATE urls SET state = 4, reason = ? WHERE id = ?", (reason, page_id)
        )
        self.pending -= 1
        self.urgent -= host.head.urgent if host.head is not None else 0
        self.tell_excluded((page_id,))
        self.reload_head(host)

    def exclude_host(self, host: HostQueue, reason: str) -> int:
        """Set everything that waits on a host aside; return how many URLs that were."""
        rows = self._connection.execute(
            "UPDATE urls SET state = 4, reason = ?, retry_at = NULL WHERE host = ? AND state = 0 "
            "RETURNING id, urgent",
            (reason, host.id),
        ).fetchall()
        self._parked = [entry for entry in self._parked if entry[2] != host.id]
        heapq.heapify(self._parked)
        self.pending -= len(rows)
        self.urgent -= sum(urgent for _, urgent in rows)
        self.reload_head(host)
        self.tell_excluded(sorted(page_id for page_id, _ in rows))
        return len(rows)
