"""Which records of WARC files become pages: found out in a first pass, held in a temporary file.

A URL may have many captures; one becomes its page. The latest good answer goes before the latest
that is worth retrying (503, say), and that before a revisit record, whose payload is elsewhere.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlkit.crawling.archive import compress, decompress
from crawlkit.crawling.session import Seed
from crawlkit.crawling.warc import SEEDS_URI
from crawlkit.crawling.warc_reader import PROBLEMS, Problem, Record, read_warc
from crawlkit.crawling.warc_responses import read_status
from crawlkit.errors import StorageFailed
from crawlkit.web.response import Response
from crawlkit.web.retry import is_retryable
from crawlkit.web.urls import Address, LinkResolver, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from crawlkit.crawling.settings import Settings

__all__ = ["CaptureIndex", "FileNotes"]

_GOOD, _RETRYABLE, _REVISIT = 2, 1, 0
_CAPTURES = frozenset(("response", "resource", "revisit"))
_SAME_PAYLOAD = "identical-payload-digest"
_MOST_SEED_BYTES = 65_536
_SOURCE = re.compile("[a-z][a-z_]{0,30}")
_SCHEMA = """
CREATE TABLE captures (
  key TEXT PRIMARY KEY, ordinal INTEGER NOT NULL, rank INTEGER NOT NULL, date REAL NOT NULL,
  digest TEXT
);
CREATE INDEX captures_by_digest ON captures (digest) WHERE rank = 0;
CREATE TABLE hosts (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE seeds (number INTEGER PRIMARY KEY, url TEXT, source TEXT, lastmod REAL);
CREATE TABLE payloads (digest TEXT PRIMARY KEY, codec TEXT, size INTEGER, data BLOB);
"""


class FileNotes(NamedTuple):
    """What one file held: counts of records by what became of them, and what was wrong."""

    path: Path
    counts: Counter[str]
    problems: list[Problem]


class CaptureIndex:
    """The captures of some files, in a private file of SQLite that vanishes when it is closed.

    Parameters
    ----------
    files
        WARC and ARC files, in the order in which they are read.
    settings
        What the import was told: scope and patterns say which records are left out.
    resolver
        Makes addresses and keys.
    """

    def __init__(self, files: Sequence[Path], settings: Settings, resolver: LinkResolver) -> None:
        self._files = files
        self._settings = settings
        self._resolver = resolver
        self._database = sqlite3.connect("", isolation_level=None)
        for pragma in ("journal_mode=OFF", "synchronous=OFF"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(_SCHEMA)
        self._revisits = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.close()

    # -- first pass ------------------------------------------------------------------------

    def scan(self) -> list[FileNotes]:
        """Read all files once, and note which records to take.

        Raises
        ------
        StorageFailed
            There is no room for temporary files.
        """
        try:
            self._database.execute("BEGIN")
            notes = self._scan()
            self._database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise StorageFailed(
                f"no temporary file can be written: {error}. Free some space, or set TMPDIR."
            ) from error
        self._revisits = self._one("SELECT 1 FROM captures WHERE rank = 0 LIMIT 1") is not None
        return notes

    def _scan(self) -> list[FileNotes]:
        notes: list[FileNotes] = []
        ordinal = 0
        for path in self._files:
            counts: Counter[str] = Counter()
            problems: list[Problem] = []
            for item in read_warc(path):
                if isinstance(item, Problem):
                    problems.append(item)
                    continue
                ordinal += 1
                fate = self._note(item, ordinal)
                counts[fate] += 1
                if fate in PROBLEMS:
                    problems.append(Problem(fate, item.offset, item.url[:500]))
                elif fate == "capture" and item.date is None:
                    problems.append(Problem("warc_bad_date", item.offset, item.url[:500]))
            notes.append(FileNotes(path, counts, problems))
        return notes

    def _note(self, record: Record, ordinal: int) -> str:
        """Take note of a record; return what it is, in a word."""
        if record.kind == "metadata" and record.url == SEEDS_URI:
            self._note_seeds(record)
            return "seeds"
        if record.kind not in _CAPTURES:
            return "other"
        address = self._resolver.resolve(record.url)
        refusal = self._refusal(address)
        if isinstance(address, Refusal) or refusal is not None:
            return refusal or "bad_url"
        return self._note_capture(record, address, ordinal)

    def _note_capture(self, record: Record, address: Address, ordinal: int) -> str:
        if record.segmented:
            return "warc_segmented"
        rank = self._rank(record)
        if record.finish() is not None:
            return "damaged"
        if rank is None:
            return "warc_no_answer" if record.kind == "response" else "revisit"
        self._add(address, ordinal, rank, record)
        return "capture"

    def _refusal(self, address: Address | Refusal) -> str | None:
        """Return why what a record is about is left out, or None."""
        if isinstance(address, Refusal):
            return address.reason
        settings, url = self._settings, address.url
        if not isinstance(settings.scope, str) and address.host not in settings.scope:
            return "scope"
        if settings.include and settings.include.matches(url) is None:
            return "include"
        if settings.exclude and settings.exclude.matches(url) is not None:
            return "exclude"
        return None

    @staticmethod
    def _rank(record: Record) -> int | None:
        """Return how good a capture is; None for what is none."""
        if record.kind == "resource":
            return _GOOD
        if record.kind == "revisit":
            return _REVISIT if _SAME_PAYLOAD in record.profile and record.digest else None
        status = read_status(record)
        if status is None:
            return None
        return _RETRYABLE if is_retryable(Response("", status=status)) else _GOOD

    def _add(self, address: Address, ordinal: int, rank: int, record: Record) -> None:
        self._database.execute(
            "INSERT INTO captures (key, ordinal, rank, date, digest) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET ordinal = excluded.ordinal, rank = excluded.rank, "
            "date = excluded.date, digest = excluded.digest "
            "WHERE (excluded.rank, excluded.date) > (captures.rank, captures.date)",
            (address.key, ordinal, rank, record.date or 0.0, record.digest),
        )
        self._database.execute("INSERT OR IGNORE INTO hosts VALUES (?)", (address.host,))

    # -- seeds -----------------------------------------------------------------------------

    def _note_seeds(self, record: Record) -> None:
        rest = b""
        while data := record.read(_MOST_SEED_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _MOST_SEED_BYTES:
                return
            for line in lines:
                self._note_seed(line)
        self._note_seed(rest)

    def _note_seed(self, line: bytes) -> None:
        """Note one seed; a line of anything else is passed over."""
        try:
            seed = json.loads(line)
            url, source, lastmod = seed["url"], seed.get("source"), seed.get("lastmod")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return
        address = self._resolver.resolve(url) if isinstance(url, str) else None
        if not isinstance(address, Address) or self._refusal(address) is not None:
            return
        named = isinstance(source, str) and _SOURCE.fullmatch(source) is not None
        self._database.execute(
            "INSERT INTO seeds (url, source, lastmod) VALUES (?, ?, ?)",
            (
                address.url,
                source if named and source not in ("link", "redirect") else "seed",
                lastmod if isinstance(lastmod, float) and abs(lastmod) < 1e12 else None,
            ),
        )
        self._database.execute("INSERT OR IGNORE INTO hosts VALUES (?)", (address.host,))

    def seeds(self) -> Iterator[Seed]:
        """Yield the seeds that an export of crawlkit names."""
        for url, source, lastmod in self._database.execute(
            "SELECT url, source, lastmod FROM seeds ORDER BY number"
        ):
            address = self._resolver.resolve(url)
            if isinstance(address, Address):
                yield Seed(address, source, lastmod)

    # -- second pass -----------------------------------------------------------------------

    def hosts(self) -> Iterator[str]:
        """Yield the hosts of the captures and seeds."""
        return (row[0] for row in self._database.execute("SELECT name FROM hosts ORDER BY name"))

    def __len__(self) -> int:
        (count,) = self._database.execute("SELECT count(*) FROM captures").fetchone()
        return int(count)

    def records(self) -> Iterator[tuple[Record, bool]]:
        """Yield the records to read, and whether each becomes a page or is only referred to."""
        ordinal = 0
        for path in self._files:
            for item in read_warc(path):
                if isinstance(item, Problem):
                    continue
                ordinal += 1
                if item.kind not in _CAPTURES:
                    continue
                taken = self._is_chosen(item, ordinal)
                if taken or self.wants(item.digest):
                    yield item, taken

    def _is_chosen(self, record: Record, ordinal: int) -> bool:
        address = self._resolver.resolve(record.url)
        if isinstance(address, Refusal):
            return False
        row = self._one("SELECT ordinal FROM captures WHERE key = ?", address.key)
        return row is not None and row[0] == ordinal

    def wants(self, digest: str | None) -> bool:
        """Return whether a chosen revisit record refers to a payload that is not there yet."""
        if not self._revisits or digest is None:
            return False
        referred = "SELECT 1 FROM captures WHERE rank = 0 AND digest = ? LIMIT 1"
        return self._one(referred, digest) is not None and self.payload(digest) is None

    def keep(self, digest: str, body: bytes) -> None:
        """Keep a payload that revisit records refer to."""
        self._database.execute(
            "INSERT OR IGNORE INTO payloads VALUES (?, ?, ?, ?)", (digest, *compress(body))
        )

    def payload(self, digest: str | None) -> bytes | None:
        """Return a payload that was kept."""
        row = self._one("SELECT codec, size, data FROM payloads WHERE digest = ?", digest)
        return None if row is None else decompress(*row)

    def _one(self, statement: str, *values: object) -> Any:
        return self._database.execute(statement, values).fetchone()
