"""Millions of W3C dates at once, on NumPy; the same answers as `parse_w3c`, text by text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.web.w3c_dates import GRANULARITIES, parse_w3c, refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt

__all__ = ["W3CColumn", "parse_w3c_column"]

_CHUNK = 65_536  # texts looked at in one go: bounds the memory in between
_FEW = 32  # texts of one length for which a table is not worth making
_MAX_MINUTES_AHEAD = 14 * 60
# What the forms look like, each of another length: 0 is a digit, + the sign of an offset.
_LAYOUTS = (
    "0000",
    "0000-00",
    "0000-00-00",
    "0000-00-00T00:00Z",
    "0000-00-00T00:00:00Z",
    "0000-00-00T00:00+00:00",
    "0000-00-00T00:00:00.000Z",
    "0000-00-00T00:00:00+00:00",
    "0000-00-00T00:00:00.000000Z",
    "0000-00-00T00:00:00.000+00:00",
    "0000-00-00T00:00:00.000000+00:00",
)


class W3CColumn(NamedTuple):
    """What a column of texts says.

    Attributes
    ----------
    start, end
        Seconds since 1970 UTC, float64; NaN where a text is missing or was refused.
    granularity
        Index into `GRANULARITIES`, int8; -1 where there is none.
    tz_known
        Whether the text gives a zone, bool.
    issues
        Row number to codes, for the rows that have any: of `ISSUES` where a text was read, one of
        `REFUSALS` where it was refused. A missing text (None, NaN) has none.
    """

    start: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]
    granularity: npt.NDArray[np.int8]
    tz_known: npt.NDArray[np.bool_]
    issues: dict[int, tuple[str, ...]]


def parse_w3c_column(texts: Iterable[object]) -> W3CColumn:
    """Read many dates as `parse_w3c` reads one.

    Parameters
    ----------
    texts
        A list, a Series or an array; what is no text counts as missing.

    Returns
    -------
    W3CColumn
        Arrays as long as `texts`.

    Examples
    --------
    >>> column = parse_w3c_column(["2024-05-17", "2024-05", "17/05/2024", None])
    >>> column.start.tolist()
    [1715904000.0, 1714521600.0, nan, nan]
    >>> column.issues
    {2: ('unreadable',)}
    """
    import numpy as np

    values = list(texts)
    count = len(values)
    column = W3CColumn(
        np.full(count, np.nan),
        np.full(count, np.nan),
        np.full(count, -1, np.int8),
        np.zeros(count, np.bool_),
        {},
    )
    for first in range(0, count, _CHUNK):
        _read_chunk(values[first : first + _CHUNK], first, column)
    return column


def _read_chunk(values: list[Any], first: int, column: W3CColumn) -> None:
    """Read some texts, those of one length together."""
    import numpy as np

    lengths = np.fromiter(
        (len(value) if isinstance(value, str) else -1 for value in values), np.int64, len(values)
    )
    rest = np.ones(len(values), np.bool_)
    for layout in _LAYOUTS:
        length = len(layout)
        rows = np.flatnonzero(lengths == length)
        if len(rows) < _FEW:
            continue
        text = "".join(
            values if len(rows) == len(values) else [values[row] for row in rows.tolist()]
        )
        if not text.isascii():
            continue
        table = np.frombuffer(text.encode(), np.uint8).reshape(-1, length)
        read = _read_table(table, layout, rows + first, column)
        rest[rows[read]] = False
    rest &= lengths >= 0
    for row in np.flatnonzero(rest).tolist():
        _read_one(values[row], first + row, column)


def _read_one(text: str, row: int, column: W3CColumn) -> None:
    """Read a text of a rarer form."""
    date = parse_w3c(text)
    if date is None:
        column.issues[row] = (refusal(text) or "unreadable",)
        return
    column.start[row] = date.start
    column.end[row] = date.end
    column.granularity[row] = GRANULARITIES.index(date.granularity)
    column.tz_known[row] = date.tz_known
    if date.issues:
        column.issues[row] = date.issues


def _read_table(
    table: npt.NDArray[np.uint8], layout: str, rows: npt.NDArray[np.int64], column: W3CColumn
) -> npt.NDArray[np.bool_]:
    """Read texts of one length, a row of bytes each; return which of them are of the layout."""
    fits = _matches(table, layout)
    begin, after = _days(table, layout, fits)
    start, end, granularity = begin * 86_400.0, after * 86_400.0, len(layout) // 3 - 1
    if len(layout) > 10:
        seconds, to_second = _times(table, layout, fits)
        start = start + seconds
        end = start + (1.0 if to_second else 60.0)
        granularity = 4 if to_second else 3
    chosen = rows[fits]
    column.start[chosen] = start[fits]
    column.end[chosen] = end[fits]
    column.granularity[chosen] = granularity
    column.tz_known[chosen] = len(layout) > 10
    return fits


def _matches(table: npt.NDArray[np.uint8], layout: str) -> npt.NDArray[np.bool_]:
    """Return which rows have digits and separators where the layout has them."""
    import numpy as np

    fits = np.ones(len(table), np.bool_)
    for position, kind in enumerate(layout):
        byte = table[:, position]
        if kind == "0":
            fits &= byte - np.uint8(48) <= 9  # what is less than "0" wraps around
        elif kind == "+":
            fits &= (byte == 43) | (byte == 45)
        else:
            fits &= byte == ord(kind)
    return fits


def _number(table: npt.NDArray[np.uint8], start: int, stop: int) -> npt.NDArray[np.int64]:
    """Return the digits of some columns as numbers."""
    import numpy as np

    total = np.zeros(len(table), np.int64)
    for position in range(start, stop):
        total = total * 10 + (table[:, position].astype(np.int64) - 48)
    return total


def _days(
    table: npt.NDArray[np.uint8], layout: str, fits: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first day of each interval and the first after it, since 1970.

    Clears `fits` where there is no such date.
    """
    import numpy as np

    year = _number(table, 0, 4)
    month = _number(table, 5, 7) if len(layout) > 4 else np.ones(len(table), np.int64)
    fits &= (year > 0) & (month >= 1) & (month <= 12)
    months = np.where(fits, (year - 1970) * 12 + month - 1, 0)
    begin, after = (
        (months + more).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        for more in (0, 12 if len(layout) == 4 else 1)
    )
    if len(layout) < 10:
        return begin, after
    day = _number(table, 8, 10)
    fits &= (day >= 1) & (day <= after - begin)
    begin += day - 1
    return begin, begin + 1


def _times(
    table: npt.NDArray[np.uint8], layout: str, fits: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.float64], bool]:
    """Return the seconds since midnight as if in UTC, and whether they go to the second.

    Clears `fits` where there is no such time; 24:00 and leap seconds are left to `parse_w3c`.
    """
    hour, minute = _number(table, 11, 13), _number(table, 14, 16)
    fits &= (hour <= 23) & (minute <= 59)
    seconds = hour * 3600.0 + minute * 60.0
    to_second = layout[16] == ":"
    zone_at = len(layout) - (1 if layout.endswith("Z") else 6)
    if to_second:
        second = _number(table, 17, 19)
        fits &= second <= 59
        seconds += second
    if zone_at > 20:
        seconds += _number(table, 20, zone_at) / 10.0 ** (zone_at - 20)
    if not layout.endswith("Z"):
        minutes = _number(table, zone_at + 4, zone_at + 6)
        ahead = _number(table, zone_at + 1, zone_at + 3) * 60 + minutes
        fits &= (minutes <= 59) & (ahead <= _MAX_MINUTES_AHEAD)
        seconds -= ahead * 60.0 * (44.0 - table[:, zone_at])  # "+" is 43, "-" is 45
    return seconds, to_second
