"""Seeds that bring a source, a date and a place: where they go, and what hostile tables do."""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from crawls import crawl, names, page, serve
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit.crawling.seeds import seeds_from_argument

RULES = ck.UrlRules()
DAY = pd.Timestamp("2024-05-01", tz="UTC")


def seeds_of(**columns: Any) -> list[Any]:
    count = max(len(values) for values in columns.values())
    urls = [f"http://a.example/{number}" for number in range(count)]
    # As objects, so that pandas neither converts nor refuses anything.
    table = pd.DataFrame({"url": urls, **columns}, dtype=object)
    return seeds_from_argument(table, RULES)


def urls_of(done: ck.Crawl) -> pd.DataFrame:
    urls = done.urls
    urls.index = pd.Index(names(urls["url"]))
    return urls


def test_provenance_stays_in_urls(tmp_path: Path) -> None:
    with serve({"": page("b", "new"), "a": page(), "b": page(), "new": page()}) as site:
        base = site.url + "t/"
        table = pd.DataFrame(
            {
                "loc": [base, base + "a", base + "b"],
                "source": ["sitemap", "feed", None],
                "lastmod": [DAY, pd.NaT, DAY - pd.Timedelta("90min")],
                "found_in": [base + "sitemap.xml", base + "feed", None],
            }
        )
        done = crawl(table, tmp_path / "c")
        urls = urls_of(done)
        assert urls["source"].tolist() == ["sitemap", "feed", "sitemap", "link"]
        found_on = urls["found_on"].astype(object).where(urls["found_on"].notna(), None)
        assert found_on.tolist() == [base + "sitemap.xml", base + "feed", None, base]
        assert str(urls["lastmod"].dtype) == "datetime64[us, UTC]"
        assert urls["lastmod"].isna().tolist() == [False, True, False, True]
        assert urls["lastmod"].iloc[0] == DAY
        assert urls["lastmod"].iloc[2] == DAY - pd.Timedelta("90min")
        assert urls.equals(urls_of(ck.open_crawl(done.folder)))
        files = pd.read_parquet(done.folder / "urls")
        assert files["lastmod"].tolist() == urls["lastmod"].tolist()


def test_seeds_without_provenance_are_seeds(tmp_path: Path) -> None:
    with serve({"": page()}) as site:
        for number, seeds in enumerate((site.url + "t/", [site.url + "t/"])):
            urls = crawl(seeds, tmp_path / str(number)).urls
            assert urls["source"].tolist() == ["seed"]
            assert urls[["found_on", "lastmod"]].isna().all(axis=None)


class ByLastmod(ck.Ordering):
    """The latest lastmod goes first; it notes what it hears of dates."""

    name = "by_lastmod"

    def start(self, page: ck.FoundPage) -> float:
        return page.lastmod or 0.0


def test_lastmod_reaches_the_ordering_also_after_a_resume(tmp_path: Path) -> None:
    pages = {name: page() for name in ("", "a", "b", "c")}
    with serve(pages) as site:
        base = site.url + "t/"
        table = pd.DataFrame(
            {"url": [base + name for name in pages], "lastmod": ["2020", "2022", None, "2024-05"]}
        )
        priority = ck.ORDERINGS["priority"](now=DAY.timestamp(), half_life=900, lastmod=9)  # type: ignore[call-arg]
        for order in (priority, ByLastmod()):
            done = crawl(table, tmp_path / order.name, order=order, workers=1, max_pages=1)
            crawl(table, tmp_path / order.name, order=order, workers=1)
            asked = [url for url in done.fetches["url"] if "/t/" in url]
            assert names(asked) == ["c", "a", "", "b"]


def test_a_seed_that_was_found_by_a_link_keeps_that_and_takes_a_date(tmp_path: Path) -> None:
    pages = {"": page("a", "b", "c"), "a": page(), "b": page(), "c": page()}
    with serve(pages) as site:
        base = site.url + "t/"
        done = crawl(base, tmp_path / "c", max_pages=1, order=ByLastmod(), workers=1)
        table = pd.DataFrame(
            {
                "url": [base + "b", base + "c", base + "c"],
                "source": "sitemap",
                "lastmod": ["2021-01-01", "2024-05-01", "2025-01-01"],
                "found_in": "sitemap.xml",
            }
        )
        crawl(table, tmp_path / "c", order=ByLastmod(), workers=1)
        urls = urls_of(done)
        assert urls.loc["c", "source"] == "link"
        assert urls.loc["c", "found_on"] == base
        assert urls.loc["c", "lastmod"] == DAY  # the first that was given
        assert urls.loc["b", "lastmod"] == pd.Timestamp("2021-01-01", tz="UTC")
        assert urls["lastmod"].isna()["a"]
        # What waited goes by the date that came late.
        assert names(url for url in done.fetches["url"] if "/t/" in url) == ["", "c", "b", "a"]


def test_a_refused_link_that_becomes_a_seed_is_one(tmp_path: Path) -> None:
    with serve({"": page("a"), "a": page()}) as site:
        base = site.url + "t/"
        done = crawl(base, tmp_path / "c", exclude="/t/a")
        assert urls_of(done).loc["a", "state"] == "excluded"
        table = pd.DataFrame({"url": [base + "a"], "source": "feed", "found_in": "feed.xml"})
        crawl(table, tmp_path / "c", exclude="/t/a")
        row = urls_of(done).loc["a"]
        assert (row["state"], row["source"], row["found_on"]) == ("done", "feed", "feed.xml")


@pytest.mark.parametrize(("given", "kept"), [
    ("sitemap", "sitemap"),
    ("x" * 10_000, "x" * 64),
    ("  two\n lines\x00\ud800 ", "two lines\ufffd\ufffd"),
    ("", "seed"), (None, "seed"), (math.nan, "seed"), (pd.NA, "seed"), (17, "seed"),
    ("link", "seed"), ("redirect", "seed"), ("warc", "seed"),  # what only a crawl says
])  # fmt: skip
def test_a_source_is_one_short_line(given: Any, kept: str) -> None:
    assert [seed.source for seed in seeds_of(source=[given])] == [kept]


@pytest.mark.parametrize(("given", "kept"), [
    ("2024-05-01T02:00:00+02:00", DAY), ("2024-05", DAY), ("2024-05-01", DAY),
    (pd.Timestamp("2024-05-01 09:00", tz="Asia/Tokyo"), DAY), (dt.date(2024, 5, 1), DAY),
    (dt.datetime(2024, 5, 1), DAY), (np.datetime64("2024-05-01"), DAY),
    (pd.NaT, None), (None, None), (math.nan, None), ("", None), ("yesterday", None),
    ("05/01/2024", None), (20240501, None), (True, None), ("9" * 10_000, None),
])  # fmt: skip
def test_a_lastmod_is_a_moment_in_utc_or_null(given: Any, kept: pd.Timestamp | None) -> None:
    for others in ([], ["2024-01-01T00:00:00-05:00", None]):  # mixed with others, as in real tables
        column = pd.Series([given, *others], dtype=object)
        found = seeds_of(lastmod=column)[0].lastmod
        assert found == (None if kept is None else kept.timestamp())


@pytest.mark.parametrize(("given", "kept"), [
    ("https://a.example/sitemap.xml", "https://a.example/sitemap.xml"),
    ("https://me:secret@a.example/s.xml", "https://a.example/s.xml"),
    ("lists/seeds.csv", "lists/seeds.csv"), (Path("seeds.csv"), "seeds.csv"),
    ("y" * 9_999, "y" * 2_048), (None, None), (math.nan, None), ("\x00", "\ufffd"), (" ", None),
])  # fmt: skip
def test_a_place_is_text_without_secrets(given: Any, kept: str | None) -> None:
    assert [seed.found_in for seed in seeds_of(found_in=[given])] == [kept]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.text(max_size=9), st.integers(), st.floats()),
            st.one_of(
                st.none(),
                st.text(max_size=9),
                st.datetimes(timezones=st.sampled_from([None, dt.UTC])),
                st.floats(),
            ),
            st.one_of(st.none(), st.text(max_size=9), st.binary(max_size=3)),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_no_table_breaks_the_reading_of_seeds(rows: list[tuple[Any, Any, Any]]) -> None:
    source, lastmod, found_in = (
        pd.Series([row[place] for row in rows], dtype=object) for place in range(3)
    )
    for seed in seeds_of(source=source, lastmod=lastmod, found_in=found_in):
        assert seed.source
        assert len(seed.source) <= 64
        assert seed.lastmod is None or math.isfinite(seed.lastmod)
        assert seed.found_in is None or seed.found_in.encode()


def test_hostile_provenance_goes_through_a_crawl(tmp_path: Path) -> None:
    with serve({"": page(), "a": page(), "b": page()}) as site:
        base = site.url + "t/"
        table = pd.DataFrame(
            {
                "url": [base, base + "a", base + "b"],
                "source": pd.Series(
                    ["x" * 10_000, math.nan, "\ud800'; DROP TABLE urls"], dtype=object
                ),
                "lastmod": pd.Series(
                    [
                        dt.datetime(1, 1, 1),
                        "9999-12-31",
                        pd.Timestamp("2024-05-01", tz="Asia/Tokyo"),
                    ],
                    dtype=object,
                ),
                "found_in": ["<script>", math.nan, "z" * 99_999],
            }
        )
        done = crawl(table, tmp_path / "c")
        urls = urls_of(done)
        assert done.finished
        assert urls["source"].str.len().max() == 64
        assert urls["lastmod"].dt.year.tolist() == [1, 9999, 2024]


def test_two_columns_of_one_name_are_an_error_that_says_so() -> None:
    table = pd.DataFrame([["http://a.example/", "x", "y"]], columns=["url", "source", "source"])
    with pytest.raises(ck.BadSetting, match="two columns 'source'"):
        seeds_from_argument(table, RULES)


def test_the_urls_of_one_crawl_can_seed_another(tmp_path: Path) -> None:
    with serve({"": page("a"), "a": page()}) as site:
        first = crawl(site.url + "t/", tmp_path / "a")
        urls = crawl(first.urls, tmp_path / "b").urls
        assert urls["source"].tolist() == ["seed", "seed"]
        with closing(sqlite3.connect(tmp_path / "b" / "crawl.sqlite")) as connection:
            assert connection.execute("SELECT count(DISTINCT depth) FROM urls").fetchone() == (1,)


def test_an_empty_table_of_seeds_is_a_crawl_that_is_done(tmp_path: Path) -> None:
    """On a quiet day nothing changed in the sitemap, and that is no mistake."""
    nothing = pd.DataFrame({"url": pd.Series([], dtype="str")})
    crawl = ck.crawl(nothing, tmp_path, progress=False)
    assert (crawl.stop_reason, len(crawl.pages), len(crawl.urls)) == ("finished", 0, 0)
    with pytest.raises(ck.BadSetting, match="there is none"):
        ck.crawl([], tmp_path / "list", progress=False)
