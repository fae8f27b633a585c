"""Raw responses: kept once, found in any spelling, given back byte for byte."""

from __future__ import annotations

import json
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit.crawling.archive import (
    compress,
    decompress,
    find_url,
    load_body,
    load_response,
    save_response,
)
from crawlkit.crawling.database import open_for_writing, read_only, transaction
from crawlkit.web.fingerprint import body_hash

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

RULES = ck.UrlRules()
BODY = b"<p>a page</p>" * 50


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_for_writing(tmp_path)) as opened:
        yield opened


def packed(body: bytes) -> tuple[str, str, int, bytes]:
    return (body_hash(body), *compress(body))


def save(connection: Any, page_id: int, body: bytes | None, **options: Any) -> None:
    given: dict[str, Any] = {"status": 200, "headers": "[]", **options}
    with transaction(connection):
        kept = None if body is None else packed(body)
        save_response(connection, page_id, given.pop("seq", 1), body=kept, **given)


def know(connection: Any, page_id: int, url: str, key: str | None = None, *, hashed: int) -> None:
    with transaction(connection):
        connection.execute(
            "INSERT INTO urls (id, hash, url, key, host, depth, state, score, source) "
            "VALUES (?, ?, ?, ?, 1, 0, 2, 0.0, 'link')",
            (page_id, hashed, url, key),
        )


def count(connection: Any, table: str) -> int:
    return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


# -- bodies ---------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(body=st.binary(max_size=5_000), times=st.integers(1, 50))
def test_a_body_comes_back_as_it_was(body, times):
    assert decompress(*compress(body * times)) == body * times


def test_pages_are_kept_small():
    codec, size, data = compress(BODY)
    assert (codec, size) == ("zstd", len(BODY))
    assert len(data) < len(BODY) / 5


def test_bodies_of_another_codec_are_read_too():
    assert decompress("zlib", len(BODY), zlib.compress(BODY)) == BODY


@pytest.mark.parametrize("body", [b"", b"\0", b"\xff\xfe" * 1_000, bytes(range(256)), BODY])
def test_a_saved_body_is_loaded_byte_for_byte(connection, body):
    save(connection, 7, body)
    assert load_body(connection, 7) == body


def test_the_same_body_of_many_pages_is_kept_once(connection):
    for page_id in range(5):
        save(connection, page_id, BODY)
    save(connection, 9, BODY + b"!")
    assert count(connection, "responses") == 6
    assert count(connection, "bodies") == 2
    assert load_body(connection, 4) == BODY


# -- responses ------------------------------------------------------------------------------


def test_a_response_comes_back_with_status_and_headers_in_order(connection):
    headers = [["content-type", "text/html"], ["set-cookie", "a=1"], ["x-name", "Gr\u00fc\u00dfe"]]
    save(connection, 1, BODY, status=404, headers=json.dumps(headers))
    status, pairs, body = load_response(connection, 1)
    assert (status, body) == (404, BODY)
    assert pairs == [(name, value) for name, value in headers]


def test_an_answer_without_a_body_has_none_and_an_unknown_page_has_no_answer(connection):
    save(connection, 1, None, status=301)
    assert load_response(connection, 1) == (301, [], None)
    assert load_body(connection, 1) is None
    assert load_response(connection, 2) is None
    assert load_body(connection, 2) is None


def test_a_page_has_its_latest_response_only(connection):
    save(connection, 1, BODY, seq=3, status=200)
    save(connection, 1, b"gone", seq=8, status=410)
    assert load_response(connection, 1) == (410, [], b"gone")
    assert connection.execute("SELECT seq FROM responses").fetchall() == [(8,)]


def test_nothing_is_kept_of_a_transaction_that_failed(connection):
    def fail() -> None:
        with transaction(connection):
            save_response(connection, 1, 1, status=200, headers="[]", body=packed(BODY))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert count(connection, "responses") == count(connection, "bodies") == 0


def test_what_was_saved_is_seen_by_readers_of_the_folder(tmp_path, connection):
    save(connection, 1, BODY)
    with read_only(tmp_path) as reader:
        save(connection, 1, b"later")
        assert load_body(reader, 1) == BODY  # of its own snapshot
    with read_only(tmp_path) as reader:
        assert load_body(reader, 1) == b"later"


# -- finding --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelling",
    [
        "http://a.example/x?a=1&b=2",
        "HTTP://A.EXAMPLE:80/x?b=2&a=1#part",
        "http://a.example/y/../x?a=1&b=2&utm_source=news",
        "http://user:secret@a.example/%78?a=1&b=2",
    ],
)
def test_a_page_is_found_in_any_spelling_that_the_rules_merge(connection, spelling):
    key = ck.normalize_url("http://a.example/x?b=2&a=1")
    know(connection, 3, "http://a.example/x?b=2&a=1", key, hashed=ck.url_hash(key))
    assert find_url(connection, spelling, RULES) == 3


@pytest.mark.parametrize(
    "url", ["http://a.example/z", "https://a.example/x", "no URL", "mailto:a@b.example", ""]
)
def test_anything_else_is_not_found(connection, url):
    know(connection, 3, "http://a.example/x", hashed=ck.url_hash("http://a.example/x"))
    assert find_url(connection, url, RULES) is None


def test_two_pages_with_one_hash_stay_two(connection):
    hashed = ck.url_hash("http://a.example/x")
    know(connection, 1, "http://a.example/other", hashed=hashed)
    know(connection, 2, "http://a.example/x", hashed=hashed)
    assert find_url(connection, "http://a.example/x", RULES) == 2
    # The other one has a hash that is not its own, so it is not taken for anything.
    assert find_url(connection, "http://a.example/other", RULES) is None


def test_a_page_is_found_by_the_key_that_it_gave_up_for_its_canonical(connection):
    canonical = "http://a.example/lamp"
    know(connection, 5, "http://a.example/lamp?print=1", canonical, hashed=ck.url_hash(canonical))
    old = ck.normalize_url("http://a.example/lamp?print=1")
    with transaction(connection):
        connection.execute("INSERT INTO aliases VALUES (?, ?, 5)", (ck.url_hash(old), old))
    assert find_url(connection, "http://a.example/lamp?print=1", RULES) == 5
    assert find_url(connection, canonical, RULES) == 5


# -- through the public names --------------------------------------------------------------


def test_bodies_of_a_crawl_are_what_the_site_sent(tmp_path):
    with ck.lab.serve("files") as site:
        crawl = ck.crawl(site.url, tmp_path, delay=0, progress=False)
    pages = crawl.pages.dropna(subset=["body_hash"]).set_index("url")
    assert len(pages) >= 8
    for url, facts in pages.iterrows():
        body = crawl.body(str(url))
        assert len(body) == facts["size"]
        assert body_hash(body) == facts["body_hash"]
    with pytest.raises(ck.BadURL, match="not_in_this_crawl"):
        crawl.body(site.url + "nowhere")
    with pytest.raises(ck.BadURL, match="body_not_kept"):
        crawl.body(site.url + "files/empty")


def test_without_bodies_nothing_is_kept(tmp_path):
    with ck.lab.serve("files") as site:
        crawl = ck.crawl(site.url, tmp_path, delay=0, keep_bodies=False, progress=False)
    assert crawl.pages["body_hash"].notna().any()
    with read_only(tmp_path) as reader:
        assert count(reader, "responses") == count(reader, "bodies") == 0
    with pytest.raises(ck.BadURL, match="body_not_kept"):
        crawl.body(site.url)
