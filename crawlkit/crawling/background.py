"""A crawl in a thread of its own, to be started, paused, gone on with and stopped from another."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.running import run_crawl
from crawlkit.crawling.seeds import seeds_from_argument
from crawlkit.crawling.session import saved_settings
from crawlkit.crawling.settings import check_folder, settings_from_arguments
from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from crawlkit.crawling.engine import Engine
    from crawlkit.crawling.settings import Settings
    from crawlkit.web.html import Page

__all__ = ["BUSY", "BackgroundCrawl"]

# The states in which a run is under way.
BUSY = ("running", "pausing", "stopping")


class BackgroundCrawl:
    """A crawl in a thread, with start, pause, go on and stop; each returns at once.

    Everything is on disk the moment it is known, so to pause is to end the run, and to go on is
    to run the same call again.

    Parameters
    ----------
    arguments
        The arguments of :func:`crawlkit.crawl`, by name.
    on_change
        Called after every change of state and about four times a second while the crawl runs,
        mostly in the crawl's thread.

    Attributes
    ----------
    state : str
        ``ready``, ``running``, ``pausing``, ``paused``, ``stopping``, ``stopped``, ``ended`` or
        ``failed``.
    numbers : dict
        The latest live numbers; empty before the first run.
    last_page : tuple of str
        URL and title of the page read last.
    error : Exception or None
        Why the crawl failed.
    """

    def __init__(self, arguments: Mapping[str, Any], on_change: Callable[[], None]) -> None:
        self._arguments = dict(arguments)
        self._extract = self._arguments.pop("extract", None)
        if self._extract is not None and not callable(self._extract):
            raise BadSetting("extract", f"{self._extract!r} is no function", "Pass a function.")
        seeds, folder = self._arguments.pop("seeds"), self._arguments.pop("folder")
        self.folder: Path = check_folder(folder).absolute()
        settings = self._settings()
        self.max_pages = settings.max_pages
        self._seeds = seeds_from_argument(seeds, settings.url_rules)
        self.seed_urls = [seed.address.url for seed in self._seeds]
        self.state = "ready"
        self.numbers: dict[str, Any] = {}
        self.last_page: tuple[str, str | None] | None = None
        self.error: Exception | None = None
        self._on_change = on_change
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._thread: threading.Thread | None = None
        self._stop_reason: str | None = None
        self._again = False

    def _settings(self) -> Settings:
        """Check the settings, also against those in the folder; a fresh ordering for each run."""
        settings = settings_from_arguments(**self._arguments)
        saved = saved_settings(self.folder)
        if saved is not None:
            settings.check_resume(saved)
        return settings

    # -- what a click does -----------------------------------------------------------------

    def start(self) -> None:
        """Start, or go on with what is in the folder; nothing where it was started already."""
        self._launch(("ready",))

    def go_on(self) -> None:
        """Go on after a pause, a stop or an error."""
        with self._lock:
            self._again = self.state == "pausing"
        self._launch(("paused", "stopped", "failed"))

    def pause(self) -> None:
        """Commit what has come in, and ask for nothing more until it goes on."""
        self._halt("pausing", "paused", states=("running", "pausing"))

    def stop(self) -> None:
        """End the run; what is pending stays in the folder."""
        self._halt("stopping", "interrupted", states=("running", "pausing"))
        with self._lock:
            if self.state == "paused":
                self.state = "stopped"
        self._on_change()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no run is under way; return whether that is so.

        Parameters
        ----------
        timeout
            Seconds; None waits without end. Interrupting the cell ends the waiting, not the
            crawl.
        """
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
        return self.state not in BUSY

    def _launch(self, states: tuple[str, ...]) -> None:
        with self._lock:
            if self.state not in states:
                return
            self.state = "running"
            self._stop_reason, self._again, self.error = None, False, None
            # A daemon: the end of the notebook does not wait for it, and it has nothing to lose.
            self._thread = threading.Thread(target=self._work, name="crawlkit-monitor", daemon=True)
            self._thread.start()
        self._on_change()

    def _halt(self, state: str, reason: str, *, states: tuple[str, ...]) -> None:
        with self._lock:
            if self.state not in states:
                return
            self.state, self._again = state, False
            self._stop_reason = reason
            engine = self._engine
        if engine is not None:
            engine.stop(reason)
        self._on_change()

    # -- the thread ------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            outcome = self._run_once()
            with self._lock:
                if outcome == "paused" and self._stop_reason == "interrupted":
                    outcome = "stopped"  # stopped while it was pausing
                again, self._again = self._again and outcome == "paused", False
                self.state = "running" if again else outcome
                self._engine = self._stop_reason = None
            self._on_change()
            if not again:
                return

    def _run_once(self) -> str:
        try:
            reason = run_crawl(
                self.folder,
                self._settings(),
                self._seeds,
                extract=self._note_and_extract,
                progress=self._report,
                on_engine=self._take_engine,
            )
        except Exception as error:  # noqa: BLE001 - a thread has no caller: it is shown instead
            self.error = error
            return "failed"
        return {"paused": "paused", "interrupted": "stopped"}.get(reason, "ended")

    def _take_engine(self, engine: Engine) -> None:
        with self._lock:
            self._engine = engine
            wanted = self._stop_reason
        if wanted is not None:  # a click that came before the engine was there
            engine.stop(wanted)

    def _report(self, numbers: Mapping[str, Any]) -> None:
        self.numbers = dict(numbers)
        self._on_change()

    def _note_and_extract(self, page: Page) -> Iterable[Mapping[str, Any]]:
        self.last_page = (page.url, page.title)
        return () if self._extract is None else self._extract(page)
