"""Crawls of broken pages, broken servers and broken extractors: none of them is the end."""

from __future__ import annotations

import dataclasses
import socket
import time
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from crawls import Spread, crawl, names, page, paths, reasons, row, serve, star
from hostile_server import CLOSE, RESET, SILENCE, Forever, HostileServer, answer, unused_port

import crawlkit as ck
from crawlkit import lab
from crawlkit.crawling import results, robots_cache
from crawlkit.web.html import parse_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses after failures."""
    monkeypatch.setattr(robots_cache, "_FIRST_WAIT", 0.02)
    monkeypatch.setattr("crawlkit.crawling.writer.backoff_seconds", lambda *_, **__: 0.01)


# -- extractors ----------------------------------------------------------------------------


def raises(found: Any) -> Any:
    raise LookupError(f"no price on {found.title}")


def gives_half(found: Any) -> Iterator[dict[str, object]]:
    yield {"id": "first"}
    raise RuntimeError("in the middle")


def leaves(found: Any) -> Any:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("extract", "problem"),
    [
        (raises, "LookupError: no price on Leaf"),
        (gives_half, "RuntimeError: in the middle"),
        (leaves, "SystemExit: 3"),
        (lambda found: 7, "TypeError"),
        (lambda found: ["text"], "AttributeError"),
        (lambda found: [{"name": "no id"}], "natural key"),
        (lambda found: [{"id": ""}], "none was given"),
        (lambda found: [{"id": 1, "x": object()}], "cannot be kept"),
        (lambda found: [{"id": 1, "x": [float("inf")]}], "ValueError"),
        (lambda found: found.css("p[[")[0], "Error"),
    ],
)
def test_an_extractor_that_fails_is_an_event_and_not_the_end(
    tmp_path: Path, extract: Any, problem: str
) -> None:
    with serve(star(2)) as site:
        found = crawl(site.url + "t/", tmp_path / "c", extract=extract)
        assert found.finished
        assert {state for state, _ in reasons(found).values()} == {"done"}
        assert len(found.records) == 0
        events = found.events[found.events["kind"] == "extractor_failed"]
        assert sorted(names(events["url"])) == ["", "p0", "p1"]
        assert events["detail"].str.contains(problem).any()


@pytest.mark.parametrize("nothing", [None, [], (), {}, iter(())])
def test_an_extractor_may_find_nothing(tmp_path: Path, nothing: Any) -> None:
    with serve(star(1)) as site:
        found = crawl(site.url + "t/", tmp_path / "c", extract=lambda found: nothing)
        assert len(found.records) == 0
        assert len(found.events) == 0


def test_an_extractor_may_give_one_dict_and_odd_text(tmp_path: Path) -> None:
    def extract(found: Any) -> dict[str, object]:
        return {"id": found.url, "odd": "a\ud800\x00b", "nested": {"x": [1, None]}, "url": "mine"}

    with serve(star(1)) as site:
        found = crawl(site.url + "t/", tmp_path / "c", extract=extract)
        assert found.records["id"].tolist() == sorted(found.pages["url"])
        assert (found.records["url_"] == "mine").all()


def test_a_broken_extractor_can_be_replaced_by_a_good_one(tmp_path: Path) -> None:
    """A page of the practice site that has no price makes a usual extractor raise."""

    def naive(found: Any) -> Iterator[dict[str, object]]:
        for node in found.css(".product"):
            yield {"id": node.attributes["data-id"], "price": node.css_first(".price").text()}

    with lab.serve([lab.Failing(pages=0), lab.Shop(listings=1, per_page=3)]) as site:
        seeds = [site.url + "failing/poison", site.url + "shop/"]
        found = crawl(seeds, tmp_path / "c", extract=naive)
        assert row(found.urls, seeds[0])["state"] == "done"
        assert found.events["url"].tolist() == [seeds[0]]
        assert len(found.records) == 3


# -- pages ---------------------------------------------------------------------------------


def test_a_page_that_defeats_the_parser_is_a_failed_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = parse_page

    def parse(body: bytes, **options: Any) -> Any:
        if options["url"].endswith("p1"):
            raise RecursionError("poison")
        return real(body, **options)

    monkeypatch.setattr(results, "parse_page", parse)
    with serve(star(3)) as site:
        found = crawl(site.url + "t/", tmp_path / "c")
        assert found.finished
        assert reasons(found)["p1"] == ("failed", "internal_error")
        assert row(found.pages, site.url + "t/p1")["error"] == "internal_error"
        event = found.events[found.events["kind"] == "internal_error"].iloc[0]
        assert event["detail"] == "RecursionError: poison"
        assert len(found.pages) == 4


def test_files_are_pages_without_links(tmp_path: Path) -> None:
    with lab.serve(("files",)) as site:
        found = crawl(site.url + "files/", tmp_path / "c", extract=lab.extract_product)
        pages = found.pages.set_index("url")
        assert found.finished
        assert set(found.urls["state"]) == {"done"}
        for name, kind in (
            ("paper.pdf", "application/pdf"),
            ("picture.png", "image/png"),
            ("table.csv", "text/csv"),
            ("archive.bin", "application/octet-stream"),
        ):
            file: Any = pages.loc[site.url + "files/" + name]
            assert file["content_type"] == kind
            assert pd.isna(file["title"])
            assert pd.isna(file["words"])
            assert file["links_found"] == 0
            assert len(found.body(site.url + "files/" + name)) == file["size"] > 0
        mislabeled: Any = pages.loc[site.url + "files/mislabeled"]
        assert pd.isna(mislabeled["title"])
        assert mislabeled["links_found"] == 0
        empty = pages.loc[site.url + "files/empty"]
        assert (empty["status"], empty["size"]) == (200, 0)
        assert pages.loc[site.url + "files/nothing", "status"] == 204
        assert pages.loc[site.url + "files/untyped", "title"] == "No type"


def test_large_pages_are_taken_whole(tmp_path: Path) -> None:
    with lab.serve([lab.Large(sizes=(1_000_000, 5_000_000))]) as site:
        found = crawl(site.url + "large/", tmp_path / "c")
        assert set(found.pages["status"]) == {200}
        sizes = sorted(found.pages["size"])
        assert sizes[1:] == [1_000_000, 5_000_000]
        assert found.pages["links_found"].min() == 1
        assert len(found.body(site.url + "large/page-2")) == 5_000_000


def test_a_page_of_very_many_links_is_cut_and_says_so(tmp_path: Path) -> None:
    assert ck.Limits().links_per_page is not None  # there is a bound, asked for or not
    body = "".join(f"<a href=/x/{n}>.</a>" for n in range(7_000)).encode()
    with serve({"": lab.Answer(body)}) as site:
        limits = ck.Limits(links_per_page=5_000)
        found = crawl(site.url + "t/", tmp_path / "c", max_pages=1, limits=limits)
        assert len(found.links) == 5_000
        assert row(found.pages, site.url + "t/")["links_found"] == 7_000
        assert len(found.urls) == 5_001
        assert "2000 links" in found.events["detail"].iloc[0]


def test_odd_links_are_refused_or_kept_but_never_the_end(tmp_path: Path) -> None:
    odd = [
        "javascript:alert(1)", "mailto:a@example.com", "data:text/html,x", "tel:1", "blob:x",
        "ftp://example.com/", "file:///etc/passwd", "http://", "http://[::1", "http://%/",
        "http://h:99999/", "http://h:0/", "http://" + "a" * 70 + ".example/", "//",
        "/" + "x" * 70_000, "http://a b/", "http://user:secret@example.com/x", "\t/t/ok\n",
        "\\t\\ok", "?", "#", "", "http://2130706433/", "http://0x7f.1/", "/t/%zz", "/t/\x00",
        "/t/\ud83d\ude00", "/t/%ED%A0%80",
    ]  # fmt: skip
    links = "".join(f'<a href="{href}">x</a>' for href in odd)
    body = links.encode("utf-8", "surrogatepass") + b'<a href="/t/ok">ok</a>'
    with serve({"": lab.Answer(body), "ok": page()}) as site:
        found = crawl(site.url + "t/", tmp_path / "c")
        assert found.finished
        assert reasons(found)["ok"] == ("done", None)
        assert "secret" not in " ".join(found.urls["url"])
        assert all(url.startswith(("http://", "https://")) for url in found.urls["url"])
        assert found.urls["url"].str.len().max() < 10_000
        outside = found.urls[~found.urls["url"].str.startswith(site.url)]
        assert set(outside["reason"]) <= {"scope"}
        assert all(each.url.startswith(site.url) for each in site.requests)


def test_odd_text_comes_out_of_the_tables_clean(tmp_path: Path) -> None:
    title = "a\x00b\x1b[31m\ud800 &#xD800; <b>\u202e"
    body = f"<title>{title}</title><h1>{title}</h1><a href='/t/x'>{title}</a>"
    with serve({"": lab.Answer(body.encode("utf-8", "surrogatepass")), "x": page()}) as site:
        found = crawl(site.url + "t/", tmp_path / "c")
        shown = [row(found.pages, site.url + "t/")["title"], found.links["text"].iloc[0]]
        for text in shown:
            text.encode()  # no lone surrogate
            assert "\x00" not in text
            assert "\x1b" not in text


# -- seeds ---------------------------------------------------------------------------------


def test_an_empty_site_is_a_finished_crawl_of_one_page(tmp_path: Path) -> None:
    with serve({"": lab.Answer(b"")}) as site:
        found = crawl(site.url + "t/", tmp_path / "c")
        assert found.finished
        assert found.pages["size"].tolist() == [0]
        assert len(found.graph()) == 1


def test_a_seed_that_is_not_there_is_a_page_with_its_status(tmp_path: Path) -> None:
    with serve({}) as site:
        found = crawl(site.url + "t/gone", tmp_path / "c")
        assert found.finished
        assert found.pages["status"].tolist() == [404]


@pytest.mark.usefixtures("quick")
def test_a_host_that_refuses_connections_ends_soon_with_a_reason(tmp_path: Path) -> None:
    seed = f"http://127.0.0.1:{unused_port()}/"
    began = time.monotonic()
    found = crawl(seed, tmp_path / "c")
    assert time.monotonic() - began < 5
    assert found.finished
    assert tuple(row(found.urls, seed)[["state", "reason"]]) == ("excluded", "robots_unreachable")
    assert found.events["detail"].tolist() == ["robots.txt: connect_refused"] * 3
    assert any("crawl.retry('robots_unreachable')" in hint for hint in found.summary()["hints"])
    assert found.fetches["error"].tolist() == ["connect_refused"] * 3
    found = crawl(seed, tmp_path / "unasked", obey_robots=False, http=ck.Http(retries=1))
    assert tuple(row(found.urls, seed)[["state", "reason"]]) == ("failed", "connect_refused")
    assert row(found.pages, seed)["attempts"] == 2


@pytest.mark.usefixtures("quick")
def test_a_host_that_does_not_exist_ends_soon_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def getaddrinfo(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    seed = "http://nowhere.example/"
    found = crawl(seed, tmp_path / "c")
    assert found.finished
    assert tuple(row(found.urls, seed)[["state", "reason"]]) == ("excluded", "robots_unreachable")
    assert found.events["detail"].str.contains("dns_not_found").all()
    found = crawl(seed, tmp_path / "unasked", obey_robots=False)
    assert tuple(row(found.urls, seed)[["state", "reason"]]) == ("failed", "dns_not_found")
    assert len(found.fetches) == 1  # a name that does not exist is not asked for again


def test_a_seed_outside_the_scope_is_a_row_with_its_reason(tmp_path: Path) -> None:
    with serve(star(1)) as site:
        found = crawl(site.url + "t/", tmp_path / "c", scope=["example.com"])
        assert found.finished
        assert reasons(found) == {"": ("excluded", "scope")}
        assert site.requests == []


# -- servers -------------------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
def test_every_failure_of_a_server_is_a_row_with_a_reason(tmp_path: Path) -> None:
    with HostileServer() as server:
        bad = {
            "/cut": ("truncated", (answer(b"half", "Content-Length: 99"), CLOSE)),
            "/reset": ("connection_reset", (RESET,)),
            "/hangup": ("empty_reply", (CLOSE,)),
            "/silent": ("timeout", (SILENCE,)),
            "/not-http": ("bad_response", (b"SSH-2.0-OpenSSH\r\n\r\n", CLOSE)),
            "/endless": (
                "body_too_large",
                (
                    answer(b"", "Transfer-Encoding: chunked"),
                    Forever(b"400\r\n" + b"x" * 1024 + b"\r\n"),
                ),
            ),
            "/lengths": (
                "bad_length",
                (answer(b"ab", "Content-Length: 1", "Content-Length: 2"), CLOSE),
            ),
            "/bad-gzip": ("undecodable", (answer(b"plain", "Content-Encoding: gzip"), CLOSE)),
        }
        for path, (_, steps) in bad.items():
            server.on(path, *steps)
        links = "".join(f"<a href='{path}'>x</a>" for path in (*bad, "/fine", "/odd"))
        server.on("/", answer(links.encode()))
        server.on("/fine", answer(b"<title>Fine</title>"))
        server.on("/odd", answer(b"odd", status="999 Odd"))
        found = crawl(
            server.url("/"),
            tmp_path / "c",
            http=ck.Http(timeout=0.5, retries=1),
            limits=ck.Limits(body=100_000),
        )
        assert found.finished
        for path, (reason, _) in bad.items():
            url = server.url(path)
            assert tuple(row(found.urls, url)[["state", "reason"]]) == ("failed", reason), path
            assert row(found.pages, url)["error"] == reason
            again = reason in ("truncated", "connection_reset", "empty_reply", "timeout")
            assert row(found.pages, url)["attempts"] == 1 + again, path
        assert row(found.pages, server.url("/fine"))["title"] == "Fine"
        assert row(found.pages, server.url("/odd"))["status"] == 999
        assert found.summary()["failed"] == {reason: 1 for reason, _ in bad.values()}


@pytest.mark.usefixtures("quick")
def test_a_host_that_stays_silent_is_given_up_and_others_go_on(tmp_path: Path) -> None:
    def leaf(ask: lab.Ask) -> lab.Answer:
        return dataclasses.replace(page(), wait=30.0 if ask.place.host else 0.0)

    count = 15
    pages = {"": page(*(f"p{n}" for n in range(count))), **{f"p{n}": leaf for n in range(count)}}
    with serve(pages, hosts=2) as site:
        found = crawl(
            [base + "t/" for base in site.hosts],
            tmp_path / "c",
            workers=4,
            delay=0.01,
            http=ck.Http(timeout=0.15, retries=0),
        )
        assert found.finished
        silent = found.urls[found.urls["url"].str.startswith(site.hosts[1] + "t/p")]
        assert silent["reason"].value_counts().to_dict() == {"timeout": 10, "host_unreachable": 5}
        event = found.events[found.events["kind"] == "host_given_up"].iloc[0]
        assert event["host"] == site.hosts[1].split("/")[2]
        assert "5 URLs set aside" in event["detail"]
        answered = found.urls[found.urls["url"].str.startswith(site.url)]
        assert set(answered["state"]) == {"done"}
        assert len(answered) == count + 1


@pytest.mark.usefixtures("quick")
def test_pages_that_recover_are_done_and_others_fail(tmp_path: Path) -> None:
    with lab.serve([lab.Failing(failures=1, retry_after=0, pages=2)]) as site:
        found = crawl(site.url + "failing/", tmp_path / "c", http=ck.Http(retries=2))
        assert found.finished
        for url in site.truth.urls("failing"):
            truth = site.truth.page(url)
            state = row(found.urls, url)
            if truth.status == 200:
                assert state["state"] == "done", url
            else:
                expected = {None: truth.fault, 503: "http_503"}[truth.status]
                codes = {"reset": "connection_reset", "closed": "empty_reply"}
                expected = codes.get(str(expected), expected)
                assert (state["state"], state["reason"]) == ("failed", expected), url


def test_a_calendar_without_an_end_ends_at_the_limit(tmp_path: Path) -> None:
    with lab.serve(("calendar",)) as site:
        found = crawl(site.url + "calendar/", tmp_path / "c", max_pages=60)
        assert found.stop_reason == "max_pages"
        assert len(found.pages) == 60
        assert site.repeats() == 0
        assert found.summary()["beyond"]["max_pages"] == 1


def test_redirects_without_an_end_end_at_the_limit(tmp_path: Path) -> None:
    def hop(ask: lab.Ask) -> lab.Answer:
        return lab.redirect(f"/t/hop?n={int((ask.query or 'n=0')[2:]) + 1}")

    class Hops(dict):  # type: ignore[type-arg]
        def get(self, name: str, default: Any = None) -> Any:
            return hop if name.startswith("hop") else default

    with serve(Hops({"hop": hop})) as site:
        found = crawl(site.url + "t/hop", tmp_path / "c", max_pages=30)
        assert found.stop_reason == "max_pages"
        assert len(found.pages) == 30
        assert set(found.pages["depth"]) == {0}
        assert found.links["kind"].eq("redirect").all()


def test_a_late_shorter_way_counts_for_the_limit_of_depth(tmp_path: Path) -> None:
    """The page on the short way answers last; what is behind it is within the depth."""
    pages = {
        "": page("slow", "a"),
        "slow": dataclasses.replace(page("x"), wait=0.4),
        "a": page("b"),
        "b": page("x"),
        "x": page("y"),
        "y": page("z"),
        "z": page(),
    }
    with serve(pages) as site:
        found = crawl(site.url + "t/", tmp_path / "c", workers=4, max_depth=3)
        order = paths(site.requests)
        assert order.index("/t/x") < order.index("/t/y")
        assert reasons(found)["y"] == ("done", None)
        assert reasons(found)["z"] == ("excluded", "depth")
        assert row(found.urls, site.url + "t/y")["depth"] == 3


@pytest.mark.parametrize("score", [float("nan"), None, "high"])
def test_an_ordering_that_gives_no_number_is_named(tmp_path: Path, score: Any) -> None:
    class Bad(Spread):
        def start(self, page: ck.FoundPage) -> float:
            bad: float = score
            return bad if page.depth else 0.0

    with serve(star(2)) as site:
        with pytest.raises(ck.BadSetting, match="order: the ordering gave the score"):
            crawl(site.url + "t/", tmp_path / "c", order=Bad())
        # The folder is whole, and the same crawl can go on once the ordering is mended.
        found = crawl(site.url + "t/", tmp_path / "c", order=Spread())
        assert len(found.pages) == 3


def test_an_ordering_that_raises_ends_the_crawl_with_its_error(tmp_path: Path) -> None:
    class Bad(Spread):
        def downloaded(self, page: ck.FoundPage, links: Any) -> dict[int, float]:
            raise ZeroDivisionError("a mistake")

    with serve(star(2)) as site:
        with pytest.raises(ZeroDivisionError, match="a mistake"):
            crawl(site.url + "t/", tmp_path / "c", order=Bad())
        found = ck.open_crawl(tmp_path / "c")
        assert len(found.pages) == 0
        assert found.stop_reason is None
        assert crawl(site.url + "t/", tmp_path / "c", order=Spread()).finished


def test_requests_carry_no_cookie_and_no_credentials(tmp_path: Path) -> None:
    cookie = (("Set-Cookie", "a=1; Path=/"),)
    with serve({"": page("p0", headers=cookie), "p0": page(headers=cookie)}) as site:
        crawl(site.url.replace("//", "//me:secret@") + "t/", tmp_path / "c")
        assert len(site.requests) == 3
        for each in site.requests:
            assert not {"cookie", "authorization"} & set(each.headers)


# -- robots.txt of any size ----------------------------------------------------------------


@pytest.mark.parametrize("limits", [ck.Limits(), ck.Limits(body=5_000)])
def test_the_first_500_kib_of_a_huge_robots_txt_bind(tmp_path: Path, limits: ck.Limits) -> None:
    rules = "User-agent: *\nDisallow: /t/no\n" + "# filler\n" * 1_300_000
    pages = {"": page("yes", "no"), "yes": page(), "no": page()}
    with serve(pages, robots=rules) as site:
        done = crawl(site.url + "t/", tmp_path / "c", limits=limits)
    assert reasons(done)["no"] == ("excluded", "robots")
    assert done.finished
    first = done.fetches.iloc[0]
    assert first["error"] == "body_too_large"
    assert first["wire_bytes"] <= 512_001
