"""The crawl folder's SQLite database: connections, schema and safe transactions.

One connection writes, under one lock, always with ``BEGIN IMMEDIATE``; readers open their own,
read-only. WAL with ``synchronous=FULL``: what is committed survives a power cut.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from crawlkit.crawling.faults import point
from crawlkit.errors import FolderUnusable, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "DATABASE_NAME",
    "SCHEMA_VERSION",
    "has_column",
    "open_for_writing",
    "read_only",
    "transaction",
]

DATABASE_NAME = "crawl.sqlite"
# 2: rows of the buffer may have lines behind their JSON, which releases before cannot read.
SCHEMA_VERSION = 2

# Everything that belongs to one result is written in one transaction:
# - urls: the frontier and the seen-set; ``id`` is the order of discovery.
# - buffer: finished rows of pages, links and fetches that no Parquet segment holds yet.
# - segments: the Parquet files that count; a file that is not listed here does not exist.
# - responses, bodies: each page's latest raw response; bodies by content hash, compressed.
# - ordering_history: what the ordering was told, where it must hear it again after a death.
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE hosts (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  asked INTEGER NOT NULL DEFAULT 0,
  not_before REAL,
  pause REAL,
  served INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE robots (
  authority TEXT PRIMARY KEY,
  status TEXT NOT NULL,
  reason TEXT,
  body BLOB NOT NULL,
  fetched_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE urls (
  id INTEGER PRIMARY KEY,
  hash INTEGER NOT NULL,
  url TEXT NOT NULL,
  key TEXT,
  host INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  state INTEGER NOT NULL,
  reason TEXT,
  urgent INTEGER NOT NULL DEFAULT 0,
  score REAL NOT NULL,
  found_on INTEGER,
  source TEXT NOT NULL,
  leases INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  retry_at REAL,
  lastmod REAL,
  found_in TEXT
);
CREATE INDEX urls_by_hash ON urls (hash);
CREATE INDEX urls_waiting ON urls (host, urgent DESC, score DESC, id)
  WHERE state = 0 AND retry_at IS NULL;
CREATE INDEX urls_parked ON urls (retry_at) WHERE retry_at IS NOT NULL;
CREATE TABLE aliases (
  hash INTEGER NOT NULL, key TEXT NOT NULL, url_id INTEGER NOT NULL,
  PRIMARY KEY (hash, key)
) WITHOUT ROWID;
CREATE TABLE leases (
  url_id INTEGER PRIMARY KEY,
  token INTEGER NOT NULL,
  expires_at REAL NOT NULL
);
CREATE TABLE buffer (seq INTEGER PRIMARY KEY, rows TEXT NOT NULL);
CREATE TABLE segments (
  name TEXT PRIMARY KEY, tablename TEXT NOT NULL, first_seq INTEGER NOT NULL,
  rows INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE responses (
  url_id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, status INTEGER, headers TEXT NOT NULL,
  body_hash TEXT
);
CREATE TABLE bodies (
  hash TEXT PRIMARY KEY, codec TEXT NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE records (
  record_id TEXT PRIMARY KEY,
  version_key TEXT NOT NULL,
  id TEXT NOT NULL,
  url TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen REAL NOT NULL,
  last_changed REAL NOT NULL,
  data TEXT NOT NULL
) WITHOUT ROWID;
"""
_HISTORY = """
CREATE TABLE IF NOT EXISTS ordering_history (
  seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, page INTEGER, known INTEGER, data BLOB
)
"""
# Columns that folders of earlier releases lack.
_LATER_COLUMNS = (
    ("hosts", "served", "INTEGER NOT NULL DEFAULT 0"),
    ("urls", "found_in", "TEXT"),
)

# 8 MiB of page cache: the upper levels of the indexes of a few million URLs.
_CACHE_KIB = 8_192
_BUSY_MILLISECONDS = 10_000


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """Open, and at first create, the database of a folder that this process owns.

    Raises
    ------
    FolderUnusable
        The database is of a newer schema, is damaged, or cannot be written.
    """
    path = folder / DATABASE_NAME
    try:
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, cached_statements=256
        )
    except sqlite3.Error as error:
        raise FolderUnusable(f"{path} cannot be opened: {error}") from error
    try:
        _prepare(connection, path)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise _unusable(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute(f"PRAGMA busy_timeout={_BUSY_MILLISECONDS}")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    check_version(version, path)
    mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if mode != "wal":  # some network file systems cannot share memory: slower, and still safe
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
    connection.execute("PRAGMA temp_store=MEMORY")
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    if version == 0:
        with transaction(connection):
            for statement in SCHEMA.split(";"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(_HISTORY)
            connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    else:  # a write that changes nothing: a read-only folder is found out before any request
        with transaction(connection):
            connection.execute("UPDATE meta SET value = value WHERE name = 'opened'")
            _add_what_is_missing(connection)


def _add_what_is_missing(connection: sqlite3.Connection) -> None:
    """Bring a folder of an earlier release up to date."""
    connection.execute(_HISTORY)
    for table, column, kind in _LATER_COLUMNS:
        if not has_column(connection, table, column):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


def has_column(connection: sqlite3.Connection, table: str, column: str) -> bool:
    """Return whether a table has a column; those of earlier releases may lack some."""
    rows = connection.execute(f"PRAGMA table_info({table})")
    return any(row[1] == column for row in rows)


def check_version(version: int, path: Path) -> None:
    """Raise where a database was written by a later crawlkit."""
    if version > SCHEMA_VERSION:
        raise FolderUnusable(
            f"{path} has schema {version}, this crawlkit knows up to {SCHEMA_VERSION}. "
            f"Upgrade crawlkit, or crawl into another folder."
        )


def _unusable(path: Path, error: sqlite3.DatabaseError) -> FolderUnusable | StorageFailed:
    text = str(error)
    if "full" in text:
        return StorageFailed(f"{path}: the disk is full. Free some space and run the call again.")
    if "readonly" in text or "unable to open" in text:
        return FolderUnusable(
            f"{path} cannot be written: {text}. Make the folder writable, or read it with "
            f"ck.open_crawl."
        )
    return FolderUnusable(
        f"{path} is damaged or no database: {text}. Move it aside; the Parquet segments in the "
        f"folder stay readable."
    )


class transaction:  # noqa: N801 - used like a function
    """Run a block in one ``BEGIN IMMEDIATE`` transaction; roll back on any exception.

    Parameters
    ----------
    connection
        The writing connection.
    on_failure
        Called with what has failed, after the rollback.

    Raises
    ------
    StorageFailed
        The disk is full or refuses the write.
    """

    __slots__ = ("_connection", "_on_failure")

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        on_failure: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._connection = connection
        self._on_failure = on_failure

    def __enter__(self) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            point("commit.begun")
        except BaseException as error:
            self._roll_back(error)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._roll_back(error)
            return
        try:
            point("commit.written")
            self._connection.execute("COMMIT")
            point("commit.done")
        except BaseException as failed:
            self._roll_back(failed)
            raise

    def _roll_back(self, error: BaseException) -> None:
        try:
            # SQLITE_FULL has rolled back by itself; a second ROLLBACK would hide the cause.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError):
                raise StorageFailed(
                    f"the crawl folder cannot be written: {error}. Everything committed before is "
                    f"safe; free some space and run the same call again."
                ) from error
        except BaseException as failed:
            error = failed
            raise
        finally:
            if self._on_failure is not None:
                self._on_failure(error)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open a folder's database for reading, whoever owns it, and hold one snapshot of it.

    A database whose folder cannot be written is copied to a temporary folder if it has a
    write-ahead log, since SQLite cannot read that log in place.

    Raises
    ------
    FolderUnusable
        There is no crawl in the folder, or a newer one.
    """
    path = folder / DATABASE_NAME
    if not path.exists():
        raise FolderUnusable(f"{folder} holds no crawl: there is no {DATABASE_NAME} in it.")
    with contextlib.ExitStack() as cleanup:
        connection = _connect_reader(path, cleanup)
        cleanup.callback(connection.close)
        try:
            connection.execute("BEGIN")
            check_version(connection.execute("PRAGMA user_version").fetchone()[0], path)
            connection.execute("SELECT 1 FROM meta LIMIT 1").fetchone()
        except sqlite3.DatabaseError as error:
            raise _unusable(path, error) from error
        yield connection


def _connect_reader(path: Path, cleanup: contextlib.ExitStack) -> sqlite3.Connection:
    if os.access(path.parent, os.W_OK):
        return _reader(f"{path.resolve().as_uri()}?mode=ro")
    if not path.with_name(path.name + "-wal").exists():
        return _reader(f"{path.resolve().as_uri()}?mode=ro&immutable=1")
    import shutil
    import tempfile

    copy = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="crawlkit-")))
    for suffix in ("", "-wal"):
        shutil.copyfile(path.with_name(path.name + suffix), copy / (path.name + suffix))
    return _reader((copy / path.name).as_uri())


def _reader(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.execute(f"PRAGMA busy_timeout={_BUSY_MILLISECONDS}")
    return connection
