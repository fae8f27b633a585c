"""A part of the demonstration: a crawl runs into a trap, is told so, and comes out of it."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from crawlkit.audit.exclude_preview import preview_exclude
from crawlkit.audit.site_size import estimate_size
from crawlkit.audit.traps import find_traps
from crawlkit.crawling.api import crawl
from crawlkit.lab.finite import Finite
from crawlkit.lab.practice import serve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from crawlkit.crawling.crawl_folder import Crawl

__all__ = ["show_trap"]

PICTURE = "discovery.png"
SEED = 6
PAGES, BUDGET = 60, 170
"""Pages of the honest part, and pages after which the crawl is looked at."""


def show_trap(finished: Crawl, folder: Path, say: Callable[[str], None]) -> Path:
    """Crawl a site with a trap, find it, set it aside and go on; return the picture.

    Parameters
    ----------
    finished
        A crawl that came to its end, for comparison.
    folder
        Where the picture goes.
    say
        Takes each line.
    """
    sections = (Finite(pages=PAGES), "searches")
    say(f"\nWill it ever end? A site whose search pages suggest more searches, {BUDGET} pages:")
    with tempfile.TemporaryDirectory() as place, serve(sections, seed=SEED) as site:
        trapped = crawl(
            site.url, place, delay=0, workers=1, max_pages=BUDGET, keep_bodies=False,
            progress=False,
        )  # fmt: skip
        picture = _draw(finished, trapped, folder / PICTURE)
        traps = find_traps(trapped)
        say(f"size of the site: {estimate_size(trapped)}")
        for trap in traps.itertuples():
            say(f"{trap.kind}, {trap.pages} pages and {trap.pending} waiting: {trap.evidence}")
        say(str(preview_exclude(trapped, traps["exclude"].tolist())))
        trapped.exclude(traps["exclude"].tolist())
        trapped.resume(max_pages=10 * BUDGET, progress=False)
        say(f"Set aside and resumed: {trapped.stop_reason} after {len(trapped.pages)} pages.")
    return picture


def _draw(finished: Crawl, trapped: Crawl, path: Path) -> Path:
    from matplotlib.figure import Figure

    from crawlkit.plots.discovery import plot_discovery

    figure = Figure(figsize=(14, 4.4), layout="constrained")
    axes = figure.subplots(1, 2)
    plot_discovery(finished, ax=axes[0])
    plot_discovery(trapped, traps=find_traps(trapped), ax=axes[1])
    figure.savefig(path, dpi=110)
    return path
