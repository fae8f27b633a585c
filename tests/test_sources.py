"""Seeds from feeds, files, pasted text, listing pages and sitemaps."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
import sys
import time
import zipfile
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit.web import feeds
from crawlkit.web.feeds import read_feed
from crawlkit.web.seed_tables import MOST_REFUSED, SeedTable

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = {
    "url": "str",
    "source": "str",
    "lastmod": "datetime64[us, UTC]",
    "found_in": "str",
}
QUICK = ck.Http(retries=0, timeout=5.0)
pytestmark = pytest.mark.filterwarnings("ignore:No seed could be read")


class Site:
    """Serves what it is given by path, and notes what was asked."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, str, bytes, dict[str, str]]] = {}
        self.asked: list[str] = []
        self.url = ""

    def put(
        self,
        path: str,
        body: bytes | str,
        kind: str = "text/html",
        status: int = 200,
        **headers: str,
    ) -> str:
        data = body.encode() if isinstance(body, str) else body
        self.pages[path] = (status, kind, data, headers)
        return self.url + path


@contextmanager
def served() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65_536

        def do_GET(self) -> None:
            site.asked.append(self.path)
            status, kind, body, headers = site.pages.get(self.path, (404, "text/html", b"", {}))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def types(frame: pd.DataFrame) -> dict[str, str]:
    return {str(name): str(kind) for name, kind in frame.dtypes.items()}


def reasons(frame: pd.DataFrame) -> list[str]:
    return [row["reason"] for row in frame.attrs["refused"]]


# --- the table ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "extra"),
    [
        (lambda: ck.seeds_from_feed("<rss/>"), {"title", "published", "issues"}),
        (lambda: ck.seeds_from_file("nothing here\n"), {"row", "issues"}),
        (
            lambda: ck.seeds_from_sitemap(b"<urlset/>", progress=False),
            {"lastmod_text", "lastmod_granularity", "kind", "issues"},
        ),
        (
            lambda: ck.seeds_from_page("http://127.0.0.1:9/", http=QUICK, obey_robots=False),
            {"title", "region", "rel"},
        ),
    ],
)
def test_empty_tables_have_the_same_columns(make: Any, extra: set[str]) -> None:
    frame = make()
    assert len(frame) == 0
    assert {name: types(frame)[name] for name in BASE} == BASE
    assert set(frame.columns) == set(BASE) | extra


def test_a_flood_of_refused_rows_is_counted_and_bounded() -> None:
    table = SeedTable("file")
    for number in range(MOST_REFUSED + 5):
        table.add(f"mailto:{number}@example.com" + "x" * 1000)
    frame = table.frame()
    assert frame.attrs["refused_count"] == MOST_REFUSED + 5
    assert len(frame.attrs["refused"]) == MOST_REFUSED
    assert max(len(row["url"]) for row in frame.attrs["refused"]) == 500


def test_tables_survive_parquet_and_pickle_and_work_in_operations(tmp_path: Path) -> None:
    frame = ck.seeds_from_file("url,x\nhttps://a.example/,1\nbad,2\n")
    frame.to_parquet(tmp_path / "seeds.parquet")
    back = pd.read_parquet(tmp_path / "seeds.parquet")
    assert back["url"].tolist() == ["https://a.example/"]
    both = pd.concat([frame, frame])
    assert len(both) == 2
    assert frame.head(1).attrs["refused"] == frame.attrs["refused"]


# --- feeds -------------------------------------------------------------------------------------

RSS_2 = """<?xml version="1.0"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>News</title><link>https://example.com/</link>
<atom:link rel="self" href="https://example.com/feed"/>
<item><title>One &amp; <![CDATA[<b>two</b>]]></title><link>https://example.com/1?a=1&amp;copy=2</link>
 <media:content url="https://example.com/i.jpg"><media:title>Picture</media:title></media:content>
 <guid isPermaLink="false">x1</guid><pubDate>Fri, 17 May 2024 12:30:00 +0200</pubDate></item>
<item><guid>https://example.com/2</guid><dc:date>2024-05-18T00:00:00Z</dc:date></item>
<item><guid isPermaLink="false">https://example.com/no</guid><title>No link</title></item>
<item><link>
   /3#part
 </link><pubDate>17 May 24 12:30 GMT</pubDate></item>
<item><link></link><guid>tag:example.com,2024:4</guid></item>
<item><link>https://example.com/5</link><pubDate>2024-05-17T12:00:00</pubDate></item>
<item><link>https://example.com/6</link><pubDate>yesterday</pubDate>
 <atom:updated>2024-06-01</atom:updated></item>
<item><link>javascript:alert(1)</link></item>
<item><link>https://example.com/1?a=1&amp;copy=2</link></item>
</channel></rss>"""


def test_rss_2() -> None:
    frame = ck.seeds_from_feed(RSS_2)
    assert frame["url"].tolist() == [
        "https://example.com/1?a=1&copy=2",
        "https://example.com/2",
        "https://example.com/3",
        "https://example.com/5",
        "https://example.com/6",
    ]
    assert frame["title"].tolist()[0] == "One & <b>two</b>"
    assert frame["title"].isna().tolist() == [False, True, True, True, True]
    stamps = [None if pd.isna(each) else each.isoformat() for each in frame["lastmod"]]
    assert stamps == [
        "2024-05-17T10:30:00+00:00",
        "2024-05-18T00:00:00+00:00",
        "2024-05-17T12:30:00+00:00",
        None,
        "2024-06-01T00:00:00+00:00",
    ]
    issues = [None if pd.isna(each) else each for each in frame["issues"]]
    assert issues == [None, "link_from_id", None, "published_no_zone", "published_unreadable"]
    assert reasons(frame) == ["no_link", "no_link", "not_http"]
    assert frame.attrs["duplicates"] == 1
    assert frame.attrs["kind"] == "rss"
    assert frame.attrs["title"] == "News"
    assert frame.attrs["reason"] is None


def test_rss_1_and_09() -> None:
    rdf = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
     xmlns:dc="http://purl.org/dc/elements/1.1/">
    <channel rdf:about="https://example.com/"><title>T</title><link>https://example.com/</link></channel>
    <item rdf:about="https://example.com/1"><link>https://example.com/a</link><dc:date>2024-01-01</dc:date></item>
    <item rdf:about="https://example.com/2"><title>x</title></item></rdf:RDF>"""
    frame = ck.seeds_from_feed(rdf)
    assert frame["url"].tolist() == ["https://example.com/a", "https://example.com/2"]
    assert frame["lastmod"].iloc[0].isoformat() == "2024-01-01T00:00:00+00:00"
    old = (
        '<rss version="0.91"><channel><item><title>A</title><link>http://a.example/</link></item>'
        "</channel></rss>"
    )
    assert ck.seeds_from_feed(old)["url"].tolist() == ["http://a.example/"]


def test_atom_with_bases_and_several_links() -> None:
    atom = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.com/blog/">
    <title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">The <b>blog</b></div></title>
    <link rel="self" href="feed"/><link href="https://example.com/"/>
    <entry><link rel="edit" href="/edit/1"/>
      <link rel="alternate" type="application/pdf" href="/1.pdf"/>
      <link rel="alternate" type="text/html" href="1"/>
      <id>urn:1</id><updated>2024-05-17T12:30:00Z</updated>
      <published>2024-05-01T00:00:00Z</published>
      <source><id>urn:s</id><link href="https://other.example/"/><title>S</title></source></entry>
    <entry xml:base="2024/"><link href="2"/></entry>
    <entry xml:base="javascript:x"><link href="3"/></entry>
    <entry><id>https://example.com/4</id></entry>
    <entry><content xml:base="https://evil.example/"><link href="x"/></content>
      <link href="5"/></entry>
    <atom:entry xmlns:atom="http://www.w3.org/2005/Atom"><atom:link href="6"/></atom:entry>
    </feed>"""
    frame = ck.seeds_from_feed(atom)
    assert frame["url"].tolist() == [
        "https://example.com/blog/1",
        "https://example.com/blog/2024/2",
        "https://example.com/blog/3",
        "https://example.com/4",
        "https://example.com/blog/5",
        "https://example.com/blog/6",
    ]
    assert frame["lastmod"].iloc[0] == pd.Timestamp("2024-05-17T12:30:00Z")
    assert frame["published"].iloc[0] == pd.Timestamp("2024-05-01T00:00:00Z")
    assert frame["issues"].tolist()[2:4] == ["bad_base", "link_from_id"]
    assert frame.attrs["title"] == "The blog"
    old = """<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry><link rel="alternate"
      href="http://a.example/1"/><issued>2004-01-01T00:00:00Z</issued>
      <modified>2004-02-01T00:00:00Z</modified></entry></feed>"""
    frame = ck.seeds_from_feed(old)
    assert frame["lastmod"].iloc[0] == pd.Timestamp("2004-02-01T00:00:00Z")


def test_json_feed() -> None:
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "home_page_url": "https://example.com/",
        "title": "J",
        "items": [
            {"id": "1", "url": "/1", "date_modified": "2024-05-17T12:30:00Z", "title": "One"},
            {"id": "https://example.com/2"},
            {"id": 3, "external_url": "https://other.example/3", "date_published": "never"},
            "junk",
            {"url": ["https://example.com/4"]},
        ],
    }
    frame = ck.seeds_from_feed(json.dumps(feed))
    assert frame["url"].tolist() == [
        "https://example.com/1",
        "https://example.com/2",
        "https://other.example/3",
    ]
    assert frame["lastmod"].isna().tolist() == [False, True, True]
    assert reasons(frame) == ["no_link", "no_link"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1", "utf-16-be"])
def test_feeds_in_other_encodings_and_compressed(encoding: str, tmp_path: Path) -> None:
    name = encoding.removesuffix("-sig")
    text = (
        f'<?xml version="1.0" encoding="{name}"?>\n<rss><channel><item>'
        "<link>https://example.com/caf\u00e9</link><title>\u00e9</title></item></channel></rss>"
    )
    for data in (text.encode(encoding), gzip.compress(text.encode(encoding))):
        path = tmp_path / "feed"
        path.write_bytes(data)
        frame = ck.seeds_from_feed(path)
        assert frame["url"].tolist() == ["https://example.com/caf%C3%A9"]
        assert frame["title"].tolist() == ["\u00e9"]
        assert frame["found_in"].tolist() == [str(path)]


def test_broken_feeds_give_what_there_is() -> None:
    item = "<item><link>https://example.com/{}</link></item>"
    ampersand = f"<rss><channel>{item.format('1?a=1&b=2')}{item.format(2)}</channel></rss>"
    frame = ck.seeds_from_feed(ampersand)
    assert frame["url"].tolist() == ["https://example.com/1?a=1&b=2", "https://example.com/2"]
    assert set(frame["issues"]) == {"recovered"}
    cut = f"<rss><channel>{item.format(1)}<item><link>https://example.com/lo"
    frame = ck.seeds_from_feed(cut)
    assert frame["url"].tolist() == ["https://example.com/1"]  # never a half URL
    assert frame.attrs["reason"] == "truncated"
    late = f"<rss><channel>{item.format(1)}<item><link>https://example.com/2</link><title>x"
    frame = ck.seeds_from_feed(late)
    assert frame["issues"].tolist()[1] == "truncated"
    junk = f"  \n<rss><channel>{item.format(1)}</channel></rss><!-- made by --> trailing"
    assert len(ck.seeds_from_feed(junk)) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<html><body>Hello</body></html>", "html_page"),
        ("<!DOCTYPE html><p>x", "html_page"),
        ('<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>', "not_a_feed"),
        ("<", "not_a_feed"),
        (b"   ", "empty_file"),
        (b"", "empty_file"),
        ("{", "parse_error"),
        ('{"items": 3}', "not_a_feed"),
        ('{"a":' * 50_000, "parse_error"),
    ],
)
def test_what_is_no_feed_is_a_reason(text: str | bytes, reason: str) -> None:
    frame = ck.seeds_from_feed(text)
    assert len(frame) == 0
    assert frame.attrs["reason"] == reason
    assert reasons(frame) == [reason]


def test_hostile_xml_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    item = "<item><link>https://example.com/&b;</link></item>"
    frame = ck.seeds_from_feed(f"{bomb}<rss><channel>{item}</channel></rss>")
    assert frame.attrs["reason"] == "entities_forbidden"
    outside = '<!DOCTYPE r SYSTEM "file:///etc/passwd">'
    frame = ck.seeds_from_feed(f"{outside}<rss><channel>{item.replace('&b;', '1')}</channel></rss>")
    assert frame["url"].tolist() == ["https://example.com/1"]
    began = time.process_time()
    deep = "<rss><channel>" + '<a xml:base="b/">' * 9_000
    assert len(ck.seeds_from_feed(deep)) == 0
    long = f'<rss><channel><item a="{"x" * 1_000_000}"><link>/{"y" * 1_000_000}</link></item>'
    assert len(ck.seeds_from_feed(long)) == 0
    assert time.process_time() - began < 10
    monkeypatch.setattr(feeds, "FEED_BYTES", 1_000_000)
    gzip_bomb = gzip.compress(b"<rss><channel>" + b" " * 1_500_000)
    frame = ck.seeds_from_feed(gzip_bomb)
    assert frame.attrs["reason"] == "file_too_large"


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_no_mangled_feed_upsets_the_reader(seed: int) -> None:
    draw = random.Random(seed)
    data = bytearray(RSS_2.encode())
    for _ in range(draw.randrange(6)):
        at = draw.randrange(len(data))
        data[at : at + draw.randrange(9)] = draw.choice(
            [b"<", b"&", b"\0", b"]]>", b"</item>", b"'"]
        )
    whole = {entry.link for entry in read_feed(RSS_2.encode()).entries}
    cut = read_feed(bytes(RSS_2.encode()[: draw.randrange(len(RSS_2))]))
    assert {entry.link for entry in cut.entries} <= whole
    read_feed(bytes(data))


def test_a_feed_over_http_obeys_robots_and_follows_redirects() -> None:
    with served() as site:
        site.put("/robots.txt", "User-agent: *\nDisallow: /private", "text/plain")
        site.put("/real", "<rss><channel><item><link>a</link></item></channel></rss>", "text/plain")
        site.put("/feed", "", status=301, Location="/real")
        site.put("/private", "<rss/>", "text/xml")
        site.put("/gone", "", status=410)
        site.put("/hop", "", status=302, Location="/private")
        frame = ck.seeds_from_feed(site.url + "/feed", http=QUICK)
        assert frame["url"].tolist() == [site.url + "/a"]
        assert frame["found_in"].tolist() == [site.url + "/real"]
        assert site.asked[0] == "/robots.txt"
        for path, reason in (("/private", "robots"), ("/gone", "http_410"), ("/hop", "robots")):
            frame = ck.seeds_from_feed(site.url + path, http=QUICK)
            assert (len(frame), frame.attrs["reason"]) == (0, reason)
        assert "/private" not in site.asked
        frame = ck.seeds_from_feed(site.url + "/private", http=QUICK, obey_robots=False)
        assert frame.attrs["reason"] is None
        assert site.asked[-1] == "/private"


def test_a_page_leads_to_the_feed_that_it_names() -> None:
    with served() as site:
        site.put(
            "/",
            """<base href="/blog/"><link rel=stylesheet href=x.css>
            <link rel="alternate" hreflang=de href=/de>
            <link rel="ALTERNATE" type="application/rss+xml; charset=utf-8" href="rss">
            <link rel=alternate type=application/atom+xml href=atom><p>Hello""",
        )
        site.put(
            "/blog/rss", "<rss><channel><item><link>/1</link></item></channel></rss>", "text/xml"
        )
        site.put("/plain", "<html><body>no feed</body></html>")
        frame = ck.seeds_from_feed(site.url + "/", http=QUICK)
        assert frame["url"].tolist() == [site.url + "/1"]
        assert frame.attrs["feeds"] == (site.url + "/blog/rss", site.url + "/blog/atom")
        frame = ck.seeds_from_feed(site.url + "/plain", http=QUICK)
        assert frame.attrs["reason"] == "no_feed_named"
        site.put("/loop", '<link rel=alternate type=application/rss+xml href="/loop"><body>x')
        assert len(ck.seeds_from_feed(site.url + "/loop", http=QUICK)) == 0


@pytest.mark.parametrize("source", ["example.com/feed", "no-such.xml", 7, None, "ftp://a.example/"])
def test_a_feed_that_cannot_be_is_named(source: Any) -> None:
    with pytest.raises(ck.BadSetting) as caught:
        ck.seeds_from_feed(source)
    assert caught.value.name == "source"
    assert ("https://example.com/feed" in str(caught.value)) == (source == "example.com/feed")


# --- files and pasted text ---------------------------------------------------------------------

URLS = ["https://example.com/a,b", "https://example.com/c?d=e;f", "https://example.com/g|h"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_csv_with_any_delimiter_and_encoding(delimiter: str, encoding: str, tmp_path: Path) -> None:
    rows = [["Größe", "Address", "Status Code"], *([["3", url, "200"] for url in URLS])]
    text = "\r\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    path = tmp_path / "export"
    path.write_bytes(text.encode(encoding))
    frame = ck.seeds_from_file(path)
    assert frame["url"].tolist() == [url.replace("|", "%7C") for url in URLS]
    assert frame["row"].tolist() == [1, 2, 3]
    assert frame["found_in"].tolist() == [str(path)] * 3
    assert frame.attrs["column"] == "Address"
    assert frame.attrs["columns"] == ("Größe", "Address", "Status Code")
    assert frame.attrs["delimiter"] == delimiter
    assert frame.attrs["form"] == "csv"


def test_screaming_frog_address_beats_other_columns_of_urls() -> None:
    text = (
        '"Source","Address","Canonical Link Element 1","Redirect URL","Last Modified"\n'
        '"https://example.com/","https://example.com/1","https://example.com/c","",'
        '"Fri, 17 May 2024 12:30:00 GMT"\n'
        '"https://example.com/","https://example.com/2","https://example.com/c","","soon"\n'
        '"https://example.com/","","https://example.com/c","",""\n'
    )
    frame = ck.seeds_from_file(text)
    assert frame["url"].tolist() == ["https://example.com/1", "https://example.com/2"]
    assert frame["lastmod"].iloc[0] == pd.Timestamp("2024-05-17T12:30:00Z")
    assert frame["issues"].iloc[1] == "lastmod_unreadable"
    assert frame.attrs["empty_cells"] == 1
    other = ck.seeds_from_file(text, column="Canonical Link Element 1")
    assert other["url"].tolist() == ["https://example.com/c"]
    assert other.attrs["duplicates"] == 2
    assert ck.seeds_from_file(text, column=0)["url"].tolist() == ["https://example.com/"]


def test_a_search_console_export_is_a_zip_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "https___www.example.com_-Performance.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Queries.csv", "Top queries,Clicks\nshoes,3\nhttps boots,1\n")
        archive.writestr(
            "Seiten.csv",
            "Die h\u00e4ufigsten Seiten,Klicks\nhttps://example.com/1,3\nhttps://example.com/2,1\n",
        )
        archive.writestr("Chart.csv", "Date,Clicks\n2024-01-01,3\n")
        archive.writestr("read.me", "https://example.com/no")
    frame = ck.seeds_from_file(str(path))
    assert frame["url"].tolist() == ["https://example.com/1", "https://example.com/2"]
    assert frame.attrs["column"] == "Die h\u00e4ufigsten Seiten"
    assert frame.attrs["part"] == "Seiten.csv"
    assert frame["found_in"].tolist() == [f"{path}#Seiten.csv"] * 2


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_advertools_json_lines(pack: Any, tmp_path: Path) -> None:
    lines = [
        {"url": "https://example.com/1", "body_text": "x" * 200_000, "status": 200},
        {"url": "https://example.com/2", "links_url": "https://a.example/@@https://b.example/"},
        {"errors": "timeout"},
    ]
    data = "\n".join([*map(json.dumps, lines), '{"url": "https://example.com/cut'])
    path = tmp_path / "crawl.jl"
    path.write_bytes(pack(data.encode()))
    frame = ck.seeds_from_file(path)
    assert frame["url"].tolist() == ["https://example.com/1", "https://example.com/2"]
    assert frame.attrs["form"] == "jsonl"
    assert frame.attrs["column"] == "url"
    assert frame.attrs["empty_cells"] == 2


def test_json_in_other_shapes() -> None:
    rows = [{"loc": "https://example.com/1", "lastmod": "2024-05-17"}, {"loc": None}]
    for whole in (rows, {"count": 2, "data": rows}):
        frame = ck.seeds_from_file(json.dumps(whole))
        assert frame["url"].tolist() == ["https://example.com/1"]
        assert frame["lastmod"].iloc[0] == pd.Timestamp("2024-05-17T00:00:00Z")
    frame = ck.seeds_from_file(json.dumps(URLS))
    assert len(frame) == 3
    assert frame.attrs["column"] is None


def test_a_list_keeps_its_commas_and_refuses_what_is_no_url() -> None:
    text = "\ufeff" + "\n".join([*URLS, "", "# a comment", "example.com/x", "mailto:a@b.example"])
    frame = ck.seeds_from_file(text)
    assert frame["url"].tolist() == [url.replace("|", "%7C") for url in URLS]
    assert frame.attrs["form"] == "lines"
    assert reasons(frame) == ["no_scheme", "not_http"]
    assert ck.seeds_from_file("https://example.com/only")["url"].tolist() == [
        "https://example.com/only"
    ]


def test_addresses_with_one_comma_each_are_a_list_and_numbers_a_table() -> None:
    lines = [f"https://example.com/article-{n},{n}.html" for n in range(5)]
    assert ck.seeds_from_file("\n".join(lines))["url"].tolist() == lines
    lines = [f"https://example.com/{n},200,2024-05-17" for n in range(5)]
    frame = ck.seeds_from_file("\n".join(lines))
    assert frame["url"].tolist() == [f"https://example.com/{n}" for n in range(5)]
    assert frame.attrs["column"] == 0


def test_a_header_over_a_list_is_no_row() -> None:
    frame = ck.seeds_from_file("url\nhttps://example.com/1\nhttps://example.com/2\n")
    assert frame["url"].tolist() == ["https://example.com/1", "https://example.com/2"]
    assert reasons(frame) == []
    assert frame.attrs["column"] == "url"


def test_running_text_from_a_clipboard() -> None:
    text = """Hi, look at https://example.com/a, https://example.com/b. And (http://c.example/x_(y))!
    "https://example.com/q?a=1&b=2" <https://example.com/z>; www.no-scheme.example/x and ftp://x.example
    \u201chttps://example.com/w\u201d"""
    frame = ck.seeds_from_file(text)
    assert frame["url"].tolist() == [
        "https://example.com/a",
        "https://example.com/b",
        "http://c.example/x_(y)",
        "https://example.com/q?a=1&b=2",
        "https://example.com/z",
        "https://example.com/w",
    ]
    assert frame.attrs["form"] == "text"
    assert reasons(frame) == ["no_scheme"]


def test_long_fields_are_read_and_the_limit_of_the_process_stays() -> None:
    before = csv.field_size_limit()
    text = f'url,body\nhttps://example.com/1,"{"x, " * 100_000}"\nhttps://example.com/2,y\n'
    assert len(ck.seeds_from_file(text)) == 2
    assert csv.field_size_limit() == before


def test_lines_before_the_names_and_a_separator_line_are_left_out() -> None:
    text = "sep=;\nReport;for\nexample.com\n\nPage path;Full URL;Views\n" + "".join(
        f"/{n};https://example.com/{n};3\n" for n in range(9)
    )
    frame = ck.seeds_from_file(text)
    assert len(frame) == 9
    assert frame.attrs["column"] == "Full URL"


def test_paths_need_a_base() -> None:
    text = "Page path,Views\n/a,1\n/b?c=d,2\n"
    frame = ck.seeds_from_file(text, base="https://example.com/x/")
    assert frame["url"].tolist() == ["https://example.com/a", "https://example.com/b?c=d"]
    without = ck.seeds_from_file(text)
    assert len(without) == 0
    assert reasons(without) == ["no_url_column"]


def test_frames_and_lists() -> None:
    frame = pd.DataFrame(
        {
            "name": ["a", "b", "c", "d", "e"],
            "Page": ["https://example.com/1", None, float("nan"), " https://example.com/2 ", 7],
            "lastmod": pd.to_datetime(["2024-05-17T12:00:00+02:00"] * 5),
        }
    )
    seeds = ck.seeds_from_file(frame)
    assert seeds["url"].tolist() == ["https://example.com/1", "https://example.com/2"]
    assert seeds["lastmod"].iloc[0] == pd.Timestamp("2024-05-17T10:00:00Z")
    assert seeds.attrs["empty_cells"] == 2
    assert reasons(seeds) == ["not_text"]
    assert seeds.attrs["column"] == "Page"
    for many in (URLS, tuple(URLS), pd.Series(URLS)):
        assert len(ck.seeds_from_file(many)) == 3
    again = ck.seeds_from_file(seeds)  # its own table is a source, too
    assert again["url"].tolist() == seeds["url"].tolist()
    assert len(ck.seeds_from_file(pd.DataFrame())) == 0


def test_a_workbook_needs_openpyxl_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "book.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ck.MissingExtra, match="openpyxl"):
        ck.seeds_from_file(path)


def test_a_workbook(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as writer:
        pd.DataFrame({"note": ["x", "y"]}).to_excel(writer, sheet_name="Read me", index=False)
        pd.DataFrame(
            {"n": [1, 2], "Address": URLS[:2], "Last Modified": pd.to_datetime(["2024-05-17"] * 2)}
        ).to_excel(writer, sheet_name="Internal", index=False)
    frame = ck.seeds_from_file(path)
    assert frame["url"].tolist() == URLS[:2]
    assert (frame.attrs["part"], frame.attrs["form"]) == ("Internal", "excel")
    assert frame["lastmod"].iloc[0] == pd.Timestamp("2024-05-17T00:00:00Z")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(ck.BadSetting, match="damaged"):
        ck.seeds_from_file(path)


@pytest.mark.parametrize(
    ("source", "options", "name"),
    [
        ("no-such-file.csv", {}, "source"),
        (Path("/"), {}, "source"),
        (7, {}, "source"),
        (None, {}, "source"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", {}, "source"),
        (b"PK\x03\x04damaged", {}, "source"),
        (b"\x1f\x8bdamaged", {}, "source"),
        ("a,url\n1,https://example.com/\n", {"column": "b"}, "column"),
        ("a,url\n1,https://example.com/\n", {"column": 2}, "column"),
        ("a,url\n1,https://example.com/\n", {"base": "example.com"}, "base"),
    ],
)
def test_a_source_that_cannot_work_is_named(
    source: Any, options: dict[str, Any], name: str
) -> None:
    with pytest.raises(ck.BadSetting) as caught:
        ck.seeds_from_file(source, **options)
    assert caught.value.name == name


@settings(max_examples=25)
@given(st.binary(max_size=300))
def test_no_bytes_upset_the_reader_of_files(data: bytes) -> None:
    try:
        frame = ck.seeds_from_file(data)
    except ck.BadSetting:
        return
    assert {name: types(frame)[name] for name in BASE} == BASE


@settings(max_examples=15)
@given(
    st.lists(
        st.text("ab09,;|?=&%.-_/", max_size=20).map(lambda tail: f"https://a.example/{tail}"),
        min_size=1,
        max_size=20,
        unique=True,
    ),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_every_url_of_a_quoted_table_comes_back_once(urls: list[str], delimiter: str) -> None:
    buffer = io.StringIO()
    pd.DataFrame({"n": range(len(urls)), "url": urls}).to_csv(
        buffer, sep=delimiter, index=False, quoting=1
    )
    right = list(dict.fromkeys(ck.seeds_from_file(urls)["url"]))
    assert ck.seeds_from_file(buffer.getvalue())["url"].tolist() == right


# --- listing pages -----------------------------------------------------------------------------

LISTING = """<title>Articles</title><base href="/blog/">
<nav><a href="/">Home</a> <a href="/about" rel="nofollow">About</a></nav>
<main><ul class=list><li><a href="1">One</a> <a href="#top">top</a></li>
<li><a href="2?x=1">Two</a></li><li><a href="1">One again</a></li>
<li><a href="mailto:a@example.com">Mail</a><a href="https://other.example/3">Three</a></li></ul></main>"""


def test_the_links_of_a_page() -> None:
    with served() as site:
        url = site.put("/blog/", LISTING)
        frame = ck.seeds_from_page(url, http=QUICK)
        here = site.url
        assert frame["url"].tolist() == [
            here + "/", here + "/about", here + "/blog/1", here + "/blog/2?x=1",
            "https://other.example/3",
        ]  # fmt: skip
        assert frame["title"].tolist() == ["Home", "About", "One", "Two", "Three"]
        assert frame["region"].tolist() == ["nav", "nav", "main", "main", "main"]
        assert frame["rel"].tolist()[1] == "nofollow"
        assert set(frame["found_in"]) == {url}
        assert reasons(frame) == ["same_page", "not_http"]
        assert frame.attrs["duplicates"] == 1
        assert frame.attrs["title"] == "Articles"
        by_pattern = ck.seeds_from_page(url, pattern="/blog/*", http=QUICK)
        assert by_pattern["url"].tolist() == [here + "/blog/1", here + "/blog/2?x=1"]
        assert by_pattern.attrs["not_matching"] == 3
        for css in ("ul.list", "ul.list a", "ul.list, ul.list a"):
            by_css = ck.seeds_from_page(url, css=css, http=QUICK)
            assert by_css["title"].tolist() == ["One", "Two", "Three"]
            assert by_css["region"].tolist() == ["main"] * 3
        assert len(ck.seeds_from_page(url, css="p.none", http=QUICK)) == 0


def test_a_page_that_cannot_be_read_is_a_reason() -> None:
    with served() as site:
        site.put("/robots.txt", "User-agent: *\nDisallow: /no", "text/plain")
        site.put("/no", LISTING)
        site.put("/picture", b"\x89PNG\r\n\x1a\n\0\0", "image/png")
        cases = (("/no", "robots"), ("/gone", "http_404"), ("/picture", "not_html"))
        for path, reason in cases:
            frame = ck.seeds_from_page(site.url + path, http=QUICK)
            assert (len(frame), frame.attrs["reason"]) == (0, reason)
            assert reasons(frame) == [reason]
        assert "/no" not in site.asked
        assert len(ck.seeds_from_page(site.url + "/no", http=QUICK, obey_robots=False)) == 6
        site.put("/robots.txt", "", status=500)
        frame = ck.seeds_from_page(site.url + "/x", http=QUICK)
        assert frame.attrs["reason"] == "robots_unreachable"


@pytest.mark.parametrize(
    "options",
    [{"url": "example.com"}, {"url": None}, {"pattern": "news/"}, {"css": "a["}, {"css": ""}],
)
def test_a_wrong_argument_of_a_page_is_named(options: dict[str, Any]) -> None:
    with pytest.raises(ck.BadSetting) as caught:
        ck.seeds_from_page(**({"url": "http://127.0.0.1:9/"} | options))
    assert caught.value.name == next(iter(options))


# --- sitemaps ----------------------------------------------------------------------------------

SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>{0}/new</loc><lastmod>2024-05-17T12:00:00Z</lastmod></url>
<url><loc>{0}/day</loc><lastmod>2024-05-16</lastmod></url>
<url><loc>{0}/old</loc><lastmod>2020-01</lastmod></url>
<url><loc>{0}/undated</loc></url>
<url><loc>{0}/new</loc></url>
<url><loc>ftp://example.com/x</loc></url>
<url><loc>https://other.example/</loc></url></urlset>"""


def test_the_pages_of_a_sitemap_over_http() -> None:
    with served() as site:
        here = site.url
        site.put("/robots.txt", f"Sitemap: {here}/s.xml\nSitemap: {here}/gone.xml", "text/plain")
        site.put("/s.xml", SITEMAP.format(here), "text/xml")
        frame = ck.seeds_from_sitemap(here, http=QUICK, progress=False)
        assert frame["url"].tolist() == [f"{here}/{n}" for n in ("new", "day", "old", "undated")]
        assert set(frame["found_in"]) == {here + "/s.xml"}
        assert set(frame["source"]) == {"sitemap"}
        assert frame["lastmod_granularity"].tolist()[:3] == ["second", "day", "month"]
        assert frame["lastmod"].iloc[2] == pd.Timestamp("2020-01-01T00:00:00Z")
        assert frame.attrs["duplicates"] == 1
        found = {row["url"]: row["reason"] for row in frame.attrs["refused"]}
        assert found["ftp://example.com/x"] == "not_http"
        assert found["https://other.example/"] == "other_host"
        assert "404" in found[here + "/gone.xml"]
        wide = ck.seeds_from_sitemap(here, http=QUICK, progress=False, other_hosts=True)
        assert wide["url"].tolist()[-1] == "https://other.example/"


def test_a_table_of_entries_is_filtered_by_time_and_pattern() -> None:
    entries = ck.read_sitemaps(SITEMAP.format("https://example.com").encode(), progress=False)
    noon = datetime(2024, 5, 16, 12, tzinfo=UTC)
    frame = ck.seeds_from_sitemap(entries, since=noon)
    assert frame["url"].tolist()[:3] == [
        f"https://example.com/{name}" for name in ("new", "day", "undated")
    ]
    assert frame.attrs["unchanged"] == 1
    assert "not audited" in frame.attrs["note"]
    dated = ck.seeds_from_sitemap(entries, since=noon, undated=False)
    assert dated["url"].tolist() == ["https://example.com/new", "https://example.com/day"]
    assert dated.attrs["undated"] >= 1
    some = ck.seeds_from_sitemap(entries, include=("/new", "/old"), exclude=re.compile("old"))
    assert some["url"].tolist() == ["https://example.com/new"]
    assert some.attrs["excluded"] == len(entries) - 2
    plain = pd.DataFrame({"loc": ["https://example.com/1"]})  # a table of another tool
    assert ck.seeds_from_sitemap(plain)["url"].tolist() == ["https://example.com/1"]
    for lastmod in ("2024-05-17", "2024-05-17T02:00:00+02:00", "soon", None):  # from a CSV file
        dated_text = plain.assign(lastmod=pd.Series([lastmod], dtype=object))
        found = ck.seeds_from_sitemap(dated_text)["lastmod"]
        assert found.notna().tolist() == [str(lastmod).startswith("2024")]


@pytest.mark.parametrize(
    ("source", "options", "name"),
    [
        (pd.DataFrame({"x": [1]}), {}, "source"),
        (b"<urlset/>", {"since": "yesterday"}, "since"),
        (b"<urlset/>", {"since": datetime(2024, 1, 1)}, "since"),
        (b"<urlset/>", {"include": "news"}, "include"),
        (b"<urlset/>", {"exclude": 7}, "exclude"),
        (b"<urlset/>", {"max_files": 0}, "max_files"),
    ],
)
def test_a_wrong_argument_of_a_sitemap_is_named(
    source: Any, options: dict[str, Any], name: str
) -> None:
    with pytest.raises(ck.BadSetting) as caught:
        ck.seeds_from_sitemap(source, progress=False, **options)
    assert caught.value.name == name


def test_a_crawl_keeps_where_its_seeds_came_from(tmp_path: Path) -> None:
    with served() as site:
        site.put("/a", "<p>A")
        seeds = ck.seeds_from_file(f"url,lastmod\n{site.url}/a,2024-05-17\n")
        crawl = ck.crawl(seeds, tmp_path / "c", delay=0.0, progress=False, http=QUICK)
        urls = crawl.urls
    assert urls["url"].tolist() == [site.url + "/a"]
    assert urls["source"].tolist() == ["file"]


def test_a_source_that_cannot_be_read_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    nothing = tmp_path / "feed.xml"
    nothing.write_text("<html></html>")
    with pytest.warns(UserWarning, match=r"No seed could be read \(html_page\)"):
        ck.seeds_from_feed(nothing)
    with pytest.warns(UserWarning, match="No seed could be read"):
        ck.seeds_from_sitemap(nothing, progress=False)
