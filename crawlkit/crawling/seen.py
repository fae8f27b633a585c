"""The seen-set: which URLs are known, exactly, at a bounded cost of memory.

The truth is the table ``urls`` with its index on the key's 64-bit hash; the key itself is
compared, so two keys with one hash stay two pages. In front of it stand two generations of a
cache from addresses to entries: the links of a site point to the same pages again and again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crawlkit.web.urls import url_hash

if TYPE_CHECKING:
    import sqlite3

    from crawlkit.web.urls import Address

__all__ = ["UNREACHED", "Known", "SeenSet"]

# Depth of a URL that is kept but was found by no link that is followed.
UNREACHED = 1 << 30

_GENERATION = 32_768
_FIND = "SELECT id, url, key, depth, reason FROM urls WHERE hash = ?"
_FIND_ALIAS = (
    "SELECT urls.id, urls.url, urls.depth FROM aliases JOIN urls ON urls.id = aliases.url_id "
    "WHERE aliases.hash = ? AND aliases.key = ?"
)


class Known(NamedTuple):
    """A known URL: its discovery number, its address, and its depth."""

    id: int
    url: str
    depth: int


class SeenSet:
    """Look URLs up by address and key.

    Parameters
    ----------
    connection
        The writing connection of the crawl.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._young: dict[str, Known] = {}
        self._old: dict[str, Known] = {}
        self.has_aliases = (
            connection.execute("SELECT 1 FROM aliases LIMIT 1").fetchone() is not None
        )

    def cached(self, url: str) -> Known | None:
        """Return the entry of an address if it is in the cache."""
        known = self._young.get(url)
        if known is None:
            known = self._old.pop(url, None)
            if known is not None:
                self.remember(url, known)
        return known

    def cached_all(self, urls: list[str]) -> list[Known | None]:
        """Return the entries of addresses, ``None`` for those that are not in the cache."""
        entries = list(map(self._young.get, urls))
        if None in entries:
            for number, entry in enumerate(entries):
                if entry is None:
                    entries[number] = self.cached(urls[number])
        return entries

    def remember(self, url: str, known: Known) -> None:
        """Put an entry into the cache, or replace it."""
        if len(self._young) >= _GENERATION:
            self._old = self._young
            self._young = {}
        self._young[url] = known

    def forget_all(self) -> None:
        """Empty the cache, after rows were changed behind its back."""
        self._young = {}
        self._old = {}

    def find(self, address: Address, hashed: int | None = None) -> Known | None:
        """Return the entry of a URL, from the cache or the database."""
        known = self.cached(address.url)
        if known is not None:
            return known
        if hashed is None:
            hashed = url_hash(address.key)
        for page_id, url, key, depth, reason in self._connection.execute(_FIND, (hashed,)):
            if (url if key is None else key) == address.key:
                reached = UNREACHED if reason == "not_followed" else depth
                known = Known(page_id, url, reached)
                break
        else:
            if self.has_aliases:
                row = self._connection.execute(_FIND_ALIAS, (hashed, address.key)).fetchone()
                known = None if row is None else Known(*row)
        if known is not None:
            self.remember(address.url, known)
        return known

    def add_alias(self, key: str, page_id: int) -> None:
        """Let another key stand for a known page."""
        self._connection.execute(
            "INSERT OR IGNORE INTO aliases (hash, key, url_id) VALUES (?, ?, ?)",
            (url_hash(key), key, page_id),
        )
        self.has_aliases = True
