"""The audit of a crawl folder as one report: text for a terminal, plain values, or one HTML file.

The HTML needs nothing from elsewhere: pictures are in it, there is no script, and whatever came
from the web is escaped.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawlkit.audit.coverage import Coverage, compare_coverage
from crawlkit.audit.metrics import CrawlMetrics, crawl_metrics
from crawlkit.audit.site import SiteAudit, audit_site, plain_rows
from crawlkit.audit.site_size import SizeEstimate, estimate_size
from crawlkit.audit.traps import find_traps
from crawlkit.errors import BadSetting
from crawlkit.reprs import escape, format_number, frame_html, is_null, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Report", "make_report"]

_ROWS = 5
_HTML_ROWS = 50
_WIDEST = 80
_STYLE = (
    "body { font: 15px/1.5 sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }"
    "table { border-collapse: collapse } td, th { border: 1px solid #8884; padding: 0.2rem 0.5rem }"
    # The cells of tables break words where they must; those of the summary are words alone.
    ".summary td, .summary th { overflow-wrap: break-word !important }"
    "img { max-width: 100% } summary { cursor: pointer; font-weight: bold }"
)


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that the audits say of one crawl.

    Attributes
    ----------
    audit, metrics, traps, size, coverage
        What `audit_site`, `crawl_metrics`, `find_traps` and `estimate_size` returned, and
        `compare_coverage` where a sitemap was given.
    source
        The crawl.
    name
        The crawl's folder.
    problems
        Part -> why it could not be done.
    """

    audit: SiteAudit
    metrics: CrawlMetrics
    traps: pd.DataFrame | None
    size: SizeEstimate | None
    coverage: Coverage | None
    source: Any
    name: str
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def not_judged(self) -> list[str]:
        """What could not be judged about traps, since the tables lack something."""
        skipped = {} if self.traps is None else self.traps.attrs.get("skipped", {})
        return [f"{name}: {what}" for name, what in skipped.items()]

    @property
    def _set_aside(self) -> int:
        return 0 if self.size is None else self.size.aside

    def _aside(self) -> str:
        count = self._set_aside
        return f" ({format_number(count)} URLs set aside by patterns)" if count else ""

    # -- plain values ----------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        metrics = {
            name: None if is_null(value) else value
            for name, value in zip(
                self.metrics.table["metric"], self.metrics.table["value"].tolist(), strict=True
            )
        }
        found: dict[str, Any] = {
            "folder": self.name,
            **self.audit.to_dict(),
            "metrics": metrics,
            "hosts": plain_rows(self.metrics.hosts),
            "traps": [] if self.traps is None else plain_rows(_readable(self.traps)),
            "size": None if self.size is None else _finite(plain_rows(self.size.table)[0]),
            "not_judged": self.not_judged,
            "set_aside": self._set_aside,
            "problems": self.problems,
        }
        if self.coverage is not None:
            found["coverage"] = plain_rows(self.coverage.sections)
        return found

    # -- a terminal ------------------------------------------------------------------------

    def to_text(self, *, rows: int = _ROWS) -> str:
        """Return the report as text for a terminal.

        Parameters
        ----------
        rows
            Rows of each table of findings.
        """
        summary = self.audit.summary
        found = summary[summary["count"].fillna(0) > 0]
        parts = [f"Site audit: {plain_text(self.audit)}", f"Crawl: {self.metrics}"]
        if self.size is not None:
            parts.append(f"Size of the site: {plain_text(self.size)}")
        if self.coverage is not None:
            parts.append(f"Coverage: {self.coverage}")
        if self.traps is not None:
            parts.append(f"Traps: {len(self.traps) or 'none found'}{self._aside()}")
            parts += [f"not judged: {each}" for each in self.not_judged]
        parts.append(
            "\n" + _text_table(found[["check", "count", "severity", "what_to_do"]], longest=200)
        )
        if self.traps is not None and len(self.traps):
            shown = _readable(self.traps)[["kind", "pages", "pending", "exclude", "evidence"]]
            parts.append("\ntraps\n" + _text_table(shown, rows))
        parts += [
            f"\n{check}\n" + _text_table(self.audit.tables[check], rows) for check in found["check"]
        ]
        skipped = summary[summary["skipped"].notna()]
        parts += [f"\nskipped: {row.check} ({row.skipped})" for row in skipped.itertuples()]
        parts += [f"not done: {part} ({why})" for part, why in self.problems.items()]
        return "\n".join(parts)

    # -- HTML ------------------------------------------------------------------------------

    def to_html(self) -> str:
        """Return the report as one HTML file, pictures included."""
        summary = self.audit.summary
        pieces = [
            f"<h1>Audit of {escape(self.name)}</h1>",
            f"<p>{escape(self.audit)}</p>",
            self._picture("audit", lambda ax: self.audit.plot(ax=ax), 5.5),
            '<div class="summary">',
            frame_html(summary.set_index("check"), rows=len(summary)),
            "</div>",
            "<h2>Findings</h2>",
            *(
                _details(check, self.audit.tables[check])
                for check in summary.loc[summary["count"].fillna(0) > 0, "check"]
            ),
            "<h2>The crawl</h2>",
            self.metrics._repr_html_(),
            _details("hosts", self.metrics.hosts),
            self._picture("status", self._plot_status, _height(len(self.metrics.hosts))),
            self._picture("frontier", lambda ax: self.metrics.plot(ax=ax), 4),
            "<h2>Discovery and traps</h2>",
            f"<p>{escape(self.size) if self.size is not None else ''}</p>",
            self._picture("discovery", self._plot_discovery, 4.5),
            frame_html(_readable(self.traps)) if self.traps is not None else "",
            *(f"<p>Not judged: {escape(each)}.</p>" for each in self.not_judged),
            f"<p>Traps: {len(self.traps)}{escape(self._aside())}.</p>"
            if self.traps is not None
            else "",
        ]
        if self.coverage is not None:
            pieces += [
                "<h2>Coverage</h2>",
                self._picture(
                    "coverage", self._plot_coverage, _height(len(self.coverage.sections))
                ),
                _details("sections", self.coverage.sections),
                _details("URLs", self.coverage.table),
            ]
        pieces += [
            f"<p>Not done: {escape(part)} ({escape(why)}).</p>"
            for part, why in self.problems.items()
        ]
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>Audit of {escape(self.name)}</title><style>{_STYLE}</style></head><body>\n"
            + "\n".join(piece for piece in pieces if piece)
            + "\n</body></html>\n"
        )

    def write_html(self, path: str | Path) -> None:
        """Write the HTML file.

        Raises
        ------
        BadSetting
            It cannot be written there.
        """
        from pathlib import Path

        try:
            Path(path).write_text(self.to_html(), encoding="utf-8")
        except (OSError, ValueError) as error:
            problem = plain_text(error)
            raise BadSetting("html", problem, "Pass a file such as audit.html.") from error

    def _plot_status(self, ax: Axes) -> object:
        from crawlkit.plots.crawls import plot_status

        return plot_status(self.source, ax=ax)

    def _plot_coverage(self, ax: Axes) -> object:
        from crawlkit.plots.coverage import plot_coverage

        return plot_coverage(self.coverage, ax=ax)

    def _plot_discovery(self, ax: Axes) -> object:
        from crawlkit.plots.discovery import plot_discovery

        return plot_discovery(self.source, traps=self.traps, ax=ax)

    def _picture(self, name: str, draw: Callable[[Axes], object], height: float) -> str:
        """Return a picture as an element with its bytes in it, or a note that there is none."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, height), layout="constrained")
        FigureCanvasAgg(figure)
        try:
            ax = figure.add_subplot()
            draw(ax)
        except BadSetting as error:  # a table that this picture needs is not there
            return f"<p>No picture of the {escape(name)}: {escape(error)}</p>"
        title = ax.get_title().replace("\\$", "$")
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=90)
        data = base64.b64encode(file.getvalue()).decode("ascii")
        return f'<p><img alt="{escape(title)}" src="data:image/png;base64,{data}"></p>'


def make_report(
    crawl: Any,
    entries: Any = None,
    *,
    name: str = "crawl",
    price_per_gb: float | None = None,
    progress: bool = True,
) -> Report:
    """Run every audit on a crawl.

    Parameters
    ----------
    crawl, entries
        As for `audit_site`.
    name
        What the report is of.
    price_per_gb
        As for `crawl_metrics`.
    progress
        Whether to show a bar.

    Returns
    -------
    Report
        A part whose tables are missing is named in ``problems``; it ends nothing.
    """
    audit = audit_site(crawl, entries, progress=progress)
    metrics = crawl_metrics(crawl, price_per_gb)
    problems: dict[str, str] = {}
    traps = _attempt("traps", lambda: find_traps(crawl), problems)
    size = _attempt("size", lambda: estimate_size(crawl), problems)
    coverage = None if entries is None else compare_coverage(crawl, entries)
    return Report(audit, metrics, traps, size, coverage, crawl, name, problems)


def _attempt(name: str, make: Callable[[], Any], problems: dict[str, str]) -> Any:
    try:
        return make()
    except BadSetting as error:
        problems[name] = str(error)
        return None


def _readable(traps: pd.DataFrame) -> pd.DataFrame:
    """Return traps with their patterns as text; a compiled one shows what it was made from."""
    patterns = [getattr(each, "pattern", each) for each in traps["exclude"].tolist()]
    return traps.assign(exclude=patterns)


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without infinite numbers, which JSON does not know."""
    return {
        name: None if isinstance(value, float) and abs(value) == float("inf") else value
        for name, value in row.items()
    }


def _height(bars: int) -> float:
    """Return the inches that a picture of some bars needs."""
    return 1.8 + 0.4 * min(max(1, bars), 13)


def _details(name: str, frame: pd.DataFrame) -> str:
    count = format_number(len(frame))
    table = frame_html(frame, rows=_HTML_ROWS)
    return f"<details><summary>{escape(name)} ({count})</summary>{table}</details>"


def _text_table(frame: pd.DataFrame, rows: int | None = None, *, longest: int = _WIDEST) -> str:
    """Return the first rows of a table as lines of aligned columns."""
    shown = frame if rows is None else frame.head(rows)
    cells = [[str(name) for name in shown.columns]]
    cells += [
        ["-" if is_null(value) else plain_text(value, longest=longest) for value in values]
        for values in shown.itertuples(index=False, name=None)
    ]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    if len(shown) < len(frame):
        lines.append(f"... {format_number(len(frame) - len(shown))} more")
    return "\n".join(lines)
