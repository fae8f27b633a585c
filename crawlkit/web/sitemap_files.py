"""The bytes of sitemap files: over HTTP, within the time and size of a file, or from disk."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crawlkit.web.addresses import is_private_name
from crawlkit.web.fetch import backoff_seconds, is_retryable
from crawlkit.web.http_dates import http_time
from crawlkit.web.sitemap_bytes import FILE_BYTES
from crawlkit.web.urls import registered_domain, url_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from crawlkit.web.fetch import Fetcher
    from crawlkit.web.response import Response

__all__ = ["FileBytes", "FileFetcher", "private_rule", "read_local"]

_HOPS = 5
_SLICE = 0.1
_SITEMAP_TYPES = ("xml", "text/plain", "gzip", "octet-stream", "rss", "atom")


@dataclass(slots=True)
class FileBytes:
    """What came of asking for one file.

    Attributes
    ----------
    url, final_url
        As asked for, and where redirects led.
    status
        The HTTP status; None where there was no answer, or no HTTP.
    body
        The bytes, perhaps only the first 50 MB of them.
    reason
        Why there are none, or not all; None if all is well.
    fetched_at
        Seconds since 1970.
    date, last_modified
        The headers Date and Last-Modified, in seconds since 1970.
    issues
        Codes of `FILE_ISSUES`.
    wire_bytes
        Bytes of all bodies on the wire.
    """

    url: str
    final_url: str
    status: int | None = None
    body: bytes = b""
    reason: str | None = None
    fetched_at: float = 0.0
    date: float | None = None
    last_modified: float | None = None
    issues: list[str] = field(default_factory=list)
    wire_bytes: int = 0


def private_rule(hosts: Iterable[str]) -> Callable[[str], bool] | bool:
    """Return whether files may lie on private addresses: only if the caller named one.

    Parameters
    ----------
    hosts
        The hosts that the caller named.

    Returns
    -------
    bool or callable
        True if one of them is private, as on one's own machine; otherwise those hosts alone may
        lead there, so that no public sitemap sends a reader into the network that it runs in.

    Examples
    --------
    >>> private_rule(["127.0.0.1:8000"]), private_rule(["example.com"])("10.0.0.1")
    (True, False)
    """
    names = {_bare(host) for host in hosts}
    if any(is_private_name(name) for name in names):
        return True
    return lambda host: _bare(host) in names


def _bare(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.count(":") > 1 else host.partition(":")[0]


class FileFetcher:
    """Asks for files, from any number of threads, and never for one host faster than `delay`.

    Parameters
    ----------
    fetcher
        Sends the requests; a stop ends them.
    delay
        Seconds from start to start between two requests to one host.
    seconds
        The most time for one file: waiting for its turn excepted, all else included.
    stop
        Ends all waiting.
    """

    def __init__(
        self, fetcher: Fetcher, *, delay: float, seconds: float, stop: threading.Event
    ) -> None:
        self._fetcher = fetcher
        self._delay = delay
        self._seconds = seconds
        self._stop = stop
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()
        self._draw = random.Random(0).random  # noqa: S311 - spreads retries, guards nothing

    def fetch(self, url: str, *, limit: int = FILE_BYTES) -> FileBytes:
        """Ask for a file, follow redirects, ask again after failures that time may cure.

        Parameters
        ----------
        url
            An address.
        limit
            The most bytes, on the wire and decoded.
        """
        found = FileBytes(url, url)
        left = self._seconds
        attempt = 0
        while True:
            begun = time.monotonic()
            response = self._follow(url, found, left, limit)
            left -= time.monotonic() - begun
            attempt += 1
            wait = response.retry_after
            if wait is None:
                wait = backoff_seconds(attempt, draw=self._draw)
            if attempt > self._fetcher.http.retries or not is_retryable(response) or wait >= left:
                break
            left -= wait
            if self._stop.wait(wait):
                break
        _describe(response, found)
        return found

    def _follow(self, url: str, found: FileBytes, seconds: float, limit: int) -> Response:
        until = time.monotonic() + seconds
        asked: list[str] = []
        while True:
            until += self._wait_for_turn(url)
            left = max(until - time.monotonic(), 0.001)
            response = self._fetcher.fetch(url, timeout=left, body_limit=limit, keep_start=True)
            asked.append(response.url)
            found.wire_bytes += response.wire_bytes
            target = response.location
            if response.error is not None or target is None:
                return response
            if target in asked or len(asked) > _HOPS:
                response.error = "redirect_loop" if target in asked else "too_many_redirects"
                return response
            url = target

    def _wait_for_turn(self, url: str) -> float:
        """Wait until the host may be asked again; return the seconds that it took."""
        begun = time.monotonic()
        host = url.partition("://")[2].partition("/")[0]
        with self._lock:
            turn = max(begun, self._next.get(host, 0.0))
            self._next[host] = turn + self._delay
        if turn > begun:
            self._stop.wait(turn - begun)
        return time.monotonic() - begun


def _describe(response: Response, found: FileBytes) -> None:
    """Put the outcome of a chain of requests into a record."""
    headers = response.headers
    found.final_url, found.status = response.url, response.status
    found.fetched_at = response.started_at
    found.date = http_time(headers.get("date"))
    found.last_modified = http_time(headers.get("last-modified"))
    found.reason = response.error
    if response.url != found.url:
        same_site = _site(response.url) == _site(found.url)
        found.issues.append("redirected" if same_site else "redirected_off_site")
    if response.error == "body_too_large":
        found.reason = "file_too_large"
    if response.error == "undecodable" and response.status == 200:
        found.reason = None  # said to be compressed, and is not; the bytes tell
    if response.status is not None and not 200 <= response.status < 300:
        found.reason = response.error or f"http_{response.status}"
        return
    found.body = response.body
    kind = (response.content_type or "").lower()
    if found.body and kind and not any(part in kind for part in _SITEMAP_TYPES):
        found.issues.append("wrong_type")


def _site(url: str) -> str:
    return registered_domain(url_host(url))


def read_local(path: Path) -> FileBytes:
    """Read a file of the disk, or the first 50 MB of it."""
    found = FileBytes(str(path), str(path), fetched_at=time.time())
    try:
        if not path.is_file():
            raise FileNotFoundError
        with path.open("rb") as file:
            found.body = file.read(FILE_BYTES + 1)
    except OSError:
        found.reason = "unreadable_file"
        return found
    found.wire_bytes = len(found.body)
    if len(found.body) > FILE_BYTES:
        found.body, found.reason = found.body[:FILE_BYTES], "file_too_large"
    if path.suffix.lower() == ".gz" and found.body and not found.body.startswith(b"\x1f\x8b"):
        found.issues.append("gzip_name")
    return found
