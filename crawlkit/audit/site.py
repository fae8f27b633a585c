"""The site audit: fifteen checks of a crawl, a table for each, and a summary.

How each check judges stands in its module: ``site_links``, ``site_canonicals``, ``site_duplicates``
and ``site_responses``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlkit.audit.link_pass import pass_links
from crawlkit.audit.site_checks import CHECKS, SEVERITIES, Check, run_check
from crawlkit.audit.site_links import broken_targets
from crawlkit.audit.site_pages import AuditLimits, SitePages, pages_of
from crawlkit.audit.table_columns import listed_urls, plain_values
from crawlkit.errors import BadSetting
from crawlkit.reprs import format_number, frame_html, plain_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["SiteAudit", "audit_site"]

_SUMMARY = {
    "check": "str",
    "count": "Int64",
    "severity": "str",
    "counts": "str",
    "what_to_do": "str",
    "note": "str",
    "skipped": "str",
}


@dataclass(frozen=True, eq=False)
class SiteAudit:
    """What an audit of a site found.

    Attributes
    ----------
    tables
        Name of a check -> its findings as a DataFrame, with the same columns also when empty.
        A check that was skipped has an empty one.
    summary
        One row per check, worst findings first: ``check`` (str), ``count`` (Int64, null where it
        was skipped), ``severity`` (str: ``error warning notice``), ``counts`` (str, what is
        counted), ``what_to_do`` (str), ``note`` (str, how it was done; null for nothing to say)
        and ``skipped`` (str, why it was not done; null where it was).
    pages
        Number of pages looked at.
    """

    tables: dict[str, pd.DataFrame]
    summary: pd.DataFrame
    pages: int

    @property
    def table(self) -> pd.DataFrame:
        """The summary."""
        return self.summary

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot the number of findings of each check, colored by severity."""
        from crawlkit.plots.site_audit import plot_findings

        return plot_findings(self.summary, pages=self.pages, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values: ``pages``, ``summary`` and ``tables`` as rows."""
        return {
            "pages": self.pages,
            "summary": plain_rows(self.summary),
            "tables": {name: plain_rows(table) for name, table in self.tables.items()},
        }

    def __str__(self) -> str:
        found = self.summary[self.summary["count"].fillna(0) > 0]
        counts = ", ".join(
            f"{format_number(int(count))} {check}"
            for check, count in zip(found["check"], found["count"], strict=True)
        )
        return f"{format_number(self.pages)} pages: {counts or 'nothing found'}"

    def __repr__(self) -> str:
        return f"<SiteAudit of {plain_text(self)}>"

    def _repr_html_(self) -> str:
        shown = self.summary.drop(columns="counts").set_index("check")
        return frame_html(
            shown,
            rows=len(shown),
            title=f"Site audit of {format_number(self.pages)} pages; audit.tables has the findings",
        )


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table as rows of plain values, None for what is missing."""
    columns = {
        str(name): [getattr(v, "isoformat", lambda v=v: v)() for v in plain_values(frame[name])]
        for name in frame.columns
    }
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def audit_site(
    crawl: Any,
    entries: Any = None,
    *,
    slow: float = 2.0,
    heavy: int = 1_000_000,
    thin: int = 50,
    similar: float = 0.8,
    bodies: int | None = 2_000,
    random_seed: int = 0,
    progress: bool = True,
) -> SiteAudit:
    """Look for what is wrong with a site, on the tables of a crawl of it.

    Parameters
    ----------
    crawl
        A crawl, finished or running; or a mapping with the DataFrames ``pages`` (needed: ``url``)
        and ``links`` (``source target``, better with ``kind text region``). A check whose columns
        are missing is skipped, and says which.
    entries
        What the sitemaps list: the table of `read_sitemaps`, or URLs. By default the URLs of the
        crawl whose ``source`` is ``sitemap``; without any, `orphans` and `noindex_in_sitemap` are
        skipped.
    slow
        Seconds that an answer may take.
    heavy
        Bytes that the HTML of a page may have.
    thin
        Words that a page should have, navigation included.
    similar
        Share of word triples in common from which two texts are near-duplicates; above 0, up to 1.
    bodies
        Stored bodies that are read for near-duplicates, at most, drawn at random; None for all.
    random_seed
        For that draw.
    progress
        Whether to show a bar while bodies are read. Interrupting it compares those that were read.

    Returns
    -------
    SiteAudit
        ``.summary``, ``.plot()`` and ``.tables``, with columns of str unless told otherwise:

        - ``broken_links``: ``target source text region status`` (Int64) ``error final_url
          final_status`` (Int64), one row per page and broken URL;
        - ``redirect_chains``: ``url kind`` (``chain loop broken too_long``) ``hops`` (int64) ``way
          final_url final_status`` (Int64);
        - ``orphans``: ``url sitemap fetched`` (bool) ``status`` (Int64);
        - ``canonical_conflicts``: ``url canonical problem`` (``several off_host to_error
          to_redirect chain``) ``canonical_status`` (Int64) ``leads_to``;
        - ``noindex_in_sitemap``: ``url sitemap``;
        - ``soft_404``, ``soft_blocks``, ``expected_missing``: ``url title words`` (Int64)
          ``evidence``;
        - ``hreflang_without_return``: ``url lang alternate problem`` (``no_return to_redirect
          to_error``);
        - ``duplicate_titles``: ``cluster`` (int64) ``title url pages`` (int64);
        - ``duplicate_content``: ``cluster`` (int64) ``url pages`` (int64) ``words`` (Int64)
          ``title``;
        - ``near_duplicates``: ``cluster`` (int64) ``url similar_to similarity`` (float64) ``pages``
          (int64) ``words`` (Int64);
        - ``slow_pages``: ``url status`` (Int64) ``seconds`` (float64);
        - ``heavy_pages``: ``url bytes`` (int64) ``words`` (Int64);
        - ``thin_pages``: ``url words`` (Int64) ``title``.

    Raises
    ------
    BadSetting
        On anything that is no crawl, or on an option out of its range.

    Examples
    --------
    >>> from crawlkit import lab
    >>> audit = audit_site(lab.walk(["broken"]), progress=False)
    >>> audit.tables["broken_links"][["target", "status"]].drop_duplicates()["status"].tolist()
    [503, 500, 410, 404]
    >>> audit.summary.set_index("check").loc["orphans", "skipped"]
    'needs entries'
    """
    limits = AuditLimits(slow, heavy, thin, similar, bodies, random_seed)
    _check(limits)
    site = pages_of(crawl)
    site.limits, site.progress = limits, progress
    site.entries = listed_urls(entries, "entries") if entries is not None else _listed(site)
    lacks = _missing(site)
    if not lacks & {"links.source", "links.target"}:
        site.links = pass_links(site.tables, broken_targets(site))
    if getattr(crawl, "finished", True) is False:
        site.notes["orphans"] = "the crawl is not finished: pages still to be fetched may link here"
    tables: dict[str, pd.DataFrame] = {}
    rows = []
    for check in CHECKS:
        gone = [name for name in check.needs if name in lacks]
        if gone:
            site.skipped[check.name] = f"needs {', '.join(gone)}"
            tables[check.name] = run_check(check._replace(run=lambda _: iter(())), site)
        else:
            tables[check.name] = run_check(check, site)
        rows.append(_summary_row(check, tables[check.name], site))
    return SiteAudit(tables, _summary(rows), len(site))


def _check(limits: AuditLimits) -> None:
    """Raise `BadSetting` on an option out of its range."""
    given: dict[str, object] = {name: getattr(limits, name) for name in ("slow", "heavy", "thin")}
    for name, value in given.items():
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not 0 <= float(str(value)) < math.inf:
            raise BadSetting(name, f"{value!r} is no limit", "Pass a number, 0 or more.")
    similar: object = limits.similar
    if not isinstance(similar, (int, float)) or not 0 < similar <= 1:
        raise BadSetting("similar", f"{similar!r} is no share", "Pass for example 0.8.")
    seed: object = limits.random_seed
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise BadSetting("random_seed", f"{seed!r} is no seed", "Pass a whole number.")
    bodies: object = limits.bodies
    if bodies is None:
        return
    if isinstance(bodies, bool) or not isinstance(bodies, int) or bodies < 0:
        raise BadSetting("bodies", f"{bodies!r} is no count", "Pass a whole number, or None.")


def _listed(site: SitePages) -> list[tuple[str, str | None]] | None:
    """Return what the crawl itself took from sitemaps, or None."""
    if not site.tables.has("urls", "url", "source"):
        return None
    urls = site.tables.read("urls", ("url", "source", "found_on"))
    urls = urls[urls["source"] == "sitemap"]
    if not len(urls):
        return None
    return listed_urls(urls.rename(columns={"found_on": "sitemap"}), "entries")


def _missing(site: SitePages) -> set[str]:
    """Return what checks may need and cannot have."""
    lacks = set(site.tables.missing)
    if not site.tables.has("links", "source", "target"):
        lacks |= {name for name in site.tables.missing if name.startswith("links.")}
        lacks |= {"links.source", "links.target"} if "links" in site.tables.missing else set()
    if site.entries is None:
        lacks.add("entries")
    if site.body is None:
        lacks.add("bodies")
    return lacks


def _summary_row(check: Check, table: pd.DataFrame, site: SitePages) -> dict[str, Any]:
    skipped = site.skipped.get(check.name)
    return {
        "check": check.name,
        "count": None if skipped else table[check.counted].nunique(),
        "severity": check.severity,
        "counts": check.counts,
        "what_to_do": check.what_to_do,
        "note": site.notes.get(check.name),
        "skipped": skipped,
    }


def _summary(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the rows as a table: errors first, then by count, what was skipped last."""
    import pandas as pd

    def rank(row: dict[str, Any]) -> tuple[bool, bool, int, int]:
        count = row["count"]
        return (count is None, not count, SEVERITIES.index(row["severity"]), -(count or 0))

    ordered: list[dict[str, Any]] = sorted(rows, key=rank)
    return pd.DataFrame(ordered, columns=list(_SUMMARY)).astype(_SUMMARY)
