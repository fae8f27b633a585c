"""What a crawl cost and brought, as numbers by name, and tables by host, status and page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlkit.errors import BadSetting
from crawlkit.reprs import facts_html, format_bytes, format_number, is_null

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["CrawlMetrics"]


@dataclass(frozen=True, eq=False)
class CrawlMetrics:
    """The numbers of a crawl.

    Attributes
    ----------
    table
        One row per number: ``metric`` (str), ``value`` (float64, null where it is not known) and
        ``meaning`` (str).
    hosts
        One row per host, most pages first: ``host`` (str), ``pages ok redirects client_errors
        server_errors no_answer useful duplicates expected_missing`` (int64) and ``requests retries
        bytes robots_refused`` (Int64, null where the tables do not tell).
    statuses
        ``host`` (str), ``status`` (Int64, null without an answer), ``error`` (str, null for none)
        and ``pages`` (int64).
    frontier
        One row per fetched page, in order: ``page new_urls`` (int64), ``known_urls frontier_size``
        (Int64, after it) and ``discovery_rate`` (float64, mean of the last 100 pages).
    skipped
        Metric -> what it would need.
    """

    table: pd.DataFrame
    hosts: pd.DataFrame
    statuses: pd.DataFrame
    frontier: pd.DataFrame
    skipped: dict[str, str]

    def __getitem__(self, metric: str) -> float:
        """Return a number by its name; NaN where it is not known."""
        found = self.table.loc[self.table["metric"] == metric, "value"]
        if not len(found):
            known = ", ".join(self.table["metric"])
            raise BadSetting("metric", f"there is no {metric!r}", f"There are: {known}.")
        return float(found.iloc[0])

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot the frontier and the known URLs along the crawl; see `crawlkit.plot_frontier`."""
        from crawlkit.plots.crawls import plot_frontier

        return plot_frontier(self.frontier, ax=ax)

    def __str__(self) -> str:
        return (
            f"{_shown('pages', self['pages'])} pages, {_shown('pages', self['useful_pages'])} "
            f"useful, {_shown('bytes', self['bytes_per_useful_page'])} per useful page"
        )

    def __repr__(self) -> str:
        return f"<CrawlMetrics: {self}>"

    def _repr_html_(self) -> str:
        rows = zip(self.table["metric"], self.table["value"], strict=True)
        facts = [(name.replace("_", " "), _shown(name, value)) for name, value in rows]
        notes = [f"{name}: {why}" for name, why in self.skipped.items()]
        return facts_html("Crawl metrics", facts, notes)


def _shown(name: str, value: float) -> str:
    if is_null(value):
        return "-"
    if name.startswith("bytes"):
        return format_bytes(value)
    if name.startswith("duplicate_rate") or name == "expected_found":
        return f"{100 * value:.1f} %"
    return format_number(int(value)) if value == int(value) else f"{value:,.4g}"
