"""Visits to pages of a sitemap: what a page says of its date, and what its text was.

Pages are fetched politely, one after the other, or taken from the tables of a crawl. Either way the
outcome is the same rows; a page that could not be had is a row with the reason.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from crawlkit.audit.lastmod_stamps import DAY, seconds_of
from crawlkit.audit.text_change import main_text
from crawlkit.errors import BadSetting, BadURL
from crawlkit.reprs import is_null
from crawlkit.web.http_dates import http_time
from crawlkit.web.urls import normalize_url

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from crawlkit.web.date_candidates import DateCandidate
    from crawlkit.web.http_settings import Http
    from crawlkit.web.response import Response
    from crawlkit.web.robots import RobotsRules

__all__ = ["CrawledPages", "PageVisits", "PolitePages", "Visit", "read_visit"]

NAN = math.nan
_LONGEST_DELAY = 300.0


class Visit(NamedTuple):
    """One page at one moment.

    Attributes
    ----------
    url
        Its address.
    at
        When it was seen, by the server's own clock where it tells; seconds since 1970 UTC.
    reason
        Why there is nothing to read, or None.
    text_hash, text_hash_by, sketch
        Its main text, see `crawlkit.audit.text_change`; None where there is none.
    modified, modified_end, zone_known
        The interval that the page itself gives for its last change; NaN where it gives none.
    modified_source, modified_raw
        Where that stands, and how.
    http_modified
        HTTP Last-Modified; NaN where there is none, or where it is the moment of the answer.
    dates
        All candidates for the page's dates, best first, see `page_dates`.
    """

    url: str
    at: float
    reason: str | None = None
    text_hash: str | None = None
    text_hash_by: str | None = None
    sketch: tuple[int, ...] = ()
    modified: float = NAN
    modified_end: float = NAN
    zone_known: bool = True
    modified_source: str | None = None
    modified_raw: str | None = None
    http_modified: float = NAN
    dates: tuple[DateCandidate, ...] = ()


class PageVisits(Protocol):
    """Anything that can be asked for a page."""

    def visit(self, url: str) -> Visit:
        """Return what is at an address now."""


def read_visit(
    url: str, body: bytes, headers: Mapping[str, str], *, at: float, extractor: str = "core"
) -> Visit:
    """Return what a page that was fetched says.

    Parameters
    ----------
    url
        Its address.
    body
        The decoded body.
    headers
        Of the answer: Content-Type, Date and Last-Modified are read.
    at
        When it was fetched, in seconds since 1970 UTC; the header Date goes before it.
    extractor
        What finds the main text, see `main_text`.
    """
    from crawlkit.web.date_candidates import date_candidates
    from crawlkit.web.html import parse_page

    sent = http_time(headers.get("Date"))
    at = at if sent is None else sent
    page = parse_page(body, url=url, content_type=headers.get("Content-Type"), headers=headers)
    if page.error in ("not_html", "unparsable"):
        return Visit(url, at, page.error)
    text = main_text(page, extractor=extractor)
    dates = tuple(date_candidates(page, headers))
    changed = http_time(headers.get("Last-Modified"))
    visit = Visit(
        url,
        at,
        text_hash=text.hash,
        text_hash_by=text.hash_by,
        sketch=text.sketch,
        # A page that was "modified" as it was sent was made as it was sent.
        http_modified=NAN if changed is None or abs(changed - at) <= 2 else changed,
        dates=dates,
    )
    for found in dates:
        if found.property == "modified" and found.own and found.date and found.source != "http":
            return visit._replace(
                modified=found.date.start,
                modified_end=found.date.end,
                zone_known=found.date.tz_known,
                modified_source=found.source,
                modified_raw=found.raw,
            )
    return visit


class PolitePages:
    """Fetches pages one after the other, as robots.txt and a delay allow.

    Parameters
    ----------
    http
        How to ask.
    hosts
        Hosts (without port) that may be asked; what a sitemap lists elsewhere is not.
    delay
        Seconds from start to start of two requests to one host.
    extractor
        What finds the main text.
    """

    def __init__(
        self, http: Http | None, *, hosts: set[str], delay: float, extractor: str = "core"
    ) -> None:
        from crawlkit.web.fetch import Fetcher

        self._hosts = hosts
        self._delay = delay
        self._extractor = extractor
        self._fetcher = Fetcher(http, allow_private=lambda host: host in hosts)
        self._agent = self._fetcher.http.user_agent
        self._rules: dict[str, RobotsRules] = {}
        self._asked: dict[str, float] = {}
        self._paused: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._fetcher.close()

    def visit(self, url: str) -> Visit:
        """Fetch a page; never raises for anything that comes from the web."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname not in self._hosts:
            return Visit(url, time.time(), "other_host")
        refused = self._refused(url, parts.netloc)
        if refused is not None:
            return Visit(url, time.time(), refused)
        self._wait(parts.netloc)
        response = self._fetcher.fetch(url)
        self._note(parts.netloc, response)
        if response.retry_after is not None:
            self._paused[parts.netloc] = time.monotonic() + min(response.retry_after, 60.0)
        if response.error is not None:
            return Visit(url, response.started_at, response.error)
        if response.location is not None:
            return Visit(url, response.started_at, "redirected")
        if response.status != 200:
            return Visit(url, response.started_at, f"http_{response.status}")
        return read_visit(
            url,
            response.body,
            response.headers,
            at=response.started_at,
            extractor=self._extractor,
        )

    def _refused(self, url: str, authority: str) -> str | None:
        """Return why robots.txt forbids a page, or None."""
        from crawlkit.web.robots import robots_url, rules_from_responses

        if authority not in self._rules:
            self._wait(authority)
            chain = self._fetcher.fetch_following(robots_url(url), before_hop=self._before_hop)
            self._note(urlsplit(chain[-1].url).netloc, chain[-1])
            self._rules[authority] = rules_from_responses(chain).rules
        rules = self._rules[authority]
        if rules.allows(url, self._agent):
            return None
        return "robots_unreachable" if rules.reason else "robots_disallowed"

    def _note(self, authority: str, response: Response) -> None:
        """Count the delay from when the request had gone out, which connecting may put off."""
        if response.sent_at is not None:
            self._asked[authority] = max(self._asked.get(authority, -math.inf), response.sent_at)

    def _before_hop(self, target: str) -> str | None:
        parts = urlsplit(target)
        if parts.hostname not in self._hosts:
            return "other_host"
        self._wait(parts.netloc)
        return None

    def _wait(self, authority: str) -> None:
        """Wait until a host may be asked again."""
        delay = self._delay
        rules = self._rules.get(authority)
        if rules is not None and delay > 0:
            delay = max(delay, min(rules.crawl_delay(self._agent) or 0.0, _LONGEST_DELAY))
        now = time.monotonic()
        due = max(
            self._asked.get(authority, -math.inf) + delay, self._paused.pop(authority, -math.inf)
        )
        if due > now:
            time.sleep(due - now)
        self._asked[authority] = time.monotonic()


class CrawledPages:
    """Pages that a crawl has fetched already.

    Parameters
    ----------
    crawl_or_pages
        A crawl, or its table ``pages``: ``url``, and where they are there ``status error
        fetched_at last_modified date_modified date_modified_source text_hash text_hash_by``.
    """

    def __init__(self, crawl_or_pages: Any) -> None:
        import pandas as pd

        frame = (
            crawl_or_pages
            if isinstance(crawl_or_pages, pd.DataFrame)
            else getattr(crawl_or_pages, "pages", None)
        )
        if not isinstance(frame, pd.DataFrame) or "url" not in frame.columns:
            raise BadSetting(
                "pages", "this is neither a crawl nor its table", "Pass a crawl, or crawl.pages."
            )
        kept = [name for name in _PAGE_COLUMNS if name in frame.columns]
        table = frame[kept].copy()
        for name in ("fetched_at", "last_modified", "date_modified"):
            table[name] = seconds_of(table[name]) if name in kept else NAN
        table = table.drop_duplicates("url", keep="last")
        rows: list[Any] = table.to_dict("records")
        self._rows: dict[str, dict[str, Any]] = {row["url"]: row for row in rows}
        self._keys = {row["key"]: row["url"] for row in rows if isinstance(row.get("key"), str)}

    def __contains__(self, url: object) -> bool:
        return self._row(str(url)) is not None

    def _row(self, url: str) -> dict[str, Any] | None:
        """Return the row of an address, or of another spelling of it."""
        row = self._rows.get(url)
        if row is not None or not self._keys:
            return row
        try:
            return self._rows.get(self._keys.get(normalize_url(url), ""))
        except BadURL:
            return None

    def visit(self, url: str) -> Visit:
        """Return what the crawl found at an address."""
        row = self._row(url)
        if row is None:
            return Visit(url, NAN, "not_crawled")
        at = row["fetched_at"]
        error, status = row.get("error"), row.get("status")
        if not is_null(error):
            return Visit(url, at, str(error))
        if status is not None and not is_null(status) and status != 200:
            return Visit(url, at, f"http_{int(status)}")
        digest, by = row.get("text_hash"), row.get("text_hash_by")
        modified, source = row["date_modified"], row.get("date_modified_source")
        changed = row["last_modified"]
        by_http = source == "http"
        # A table holds moments. One at midnight was a day, most likely.
        day = modified % DAY == 0
        return Visit(
            url,
            at,
            text_hash=None if is_null(digest) else str(digest),
            text_hash_by=None if is_null(by) else str(by),
            modified=NAN if by_http else modified,
            modified_end=NAN if by_http else modified + (DAY if day else 1.0),
            zone_known=not day,
            modified_source=None if is_null(source) or by_http else str(source),
            http_modified=NAN if abs(changed - at) <= 2 else changed,
        )


_PAGE_COLUMNS = (
    "url",
    "key",
    "status",
    "error",
    "fetched_at",
    "last_modified",
    "date_modified",
    "date_modified_source",
    "text_hash",
    "text_hash_by",
)
