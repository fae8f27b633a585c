"""The demonstration: a practice site, a crawl that is killed and resumes, tables and pictures.

Nothing leaves this machine. It shows what the rest of crawlkit promises: the crawl's process is
killed without warning, and yet each page and each record is there once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.api import open_crawl
from crawlkit.crawling.session import saved_settings
from crawlkit.crawling.settings import check_folder
from crawlkit.errors import CrawlkitError
from crawlkit.lab.lastmod_demo import show_lastmod
from crawlkit.lab.practice import PracticeSite, serve
from crawlkit.lab.trap_demo import show_trap
from crawlkit.order.comparison import compare_orderings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from crawlkit.crawling.crawl_folder import Crawl
    from crawlkit.order.comparison import Comparison

__all__ = ["run_demo"]

SECTIONS = ("shop", "redirects", "broken", "canonical")
# Long enough for the kills to hit a crawl at work, short enough to watch.
LATENCY = 0.02
WORKERS = 4
KILLS = 2
SECONDS_TO_KILL = 0.8
ORDERINGS_SHOWN = ("depth_first", "opic", "push_pagerank")
RUNS = 5  # seed pages of the comparison

CHILD = """
import json, sys
import crawlkit as ck
options = json.loads(sys.argv[1])
ck.crawl(
    options["seeds"], options["folder"], delay=0, workers=options["workers"], max_pages=2_000,
    extract=ck.lab.extract_product, progress=False,
)
"""


def run_demo(folder: str | Path, *, quiet: bool = False) -> Crawl:
    """Run the demonstration into a folder, which must be new, empty or of an earlier one.

    Parameters
    ----------
    folder
        Where the crawl goes: Parquet tables, raw responses, pictures.
    quiet
        Whether to print nothing.

    Raises
    ------
    CrawlkitError
        The folder holds something else, or the crawl could not be brought to its end.
    """
    path = check_folder(folder)
    if saved_settings(path) is not None:
        path = _next_free(path)
    say = _say_nothing if quiet else _say
    with serve(SECTIONS, latency=LATENCY, process=True) as site:
        say(f"A practice site is up at {site.url} (this machine only).")
        for number in range(1, KILLS + 1):
            killed_with = _crawl_and_kill(site, path)
            say(f"Kill {number}: SIGKILL with {killed_with['pages']} pages asked for, "
                f"{killed_with['urls']['pending']} waiting. Run again ...")  # fmt: skip
        _crawl_to_the_end(site, path)
        crawl = open_crawl(path)
        _tell(crawl, site, say)
    comparison = _compare(crawl, say)
    pictures = _draw(crawl, comparison, path)
    pictures.append(show_trap(crawl, path, say))
    pictures.append(show_lastmod(path, say))
    say(f"\nEverything is in {path.resolve()}:")
    for part in ("pages", "links", "fetches", "urls", "records"):
        say(f"  {part + '/':10} Parquet, one table")
    say("  crawl.sqlite  the frontier and the raw responses")
    for picture in pictures:
        say(f"  {picture.name}")
    say(f"\nOpen it in Python:  import crawlkit as ck; crawl = ck.open_crawl({str(path)!r})")
    say("Crawl a site of yours:  crawlkit crawl https://example.com/ -o example")
    return crawl


def _say_nothing(_: str) -> None:
    """Keep quiet."""


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _next_free(path: Path) -> Path:
    """Return a folder beside an earlier demonstration: nothing of a person's is overwritten."""
    for number in range(2, 1_000):
        candidate = path.with_name(f"{path.name}-{number}")
        if not candidate.exists():
            return candidate
    raise CrawlkitError(f"{path} and a thousand beside it are taken. Pass another folder.")


def _start(site: PracticeSite, path: Path) -> subprocess.Popen[bytes]:
    options = {"seeds": site.seeds, "folder": str(path), "workers": WORKERS}
    return subprocess.Popen([sys.executable, "-c", CHILD, json.dumps(options)])  # noqa: S603


def _crawl_and_kill(site: PracticeSite, path: Path) -> dict[str, Any]:
    asked = len(site.requests)
    child = _start(site, path)
    give_up = time.monotonic() + 30
    while len(site.requests) <= asked and child.poll() is None and time.monotonic() < give_up:
        time.sleep(0.02)
    time.sleep(SECONDS_TO_KILL)
    if hasattr(signal, "SIGKILL"):
        os.kill(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()
    return open_crawl(path).summary()


def _crawl_to_the_end(site: PracticeSite, path: Path) -> None:
    if _start(site, path).wait() != 0:
        raise CrawlkitError(f"the crawl in {path} ended with an error; its message is above.")


def _tell(crawl: Crawl, site: PracticeSite, say: Callable[[str], None]) -> None:
    summary = crawl.summary()
    pages, records = crawl.pages, crawl.records
    again = site.repeats()
    say(
        f"\n{summary['stop_reason']}: {len(pages)} pages ({pages['url'].nunique()} different), "
        f"{len(records)} records ({records['record_id'].nunique()} different), "
        f"{len(site.requests)} requests: {again} repeated, {summary['retries']} of them because a "
        f"page failed, the others because a kill hit them in flight."
    )
    say("\ncrawl.pages, first rows")
    say(pages[["url", "status", "depth", "title", "links_found", "new_urls"]].head(5).to_string())
    say("\ncrawl.links, first rows")
    say(crawl.links[["source", "position", "target", "region", "text"]].head(5).to_string())
    say("\ncrawl.records, first rows")
    say(records[["id", "name", "price", "last_changed"]].head(5).to_string())
    say("\nresults by status")
    say(pages["status"].value_counts().to_string(header=False))


def _compare(crawl: Crawl, say: Callable[[str], None]) -> Comparison:
    """Replay orderings on the graph that the crawl has found."""
    comparison = compare_orderings(
        crawl, ORDERINGS_SHOWN, runs=RUNS, tau_at=0.05, processes=1, progress=False
    )
    table = comparison.table[["ordering", "auc", "auc_gain", "wins", "half"]]
    pages = len(crawl.urls)
    say(f"\nwhich order had been best? Replays on this graph of {pages} pages, from {RUNS} pages:")
    say(table.round(3).to_string(index=False, na_rep="-"))
    say("(auc: area under the value, as PageRank, over the pages; auc_gain and wins: against")
    say("breadth_first from the same page; half: share of the pages for half of the value)")
    return comparison


def _draw(crawl: Crawl, comparison: Comparison, path: Path) -> list[Path]:
    from matplotlib.figure import Figure

    from crawlkit.plots.crawls import plot_frontier, plot_status
    from crawlkit.plots.orderings import plot_orderings

    drawn: list[Path] = []
    plots: tuple[tuple[str, Any, Any], ...] = (
        ("frontier.png", plot_frontier, crawl),
        ("status.png", plot_status, crawl),
        ("orderings.png", plot_orderings, comparison),
    )
    for name, plot, what in plots:
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        plot(what, ax=figure.subplots())
        figure.savefig(path / name, dpi=120)
        drawn.append(path / name)
    return drawn
