"""Dates as pages write them, read as intervals: W3C dates, and other forms that leave no choice.

A month that is written as a word leaves no choice; ``05/06/2024`` does, and is refused.
"""

from __future__ import annotations

import re

from crawlkit.web.http_dates import http_time
from crawlkit.web.w3c_dates import W3CDate, parse_w3c, refusal, unpadded

__all__ = ["DATE_CODES", "read_date", "read_http_date", "without_nonsense"]

# What is said of a page's date, besides the codes of `w3c_dates.ISSUES` and `REFUSALS`.
DATE_CODES = {
    "written_month": "a month as a word",
    "epoch_seconds": "seconds since 1970",
    "epoch_milliseconds": "milliseconds since 1970",
    "zone_unread": "a zone by a name that has several meanings; treated as unknown",
    "not_text": "a list, an object or a truth value where a date should be; no date",
    "day_or_month": "two numbers, either of which may be the month; no date",
    "placeholder": "the beginning of 1970 or of the calendar: an empty field; no date",
    "future": "more than a day after the page was fetched; no date",
    "same_as_date": "Last-Modified is the time of the answer: made for it, and no evidence",
}

_MAX_LENGTH = 100
_DAY = 86_400.0
_FIRST_YEAR_ENDS = -62_104_060_800.0  # 0002-01-01
_NAMES = (
    "january jan janvier januar januari enero ene gennaio janeiro jänner",
    "february feb février fevrier februar februari febrero febbraio fevereiro feber",
    "march mar mars märz maerz maart marzo março marco",
    "april apr avril abril aprile",
    "may mai mei mayo maggio maio",
    "june jun juin juni junio giugno junho",
    "july jul juillet juli julio luglio julho",
    "august aug août aout augustus agosto",
    "september sep sept septembre septiembre settembre setembro",
    "october oct octobre oktober okt octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec décembre decembre dezember dez diciembre dicembre dezembro",
)
_MONTHS = {name: month for month, names in enumerate(_NAMES, 1) for name in names.split()}
# RFC 5322, 4.3, and no others: abroad, the same letters stand for other zones.
_ZONES = {
    "z": "Z", "ut": "Z", "utc": "Z", "gmt": "Z", "est": "-05:00", "edt": "-04:00",
    "cst": "-06:00", "cdt": "-05:00", "mst": "-07:00", "mdt": "-06:00", "pst": "-08:00",
    "pdt": "-07:00",
}  # fmt: skip
_TIME = (
    r"(?:,?\s+(?:at\s+|um\s+)?(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?"
    r"(?:\s?(?P<half>[ap])\.?m\b\.?)?)?"
)
_ZONE = r"(?:\s*(?P<zone>(?:(?:GMT|UTC|UT)?[+-][0-9]{2}:?[0-9]{2}|[A-Z]{1,5}))(?:\s*\([^()]*\))?)?"
_WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,?\s+)?"
_DAY_FIRST = re.compile(
    _WEEKDAY + r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|\.|º)?[\s-]+(?:(?:de|of)\s+)?"
    r"(?P<month>[^\W\d_]{3,10})\.?,?[\s-]+(?:de\s+)?(?P<year>[0-9]{4})" + _TIME + _ZONE,
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    _WEEKDAY + r"(?P<month>[^\W\d_]{3,10})\.?\s+(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?,?\s+"
    r"(?P<year>[0-9]{4})" + _TIME + _ZONE,
    re.IGNORECASE,
)
_YEAR_LAST = re.compile(  # of C's asctime
    _WEEKDAY + r"(?P<month>[^\W\d_]{3})\s+(?P<day>[0-9]{1,2})\s+(?P<hour>[0-9]{2}):"
    r"(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})\s+(?P<zone>[A-Z]{1,5}\s+)?(?P<year>[0-9]{4})",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"[0-9]{9,10}|[0-9]{12,13}")
_TWO_NUMBERS = re.compile(r"[0-9]{1,2}\s?([./-])\s?[0-9]{1,2}\s?\1\s?(?:[0-9]{4}|[0-9]{2})\b")


def read_date(text: str) -> tuple[W3CDate | None, tuple[str, ...]]:
    """Read a date that stands in a page.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    tuple[W3CDate | None, tuple[str, ...]]
        The interval, or None; codes of `ISSUES`, `REFUSALS` and `DATE_CODES`.

    Examples
    --------
    >>> read_date("Fri, 17 May 2024 12:30:15 GMT")[1]
    ('written_month',)
    >>> read_date("05/06/2024")
    (None, ('day_or_month',))
    """
    date = parse_w3c(text)
    if date is not None:
        return date, date.issues
    stripped = unpadded(text[: 2 * _MAX_LENGTH])
    if not stripped or len(stripped) > _MAX_LENGTH:
        return None, ("unreadable" if stripped else "empty",)
    if _EPOCH.fullmatch(stripped):
        return _from_epoch(stripped)
    for form in (_DAY_FIRST, _MONTH_FIRST, _YEAR_LAST):
        match = form.fullmatch(stripped)
        month = None if match is None else _MONTHS.get(match["month"].lower())
        if match is not None and month is not None:
            return _from_words(match.groupdict(), month)
    if _TWO_NUMBERS.match(stripped):
        return None, ("day_or_month",)
    return None, (refusal(text) or "unreadable",)


def read_http_date(text: str) -> tuple[W3CDate | None, tuple[str, ...]]:
    """Read a date of an HTTP header (RFC 9110, 5.6.7): whole seconds, in any of its three forms.

    Examples
    --------
    >>> read_http_date("Sunday, 06-Nov-94 08:49:37 GMT")[0].start
    784111777.0
    """
    start = http_time(text)
    if start is None:
        return None, ("unreadable",)
    return W3CDate(start, start + 1.0, "second", tz_known=True, issues=()), ()


def without_nonsense(
    date: W3CDate | None, issues: tuple[str, ...], latest: float
) -> tuple[W3CDate | None, tuple[str, ...]]:
    """Return a date and its codes, or None with one code more for a date that cannot be meant.

    Parameters
    ----------
    date, issues
        As `read_date` returns them.
    latest
        Seconds since 1970 UTC beyond which a date is of the future.

    Examples
    --------
    >>> without_nonsense(*read_date("1970-01-01T00:00:00Z"), latest=2e9)
    (None, ('placeholder',))
    """
    if date is None:
        return None, issues
    # The beginning of 1970 in any zone; a year or month that begins so may be meant.
    if date.start < _FIRST_YEAR_ENDS or (
        abs(date.start) <= _DAY and date.granularity in ("day", "minute", "second")
    ):
        return None, (*issues, "placeholder")
    if date.start > latest:
        return None, (*issues, "future")
    return date, issues


def _from_epoch(digits: str) -> tuple[W3CDate, tuple[str, ...]]:
    """Read a number of seconds or milliseconds."""
    seconds = len(digits) <= 10
    start = float(digits) if seconds else float(digits) / 1e3
    code = "epoch_seconds" if seconds else "epoch_milliseconds"
    return W3CDate(start, start + 1.0, "second", tz_known=True, issues=(code,)), (code,)


def _from_words(parts: dict[str, str | None], month: int) -> tuple[W3CDate | None, tuple[str, ...]]:
    """Read a date whose parts are known, by writing it as the W3C would."""
    issues = ["written_month"]
    text = f"{parts['year']}-{month:02}-{int(parts['day'] or 0):02}"
    zone = (parts.get("zone") or "").strip()
    if parts["hour"] is not None:
        hour = int(parts["hour"])
        half = (parts.get("half") or "").lower()
        if half:
            if not 1 <= hour <= 12:
                return None, ("impossible",)
            hour = hour % 12 + (12 if half == "p" else 0)
        second = f":{parts['second']}" if parts["second"] else ""
        text += f"T{hour:02}:{parts['minute']}{second}"
        offset = re.search(r"[+-].*", zone)
        text += offset[0] if offset else _ZONES.get(zone.lower(), "")
        if zone and not offset and zone.lower() not in _ZONES:
            issues.append("zone_unread")
    elif zone:
        return None, ("unreadable",)
    date = parse_w3c(text)
    if date is None:
        return None, (refusal(text) or "unreadable",)
    if "no_zone" in date.issues and "zone_unread" not in issues:
        issues.append("no_zone")
    codes = tuple(issues)
    return date._replace(issues=codes), codes
