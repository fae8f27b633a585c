"""Tables of crawls that other tools made, in crawlkit's columns: every analysis takes them."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from crawlkit.crawling.advertools_crawl import read_advertools
from crawlkit.crawling.foreign_tables import ForeignTables
from crawlkit.crawling.scrapy_feed import read_scrapy_feed
from crawlkit.crawling.screaming_frog import read_screaming_frog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = [
    "ForeignTables",
    "tables_from_advertools",
    "tables_from_scrapy_feed",
    "tables_from_screaming_frog",
    "tables_from_warc",
]


def tables_from_advertools(path: str | Path) -> ForeignTables:
    """Return the tables of a crawl that ``advertools.crawl`` wrote.

    Parameters
    ----------
    path
        The file of JSON lines (``.jl``), also compressed by gzip.

    Returns
    -------
    ForeignTables
        ``pages links fetches urls``. An address that redirected is a page of its own. The links
        of the pages, and so which URLs were new on which page, are known; ``urls`` has the targets
        that were not fetched as ``pending``, those on other hosts as ``excluded``. ``text_hash``
        is that of ``body_text``, whose navigation advertools keeps.

    Raises
    ------
    BadSetting
        There is no such file. A line that cannot be read is a row of ``problems``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "crawl.jl")
    ...     _ = file.write_text('{"url": "https://a.example/", "status": 200, "links_url": '
    ...         '"https://a.example/b@@https://c.example/"}' + chr(10))
    ...     tables = tables_from_advertools(file)
    >>> tables.urls[["url", "state"]].values.tolist()[1:]
    [['https://a.example/b', 'pending'], ['https://c.example/', 'excluded']]
    """
    return read_advertools(path)


def tables_from_scrapy_feed(
    path: str | Path, *, columns: Mapping[str, str] | None = None
) -> ForeignTables:
    r"""Return the tables of items that Scrapy exported.

    Parameters
    ----------
    path
        A feed in JSON, JSON lines, CSV or XML, also compressed by gzip; told apart by content.
    columns
        Column of ``pages`` -> field of the items, such as ``{"url": "address"}``; ``"links"``
        names a field with a list of URLs. Fields that bear a column's own name, or a usual other
        one (``status_code``, ``referer``), are found without.

    Returns
    -------
    ForeignTables
        ``pages`` and ``urls``; with a field of links ``links`` and ``fetches`` too. The items are
        taken to be in the order of the fetches.

    Raises
    ------
    BadSetting
        There is no such file, its items have no URL, or a column or field is not there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "items.csv")
    ...     _ = file.write_text("address,title,price\nhttps://a.example/,Home,3\n")
    ...     tables = tables_from_scrapy_feed(file, columns={"url": "address"})
    >>> tables["pages"].columns.tolist(), tables.lacks["links"]
    (['url', 'key', 'url_hash', 'host', 'title'], 'no field of the items lists URLs')
    """
    return read_scrapy_feed(path, columns)


def tables_from_screaming_frog(folder: str | Path) -> ForeignTables:
    r"""Return the tables of exports of Screaming Frog's SEO Spider.

    Parameters
    ----------
    folder
        Folder with ``internal_all.csv`` or ``internal_html.csv``, and where links are wanted
        ``all_outlinks.csv`` or ``all_inlinks.csv``; headers in English, in any encoding.

    Returns
    -------
    ForeignTables
        ``pages`` and ``urls``, with a file of links also ``links``. The order of the fetches is
        not known, so there is no discovery curve. Times have no zone and are taken for UTC. URLs
        that robots.txt forbade are ``excluded`` in ``urls`` and no pages.

    Raises
    ------
    BadSetting
        There is no such folder or file, or the headers are in another language.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "internal_all.csv")
    ...     _ = file.write_text('"Address","Status Code"\n"https://a.example/","404"\n')
    ...     tables = tables_from_screaming_frog(folder)
    >>> tables["pages"]["status"].tolist(), sorted(set(tables))
    ([404], ['pages', 'urls'])
    """
    return read_screaming_frog(folder)


def tables_from_warc(
    path: str | Path | Iterable[str | Path], *, progress: bool = True
) -> ForeignTables:
    """Return the tables of WARC files; for a crawl folder of them, see :func:`import_warc`.

    Parameters
    ----------
    path
        A WARC or ARC file, a folder of such files, or a list of both.
    progress
        Whether a bar is shown.

    Returns
    -------
    ForeignTables
        ``pages links fetches urls``, as :func:`crawlkit.import_warc` makes them. Damaged records
        are in ``problems``.

    Raises
    ------
    MissingExtra
        warcio is not installed.
    BadSetting
        None of the files is a WARC or ARC file.

    Examples
    --------
    >>> import crawlkit as ck, tempfile
    >>> with ck.lab.serve() as site, tempfile.TemporaryDirectory() as folder:
    ...     crawl = ck.crawl(
    ...         site.url + "shop/", folder + "/a", delay=0, max_pages=5, progress=False
    ...     )
    ...     count = crawl.export_warc(folder + "/shop.warc.gz")
    ...     tables = tables_from_warc(folder + "/shop.warc.gz", progress=False)
    ...     print(tables.pages["title"].equals(crawl.pages["title"]), tables.lacks["pages.elapsed"])
    True WARC files do not tell
    """
    import pandas as pd

    from crawlkit.crawling.warc_import import import_warc
    from crawlkit.crawling.warc_reader import PROBLEMS

    with tempfile.TemporaryDirectory(prefix="crawlkit-warc-") as folder:
        crawl = import_warc(path, folder + "/crawl", keep_bodies=False, progress=progress)
        frames = {name: getattr(crawl, name) for name in ("pages", "links", "fetches", "urls")}
        events = crawl.events
    damage = events[events["kind"].isin([*PROBLEMS, "warc_unresolved"])]
    detail = damage["detail"].where(damage["detail"].notna(), damage["url"])
    problems = pd.DataFrame(
        {
            "reason": damage["kind"].astype("str"),
            "row": pd.Series(pd.NA, index=damage.index, dtype="Int64"),
            "detail": detail.astype("str"),
        }
    ).reset_index(drop=True)
    counts = {str(name): int(count) for name, count in problems["reason"].value_counts().items()}
    unknown = ("pages.elapsed", "pages.expected_found", "fetches.elapsed")
    return ForeignTables(
        "WARC files",
        frames,
        lacks=dict.fromkeys(unknown, "WARC files do not tell"),
        problems=problems,
        problem_counts=counts,
    )
