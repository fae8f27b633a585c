"""WARC export: what surrounds the responses, and files that are whole or absent."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import tracemalloc
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
import warc_files as made
from warc_files import BASE, check, plant, records_of, responses_of

import crawlkit as ck
from crawlkit.crawling import warc as warc_module
from crawlkit.crawling.database import open_for_writing
from crawlkit.crawling.warc import SEEDS_URI, export_warc
from crawlkit.crawling.warc_import import import_warc

if TYPE_CHECKING:
    from pathlib import Path

SMALL_SHOP = ck.lab.Shop(listings=3, per_page=8)


def crawl(seeds: Any, folder: Path, **options: Any) -> ck.Crawl:
    defaults: dict[str, Any] = {"delay": 0, "max_pages": None, "progress": False}
    defaults["http"] = ck.Http(retries=0)
    return ck.crawl(seeds, folder, **{**defaults, **options})


# -- what surrounds the responses ----------------------------------------------------------


def test_warcinfo_tells_software_and_settings_and_no_secret(tmp_path):
    http = ck.Http(
        retries=0, contact="https://example.com/bot", auth=("me", "hunter2"),
        headers={"Authorization": "Bearer s3cret-token", "X-Api-Key": "k3y"},
    )  # fmt: skip
    with ck.lab.serve(SMALL_SHOP) as site:
        url = site.url
        crawl(url, tmp_path / "a", http=http, max_pages=1)
    export_warc(tmp_path / "a", tmp_path / "a.warc", gzip=False)
    data = (tmp_path / "a.warc").read_bytes()
    for secret in (b"hunter2", b"s3cret", b"k3y"):
        assert secret not in data
    (info, content), *_ = records_of(tmp_path / "a.warc")
    assert info.rec_type == "warcinfo"
    fields = dict(line.split(": ", 1) for line in content.decode().splitlines())
    assert fields["software"] == f"crawlkit/{ck.__version__}"
    assert fields["format"] == "WARC File Format 1.1"
    assert fields["robots"] == "obey"
    assert fields["http-header-user-agent"].endswith("(+https://example.com/bot)")
    assert json.loads(fields["crawlkit-settings"])["max_pages"] == 1
    info_id = info.rec_headers.get_header("WARC-Record-ID")
    for record, _ in records_of(tmp_path / "a.warc")[1:]:
        assert record.rec_headers.get_header("WARC-Warcinfo-ID") == info_id
    seeds = [
        body
        for record, body in records_of(tmp_path / "a.warc")
        if record.rec_headers.get_header("WARC-Target-URI") == SEEDS_URI
    ]
    assert json.loads(seeds[0]) == {"url": url, "source": "seed", "lastmod": None}


def test_a_response_has_the_same_id_in_every_export(tmp_path):
    plant(tmp_path / "a")
    for name in ("one.warc", "two.warc.gz"):
        export_warc(tmp_path / "a", tmp_path / name, gzip=name.endswith("gz"))
    one, two = (
        responses_of(tmp_path / name)[BASE][0].rec_headers.get_header("WARC-Record-ID")
        for name in ("one.warc", "two.warc.gz")
    )
    assert one == two


# -- while others work, and when the disk does not -----------------------------------------


def test_an_export_while_the_crawl_runs_holds_what_was_committed(tmp_path):
    counts: list[int] = []

    def export(numbers: Any) -> None:
        if numbers["pages"] and len(counts) < 3:
            before = len(ck.open_crawl(tmp_path / "a").pages)
            path = tmp_path / f"{len(counts)}.warc.gz"
            counts.append(export_warc(tmp_path / "a", path))
            assert before <= counts[-1] <= len(ck.open_crawl(tmp_path / "a").pages)

    with ck.lab.serve(SMALL_SHOP, latency=0.1) as site:
        crawl(site.url + "shop/", tmp_path / "a", progress=export, workers=2)
    total = SMALL_SHOP.listings + SMALL_SHOP.size
    assert 0 < counts[0] < total
    assert counts == sorted(counts)
    check(tmp_path / "0.warc.gz")
    assert export_warc(tmp_path / "a", tmp_path / "end.warc.gz") == total


@pytest.mark.parametrize("log", [False, True])
def test_an_export_of_a_folder_that_cannot_be_written(tmp_path, monkeypatch, log):
    plant(tmp_path / "a")
    with contextlib.ExitStack() as cleanup:
        if log:  # of a crawl that runs, or was killed
            cleanup.enter_context(closing(open_for_writing(tmp_path / "a")))
            assert (tmp_path / "a" / "crawl.sqlite-wal").exists()
        files = sorted(path for path in (tmp_path / "a").rglob("*") if path.is_file())
        before = [path.read_bytes() for path in files]
        monkeypatch.setattr("crawlkit.crawling.database.os.access", lambda *_: False)
        assert export_warc(tmp_path / "a", tmp_path / "a.warc") == 1
        assert sorted(path for path in (tmp_path / "a").rglob("*") if path.is_file()) == files
        assert [path.read_bytes() for path in files] == before


def test_segments_that_are_joined_meanwhile_are_looked_up_again(tmp_path, monkeypatch):
    plant(tmp_path / "a")
    real, calls = warc_module._page_rows, []

    def gone_once(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise FileNotFoundError("part-000001.parquet")
        return real(*arguments)

    monkeypatch.setattr(warc_module, "_page_rows", gone_once)
    assert export_warc(tmp_path / "a", tmp_path / "a.warc") == 1
    assert len(calls) == 2


def test_a_segment_that_somebody_removed_is_told(tmp_path):
    plant(tmp_path / "a")
    (lost,) = (tmp_path / "a" / "pages").glob("*.parquet")
    lost.unlink()
    with pytest.raises(ck.FolderUnusable, match=lost.name):
        export_warc(tmp_path / "a", tmp_path / "a.warc")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    plant(tmp_path / "a")
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"the old file")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ck.StorageFailed, match="No space left"):
        export_warc(tmp_path / "a", path)
    assert path.read_bytes() == b"the old file"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "a.warc.gz"]


def test_wrong_arguments_are_told_before_anything_is_written(tmp_path):
    plant(tmp_path / "a")
    with pytest.raises(ck.BadSetting, match=r"path: .*is a folder"):
        export_warc(tmp_path / "a", tmp_path)
    with pytest.raises(ck.BadSetting, match="path: there is no folder"):
        export_warc(tmp_path / "a", tmp_path / "nowhere" / "a.warc")
    with pytest.raises(ck.BadSetting, match="path"):
        export_warc(tmp_path / "a", "")
    with pytest.raises(ck.FolderUnusable, match="holds no crawl"):
        export_warc(tmp_path / "b", tmp_path / "b.warc")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a"]


def test_without_warcio_the_error_names_the_extra(tmp_path, monkeypatch):
    plant(tmp_path / "a")
    monkeypatch.setitem(sys.modules, "warcio", None)
    with pytest.raises(ck.MissingExtra, match=r"crawlkit\[warc\]"):
        export_warc(tmp_path / "a", tmp_path / "a.warc")
    with pytest.raises(ck.MissingExtra, match=r"crawlkit\[warc\]"):
        import_warc(tmp_path / "a.warc", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_crawl_without_bodies_gives_a_file_without_responses(tmp_path):
    with ck.lab.serve(SMALL_SHOP) as site:
        crawl(site.url + "shop/", tmp_path / "a", max_pages=3, keep_bodies=False)
    assert export_warc(tmp_path / "a", tmp_path / "a.warc.gz") == 0
    check(tmp_path / "a.warc.gz")


def test_memory_does_not_grow_with_the_crawl(tmp_path):
    size, count = 1_000_000, 40
    text = (("Content-Type", "text/plain"),)
    bodies = (number.to_bytes(2, "big") * (size // 2) for number in range(count))
    records = [
        made.record(f"{BASE}{number}", made.http(body, headers=text))
        for number, body in enumerate(bodies)
    ]
    path = made.write(tmp_path / "large.warc.gz", records, how="members")
    del records
    peaks = []
    for work in (
        lambda: import_warc(path, tmp_path / "a", progress=False),
        lambda: export_warc(tmp_path / "a", tmp_path / "a.warc.gz"),
    ):
        tracemalloc.start()
        try:
            work()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert len(responses_of(tmp_path / "a.warc.gz")) == count
    assert max(peaks) < 12 * size
