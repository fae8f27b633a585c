"""Is this ``lastmod`` true? The audit: spread, sample, scorecard, verdict."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from crawlkit.audit.lastmod_bench import AuditBench
from crawlkit.audit.lastmod_result import LastmodAudit
from crawlkit.audit.lastmod_stamps import checked_entries
from crawlkit.audit.lastmod_verdict import LastmodThresholds, make_thresholds
from crawlkit.audit.page_visits import CrawledPages, PolitePages
from crawlkit.audit.text_change import EXTRACTORS
from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pandas as pd

    from crawlkit.audit.page_visits import PageVisits
    from crawlkit.web.http_settings import Http

__all__ = ["LastmodAudit", "audit_lastmod", "record_lastmod"]


def audit_lastmod(
    source: Any,
    *,
    sample: int | None = 50,
    pages: Any = None,
    history: str | os.PathLike[str] | None = None,
    refetch: float | None = None,
    random_seed: int = 0,
    http: Http | None = None,
    delay: float = 1.0,
    thresholds: LastmodThresholds | Mapping[str, Any] | None = None,
    extractor: str = "core",
    progress: bool = True,
) -> LastmodAudit:
    """Find out whether a site's ``lastmod`` can be used to decide what to fetch again.

    A first audit reads the sitemaps and looks at some pages; it can come to ``provisional`` at
    most. With a ``history``, a later audit looks at the same pages again and sees whether lastmod
    moved when, and only when, the main text changed: that alone makes ``trust``. 16 pages that
    moved and 22 that did not, without a fault, are the fewest that suffice.

    Parameters
    ----------
    source
        The address of a site or sitemap, or a file (see `read_sitemaps`), or the entries that
        `read_sitemaps` returned.
    sample
        Pages to look at, at most; None for all of `pages`. None are fetched where the dates alone
        decide.
    pages
        A crawl, or its table ``pages``: nothing is fetched, pages are taken from there. Or an
        object with a method ``visit(url)`` that returns a `Visit`.
    history
        Folder of what earlier audits saw; this one is added to it.
    refetch
        Seconds after which the sitemaps are read once more: dates that moved meanwhile are made at
        each request. None reads them once.
    random_seed
        For the draw of pages.
    http
        How to ask (`crawlkit.Http`).
    delay
        Seconds from start to start of two requests to one host.
    thresholds
        Where verdicts begin: a mapping of names of `LastmodThresholds` to values.
    extractor
        What finds the main text: ``"core"``, or ``"trafilatura"`` (extra ``text``).
    progress
        Whether to show a bar. Interrupting the sample ends it early; what was seen counts.

    Returns
    -------
    LastmodAudit
        ``.verdict .reasons .sentences .spread .sample .scorecard .pairs .files .plot()``.

    Raises
    ------
    BadSetting
        On an argument that cannot work.
    StorageFailed
        The history cannot be written.

    Examples
    --------
    >>> from crawlkit import lab
    >>> news = lab.Living(case="news_stamps")
    >>> with lab.serve([news]) as site:
    ...     audit = audit_lastmod(site.url, delay=0, progress=False)
    >>> audit.verdict, list(audit.reasons)
    ('distrust', ['stamp_generation'])
    """
    limits = make_thresholds(thresholds)
    _check(sample=sample, pages=pages, refetch=refetch, delay=delay, extractor=extractor)
    if isinstance(random_seed, bool) or not isinstance(random_seed, int) or random_seed < 0:
        raise BadSetting(
            "random_seed", f"{random_seed!r} is none", "Pass 0 or a whole number above."
        )
    crawled = None if pages is None else _given_pages(pages)
    entries = _entries(source, http, progress=progress)
    again = None if refetch is None else _read_again(entries, source, refetch, http)
    bench = AuditBench(entries, again, limits, random_seed)
    bench.open_history(history)
    count = 0 if bench.is_decided and crawled is None else sample
    if crawled is not None:
        available = crawled if isinstance(crawled, CrawledPages) else None
        bench.look(crawled, count, available=available, progress=False)
    elif count:
        with PolitePages(http, hosts=bench.hosts, delay=delay, extractor=extractor) as polite:
            bench.look(polite, count, progress=progress)
    return bench.finish(history)


def record_lastmod(
    history: str | os.PathLike[str],
    entries: pd.DataFrame,
    pages: Any,
    *,
    thresholds: LastmodThresholds | Mapping[str, Any] | None = None,
) -> LastmodAudit:
    """Add one crawl of a site to the history of its ``lastmod``, and judge anew.

    Call it once for each crawl or round of a crawl, in order of time, with the sitemaps as they
    were then. Pages that two rounds have in common are compared; recording a round again changes
    nothing.

    Parameters
    ----------
    history
        Folder of what was seen before; made where it is not there.
    entries
        What `read_sitemaps` returned at the time of the crawl.
    pages
        The crawl, or its table ``pages``.
    thresholds
        Where verdicts begin, as in `audit_lastmod`.

    Returns
    -------
    LastmodAudit
        As of this round.

    Raises
    ------
    BadSetting
        On an argument that cannot work.
    StorageFailed
        The history cannot be written.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> entries = pd.DataFrame({"loc": ["https://a.example/1"], "lastmod": ["2024-05-17"]})
    >>> pages = pd.DataFrame({"url": ["https://a.example/1"], "text_hash": ["0" * 32]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record_lastmod(folder, entries, pages).verdict
    'undecided'
    """
    checked = checked_entries(entries)
    if pages is None:
        raise BadSetting("pages", "None is no crawl", "Pass a crawl, or crawl.pages.")
    return audit_lastmod(
        checked,
        sample=None,
        pages=pages,
        history=history,
        thresholds=thresholds,
        progress=False,
    )


def _check(
    *, sample: int | None, pages: Any, refetch: float | None, delay: float, extractor: str
) -> None:
    """Refuse arguments that cannot work, before anything is asked for."""
    whole = isinstance(sample, int) and not isinstance(sample, bool) and sample >= 0
    if not whole and not (sample is None and pages is not None):
        problem = f"{sample!r} is no number of pages"
        raise BadSetting("sample", problem, "Pass 0 or more, or None for all pages of a crawl.")
    for name, value in (("refetch", refetch), ("delay", delay)):
        if value is None and name == "refetch":
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < math.inf:  # type: ignore[operator] # a number by now
            raise BadSetting(name, f"{value!r} is no time", "Pass seconds, 0 or more.")
    if extractor not in EXTRACTORS:
        known = ", ".join(EXTRACTORS)
        raise BadSetting("extractor", f"there is no {extractor!r}", f"There are: {known}.")
    if extractor == "trafilatura":
        from crawlkit.audit.text_change import main_text
        from crawlkit.web.html import parse_page

        # A missing library is told before the first request.
        main_text(parse_page("<p>Text", url="http://a.example/"), extractor=extractor)


def _given_pages(pages: Any) -> PageVisits:
    """Return pages that can be asked for without the network, or as the caller sees fit."""
    if callable(getattr(pages, "visit", None)):
        visits: PageVisits = pages
        return visits
    return CrawledPages(pages)


def _entries(source: Any, http: Http | None, *, progress: bool) -> pd.DataFrame:
    """Return entries as given, or read from where they are."""
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return checked_entries(source, argument="source")
    from crawlkit.web.sitemaps import read_sitemaps

    return checked_entries(read_sitemaps(source, http=http, progress=progress))


def _read_again(
    entries: pd.DataFrame, source: Any, seconds: float, http: Http | None
) -> pd.DataFrame:
    """Read the same sitemaps once more, after a while."""
    import pandas as pd

    from crawlkit.web.sitemaps import read_sitemaps

    if isinstance(source, pd.DataFrame):
        named = entries["sitemap"].dropna() if "sitemap" in entries.columns else pd.Series()
        source = [name for name in named.unique() if str(name).startswith(("http://", "https://"))]
        if not source:
            raise BadSetting(
                "refetch",
                "the entries name no sitemap that could be read again",
                "Pass the address of the site or sitemap as source.",
            )
    time.sleep(seconds)
    return read_sitemaps(source, http=http, progress=False)
