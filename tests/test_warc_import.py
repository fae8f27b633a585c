"""WARC import: from records to the tables of a crawl."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import warc_files as made
from warc_files import (
    BASE,
    DATE,
    http,
    page,
    problems_of,
    record,
    row,
    take,
    take_records,
)

import crawlkit as ck

if TYPE_CHECKING:
    from collections.abc import Iterable


# -- what a folder looks like --------------------------------------------------------------


def test_pages_links_and_urls_are_as_after_a_crawl(tmp_path):
    crawl = take_records(tmp_path, made.small_site(3))
    assert list(crawl.pages["url"]) == [BASE, BASE + "p0", BASE + "p1", BASE + "p2"]
    assert list(crawl.pages["title"]) == ["Start", "Page p0", "Page p1", "Page p2"]
    assert list(crawl.pages["depth"]) == [0, 1, 1, 1]
    assert list(crawl.pages["found_on"].isna()) == [True, False, False, False]
    assert set(crawl.pages["fetched_at"]) == {pd.Timestamp(DATE)}
    urls = crawl.urls.set_index("url")
    assert urls.loc[BASE, "source"] == "warc"
    assert urls.loc[BASE + "p0", "source"] == "link"
    assert urls.loc[BASE + "missing", "state"] == "pending"
    assert len(crawl.links) == 3 + 3 * 2
    assert crawl.links["new"].sum() == 4
    assert crawl.stop_reason == "imported"
    assert not crawl.finished
    assert crawl.body(BASE + "p1") == page("Page p1", "./", "missing")
    assert len(crawl.fetches) == 4


def test_an_import_asks_nothing_of_the_network(tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert len(take_records(tmp_path, made.small_site(2)).pages) == 3


def test_redirects_become_rows_that_the_graph_follows(tmp_path):
    moved = http(b"moved", "301 Moved Permanently", (("Location", "/new?x=1#part"),))
    crawl = take_records(
        tmp_path,
        [
            record(BASE, http(page("Start", "old"))),
            record(BASE + "old", moved),
            record(BASE + "new?x=1", http(page("New"))),
            record(BASE + "mail", http(b"", "302 Found", (("Location", "mailto:a@b.example"),))),
        ],
    )
    old = row(crawl, BASE + "old")
    assert (old["status"], old["redirected_to"]) == (301, BASE + "new?x=1")
    assert row(crawl, BASE + "new?x=1")["depth"] == old["depth"] == 1
    assert crawl.urls.set_index("url").loc[BASE + "new?x=1", "source"] == "redirect"
    assert row(crawl, BASE + "mail")["error"] == "redirect_not_http"
    assert list(crawl.graph().successors(BASE)) == [BASE + "new?x=1"]


def test_records_come_from_the_extractor_with_the_dates_of_the_file(tmp_path):
    def extract(found: Any) -> Iterable[dict[str, object]]:
        yield {"id": found.url, "title": found.title}

    crawl = take_records(tmp_path, made.small_site(2), extract=extract)
    assert list(crawl.records["title"]) == ["Start", "Page p0", "Page p1"]
    assert set(crawl.records["first_seen"]) == {pd.Timestamp(DATE)}


def test_an_extractor_that_fails_is_an_event(tmp_path):
    def extract(found: Any) -> Iterable[dict[str, object]]:
        raise RuntimeError(found.url)

    crawl = take_records(tmp_path, made.small_site(1), extract=extract)
    assert len(crawl.pages) == 2
    assert list(crawl.events["kind"]).count("extractor_failed") == 2


def test_scope_is_the_hosts_of_the_file_and_other_hosts_are_excluded(tmp_path):
    records = [
        record(BASE, http(page("A", "http://b.example/", "http://c.example/"))),
        record("http://b.example/", http(page("B", "more"))),
    ]
    urls = take_records(tmp_path, records).urls.set_index("url")
    assert urls.loc["http://b.example/more", "state"] == "pending"
    assert urls.loc["http://c.example/", "reason"] == "scope"


def test_records_outside_scope_and_patterns_are_left_out_and_counted(tmp_path):
    records = [
        record(BASE, http(page("A", "private/x", "shop/1"))),
        record(BASE + "private/x", http(page("Secret"))),
        record(BASE + "shop/1", http(page("Product"))),
        record("http://b.example/", http(page("B"))),
    ]
    crawl = take_records(tmp_path, records, scope=["a.example"], exclude="/private/")
    assert list(crawl.pages["title"]) == ["A", "Product"]
    assert crawl.urls.set_index("url").loc[BASE + "private/x", "reason"] == "exclude"
    told = crawl.events.loc[crawl.events["kind"] == "warc_imported", "detail"].item()
    assert told == "made.warc: 2 capture, 1 exclude, 1 scope"


def test_url_rules_make_the_keys(tmp_path):
    records = [
        record(BASE, http(page("A", "x?b=2&a=1&utm_source=n"))),
        record(BASE + "x?a=1&b=2", http(page("X"))),
        record(BASE + "dir", http(page("D"))),
        record(BASE + "dir/", http(page("D again"))),
    ]
    crawl = take_records(tmp_path, records, url_rules=ck.UrlRules(trailing_slash=True))
    assert list(crawl.pages["title"]) == ["A", "X", "D"]
    # The address is the first spelling that was found; the key is the page's.
    assert row(crawl, BASE + "x?b=2&a=1&utm_source=n")["key"] == BASE + "x?a=1&b=2"
    with pytest.raises(ck.SettingsChanged, match="url_rules"):
        take(tmp_path / "made.warc", tmp_path / "crawl")


def test_robots_txt_is_no_page_unless_a_page_links_to_it(tmp_path):
    robots = http(b"User-agent: *\nDisallow:\n", headers=(("Content-Type", "text/plain"),))
    records = [record(BASE + "robots.txt", robots), record(BASE, http(page("A")))]
    assert list(take_records(tmp_path, records).pages["url"]) == [BASE]
    linked = [record(BASE, http(page("A", "robots.txt"))), record(BASE + "robots.txt", robots)]
    (tmp_path / "two").mkdir()
    assert len(take_records(tmp_path / "two", linked).pages) == 2


def test_canonical_merge_holds_for_imports(tmp_path):
    copy = b'<html><link rel="canonical" href="/a"><title>Copy</title><p>x</p></html>'
    records = [record(BASE + "a?print=1", http(copy)), record(BASE + "b", http(page("B", "a")))]
    crawl = take_records(tmp_path, records, canonical="merge")
    assert crawl.settings.canonical == "merge"
    assert {BASE + "a?print=1", BASE + "b"} <= set(crawl.pages["url"])


# -- one page, many captures ---------------------------------------------------------------


def test_the_latest_good_capture_of_a_page_counts(tmp_path):
    down = http(b"<html>busy</html>", "503 Service Unavailable")
    records = [
        record(BASE, http(page("Old")), date="2025-01-01T00:00:00Z"),
        record(BASE, http(page("New")), date="2026-01-01T00:00:00.25Z"),
        record(BASE, http(page("Middle")), date="2025-06-01T00:00:00Z"),
        record(BASE, down, date="2026-02-01T00:00:00Z"),
        record(BASE + "down", down, date="2026-02-01T00:00:00Z"),
    ]
    crawl = take_records(tmp_path, records)
    assert row(crawl, BASE)["title"] == "New"
    assert row(crawl, BASE)["fetched_at"] == pd.Timestamp("2026-01-01T00:00:00.25Z")
    assert row(crawl, BASE + "down")["status"] == 503
    states = crawl.urls.set_index("url")["state"]
    assert states[BASE] == "done"
    assert states[BASE + "down"] == "failed"
    assert not crawl.links.duplicated(["source", "position"]).any()


def test_many_failures_of_one_host_do_not_set_it_aside(tmp_path):
    down = http(b"busy", "503 Service Unavailable")
    records = [record(BASE, http(page("Start", "waiting")))]
    records += [record(f"{BASE}{n}", down) for n in range(30)]
    crawl = take_records(tmp_path, records)
    assert len(crawl.pages) == 31
    assert crawl.urls.set_index("url").loc[BASE + "waiting", "state"] == "pending"
    assert "host_given_up" not in set(crawl.events["kind"])


@pytest.mark.parametrize("late", [False, True])
def test_a_revisit_takes_its_payload_from_the_record_that_it_refers_to(tmp_path, late):
    body = page("Twin", "next")
    original = record(BASE + "a", http(body), more=(("WARC-Payload-Digest", made.digest(body)),))
    again = made.revisit(BASE + "b", body, refers_to=BASE + "a")
    lost = made.revisit(BASE + "c", b"never seen", refers_to=BASE + "x")
    records = [again, original] if late else [original, again]
    crawl = take_records(tmp_path, [*records, lost])
    assert set(crawl.pages["url"]) == {BASE + "a", BASE + "b"}
    assert row(crawl, BASE + "b")["title"] == "Twin"
    assert crawl.body(BASE + "b") == body
    assert problems_of(crawl) == ["warc_unresolved"]
    assert crawl.events.set_index("kind").loc["warc_unresolved", "url"] == BASE + "c"


def test_a_revisit_finds_the_payload_of_an_older_capture(tmp_path):
    body = page("Twin")
    records = [
        record(BASE + "a", http(body), more=(("WARC-Payload-Digest", made.digest(body)),)),
        record(BASE + "a", http(page("Changed")), date="2026-09-01T00:00:00Z"),
        made.revisit(BASE + "b", body, refers_to=BASE + "a"),
    ]
    crawl = take_records(tmp_path, records)
    assert row(crawl, BASE + "a")["title"] == "Changed"
    assert row(crawl, BASE + "b")["title"] == "Twin"
