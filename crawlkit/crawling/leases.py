"""Leases: a URL in the hands of a worker, for a time, with a token to prove it."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from crawlkit.crawling.hosts import HostQueue

__all__ = ["Lease", "LeaseBook"]

# What `secrets` draws from; that module would load OpenSSL's HMAC as well.
_draws = random.SystemRandom()


@dataclass(slots=True, eq=False)
class Lease:
    """A URL in the hands of a worker; ``token`` proves it when the result comes back."""

    id: int
    token: int
    url: str
    key: str
    hash: int
    host: HostQueue
    depth: int
    source: str
    leases: int
    tries: int
    found_on: str | None
    lastmod: float | None = None
    byte_budget: int | None = None


class LeaseBook:
    """The leases that are out, in the database; each method runs in the caller's transaction.

    Parameters
    ----------
    connection
        The writing connection.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def open(self, page_id: int, *, seconds: float) -> int:
        """Write a lease for some seconds; return its token."""
        token = _draws.getrandbits(62)
        self._connection.execute(
            "INSERT OR REPLACE INTO leases (url_id, token, expires_at) VALUES (?, ?, ?)",
            (page_id, token, time.time() + seconds),
        )
        return token

    def close(self, lease: Lease) -> bool:
        """End a lease; return whether it was still the valid one for its URL."""
        cursor = self._connection.execute(
            "DELETE FROM leases WHERE url_id = ? AND token = ?", (lease.id, lease.token)
        )
        return cursor.rowcount == 1

    def renew(self, tokens: Iterable[int], *, seconds: float) -> None:
        """Lengthen the leases of workers that are still at work."""
        until = time.time() + seconds
        self._connection.executemany(
            "UPDATE leases SET expires_at = ? WHERE token = ?",
            [(until, token) for token in tokens],
        )

    def expire(self) -> list[tuple[int, str, int]]:
        """End the leases whose time is over; return id, address and host of their URLs."""
        rows = self._connection.execute(
            "SELECT url_id, url, host FROM leases JOIN urls ON id = url_id WHERE expires_at < ?",
            (time.time(),),
        ).fetchall()
        self._connection.executemany(
            "DELETE FROM leases WHERE url_id = ?", [(row[0],) for row in rows]
        )
        return rows

    def clear(self) -> None:
        """End all leases: their owner is dead."""
        self._connection.execute("DELETE FROM leases")
