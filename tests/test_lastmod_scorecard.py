"""Rates over time: intervals, pairs of visits, events, breaks, and the history on disk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from crawlkit.audit.intervals import share_interval
from crawlkit.audit.lastmod_history import (
    CONTROL_ROWS,
    control_rows,
    empty_rounds,
    read_rounds,
    write_round,
)
from crawlkit.audit.lastmod_pairs import PAIR_COLUMNS, bulk_rounds, visit_pairs
from crawlkit.audit.lastmod_scorecard import SCORECARD_COLUMNS, score_pairs, score_table
from crawlkit.audit.text_change import change_size, shingle_sketch
from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400.0
SITE = "http://a.example"


def round_rows(at: float, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return one round; rows give url, start and text."""
    frame = pd.DataFrame(rows)
    start = frame["start"].astype(float)
    texts = frame["text"] if "text" in frame else pd.Series([None] * len(frame))
    length = frame.get("length", 1.0)
    return pd.DataFrame(
        {
            "round_at": at,
            "site": SITE,
            "url": frame["url"],
            "sitemap": "http://a.example/s.xml",
            "lastmod_start": start,
            "lastmod_end": start + length,
            "date_only": pd.Series(length, index=frame.index) >= DAY,
            "visited": texts.notna(),
            "at": at,
            "reason": None,
            "text_hash": texts,
            "text_hash_by": frame.get("by", "visible_main_v1"),
            "sketch": [list(shingle_sketch(str(text))) for text in texts],
            "draw_weight": 1.0,
            "finding": "ok",
            "passed": "provisional",
        }
    )


def history(*rounds: pd.DataFrame) -> pd.DataFrame:
    frame = pd.concat(rounds, ignore_index=True)
    frame["round"] = pd.factorize(frame["round_at"])[0]
    return frame


def pairs_of(rows: list[tuple[str, int, bool, bool]]) -> pd.DataFrame:
    """Return pairs: url, round, moved, changed."""
    frame = pd.DataFrame(rows, columns=["url", "round", "moved", "changed"])
    frame["bulk"], frame["draw_weight"] = False, 1.0
    return frame.reindex(columns=list(PAIR_COLUMNS)).astype(PAIR_COLUMNS)


# -- intervals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(10, 10, 0.72, 1), (16, 16, 0.81, 1), (25, 25, 0.87, 1), (29, 30, 0.83, 1), (0, 25, 0, 0.13)],
)
def test_bounds_that_verdicts_stand_on(
    successes: int, trials: int, low: float, high: float
) -> None:
    share = share_interval(successes, trials)
    assert round(share.low, 2) == low
    assert round(share.high, 2) == high


@pytest.mark.parametrize("trials", [20, 43, 46, 100])
def test_no_rate_is_covered_less_than_nine_times_in_ten(trials: int) -> None:
    rates = np.arange(0.5, 0.9901, 0.01)
    bounds = np.array([share_interval(x, trials)[1:3] for x in range(trials + 1)])
    chances = stats.binom.pmf(np.arange(trials + 1)[None, :], trials, rates[:, None])
    inside = (bounds[:, 0] <= rates[:, None]) & (rates[:, None] <= bounds[:, 1])
    coverage = (chances * inside).sum(axis=1)
    assert coverage.min() >= 0.9
    assert 0.93 <= coverage.mean() <= 0.97


@given(st.floats(0, 200), st.floats(0.01, 200))
@settings(max_examples=80)
def test_an_interval_holds_its_rate_and_mirrors(successes: float, trials: float) -> None:
    successes = min(successes, trials)
    share = share_interval(successes, trials)
    assert 0 <= share.low <= share.rate + 1e-9
    assert share.rate - 1e-9 <= share.high <= 1
    other = share_interval(trials - successes, trials)
    assert other.low == pytest.approx(1 - share.high, abs=1e-9)
    assert share.complement().low == pytest.approx(other.low, abs=1e-9)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (0, math.inf), (math.nan, 3)])
def test_counts_that_are_none_are_refused(successes: float, trials: float) -> None:
    with pytest.raises(BadSetting, match="successes"):
        share_interval(successes, trials)
    with pytest.raises(BadSetting, match="confidence"):
        share_interval(1, 2, confidence=1.0)


# -- pairs ---------------------------------------------------------------------------------


def test_pairs_tell_moves_from_changes() -> None:
    first = round_rows(0, [{"url": f"u{n}", "start": -100, "text": "one"} for n in range(4)])
    second = round_rows(
        1e6,
        [
            {"url": "u0", "start": 500, "text": "two"},
            {"url": "u1", "start": 500, "text": "one"},
            {"url": "u2", "start": -100, "text": "two"},
            {"url": "u3", "start": -100, "text": "one"},
        ],
    )
    pairs = visit_pairs(history(first, second))
    assert list(zip(pairs["moved"], pairs["changed"], strict=True)) == [
        (True, True), (True, False), (False, True), (False, False),
    ]  # fmt: skip
    assert pairs["left_out"].isna().all()
    assert pairs["change_size"].tolist() == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ({"start": math.nan}, {"start": 500}, "no_lastmod"),
        ({"start": 500}, {"start": -500}, "went_backwards"),
        ({"start": -100}, {"start": 500, "by": "another"}, "other_method"),
        ({"start": -50_000, "length": DAY}, {"start": -50_000, "length": DAY}, "same_day"),
        ({"start": -900}, {"start": -300}, "stale_sitemap"),
    ],
)
def test_a_pair_that_says_nothing_is_left_out_with_the_reason(
    before: dict[str, Any], after: dict[str, Any], code: str
) -> None:
    rounds = history(
        round_rows(0, [{"url": "u", "text": "one", **before}]),
        round_rows(1e6, [{"url": "u", "text": "one", **after}]),
    )
    pair = visit_pairs(rounds).iloc[0]
    assert pair["left_out"] == code
    assert pd.isna(pair["moved"])
    assert not score_pairs(visit_pairs(rounds)).has_seen


def test_a_day_that_was_over_at_the_first_visit_counts() -> None:
    rows = [{"url": "u", "text": "one", "start": -10 * DAY, "length": DAY}]
    rounds = history(round_rows(0, rows), round_rows(1e6, rows))
    assert visit_pairs(rounds)["left_out"].isna().all()


def test_pairs_of_an_empty_history_have_the_same_columns() -> None:
    rounds = empty_rounds()
    rounds["round"] = rounds["round_at"].astype("int64")
    pairs = visit_pairs(rounds)
    assert {name: str(kind) for name, kind in pairs.dtypes.items()} == PAIR_COLUMNS
    table = score_table(score_pairs(pairs))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == SCORECARD_COLUMNS
    assert table["rate"].isna().all()


# -- scores --------------------------------------------------------------------------------


def test_rates_are_those_of_the_four_kinds_of_pairs() -> None:
    rows = [(f"u{n}", 1, n < 10, n < 8 or 10 <= n < 12) for n in range(30)]
    table = score_table(score_pairs(pairs_of(rows))).set_index("measure")
    assert table.loc["precision", "rate"] == pytest.approx(8 / 10)
    assert table.loc["phantom", "rate"] == pytest.approx(2 / 10)
    assert table.loc["recall", "rate"] == pytest.approx(8 / 10)
    assert table.loc["miss", "rate"] == pytest.approx(2 / 10)
    assert table.loc["changed_unmoved", "rate"] == pytest.approx(2 / 20)
    assert table.loc["phantom", "low"] == pytest.approx(1 - table.loc["precision", "high"])


def test_ten_pages_visited_ten_times_are_ten_votes() -> None:
    rows = [(f"u{n}", step, True, True) for n in range(10) for step in range(1, 11)]
    score = score_pairs(pairs_of(rows), fade=1.0)
    assert score.precision.trials == 10
    assert score.precision.low < 0.8


def test_visits_that_differ_are_worth_more_than_one_vote_and_less_than_each() -> None:
    lucky = np.random.default_rng(3).random((40, 5)) < 0.7
    rows = [(f"u{n}", s, True, bool(lucky[n, s])) for n in range(40) for s in range(1, 5)]
    trials = score_pairs(pairs_of(rows), fade=1.0).precision.trials
    assert 40 < trials < 160


def test_a_restamp_of_most_of_a_file_counts_once() -> None:
    first = round_rows(0, [{"url": f"u{n}", "start": -1e6 * n, "text": "one"} for n in range(60)])
    stamped = [{"url": f"u{n}", "start": 9e5 + n * 977, "text": "one"} for n in range(40)]
    kept = [{"url": f"u{n}", "start": -1e6 * n, "text": "one"} for n in range(40, 60)]
    rounds = history(first, round_rows(1e6, stamped + kept))
    assert len(bulk_rounds(rounds, bulk_share=0.5)) == 1
    score = score_pairs(visit_pairs(rounds))
    assert score.bulk_events == 1
    assert score.precision.trials == 1
    assert score.changed_unmoved.trials == 20


def test_dates_that_move_within_a_minute_are_one_event_too() -> None:
    first = round_rows(0, [{"url": f"u{n}", "start": -1e6 * n, "text": "one"} for n in range(60)])
    stamped = [{"url": f"u{n}", "start": 9e5 + n, "text": "one"} for n in range(15)]
    kept = [{"url": f"u{n}", "start": -1e6 * n, "text": "one"} for n in range(15, 60)]
    score = score_pairs(visit_pairs(history(first, round_rows(1e6, stamped + kept))))
    assert (score.bulk_events, score.precision.trials) == (1, 1)


def test_old_rounds_fade() -> None:
    old = [(f"u{n}", 1, True, True) for n in range(40)]
    new = [(f"v{n}", 11, True, True) for n in range(10)]
    faded = score_pairs(pairs_of(old + new), fade=0.9).precision.trials
    assert faded == pytest.approx(10 + 40 * 0.9**10)
    assert score_pairs(pairs_of(old + new), fade=1.0).precision.trials == 50


def test_a_break_drops_what_was_seen_before() -> None:
    good = [(f"u{n}", step, True, True) for n in range(20) for step in (1, 2, 3)]
    bad = [(f"v{n}", 4, True, False) for n in range(20)]
    score = score_pairs(pairs_of(good + bad))
    assert score.since == 4
    assert score.precision.rate == 0
    always = [(f"v{n}", step, True, n % 3 > 0) for n in range(30) for step in range(1, 6)]
    assert score_pairs(pairs_of(always)).since == 0
    missed = [(f"v{n}", 4, False, True) for n in range(20)]
    still = [(f"w{n}", step, False, False) for n in range(20) for step in (1, 2, 3)]
    assert score_pairs(pairs_of(good + still + missed)).since == 4


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_a_steady_site_hardly_ever_breaks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        (f"u{n}", step, True, bool(rng.random() > 0.01)) for n in range(25) for step in range(1, 6)
    ]
    assert score_pairs(pairs_of(rows)).since == 0


# -- size of change ------------------------------------------------------------------------


def test_the_size_of_a_change_grows_with_the_change() -> None:
    words = [f"w{n}" for n in range(400)]
    text = " ".join(words)
    sizes = [
        change_size(shingle_sketch(text), shingle_sketch(" ".join(["x"] * part + words[part:])))
        for part in (0, 40, 200, 400)
    ]
    assert sizes[0] == 0
    assert sizes == sorted(sizes)
    assert sizes[-1] == 1
    assert sizes[1] == pytest.approx(0.1, abs=0.15)


@given(st.text(max_size=80), st.text(max_size=80))
@settings(max_examples=60)
def test_the_size_of_a_change_is_symmetric_and_a_share(one: str, other: str) -> None:
    a, b = shingle_sketch(one), shingle_sketch(other)
    assert 0 <= change_size(a, b) == change_size(b, a) <= 1
    assert change_size(a, a) == 0


# -- on disk -------------------------------------------------------------------------------


def test_rounds_come_back_in_order_and_a_round_written_twice_is_one(tmp_path: Path) -> None:
    late = round_rows(200.0, [{"url": "u", "start": 1, "text": "b"}])
    early = round_rows(100.0, [{"url": "u", "start": 0, "text": "a"}, {"url": "v", "start": 5}])
    for frame in (late, early, early):
        write_round(tmp_path / "history", frame)
    write_round(tmp_path / "history", late.assign(site="http://other.example"))
    found = read_rounds(tmp_path / "history", SITE)
    assert found["round"].tolist() == [0, 0, 1]
    assert found["text_hash"].dropna().tolist() == ["a", "b"]
    assert found.attrs["unreadable"] == ()
    assert list(found["sketch"].iloc[0]) == list(shingle_sketch("a"))


def test_a_damaged_file_is_named_and_the_others_count(tmp_path: Path) -> None:
    path = write_round(tmp_path, round_rows(1.0, [{"url": "u", "start": 0, "text": "a"}]))
    write_round(tmp_path, round_rows(2.0, [{"url": "u", "start": 0, "text": "a"}]))
    path.write_bytes(path.read_bytes()[:50])
    found = read_rounds(tmp_path, SITE)
    assert len(found) == 1
    assert found.attrs["unreadable"] == (path.name,)


def test_a_history_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for wrong in (tmp_path / "file", 3):
        with pytest.raises(BadSetting, match="history"):
            read_rounds(wrong, SITE)
    assert read_rounds(tmp_path / "nothing", SITE).empty


def test_every_round_keeps_the_same_control_rows() -> None:
    urls = pd.Series([f"{SITE}/{n}" for n in range(CONTROL_ROWS + 500)])
    kept = set(urls[control_rows(urls)])
    assert len(kept) == CONTROL_ROWS
    shuffled = urls.sample(frac=1, random_state=1)
    assert set(shuffled[control_rows(shuffled)]) == kept
