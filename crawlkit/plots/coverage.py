"""The picture of coverage: where the URLs of each section are known from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.plots.style import OKABE_ITO, axes_or_new, safe_label
from crawlkit.reprs import format_number, plain_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["plot_coverage"]

# Finding: label, color, hatch.
_STYLES: dict[str, tuple[str, str, str]] = {
    "listed_and_linked": ("in sitemap and links", OKABE_ITO["bluish green"], ""),
    "orphan": ("in sitemap only", OKABE_ITO["vermilion"], "xx"),
    "unlisted": ("in links only", OKABE_ITO["sky blue"], "//"),
    "archive_only": ("in archive only", OKABE_ITO["reddish purple"], ".."),
    "seed_only": ("given as seed only", OKABE_ITO["yellow"], "++"),
}


_THINNEST = 0.015
"""The least width of a part of a bar, as a share of the longest bar."""


def plot_coverage(coverage: Any, *, ax: Axes | None = None, sections: int = 12) -> Axes:
    """Plot where the URLs of each section are known from.

    Parameters
    ----------
    coverage
        What `compare_coverage` returned, or its table ``sections``.
    ax
        Axes to draw on; by default those of a new figure.
    sections
        Sections shown, the largest first; the others share the last bar.

    Returns
    -------
    Axes
        One horizontal bar per section, stacked: in sitemap and links, in the sitemap only
        (orphans), in links only (unlisted), in the archive only. No part is thinner than 1.5 % of
        the longest bar. The bar's end says how many of
        its URLs were fetched.

    Raises
    ------
    BadSetting
        What was passed is no coverage.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import crawlkit as ck
    >>> crawl = ck.lab.walk(["shop"])
    >>> listed = [*crawl.urls["url"], "http://lab.example/shop/forgotten"]
    >>> plot_coverage(ck.compare_coverage(crawl, listed)).get_title()
    '527 URLs: 1 in the sitemap that no page links to'
    """
    frame = _sections_of(coverage)
    if isinstance(sections, bool) or not isinstance(sections, int) or sections < 1:
        raise BadSetting("sections", f"{sections!r} is no count", "Pass a whole number above 0.")
    names = ["urls", "fetched", *_STYLES]
    rows = [
        (safe_label(section), dict(zip(names, map(int, counts), strict=True)))
        for section, *counts in frame[["section", *names]].itertuples(index=False, name=None)
    ]
    if len(rows) > sections:
        rest = rows[sections:]
        joined = {name: sum(counts[name] for _, counts in rest) for name in names}
        rows = [*rows[:sections], (f"{len(rest)} other section{'s' * (len(rest) > 1)}", joined)]
    ax = axes_or_new(ax, 8, 1.8 + 0.4 * max(1, len(rows)))
    ax.set_title(_title(frame))
    ax.set_xlabel("URLs")
    ax.set_ylabel("section")
    _draw(ax, rows)
    return ax


def _sections_of(coverage: Any) -> pd.DataFrame:
    import pandas as pd

    is_frame = isinstance(coverage, pd.DataFrame)
    frame = coverage if is_frame else getattr(coverage, "sections", None)
    needed = {"section", "urls", "fetched", *_STYLES}
    if not isinstance(frame, pd.DataFrame) or not needed <= set(frame.columns):
        shown = plain_text(type(coverage).__name__)
        raise BadSetting("coverage", f"{shown} is none", "Pass what ck.compare_coverage returned.")
    return frame


def _draw(ax: Axes, rows: list[tuple[str, dict[str, int]]]) -> None:
    places = list(range(len(rows)))
    left = [0.0] * len(rows)
    thinnest = _THINNEST * max((counts["urls"] for _, counts in rows), default=0)
    for name, (label, color, hatch) in _STYLES.items():
        # One orphan among thousands must be seen, too.
        widths = [max(counts[name], thinnest) if counts[name] else 0.0 for _, counts in rows]
        if any(widths):
            ax.barh(
                places, widths, left=left, color=color, hatch=hatch, edgecolor="black",
                linewidth=0.5, label=label,
            )  # fmt: skip
            left = [before + width for before, width in zip(left, widths, strict=True)]
    for place, (_, counts) in zip(places, rows, strict=True):
        fetched, total = counts["fetched"], counts["urls"]
        part = "all" if fetched == total else format_number(fetched)
        ax.annotate(
            f"{format_number(total)}, {part} fetched", (left[place], place), xytext=(4, 0),
            textcoords="offset points", va="center",
        )  # fmt: skip
    ax.set_yticks(places, [label for label, _ in rows])
    ax.invert_yaxis()  # the largest section on top
    if rows:
        ax.set_xlim(0, max(left) * 1.6)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), title="known from")


def _title(frame: pd.DataFrame) -> str:
    total = int(frame["urls"].sum())
    if not total:
        return "No URL is known"
    text = f"{format_number(total)} URLs"
    orphans, unlisted = int(frame["orphan"].sum()), int(frame["unlisted"].sum())
    vanished = int(frame["archive_only"].sum())
    if orphans:
        text += f": {format_number(orphans)} in the sitemap that no page links to"
    elif unlisted:
        text += f": {format_number(unlisted)} linked and not in the sitemap"
    elif vanished:
        text += f": {format_number(vanished)} known to the archive alone"
    else:
        text += ", all of them in the sitemap and linked"
    return text
