"""A crawl survives disaster: full disks, read-only folders, rivals, odd clocks, deadly pages."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from crawl_child import EXIT_ERROR, EXIT_POISONED
from kill_harness import PATIENCE, Life, differences, files_of, state_of

import crawlkit as ck
from crawlkit.crawling import engine
from crawlkit.crawling.database import transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlkit.lab import PracticeSite

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits and signals")

NOBODY = 65_534
# The clock of a test machine is not exact: what the site may see a request come early.
JITTER = 0.02


def finish(folder: Path, site: PracticeSite, **options: Any) -> ck.Crawl:
    settings: dict[str, Any] = {"delay": 0, "progress": False, **options}
    return ck.crawl(site.url + "shop/", folder, extract=ck.lab.extract_product, **settings)


def page_counts(folder: Path) -> tuple[int, int, int]:
    """Return pages, links and records that a folder holds."""
    crawl = ck.open_crawl(folder)
    return len(crawl.pages), len(crawl.links), len(crawl.records)


def is_sound(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / "crawl.sqlite")) as connection:
        found: list[tuple[str]] = connection.execute("PRAGMA integrity_check").fetchall()
    return found == [("ok",)]


# -- full disk -----------------------------------------------------------------------------


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Give a function that mounts something small; all of it is gone after the test."""
    mounted: list[Path] = []

    def run(*arguments: str) -> bool:
        found = shutil.which("mount")
        return (
            found is not None
            and not subprocess.run(
                [found, *arguments], check=False, capture_output=True, timeout=PATIENCE
            ).returncode
        )

    def mount_here(*arguments: str) -> Path:
        place = tmp_path / f"mount-{len(mounted)}"
        place.mkdir()
        if not run(*arguments, str(place)):
            pytest.skip("mounting needs root, and a kernel that lets it")
        mounted.append(place)
        return place

    yield mount_here
    for place in reversed(mounted):
        subprocess.run(["umount", "-l", str(place)], check=True, timeout=PATIENCE)


def grow(place: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True)


def check_full_disk(life: Life, folder: Path, site: PracticeSite) -> None:
    """Check that the end was clean, and go on with more room."""
    code, answer = life.end()
    assert code == EXIT_ERROR, answer
    assert answer["error"] == "StorageFailed"
    assert re.search(r"free some space|Free some space", answer["message"])
    assert "\n" not in answer["message"]
    asked = sum(request.path != "/robots.txt" for request in site.requests)
    with contextlib.suppress(ck.FolderUnusable):  # it may have been full from the first write on
        states = state_of(folder)
        assert states["failed"] == states["excluded"] == states["dead"] == 0
        pages, _, records = page_counts(folder)
        assert pages == states["done"] <= asked
        assert records <= pages


@pytest.mark.parametrize("kilobytes", [16, 120, 1_000, 3_000])
def test_a_full_disk_stops_the_crawl_with_one_message_and_loses_nothing(
    kilobytes: int, mount: Callable[..., Path]
) -> None:
    place = mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs")
    folder = place / "crawl"
    with ck.lab.serve(("shop",)) as site:
        with Life(site, folder, workers=4, segment_results=60) as life:
            check_full_disk(life, folder, site)
        grow(place, "200m")
        assert is_sound(folder)
        finish(folder, site)
        assert differences(folder, site) == []
        assert site.repeats() <= 4


@pytest.mark.parametrize("kilobytes", [8, 500, 1_500])
def test_a_limit_on_file_size_stops_the_crawl_with_one_message_and_loses_nothing(
    kilobytes: int, tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    with ck.lab.serve(("shop",)) as site:
        with Life(site, folder, workers=4, file_size=kilobytes * 1024) as life:
            check_full_disk(life, folder, site)
        assert is_sound(folder)
        finish(folder, site)
        assert differences(folder, site) == []
        assert site.repeats() <= 4


@pytest.mark.parametrize(
    ("fault", "kilobytes"),
    [
        ("segment.written:1", 40),  # no room to write what is buffered
        ("finish.recorded:1", 40),  # none to compact
        ("compact.recorded:3", 60),  # none for the table of URLs
        ("compact.recorded:3", 90),  # none for the records
    ],
)
def test_a_disk_that_fills_while_the_crawl_finishes_leaves_a_crawl_that_can(
    fault: str, kilobytes: int, mount: Callable[..., Path]
) -> None:
    """Everything is asked for, and then there is no room for the tables."""
    place = mount("-t", "tmpfs", "-o", "size=200m", "tmpfs")
    folder = place / "crawl"
    results = 10_000 if fault.startswith("segment") else 40
    with ck.lab.serve(("shop",)) as site:
        with Life(site, folder, fault=fault, segment_results=results) as life:
            assert life.end()[0] == -signal.SIGKILL
        if fault.startswith("compact"):  # the old segments would leave room
            ck.open_crawl(folder).exclude("/nothing/")
        used = shutil.disk_usage(place).used
        grow(place, f"{used // 1024 + kilobytes}k")
        with Life(site, folder, segment_results=results) as life:
            code, answer = life.end()
        assert (code, answer.get("error")) == (EXIT_ERROR, "StorageFailed"), answer
        grow(place, "200m")
        assert is_sound(folder)
        assert page_counts(folder)[::2] == (525, 500)
        finish(folder, site)
        assert differences(folder, site) == []
        assert site.repeats() == 0


def test_nothing_is_written_after_a_commit_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is then ahead of the disk: another worker's commit would build on rows not there."""
    commits = 0

    @contextlib.contextmanager
    def failing(connection: sqlite3.Connection, **options: Any) -> Iterator[None]:
        nonlocal commits
        commits += 1
        with transaction(connection, **options):
            yield
            if commits == 20:  # the disk is full for this one moment
                raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(engine, "transaction", failing)
    with ck.lab.serve(("shop",), latency=0.01) as site:
        with pytest.raises(ck.StorageFailed, match="disk is full"):
            finish(tmp_path, site, workers=8)
        assert commits == 20
        assert ck.open_crawl(tmp_path).stop_reason is None
        finish(tmp_path, site)
        assert differences(tmp_path, site) == []
        assert site.repeats() <= 8


# -- read-only -----------------------------------------------------------------------------


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that other users reach, which those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="crawlkit-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
        for path in [Path(name), *Path(name).rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)


def close_to_writers(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def unprivileged() -> dict[str, Any]:
    """Return the options of a process that permissions bind; they do not bind root."""
    return {"user": NOBODY} if os.geteuid() == 0 else {}


@pytest.mark.parametrize("kind", ["killed", "finished", "new", "without its lock"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_first_request(
    kind: str, open_folder: Path
) -> None:
    folder = open_folder / "crawl"
    with ck.lab.serve(("shop",)) as site:
        if kind == "killed":
            with Life(site, folder, fault="fetch.done:30") as life:
                assert life.end()[0] == -signal.SIGKILL
        elif kind != "new":
            finish(folder, site, max_pages=30)
        if kind == "without its lock":
            (folder / "crawl.lock").unlink()
        close_to_writers(open_folder)
        before = len(site.requests)
        with Life(site, folder, **unprivileged()) as life:
            code, answer = life.end()
        assert (code, answer.get("error")) == (EXIT_ERROR, "FolderUnusable"), answer
        assert "cannot be written" in answer["message"]
        assert str(folder) in answer["message"]
        assert len(site.requests) == before


@pytest.mark.parametrize("kind", ["killed", "finished"])
def test_a_folder_that_cannot_be_written_can_be_read(kind: str, open_folder: Path) -> None:
    folder, over = open_folder / "crawl", open_folder / "over"
    with ck.lab.serve(("shop",)) as site:
        fault = "fetch.done:150" if kind == "killed" else None
        with Life(site, folder, fault=fault, workers=1, segment_results=40) as life:
            life.end()
        pages, links, _ = page_counts(folder)
        over.touch()
        close_to_writers(open_folder)
        before = files_of(folder)
        with Life(site, folder, read_until=str(over), **unprivileged()) as life:
            code, seen = life.end()
        assert code == 0, seen
        assert (seen["pages"], seen["links"]) == (pages, links)
        assert pages == (525 if kind == "finished" else 149)
        assert files_of(folder) == before


@pytest.mark.parametrize("kind", ["killed", "finished"])
def test_a_read_only_disk_can_be_read_and_not_crawled(
    kind: str, tmp_path: Path, mount: Callable[..., Path]
) -> None:
    with ck.lab.serve(("shop",)) as site:
        fault = "fetch.done:150" if kind == "killed" else None
        with Life(site, tmp_path / "crawl", fault=fault, workers=1) as life:
            life.end()
        counts = page_counts(tmp_path / "crawl")
        folder = mount("--bind", str(tmp_path / "crawl"))
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        assert page_counts(folder) == counts
        assert ck.open_crawl(folder).summary()["urls"]["done"] == counts[0]
        before = len(site.requests)
        with pytest.raises(ck.FolderUnusable, match="cannot be written"):
            finish(folder, site)
        assert len(site.requests) == before


# -- two at once ---------------------------------------------------------------------------


def test_a_second_process_is_told_who_owns_the_folder_and_disturbs_nothing(tmp_path: Path) -> None:
    with ck.lab.serve(("shop",), process=True, latency=0.005) as site:
        with Life(site, tmp_path) as first:
            assert first.first_request() is not None
            with Life(site, tmp_path) as second:
                code, answer = second.end()
            assert first.process.poll() is None
            assert (code, answer["error"]) == (EXIT_ERROR, "FolderInUse")
            assert f"process {first.process.pid} on " in answer["message"]
            assert "ck.open_crawl" in answer["message"]
            with pytest.raises(ck.FolderInUse, match=f"process {first.process.pid} on "):
                finish(tmp_path, site)
            pages = ck.open_crawl(tmp_path).pages["url"]
            assert pages.is_unique
            assert first.end()[1]["stop_reason"] == "finished"
        assert differences(tmp_path, site) == []
        assert site.repeats() == 0


def test_of_processes_that_start_at_once_one_crawls(tmp_path: Path) -> None:
    folder, go = tmp_path / "crawl", tmp_path / "go"
    with ck.lab.serve(("shop",), process=True) as site, contextlib.ExitStack() as lives:
        # Long enough for the slowest to find the folder taken.
        started = [lives.enter_context(Life(site, folder, go=str(go))) for _ in range(3)]
        site.set_latency(0.03)
        go.touch()
        ends = [life.end() for life in started]
        assert sorted(code for code, _ in ends) == [0, EXIT_ERROR, EXIT_ERROR]
        assert {answer["error"] for code, answer in ends if code} == {"FolderInUse"}
        assert differences(folder, site) == []
        assert site.repeats() == 0


def test_a_second_crawl_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with ck.lab.serve(("shop",), process=True, latency=0.02) as site:
        first = threading.Thread(target=finish, args=(tmp_path, site))
        first.start()
        while not site.requests:
            time.sleep(0.001)
        with pytest.raises(ck.FolderInUse, match=f"process {os.getpid()} on "):
            finish(tmp_path, site)
        first.join()
        assert differences(tmp_path, site) == []


def test_the_lock_of_a_dead_process_is_free(tmp_path: Path) -> None:
    with ck.lab.serve(("shop",), process=True) as site:
        with Life(site, tmp_path, fault="fetch.done:20") as life:
            assert life.end()[0] == -signal.SIGKILL
        assert (tmp_path / "crawl.lock").read_text()
        finish(tmp_path, site)
        assert differences(tmp_path, site) == []


# -- clocks --------------------------------------------------------------------------------


def test_a_clock_that_jumps_an_hour_hurries_nobody_and_delays_nobody(tmp_path: Path) -> None:
    delay = 0.2
    shop = ck.lab.Shop(listings=1, per_page=15)
    with ck.lab.serve(shop, process=True) as site:
        jumps = ((-3600.0, 0.8), (-3600.0, 0.0), (3600.0, 0.6))
        for clock, after in jumps:
            with Life(site, tmp_path, delay=delay, clock=clock, clock_after=after) as life:
                assert life.kill_after(1.0)
        began = time.monotonic()
        with Life(site, tmp_path, delay=delay, clock=-7200.0) as life:
            assert life.end()[1]["stop_reason"] == "finished"
        assert time.monotonic() - began < 17 * delay + 10
        assert site.closest_requests() >= delay - JITTER
        assert differences(tmp_path, site) == []
        assert site.repeats() <= len(jumps)


def test_a_saved_retry_after_is_kept_and_a_clock_set_back_does_not_lengthen_it(
    tmp_path: Path,
) -> None:
    pause = 4
    section = ck.lab.Failing(retry_after=pause, failures=1, pages=1)
    options: dict[str, Any] = {"include": ["/failing/busy-1"], "delay": 0.1, "extract": None}
    with ck.lab.serve(section, process=True) as site:
        options["seeds"] = site.url + "failing/"
        with Life(site, tmp_path, **options) as life:
            while not any(request.status == 503 for request in site.requests):
                time.sleep(0.01)
            time.sleep(0.3)
            life.process.kill()
        (refused,) = (request for request in site.requests if request.status == 503)
        with Life(site, tmp_path, clock=-3600.0, **options) as life:
            code, answer = life.end()
        assert (code, answer["stop_reason"]) == (0, "finished")
        again = [r for r in site.requests if r.path == refused.path and r.at > refused.at]
        assert [request.status for request in again] == [200]
        gap = again[0].at - refused.at
        assert pause - JITTER <= gap < pause + 15


# -- politeness ----------------------------------------------------------------------------


def test_a_resumed_crawl_waits_a_full_delay_before_it_asks_a_host_again(tmp_path: Path) -> None:
    delay = 1.5
    with ck.lab.serve(ck.lab.Shop(listings=1, per_page=2), process=True) as site:
        # In the middle of robots.txt, of a first page, and between two pages.
        for moment in (0.0, 0.05, delay + 0.3):
            with Life(site, tmp_path, delay=delay) as life:
                assert life.kill_after(moment)
        with Life(site, tmp_path, delay=delay) as life:
            assert life.end()[1]["stop_reason"] == "finished"
        assert site.closest_requests() >= delay - JITTER


def test_a_resumed_crawl_keeps_the_crawl_delay_that_it_has_read(tmp_path: Path) -> None:
    crawl_delay = 1.5
    section = ck.lab.Robots(crawl_delay=crawl_delay)
    options: dict[str, Any] = {"delay": 0.1, "extract": None, "max_pages": 3}
    with ck.lab.serve(section, process=True) as site:
        options["seeds"] = site.url + "robots/"
        with Life(site, tmp_path, **options) as life:
            assert life.kill_after(crawl_delay + 0.3)
        with Life(site, tmp_path, **options) as life:
            assert life.kill_after(0.0)
        with Life(site, tmp_path, **options) as life:
            assert life.end()[1]["stop_reason"] == "max_pages"
        assert len(site.requests) >= 4
        assert site.closest_requests() >= crawl_delay - JITTER


# -- poison --------------------------------------------------------------------------------


def test_a_page_that_makes_the_extractor_raise_is_a_row_and_not_the_end(tmp_path: Path) -> None:
    with ck.lab.serve(("failing", "shop")) as site:
        poison = site.url + "failing/poison"
        crawl = ck.crawl(
            [site.url + "shop/", poison],
            tmp_path,
            delay=0,
            progress=False,
            include="/shop/",
            extract=ck.lab.extract_product,
        )
        assert crawl.stop_reason == "finished"
        assert len(crawl.records) == 500
        events = crawl.events
        (row,) = events[events["kind"] == "extractor_failed"].to_dict("records")
        assert row["url"] == poison
        assert "NoneType" in row["detail"]
        assert set(crawl.urls["state"]) == {"done"}
        assert site.repeats() == 0


@pytest.mark.parametrize(("workers", "attempts"), [(1, 3), (4, 3), (4, 1)])
def test_a_page_that_kills_the_process_is_given_up_and_the_rest_is_crawled(
    workers: int, attempts: int, tmp_path: Path
) -> None:
    shop = ck.lab.Shop(listings=3, per_page=15)
    with ck.lab.serve(shop, process=True, latency=0.005) as site:
        poison = sorted(site.truth.urls("shop", kind="product"))[20]
        options: dict[str, Any] = {
            "workers": workers,
            "extract": "deadly:" + poison.removeprefix(site.url),
            "limits": {"attempts": attempts},
        }
        ends: list[int] = []
        while not ends or ends[-1] == EXIT_POISONED:
            assert len(ends) <= attempts, "the deadly page is asked for without end"
            with Life(site, tmp_path, **options) as life:
                ends.append(life.end()[0])
        assert ends == [EXIT_POISONED] * attempts + [0]
        crawl = ck.open_crawl(tmp_path)
        assert crawl.stop_reason == "finished"
        events = crawl.events
        assert poison in set(events.loc[events["kind"] == "page_given_up", "url"])
        urls = crawl.urls.set_index("url")
        assert (urls.loc[poison, "state"], urls.loc[poison, "reason"]) == ("failed", "attempts")
        assert sum(request.url == poison for request in site.requests) == attempts
        others = urls.drop(index=poison)
        # With one attempt, whoever was in flight with the deadly page cannot be told from it.
        lost = int((others["state"] != "done").sum())
        assert lost <= (workers - 1 if attempts == 1 else 0)
        assert len(others) == 47
        assert len(crawl.records) == 44 - lost
        assert crawl.pages["url"].is_unique
