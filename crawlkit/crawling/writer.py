"""What one commit writes: results, links, new URLs, scores, records, bodies and "done" together."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.archive import save_response
from crawlkit.crawling.buffer import pack_rows
from crawlkit.crawling.frontier import DONE, FAILED, Found, Frontier
from crawlkit.crawling.meta import save_text
from crawlkit.crawling.ordering_history import as_seen
from crawlkit.crawling.records import upsert_records
from crawlkit.crawling.results import FOLLOWED, Event, PageResult
from crawlkit.crawling.schema import to_json
from crawlkit.order.base import FoundPage
from crawlkit.web.fetch import backoff_seconds
from crawlkit.web.urls import url_hash

if TYPE_CHECKING:
    import random
    import sqlite3

    from crawlkit.crawling.seen import Known
    from crawlkit.crawling.settings import Settings
    from crawlkit.web.fetch import Response

__all__ = ["Counters", "ResultWriter", "was_asked"]

# Failures that say something about the host, not about the one URL.
_HOST_FAILURES = frozenset(
    (
        "timeout",
        "connect_refused",
        "connect_timeout",
        "connect_failed",
        "dns_failed",
        "dns_not_found",
        "network_failed",
    )
)
_HOST_STATUSES = frozenset((429, 503))
# What ends a request, or a chain of redirects, before it was made.
_NOT_ASKED = frozenset(("interrupted", "redirect_loop", "too_many_redirects"))
# Failures in a row after which nothing more is asked of a host.
HOST_GIVES_UP = 10


@dataclass(slots=True, eq=False)
class Counters:
    """Running totals of a crawl, saved with every commit."""

    fetches: int = 0
    buffered: int = 0
    bytes: int = 0
    seconds: float = 0.0
    not_kept: int = 0
    new_urls: int = 0
    retries: int = 0
    round: int = 0

    @classmethod
    def load(cls, connection: sqlite3.Connection) -> Counters:
        """Read the saved totals."""
        row = connection.execute("SELECT value FROM meta WHERE name = 'counters'").fetchone()
        saved = {} if row is None else json.loads(row[0])
        return cls(**{f.name: saved[f.name] for f in fields(cls) if f.name in saved})

    def save(self, connection: sqlite3.Connection) -> None:
        """Write the totals, inside the caller's transaction."""
        save_text(connection, "counters", to_json(self))


class ResultWriter:
    """Writes results; every method runs inside the caller's transaction.

    Parameters
    ----------
    connection
        The writing connection.
    frontier
        The frontier that the results change.
    settings
        What the crawl was told.
    counters
        The crawl's totals.
    draw
        Random draws for the jitter of waits.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        frontier: Frontier,
        settings: Settings,
        counters: Counters,
        draw: random.Random,
    ) -> None:
        self._connection = connection
        self._frontier = frontier
        self._settings = settings
        self._counters = counters
        self._draw = draw

    # -- rows ------------------------------------------------------------------------------

    def append(self, rows: dict[str, Any]) -> None:
        """Append rows of any tables to the buffer."""
        self._counters.buffered += 1
        self._connection.execute(
            "INSERT INTO buffer (seq, rows) VALUES (?, ?)",
            (self._counters.buffered, pack_rows(rows)),
        )

    def event(self, event: Event) -> None:
        """Write one event."""
        self.append({"events": [event_row(event)]})

    def fetch_row(
        self, response: Response, host: str, attempt: int, new_urls: int | None
    ) -> dict[str, Any]:
        """Count a request and return its row of ``fetches``."""
        counters = self._counters
        counters.fetches += 1
        counters.bytes += response.wire_bytes
        return {
            "seq": counters.fetches,
            "url": response.url,
            "host": host,
            "started_at": int(response.started_at * 1e6),
            "elapsed": response.elapsed,
            "status": response.status,
            "error": response.error,
            "wire_bytes": response.wire_bytes,
            "attempt": attempt,
            "round": counters.round,
            "new_urls": new_urls,
            "known_urls": self._frontier.known,
            "frontier_size": self._frontier.pending + self._frontier.leased,
        }

    # -- results ---------------------------------------------------------------------------

    def write(self, result: PageResult) -> None:
        """Write everything that came of a lease; a result whose lease is no longer valid is not."""
        lease, frontier = result.lease, self._frontier
        frontier.hosts.end_request(lease.host, started=result.started)
        if not frontier.owns(lease):
            return
        if result.outcome == "returned":
            frontier.give_back(lease)
            if was_asked(result.response):
                fetch = self.fetch_row(result.response, lease.host.name, lease.tries + 1, None)
                self.append({"fetches": [fetch]})
            return
        if result.outcome == "retry":
            self._write_retry(result)
            return
        if self._settings.canonical == "merge" and result.canonical is not None:
            self._merge(result)  # before the links: the canonical among them is now this page
        links, link_ids, new_urls = self._write_links(result)
        state = DONE if result.outcome == "done" else FAILED
        frontier.close_lease(lease, state, result.page.get("error") or _status_reason(result))
        self._judge_host(result)
        self._buffer_page(result, links, new_urls)
        if result.records:
            upsert_records(self._connection, result.records, result.response.started_at)
        self._tell_ordering(result, link_ids)

    def _buffer_page(self, result: PageResult, links: dict[str, Any], new_urls: int) -> None:
        lease = result.lease
        fetch = self.fetch_row(result.response, lease.host.name, lease.tries + 1, new_urls)
        page = result.page
        page["new_urls"] = new_urls
        page["found_on"] = lease.found_on
        page["round"] = self._counters.round
        page["seq"] = fetch["seq"]
        rows: dict[str, Any] = {"pages": [page], "fetches": [fetch]}
        if links["target"]:
            rows["links"] = [links]
        if result.events:
            rows["events"] = [event_row(event) for event in result.events]
        self.append(rows)
        if self._settings.keep_bodies:
            save_response(
                self._connection, lease.id, fetch["seq"],
                status=result.response.status, headers=result.headers, body=result.body,
            )  # fmt: skip

    def _write_links(self, result: PageResult) -> tuple[dict[str, Any], list[int], int]:
        """Take the links in; return them as columns, the ids they lead to, and the number new."""
        lease, links, addresses = result.lease, result.links, result.addresses
        redirect = result.response.location is not None  # then it is the only link
        depth = lease.depth if redirect else lease.depth + 1
        known, new = self._enter(result, depth, "redirect" if redirect else "link")
        href, position, region, text, rel, kind = zip(*links, strict=True) if links else ((),) * 6
        host = lease.host.name
        columns: dict[str, Any] = {
            "source": lease.url,
            "target": [
                address.url if entry is None else entry.url
                for entry, address in zip(known, addresses, strict=True)
            ],
            "href": href,
            "position": position,
            "region": region,
            "text": text,
            "rel": rel,
            "kind": kind,
            "internal": [address.host == host for address in addresses],
            "new": new,
        }
        new_count = sum(new)
        self._counters.new_urls += new_count
        self._counters.not_kept = self._frontier.not_kept
        ids = [
            entry.id
            for entry, name in zip(known, kind, strict=True)
            if entry is not None and name in FOLLOWED
        ]
        if not self._frontier.ordering.links_as_found:
            ids = [page_id for page_id in dict.fromkeys(ids) if page_id != lease.id]
        return columns, ids, new_count

    def _enter(
        self, result: PageResult, depth: int, source: str
    ) -> tuple[list[Known | None], list[bool]]:
        """Take in what links lead to; return each one's entry, and whether it is new."""
        enter, page_id = self._frontier.enter, result.lease.id
        known = self._frontier.seen.cached_all([address.url for address in result.addresses])
        new = [False] * len(known)
        for number, entry in enumerate(known):
            if entry is None or depth < entry.depth:
                follow = result.links[number].kind in FOLLOWED
                found = Found(result.addresses[number], depth, source, page_id, follow)
                known[number], new[number] = enter(found)
        return known, new

    def _tell_ordering(self, result: PageResult, link_ids: list[int]) -> None:
        lease = result.lease
        page = FoundPage(
            lease.id, lease.url, lease.host.name, lease.depth, lease.source, lease.lastmod
        )
        self._frontier.downloaded(as_seen(page), link_ids if result.outcome == "done" else [])

    # -- failures --------------------------------------------------------------------------

    def _write_retry(self, result: PageResult) -> None:
        lease, response = result.lease, result.response
        self._counters.retries += 1
        wait = response.retry_after
        if wait is None:
            wait = backoff_seconds(lease.tries, draw=self._draw.random)
        reason = response.error or f"http_{response.status}"
        self._frontier.park(lease, wait, reason)
        self._judge_host(result)
        fetch = self.fetch_row(response, lease.host.name, lease.tries + 1, None)
        events = [event_row(event) for event in result.events]
        self.append({"fetches": [fetch], "events": events})

    def _judge_host(self, result: PageResult) -> None:
        """Let a host that is in trouble wait, and give up one that stays so."""
        response, host = result.response, result.lease.host
        if response.retry_after is not None and response.status in (429, 503):
            self._frontier.hosts.pause(host, response.retry_after)
        if response.error in _HOST_FAILURES or response.status in _HOST_STATUSES:
            host.failures += 1
            if host.failures >= HOST_GIVES_UP:
                given_up = self._frontier.exclude_host(host, "host_unreachable")
                detail = f"{host.failures} failures in a row; {given_up} URLs set aside"
                result.events.append(Event("host_given_up", None, host.name, detail))
            elif response.retry_after is None:
                wait = backoff_seconds(host.failures - 1, draw=self._draw.random)
                self._frontier.hosts.pause(host, wait)
        elif response.error is None:
            host.failures = 0

    # -- canonical -------------------------------------------------------------------------

    def _merge(self, result: PageResult) -> None:
        """Let a page's own canonical, on the same host, become its key."""
        lease, canonical = result.lease, result.canonical
        if canonical is None or canonical.host != lease.host.name or canonical.key == lease.key:
            return
        if result.response.status != 200:  # an error page may name any page, mostly the home page
            return
        seen = self._frontier.seen
        hashed = url_hash(canonical.key)
        other = seen.find(canonical, hashed)
        seen.add_alias(lease.key, lease.id if other is None else other.id)
        self._connection.execute(
            "UPDATE urls SET key = ?, hash = ? WHERE id = ?", (canonical.key, hashed, lease.id)
        )
        result.page["key"] = canonical.key
        result.page["url_hash"] = hashed


def was_asked(response: Response) -> bool:
    """Return whether a request was made at all, so that it is a row of ``fetches``."""
    return response.sent_at is not None or response.error not in _NOT_ASKED


def _status_reason(result: PageResult) -> str | None:
    return f"http_{result.response.status}" if result.outcome == "failed" else None


def event_row(event: Event) -> dict[str, Any]:
    """Return an event as a row of ``events``, at this moment."""
    return {
        "at": int(time.time() * 1e6),
        "kind": event.kind,
        "url": event.url,
        "host": event.host,
        "detail": event.detail,
    }
