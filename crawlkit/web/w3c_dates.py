"""Dates in the W3C's profile of ISO 8601, read as intervals; never a guess, never an exception.

A text that leaves out parts names an interval, not an instant: ``2024-05`` is a month. Near misses
whose meaning is plain (``+0100``, a space for ``T``) are read and flagged; all else is refused. No
day is ever taken for a month, and no missing part is filled in from today's date.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple, Protocol

__all__ = [
    "GRANULARITIES",
    "ISSUES",
    "REFUSALS",
    "TimeInterval",
    "W3CDate",
    "gap",
    "overlaps",
    "parse_w3c",
    "refusal",
    "unpadded",
]

# The parts that a text may end with, coarse to fine.
GRANULARITIES = ("year", "month", "day", "minute", "second")

# What was unlike the W3C's note in a text that was read all the same.
ISSUES = {
    "padded": "white space around it",
    "lower_case": "t or z in lower case",
    "space_for_t": "a space between date and time",
    "space_before_zone": "a space before the zone",
    "no_zone": "a time without a zone",
    "zone_on_date": "a zone after a date without a time",
    "offset_without_colon": "an offset such as +0100",
    "offset_hours_only": "an offset such as +01",
    "zone_name": "UTC or GMT in place of Z",
    "comma_fraction": "a comma before the fraction of a second",
    "hour_24": "24:00 for the end of the day",
    "leap_second": "a 61st second at the end of a UTC day; taken as the next day's first",
}

# Why a text was not read.
REFUSALS = {
    "empty": "nothing but white space",
    "impossible": "the right form, but no such date, time or offset",
    "unreadable": "another form",
}

_DAY = 86_400.0
_EPOCH = date(1970, 1, 1).toordinal()
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MAX_LENGTH = 64  # of anything that is looked at twice
_MAX_OFFSET = 14 * 3600  # of any place on Earth, and of XML Schema
_MAX_REMEMBERED = 5_000  # months of the fast path
# Local time is at most 14 hours ahead of UTC and at most 12 behind it.
_MOST_AHEAD, _MOST_BEHIND = 14 * 3600.0, 12 * 3600.0
_PADDING = "\ufeff\u200b\u200e\u200f\0"

_DATE_FORM = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})(?P<rest>.*))?)?", re.DOTALL
)
_TIME_FORM = re.compile(
    r"(?P<t>[Tt ])(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:(?P<point>[.,])(?P<fraction>[0-9]+))?)?(?P<rest>.*)",
    re.DOTALL,
)
_ZONE_FORM = re.compile(
    r"(?P<gap> ?)(?:(?P<utc>[Zz]|UTC|GMT)"
    r"|(?P<sign>[+-])(?P<hours>[0-9]{2})(?:(?P<colon>:?)(?P<minutes>[0-9]{2}))?)"
)
# After a bare date, "-07" or "-0700" may be an hour as well as an offset.
_ZONE_OF_DATE = re.compile(r"[Zz]|[+-][0-9]{2}:[0-9]{2}")


class W3CDate(NamedTuple):
    """The interval that a text names.

    Attributes
    ----------
    start, end
        Seconds since 1970 UTC; the end is the first moment after the interval. A year, month,
        day, minute or second long; a fraction of a second moves the start.
    granularity
        ``"year"``, ``"month"``, ``"day"``, ``"minute"`` or ``"second"``: the last part given.
    tz_known
        Whether the text gives a zone. If not, `start` and `end` are read as if in UTC, and the
        truth lies up to 14 hours earlier or 12 later (`overlaps` allows for it).
    issues
        Codes of `ISSUES`; empty for a text as the W3C's note has it.
    """

    start: float
    end: float
    granularity: str
    tz_known: bool
    issues: tuple[str, ...]


class TimeInterval(Protocol):
    """Anything that says when it begins and ends, and whether its zone is known."""

    @property
    def start(self) -> float:
        """Seconds since 1970 UTC of its first moment."""

    @property
    def end(self) -> float:
        """Seconds since 1970 UTC of the first moment after it."""

    @property
    def tz_known(self) -> bool:
        """Whether the zone was given."""


# The fast path cuts a text into pieces that hold their separators, and looks each of them up.
_DAYS = {f"-{day:02}": (day - 1) * _DAY for day in range(1, 32)}
_HOURS = {f"T{hour:02}": hour * 3600.0 for hour in range(24)}
_MINUTES = {f":{minute:02}": minute * 60.0 for minute in range(60)}
_SECONDS = {f":{second:02}": float(second) for second in range(60)}
_ZONES = {
    f"{sign}{minutes // 60:02}:{minutes % 60:02}": (1 if sign == "+" else -1) * minutes * 60.0
    for sign in "+-"
    for minutes in range(0, 14 * 60 + 1, 15)
} | {"Z": 0.0}
_months: dict[str, tuple[float, float]] = {}  # "2024-05" -> its start, and that of its last day
_new = tuple.__new__


def parse_w3c(text: str) -> W3CDate | None:
    """Read a date in one of the six forms of the W3C's note, or a near miss of one.

    The forms are ``YYYY``, ``YYYY-MM``, ``YYYY-MM-DD``, ``YYYY-MM-DDThh:mmZ``, with ``:ss``, and
    with ``:ss.s``; the zone is ``Z`` or an offset up to 14 hours. Years are 0001 to 9999.

    Parameters
    ----------
    text
        Any text (or anything else, which is refused).

    Returns
    -------
    W3CDate or None
        The interval, with the codes of what was unlike the note; None for all else, see `refusal`.

    References
    ----------
    Wolf, Wicksteed: Date and Time Formats. W3C Note, 1998. https://www.w3.org/TR/NOTE-datetime

    Examples
    --------
    >>> parse_w3c("2024-05-17T12:30:00+02:00")
    W3CDate(start=1715941800.0, end=1715941801.0, granularity='second', tz_known=True, issues=())
    >>> parse_w3c("2024-05").granularity
    'month'
    >>> parse_w3c("2024-05-17 12:30:00+0200").issues
    ('space_for_t', 'offset_without_colon')
    >>> parse_w3c("05/17/2024") is None
    True
    """
    try:
        month, last = _months[text[:7]]
        start = month + _DAYS[text[7:10]]
        if start <= last:
            if len(text) == 10:
                return _new(W3CDate, (start, start + _DAY, "day", False, ()))
            start += (
                _HOURS[text[10:13]]
                + _MINUTES[text[13:16]]
                + _SECONDS[text[16:19]]
                - _ZONES[text[19:]]
            )
            return _new(W3CDate, (start, start + 1.0, "second", True, ()))
    except (KeyError, TypeError):
        pass  # a rarer form, or the first date of its month
    try:
        return _read(text)
    except _Refused:
        return None


def refusal(text: str) -> str | None:
    """Return why `parse_w3c` refuses a text, a code of `REFUSALS`; None if it reads it.

    Examples
    --------
    >>> refusal("2023-02-29"), refusal("29 Feb 2024"), refusal("2024-02-29")
    ('impossible', 'unreadable', None)
    """
    try:
        _read(text)
    except _Refused as refused:
        return refused.reason
    return None


def unpadded(text: str) -> str:
    """Return a text without the space, visible or not, around it."""
    stripped = text.strip()
    while stripped and (stripped[0] in _PADDING or stripped[-1] in _PADDING):
        stripped = stripped.strip(_PADDING).strip()
    return stripped


def overlaps(a: TimeInterval, b: TimeInterval, tolerance: float = _DAY) -> bool:
    """Return whether two dates may name the same moment, give or take a tolerance.

    Where one zone is known and the other is not, the other is widened to every zone on Earth. Two
    dates without a zone are compared as they stand: they come from one place, most likely.

    Parameters
    ----------
    a, b
        Dates of `parse_w3c`, or anything with ``start``, ``end`` and ``tz_known``.
    tolerance
        Seconds that may lie between them.

    Returns
    -------
    bool
        Whether the intervals overlap once they are widened.

    Examples
    --------
    >>> stamp = parse_w3c("2024-05-17T23:30:00+09:00")
    >>> overlaps(stamp, parse_w3c("2024-05-17"), tolerance=0)
    True
    >>> overlaps(stamp, parse_w3c("2024-05-20"))
    False
    """
    (a_start, a_end), (b_start, b_end) = _comparable(a, b)
    return a_start < b_end + tolerance and b_start < a_end + tolerance


def gap(a: TimeInterval, b: TimeInterval) -> float:
    """Return the seconds between two dates: above 0 if `a` is later, 0 if they overlap.

    Zones are treated as in `overlaps`.

    Examples
    --------
    >>> gap(parse_w3c("2024-05-17T12:00:00Z"), parse_w3c("2024-05-17T11:00:00Z"))
    3599.0
    """
    (a_start, a_end), (b_start, b_end) = _comparable(a, b)
    if a_start >= b_end:
        return a_start - b_end
    return min(0.0, a_end - b_start)


def _comparable(
    a: TimeInterval, b: TimeInterval
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the bounds of two intervals, one of them widened if only its zone is unknown."""
    first, second = (a.start, a.end), (b.start, b.end)
    if a.tz_known and not b.tz_known:
        second = (b.start - _MOST_AHEAD, b.end + _MOST_BEHIND)
    elif b.tz_known and not a.tz_known:
        first = (a.start - _MOST_AHEAD, a.end + _MOST_BEHIND)
    return first, second


class _Refused(Exception):
    """A text that is not read, with a code of `REFUSALS`; never leaves this module."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _read(text: object) -> W3CDate:
    """Return the interval that a text names, or raise `_Refused`."""
    if not isinstance(text, str):
        raise _Refused("unreadable")
    stripped = unpadded(text)
    if not stripped:
        raise _Refused("empty")
    form = _DATE_FORM.fullmatch(stripped) if len(stripped) <= _MAX_LENGTH else None
    if form is None:
        raise _Refused("unreadable")
    year, month, day, rest = form.groups()
    issues = [] if stripped == text else ["padded"]
    shift, length, granularity, known = _clock(rest, issues) if rest else (0.0, 0.0, "", False)
    start, end, last_part = _date_interval(year, month, day)
    start += shift
    return W3CDate(
        start, start + length if rest else end, granularity or last_part, known, tuple(issues)
    )


def _clock(rest: str, issues: list[str]) -> tuple[float, float, str, bool]:
    """Read what follows a date.

    Returns the seconds from the date's midnight as if in UTC, the length of the interval, its
    granularity and whether the zone is known.
    """
    time = _TIME_FORM.fullmatch(rest)
    if time is None:
        if _ZONE_OF_DATE.fullmatch(rest) is None:
            raise _Refused("unreadable")
        issues.append("zone_on_date")
        return -_zone(rest, issues), _DAY, "day", True
    for seen, issue in (
        (time["t"] == "t", "lower_case"),
        (time["t"] == " ", "space_for_t"),
        (time["point"] == ",", "comma_fraction"),
    ):
        if seen:
            issues.append(issue)
    zone_text = time["rest"]
    zone = _zone(zone_text, issues) if zone_text else 0.0
    if not zone_text:
        issues.append("no_zone")
    shift = _time_of_day(time, zone, issues) - zone
    if time["second"] is None:
        return shift, 60.0, "minute", bool(zone_text)
    return shift, 1.0, "second", bool(zone_text)


def _date_interval(
    year_text: str, month_text: str | None, day_text: str | None
) -> tuple[float, float, str]:
    """Return start, end and granularity of a date."""
    year, month = int(year_text), int(month_text or 1)
    if year == 0 or not 1 <= month <= 12:
        raise _Refused("impossible")
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    start = (date(year, month, 1).toordinal() - _EPOCH) * _DAY
    if month_text is None:
        return start, start + (366 if leap else 365) * _DAY, "year"
    days = 29 if month == 2 and leap else _MONTH_DAYS[month - 1]
    if len(_months) >= _MAX_REMEMBERED:
        _months.clear()
    _months[f"{year_text}-{month_text}"] = (start, start + (days - 1) * _DAY)
    if day_text is None:
        return start, start + days * _DAY, "month"
    day = int(day_text)
    if not 1 <= day <= days:
        raise _Refused("impossible")
    start += (day - 1) * _DAY
    return start, start + _DAY, "day"


def _time_of_day(form: re.Match[str], zone: float, issues: list[str]) -> float:
    """Return seconds since midnight."""
    hour, minute, second = (int(form[part] or 0) for part in ("hour", "minute", "second"))
    fraction = float(f"0.{form['fraction']}") if form["fraction"] else 0.0
    seconds = hour * 3600.0 + minute * 60.0 + second
    if hour > 23 and (hour, minute, second, fraction) != (24, 0, 0, 0.0):
        raise _Refused("impossible")
    # A leap second comes at the end of a day in UTC, whatever the clock on the wall says.
    if minute > 59 or second > 60 or (second == 60 and (seconds - zone) % _DAY):
        raise _Refused("impossible")
    if hour == 24:
        issues.append("hour_24")
    if second == 60:
        issues.append("leap_second")
    return seconds + fraction


def _zone(text: str, issues: list[str]) -> float:
    """Return the seconds that a zone is ahead of UTC."""
    form = _ZONE_FORM.fullmatch(text)
    if form is None:
        raise _Refused("unreadable")
    if form["gap"]:
        issues.append("space_before_zone")
    if form["utc"] is not None:
        if form["utc"] != "Z":
            issue = "lower_case" if form["utc"] == "z" else "zone_name"
            if issue not in issues:
                issues.append(issue)
        return 0.0
    if form["minutes"] is None:
        issues.append("offset_hours_only")
    elif not form["colon"]:
        issues.append("offset_without_colon")
    minutes = int(form["minutes"] or 0)
    ahead = int(form["hours"]) * 3600.0 + minutes * 60.0
    if minutes > 59 or ahead > _MAX_OFFSET:
        raise _Refused("impossible")
    return -ahead if form["sign"] == "-" else ahead
