"""What an import does in the folder: enter seeds, take in captures, tell what the files held."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from crawlkit.crawling.admission import Admission
from crawlkit.crawling.database import transaction
from crawlkit.crawling.finish import finish_tables
from crawlkit.crawling.frontier import EXCLUDED, PENDING, Found, Frontier, Lease
from crawlkit.crawling.hosts import Head
from crawlkit.crawling.meta import load_meta, save_meta
from crawlkit.crawling.progress import progress_bar
from crawlkit.crawling.results import Event, PageResult, digest, transport_facts
from crawlkit.crawling.revive import judge_again
from crawlkit.crawling.settings import Scope
from crawlkit.crawling.tables import flush_buffer
from crawlkit.crawling.warc_responses import read_response
from crawlkit.crawling.writer import ResultWriter
from crawlkit.web.fingerprint import clean_text
from crawlkit.web.urls import Address, Refusal, registered_domain

if TYPE_CHECKING:
    import threading
    from collections import Counter
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crawlkit.crawling.engine import Engine
    from crawlkit.crawling.results import Extractor
    from crawlkit.crawling.session import Session
    from crawlkit.crawling.settings import Settings
    from crawlkit.crawling.warc_index import CaptureIndex, FileNotes
    from crawlkit.crawling.warc_reader import Record
    from crawlkit.web.response import Response
    from crawlkit.web.urls import LinkResolver

    Progress = bool | Callable[[Mapping[str, Any]], None]

__all__ = ["Intake"]

# One transaction takes in so many pages, or works for so long.
_BATCH_PAGES = 200
_BATCH_SECONDS = 0.5
_SEEDS_AT_ONCE = 10_000
_SEGMENT_RESULTS = 1_000
_LEASE_SECONDS = 3_600.0
_FINGERPRINT_BYTES = 1 << 20
_ROW = (
    "SELECT urls.state, urls.urgent, urls.score, urls.host, urls.url, "
    "coalesce(urls.key, urls.url), hosts.name, urls.depth, urls.source "
    "FROM urls JOIN hosts ON hosts.id = urls.host WHERE urls.id = ?"
)


class Intake:
    """One run of an import, in a folder that this process owns.

    Parameters
    ----------
    session
        The hold on the folder.
    settings
        What the import was told.
    resolver
        Makes addresses and keys.
    index
        The captures of the files.
    extractor
        Gives records for a page.

    Attributes
    ----------
    session : Session
        The hold on the folder, with the frontier that was used in the end.
    stop_reason : str or None
        Why it ended: ``finished``, ``imported`` where URLs are pending, or ``interrupted``.
    """

    def __init__(
        self,
        session: Session,
        settings: Settings,
        resolver: LinkResolver,
        index: CaptureIndex,
        extractor: Extractor | None,
    ) -> None:
        self.session = session
        self.counters = session.counters
        self.stop_reason: str | None = None
        self._connection = session.connection
        self._settings = settings
        self._resolver = resolver
        self._index = index
        self._extractor = extractor
        self._writer = self._new_writer()
        self._last_flush = self.counters.buffered
        self._before = self.counters.fetches
        self._began = time.monotonic()
        self._unresolved: list[str] = []

    @property
    def frontier(self) -> Frontier:
        """The frontier that the captures go into."""
        return self.session.frontier

    def run(self, progress: Progress) -> None:
        """Scan, take in, and write what is worth telling, up to the end or an interrupt."""
        try:
            notes = self._index.scan()
            self._widen_scope()
            self._enter_seeds()
            shown = replace(self._settings, max_pages=len(self._index))
            with progress_bar(progress, shown, cast("Engine", self)) as tick:
                self._take_all(cast("Any", tick))
            self._write_notes(notes)
        except KeyboardInterrupt:
            self.stop_reason = "interrupted"
            self.frontier.reload()
        else:
            self.stop_reason = "imported" if self.frontier.pending else "finished"

    def finish(self, hurry: threading.Event) -> None:
        """Leave the tables in order, after :meth:`run`.

        Parameters
        ----------
        hurry
            Set, perhaps on the way, when somebody is waiting.
        """
        last = {
            "requests": self.counters.fetches - self._before,
            "seconds": round(time.monotonic() - self._began, 3),
        }
        with transaction(self._connection):
            save_meta(self._connection, "last_run", last)
        finish_tables(self.session, self.stop_reason or "interrupted", hurry)

    # -- before ----------------------------------------------------------------------------

    def _new_writer(self) -> ResultWriter:
        # It draws the length of waits, which nobody waits for here.
        draw = random.Random(0)  # noqa: S311 - no secret
        return ResultWriter(self._connection, self.frontier, self._settings, self.counters, draw)

    def _widen_scope(self) -> None:
        """Let the hosts of the captures belong to the crawl."""
        kind = self._settings.scope
        if kind not in ("host", "site"):
            return
        saved = set(load_meta(self._connection, "scope_hosts") or ())
        named = set(self._index.hosts())
        if kind == "site":
            named = {registered_domain(host) for host in named}
        if named <= saved:
            return
        scope = Scope(str(kind), frozenset(saved | named))
        self.frontier.admission = Admission(self._settings, scope, self.frontier.traps)
        with transaction(self._connection):
            save_meta(self._connection, "scope_hosts", sorted(scope.hosts))
            judge_again(self._connection, self.frontier)

    def _enter_seeds(self) -> None:
        seeds = self._index.seeds()
        while batch := list(islice(seeds, _SEEDS_AT_ONCE)):
            with transaction(self._connection):
                for seed in batch:
                    found = seed.as_found()
                    known, new = self.frontier.enter(found)
                    if known is not None and not new:
                        self.frontier.take_seed(known.id, found)
                self._save()

    # -- captures --------------------------------------------------------------------------

    def _take_all(self, tick: Callable[[Any], None] | None) -> None:
        """Take the captures in; go over them again for revisits that came before their payload."""
        for _ in range(2):
            self._unresolved = []
            records = self._index.records()
            more = True
            while more:
                with transaction(self._connection):
                    more = self._take_batch(records)
                    self._save()
                if self.counters.buffered - self._last_flush >= _SEGMENT_RESULTS:
                    flush_buffer(self._connection, self.session.folder)
                    self._last_flush = self.counters.buffered
                if tick is not None:
                    tick(self)
            if not self._unresolved:
                return

    def _save(self) -> None:
        self.counters.not_kept = self.frontier.not_kept
        self.counters.save(self._connection)
        self.frontier.ordering.save()

    def _take_batch(self, records: Iterator[tuple[Record, bool]]) -> bool:
        """Take some captures in; return whether there may be more."""
        until = time.monotonic() + _BATCH_SECONDS
        for taken, (record, chosen) in enumerate(records, start=1):
            self._take(record, chosen=chosen)
            if taken == _BATCH_PAGES or time.monotonic() > until:
                return True
        return False

    def _take(self, record: Record, *, chosen: bool) -> None:
        """Take one capture in, unless its page is there already; keep what revisits refer to."""
        address = self._resolver.resolve(record.url)
        if isinstance(address, Refusal):
            return
        wanted = self._index.wants(record.digest) and record.kind != "revisit"
        page_id = self._waiting_page(address) if chosen else None
        if page_id is None and not wanted:
            return
        payload = None
        if record.kind == "revisit":
            payload = self._index.payload(record.digest)
            if payload is None:
                self._unresolved.append(address.url)
                return
        response = read_response(
            record, address.url, body_limit=self._settings.limits.body, payload=payload
        )
        if wanted and record.digest is not None and response.error is None:
            self._index.keep(record.digest, response.body)
        if page_id is not None and record.damage is None:
            self._write(self._lease(page_id), response)

    def _waiting_page(self, address: Address) -> int | None:
        """Return the id of a page that was not taken in yet; it enters the frontier if it must."""
        frontier = self.frontier
        known = frontier.seen.find(address)
        if known is None:
            if urlsplit(address.url).path == "/robots.txt":
                return None  # for crawlers, and no page unless a page says so
            known, _ = frontier.enter(Found(address, 0, "warc"))
            if known is None:
                return None  # past known_urls
        row = self._connection.execute(_ROW, (known.id,)).fetchone()
        if row[0] == EXCLUDED:
            _, _, _, _, url, key, host, depth, source = row
            frontier.bring_back(known.id, Found(Address(url, key, host), depth, source))
            frontier.pending += 1
            (urgent,) = self._connection.execute(
                "SELECT urgent FROM urls WHERE id = ?", (known.id,)
            ).fetchone()
            frontier.urgent += urgent
            return known.id
        return known.id if row[0] == PENDING else None

    def _lease(self, page_id: int) -> Lease:
        """Lease one page out of turn: it stands at the head of its host's queue for a moment."""
        _, urgent, score, host_id, *_ = self._connection.execute(_ROW, (page_id,)).fetchone()
        host = self.frontier.hosts.by_id(host_id)
        host.head = Head(urgent, score, page_id)
        host.failures = 0  # a capture says nothing about how the host fares today
        return self.frontier.lease(host, seconds=_LEASE_SECONDS)

    def _write(self, lease: Lease, response: Response) -> None:
        settings = self._settings
        try:
            result = digest(
                lease,
                response,
                started=0.0,
                resolver=self._resolver,
                links_per_page=settings.limits.links_per_page,
                keep_body=settings.keep_bodies,
                expect=settings.expect,
                extractor=self._extractor,
            )
        except Exception as error:  # noqa: BLE001 - a page that defeats us is a row, not the end
            result = PageResult(lease, response, 0.0, "failed")
            result.page = {**transport_facts(lease, response), "error": "internal_error"}
            detail = f"{type(error).__name__}: {error}"[:500]
            result.events.append(Event("internal_error", lease.url, lease.host.name, detail))
        self._writer.write(result)

    # -- after -----------------------------------------------------------------------------

    def _write_notes(self, notes: Sequence[FileNotes]) -> None:
        """Write what was wrong with each file, and what it held, once for each file."""
        told = dict.fromkeys(load_meta(self._connection, "warc_files") or ())
        fresh = [note for note in notes if _fingerprint(note.path) not in told]
        with transaction(self._connection):
            for note in fresh:
                for problem in note.problems:
                    detail = f"{note.path.name}, byte {problem.offset:,}: {problem.detail}"
                    self._writer.event(Event(problem.reason, detail=clean_text(detail[:1_000])))
                detail = f"{note.path.name}: {_in_words(note.counts)}"
                self._writer.event(Event("warc_imported", detail=clean_text(detail)))
            for url in self._unresolved if fresh else ():
                self._writer.event(Event("warc_unresolved", url))
            told.update(dict.fromkeys(_fingerprint(note.path) for note in fresh))
            save_meta(self._connection, "warc_files", list(told))
            self._save()


def _fingerprint(path: Path) -> str:
    """Return what tells a file from others: its name, its size and how it begins."""
    try:
        with path.open("rb") as file:
            start = file.read(_FINGERPRINT_BYTES)
        size = path.stat().st_size
    except OSError:
        start, size = b"", 0
    return blake2b(f"{path.name}\0{size}\0".encode() + start, digest_size=16).hexdigest()


def _in_words(counts: Counter[str]) -> str:
    """Return counts as text, the largest first.

    Examples
    --------
    >>> from collections import Counter
    >>> _in_words(Counter(capture=2, other=3))
    '3 other, 2 capture'
    """
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common()) or "nothing"
