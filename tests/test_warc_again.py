"""WARC import again: idempotent, deterministic, safe against kills, and on from there live."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import warc_files as made
from warc_files import (
    BASE,
    TABLES,
    http,
    page,
    problems_of,
    record,
    same_tables,
    take,
    take_records,
)

import crawlkit as ck
from crawlkit.crawling.warc import export_warc
from crawlkit.crawling.warc_import import import_warc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

SMALL_SHOP = ck.lab.Shop(listings=4, per_page=10)


# -- again, and after a death --------------------------------------------------------------


def test_the_same_file_gives_the_same_tables_and_a_second_call_changes_nothing(tmp_path):
    path = made.write(tmp_path / "x.warc.gz", made.small_site(8), how="members")
    with path.open("ab") as file:
        file.write(b"some junk")
    one, two = take(path, tmp_path / "a"), take(path, tmp_path / "b")
    same_tables(one, two)
    events = one.events
    assert problems_of(one) == ["warc_bad_gzip"]
    before = {name: getattr(one, name) for name in TABLES}
    again = take(path, tmp_path / "a")
    for name, frame in before.items():
        pd.testing.assert_frame_equal(getattr(again, name), frame, obj=name)
    pd.testing.assert_frame_equal(again.events, events)
    assert again.summary()["last_run"]["requests"] == 0


def test_more_files_are_added_to_the_same_folder(tmp_path):
    site = made.small_site(4)
    made.write(tmp_path / "1.warc", site[:2])
    made.write(tmp_path / "2.warc", [*site[2:], record("http://b.example/", http(page("B")))])
    take(tmp_path / "1.warc", tmp_path / "crawl")
    crawl = take(tmp_path / "2.warc", tmp_path / "crawl")
    assert len(crawl.pages) == 6
    assert crawl.pages["url"].is_unique
    assert list(crawl.events["kind"]) == ["warc_imported", "warc_imported"]


def test_an_interrupt_returns_a_crawl_and_the_next_call_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("crawlkit.crawling.warc_intake._BATCH_PAGES", 3)
    path = made.write(tmp_path / "x.warc", made.small_site(12))
    seen: list[str] = []

    def extract(found: Any) -> Iterable[dict[str, object]]:
        seen.append(found.url)
        if len(seen) == 8:
            raise KeyboardInterrupt
        yield {"id": found.url}

    crawl = take(path, tmp_path / "a", extract=extract)
    assert crawl.stop_reason == "interrupted"
    assert len(crawl.pages) == 6
    again = take(path, tmp_path / "a", extract=extract)
    assert again.stop_reason == "imported"
    whole = take(path, tmp_path / "b", extract=lambda found: [{"id": found.url}])
    same_tables(again, whole)


CHILD = """
import sys
from crawlkit import lab
from crawlkit.crawling import warc_intake
from crawlkit.crawling.warc_import import import_warc
warc_intake._BATCH_PAGES = 5
warc_intake._SEGMENT_RESULTS = 10
import_warc(sys.argv[1], sys.argv[2], progress=False, extract=lab.extract_product)
"""


def child(path: Path, folder: Path, fault: str) -> int:
    environment = os.environ | {"CRAWLKIT_FAULT": fault}
    command = [sys.executable, "-c", CHILD, str(path), str(folder)]
    return subprocess.run(command, env=environment, timeout=120, check=False).returncode


@pytest.fixture(scope="module")
def exported_shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ck.Crawl]:
    base = tmp_path_factory.mktemp("shop")
    with ck.lab.serve(SMALL_SHOP) as site:
        ck.crawl(site.url + "shop/", base / "a", delay=0, progress=False)
    export_warc(base / "a", base / "shop.warc.gz")
    whole = take(base / "shop.warc.gz", base / "whole", extract=ck.lab.extract_product)
    return base / "shop.warc.gz", whole


@pytest.mark.parametrize(
    "fault",
    ["commit.written:2", "commit.written:5", "commit.done:6", "segment.written:1",
     "segment.renamed:4", "segment.recorded:2", "finish.recorded:1", "compact.renamed:2"],
)  # fmt: skip
def test_a_killed_import_goes_on_and_ends_with_the_same_tables(tmp_path, exported_shop, fault):
    path, whole = exported_shop
    assert child(path, tmp_path / "crawl", fault) == -9
    crawl = take(path, tmp_path / "crawl", extract=ck.lab.extract_product)
    assert crawl.finished
    same_tables(crawl, whole)
    assert not list((tmp_path / "crawl").rglob(".part-*"))


# -- on from here, live --------------------------------------------------------------------


def test_an_import_goes_on_live_and_asks_only_for_what_is_missing(tmp_path):
    with ck.lab.serve(SMALL_SHOP) as site:
        seed = site.url + "shop/"
        ck.crawl(seed, tmp_path / "a", delay=0, max_pages=20, progress=False)
        export_warc(tmp_path / "a", tmp_path / "a.warc.gz")
        crawl = take(tmp_path / "a.warc.gz", tmp_path / "b")
        imported = set(crawl.pages["url"])
        assert len(imported) == 20
        site.forget()
        ck.crawl(seed, tmp_path / "b", delay=0, progress=False)
        asked = {seed[: -len("/shop/")] + each.target for each in site.requests}
    crawl = ck.open_crawl(tmp_path / "b")
    assert crawl.finished
    assert len(crawl.pages) == SMALL_SHOP.listings + SMALL_SHOP.size
    assert not asked & imported
    assert crawl.settings.max_pages == 1_000


def test_resume_goes_on_with_the_saved_settings(tmp_path):
    with ck.lab.serve(SMALL_SHOP) as site:
        ck.crawl(site.url + "shop/", tmp_path / "a", delay=0, max_pages=20, progress=False)
        export_warc(tmp_path / "a", tmp_path / "a.warc.gz")
        crawl = take(tmp_path / "a.warc.gz", tmp_path / "b")
        crawl.resume(delay=0, progress=False)
    assert crawl.finished
    assert len(crawl.pages) == SMALL_SHOP.listings + SMALL_SHOP.size


def test_seeds_of_a_foreign_hand_are_taken_with_care(tmp_path):
    lines = [
        {"url": BASE + "seed", "source": "sitemap", "lastmod": 1e9},
        {"url": BASE + "odd", "source": "<script>", "lastmod": "soon"},
        {"url": BASE + "link", "source": "link", "lastmod": 1e300},
        {"url": "javascript:alert(1)"}, {"url": None}, [], 7,
    ]  # fmt: skip
    seeds = b"\n".join(json.dumps(line).encode() for line in lines) + b"\n{not JSON\n" + b"[" * 9999
    records = [
        record("urn:crawlkit:seeds", seeds, "metadata"),
        record("urn:crawlkit:seeds", b"x" * 500_000, "metadata"),
        record(BASE, http(page("A"))),
    ]
    crawl = take_records(tmp_path, records)
    assert list(crawl.urls["url"]) == [BASE + "seed", BASE + "odd", BASE + "link", BASE]
    assert list(crawl.urls["source"]) == ["sitemap", "seed", "seed", "warc"]


def test_progress_is_told_and_known_urls_bounds_the_table(tmp_path):
    told: list[Mapping[str, Any]] = []
    made.write(tmp_path / "x.warc", made.small_site(8))
    crawl = import_warc(
        tmp_path / "x.warc", tmp_path / "crawl", progress=told.append,
        limits=ck.Limits(known_urls=5),
    )  # fmt: skip
    assert told[-1]["pages"] == 5
    assert len(crawl.urls) == 5
    assert len(crawl.pages) == 5
