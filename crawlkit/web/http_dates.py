"""Dates in HTTP headers: ``Last-Modified``, ``Date``, ``Retry-After`` and their like."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["http_time"]

# An HTTP date has 29 characters, in its longest old form 33.
_LONGEST = 64
# The form that servers send. The two others are left to `email.utils`: with it come ten modules.
_USUAL = re.compile(
    r"[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([12][0-9]{3}) "
    r"((?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}) GMT"
)
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: f"{number:02}" for number, name in enumerate(_NAMES, 1)}


def http_time(value: str | None) -> float | None:
    """Return an HTTP date (RFC 9110, 5.6.7, in any of its three forms) as a time.

    Parameters
    ----------
    value
        The header; where it names no zone, or ``-0000``, it is GMT as all of them are.

    Returns
    -------
    float or None
        Seconds since 1970 UTC; None where it is absent or cannot be read.

    Examples
    --------
    >>> http_time("Sunday, 06-Nov-94 08:49:37 GMT"), http_time("now"), http_time(None)
    (784111777.0, None, None)
    """
    if not value or len(value) > _LONGEST:
        return None
    try:
        usual = _USUAL.fullmatch(value)
        if usual is not None and usual[2] in _MONTHS:
            day, month, year, clock = usual.groups()
            return datetime.fromisoformat(f"{year}-{_MONTHS[month]}-{day}T{clock}Z").timestamp()
        from email.utils import parsedate_to_datetime

        moment = parsedate_to_datetime(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
