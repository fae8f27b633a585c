"""Politeness, proven from the request log of the practice site."""

from __future__ import annotations

import dataclasses
import socket
import sqlite3
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from crawls import arrivals, crawl, interrupt_when, names, page, paths, reasons, row, serve, star
from crawls import text as plain
from kill_harness import Life

import crawlkit as ck
from crawlkit import lab
from crawlkit.crawling import robots_cache
from crawlkit.crawling.database import DATABASE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

JITTER = 0.02


def failing_at_first(
    status: int, times: int = 1, **options: Any
) -> Callable[[lab.Ask], lab.Answer]:
    def answer(ask: lab.Ask) -> lab.Answer:
        return page(title="Busy", status=status, **options) if ask.visit < times else page()

    return answer


def gap(site: lab.PracticeSite) -> float:
    """The smallest time between two requests to one host, all requests counted."""
    return site.closest_requests()


# -- the delay -----------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 8])
def test_no_two_requests_to_a_host_are_closer_than_the_delay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr("crawlkit.crawling.writer.backoff_seconds", lambda *_, **__: 0.01)
    pages = {
        "": page("moved", "busy", "cut", "gone", "leaf"),
        "moved": lab.redirect("/t/moved-2"),
        "moved-2": lab.redirect("/t/landed"),
        "landed": page(),
        "busy": failing_at_first(503),
        "cut": lambda ask: dataclasses.replace(page(), fault=None if ask.visit else "truncated"),
        "leaf": page(),
    }
    moved = {"/robots.txt": "/hop.txt", "/hop.txt": "/rules.txt"}

    def robots(ask: lab.Ask) -> lab.Answer:
        target = moved.get(ask.path)
        return lab.redirect(target) if target else plain("User-agent: *\nDisallow: /no\n")

    with serve(pages, robots=robots) as site:
        found = crawl(site.url + "t/", tmp_path / "c", delay=0.1, workers=workers, max_pages=4)
        found.resume(max_pages=None, progress=False)
        assert found.finished
        asked = [each.target for each in site.requests]
        # Everything that could be asked too soon was asked: hops of both kinds, and retries.
        assert asked[:3] == ["/robots.txt", "/hop.txt", "/rules.txt"]
        assert sorted(asked[3:]) == sorted(
            ["/t/"] + [f"/t/{name}" for name in pages if name] + ["/t/busy", "/t/cut", "/t/gone"]
        )
        assert gap(site) >= 0.1 - JITTER


def test_a_host_gets_one_request_at_a_time_however_slow_it_is(tmp_path: Path) -> None:
    with serve(star(4, wait=0.25)) as site:
        found = crawl(site.url + "t/", tmp_path / "c", delay=0.05)
        assert found.finished
        leaves = [each.at for each in site.requests if each.path.startswith("/t/p")]
        assert len(leaves) == 4
        assert min(b - a for a, b in pairwise(leaves)) >= 0.25 - JITTER


def test_the_delay_counts_from_when_a_request_went_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look-up of a name may take longer than the delay; the server sees only what follows."""
    real, slow = socket.getaddrinfo, [0.5]

    def getaddrinfo(*arguments: Any, **options: Any) -> Any:
        time.sleep(slow.pop() if slow else 0.0)
        return real(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with serve(star(2)) as site:
        found = crawl(site.url.replace("127.0.0.1", "localhost") + "t/", tmp_path / "c", delay=0.3)
        assert found.finished
        assert not slow
        assert len(site.requests) == 4
        assert gap(site) >= 0.3 - JITTER


def test_a_killed_crawl_waits_one_delay_before_it_asks_again(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    with lab.serve(("shop",)) as site:
        with Life(site, folder, fault="fetch.done:2", delay=0.8) as life:
            life.process.wait(60)
            assert life.process.returncode == -9
        before = len(site.requests)
        assert before == 3  # robots.txt and two pages
        again = ck.open_crawl(folder).resume(max_pages=4, progress=False)
        assert again.summary()["pages"] == 4
        assert site.requests[before].target == site.requests[before - 1].target  # not yet done
        assert gap(site) >= 0.8 - JITTER


def test_without_a_delay_a_lone_host_is_asked_by_all_workers(tmp_path: Path) -> None:
    with serve(star(12, wait=0.3)) as site:
        crawl(site.url + "t/", tmp_path / "c", workers=6)
        leaves = [each.at for each in site.requests if each.path.startswith("/t/p")]
        together = max(sum(at <= other < at + 0.3 for other in leaves) for at in leaves)
        assert together == 6


def test_without_a_delay_no_host_holds_more_than_half_of_the_workers(tmp_path: Path) -> None:
    with serve(star(16, wait=0.2), hosts=2) as site:
        seeds = [base + "t/" for base in site.hosts]
        found = crawl(seeds, tmp_path / "c", workers=4)
        assert found.finished
        log = [each for each in site.requests if each.path.startswith("/t/p")]
        first = max(min(moments) for moments in arrivals(log).values())
        last = min(max(moments) for moments in arrivals(log).values())
        for host, moments in arrivals(log).items():
            # While pages of the other host are known, and it still has some to ask for.
            busy = [at for at in moments if first + 0.2 < at < last - 0.2]
            together = max(sum(at - 0.2 + JITTER < other <= at for other in busy) for at in busy)
            assert together <= 2, host


def test_equal_scores_go_to_the_host_that_has_waited_longest(tmp_path: Path) -> None:
    with serve(star(5), hosts=3) as site:
        seeds = [base + "t/" for base in site.hosts]
        crawl(seeds, tmp_path / "c", workers=1, obey_robots=False)
        hosts = [each.host for each in site.requests]
        assert len(hosts) == 18
        for start in range(0, 18, 3):
            assert len(set(hosts[start : start + 3])) == 3, hosts


def test_requests_stuck_on_slow_hosts_do_not_hold_up_the_others(tmp_path: Path) -> None:
    slow, leaves = 1.5, 12

    def index(ask: lab.Ask) -> lab.Answer:
        return page(*(f"p{n}" for n in range(leaves if ask.place.host == 0 else 1)))

    def leaf(ask: lab.Ask) -> lab.Answer:
        return dataclasses.replace(page(), wait=0.0 if ask.place.host == 0 else slow)

    pages = {"": index, **{f"p{n}": leaf for n in range(leaves)}}
    with serve(pages, hosts=6) as site:
        seeds = [base + "t/" for base in reversed(site.hosts)]
        found = crawl(seeds, tmp_path / "c", delay=0.05, workers=8)
        assert found.finished
        host = site.url.split("/")[2]
        fast = [each.at for each in site.requests if each.host == host]
        first_slow = min(
            each.at for each in site.requests if each.host != host and each.path == "/t/p0"
        )
        assert len(fast) == leaves + 2
        # The fast host was done with before the first slow answer came.
        assert max(fast) < first_slow + slow
        assert max(b - a for a, b in pairwise(fast)) < 0.5


# -- Crawl-delay and Retry-After -----------------------------------------------------------


def test_a_longer_crawl_delay_holds_also_after_a_resume(tmp_path: Path) -> None:
    with serve(star(5), robots="User-agent: *\nCrawl-delay: 0.4\n") as site:
        found = crawl(site.url + "t/", tmp_path / "c", max_pages=2)
        found.resume(max_pages=5, progress=False)
        assert len(found.pages) == 5
        assert [each.path for each in site.requests].count("/robots.txt") == 1
        assert gap(site) >= 0.4 - JITTER


def test_a_shorter_crawl_delay_does_not_shorten_the_delay(tmp_path: Path) -> None:
    with serve(star(3), robots="User-agent: *\nCrawl-delay: 0.05\n") as site:
        crawl(site.url + "t/", tmp_path / "c", delay=0.3)
        assert len(site.requests) == 5
        assert gap(site) >= 0.3 - JITTER


def test_an_absurd_crawl_delay_is_capped_and_does_not_outlive_the_limit_of_time(
    tmp_path: Path,
) -> None:
    with serve(star(3), robots="User-agent: *\nCrawl-delay: 86400\n") as site:
        began = time.monotonic()
        found = crawl(site.url + "t/", tmp_path / "c", limits=ck.Limits(seconds=0.3))
        assert time.monotonic() - began < 3
        assert found.stop_reason == "seconds"
    connection = sqlite3.connect(tmp_path / "c" / DATABASE_NAME)
    try:
        cache = robots_cache.RobotsCache(connection, "crawlkit")
        assert cache.verdict(site.url + "t/") == "allowed"
        assert cache.crawl_delay(site.url.rstrip("/")) == 300.0
    finally:
        connection.close()


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_holds_its_host_and_no_other(tmp_path: Path, status: int) -> None:
    busy = failing_at_first(status, headers=(("Retry-After", "1"),))

    def index(ask: lab.Ask) -> lab.Answer:
        return page("busy", "p0", "p1") if ask.place.host == 0 else page("p0", "p1", "p2")

    pages = {"": index, "busy": busy, **{f"p{n}": page() for n in range(3)}}
    with serve(pages, hosts=2) as site:
        seeds = [base + "t/" for base in site.hosts]
        found = crawl(seeds, tmp_path / "c", delay=0.05)
        assert found.finished
        first, second = (base.split("/")[2] for base in site.hosts)
        log = site.requests
        refused = next(each.at for each in log if each.target == "/t/busy")
        after = [each.at for each in log if each.host == first and each.at > refused]
        assert len(after) == 3  # the page again, and two others: all of them waited
        assert min(after) >= refused + 1.0 - JITTER
        assert max(each.at for each in log if each.host == second) < refused + 0.9
    fetches = found.fetches
    assert fetches[fetches["url"].str.endswith("busy")]["attempt"].tolist() == [1, 2]
    assert row(found.pages, site.url + "t/busy")["attempts"] == 2


def test_retry_after_may_be_a_date(tmp_path: Path) -> None:
    def busy(ask: lab.Ask) -> lab.Answer:
        if ask.visit:
            return page()
        when = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 2))
        return page(status=503, headers=(("Retry-After", when),))

    with serve({"": page("busy"), "busy": busy}) as site:
        assert crawl(site.url + "t/", tmp_path / "c").finished
        refused, again = (each.at for each in site.requests if each.target == "/t/busy")
        assert 1.0 - JITTER <= again - refused < 4.0  # dates are in whole seconds


def test_retry_after_outlives_the_process(tmp_path: Path) -> None:
    busy = failing_at_first(503, headers=(("Retry-After", "2"),))
    with serve({"": page("busy", "leaf"), "busy": busy, "leaf": page()}) as site:
        asked = lambda: "/t/busy" in paths(site.requests)  # noqa: E731
        found = crawl(site.url + "t/", tmp_path / "c", workers=1, progress=interrupt_when(asked))
        assert found.stop_reason == "interrupted"
        refused = next(each.at for each in site.requests if each.target == "/t/busy")
        before = len(site.requests)
        assert crawl(site.url + "t/", tmp_path / "c").finished
        later = site.requests[before:]
        assert {each.target for each in later} >= {"/t/busy"}
        assert min(each.at for each in later) >= refused + 2.0 - JITTER


def test_a_short_pause_does_not_cut_a_long_one_short(tmp_path: Path) -> None:
    """Two answers are out at once: the Retry-After of one, and the failure of the other."""
    pages = {
        "": page("busy", "cut"),
        "busy": failing_at_first(503, headers=(("Retry-After", "2"),)),
        "cut": failing_at_first(503),
    }
    slow = dataclasses.replace(page(title="Busy", status=503), wait=0.3)
    pages["cut"] = lambda ask: page() if ask.visit else slow
    with serve(pages) as site:
        asked = lambda: len(paths(site.requests)) >= 3  # noqa: E731
        found = crawl(site.url + "t/", tmp_path / "c", progress=interrupt_when(asked))
        before = len(site.requests)
        refused = next(each.at for each in site.requests if each.target == "/t/busy")
        assert found.resume(progress=False).finished
        assert min(each.at for each in site.requests[before:]) >= refused + 2.0 - JITTER


# -- robots.txt ----------------------------------------------------------------------------


def robots_requests(site: lab.PracticeSite) -> int:
    return sum(each.path == "/robots.txt" for each in site.requests)


def test_robots_txt_is_asked_once_per_authority_and_day(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    with serve(star(6), hosts=2) as site:
        seeds = [base + "t/" for base in site.hosts]
        crawl(seeds, folder, max_pages=5, workers=8)
        assert robots_requests(site) == 2
        crawl(seeds, folder, max_pages=8)
        assert robots_requests(site) == 2  # not again on a resume
        connection = sqlite3.connect(folder / DATABASE_NAME)
        connection.execute("UPDATE robots SET fetched_at = fetched_at - 86401")
        connection.commit()
        connection.close()
        assert crawl(seeds, folder, max_pages=None).finished
        assert robots_requests(site) == 4
        assert site.repeats() == 0


def test_what_robots_txt_refuses_is_a_row_and_an_event_and_is_not_asked(tmp_path: Path) -> None:
    with lab.serve(("robots",)) as site:
        seed = site.url + "robots/"
        found = crawl(seed, tmp_path / "c")
        closed = {url for url in site.truth.urls("robots") if not site.truth.page(url).allowed}
        assert len(closed) == 3
        assert not closed & {each.url for each in site.requests}
        for url in closed:
            assert tuple(row(found.urls, url)[["state", "reason"]]) == ("excluded", "robots")
        events = found.events
        assert set(events[events["kind"] == "robots"]["url"]) == closed
        assert found.summary()["excluded"] == {"robots": 3}
        allowed = site.truth.reachable(seed) - closed
        assert set(found.pages["url"]) == allowed


def test_what_a_page_says_about_indexing_is_recorded(tmp_path: Path) -> None:
    with lab.serve(("robots",)) as site:
        pages = crawl(site.url + "robots/", tmp_path / "c").pages
        start = site.url + "robots/"
        for name, said, indexable in (
            ("noindex", "noindex", False),
            ("header-noindex", "noindex", False),
            ("nofollow", "nofollow", True),
            ("open-1", None, True),
        ):
            found = row(pages, start + name)
            assert (None if pd.isna(found["robots"]) else found["robots"]) == said
            assert bool(found["indexable"]) is indexable


def test_robots_txt_can_be_left_unread(tmp_path: Path) -> None:
    with lab.serve(("robots",)) as site:
        found = crawl(site.url + "robots/", tmp_path / "c", obey_robots=False)
        assert robots_requests(site) == 0
        assert set(found.pages["url"]) == site.truth.reachable(site.url + "robots/")


@pytest.mark.parametrize("status", [403, 404])
def test_a_robots_txt_that_is_not_there_allows_all(tmp_path: Path, status: int) -> None:
    with serve(star(2), robots=plain("", status)) as site:
        found = crawl(site.url + "t/", tmp_path / "c")
        assert found.finished
        assert len(found.pages) == 3
        assert robots_requests(site) == 1


@pytest.fixture
def quick_robots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask an unreachable robots.txt again after a shorter pause."""
    monkeypatch.setattr(robots_cache, "_FIRST_WAIT", 0.05)


@pytest.mark.usefixtures("quick_robots")
@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_robots_txt_that_fails_closes_its_host_and_no_other(tmp_path: Path, status: int) -> None:
    def robots(ask: lab.Ask) -> lab.Answer | None:
        return plain("", status) if ask.place.host == 1 else None

    with serve(star(2), robots=robots, hosts=2) as site:
        found = crawl([base + "t/" for base in site.hosts], tmp_path / "c")
        assert found.finished
        assert set(found.pages["url"]) == {site.url + "t/" + name for name in ("", "p0", "p1")}
        bad = site.hosts[1] + "t/"
        assert tuple(row(found.urls, bad)[["state", "reason"]]) == (
            "excluded",
            "robots_unreachable",
        )
        events = found.events[found.events["kind"] == "robots_unreachable"]
        assert events["detail"].str.contains(f"http_{status}").all()
        assert any("robots.txt could not be had" in hint for hint in found.summary()["hints"])
        assert not [each for each in site.requests if each.url == bad]


@pytest.mark.usefixtures("quick_robots")
def test_a_robots_txt_that_never_answers_closes_its_host(tmp_path: Path) -> None:
    silent = dataclasses.replace(plain(""), wait=30.0)
    with serve(star(2), robots=silent) as site:
        began = time.monotonic()
        found = crawl(site.url + "t/", tmp_path / "c", http=ck.Http(timeout=0.3))
        assert time.monotonic() - began < 10
        assert reasons(found) == {"": ("excluded", "robots_unreachable")}
        assert found.events["detail"].str.contains("timeout").any()


@pytest.mark.usefixtures("quick_robots")
def test_a_host_whose_robots_txt_failed_can_be_retried(tmp_path: Path) -> None:
    down = [True]
    with serve(star(2), robots=lambda ask: plain("", 500) if down[0] else None) as site:
        found = crawl(site.url + "t/", tmp_path / "c")
        assert len(found.pages) == 0
        down[0] = False
        found.retry("robots_unreachable", progress=False)
        assert sorted(names(found.pages["url"])) == ["", "p0", "p1"]


@pytest.mark.usefixtures("quick_robots")
def test_retry_after_of_robots_txt_is_honored(tmp_path: Path) -> None:
    def robots(ask: lab.Ask) -> lab.Answer | None:
        return None if ask.visit else plain("", 503, headers=(("Retry-After", "1"),))

    with serve(star(1), robots=robots) as site:
        assert crawl(site.url + "t/", tmp_path / "c").finished
        first, second = (each.at for each in site.requests if each.path == "/robots.txt")
        assert second - first >= 1.0 - JITTER


@pytest.mark.parametrize("status", [301, 308])
def test_a_robots_txt_that_moved_is_followed(tmp_path: Path, status: int) -> None:
    with lab.serve([lab.Robots(status=status)]) as site:
        found = crawl(site.url + "robots/", tmp_path / "c")
        assert [each.path for each in site.requests][:3] == [
            "/robots.txt",
            "/robots/moved-1.txt",
            "/robots/moved-2.txt",
        ]
        assert found.summary()["excluded"] == {"robots": 3}


def test_a_robots_txt_that_moves_forever_allows_all(tmp_path: Path) -> None:
    def robots(ask: lab.Ask) -> lab.Answer:
        hop = int("".join(filter(str.isdigit, ask.path)) or 0)
        return lab.redirect(f"/{hop + 1}.txt")

    with serve(star(1), robots=robots) as site:
        found = crawl(site.url + "t/", tmp_path / "c")
        hops = [each for each in site.requests if each.path.endswith(".txt")]
        assert len(hops) == 6  # RFC 9309 2.3.1.2: at least five redirects
        assert len(found.pages) == 2
        # What was not asked for is no request.
        assert len(found.fetches) == len(site.requests)


def test_a_robots_txt_on_another_host_waits_for_that_host(tmp_path: Path) -> None:
    def robots(ask: lab.Ask) -> lab.Answer | None:
        there = ask.place.bases[0] + "rules.txt"
        if ask.path == "/rules.txt":
            return plain("User-agent: *\nDisallow: /t/p1\n")
        return lab.redirect(there) if ask.place.host == 1 else None

    with serve(star(3), robots=robots, hosts=2) as site:
        found = crawl([base + "t/" for base in site.hosts], tmp_path / "c", delay=0.2)
        assert gap(site) >= 0.2 - JITTER
        refused = found.urls[found.urls["reason"] == "robots"]["url"].tolist()
        assert refused == [site.hosts[1] + "t/p1"]  # the rules bind the host that was asked first


def test_a_seed_that_robots_txt_refuses_ends_with_a_clear_hint(tmp_path: Path) -> None:
    with serve(star(2), robots="User-agent: *\nDisallow: /t/\n") as site:
        found = crawl(site.url + "t/", tmp_path / "c")
        assert found.finished
        assert len(found.pages) == 0
        hints = " ".join(found.summary()["hints"])
        assert site.url + "t/" in hints
        assert "robots.txt" in hints
        assert "obey_robots=False" in hints


def test_an_interrupt_while_robots_txt_is_out_refuses_nothing(tmp_path: Path) -> None:
    slow = [dataclasses.replace(plain(""), wait=20.0)]
    with serve(star(2), robots=lambda ask: slow[0] if slow else None) as site:
        asked = lambda: robots_requests(site) > 0  # noqa: E731
        for _ in range(3):
            site.forget()
            found = crawl(site.url + "t/", tmp_path / "c", progress=interrupt_when(asked))
            assert found.stop_reason == "interrupted"
            assert reasons(found) == {"": ("pending", None)}
        assert "robots_unreachable" not in set(found.events["kind"])
        slow.clear()
        assert found.resume(progress=False).finished
        assert len(found.pages) == 3


def test_the_agent_that_robots_txt_speaks_to_is_the_one_that_asks(tmp_path: Path) -> None:
    rules = "User-agent: mybot\nDisallow: /t/p0\n\nUser-agent: *\nDisallow: /\n"
    with serve(star(2), robots=rules) as site:
        http = ck.Http(user_agent="MyBot/2.0", contact="me@example.com")
        found = crawl(site.url + "t/", tmp_path / "c", http=http)
        assert reasons(found)["p0"] == ("excluded", "robots")
        assert len(found.pages) == 2
        for each in site.requests:
            assert each.user_agent is not None
            assert each.user_agent.startswith("MyBot/2.0")
            assert "me@example.com" in each.user_agent
