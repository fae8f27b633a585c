"""discovery_curve and estimate_size: exact on small tables, right on sites of known size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit import lab
from crawlkit.plots.rates import rolling_rate, section_of

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = {
    "group": "str",
    "page": "int64",
    "url": "str",
    "new_urls": "int64",
    "rate": "float64",
    "low": "float64",
    "high": "float64",
    "known_urls": "Int64",
    "frontier_size": "Int64",
}


def dtypes(table: pd.DataFrame) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in table.dtypes.items()}


# --- the curve ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 50), max_size=60), st.integers(2, 20))
def test_the_rate_is_the_mean_of_the_window(new: list[int], window: int) -> None:
    rate, low, high = rolling_rate(np.array(new, dtype=float), window)
    for at in range(len(new)):
        there = new[max(0, at + 1 - window) : at + 1]
        assert rate[at] == pytest.approx(sum(there) / len(there))
        assert 0 <= low[at] <= rate[at] + 1e-9
        assert high[at] >= rate[at] - 1e-9
        assert high[at] >= 3 / len(there)


def test_the_band_holds_the_rate_of_independent_pages() -> None:
    draw = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        _, low, high = rolling_rate(draw.poisson(1.5, 100).astype(float), 100)
        inside += low[-1] <= 1.5 <= high[-1]
    assert 270 <= inside <= 299


def test_tables_without_fetches_have_a_curve_from_their_pages() -> None:
    data = ck.load_data("sqlite_docs")  # pages and links, as attributes
    curve = ck.discovery_curve(data)
    assert curve.equals(ck.discovery_curve({"pages": data.pages, "links": data.links}))
    assert (len(curve), curve["rate"].iloc[-1]) == (len(data.pages), 0)


def test_only_pages_count_in_the_order_of_their_requests() -> None:
    fetches = pd.DataFrame(
        {
            "seq": [3, 1, 2, 4, 4],
            "url": ["https://b.com/x", "https://a.com/robots.txt", *["https://a.com/y"] * 3],
            "new_urls": pd.array([4, None, 2, 0, 0], dtype="Int64"),
        }
    )
    curve = ck.discovery_curve(fetches, window=2)
    assert dtypes(curve) == COLUMNS
    assert curve["new_urls"].tolist() == [2, 4, 0]
    assert curve["rate"].tolist() == [2.0, 3.0, 2.0]
    assert curve["frontier_size"].isna().all()


def test_groups_have_curves_of_their_own() -> None:
    crawl = lab.walk(["shop", "events"], max_pages=300)
    for by, group in (
        ("host", "lab.example"),
        ("section", "lab.example/events/"),
        ("template", "lab.example/events/?month&year"),
    ):
        curve = ck.discovery_curve(crawl, by=by, window=10)
        assert group in set(curve["group"])
        own = curve[curve["group"] == group]
        alone = ck.discovery_curve(own[["url", "new_urls"]], window=10)
        assert own["rate"].tolist() == pytest.approx(alone["rate"].tolist())
        assert int(curve["new_urls"].sum()) == int(crawl.fetches["new_urls"].sum())


def test_the_rate_falls_to_zero_on_a_finite_site_and_stays_up_in_a_trap() -> None:
    finite = ck.discovery_curve(lab.walk([lab.Finite(pages=300, parts=("wiki",))], max_pages=900))
    assert finite["rate"].iloc[-1] < 0.2 < finite["rate"].iloc[99]
    trap = ck.discovery_curve(lab.walk(["sessions"], max_pages=300))
    assert trap["low"].iloc[-1] > 3


@pytest.mark.parametrize("by", [None, "host", "section", "template"])
def test_empty_and_broken_tables_give_an_empty_or_a_null_group(by: str | None) -> None:
    empty = pd.DataFrame({"url": [], "new_urls": []})
    assert dtypes(ck.discovery_curve(empty, by=by)) == COLUMNS
    odd = pd.DataFrame({"url": [None, np.nan, "x" * 8000, "https://ü.example/ß"], "new_urls": 1.0})
    curve = ck.discovery_curve(odd, by=by)
    assert len(curve) == 4
    assert curve["rate"].notna().all()


@pytest.mark.parametrize(
    ("source", "options", "name"),
    [
        (None, {}, "crawl_or_fetches"),
        (pd.DataFrame({"url": ["a"]}), {}, "crawl_or_fetches"),
        (pd.DataFrame({"new_urls": [1]}), {"by": "section"}, "crawl_or_fetches"),
        (pd.DataFrame({"new_urls": [1]}), {"by": "page"}, "by"),
        (pd.DataFrame({"new_urls": [1]}), {"window": 1}, "window"),
        (pd.DataFrame({"new_urls": [1]}), {"window": 2.5}, "window"),
    ],
)
def test_wrong_arguments_are_told(source: object, options: dict, name: str) -> None:
    with pytest.raises(ck.BadSetting, match=name):
        ck.discovery_curve(source, **options)


def test_sections_are_host_and_first_folder() -> None:
    assert section_of("https://example.com") == "example.com/"
    assert section_of("https://example.com/?a=/b/") == "example.com/"
    assert section_of("https://example.com/a/b/c") == "example.com/a/"


# --- the size -----------------------------------------------------------------------------------


def test_most_intervals_cover_at_a_third_and_none_starts_under_what_is_known() -> None:
    covered, widths = 0, []
    for seed in range(12):
        whole = lab.walk([lab.Finite(pages=(60, 150, 300)[seed % 3])], seed=seed, max_pages=2000)
        crawl = whole.first(len(whole.pages) // 3)
        size = ck.estimate_size(crawl)
        assert size.low >= len(crawl.urls) == size.known
        assert size.low <= size.pages <= size.high
        covered += size.low <= len(whole.pages) <= size.high
        widths.append((size.high - size.low) / len(whole.pages))
    assert covered >= 10
    assert np.median(widths) <= 2.5


def test_a_finished_crawl_is_complete() -> None:
    size = ck.estimate_size(lab.walk(["shop"], max_pages=1000))
    assert (size.verdict, size.low, size.pages, size.high) == ("complete", 526, 526.0, 526.0)
    assert size.left == 0
    assert "526" in str(size)


def test_a_trap_makes_a_site_unbounded_until_it_is_set_aside() -> None:
    crawl = lab.walk([lab.Finite(pages=80), "sessions"], seed=1, max_pages=400)
    size = ck.estimate_size(crawl)
    assert size.verdict == "unbounded"
    assert math.isinf(size.pages)
    assert size.traps
    assert "no end" in size._repr_html_()
    urls = crawl.urls.copy()
    urls.loc[[crawl.truth.is_trap(url) for url in urls["url"]], "state"] = "excluded"
    real = ck.estimate_size({"pages": crawl.pages, "urls": urls})
    assert real.verdict != "unbounded"
    assert any("not counted" in limit for limit in real.limits)


def test_a_section_of_which_nothing_was_fetched_is_named_as_a_limit() -> None:
    crawl = lab.walk([lab.Finite(pages=60), "shop"], seed=1, max_pages=2)
    size = ck.estimate_size(crawl)
    assert size.verdict == "undecided"
    assert any("lab.example/shop/" in limit for limit in size.limits)
    assert list(size.table) == [
        *("verdict", "known", "fetched", "pending", "pages", "low", "high", "left")
    ]


def test_a_region_that_may_never_end_leaves_the_upper_end_open_and_is_named() -> None:
    size = ck.estimate_size(lab.walk(["finite", "events"], seed=3, max_pages=500))
    assert (size.verdict, size.high) == ("open", float("inf"))
    assert any("lab.example/events/" in limit for limit in size.limits)


def test_urls_that_patterns_set_aside_are_told() -> None:
    urls = pd.DataFrame(
        {
            "url": [f"http://a.example/{n}" for n in range(4)],
            "state": ["done", "excluded", "excluded", "excluded"],
            "reason": [None, "pattern", "pattern", "robots"],
        }
    )
    size = ck.estimate_size({"pages": urls.head(1)[["url"]].assign(status=200), "urls": urls})
    assert size.aside == 2
    assert str(size).endswith("2 URLs set aside by patterns")


def test_the_estimate_plots_the_curve_it_rests_on() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    ax = ck.estimate_size(lab.walk(["shop"], max_pages=100)).plot()
    assert ax.get_ylabel() == "new URLs per page"
    plt.close(ax.figure)


@pytest.mark.parametrize("wrong", [None, {}, pd.DataFrame({"new_urls": [1]})])
def test_a_size_needs_a_crawl(wrong: object) -> None:
    with pytest.raises(ck.BadSetting, match="crawl"):
        ck.estimate_size(wrong)


def test_the_curve_of_a_crawl_is_that_of_its_table_of_fetches(tmp_path: Path) -> None:
    with lab.serve(["shop"]) as site:
        crawl = ck.crawl(site.url, tmp_path / "crawl", delay=0, max_pages=40, progress=False)
    for by in (None, "template"):
        of_crawl = ck.discovery_curve(crawl, by=by)
        pd.testing.assert_frame_equal(of_crawl, ck.discovery_curve(crawl.fetches, by=by))


def test_tables_that_do_not_tell_what_waits_or_where_it_was_found_bound_nothing() -> None:
    crawl = lab.walk(["finite", "searches"], seed=5, max_pages=400)
    alone = ck.estimate_size({"pages": crawl.pages})
    assert (alone.verdict, alone.low, alone.high) == ("undecided", 400, math.inf)
    urls = crawl.urls[["url", "state"]]
    without = ck.estimate_size({"pages": crawl.pages.drop(columns="text_hash"), "urls": urls})
    assert (without.verdict, without.low, without.high) == ("undecided", len(urls), math.inf)
    assert any(limit.startswith("urls.found_on:") for limit in without.limits)
    done = urls[urls["state"] == "done"]
    assert ck.estimate_size({"pages": crawl.pages, "urls": done}).verdict == "complete"
