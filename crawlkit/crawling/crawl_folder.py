"""``Crawl``: a crawl in its folder, its tables, and the calls that go on with it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Literal

from crawlkit.crawling.archive import find_url, load_body
from crawlkit.crawling.database import read_only, transaction
from crawlkit.crawling.readers import read_bodies, read_records, read_url_batches, read_urls
from crawlkit.crawling.revive import release, retry_failed, set_aside
from crawlkit.crawling.running import run_crawl
from crawlkit.crawling.schema import COLUMNS, SEGMENTED
from crawlkit.crawling.segment_readers import read_batches, read_table
from crawlkit.crawling.session import open_session, saved_settings
from crawlkit.crawling.settings import Settings
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
    from crawlkit.crawling.session import Session

    Progress = bool | Callable[[Mapping[str, Any]], None]
    Pattern = str | re.Pattern[str]
    Marker = str | re.Pattern[str]

__all__ = ["Crawl"]


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
            is held any more is not held again. One that the crawl has stopped for is let go on by
            its own pattern, as ``summary()["traps"]`` gives it.
        """
        patterns = None if pattern is None else compile_patterns(pattern, name="pattern")
        with self._editing() as session, transaction(session.connection):
            return release(session.connection, session.frontier, patterns)

    @contextlib.contextmanager
    def _editing(self) -> Iterator[Session]:
        with open_session(self.folder, self.settings) as session:
            yield session
            flush_buffer(session.connection, self.folder)
