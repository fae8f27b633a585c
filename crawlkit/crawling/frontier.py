"""The durable frontier: states, leases, limits and scores of every URL ever found.

Every method that writes must run inside a transaction of the one writing connection; the engine
opens it, so that a result, its links, the new URLs and the next lease become true together. What
is held in memory is rebuilt from the tables when a folder is opened.
"""

from __future__ import annotations

import heapq
import math
import time
from typing import TYPE_CHECKING

from crawlkit.crawling.admission import Admission, Found
from crawlkit.crawling.hosts import Head, HostQueue, HostQueues
from crawlkit.crawling.leases import Lease, LeaseBook
from crawlkit.crawling.seen import UNREACHED, Known, SeenSet
from crawlkit.errors import BadSetting
from crawlkit.order.base import FoundPage
from crawlkit.web.urls import url_hash

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

    from crawlkit.crawling.settings import Scope, Settings

__all__ = [
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

PENDING, LEASED, DONE, FAILED, EXCLUDED, DEAD = range(6)
STATES = ("pending", "leased", "done", "failed", "excluded", "dead")

_INSERT = (
    "INSERT INTO urls (id, hash, url, key, host, depth, state, reason, score, found_on, source, "
    "lastmod) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_HEAD = (
    "SELECT urgent, score, id FROM urls WHERE host = ? AND state = 0 AND retry_at IS NULL "
    "ORDER BY urgent DESC, score DESC, id LIMIT 1"
)
_ROW = (
    "SELECT url, key, hash, depth, source, leases, tries, "
    "(SELECT url FROM urls AS parents WHERE parents.id = urls.found_on) FROM urls WHERE id = ?"
)


def round_score(score: float) -> float:
    """Return a score at 12 significant digits, so that float noise never decides.

    Raises
    ------
    BadSetting
        An ordering of the caller's own gave something that is no number.
    """
    try:
        rounded = float(f"{score:.12g}")
    except (TypeError, ValueError):
        rounded = math.nan
    if math.isnan(rounded):
        raise BadSetting(
            "order", f"the ordering gave the score {score!r}", "Return a number from its methods."
        )
    return rounded


class Frontier:
    """The frontier of one crawl.

    Parameters
    ----------
    connection
        The writing connection.
    settings
        What the crawl was told.
    scope
        The hosts that belong to it.
    clock
        Monotonic seconds; politeness runs on it, so a clock set back does no harm.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        settings: Settings,
        scope: Scope,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self.admission = Admission(settings, scope)
        self.leases = LeaseBook(connection)
        self._clock = clock
        self.ordering = settings.order
        self.seen = SeenSet(connection)
        self.hosts = HostQueues(
            workers=settings.workers,
            pages_per_host=settings.limits.pages_per_host,
            host_score=self.ordering.host_score,
        )
        self._parked: list[tuple[float, int, int]] = []
        self._touched: set[HostQueue] = set()
        self.not_kept = 0
        self.pending = 0
        self.leased = 0
        self.known = 0
        self.pages = 0
        self.urgent = 0
        # Whether a shorter way to a page was found only after the page was asked for.
        self.found_late = False
        # Pages in hand at several deaths: each is asked for alone, so that one of them that
        # kills the process uses up the attempts of no other.
        self.suspects: set[int] = set()
        self.given_up: list[str] = []
        self._next_id = 0
        self._load()

    # -- opening ---------------------------------------------------------------------------

    def _load(self) -> None:
        """Rebuild the queues; every host asked before waits one full delay, or its Retry-After."""
        ask = self._connection.execute
        self.known, last = ask("SELECT count(*), coalesce(max(id), -1) FROM urls").fetchone()
        self._next_id = last + 1
        self.pages = ask("SELECT count(*) FROM urls WHERE leases > 0").fetchone()[0]
        self.pending, self.urgent = ask(
            "SELECT count(*), coalesce(sum(urgent), 0) FROM urls WHERE state = 0"
        ).fetchone()
        # An earlier run may have ended before it could look into this; see judge_depths.
        self.found_late = bool(self.pages)
        now = self._clock()
        wall = time.time()
        pages = dict(ask("SELECT host, count(*) FROM urls WHERE leases > 0 GROUP BY host"))
        for host_id, name, asked, not_before, longest in ask(
            "SELECT id, name, asked, not_before, pause FROM hosts"
        ).fetchall():
            delay = self._settings.delay
            pause = delay if asked else 0.0
            if not_before is not None:
                # A clock set back since must not lengthen the pause.
                pause = max(pause, min(not_before - wall, longest, 86_400.0))
            host = HostQueue(
                host_id, name, delay, now + pause, bool(asked), pages=pages.get(host_id, 0)
            )
            self.hosts.add(host)
            self._reload_head(host)

    def recover(self) -> list[str]:
        """Free the leases of dead owners and parked URLs; return the addresses that were leased.

        Freed URLs are urgent: they go first, as they would have without the death. One that was
        leased too often is given up.
        """
        execute = self._connection.execute
        limit = self._settings.limits.attempts
        rows = execute("SELECT id, url, host, leases FROM urls WHERE state = 1").fetchall()
        for page_id, url, _, leases in rows:
            if leases >= limit:
                self.given_up.append(url)
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
            self._reload_head(host)
        return [row[1] for row in rows]

    def _reload_head(self, host: HostQueue) -> None:
        row = self._connection.execute(_HEAD, (host.id,)).fetchone()
        host.head = None if row is None else Head(*row)
        self.hosts.update(host)

    def reload(self) -> None:
        """Read all heads and counts anew, after rows were changed in bulk."""
        self.seen.forget_all()
        self.pending, self.urgent = self._connection.execute(
            "SELECT count(*), coalesce(sum(urgent), 0) FROM urls WHERE state = 0"
        ).fetchone()
        for host in self.hosts:
            self._reload_head(host)

    # -- entry -----------------------------------------------------------------------------

    def enter(self, found: Found, hashed: int | None = None) -> tuple[Known | None, bool]:
        """Take a URL in, or find it known.

        Returns
        -------
        tuple of Known or None, and bool
            The entry (``None`` if it lies past ``known_urls``), and whether it is new.
        """
        address = found.address
        depth = found.depth if found.follow else UNREACHED
        known = self.seen.cached(address.url)
        if known is None:
            if hashed is None:
                hashed = url_hash(address.key)
            known = self.seen.find(address, hashed)
        if known is not None:
            if depth < known.depth:
                self._found_closer(known, found)
            return known, False
        limit = self._settings.limits.known_urls
        if limit is not None and self.known >= limit:
            self.not_kept += 1
            return None, False
        return self._insert(found, url_hash(address.key) if hashed is None else hashed), True

    def _insert(self, found: Found, hashed: int) -> Known:
        address = found.address
        host = self._host(address.host)
        page_id = self._next_id
        self._next_id += 1
        self.known += 1
        reason = self.admission.refusal(found)
        score = 0.0
        if reason is None:
            score = self._start(page_id, found)
            self.pending += 1
            self._offer(host, Head(0, score, page_id))
        self._connection.execute(
            _INSERT,
            (
                page_id,
                hashed,
                address.url,
                None if address.key == address.url else address.key,
                host.id,
                found.depth,
                PENDING if reason is None else EXCLUDED,
                reason,
                score,
                found.found_on,
                found.source,
                found.lastmod,
            ),
        )
        known = Known(page_id, address.url, found.depth if found.follow else UNREACHED)
        self.seen.remember(address.url, known)
        return known

    def _start(self, page_id: int, found: Found) -> float:
        address = found.address
        page = FoundPage(
            page_id, address.url, address.host, found.depth, found.source, found.lastmod
        )
        return round_score(self.ordering.start(page))

    def _offer(self, host: HostQueue, head: Head) -> None:
        if head.beats(host.head):
            host.head = head
        self._touched.add(host)

    def _host(self, name: str) -> HostQueue:
        host = self.hosts.get(name)
        if host is None:
            cursor = self._connection.execute("INSERT INTO hosts (name) VALUES (?)", (name,))
            host = HostQueue(cursor.lastrowid or 0, name, self._settings.delay)
            self.hosts.add(host)
        return host

    def bring_back(self, page_id: int, found: Found) -> None:
        """Let an excluded URL wait again; call :meth:`reload` after the last one."""
        score = self._start(page_id, found)
        self._connection.execute(
            "UPDATE urls SET state = 0, reason = NULL, score = ?, urgent = (leases > 0) "
            "WHERE id = ?",
            (score, page_id),
        )

    def revive_seed(self, page_id: int, found: Found) -> None:
        """Let a URL that was refused as a link wait again, since it is a seed now."""
        row = self._connection.execute(
            "SELECT host FROM urls WHERE id = ? AND state = 4 AND reason IN "
            "('scope', 'depth', 'include', 'exclude', 'not_followed')",
            (page_id,),
        ).fetchone()
        if row is not None and self.admission.refusal(found) is None:
            self.bring_back(page_id, found)
            self._connection.execute(
                "UPDATE urls SET source = ?, depth = 0 WHERE id = ?", (found.source, page_id)
            )
            self.pending += 1
            self._reload_head(self.hosts.by_id(row[0]))

    def _found_closer(self, known: Known, found: Found) -> None:
        """Note a shorter way to a known URL, which may bring it back inside a limit."""
        row = self._connection.execute(
            "SELECT state, reason, host, depth FROM urls WHERE id = ?", (known.id,)
        ).fetchone()
        state, reason, host_id, depth = row
        closer = Known(known.id, known.url, found.depth)
        self.seen.remember(found.address.url, closer)
        if state == EXCLUDED and reason in ("depth", "not_followed"):
            refusal = self.admission.refusal(found)
            if refusal is None:
                score = self._start(known.id, found)
                self.pending += 1
                self._offer(self.hosts.by_id(host_id), Head(0, score, known.id))
                self._connection.execute(
                    "UPDATE urls SET state = 0, reason = NULL, score = ?, depth = ? WHERE id = ?",
                    (score, found.depth, known.id),
                )
            else:
                self._connection.execute(
                    "UPDATE urls SET reason = ?, depth = min(depth, ?) WHERE id = ?",
                    (refusal, found.depth, known.id),
                )
        elif state in (PENDING, EXCLUDED) and found.depth < depth:
            self._connection.execute(
                "UPDATE urls SET depth = ? WHERE id = ?", (found.depth, known.id)
            )
        elif found.depth < depth:
            self.found_late = True

    # -- leasing ---------------------------------------------------------------------------

    def has_ready(self) -> bool:
        """Return whether a lease, or the return of a parked URL, is due now."""
        now = self._clock()
        self._flush_touched()
        return self.hosts.has_ready(now) or bool(self._parked and self._parked[0][0] <= now)

    def candidate(self) -> tuple[HostQueue, str, int] | None:
        """Return the host to ask next, its best URL and that URL's id; nothing is leased yet."""
        now = self._clock()
        self._unpark(now)
        self._flush_touched()
        limit = self._settings.max_pages
        only_urgent = limit is not None and self.pages >= limit
        host = self.hosts.take(now, only_urgent=only_urgent)
        if host is None or host.head is None:
            return None
        page_id = host.head.id
        url: str = self._connection.execute(
            "SELECT url FROM urls WHERE id = ?", (page_id,)
        ).fetchone()[0]
        return host, url, page_id

    def lease(self, host: HostQueue, *, seconds: float) -> Lease:
        """Lease a host's best URL for some seconds; the attempt is counted here, in advance."""
        head = host.head
        if head is None:
            raise RuntimeError(f"{host.name} has nothing to lease")
        execute = self._connection.execute
        url, key, hashed, depth, source, leases, tries, found_on = execute(
            _ROW, (head.id,)
        ).fetchone()
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
        self.start_request(host)
        self._reload_head(host)
        return Lease(
            head.id, token, url, url if key is None else key, hashed, host, depth, source,
            leases + 1, tries, found_on,
        )  # fmt: skip

    def start_request(self, host: HostQueue) -> None:
        """Start a host's clock, durably marking it as asked the first time."""
        if not host.asked:
            self._connection.execute("UPDATE hosts SET asked = 1 WHERE id = ?", (host.id,))
        self.hosts.serve(host, self._clock())

    def note_start(self, name: str, started: float) -> None:
        """Let a host's pause count from a request that started then (monotonic seconds)."""
        host = self._host(name)
        host.next_at = max(host.next_at, started + host.delay)
        self._touched.add(host)

    def reserve(self, name: str) -> float:
        """Reserve the next moment of a host's clock for one request; return it (monotonic)."""
        host = self._host(name)
        at = max(self._clock(), host.next_at)
        host.next_at = at + host.delay
        host.asked = True
        self._connection.execute("UPDATE hosts SET asked = 1 WHERE id = ?", (host.id,))
        self._touched.add(host)
        return at

    def end_request(self, host: HostQueue, *, started: float | None) -> None:
        """Set a host's clock by when its request really started (monotonic seconds)."""
        host.in_flight = max(0, host.in_flight - 1)
        if started is not None:
            host.next_at = max(host.next_at, started + host.delay)
        self._touched.add(host)

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
            self._reload_head(host)
        return [row[1] for row in rows]

    def close_lease(self, lease: Lease, state: int, reason: str | None) -> None:
        """Write the end of a leased URL: done, failed or excluded."""
        self._connection.execute(
            "UPDATE urls SET state = ?, reason = ? WHERE id = ?", (state, reason, lease.id)
        )

    def give_back(self, lease: Lease) -> None:
        """Return a URL that was not asked after all; it goes first next time."""
        self._connection.execute("UPDATE urls SET state = 0, urgent = 1 WHERE id = ?", (lease.id,))
        self.pending += 1
        self.urgent += 1
        self._reload_head(lease.host)

    def park(self, lease: Lease, seconds: float, reason: str) -> None:
        """Set a URL aside to be tried again after some seconds."""
        self._connection.execute(
            "UPDATE urls SET state = 0, urgent = 1, tries = tries + 1, reason = ?, retry_at = ? "
            "WHERE id = ?",
            (reason, time.time() + seconds, lease.id),
        )
        self.pending += 1
        self.urgent += 1
        heapq.heappush(self._parked, (self._clock() + seconds, lease.id, lease.host.id))

    def _unpark(self, now: float) -> None:
        while self._parked and self._parked[0][0] <= now:
            _, page_id, host_id = heapq.heappop(self._parked)
            self._connection.execute(
                "UPDATE urls SET retry_at = NULL WHERE id = ? AND state = 0", (page_id,)
            )
            self._reload_head(self.hosts.by_id(host_id))

    def _flush_touched(self) -> None:
        for host in self._touched:
            self.hosts.update(host)
        self._touched.clear()

    def next_event_in(self) -> float | None:
        """Return the seconds until a pause or a parked URL's wait ends; ``None`` if none will."""
        self._flush_touched()
        times = [at for at in (self.hosts.next_ready_at(), self._first_parked()) if at is not None]
        if not times:
            return None
        return max(0.0, min(times) - self._clock())

    def _first_parked(self) -> float | None:
        return self._parked[0][0] if self._parked else None

    # -- scores and states -----------------------------------------------------------------

    def pause_host(self, host: HostQueue, seconds: float) -> None:
        """Let a host wait, durably, as after Retry-After."""
        host.next_at = max(host.next_at, self._clock() + seconds)
        until = time.time() + seconds
        self._connection.execute(
            "UPDATE hosts SET not_before = ?, pause = ? "
            "WHERE id = ? AND (coalesce(not_before, 0) < ? OR pause < ?)",
            (until, seconds, host.id, until, seconds),
        )
        self._touched.add(host)

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> None:
        """Tell the ordering of a download and write the scores that it changes."""
        self.write_scores(self.ordering.downloaded(page, links))

    def write_scores(self, scores: Mapping[int, float]) -> None:
        """Write new scores of waiting pages."""
        touched: set[int] = set()
        for page_id, score in scores.items():
            row = self._connection.execute(
                "UPDATE urls SET score = ? WHERE id = ? AND state = 0 RETURNING host",
                (round_score(score), page_id),
            ).fetchone()
            if row is not None:
                touched.add(row[0])
        for host_id in touched:
            self._reload_head(self.hosts.by_id(host_id))

    def exclude_page(self, page_id: int, host: HostQueue, reason: str) -> None:
        """Set one waiting URL aside, and tell the ordering that nothing will come of it."""
        url, depth, source = self._connection.execute(
            "UPDATE urls SET state = 4, reason = ? WHERE id = ? RETURNING url, depth, source",
            (reason, page_id),
        ).fetchone()
        self.pending -= 1
        self.urgent -= host.head.urgent if host.head is not None else 0
        self.downloaded(FoundPage(page_id, url, host.name, depth, source), [])
        self._reload_head(host)

    def exclude_host(self, host: HostQueue, reason: str) -> int:
        """Set everything that waits on a host aside; return how many URLs that were."""
        self.urgent -= self._connection.execute(
            "SELECT count(*) FROM urls WHERE host = ? AND state = 0 AND urgent = 1", (host.id,)
        ).fetchone()[0]
        cursor = self._connection.execute(
            "UPDATE urls SET state = 4, reason = ?, retry_at = NULL WHERE host = ? AND state = 0",
            (reason, host.id),
        )
        self._parked = [entry for entry in self._parked if entry[2] != host.id]
        heapq.heapify(self._parked)
        self.pending -= cursor.rowcount
        self._reload_head(host)
        return cursor.rowcount
