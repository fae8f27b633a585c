"""Named values of a crawl folder: settings, totals, the reason of the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3

__all__ = ["load_meta", "save_meta", "save_text"]


def save_meta(connection: sqlite3.Connection, name: str, value: object) -> None:
    """Write a named value, inside the caller's transaction."""
    save_text(connection, name, json.dumps(value))


def save_text(connection: sqlite3.Connection, name: str, text: str) -> None:
    """Write a named value that is JSON already, inside the caller's transaction."""
    connection.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, text),
    )


def load_meta(connection: sqlite3.Connection, name: str) -> Any:
    """Return a named value, or ``None``."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else json.loads(row[0])
