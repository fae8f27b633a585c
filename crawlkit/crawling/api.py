"""``crawl``, ``open_crawl`` and ``Crawl``: what a person at a notebook calls."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any, Literal

from crawlkit.crawling.archive import find_url, load_body
from crawlkit.crawling.database import read_only, transaction
from crawlkit.crawling.engine import Engine
from crawlkit.crawling.finish import finish_tables
from crawlkit.crawling.interrupts import uninterrupted
from crawlkit.crawling.meta import save_meta
from crawlkit.crawling.privacy import private_allowance
from crawlkit.crawling.progress import progress_bar
from crawlkit.crawling.readers import read_bodies, read_records, read_url_batches, read_urls
from crawlkit.crawling.revive import release, retry_failed, set_aside
from crawlkit.crawling.schema import COLUMNS, SEGMENTED
from crawlkit.crawling.seeds import seeds_from_argument
from crawlkit.crawling.segment_readers import read_batches, read_table
from crawlkit.crawling.session import open_session, saved_settings
from crawlkit.crawling.settings import Settings, check_folder, settings_from_arguments
from crawlkit.crawling.summary import summarize
from crawlkit.crawling.tables import flush_buffer
from crawlkit.errors import BadSetting, BadURL, FolderUnusable
from crawlkit.reprs import crawl_html
from crawlkit.web.patterns import compile_patterns
from crawlkit.web.urls import UrlRules

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import networkx as nx
    import pandas as pd
    import pyarrow as pa

    from crawlkit.crawling.results import Extractor
    from crawlkit.crawling.session import Seed, Session
    from crawlkit.crawling.settings import Limits
    from crawlkit.order.base import Ordering
    from crawlkit.web.fetch import Http

    Progress = bool | Callable[[Mapping[str, Any]], None]
    Pattern = str | re.Pattern[str]
    Marker = str | re.Pattern[str]

__all__ = ["Crawl", "crawl", "open_crawl"]


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


def run_crawl(
    folder: Path,
    settings: Settings,
    seeds: Sequence[Seed],
    *,
    extract: Extractor | None,
    progress: Progress,
    on_engine: Callable[[Engine], None] | None = None,
) -> str:
    """Own the folder, crawl until an end, and leave its tables in order; return the reason."""
    with contextlib.ExitStack() as hold:
        session = hold.enter_context(open_session(folder, settings, seeds, to_crawl=True))
        seed_hosts = _seed_hosts(session)
        engine = Engine(
            folder,
            session.connection,
            session.frontier,
            settings,
            session.counters,
            extractor=extract,
            allow_private=private_allowance(seed_hosts),
            auth_hosts=seed_hosts,
        )
        if on_engine is not None:
            on_engine(engine)
        if session.stop is not None:
            engine.stop(session.stop)
        before = session.counters.fetches
        began = time.monotonic()
        try:
            with progress_bar(progress, settings, engine) as tick:
                reason = engine.run(tick)
        except KeyboardInterrupt:  # in the bar, or a second one: the engine has ended
            reason = engine.stop_reason or "interrupted"
        hurry = threading.Event()

        def finish() -> None:
            with transaction(session.connection):
                save_meta(
                    session.connection,
                    "last_run",
                    {
                        "requests": session.counters.fetches - before,
                        "seconds": round(time.monotonic() - began, 3),
                    },
                )
            finish_tables(session, reason, hurry)
            hold.close()

        uninterrupted(finish, hurry.set)
    return reason


def _seed_hosts(session: Session) -> list[str]:
    return [
        str(row[0])
        for row in session.connection.execute(
            "SELECT DISTINCT hosts.name FROM urls JOIN hosts ON hosts.id = urls.host "
            "WHERE urls.source NOT IN ('link', 'redirect', 'warc')"
        )
    ]


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


class Crawl:
    """A crawl and its folder: tables to read, and calls that go on with it.

    Tables are read anew at each access, so they also follow a crawl that is running.

    Attributes
    ----------
    folder
        The crawl folder.
    """

    def __init__(
        self,
        folder: Path,
        *,
        settings: Settings | None = None,
        extract: Extractor | None = None,
    ) -> None:
        self.folder = folder
        self._settings = settings
        self._extract = extract

    # -- tables ----------------------------------------------------------------------------

    @property
    def pages(self) -> pd.DataFrame:
        """One row per URL asked for: its latest fetch."""
        return read_table(self.folder, "pages")

    @property
    def links(self) -> pd.DataFrame:
        """One row per link found, keyed by ``source`` and ``position``."""
        return read_table(self.folder, "links")

    @property
    def fetches(self) -> pd.DataFrame:
        """One row per HTTP request."""
        return read_table(self.folder, "fetches")

    @property
    def urls(self) -> pd.DataFrame:
        """One row per URL ever found, in order of discovery."""
        return read_urls(self.folder)

    @property
    def records(self) -> pd.DataFrame:
        """One row per record that the extractor gave."""
        return read_records(self.folder)

    @property
    def changes(self) -> pd.DataFrame:
        """One row per page and round of a recrawl."""
        return read_table(self.folder, "changes")

    @property
    def events(self) -> pd.DataFrame:
        """What else happened: refusals by robots.txt, limits, recoveries, failing extractors."""
        return read_table(self.folder, "events")

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield some columns of a large table in pieces, without reading anything else.

        Parameters
        ----------
        table
            ``"pages"``, ``"links"``, ``"fetches"``, ``"urls"``, ``"changes"`` or ``"events"``.
        columns
            Names of its columns.

        Yields
        ------
        pyarrow.Table
            Rows in the order in which they were written. In ``pages`` the last row of a URL is
            its latest; :attr:`pages` has only those.

        Raises
        ------
        BadSetting
            On an unknown table or column.
        """
        tables = (*SEGMENTED, "urls")
        if table not in tables:
            raise BadSetting("table", f"{table!r} is none", f"Pass one of {', '.join(tables)}.")
        unknown = [name for name in columns if name not in COLUMNS[table]]
        if unknown:
            known = ", ".join(COLUMNS[table])
            raise BadSetting("columns", f"{table} has no {unknown[0]!r}", f"There are: {known}.")
        if table == "urls":
            return read_url_batches(self.folder, columns)
        return read_batches(self.folder, table, columns)

    # -- state -----------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """What the crawl was told; passwords are not saved, so they are missing here."""
        if self._settings is not None:
            return self._settings
        saved = saved_settings(self.folder)
        if saved is None:
            raise FolderUnusable(f"{self.folder} holds no crawl any more.")
        return Settings.from_dict(saved)

    @property
    def stop_reason(self) -> str | None:
        """Why the crawl ended: ``finished``, a limit's name, ``on_trap: KIND REGION``,
        ``interrupted``; None if it was killed or is running."""  # noqa: D205, D209 - one sentence
        reason: str | None = self.summary()["stop_reason"]
        return reason

    @property
    def finished(self) -> bool:
        """Whether every URL in scope has been asked for."""
        return bool(self.summary()["finished"])

    def summary(self) -> dict[str, Any]:
        """Return the crawl's numbers; see :func:`crawlkit.crawling.summary.summarize`."""
        with read_only(self.folder) as connection:
            return {"folder": str(self.folder), **summarize(connection)}

    def __repr__(self) -> str:
        numbers = self.summary()
        return (
            f"<Crawl {str(self.folder)!r}: {numbers['stop_reason'] or 'not ended'}, "
            f"{numbers['pages']} pages, {numbers['urls']['pending']} pending>"
        )

    def _repr_html_(self) -> str:
        return crawl_html(self.summary())

    # -- contents --------------------------------------------------------------------------

    def graph(self, redirects: Literal["follow", "edge"] = "follow") -> nx.DiGraph[str]:
        """Return the link graph; see :func:`crawlkit.order.graph.graph_from_tables`."""
        from crawlkit.order.graph import graph_from_tables

        return graph_from_tables(self.pages, self.links, redirects=redirects)

    def body(self, url: str) -> bytes:
        """Return the raw body of a page, given in any spelling that the crawl's rules merge.

        Raises
        ------
        BadURL
            The page is not in this crawl, or its body was not kept.
        """
        rules = UrlRules.from_dict((saved_settings(self.folder) or {})["url_rules"])
        with read_only(self.folder) as connection:
            page_id = find_url(connection, url, rules)
            body = None if page_id is None else load_body(connection, page_id)
        if body is None:
            reason = "not_in_this_crawl" if page_id is None else "body_not_kept"
            raise BadURL(url, reason, "has no body here")
        return body

    def bodies(self, urls: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield URL and raw body of many pages; those without a stored body are left out.

        Parameters
        ----------
        urls
            In any spelling that the crawl's rules merge.
        """
        rules = UrlRules.from_dict((saved_settings(self.folder) or {})["url_rules"])
        return read_bodies(self.folder, urls, rules)

    def export_warc(self, path: str | Path, *, gzip: bool = True) -> int:
        """Write the raw responses as a WARC file; return how many.

        See :func:`crawlkit.crawling.warc.export_warc`. Needs the extra ``warc``.
        """
        from crawlkit.crawling.warc import export_warc

        return export_warc(self.folder, path, gzip=gzip)

    # -- going on --------------------------------------------------------------------------

    def resume(
        self,
        *,
        extract: Extractor | None = None,
        progress: Progress = True,
        **changes: Any,
    ) -> Crawl:
        """Go on, with larger limits or other settings where given; return this crawl.

        Parameters
        ----------
        extract
            The extractor; by default the one that this object was made with.
        progress
            As in :func:`crawl`.
        **changes
            ``max_pages``, ``max_depth``, ``delay``, ``workers``, ``include``, ``exclude``,
            ``on_trap``, ``http``, ``pages_per_host``, ``bytes``, ``seconds``, ``known_urls`` ...

        Raises
        ------
        BadSetting
            A setting that cannot be changed, or a wrong value.
        """
        settings = self.settings.with_changes(**changes)
        extract = extract or self._extract
        run_crawl(self.folder, settings, (), extract=extract, progress=progress)
        self._settings, self._extract = settings, extract
        return self

    def retry(self, reason: str | None = None, *, progress: Progress = True) -> Crawl:
        """Ask again for what failed, and go on; return this crawl.

        Parameters
        ----------
        reason
            Only failures of this reason, as in ``urls.reason``; also ``"robots"``,
            ``"robots_unreachable"`` and ``"host_unreachable"``.
        progress
            As in :func:`crawl`.
        """
        with self._editing() as session, transaction(session.connection):
            count = retry_failed(session.connection, session.frontier, reason)
        if reason is not None and not count:
            summary = self.summary()
            there = ", ".join({**summary["failed"], **summary["excluded"]}) or "none"
            raise BadSetting(
                "reason", f"nothing failed for {reason!r}", f"Reasons in this crawl: {there}."
            )
        return self.resume(progress=progress)

    def exclude(self, pattern: Pattern | Iterable[Pattern]) -> int:
        """Set the pending URLs that match aside, keeping their rows; return how many."""
        patterns = compile_patterns(pattern, name="pattern")
        with self._editing() as session, transaction(session.connection):
            return set_aside(session.connection, session.frontier, patterns)

    def release(self, pattern: Pattern | Iterable[Pattern] | None = None) -> int:
        """Bring back URLs that :meth:`exclude` or ``on_trap="hold"`` set aside; return how many.

        Parameters
        ----------
        pattern
            Which of them; by default all. A region that was held as a trap and of which nothing
            is held any more is not held again.
        """
        patterns = None if pattern is None else compile_patterns(pattern, name="pattern")
        with self._editing() as session, transaction(session.connection):
            return release(session.connection, session.frontier, patterns)

    @contextlib.contextmanager
    def _editing(self) -> Iterator[Session]:
        with open_session(self.folder, self.settings) as session:
            yield session
            flush_buffer(session.connection, self.folder)
