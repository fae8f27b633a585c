"""The bytes of a WARC file: uncompressed, bounded, and read on behind what is damaged."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["DamagedError", "WarcStream"]

_PIECE = 65_536
_MOST_UNPACKED = 1 << 20
_MOST_LINE = 65_536
_MOST_HEAD = 262_144
# ID1, ID2, CM = deflate, and flags of which the upper three bits are reserved (RFC 1952 2.3).
_GZIP_MAGIC = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")


class DamagedError(Exception):
    """Some bytes cannot be used; what follows them can be read on."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class _Source(Protocol):
    """Gives the uncompressed bytes of a file; ``fresh`` after the first piece of a member."""

    fresh: bool

    def piece(self) -> bytes: ...

    def where(self, unread: int) -> int: ...


class _Plain:
    """An uncompressed file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._read = 0
        self.fresh = False

    def piece(self) -> bytes:
        data = self._file.read(_PIECE)
        self._read += len(data)
        return data

    def where(self, unread: int) -> int:
        return self._read - unread


class _Members:
    """A gzip file: its members one after another, of any size; damaged ones are left behind."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._member: Any = None
        self._ahead = b""
        self._read = 0
        self._start = 0
        self._untouched = True
        self._searching = False
        self._begun = False
        self.fresh = False

    def where(self, unread: int) -> int:
        del unread
        return self._start

    def piece(self) -> bytes:
        """Return some bytes; empty at the end of the file.

        Raises
        ------
        DamagedError
            Once for each damage; the next call goes on behind it.
        """
        while True:
            if self._member is None and not self._next_member():
                return b""
            data = self._ahead or self._more()
            if not data:
                self._member = None
                raise DamagedError("warc_truncated", "the file ends inside a gzip member")
            fresh = self._untouched
            try:
                unpacked: bytes = self._member.decompress(data, _MOST_UNPACKED)
            except zlib.error as error:
                # The next member may begin anywhere behind the first byte of this one.
                self._ahead = data[1:] if fresh else data
                self._member = None
                self._searching = True
                raise DamagedError("warc_bad_gzip", str(error)) from None
            self._untouched = False
            if self._member.eof:
                self._ahead = self._member.unused_data
                self._member = None
            else:
                self._ahead = self._member.unconsumed_tail
            if unpacked:
                self.fresh = self._begun
                self._begun = False
                return unpacked

    def _more(self) -> bytes:
        data = self._file.read(_PIECE)
        self._read += len(data)
        return data

    def _next_member(self) -> bool:
        """Find where the next member begins; return False at the end of the file."""
        junk = False
        while (found := _GZIP_MAGIC.search(self._ahead)) is None:
            kept = self._ahead[-3:]  # it may be the beginning of one
            junk = junk or bool(self._ahead[: -len(kept) or None].strip(b"\0"))
            data = self._more()
            self._ahead = kept + data if data else b""
            if not data:
                self._tell_junk(junk=junk or bool(kept.strip(b"\0")))
                return False
        junk = junk or bool(self._ahead[: found.start()].strip(b"\0"))
        self._ahead = self._ahead[found.start() :]
        self._start = self._read - len(self._ahead)
        self._member = zlib.decompressobj(wbits=31)
        self._untouched = self._begun = True
        self._tell_junk(junk=junk)
        return True

    def _tell_junk(self, *, junk: bool) -> None:
        """Raise for bytes that belong to no member, unless a damaged one was told already."""
        expected, self._searching = self._searching, False
        if junk and not expected:
            raise DamagedError("warc_bad_gzip", "there are bytes that belong to no gzip member")


class WarcStream:
    """The uncompressed bytes of a file with bounds, as warcio's parsers read them.

    Parameters
    ----------
    file
        An open file, compressed or not.

    Attributes
    ----------
    in_record : bool
        Whether a record is being read; one that reaches into the next is damaged.
    ended : bool
        Whether something was asked for behind the last byte.
    """

    def __init__(self, file: BinaryIO) -> None:
        zipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        self._source: _Source = _Members(file) if zipped else _Plain(file)
        self._buffer = b""
        self._at = 0
        self._room = _MOST_HEAD
        self.in_record = False
        self.ended = False

    def where(self, back: int = 0) -> int:
        """Return the offset in the file of the byte so far back, or of its gzip member."""
        return self._source.where(len(self._buffer) - self._at + back)

    def _fill(self) -> bool:
        if self._at < len(self._buffer):
            return True
        self._buffer, self._at = b"", 0
        self._buffer = self._source.piece()
        self.ended = not self._buffer
        if self.in_record and self._source.fresh and self._buffer.startswith(b"WARC/"):
            raise DamagedError("warc_bad_length", "the next record begins before it should")
        return bool(self._buffer)

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes; empty only at the end of the file."""
        if size <= 0 or not self._fill():
            return b""
        data = self._buffer[self._at : self._at + size]
        self._at += len(data)
        return data

    def readline(self) -> bytes:
        """Return a line of a record's head, at most 64 KiB of it."""
        line = self.line()
        self._room -= len(line)
        if self._room < 0:
            raise DamagedError("warc_bad_record", f"its head has more than {_MOST_HEAD:,} bytes")
        return line

    def line(self) -> bytes:
        """Return a line, at most 64 KiB of it."""
        parts: list[bytes] = []
        room = _MOST_LINE
        while room > 0 and self._fill():
            end = self._buffer.find(b"\n", self._at, self._at + room)
            stop = min(len(self._buffer), self._at + room) if end < 0 else end + 1
            parts.append(self._buffer[self._at : stop])
            room -= stop - self._at
            self._at = stop
            if end >= 0:
                break
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def begin_record(self) -> None:
        """Expect the head of a record."""
        self._room = _MOST_HEAD
        self.in_record = True
