"""A part of the demonstration: ``lastmod`` audited on a site that lies and on an honest one."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from crawlkit.audit.lastmod import LastmodAudit, audit_lastmod
from crawlkit.lab.lastmod_sites import Living
from crawlkit.lab.practice import serve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["show_lastmod"]

PICTURE = "lastmod.png"
# Enough pages for a verdict, both that moved and that did not.
SAMPLE = 80
SEED = 6
DAYS = 14


def show_lastmod(folder: Path, say: Callable[[str], None]) -> Path:
    """Audit two living sites and tell what came of it; return the picture.

    Parameters
    ----------
    folder
        Where the picture goes.
    say
        Takes each line.
    """
    say("\nIs lastmod true? A news site whose sitemap dates every entry to its own making:")
    stamped = _audit(Living(case="news_stamps"), visits=1)[-1]
    say(str(stamped))
    say(f"A magazine that keeps lastmod, audited twice, {DAYS} days apart:")
    first, honest = _audit(Living(case="truthful"), visits=2)
    say(f"{first.verdict} at first, then {honest}")
    return _draw(stamped, honest, folder / PICTURE)


def _audit(living: Living, *, visits: int) -> list[LastmodAudit]:
    """Audit a site several times; its clock moves in between."""
    audits = []
    with serve([living], seed=SEED) as site, tempfile.TemporaryDirectory() as history:
        for _ in range(visits):
            audits.append(
                audit_lastmod(site.url, sample=SAMPLE, delay=0, history=history, progress=False)
            )
            living.clock.advance(days=DAYS)
    return audits


def _draw(stamped: LastmodAudit, honest: LastmodAudit, path: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4.6), layout="constrained")
    axes = figure.subplots(1, 3)
    stamped.plot(part="dates", ax=axes[0])
    honest.plot(part="dates", ax=axes[1])
    honest.plot(part="intervals", ax=axes[2])
    for one, name, audit in zip(axes, ("News site", "Magazine"), (stamped, honest), strict=False):
        one.set_title(f"{name}: {audit.verdict}. {one.get_title()}")
    figure.savefig(path, dpi=110)
    return path
