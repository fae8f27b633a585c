"""The monitor: clicks without a front end, states, errors as text, and the death of a kernel."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import crawlkit as ck
from crawlkit.crawling.lock import FolderLock
from crawlkit.widgets.monitor import CrawlMonitor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WORKERS = 4
HOSTILE_TITLE = "<img src=x onerror=alert(1)> $x_{1$ \x1b[31m"


@dataclass(frozen=True)
class HostileTitles(ck.lab.Section):
    """One page whose title tries to be markup."""

    name: ClassVar[str] = "hostile"

    def paths(self, place: object) -> Iterator[str]:
        yield self.start

    def answer(self, ask: ck.lab.Ask) -> ck.lab.Answer | None:
        import html

        body = f"<!doctype html><title>{html.escape(HOSTILE_TITLE)}</title><p>Page</p>"
        return ck.lab.Answer(body.encode()) if ask.target == self.start else None


@pytest.fixture
def shop() -> Iterator[ck.lab.PracticeSite]:
    with ck.lab.serve(latency=0.005) as site:
        yield site


@pytest.fixture
def monitor(shop: ck.lab.PracticeSite, tmp_path: Path) -> Iterator[CrawlMonitor]:
    made = CrawlMonitor(shop.url + "shop/", tmp_path / "crawl", delay=0, workers=WORKERS)
    yield made
    made.stop()
    assert made.wait(30)


def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def enabled(monitor: CrawlMonitor) -> set[str]:
    return {name for name, button in monitor.buttons.items() if not button.disabled}


def html_of(monitor: CrawlMonitor) -> str:
    """Return all the HTML that the monitor shows."""
    parts: list[str] = []

    def collect(widget: Any) -> None:
        for child in getattr(widget, "children", ()):
            collect(child)
        if type(widget).__name__ == "HTML":
            parts.append(widget.value)

    collect(monitor.view)
    return "\n".join(parts)


# -- buttons -------------------------------------------------------------------------------


def test_start_crawls_to_the_end_and_shows_the_summary(
    monitor: CrawlMonitor, shop: ck.lab.PracticeSite
) -> None:
    assert monitor.state == "ready"
    assert enabled(monitor) == {"start"}
    monitor.buttons["start"].click()
    assert enabled(monitor) <= {"pause", "stop"}
    assert monitor.wait(60)
    assert (monitor.state, monitor.error) == ("ended", None)
    assert monitor.crawl.stop_reason == "finished"
    assert set(monitor.crawl.pages["url"]) == shop.truth.reachable(shop.url + "shop/")
    assert "finished" in html_of(monitor)
    assert "ended (finished): 525 pages" in monitor.text
    assert enabled(monitor) == set()


def test_pause_stops_asking_and_go_on_asks_for_the_rest(
    monitor: CrawlMonitor, shop: ck.lab.PracticeSite
) -> None:
    monitor.buttons["start"].click()
    until(lambda: len(shop.requests) > 50)
    monitor.buttons["pause"].click()
    assert monitor.wait(10)
    assert monitor.state == "paused"
    assert enabled(monitor) == {"go_on", "stop"}
    asked = len(shop.requests)
    assert asked < 500
    # All but robots.txt, and at most one request cut short for each worker.
    assert asked - 1 - WORKERS <= len(monitor.crawl.pages) <= asked - 1
    time.sleep(0.3)
    assert len(shop.requests) == asked
    monitor.buttons["go_on"].click()
    assert monitor.wait(60)
    assert monitor.state == "ended"
    assert len(monitor.crawl.pages) == 525
    assert shop.repeats() <= WORKERS


def test_stop_ends_the_run_and_go_on_takes_it_up(
    monitor: CrawlMonitor, shop: ck.lab.PracticeSite
) -> None:
    monitor.buttons["start"].click()
    until(lambda: len(shop.requests) > 20)
    monitor.buttons["stop"].click()
    assert monitor.wait(10)
    assert monitor.state == "stopped"
    assert monitor.crawl.stop_reason == "interrupted"
    assert monitor.crawl.urls["state"].eq("pending").any()
    assert enabled(monitor) == {"go_on"}
    monitor.go_on()
    assert monitor.wait(60)
    assert monitor.crawl.finished
    assert shop.repeats() <= WORKERS


def test_go_on_clicked_while_pausing_is_not_lost(
    monitor: CrawlMonitor, shop: ck.lab.PracticeSite
) -> None:
    shop.set_latency(0.3)
    monitor.start()
    until(lambda: len(shop.requests) > 3)
    monitor.buttons["pause"].click()
    assert monitor.state == "pausing"
    monitor.buttons["go_on"].click()
    shop.set_latency(0)
    assert monitor.wait(60)
    assert monitor.state == "ended"
    assert len(monitor.crawl.pages) == 525


def test_stop_clicked_while_pausing_wins(monitor: CrawlMonitor, shop: ck.lab.PracticeSite) -> None:
    shop.set_latency(0.3)
    monitor.start()
    until(lambda: len(shop.requests) > 3)
    monitor.pause()
    monitor.go_on()
    monitor.stop()
    assert monitor.wait(10)
    assert monitor.state == "stopped"


def test_stop_clicked_before_the_first_request_holds(monitor: CrawlMonitor) -> None:
    monitor.buttons["start"].click()
    monitor.buttons["stop"].click()
    assert monitor.wait(10)
    assert monitor.state == "stopped"
    assert len(monitor.crawl.pages) < 100


def test_clicks_that_pile_up_during_a_busy_cell_start_one_run(
    monitor: CrawlMonitor, shop: ck.lab.PracticeSite
) -> None:
    for _ in range(3):
        monitor.buttons["start"].click()
    monitor.buttons["go_on"].click()
    assert monitor.wait(60)
    assert (monitor.state, monitor.error) == ("ended", None)
    assert shop.repeats() == 0


def test_a_click_returns_at_once_however_slow_the_server_is(
    monitor: CrawlMonitor, shop: ck.lab.PracticeSite
) -> None:
    shop.set_latency(1.0)
    for name in ("start", "pause", "go_on", "stop"):
        began = time.monotonic()
        monitor.buttons[name].click()
        assert time.monotonic() - began < 0.5
        time.sleep(0.1)
    began = time.monotonic()
    assert monitor.wait(10)
    assert time.monotonic() - began < 4.0


# -- what is shown -------------------------------------------------------------------------


def test_live_numbers_are_shown_about_four_times_a_second(
    monitor: CrawlMonitor, shop: ck.lab.PracticeSite
) -> None:
    shop.set_latency(0.02)
    shown: list[str] = []
    monitor.view.children[3].observe(lambda change: shown.append(change["new"]), "value")
    began = time.monotonic()
    monitor.start()
    until(lambda: monitor.numbers.get("pages", 0) > 60)
    live = html_of(monitor)
    monitor.stop()
    assert monitor.wait(10)
    seconds = time.monotonic() - began
    assert 2 <= len(shown) <= 4 * seconds + 6
    for part in ("pages per second", "new URLs per page", "last page", "<polyline", "in flight"):
        assert part in live
    numbers = monitor.numbers
    # A request cut short counts as asked for, and is pending again.
    assert numbers["pages"] + numbers["pending"] <= numbers["known_urls"] + WORKERS


def test_nothing_is_printed(monitor: CrawlMonitor, capfd: pytest.CaptureFixture[str]) -> None:
    monitor.start()
    assert monitor.wait(60)
    assert capfd.readouterr() == ("", "")


def test_page_text_is_shown_as_text(tmp_path: Path) -> None:
    with ck.lab.serve([HostileTitles()]) as site:
        seed = site.url + "hostile/?<img src=x onerror=alert(1)>"
        monitor = CrawlMonitor([seed, site.url + "hostile/"], tmp_path, delay=0)
        shown: list[str] = []
        monitor.view.children[4].observe(lambda change: shown.append(change["new"]), "value")
        monitor.start()
        assert monitor.wait(30)
    everything = html_of(monitor) + "".join(shown)
    assert "&lt;img src=x onerror=alert(1)&gt; $x_{1$" in everything
    assert "<img" not in everything
    assert "\x1b" not in everything


def test_fallback_for_front_ends_without_widgets_is_one_line(monitor: CrawlMonitor) -> None:
    bundle = monitor._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == repr(monitor)
    assert "ready to start" in repr(monitor)
    assert "\n" not in repr(monitor)


def test_a_folder_that_holds_a_crawl_is_shown_and_gone_on_with(
    shop: ck.lab.PracticeSite, tmp_path: Path
) -> None:
    seed = shop.url + "shop/"
    ck.crawl(seed, tmp_path, delay=0, max_pages=20, progress=False)
    monitor = CrawlMonitor(seed, tmp_path, delay=0, max_pages=40)
    assert "max_pages" in html_of(monitor)
    monitor.start()
    assert monitor.wait(30)
    assert len(monitor.crawl.pages) == 40
    assert shop.repeats() == 0


def test_own_extractor_gets_every_page(shop: ck.lab.PracticeSite, tmp_path: Path) -> None:
    monitor = CrawlMonitor(
        shop.url + "shop/", tmp_path, delay=0, extract=ck.lab.extract_product, max_depth=1
    )
    monitor.start()
    assert monitor.wait(60)
    products = shop.truth.urls("shop", kind="product") & set(monitor.crawl.pages["url"])
    assert len(monitor.crawl.records) == len(products) == 20


def test_a_running_crawl_loads_no_plotting_library() -> None:
    code = (
        "import sys, tempfile, crawlkit as ck\n"
        "with ck.lab.serve() as site, tempfile.TemporaryDirectory() as folder:\n"
        "    m = ck.CrawlMonitor(site.url + 'shop/', folder, delay=0, max_pages=60)\n"
        "    m.start(); m.wait(60); assert m.state == 'ended', m\n"
        "print(*({'matplotlib', 'networkx', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# -- errors --------------------------------------------------------------------------------


def test_an_error_is_shown_as_text_and_can_be_got_over(
    monitor: CrawlMonitor, shop: ck.lab.PracticeSite
) -> None:
    monitor.folder.mkdir()
    lock = FolderLock(monitor.folder)
    monitor.buttons["start"].click()
    assert monitor.wait(10)
    assert monitor.state == "failed"
    assert isinstance(monitor.error, ck.FolderInUse)
    assert "FolderInUse: " in html_of(monitor)
    assert enabled(monitor) == {"go_on"}
    lock.release()
    monitor.buttons["go_on"].click()
    assert monitor.wait(60)
    assert "ended" in monitor.text
    assert "FolderInUse" not in html_of(monitor)
    assert shop.repeats() == 0


@pytest.mark.parametrize(
    ("seeds", "settings", "error", "names"),
    [
        ("http://127.0.0.1/", {"delay": -1}, ck.BadSetting, "delay"),
        ("http://127.0.0.1/", {"progress": False}, ck.BadSetting, "progress"),
        ("http://127.0.0.1/", {"order": "no such"}, ck.BadSetting, "order"),
        ("http://127.0.0.1/", {"extract": 3}, ck.BadSetting, "extract"),
        ("http://127.0.0.1/", {"delya": 1}, TypeError, "delya"),
        ("mailto:a@example.com", {}, ck.BadSetting, "seeds"),
        ([], {}, ck.BadSetting, "seeds"),
    ],
)
def test_wrong_arguments_raise_before_anything_is_written(
    seeds: Any, settings: dict[str, Any], error: type[Exception], names: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=names):
        CrawlMonitor(seeds, tmp_path / "new", **settings)
    assert list(tmp_path.iterdir()) == []


def test_a_changed_setting_is_refused_at_once(shop: ck.lab.PracticeSite, tmp_path: Path) -> None:
    seed = shop.url + "shop/"
    ck.crawl(seed, tmp_path, delay=0, max_pages=5, progress=False)
    with pytest.raises(ck.SettingsChanged, match="scope"):
        CrawlMonitor(seed, tmp_path, scope="any")


def test_the_crawl_can_be_read_only_once_it_was_started(monitor: CrawlMonitor) -> None:
    with pytest.raises(ck.FolderUnusable):
        _ = monitor.crawl
    assert not monitor.folder.exists()


def test_the_crawl_can_be_read_while_it_runs(
    monitor: CrawlMonitor, shop: ck.lab.PracticeSite
) -> None:
    shop.set_latency(0.02)
    monitor.start()
    until(lambda: len(shop.requests) > 30)
    pages = monitor.crawl.pages
    assert len(pages) >= 20
    assert pages["url"].is_unique
    assert monitor.state == "running"


# -- a kernel's death ----------------------------------------------------------------------

CELL = """
import crawlkit as ck
monitor = ck.CrawlMonitor({seed!r}, {folder!r}, delay=0, workers=4)
monitor.buttons["start"].click()
monitor
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client", "ignore:.*event loop")
def test_killing_the_kernel_loses_nothing(shop: ck.lab.PracticeSite, tmp_path: Path) -> None:
    import os
    import signal

    manager_module = pytest.importorskip("jupyter_client.manager")
    seed, folder = shop.url + "shop/", tmp_path / "crawl"
    kernels = manager_module.KernelManager(kernel_name="python3")
    kernels.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = kernels.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        shop.set_latency(0.03)
        cell = CELL.format(seed=seed, folder=str(folder))
        reply = client.execute(cell, reply=True, timeout=90)
        assert reply["content"]["status"] == "ok", reply["content"]
        until(lambda: len(shop.requests) > 40, 90)
        os.kill(kernels.provisioner.pid, signal.SIGKILL)
        until(lambda: not kernels.is_alive(), 90)
    finally:
        client.stop_channels()
        kernels.shutdown_kernel(now=True)
    before = len(shop.requests)
    assert before < 525, "the kernel had finished before it was killed"
    shop.set_latency(0)

    monitor = CrawlMonitor(seed, folder, delay=0, workers=WORKERS)
    assert "not yet, or by a kill" in html_of(monitor)
    saved = len(monitor.crawl.pages)
    assert saved >= before - 1 - WORKERS  # robots.txt, and one request in flight for each worker
    monitor.start()
    assert monitor.wait(60)
    assert monitor.crawl.finished
    assert set(monitor.crawl.pages["url"]) == shop.truth.reachable(seed)
    assert monitor.crawl.pages["url"].is_unique
    assert shop.repeats() <= WORKERS
