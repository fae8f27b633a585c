"""From a WARC record to a response, as if it had just come over the wire.

The head of the answer is read by the same reader as that of a live one. About the body, the record
is believed more than the head: many tools store bodies without the chunks or the compression that
the head still names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from crawlkit.crawling.warc import RENAMED
from crawlkit.web.answers import Answer, read_answer
from crawlkit.web.bodies import Decoded, decode_body
from crawlkit.web.headers import Headers, content_type_of
from crawlkit.web.reasons import FetchFailed
from crawlkit.web.response import Response
from crawlkit.web.url_addresses import Refusal, resolve_address

if TYPE_CHECKING:
    from crawlkit.crawling.warc_reader import Record

__all__ = ["read_response", "read_status"]

_REDIRECTS = frozenset((300, 301, 302, 303, 307, 308))
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+([1-9]\d\d)(?=\s|\Z)")
_VERSION = re.compile(rb"HTTP/\d(?:\.\d)?(?=[ \t])")
_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,15}[ \t]*(?:;[^\n]*)?\r?\n")
_FIRST_BYTES = 64
# What a browser was offered and crawlkit is not; the libraries are those of Arrow.
_ARROW_CODECS = {"br": "brotli", "zstd": "zstd"}
_MOST_CODINGS = 3
# What can be said of an answer from a record; the others are about a connection.
_KEPT_FLAGS = frozenset(("bad_header_line", "body_ignored"))


class _Wire:
    """Gives an answer's reader the block of a record as a socket would."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._begun = False

    def recv(self, size: int) -> bytes:
        """Return at most ``size`` bytes; empty at the end."""
        if self._begun:
            return self._record.read(size)
        self._begun = True
        # Browsers speak HTTP/2, and their tools write its number into a head of HTTP/1.
        return _VERSION.sub(b"HTTP/1.1", _first_bytes(self._record), count=1)


def _first_bytes(record: Record) -> bytes:
    first = b""
    while len(first) < _FIRST_BYTES and (more := record.read(_FIRST_BYTES - len(first))):
        first += more
    return first


def read_status(record: Record) -> int | None:
    """Return the status of an answer; None where the record holds none."""
    found = _STATUS.match(_first_bytes(record))
    return None if found is None else int(found[1])


def read_response(
    record: Record, url: str, *, body_limit: int, payload: bytes | None = None
) -> Response:
    """Return the response that a record holds; what is wrong with it is in its ``error``.

    Parameters
    ----------
    record
        A ``response``, ``resource`` or ``revisit`` record, of which nothing was read yet.
    url
        The address that was asked for.
    body_limit
        The most bytes of the body, in the record and decoded.
    payload
        The decoded body of a revisit, from the record that it refers to.
    """
    # How long it took is not known: null in the tables.
    response = Response(url, started_at=record.date or 0.0, elapsed=cast("float", None))
    try:
        if record.kind == "resource":
            _read_resource(record, response, body_limit)
        else:
            _read_http(record, response, body_limit, payload)
    except FetchFailed as failure:
        response.error, response.detail = failure.code, failure.detail
        response.body = b""
    return response


def _read_resource(record: Record, response: Response, limit: int) -> None:
    """Take a thing that was stored without HTTP as one that a server sent."""
    response.status = 200
    if record.content_type:
        pairs, response.content_type = [("Content-Type", record.content_type)], record.content_type
        response.headers = Headers(pairs)
    response.body = _rest(_Wire(record), limit)
    response.wire_bytes = len(response.body)


def _read_http(record: Record, response: Response, limit: int, payload: bytes | None) -> None:
    answer = read_answer(cast("Any", _Wire(record)))
    headers = _as_received(answer.headers)
    response.status, response.headers = answer.status, headers
    response.content_type, repeated = content_type_of(headers)
    flags = [flag for flag in answer.flags if flag in _KEPT_FLAGS]
    if repeated:
        flags.append("duplicate_content_type")
    response.flags = tuple(flags)
    said = answer.location() if answer.status in _REDIRECTS else None
    if said is not None:
        _follow(response, said)
    elif payload is not None:
        response.body = payload
    else:
        _read_body(answer, response, limit)


def _follow(response: Response, said: str) -> None:
    target = resolve_address(said, response.url)
    if isinstance(target, Refusal):
        odd = "redirect_not_http" if target.reason == "not_http" else "redirect_bad_url"
        response.error, response.detail = odd, f"{target.reason}: {said[:200]!a}"
    else:
        response.location = target


def _read_body(answer: Answer, response: Response, limit: int) -> None:
    chunked, codings = answer.chunked, answer.codings()
    if answer.status not in (204, 304):
        answer.chunked, answer.length = False, None  # the record says where the body ends
    # The frames of sound servers take a hundredth; twice the limit is enough for odd ones.
    wire = answer.read_body(2 * limit + 65_536 if chunked else limit)
    response.wire_bytes = len(wire)
    if chunked and _CHUNK.match(wire):
        wire = _without_chunks(wire, limit)
    elif len(wire) > limit:
        raise FetchFailed("body_too_large", f"more than {limit:,} bytes")
    decoded = _decode(wire, codings, limit) if codings else Decoded(wire)
    response.body, response.error = decoded.body, decoded.error
    response.flags += decoded.flags


def _without_chunks(wire: bytes, limit: int) -> bytes:
    chunks = Answer(cast("Any", _Nothing), b"HTTP/1.1 200 OK", wire)
    chunks.chunked = True
    return chunks.read_body(limit)


class _Nothing:
    """A socket on which nothing more comes."""

    @staticmethod
    def recv(size: int) -> bytes:
        del size
        return b""


def _rest(wire: _Wire, limit: int) -> bytes:
    body = bytearray()
    while data := wire.recv(65_536):
        body += data
        if len(body) > limit:
            raise FetchFailed("body_too_large", f"more than {limit:,} bytes")
    return bytes(body)


def _decode(wire: bytes, codings: list[str], limit: int) -> Decoded:
    """Undo content codings; a body that turns out to have none is taken as it is."""
    if len(codings) > _MOST_CODINGS:
        raise FetchFailed("too_many_encodings", f"{len(codings)} content codings")
    body = wire
    flags: tuple[str, ...] = ()
    for coding in reversed(codings):
        if coding in _ARROW_CODECS and body:
            unpacked = _unpack(body, _ARROW_CODECS[coding], limit)
            step = Decoded(body, "undecodable") if unpacked is None else Decoded(unpacked)
        else:
            step = decode_body(body, [coding], limit)
        if step.error == "undecodable":
            return Decoded(body, None, (*flags, "raw_body"))
        if step.error is not None:
            return step
        body = step.body
        flags += step.flags
    return Decoded(body, None, flags)


def _unpack(data: bytes, codec: str, limit: int) -> bytes | None:
    """Undo what only browsers are sent; None where the data is something else."""
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
            body: bytes = stream.read(limit + 1)
    except OSError:
        return None
    if len(body) > limit:
        raise FetchFailed("body_too_large", f"more than {limit:,} bytes decoded")
    return body


def _as_received(headers: Headers) -> Headers:
    """Give the headers that an archiving crawler renamed their names back.

    The length that it wrote in their place is about its own file.
    """
    original = {renamed.lower(): name for name, renamed in RENAMED.items()}
    if not any(name in original for name in headers):
        return headers
    return Headers(
        [
            (original.get(name.lower(), name), value)
            for name, value in headers.pairs
            if name.lower() != "content-length"
        ]
    )
