"""The spread of lastmod: what dates show without a page, on tables made for each finding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lastmod_tables import DAY, NOW, entries, spread_out

import crawlkit as ck
from crawlkit.audit.lastmod_findings import FINDINGS, SPREAD_COLUMNS, SpreadLimits
from crawlkit.audit.lastmod_stamps import densest_share, seconds_of, times_of


def site_finding(frame: pd.DataFrame, **options: Any) -> str:
    return str(ck.lastmod_spread(frame, **options)["finding"].iloc[0])


# -- findings ------------------------------------------------------------------------------


def test_two_stamps_a_second_apart_at_the_generation_time_are_a_stamp() -> None:
    frame = entries([NOW, NOW + 1] * 50, made={"last_modified": NOW, "date": NOW + 300})
    row = ck.lastmod_spread(frame).iloc[0]
    assert row["finding"] == "stamp_generation"
    assert row["modal_share"] == 0.5
    assert row["densest_60s"] == row["near_generation"] == 1.0
    assert row["generated_by"] == "last_modified"


def test_a_stamp_per_entry_with_microseconds_is_made_at_the_request() -> None:
    frame = entries(NOW - 40 + np.arange(100) * 0.4, made={"date": NOW})
    row = ck.lastmod_spread(frame).iloc[0]
    assert row["finding"] == "stamp_request"
    assert row["distinct_share"] == 1.0
    assert row["modal_share"] == 0.01


def test_days_that_are_all_today_are_a_stamp_and_spread_days_are_not() -> None:
    today = np.floor(NOW / DAY) * DAY
    stamped = entries([today] * 50, made={"date": NOW}).assign(lastmod_granularity="day")
    assert site_finding(stamped) == "stamp_generation"
    days = np.floor(spread_out() / DAY) * DAY
    honest = entries(days, made={"date": NOW}).assign(lastmod_granularity="day")
    row = ck.lastmod_spread(honest).iloc[0]
    assert row["finding"] == "ok"
    assert row["midnight_share"] == row["day_share"] == 1.0


def test_spread_dates_are_ok_and_near_nothing() -> None:
    row = ck.lastmod_spread(entries(spread_out(), made={"date": NOW, "last_modified": NOW})).iloc[0]
    assert row["finding"] == "ok"
    assert row["near_generation"] < 0.02
    assert row["densest_1h"] < 0.1


def test_an_old_migration_is_an_event_and_not_a_stamp() -> None:
    starts = np.r_[NOW - 700 * DAY + np.arange(180) * 30, spread_out(20)]
    assert site_finding(entries(starts, made={"last_modified": NOW, "date": NOW})) == "bulk_event"


def test_news_of_today_is_no_event_but_news_of_one_minute_is_a_stamp() -> None:
    published = NOW - np.arange(100) * 900.0
    edited = published + 600 * (np.arange(100) % 3)
    news = {"kind": "news", "publication_date": times_of(published).to_numpy()}
    assert site_finding(entries(edited, made={"date": NOW}, **news)) == "ok"
    # Without any generation time: the articles came out over a day, the stamps within a minute.
    assert site_finding(entries(np.full(100, NOW), **news)) == "stamp_generation"
    assert site_finding(entries(published, made={"date": NOW}, **news)) == "frozen"


@pytest.mark.parametrize(
    ("dated", "undated", "finding"),
    [
        (0, 100, "absent"), (4, 96, "absent"), (50, 50, "partial"), (10, 0, "too_few"),
        (0, 0, "too_few"),
    ],
)  # fmt: skip
def test_coverage_and_number_of_dates(dated: int, undated: int, finding: str) -> None:
    starts = np.r_[spread_out(dated), np.full(undated, np.nan)]
    row = ck.lastmod_spread(entries(starts)).iloc[0]
    assert row["finding"] == finding
    assert (row["entries"], row["dated"]) == (dated + undated, dated)


def test_dates_that_move_when_read_again_are_made_at_the_request() -> None:
    first = entries(spread_out(), made={"date": NOW})
    assert site_finding(first, again=first) == "ok"
    again = entries(spread_out() + 300, made={"date": NOW + 300})
    row = ck.lastmod_spread(first, again=again).iloc[0]
    assert row["finding"] == "stamp_request"
    assert row["moved_on_refetch"] == 1.0


def test_each_file_is_judged_by_its_own_generation_time() -> None:
    one = entries(np.full(100, NOW), sitemap="http://a/1.xml")
    two = entries(np.full(100, NOW - 5 * DAY), sitemap="http://a/2.xml")
    both = pd.concat([one, two], ignore_index=True)
    both.attrs["files"] = (
        {"url": "http://a/1.xml", "last_modified": NOW, "date": NOW + 60},
        {"url": "http://a/2.xml", "last_modified": NOW - 5 * DAY, "date": NOW + 60},
    )
    spread = ck.lastmod_spread(both)
    assert spread["level"].tolist() == ["site", "file", "file"]
    assert set(spread["finding"]) == {"stamp_generation"}
    honest = entries(spread_out(100), sitemap="http://a/3.xml")
    mixed = pd.concat([one, honest], ignore_index=True)
    mixed.attrs["files"] = both.attrs["files"]
    assert ck.lastmod_spread(mixed)["finding"].tolist() == ["mixed", "stamp_generation", "ok"]


def test_the_date_that_the_index_gives_is_a_generation_time_too() -> None:
    frame = entries([NOW, NOW + 1] * 50)
    frame["sitemap_lastmod"] = times_of(np.full(100, NOW + 5)).to_numpy()
    row = ck.lastmod_spread(frame).iloc[0]
    assert (row["finding"], row["generated_by"]) == ("stamp_generation", "index")


def test_zeros_of_programs_and_dates_to_come_are_counted() -> None:
    starts = np.r_[spread_out(50), [0.0, -62_135_000_000.0], [NOW + 3 * DAY] * 3]
    row = ck.lastmod_spread(entries(starts, made={"date": NOW})).iloc[0]
    assert (row["epoch"], row["future"]) == (2, 3)
    assert row["dated"] == 53


def test_rows_that_tell_of_files_are_no_entries() -> None:
    frame = entries(spread_out(30))
    frame["loc"] = frame["loc"].mask(frame.index < 5)
    assert ck.lastmod_spread(frame)["entries"].iloc[0] == 25


def test_a_constant_time_of_day_is_named() -> None:
    starts = np.floor(spread_out(60) / DAY) * DAY + 22 * 3600
    row = ck.lastmod_spread(entries(starts, made={"date": NOW})).iloc[0]
    assert (row["clock_time"], row["clock_time_share"]) == ("22:00:00", 1.0)


def test_limits_move_where_findings_begin() -> None:
    few = entries(spread_out(10))
    assert site_finding(few, limits=SpreadLimits(few=5)) == "ok"


# -- form ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 40])
def test_columns_and_dtypes_are_the_same_for_any_number_of_rows(count: int) -> None:
    frame = ck.lastmod_spread(entries(spread_out(count)))
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == SPREAD_COLUMNS
    assert set(frame["finding"]) <= set(FINDINGS)


@pytest.mark.parametrize("wrong", [None, "http://a/", pd.DataFrame({"loc": ["http://a/"]})])
def test_what_are_no_entries_is_refused_with_a_remedy(wrong: Any) -> None:
    with pytest.raises(ck.BadSetting, match=r"entries: .*Pass"):
        ck.lastmod_spread(wrong)


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40),
    st.sampled_from([1.0, 60.0, 3600.0, 1e8]),
)
@settings(max_examples=60)
def test_the_densest_window_is_the_one_that_brute_force_finds(
    starts: list[float], window: float
) -> None:
    most = max(sum(1 for other in starts if one <= other <= one + window) for one in starts)
    assert densest_share(np.array(starts), window) == pytest.approx(most / len(starts))


@given(st.lists(st.one_of(st.none(), st.floats(0, 4e9)), max_size=60), st.floats(0, 4e9))
@settings(max_examples=15)
def test_shares_are_shares_whatever_the_dates(starts: list[float | None], generated: float) -> None:
    frame = entries([np.nan if s is None else s for s in starts], made={"date": generated})
    spread = ck.lastmod_spread(frame)
    for name, kind in SPREAD_COLUMNS.items():
        if kind == "float64":
            assert spread[name].dropna().between(0, 1).all(), name
    known = spread.dropna(subset=["densest_60s"])
    assert (known["densest_60s"] <= known["densest_1h"]).all()
    assert (known["densest_1h"] <= known["densest_1d"]).all()


@given(st.lists(st.integers(-2_000_000_000, 4_000_000_000), min_size=1, max_size=20))
@settings(max_examples=30)
def test_seconds_survive_the_way_to_timestamps_and_back(moments: list[int]) -> None:
    assert seconds_of(times_of(moments)).tolist() == [float(each) for each in moments]
