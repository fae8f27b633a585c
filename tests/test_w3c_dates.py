"""W3C dates: the six forms, near misses, refusals, intervals that overlap, whole columns."""

from __future__ import annotations

import calendar
import math
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlkit.web.w3c_columns import parse_w3c_column
from crawlkit.web.w3c_dates import (
    GRANULARITIES,
    ISSUES,
    REFUSALS,
    W3CDate,
    gap,
    overlaps,
    parse_w3c,
    refusal,
)

DAY = 86_400.0
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=OFFSETS
)


def epoch(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "start", "end", "granularity", "tz_known"),
    [
        ("2024", epoch(2024, 1, 1), epoch(2025, 1, 1), "year", False),
        ("2023", epoch(2023, 1, 1), epoch(2024, 1, 1), "year", False),
        ("2024-02", epoch(2024, 2, 1), epoch(2024, 3, 1), "month", False),
        ("2024-12", epoch(2024, 12, 1), epoch(2025, 1, 1), "month", False),
        ("2024-02-29", epoch(2024, 2, 29), epoch(2024, 3, 1), "day", False),
        ("2024-05-17T12:30Z", epoch(2024, 5, 17, 12, 30), epoch(2024, 5, 17, 12, 31), "minute",
         True),
        ("2024-05-17T12:30-03:30", epoch(2024, 5, 17, 16), epoch(2024, 5, 17, 16, 1), "minute",
         True),
        ("2024-05-17T00:30:15+05:45", epoch(2024, 5, 16, 18, 45, 15),
         epoch(2024, 5, 16, 18, 45, 16), "second", True),
        ("2024-05-17T12:30:15.25Z", epoch(2024, 5, 17, 12, 30, 15) + 0.25,
         epoch(2024, 5, 17, 12, 30, 16) + 0.25, "second", True),
        ("1914-06-28", epoch(1914, 6, 28), epoch(1914, 6, 29), "day", False),
    ],
)  # fmt: skip
def test_the_six_forms_are_intervals_without_issues(
    text: str, start: float, end: float, granularity: str, tz_known: bool
) -> None:
    assert parse_w3c(text) == W3CDate(start, end, granularity, tz_known, ())
    assert refusal(text) is None


@pytest.mark.parametrize(
    ("text", "means", "issues"),
    [
        ("2024-05-17T12:30:15+0200", "2024-05-17T12:30:15+02:00", {"offset_without_colon"}),
        ("2024-05-17T12:30:15+02", "2024-05-17T12:30:15+02:00", {"offset_hours_only"}),
        ("2024-05-17 12:30:15Z", "2024-05-17T12:30:15Z", {"space_for_t"}),
        ("2024-05-17t12:30:15z", "2024-05-17T12:30:15Z", {"lower_case"}),
        ("2024-05-17 12:30:15 UTC", "2024-05-17T12:30:15Z",
         {"space_for_t", "space_before_zone", "zone_name"}),
        ("2024-05-17 12:30:15 -0700", "2024-05-17T12:30:15-07:00",
         {"space_for_t", "space_before_zone", "offset_without_colon"}),
        ("2024-05-17T12:30:15,5Z", "2024-05-17T12:30:15.5Z", {"comma_fraction"}),
        ("2024-05-17T24:00:00Z", "2024-05-18T00:00:00Z", {"hour_24"}),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", {"leap_second"}),
        ("2017-01-01T05:29:60+05:30", "2017-01-01T05:30:00+05:30", {"leap_second"}),
        ("\ufeff\u2003 2024-05-17T12:30Z\xa0\n", "2024-05-17T12:30Z", {"padded"}),
        ("2024-05-17T12:30:15-00:00", "2024-05-17T12:30:15Z", set()),
    ],
)  # fmt: skip
def test_near_misses_are_read_and_flagged(text: str, means: str, issues: set[str]) -> None:
    date, right = parse_w3c(text), parse_w3c(means)
    assert date is not None
    assert right is not None
    assert date[:4] == right[:4]
    assert set(date.issues) == issues
    assert len(date.issues) == len(issues)


def test_a_time_without_a_zone_is_read_as_utc_and_says_so() -> None:
    date = parse_w3c("2024-05-17T12:30:15")
    assert date == W3CDate(
        epoch(2024, 5, 17, 12, 30, 15),
        epoch(2024, 5, 17, 12, 30, 16),
        "second",
        False,
        ("no_zone",),
    )


def test_a_zone_after_a_date_moves_the_day() -> None:
    date = parse_w3c("2024-05-17+02:00")
    start = epoch(2024, 5, 16, 22)
    assert date == W3CDate(start, start + DAY, "day", True, ("zone_on_date",))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\ufeff", "empty"),
        ("0000", "impossible"),
        ("0000-00-00", "impossible"),
        ("0000-00-00T00:00:00Z", "impossible"),
        ("-0001-11-30", "unreadable"),
        ("10000-01-01", "unreadable"),
        ("2024-00", "impossible"),
        ("2024-13-01", "impossible"),
        ("2023-02-29", "impossible"),
        ("1900-02-29", "impossible"),
        ("2024-05-32", "impossible"),
        ("2024-05-17T25:00Z", "impossible"),
        ("2024-05-17T24:00:01Z", "impossible"),
        ("2024-05-17T24:00:00.5Z", "impossible"),
        ("2024-05-17T12:60Z", "impossible"),
        ("2024-05-17T12:30:61Z", "impossible"),
        ("2024-05-17T12:30:60Z", "impossible"),
        ("2024-05-17T12:30:15+14:01", "impossible"),
        ("2024-05-17T12:30:15+13:60", "impossible"),
        ("2024-05-17T12:30:15-00:14400", "unreadable"),
        ("2024-05-17T12", "unreadable"),
        ("2024-05-17T12Z", "unreadable"),
        ("2024-05-17-07", "unreadable"),
        ("2024-05-17 0730", "unreadable"),
        ("2024-W20-5", "unreadable"),
        ("2024-138", "unreadable"),
        ("20240517", "unreadable"),
        ("20240517T123015Z", "unreadable"),
        ("2024-5-7", "unreadable"),
        ("2024/05/17", "unreadable"),
        ("05/06/2024", "unreadable"),
        ("05-06-2024", "unreadable"),
        ("Fri, 17 May 2024 12:30:15 GMT", "unreadable"),
        ("Fri May 17 2024 12:30:15 GMT+0200 (CEST)", "unreadable"),
        ("2024-05-17 12:30:15 PM", "unreadable"),
        ("2024-05-17T12:30:15Z2024-05-17T12:30:15Z", "unreadable"),
        ("2024-05-17T12:30:15CEST", "unreadable"),
        ("\u0662\u0660\u0662\u0664", "unreadable"),
        ("\uff12\uff10\uff12\uff14-05-17", "unreadable"),
        ("2024-05-1\u0667", "unreadable"),
        ("2024-05-17T12:30:15\u22120200", "unreadable"),
        ("1715941800", "unreadable"),
        ("2024-05-17T12:30:15." + "1" * 100_000 + "Z", "unreadable"),
        ("9" * 1_000_000, "unreadable"),
    ],
)
def test_all_else_is_refused_with_a_reason(text: str, reason: str) -> None:
    assert parse_w3c(text) is None
    assert refusal(text) == reason
    assert reason in REFUSALS


@pytest.mark.parametrize("value", [None, math.nan, pd.NA, 2024, b"2024-05-17", ["2024"], object()])
def test_what_is_no_text_is_refused(value: object) -> None:
    assert parse_w3c(value) is None  # type: ignore[arg-type]


def test_the_last_year_ends_with_year_10000() -> None:
    date = parse_w3c("9999")
    assert date is not None
    assert date.end - date.start == 365 * DAY
    assert parse_w3c("9999-12-31T23:59:59-14:00") is not None


@given(MOMENTS)
def test_every_moment_comes_back_from_its_text(moment: datetime) -> None:
    exact = (moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
    whole = moment.replace(microsecond=0)
    seconds = (whole - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    stamp = parse_w3c(moment.isoformat(timespec="microseconds"))
    assert stamp is not None
    assert abs(stamp.start - exact) < 1e-4  # a double holds no more in the year 9999
    assert stamp.issues == ()
    assert parse_w3c(whole.isoformat()) == W3CDate(seconds, seconds + 1, "second", True, ())
    minute = parse_w3c(whole.isoformat(timespec="minutes"))
    assert minute is not None
    assert minute.start == seconds - whole.second
    day = parse_w3c(f"{whole:%Y}".zfill(4) + f"-{whole:%m-%d}")
    assert day is not None
    local = seconds + (whole.utcoffset() or timedelta()).total_seconds()
    assert day.start == local // DAY * DAY
    assert day.end - day.start == DAY


@given(st.integers(1, 9999), st.integers(1, 12))
def test_months_and_years_are_as_long_as_in_the_calendar(year: int, month: int) -> None:
    date, whole = parse_w3c(f"{year:04}-{month:02}"), parse_w3c(f"{year:04}")
    assert date is not None
    assert whole is not None
    assert date.end - date.start == calendar.monthrange(year, month)[1] * DAY
    assert whole.end - whole.start == (366 if calendar.isleap(year) else 365) * DAY
    assert whole.start <= date.start < date.end <= whole.end


PIECES = st.lists(
    st.sampled_from(
        ["2024", "0000", "9999", "-", "-02", "-30", "13", "T", " ", "t", "24:00", "23:59", ":60",
         ":59", ".", ",5", "Z", "z", "UTC", "+", "-00:00", "+14:00", "+1460", "\u0661", "\xa0",
         "\0", "\ud800", "é"]
    ),
    max_size=9,
).map("".join)  # fmt: skip


@given(st.one_of(st.text(max_size=40), PIECES))
def test_any_text_has_an_answer_and_it_is_the_same_twice(text: str) -> None:
    first, second = parse_w3c(text), parse_w3c(text)
    assert first == second
    if first is None:
        assert refusal(text) in REFUSALS
    else:
        assert refusal(text) is None
        assert first.start < first.end
        assert first.granularity in GRANULARITIES
        assert set(first.issues) <= set(ISSUES)


@given(st.lists(st.one_of(PIECES, MOMENTS.map(str), MOMENTS.map(datetime.isoformat), st.none())))
def test_a_column_says_what_each_text_says(texts: list[str | None]) -> None:
    texts = texts * 33  # enough of each length to be read as a table
    column = parse_w3c_column(texts)
    assert [len(part) for part in column[:4]] == [len(texts)] * 4
    for row, text in enumerate(texts):
        date = None if text is None else parse_w3c(text)
        issues = column.issues.get(row, ())
        if date is None:
            assert np.isnan(column.start[row])
            assert np.isnan(column.end[row])
            assert column.granularity[row] == -1
            assert issues == (() if text is None else (refusal(text),))
        else:
            granularity = GRANULARITIES[column.granularity[row]]
            assert date == W3CDate(
                column.start[row], column.end[row], granularity, column.tz_known[row], issues
            )


@pytest.mark.parametrize(
    "form",
    [
        "{0:%Y}", "{0:%Y-%m}", "{0:%Y-%m-%d}", "{0:%Y-%m-%dT%H:%MZ}", "{0:%Y-%m-%dT%H:%M:%SZ}",
        "{0:%Y-%m-%dT%H:%M}-09:30", "{0:%Y-%m-%dT%H:%M:%S}+14:00", "{0:%Y-%m-%dT%H:%M:%S}+14:15",
        "{0:%Y-%m-%dT%H:%M:%S.123Z}", "{0:%Y-%m-%dT%H:%M:%S.%fZ}", "{0:%Y-%m-%d %H:%M:%S}",
        "{0:%Y-%m-%dT%H:%M:%S.789}-03:30", "{0:%Y-%m-%dT%H:%M:%S.%f}+05:45", "{0:%Y-%m-%d}T24:00Z",
        "{0:%Y-%m}-31", "{0:%Y}-13-01T00:00:00Z", "{0:%Y-%m-%dT%H:%M}:60Z",
    ],
)  # fmt: skip
def test_a_column_of_one_form_says_what_each_text_says(form: str) -> None:
    texts: list[str | None] = [
        form.format(datetime(2024, 1, 1) + timedelta(days=3.7, microseconds=123_457) * step)
        for step in range(400)
    ]
    column = parse_w3c_column(pd.Series(texts))
    for row, text in enumerate(texts):
        date = parse_w3c(str(text))
        assert (date is None) == np.isnan(column.start[row])
        if date is not None:
            assert (date.start, date.end) == (column.start[row], column.end[row])
            assert GRANULARITIES[column.granularity[row]] == date.granularity
            assert date.tz_known == column.tz_known[row]
            assert column.issues.get(row, ()) == date.issues


def test_an_empty_column_keeps_its_types() -> None:
    column = parse_w3c_column([])
    assert [str(part.dtype) for part in column[:4]] == ["float64", "float64", "int8", "bool"]


def read(text: str) -> W3CDate:
    date = parse_w3c(text)
    assert date is not None
    return date


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "expected"),
    [
        ("2024-05-17", "2024-05-17", 0, True),
        ("2024-05-17", "2024-05-18", 0, False),
        ("2024-05-17", "2024-05-18", DAY, True),
        ("2024-05-17", "2024-05-19", DAY, False),
        ("2024-05", "2024-05-31", 0, True),
        ("2024-05-17T12:00:00Z", "2024-05-17T12:00:00+01:00", 0, False),
        ("2024-05-17T12:00:00Z", "2024-05-17T12:00:00+01:00", 3600, True),
        # A day somewhere on Earth may begin 14 hours before it does in UTC, or end 12 after.
        ("2024-05-16T10:00:00Z", "2024-05-17", 0, True),
        ("2024-05-16T09:59:59Z", "2024-05-17", 0, False),
        ("2024-05-18T11:59:59Z", "2024-05-17", 0, True),
        ("2024-05-18T12:00:00Z", "2024-05-17", 0, False),
        ("2024-05-16T10:00:00Z", "2024-05-17T00:00:00", 0, True),
    ],
)  # fmt: skip
def test_dates_agree_when_their_intervals_overlap(
    a: str, b: str, tolerance: float, expected: bool
) -> None:
    assert overlaps(read(a), read(b), tolerance=tolerance) is expected
    assert overlaps(read(b), read(a), tolerance=tolerance) is expected


def test_a_day_is_the_tolerance_unless_said_otherwise() -> None:
    assert overlaps(read("2024-05-17T12:00:00Z"), read("2024-05-18T12:00:00Z"))
    assert not overlaps(read("2024-05-17T12:00:00Z"), read("2024-05-18T12:00:02Z"))


@given(MOMENTS, st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_the_gap_and_the_overlap_tell_one_story(
    moment: datetime, apart: float, tolerance: float
) -> None:
    start = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    a = W3CDate(start, start + 60.0, "minute", True, ())
    b = W3CDate(round(start + apart), round(start + apart) + 1.0, "second", True, ())
    assert gap(a, b) == -gap(b, a)
    assert overlaps(a, b, tolerance=round(tolerance)) == (
        abs(gap(a, b)) < round(tolerance) or (a.start < b.end and b.start < a.end)
    )
