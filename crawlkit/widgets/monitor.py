"""The monitor: it runs a crawl beside the cells of a notebook and shows how it goes.

The crawl runs in a thread of its own, so the cell that shows the monitor ends at once and the
notebook stays free. A click only asks the crawl to stop or starts a thread, and returns; it works
whether the front end delivers it during a busy cell or after it. Nothing is printed: output of a
thread lands in whichever cell ran last. The numbers are text and a sketch made of numbers; no
figure is drawn outside the main thread.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.api import crawl, open_crawl
from crawlkit.crawling.background import BUSY, BackgroundCrawl
from crawlkit.errors import BadSetting, CrawlkitError
from crawlkit.reprs import (
    crawl_html,
    curves_svg,
    escape,
    facts_html,
    format_bytes,
    format_number,
    plain_text,
    progress_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pandas as pd

    from crawlkit.crawling.crawl_folder import Crawl

__all__ = ["CrawlMonitor"]

# Which buttons do something in which state.
_ACTIONS: dict[str, tuple[str, ...]] = {
    "ready": ("start",),
    "running": ("pause", "stop"),
    "pausing": ("go_on", "stop"),
    "paused": ("go_on", "stop"),
    "stopping": (),
    "stopped": ("go_on",),
    "ended": (),
    "failed": ("go_on",),
}
_WORDS = {
    "ready": "ready to start",
    "running": "running",
    "pausing": "pausing",
    "paused": "paused",
    "stopping": "stopping",
    "stopped": "stopped",
    "ended": "ended",
    "failed": "failed",
}
_BUTTONS = {
    "start": ("Start", "play"),
    "pause": ("Pause", "pause"),
    "go_on": ("Go on", "step-forward"),
    "stop": ("Stop", "stop"),
}
# Points of the sketch; when there are more, every other one goes.
_POINTS = 200
# Seconds of the past over which rates are taken.
_RATE_SECONDS = 5.0


class CrawlMonitor:
    """A crawl with buttons and live numbers, beside the cells of a notebook.

    Let it be the last line of a cell, and click Start. Pause and Stop take at most about two
    seconds and lose nothing: requests that they cut short, one for each worker at most, are asked
    again. Nor is anything lost when the tab is closed or the kernel dies: make the same monitor
    again and click Start.

    Parameters
    ----------
    seeds, folder
        As in :func:`crawlkit.crawl`.
    **settings
        Any other setting of :func:`crawlkit.crawl`, except ``progress``.

    Attributes
    ----------
    buttons : dict
        The buttons ``start``, ``pause``, ``go_on`` and ``stop``.
    view : ipywidgets.VBox
        The whole, to be put into other widgets.

    Raises
    ------
    BadSetting, SettingsChanged, FolderUnusable
        As in :func:`crawlkit.crawl`, before anything is written. What goes wrong later is shown
        in the monitor, and is in ``error``.

    Examples
    --------
    >>> import crawlkit as ck, tempfile
    >>> with ck.lab.serve() as site, tempfile.TemporaryDirectory() as folder:
    ...     monitor = ck.CrawlMonitor(site.url + "shop/", folder, delay=0, max_pages=30)
    ...     monitor.start()
    ...     done = monitor.wait(60)
    ...     print(done, monitor.state, len(monitor.crawl.pages))
    True ended 30
    """

    def __init__(
        self, seeds: str | Iterable[str] | pd.DataFrame, folder: str | Path, **settings: Any
    ) -> None:
        if "progress" in settings:
            raise BadSetting("progress", "the monitor shows the progress", "Leave it out.")
        bound = inspect.signature(crawl).bind(seeds, folder, **settings)
        bound.apply_defaults()
        del bound.arguments["progress"]
        self._curves: dict[str, list[tuple[float, float]]] = {}
        self._recent: deque[tuple[float, int, int]] = deque()
        self._drawing = threading.Lock()
        self._task = BackgroundCrawl(bound.arguments, self._draw)
        self._make_view()
        self._draw()

    # -- control ---------------------------------------------------------------------------

    def start(self) -> None:
        """Start the crawl, as the button does."""
        self._task.start()

    def pause(self) -> None:
        """Pause the crawl, as the button does."""
        self._task.pause()

    def go_on(self) -> None:
        """Go on, as the button does."""
        self._task.go_on()

    def stop(self) -> None:
        """Stop the crawl, as the button does."""
        self._task.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the crawl pauses, stops, ends or fails; return whether it has.

        Parameters
        ----------
        timeout
            Seconds; None waits without end.
        """
        return self._task.wait(timeout)

    @property
    def folder(self) -> Path:
        """Folder of the crawl."""
        return self._task.folder

    @property
    def crawl(self) -> Crawl:
        """The crawl as it is at this moment, to be read also while it runs."""
        return open_crawl(self._task.folder)

    @property
    def state(self) -> str:
        """``ready running pausing paused stopping stopped ended`` or ``failed``."""
        return self._task.state

    @property
    def error(self) -> Exception | None:
        """Why the crawl failed, if it did."""
        return self._task.error

    @property
    def numbers(self) -> dict[str, Any]:
        """The latest live numbers, as a progress function is given them."""
        return dict(self._task.numbers)

    @property
    def text(self) -> str:
        """The monitor as one line of text, for where widgets cannot be shown."""
        task = self._task
        state = _WORDS[task.state]
        if task.state == "ended":
            state += f" ({task.numbers.get('stop_reason')})"
        if task.error is not None:
            state += f" ({type(task.error).__name__}: {task.error})"
        return progress_text(task.numbers, state)

    def __repr__(self) -> str:
        return f"<CrawlMonitor {str(self.folder)!r}: {self.text}>"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = self.view._repr_mimebundle_(**options) or {}
        return {**bundle, "text/plain": repr(self)}

    # -- what is seen ----------------------------------------------------------------------

    def _make_view(self) -> None:
        import ipywidgets as widgets

        self.buttons = {
            name: widgets.Button(description=label, icon=icon)
            for name, (label, icon) in _BUTTONS.items()
        }
        for name, button in self.buttons.items():
            button.on_click(partial(self._click, name))
        self._bar = widgets.IntProgress(min=0, max=1, layout=widgets.Layout(width="420px"))
        self._status = widgets.HTML()
        self._details = widgets.HTML()
        seeds = self._task.seed_urls
        more = f" and {len(seeds) - 1} more" if len(seeds) > 1 else ""
        head = widgets.HTML(f"<b>{escape(seeds[0])}{more}</b> into {escape(self.folder)}")
        row = widgets.HBox(list(self.buttons.values()))
        self.view = widgets.VBox([head, row, self._bar, self._status, self._details])

    def _click(self, name: str, _button: object) -> None:
        getattr(self._task, name)()

    def _draw(self) -> None:
        """Show the state of this moment; called from any thread."""
        with self._drawing:
            task = self._task
            actions = _ACTIONS[task.state]
            for name, button in self.buttons.items():
                button.disabled = name not in actions
            self._status.value = f'<span role="status">{escape(self.text, longest=None)}</span>'
            self._note_numbers()
            self._draw_bar()
            running = task.state in BUSY or task.state == "paused"
            self._details.value = self._live_html() if running else self._summary_html()

    def _draw_bar(self) -> None:
        numbers = self._task.numbers
        if numbers:
            most = self._task.max_pages or numbers["known_urls"]
            most = min(most, numbers["pages"] + numbers["pending"] + numbers["leased"])
            self._bar.max = max(1, most)
            self._bar.value = min(numbers["pages"], self._bar.max)

    def _note_numbers(self) -> None:
        """Keep the numbers for the curves and rates."""
        numbers = self._task.numbers
        if not numbers:
            return
        now, pages = time.monotonic(), numbers["pages"]
        self._recent.append((now, pages, numbers["new_urls"]))
        while len(self._recent) > 2 and self._recent[0][0] < now - _RATE_SECONDS:
            self._recent.popleft()
        for name, key in (("known URLs", "known_urls"), ("frontier", "pending")):
            curve = self._curves.setdefault(name, [])
            if not curve or curve[-1][0] != pages:
                curve.append((pages, numbers[key]))
            if len(curve) > _POINTS:
                del curve[1::2]

    def _live_html(self) -> str:
        numbers = self._task.numbers
        if not numbers:
            return ""
        (began, first, found), (now, last, now_found) = self._recent[0], self._recent[-1]
        seconds, pages = now - began, last - first
        facts = [
            ("pages", format_number(numbers["pages"])),
            ("pages per second", f"{pages / seconds:.1f}" if seconds > 0 else "-"),
            ("new URLs per page", f"{(now_found - found) / pages:.2f}" if pages else "-"),
            ("pending", format_number(numbers["pending"])),
            ("in flight", format_number(numbers["leased"])),
            ("known URLs", format_number(numbers["known_urls"])),
            ("requests", format_number(numbers["requests"])),
            ("asked again later", format_number(numbers["retries"])),
            ("bytes on the wire", format_bytes(numbers["bytes"])),
        ]
        if self._task.last_page is not None:
            url, title = self._task.last_page
            facts.append(("last page", f"{plain_text(title)} - {plain_text(url)}"))
        sketch = curves_svg(self._curves)
        caption = "Known URLs (line) and frontier (dashes) against pages"
        return f"{facts_html('Live', facts)}<p>{escape(caption)}</p>{sketch}"

    def _summary_html(self) -> str:
        """Show how the crawl in the folder stands while none is running; "" where there is none."""
        try:
            return crawl_html(open_crawl(self._task.folder).summary())
        except CrawlkitError:
            return ""
