"""Dates in HTTP headers, next to what `email.utils` makes of them."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawlkit.web.http_dates import http_time


def by_the_library(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


@given(st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 31), timezones=st.just(UTC)))
def test_what_servers_send_is_read_to_the_second(moment: datetime) -> None:
    text = format_datetime(moment, usegmt=True)
    assert http_time(text) == moment.replace(microsecond=0).timestamp() == by_the_library(text)


NUMBERS = st.one_of(st.integers(0, 61).map("{:02}".format), st.integers(0, 9).map(str))


@given(
    st.sampled_from(["Sun", "Xyz", "sun", "Sunday", ""]),
    NUMBERS,
    st.sampled_from(["Nov", "Feb", "Foo", "NOV", "November"]),
    st.one_of(st.integers(0, 9999).map("{:04}".format), NUMBERS),
    st.tuples(NUMBERS, NUMBERS, NUMBERS),
    st.sampled_from(["GMT", "gmt", "UTC", "EST", "-0000", "+0100", "", "GMT ", "GMT\n"]),
)
@example("Sun", "06", "Nov", "1994", ("24", "00", "00"), "GMT")
@example("Sun", "06", "Nov", "1994", ("23", "59", "60"), "GMT")
@example("Sun", "30", "Feb", "1994", ("08", "49", "37"), "GMT")
@example("Sun", "06", "Nov", "0094", ("08", "49", "37"), "GMT")
def test_what_is_nearly_the_usual_form_is_read_as_ever(
    weekday: str, day: str, month: str, year: str, clock: tuple[str, str, str], zone: str
) -> None:
    text = f"{weekday}, {day} {month} {year} {':'.join(clock)} {zone}"
    assert http_time(text) == by_the_library(text)


@pytest.mark.parametrize(
    "text", ["Sun, 0\u0666 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT" + " " * 40]
)
def test_other_digits_and_long_texts_are_no_surprise(text: str) -> None:
    assert http_time(text) == (None if len(text) > 64 else by_the_library(text))
