"""Dates in HTTP headers: ``Last-Modified``, ``Date``, ``Retry-After`` and their like."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache

__all__ = ["http_time"]

# An HTTP date has 29 characters, in its longest old form 33.
_LONGEST = 64


@lru_cache(maxsize=1_024)  # the pages of a site were often written at one time
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
        moment = parsedate_to_datetime(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
