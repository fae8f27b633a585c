"""Coverage: sitemap, links and archive against each other, over real HTTP and on tables."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from crawls import crawl as run_crawl
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit import lab
from crawlkit.audit.coverage import FINDINGS

BASE = "http://a.example/"


class Covered:
    """The faulty shop, crawled over HTTP, with what an archive is said to know."""

    def __init__(self, folder: Any) -> None:
        with lab.serve([lab.Faulty(seconds=0, size=1_000)]) as site:
            self.base = site.url + "faulty/"
            self.crawl = run_crawl(self.base, folder)
            self.entries = ck.read_sitemaps(site.url, progress=False)
        self.archive = pd.DataFrame(
            {"url": [self.base + "vanished", self.base + "product-1?utm_source=old"]}
        )
        self.coverage = ck.compare_coverage(self.crawl, self.entries, self.archive)

    def row(self, path: str) -> Any:
        table = self.coverage.table
        rows = table[table["url"].str.removeprefix(self.base) == path]
        assert len(rows) == 1, path
        return rows.iloc[0]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Covered:
    return Covered(tmp_path_factory.mktemp("coverage") / "crawl")


@pytest.mark.parametrize(
    ("path", "sitemap", "links", "archive", "fetched", "finding"),
    [
        ("orphan", True, False, False, False, "orphan"),
        ("product-1", True, True, True, True, "listed_and_linked"),
        ("product-2", False, True, False, True, "unlisted"),
        ("landing", True, True, False, True, "listed_and_linked"),  # through a redirect
        ("vanished", False, False, True, False, "archive_only"),
        ("gone", False, True, False, True, "unlisted"),
    ],
)
def test_where_a_url_is_known_from(
    shop: Covered, path: str, sitemap: bool, links: bool, archive: bool, fetched: bool, finding: str
) -> None:
    row = shop.row(path)
    assert (row["in_sitemap"], row["in_links"], row["in_archive"]) == (sitemap, links, archive)
    assert (row["fetched"], row["finding"]) == (fetched, finding)


def test_status_depth_and_state_stand_beside_it(shop: Covered) -> None:
    gone = shop.row("gone")
    # To the product, by its link or its print view's; the canonical leads there as well.
    assert (gone["status"], gone["state"]) == (404, "done")
    assert gone["depth"] == shop.crawl.pages.set_index("url").loc[shop.base + "gone", "depth"]
    assert pd.isna(shop.row("vanished")["state"])
    assert pd.isna(shop.row("orphan")["status"])


def test_spellings_of_one_address_are_one_row(shop: Covered) -> None:
    table = shop.coverage.table
    found = table[table["url"].str.contains("linked-once")]
    assert found["finding"].tolist() == ["listed_and_linked"]
    assert table["url"].is_unique


def test_other_hosts_are_no_part_of_it(shop: Covered) -> None:
    assert not shop.coverage.table["url"].str.contains("shop.example.com").any()


def test_sections_add_up_to_the_table(shop: Covered) -> None:
    table, sections = shop.coverage.table, shop.coverage.sections
    assert sections["urls"].sum() == len(table)
    for name in ("in_sitemap", "in_links", "in_archive", "fetched"):
        assert sections[name].sum() == table[name].sum()
    for name in FINDINGS:
        assert sections[name].sum() == (table["finding"] == name).sum()
    assert sections["ok"].sum() == (table["status"] == 200).sum()


def test_without_an_archive_nothing_is_said_of_it(shop: Covered) -> None:
    coverage = ck.compare_coverage(shop.crawl, shop.entries)
    assert coverage.table["in_archive"].isna().all()
    assert coverage.sections["in_archive"].isna().all()
    assert coverage.table.dtypes.to_dict() == shop.coverage.table.dtypes.to_dict()
    assert coverage.sections.dtypes.to_dict() == shop.coverage.sections.dtypes.to_dict()


def test_tables_in_memory_tell_what_the_folder_tells(shop: Covered) -> None:
    tables = {name: getattr(shop.crawl, name) for name in ("pages", "links", "urls")}
    again = ck.compare_coverage(tables, shop.entries, shop.archive)
    pd.testing.assert_frame_equal(again.table, shop.coverage.table)
    del tables["urls"]  # then links tell what is known
    bare = ck.compare_coverage(tables, shop.entries, shop.archive).table
    pd.testing.assert_series_equal(bare["finding"], again.table["finding"])


def test_what_is_shown_is_escaped_and_counted(shop: Covered) -> None:
    assert "1 orphan" in str(shop.coverage)
    evil = ck.compare_coverage({"pages": pd.DataFrame({"url": [BASE + "<script>/x"]})}, [])
    assert "<script" not in evil._repr_html_()


# -- the picture ---------------------------------------------------------------------------


def test_the_picture_names_orphans_first(shop: Covered) -> None:
    ax = ck.plot_coverage(shop.coverage)
    assert "1 in the sitemap that no page links to" in ax.get_title()
    assert ax.get_xlabel() == "URLs"
    _, labels = ax.get_legend_handles_labels()
    assert "in sitemap only" in labels
    assert shop.coverage.plot(ax=ax) is ax
    plt.close("all")


def test_sections_beyond_those_shown_share_a_bar() -> None:
    pages = pd.DataFrame({"url": [f"{BASE}s{n}/p" for n in range(6)]})
    coverage = ck.compare_coverage({"pages": pages}, pages["url"])
    ax = ck.plot_coverage(coverage.sections, sections=2)
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "4 other sections"
    plt.close("all")


def test_pictures_of_nothing_and_of_no_coverage() -> None:
    empty = ck.compare_coverage({"pages": pd.DataFrame({"url": []})}, [])
    assert ck.plot_coverage(empty).get_title() == "No URL is known"
    plt.close("all")
    with pytest.raises(ck.BadSetting, match=r"^coverage: "):
        ck.plot_coverage(pd.DataFrame({"section": ["a"]}))
    with pytest.raises(ck.BadSetting, match=r"^sections: "):
        ck.plot_coverage(empty, sections=0)


# -- input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((7, []), "crawl"),
        (({"pages": pd.DataFrame({"url": [BASE]})}, None), "entries"),
        (({"pages": pd.DataFrame({"url": [BASE]})}, BASE), "entries"),
        (({"pages": pd.DataFrame({"url": [BASE]})}, [], 7), "archive"),
        (({"pages": pd.DataFrame({"url": [BASE]})}, pd.DataFrame({"a": [1]})), "entries"),
    ],
)
def test_wrong_arguments_are_named(arguments: tuple[Any, ...], name: str) -> None:
    with pytest.raises(ck.BadSetting, match=rf"^{name}: "):
        ck.compare_coverage(*arguments)


def test_strange_urls_are_rows_like_others() -> None:
    long = BASE + "x" * 8_000
    pages = pd.DataFrame({"url": [long, BASE + "日本", None, 7], "depth": [1, None, 2, 3]})
    listed = [long, "no url", "", None, BASE + "%E6%97%A5%E6%9C%AC"]
    coverage = ck.compare_coverage({"pages": pages}, listed)
    assert len(coverage.table) == 3
    assert coverage.table["in_sitemap"].all()
    assert coverage.sections["urls"].sum() == 3


URLS = st.lists(st.sampled_from([f"{BASE}{part}/{n}" for part in "ab" for n in range(4)]))


@settings(max_examples=10, deadline=None)
@given(URLS, URLS, URLS, URLS)
def test_every_url_is_in_one_place(
    fetched: list[str], linked: list[str], listed: list[str], archived: list[str]
) -> None:
    tables = {
        "pages": pd.DataFrame({"url": [BASE, *fetched]}),
        "links": pd.DataFrame({"source": [BASE] * len(linked), "target": linked}),
    }
    table = ck.compare_coverage(tables, listed, archived).table.set_index("url")
    assert set(table.index) == {BASE, *fetched, *linked, *listed, *archived}
    assert set(table.index[table["in_links"]]) == set(linked)
    assert set(table.index[table["in_sitemap"]]) == set(listed)
    assert set(table.index[table["finding"] == "orphan"]) == set(listed) - set(linked)
    unlisted = set(table.index[table["finding"] == "unlisted"])
    assert unlisted == {BASE, *linked} - set(listed)  # a home page needs no link
