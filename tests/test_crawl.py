"""Whole crawls of the practice site: pages, redirects, canonicals, orderings, tables, manners."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import warnings
from typing import TYPE_CHECKING, ClassVar

import pandas as pd
import pytest
from crawls import (
    Spread,
    crawl,
    interrupt_when,
    names,
    page,
    paths,
    reasons,
    row,
    serve,
    star,
)

import crawlkit as ck
from crawlkit import lab
from crawlkit.crawling.privacy import private_allowance
from crawlkit.web.fetch import REASONS, Fetcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

# -- one crawl of many sections, looked at from many sides ---------------------------------


@pytest.fixture(scope="module")
def site() -> Iterator[lab.PracticeSite]:
    sections = ("shop", "redirects", "broken", "canonical", "files", "robots", "deep")
    with lab.serve(sections, hosts=2) as made:
        yield made


@pytest.fixture(scope="module")
def whole(site: lab.PracticeSite, tmp_path_factory: pytest.TempPathFactory) -> ck.Crawl:
    site.forget()
    folder = tmp_path_factory.mktemp("whole") / "c"
    return crawl(
        site.url,
        folder,
        max_pages=None,
        extract=lab.extract_product,
        http=ck.Http(retries=0),
    )


def closure(site: lab.PracticeSite) -> set[str]:
    """What a crawl of the first host must ask for: links and redirects that robots.txt allows."""
    found, waiting = set(), [site.url]
    while waiting:
        url = waiting.pop().partition("#")[0]
        if url in found or not url.startswith(site.url) or not site.truth.page(url).allowed:
            continue
        found.add(url)
        waiting += site.truth.links_of(url)
        if target := site.truth.page(url).redirects_to:
            waiting.append(target)
    # A canonical is a way to a page as well, and this one has no other.
    return found | {site.url + "canonical/not-there"}


def test_a_crawl_asks_for_every_reachable_page_once(
    site: lab.PracticeSite, whole: ck.Crawl
) -> None:
    expected = closure(site)
    assert len(expected) > 600
    assert whole.finished
    assert set(whole.pages["url"]) == expected
    assert site.repeats() == 0
    assert {each.url for each in site.requests} == expected | {site.url + "robots.txt"}


def test_every_status_is_as_the_site_answered(site: lab.PracticeSite, whole: ck.Crawl) -> None:
    found = whole.pages.set_index("url")["status"]
    assert found.pop(site.url + "canonical/not-there") == 404
    for url in found.index:
        assert found[url] == site.truth.page(url).status, url


def test_depth_counts_links_and_not_redirects(site: lab.PracticeSite, whole: ck.Crawl) -> None:
    found = whole.pages.set_index("url")["depth"]
    for url in set(found.index) - {site.url, site.url + "canonical/not-there"}:
        # The truth counts from a section's first page, which the home page links to.
        assert found[url] - 1 == site.truth.page(url).depth, url


def test_every_product_is_a_record(site: lab.PracticeSite, whole: ck.Crawl) -> None:
    products = site.truth.products
    products = products[products["url"].str.startswith(site.url)]
    found = whole.records.sort_values("id", ignore_index=True)
    expected = products.sort_values("id", ignore_index=True)
    assert len(expected) == 500
    for column in ("id", "url", "name", "price", "stock", "category"):
        assert found[column].tolist() == expected[column].tolist(), column


def test_links_are_those_of_the_site(site: lab.PracticeSite, whole: ck.Crawl) -> None:
    links = whole.links
    ways = links[links["kind"].isin(["anchor", "pagination"]) & links["internal"]]
    found = {(s, t) for s, t in zip(ways["source"], ways["target"], strict=True) if s != t}
    truth = site.truth.links
    asked = set(whole.pages["url"])
    expected = {
        (source, target)
        for source, target in zip(truth["source"], truth["target"], strict=True)
        if source in asked and target.startswith(site.url) and source != target
    }
    # A page without a Content-Type is one all the same.
    expected.add((site.url + "files/untyped", site.url + "files/"))
    assert found == expected


# -- tables --------------------------------------------------------------------------------

COLUMNS = {
    "pages": "url key url_hash host depth found_on status error content_type size wire_bytes "
    "fetched_at elapsed redirected_to title description h1 lang words canonical canonicals robots "
    "indexable hreflang etag last_modified date_modified date_modified_source date_published "
    "body_hash text_hash text_hash_by expected_found links_found new_urls attempts round",
    "links": "source target href position region text rel kind internal new",
    "fetches": "seq url host started_at elapsed status error wire_bytes attempt round new_urls "
    "known_urls frontier_size",
    "urls": "url key url_hash host depth state reason score found_on found_seq source",
    "records": "record_id version_key id url content_hash first_seen last_changed",
    "events": "at kind url host detail",
}
TIMES = """
fetched_at last_modified date_modified date_published started_at first_seen last_changed at
"""
NUMBERS = """
url_hash depth status size wire_bytes words links_found new_urls attempts round position seq attempt
known_urls frontier_size found_seq
"""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ck.Crawl]:
    """A crawl that ended before its first page."""
    with serve({}, robots="User-agent: *\nDisallow: /\n") as site:
        yield crawl(site.url + "t/", tmp_path_factory.mktemp("empty") / "c")


@pytest.mark.parametrize("table", COLUMNS)
def test_tables_have_the_documented_columns_and_types_also_when_empty(
    whole: ck.Crawl, empty: ck.Crawl, table: str
) -> None:
    full, bare = getattr(whole, table), getattr(empty, table)
    wanted = COLUMNS[table].split()
    for frame in (full, bare):
        assert [name for name in wanted if name not in frame.columns] == []
        for name in wanted:
            kind = str(frame[name].dtype)
            if name in TIMES.split():
                assert kind == "datetime64[us, UTC]", name
            elif name in NUMBERS.split():
                assert kind == "Int64", name
            elif name in ("elapsed", "score"):
                assert kind == "float64", name
            elif name in ("internal", "new", "indexable", "expected_found"):
                assert kind == "boolean", name
            elif name in ("canonicals", "hreflang"):
                assert kind == "object", name
            else:
                assert kind == "str", name
    assert full.dtypes[wanted].equals(bare.dtypes[wanted])
    if table in ("pages", "links", "records"):
        assert len(bare) == 0
    # A missing value is null, never an empty text.
    for frame in (full, bare):
        for name in frame.columns:
            if str(frame[name].dtype) == "str":
                assert not (frame[name] == "").any(), name


def test_a_link_is_known_by_its_source_and_position(whole: ck.Crawl) -> None:
    links = whole.links
    assert not links.duplicated(["source", "position"]).any()
    assert links.groupby("source")["position"].min().eq(0).all()
    urls = set(whole.urls["url"])
    assert set(links["source"]) <= urls
    assert set(links["target"]) <= urls


def test_fetches_are_all_requests_numbered_without_a_gap(
    site: lab.PracticeSite, whole: ck.Crawl
) -> None:
    fetches = whole.fetches
    assert fetches["seq"].tolist() == list(range(1, len(site.requests) + 1))
    assert sorted(fetches["url"]) == sorted(each.url for each in site.requests)
    log = {each.url: each for each in site.requests}
    for url, status, started in zip(
        fetches["url"], fetches["status"], fetches["started_at"], strict=True
    ):
        assert status == log[url].status
        assert abs(started.timestamp() - log[url].epoch) < 1.0
    assert (fetches["known_urls"].diff().dropna() >= 0).all()
    assert fetches["known_urls"].iloc[-1] == len(whole.urls)
    assert fetches["frontier_size"].iloc[-1] == 0
    # Every URL but the seed was new to the page that it was found on.
    assert fetches["new_urls"].sum() == whole.pages["new_urls"].sum() == len(whole.urls) - 1


def test_urls_tell_where_each_was_found(site: lab.PracticeSite, whole: ck.Crawl) -> None:
    urls, links = whole.urls, whole.links
    assert urls["url"].is_unique
    assert urls["found_seq"].tolist() == list(range(len(urls)))
    assert urls["found_on"].isna().sum() == 1
    found = urls.dropna(subset="found_on")
    pairs = set(zip(links["source"], links["target"], strict=True))
    assert set(zip(found["found_on"], found["url"], strict=True)) <= pairs
    assert set(urls["source"]) == {"seed", "link", "redirect"}
    first = links[links["new"]]
    assert sorted(first["target"]) == sorted(found["url"])
    merged = whole.pages.merge(urls, on="url", suffixes=("", "_urls"))
    for name in ("key", "url_hash", "host", "depth"):
        assert (merged[name] == merged[f"{name}_urls"]).all(), name
    assert merged["found_on"].fillna("").tolist() == merged["found_on_urls"].fillna("").tolist()


def test_every_reason_is_a_code_that_is_explained(whole: ck.Crawl) -> None:
    reasons_found = set(whole.urls["reason"].dropna()) | set(whole.pages["error"].dropna())
    known = set(REASONS) | {"robots", "scope", "not_followed", "not_html"}
    assert {code for code in reasons_found if not code.startswith("http_")} <= known


def test_bodies_are_kept_as_they_came(site: lab.PracticeSite, whole: ck.Crawl) -> None:
    listing = row(whole.pages, site.url + "shop/")
    body = whole.body(site.url + "shop/")
    assert len(body) == listing["size"]
    assert b"All products, page 1" in body
    assert whole.body(site.url + "shop/?utm_source=x") == body  # any spelling of one key
    with pytest.raises(ck.BadURL, match="not_in_this_crawl"):
        whole.body(site.url + "nowhere")


# -- redirects -----------------------------------------------------------------------------


def test_each_hop_is_a_page_a_url_and_one_link(site: lab.PracticeSite, whole: ck.Crawl) -> None:
    pages, urls = whole.pages.set_index("url"), whole.urls.set_index("url")
    links = whole.links.set_index("source")
    truth = site.truth.redirects
    truth = truth[truth["source"].isin(pages.index)]
    assert len(truth) > 15
    for source, target, status in zip(
        truth["source"], truth["target"], truth["status"], strict=True
    ):
        hop = pages.loc[source]
        assert hop["status"] == status
        if not isinstance(target, str) or not target.startswith("http"):
            continue
        plain = target.partition("#")[0]
        assert hop["redirected_to"] == plain
        assert hop["links_found"] == 1
        found = links.loc[[source]]
        assert found["kind"].tolist() == ["redirect"]
        assert found["target"].tolist() == [plain]
        assert found["position"].tolist() == [0]
        reached = urls.loc[plain]
        assert reached["depth"] <= hop["depth"]
        if reached["found_on"] == source:
            assert reached["source"] == "redirect"
            assert reached["depth"] == hop["depth"]


def test_a_chain_ends_and_loops_are_asked_once(site: lab.PracticeSite, whole: ck.Crawl) -> None:
    start = site.url + "redirects/"
    pages = whole.pages
    for name, target in (
        ("chain-1", "chain-2"),
        ("chain-2", "chain-3"),
        ("chain-3", "target-chain"),
        ("loop-a", "loop-b"),
        ("loop-b", "loop-a"),
        ("loop-self", "loop-self"),
    ):
        assert row(pages, start + name)["redirected_to"] == start + target
        assert row(pages, start + name)["depth"] == row(pages, start + target)["depth"]


def test_a_redirect_to_what_is_no_web_page_has_a_reason(
    site: lab.PracticeSite, whole: ck.Crawl
) -> None:
    for name in ("to-file", "to-mail"):
        url = site.url + "redirects/" + name
        assert row(whole.pages, url)["error"] == "redirect_not_http"
        found = row(whole.urls, url)
        assert (found["state"], found["reason"]) == ("failed", "redirect_not_http")
    no_target = row(whole.pages, site.url + "redirects/no-location")
    assert no_target["status"] == 302
    assert pd.isna(no_target["redirected_to"])


def test_the_graph_joins_through_redirects_or_keeps_them(
    site: lab.PracticeSite, whole: ck.Crawl
) -> None:
    start = site.url + "redirects/"
    joined, edges = whole.graph(), whole.graph(redirects="edge")
    assert joined.has_edge(start, start + "target-chain")
    assert start + "chain-1" not in joined
    assert not joined.has_node(start + "301")
    for source, target in (("", "chain-1"), ("chain-1", "chain-2"), ("chain-3", "target-chain")):
        assert edges.has_edge(start + source, start + target)
    assert not edges.has_edge(start, start + "target-chain")
    assert joined.nodes[start + "target-301"]["downloaded"]


@pytest.mark.parametrize(
    ("scope", "landed"),
    [("host", False), ("site", False), ("any", True), ("both", True)],
)
def test_a_redirect_off_the_host_is_followed_if_the_scope_has_it(
    tmp_path: Path, scope: str, landed: bool
) -> None:
    with lab.serve(("redirects",), hosts=2) as site:
        hosts = [base.split("/")[2] for base in site.hosts]
        found = crawl(
            site.url + "redirects/off-host",
            tmp_path / "c",
            scope=hosts if scope == "both" else scope,
            max_pages=2,
        )
        target = site.hosts[1] + "redirects/landed"
        reached = row(found.urls, target)
        assert reached["source"] == "redirect"
        if landed:
            assert reached["state"] == "done"
        else:
            assert (reached["state"], reached["reason"]) == ("excluded", "scope")
            assert hosts[1] not in {each.host for each in site.requests}
            hints = " ".join(found.summary()["hints"])
            assert f"redirects to {target}" in hints


def test_a_seed_that_leaves_the_scope_after_several_hops_is_pointed_out(tmp_path: Path) -> None:
    pages = {"": lab.redirect("/t/2"), "2": lambda ask: lab.redirect(ask.place.bases[1] + "t/")}
    with serve(pages, hosts=2) as site:
        found = crawl(site.url + "t/", tmp_path / "c")
        assert found.finished
        assert len(found.pages) == 2
        assert any(site.hosts[1] + "t/" in hint for hint in found.summary()["hints"])


def test_a_redirects_target_keeps_the_depth_and_obeys_patterns_and_robots(tmp_path: Path) -> None:
    pages = {
        "": page("a", "b", "c"),
        "a": lab.redirect("/t/ok"),
        "b": lab.redirect("/t/closed"),
        "c": lab.redirect("/t/left-out"),
        "ok": page("deeper"),
    }
    with serve(pages, robots="User-agent: *\nDisallow: /t/closed\n") as site:
        found = crawl(site.url + "t/", tmp_path / "c", max_depth=1, exclude="/t/left")
        assert reasons(found) == {
            "": ("done", None),
            "a": ("done", None),
            "b": ("done", None),
            "c": ("done", None),
            "ok": ("done", None),
            "closed": ("excluded", "robots"),
            "left-out": ("excluded", "exclude"),
            "deeper": ("excluded", "depth"),
        }


def test_a_public_site_cannot_send_the_crawler_to_a_private_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve({"": lambda ask: lab.redirect(ask.place.bases[1] + "t/")}, hosts=2) as site:
        allow = private_allowance(["example.com"])
        with Fetcher(allow_private=allow) as fetcher:
            assert fetcher.fetch(site.url + "t/").error == "private_address"
        # The first host in the role of a public one.
        monkeypatch.setattr("crawlkit.crawling.privacy._is_private", lambda name: False)
        found = crawl(site.url + "t/", tmp_path / "c", scope="any", obey_robots=False)
        assert row(found.pages, site.url + "t/")["status"] == 302
        refused = row(found.pages, site.hosts[1] + "t/")
        assert refused["error"] == "private_address"
        assert row(found.urls, site.hosts[1] + "t/")["state"] == "failed"
        assert paths(site.requests) == ["/t/"]


# -- one page, many URLs -------------------------------------------------------------------


def test_canonicals_are_recorded_from_tag_and_header_and_change_nothing(
    site: lab.PracticeSite, whole: ck.Crawl
) -> None:
    start = site.url + "canonical/"
    for url in site.truth.urls("canonical"):
        if not url.startswith(site.url):
            continue
        expected = site.truth.page(url).canonical
        found = row(whole.pages, url)
        if expected is None:
            assert pd.isna(found["canonical"]), url
        else:
            assert found["canonical"] == expected
        assert found["key"] == url
    both = row(whole.pages, start + "two-canonicals")["canonicals"]
    assert [each.rpartition("/")[2] for each in both] == ["item-1", "item-2"]
    links = whole.links
    by_header = links[links["source"] == start + "mobile/item-2"]
    assert (by_header[by_header["kind"] == "canonical"]["target"] == start + "item-2").all()


def test_merging_lets_a_page_take_the_key_of_its_canonical(tmp_path: Path) -> None:
    with lab.serve(("canonical",)) as site:
        found = crawl(site.url + "canonical/", tmp_path / "c", canonical="merge")
        pages = found.pages.set_index("url")
        start = site.url + "canonical/"
        for number in range(1, 6):
            for copy in (f"item-{number}?view=print", f"mobile/item-{number}", f"item-{number}"):
                if start + copy in pages.index:
                    assert pages.loc[start + copy, "key"] == start + f"item-{number}"
        assert pages.loc[start + "off-host", "key"] == start + "off-host"
        urls = found.urls.set_index("url")
        assert (urls.loc[pages.index, "key"] == pages["key"]).all()
        assert (urls.loc[pages.index, "url_hash"] == pages["url_hash"]).all()
        hashes = pages["key"].map(ck.url_hash)
        assert (hashes == pages["url_hash"]).all()


def test_merging_spares_the_canonical_of_a_page_that_stands_for_it(tmp_path: Path) -> None:
    pages = {
        "": page("copy?s=1", "other"),
        "copy?s=1": page(canonical="/t/original", title="A copy"),
        "other": page("original", "copy?s=1"),
        "original": page(canonical="/t/original", title="The original"),
        "gone": page(canonical="/t/", status=404),
    }
    for mode, asked in (("record", 5), ("merge", 4)):
        with serve(pages) as site:
            found = crawl(site.url + "t/", tmp_path / mode, canonical=mode, workers=1)
            assert len(site.requests) == asked
            key = row(found.pages, site.url + "t/copy?s=1")["key"]
            expected = "original" if mode == "merge" else "copy?s=1"
            assert key == site.url + "t/" + expected
            links = found.links[found.links["source"] == site.url + "t/other"]
            target = "copy?s=1" if mode == "merge" else "original"
            assert links["target"].iloc[0] == site.url + "t/" + target


def test_an_error_page_does_not_take_its_canonicals_key(tmp_path: Path) -> None:
    pages = {"": page("gone"), "gone": page(canonical="/t/home", status=404), "home": page()}
    with serve(pages) as site:
        found = crawl(site.url + "t/", tmp_path / "c", canonical="merge")
        assert row(found.pages, site.url + "t/gone")["key"] == site.url + "t/gone"
        assert "home" in names(found.pages["url"])


def test_a_shop_under_many_spellings_is_525_pages(tmp_path: Path) -> None:
    with lab.serve(("shop-tracking",)) as site:
        found = crawl(site.url + "shop-tracking/", tmp_path / "c", extract=lab.extract_product)
        assert len(found.pages) == len(found.urls) == 525
        assert len(site.requests) == 526
        assert set(found.pages["key"]) == site.truth.urls("shop-tracking")
        assert len(found.records) == 500
        # What was asked for is the first spelling found, not the key.
        log = {each.url for each in site.requests} - {site.url + "robots.txt"}
        assert set(found.pages["url"]) == log
        assert (found.pages["url"] != found.pages["key"]).sum() > 100


def test_two_seeds_of_one_page_are_one_page(tmp_path: Path) -> None:
    with serve(star(1)) as site:
        start = site.url + "t/"
        seeds = [
            start,
            start + "?utm_source=mail",
            start + "#top",
            start.upper().replace("T/", "t/"),
        ]
        found = crawl(seeds, tmp_path / "c")
        assert paths(site.requests) == ["/t/", "/t/p0"]
        assert found.urls["source"].tolist() == ["seed", "link"]


# -- orderings -----------------------------------------------------------------------------


def test_an_ordering_of_ones_own_decides_and_can_be_resumed(tmp_path: Path) -> None:
    tree = {"": page("a", "b", "c"), "a": page("d"), "b": page("e"), "c": page("f")}
    tree |= {name: page() for name in "def"}
    order = Spread({"c": 5.0, "f": 9.0, "b": 1.0, "e": 2.0})
    with serve(tree) as site:
        found = crawl(site.url + "t/", tmp_path / "c", order=order, workers=1, max_pages=3)
        assert names(each.url for each in site.requests[1:]) == ["", "c", "f"]
        with pytest.raises(ck.SettingsChanged, match="order"):
            crawl(site.url + "t/", tmp_path / "c", workers=1)
        with pytest.raises(ck.BadSetting, match="ordering of your own"):
            _ = ck.open_crawl(tmp_path / "c").settings
        assert found.resume(max_pages=5, progress=False).stop_reason == "max_pages"
        crawl(site.url + "t/", tmp_path / "c", order=order, workers=1)
        assert names(each.url for each in site.requests[1:]) == ["", "c", "f", "b", "e", "a", "d"]
        scores = found.urls.set_index("url")["score"]
        assert scores[site.url + "t/f"] == 9.0


def test_an_ordering_is_told_of_every_download_failure_and_redirect(tmp_path: Path) -> None:
    pages = {
        "": page("ok", "moved", "cut", "ok", ""),
        "ok": page("missing"),
        "moved": lab.redirect("/t/ok"),
        "cut": lab.Answer(b"half", fault="reset"),
    }
    order = Spread()
    with serve(pages) as site:
        found = crawl(
            site.url + "t/", tmp_path / "c", order=order, workers=1, http=ck.Http(retries=1)
        )
        ids = dict(zip(names(found.urls["url"]), found.urls["found_seq"], strict=True))
    assert dict(order.told) == {
        "": [ids["ok"], ids["moved"], ids["cut"]],  # each once, itself left out
        "ok": [ids["missing"]],
        "moved": [ids["ok"]],
        "cut": [],
        "missing": [],
    }
    assert len(order.told) == 5


class Learning(ck.Ordering):
    """Prefers what the last download linked to, and remembers how many there were."""

    name = "learning"
    rescore_every = 2
    rescored: ClassVar[list[int]] = []  # of every copy

    def __init__(self) -> None:
        self.downloads = 0

    def start(self, page: ck.FoundPage) -> float:
        return 0.0

    def host_score(self, host: str) -> float:
        return float(host.startswith("127.0.0.2"))

    def downloaded(self, page: ck.FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        self.downloads += 1
        return {link: float(self.downloads) for link in links}

    def rescore(self) -> Mapping[int, float]:
        self.rescored.append(self.downloads)
        return {}

    def state(self) -> dict[str, Any]:
        return {"downloads": self.downloads}

    def restore(self, state: dict[str, Any]) -> None:
        self.downloads = state["downloads"]


def test_an_orderings_state_is_saved_and_restored(tmp_path: Path) -> None:
    tree = {"": page("a", "b"), "a": page("c"), "b": page("d"), "c": page(), "d": page()}
    with serve(tree) as site:
        Learning.rescored.clear()
        order = Learning()
        crawl(site.url + "t/", tmp_path / "c", order=order, workers=1, max_pages=3)
        crawl(site.url + "t/", tmp_path / "c", order=order, workers=1)
        # What the last page linked to goes first: depth before breadth.
        assert names(each.url for each in site.requests[1:]) == ["", "a", "c", "b", "d"]
        assert Learning.rescored == [2, 4]  # counted over both runs
        assert order.downloads == 0  # a crawl works on a copy


def test_an_ordering_ranks_hosts(tmp_path: Path) -> None:
    with serve(star(3), hosts=2) as site:
        seeds = [base + "t/" for base in site.hosts]
        crawl(seeds, tmp_path / "c", order=Learning(), workers=1, obey_robots=False)
        hosts = [each.host for each in site.requests]
        assert hosts == sorted(hosts, reverse=True)  # all of 127.0.0.2, then 127.0.0.1


@pytest.mark.parametrize(("order", "expected"), [
    ("breadth_first", ["", "a", "b", "a1", "a2", "b1"]),
    ("depth_first", ["", "a", "a1", "a2", "b", "b1"]),
])  # fmt: skip
def test_the_named_orderings(tmp_path: Path, order: str, expected: list[str]) -> None:
    tree = {"": page("a", "b"), "a": page("a1", "a2"), "b": page("b1")}
    tree |= {name: page() for name in ("a1", "a2", "b1")}
    with serve(tree) as site:
        crawl(site.url + "t/", tmp_path / "c", order=order, workers=1)
        assert names(each.url for each in site.requests[1:]) == expected


# -- at a notebook -------------------------------------------------------------------------


def crawl_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("crawlkit-worker")]


def test_a_crawl_runs_twice_in_a_row_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with serve(star(5)) as site:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for number in range(2):
                found = crawl(site.url + "t/", tmp_path / f"c{number}")
                assert found.finished
                assert not crawl_threads()
            again = crawl(site.url + "t/", tmp_path / "c0")
            assert again.pages["url"].tolist() == found.pages["url"].tolist() or again.finished
            del found, again
            gc.collect()
        assert [str(each.message) for each in caught] == []


def test_a_crawl_runs_inside_a_running_event_loop(tmp_path: Path) -> None:
    async def cell(url: str) -> ck.Crawl:
        return crawl(url, tmp_path / "c")

    with serve(star(3)) as site:
        found = asyncio.run(cell(site.url + "t/"))
    assert len(found.pages) == 4
    assert not crawl_threads()


def test_interrupting_the_cell_stops_soon_and_loses_nothing(tmp_path: Path) -> None:
    with serve(star(30, wait=0.2)) as site:
        moment: list[float] = []

        def progress(numbers: Mapping[str, object]) -> None:
            if len(site.requests) >= 8 and not moment:
                moment.append(time.monotonic())
                raise KeyboardInterrupt

        found = crawl(site.url + "t/", tmp_path / "c", workers=2, progress=progress)
        assert time.monotonic() - moment[0] < 2.0
        assert found.stop_reason == "interrupted"
        assert not found.finished
        assert not crawl_threads()
        summary = found.summary()
        assert any("goes on from here" in hint for hint in summary["hints"])
        done = set(found.pages["url"])
        assert summary["urls"]["done"] == len(done)
        assert summary["urls"]["leased"] == 0
        again = found.resume(progress=False, workers=8)
        assert again.finished
        assert set(again.pages["url"]) >= done
        assert len(again.pages) == 31
        assert site.repeats() <= 2  # at most what was in flight


def test_an_interrupt_at_the_very_start_leaves_a_crawl_that_can_go_on(tmp_path: Path) -> None:
    with serve(star(3), latency=0.3) as site:
        found = crawl(site.url + "t/", tmp_path / "c", progress=interrupt_when(lambda: True))
        assert found.stop_reason == "interrupted"
        assert len(found.resume(progress=False).pages) == 4


def test_a_progress_function_is_given_the_numbers(tmp_path: Path) -> None:
    ticks: list[dict[str, Any]] = []
    with serve(star(8, wait=0.1)) as site:
        crawl(site.url + "t/", tmp_path / "c", workers=1, progress=lambda n: ticks.append(dict(n)))
    assert len(ticks) > 2
    last = ticks[-1]
    assert last["stop_reason"] == "finished"
    assert (last["pages"], last["pending"], last["leased"]) == (9, 0, 0)
    assert (last["known_urls"], last["requests"], last["new_urls"]) == (9, 10, 8)
    assert isinstance(last["bytes"], int)
    counts = [tick["pages"] for tick in ticks]
    assert counts == sorted(counts)


def test_a_progress_function_that_fails_ends_the_crawl_with_its_error(tmp_path: Path) -> None:
    def progress(numbers: Mapping[str, object]) -> None:
        raise LookupError("no such widget")

    with serve(star(200, wait=0.1)) as site:
        began = time.monotonic()
        with pytest.raises(LookupError, match="no such widget"):
            crawl(site.url + "t/", tmp_path / "c", workers=1, progress=progress)
        assert time.monotonic() - began < 4
        assert not crawl_threads()
        found = ck.open_crawl(tmp_path / "c")
        assert found.stop_reason is None
        assert found.resume(progress=False, workers=16).finished


def test_a_bar_is_shown_only_if_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serve(star(2)) as site:
        crawl(site.url + "t/", tmp_path / "quiet")
        assert capfd.readouterr() == ("", "")
        ck.crawl(site.url + "t/", tmp_path / "bar", delay=0)
        shown = capfd.readouterr()
        assert shown.out == ""
        assert "frontier" in shown.err


def test_a_crawl_can_be_read_while_it_runs(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    seen: list[int] = []

    def look(numbers: Mapping[str, object]) -> None:
        pages = ck.open_crawl(folder).pages
        assert pages["url"].is_unique
        seen.append(len(pages))

    with serve(star(12, wait=0.1)) as site:
        crawl(site.url + "t/", folder, workers=2, progress=look)
    assert seen == sorted(seen)
    assert seen[-1] == 13
    assert any(0 < count < 13 for count in seen)


def test_two_crawls_of_one_folder_at_once_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    refused: list[str] = []

    def second(numbers: Mapping[str, object]) -> None:
        if not refused:
            with pytest.raises(ck.FolderInUse) as caught:
                crawl("http://127.0.0.1:9/", folder)
            refused.append(str(caught.value))

    with serve(star(4, wait=0.1)) as site:
        assert crawl(site.url + "t/", folder, workers=1, progress=second).finished
    assert "is being crawled by process" in refused[0]


def test_the_summary_is_shown_escaped(tmp_path: Path) -> None:
    with serve(star(1)) as site:
        found = crawl(site.url + "t/", tmp_path / "<b>c")
        assert "<b>c" not in found._repr_html_()
        assert "finished" in repr(found)
