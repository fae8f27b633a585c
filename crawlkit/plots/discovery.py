"""The picture of discovery: new URLs per page by section, and the frontier beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.plots.rates import check_window, page_rows, rolling_rate, section_of
from crawlkit.plots.style import OKABE_ITO, new_axes, safe_label
from crawlkit.reprs import format_number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    Array = npt.NDArray[np.float64]

__all__ = ["plot_discovery"]

# Color and hatch of the sections that make most URLs; the others are gray, and one that keeps the
# rate up to the end has a color that no other section has in any picture.
_ALARM = (OKABE_ITO["vermilion"], "")
_STYLES = (
    (OKABE_ITO["sky blue"], "//"),
    (OKABE_ITO["bluish green"], ".."),
    (OKABE_ITO["yellow"], "xx"),
    (OKABE_ITO["reddish purple"], "++"),
)
_REST = ("#BBBBBB", "")
_LOW, _HIGH = 0.1, 0.3
"""New URLs per page below which a crawl comes to an end, and above which none is in sight."""
_FEWEST = 30
"""Pages before which nothing is said."""
_SETTLED = 0.5
"""Share of the known URLs that is fetched, below which a low rate is no end: most were not seen."""


def plot_discovery(
    crawl_or_fetches: Any, *, ax: Axes | None = None, window: int = 100, sections: int = 3
) -> Axes:
    """Plot new URLs per fetched page along the crawl, by section, with the frontier beside it.

    The height of the stack is the discovery rate: on a finite site it falls to zero, and the
    frontier (dashed, right axis) with it. A trap is a color that stays to the end.

    Parameters
    ----------
    crawl_or_fetches
        A crawl, or its table ``fetches``: ``new_urls``, and better ``seq url frontier_size
        known_urls``; or the result of ``ck.discovery_curve``, whose groups are then taken in
        place of sections.
    ax
        Axes to draw on; by default those of a new figure.
    window
        Pages over which the rate is taken, 2 or more; a sixth of the crawl if that is less.
    sections
        Sections with a color of their own, 1 to 4: those that made most URLs lately.

    Returns
    -------
    Axes
        x is in pages fetched, y in new URLs per page; a second y axis has the waiting URLs.

    Raises
    ------
    BadSetting
        What was passed is no crawl, or lacks a column, or an option is out of its range.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> matplotlib.use("Agg")
    >>> fetches = pd.DataFrame({"new_urls": [9] + [0] * 9, "frontier_size": range(9, -1, -1)})
    >>> plot_discovery(fetches).get_title()
    'Finite: after 10 pages nothing is left to fetch'
    """
    rows = page_rows(crawl_or_fetches)
    check_window(window)
    if isinstance(sections, bool) or not isinstance(sections, int):
        raise BadSetting("sections", f"{sections!r} is no count", "Pass a whole number, 1 to 4.")
    new = rows["new_urls"].to_numpy(dtype="float64")
    width = max(2, min(window, len(new) // 6))
    groups = _groups(rows)
    names = _culprits(new, groups, max(1, min(sections, len(_STYLES))))
    ax = new_axes(8, 4.2) if ax is None else ax
    ax.set_xlabel("pages fetched")
    ax.set_ylabel("new URLs per page")
    rate, low, high = rolling_rate(new, width)
    endless = _is_endless(rows, rate)
    ax.set_title(_title(rows, new, rate, names, groups))
    if len(new):
        styles = [_ALARM, *_STYLES] if endless else list(_STYLES)
        _draw_stack(ax, new, groups, names, window=width, styles=styles)
        pages = range(1, len(new) + 1)
        ax.plot(pages, rate, color="black", linewidth=0.9)
        ax.fill_between(pages, low, high, color="black", alpha=0.15, linewidth=0, label="95 % band")
        ax.set_xlim(0, len(new) * 1.02)
        ax.set_ylim(0, _top(rate))
        _draw_frontier(ax, rows)
        ax.legend(loc="upper right", fontsize="small", framealpha=0.9)
    return ax


def _groups(rows: pd.DataFrame) -> list[str]:
    if "group" in rows.columns and rows["group"].notna().any():
        return ["none" if group != group else str(group) for group in rows["group"]]  # noqa: PLR0124 - NaN
    if "url" not in rows.columns:
        return ["all pages"] * len(rows)
    return [section_of(url) for url in rows["url"].tolist()]


def _culprits(new: Array, groups: list[str], most: int) -> list[str]:
    """Return the groups that made most URLs; those of the last third count three times."""
    counts: dict[str, float] = {}
    third = len(new) * 2 // 3
    for at, (group, count) in enumerate(zip(groups, new.tolist(), strict=True)):
        counts[group] = counts.get(group, 0.0) + count * (3 if at >= third else 1)
    return sorted(counts, key=lambda group: (-counts[group], group))[:most]


def _top(rate: Array) -> float:
    """Return the end of the y axis: the first pages, all of whose links are new, may exceed it."""
    import numpy as np

    settled = rate[len(rate) // 20 :]
    return max(0.2, float(np.quantile(settled, 0.98)) * 1.35)


def _left(rows: pd.DataFrame) -> int | None:
    """Return how many URLs wait at the end, or None where that is not known."""
    waits = rows["frontier_size"] if "frontier_size" in rows.columns else None
    return None if waits is None or not len(waits) or waits.isna().iloc[-1] else int(waits.iloc[-1])


def _is_endless(rows: pd.DataFrame, rate: Array) -> bool:
    """Tell whether the rate is up at the end, and not under what it was halfway."""
    if len(rate) < _FEWEST or _left(rows) == 0:
        return False
    return float(rate[-1]) >= _HIGH and float(rate[-1]) >= 0.75 * float(rate[len(rate) // 2])


def _draw_stack(
    ax: Axes,
    new: Array,
    groups: list[str],
    names: list[str],
    *,
    window: int,
    styles: list[tuple[str, str]],
) -> None:
    import numpy as np

    keys = np.array([names.index(group) if group in names else len(names) for group in groups])
    base = np.zeros(len(new))
    pages = np.arange(1, len(new) + 1)
    labels = [*names, "other sections"]
    chosen = [*styles[: len(names)], _REST]
    for key, (name, (color, hatch)) in enumerate(zip(labels, chosen, strict=True)):
        if not (keys == key).any():
            continue
        part = rolling_rate(np.where(keys == key, new, 0.0), window)[0]
        ax.fill_between(
            pages, base, base + part, facecolor=color, hatch=hatch, edgecolor="white",
            linewidth=0, label=safe_label(name),
        )  # fmt: skip
        base = base + part


def _draw_frontier(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw the number of waiting URLs on an axis at the right."""
    if "frontier_size" not in rows.columns or not rows["frontier_size"].notna().any():
        return
    waiting = rows["frontier_size"].astype("float64").to_numpy()
    right = ax.twinx()
    right.set_ylabel("frontier: URLs waiting")
    color = OKABE_ITO["blue"]
    right.plot(range(1, len(waiting) + 1), waiting, color=color, linestyle="--", linewidth=1.8)
    right.set_ylim(0, max(1.0, float(waiting[waiting == waiting].max())) * 1.35)  # noqa: PLR0124 - NaN
    right.tick_params(axis="y", colors=color)
    ax.plot([], [], color=color, linestyle="--", linewidth=1.8, label="frontier (right)")


def _title(rows: pd.DataFrame, new: Array, rate: Array, names: list[str], groups: list[str]) -> str:
    count = len(new)
    if not count:
        return "No page was fetched"
    pages = f"{format_number(count)} page{'s' if count != 1 else ''}"
    left = _left(rows)
    if left == 0:
        return f"Finite: after {pages} nothing is left to fetch"
    last = float(rate[-1])
    if count < _FEWEST:
        return f"{last:.1f} new URLs per page after {pages}: too early to tell"
    if _is_endless(rows, rate):
        late = count * 2 // 3
        total = float(new[late:].sum())
        own = sum(
            value for value, group in zip(new[late:], groups[late:], strict=True)
            if group == names[0]
        )  # fmt: skip
        share = f"{own / total:.0%}".replace("%", " %") if total else "0 %"
        where = f"\n{share} of them on pages of {safe_label(names[0])}"
        return f"No end in sight: {last:.1f} new URLs per page after {pages}{where}"
    return _falling_title(f"{last:.2g} new URLs per page after {pages}", last, count, left)


def _falling_title(text: str, last: float, count: int, left: int | None) -> str:
    """Say how far a crawl is whose rate does not stay up."""
    low = last < _LOW
    if left is None:
        return f"{'Coming to an end' if low else 'Not settled'}: {text}"
    done = count / (count + left / (1 - last)) if low else 0.0
    if done < _SETTLED:
        return f"Not settled: {text}, {format_number(left)} waiting"
    share = f"{done:.0%}".replace("%", " %")
    return f"Coming to an end, about {share} done: {text}"
