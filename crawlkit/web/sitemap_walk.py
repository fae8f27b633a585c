"""The walk through a site's sitemap files: newest first, each once, several at a time, bounded."""

from __future__ import annotations

import heapq
import math
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlkit.web.sitemap_content import SitemapContent
from crawlkit.web.sitemap_files import FileBytes, FileFetcher, read_local
from crawlkit.web.sitemap_reading import read_content
from crawlkit.web.sitemap_scope import Place
from crawlkit.web.sitemap_tables import entries_table, file_row, moment
from crawlkit.web.spare_memory import return_spare_memory
from crawlkit.web.url_addresses import Refusal, resolve_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

__all__ = ["Job", "Walk", "WalkLimits"]

_TICK = 0.25
_LARGE = 4_000_000


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """How far a walk goes: files, depth below the first, files at a time, seconds for a file."""

    max_files: int
    max_depth: int
    workers: int
    seconds: float


@dataclass(slots=True)
class Job:
    """One file to read: a URL, a file of the disk, or bytes.

    Attributes
    ----------
    source
        An address, a path, or the bytes.
    name
        What the file is called in the table.
    depth
        0 for those that the caller named.
    lastmod
        What the index says, in seconds since 1970.
    submitted_by
        ``scheme://host`` of the sites whose robots.txt names it, or the index that lists it.
    in_index
        Whether an index lists it.
    """

    source: str | Path | bytes
    name: str
    depth: int = 0
    lastmod: float | None = None
    submitted_by: frozenset[str] = frozenset()
    in_index: bool = False


@dataclass(slots=True)
class _Result:
    job: Job
    record: dict[str, Any]
    content: SitemapContent
    place: Place
    final_url: str | None
    table: pa.Table | None = None


class Walk:
    """Reads files and what they list, until there is no more or a limit is reached.

    Parameters
    ----------
    files
        Gets the bytes of URLs.
    limits
        How far to go.
    stop
        Ends all waiting when it is set.
    """

    def __init__(self, files: FileFetcher, limits: WalkLimits, stop: threading.Event) -> None:
        self.records: list[dict[str, Any]] = []
        self.tables: list[pa.Table] = []
        self.unread: dict[str, list[str]] = {}
        self._files = files
        self._limits = limits
        self._stop = stop
        self._queue: list[tuple[tuple[int, float, int], Job]] = []
        self._order = 0
        self._known: set[str] = set()  # what was queued, by name
        self._claimed: set[str] = set()  # what was read, by final name
        self._claims = threading.Lock()
        # Reading takes Python's own lock anyway; one file at a time takes a quarter of the memory.
        self._one_at_a_time = threading.Lock()
        self._asked = 0
        self._largest = 0
        self._shared: dict[Any, pa.Array] = {}

    def add(self, job: Job) -> bool:
        """Queue a file, unless it was queued before; say whether it was new."""
        if not isinstance(job.source, bytes):
            if job.name in self._known:
                return False
            self._known.add(job.name)
        # Those that were named go first, then the newest, then those without a date.
        if job.depth == 0:
            rank = (0, 0.0, self._order)
        else:
            rank = (1, math.inf if job.lastmod is None else -job.lastmod, self._order)
        self._order += 1
        heapq.heappush(self._queue, (rank, job))
        return True

    def run(self, *, progress: bool) -> None:
        """Read until there is nothing more to read; an interrupt ends it early."""
        running: dict[Future[_Result], int] = {}
        results: dict[int, _Result] = {}
        pool = ThreadPoolExecutor(self._limits.workers, thread_name_prefix="sitemaps")
        try:
            with _bar(progress) as tick:
                while self._submit(pool, running) or running:
                    done, _ = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED)
                    for future in done:
                        number = running.pop(future)
                        results[number] = future.result()
                        self._take_children(results[number])
                        self._make_table(results[number])
                    tick(self._asked - len(running), len(self._queue) + len(running))
        except KeyboardInterrupt:
            self._stop.set()
            wait(running)
            for future, number in running.items():
                if not future.cancelled() and future.exception() is None:
                    results[number] = future.result()
            self._leave("interrupted", [job.name for _, job in self._queue])
        finally:
            self._stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
        for number in sorted(results):
            self._keep(results[number])
        self._tell_limits()

    def _submit(self, pool: ThreadPoolExecutor, running: dict[Future[_Result], int]) -> bool:
        """Start files while there is room; say whether any was started."""
        started = False
        # A large file that is read keeps the processor busy; the next should not wait in memory.
        most = min(self._limits.workers, 1 if self._largest > _LARGE else 64)
        while self._queue and len(running) < most:
            if self._asked >= self._limits.max_files:
                if not running:  # what is running may still name newer files, for the count
                    self._leave("max_files", [job.name for _, job in self._queue])
                    self._queue.clear()
                break
            _, job = heapq.heappop(self._queue)
            running[pool.submit(self._read, job)] = self._asked
            self._asked += 1
            started = True
        return started

    def _leave(self, why: str, names: list[str]) -> None:
        if names:
            self.unread.setdefault(why, []).extend(names)

    def _tell_limits(self) -> None:
        for why, names in self.unread.items():
            self.tables.append(file_row(names[0], None, [why], None))

    # -- one file, in a thread of its own ----------------------------------------------------

    def _read(self, job: Job) -> _Result:
        begun = time.monotonic()
        if isinstance(job.source, bytes):
            found = FileBytes(job.name, job.name, body=job.source, fetched_at=time.time())
        elif isinstance(job.source, Path):
            found = read_local(job.source)
        elif not self._claim(job.name):
            return self._finish(job, FileBytes(job.name, job.name, reason="already_read"), begun)
        else:
            found = self._files.fetch(job.source)
            if found.final_url != job.name and not self._claim(found.final_url):
                found.reason = "already_read"
                found.body = b""
        return self._finish(job, found, begun)

    def _claim(self, name: str) -> bool:
        with self._claims:
            if name in self._claimed:
                return False
            self._claimed.add(name)
            return True

    def _finish(self, job: Job, found: FileBytes, begun: float) -> _Result:
        content = SitemapContent()
        usable = found.reason is None or bool(found.body)
        # Of a file that broke off on the way, what was whole by then is kept.
        broke_off = found.reason not in (None, "file_too_large")
        is_url = isinstance(job.source, str)
        if usable:
            left = max(self._limits.seconds - (time.monotonic() - begun), 1.0)
            body, found.body = found.body, b""
            if len(body) > _LARGE:
                return_spare_memory()  # of the transport
            with self._one_at_a_time:
                content = read_content(body, seconds=left, whole=found.reason is None)
                plain = not body.startswith(b"\x1f\x8b")
                del body
            if broke_off and not content.entries:
                content = SitemapContent()
            if is_url and plain and job.name.partition("?")[0].lower().endswith(".gz"):
                content.note("gzip_name")
        content.note(*found.issues)
        if job.in_index and content.kind == "index":
            content.note("nested_index")
        reason = found.reason if broke_off else content.reason or found.reason
        record = _record(job, found, content, reason, time.monotonic() - begun)
        urls = tuple(dict.fromkeys((found.url, found.final_url))) if is_url else ()
        place = Place(job.name, urls, job.submitted_by, job.lastmod, found.fetched_at)
        return _Result(job, record, content, place, found.final_url if is_url else None)

    # -- back in the caller's thread, since Arrow keeps a reserve of memory for each thread ----

    def _make_table(self, result: _Result) -> None:
        """Turn what a file says into columns, which take a quarter of the memory."""
        content, result.content = result.content, SitemapContent()
        if content.locs:
            result.table = entries_table(content, result.place, self._shared)
        self._largest = max(self._largest, content.size)
        if content.size > _LARGE:
            del content
            return_spare_memory()

    def _keep(self, result: _Result) -> None:
        record, job = result.record, result.job
        self._make_table(result)  # if an interrupt came in between
        if result.table is not None:
            self.tables.append(result.table)
        reason = record["reason"]
        if reason is not None and reason != "already_read":
            codes = [reason, *record["issues"]]
            self.tables.append(file_row(job.name, record["kind"], codes, job.lastmod))
        self.records.append(record)

    def _take_children(self, result: _Result) -> None:
        job, record = result.job, result.record
        children = result.content.children
        if not children:
            return
        notes: dict[str, None] = dict.fromkeys(record["issues"])
        too_deep: list[str] = []
        local = _siblings(job)
        for child in children:
            lastmod = moment(child.lastmod)
            path = local.get(child.loc.partition("?")[0].rpartition("/")[2])
            if path is not None:
                self.add(Job(path, str(path), job.depth + 1, lastmod, in_index=True))
                continue
            address = self._child_address(child.loc, result, notes)
            if address is None:
                continue
            if job.depth >= self._limits.max_depth:
                too_deep.append(address)
                continue
            new = Job(address, address, job.depth + 1, lastmod, job.submitted_by, in_index=True)
            if not self.add(new):
                itself = address in (job.name, result.final_url)
                notes["lists_itself" if itself else "duplicate_child"] = None
        self._leave("max_depth", too_deep)
        record["issues"] = tuple(notes)

    def _child_address(self, loc: str, result: _Result, notes: dict[str, None]) -> str | None:
        base = result.final_url
        address = resolve_address(loc, base)
        if isinstance(address, Refusal):
            notes["child_not_http"] = None
            return None
        if "://" not in loc:
            notes["child_relative"] = None
        if base is not None and _origin(address)[1] != _origin(base)[1]:
            notes["child_other_host"] = None
        return address


def _origin(address: str) -> tuple[str, str]:
    scheme, _, rest = address.partition("://")
    return scheme, rest.partition("/")[0]


def _siblings(job: Job) -> dict[str, Path]:
    """Return the files beside a local index, by name: an index that was saved with its files."""
    if not isinstance(job.source, Path):
        return {}
    return {path.name: path for path in job.source.parent.iterdir() if path.is_file()}


def _record(
    job: Job, found: FileBytes, content: SitemapContent, reason: str | None, seconds: float
) -> dict[str, Any]:
    return {
        "url": job.name,
        "final_url": found.final_url,
        "status": found.status,
        "reason": reason,
        "kind": content.kind,
        "entries": content.entries,
        "skipped": content.skipped,
        "bytes": content.size,
        "wire_bytes": found.wire_bytes,
        "depth": job.depth,
        "fetched_at": found.fetched_at or None,
        "date": found.date,
        "last_modified": found.last_modified,
        "sitemap_lastmod": job.lastmod,
        "seconds": round(seconds, 3),
        "issues": tuple(content.file_issues),
    }


@contextmanager
def _bar(progress: bool) -> Iterator[Any]:  # noqa: FBT001 - as the caller's own option
    if not progress:
        yield lambda _done, _left: None
        return
    from tqdm.auto import tqdm

    with tqdm(unit="file", desc="sitemaps", dynamic_ncols=True) as bar:

        def tick(done: int, left: int) -> None:
            bar.total = done + left
            bar.n = done
            bar.refresh()

        yield tick
