"""From the bytes of a file to pieces of UTF-8: compression and encoding, by what the bytes say.

Names and declared types are not believed: sitemaps called ``.gz`` are plain, plain names hold gzip,
and some files were compressed twice. Nothing here holds more than a piece of the output.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import re
import zlib
from typing import TYPE_CHECKING

import webencodings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from zlib import _Decompress as _Decompressor

__all__ = [
    "FILE_BYTES",
    "PIECE",
    "find_encoding",
    "head_of",
    "transcoded",
    "unpacked",
    "without_bad_bytes",
]

#: The protocol's limit for one file, uncompressed; also the most that is read over the wire.
FILE_BYTES = 52_428_800
#: Pieces of at least this size keep expat linear: it looks at an unfinished token once a piece.
PIECE = 1_048_576

_GZIP = b"\x1f\x8b"
_MOST_LAYERS = 2
_MOST_MEMBERS = 10_000
_HEAD = 65_536
_PART = 65_536
_SLIVER = 64

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECLARED = re.compile(rb"""<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")


def unpacked(data: bytes, note: Callable[[str], None], limit: int = FILE_BYTES) -> Iterator[bytes]:
    """Yield a file's content in pieces, decompressed if its first bytes are those of gzip.

    Parameters
    ----------
    data
        The file.
    note
        Called with a code of `FILE_ISSUES` or, once, with ``"file_too_large"``.
    limit
        The most bytes to yield.

    Yields
    ------
    bytes
        Pieces of about a megabyte, not empty.
    """
    pieces = _slices(data)
    for layer in range(_MOST_LAYERS):
        first = next(pieces, b"")
        pieces = _chain(first, pieces)
        if not first.startswith(_GZIP):
            break
        if layer:
            note("gzip_layers")
        pieces = _coalesced(_gunzipped(pieces, note))
    size = 0
    for piece in pieces:
        if size + len(piece) > limit:
            if piece[: limit - size]:
                yield piece[: limit - size]
            note("file_too_large")
            return
        size += len(piece)
        yield piece


def _slices(data: bytes) -> Iterator[bytes]:
    if len(data) <= PIECE:
        if data:
            yield data
        return
    view = memoryview(data)
    for start in range(0, len(data), PIECE):
        yield bytes(view[start : start + PIECE])


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _coalesced(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces of a megabyte at least, but for the last."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _gunzipped(pieces: Iterator[bytes], note: Callable[[str], None]) -> Iterator[bytes]:
    """Yield what some gzip data holds, member by member, as far as it can be read."""
    decoder = zlib.decompressobj(wbits=31)
    members, waiting = 1, b""
    # What follows a member is copied with each member, so it had better be short.
    for part in (piece[at : at + _PART] for piece in pieces for at in range(0, len(piece), _PART)):
        waiting = waiting + part if waiting else part
        while waiting:
            if decoder.eof:
                if not waiting.startswith(_GZIP) or members >= _MOST_MEMBERS:
                    if waiting.strip(b"\0"):
                        note("gzip_trailing")
                        return
                    break
                note("gzip_members")
                members += 1
                decoder = zlib.decompressobj(wbits=31)
            before = decoder.copy()
            try:
                out = decoder.decompress(waiting, PIECE)
            except zlib.error:
                note("gzip_damaged")
                yield from _salvaged(before, waiting)
                return
            waiting = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
            if out:
                yield out
        if decoder.eof:
            waiting = waiting.strip(b"\0")
    if not decoder.eof:
        note("gzip_truncated")
        if out := decoder.flush():
            yield out


def _salvaged(decoder: _Decompressor, data: bytes) -> Iterator[bytes]:
    """Yield what some data holds in front of a fault."""
    with contextlib.suppress(zlib.error):
        for at in range(0, len(data), _SLIVER):
            yield decoder.decompress(data[at : at + _SLIVER])


def head_of(data: bytes) -> bytes:
    """Return the first 64 KiB of a file's content."""
    head = b""
    for piece in unpacked(data, lambda _: None, _HEAD):
        head += piece
    return head


def find_encoding(head: bytes) -> tuple[str, int]:
    r"""Return the encoding of a file and the length of its byte order mark.

    The mark decides, then the look of UTF-16, then the declaration, unless it is plainly a lie.

    Parameters
    ----------
    head
        The beginning of the content.

    Examples
    --------
    >>> find_encoding(b'<?xml version="1.0" encoding="ISO-8859-1"?>')
    ('iso8859-1', 0)
    >>> find_encoding(b"\xef\xbb\xbf<urlset>"), find_encoding(b"<\0u\0r\0l\0")
    (('utf-8', 3), ('utf-16-le', 0))
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, len(mark)
    start = head.lstrip(b" \t\r\n")[:4]
    if re.match(rb"[\x09-\x7e]\0[\x09-\x7e]\0", start):
        return "utf-16-le", 0
    if re.match(rb"\0[\x09-\x7e]\0[\x09-\x7e]", head[:4]):
        return "utf-16-be", 0
    declared = _DECLARED.search(head[:4096])
    encoding = None if declared is None else webencodings.lookup(declared[1].decode("ascii"))
    if encoding is None or encoding.name.startswith(("utf-16", "replacement", "utf-8")):
        return "utf-8", 0  # it was read as ASCII this far, so it is no UTF-16
    name = declared[1].decode("ascii").lower() if declared else ""
    if name in ("iso-8859-1", "latin1", "iso8859-1"):
        return "iso8859-1", 0
    return encoding.codec_info.name, 0


def transcoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield pieces in another encoding as UTF-8; what does not fit becomes U+FFFD."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in pieces:
        text = decoder.decode(piece)
        if text:
            yield text.encode("utf-8", "replace")
    text = decoder.decode(b"", final=True)
    if text:
        yield text.encode("utf-8", "replace")


def _as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    """Read bytes that are no UTF-8 as what they most likely are, one by one."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return bad.decode("windows-1252", "replace"), error.end


codecs.register_error("crawlkit.windows-1252", _as_windows_1252)


def without_bad_bytes(pieces: Iterable[bytes], note: Callable[[str], None]) -> Iterator[str]:
    """Yield pieces of UTF-8 as text; bytes that do not fit are read as windows-1252."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    for piece in itertools.chain(pieces, (b"",)):
        state = decoder.getstate()
        try:
            yield decoder.decode(piece, final=not piece)
        except UnicodeDecodeError:
            note("bad_bytes")
            decoder = codecs.getincrementaldecoder("utf-8")("crawlkit.windows-1252")
            decoder.setstate(state)
            yield decoder.decode(piece, final=not piece)
