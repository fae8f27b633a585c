"""Reading one HTTP/1 answer from a socket, with a bound on everything (RFC 9112).

The reader is crawlkit's own since http.client takes part in no such bounds: it reads interim
answers without end, drops every header after a line that has no colon, takes a chunk of -1 bytes
for "everything", and cannot say whether the server sent more than it announced. One read usually
brings headers and body together, which also makes it cheap (benchmarks/fetch_cost.py).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlkit.web.headers import Headers
from crawlkit.web.reasons import FetchFailed

if TYPE_CHECKING:
    import socket

__all__ = ["Answer", "read_answer"]

_READ = 65_536
_MOST_HEAD_BYTES = 131_072
_MOST_LINE_BYTES = 65_536
_MOST_FIELDS = 100
_MOST_INTERIM = 8
_MOST_TRAILER_BYTES = 8192

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE = re.compile(r"HTTP/1\.([0-9])[ \t]+([1-9][0-9]{2})(?:[ \t].*)?", re.DOTALL)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_CHUNK_LINE = 8192


class Answer:
    """The head of an answer, and the means to read its body.

    Attributes
    ----------
    status : int
        100 to 999, as sent.
    headers : Headers
        Without control characters; what cannot be a header field is left out.
    flags : list of str
        What was odd so far.
    length : int or None
        Bytes of the body that the head names; None when it names none.
    chunked : bool
        Whether the body comes in chunks.
    utf8 : bool
        Whether the head is UTF-8 (ASCII included); otherwise it was read as Latin-1.
    """

    __slots__ = (
        "_buffer",
        "_keep_alive",
        "_rest",
        "_sock",
        "chunked",
        "flags",
        "headers",
        "length",
        "status",
        "utf8",
    )

    def __init__(self, sock: socket.socket, head: bytes, rest: bytes) -> None:
        self._sock = sock
        self._rest = rest
        self._buffer: bytearray | None = None  # a body that is being read
        self.flags: list[str] = []
        text, self.utf8 = _text(head)
        minor, self.status, self.headers = _parse_head(text, self.flags)
        self.chunked = False
        self.length: int | None = None
        self._keep_alive = _stays_open(minor, self.headers)

    def find_framing(self) -> None:
        """Decide where the body ends (RFC 9112 6.3).

        Raises
        ------
        FetchFailed
            ``bad_length`` when two lengths disagree.
        """
        lengths = self.headers.get_all("content-length")
        transfer = self.headers.get("transfer-encoding")
        if transfer is not None and transfer.strip().lower() == "identity":
            transfer = None  # an old name for "no coding"; the length counts
        if self.status in {204, 304}:
            # Whatever is announced must not be taken for the next answer on this connection.
            if transfer is not None or lengths not in ([], ["0"]):
                self._keep_alive = False
            self.length = 0
            return
        if transfer is not None:
            self.chunked = transfer.lower().split(",")[-1].strip() == "chunked"
            if lengths:
                self.flags.append("length_and_chunked")
                self._keep_alive = False
        elif lengths:
            self.length = _named_length(lengths)
            if self.length is None:
                self.flags.append("length_invalid")
        if self.length is None and not self.chunked:
            self.flags.append("length_unknown")
            self._keep_alive = False

    def location(self) -> str | None:
        """Return where a redirect leads, as it was written; None when it says nothing."""
        values = self.headers.get_all("location")
        if not values or not values[0]:
            return None
        if self.utf8 or values[0].isascii():
            return values[0]
        # Bytes of an unknown charset: they go back to the server as they are, as browsers do.
        return "".join(c if c.isascii() else f"%{ord(c):02X}" for c in values[0])

    def codings(self) -> list[str]:
        """Return what the body was compressed with, in order of application."""
        named = self.headers.get("content-encoding", "") + ","
        named += self.headers.get("transfer-encoding", "")
        if named == ",":
            return []
        listed = [coding.strip().lower() for coding in named.split(",")]
        return [coding for coding in listed if coding not in {"", "identity", "chunked"}]

    def read_body(self, limit: int, *, keep_start: bool = False) -> bytes:
        """Read the body as it comes over the wire, without its chunks' frames.

        Parameters
        ----------
        limit
            The most bytes to read.
        keep_start
            Whether so many bytes are read, and go with the failure, of a body that announces more.

        Raises
        ------
        FetchFailed
            ``body_too_large``, ``truncated``, ``bad_chunk``, or what the guard of the socket says.
        """
        if self.chunked:
            return self._read_chunks(limit)
        if self.length is None:
            return self._read_to_end(limit)
        if self.length > limit:
            start = self._read_length(limit) if keep_start else b""
            raise FetchFailed("body_too_large", f"{self.length:,} bytes announced", start=start)
        return self._read_length(self.length)

    def waiting(self) -> int:
        """Return how many bytes arrived together with the head."""
        return len(self._rest)

    def arrived(self) -> bytes:
        """Return what there is of a body whose reading failed, without the frames of chunks."""
        return b"" if self._buffer is None else bytes(self._buffer)

    def give_up(self) -> None:
        """Leave the body unread: the connection cannot be used again."""
        self._keep_alive = False

    def reusable(self) -> bool:
        """Say whether the connection may carry another request; call it after the body."""
        return self._keep_alive and not self._rest

    def _read_length(self, length: int) -> bytes:
        rest = self._rest
        if len(rest) < length:
            self._buffer = buffer = bytearray(rest)
            while len(buffer) < length:
                # Not less than a full read: so what exceeds the named length is noticed.
                data = self._sock.recv(_READ)
                if not data:
                    raise FetchFailed("truncated", f"{len(buffer):,} of {length:,} bytes")
                buffer += data
            rest = bytes(buffer)
            self._buffer = None
        if len(rest) > length:
            self.flags.append("body_ignored" if self.status in {204, 304} else "extra_bytes")
            self._keep_alive = False
            rest = rest[:length]
        self._rest = b""
        return rest

    def _read_to_end(self, limit: int) -> bytes:
        self._buffer = buffer = bytearray(self._rest)
        self._rest = b""
        while len(buffer) <= limit:
            data = self._sock.recv(_READ)
            if not data:
                self._buffer = None
                return bytes(buffer)
            buffer += data
        detail = f"more than {limit:,} bytes on the wire"
        raise FetchFailed("body_too_large", detail, start=bytes(buffer[:limit]))

    def _read_chunks(self, limit: int) -> bytes:
        pending = _Pending(self._sock, self._rest)
        self._rest = b""
        self._buffer = body = bytearray()
        while size := pending.chunk_size():
            if len(body) + size > limit:
                detail = f"more than {limit:,} bytes on the wire"
                raise FetchFailed("body_too_large", detail, start=bytes(body))
            pending.move(size, body)
            pending.chunk_end()
        rest = pending.skip_trailers()
        if rest is None:
            self._keep_alive = False
        elif rest:
            self._rest = rest
            self.flags.append("extra_bytes")
        self._buffer = None
        return bytes(body)


class _Pending:
    """Bytes that arrived and were not used yet; only the chunked reader needs such a store."""

    __slots__ = ("_data", "_sock")

    def __init__(self, sock: socket.socket, data: bytes) -> None:
        self._sock = sock
        self._data = bytearray(data)

    def _fill(self) -> bool:
        data = self._sock.recv(_READ)
        self._data += data
        return bool(data)

    def chunk_size(self) -> int:
        while True:
            match = _CHUNK_SIZE.match(self._data)
            if match is not None:
                size = int(match[1], 16)  # before the cut: a match looks into the bytearray
                del self._data[: match.end()]
                return size
            if b"\n" in self._data or len(self._data) > _CHUNK_LINE:
                raise FetchFailed("bad_chunk", ascii(bytes(self._data[:40])))
            if not self._fill():
                raise FetchFailed("truncated", "the connection closed between two chunks")

    def move(self, size: int, body: bytearray) -> None:
        while True:
            part = self._data[:size]
            del self._data[: len(part)]
            body += part
            size -= len(part)
            if not size:
                return
            if not self._fill():
                raise FetchFailed("truncated", f"{size:,} bytes of a chunk are missing")

    def chunk_end(self) -> None:
        while len(self._data) < 2 and self._data != b"\n":
            if not self._fill():
                raise FetchFailed("truncated", "the connection closed after a chunk")
        size = 2 if self._data.startswith(b"\r\n") else 1
        if self._data[size - 1] != 0x0A:
            raise FetchFailed("bad_chunk", "a chunk is longer than it says")
        del self._data[:size]

    def skip_trailers(self) -> bytes | None:
        """Read up to the empty line that ends a chunked body; return what lies beyond it.

        None when the connection ended instead: the body is complete all the same, and there are
        servers that leave the empty line out.
        """
        while True:
            if self._data.startswith((b"\n", b"\r\n")):
                return bytes(self._data.partition(b"\n")[2])
            end = _HEAD_END.search(self._data)
            if end is not None:
                return bytes(self._data[end.end() :])
            if len(self._data) > _MOST_TRAILER_BYTES:
                raise FetchFailed("headers_too_large", "trailers without end")
            if not self._fill():
                return None


def read_answer(sock: socket.socket) -> Answer:
    """Read the head of an answer, past any interim ones.

    Parameters
    ----------
    sock
        A connected socket on which the request was sent.

    Returns
    -------
    Answer
        With the body still to be read.

    Raises
    ------
    FetchFailed
        ``empty_reply``, ``bad_response``, ``truncated``, ``headers_too_large``,
        ``too_many_interim``, ``bad_length``.
    """
    rest = b""
    for _ in range(_MOST_INTERIM + 1):
        head, rest = _read_head(sock, rest)
        answer = Answer(sock, head, rest)
        if answer.status >= 200:
            answer.find_framing()
            return answer
        if answer.status == 101:  # a switch to a protocol that nobody asked for
            raise FetchFailed("bad_response", "101 Switching Protocols")
    raise FetchFailed("too_many_interim", f"more than {_MOST_INTERIM} interim answers")


def _read_head(sock: socket.socket, data: bytes) -> tuple[bytes, bytes]:
    data = data or sock.recv(_READ)
    if not data:
        raise FetchFailed("empty_reply")
    end = _HEAD_END.search(data)
    if end is not None and data.startswith(b"HTTP/"):
        return data[: end.start()], data[end.end() :]
    buffer = bytearray(data)
    while True:
        if not buffer.startswith(b"HTTP/"[: len(buffer)]):
            raise FetchFailed("bad_response", ascii(bytes(buffer[:40])))
        end = _HEAD_END.search(buffer, max(0, len(buffer) - len(data) - 3))
        if end is not None:
            return bytes(buffer[: end.start()]), bytes(buffer[end.end() :])
        if len(buffer) > _MOST_HEAD_BYTES:
            raise FetchFailed("headers_too_large", f"more than {_MOST_HEAD_BYTES:,} bytes")
        data = sock.recv(_READ)
        if not data:
            raise FetchFailed("truncated", "the connection closed within the headers")
        buffer += data


def _text(head: bytes) -> tuple[str, bool]:
    """Return the head as text, and whether it is UTF-8; each byte is a character otherwise."""
    try:
        return head.decode("utf-8"), True
    except UnicodeDecodeError:
        return head.decode("latin-1"), False


def _parse_head(text: str, flags: list[str]) -> tuple[int, int, Headers]:
    lines = text.replace("\r\n", "\n").split("\n")
    status = _STATUS_LINE.fullmatch(lines[0])
    if status is None:
        raise FetchFailed("bad_response", ascii(lines[0][:80]))
    if len(lines) > _MOST_FIELDS + 1:
        raise FetchFailed("headers_too_large", f"{len(lines) - 1} header fields")
    if len(text) > _MOST_LINE_BYTES and max(map(len, lines)) > _MOST_LINE_BYTES:
        raise FetchFailed("headers_too_large", f"a line of more than {_MOST_LINE_BYTES:,} bytes")
    pairs, bad = _fields(lines)
    if _CONTROL.search(text.replace("\r\n", "\n")) is not None:
        bad = True
        pairs = [(name, _CONTROL.sub("", value)) for name, value in pairs]
    if bad:
        flags.append("bad_header_line")
    return int(status[1]), int(status[2]), Headers(pairs)


def _fields(lines: list[str]) -> tuple[list[tuple[str, str]], bool]:
    """Return names and values, and whether a line had to be left out."""
    pairs: list[tuple[str, str]] = []
    bad = False
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if line[:1] in {" ", "\t"} and pairs:  # obs-fold (RFC 9112 5.2): the value goes on
            name, value = pairs[-1]
            pairs[-1] = (name, f"{value} {line.strip()}".strip())
        elif colon and _TOKEN.fullmatch(name.rstrip(" \t")):
            pairs.append((name.rstrip(" \t"), value.strip(" \t")))
        else:
            bad = True
    return pairs, bad


def _stays_open(minor: int, headers: Headers) -> bool:
    said = headers.get("connection", "").lower()
    if minor == 0:
        return "keep-alive" in said
    return "close" not in said


def _named_length(values: list[str]) -> int | None:
    named = {part.strip() for value in values for part in value.split(",")}
    if len(named) > 1:
        raise FetchFailed("bad_length", ascii(", ".join(sorted(named)))[:80])
    (text,) = named
    return int(text) if _LENGTH.fullmatch(text) else None
