"""What a running crawl does about a trap: tells of it, holds it, or stops; and what undoes that."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from crawls import crawl, paths, serve, star
from kill_harness import Life

import crawlkit as ck
from crawlkit import cli, lab
from crawlkit.audit import traps as audit_traps
from crawlkit.audit.crawl_facts import facts_of
from crawlkit.crawling import trap_watch
from crawlkit.crawling.trap_facts import running_facts
from crawlkit.crawling.trap_records import TrapBook, TrapRegion
from crawlkit.web.patterns import Patterns, compile_patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

REAL = lab.Finite(pages=60)


@pytest.fixture(scope="module", autouse=True)
def early() -> Iterator[None]:
    """Let the first look come after a hundred pages: half the crawl shows the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trap_watch, "FIRST_PAGES", 100)
        yield


@pytest.fixture(scope="module")
def site() -> Iterator[lab.PracticeSite]:
    """Sixty pages, and searches that lead to searches without end."""
    with lab.serve([REAL, "searches"]) as served:
        yield served


@pytest.fixture(scope="module")
def stopped(site: lab.PracticeSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that has stopped for the trap; to be copied."""
    folder = tmp_path_factory.mktemp("stopped") / "c"
    crawl(site.url, folder, on_trap="stop", max_pages=None)
    return folder


@pytest.fixture(scope="module")
def held(site: lab.PracticeSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that has held the trap and come to its end; to be copied."""
    folder = tmp_path_factory.mktemp("held") / "c"
    crawl(site.url, folder, on_trap="hold", max_pages=None)
    return folder


def copied(folder: Path, to: Path) -> ck.Crawl:
    shutil.copytree(folder, to)
    return ck.open_crawl(to)


def real_urls(site: lab.PracticeSite) -> set[str]:
    reachable = site.truth.pages
    return {url for url in reachable["url"] if not site.truth.is_trap(url)}


def asked_in_trap(site: lab.PracticeSite) -> int:
    return sum(site.truth.is_trap(request.url) for request in site.requests)


def events_of(found: ck.Crawl, kind: str) -> list[str]:
    events = found.events
    return [str(detail) for detail in events.loc[events["kind"] == kind, "detail"]]


# -- warn ----------------------------------------------------------------------------------


def test_warn_tells_once_and_changes_nothing(tmp_path: Path, site: lab.PracticeSite) -> None:
    told: list[list[str]] = []

    def progress(numbers: Mapping[str, Any]) -> None:
        told.append(list(numbers["traps"]))

    found = crawl(site.url, tmp_path / "c", max_pages=160, progress=progress)
    assert found.settings.on_trap == "warn"
    summary = found.summary()
    assert summary["stop_reason"] == "max_pages"
    (trap,) = summary["traps"]
    assert (trap["kind"], trap["status"], trap["held"]) == ("search_results", "told", 0)
    assert 100 <= trap["at_page"] <= 160
    assert told[-1] == [f"search_results {trap['region']} (told)"]
    (detail,) = events_of(found, "trap_found")
    assert trap["region"] in detail
    assert trap["exclude"] in detail
    assert not summary["excluded"]
    assert any(trap["region"] in hint and "crawl.exclude(" in hint for hint in summary["hints"])
    assert trap["region"] in found._repr_html_()
    # It goes on being told of, and is not found a second time.
    again = found.resume(max_pages=300, progress=False).summary()
    assert [one["status"] for one in again["traps"]] == ["told"]
    assert len(events_of(found, "trap_found")) == 1


def test_finite_sites_are_told_nothing_of(tmp_path: Path) -> None:
    with lab.serve([lab.Finite(pages=150), lab.Shop(listings=6, per_page=20)]) as site:
        found = crawl(site.url, tmp_path / "c", on_trap="hold", max_pages=None)
    assert found.finished
    assert found.summary()["traps"] == []
    assert "trap_held" not in set(found.urls["reason"])
    assert not [kind for kind in found.events["kind"] if kind.startswith("trap")]


# -- hold ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "workers"), [("searches", 1), ("searches", 8), ("calendar", 4)]
)
def test_hold_sets_the_region_aside_and_goes_on_with_the_rest(
    tmp_path: Path, workers: int, section: str
) -> None:
    with lab.serve([REAL, section]) as site:
        found = crawl(site.url, tmp_path / "c", on_trap="hold", max_pages=None, workers=workers)
        summary = found.summary()
        assert summary["stop_reason"] == "finished"
        (trap,) = summary["traps"]
        assert trap["status"] == "held"
        assert trap["held"] == summary["excluded"]["trap_held"] > 0
        aside = found.urls[found.urls["reason"] == "trap_held"]
        assert set(aside["state"]) == {"excluded"}
        assert all(site.truth.is_trap(url) for url in aside["url"])
        assert found.pages["url"].is_unique
        assert real_urls(site) <= set(found.pages["url"])
        # What was in hand when the region was held came home; nothing more of it was asked for.
        events = found.events.set_index("kind")
        later = found.pages.loc[found.pages["fetched_at"] > events.loc["trap_held", "at"], "url"]
        assert sum(site.truth.is_trap(url) for url in later) <= workers
        assert len(events_of(found, "trap_held")) == 1


def test_what_is_held_stays_held_on_a_resume(
    tmp_path: Path, held: Path, site: lab.PracticeSite
) -> None:
    found = copied(held, tmp_path / "c")
    before = found.summary()["excluded"]["trap_held"]
    site.forget()
    # A change of the patterns has every URL judged anew.
    found.resume(exclude="/nothing", max_pages=5_000, on_trap="warn", progress=False)
    assert asked_in_trap(site) == 0
    summary = found.summary()
    assert summary["excluded"]["trap_held"] == before
    assert [trap["status"] for trap in summary["traps"]] == ["held"]
    assert any("crawl.release(" in hint for hint in summary["hints"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_hold_survives_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    sections: list[lab.Section | str] = [lab.Finite(pages=250), "searches"]
    with lab.serve(sections, process=True, latency=0.01) as site:
        options: dict[str, Any] = {
            "seeds": site.url,
            "on_trap": "hold",
            "max_pages": None,
            "workers": 8,
        }
        with Life(site, folder, **options) as life:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                time.sleep(0.02)
                if (folder / "crawl.sqlite").exists() and life.requests():
                    traps = ck.open_crawl(folder).summary()["traps"]
                    if traps:
                        break
            life.process.send_signal(signal.SIGKILL)
            life.process.wait(60)
        died = ck.open_crawl(folder)
        assert [trap["status"] for trap in died.summary()["traps"]] == ["held"]
        # The killed folder has rows in segments and in the buffer, or in one of them.
        tables = facts_of(died)
        facts = running_facts(folder, bodies=True).facts
        assert facts.body is not None
        assert facts.body(facts.urls[0]) == died.body(facts.urls[0])
        assert facts.pages
        for name in ("urls", "pending", "finder", "children", "pages", "text", "original",
                     "size", "words", "title", "today", "aside"):  # fmt: skip
            assert getattr(facts, name) == getattr(tables, name), name
        site.forget()
        found = crawl(site.url, folder, on_trap="hold", max_pages=None, workers=8)
        assert found.finished
        assert asked_in_trap(site) == 0
        assert found.pages["url"].is_unique
        assert real_urls(site) <= set(found.pages["url"])
        assert set(found.urls["state"]) == {"done", "excluded"}
        assert [trap["status"] for trap in found.summary()["traps"]] == ["held"]


def test_a_region_is_held_on_its_own_host_only() -> None:
    region = TrapRegion(
        region="a.example:8080/*?sid=", kind="session_id", evidence="", example="",
        exclude=["/*?sid="], fits=True, status="held", at_page=200, pages=100, pending=10,
    )  # fmt: skip
    book = TrapBook([region], released=["/news/"])
    book.changed()
    assert book.holds("http://a.example:8080/shop?sid=1")
    assert not book.holds("http://a.example:8080/news/?sid=1")
    assert not book.holds("http://a.example:8080/shop")
    assert not book.holds("http://a.example/shop?sid=1")
    assert not book.holds("http://b.example:8080/shop?sid=1")
    assert book.knows(["http://a.example:8080/?sid=1", "http://a.example:8080/other"])
    assert not book.knows(["http://a.example:8080/?sid=1"] + ["http://b.example/?sid=1"] * 2)


# -- release -------------------------------------------------------------------------------


def test_everything_held_can_be_released_and_is_not_held_again(
    tmp_path: Path, held: Path, site: lab.PracticeSite
) -> None:
    found = copied(held, tmp_path / "c")
    count = found.summary()["excluded"]["trap_held"]
    assert found.release("/nothing") == 0
    assert found.release() == count
    assert found.release() == 0
    assert [trap["status"] for trap in found.summary()["traps"]] == ["released"]
    site.forget()
    pages = found.summary()["pages"]
    found.resume(max_pages=2 * pages, progress=False)
    assert found.stop_reason == "max_pages"
    assert asked_in_trap(site) == pages
    assert [trap["status"] for trap in found.summary()["traps"]] == ["released"]
    assert "trap_held" not in set(found.urls["reason"])


def test_a_part_of_a_held_region_can_be_released(
    tmp_path: Path, held: Path, site: lab.PracticeSite
) -> None:
    found = copied(held, tmp_path / "c")
    aside = found.urls.loc[found.urls["reason"] == "trap_held", "url"]
    chosen = re.compile(re.escape(aside.iloc[0]) + "$")
    assert found.release(chosen) == 1
    site.forget()
    found.resume(on_trap="hold", progress=False)
    assert paths(site.requests) == [aside.iloc[0].removeprefix(site.url.rstrip("/"))]
    assert found.finished
    # What that page led to lies in the rest of the region.
    assert found.summary()["excluded"]["trap_held"] > len(aside) - 1
    assert [trap["status"] for trap in found.summary()["traps"]] == ["held"]


def test_a_region_is_released_by_its_own_pattern(tmp_path: Path, held: Path) -> None:
    found = copied(held, tmp_path / "c")
    (trap,) = found.summary()["traps"]
    pattern = trap["exclude"]
    assert found.exclude(pattern) == 0
    assert found.release(pattern) == trap["held"]
    assert found.summary()["traps"][0]["status"] == "released"


def test_an_audit_of_a_crawl_that_held_a_trap_names_it(held: Path) -> None:
    found = ck.open_crawl(held)
    count = found.summary()["traps"][0]["held"]
    (trap,) = ck.find_traps(found).itertuples()
    assert (trap.kind, trap.pending) == ("search_results", count)
    size = ck.estimate_size(found)
    assert (size.verdict, size.pending, size.held) == ("complete", 0, count)
    assert f"{count:,} held" in str(size)
    assert any(f"{count:,} URLs are not counted: held" in one for one in size.limits)


def test_the_pattern_of_the_summary_can_be_passed_on_whatever_its_kind() -> None:
    region = TrapRegion(
        region="a.example/*?sid=", kind="session_id", evidence="", example="", status="told",
        exclude=Patterns([re.compile("sid=", re.IGNORECASE)], name="exclude").to_list(),
        fits=True, at_page=200, pages=100, pending=10,
    )  # fmt: skip
    written = json.loads(json.dumps(region.exclude[0]))
    assert compile_patterns(written).matches("https://a.example/?SID=1") == "sid="
    assert "re.compile('sid=')" in region.rule


# -- stop ----------------------------------------------------------------------------------


def test_stop_names_the_rule_the_region_and_what_is_left(
    stopped: Path, site: lab.PracticeSite
) -> None:
    found = ck.open_crawl(stopped)
    summary = found.summary()
    (trap,) = summary["traps"]
    assert summary["stop_reason"] == f"on_trap: search_results {trap['region']}"
    assert found.stop_reason == summary["stop_reason"]
    assert not found.finished
    assert trap["status"] == "stopped"
    assert summary["left"] == {site.url.split("/")[2]: summary["urls"]["pending"]}
    assert any(f"{summary['urls']['pending']:,} URLs pending" in one for one in summary["hints"])
    assert len(events_of(found, "trap_stop")) == 1


def test_a_stopped_crawl_waits_for_a_decision(
    tmp_path: Path, stopped: Path, site: lab.PracticeSite
) -> None:
    found = copied(stopped, tmp_path / "c")
    reason = found.stop_reason
    site.forget()
    assert found.resume(progress=False).stop_reason == reason
    assert crawl(site.url, tmp_path / "c", on_trap="stop", max_pages=None).stop_reason == reason
    assert paths(site.requests) == []
    # Decided: the region is left out.
    (trap,) = found.summary()["traps"]
    assert found.exclude(trap["exclude"]) > 0
    assert found.resume(progress=False).finished
    assert asked_in_trap(site) == 0
    assert real_urls(site) <= set(found.pages["url"])


def test_a_stopped_crawl_can_hold_the_region(
    tmp_path: Path, stopped: Path, site: lab.PracticeSite
) -> None:
    found = copied(stopped, tmp_path / "c")
    site.forget()
    assert found.resume(on_trap="hold", progress=False).finished
    assert asked_in_trap(site) == 0
    (trap,) = found.summary()["traps"]
    assert trap["status"] == "held"
    assert trap["held"] == found.summary()["excluded"]["trap_held"] > 0
    assert ck.open_crawl(found.folder).settings.on_trap == "hold"


def test_a_stopped_crawl_can_go_on_regardless(
    tmp_path: Path, stopped: Path, site: lab.PracticeSite
) -> None:
    found = copied(stopped, tmp_path / "c")
    pages = found.summary()["pages"]
    found.resume(on_trap="warn", max_pages=pages + 100, progress=False)
    assert found.stop_reason == "max_pages"
    assert [trap["status"] for trap in found.summary()["traps"]] == ["told"]


# -- looks ---------------------------------------------------------------------------------


def test_the_looks_share_one_error_rate_also_over_resumes(
    tmp_path: Path, site: lab.PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []
    monkeypatch.setattr(trap_watch, "FIRST_PAGES", 10)

    def nothing(facts: Any, *, alpha: float) -> list[Any]:
        assert facts.pages
        rates.append(alpha)
        return []

    monkeypatch.setattr(audit_traps, "trap_regions", nothing)
    found = crawl(site.url, tmp_path / "c", max_pages=15)
    for limit in (25, 40, 70):
        found.resume(max_pages=limit, progress=False)
    assert len(rates) >= 4
    wanted = [trap_watch.ALPHA / (k * (k + 1)) for k in range(1, len(rates) + 1)]
    assert rates == pytest.approx(wanted)
    assert sum(rates) < trap_watch.ALPHA


def test_a_look_that_fails_is_an_event_and_not_the_end(
    tmp_path: Path, site: lab.PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(facts: Any, *, alpha: float) -> list[Any]:
        raise ZeroDivisionError("no pages")

    monkeypatch.setattr(audit_traps, "trap_regions", broken)
    found = crawl(site.url, tmp_path / "c", max_pages=130)
    assert found.stop_reason == "max_pages"
    assert events_of(found, "trap_watch_ended") == ["ZeroDivisionError: no pages"]


def test_past_many_urls_no_look_is_taken_and_that_is_said(
    tmp_path: Path, site: lab.PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trap_watch, "MOST_URLS", 100)
    found = crawl(site.url, tmp_path / "c", max_pages=130, on_trap="hold")
    assert found.stop_reason == "max_pages"
    assert events_of(found, "trap_watch_ended") == [
        "no look for traps is taken past 100 known URLs"
    ]


# -- the command line, and wrong values ----------------------------------------------------


def test_the_command_line_holds_a_trap_and_loads_only_what_it_needs(
    tmp_path: Path, site: lab.PracticeSite
) -> None:
    told = ["crawl", site.url, "-o", str(tmp_path / "c"), "--delay", "0", "--json"]
    told += ["--on-trap", "hold", "--max-pages", "0"]
    script = (
        "import sys; from crawlkit.cli import main; code = main(sys.argv[1:]); "
        "loaded = {'pandas', 'numpy', 'scipy', 'matplotlib', 'networkx', 'pyarrow._s3fs', "
        "'email.utils', 'crawlkit.web.html_tokens'} & set(sys.modules); import gc; "
        "sys.exit(f'loaded {loaded}' if loaded or not gc.isenabled() else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *told], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["stop_reason"] == "finished"
    (trap,) = summary["traps"]
    assert trap["status"] == "held"
    assert done.stderr.strip() == f"crawlkit: trap: search_results {trap['region']}"


def test_the_command_line_says_what_was_left(
    tmp_path: Path, stopped: Path, site: lab.PracticeSite, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(stopped, tmp_path / "c").folder
    told = ["crawl", site.url, "-o", str(folder), "--delay", "0", "--quiet", "--max-pages", "0"]
    assert cli.main([*told, "--on-trap", "stop"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("on_trap: search_results ")
    assert "URLs pending, its own among them" in out
    assert cli.main([*told, "--on-trap", "ask"]) == 2
    assert "on_trap" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["ask", "", None, True, 1, ["warn"]])
def test_a_wrong_answer_is_named(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(ck.BadSetting, match="on_trap") as caught:
        ck.crawl("http://127.0.0.1:9/", tmp_path / "c", on_trap=wrong, progress=False)
    assert "'hold'" in str(caught.value)
    assert not (tmp_path / "c").exists()


# -- budgets -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("max_pages", {"max_pages": 6}),
        ("pages_per_host", {"limits": ck.Limits(pages_per_host=3)}),
        ("bytes", {"limits": ck.Limits(bytes=2_000, body=1_000)}),
        ("seconds", {"limits": ck.Limits(seconds=0.3)}),
    ],
)
def test_every_budget_says_what_was_left_and_where(
    tmp_path: Path, name: str, limits: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(star(4, wait=0.05), hosts=2) as site:
        seeds = [base + "t/" for base in site.hosts]
        found = crawl(seeds, tmp_path / "c", workers=1, **limits)
    summary = found.summary()
    assert summary["stop_reason"] == name
    waiting = summary["urls"]["pending"]
    assert sum(summary["left"].values()) == waiting > 0
    assert summary["beyond"][name] == waiting
    assert any(f"limit {name} with {waiting} URLs pending" in hint for hint in summary["hints"])
    print(cli._in_words(summary))
    out = capsys.readouterr().out
    assert f"{waiting} pending" in out
    if len(summary["left"]) == 2:
        assert "pending by host: 127." in out


def test_a_look_gives_way_to_the_crawl_and_leaves_the_interpreter_as_it_was() -> None:
    usual = sys.getswitchinterval()
    with trap_watch._giving_way():
        assert sys.getswitchinterval() < usual
    assert sys.getswitchinterval() == usual
