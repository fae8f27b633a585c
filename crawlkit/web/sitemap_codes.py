"""The codes of rows: kept by row number, for the few rows that have any."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["Issues", "add_codes", "as_text", "joined"]

#: Row number -> codes, each once.
Issues = dict[int, tuple[str, ...]]


def add_codes(issues: Issues, row: int, *codes: str) -> None:
    """Add codes to a row, each once."""
    if codes:
        issues[row] = joined(issues.get(row, ()), codes)


# Whole files have the same codes in every row, and should not have them in memory as often.
@lru_cache(maxsize=4096)
def joined(old: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """Return two rows of codes as one, each code once."""
    return tuple(dict.fromkeys((*old, *more)))


@lru_cache(maxsize=4096)
def as_text(codes: tuple[str, ...]) -> str | None:
    """Return codes as the column ``issues`` has them."""
    return " ".join(codes) or None
