"""The discovery curve: new URLs per fetched page along a crawl.

On a finite site the rate falls to zero, since every page that is fetched takes one from the URLs
that are left to be found. Where it stays up, something makes URLs faster than they can be fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.audit.table_columns import whole_text
from crawlkit.errors import BadSetting
from crawlkit.plots.rates import check_window, page_rows, rolling_rate, section_of
from crawlkit.web.urls import url_template

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["discovery_curve"]

BY = ("host", "section", "template")
COLUMNS = {
    "group": "str",
    "page": "int64",
    "url": "str",
    "new_urls": "int64",
    "rate": "float64",
    "low": "float64",
    "high": "float64",
    "known_urls": "Int64",
    "frontier_size": "Int64",
}


def discovery_curve(
    crawl_or_fetches: Any, *, window: int = 100, by: str | None = None
) -> pd.DataFrame:
    """Return the number of new URLs per fetched page, along the crawl.

    Parameters
    ----------
    crawl_or_fetches
        A crawl, or its table ``fetches``: ``new_urls``, and better ``seq url known_urls
        frontier_size``; a mapping with that table; or any table of pages with ``new_urls``.
    window
        Pages over which the rate is taken, the last ones of the same group; 2 or more.
    by
        ``"host"``, ``"section"`` (host and first folder) or ``"template"``
        (:func:`crawlkit.url_template`): a curve for each group of pages that were fetched. A
        page's new URLs count for the group of the page. By default one curve for all.

    Returns
    -------
    DataFrame
        One row per fetched page, in order: ``group`` (str, null without ``by``), ``page`` (int64,
        pages fetched so far, from 1), ``url`` (str), ``new_urls`` (int64), ``rate`` (float64, mean
        of ``new_urls`` over the window), ``low`` ``high`` (float64, 95 % band of that mean, see
        below), ``known_urls`` ``frontier_size`` (Int64, after this page). The band takes the pages
        of a window for independent: runs of similar pages make the true one wider.

    Raises
    ------
    BadSetting
        On anything that is no crawl and no such table, or on an option out of its range.

    Examples
    --------
    >>> from crawlkit import lab
    >>> crawl = lab.walk(["shop"], max_pages=600)
    >>> curve = discovery_curve(crawl, window=50)
    >>> curve[["page", "rate", "frontier_size"]].iloc[[49, -1]]
         page  rate  frontier_size
    49     50  4.38            170
    525   526  0.00              0
    """
    import pandas as pd

    check_window(window)
    if by is not None and by not in BY:
        raise BadSetting("by", f"there is no {by!r}", f"Use None or one of: {', '.join(BY)}.")
    rows = page_rows(crawl_or_fetches)
    count = len(rows)
    if by is not None and "url" not in rows.columns and not (by == "host" and "host" in rows):
        problem = "the table has no column 'url'"
        raise BadSetting("crawl_or_fetches", problem, "Pass fetches with their URLs, or by=None.")
    frame = pd.DataFrame(
        {
            "group": _groups(rows, by),
            "page": range(1, count + 1),
            "url": [whole_text(url) if isinstance(url, str) else None for url in rows["url"]]
            if "url" in rows.columns
            else None,
            "new_urls": rows["new_urls"],
            "rate": 0.0,
            "low": 0.0,
            "high": 0.0,
            "known_urls": rows["known_urls"] if "known_urls" in rows.columns else pd.NA,
            "frontier_size": rows["frontier_size"] if "frontier_size" in rows.columns else pd.NA,
        },
        index=pd.RangeIndex(count),
    ).astype(COLUMNS)
    new = frame["new_urls"].to_numpy(dtype="float64")
    ends = {name: frame[name].to_numpy().copy() for name in ("rate", "low", "high")}
    for places in frame.groupby("group", dropna=False, sort=False).indices.values():
        for values, curve in zip(ends.values(), rolling_rate(new[places], window), strict=True):
            values[places] = curve
    return frame.assign(**ends)


def _groups(rows: pd.DataFrame, by: str | None) -> list[str | None]:
    """Return the group of each page."""
    if by is None:
        return [None] * len(rows)
    if by == "host" and "host" in rows.columns:
        return [None if host != host or host is None else str(host) for host in rows["host"]]  # noqa: PLR0124 - NaN
    urls = [whole_text(url) if isinstance(url, str) else None for url in rows["url"].tolist()]
    if by == "host":
        return [url and section_of(url).partition("/")[0] for url in urls]
    if by == "section":
        return [url and section_of(url) for url in urls]
    return [url and _template(url) for url in urls]


def _template(url: str) -> str | None:
    """Return the template of a URL, or None for what is none."""
    try:
        return url_template(url)
    except ValueError:
        return None
