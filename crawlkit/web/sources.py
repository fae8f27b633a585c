"""Seed lists: where a crawl may begin, as tables with where each URL comes from.

Each function returns a DataFrame whose first columns are `url` (str, the address), `source` (str),
`lastmod` (datetime64[us, UTC]) and `found_in` (str), ready for `crawlkit.crawl`, which keeps them.
Rows that give no address are never dropped silently: they are in ``.attrs["refused"]``, with a
reason, and counted in ``.attrs["refused_count"]``.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable
    from datetime import date, datetime, timedelta
    from pathlib import Path

    import pandas as pd

    from crawlkit.web.fetch import Http

    Pattern = str | re.Pattern[str]

__all__ = [
    "seeds_from_archive",
    "seeds_from_feed",
    "seeds_from_file",
    "seeds_from_page",
    "seeds_from_sitemap",
]


def seeds_from_archive(
    site: str,
    *,
    endpoint: str,
    match: str = "domain",
    since: datetime | date | str | None = None,
    until: datetime | date | str | None = None,
    status: Iterable[int | str] | int | str | None = (200,),
    mime: Iterable[str] | str | None = "text/html",
    collapse: str | None = "urlkey",
    page_size: int = 10_000,
    max_urls: int = 100_000,
    delay: float = 1.0,
    max_wait: float = 300.0,
    max_requests: int = 1_000,
    resume_key: str | None = None,
    output: str = "json",
    http: Http | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """List the URLs that a web archive has of a site, without a request to the site itself.

    The index of an archive (a CDX server) is asked, by resume keys, by numbered pages, or all at
    once, whichever the server knows. Its robots.txt is not consulted: an index is an interface for
    programs.

    Parameters
    ----------
    site
        A host (``"example.com"``) or a URL.
    endpoint
        The address of the index, such as ``"https://web.archive.org/cdx/search/cdx"`` for the
        Internet Archive's, or ``"http://localhost:8080/COLLECTION/cdx"`` for a pywb of your own.
    match
        ``"domain"`` (the host and its subdomains), ``"host"``, ``"prefix"`` or ``"exact"``.
    since, until
        The first and last time of capture: a datetime, a date, or text such as ``"2024-05"``.
    status, mime
        The statuses and media types wanted; None for any. Captures that only say "unchanged"
        (``warc/revisit``) have a type of their own.
    collapse
        The index's rows are sorted by URL, then by time; of neighbors that agree in this field the
        first is kept. ``"urlkey"``: one row per URL, its earliest capture. None: every capture.
    page_size
        Captures asked for at once; fewer after an answer that was too large or too slow.
    max_urls
        The most rows.
    delay
        Seconds from the start of one request to the start of the next.
    max_wait
        The longest pause, in seconds, that the server can ask for (Retry-After).
    max_requests
        The most requests, repeats included.
    resume_key
        ``.attrs["resume_key"]`` of an earlier call, to go on from there.
    output
        ``"json"`` or ``"text"``: what is asked for. Either is understood.
    http
        How to ask; by default with 120 seconds a request and 4 repeats.
    progress
        Whether a bar is shown.

    Returns
    -------
    pandas.DataFrame
        `url source lastmod found_in` (`lastmod` is null: a capture says nothing on changes;
        `found_in` is the endpoint), `captured_at` (datetime64[us, UTC]), `status` (Int64), `mime`
        (str), `urlkey` (str), `issues` (str, ``"bad_timestamp"`` or null). ``.attrs``:
        `stop_reason` (``"end"``, ``"max_urls"``, ``"max_requests"``, ``"interrupted"``,
        ``"cut_by_limit"``, ``"resume_key_repeats"``, ``"retry_after_too_long"``,
        ``"not_an_index"``, ``"index_error"``, ``"http_503"`` and the like, or a code of a failed
        request), `complete`, `resume_key`, `requests`, `captures`, `filtered`, `problems`,
        `duplicates`, `refused`. A failure midway keeps the rows found before and warns.

    Raises
    ------
    BadSetting
        An argument cannot work.

    Examples
    --------
    >>> seeds_from_archive("example.com", endpoint="https://cdx.example/", page_size=0)
    Traceback (most recent call last):
    ...
    crawlkit.errors.BadSetting: page_size: 0 is out of range. Pass at least 1.
    """
    from crawlkit.web.archive_index import Patience
    from crawlkit.web.archive_seeds import archive_table, index_query

    _check_number("page_size", page_size, least=1)
    _check_number("max_urls", max_urls, least=1)
    _check_number("max_requests", max_requests, least=1)
    _check_number("delay", delay, least=0, whole=False)
    _check_number("max_wait", max_wait, least=0, whole=False)
    query = index_query(
        site,
        endpoint,
        match=match,
        since=since,
        until=until,
        status=status,
        mime=mime,
        collapse=collapse,
        output=output,
    )
    return archive_table(
        query,
        patience=Patience(delay, max_wait=max_wait, max_requests=max_requests),
        http=http,
        page_size=page_size,
        max_urls=max_urls,
        resume_key=resume_key,
        progress=progress,
    )


def seeds_from_feed(
    source: str | bytes | Path,
    *,
    max_urls: int = 100_000,
    obey_robots: bool = True,
    http: Http | None = None,
) -> pd.DataFrame:
    """List the entries of a news feed: RSS 0.9x, 1.0 or 2.0, Atom 0.3 or 1.0, JSON Feed.

    Parameters
    ----------
    source
        The feed's URL, or that of a page that names one (``<link rel="alternate">``; the first one
        counts), a file, or its bytes or text.
    max_urls
        The most entries.
    obey_robots
        Whether robots.txt is asked first.
    http
        How to ask.

    Returns
    -------
    pandas.DataFrame
        `url source lastmod found_in` (`lastmod` is when the entry was updated, else published;
        `found_in` is the feed), `title` (str), `published` (datetime64[us, UTC]), `issues` (str:
        ``"link_from_id"``, ``"bad_base"``, ``"recovered"``, ``"truncated"``, and
        ``"updated_unreadable"``, ``"published_no_zone"`` and the like, separated by spaces).
        ``.attrs``: `feed` (its URL or file), `feeds` (all that the page names), `kind` (``"rss"``,
        ``"atom"``, ``"json"``), `title`, `reason` (why there are no or not all entries; None),
        `refused`, `duplicates`.

    Raises
    ------
    BadSetting
        An argument cannot work.

    References
    ----------
    RFC 4287 (Atom); https://www.rssboard.org/rss-specification; https://www.jsonfeed.org

    Examples
    --------
    >>> seeds = seeds_from_feed(
    ...     "<rss><channel><link>https://example.com/</link><item><link>/news/1</link>"
    ...     "<pubDate>Fri, 17 May 2024 12:30:00 GMT</pubDate></item></channel></rss>"
    ... )
    >>> seeds["url"].tolist(), seeds["lastmod"].dt.year.tolist()
    (['https://example.com/news/1'], [2024])
    """
    from crawlkit.web.feed_seeds import feed_table

    _check_number("max_urls", max_urls, least=1)
    return _not_silent(feed_table(source, http=http, obey_robots=obey_robots, max_urls=max_urls))


def seeds_from_file(
    source: str | bytes | Path | pd.DataFrame | Iterable[str],
    *,
    column: str | int | None = None,
    base: str | None = None,
) -> pd.DataFrame:
    r"""List the URLs of a file, a table or pasted text, and say which column they are from.

    CSV with any delimiter, Excel (needs openpyxl), JSON, JSON lines, zips and gzip of these, lists
    and running text are told apart by their content; encodings by their bytes. So exports of
    spreadsheets, search consoles, Screaming Frog and advertools need no preparation.

    Parameters
    ----------
    source
        A file's name, its bytes, text (with several lines or a URL in it), a DataFrame, or a list.
    column
        The name or number (from 0) of the column with the URLs. By default one with a usual name
        (``url``, ``Address``, ``loc``, ``Page`` ...) that holds URLs, else the one with the most.
    base
        What relative URLs are resolved against, as in exports that list paths.

    Returns
    -------
    pandas.DataFrame
        `url source lastmod found_in` (`lastmod` from a column such as ``lastmod`` or ``Last
        Modified``; `found_in` is the file), `row` (Int64, from 1, names not counted), `issues`
        (str: ``"lastmod_unreadable"``, ``"lastmod_no_zone"`` (read as UTC) or null). ``.attrs``:
        `column` (None for lists and running text), `columns`, `form` (``"csv"``, ``"excel"``,
        ``"json"``, ``"jsonl"``, ``"lines"``, ``"text"``, ``"frame"``), `part` (the sheet, or the
        file in a zip), `encoding`, `delimiter`, `empty_cells`, `refused`, `duplicates`.

    Raises
    ------
    BadSetting
        The file cannot be read, or has no such column.
    MissingExtra
        It is an Excel file, and openpyxl is not installed.

    Examples
    --------
    >>> seeds = seeds_from_file("Address;Status Code\nhttps://example.com/a;200\nn/a;0\n")
    >>> seeds["url"].tolist(), seeds.attrs["column"]
    (['https://example.com/a'], 'Address')
    >>> seeds.attrs["refused"]
    ({'url': 'n/a', 'reason': 'no_scheme', 'found_in': None},)
    >>> seeds_from_file("Look at https://example.com/b, please.")["url"].tolist()
    ['https://example.com/b']
    """
    from crawlkit.web.file_seeds import file_table
    from crawlkit.web.seed_documents import checked_url

    return file_table(
        source, column=column, base=None if base is None else checked_url("base", base)
    )


def seeds_from_page(
    url: str,
    *,
    pattern: Pattern | Iterable[Pattern] | None = None,
    css: str | None = None,
    obey_robots: bool = True,
    http: Http | None = None,
) -> pd.DataFrame:
    """List the links of a listing page: a category, an index, an archive of months.

    Parameters
    ----------
    url
        The page.
    pattern
        Which links: robots-style wildcards or compiled regexes, as in `crawlkit.crawl`.
    css
        Which links: a CSS selector of links, or of elements with links inside.
    obey_robots
        Whether robots.txt is asked first.
    http
        How to ask.

    Returns
    -------
    pandas.DataFrame
        `url source lastmod found_in` (`lastmod` is null; `found_in` is the page), `title` (str, the
        link's text), `region` (str: nav, header, main, footer or null), `rel` (str). ``.attrs``:
        `page` (behind redirects), `title`, `reason` (why there are no links; None), `not_matching`
        (links that `pattern` leaves out), `nofollow` (the page disowns its links), `refused`,
        `duplicates`.

    Raises
    ------
    BadSetting
        An argument cannot work.

    Examples
    --------
    >>> seeds_from_page("https://example.com/", pattern="news/")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    crawlkit.errors.BadSetting: pattern: ...
    """
    from crawlkit.web.page_seeds import page_table

    return _not_silent(
        page_table(url, pattern=pattern, css=css, http=http, obey_robots=obey_robots)
    )


def seeds_from_sitemap(
    source: str | bytes | Path | pd.DataFrame | Iterable[str | bytes | Path],
    *,
    since: datetime | date | timedelta | None = None,
    verdict: object = None,
    undated: bool = True,
    include: Pattern | Iterable[Pattern] = (),
    exclude: Pattern | Iterable[Pattern] = (),
    other_hosts: bool = False,
    max_files: int = 1_000,
    http: Http | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    r"""List the pages that a site's sitemaps name, with their `lastmod`.

    Parameters
    ----------
    source
        A site, a sitemap, a file, a folder or bytes, as for `crawlkit.read_sitemaps`, or the table
        that it returned.
    since
        Only what changed since then, by `lastmod`, as `crawlkit.changed_since` tells it.
    verdict
        What an audit of `lastmod` found; see `crawlkit.changed_since`.
    undated
        Whether pages without a `lastmod` count as perhaps changed.
    include, exclude
        Patterns that a URL must, must not match; as in `crawlkit.crawl`.
    other_hosts
        Whether to keep URLs on hosts that the sitemap has no right to speak for.
    max_files
        The most files to read.
    http
        How to ask.
    progress
        Whether a bar is shown.

    Returns
    -------
    pandas.DataFrame
        `url source lastmod found_in` (`found_in` is the sitemap), `lastmod_text` (str),
        `lastmod_granularity` (str), `kind` (str), `issues` (str; codes as of
        `crawlkit.read_sitemaps`). ``.attrs``: `refused` (entries that give no seed, and files that
        could not be read, with their codes as the reason), `duplicates`, `unchanged`, `undated`
        and `excluded` (how many were left out), `note` (on whose word, with `since`), `files`,
        `unread`.

    Raises
    ------
    BadSetting
        An argument cannot work.

    Examples
    --------
    >>> seeds = seeds_from_sitemap(
    ...     b"<urlset><url><loc>https://example.com/a</loc><lastmod>2024-05-17</lastmod></url>"
    ...     b"<url><loc>https://example.com/tag/b</loc></url></urlset>",
    ...     exclude="/tag/",
    ...     progress=False,
    ... )
    >>> seeds["url"].tolist(), seeds.attrs["excluded"]
    (['https://example.com/a'], 1)
    """
    from crawlkit.web.sitemap_seeds import sitemap_table

    table = sitemap_table(
        source,
        since=since,
        verdict=verdict,
        undated=undated,
        include=include,
        exclude=exclude,
        other_hosts=other_hosts,
        options={"max_files": max_files, "http": http, "progress": progress},
    )
    return _not_silent(table)


def _not_silent(table: pd.DataFrame) -> pd.DataFrame:
    """Warn where nothing could be read: no row is not the same as nothing there."""
    files = [file["reason"] for file in table.attrs.get("files", ()) if file.get("reason")]
    reason = table.attrs.get("reason") or (files[0] if files else None)
    if reason is not None and not len(table):
        warnings.warn(f"No seed could be read ({reason}); see .attrs.", stacklevel=3)
    return table


def _check_number(name: str, value: object, *, least: float, whole: bool = True) -> None:
    kinds: tuple[type, ...] = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise BadSetting(name, f"{value!r} is no {'whole ' * whole}number", "Pass a number.")
    if not least <= value < math.inf:  # type: ignore[operator]
        raise BadSetting(name, f"{value!r} is out of range", f"Pass at least {least}.")
