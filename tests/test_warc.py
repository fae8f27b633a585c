"""WARC export: whole or absent, right for other tools, and what an import makes of it."""

from __future__ import annotations

import contextlib
import threading
import zlib
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from warc_files import BASE, check, plant, records_of, responses_of

import crawlkit as ck
from crawlkit.crawling.database import open_for_writing
from crawlkit.crawling.warc import export_warc
from crawlkit.crawling.warc_import import import_warc
from crawlkit.web.fingerprint import body_hash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SMALL_SHOP = ck.lab.Shop(listings=3, per_page=8)
SECTIONS = (SMALL_SHOP, "redirects", "broken", "files", "canonical")

# What a WARC file does not tell: how long a request took, what it weighed on the wire, how often
# it was tried, its number among all requests of that crawl, and what was odd about its connection.
NOT_IN_WARC = ["elapsed", "wire_bytes", "attempts", "seq", "flags"]


def crawl(seeds: Any, folder: Path, **options: Any) -> ck.Crawl:
    defaults: dict[str, Any] = {"delay": 0, "max_pages": None, "progress": False}
    defaults["http"] = ck.Http(retries=0)
    return ck.crawl(seeds, folder, **{**defaults, **options})


def kept_urls(folder: Path) -> set[str]:
    """The pages whose answer was kept whole, by the tables alone."""
    pages = ck.open_crawl(folder).pages
    broken_off = pages["error"].notna() & pages["body_hash"].isna()
    return set(pages.loc[pages["status"].notna() & ~broken_off, "url"])


# -- a crawl of the practice site, its export, and the import of that ----------------------


@pytest.fixture(scope="module")
def round_trip(tmp_path_factory: pytest.TempPathFactory) -> tuple[ck.Crawl, Path, ck.Crawl]:
    base = tmp_path_factory.mktemp("warc")
    with ck.lab.serve(SECTIONS) as site:
        before = crawl(site.url, base / "a", extract=ck.lab.extract_product, workers=4)
    path = base / "site.warc.gz"
    export_warc(base / "a", path)
    after = import_warc(path, base / "b", extract=ck.lab.extract_product, progress=False)
    return before, path, after


def test_every_kept_response_is_exported_once_and_passes_warcios_check(round_trip):
    before, path, _ = round_trip
    check(path)
    urls = [
        record.rec_headers.get_header("WARC-Target-URI")
        for record, _ in records_of(path)
        if record.rec_type == "response"
    ]
    assert len(urls) == len(set(urls))
    assert kept_urls(before.folder) <= set(urls) <= set(before.pages["url"])
    assert len(kept_urls(before.folder)) > 60


def test_bodies_are_the_same_byte_for_byte_in_the_file_and_after_an_import(round_trip):
    before, path, after = round_trip
    responses = responses_of(path)
    hashes = before.pages.dropna(subset=["body_hash"]).set_index("url")["body_hash"]
    assert len(hashes) > 50
    for url, hashed in hashes.items():
        assert body_hash(responses[url][1]) == hashed
        assert body_hash(after.body(url)) == hashed == body_hash(before.body(url))


def test_an_import_of_an_export_has_the_same_pages(round_trip):
    before, path, after = round_trip
    exported = set(responses_of(path))
    expected = before.pages[before.pages["url"].isin(exported)]
    expected = expected.drop(columns=NOT_IN_WARC).reset_index(drop=True)
    found = after.pages.drop(columns=NOT_IN_WARC)
    pd.testing.assert_frame_equal(found, expected)
    assert after.pages["elapsed"].isna().all()


def test_an_import_of_an_export_has_the_same_links_urls_and_records(round_trip):
    before, path, after = round_trip
    exported = set(responses_of(path))
    links = before.links[before.links["source"].isin(exported)].reset_index(drop=True)
    # The Location of a redirect may have been kept as an address only.
    redirects = links["kind"] == "redirect"
    assert redirects.sum() > 10
    found = after.links
    same = ["source", "target", "position", "region", "text", "rel", "kind", "internal", "new"]
    pd.testing.assert_frame_equal(found[same], links[same])
    assert found.loc[~redirects, "href"].equals(links.loc[~redirects, "href"])
    pd.testing.assert_frame_equal(after.records, before.records)
    assert len(after.records) == SMALL_SHOP.size
    columns = ["url", "key", "url_hash", "host", "depth", "score", "found_on", "found_seq"]
    pd.testing.assert_frame_equal(after.urls[columns], before.urls[columns])


def test_what_was_not_kept_is_pending_after_an_import(round_trip):
    before, path, after = round_trip
    missing = set(before.pages["url"]) - set(responses_of(path))
    states = after.urls.set_index("url")["state"]
    assert set(states[states == "pending"].index) == missing
    assert after.stop_reason == ("imported" if missing else "finished")


def test_seeds_keep_their_place_although_other_pages_link_to_them(tmp_path):
    with ck.lab.serve(SMALL_SHOP) as site:
        seeds = [site.url + "shop/", site.url + "shop/?page=3", site.url + "shop/?page=2"]
        frame = pd.DataFrame({
            "loc": seeds, "lastmod": pd.to_datetime(["2026-01-02T03:04:05Z", None, None])
        })  # fmt: skip
        before = crawl(frame, tmp_path / "a", max_pages=20)
    export_warc(tmp_path / "a", tmp_path / "a.warc.gz")
    after = import_warc(tmp_path / "a.warc.gz", tmp_path / "b", progress=False)
    same = ["url", "depth", "state", "found_on", "found_seq", "source", "score"]
    pd.testing.assert_frame_equal(after.urls[same], before.urls[same])
    assert list(after.urls["source"][:3]) == ["sitemap"] * 3
    with closing(open_for_writing(tmp_path / "b")) as connection:
        lastmods = connection.execute("SELECT lastmod FROM urls ORDER BY id LIMIT 3").fetchall()
    assert lastmods == [(1767323045.0,), (None,), (None,)]


def test_pages_in_the_order_of_the_fetches_whatever_the_segments(tmp_path, monkeypatch):
    monkeypatch.setattr("crawlkit.crawling.engine._SEGMENT_RESULTS", 7)
    with ck.lab.serve(SMALL_SHOP) as site:
        found = crawl(site.url + "shop/", tmp_path / "a", max_pages=25)
    export_warc(tmp_path / "a", tmp_path / "a.warc", gzip=False)
    assert list(responses_of(tmp_path / "a.warc")) == list(found.pages["url"])


# -- headers --------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    """Pages as real servers send them: compressed, in chunks, with odd headers."""

    protocol_version = "HTTP/1.1"
    START = b'<html><title>Start</title><a href="chunked">1</a><a href="odd">2</a></html>'
    CHUNKED = b"<html><title>Chunked</title>" + b"<p>word</p>" * 500 + b"</html>"
    ODD = b"<html><title>Odd</title></html>"

    def do_GET(self) -> None:
        self.send_response(200 if self.path != "/robots.txt" else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if self.path == "/chunked":
            body = zlib.compress(self.CHUNKED, wbits=31)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), 50):
                part = body[start : start + 50]
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
            return
        body = {"/": zlib.compress(self.START, wbits=31), "/odd": self.ODD}.get(self.path, b"")
        if self.path == "/":
            self.send_header("Content-Encoding", "gzip")
        else:
            self.send_header("X-Name", "Gr\u00fc\u00dfe".encode().decode("latin-1"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@contextlib.contextmanager
def real_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_headers_that_no_longer_hold_are_renamed_and_given_back_by_an_import(tmp_path):
    with real_server() as url:
        before = crawl(url, tmp_path / "a")
    export_warc(tmp_path / "a", tmp_path / "a.warc.gz")
    check(tmp_path / "a.warc.gz")
    responses = responses_of(tmp_path / "a.warc.gz")
    assert responses[url][1] == Handler.START
    record, body = responses[url + "chunked"]
    assert body == Handler.CHUNKED
    head = record.http_headers
    assert head.get_header("Content-Encoding") is None
    assert head.get_header("Transfer-Encoding") is None
    assert head.get_header("X-Crawler-Content-Encoding") == "gzip"
    assert head.get_header("X-Crawler-Transfer-Encoding") == "chunked"
    assert head.get_header("Content-Length") == str(len(body))
    odd = responses[url + "odd"][0].http_headers
    assert odd.get_header("X-Name") == "Gr\u00fc\u00dfe"
    lengths = [value for name, value in odd.headers if name.lower() == "content-length"]
    assert lengths == [str(len(Handler.ODD))]
    after = import_warc(tmp_path / "a.warc.gz", tmp_path / "b", progress=False)
    assert set(after.pages["title"]) == {"Start", "Chunked", "Odd"}
    export_warc(tmp_path / "b", tmp_path / "b.warc.gz")
    again = responses_of(tmp_path / "b.warc.gz")
    for address, (first, content) in responses.items():
        second, same = again[address]
        assert same == content
        assert sorted(second.http_headers.headers) == sorted(first.http_headers.headers)
    assert len(before.pages) == 3


def test_hostile_headers_cannot_end_their_line_or_forge_others(tmp_path):
    hostile = [
        ["X-Split", "a\r\nX-Forged: yes\r\n\r\n<script>"],
        ["X-Null", "a\x00b"],
        ["X-Forged2: yes\r\nX-Odd", "value"],
        ["", "no name"],
        ["X Space", "value"],
        ["X-Surrogate", "a\ud800b"],
        ["X-Long", "y" * 60_000],
        ["Content-Length", "5"],
        ["Content-Length", "17"],
    ]
    plant(tmp_path / "a", hostile)
    assert export_warc(tmp_path / "a", tmp_path / "a.warc") == 1
    check(tmp_path / "a.warc")
    record, body = responses_of(tmp_path / "a.warc")[BASE]
    assert body == b"<p>x</p>"
    names = [name for name, _ in record.http_headers.headers]
    assert "X-Forged" not in names
    assert "X-Forged2" not in names
    assert names == [
        "X-Split", "X-Null", "X-Surrogate", "X-Long", "X-Crawler-Content-Length",
        "X-Crawler-Content-Length", "Content-Length",
    ]  # fmt: skip
    assert record.http_headers.get_header("X-Null") == "a b"
    assert record.http_headers.get_header("Content-Length") == "8"
    after = import_warc(tmp_path / "a.warc", tmp_path / "b", progress=False)
    assert after.body(BASE) == b"<p>x</p>"


def test_the_date_is_kept_to_the_microsecond(tmp_path):
    plant(tmp_path / "a", date="2026-09-21T14:13:20.123457Z")
    export_warc(tmp_path / "a", tmp_path / "a.warc")
    record, _ = responses_of(tmp_path / "a.warc")[BASE]
    assert record.rec_headers.get_header("WARC-Date") == "2026-09-21T14:13:20.123457Z"
    after = import_warc(tmp_path / "a.warc", tmp_path / "b", progress=False)
    assert after.pages["fetched_at"][0].isoformat() == "2026-09-21T14:13:20.123457+00:00"
