"""Values of other tools' files as the tables hold them: what cannot be read is null."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from crawlkit.web.fingerprint import clean_text

__all__ = ["as_moment", "as_number", "as_text", "as_truth", "as_whole", "first_part"]

_LONGEST = 100_000
_LARGEST = 2**63 - 1
_LATEST = datetime(9000, 1, 1, tzinfo=UTC).timestamp()
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def as_text(value: Any) -> str | None:
    """Return text that any table can hold; None for what is missing or no text.

    Examples
    --------
    >>> as_text(" Home "), as_text(""), as_text(float("nan")), as_text(7), as_text(["a", "b"])
    ('Home', None, None, '7', 'a')
    """
    if isinstance(value, list | tuple):
        value = next((each for each in value if each is not None), None)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return clean_text(str(value)[:_LONGEST]).strip() or None


def as_number(value: Any) -> float | None:
    """Return a finite number, or None.

    Examples
    --------
    >>> as_number("0.25"), as_number("fast"), as_number(float("inf"))
    (0.25, None, None)
    """
    text = as_text(value)
    try:
        number = float(text) if text is not None else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_whole(value: Any) -> int | None:
    """Return a count of 0 or more, or None.

    Examples
    --------
    >>> as_whole("200"), as_whole(200.0), as_whole(-1), as_whole("1e300")
    (200, 200, None, None)
    """
    number = as_number(value)
    return int(number) if number is not None and 0 <= number < _LARGEST else None


def as_truth(value: Any) -> bool | None:
    """Return a truth value, or None.

    Examples
    --------
    >>> as_truth(True), as_truth("False"), as_truth("perhaps")
    (True, False, None)
    """
    return value if isinstance(value, bool) else _TRUTHS.get((as_text(value) or "").casefold())


def as_moment(value: Any) -> int | None:
    """Return a time as microseconds since 1970 UTC, or None; a time without a zone is UTC.

    Parameters
    ----------
    value
        ISO 8601, an HTTP date, or seconds since 1970.

    Examples
    --------
    >>> as_moment("1970-01-01 00:00:01"), as_moment("Thu, 01 Jan 1970 00:00:02 GMT"), as_moment("?")
    (1000000, 2000000, None)
    """
    seconds = as_number(value)
    if seconds is None:
        text = as_text(value)
        if text is None:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            try:
                moment = parsedate_to_datetime(text)
            except (ValueError, TypeError, IndexError, OverflowError):
                return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        try:
            seconds = moment.timestamp()
        except (ValueError, OverflowError):
            return None
    return round(seconds * 1e6) if abs(seconds) < _LATEST else None


def first_part(value: Any, separator: str = "@@") -> str | None:
    """Return the first of several values that were joined to one text.

    Examples
    --------
    >>> first_part("One@@Two"), first_part(None)
    ('One', None)
    """
    text = as_text(value)
    return None if text is None else as_text(text.split(separator, 1)[0])
