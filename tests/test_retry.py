"""When to ask again, and how long to wait first."""

from __future__ import annotations

import random
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlkit.web.fetch import REASONS, RETRYABLE, Response, backoff_seconds, is_retryable
from crawlkit.web.retry import RETRY_AFTER_CAP, retry_after_seconds

NOW = 1_795_000_000.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("86401", 86_400.0),
        ("9999999999", 86_400.0),
        ("9" * 6000, 86_400.0),
        ("-5", None),
        ("+5", None),
        ("1.5", None),
        ("1m0s", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("\u0661\u0662", None),
        (formatdate(NOW + 90, usegmt=True), 90.0),
        (formatdate(NOW - 90, usegmt=True), 0.0),
        (formatdate(NOW + 10**7, usegmt=True), 86_400.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0),
        ("Sun Nov  6 08:49:37 1994", 0.0),
        ("Fri, 99 Xyz 2026 99:99:99 GMT", None),
    ],
)
def test_retry_after_is_read_as_rfc_9110_says(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, now=NOW) == seconds


def test_a_date_counts_from_the_servers_own_clock() -> None:
    # This server's clock is a year late; it still means one minute.
    late = NOW - 365 * 86_400
    value, date = formatdate(late + 60, usegmt=True), formatdate(late, usegmt=True)
    assert retry_after_seconds(value, date=date, now=NOW) == 60.0
    assert retry_after_seconds(value, date="nonsense", now=NOW) == 0.0


def test_without_any_other_clock_a_date_counts_from_now() -> None:
    seconds = retry_after_seconds(formatdate(time.time() + 100, usegmt=True))
    assert seconds is not None
    assert 95 < seconds <= 100


@given(st.text(max_size=80) | st.datetimes().map(str) | st.integers().map(str))
def test_whatever_a_server_says_the_wait_is_none_or_within_a_day(value: str) -> None:
    seconds = retry_after_seconds(value, now=NOW)
    assert seconds is None or 0 <= seconds <= RETRY_AFTER_CAP


@given(st.integers(-5, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_backoff_is_spread_evenly_below_a_ceiling_of_a_minute(attempt: int, drawn: float) -> None:
    ceiling = min(60.0, 2.0 ** min(max(attempt, 1) - 1, 10))
    assert backoff_seconds(attempt, draw=lambda: drawn) == drawn * ceiling


def test_the_same_seed_waits_the_same() -> None:
    waits = [
        [backoff_seconds(attempt, draw=draw) for attempt in range(1, 9)]
        for draw in (random.Random(3).random, random.Random(3).random, random.Random(4).random)
    ]
    assert waits[0] == waits[1] != waits[2]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_statuses_that_time_may_cure_are_retryable(status: int) -> None:
    assert is_retryable(Response("http://a.example/", status=status))


@pytest.mark.parametrize("status", [200, 204, 301, 304, 400, 401, 403, 404, 410, 501, 505, 999])
def test_other_statuses_are_not_retryable(status: int) -> None:
    assert not is_retryable(Response("http://a.example/", status=status))


def test_what_the_answer_says_for_good_is_not_retryable() -> None:
    for code in REASONS:
        # The status of a cut answer does not count: the cut does.
        assert is_retryable(Response("http://a.example/", status=200, error=code)) == (
            code in RETRYABLE
        )
    for code in ("dns_not_found", "tls_certificate", "private_address", "body_too_large"):
        assert code not in RETRYABLE
    for code in ("timeout", "connection_reset", "truncated", "dns_failed"):
        assert code in RETRYABLE
