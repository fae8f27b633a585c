"""How URLs enter the frontier, and how those that were set aside come back.

Every method that writes must run inside a transaction of the one writing connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.crawling.admission import Admission, Found
from crawlkit.crawling.host_clocks import HostClocks
from crawlkit.crawling.hosts import Head, HostQueue
from crawlkit.crawling.live_ordering import LiveOrdering, write_scores
from crawlkit.crawling.ordering_history import as_seen
from crawlkit.crawling.seen import UNREACHED, Known, SeenSet
from crawlkit.crawling.trap_records import HELD, TrapBook
from crawlkit.order.base import FoundPage
from crawlkit.web.urls import url_hash

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from crawlkit.crawling.settings import Scope, Settings
    from crawlkit.order.base import Scores

__all__ = ["DEAD", "DONE", "EXCLUDED", "FAILED", "LEASED", "PENDING", "STATES", "Entry"]

PENDING, LEASED, DONE, FAILED, EXCLUDED, DEAD = range(6)
STATES = ("pending", "leased", "done", "failed", "excluded", "dead")

_INSERT = (
    "INSERT INTO urls (id, hash, url, key, host, depth, state, reason, score, found_on, source, "
    "lastmod, found_in) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_HEAD = (
    "SELECT urgent, score, id FROM urls WHERE host = ? AND state = 0 AND retry_at IS NULL "
    "ORDER BY urgent DESC, score DESC, id LIMIT 1"
)


class Entry:
    """What is known of a crawl's URLs, and the way in.

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

    Attributes
    ----------
    known, pending, leased, pages, urgent : int
        URLs found, waiting, in hand, asked for, and of those that wait the ones that go first.
    not_kept : int
        URLs that lay past ``known_urls``.
    traps : TrapBook
        What is known of traps.
    found_late : bool
        Whether a shorter way to a page was found only after the page was asked for.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        settings: Settings,
        scope: Scope,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._clock = clock
        self.traps = TrapBook.load(connection)
        self.admission = Admission(settings, scope, self.traps)
        self.seen = SeenSet(connection)
        ask = connection.execute
        self.known, last = ask("SELECT count(*), coalesce(max(id), -1) FROM urls").fetchone()
        self._next_id = last + 1
        self.ordering = LiveOrdering(connection, settings.order, self._next_id)
        self.hosts = HostClocks(
            connection,
            settings,
            host_score=self.ordering.host_score,
            local=self.ordering.host_score_is_local,
            clock=clock,
        )
        self.not_kept = 0
        self.leased = 0
        self.pages: int = ask("SELECT count(*) FROM urls WHERE leases > 0").fetchone()[0]
        # An earlier run may have ended before it could look into this; see judge_depths.
        self.found_late = bool(self.pages)
        self.pending = self.urgent = 0
        self._count_waiting()
        for host in self.hosts:
            self.reload_head(host)

    def _count_waiting(self) -> None:
        self.pending, self.urgent = self._connection.execute(
            "SELECT count(*), coalesce(sum(urgent), 0) FROM urls WHERE state = 0"
        ).fetchone()

    def reload_head(self, host: HostQueue) -> None:
        """Read a host's best waiting URL anew, and queue the host by it."""
        row = self._connection.execute(_HEAD, (host.id,)).fetchone()
        host.head = None if row is None else Head(*row)
        self.hosts.update(host)

    def reload(self) -> None:
        """Read all heads and counts anew, after rows were changed in bulk."""
        self.seen.forget_all()
        self._count_waiting()
        for host in self.hosts:
            self.reload_head(host)
        self.hosts.scores_changed()
        self.ordering.save()

    # -- the way in ------------------------------------------------------------------------

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
        host = self.hosts.named(address.host)
        page_id = self._next_id
        self._next_id += 1
        self.known += 1
        reason = self.admission.refusal(found)
        score = 0.0
        if reason is None:
            score = self.ordering.start(_as_page(page_id, found))
            self.pending += 1
            self._offer(host, Head(0, score, page_id))
        else:
            self.ordering.refused(page_id)
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
                found.found_in,
            ),
        )
        known = Known(page_id, address.url, found.depth if found.follow else UNREACHED)
        self.seen.remember(address.url, known)
        return known

    def _offer(self, host: HostQueue, head: Head) -> None:
        if head.beats(host.head):
            host.head = head
        self.hosts.touch(host)
        self.hosts.scores_changed()

    def _found_closer(self, known: Known, found: Found) -> None:
        """Note a shorter way to a known URL, which may bring it back inside a limit."""
        state, reason, host_id, depth, source, lastmod = self._connection.execute(
            "SELECT state, reason, host, depth, source, lastmod FROM urls WHERE id = ?",
            (known.id,),
        ).fetchone()
        closer = Known(known.id, known.url, found.depth)
        self.seen.remember(found.address.url, closer)
        if state == EXCLUDED and reason in ("depth", "not_followed"):
            refusal = self.admission.refusal(found)
            if refusal is None:
                self._change(known.id, depth=found.depth)
                self._bring_back(known.id, found._replace(source=source, lastmod=lastmod))
                self.pending += 1
                self.reload_head(self.hosts.by_id(host_id))
            else:
                self._change(known.id, reason=refusal, depth=min(depth, found.depth))
        elif state in (PENDING, EXCLUDED) and found.depth < depth:
            self._change(known.id, depth=found.depth)
        elif found.depth < depth:
            self.found_late = True

    # -- the way back ----------------------------------------------------------------------

    def _change(self, page_id: int, **facts: Any) -> None:
        """Write what has turned out otherwise about a URL: its depth, source or lastmod."""
        self.ordering.about_to_change(page_id)
        columns = ", ".join(f"{name} = ?" for name in facts)
        self._connection.execute(
            f"UPDATE urls SET {columns} WHERE id = ?", (*facts.values(), page_id)
        )

    def bring_back(self, page_id: int, found: Found) -> None:
        """Let a URL that was set aside or failed wait again; :meth:`reload` after the last one.

        Parameters
        ----------
        page_id
            Its number.
        found
            Its address, depth and source as they are in the table, or as they are from now on.
        """
        row = self._connection.execute(
            "SELECT depth, source, lastmod FROM urls WHERE id = ?", (page_id,)
        ).fetchone()
        now = (found.depth, found.source, row[2] if found.lastmod is None else found.lastmod)
        if row != now:
            self._change(page_id, depth=now[0], source=now[1], lastmod=now[2])
        self._bring_back(page_id, found._replace(lastmod=now[2]))

    def _bring_back(self, page_id: int, found: Found) -> None:
        score = self.ordering.start_again(_as_page(page_id, found))
        # A page that was asked before was counted then, so it may go past the limits.
        self._connection.execute(
            "UPDATE urls SET state = 0, reason = NULL, retry_at = NULL, score = ?, "
            "urgent = (leases > 0) WHERE id = ?",
            (score, page_id),
        )

    def take_seed(self, page_id: int, found: Found) -> None:
        """Let a known URL be a seed too.

        It keeps where it was found first, but takes a lastmod that it lacked; one that was
        refused as a link waits again, as a seed.
        """
        state, reason, host_id, depth, source, lastmod = self._connection.execute(
            "SELECT state, reason, host, depth, source, lastmod FROM urls WHERE id = ?",
            (page_id,),
        ).fetchone()
        if (
            state == EXCLUDED
            and reason in ("scope", "depth", "include", "exclude", "not_followed", HELD)
            and self.admission.refusal(found) is None
        ):
            self.bring_back(page_id, found)
            self._connection.execute(
                "UPDATE urls SET found_in = ? WHERE id = ?", (found.found_in, page_id)
            )
            self.pending += 1
            self.reload_head(self.hosts.by_id(host_id))
        elif lastmod is None and found.lastmod is not None:
            self._change(page_id, lastmod=found.lastmod)
            if state == PENDING and self.ordering.asks_again:
                page = _as_page(page_id, found._replace(depth=depth, source=source))
                self.write_scores({page_id: self.ordering.start_again(page)})

    def write_scores(self, scores: Scores) -> None:
        """Write new scores of waiting pages, and look at the hosts anew that they change."""
        touched = write_scores(self._connection, scores, hosts=len(self.hosts))
        for host in self.hosts if touched is None else map(self.hosts.by_id, touched):
            if host.head is not None:
                self.reload_head(host)


def _as_page(page_id: int, found: Found) -> FoundPage:
    address = found.address
    page = FoundPage(page_id, address.url, address.host, found.depth, found.source, found.lastmod)
    return as_seen(page)
