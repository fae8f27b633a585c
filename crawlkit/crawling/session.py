"""One process's hold on a crawl folder: lock, database, frontier; and what opening recovers."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.crawling.database import DATABASE_NAME, open_for_writing, read_only, transaction
from crawlkit.crawling.frontier import Found, Frontier
from crawlkit.crawling.lock import LOCK_NAME, FolderLock
from crawlkit.crawling.meta import load_meta, save_meta
from crawlkit.crawling.results import Event
from crawlkit.crawling.revive import judge_again, take_in_dropped
from crawlkit.crawling.schema import to_json
from crawlkit.crawling.settings import SETTINGS_VERSION, Scope, Settings
from crawlkit.crawling.tables import clean_folder
from crawlkit.crawling.trap_answers import settle_traps
from crawlkit.crawling.writer import Counters, event_row
from crawlkit.errors import BadSetting, FolderUnusable
from crawlkit.web.urls import registered_domain

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from crawlkit.web.urls import Address

__all__ = ["Seed", "Session", "open_session", "saved_settings"]

# What may lie in a folder that a crawl died in before its database had a name.
_OWN_FILES = (DATABASE_NAME, LOCK_NAME)


class Seed(NamedTuple):
    """A seed: its address, what named it and where, and the date given for it (UTC epoch)."""

    address: Address
    source: str = "seed"
    lastmod: float | None = None
    found_in: str | None = None

    def as_found(self) -> Found:
        """Return the seed as it enters the frontier."""
        return Found(self.address, 0, self.source, lastmod=self.lastmod, found_in=self.found_in)


class Session(NamedTuple):
    """What a process holds while it owns a folder."""

    folder: Path
    connection: sqlite3.Connection
    frontier: Frontier
    counters: Counters
    stop: str | None = None
    """Why the crawl must end before it begins: a trap that nobody has decided on."""


def saved_settings(folder: Path) -> dict[str, Any] | None:
    """Return the settings that a folder was made with, or ``None`` where there is no crawl yet.

    Raises
    ------
    FolderUnusable
        The folder holds other files, or a crawl of a newer crawlkit.
    """
    if not (folder / DATABASE_NAME).exists():
        foreign = [path.name for path in _entries(folder) if not path.name.startswith(_OWN_FILES)]
        if foreign:
            raise FolderUnusable(
                f"{folder} holds files that are no crawl ({sorted(foreign)[0]} ...). Pass an "
                f"empty or a new folder."
            )
        return None
    with contextlib.suppress(_NoSettingsError), read_only_or_new(folder) as connection:
        saved: dict[str, Any] | None = load_meta(connection, "settings")
        if saved is not None and saved.get("version", 0) > SETTINGS_VERSION:
            raise FolderUnusable(
                f"{folder} was crawled by a newer crawlkit. Upgrade crawlkit, or crawl into "
                f"another folder."
            )
        return saved
    return None


class _NoSettingsError(Exception):
    """The database exists and has no tables yet: its process died while making it."""


@contextlib.contextmanager
def read_only_or_new(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading; one without tables raises :class:`_NoSettingsError`."""
    try:
        with read_only(folder) as connection:
            yield connection
    except FolderUnusable as error:
        if "no such table" in str(error):
            raise _NoSettingsError from error
        raise


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


@contextlib.contextmanager
def open_session(
    folder: Path, settings: Settings, seeds: Sequence[Seed] = (), *, to_crawl: bool = False
) -> Iterator[Session]:
    """Own a folder for a while: take the lock, recover from the last death, apply settings.

    Parameters
    ----------
    folder
        The crawl folder.
    settings
        Checked settings, which the folder keeps.
    seeds
        Seeds to add; known ones change nothing.
    to_crawl
        Whether a crawl begins: the folder is made if it is not there, and the last end forgotten.

    Raises
    ------
    FolderInUse, FolderUnusable, StorageFailed
        The folder is owned by another process, cannot be used, or the disk is full.
    """
    with contextlib.ExitStack() as cleanup:
        try:
            if to_crawl:
                folder.mkdir(parents=True, exist_ok=True)
            lock = FolderLock(folder)
        except OSError as error:
            if isinstance(error, FolderUnusable):
                raise
            raise FolderUnusable(
                f"{folder} cannot be written: {error}. Make it writable, or pass another folder."
            ) from error
        cleanup.callback(lock.release)
        connection = open_for_writing(folder)
        cleanup.callback(connection.close)
        yield _recover(folder, connection, settings, seeds, to_crawl=to_crawl)


def _recover(
    folder: Path,
    connection: sqlite3.Connection,
    settings: Settings,
    seeds: Sequence[Seed],
    *,
    to_crawl: bool,
) -> Session:
    old = load_meta(connection, "settings")
    counters = Counters.load(connection)
    gone = clean_folder(connection, folder)
    scope = _scope(connection, settings, seeds)
    frontier = Frontier(connection, settings, scope)
    frontier.not_kept = counters.not_kept
    with transaction(connection):
        freed = frontier.recover()
        save_meta(connection, "settings", settings.to_dict())
        save_meta(connection, "scope_hosts", sorted(scope.hosts))
        save_meta(connection, "opened", time.time())
        if to_crawl:
            connection.execute("DELETE FROM meta WHERE name = 'stop'")
        added = _add_seeds(frontier, seeds)
        if old is not None and (added or _entry_rules(old) != _entry_rules(settings.to_dict())):
            judge_again(connection, frontier)
            if _known_limit(settings.to_dict()) > _known_limit(old) and counters.not_kept:
                take_in_dropped(frontier, settings, folder)
                counters.not_kept = frontier.not_kept
        events = _recovery_events(frontier, freed, gone)
        stop = None
        if to_crawl:
            settled, stop = settle_traps(connection, frontier, settings.on_trap)
            events += settled
        for event in events:
            counters.buffered += 1
            connection.execute(
                "INSERT INTO buffer (seq, rows) VALUES (?, ?)",
                (counters.buffered, to_json({"events": [event_row(event)]})),
            )
        counters.save(connection)
        frontier.ordering.save()
    return Session(folder, connection, frontier, counters, stop)


def _recovery_events(frontier: Frontier, freed: list[str], gone: list[str]) -> list[Event]:
    given_up = dict.fromkeys(frontier.given_up)
    events = [Event("lease_recovered", url) for url in freed if url not in given_up]
    detail = "the process died with the page in hand as often as limits.attempts allows"
    events += [Event("page_given_up", url, detail=detail) for url in given_up]
    events += [Event("segment_removed", detail=name) for name in gone]
    return events


def _entry_rules(saved: dict[str, Any]) -> tuple[Any, ...]:
    """Return the settings that are applied when a URL enters the frontier."""
    return (
        saved["max_depth"],
        saved["include"],
        saved["exclude"],
        saved["limits"].get("known_urls"),
    )


def _known_limit(saved: dict[str, Any]) -> float:
    limit = saved["limits"].get("known_urls")
    return float("inf") if limit is None else float(limit)


def _scope(connection: sqlite3.Connection, settings: Settings, seeds: Sequence[Seed]) -> Scope:
    if not isinstance(settings.scope, str):
        return Scope("hosts", frozenset(settings.scope))
    hosts = set(load_meta(connection, "scope_hosts") or ())
    for seed in seeds:
        host = seed.address.host
        hosts.add(registered_domain(host) if settings.scope == "site" else host)
    return Scope(settings.scope, frozenset(hosts))


def _add_seeds(frontier: Frontier, seeds: Sequence[Seed]) -> int:
    """Enter the seeds; return how many are new. One that was refused as a link comes back."""
    added = 0
    for seed in seeds:
        found = seed.as_found()
        known, new = frontier.enter(found)
        added += new
        if known is None:
            raise BadSetting(
                "limits.known_urls", "the seeds alone pass it", "Raise it, or pass fewer seeds."
            )
        if not new:
            frontier.take_seed(known.id, found)
    return added
