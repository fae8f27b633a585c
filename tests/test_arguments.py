"""Wrong arguments to crawl(): a typed error that names the argument, before anything is written."""

from __future__ import annotations

import sqlite3

import pandas as pd
import pytest

import crawlkit as ck
from crawlkit.crawling.database import DATABASE_NAME, SCHEMA_VERSION
from crawlkit.crawling.seeds import seeds_from_argument

URL = "http://127.0.0.1:9/"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"max_pages": -1}, "max_pages"),
        ({"max_pages": 0}, "max_pages"),
        ({"max_pages": 2.5}, "max_pages"),
        ({"max_pages": True}, "max_pages"),
        ({"max_depth": -1}, "max_depth"),
        ({"delay": -0.1}, "delay"),
        ({"delay": float("nan")}, "delay"),
        ({"delay": None}, "delay"),
        ({"workers": 0}, "workers"),
        ({"workers": 1000}, "workers"),
        ({"order": "fastest"}, "order"),
        ({"order": object()}, "order"),
        ({"scope": "galaxy"}, "scope"),
        ({"scope": ["http://a.example/"]}, "scope"),
        ({"scope": []}, "scope"),
        ({"canonical": "maybe"}, "canonical"),
        ({"extract": "title"}, "extract"),
        ({"limits": {"bytes": 1}}, "limits"),
        ({"http": {"timeout": 1}}, "http"),
        ({"url_rules": "all"}, "url_rules"),
        ({"seeds": "no url"}, "seeds"),
        ({"seeds": "example.com/a"}, "seeds"),
        ({"seeds": "ftp://example.com/"}, "seeds"),
        ({"seeds": []}, "seeds"),
        ({"seeds": 7}, "seeds"),
        ({"seeds": [URL, None]}, "seeds"),
        ({"seeds": pd.DataFrame({"address": [URL]})}, "seeds"),
    ],
)
def test_a_wrong_argument_is_named_before_anything_is_written(tmp_path, changes, name):
    folder = tmp_path / "crawl"
    arguments = {"seeds": URL, "progress": False, **changes}
    with pytest.raises(ck.BadSetting) as caught:
        ck.crawl(arguments.pop("seeds"), folder, **arguments)
    assert caught.value.name == name
    assert str(caught.value).startswith(f"{name}:")
    assert not folder.exists()


@pytest.mark.parametrize("field", ["pages_per_host", "bytes", "seconds", "known_urls", "body"])
def test_a_negative_limit_is_named(field):
    with pytest.raises(ck.BadSetting, match=rf"limits\.{field}"):
        ck.Limits(**{field: -5})


def test_a_file_in_place_of_the_folder(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(ck.BadSetting, match="is a file"):
        ck.crawl(URL, path, progress=False)
    assert path.read_text() == "mine"


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    mine = tmp_path / "pages" / "thesis.parquet"
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(ck.FolderUnusable, match="empty or a new folder"):
        ck.crawl(URL, tmp_path, progress=False)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["pages", "thesis.parquet"]


def test_a_folder_of_a_newer_schema_is_refused_unchanged(tmp_path):
    connection = sqlite3.connect(tmp_path / DATABASE_NAME)
    connection.execute("CREATE TABLE meta (name TEXT, value TEXT)")
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    connection.commit()
    connection.close()
    before = (tmp_path / DATABASE_NAME).read_bytes()
    for call in (lambda: ck.crawl(URL, tmp_path, progress=False), lambda: ck.open_crawl(tmp_path)):
        with pytest.raises(ck.FolderUnusable, match="Upgrade crawlkit"):
            call()
    assert (tmp_path / DATABASE_NAME).read_bytes() == before
    assert not (tmp_path / "crawl.lock").exists()


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / DATABASE_NAME).write_bytes(b"not a database at all, " * 100)
    with pytest.raises(ck.FolderUnusable, match="damaged or no database"):
        ck.crawl(URL, tmp_path, progress=False)


def test_opening_what_is_no_crawl(tmp_path):
    with pytest.raises(ck.FolderUnusable, match="holds no crawl"):
        ck.open_crawl(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_seeds_keep_their_provenance():
    when = pd.Timestamp("2026-01-02T03:04:05Z")
    frame = pd.DataFrame({"loc": [URL, URL + "b"], "lastmod": [when, pd.NaT]})
    seeds = seeds_from_argument(frame, ck.UrlRules())
    assert [(seed.source, seed.lastmod) for seed in seeds] == [
        ("sitemap", when.timestamp()),
        ("sitemap", None),
    ]


@pytest.fixture(scope="module")
def small_crawl(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crawls") / "small"
    with ck.lab.serve(("shop",)) as site:
        seed = site.url + "shop/"
        ck.crawl(seed, folder, delay=0, max_pages=5, progress=False)
        yield seed, folder


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"order": "depth_first"}, "order"),
        ({"scope": "any"}, "scope"),
        ({"url_rules": ck.UrlRules(trailing_slash=True)}, "url_rules"),
        ({"canonical": "merge"}, "canonical"),
    ],
)
def test_a_setting_that_may_not_change_on_a_resume_is_named(small_crawl, changes, name):
    seed, folder = small_crawl
    with pytest.raises(ck.SettingsChanged) as caught:
        ck.crawl(seed, folder, delay=0, max_pages=5, progress=False, **changes)
    assert caught.value.name == name
    assert len(ck.open_crawl(folder).pages) == 5


def test_resume_names_a_setting_that_it_does_not_know(small_crawl):
    _, folder = small_crawl
    with pytest.raises(ck.BadSetting, match="max_page"):
        ck.open_crawl(folder).resume(max_page=7)


def test_a_resume_with_nothing_to_do_says_so(tmp_path):
    with ck.lab.serve(("deep",)) as site:
        first = ck.crawl(site.url + "deep/", tmp_path / "c", delay=0, progress=False)
        asked = len(site.requests)
        again = ck.crawl(site.url + "deep/", tmp_path / "c", delay=0, progress=False)
    assert first.finished
    assert again.finished
    assert len(again.fetches) == asked
    assert again.summary()["last_run"]["requests"] == 0
    assert any("Nothing was left to do" in hint for hint in again.summary()["hints"])


def test_a_crawl_with_secrets_is_reopened_without_them(tmp_path):
    http = ck.Http(auth=("me", "pw"), headers={"X-Token": "t", "Accept-Language": "de"})
    with ck.lab.serve(("shop",)) as site:
        seed = site.url + "shop/"
        ck.crawl(seed, tmp_path / "c", delay=0, max_pages=3, progress=False, http=http)
        site.forget()
        again = ck.open_crawl(tmp_path / "c")
        assert again.settings.http.auth is None
        again.resume(max_pages=5, progress=False)
        sent = [dict(request.headers) for request in site.requests]
    assert len(again.pages) == 5
    assert not any("not saved" in str(headers) for headers in sent)


@pytest.mark.parametrize("folder", ["z" * 300, "a\0b"])
def test_a_folder_name_that_no_system_takes(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ck.BadSetting, match="folder"):
        ck.crawl(URL, folder, progress=False)


def test_a_retry_of_a_reason_that_nothing_failed_for(small_crawl):
    _, folder = small_crawl
    with pytest.raises(ck.BadSetting, match="nonsense"):
        ck.open_crawl(folder).retry("nonsense", progress=False)


@pytest.mark.parametrize("site", ["example.com", "ftp://example.com/"])
def test_robots_table_does_not_take_an_address_for_rules(site):
    with pytest.raises((ck.BadSetting, ck.BadURL)):
        ck.robots_table(site, ["/a"], "x")
