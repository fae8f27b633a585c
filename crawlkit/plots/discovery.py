"""The picture of discovery: new URLs per page by section, and the frontier beside it.

A curve that stays up is no trap: a finite site looks like that for its first half. So the color of
alarm is for the pages of traps that `find_traps` named. Without them it is for a curve of which an
end is very unlikely, by four conditions at once (`_is_endless`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.plots.discovery_traps import trap_rows
from crawlkit.plots.rates import check_window, page_rows, rolling_rate, section_of
from crawlkit.plots.style import OKABE_ITO, axes_or_new, safe_label
from crawlkit.reprs import format_number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    from crawlkit.plots.discovery_traps import TrapRows

    Array = npt.NDArray[np.float64]

__all__ = ["plot_discovery"]

# Color and hatch of the sections that make most URLs; the others are gray, and traps, or a section
# without an end in sight, have a color that no other section has in any picture.
_ALARM = OKABE_ITO["vermilion"]
_ALARM_HATCHES = ("", "xx", "..", "//")
_STYLES = (
    (OKABE_ITO["sky blue"], "//"),
    (OKABE_ITO["bluish green"], ".."),
    (OKABE_ITO["yellow"], "xx"),
    (OKABE_ITO["reddish purple"], "++"),
)
_REST = ("#BBBBBB", "")
_LOW, _HIGH = 0.1, 1.0
"""New URLs per page below which a crawl comes to an end, and from which none may be in sight."""
_FEWEST = 30
"""Pages before which nothing is said."""
_MANY = 500
"""Pages before which a curve alone gives no alarm, as in the test "space" of `find_traps`."""
_FALLING = -1.28
"""Score below which the rate falls: 10 %, one-sided."""
_SETTLED = 0.5
"""Share of the known URLs that is fetched, below which a low rate is no end: most were not seen."""


def plot_discovery(
    crawl_or_fetches: Any,
    *,
    traps: pd.DataFrame | None = None,
    ax: Axes | None = None,
    window: int = 100,
    sections: int = 3,
) -> Axes:
    """Plot new URLs per fetched page along the crawl, by section, with the frontier beside it.

    The height of the stack is the discovery rate: on a finite site it falls to zero, and the
    frontier (dashed, right axis) with it. A curve alone cannot tell a trap from a large site of
    which little is fetched: pass ``traps=ck.find_traps(crawl)``, and the pages of traps are red.

    Without ``traps``, red and "No end in sight" are for a curve of 500 pages or more, at one new
    URL per page or more, that falls neither over its last half nor over its last three quarters
    (correlation r of count and position of n pages: r sqrt(n - 1) > -1.28, 10 % one-sided), while
    the frontier grows and the section that makes most URLs makes one or more on each of its pages.

    Parameters
    ----------
    crawl_or_fetches
        A crawl, or its table ``fetches``: ``new_urls``, and better ``seq url frontier_size
        known_urls``; or the result of ``ck.discovery_curve``, whose groups are then taken in
        place of sections.
    traps
        What ``ck.find_traps`` returned for the same crawl, or some of its rows. Each trap is red,
        with its name in the legend and marks at the bottom where its pages were fetched, and the
        title has their share of the last third of the pages. Nothing else is red then.
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
    >>> plot_discovery(fetches).get_title().partition(chr(10))[0]
    'Finite, 100 % done'
    """
    rows = page_rows(crawl_or_fetches)
    check_window(window)
    if isinstance(sections, bool) or not isinstance(sections, int):
        raise BadSetting("sections", f"{sections!r} is no count", "Pass a whole number, 1 to 4.")
    new = rows["new_urls"].to_numpy(dtype="float64")
    width = max(2, min(window, len(new) // 6))
    groups = _groups(rows)
    found = None if traps is None else trap_rows(rows, traps)
    free: list[str | None] = [*groups] if found is None else found.outside(groups)
    names = _culprits(new, free, max(1, min(sections, len(_STYLES))))
    ax = axes_or_new(ax, 8, 4.2)
    ax.set_xlabel("pages fetched")
    ax.set_ylabel("new URLs per page")
    rate, low, high = rolling_rate(new, width)
    endless = found is None and _is_endless(rows, new, rate, names, groups)
    calm = _calm_title(rows, new, rate)
    if found is not None:
        ax.set_title(found.title(calm))
    else:
        ax.set_title(_alarm_title(new, rate, names[0], groups) if endless else calm)
    if len(new):
        styles = [(_ALARM, ""), *_STYLES] if endless else list(_STYLES)
        layers = _layers(found, free, names, styles)
        _draw_stack(ax, new, layers, window=width)
        if found is not None:
            found.mark_pages(ax, _ALARM)
        pages = range(1, len(new) + 1)
        ax.plot(pages, rate, color="black", linewidth=0.9)
        ax.fill_between(pages, low, high, color="black", alpha=0.15, linewidth=0, label="95 % band")
        ax.set_xlim(0, len(new) * 1.02)
        ax.set_ylim(0, _top(rate))
        _draw_frontier(ax, rows)
        # Below the picture: inside, it would hide a curve somewhere.
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, fontsize="small",
            frameon=False,
        )  # fmt: skip
    return ax


def _layers(
    found: TrapRows | None,
    free: list[str | None],
    names: list[str],
    styles: list[tuple[str, str]],
) -> list[tuple[str, str, str, list[bool]]]:
    """Return label, color, hatch and rows of what is stacked, the lowest first."""
    layers = []
    for at, (label, mine) in enumerate(() if found is None else found.layers(len(_ALARM_HATCHES))):
        layers.append((label, _ALARM, _ALARM_HATCHES[at], mine))
    for name, (color, hatch) in zip(names, styles, strict=False):
        layers.append((safe_label(name), color, hatch, [group == name for group in free]))
    chosen = set(names)
    rest = [group is not None and group not in chosen for group in free]
    return [*layers, ("other sections", *_REST, rest)]


def _groups(rows: pd.DataFrame) -> list[str]:
    if "group" in rows.columns and rows["group"].notna().any():
        return ["none" if group != group else str(group) for group in rows["group"]]  # noqa: PLR0124 - NaN
    if "url" not in rows.columns:
        return ["all pages"] * len(rows)
    return [section_of(url) for url in rows["url"].tolist()]


def _culprits(new: Array, groups: list[str | None], most: int) -> list[str]:
    """Return the groups that made most URLs; those of the last third count three times."""
    counts: dict[str, float] = {}
    third = len(new) * 2 // 3
    for at, (group, count) in enumerate(zip(groups, new.tolist(), strict=True)):
        if group is not None:
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


def _falls(new: Array) -> bool:
    """Tell whether counts fall along their order: Pitman's test of correlation, 10 %, one-sided."""
    import numpy as np

    if len(new) < 3 or new.min() == new.max():
        return False
    score = np.corrcoef(np.arange(len(new)), new)[0, 1] * (len(new) - 1) ** 0.5
    return bool(score < _FALLING)


def _is_endless(
    rows: pd.DataFrame, new: Array, rate: Array, names: list[str], groups: list[str]
) -> bool:
    """Tell whether an end is very unlikely, as far as a curve can tell."""
    half = len(new) // 2
    if len(new) < _MANY or rate[-1] < _HIGH or "frontier_size" not in rows.columns:
        return False
    # The first quarter falls everywhere: all links of the first pages are new.
    if _falls(new[half // 2 :]) or _falls(new[half:]):
        return False
    waiting = rows["frontier_size"]
    if waiting.iloc[[half, -1]].isna().any() or waiting.iloc[-1] <= waiting.iloc[half]:
        return False
    own = [
        count
        for count, group in zip(new[half:].tolist(), groups[half:], strict=True)
        if group == names[0]
    ]
    return bool(own) and sum(own) >= _HIGH * len(own)


def _draw_stack(
    ax: Axes, new: Array, layers: list[tuple[str, str, str, list[bool]]], *, window: int
) -> None:
    import numpy as np

    base = np.zeros(len(new))
    pages = np.arange(1, len(new) + 1)
    for label, color, hatch, mine in layers:
        if not any(mine):
            continue
        part = rolling_rate(np.where(mine, new, 0.0), window)[0]
        ax.fill_between(
            pages, base, base + part, facecolor=color, hatch=hatch, edgecolor="white",
            linewidth=0, label=label,
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


def _alarm_title(new: Array, rate: Array, name: str, groups: list[str]) -> str:
    late = len(new) * 2 // 3
    total = float(new[late:].sum())
    own = sum(
        value for value, group in zip(new[late:], groups[late:], strict=True) if group == name
    )
    share = _percent(own / total) if total else "0 %"
    return (
        f"No end in sight: {float(rate[-1]):.1f} new URLs per page after "
        f"{format_number(len(new))} pages\n{share} of them on pages of {safe_label(name)}"
    )


def _calm_title(rows: pd.DataFrame, new: Array, rate: Array) -> str:
    """Say how far a crawl is."""
    count, left = len(new), _left(rows)
    if not count:
        return "No page was fetched"
    pages = f"{format_number(count)} page{'s' if count != 1 else ''}"
    if left == 0:
        return f"Finite, 100 % done\nafter {pages} nothing is left to fetch"
    last = float(rate[-1])
    text = f"{last:.2g} new URLs per page after {pages}"
    if count < _FEWEST:
        return f"{text}: too early to tell"
    low = last < _LOW
    if left is None:
        return f"{'Coming to an end' if low else 'Not settled'}: {text}"
    done = count / (count + left / (1 - last)) if low else 0.0
    if done >= _SETTLED:
        return f"Coming to an end, about {_percent(done)} done\n{text}"
    trend = "Falling" if _falls(new[count // 2 :]) else "Not falling yet"
    share = _percent(count / (count + left))
    return f"{'Low for now' if low else trend}, {share} of the known URLs fetched\n{text}"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
