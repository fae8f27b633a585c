"""From the bytes on the wire to the body: content codings, with bounds.

Only gzip and deflate are offered. What is decoded is bounded twice: by the caller's limit, and by
how many times its own size a body may grow.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from crawlkit.web.reasons import FetchFailed

__all__ = ["OFFERED", "Decoded", "decode_body", "decode_start"]

#: The Accept-Encoding that the fetcher sends.
OFFERED = "gzip, deflate"

#: A body may become this many times larger (deflate cannot do more than 1032), or this large.
GROWTH = 400
GROWTH_FLOOR = 1_048_576

_MOST_CODINGS = 3
_MOST_MEMBERS = 100
_NOT_OFFERED = frozenset({"br", "zstd", "compress", "x-compress", "dcb", "dcz", "exi"})


class Decoded(NamedTuple):
    """A body, whether it could be decoded, and what was odd."""

    body: bytes
    error: str | None = None
    flags: tuple[str, ...] = ()


def decode_body(wire: bytes, codings: list[str], limit: int) -> Decoded:
    """Undo content codings.

    Parameters
    ----------
    wire
        The body as it came, complete.
    codings
        Their names in lower case, in the order in which the server applied them.
    limit
        The most bytes that may come out.

    Returns
    -------
    Decoded
        With ``undecodable`` or ``encoding_not_offered`` as the error, the body is `wire` itself.

    Raises
    ------
    FetchFailed
        ``body_too_large``, ``compression_bomb``, ``truncated`` or ``too_many_encodings``.

    Examples
    --------
    >>> import gzip
    >>> decode_body(gzip.compress(b"page"), ["gzip"], 1000).body
    b'page'
    >>> decode_body(b"page", ["gzip"], 1000).error
    'undecodable'
    """
    if len(codings) > _MOST_CODINGS:
        raise FetchFailed("too_many_encodings", f"{len(codings)} content codings")
    if not wire:
        return Decoded(wire)
    body = wire
    flags: tuple[str, ...] = ()
    for coding in reversed(codings):
        if coding in {"gzip", "x-gzip"}:
            decode = _gunzip
        elif coding == "deflate":
            decode = _inflate
        elif coding in _NOT_OFFERED:
            return Decoded(wire, "encoding_not_offered", ("raw_body",))
        else:
            # Mostly the name of a charset or "none" on a body that has no coding at all.
            return Decoded(wire, None, ("unknown_encoding", "raw_body"))
        try:
            body, flags = decode(body, limit)
        except zlib.error:
            return Decoded(wire, "undecodable", ("raw_body",))
    return Decoded(body, None, flags)


def decode_start(wire: bytes, codings: list[str], limit: int) -> bytes:
    """Undo the content coding of a body that broke off.

    Parameters
    ----------
    wire
        The beginning of the body as it came.
    codings
        As for `decode_body`.
    limit
        The most bytes that may come out.

    Returns
    -------
    bytes
        What can be decoded: nothing where there are several codings, or one that is not known.

    Examples
    --------
    >>> import gzip
    >>> decode_start(gzip.compress(b"page", mtime=0)[:-4], ["gzip"], 1000)
    b'page'
    """
    if not codings:
        return wire[:limit]
    frames = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}
    for wbits in frames.get(codings[0], ()) if len(codings) == 1 else ():
        try:
            return zlib.decompressobj(wbits=wbits).decompress(wire, _allowed(wire, limit))
        except zlib.error:
            continue
    return b""


def _gunzip(data: bytes, limit: int) -> tuple[bytes, tuple[str, ...]]:
    allowed = _allowed(data, limit)
    parts: list[bytes] = []
    size = 0
    rest = data
    # A gzip body may have several members (RFC 1952 2.2). Each look at what follows a member
    # copies the rest, so that many tiny members would take quadratic time.
    for _ in range(_MOST_MEMBERS):
        member = zlib.decompressobj(wbits=31)
        part = member.decompress(rest, allowed - size + 1)
        parts.append(part)
        size += len(part)
        _check_size(size, allowed, limit)
        if not member.eof:
            raise FetchFailed("truncated", "the gzip data has no end")
        rest = member.unused_data
        if not rest.startswith(b"\x1f\x8b"):
            break
    flags = ("trailing_bytes",) if rest.strip(b"\0") else ()
    return parts[0] if len(parts) == 1 else b"".join(parts), flags


def _inflate(data: bytes, limit: int) -> tuple[bytes, tuple[str, ...]]:
    allowed = _allowed(data, limit)
    decoder = zlib.decompressobj()
    try:
        body = decoder.decompress(data, allowed + 1)
    except zlib.error:  # many servers send the bare data, without the zlib frame
        decoder = zlib.decompressobj(wbits=-15)
        body = decoder.decompress(data, allowed + 1)
    _check_size(len(body), allowed, limit)
    if not decoder.eof:
        raise FetchFailed("truncated", "the deflate data has no end")
    return body, ("trailing_bytes",) if decoder.unused_data.strip(b"\0") else ()


def _allowed(data: bytes, limit: int) -> int:
    return min(limit, max(GROWTH_FLOOR, GROWTH * len(data)))


def _check_size(size: int, allowed: int, limit: int) -> None:
    if size > allowed:
        code = "body_too_large" if allowed == limit else "compression_bomb"
        raise FetchFailed(code, f"more than {allowed:,} bytes decoded")
