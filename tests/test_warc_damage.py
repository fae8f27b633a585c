"""WARC import: damaged, cut, hostile files; problems are events and cost no other record."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest
import warc_files as made
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
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
    take,
    take_records,
)

import crawlkit as ck
from crawlkit.crawling.warc import export_warc
from crawlkit.crawling.warc_reader import PROBLEMS, Problem, Record, read_warc
from crawlkit.crawling.warc_responses import read_response
from crawlkit.web.reasons import FLAGS, REASONS

# -- damage --------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["plain", "members", "whole"])
def test_a_file_cut_off_anywhere_gives_its_whole_records(tmp_path, how):
    records = made.small_site(4)
    data = made.write(tmp_path / "full.warc", records, how=how).read_bytes()
    for cut in (len(data) - 1, len(data) - 5, len(data) * 2 // 3, len(data) // 2):
        path = tmp_path / f"{cut}.warc"
        path.write_bytes(data[:cut])
        crawl = take(path, tmp_path / f"{how}-{cut}")
        titles = list(crawl.pages["title"])
        assert titles == ["Start", "Page p0", "Page p1", "Page p2", "Page p3"][: len(titles)]
        if cut < len(data) - 5:
            assert len(titles) < 5
            assert problems_of(crawl) == ["warc_truncated"]
            assert crawl.urls["state"].eq("pending").any() == bool(titles)


def test_damaged_members_do_not_take_others_with_them(tmp_path):
    packed = [gzip.compress(each, mtime=0) for each in made.small_site(6)]
    broken = bytearray(packed[2])
    broken[len(broken) // 2 : len(broken) // 2 + 8] = b"\xff" * 8
    packed[2] = bytes(broken)
    packed[4] = packed[4][:-30]  # its process died here; the next one went on in the same file
    path = tmp_path / "damaged.warc.gz"
    path.write_bytes(b"".join(packed))
    crawl = take(path, tmp_path / "crawl")
    assert list(crawl.pages["title"]) == ["Start", "Page p0", "Page p2", "Page p4", "Page p5"]
    assert problems_of(crawl) == ["warc_bad_gzip", "warc_bad_gzip"]
    states = crawl.urls.set_index("url")["state"]
    assert states[BASE + "p1"] == states[BASE + "p3"] == "pending"
    detail = crawl.events["detail"].iloc[0]
    assert detail.startswith(f"damaged.warc.gz, byte {len(packed[0]) + len(packed[1]):,}: ")


@pytest.mark.parametrize("how", ["plain", "members"])
@pytest.mark.parametrize("length", [5, 100_000, -3, "many", ""])
def test_a_record_with_a_wrong_length_costs_no_other_in_a_compressed_file(tmp_path, how, length):
    good = made.small_site(4)
    lying = record(BASE + "p1", http(page("Page p1")), length=length)
    path = made.write(tmp_path / "x.warc", [*good[:2], lying, *good[3:]], how=how)
    crawl = take(path, tmp_path / "crawl")
    titles = [title for title in crawl.pages["title"] if isinstance(title, str)]
    assert {"Start", "Page p0"} <= set(titles)
    assert problems_of(crawl)
    if how == "members" or length != 100_000:
        assert {"Page p2", "Page p3"} <= set(titles)
    assert "Page p1" not in titles


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([record(BASE + "x", b"no HTTP at all")], "warc_no_answer"),
        ([record(BASE + "x", b"")], "warc_no_answer"),
        ([record(BASE + "x", http(page("X")), date=None)], "warc_bad_date"),
        ([record(BASE + "x", http(page("X")), date="yesterday")], "warc_bad_date"),
        ([record(BASE + "x", http(page("X")), more=(("WARC-Segment-Number", "1"),))],
         "warc_segmented"),
        ([b"WARC/1.0\r\n" + b"X: y\r\n" * 60_000 + b"\r\n"], "warc_bad_record"),
        ([b"WARC/1.0\r\n" + b"x" * 400_000 + b"\r\n\r\n"], "warc_bad_record"),
        ([b"WARC/1.0\r\nWARC-Type: response\r\n\r\n"], "warc_bad_record"),
        ([b"junk between\n", b"the records\n\n"], "warc_bad_length"),
        ([b"<p>" * 30_000, b"\n"], "warc_bad_length"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_an_event_and_the_next_record_is_read(tmp_path, records, reason):
    crawl = take_records(
        tmp_path, [record(BASE, http(page("A"))), *records, record(BASE + "z", http(page("Z")))]
    )
    assert problems_of(crawl) == [reason]
    assert list(crawl.pages["title"])[:1] == ["A"]
    assert list(crawl.pages["title"])[-1:] == ["Z"]
    assert crawl.events["detail"].str.len().max() <= 1_000


def test_a_hole_that_a_crash_left_in_a_file_is_passed_over(tmp_path):
    records = [record(BASE, http(page("A"))), b"\0" * 200_000, record(BASE + "z", http(page("Z")))]
    crawl = take_records(tmp_path, records)
    assert list(crawl.pages["title"]) == ["A", "Z"]


def test_broken_answers_are_rows_as_in_a_live_crawl(tmp_path):
    whole = gzip.compress(BODY)
    blocks = {
        "cut-gzip": http(whole[:-20], headers=coded(GZIP)),
        "cut-chunks": http(chunks(BODY, end=b"ff\r\n<p>"), headers=coded(CHUNKED)),
        "bomb": http(gzip.compress(b"\0" * 5_000_000), headers=coded(GZIP)),
        "many": http(whole, headers=coded(*[GZIP] * 5)),
        "large": http(b"x" * 200_000),
        "headers": http(BODY, headers=[("X", "y")] * 200),
    }
    records = [record(BASE + name, block) for name, block in blocks.items()]
    crawl = take_records(tmp_path, records, limits=ck.Limits(body=100_000))
    errors = crawl.pages.set_index("url")["error"].to_dict()
    assert errors == {
        BASE + "cut-gzip": "truncated",
        BASE + "cut-chunks": "truncated",
        BASE + "bomb": "body_too_large",
        BASE + "many": "too_many_encodings",
        BASE + "large": "body_too_large",
        BASE + "headers": "headers_too_large",
    }
    assert set(crawl.urls["state"]) == {"failed"}


def test_hostile_headers_and_addresses(tmp_path):
    headers = coded(
        ("X-Null", "a\x00b"), ("X-Escape", "\x1b[31m"), ("ETag", '"\x00\x01"'),
        ("X-Latin", "Gr\u00fc\u00dfe"), ("no-value", ""),
    )  # fmt: skip
    block = http(page("A"), headers=headers).replace(b"no-value:", b"folded\r\n  line:")
    records = [
        record(BASE + "a\x00b c", block),
        record("http://[bad/", block),
        record("http://" + "x" * 20_000 + "/", block),
        record("javascript:alert(1)", block),
        record("http://a.example/" + "y" * 9_000, block),
    ]
    crawl = take_records(tmp_path, records)
    assert list(crawl.pages["url"]) == [BASE + "a%00b%20c"]
    assert row(crawl, BASE + "a%00b%20c")["etag"] == '""'
    export_warc(tmp_path / "crawl", tmp_path / "again.warc.gz")
    again = take(tmp_path / "again.warc.gz", tmp_path / "again")
    assert again.body(BASE + "a%00b%20c") == page("A")


def test_a_line_without_end_does_not_fill_the_memory(tmp_path):
    path = tmp_path / "bomb.warc.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(record(BASE, http(page("A"))))
        file.write(b"WARC/1.0\r\nWARC-Target-URI: ")
        for _ in range(200):
            file.write(b"x" * 1_000_000)
        file.write(b"\r\n\r\n" + record(BASE + "z", http(page("Z"))))
    assert path.stat().st_size < 2_000_000
    tracemalloc.start()
    try:
        found = [each for each in read_warc(path) if isinstance(each, Record)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [each.url for each in found] == [BASE, BASE + "z"]
    assert peak < 20_000_000


def test_so_much_damage_ends_the_reading_of_a_file(tmp_path):
    lines = [b"junk\n" + record(BASE + str(n), http(page("X")), date=None) for n in range(1_500)]
    path = made.write(tmp_path / "junk.warc", [record(BASE, http(page("A"))), *lines])
    found = list(read_warc(path))
    assert isinstance(found[-1], Problem)
    assert found[-1].reason == "warc_given_up"
    assert sum(isinstance(each, Problem) for each in found) == 1_001


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_bytes_make_the_reader_raise_or_hang(tmp_path_factory, data):
    site = made.small_site(3)
    start = data.draw(st.sampled_from([b"".join(site), made.members(site), made.arc([]), b""]))
    content = bytearray(start)
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(content)))
        junk = data.draw(st.binary(max_size=40) | st.sampled_from([b"WARC/1.0\r\n", b"\x1f\x8b"]))
        content[at : at + data.draw(st.integers(0, 30))] = junk
    path = tmp_path_factory.mktemp("any") / "any.warc"
    path.write_bytes(content)
    found = list(read_warc(path))
    assert found
    for each in found:
        if isinstance(each, Problem):
            assert each.reason in PROBLEMS
            assert 0 <= each.offset <= len(content)
        else:
            assert each.left == 0 or each.damage is not None


PARTS = st.sampled_from(
    [
        *(
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/2 301\r\n",
            b"HTTP/1.1 204\r\n",
            b"HTTP/1.1 103 Early\r\n",
        ),
        *(b"Content-Encoding: gzip\r\n", b"Content-Encoding: br, zstd\r\n", b"Location: //[\r\n"),
        *(b"Transfer-Encoding: chunked\r\n", b"Content-Length: 9\r\n", b"\r\n", b"\n\n", b": "),
        *(b"Content-Type: text/html\r\n", b"5\r\nhello\r\n", b"0\r\n\r\n", b"\x1f\x8b\x08\x00"),
        gzip.compress(b"<p>x"),
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(parts=st.lists(PARTS | st.binary(max_size=30), max_size=12))
def test_no_answer_makes_the_reader_raise(tmp_path_factory, parts):
    path = made.write(tmp_path_factory.mktemp("any") / "x.warc", [record(BASE, b"".join(parts))])
    for item in read_warc(path):
        if isinstance(item, Record):
            response = read_response(item, BASE, body_limit=1_000)
            assert (response.error is None) <= (response.status is not None)
            assert response.error is None or response.error in REASONS
            assert len(response.body) <= 1_000
            assert set(response.flags) <= set(FLAGS)


@pytest.mark.parametrize("content", [b"", b"<html>no WARC</html>", b"\x1f\x8b\x08", b"\x00" * 99])
def test_a_file_that_is_no_warc_is_told_before_anything_is_written(tmp_path, content):
    path = tmp_path / "x.warc"
    path.write_bytes(content)
    with pytest.raises(ck.BadSetting, match=r"paths: there is no WARC or ARC file in .*x\.warc"):
        take(path, tmp_path / "crawl")
    assert not (tmp_path / "crawl").exists()


def test_a_file_that_begins_with_damage_is_read_on(tmp_path):
    packed = [gzip.compress(each, mtime=0) for each in made.small_site(2)]
    path = tmp_path / "x.warc.gz"
    path.write_bytes(packed[0][:40] + packed[1] + packed[2])
    crawl = take(path, tmp_path / "crawl")
    assert list(crawl.pages["title"]) == ["Page p0", "Page p1"]
    assert problems_of(crawl) == ["warc_bad_gzip"]


def test_beside_a_good_file_it_is_an_event(tmp_path):
    good = made.write(tmp_path / "good.warc", made.small_site(2))
    empty, page_of_html = tmp_path / "empty.warc", tmp_path / "page.warc"
    empty.write_bytes(b"")
    page_of_html.write_bytes(b"<html>no WARC</html>\n" * 50)
    crawl = take([empty, page_of_html, good], tmp_path / "crawl")
    assert len(crawl.pages) == 3
    assert problems_of(crawl) == ["warc_empty", "warc_bad_length"]


def test_wrong_arguments(tmp_path):
    path = made.write(tmp_path / "x.warc", made.small_site(1))
    for paths in (tmp_path / "nowhere.warc", [], 7, tmp_path / "crawl.warc"):
        with pytest.raises(ck.BadSetting, match="paths"):
            take(paths, tmp_path / "crawl")
    with pytest.raises(ck.BadSetting, match="extract"):
        take(path, tmp_path / "crawl", extract="title")
    with pytest.raises(ck.BadSetting, match="scope"):
        take(path, tmp_path / "crawl", scope="everything")
    with pytest.raises(ck.BadSetting, match="folder"):
        take(path, path)
    with pytest.raises(ck.FolderUnusable):
        take(path, tmp_path)
    assert not (tmp_path / "crawl").exists()
