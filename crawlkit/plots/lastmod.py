"""Pictures of an audit of lastmod: dates, agreement with pages, what was seen over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.plots.style import OKABE_ITO, axes_or_new, safe_label
from crawlkit.reprs import format_number, is_null, plain_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["LASTMOD_PARTS", "plot_lastmod"]

LASTMOD_PARTS = ("dates", "agreement", "intervals")
"""The three pictures, in the order in which they are drawn together."""

_NEEDED = ("spread", "sample", "scorecard", "lastmods", "thresholds", "verdict", "reasons")
# Agreement: color and marker.
_AGREEMENT = {
    "agrees": (OKABE_ITO["blue"], "o"),
    "older": (OKABE_ITO["vermilion"], "v"),
    "newer": (OKABE_ITO["orange"], "^"),
}
_WINDOWS = (("densest_60s", "minute"), ("densest_1h", "hour"), ("densest_1d", "day"))


def plot_lastmod(audit: Any, *, part: str | None = None, ax: Axes | None = None) -> Axes:
    """Plot what an audit of ``lastmod`` found.

    ``dates``: how many entries have which lastmod, with the moment at which the sitemap was made.
    Dates that crowd there are those of the file, not of the pages. ``agreement``: lastmod against
    the date that each sampled page gives for itself; what agrees lies in the gray band.
    ``intervals``: how often lastmod agreed, and how often the text had changed when lastmod moved
    and when it did not, with the bounds that the verdict asks for.

    Parameters
    ----------
    audit
        What `audit_lastmod` returns.
    part
        One of `LASTMOD_PARTS`. By default all three side by side; on `ax`, the dates.
    ax
        Axes to draw one part on; by default those of a new figure.

    Returns
    -------
    Axes
        Those drawn on; of all three, the first (the others are in ``.figure.axes``).

    Raises
    ------
    BadSetting
        What was passed is no audit, or there is no such part.

    Examples
    --------
    >>> import matplotlib, pandas as pd, crawlkit as ck
    >>> matplotlib.use("Agg")
    >>> entries = pd.DataFrame({"loc": ["https://a.example/"], "lastmod": [None]})
    >>> plot_lastmod(ck.audit_lastmod(entries, sample=0)).get_title()
    'No entry of 1 has a lastmod'
    """
    if any(not hasattr(audit, name) for name in _NEEDED):
        shown = plain_text(repr(audit), longest=80)
        raise BadSetting("audit", f"{shown} is no audit", "Pass what audit_lastmod returns.")
    if part is not None and part not in LASTMOD_PARTS:
        parts = ", ".join(LASTMOD_PARTS)
        raise BadSetting("part", f"there is no part {part!r}", f"There are: {parts}.")
    draw = {"dates": _draw_dates, "agreement": _draw_agreement, "intervals": _draw_intervals}
    if part is None and ax is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(1, 3, figsize=(16, 4.6), layout="constrained")
        for name, each in zip(LASTMOD_PARTS, axes, strict=True):
            draw[name](audit, each)
        first: Axes = axes[0]
        because = ", ".join(audit.reasons)
        text = safe_label(f"{audit.verdict}: {because}", longest=140)
        axes[0].figure.suptitle(text, fontweight="bold", x=0.01, ha="left")
        return first
    ax = axes_or_new(ax, 6.5, 4.4)
    draw[part or "dates"](audit, ax)
    return ax


# -- dates ---------------------------------------------------------------------------------


def _draw_dates(audit: Any, ax: Axes) -> None:
    """Draw the histogram of lastmod, and when the files were made."""
    mdates = _matplotlib_dates()
    site = audit.spread.iloc[0]
    stamps = audit.lastmods["lastmod"]
    ax.set_title(_dates_title(site))
    ax.set_ylabel("entries")
    ax.set_xlabel("lastmod (UTC)")
    if stamps.empty:
        ax.set_xticks([])
        ax.set_yticks([0])
        _say(ax, f"{format_number(int(site['entries']))} entries, no dates")
        return
    made = audit.spread.loc[audit.spread["level"] == "file", "generated_at"].dropna()
    made = site[["generated_at"]].dropna() if made.empty else made
    moments = [_number(moment) for moment in made.drop_duplicates().head(50)]
    days = mdates.date2num(stamps.dt.tz_localize(None).to_numpy())
    low, high = _limits(days, moments)
    inside = days[(days >= low) & (days <= high)]
    ax.hist(
        inside, bins=60, range=(low, high), color=OKABE_ITO["sky blue"], edgecolor="black",
        linewidth=0.4,
    )  # fmt: skip
    shown = [moment for moment in moments if low <= moment <= high]
    for place, moment in enumerate(shown):
        ax.axvline(
            moment, color=OKABE_ITO["vermilion"], linestyle="--", linewidth=1.6,
            label="sitemap made" if place == 0 else None,
        )  # fmt: skip
    ax.set_xlim(low, high)
    locator = mdates.AutoDateLocator(minticks=3, maxticks=6)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(mdates.ConciseDateFormatter(locator))
    left_out = len(days) - len(inside)
    if left_out:
        ax.set_xlabel(f"lastmod (UTC); {format_number(left_out)} further back are not shown")
    if shown:
        ax.legend(loc="upper left", framealpha=0.9)


def _matplotlib_dates() -> Any:
    """Return the module of matplotlib that knows dates; it has no types."""
    import matplotlib.dates

    return matplotlib.dates


def _number(moment: pd.Timestamp) -> float:
    return float(_matplotlib_dates().date2num(moment.tz_localize(None)))


def _limits(days: Any, moments: list[float]) -> tuple[float, float]:
    """Return the span to show: all of it, or, where outliers would hide it, what matters."""
    import numpy as np

    low, high = float(days.min()), float(days.max())
    core = float(np.quantile(days, 0.01))
    if high - core < 0.02 * (high - low):
        low = core
    near = [moment for moment in moments if low - 400 <= moment <= high + 400]
    low, high = min([low, *near]), max([high, *near])
    room = max(0.03 * (high - low), 2 / 1440)  # at least two minutes
    return low - room, high + room


def _dates_title(site: pd.Series) -> str:
    entries, dated = int(site["entries"]), int(site["dated"])
    if not dated:
        return f"No entry of {format_number(entries)} has a lastmod"
    start = f"{site['coverage']:.0%} of {format_number(entries)} entries dated"
    for name, window in _WINDOWS:
        if site[name] >= 0.5:
            return f"{start};\n{site[name]:.0%} of the dates lie within one {window}"
    return f"{start};\nthe densest day holds {site['densest_1d']:.0%} of the dates"


# -- agreement -----------------------------------------------------------------------------


def _draw_agreement(audit: Any, ax: Axes) -> None:
    """Draw lastmod against the pages' own dates, with the band in which they agree."""
    mdates = _matplotlib_dates()
    known = audit.sample[audit.sample["agreement"].notna()]
    ax.set_xlabel("the page's own date (UTC)")
    ax.set_ylabel("lastmod (UTC)")
    if known.empty:
        ax.set_title("No page was compared")
        ax.set_xticks([])
        ax.set_yticks([])
        looked = len(audit.sample)
        _say(ax, f"{format_number(looked)} pages looked at" if looked else "no page looked at")
        return
    agrees = int((known["agreement"] == "agrees").sum())
    ax.set_title(
        f"lastmod agrees with {format_number(agrees)} of {format_number(len(known))} pages"
        + _offset_note(audit)
    )
    x = mdates.date2num(known["page_date"].dt.tz_localize(None).to_numpy())
    y = mdates.date2num(known["lastmod"].dt.tz_localize(None).to_numpy())
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    room = max(0.05 * (high - low), 1.0)
    ends = [low - room, high + room]
    band = audit.thresholds.tolerance / 86_400
    ax.fill_between(
        ends, [end - band for end in ends], [end + band for end in ends], color="0.8", zorder=0,
        label=f"within {band * 24:g} h",
    )  # fmt: skip
    ax.plot(ends, ends, color="0.4", linewidth=0.8, zorder=1)
    names = {"agrees": "agrees", "older": "lastmod older", "newer": "lastmod newer"}
    for kind, (color, marker) in _AGREEMENT.items():
        chosen = (known["agreement"] == kind).to_numpy()
        if chosen.any():
            ax.plot(
                x[chosen], y[chosen], linestyle="none", marker=marker, color=color, alpha=0.75,
                markersize=5, markeredgecolor="black", markeredgewidth=0.4,
                label=f"{names[kind]} ({format_number(int(chosen.sum()))})",
            )  # fmt: skip
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    for axis in (ax.xaxis, ax.yaxis):
        locator = mdates.AutoDateLocator(minticks=3, maxticks=6)
        axis.set_major_locator(locator)
        axis.set_major_formatter(mdates.ConciseDateFormatter(locator))
    ax.legend(loc="best", framealpha=0.9)


def _offset_note(audit: Any) -> str:
    return "" if "zone_offset" not in audit.reasons else ",\nonce a constant offset is taken off"


# -- intervals -----------------------------------------------------------------------------


def _draw_intervals(audit: Any, ax: Axes) -> None:
    """Draw the shares that the verdict stands on, and the bounds that it asks for."""
    rows = _interval_rows(audit)
    limits = audit.thresholds
    ax.set_title(_intervals_title(audit, rows))
    ax.set_xlabel(f"share of pages, {limits.confidence:.0%} interval\n(gray: what is asked for)")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(len(rows) - 0.45, -0.75)
    ax.set_yticks(range(len(rows)), [label for label, *_ in rows])
    for place, (_, rate, low, high, count, least, most) in enumerate(rows):
        wanted = (least, 1.0) if least is not None else (0.0, most)
        ax.barh(place, wanted[1] - wanted[0], left=wanted[0], height=0.5, color="0.88", zorder=0)
        if is_null(rate):
            ax.annotate("not seen yet", (0.5, place), ha="center", va="center", color="0.35")
            continue
        good = low >= least if least is not None else high <= most
        color, marker = (OKABE_ITO["bluish green"], "o") if good else (OKABE_ITO["vermilion"], "s")
        ax.plot([low, high], [place, place], color=color, linewidth=3, solid_capstyle="butt")
        ax.plot([rate], [place], color=color, marker=marker, markeredgecolor="black", markersize=8)
        ax.annotate(
            f"{rate:.0%} of {count}", (rate, place), xytext=(0, 10), textcoords="offset points",
            ha="right" if rate > 0.85 else "left" if rate < 0.15 else "center",
        )  # fmt: skip


def _interval_rows(audit: Any) -> list[tuple[Any, ...]]:
    """Return label, rate, bounds, count and the bound asked for, of each share."""
    limits = audit.thresholds
    known = audit.sample["agreement"].dropna()
    found = audit.agreement.share if audit.agreement is not None else None
    rows: list[tuple[Any, ...]] = []
    if found is not None and len(known):
        rows.append(("agrees with\nthe page", *found[:3], len(known), limits.agreement, None))
    else:
        rows.append(("agrees with\nthe page", None, 0, 1, 0, limits.agreement, None))
    card = audit.scorecard.set_index("measure")
    for name, label, least, most in (
        ("precision", "changed when\nlastmod moved", limits.precision, None),
        ("changed_unmoved", "changed when\nit did not", None, limits.changed_unmoved),
    ):
        row = card.loc[name]
        rows.append((label, row["rate"], row["low"], row["high"], int(row["pages"]), least, most))
    return rows


def _intervals_title(audit: Any, rows: list[tuple[Any, ...]]) -> str:
    seen = [row for row in rows[1:] if not is_null(row[1])]
    if not seen:
        return "No page was seen twice yet"
    card = audit.scorecard.set_index("measure")
    moved, still = card.loc["precision"], card.loc["changed_unmoved"]
    parts = []
    if not is_null(moved["rate"]):
        parts.append(f"{moved['rate']:.0%} of moves were real")
    if not is_null(still["rate"]):
        parts.append(f"{still['rate']:.0%} of the unmoved had changed")
    return ";\n".join(parts)


def _say(ax: Axes, text: str) -> None:
    """Write a text into the middle of an empty picture."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color="0.35")
