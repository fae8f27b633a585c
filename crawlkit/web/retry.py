"""When to ask again: which failures may be cured by time, and how long to wait."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from crawlkit.web.http_dates import http_time
from crawlkit.web.reasons import RETRYABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlkit.web.response import Response

__all__ = [
    "RETRY_AFTER_CAP",
    "RETRY_STATUS",
    "backoff_seconds",
    "is_retryable",
    "retry_after_seconds",
]

#: The longest wait that a server can ask for, in seconds (a day).
RETRY_AFTER_CAP = 86_400.0

#: Statuses that another attempt may cure.
RETRY_STATUS: frozenset[int] = frozenset({408, 425, 429, 500, 502, 503, 504})

_BACKOFF_CAP = 60.0
_DIGITS = re.compile(r"[0-9]+")


def is_retryable(response: Response) -> bool:
    """Say whether the same request may well succeed later.

    Parameters
    ----------
    response
        What came of a request.

    Returns
    -------
    bool
        True for a code in `RETRYABLE` and for the statuses 408, 425, 429, 500, 502, 503, 504.

    Examples
    --------
    >>> from crawlkit.web.response import Response
    >>> is_retryable(Response("https://example.com/", status=503))
    True
    >>> from crawlkit.web.response import Response
    >>> is_retryable(Response("https://example.com/", error="dns_not_found"))
    False
    """
    if response.error is not None:
        return response.error in RETRYABLE
    return response.status in RETRY_STATUS


def backoff_seconds(attempt: int, *, draw: Callable[[], float]) -> float:
    """Return how long to wait after a failed attempt: exponential, with full jitter.

    Parameters
    ----------
    attempt
        How many attempts have failed, from 1. The ceiling is 1, 2, 4 ... seconds, at most 60.
    draw
        Returns a number in [0, 1), for example ``random.Random(seed).random``.

    Returns
    -------
    float
        Seconds, evenly spread between 0 and the ceiling.

    Examples
    --------
    >>> [backoff_seconds(attempt, draw=lambda: 0.5) for attempt in (1, 2, 3, 50)]
    [0.5, 1.0, 2.0, 30.0]
    """
    exponent = min(max(attempt, 1) - 1, 6)
    return draw() * min(_BACKOFF_CAP, float(2**exponent))


def retry_after_seconds(
    value: str | None, *, date: str | None = None, now: float | None = None
) -> float | None:
    """Read a Retry-After header: seconds or an HTTP date (RFC 9110 10.2.3).

    Parameters
    ----------
    value
        The header's value; None when it is absent.
    date
        The answer's own Date header. A Retry-After date counts from it, so that a server whose
        clock is wrong is still understood; without it, from `now`.
    now
        Seconds since 1970; the present when None.

    Returns
    -------
    float or None
        Seconds to wait, from 0 (a date in the past) to 86,400; None when absent or not readable.

    Examples
    --------
    >>> retry_after_seconds("120"), retry_after_seconds("9999999999")
    (120.0, 86400.0)
    >>> retry_after_seconds("Fri, 31 Dec 1999 23:59:59 GMT", now=0.0)
    86400.0
    >>> retry_after_seconds("-5"), retry_after_seconds("1m0s")
    (None, None)
    """
    if value is None:
        return None
    value = value.strip()
    if _DIGITS.fullmatch(value):
        # A longer number is over the cap, and too long a one could not be converted at all.
        return RETRY_AFTER_CAP if len(value) > 9 else min(float(value), RETRY_AFTER_CAP)
    until = http_time(value)
    if until is None:
        return None
    since = http_time(date) if date else None
    if since is None:
        since = time.time() if now is None else now
    return min(max(until - since, 0.0), RETRY_AFTER_CAP)
