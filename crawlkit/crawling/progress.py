"""The progress bar of a crawl: pages, frontier, discovery."""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from typing import TYPE_CHECKING, Any

from crawlkit.reprs import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from crawlkit.crawling.engine import Engine
    from crawlkit.crawling.settings import Settings

__all__ = ["live_numbers", "progress_bar"]


def live_numbers(engine: Engine) -> dict[str, Any]:
    """Return the numbers of a running crawl."""
    frontier, counters = engine.frontier, engine.counters
    return {
        "pages": frontier.pages - frontier.leased,
        "pending": frontier.pending,
        "leased": frontier.leased,
        "known_urls": frontier.known,
        "requests": counters.fetches,
        "new_urls": counters.new_urls,
        "retries": counters.retries,
        "bytes": counters.bytes,
        "traps": [f"{one.kind} {one.region} ({one.status})" for one in frontier.traps.regions],
        "stop_reason": engine.stop_reason,
    }


@contextlib.contextmanager
def progress_bar(
    progress: bool | Callable[[Mapping[str, Any]], None],  # noqa: FBT001 - as in crawl()
    settings: Settings,
    engine: Engine,
) -> Iterator[Callable[[Engine], None] | None]:
    """Give the function to call at each tick: a bar, the caller's own, or none.

    The discovery shown is the number of new URLs per page over the last ten ticks or so.
    """
    if progress is False:
        yield None
        return
    if callable(progress):
        report = progress
        yield lambda running: report(live_numbers(running))
        return
    from tqdm.auto import tqdm

    recent: deque[tuple[int, int]] = deque(maxlen=12)
    start = live_numbers(engine)["pages"]
    with tqdm(total=settings.max_pages, initial=start, unit="page", dynamic_ncols=True) as bar:
        told = len(live_numbers(engine)["traps"])

        def tick(running: Engine) -> None:
            nonlocal told
            now = live_numbers(running)
            for trap in now["traps"][told:]:
                bar.write(f"trap: {plain_text(trap)}", file=sys.stderr)
            told = len(now["traps"])
            recent.append((now["pages"], now["new_urls"]))
            pages = recent[-1][0] - recent[0][0]
            found = recent[-1][1] - recent[0][1]
            rate = f"{found / pages:.2f}" if pages else "-"
            bar.set_postfix_str(f"frontier {now['pending']}, new/page {rate}", refresh=False)
            bar.n = now["pages"]
            bar.refresh()

        yield tick
