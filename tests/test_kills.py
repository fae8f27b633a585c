"""A crawl survives its death: kills at random, at every boundary, and interrupts.

``CRAWLKIT_KILL_SEEDS`` says how many random series of kills are tried (1); the full experiment is
``benchmarks/ten_kills.py``.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from kill_harness import (
    CHILD,
    FAST,
    KILLS,
    PATIENCE,
    SLOW,
    KillRun,
    Life,
    differences,
    kill_moments,
    pages_left,
    state_of,
    ten_kills,
)

import crawlkit as ck
from crawlkit.crawling import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future
    from pathlib import Path

    from crawlkit.lab import PracticeSite

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

SEEDS = range(int(os.environ.get("CRAWLKIT_KILL_SEEDS", "1")))
WORKERS = (1, 4, 16)


def stops_within() -> float:
    """Seconds in which a crawl must stop: two, and more where others keep the processors busy."""
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return 2.0 * max(1.0, waiting)


def finish(folder: Path, site: PracticeSite, **options: Any) -> ck.Crawl:
    """Run the crawl of the shop to its end, in this process."""
    settings: dict[str, Any] = {"delay": 0, "progress": False, **options}
    return ck.crawl(site.url + "shop/", folder, extract=ck.lab.extract_product, **settings)


# -- ten kills -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kills_behind_latency(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[tuple[int, int], Future[KillRun]]]:
    """Run the experiments that mostly wait side by side."""
    with ThreadPoolExecutor(len(WORKERS)) as pool:
        yield {
            (workers, seed): pool.submit(
                ten_kills, tmp_path_factory.mktemp("kills") / "crawl", SLOW, workers, seed
            )
            for seed in SEEDS
            for workers in WORKERS
        }


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Callable[[KillRun], None]:
    def print_run(run: KillRun) -> None:
        record_property("figure", run.in_words())

    return print_run


@pytest.mark.xdist_group("kills behind latency")  # one process runs them side by side
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("workers", WORKERS)
def test_ten_kills_behind_latency_leave_the_exact_crawl(
    workers: int,
    seed: int,
    kills_behind_latency: dict[tuple[int, int], Future[KillRun]],
    report: Callable[[KillRun], None],
) -> None:
    run = kills_behind_latency[workers, seed].result()
    report(run)
    assert run.wrong == []
    assert (run.kills, run.hits) == (KILLS, KILLS), f"URLs left at each kill: {run.left}"
    assert run.repeats <= run.allowed
    assert run.requests == 525 + run.repeats


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("workers", WORKERS)
def test_ten_kills_at_full_speed_leave_the_exact_crawl(
    workers: int, seed: int, tmp_path: Path, report: Callable[[KillRun], None]
) -> None:
    run = ten_kills(tmp_path / "crawl", FAST, workers, seed)
    report(run)
    assert run.wrong == []
    # A fast machine may end the crawl before its tenth death.
    assert run.hits >= 3, f"URLs left at each kill: {run.left}"
    assert run.repeats <= run.allowed
    assert run.requests == 525 + run.repeats


def test_the_moments_of_the_kills_are_spread_over_their_interval() -> None:
    for variant in (SLOW, FAST):
        for seed in range(200):
            moments = kill_moments(variant, seed)
            assert len(moments) == KILLS
            assert variant.earliest <= min(moments)
            assert max(moments) <= variant.latest
            assert sum(moments) == pytest.approx(
                KILLS * (variant.earliest + variant.latest) / 2, rel=0.13
            )
    # At most 67 pages a second: even the longest ten lives leave pages over.
    assert max(sum(kill_moments(SLOW, seed)) for seed in range(200)) / SLOW.latency < 500


# -- a death at every boundary -------------------------------------------------------------


@pytest.fixture(scope="module")
def small_shop() -> Iterator[PracticeSite]:
    with ck.lab.serve(ck.lab.Shop(listings=2, per_page=1)) as site:
        yield site


@pytest.mark.parametrize("point", faults.POINTS)
def test_a_death_at_any_boundary_loses_nothing(
    point: str, small_shop: PracticeSite, tmp_path: Path
) -> None:
    told = {
        "seeds": small_shop.url + "shop/",
        "folder": str(tmp_path),
        "delay": 0,
        "workers": 1,
        "extract": "product",
        "segment_results": 2,
        "die_at_every": point,
    }
    out = subprocess.run(
        [sys.executable, str(CHILD), json.dumps(told)],
        capture_output=True,
        check=True,
        timeout=PATIENCE,
    ).stdout
    deaths: list[int] = json.loads(out)["ends"]
    # The process passes the point so many times in a whole crawl; it died at each of them.
    assert deaths[:-1] == [-signal.SIGKILL] * (len(deaths) - 1)
    assert deaths[-1] == 0
    at_least = {"commit": 15, "fetch": 5, "segment": 3, "compact": 3, "finish": 2}
    assert len(deaths) >= at_least[point.partition(".")[0]]
    for number in range(1, len(deaths) + 1):
        folder = tmp_path / f"{number}"
        small_shop.forget()
        finish(folder, small_shop, workers=1)
        lost = [line for line in differences(folder, small_shop) if "never saw" not in line]
        assert lost == [], f"after a death at {point}:{number}"
        assert small_shop.repeats() == 0


# One life for each, in this order: the crawl ends in the life that dies at "finish.recorded".
DEATHS = (
    "commit.begun:1",
    "commit.written:2",
    "commit.done:60",
    "segment.written:2",
    "commit.written:30",
    "fetch.done:70",
    "segment.renamed:1",
    "commit.begun:25",
    "segment.recorded:1",
    "segment.renamed:2",
    "fetch.done:1",
    "finish.recorded:1",
    "compact.written:2",
    "compact.renamed:1",
    "compact.recorded:2",
)


def test_deaths_at_every_point_in_a_row_leave_the_exact_crawl(tmp_path: Path) -> None:
    assert {death.partition(":")[0] for death in DEATHS} == set(faults.POINTS)
    options = {"workers": 4, "segment_results": 50}
    with ck.lab.serve(("shop",)) as site:
        for death in DEATHS:
            with Life(site, tmp_path, fault=death, **options) as life:
                assert life.end()[0] == -signal.SIGKILL, death
        finish(tmp_path, site)
        assert differences(tmp_path, site) == []
        assert site.repeats() <= len(DEATHS) * 4


# -- order ---------------------------------------------------------------------------------


def asked(site: PracticeSite) -> list[str]:
    return [request.url for request in site.requests if request.path != "/robots.txt"]


@pytest.mark.parametrize("order", ["breadth_first", "depth_first"])
def test_a_killed_crawl_goes_on_in_the_order_of_an_uninterrupted_one(
    order: str, tmp_path: Path
) -> None:
    with ck.lab.serve(("shop",)) as site:
        finish(tmp_path / "whole", site, workers=1, order=order)
        whole = asked(site)
        assert len(whole) == 525
        site.forget()
        folder = tmp_path / "killed"
        in_hand: list[str] = []
        begun: list[int] = []
        for number in (3, 40, 1, 200):
            begun.append(len(asked(site)))
            with Life(site, folder, fault=f"fetch.done:{number}", workers=1, order=order) as life:
                assert life.end()[0] == -signal.SIGKILL
            urls = ck.open_crawl(folder).urls
            in_hand += list(urls.loc[urls["state"] == "leased", "url"])
        begun.append(len(asked(site)))
        finish(folder, site, workers=1, order=order)
        killed = asked(site)
    # The page that was in hand is the first that the next life asks for ...
    assert in_hand == [killed[start] for start in begun[1:]]
    # ... and apart from these repetitions nothing is out of order.
    assert [url for n, url in enumerate(killed) if n not in begun[1:]] == whole


# -- interrupts ----------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 16])
def test_interrupts_stop_soon_return_the_crawl_and_lose_nothing(
    workers: int, tmp_path: Path
) -> None:
    draw = random.Random(workers)
    stops = 0
    with ck.lab.serve(("shop",), process=True, latency=0.01 * workers) as site:
        for _ in range(3):
            before = pages_asked(tmp_path)
            with Life(site, tmp_path, workers=workers) as life:
                assert life.signal_after(draw.uniform(0.0, 0.6), signal.SIGINT), life.end()
                took, (code, answer) = timed_end(life)
            assert code == 0, answer
            assert answer["stop_reason"] == "interrupted"
            assert answer["pages"] >= before
            assert answer["urls"]["pending"] == pages_left(tmp_path) > 0
            assert took < stops_within()
            stops += 1
        site.set_latency(0.0)
        finish(tmp_path, site, workers=workers)
        assert differences(tmp_path, site) == []
        assert site.repeats() <= stops * workers


def pages_asked(folder: Path) -> int:
    return len(ck.open_crawl(folder).pages) if (folder / "crawl.sqlite").exists() else 0


def timed_end(life: Life) -> tuple[float, tuple[int, dict[str, Any]]]:
    """Return how long a process takes to end, and its end."""
    began = time.monotonic()
    end = life.end()
    return time.monotonic() - began, end


def test_an_interrupt_does_not_wait_for_a_slow_server(tmp_path: Path) -> None:
    with ck.lab.serve(("shop",), process=True) as site:
        with Life(site, tmp_path, workers=16) as life:
            life.reach(100)
            site.set_latency(20.0)
            time.sleep(0.3)
            life.process.send_signal(signal.SIGINT)
            took, (code, answer) = timed_end(life)
        assert (code, answer["stop_reason"]) == (0, "interrupted")
        assert took < stops_within()
        assert state_of(tmp_path)["leased"] == 0
        site.set_latency(0.0)
        finish(tmp_path, site)
        assert differences(tmp_path, site) == []
        assert site.repeats() <= 16


@pytest.mark.parametrize("apart", [0.0, 0.1])
def test_a_second_interrupt_changes_nothing(apart: float, tmp_path: Path) -> None:
    with ck.lab.serve(("shop",), process=True, latency=0.1) as site:
        with Life(site, tmp_path, workers=4) as life:
            twice = (signal.SIGINT, signal.SIGINT)
            assert life.signal_after(0.5, *twice, apart=apart)
            took, (code, answer) = timed_end(life)
        assert (code, answer.get("stop_reason")) == (0, "interrupted"), answer
        assert took < stops_within()
        site.set_latency(0.0)
        finish(tmp_path, site)
        assert differences(tmp_path, site) == []


@pytest.mark.parametrize("after", [0.0, 0.05, 0.15])
def test_an_interrupt_while_the_crawl_finishes_still_returns_it(
    after: float, tmp_path: Path
) -> None:
    """The last page is in, and tables are written and compacted: that is no time to lose them."""
    with ck.lab.serve(("shop",), process=True) as site:
        with Life(site, tmp_path, segment_results=20) as life:
            life.reach(526)
            time.sleep(after)
            for _ in range(3):
                life.process.send_signal(signal.SIGINT)
                time.sleep(0.01)
            took, (code, answer) = timed_end(life)
        assert code == 0, answer
        assert answer["stop_reason"] in ("finished", "interrupted")
        assert took < stops_within()
        finish(tmp_path, site)
        assert differences(tmp_path, site) == []
        assert site.repeats() <= 8


def test_ctrl_c_at_the_command_line_gives_130_and_the_command_resumes(tmp_path: Path) -> None:
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from crawlkit.cli import main; sys.exit(main())"
    )
    with ck.lab.serve(("shop",), process=True, latency=0.02) as site:
        command = [sys.executable, "-c", code, "crawl", site.url + "shop/", "-o", str(tmp_path)]
        command += ["--delay", "0", "--quiet"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            while len(site.requests) < 50:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            words, _ = process.communicate(timeout=PATIENCE)
        assert time.monotonic() - began < stops_within()
        assert process.returncode == 130
        assert words.startswith("interrupted: ")
        assert "goes on from here" in words
        site.set_latency(0.0)
        again = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=PATIENCE
        )
        assert (again.returncode, again.stdout.split(":")[0]) == (0, "finished")
        finish(tmp_path, site)  # the command line has no extractor; the pages are all there
        assert [line for line in differences(tmp_path, site) if "record" not in line] == []
        assert site.repeats() <= 8


def test_an_interrupted_crawl_goes_on_in_the_same_process(tmp_path: Path) -> None:
    """As in a notebook, where the interrupt may also hit the progress bar."""

    def interrupt(numbers: Mapping[str, Any]) -> None:
        if numbers["pages"] > 20 and numbers["stop_reason"] is None:
            raise KeyboardInterrupt

    def interrupt_at_the_end(numbers: Mapping[str, Any]) -> None:
        if numbers["pages"] > 20:
            raise KeyboardInterrupt

    with ck.lab.serve(("shop",), latency=0.02) as site:
        for number, progress in enumerate((interrupt, interrupt_at_the_end), start=1):
            crawl = finish(tmp_path, site, workers=4, progress=progress)
            assert crawl.stop_reason == "interrupted"
            assert 20 < len(crawl.pages) < 525
            assert site.repeats() <= 4 * number
        with pytest.raises(ZeroDivisionError):
            finish(tmp_path, site, workers=4, progress=lambda numbers: 1 / 0)
        crawl.resume(progress=False)
        assert crawl.finished
        assert differences(tmp_path, site) == []
        assert site.repeats() <= 4 * 3


# -- readers -------------------------------------------------------------------------------


def test_readers_see_each_row_once_while_a_crawl_is_killed_interrupted_and_compacted(
    tmp_path: Path,
) -> None:
    folder, over = tmp_path / "crawl", tmp_path / "over"
    options: dict[str, Any] = {"workers": 4, "segment_results": 25}
    with ck.lab.serve(("shop",), process=True, latency=0.01) as site:
        told = {"folder": str(folder), "read_until": str(over)}
        with subprocess.Popen(
            [sys.executable, str(CHILD), json.dumps(told)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as reader:
            try:
                for moment, sign in (
                    (0.3, signal.SIGKILL),
                    (0.3, signal.SIGINT),
                    (0.1, signal.SIGKILL),
                    (0.3, signal.SIGKILL),
                    (0.2, signal.SIGINT),
                ):
                    with Life(site, folder, **options) as life:
                        life.signal_after(moment, sign)
                        life.process.wait(PATIENCE)
                with Life(site, folder, **options) as life:
                    assert life.end()[1]["stop_reason"] == "finished"
            finally:
                over.touch()
                out, errors = reader.communicate(timeout=PATIENCE)
        assert reader.returncode == 0, errors
        seen = json.loads(out)
        assert seen["looks"] > 5
        assert seen["pages"] == 525
        assert seen["links"] == len(ck.open_crawl(folder).links)
        assert differences(folder, site) == []
