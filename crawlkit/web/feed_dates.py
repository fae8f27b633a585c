"""Dates of feeds: those of mail headers (RFC 822 and 5322), as RSS has them, and those of W3C."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlkit.web.w3c_dates import GRANULARITIES, W3CDate, parse_w3c, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlkit.web.w3c_columns import W3CColumn

__all__ = ["parse_feed_dates", "parse_rfc822"]

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
# RFC 822 names these; no other name is the same everywhere.
_ZONES = {
    "ut": "+0000",
    "utc": "+0000",
    "gmt": "+0000",
    "z": "+0000",
    "est": "-0500",
    "edt": "-0400",
    "cst": "-0600",
    "cdt": "-0500",
    "mst": "-0700",
    "mdt": "-0600",
    "pst": "-0800",
    "pdt": "-0700",
}
_FORM = re.compile(
    r"(?:[a-z]{3,9},?\s+)?(?P<day>\d{1,2})[\s-](?P<month>[a-z]{3})[a-z]*\.?[\s-]"
    r"(?P<year>\d{4}|\d{2})(?:\s+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?"
    r"\s*(?P<zone>[+-]\d{4}|[a-z]{1,4})?)?(?:\s*\([^()]*\))?",
    re.ASCII | re.IGNORECASE,
)
_LONGEST = 64


def parse_rfc822(text: str) -> W3CDate | None:
    """Read a date of a mail header; None where it has no zone, or is something else.

    Parameters
    ----------
    text
        For example ``"Fri, 17 May 2024 12:30:00 +0200"``; the weekday may be missing, the year
        may have two digits (RFC 2822 4.3: 00 to 49 are 2000 to 2049), the zone may be a name of
        RFC 822.

    Examples
    --------
    >>> parse_rfc822("Fri, 17 May 2024 12:30:00 +0200").start
    1715941800.0
    >>> parse_rfc822("17 May 24 12:30 EST").granularity
    'minute'
    >>> parse_rfc822("Fri, 17 May 2024 12:30:00") is None
    True
    """
    form = _FORM.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if form is None or form["hour"] is None or form["zone"] is None:
        return None
    month, zone = _MONTHS.get(form["month"].lower()), form["zone"].lower()
    zone = zone if zone[0] in "+-" else _ZONES.get(zone, "")
    if month is None or not zone:
        return None
    year = int(form["year"])
    if len(form["year"]) == 2:
        year += 2000 if year < 50 else 1900
    second = f":{form['second']}" if form["second"] else ""
    day, hour = int(form["day"]), int(form["hour"])
    return parse_w3c(
        f"{year:04}-{month:02}-{day:02}T{hour:02}:{form['minute']}{second}{zone[:3]}:{zone[3:]}"
    )


def parse_feed_dates(texts: Sequence[str | None]) -> W3CColumn:
    """Read the dates of a feed, in either form.

    Parameters
    ----------
    texts
        As written; None where there is none.

    Returns
    -------
    W3CColumn
        As of `crawlkit.web.w3c_columns.parse_w3c_column`.

    Examples
    --------
    >>> dates = parse_feed_dates(["17 May 2024 12:30:00 GMT", "2024-05-17", "yesterday", None])
    >>> dates.start.tolist(), dates.issues
    ([1715949000.0, 1715904000.0, nan, nan], {2: ('unreadable',)})
    """
    import numpy as np

    from crawlkit.web.w3c_columns import W3CColumn

    count = len(texts)
    column = W3CColumn(
        np.full(count, np.nan),
        np.full(count, np.nan),
        np.full(count, -1, np.int8),
        np.zeros(count, np.bool_),
        {},
    )
    for row, text in enumerate(texts):
        if text is None:
            continue
        date = parse_rfc822(text) or parse_w3c(text)
        if date is None:
            column.issues[row] = (refusal(text) or "unreadable",)
            continue
        column.start[row], column.end[row] = date.start, date.end
        column.granularity[row] = GRANULARITIES.index(date.granularity)
        column.tz_known[row] = date.tz_known
        if date.issues:
            column.issues[row] = date.issues
    return column
