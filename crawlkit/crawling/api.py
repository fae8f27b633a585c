"""``crawl`` and ``open_crawl``: what a person at a notebook calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from crawlkit.crawling.crawl_folder import Crawl
from crawlkit.crawling.running import run_crawl
from crawlkit.crawling.seeds import seeds_from_argument
from crawlkit.crawling.session import saved_settings
from crawlkit.crawling.settings import check_folder, settings_from_arguments
from crawlkit.errors import BadSetting, FolderUnusable

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from crawlkit.crawling.results import Extractor
    from crawlkit.crawling.settings import Limits
    from crawlkit.order.base import Ordering
    from crawlkit.web.fetch import Http
    from crawlkit.web.urls import UrlRules

    Progress = bool | Callable[[Mapping[str, Any]], None]
    Pattern = str | re.Pattern[str]
    Marker = str | re.Pattern[str]

__all__ = ["crawl", "open_crawl"]


def crawl(
    seeds: str | Iterable[str] | pd.DataFrame,
    folder: str | Path,
    *,
    order: str | Ordering = "breadth_first",
    max_pages: int | None = 1_000,
    max_depth: int | None = None,
    scope: str | Iterable[str] = "host",
    include: Pattern | Iterable[Pattern] = (),
    exclude: Pattern | Iterable[Pattern] = (),
    delay: float = 1.0,
    workers: int = 8,
    obey_robots: bool = True,
    canonical: Literal["record", "merge"] = "record",
    url_rules: UrlRules | None = None,
    extract: Extractor | None = None,
    limits: Limits | None = None,
    http: Http | None = None,
    keep_bodies: bool = True,
    random_seed: int = 0,
    on_trap: Literal["warn", "hold", "stop"] = "warn",
    expect: Marker | Iterable[Marker] = (),
    progress: Progress = True,
) -> Crawl:
    """Crawl from seeds into a folder, or go on with the crawl that is in it.

    Everything is on disk the moment it is known. Kill the process, run the same call again, and
    it goes on where it was.

    Parameters
    ----------
    seeds
        A URL, a list of URLs, or a DataFrame with a column ``url`` or ``loc`` and, where present,
        ``source`` (what named the URL, such as ``"sitemap"`` or ``"feed"``), ``lastmod``
        (timestamps or W3C text; UTC where no zone is given) and ``found_in`` (what it was read
        from). They are kept in ``urls``, as ``source``, ``lastmod`` and ``found_on``.
    folder
        Folder of the crawl; made if it is not there.
    order
        Which page next: a name in ``ck.ORDERINGS`` (not ``omniscient``), or a ``ck.Ordering``.
        An object stays as it is: the crawl works on a copy.
    max_pages
        Pages to ask for in all, whatever comes of them; ``None`` for no limit.
    max_depth
        Links to follow from a seed.
    scope
        ``"host"`` (the seeds' hosts), ``"site"`` (their registered domains), ``"any"``, or a list
        of hosts.
    include, exclude
        Patterns of URLs to take and to leave: robots-style wildcards such as ``"/blog/"`` or
        ``"/*?sort="``, or compiled regular expressions. Seeds are always taken.
    delay
        Seconds from start to start between two requests to one host. A longer Crawl-delay in
        robots.txt is honored, up to 300 s.
    workers
        Requests in flight at most; one per host unless ``delay=0``.
    obey_robots
        Whether robots.txt is obeyed (RFC 9309).
    canonical
        ``"record"`` only notes a page's canonical; ``"merge"`` lets a page's own canonical, on
        the same host, become its key.
    url_rules
        Which spellings are one page; see ``ck.UrlRules``.
    extract
        Function of a page that yields dicts with an ``id``: the records.
    limits
        Further limits; see ``ck.Limits``.
    http
        How to ask: User-Agent, contact, timeout, retries, headers, proxies; see ``ck.Http``.
    keep_bodies
        Whether raw responses are kept.
    random_seed
        Seed of every random draw.
    on_trap
        What to do about a region that makes URLs without end, or copies (see ``ck.find_traps``;
        looked for now and then while the crawl runs): ``"warn"`` tells of it, in the bar and in
        ``summary()["traps"]``; ``"hold"`` sets its URLs aside, those that wait and those that
        are found later (state ``excluded``, reason ``trap_held``), and goes on with the rest,
        until ``crawl.release()``; ``"stop"`` ends the crawl. May be changed on a resume.
    expect
        What every page of the site shows: texts (looked for in the source and in the visible
        text, upper and lower case apart) or compiled regular expressions (searched for in the
        source). ``pages.expected_found`` says whether a page has all of them; null for what is
        no HTML.
    progress
        ``True`` for a bar, ``False`` for none, or a function that is given the numbers.

    Returns
    -------
    Crawl
        The crawl, ended for the reason in ``stop_reason``. Interrupting the cell stops cleanly
        and returns it too.

    Raises
    ------
    BadSetting
        An argument cannot work; nothing was written.
    SettingsChanged
        The folder was crawled with another order, scope, canonical, URL rules or markers.
    FolderInUse
        Another process crawls in this folder.
    FolderUnusable
        The folder is no crawl, belongs to a newer crawlkit, or cannot be written.
    StorageFailed
        The disk is full; everything committed is safe.

    Examples
    --------
    >>> import crawlkit as ck, tempfile
    >>> with ck.lab.serve() as site, tempfile.TemporaryDirectory() as folder:
    ...     crawl = ck.crawl(site.url + "shop/", folder, delay=0, max_pages=30, progress=False)
    ...     print(crawl.stop_reason, len(crawl.pages))
    max_pages 30
    """
    settings = settings_from_arguments(
        order=order,
        scope=scope,
        include=include,
        exclude=exclude,
        url_rules=url_rules,
        limits=limits,
        http=http,
        max_pages=max_pages,
        max_depth=max_depth,
        delay=delay,
        workers=workers,
        obey_robots=obey_robots,
        canonical=canonical,
        keep_bodies=keep_bodies,
        random_seed=random_seed,
        on_trap=on_trap,
        expect=expect,
    )
    if extract is not None and not callable(extract):
        raise BadSetting("extract", f"{extract!r} is no function", "Pass a function of a page.")
    checked = seeds_from_argument(seeds, settings.url_rules)
    path = check_folder(folder)
    saved = saved_settings(path)
    if saved is not None:
        settings.check_resume(saved)
    run_crawl(path, settings, checked, extract=extract, progress=progress)
    return Crawl(path, settings=settings, extract=extract)


def open_crawl(folder: str | Path) -> Crawl:
    """Open the crawl in a folder for reading; a crawl may be running in it.

    Parameters
    ----------
    folder
        The crawl folder; it may be read-only.

    Raises
    ------
    FolderUnusable
        There is no crawl in it, or one of a newer crawlkit.
    """
    path = check_folder(folder)
    if not path.exists() or saved_settings(path) is None:
        raise FolderUnusable(f"{path} holds no crawl. Start one with ck.crawl(seeds, folder).")
    return Crawl(path)
