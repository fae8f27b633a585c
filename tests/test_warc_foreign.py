"""WARC import: what other tools write, made by hand and made by them."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pytest
import warc_files as made
from warc_files import (
    BASE,
    BODY,
    CHUNKED,
    GZIP,
    chunks,
    coded,
    http,
    page,
    problems_of,
    record,
    row,
    same_tables,
    take,
    take_records,
)

import crawlkit as ck
from crawlkit.crawling.warc import export_warc

SMALL_SHOP = ck.lab.Shop(listings=4, per_page=10)


# -- how other tools write -----------------------------------------------------------------


@pytest.mark.parametrize(
    "block",
    [
        http(gzip.compress(BODY), headers=coded(GZIP)),
        http(chunks(BODY), headers=coded(CHUNKED)),
        http(chunks(gzip.compress(BODY)), headers=coded(GZIP, CHUNKED)),
        # Stored decoded, under the head of the wire.
        http(BODY, headers=coded(GZIP)),
        http(BODY, headers=coded(GZIP, CHUNKED, ("Content-Length", "77"))),
        http(gzip.compress(BODY), headers=coded(GZIP, CHUNKED)),
        http(BODY, headers=coded(("Content-Length", "5"))),
        http(BODY, headers=coded(("Content-Length", "5"), ("Content-Length", "6"))),
        http(BODY, headers=coded(("Content-Encoding", "br"))),
        # What browsers are sent, and how their tools write it.
        http(bytes(pa.Codec("brotli").compress(BODY)), headers=coded(("Content-Encoding", "br"))),
        http(bytes(pa.Codec("zstd").compress(BODY)), headers=coded(("Content-Encoding", "zstd"))),
        http(BODY, version="HTTP/2"),
        http(BODY, "200", version="HTTP/2.0"),
        http(BODY, "200", version="HTTP/1.0"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + http(BODY),
        http(BODY).replace(b"\r\n", b"\n"),
    ],
)  # fmt: skip
def test_bodies_are_decoded_or_taken_as_decoded(tmp_path, block):
    crawl = take_records(tmp_path, [record(BASE, block)])
    found = row(crawl, BASE)
    if found["error"] == "bad_length":  # as in a live crawl
        assert b"Content-Length: 6" in block
        return
    assert found["title"] == "Coded"
    assert crawl.body(BASE) == BODY
    assert pd.isna(found["error"])
    assert len(crawl.links) == 1


def test_headers_renamed_by_an_archive_are_those_that_were_received(tmp_path):
    headers = coded(
        ("X-Crawler-Content-Encoding", "gzip"), ("X-Crawler-Content-Length", "17"),
        ("Content-Length", str(len(BODY))),
    )  # fmt: skip
    take_records(tmp_path, [record(BASE, http(BODY, headers=headers))])
    export_warc(tmp_path / "crawl", tmp_path / "again.warc", gzip=False)
    data = (tmp_path / "again.warc").read_bytes()
    assert data.lower().count(b"x-crawler-content-length: 17\r\n") == 1
    assert data.lower().count(f"content-length: {len(BODY)}\r\n".encode()) == 1


def test_other_records_are_no_pages(tmp_path):
    records = [
        record(None, b"software: x\r\n", "warcinfo"),
        record(BASE, b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "request"),
        record("dns:a.example", b"20260501\na.example. 1 IN A 192.0.2.1\n"),
        record("metadata://gnu.org/software/wget/warc/wget.log", b"log", "resource"),
        record("urn:text:http://a.example/", b"text", "resource"),
        record(BASE, b"links", "conversion"),
        record(f"<{BASE}>", http(page("A"))),
        record(BASE + "not modified", http(b"", "304 Not Modified"), "revisit",
               more=(("WARC-Profile", "http://netpreserve.org/warc/1.0/server-not-modified"),)),
    ]  # fmt: skip
    crawl = take_records(tmp_path, records)
    assert list(crawl.pages["url"]) == [BASE]
    assert problems_of(crawl) == []


def test_a_resource_record_counts_as_answered(tmp_path):
    body = page("From a folder", "next")
    stored = record(BASE + "x.html", body, "resource", more=(("Content-Type", "text/html"),))
    crawl = take_records(tmp_path, [stored])
    found = row(crawl, BASE + "x.html")
    assert (found["status"], found["content_type"], found["title"]) == (
        200, "text/html", "From a folder",
    )  # fmt: skip


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("zipped", [False, True])
def test_arc_files_are_read_too(tmp_path, ending, zipped):
    data = made.arc([(BASE, http(page("A", "b"))), (BASE + "b", http(page("B")))], ending=ending)
    path = tmp_path / ("old.arc.gz" if zipped else "old.arc")
    path.write_bytes(gzip.compress(data) if zipped else data)
    crawl = take(path, tmp_path / "crawl")
    assert list(crawl.pages["title"]) == ["A", "B"]
    assert crawl.pages["fetched_at"][0] == pd.Timestamp("2005-06-14T07:01:50Z")
    assert problems_of(crawl) == []


@pytest.mark.parametrize("version", ["WARC/0.17", "WARC/0.18", "WARC/1.0", "WARC/1.1"])
def test_versions(tmp_path, version):
    crawl = take_records(tmp_path, [record(BASE, http(page("A")), version=version)])
    assert list(crawl.pages["title"]) == ["A"]


def test_compressed_by_record_as_a_whole_or_not_at_all_is_the_same(tmp_path):
    crawls = []
    for how in ("plain", "members", "whole"):
        path = made.write(tmp_path / f"{how}.warc", made.small_site(), how=how)
        crawls.append(take(path, tmp_path / how))
    same_tables(crawls[0], crawls[1])
    same_tables(crawls[0], crawls[2])
    assert [problems_of(crawl) for crawl in crawls] == [[], [], []]


def test_files_of_a_folder_are_read_by_name_and_given_files_in_their_order(tmp_path):
    site = made.small_site(4)
    made.write(tmp_path / "2.warc.gz", site[3:], how="members")
    made.write(tmp_path / "1.warc", site[:3])
    (tmp_path / "notes.txt").write_text("no WARC")
    by_folder = take(tmp_path, tmp_path / "a")
    assert list(by_folder.pages["title"]) == ["Start", "Page p0", "Page p1", "Page p2", "Page p3"]
    backward = take([tmp_path / "2.warc.gz", tmp_path / "1.warc"], tmp_path / "b")
    assert backward.pages["title"][0] == "Page p2"


# -- by other tools, for real --------------------------------------------------------------


def test_a_crawl_by_wget_is_imported_with_all_its_pages(tmp_path):
    wget = shutil.which("wget")
    if wget is None:
        pytest.skip("wget is not installed")
    with ck.lab.serve((SMALL_SHOP, "redirects", "broken", "files")) as site:
        command = [
            wget, "-q", "-r", "-l", "inf", "-e", "robots=on", "--tries=1", "--no-config",
            "--warc-file", str(tmp_path / "site"), "-P", str(tmp_path / "mirror"), site.url,
        ]  # fmt: skip
        subprocess.run(command, check=False, timeout=120, capture_output=True)
        asked = {each.target for each in site.requests} - {"/robots.txt"}
    crawl = take(tmp_path / "site.warc.gz", tmp_path / "crawl", extract=ck.lab.extract_product)
    asked -= {"/files/nothing"}  # wget writes no record of a 204
    assert len(asked) > 70
    paths = crawl.pages["url"].str.replace(r"^http://[^/]+", "", regex=True)
    assert sorted(paths) == sorted(asked)
    assert len(crawl.records) == SMALL_SHOP.size
    assert problems_of(crawl) == []
    # wget found its pages by links, as we do: only the first has no page that leads to it.
    assert list(crawl.pages.loc[crawl.pages["found_on"].isna(), "url"]) == [site.url]


CAPTURE = """
import sys
from warcio.capture_http import capture_http
import requests
with capture_http(sys.argv[1]):
    for url in sys.argv[2:]:
        requests.get(url, allow_redirects=False, timeout=30)
"""


def test_what_warcio_captured_is_imported(tmp_path):
    with ck.lab.serve((SMALL_SHOP, "redirects")) as site:
        names = ["", "shop/", "shop/?page=2", "redirects/301", "redirects/loop-a", "nowhere"]
        urls = [site.url + name for name in names]
        subprocess.run(
            [sys.executable, "-c", CAPTURE, str(tmp_path / "c.warc.gz"), *urls],
            check=True, timeout=120,
        )  # fmt: skip
    crawl = take(tmp_path / "c.warc.gz", tmp_path / "crawl")
    assert list(crawl.pages["url"]) == urls
    assert list(crawl.pages["status"]) == [200, 200, 200, 301, 302, 404]
    assert problems_of(crawl) == []
