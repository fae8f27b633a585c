"""The practice site's pages, their truth, and the trouble they make."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
import urllib.request
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import pytest
from lab_client import FOREVER, Client, closure, node, wait_for
from selectolax.lexbor import LexborHTMLParser

from crawlkit import lab

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.allow_hosts(["127.0.0.0/8", "::1", "localhost"])


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


# --- the shop -----------------------------------------------------------------------------------


def test_the_shop_has_525_pages_and_500_products_with_the_values_of_the_truth(
    client: Client,
) -> None:
    with lab.serve(("shop",)) as site:
        replies = closure(client, site.url + "shop/")
        assert len(replies) == 525
        assert set(replies) == site.truth.urls("shop") == site.truth.reachable(site.url + "shop/")
        assert {reply.status for reply in replies.values()} == {200}
        records = [
            {"url": url, **record}
            for url, reply in replies.items()
            for record in lab.extract_product(LexborHTMLParser(reply.body))
        ]
        assert len(records) == 500
        products = site.truth.products
        assert len(set(products["id"])) == len(set(products["name"])) == 500
        truth = {record["url"]: record for record in products.to_dict("records")}
        assert {record["url"]: record for record in records} == truth
        assert len(site.requests) == 525
        assert site.repeats() == 0


def test_pages_of_the_shop_look_like_pages_of_a_shop(client: Client) -> None:
    with lab.serve(("shop",)) as site:
        url = sorted(site.truth.urls("shop", kind="product"))[0]
        page = LexborHTMLParser(client.get(url).body)
        facts = json.loads(node(page, "script[type='application/ld+json']").text())
        record = site.truth.page(url).record or {}
        assert facts["sku"] == record["id"]
        assert facts["offers"]["price"] == node(page, ".price").text()
        assert node(page, "title").text() == node(page, "h1").text() == record["name"]
        assert node(page, "html").attributes["lang"] == "en"
        assert all(page.css_first(f"{region} a") for region in ("header", "nav", "main", "footer"))
        assert node(page, "meta[name=description]").attributes["content"]
        assert urljoin(url, node(page, "link[rel=canonical]").attributes["href"]) == url


def test_a_shop_of_another_size_and_seed(client: Client) -> None:
    with lab.serve([lab.Shop(listings=3, per_page=4)], seed=7) as site:
        assert len(closure(client, site.url + "shop/")) == 15
        names = set(site.truth.products["name"])
    with lab.serve([lab.Shop(listings=3, per_page=4)], seed=8) as site:
        assert names != set(site.truth.products["name"])


@pytest.mark.parametrize("sessions", [False, True])
def test_spellings_of_the_tracking_shop_merge_into_525_pages(
    client: Client, sessions: bool
) -> None:
    urls = pytest.importorskip("crawlkit.web.urls")
    rules = urls.UrlRules(session_ids=sessions)
    with lab.serve([lab.ShopTracking(sessions=sessions)]) as site:
        replies = closure(
            client, site.url + "shop-tracking/", key=lambda url: urls.normalize_url(url, rules)
        )
        assert {reply.status for reply in replies.values()} == {200}
        assert set(replies) == site.truth.urls("shop-tracking")
        assert len(replies) == 525


def test_the_tracking_shop_is_many_more_addresses_without_rules(client: Client) -> None:
    with lab.serve([lab.ShopTracking(listings=2, sessions=True)], seed=3) as site:
        replies = closure(client, site.url + "shop-tracking/")
        assert len(replies) > 100
        assert {reply.status for reply in replies.values()} == {200}
        assert {site.truth.page(url).url for url in replies} == site.truth.urls("shop-tracking")
        assert {"%70", "utm_source=", "gclid=", "fbclid=", "PHPSESSID=", ";jsessionid="} <= {
            mark
            for url in replies
            for mark in re.findall(r"%70|utm_source=|[gfb]+clid=|PHPSESSID=|;jsessionid=", url)
        }


# --- truth --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", lab.SECTIONS)
def test_what_the_truth_says_is_what_is_served(client: Client, name: str) -> None:
    section = lab.SECTIONS[name]()
    if name == "slow":
        section = lab.Slow(seconds=0.01)
    if name == "outage":
        section = lab.Outage(after=10_000)
    with lab.serve([section], hosts=2) as site:
        for row in site.truth.rows[::7] if "shop" in name else site.truth.rows:
            if row.first_status is None or row.fault:
                continue
            reply = client.get(row.url)
            assert reply.status == row.first_status, row
            location = reply.headers["Location"]
            assert row.redirects_to == (location and urljoin(row.url, location)), row


@pytest.mark.parametrize("name", ["broken", "canonical", "cross", "deep", "files", "robots"])
def test_the_truth_knows_every_page_that_links_lead_to(client: Client, name: str) -> None:
    with lab.serve((name,), hosts=1) as site:
        start = f"{site.url}{name}/"
        assert site.truth.urls(name) >= site.truth.reachable(start)
        if name != "files":
            found = {u for u, reply in closure(client, start).items() if reply.status < 300}
            whole = site.truth.urls(name, status=200)
            assert found == {url for url in whole if site.truth.page(url).depth is not None}


def test_truth_tables_have_fixed_columns_and_the_right_rows() -> None:
    with lab.serve(("broken", "redirects", "canonical", "calendar")) as site:
        truth = site.truth
        pages = truth.pages
        assert list(pages) == [
            *("url", "host", "section", "kind", "status", "first_status", "fault"),
            *("redirects_to", "canonical", "same_as", "depth", "is_trap", "allowed"),
        ]
        assert pages["url"].is_unique
        assert set(truth.broken["status"]) == {404, 410, 500, 503}
        assert (truth.broken["source"].str.contains("article")).sum() == 12
        assert set(truth.redirects["status"]) == {301, 302, 303, 307, 308}
        copies = pages.dropna(subset=["same_as"])
        assert set(copies["canonical"]) == set(copies["same_as"])
        assert set(pages.loc[pages["is_trap"], "section"]) == {"calendar"}
        assert truth.products.empty
        assert list(truth.products) == ["url", "id", "name", "price", "stock", "category"]
        base = site.url + "redirects/"
        assert truth.page(base + "target-chain").depth == truth.page(base + "chain-1").depth == 1


def test_calendar_goes_on_for_ever_and_the_chain_is_deep(client: Client) -> None:
    with lab.serve(("calendar", "deep")) as site:
        far = site.url + "calendar/99999-12"
        page = client.get(far)
        assert page.status == 200
        assert b"/calendar/100000-01" in page.body
        assert site.truth.is_trap(far)
        assert client.get(site.url + "calendar/2025-12").status == 404
        assert client.get(site.url + "calendar/2026-13").status == 404
        assert site.truth.page(site.url + "deep/level-50").depth == 50
        assert client.get(site.url + "deep/level-51").status == 404


def test_the_same_seed_gives_the_same_bytes_in_every_process(client: Client) -> None:
    def bodies(site: lab.PracticeSite) -> dict[str, bytes]:
        names = ("shop", "broken", "files", "large", "calendar")
        rows = [row for row in site.truth.rows if row.section in names and not row.fault]
        return {urlsplit(row.url).path: client.get(row.url).body for row in rows[::5]}

    sections = ("shop", "broken", "files", "large", "calendar")
    with lab.serve(sections, seed=5) as site:
        first = bodies(site)
    with lab.serve(sections, seed=5, process=True) as site:
        assert bodies(site) == first
    with lab.serve(sections, seed=6) as site:
        other = bodies(site)
    assert len(first) > 50
    assert sum(first.get(path) == body for path, body in other.items()) < 10


def test_draws_do_not_depend_on_the_version_or_machine() -> None:
    assert lab.draw("a", 1) == 9_331_952_569_449_725_121
    assert [lab.pick("abc", n) for n in range(6)] == list("bccbbc")
    with lab.serve(("shop",)) as site:
        assert site.truth.products.iloc[0]["id"] == "P0001"


# --- trouble ------------------------------------------------------------------------------------


def test_pages_that_fail_at_first_recover_and_fail_again_once_forgotten(client: Client) -> None:
    with lab.serve(("failing",)) as site:
        busy = site.url + "failing/busy-1"
        for _ in range(2):
            statuses = [client.get(busy).status for _ in range(4)]
            assert statuses == [503, 503, 200, 200]
            limited = client.get(site.url + "failing/limited")
            assert (limited.status, limited.headers["Retry-After"]) == (429, "1")
            site.forget()
        assert site.truth.page(busy).status == 200
        assert site.truth.page(busy).first_status == 503
        assert client.get(site.url + "failing/down").status == 503


def test_faults_are_seen_as_what_they_are(client: Client) -> None:
    with lab.serve(("failing",)) as site:
        base = site.url + "failing/"
        for when in ("once", "always"):
            with pytest.raises(ConnectionResetError):
                client.get(f"{base}reset-{when}")
            with pytest.raises(http.client.RemoteDisconnected):
                client.get(f"{base}closed-{when}")
            with pytest.raises(http.client.IncompleteRead):
                client.get(f"{base}truncated-{when}")
        assert client.get(base + "reset-once").status == 200
        assert client.get(base + "truncated-once").status == 200
        assert [request.status for request in site.requests[:3]] == [None, None, 200]
        assert site.truth.page(base + "reset-always").fault == "reset"
        page = LexborHTMLParser(client.get(base + "poison").body)
        with pytest.raises(AttributeError):
            list(lab.extract_product(page))


def test_an_outage_takes_the_whole_host_and_no_other(client: Client) -> None:
    outage = lab.Outage(after=2, requests=3, retry_after=7, on=(1,))
    with lab.serve(["shop", outage], hosts=2) as site:
        paths = ["outage/", "robots.txt", "shop/", "robots.txt", "", "shop/"]
        replies = [client.get(site.hosts[1] + path) for path in paths]
        assert [reply.status for reply in replies] == [200, 200, 503, 503, 503, 200]
        assert replies[2].headers["Retry-After"] == "7"
        assert {client.get(site.hosts[0] + "shop/").status for _ in range(8)} == {200}
        assert client.get(site.hosts[0] + "outage/").status == 404


def test_slow_pages_are_slow_and_hold_nobody_up(client: Client) -> None:
    with lab.serve(["shop", lab.Slow(seconds=0.5)]) as site:
        began = time.monotonic()
        other = Client()
        slow = threading.Thread(target=other.get, args=(site.url + "slow/",))
        slow.start()
        assert wait_for(lambda: site.requests)
        assert client.get(site.url + "shop/").status == 200
        assert time.monotonic() - began < 0.5
        slow.join()
        assert time.monotonic() - began >= 0.5
        other.close()


def test_large_pages_and_files_are_what_they_claim(client: Client) -> None:
    with lab.serve([lab.Large(sizes=(300_000, 10)), "files"]) as site:
        page = client.get(site.url + "large/page-1").body
        assert len(page) == 300_000
        assert page.endswith(b"</html>\n")
        assert node(LexborHTMLParser(page), "nav a").attributes["href"] == "/large/"
        base = site.url + "files/"
        assert client.get(base + "paper.pdf").body.startswith(b"%PDF-1.4")
        assert client.get(base + "picture.png").body.startswith(b"\x89PNG")
        assert client.get(base + "mislabeled").headers["Content-Type"] == "text/html"
        assert client.get(base + "untyped").headers["Content-Type"] is None
        assert client.get(base + "nothing").status == 204
        assert client.get(base + "empty").body == b""


def test_robots_txt_says_what_the_sections_ask_for(client: Client) -> None:
    closed = lab.Robots(crawl_delay=0.5, disallow=("/shop/products/",), on=(1,))
    with lab.serve(["shop", closed], hosts=2) as site:
        assert client.get(site.hosts[0] + "robots.txt").body == b"User-agent: *\nDisallow:\n"
        reply = client.get(site.hosts[1] + "robots.txt")
        assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
        lines = reply.body.decode().splitlines()
        assert {"Crawl-delay: 0.5", "Disallow: /shop/products/"} < set(lines)
        base = f"{site.hosts[1]}robots/"
        refused = {row.url for row in site.truth.rows if not row.allowed}
        products = {row.url for row in site.truth.rows if row.kind == "product"}
        shut = {base + "closed/1", base + "closed/2", base + "search?q=lamp"}
        assert refused == shut | {url for url in products if site.hosts[1] in url}
        assert client.get(base + "header-noindex").headers["X-Robots-Tag"] == "noindex"


@pytest.mark.parametrize(("status", "hops"), [(404, 0), (503, 0), (301, 2)])
def test_robots_txt_can_be_missing_failing_or_moved(client: Client, status: int, hops: int) -> None:
    with lab.serve([lab.Robots(status=status)]) as site:
        reply = client.get(site.url + "robots.txt")
        assert reply.status == status
        for _ in range(hops):
            reply = client.get(urljoin(site.url, reply.headers["Location"]))
        assert reply.status == (200 if hops else status)
        assert (b"Disallow" in reply.body) == bool(hops)
        closed, home = (site.truth.page(site.url + path) for path in ("robots/closed/1", ""))
        assert (closed.allowed, home.allowed) == (status == 404, status != 503)


def test_redirect_chain_loop_and_off_host(client: Client) -> None:
    with lab.serve([lab.Redirects(chain=5)]) as site:
        base = site.url + "redirects/"
        with urllib.request.urlopen(base + "chain-1", timeout=FOREVER) as response:
            assert response.url == base + "target-chain"
        assert len(site.requests) == 6
        assert client.get(base + "loop-a").headers["Location"] == "/redirects/loop-b"
        assert client.get(base + "loop-b").headers["Location"] == "/redirects/loop-a"
        away = client.get(base + "off-host").headers["Location"]
        assert urlsplit(away).hostname == "localhost"
        with urllib.request.urlopen(away, timeout=FOREVER) as response:
            assert response.status == 200
        assert client.get(base + "no-location").headers["Location"] is None
