"""The widgets in a real JupyterLab, clicked by a real browser, while the crawl really runs."""

from __future__ import annotations

import html
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import crawlkit as ck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CHROMIUM = os.environ.get("CRAWLKIT_CHROMIUM") or shutil.which("chromium") or ""
MISSING = [
    name for name in ("playwright", "jupyterlab") if importlib.util.find_spec(name) is None
] + ([] if CHROMIUM else ["chromium (on the path, or in CRAWLKIT_CHROMIUM)"])

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

PAGES = 300
WORKERS = 2
TITLE = '<img src=x onerror="window.hostile = 1"> $x$'
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass(frozen=True)
class HostileTitles(ck.lab.Section):
    """Pages whose titles, links and addresses try to be markup."""

    name: ClassVar[str] = "hostile"

    def paths(self, place: object) -> Iterator[str]:
        yield self.start
        for number in range(1, PAGES):
            yield f"{self.start}page-{number}"

    def answer(self, ask: ck.lab.Ask) -> ck.lab.Answer | None:
        if ask.target not in set(self.paths(ask.place)):
            return None
        text = html.escape(TITLE)
        paths = self.paths(ask.place) if ask.target == self.start else ()
        links = "".join(f'<a href="{path}">{text}</a>' for path in paths)
        body = f"<!doctype html><title>{text}</title><h1>{text}</h1>{links}"
        return ck.lab.Answer(body.encode())


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False


@pytest.fixture
def site() -> Iterator[ck.lab.PracticeSite]:
    with ck.lab.serve([HostileTitles()], latency=0.1) as made:
        yield made


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Start JupyterLab with nothing of the user's own; give its address and its folder."""
    tmp_path = tmp_path_factory.mktemp("jupyter")
    root = tmp_path / "notebooks"
    settings = tmp_path / "settings" / "@jupyterlab" / "apputils-extension"
    for folder in (root, settings):
        folder.mkdir(parents=True)
    # No pop-up may lie over the buttons.
    quiet = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    environment = dict(os.environ, JUPYTERLAB_SETTINGS_DIR=str(tmp_path / "settings"))
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR",
                 "JUPYTERLAB_WORKSPACES_DIR"):  # fmt: skip
        environment[name] = str(tmp_path / name.lower())
    port = free_port()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=",
        f"--ServerApp.root_dir={root}",
    ]  # fmt: skip
    with (tmp_path / "jupyter.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        until(lambda: server.poll() is not None or answers(f"http://127.0.0.1:{port}/api"))
        assert server.poll() is None, (tmp_path / "jupyter.log").read_text()
        yield f"http://127.0.0.1:{port}", root
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        chromium = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


def write_notebook(root: Path, name: str, cells: list[str]) -> str:
    """Write a notebook of code cells; return its file's name. Each name has a kernel of its own."""
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, root / f"{name}.ipynb")
    return f"{name}.ipynb"


class Lab:
    """A notebook that is open in the browser."""

    def __init__(self, browser: Any, url: str, notebook: str) -> None:
        self._browser, self._address = browser, f"{url}/lab/tree/{notebook}?reset"
        self.open()

    def open(self) -> None:
        """Open the notebook in a new tab and wait for its kernel."""
        self.page = self._browser.new_page(viewport={"width": 1300, "height": 1600})
        self.page.set_default_timeout(60_000)
        self.page.goto(self._address)
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        self.page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]')

    def run(self, number: int) -> Any:
        """Run a cell, without waiting for it; return its output area."""
        cell = self.page.locator(".jp-Notebook .jp-CodeCell").nth(number)
        prompt = cell.locator(".jp-InputPrompt").first
        for _ in range(20):  # a press before the session is ready does nothing
            cell.locator(".cm-content").first.click()
            self.page.keyboard.press("Control+Enter")
            self.page.wait_for_timeout(500)
            if prompt.inner_text().strip() != "[ ]:":
                return cell.locator(".jp-Cell-outputArea")
        raise AssertionError("the cell did not run")

    def click(self, label: str) -> None:
        """Click a button of the monitor once it can be clicked."""
        self.page.locator(f'.jp-Cell-outputArea button:enabled:has-text("{label}")').last.click()

    def wait_for_state(self, text: str) -> None:
        """Wait until the monitor shows a state."""
        self.page.locator(f'[role="status"]:has-text("{text}")').last.wait_for()

    def hostile_ran(self) -> bool:
        """Tell whether text of a page was run as markup."""
        return bool(self.page.evaluate("window.hostile === 1"))


@pytest.mark.timeout(300)
def test_buttons_rule_the_crawl_and_page_text_stays_text(
    site: ck.lab.PracticeSite, jupyter: tuple[str, Path], browser: Any, tmp_path: Path
) -> None:
    url, root = jupyter
    seed, folder = site.url + "hostile/", str(tmp_path / "crawl")
    cells = [
        "import crawlkit as ck\n"
        f"monitor = ck.CrawlMonitor({seed!r}, {folder!r}, delay=0, workers={WORKERS})\n"
        "monitor",
        "import time; time.sleep(8); print('no longer busy')",
        "monitor.crawl",
        "monitor.crawl.pages[['title', 'url']].head()",
        f"import ipywidgets; ipywidgets.HTML({TITLE!r})",
    ]
    lab = Lab(browser, url, write_notebook(root, "buttons", cells))

    # Start: the cell has ended, and the crawl advances.
    lab.run(0)
    lab.click("Start")
    lab.wait_for_state("running: ")
    until(lambda: len(site.requests) > 15)
    shown = lab.page.locator("td", has_text="window.hostile").last
    shown.wait_for()
    assert TITLE in shown.inner_text()

    # Pause: nothing more is asked; go on: it is.
    lab.click("Pause")
    lab.wait_for_state("paused: ")
    asked = len(site.requests)
    time.sleep(1)
    assert len(site.requests) == asked < PAGES
    lab.click("Go on")
    until(lambda: len(site.requests) > asked + 10)

    # A busy cell holds up neither the crawl nor, for longer than it lasts, a click.
    busy = lab.run(1)
    asked = len(site.requests)
    until(lambda: len(site.requests) > asked + 5)
    assert "no longer busy" not in busy.inner_text()
    lab.click("Stop")
    busy.locator("text=no longer busy").wait_for()
    lab.wait_for_state("stopped: ")
    asked = len(site.requests)
    time.sleep(1)
    assert len(site.requests) == asked < PAGES

    # What notebooks show of the crawl is text, too.
    lab.run(2).locator("text=interrupted").wait_for()
    lab.run(3).locator("text=window.hostile").first.wait_for()
    assert not lab.hostile_ran()

    site.set_latency(0)
    lab.click("Go on")
    lab.wait_for_state("ended (finished): ")
    assert not lab.hostile_ran()
    assert len(ck.open_crawl(folder).pages) == PAGES
    assert site.repeats() <= 2 * WORKERS

    # The same text without the escape does run, so the checks above could have failed.
    lab.run(4)
    until(lab.hostile_ran, 20)


@pytest.mark.timeout(300)
def test_closing_the_tab_loses_nothing(
    site: ck.lab.PracticeSite, jupyter: tuple[str, Path], browser: Any, tmp_path: Path
) -> None:
    url, root = jupyter
    seed, folder = site.url + "hostile/", str(tmp_path / "crawl")
    cells = [
        "import crawlkit as ck\n"
        f"monitor = ck.CrawlMonitor({seed!r}, {folder!r}, delay=0, workers={WORKERS})\n"
        "monitor",
        "monitor",
    ]
    lab = Lab(browser, url, write_notebook(root, "tab", cells))
    lab.run(0)
    lab.click("Start")
    until(lambda: len(site.requests) > 10)
    lab.page.close()
    asked = len(site.requests)
    until(lambda: len(site.requests) > asked + 20)

    lab.open()
    lab.run(1)
    site.set_latency(0)
    lab.wait_for_state("ended (finished): 300 pages")
    assert len(ck.open_crawl(folder).pages) == PAGES
    assert site.repeats() == 0


@pytest.mark.timeout(300)
def test_the_explorer_follows_its_controls(jupyter: tuple[str, Path], browser: Any) -> None:
    url, root = jupyter
    pages = [f"http://a.example/{TITLE}{number}" for number in range(20)]
    targets = [pages[(number * 7 + 3) % 20] for number in range(20)] + pages[1:] + pages[:1]
    graph = (pages + pages, targets)
    cells = [
        "import crawlkit as ck\n"
        f"explorer = ck.OrderingExplorer({graph!r}, {pages[0]!r}, orders=['opic', 'inlinks'])\n"
        "explorer",
    ]
    lab = Lab(browser, url, write_notebook(root, "explorer", cells))
    lab.run(0)
    lab.wait_for_state("after 2 of 20 downloads: opic")
    assert lab.page.evaluate("document.querySelector('img.widget-image').naturalWidth") > 300
    lab.page.locator("text=Frontier of opic").wait_for()
    lab.page.locator("td", has_text="window.hostile").first.wait_for()

    lab.page.locator(".widget-dropdown select").select_option("inlinks")
    lab.page.locator("text=Frontier of inlinks").wait_for()
    lab.page.locator(".noUi-handle").last.focus()
    lab.page.keyboard.press("ArrowRight")
    lab.wait_for_state("after 3 of 20 downloads: opic")
    lab.page.locator(".widget-select-multiple select").select_option(["breadth_first"])
    lab.page.locator("text=Frontier of breadth_first").wait_for()
    assert not lab.hostile_ran()
