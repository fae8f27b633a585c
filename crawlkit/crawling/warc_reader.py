"""Read WARC and ARC files, record by record, in whatever state they are.

warcio parses the head of a record. What lies below is crawlkit's own: files from elsewhere may be
cut off, damaged in the middle, compressed as a whole instead of record by record, or made to fill
the memory. A record that cannot be read becomes a :class:`Problem` with a stable reason, and the
reader goes on at the next one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.crawling.warc_stream import DamagedError, WarcStream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["PROBLEMS", "Problem", "Record", "looks_like_warc", "read_warc"]

PROBLEMS: dict[str, str] = {
    "warc_bad_date": "A record has no date that can be read; its page is dated 1970.",
    "warc_bad_gzip": "Compressed data is damaged; what follows it was read again from the next "
    "member.",
    "warc_bad_length": "A record is longer or shorter than it says.",
    "warc_bad_record": "The head of a record cannot be read, or is too long.",
    "warc_empty": "There is no record in the file.",
    "warc_given_up": "So much of the file is damaged that the rest was left unread.",
    "warc_no_answer": "A response record holds no HTTP answer.",
    "warc_segmented": "A response is spread over several records, which is not supported.",
    "warc_truncated": "The file, or a part of it, ends inside a record.",
    "warc_unreadable": "The system could not read the file.",
    "warc_unresolved": "A revisit record refers to a payload that is not in these files.",
}
"""What may be wrong with a file: the kinds of the events that an import writes."""

_PIECE = 65_536
_MOST_PROBLEMS = 1_000
_MOST_TRIES = 10
_WARC_LINE = re.compile(rb"WARC/\d{1,3}\.\d{1,3}[ \t]*\r?\n?\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ARC_FIRST = b"filedesc://"
_ARC_LINE = re.compile(rb"[A-Za-z][A-Za-z0-9+.\-]*:\S.* \S+ \d{8,14} \S+ \d+[ \t]*\r?\n?\Z")


class Problem(NamedTuple):
    """Something in a file that could not be used: a key of :data:`PROBLEMS`, where, and details."""

    reason: str
    offset: int
    detail: str


@dataclass(slots=True, eq=False)
class Record:
    """One record; its block is read with :meth:`read`, before the next record is asked for.

    Attributes
    ----------
    kind : str
        The type: ``response``, ``request``, ``revisit``, ``resource``, ``metadata`` ...
    url : str
        What it is about, as written; ``""`` where nothing is.
    date : float or None
        UTC epoch seconds; None where there is none that can be read.
    content_type : str or None
        Of the block.
    digest : str or None
        The digest of the payload, as written.
    profile : str
        What kind of revisit this is.
    segmented : bool
        Whether this is a part of a longer record.
    offset : int
        Where it begins in the file, or where its gzip member does.
    left : int
        Bytes of the block that were not read yet.
    damage : Problem or None
        Set when the block turned out to be damaged or cut off.
    """

    stream: WarcStream
    kind: str
    url: str
    date: float | None
    content_type: str | None
    digest: str | None
    profile: str
    segmented: bool
    offset: int
    left: int
    damage: Problem | None = None

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes of the block; empty at its end, whatever the reason."""
        if self.damage is not None or self.left <= 0:
            return b""
        try:
            data = self.stream.read(min(size, self.left))
        except DamagedError as error:
            self.damage = Problem(error.reason, self.offset, f"{error.detail}: {self.url}")
            return b""
        except OSError as error:
            self.damage = Problem("warc_unreadable", self.offset, str(error))
            return b""
        self.left -= len(data)
        if not data:
            detail = f"{self.left:,} bytes are missing: {self.url}"
            self.damage = Problem("warc_truncated", self.offset, detail)
        return data

    def finish(self) -> Problem | None:
        """Skip what was not read; return what is wrong with the record, or None."""
        while self.read(_PIECE):
            pass
        return self.damage


def looks_like_warc(path: Path) -> bool:
    """Return whether there are records in a file, at its beginning or not far behind damage."""
    return any(isinstance(item, Record) for item in islice(read_warc(path), _MOST_TRIES))


def read_warc(path: Path) -> Iterator[Record | Problem]:
    """Yield the records of a file, and a problem for each that is damaged; never raises.

    A record's problem comes right after it. Memory stays within a few MiB.

    Parameters
    ----------
    path
        A WARC file of version 0.17 to 1.1, or an ARC file; compressed by record, compressed as a
        whole, or not compressed.
    """
    try:
        with path.open("rb") as file:
            yield from _Reader(WarcStream(file))
    except OSError as error:
        yield Problem("warc_unreadable", 0, str(error))


class _Reader:
    def __init__(self, stream: WarcStream) -> None:
        from warcio.recordloader import ARC2WARCHeadersParser
        from warcio.statusandheaders import StatusAndHeadersParser

        self._stream = stream
        self._warc_parser = StatusAndHeadersParser(["WARC/"])
        self._arc_parser = ARC2WARCHeadersParser()
        self._arc = False
        self._line = b""
        self._offset: int | None = None
        self._lost = False

    def __iter__(self) -> Iterator[Record | Problem]:
        problems = records = 0
        while problems < _MOST_PROBLEMS:
            try:
                record = self._next()
            except DamagedError as damage:
                offset = self._stream.where() if self._offset is None else self._offset
                problem: Problem | None = Problem(damage.reason, offset, damage.detail)
            else:
                if record is None:
                    if not records and not problems:
                        yield Problem("warc_empty", 0, "")
                    return
                records += 1
                yield record
                problem = record.finish()
            self._lost = problem is not None
            if problem is not None:
                problems += 1
                yield problem
                if problem.reason == "warc_unreadable":
                    return
        yield Problem("warc_given_up", self._stream.where(), f"{problems:,} problems")

    def _next(self) -> Record | None:
        """Return the next record; None at the end of the file."""
        stream = self._stream
        stream.in_record = False
        self._offset = None
        line, self._line = self._line, b""
        while not line.strip():
            line = stream.line()
            if not line:
                return None
            line = line.lstrip(b"\0")  # a hole that a crash left in the file
        self._offset = stream.where(len(line))
        if not self._begins(line):
            self._skip_to_record()
            if self._lost:  # what was lost was told already
                return self._next() if self._line else None
            raise DamagedError("warc_bad_length", f"{ascii(line[:60])[1:]} where a record begins")
        stream.begin_record()
        return self._parse(line, self._offset)

    def _begins(self, line: bytes) -> bool:
        """Return whether a line is the first of a record."""
        if line.startswith(_ARC_FIRST):
            self._arc = True
        if self._arc and _ARC_LINE.match(line) is not None:
            return True
        return _WARC_LINE.match(line) is not None

    def _skip_to_record(self) -> None:
        while True:
            line = self._stream.line()
            if not line or self._begins(line):
                self._line = line
                return

    def _parse(self, line: bytes, offset: int) -> Record:
        arc = not line.startswith(b"WARC/")
        try:
            head = (self._arc_parser if arc else self._warc_parser).parse(self._stream, line)
            length = str(head.get_header("Content-Length", "")).strip()
        except (DamagedError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a parser says to bytes from anywhere
            raise DamagedError("warc_bad_record", f"{type(error).__name__}: {error}") from None
        if self._stream.ended:
            raise DamagedError("warc_truncated", "the file ends inside the head of a record")
        if not re.fullmatch("[0-9]{1,18}", length):
            raise DamagedError("warc_bad_record", f"its length is {length[:40]!a}")
        left = int(length) - (head.total_len if arc else 0)
        get = head.get_header
        return Record(
            stream=self._stream,
            kind=str(get("WARC-Type", "")).strip().lower(),
            url=str(get("WARC-Target-URI", "")).strip().removeprefix("<").removesuffix(">"),
            date=_epoch(str(get("WARC-Date", ""))),
            content_type=get("Content-Type"),
            digest=get("WARC-Payload-Digest"),
            profile=str(get("WARC-Profile", "")),
            segmented=get("WARC-Segment-Number") is not None,
            offset=offset,
            left=max(0, left),
        )


def _epoch(text: str) -> float | None:
    """Return a date as UTC epoch seconds."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        microseconds = (moment - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None
    # The tables cut times to whole microseconds: half of one keeps rounding from losing one.
    return (microseconds + 0.5) / 1e6
