"""Sitemaps of many kinds, read into one table; found; split by what changed."""

from __future__ import annotations

import gzip
import threading
import time
from concurrent import futures
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hostile_server import HostileServer, answer
from hypothesis import given, settings
from hypothesis import strategies as st
from sitemap_cases import (
    AB,
    CASES,
    CORE,
    ENTRIES,
    FILES,
    A,
    B,
    C,
    Case,
    U,
    child,
    dated,
    entry,
    index,
    urlset,
)
from suites import suite_path

import crawlkit as ck
from crawlkit.web.sitemap_bytes import unpacked
from crawlkit.web.sitemap_content import ENTRY_ISSUES, FILE_ISSUES, FILE_REASONS
from crawlkit.web.sitemap_reading import read_content
from crawlkit.web.sitemap_regular import parse_regular
from crawlkit.web.sitemap_scope import Place
from crawlkit.web.sitemap_tables import entries_frame, entries_table
from crawlkit.web.sitemap_xml import parse_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TYPES = {
    "loc": "str",
    "lastmod": "datetime64[us, UTC]",
    "lastmod_text": "str",
    "lastmod_granularity": "str",
    "sitemap": "str",
    "sitemap_lastmod": "datetime64[us, UTC]",
    "kind": "str",
    "publication_date": "datetime64[us, UTC]",
    "alternates": "object",
    "scope": "str",
    "issues": "str",
}
NOW = datetime(2024, 6, 1, tzinfo=UTC).timestamp()


def table_of(data: bytes, url: str = U + "sitemap.xml") -> pd.DataFrame:
    """The table of one file as if it lay at an address."""
    place = Place(url, (url,), fetched_at=NOW)
    return entries_frame([entries_table(read_content(data), place)])


def read(source: Any, **options: Any) -> pd.DataFrame:
    return ck.read_sitemaps(source, **{"delay": 0, "progress": False, **options})


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as running:
        yield running


def xml(body: bytes, *headers: str) -> bytes:
    return answer(body, *(headers or ("Content-Type: application/xml",)))


# -- single files --------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_file_gives_the_right_rows(case: Case) -> None:
    content = read_content(case.data)
    frame = table_of(case.data)
    assert frame["loc"].tolist() == case.locs
    assert (content.kind, content.reason) == (case.kind, case.reason)
    assert set(case.file_issues.split()) == set(content.file_issues)
    for row, codes in case.row_issues.items():
        found = frame["issues"][row]
        assert set(codes.split()) == set() if pd.isna(found) else set(found.split())
    if case.lastmods is not None:
        texts = frame["lastmod_text"].tolist()
        assert [None if pd.isna(text) else text for text in texts] == case.lastmods
    assert frame.dtypes.astype(str).to_dict() == TYPES


def test_every_code_is_explained() -> None:
    met = {code for case in CASES for code in read_content(case.data).file_issues}
    assert met <= set(FILE_ISSUES)
    assert {case.reason for case in CASES} - {None} <= set(FILE_REASONS)
    rows = {
        code
        for case in CASES
        for codes in table_of(case.data)["issues"].dropna()
        for code in codes.split()
    }
    assert {code for code in rows if code not in ENTRY_ISSUES} <= {"lastmod_unreadable"}


@pytest.mark.parametrize("size", [1, 7, 64, 4096])
@pytest.mark.parametrize(
    "case", [ENTRIES[1], ENTRIES[4], ENTRIES[8], FILES[17]], ids=lambda case: case.name
)
def test_where_pieces_end_does_not_matter(case: Case, size: int) -> None:
    data = case.data.removeprefix(b"\xef\xbb\xbf")
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    content = parse_pieces(lambda: pieces, time.monotonic() + 60)
    assert content.locs == case.locs


PARTS = st.lists(
    st.sampled_from(
        [
            "/a",
            "/b?x=1&amp;y=2",
            "/c&#38;d&#x41;",
            "/e&lt;&quot;",
            " /f ",
            "/\u00e9\u4e2d",
            "/\u00a0",
            "",
            "&amp;lt;",
            "<!-- x -->",
            "<![CDATA[&]]>",
        ]
    ),
    max_size=3,
)
FIELDS = st.sampled_from(
    [
        "",
        dated("2024-05-17T12:00:00Z"),
        dated(" 2024 "),
        "<lastmod/>",
        "<changefreq>daily</changefreq>",
        "<priority>0.5</priority>",
        "<priority>5</priority>",
        dated("2024") + "<changefreq>daily</changefreq><priority>1.0</priority>",
        "<x/>",
    ]
)


@settings(max_examples=200)
@given(st.lists(st.tuples(PARTS, FIELDS), min_size=1, max_size=4), st.integers(3, 300))
def test_the_quick_reader_says_what_the_exact_one_says(
    entries: list[tuple[list[str], str]], size: int
) -> None:
    data = urlset(*(entry(U + "".join(parts), more) for parts, more in entries))
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    quick = parse_regular(pieces, time.monotonic() + 60)
    exact = parse_pieces(lambda: pieces, time.monotonic() + 60)
    if quick is not None:
        exact.file_issues, quick.file_issues = [], []
        assert quick == exact


def test_the_quick_reader_reads_what_templates_make() -> None:
    rows = [entry(f"{U}{n}?a=1&amp;b=2", dated("2024-05-17")) for n in range(100)]
    content = parse_regular([urlset(*rows)], time.monotonic() + 60)
    assert content is not None
    assert content.locs[99] == U + "99?a=1&b=2"
    assert parse_regular([urlset(*rows, "<x/>")], time.monotonic() + 60) is None
    broken = urlset(*rows, entry(A)).replace(b"</urlset>", b"</urlset")
    assert parse_regular([broken], time.monotonic() + 60) is None


@settings(max_examples=150)
@given(st.data())
def test_a_file_cut_anywhere_gives_no_url_that_the_whole_one_does_not(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from([case for case in CASES if case.reason is None]))
    cut = data.draw(st.integers(0, len(case.data)))
    compressed = data.draw(st.booleans())
    part = gzip.compress(case.data)[:-9] if compressed else case.data[:cut]
    content = read_content(part)
    if case.kind != "text":  # a text has no sign of its end
        assert set(content.locs) <= {*read_content(case.data).locs}


@settings(max_examples=200)
@given(st.binary(max_size=300), st.sampled_from([b"", b"\x1f\x8b", b"<urlset>", b"<?xml ?>", AB]))
def test_no_bytes_raise(noise: bytes, start: bytes) -> None:
    content = read_content(start + noise)
    assert content.reason is None or content.reason in FILE_REASONS
    assert len(table_of(start + noise)) == len(content.locs)


def test_cut_gzip_gives_what_is_whole() -> None:
    rows = [entry(f"{U}{n * 7919 % 10007}", dated("2024-05-17")) for n in range(5000)]
    packed = gzip.compress(urlset(*rows))
    content = read_content(packed[: len(packed) * 3 // 4])
    assert 3000 < len(content.locs) < 4500
    assert content.locs[-1] in {f"{U}{n * 7919 % 10007}" for n in range(5000)}
    assert content.reason == "truncated"
    assert "gzip_truncated" in content.file_issues
    damaged = bytearray(packed)
    damaged[len(packed) // 2 : len(packed) // 2 + 50] = bytes(50)
    content = read_content(bytes(damaged))
    assert 100 < len(content.locs) < 5000
    assert content.reason is not None


# -- columns -------------------------------------------------------------------------------


def test_lastmod_is_the_start_of_an_interval_in_utc() -> None:
    texts = [
        "2024",
        "2024-05",
        "2024-05-17",
        "2024-05-17T12:30+02:00",
        "2024-05-17T12:30:00Z",
        "2024-05-17 12:30:00+0200",
        "2024-05-17T12:30:00",
        "17/05/2024",
        "0000-00-00",
        "1970-01-01",
        "2025-01-01",
    ]
    frame = table_of(urlset(*(entry(f"{U}{n}", dated(text)) for n, text in enumerate(texts))))
    starts = frame["lastmod"].dt.strftime("%Y-%m-%d %H:%M:%S").tolist()
    assert starts[:7] == [
        "2024-01-01 00:00:00",
        "2024-05-01 00:00:00",
        "2024-05-17 00:00:00",
        "2024-05-17 10:30:00",
        "2024-05-17 12:30:00",
        "2024-05-17 10:30:00",
        "2024-05-17 12:30:00",
    ]
    assert frame["lastmod"].isna().tolist() == [False] * 7 + [True, True, False, False]
    assert frame["lastmod_text"].tolist() == texts
    assert frame["lastmod_granularity"].dropna().tolist() == [
        "year", "month", "day", "minute", "second", "second", "second", "day", "day",
    ]  # fmt: skip
    assert frame["issues"].isna().tolist() == [True] * 5 + [False] * 6
    assert frame["issues"][5:].tolist() == [
        "lastmod_space_for_t lastmod_offset_without_colon",
        "lastmod_no_zone",
        "lastmod_unreadable",
        "lastmod_impossible",
        "lastmod_before_1990",
        "lastmod_future",
    ]


def test_feed_dates_are_those_of_mail_and_never_guessed() -> None:
    texts = [
        "Fri, 17 May 2024 12:30:00 +0200",
        "17 May 24 12:30 GMT",
        "17 May 2024 12:30:00 EST",
        "Fri, 17 May 2024 12:30:00",
        "",
        "2024-05-17T12:30:00Z",
    ]
    items = "".join(
        f"<item><link>{U}{n}</link><pubDate>{text}</pubDate></item>" for n, text in enumerate(texts)
    )
    frame = table_of(f"<rss><channel>{items}</channel></rss>".encode())
    assert frame["lastmod"].dt.hour.tolist()[:3] == [10, 12, 17]
    assert frame["lastmod"].isna().tolist() == [False, False, False, True, True, False]
    assert frame["publication_date"].equals(frame["lastmod"])


def test_news_images_videos_and_languages_have_their_columns() -> None:
    news = (
        "<n:news><n:publication><n:name>N</n:name><n:language>en</n:language></n:publication>"
        "<n:publication_date>2024-05-17T08:00:00Z</n:publication_date><n:title>T</n:title></n:news>"
    )
    alternates = "".join(
        f'<x:link rel="alternate" hreflang="{lang}" href="{U}{lang}"/>' for lang in ("de", "fr")
    )
    frame = table_of(
        urlset(
            entry(A, news + "<i:image><i:loc>x</i:loc></i:image>"),
            entry(B, "<i:image><i:loc>x</i:loc></i:image><v:video><v:title>t</v:title></v:video>"),
            entry(C, "<i:image/>" + alternates),
            entry(U),
            attributes=f'xmlns="{CORE}" xmlns:x="http://www.w3.org/1999/xhtml" '
            'xmlns:n="http://www.google.com/schemas/sitemap-news/0.9" '
            'xmlns:i="http://www.google.com/schemas/sitemap-image/1.1" '
            'xmlns:v="http://www.google.com/schemas/sitemap-video/1.1"',
        )
    )
    assert frame["kind"].tolist() == ["news", "video", "image", "urlset"]
    assert frame["publication_date"].notna().tolist() == [True, False, False, False]
    assert frame["lastmod"].isna().all()
    assert frame["alternates"][2] == [
        {"lang": "de", "url": U + "de"},
        {"lang": "fr", "url": U + "fr"},
    ]
    assert frame["alternates"].isna().tolist() == [True, True, False, True]


def test_scope_is_seen_from_where_the_file_lies() -> None:
    locs = [
        "https://example.com/shop/a",
        "HTTPS://Example.com:443/shop/b",
        "https://example.com/other/a",
        "https://example.com/shop/../c",
        "http://example.com/shop/a",
        "https://www.example.com/shop/a",
        "https://example.com:8443/shop/a",
        "https://b.example/x",
        "no-scheme.example",
    ]
    data = urlset(*map(entry, locs))
    url = "https://example.com/shop/sitemap.xml?x=/y/z"
    place = Place(url, (url,), frozenset(["https://b.example"]), None, NOW)
    frame = entries_frame([entries_table(read_content(data), place)])
    assert frame["scope"].tolist() == [
        "ok", "ok", "other_dir", "other_dir", "other_scheme", "other_host", "other_host",
        "cross_submitted", "ok",
    ]  # fmt: skip
    assert frame["issues"].dropna().tolist() == [
        "other_dir", "other_dir", "other_scheme", "other_host", "other_host", "loc_relative",
    ]  # fmt: skip
    nowhere = entries_frame([entries_table(read_content(data), Place("<bytes>"))])
    assert nowhere["scope"].isna().all()
    assert nowhere["loc"].tolist() == locs


def test_too_many_urls_keep_their_rows_and_get_a_code() -> None:
    content = read_content("\n".join(f"{U}{n}" for n in range(50_002)).encode())
    assert "too_many_urls" in content.file_issues
    place = Place(U, (U,), fetched_at=NOW)
    issues = entries_frame([entries_table(content, place)])["issues"]
    assert issues[:50_000].isna().all()
    assert issues[50_000:].tolist() == ["over_50000"] * 2


def test_an_empty_table_has_the_same_types(server: HostileServer) -> None:
    frame = read(urlset())
    assert len(frame) == 0
    assert frame.dtypes.astype(str).to_dict() == TYPES
    assert list(frame) == list(TYPES)
    server.on("/sitemap.xml", xml(b""))
    row = read(server.url("/sitemap.xml"))
    assert row.dtypes.astype(str).to_dict() == TYPES
    assert row["issues"].tolist() == ["empty_file"]
    assert row["kind"].tolist() == ["not_a_sitemap"]


# -- walks ---------------------------------------------------------------------------------


def test_an_index_is_followed_newest_first_and_each_file_is_read_once(
    server: HostileServer,
) -> None:
    url = server.url
    one, two = urlset(entry(url("/1"))), urlset(entry(url("/2")))
    server.on("/old.xml", xml(one, "Content-Type: text/xml", "Date: Fri, 17 May 2024 12:30:00 GMT",
                              "Last-Modified: Thu, 16 May 2024 12:30:00 GMT"))  # fmt: skip
    server.on("/new.xml", xml(gzip.compress(two), "Content-Type: application/octet-stream"))
    server.on("/undated.xml", xml(urlset(entry(url("/3")))))
    server.on("/moved.xml", answer(b"", f"Location: {url('/new.xml')}", status="301 Moved"))
    server.on("/up.xml", answer(b"", f"Location: {url('/index.xml')}", status="301 Moved"))
    server.on("/nested.xml", xml(index(child(url("/old.xml")), child(url("/index.xml")))))
    server.on(
        "/index.xml",
        xml(
            index(
                child(url("/undated.xml")),
                child(url("/old.xml"), "2024-05-01"),
                child(url("/new.xml"), "2024-05-17T12:00:00Z"),
                child(url("/new.xml"), "2024-05-17T12:00:00Z"),
                child(url("/moved.xml"), "2024-04-01"),
                child(url("/up.xml"), "2024-03-01"),
                child("/nested.xml", "2024-02-01"),
                child(url("/index.xml")),
                child("mailto:x"),
                f"<sitemap>{url('/dead.xml')}</sitemap>",
            )
        ),
    )
    frame = read(url("/index.xml"), workers=1)
    entries = frame[frame["loc"].notna()]
    assert entries["loc"].tolist() == [url("/2"), url("/1"), url("/3")]
    assert entries["sitemap_lastmod"].dt.day.fillna(0).tolist() == [17, 1, 0]
    assert entries["scope"].tolist() == ["ok"] * 3
    gone = frame[frame["loc"].isna()]
    assert gone[["sitemap", "issues"]].to_numpy().tolist() == [[url("/dead.xml"), "http_404"]]
    files = {record["url"].rpartition("/")[2]: record for record in frame.attrs["files"]}
    assert len(server.asked("/new.xml")) == 2
    assert files["index.xml"]["kind"] == "index"
    assert set(files["index.xml"]["issues"]) == {
        "child_without_tag", "duplicate_child", "child_relative", "child_not_http", "lists_itself",
    }  # fmt: skip
    assert set(files["nested.xml"]["issues"]) == {"nested_index", "duplicate_child"}
    assert files["moved.xml"]["reason"] == files["up.xml"]["reason"] == "already_read"
    assert files["dead.xml"]["status"] == 404
    assert files["old.xml"]["date"] - files["old.xml"]["last_modified"] == 86_400
    assert files["old.xml"]["sitemap_lastmod"] == datetime(2024, 5, 1, tzinfo=UTC).timestamp()
    assert files["new.xml"]["issues"] == ()
    assert files["new.xml"]["bytes"] == len(two)
    assert abs(files["new.xml"]["fetched_at"] - time.time()) < 60
    assert {*frame.attrs["files"][0]} >= {
        "url", "final_url", "status", "reason", "kind", "entries", "bytes", "fetched_at", "date",
        "last_modified", "sitemap_lastmod", "seconds", "issues",
    }  # fmt: skip


def test_an_index_may_be_odd_in_many_ways() -> None:
    data = index(
        f"<sitemap><loc>{A}</loc>{dated('2024')}<loc>{B}</loc><loc>{C}</loc>{dated('2025')}</sitemap>",
        f"<sitemap>{U}bare{dated('2023')}</sitemap>",
        "<sitemap/>",
        entry(U + "page"),
    )
    content = read_content(data)
    assert content.children == [(A, "2024"), (B, None), (C, "2025"), (U + "bare", "2023")]
    assert content.locs == [U + "page"]
    assert content.skipped == 1
    assert set(content.file_issues) == {"child_without_tag", "missing_loc", "mixed_entries"}


def test_compression_and_types_are_judged_by_the_bytes(server: HostileServer) -> None:
    packed = gzip.compress(AB)
    answers = {
        "/both.xml.gz": xml(gzip.compress(packed), "Content-Encoding: gzip"),
        "/encoded.xml": xml(packed, "Content-Encoding: gzip"),
        "/lie.xml": xml(AB, "Content-Encoding: gzip"),
        "/plain.xml.gz": xml(AB, "Content-Type: application/x-gzip; charset=utf-8"),
        "/sitemap.php": answer(packed, "Content-Type: text/html; charset=utf-8"),
        "/no-type": answer(AB, "Content-Type: "),
    }
    for path, sent in answers.items():
        frame = read(server.on(path, sent))
        assert frame["loc"].tolist() == [A, B], path
    record = read(server.url("/plain.xml.gz")).attrs["files"][0]
    assert record["issues"] == ("gzip_name",)
    record = read(server.url("/sitemap.php")).attrs["files"][0]
    assert record["issues"] == ("wrong_type",)


def test_two_indexes_that_list_each_other_end(server: HostileServer) -> None:
    server.on("/a.xml", xml(index(child(server.url("/b.xml")))))
    server.on("/b.xml", xml(index(child(server.url("/a.xml")))))
    frame = read(server.url("/a.xml"))
    assert len(frame) == 0
    assert len(server.seen) == 2
    assert "duplicate_child" in frame.attrs["files"][1]["issues"]


def test_limits_of_files_and_depth_are_told(server: HostileServer) -> None:
    url = server.url
    server.on("/0.xml", xml(index(*(child(url(f"/c{n}.xml")) for n in range(9)))))
    for n in range(9):
        server.on(f"/c{n}.xml", xml(urlset(entry(url(f"/{n}")))))
    frame = read(url("/0.xml"), max_files=4)
    assert len(server.seen) == 4
    assert frame["loc"].notna().sum() == 3
    assert frame["issues"].dropna().tolist() == ["max_files"]
    assert frame.attrs["max_files_reached"]
    assert frame.attrs["unread"] == {"max_files": 6}
    whole = read(url("/0.xml"))
    assert whole["loc"].notna().all()
    assert not whole.attrs["max_files_reached"]
    flat = read(url("/0.xml"), max_depth=0)
    assert flat["issues"].tolist() == ["max_depth"]
    assert flat.attrs["unread"] == {"max_depth": 9}


def test_files_are_asked_for_together_but_no_host_too_fast(server: HostileServer) -> None:
    url = server.url
    server.on("/0.xml", xml(index(*(child(url(f"/c{n}.xml")) for n in range(4)))))
    for n in range(4):
        server.on(f"/c{n}.xml", xml(urlset(entry(url(f"/{n}")))))
    begun = time.monotonic()
    assert len(read(url("/0.xml"), delay=0.1, workers=4)) == 4
    assert time.monotonic() - begun >= 0.4  # five requests, four pauses


def test_a_server_that_is_busy_for_a_moment_is_asked_again(server: HostileServer) -> None:
    busy = answer(b"", "Retry-After: 0", status="503 Busy")
    url = server.on("/s.xml", busy)
    server.on("/s.xml", xml(AB))
    assert len(read(url)) == 2
    gone = server.on("/gone.xml", busy)
    frame = read(gone, http=ck.Http(retries=1))
    assert frame["issues"].tolist() == ["http_503"]
    assert len(server.asked("/gone.xml")) == 2


def test_folders_files_and_lists_are_read(tmp_path: Path) -> None:
    (tmp_path / "index.xml").write_bytes(
        index(child(U + "one.xml.gz", "2024-05-17"), child(U + "sub/two.txt"))
    )
    (tmp_path / "one.xml.gz").write_bytes(gzip.compress(urlset(entry(A))))
    (tmp_path / "plain.xml.gz").write_bytes(urlset(entry(B)))
    (tmp_path / "notes.md").write_text("https://example.com/not-here")
    (tmp_path / "page.xml").write_text("<html></html>")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "two.txt").write_text(C)
    frame = read(tmp_path)
    assert sorted(frame["loc"].dropna()) == [A, B, C]
    issues = dict(frame[frame["loc"].isna()][["sitemap", "issues"]].to_numpy().tolist())
    assert issues[str(tmp_path / "page.xml")] == "html_page"
    plain = [one for one in frame.attrs["files"] if one["url"].endswith("plain.xml.gz")]
    assert plain[0]["issues"] == ("gzip_name",)
    assert sorted(read(str(tmp_path / "index.xml"))["loc"].dropna()) == [A]
    both = read([AB, tmp_path / "sub" / "two.txt"])
    assert both["loc"].tolist() == [A, B, C]
    assert both["sitemap"].tolist()[:2] == ["<bytes 1>"] * 2


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("example.com", "https://example.com"),
        ("www.example.com/sitemap", "https://"),
        ("/no/such/file.xml", "no file or folder"),
        ("ftp://example.com/", "not_http"),
        ("<urlset/>", "encode"),
        ("", "empty"),
        (None, "NoneType"),
        ([], "empty"),
        ([3], "int"),
        ({"a": 1}, "dict"),
        (pd.DataFrame({"loc": ["https://example.com/"]}), "a table is no source"),
    ],
)
def test_wrong_sources_are_named(source: Any, remedy: str) -> None:
    with pytest.raises(ck.BadSetting, match=remedy):
        ck.read_sitemaps(source, progress=False)


@pytest.mark.parametrize(
    "wrong",
    [{"max_files": 0}, {"max_depth": -1}, {"workers": 0}, {"workers": 2.5}, {"delay": -1},
     {"seconds_per_file": 0}, {"seconds_per_file": "x"}, {"max_files": True}],
    ids=str,
)  # fmt: skip
def test_wrong_limits_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ck.BadSetting, match=next(iter(wrong))):
        ck.read_sitemaps(AB, **wrong)


def test_attrs_survive_what_people_do_with_tables(tmp_path: Path) -> None:
    frame = read(AB)
    picked = frame[frame["loc"] == A].copy()
    assert picked.attrs["files"] == frame.attrs["files"]
    frame.to_parquet(tmp_path / "x.parquet")
    again = pd.read_parquet(tmp_path / "x.parquet")
    assert again["loc"].tolist() == [A, B]
    assert len(pd.concat([frame, frame])) == 4


def test_the_bar_is_shown_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    ck.read_sitemaps(AB)
    assert "sitemaps" in capsys.readouterr().err
    ck.read_sitemaps(AB, progress=False)
    assert capsys.readouterr().err == ""


def test_an_interrupt_leaves_what_is_there(
    server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crawlkit.web import sitemap_walk

    url = server.url
    server.on("/0.xml", xml(index(*(child(url(f"/c{n}.xml")) for n in range(9)))))
    for n in range(9):
        server.on(f"/c{n}.xml", xml(urlset(entry(url(f"/{n}")))))
    true_wait, calls = futures.wait, []

    def interrupted(running: Any, **options: Any) -> Any:
        calls.append(threading.current_thread())
        if len(calls) == 4:
            raise KeyboardInterrupt
        return true_wait(running, **options)

    monkeypatch.setattr(sitemap_walk, "wait", interrupted)
    frame = read(url("/0.xml"), workers=1)
    assert 1 <= frame["loc"].notna().sum() < 9
    assert frame["issues"].dropna().tolist() == ["interrupted"]
    assert frame.attrs["unread"]["interrupted"] > 0


# -- discovery -----------------------------------------------------------------------------


def test_robots_names_sitemaps_in_every_spelling(server: HostileServer) -> None:
    base = server.url("")
    server.on(
        "/robots.txt",
        answer(
            b"\xef\xbb\xbfSITEMAP: " + f"{base}/1.xml # the first\r".encode()
            + f"User-agent: *\rsitemap :{base}/2.xml\rDisallow: /\r".encode()
            + f'Sitemap: "{base}/3.xml"\nSiteMap:\t<{base}/4.xml>, {base}/5.xml\n'.encode()
            + f"Sitemap: /6.xml\nSitemap: {base}/1.xml\nSitemap: {base}/robots.txt\n".encode()
            + b"Sitemap: https://other.example/7.xml\nSitemap: mailto:x\nSitemap:\n",
            "Content-Type: text/plain",
        ),
    )  # fmt: skip
    found = ck.find_sitemaps(server.url("/any/page?x"))
    assert found == [f"{base}/{n}.xml" for n in range(1, 7)] + ["https://other.example/7.xml"]
    assert {seen.target for seen in server.seen} == {"/robots.txt"}
    table = ck.find_sitemaps(base, explain=True)
    assert table[table["accepted"]]["sitemap"].tolist() == found
    issues = dict(zip(table["text"], table["issues"], strict=True))
    assert issues["/6.xml"] == "relative"
    assert issues["https://other.example/7.xml"] == "other_host"
    assert set(table["reason"].dropna()) == {"lists_itself", "not_http"}


def test_usual_places_are_checked(server: HostileServer) -> None:
    page = answer(b"<html><title>Nothing found</title></html>")
    server.on("/robots.txt", answer(b"User-agent: *\nDisallow: /wp-sitemap.xml\n"))
    server.on("/sitemap.xml", page)
    server.on("/sitemap_index.xml", xml(index(child(server.url("/x.xml")))))
    location = f"Location: {server.url('/sitemap_index.xml')}"
    server.on("/sitemap-index.xml", answer(b"", location, status="302 Found"))
    big = urlset(*(entry(f"{U}{n}") for n in range(9000)))
    server.on("/sitemap.txt", xml(big))
    found = ck.find_sitemaps(server.url(), delay=0)
    assert found == [server.url("/sitemap_index.xml"), server.url("/sitemap.txt")]
    table = ck.find_sitemaps(server.url(), delay=0, explain=True).set_index("text")
    assert table["reason"].drop("/sitemap_index.xml")[:3].tolist() == [
        "html_page", "duplicate", "robots",
    ]  # fmt: skip
    assert server.asked("/wp-sitemap.xml") == []
    assert table["status"]["/sitemap.xml"] == 200


def test_a_site_is_read_from_its_robots_and_cross_submitted_urls_are_fine(
    server: HostileServer,
) -> None:
    with HostileServer() as other:
        server.on("/robots.txt", answer(f"Sitemap: {other.url('/s.xml')}\n".encode()))
        locs = [server.url("/a"), other.url("/b"), "https://third.example/"]
        other.on("/s.xml", xml(urlset(*map(entry, locs))))
        frame = read(server.url())
        assert frame["loc"].tolist() == locs
        assert frame["scope"].tolist() == ["cross_submitted", "ok", "other_host"]
        alone = read(other.url("/s.xml"))
        assert alone["scope"].tolist() == ["other_host", "ok", "other_host"]


def test_a_site_without_sitemaps_is_a_row(server: HostileServer) -> None:
    frame = read(server.url())
    assert frame["issues"].tolist() == ["no_sitemap_found"]
    assert frame["sitemap"].tolist() == [server.url()]
    assert ck.find_sitemaps(server.url(), delay=0) == []
    server.on("/robots.txt", answer(b"", status="500 Oops"))
    frame = read(server.url(), http=ck.Http(retries=0))
    assert frame["issues"].tolist() == ["robots_unreachable"]


# -- what changed --------------------------------------------------------------------------


def entries_of(*texts: str | None) -> pd.DataFrame:
    return table_of(
        urlset(*(entry(f"{U}{n}", dated(text) if text else "") for n, text in enumerate(texts)))
    )


def test_changed_undated_and_unchanged_are_told_apart() -> None:
    when = datetime(2024, 5, 17, 12, tzinfo=UTC)
    frame = entries_of(
        "2024-05-17", "2024-05-16", "2024-05", "2024-04", "2024", "2023", None, "soon",
        "2024-05-17T12:00:01Z", "2024-05-17T11:59:59Z", "2024-05-17T12:00Z",
        "2024-05-17T11:59Z",
    )  # fmt: skip
    result = ck.changed_since(frame, when)
    assert result["change"].tolist() == [
        "changed", "unchanged", "changed", "unchanged", "changed", "unchanged", "undated",
        "undated", "changed", "unchanged", "changed", "unchanged",
    ]  # fmt: skip
    assert "change" not in frame
    assert str(result["change"].dtype) == "str"
    assert "own word" in result.attrs["note"]
    assert ck.changed_since(frame, date(2024, 5, 17))["change"].tolist()[1] == "unchanged"
    assert ck.changed_since(frame, timedelta(days=36_500))["change"].tolist()[5] == "changed"


def test_rows_that_tell_of_files_have_no_change() -> None:
    frame = read([AB, b"<html></html>"])
    result = ck.changed_since(frame, datetime(2024, 1, 1, tzinfo=UTC))
    assert result["change"].isna().tolist() == [False, False, True]
    assert len(ck.changed_since(frame[:0], timedelta(hours=6))) == 0


def test_a_sitemap_stamped_when_it_was_made_is_warned_of() -> None:
    now = datetime.now(UTC)
    stamps = [(now - timedelta(seconds=n % 2)).isoformat() for n in range(40)]
    with pytest.warns(ck.LastmodWarning, match="within 1 s"):
        result = ck.changed_since(entries_of(*stamps), timedelta(hours=6))
    assert result["change"].eq("changed").all()
    assert "nothing was told apart" in result.attrs["note"]
    spread = [(now - timedelta(minutes=20 * n)).isoformat() for n in range(18)] * 2
    result = ck.changed_since(entries_of(*spread), timedelta(hours=12))  # no warning
    assert "nothing was told apart" in result.attrs["note"]


def test_the_verdict_says_on_whose_word() -> None:
    class Audit:
        verdict = "trust"

    when = datetime(2024, 5, 17, tzinfo=UTC)
    frame = entries_of("2024-05-18", "2024-05-01")
    result = ck.changed_since(frame, when, verdict=Audit())
    assert result.attrs["verdict"] == "trust"
    assert "trust" in result.attrs["note"]
    assert result.attrs["changed_since"] == when.isoformat()
    with pytest.warns(ck.LastmodWarning, match="distrust"):
        ck.changed_since(frame, when, verdict="distrust")
    with pytest.raises(ck.BadSetting, match="verdict"):
        ck.changed_since(frame, when, verdict="maybe")


@pytest.mark.parametrize(
    "when", [datetime(2024, 5, 17), timedelta(hours=-1), "2024-05-17", pd.NaT, timedelta.max, 3]
)
def test_a_when_without_a_meaning_is_refused(when: Any) -> None:
    with pytest.raises(ck.BadSetting, match="when"):
        ck.changed_since(entries_of("2024"), when)


def test_years_at_the_ends_of_time_are_no_trouble() -> None:
    frame = entries_of("9999", "9999-12", "0001", "0001-01", "9999-12-31T23:59:59-14:00")
    result = ck.changed_since(frame, datetime(2024, 5, 17, tzinfo=UTC))
    assert result["change"].tolist() == [
        "changed", "changed", "unchanged", "unchanged", "changed",
    ]  # fmt: skip


def test_tables_of_other_tools_can_be_asked_too() -> None:
    when = datetime(2024, 5, 17, tzinfo=UTC)
    frame = pd.DataFrame(
        {"lastmod": pd.Series(["2024-05-18", None]).pipe(pd.to_datetime, utc=True)}
    )
    assert ck.changed_since(frame, when)["change"].tolist() == ["changed", "undated"]
    for wrong in (pd.DataFrame(), pd.DataFrame({"lastmod": ["2024"]}), None):
        with pytest.raises(ck.BadSetting, match="entries"):
            ck.changed_since(wrong, when)  # type: ignore[arg-type]


# -- public files --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "rows"),
    [
        ("sitemaps/atom.xml", "atom", 1),
        ("sitemaps/sitemap.ns.xml", "urlset", 2),
        ("sitemaps/sitemap.badns.xml", "urlset", 2),
        ("sitemaps/sitemap-with-bom.txt", "text", None),
        ("sitemaps/sitemap.txt", "text", None),
        ("sitemaps/sitemap.txt.gz", "text", None),
        ("sitemaps/xmlSitemap.gz", "urlset", None),
        ("sitemaps/sitemap.index.xml", "index", 0),
        ("sitemaps/extension/sitemap-mobile.xml", "urlset", None),
        ("sitemaps/extension/sitemap-news.xml", "news", None),
        ("sitemaps/extension/sitemap-videos.xml", "urlset", None),
        ("sitemaps/extension/sitemap-images.xml", "urlset", None),
        ("sitemaps/extension/sitemap-links.xml", "urlset", 3),
        ("rss/feed.rss", "rss", None),
        ("rss/xmlRss_pubDate.xml", "rss", None),
    ],
)
def test_public_files_are_read(name: str, kind: str, rows: int | None) -> None:
    content = read_content(suite_path(f"crawler-commons/{name}").read_bytes())
    assert (content.kind, content.reason) == (kind, None)
    assert content.entries > 0
    assert rows is None or len(content.locs) == rows
    assert unpacked(b"", print) is not None
