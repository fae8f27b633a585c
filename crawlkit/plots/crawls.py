"""Pictures of a crawl: its frontier, and what came of its pages."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.plots.style import OKABE_ITO, axes_or_new, safe_label, table_of
from crawlkit.reprs import format_number, is_null

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["plot_frontier", "plot_status"]

# Class of status: color and hatch.
_STATUS_STYLES: dict[str, tuple[str, str]] = {
    "2xx": (OKABE_ITO["bluish green"], ""),
    "3xx": (OKABE_ITO["sky blue"], "//"),
    "4xx": (OKABE_ITO["orange"], "xx"),
    "5xx": (OKABE_ITO["vermilion"], "\\\\"),
    "no answer": (OKABE_ITO["reddish purple"], ".."),
    "other": (OKABE_ITO["yellow"], "++"),
}
# -- frontier ------------------------------------------------------------------------------


def plot_frontier(crawl_or_fetches: Any, *, ax: Axes | None = None) -> Axes:
    """Plot how many URLs were waiting, and how many were known, as pages were fetched.

    On a finite site both curves bend: known URLs level off, and the frontier runs empty. A
    frontier that keeps growing in step with the pages points to a trap, or to a site much larger
    than the crawl.

    Parameters
    ----------
    crawl_or_fetches
        A crawl, or its table ``fetches``: ``frontier_size`` and ``known_urls`` after each
        request, in the order of ``seq`` where that is there. Where ``new_urls`` is there, rows
        without it are no pages (robots.txt, and tries that were repeated).
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Axes
        Two lines, labeled at their ends; x is in pages fetched, y in URLs.

    Raises
    ------
    BadSetting
        What was passed is no crawl, or lacks a column.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> matplotlib.use("Agg")
    >>> fetches = pd.DataFrame({"frontier_size": [2, 1, 0], "known_urls": [3, 3, 3]})
    >>> plot_frontier(fetches).get_title()
    'Frontier empty after 3 pages: all 3 known URLs settled'
    """
    needed = ("frontier_size", "known_urls")
    fetches = table_of(crawl_or_fetches, "fetches", "crawl_or_fetches", needed)
    if "seq" in fetches.columns:
        fetches = fetches.sort_values("seq", kind="stable")
    if "new_urls" in fetches.columns:
        fetches = fetches[fetches["new_urls"].notna()]
    fetches = fetches[fetches["frontier_size"].notna() & fetches["known_urls"].notna()]
    waiting = [int(size) for size in fetches["frontier_size"]]
    known = [int(count) for count in fetches["known_urls"]]

    ax = axes_or_new(ax, 7, 4)
    ax.set_title(_frontier_title(waiting, known))
    ax.set_xlabel("pages fetched")
    ax.set_ylabel("URLs")
    pages = range(1, len(waiting) + 1)
    every = max(1, len(waiting) // 8)
    lines = (
        ("known URLs", known, OKABE_ITO["blue"], "--", "o", "bottom"),
        ("frontier", waiting, OKABE_ITO["vermilion"], "-", "s", "top"),
    )
    for label, values, color, style, marker, side in lines:
        ax.plot(
            pages, values, color=color, linestyle=style, marker=marker, markevery=every,
            markersize=4, label=label,
        )  # fmt: skip
        if waiting:
            ax.annotate(
                f"{label}: {format_number(values[-1])}", (len(waiting), values[-1]),
                xytext=(5, 0), textcoords="offset points", color=color, va=side,
            )  # fmt: skip
    if waiting:
        # Room at the right for the labels; the larger count stands above, the other below.
        ax.set_xlim(0, max(len(waiting) * 1.35, 2))
        ax.set_ylim(min(0, -0.08 * max(known)), max(*known, *waiting, 1) * 1.1)
    return ax


def _frontier_title(waiting: Sequence[int], known: Sequence[int]) -> str:
    if not waiting:
        return "No page was fetched"
    pages, left, total = len(waiting), waiting[-1], known[-1]
    after = f"after {format_number(pages)} page{'s' if pages != 1 else ''}"
    if not left:
        return f"Frontier empty {after}: all {format_number(total)} known URLs settled"
    most = max(waiting)
    peak = waiting.index(most) + 1
    text = f"{format_number(left)} of {format_number(total)} known URLs wait {after}"
    if peak < pages and left < most:
        text += f" (most: {format_number(most)} at page {format_number(peak)})"
    return text


# -- status --------------------------------------------------------------------------------


def plot_status(crawl_or_pages: Any, *, ax: Axes | None = None, hosts: int = 10) -> Axes:
    """Plot what came of the pages asked for, by class of status and host.

    Parameters
    ----------
    crawl_or_pages
        A crawl, or its table ``pages``: ``host`` and ``status`` (null where there was no answer).
    ax
        Axes to draw on; by default those of a new figure.
    hosts
        Hosts shown, those with most pages first; the others share the last bar.

    Returns
    -------
    Axes
        One horizontal bar per host, stacked by class: 2xx, 3xx, 4xx, 5xx, no answer.

    Raises
    ------
    BadSetting
        What was passed is no crawl, or lacks a column.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> matplotlib.use("Agg")
    >>> pages = pd.DataFrame({"host": ["a.com", "a.com", "b.com"], "status": [200, 404, 200]})
    >>> print(plot_status(pages).get_title())
    2 of 3 pages answered 2xx;
    most others on a.com (1 of 2)
    """
    pages = table_of(crawl_or_pages, "pages", "crawl_or_pages", ("host", "status"))
    if isinstance(hosts, bool) or not isinstance(hosts, int) or hosts < 1:
        raise BadSetting("hosts", f"{hosts!r} is no count", "Pass a whole number above 0.")
    counts = _status_counts(pages)
    names = sorted(counts, key=lambda host: (-sum(counts[host].values()), host))
    bars = [(safe_label(host), counts[host]) for host in names[:hosts]]
    rest = names[hosts:]
    if rest:
        joined = {kind: sum(counts[host][kind] for host in rest) for kind in _STATUS_STYLES}
        bars.append((f"{len(rest)} other host{'s' if len(rest) > 1 else ''}", joined))

    ax = axes_or_new(ax, 8, 1.8 + 0.4 * max(1, len(bars)))
    ax.set_title(_status_title(counts))
    ax.set_xlabel("pages asked for")
    ax.set_ylabel("host")
    _draw_bars(ax, bars)
    return ax


def _status_counts(pages: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Return pages by host and class of status."""
    counts: dict[str, dict[str, int]] = {}
    pairs = Counter(zip(pages["host"].tolist(), pages["status"].tolist(), strict=True))
    for (host, status), count in pairs.items():
        name = "no host" if is_null(host) else str(host)
        kinds = counts.setdefault(name, dict.fromkeys(_STATUS_STYLES, 0))
        kinds[_status_class(status)] += count
    return counts


def _status_class(status: Any) -> str:
    if is_null(status):
        return "no answer"
    try:
        kind = f"{int(status) // 100}xx"
    except (TypeError, ValueError):
        return "other"
    return kind if kind in _STATUS_STYLES else "other"


def _draw_bars(ax: Axes, bars: Sequence[tuple[str, dict[str, int]]]) -> None:
    rows = list(range(len(bars)))
    left = [0] * len(bars)
    for kind, (color, hatch) in _STATUS_STYLES.items():
        widths = [counts[kind] for _, counts in bars]
        if any(widths):
            ax.barh(
                rows, widths, left=left, color=color, hatch=hatch, edgecolor="black",
                linewidth=0.5, label=kind,
            )  # fmt: skip
            left = [before + width for before, width in zip(left, widths, strict=True)]
    for row, total in zip(rows, left, strict=True):
        ax.annotate(
            format_number(total), (total, row), xytext=(4, 0), textcoords="offset points",
            va="center",
        )  # fmt: skip
    ax.set_yticks(rows, [label for label, _ in bars])
    ax.invert_yaxis()  # the host with most pages on top
    if bars:
        ax.set_xlim(0, max(left) * 1.12)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), title="status")


def _status_title(counts: dict[str, dict[str, int]]) -> str:
    totals = {host: sum(kinds.values()) for host, kinds in counts.items()}
    pages = sum(totals.values())
    if not pages:
        return "No page was asked for"
    good = sum(kinds["2xx"] for kinds in counts.values())
    if good == pages:
        on = f" on {len(counts)} host{'s' if len(counts) > 1 else ''}"
        return f"All {format_number(pages)} pages{on} answered 2xx"
    text = f"{format_number(good)} of {format_number(pages)} pages answered 2xx"
    if len(counts) == 1:
        return text
    others = {host: totals[host] - kinds["2xx"] for host, kinds in counts.items()}
    worst = max(sorted(others), key=lambda host: others[host])
    found = f"{format_number(others[worst])} of {format_number(totals[worst])}"
    return f"{text};\nmost others on {safe_label(worst).lstrip()} ({found})"
