"""Where the answer to a trap meets something else: seeds, limits, retries, imports, releases."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import pytest
from crawls import crawl, page, paths, reasons, serve

import crawlkit as ck
from crawlkit import lab
from crawlkit.audit import traps as audit_traps
from crawlkit.audit.traps import Trap
from crawlkit.crawling import trap_watch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def site() -> Iterator[lab.PracticeSite]:
    """Sixty pages, and searches that lead to searches without end."""
    with lab.serve([lab.Finite(pages=60), "searches"]) as served:
        yield served


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first look come after a hundred pages."""
    monkeypatch.setattr(trap_watch, "FIRST_PAGES", 100)


def held_urls(found: ck.Crawl) -> list[str]:
    urls = found.urls
    return list(urls.loc[urls["reason"] == "trap_held", "url"])


def test_a_held_url_that_is_named_as_a_seed_is_asked(
    tmp_path: Path, site: lab.PracticeSite
) -> None:
    options: dict[str, Any] = {"on_trap": "hold", "max_pages": None}
    found = crawl(site.url, tmp_path / "c", **options)
    before = held_urls(found)
    site.forget()
    again = crawl([site.url, before[0]], tmp_path / "c", **options)
    assert again.finished
    assert [request.url for request in site.requests if request.path != "/robots.txt"] == before[:1]
    assert set(before[1:]) <= set(held_urls(again))
    urls = again.urls.set_index("url")
    assert tuple(urls.loc[before[0], ["state", "source"]]) == ("done", "seed")


def test_a_limit_and_a_stop_at_one_moment_name_the_trap(
    tmp_path: Path, site: lab.PracticeSite
) -> None:
    found = crawl(site.url, tmp_path / "c", on_trap="stop", max_pages=100, workers=1)
    summary = found.summary()
    (trap,) = summary["traps"]
    assert (trap["status"], trap["at_page"], summary["pages"]) == ("stopped", 100, 100)
    assert summary["stop_reason"] == f"on_trap: search_results {trap['region']}"
    assert found.resume(max_pages=120, progress=False).stop_reason == summary["stop_reason"]
    # Released by its own pattern it goes on, and what is found later still ends the crawl.
    assert found.release(trap["exclude"]) == 0
    assert found.resume(progress=False).stop_reason == "max_pages"
    assert found.settings.on_trap == "stop"
    assert [one["status"] for one in found.summary()["traps"]] == ["released"]


def test_what_was_in_hand_at_the_look_and_waits_again_is_held_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # x0 is in hand at the look, and waits to be tried again before the look is answered.
    busy = lab.Answer(b"busy", 503, headers=(("Retry-After", "4"),))
    slow = {f"p{n}": dataclasses.replace(page(title=f"P{n}"), wait=0.1) for n in range(9)}
    pages: dict[str, Any] = {
        "": page("x0", "x1", *slow),
        "x0": dataclasses.replace(busy, wait=0.8),
        "x1": page("x2", "x3"),
        **slow,
    }

    def one_region(facts: Any, *, alpha: float) -> list[Trap]:
        members = frozenset(n for n, url in enumerate(facts.urls) if "/t/x" in url)
        time.sleep(1.2)
        return [
            Trap(
                pattern=facts.urls[0].split("/")[2] + "/t/x*",
                kind="facets",
                pages=1,
                bytes=1,
                pending=2,
                discovery_rate=1.0,
                trend="flat",
                duplicate_share=0.0,
                evidence=f"by the test, at {alpha}",
                example=facts.urls[0],
                exclude="/t/x",
                p_value=0.0,
                verdict="trap",
                members=members,
            )
        ]

    monkeypatch.setattr(audit_traps, "trap_regions", one_region)
    monkeypatch.setattr(trap_watch, "FIRST_PAGES", 3)
    with serve(pages) as site:
        found = crawl(site.url + "t/", tmp_path / "c", on_trap="hold", workers=3)
        asked = paths(site.requests)
    assert found.finished
    assert asked.count("/t/x0") == 1
    assert reasons(found)["x0"] == ("excluded", "trap_held")


def test_an_import_keeps_the_markers_and_the_answer_of_the_folder(
    tmp_path: Path, site: lab.PracticeSite
) -> None:
    pytest.importorskip("warcio")
    crawl(site.url, tmp_path / "a", max_pages=30).export_warc(tmp_path / "a.warc.gz")
    crawl(site.url, tmp_path / "b", max_pages=3, expect="<title>", on_trap="hold")
    found = ck.import_warc(tmp_path / "a.warc.gz", tmp_path / "b", progress=False)
    assert found.settings.on_trap == "hold"
    assert found.settings.expect.to_list() == ["<title>"]
    pages = found.pages
    assert len(pages) == 30
    assert list(pages["expected_found"].unique()) == [True]
