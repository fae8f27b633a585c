"""The trap zoo of the practice site: endless traps, real pages that are found, a true truth."""

from __future__ import annotations

from urllib.parse import urljoin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_client import Client

import crawlkit as ck
from crawlkit import lab
from crawlkit.lab.site import Site, make_sections
from crawlkit.lab.zoo import KINDS

BASE = "http://lab.example/"
NAMES = sorted(KINDS)


SMALL = {"views": lab.Views(items=40), "listing": lab.Listing(items=60)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_real_pages_are_all_found_and_the_trap_outgrows_them(name: str, seed: int) -> None:
    crawl = lab.walk([SMALL.get(name, name)], seed=seed, max_pages=320)
    truth = crawl.truth
    assert (crawl.pages["status"] == 200).all()
    real = {url for url in truth.urls(name) if not truth.is_trap(url)}
    known = set(crawl.urls["url"])
    assert real <= known
    assert {url for url in known if not truth.is_trap(url)} == real | {BASE}
    assert len(known - real) > 100
    if name != "copies":  # these come to an end
        assert crawl.urls["state"].eq("pending").any()
        assert len(crawl.pages) == 320


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_lists_the_first_trap_urls_and_knows_all_others(name: str) -> None:
    site = Site(make_sections([name]), 3, [BASE])
    truth = lab.Truth(site)
    section = site.sections[0]
    listed = [row for row in truth.rows if row.is_trap]
    assert len(listed) == section.shown
    assert all(row.status == 200 for row in listed)
    assert not truth.is_trap(BASE)
    assert not truth.is_trap("http://elsewhere.example/events/2030-01")
    assert truth.traps == [BASE + name + "/"]


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_the_same_bytes_and_another_seed_others(name: str) -> None:
    def bodies(seed: int) -> list[bytes]:
        crawl = lab.walk([name], seed=seed, max_pages=30)
        return [crawl.body(url) for url in crawl.pages["url"]]

    assert bodies(5) == bodies(5)
    assert bodies(5) != bodies(6)


def test_a_trap_is_served_as_it_is_walked() -> None:
    client = Client()
    with lab.serve(NAMES, seed=2) as site:
        for name in NAMES:
            rows = [row for row in site.truth.rows if row.section == name][:4]
            trap = [row for row in site.truth.rows if row.section == name and row.is_trap][:2]
            for row in (*rows, *trap):
                assert client.get(row.url).status == 200
        client.close()


def test_hidden_links_cannot_be_seen_and_the_others_can() -> None:
    from crawlkit.audit.page_links import is_hidden
    from crawlkit.web.html import parse_page

    crawl = lab.walk(["hidden"], max_pages=2)
    page = parse_page(crawl.body(BASE + "hidden/"), url=BASE + "hidden/")
    seen = {
        urljoin(BASE, node.attributes["href"] or ""): not is_hidden(node)
        for node in page.css("a[href]")
    }
    assert len(seen) > 30
    for url, shown in seen.items():
        assert shown != crawl.truth.is_trap(url)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(NAMES), st.text(max_size=30), st.integers(0, 9))
def test_no_path_breaks_a_trap(name: str, tail: str, seed: int) -> None:
    site = Site(make_sections([name]), seed, [BASE])
    answer = site.answer(0, f"/{name}/{tail}")
    assert answer.status in {200, 404}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([50, 120, 260]))
def test_a_finite_site_has_about_the_pages_asked_for_and_links_reach_all(
    seed: int, pages: int
) -> None:
    crawl = lab.walk([lab.Finite(pages=pages)], seed=seed, max_pages=5 * pages)
    found = set(crawl.pages["url"]) - {BASE}
    assert found == crawl.truth.urls("finite")
    assert (crawl.pages["status"] == 200).all()
    assert 0.8 * pages - 5 <= len(found) <= 1.2 * pages + 5
    assert not any(map(crawl.truth.is_trap, found))


def test_the_walk_gives_the_tables_of_a_crawl(tmp_path) -> None:
    with lab.serve(["shop"], seed=4) as site:
        crawl = ck.crawl(
            site.url, tmp_path / "crawl", delay=0, workers=1, max_pages=80, progress=False
        )
        real = {name: getattr(crawl, name) for name in ("pages", "urls", "fetches", "links")}
        base = site.url
    walk = lab.walk(["shop"], seed=4, max_pages=80)
    for name, columns in {
        "pages": ["url", "status", "title", "text_hash", "words", "new_urls", "found_on"],
        "urls": ["url", "state", "depth", "found_on"],
        "fetches": ["new_urls", "known_urls", "frontier_size"],
        "links": ["source", "target", "region", "text", "kind", "new"],
    }.items():
        table = real[name]
        if name == "fetches":
            table = table[table["new_urls"].notna()]
        for column in columns:
            values = [str(v).replace(base, BASE) for v in table[column].fillna("none")]
            assert values == [str(v) for v in walk.tables[name][column].fillna("none")], column


def test_an_earlier_state_of_a_walk_is_what_a_shorter_walk_gives() -> None:
    long, short = lab.walk(["events"], max_pages=90), lab.walk(["events"], max_pages=40)
    cut = long.first(40)
    assert cut.urls["url"].tolist() == short.urls["url"].tolist()
    assert cut.urls["state"].tolist() == short.urls["state"].tolist()
    assert cut.links["href"].tolist() == short.links["href"].tolist()


def test_a_walk_ends_when_it_is_told_to() -> None:
    crawl = lab.walk(["shop"], until=lambda url: "product" in url)
    assert "product" in crawl.pages["url"].iloc[-1]
    assert not any("product" in url for url in crawl.pages["url"].iloc[:-1])
    with pytest.raises(ck.BadSetting, match="max_pages"):
        lab.walk(["shop"], max_pages=0)
