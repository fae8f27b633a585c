"""The little HTTP/1.1 that the practice site speaks (RFC 9110, 9112): heads in, heads out."""

from __future__ import annotations

import hashlib
import time
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.lab.log import KEPT_HEADERS
from crawlkit.web.http_dates import http_time

if TYPE_CHECKING:
    from crawlkit.lab.content import Answer

__all__ = ["Clock", "Heading", "Prepared", "is_unchanged", "parse_headers", "prepare"]

PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Heading(NamedTuple):
    """What the server needs of a request's header lines."""

    keep_alive: bool | None
    has_body: bool
    user_agent: str | None
    kept: dict[str, str]


class Prepared(NamedTuple):
    """An answer in bytes, ready to send; ``head`` lacks Date, Connection and the last line."""

    status: int
    head: bytes
    body: bytes
    etag: str | None
    modified: int | None
    wait: float
    fault: str | None

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return len(self.head) + len(self.body) + 500


class Clock:
    """Writes the Date line, once a second."""

    def __init__(self) -> None:
        self._second = 0
        self._line = b""

    def date_line(self) -> bytes:
        """Return the Date header of this second."""
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._line = f"Date: {formatdate(second, usegmt=True)}\r\n".encode("ascii")
        return self._line


def parse_headers(block: bytes) -> Heading:
    r"""Read header lines; odd lines are passed over.

    Examples
    --------
    >>> heading = parse_headers(b"Host: a.example\r\nConnection: close\r\nUser-Agent: me")
    >>> heading.keep_alive, heading.user_agent, heading.kept["host"]
    (False, 'me', 'a.example')
    """
    found: dict[str, str] = {}
    for line in block.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if colon:
            found[name.decode("latin-1").lower()] = value.strip().decode("latin-1")
    connection = found.get("connection", "").lower()
    keep = False if "close" in connection else True if "keep-alive" in connection else None
    has_body = found.get("content-length", "0") != "0" or "transfer-encoding" in found
    kept = {name: found[name] for name in KEPT_HEADERS if name in found}
    return Heading(keep, has_body, found.get("user-agent"), kept)


def prepare(answer: Answer, modified: int | None) -> Prepared:
    """Write an answer as bytes; a good one with a body gets an ETag and Last-Modified."""
    status = answer.status
    lines = [f"HTTP/1.1 {status} {PHRASES.get(status, 'Unknown')}", "Server: crawlkit-lab"]
    if answer.content_type is not None:
        lines.append(f"Content-Type: {answer.content_type}")
    if status != 204:
        lines.append(f"Content-Length: {len(answer.body)}")
    etag = None
    if status == 200 and answer.fault is None:
        etag = f'"{hashlib.blake2b(answer.body, digest_size=8).hexdigest()}"'
        lines.append(f"ETag: {etag}")
        if any(name == "Last-Modified" for name, _ in answer.headers):
            modified = None  # the answer has its own
        if modified is not None:
            lines.append(f"Last-Modified: {formatdate(modified, usegmt=True)}")
    # An empty value leaves a header out that would be there otherwise.
    lines += [f"{name}: {value}" for name, value in answer.headers if value]
    head = "".join(f"{line}\r\n" for line in lines).encode("utf-8")
    return Prepared(status, head, answer.body, etag, modified, answer.wait, answer.fault)


def is_unchanged(prepared: Prepared, headers: dict[str, str]) -> bool:
    """Tell whether the client's validators still hold, so that 304 is the answer.

    If-None-Match is compared weakly and goes before If-Modified-Since (RFC 9110, 13.1).
    """
    if prepared.etag is None:
        return False
    tags = headers.get("if-none-match")
    if tags is not None:
        given = {tag.strip().removeprefix("W/") for tag in tags.split(",")}
        return "*" in given or prepared.etag in given
    since = http_time(headers.get("if-modified-since"))
    return since is not None and prepared.modified is not None and since >= prepared.modified
