"""The picture of a site audit: how much each check found, and how bad it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlkit.plots.style import OKABE_ITO, axes_or_new, safe_label
from crawlkit.reprs import format_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["plot_findings"]

# Severity: color and hatch.
_STYLES = {
    "error": (OKABE_ITO["vermilion"], "xx"),
    "warning": (OKABE_ITO["orange"], "//"),
    "notice": (OKABE_ITO["sky blue"], ""),
}


def plot_findings(summary: pd.DataFrame, *, pages: int = 0, ax: Axes | None = None) -> Axes:
    """Plot the number of findings of each check.

    Parameters
    ----------
    summary
        The summary of an audit: ``check count severity skipped``, in the order to be shown.
    pages
        Number of pages, for the title.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Axes
        One horizontal bar per check on a logarithmic axis; a check that was skipped says so.
    """
    rows = list(zip(summary["check"], summary["count"], summary["severity"], strict=True))
    ax = axes_or_new(ax, 8, 1.6 + 0.32 * max(1, len(rows)))
    counts = [int(count) for count in summary["count"].fillna(0)]
    skipped = summary["count"].isna().tolist()
    for severity, (color, hatch) in _STYLES.items():
        chosen = [place for place, row in enumerate(rows) if row[2] == severity and counts[place]]
        if chosen:
            ax.barh(
                chosen, [counts[place] for place in chosen], color=color, hatch=hatch,
                edgecolor="black", linewidth=0.5, label=severity,
            )  # fmt: skip
    for place, count in enumerate(counts):
        text = "skipped" if skipped[place] else format_number(count) if count else "none"
        ax.annotate(
            text, (max(count, 0.5), place), xytext=(4, 0), textcoords="offset points",
            va="center", color="black" if count else "0.4",
        )  # fmt: skip
    ax.set_yticks(range(len(rows)), [safe_label(row[0]).replace("_", " ") for row in rows])
    ax.set_ylim(max(1, len(rows)) - 0.4, -0.6)  # the worst on top
    ax.set_xscale("log")
    ax.set_xlim(0.5, max([*counts, 10]) * 8)
    ax.set_xlabel("findings (logarithmic)")
    ax.set_ylabel("check")
    if any(counts):
        ax.legend(loc="lower right", title="severity")
    ax.set_title(_title(rows, counts, pages))
    return ax


def _title(rows: list[tuple[str, object, str]], counts: list[int], pages: int) -> str:
    found = sum(1 for count in counts if count)
    of = f" on {format_number(pages)} page{'s' if pages != 1 else ''}" if pages else ""
    if not found:
        return f"Nothing found{of}"
    errors = sum(1 for row, count in zip(rows, counts, strict=True) if count and row[2] == "error")
    kinds = f"{found} kind{'s' if found > 1 else ''} of findings{of}"
    return f"{kinds}, {errors} of them error{'s' if errors != 1 else ''}" if errors else kinds
