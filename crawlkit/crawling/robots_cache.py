"""The robots.txt of every authority that a crawl has asked, kept in the folder for 24 hours."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crawlkit.web.robots import CRAWL_DELAY_CAP, RobotsRules, RobotsVerdict, rules_from_stored

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

__all__ = ["RobotsCache", "authority_of"]

# RFC 9309 2.4: not to be used for longer than 24 hours.
_KEPT_SECONDS = 86_400.0
# How often an unreachable robots.txt is asked for before its host is given up, and the first wait.
_TRIES = 3
_FIRST_WAIT = 1.0


def authority_of(url: str) -> str:
    """Return scheme, host and port of an address: one robots.txt binds these (RFC 9309 2.3)."""
    return url[: url.index("/", len("https://"))]


@dataclass(slots=True, kw_only=True, eq=False)
class _Entry:
    """The robots.txt of one authority, and until when it counts."""

    rules: RobotsRules
    reachable: bool
    expires_at: float
    failures: int = 0


class RobotsCache:
    """What robots.txt allows, by authority.

    Parameters
    ----------
    connection
        The writing connection of the crawl.
    agent
        Our product token.
    on_load
        Called with an authority whose robots.txt was asked in an earlier run, when it is read.
    clock
        Monotonic seconds.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        agent: str,
        *,
        on_load: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._agent = agent
        self._on_load = on_load
        self._clock = clock
        self._entries: dict[str, _Entry] = {}

    def verdict(self, url: str) -> Literal["ask", "allowed", "robots", "robots_unreachable"]:
        """Return whether a URL may be asked for, or whether robots.txt must be asked first."""
        authority = authority_of(url)
        entry = self._entries.get(authority) or self._load(authority)
        if entry is None or entry.expires_at <= self._clock():
            return "ask"
        if not entry.reachable:
            return "robots_unreachable" if entry.failures >= _TRIES else "ask"
        return "allowed" if entry.rules.allows(url, self._agent) else "robots"

    def crawl_delay(self, authority: str) -> float:
        """Return the Crawl-delay of an authority in seconds, capped; 0 where there is none."""
        entry = self._entries.get(authority)
        delay = None if entry is None else entry.rules.crawl_delay(self._agent)
        return min(delay or 0.0, CRAWL_DELAY_CAP)

    def _load(self, authority: str) -> _Entry | None:
        """Return the saved robots.txt if it is young enough; a date in the future is not."""
        row = self._connection.execute(
            "SELECT status, reason, body, fetched_at FROM robots WHERE authority = ?", (authority,)
        ).fetchone()
        if row is None:
            return None
        status, reason, body, fetched_at = row
        age = time.time() - fetched_at
        if not -60.0 <= age < _KEPT_SECONDS:
            return None
        verdict = rules_from_stored(status, body, reason, url=authority + "/robots.txt")
        entry = _Entry(
            rules=verdict.rules, reachable=True, expires_at=self._clock() + _KEPT_SECONDS - age
        )
        self._entries[authority] = entry
        if self._on_load is not None:
            self._on_load(authority)
        return entry

    def store(self, authority: str, verdict: RobotsVerdict) -> float:
        """Keep an answer, inside the caller's transaction.

        Returns
        -------
        float
            Seconds that the host must wait before robots.txt is asked for again; 0 if it answered
            or is given up.
        """
        now = self._clock()
        if verdict.status == "unreachable":
            before = self._entries.get(authority)
            failures = 1 + (0 if before is None or before.reachable else before.failures)
            self._entries[authority] = _Entry(
                rules=verdict.rules,
                reachable=False,
                expires_at=now + _KEPT_SECONDS,
                failures=failures,
            )
            return 0.0 if failures >= _TRIES else _FIRST_WAIT * 4 ** (failures - 1)
        self._entries[authority] = _Entry(
            rules=verdict.rules, reachable=True, expires_at=now + _KEPT_SECONDS
        )
        self._connection.execute(
            "INSERT OR REPLACE INTO robots (authority, status, reason, body, fetched_at) "
            "VALUES (?, ?, ?, ?, ?)",
            (authority, verdict.status, verdict.reason, verdict.content, time.time()),
        )
        return 0.0
