"""Records: what an extractor takes from pages, with ids that come from the data.

Writing a record again changes nothing unless its content changed, so ``last_changed`` means what
it says, and a crawl that is killed and repeated ends with the same records.
"""

from __future__ import annotations

import json
import math
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.web.urls import registered_domain

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping

    from crawlkit.web.html import Page

__all__ = ["Record", "extract_records", "upsert_records"]


class Record(NamedTuple):
    """One record, ready to be written; ``data`` is its own columns as JSON."""

    record_id: str
    version_key: str
    id: str
    url: str
    content_hash: str
    data: str


def _hash(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def make_record(fields: Mapping[str, Any], *, site: str, url: str) -> Record:
    """Make a record from an extractor's dict.

    Raises
    ------
    ValueError, TypeError
        There is no ``id``, or a value that JSON cannot hold.
    """
    natural = fields.get("id")
    if natural is None or natural == "" or natural != natural:  # noqa: PLR0124 - NaN
        raise ValueError("a record needs an 'id', its natural key; none was given")
    own = {str(name): _finite(value) for name, value in fields.items() if name != "id"}
    data = json.dumps(own, sort_keys=True, ensure_ascii=False, default=_plain, allow_nan=False)
    data = data.encode("utf-8", "replace").decode()  # no encoding holds a lone surrogate
    record_id = _hash(site, str(natural))
    content_hash = _hash(data)
    return Record(record_id, _hash(record_id, content_hash), str(natural), url, content_hash, data)


def _finite(value: Any) -> Any:
    """Return None for NaN and infinity, which are numpy's and pandas' way to say missing."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: object) -> object:
    """Turn dates and numpy scalars into JSON; anything else is the extractor's mistake."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be kept in a record; pass text or numbers")


def extract_records(
    page: Page, extractor: Callable[[Page], Iterable[Mapping[str, Any]]], host: str
) -> tuple[list[Record], str | None]:
    """Run an extractor on a page; return its records, and what went wrong or ``None``.

    Where it raises, none of the page's records is kept, so that a later crawl sees all or none.
    """
    site = registered_domain(host)
    try:
        found = extractor(page) or ()
        if isinstance(found, dict):
            found = (found,)
        return [make_record(fields, site=site, url=page.url) for fields in found], None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's function may raise anything
        return [], f"{type(error).__name__}: {error}"[:500]


def upsert_records(connection: sqlite3.Connection, records: Iterable[Record], at: float) -> None:
    """Write records inside the caller's transaction; unchanged ones are left untouched."""
    connection.executemany(
        "INSERT INTO records (record_id, version_key, id, url, content_hash, first_seen, "
        "last_changed, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (record_id) DO UPDATE SET version_key = excluded.version_key, "
        "url = excluded.url, content_hash = excluded.content_hash, "
        "last_changed = excluded.last_changed, data = excluded.data "
        "WHERE content_hash != excluded.content_hash",
        [
            (r.record_id, r.version_key, r.id, r.url, r.content_hash, at, at, r.data)
            for r in records
        ],
    )
