"""Limits: exact to the unit with any number of workers, told in the summary, raised on a resume."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from crawls import crawl, interrupt_when, names, page, paths, reasons, row, serve, star

import crawlkit as ck
from crawlkit import lab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORKERS = pytest.mark.parametrize("workers", [1, 4, 16])

SHOP = lab.Shop(listings=5, per_page=8)


@pytest.fixture(scope="module")
def shop() -> Iterator[lab.PracticeSite]:
    """A shop of 45 pages; answers take a while, so that several are out at once."""
    with lab.serve([SHOP, "deep"], latency=0.01) as site:
        yield site


def shop_pages(site: lab.PracticeSite) -> set[str]:
    return site.truth.reachable(site.url + "shop/")


# -- exact ---------------------------------------------------------------------------------


@WORKERS
def test_max_pages_is_exact(tmp_path: Path, shop: lab.PracticeSite, workers: int) -> None:
    shop.forget()
    found = crawl(shop.url + "shop/", tmp_path / "c", max_pages=23, workers=workers)
    assert found.stop_reason == "max_pages"
    assert not found.finished
    assert len(found.pages) == 23
    assert len(paths(shop.requests)) == 23
    summary = found.summary()
    assert summary["pages"] == 23
    assert summary["beyond"] == {"max_pages": summary["urls"]["pending"]}
    assert summary["beyond"]["max_pages"] == len(found.urls) - 23 > 0
    assert any("crawl.resume(max_pages=" in hint for hint in summary["hints"])


@WORKERS
def test_retries_are_requests_and_not_pages(tmp_path: Path, workers: int) -> None:
    def busy(ask: lab.Ask) -> lab.Answer:
        return page(status=503 if ask.visit == 0 else 200, headers=(("Retry-After", "0"),))

    pages = {"": page(*(f"p{n}" for n in range(20))), **{f"p{n}": busy for n in range(20)}}
    with serve(pages) as site:
        found = crawl(site.url + "t/", tmp_path / "c", max_pages=7, workers=workers)
        assert found.stop_reason == "max_pages"
        assert len(found.pages) == 7
        assert found.pages["status"].eq(200).all()
        assert len(paths(site.requests)) == 1 + 2 * 6
        assert found.summary()["retries"] == 6


@WORKERS
def test_pages_per_host_is_exact_on_every_host(tmp_path: Path, workers: int) -> None:
    with serve(star(12, wait=0.01), hosts=3) as site:
        found = crawl(
            [base + "t/" for base in site.hosts],
            tmp_path / "c",
            workers=workers,
            limits=ck.Limits(pages_per_host=5),
        )
        assert found.stop_reason == "pages_per_host"
        assert found.pages["host"].value_counts().tolist() == [5, 5, 5]
        assert len(paths(site.requests)) == 15
        assert found.summary()["beyond"] == {"pages_per_host": 3 * 13 - 15}


@WORKERS
@pytest.mark.parametrize("body", [10_485_760, 4_000])
def test_bytes_are_never_exceeded(tmp_path: Path, workers: int, body: int) -> None:
    with lab.serve([SHOP, lab.Large(sizes=(300_000, 400_000))], hosts=2) as site:
        seeds = [base + start for base in site.hosts for start in ("shop/", "large/")]
        limits = ck.Limits(bytes=50_000, body=body)
        found = crawl(seeds, tmp_path / "c", workers=workers, limits=limits)
        assert found.stop_reason == "bytes"
        fetches = found.fetches
        assert fetches["wire_bytes"].sum() <= 50_000
        assert found.summary()["bytes"] == fetches["wire_bytes"].sum()
        # The limit was used up but for less than one page.
        assert fetches["wire_bytes"].sum() > 45_000
        assert found.summary()["beyond"]["bytes"] > 0


def test_bytes_hold_also_for_robots_txt(tmp_path: Path) -> None:
    robots = "User-agent: *\nDisallow: /no\n" + "# filler\n" * 400
    with serve(star(3), robots=robots, hosts=3) as site:
        limits = ck.Limits(bytes=8_000)
        found = crawl([base + "t/" for base in site.hosts], tmp_path / "c", limits=limits)
        assert found.stop_reason == "bytes"
        assert found.fetches["wire_bytes"].sum() <= 8_000
        # That a robots.txt did not fit is no fault of its host.
        assert "robots_unreachable" not in set(found.events["kind"])
        assert found.resume(bytes=1_000_000, progress=False).finished
        assert len(found.pages) == 12


def test_seconds_stop_the_crawl_and_add_up_over_resumes(tmp_path: Path) -> None:
    with serve(star(60, wait=0.1)) as site:
        began = time.monotonic()
        limits = ck.Limits(seconds=0.6)
        found = crawl(site.url + "t/", tmp_path / "c", workers=1, limits=limits)
        assert time.monotonic() - began < 2.5
        assert found.stop_reason == "seconds"
        first = site.requests[0].at
        assert max(each.at for each in site.requests) <= first + 0.7
        asked = len(site.requests)
        assert found.summary()["beyond"] == {"seconds": 61 - len(found.pages)}
        # The time is used up: the same limit asks for nothing more.
        assert crawl(site.url + "t/", tmp_path / "c", limits=limits).stop_reason == "seconds"
        assert len(site.requests) == asked


def test_seconds_end_a_crawl_that_waits_for_a_host(tmp_path: Path) -> None:
    wait = (("Retry-After", "600"),)
    with serve({"": page("busy"), "busy": page(status=503, headers=wait)}) as site:
        began = time.monotonic()
        found = crawl(site.url + "t/", tmp_path / "c", limits=ck.Limits(seconds=0.5))
        assert time.monotonic() - began < 3
        assert found.stop_reason == "seconds"
        assert reasons(found)["busy"][0] == "pending"


@WORKERS
def test_known_urls_is_exact_and_what_lies_beyond_is_counted(
    tmp_path: Path, shop: lab.PracticeSite, workers: int
) -> None:
    found = crawl(
        shop.url + "shop/", tmp_path / "c", workers=workers, limits=ck.Limits(known_urls=20)
    )
    assert found.finished
    assert len(found.urls) == len(found.pages) == 20
    assert found.summary()["beyond"]["known_urls"] >= 25
    assert found.fetches["known_urls"].max() == 20


@WORKERS
def test_max_depth_keeps_what_lies_deeper_as_rows(
    tmp_path: Path, shop: lab.PracticeSite, workers: int
) -> None:
    found = crawl(shop.url + "deep/", tmp_path / "c", workers=workers, max_depth=7)
    assert found.finished
    assert found.pages["depth"].max() == 7
    assert len(found.pages) == 8
    beyond = found.urls[found.urls["state"] == "excluded"]
    assert beyond[["url", "reason", "depth"]].values.tolist() == [
        [shop.url + "deep/level-8", "depth", 8]
    ]
    assert found.summary()["beyond"] == {"max_depth": 1}


def test_links_per_page_keeps_the_first_and_counts_the_others(tmp_path: Path) -> None:
    with serve(star(30)) as site:
        limits = ck.Limits(links_per_page=10)
        found = crawl(site.url + "t/", tmp_path / "c", limits=limits)
        assert names(found.links["target"]) == [f"p{n}" for n in range(10)]
        assert len(found.pages) == 11
        assert row(found.pages, site.url + "t/")["links_found"] == 30
        event = found.events[found.events["kind"] == "links_per_page"].iloc[0]
        assert event["url"] == site.url + "t/"
        assert "20 links" in event["detail"]


def test_a_body_beyond_its_limit_is_a_failed_row(tmp_path: Path) -> None:
    with lab.serve([lab.Large(sizes=(20_000, 200_000))]) as site:
        found = crawl(site.url + "large/", tmp_path / "c", limits=ck.Limits(body=100_000))
        assert found.finished
        assert row(found.pages, site.url + "large/page-1")["size"] == 20_000
        large = row(found.pages, site.url + "large/page-2")
        assert (large["status"], large["error"]) == (200, "body_too_large")
        assert large["wire_bytes"] <= 100_000
        state = row(found.urls, site.url + "large/page-2")
        assert (state["state"], state["reason"]) == ("failed", "body_too_large")


def test_several_limits_at_once_end_with_the_one_that_was_reached(
    tmp_path: Path, shop: lab.PracticeSite
) -> None:
    limits = ck.Limits(pages_per_host=10, known_urls=40, bytes=10_000_000, seconds=60)
    found = crawl(shop.url + "shop/", tmp_path / "c", max_pages=12, max_depth=2, limits=limits)
    assert found.stop_reason == "pages_per_host"
    assert len(found.pages) == 10
    assert found.resume(pages_per_host=30, progress=False).stop_reason == "max_pages"
    assert len(found.pages) == 12


def test_a_limit_that_is_met_exactly_is_no_reason_to_stop(tmp_path: Path) -> None:
    with serve(star(4)) as site:
        limits = ck.Limits(pages_per_host=5, known_urls=5)
        found = crawl(site.url + "t/", tmp_path / "c", max_pages=5, max_depth=1, limits=limits)
        assert found.stop_reason == "finished"
        assert found.summary()["beyond"] == {"max_depth": 0, "known_urls": 0}


# -- raised --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "larger"),
    [
        ({"max_pages": 7}, {"max_pages": None}),
        ({"max_pages": 7}, {"max_pages": 10_000}),
        ({"max_depth": 0}, {"max_depth": None}),
        ({"max_depth": 1}, {"max_depth": 50}),
        ({"limits": ck.Limits(pages_per_host=7)}, {"pages_per_host": None}),
        ({"limits": ck.Limits(bytes=9_000)}, {"bytes": 10_000_000}),
        ({"limits": ck.Limits(known_urls=3)}, {"known_urls": None}),
        ({"limits": ck.Limits(known_urls=12)}, {"known_urls": 10_000}),
        ({"limits": ck.Limits(known_urls=12), "max_depth": 1},
         {"known_urls": None, "max_depth": None}),
        ({"limits": ck.Limits(seconds=0.15)}, {"seconds": 60.0}),
        ({"exclude": "/shop/products/"}, {"exclude": ()}),
        ({"include": "*page=2"}, {"include": ()}),
    ],
)  # fmt: skip
def test_raising_a_limit_ends_with_the_pages_of_an_unlimited_crawl(
    tmp_path: Path, shop: lab.PracticeSite, first: dict[str, Any], larger: dict[str, Any]
) -> None:
    shop.forget()
    found = crawl(shop.url + "shop/", tmp_path / "c", workers=4, **first)
    expected = shop_pages(shop)
    assert len(expected) == 45
    before = set(found.pages["url"])
    assert before < expected
    found.resume(progress=False, **larger)
    assert found.finished
    assert set(found.pages["url"]) == expected
    assert set(found.urls["url"]) == expected
    assert set(found.urls["state"]) == {"done"}
    # Nothing was asked for twice, but for a page that the limit of bytes cut.
    assert shop.repeats() <= ("bytes" in larger)
    # Depths are those of an unlimited crawl, too.
    depths = found.urls.set_index("url")["depth"]
    assert {url: depths[url] for url in expected} == {
        url: shop.truth.page(url).depth for url in expected
    }


def test_a_limit_can_be_raised_step_by_step_through_the_call(
    tmp_path: Path, shop: lab.PracticeSite
) -> None:
    shop.forget()
    for number in (1, 5, 6, 20, 45):
        found = crawl(shop.url + "shop/", tmp_path / "c", max_pages=number)
        assert len(found.pages) == number
    assert found.finished
    assert shop.repeats() == 0
    assert sum(each.path == "/robots.txt" for each in shop.requests) == 1


def test_known_urls_is_raised_across_redirects_and_other_hosts(tmp_path: Path) -> None:
    pages = {
        "": page("p0", "moved", "far", "p1"),
        "moved": lab.redirect("/t/landed"),
        "far": lambda ask: lab.redirect(ask.place.bases[-1] + "t/p0"),
        "landed": page("p2"),
        **{f"p{n}": page() for n in range(3)},
    }
    with serve(pages, hosts=2) as site:
        whole = crawl(site.url + "t/", tmp_path / "whole", scope="any")
        limits = ck.Limits(known_urls=3)
        found = crawl(site.url + "t/", tmp_path / "c", scope="any", limits=limits)
        assert len(found.urls) == 3
        found.resume(known_urls=None, progress=False)
        columns = ["url", "depth", "source", "state", "found_on"]
        one, other = (
            each.urls[columns].sort_values("url", ignore_index=True) for each in (found, whole)
        )
        assert one.astype(object).where(one.notna(), None).values.tolist() == (
            other.astype(object).where(other.notna(), None).values.tolist()
        )


def test_a_smaller_limit_holds_for_what_is_still_to_come(tmp_path: Path) -> None:
    tree = {"": page("a"), "a": page("b"), "b": page("c"), "c": page("d"), "d": page()}
    with serve(tree) as site:
        found = crawl(site.url + "t/", tmp_path / "c", max_pages=2)
        found.resume(max_pages=100, max_depth=2, progress=False)
        assert found.finished
        assert reasons(found)["c"] == ("excluded", "depth")
        assert found.resume(max_pages=1, progress=False).stop_reason == "finished"
        assert len(found.pages) == 3


# -- patterns ------------------------------------------------------------------------------


def test_patterns_decide_at_entry_and_seeds_are_always_taken(tmp_path: Path) -> None:
    leaves = ["blog/1", "blog/2?sort=up", "shop/1", "shop/2.pdf", "about"]
    with serve({"": page(*leaves), **{name: page() for name in leaves}}) as site:
        found = crawl(
            site.url + "t/",
            tmp_path / "c",
            include=["/t/blog/", re.compile(r"shop/\d")],
            exclude=["/*?sort=", "*.pdf$"],
        )
        assert reasons(found) == {
            "": ("done", None),
            "blog/1": ("done", None),
            "blog/2?sort=up": ("excluded", "exclude"),
            "shop/1": ("done", None),
            "shop/2.pdf": ("excluded", "exclude"),
            "about": ("excluded", "include"),
        }
        assert sorted(names(each.url for each in site.requests[1:])) == ["", "blog/1", "shop/1"]
        # Patterns that change on a resume hold for what waits and for what was refused.
        found.resume(include=(), exclude="/t/about", progress=False)
        assert reasons(found)["about"] == ("excluded", "exclude")
        assert reasons(found)["blog/2?sort=up"] == ("done", None)
        assert reasons(found)["shop/2.pdf"] == ("done", None)


def test_a_refused_link_is_taken_once_it_is_a_seed(tmp_path: Path) -> None:
    with serve({"": page("a"), "a": page("b"), "b": page()}) as site:
        found = crawl(site.url + "t/", tmp_path / "c", exclude="/t/a", max_depth=1)
        assert reasons(found)["a"] == ("excluded", "exclude")
        seeds = [site.url + "t/", site.url + "t/a"]
        found = crawl(seeds, tmp_path / "c", exclude="/t/a", max_depth=1)
        assert {name: state for name, (state, _) in reasons(found).items()} == dict.fromkeys(
            ("", "a", "b"), "done"
        )
        assert row(found.urls, site.url + "t/b")["depth"] == 1


def test_new_seeds_bring_their_hosts_into_the_scope(tmp_path: Path) -> None:
    pages = {"": lambda ask: page(*(base + "t/p0" for base in ask.place.bases)), "p0": page()}
    with serve(pages, hosts=2) as site:
        found = crawl(site.url + "t/", tmp_path / "c")
        assert row(found.urls, site.hosts[1] + "t/p0")["reason"] == "scope"
        found = crawl([site.url + "t/", site.hosts[1] + "t/"], tmp_path / "c")
        assert row(found.urls, site.hosts[1] + "t/p0")["state"] == "done"


# -- setting aside, releasing, retrying ----------------------------------------------------


def test_pending_urls_can_be_set_aside_and_released(tmp_path: Path) -> None:
    with serve(star(12)) as site:
        found = crawl(site.url + "t/", tmp_path / "c", max_pages=2, workers=1)
        assert found.exclude("/t/p1") == 3  # p1, p10, p11
        assert found.exclude("/t/p1") == 0
        assert found.exclude(re.compile("p[0-3]$")) == 2  # p0 is done
        found.resume(max_pages=None, progress=False)
        assert found.finished
        aside = {name for name, (_, reason) in reasons(found).items() if reason == "set_aside"}
        assert aside == {"p1", "p10", "p11", "p2", "p3"}
        assert len(found.urls) == 13  # the rows are kept
        # They stay aside, whatever else changes, until they are released.
        assert found.resume(max_depth=5, exclude="/nothing", progress=False).finished
        assert len(found.pages) == 8
        assert found.release(["/t/p10", "/t/p3", "/t/p9"]) == 2
        assert found.resume(progress=False).finished
        assert len(found.pages) == 10
        assert site.repeats() == 0


@pytest.fixture
def flaky() -> Iterator[tuple[lab.PracticeSite, dict[str, Any]]]:
    """A site some of whose pages fail until they are repaired."""
    repaired: dict[str, Any] = {}

    def broken(name: str, answer: lab.Answer) -> Any:
        return lambda ask: page("/t/", "ok") if name in repaired else answer

    pages = {
        "": page("ok", "error", "cut", "closed"),
        "ok": page(),
        "error": broken("error", page("ok", "lost", status=500)),
        "cut": broken("cut", lab.Answer(b"x" * 100, fault="truncated")),
        "closed": page(),
    }

    def robots(ask: lab.Ask) -> lab.Answer | None:
        if ask.path != "/robots.txt" or "closed" in repaired:
            return None
        rules = b"User-agent: *\nDisallow: /t/closed\n"
        return lab.Answer(rules, content_type="text/plain")

    with serve(pages, robots=robots) as site:
        yield site, repaired


def test_failed_pages_can_be_asked_again_by_reason(tmp_path: Path, flaky: Any) -> None:
    site, repaired = flaky
    found = crawl(site.url + "t/", tmp_path / "c", http=ck.Http(retries=0))
    assert reasons(found) == {
        "": ("done", None),
        "ok": ("done", None),
        "error": ("failed", "http_500"),
        "cut": ("failed", "truncated"),
        "closed": ("excluded", "robots"),
    }
    assert found.summary()["failed"] == {"http_500": 1, "truncated": 1}
    assert row(found.pages, site.url + "t/error")["status"] == 500
    repaired.update(dict.fromkeys(("error", "cut", "closed")))
    found.retry("http_500", progress=False)
    assert reasons(found)["error"] == ("done", None)
    assert reasons(found)["cut"] == ("failed", "truncated")
    assert row(found.pages, site.url + "t/error")["status"] == 200
    found.retry("robots", progress=False)  # robots.txt is asked again, too
    assert reasons(found)["closed"] == ("done", None)
    found.retry(progress=False)
    assert {state for state, _ in reasons(found).values()} == {"done"}
    assert len(found.pages) == 5
    # The links of an error page are none of the page's own.
    links = found.links
    assert not links.duplicated(["source", "position"]).any()
    assert names(links[links["source"] == site.url + "t/error"]["target"]) == ["", "ok"]
    fetches = found.fetches["url"].tolist()
    assert fetches.count(site.url + "t/error") == 2
    assert len(fetches) == len(site.requests)


def test_a_retry_at_the_limit_of_pages_asks_only_for_what_was_counted(
    tmp_path: Path, flaky: Any
) -> None:
    site, repaired = flaky
    found = crawl(site.url + "t/", tmp_path / "c", http=ck.Http(retries=0), max_pages=3, workers=1)
    assert set(names(found.pages["url"])) == {"", "ok", "error"}
    repaired["error"] = True
    found.retry(progress=False)
    assert found.stop_reason == "max_pages"
    assert reasons(found)["error"] == ("done", None)
    assert len(found.pages) == 3
    assert found.summary()["pages"] == 3


def test_an_interrupted_crawl_at_its_limits_goes_on_exactly(tmp_path: Path) -> None:
    with serve(star(30, wait=0.1)) as site:
        enough = lambda: len(site.requests) > 8  # noqa: E731
        found = crawl(
            site.url + "t/",
            tmp_path / "c",
            max_pages=20,
            workers=4,
            progress=interrupt_when(enough),
        )
        assert found.stop_reason == "interrupted"
        assert len(found.pages) < 20
        found.resume(progress=False)
        assert found.stop_reason == "max_pages"
        assert len(found.pages) == 20
        assert found.summary()["pages"] == 20
