"""Pictures of crawl orderings: what each gathers how soon, and the way one takes in a graph."""

from __future__ import annotations

from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

from crawlkit.plots.label_places import place_labels, wrapped
from crawlkit.plots.style import OKABE_ITO, axes_or_new, safe_label, table_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["plot_orderings"]

_STYLES = ("-", (0, (5, 1)), "-.", (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2, 2, 2)))
_COLORS = ("vermilion", "blue", "bluish green", "orange", "reddish purple", "sky blue")
# What the other curves are compared with: color, style and width.
_REFERENCES: dict[str, tuple[str, Any, float]] = {
    "breadth_first": (OKABE_ITO["black"], "-", 2.0),
    "omniscient": ("#555555", "--", 1.5),
    "reachable_bound": ("#888888", ":", 1.5),
}
# An ordering looks the same in every picture, whatever stands beside it.
_PLACES = {
    "opic": 0, "partial_pagerank": 1, "push_pagerank": 2, "larger_sites_first": 3, "inlinks": 4,
    "depth_first": 5, "random": 6, "priority": 7,
}  # fmt: skip
_SPOKEN = {"reachable_bound": "bound"}
_MOST_BANDS = 6  # more of them hide each other


def plot_orderings(comparison: Any, *, ax: Axes | None = None, bands: bool = True) -> Axes:
    """Plot the share of value that orderings gather over the share of pages downloaded.

    Parameters
    ----------
    comparison
        What :func:`~crawlkit.compare_orderings` returns, or its table ``curves``: ``ordering``,
        ``page_share`` and ``value_share``, with ``low`` and ``high`` where known.
    ax
        Axes to draw on; by default those of a new figure.
    bands
        Whether the range of the middle 80 % of the runs is shown, up to six orderings.

    Returns
    -------
    Axes
        A line an ordering, labeled on the line; omniscient is dashed, the bound dotted. Both axes
        are shares of what is reachable, in percent.

    Raises
    ------
    BadSetting
        What was passed is no comparison, or lacks a column.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> matplotlib.use("Agg")
    >>> curves = pd.DataFrame({"ordering": ["breadth_first"] * 3, "page_share": [0, 0.5, 1],
    ...                        "value_share": [0, 0.6, 1]})
    >>> print(plot_orderings(curves).get_title())
    breadth_first has half of the value after 42% of the pages
    """
    from matplotlib.ticker import PercentFormatter

    needed = ("ordering", "page_share", "value_share")
    curves = table_of(comparison, "curves", "comparison", needed)
    ax = axes_or_new(ax, 8, 5)
    lines = _lines(curves)
    ax.set_title(wrapped(ax, _title(lines)), fontsize="medium")
    ax.set_xlabel("pages downloaded, % of the reachable")
    ax.set_ylabel("value gathered, % of the reachable")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    drawn = []
    places = _places(list(lines))
    with_bands = bands and len(lines) <= _MOST_BANDS + len(_REFERENCES)
    for name, line in lines.items():
        if name in _REFERENCES:
            color, style, width = _REFERENCES[name]
        else:
            turn, place = divmod(places[name], len(_COLORS))
            color = OKABE_ITO[_COLORS[place]]
            style, width = _STYLES[(place + turn) % len(_STYLES)], 1.5
        ax.plot(line["x"], line["y"], color=color, linestyle=style, linewidth=width, label=name)
        if with_bands and name not in ("omniscient", "reachable_bound") and "low" in line:
            ax.fill_between(line["x"], line["low"], line["high"], color=color, alpha=0.12, lw=0)
        drawn.append((safe_label(_SPOKEN.get(name, name)), color, line["x"], line["y"]))
    place_labels(ax, drawn)
    return ax


def _places(names: list[str]) -> dict[str, int]:
    """Return the color and style of each curve: the usual orderings theirs, others a free one."""
    places = {name: _PLACES[name] for name in names if name in _PLACES}
    free = (number for number in count() if number not in set(places.values()))
    others = [name for name in names if name not in _PLACES and name not in _REFERENCES]
    return {**places, **dict(zip(others, free, strict=False))}


def _lines(curves: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    """Return the points of each curve by the ordering's name; what is unknown is left out."""
    lines = {}
    for name, rows in curves.groupby("ordering", sort=False):
        known = rows[rows["page_share"].notna() & rows["value_share"].notna()]
        line = {"x": known["page_share"].tolist(), "y": known["value_share"].tolist()}
        if {"low", "high"} <= set(known.columns) and (known["low"] < known["high"]).any():
            line |= {"low": known["low"].tolist(), "high": known["high"].tolist()}
        if line["x"]:
            lines[str(name)] = line
    return lines


def _pages_for_half(line: dict[str, list[float]]) -> float | None:
    """Return where a curve crosses one half."""
    points = list(zip(line["x"], line["y"], strict=True))
    for (x, y), (next_x, next_y) in pairwise(points):
        if y < 0.5 <= next_y:
            return x + (next_x - x) * (0.5 - y) / (next_y - y)
    return None


def _title(lines: dict[str, dict[str, list[float]]]) -> str:
    if not lines:
        return "Nothing to compare"
    halves = {name: _pages_for_half(line) for name, line in lines.items()}
    reached = {name: half for name, half in halves.items() if half is not None}
    rivals = [name for name in reached if name not in _REFERENCES]
    base = reached.get("breadth_first")
    best = min(rivals, key=lambda name: reached[name], default=None)
    if best is None or (base is not None and base < reached[best]):
        best = "breadth_first" if base is not None else next(iter(reached), None)
    if best is None:
        return "No ordering has half of the value"
    told = {name: f"{reached[name]:.0%}" for name in reached}
    if best != "breadth_first" and told.get("breadth_first") == told[best]:
        told = {name: f"{reached[name]:.1%}" for name in reached}
    text = f"{safe_label(best).lstrip()} has half of the value after {told[best]} of the pages"
    if best != "breadth_first" and base is not None:
        text += f"; breadth_first needs {told['breadth_first']}"
    if "omniscient" in reached and len(lines) > 1:
        text += f", omniscient {told['omniscient']}"
    return text
