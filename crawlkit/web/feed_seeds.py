"""Seeds from a feed: where the feed is, and its entries as rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.errors import BadSetting
from crawlkit.web.feed_dates import parse_rfc822
from crawlkit.web.feeds import Feed, FeedEntry, read_feed
from crawlkit.web.html import parse_page
from crawlkit.web.seed_documents import DocumentFetcher, checked_url
from crawlkit.web.seed_tables import SeedTable, moment
from crawlkit.web.url_addresses import Refusal, resolve_address
from crawlkit.web.w3c_dates import parse_w3c

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from crawlkit.web.fetch import Http

__all__ = ["FEED_TYPES", "feed_date", "feed_links", "feed_table"]

#: Media types by which pages name their feeds.
FEED_TYPES = (
    "application/rss+xml",
    "application/atom+xml",
    "application/feed+json",
    "application/rdf+xml",
    "application/json",
    "text/xml",
    "application/xml",
)

_COLUMNS = {"title": "str", "published": "datetime64[us, UTC]", "issues": "str"}
# A URL, or one whose scheme was forgotten.
_URL_LIKE = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*://|[\w-]+(?:\.[\w-]+)+/|www\.)")


class _Found(NamedTuple):
    """The document that a source led to."""

    feed: Feed
    url: str | None
    others: tuple[str, ...] = ()


def feed_date(text: str | None) -> tuple[datetime | None, str | None]:
    """Return a feed's date and what is wrong with it; a time without a zone is no moment: null.

    Examples
    --------
    >>> feed_date("Sat, 07 Sep 02 00:00:01 GMT")[0].isoformat()
    '2002-09-07T00:00:01+00:00'
    >>> feed_date("2002-09-07T00:00:01"), feed_date("soon")
    ((None, 'no_zone'), (None, 'unreadable'))
    """
    if text is None:
        return None, None
    read = parse_rfc822(text) or parse_w3c(text)
    if read is None:
        return None, "unreadable"
    if not read.tz_known and read.granularity in ("minute", "second"):
        return None, "no_zone"
    return moment(read.start), None


def feed_links(body: bytes, url: str, content_type: str | None) -> list[str]:
    """Return the addresses of the feeds that an HTML page names, in its order."""
    page = parse_page(body, url=url, content_type=content_type)
    found = []
    for node in page.css("link[rel][href]"):
        attributes = node.attributes
        rel = (attributes.get("rel") or "").lower().split()
        kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
        if ("alternate" in rel and kind in FEED_TYPES and "stylesheet" not in rel) or "feed" in rel:
            address = resolve_address(attributes.get("href") or "", page.base_url)
            if not isinstance(address, Refusal) and address not in found:
                found.append(address)
    return found


def feed_table(
    source: object, *, http: Http | None, obey_robots: bool, max_urls: int
) -> pd.DataFrame:
    """Read a source and return what `seeds_from_feed` promises."""
    table = SeedTable("feed", _COLUMNS)
    found = _find(source, http, max_urls, obey_robots=obey_robots)
    feed, url = found.feed, found.url
    if feed.reason is not None and not feed.entries:
        table.refuse(url, feed.reason, url)
    base = url if url is not None and url.startswith("http") else feed.home
    for entry in feed.entries:
        _add(table, entry, base, url)
    return table.frame(
        feed=url,
        feeds=found.others,
        kind=feed.kind,
        title=feed.title,
        reason=feed.reason,
    )


def _add(table: SeedTable, entry: FeedEntry, base: str | None, found_in: str | None) -> None:
    if entry.link is None:
        table.refuse(entry.title, "no_link", found_in)
        return
    issues = list(entry.issues)
    dates = {}
    for name, text in (("updated", entry.updated), ("published", entry.published)):
        dates[name], problem = feed_date(text)
        if problem is not None:
            issues.append(f"{name}_{problem}")
    inner = base
    if entry.base is not None:
        resolved = resolve_address(entry.base, base)
        inner = base if isinstance(resolved, Refusal) else resolved
    table.add(
        entry.link,
        base=inner,
        lastmod=dates["updated"] or dates["published"],
        found_in=found_in,
        title=entry.title,
        published=dates["published"],
        issues=" ".join(dict.fromkeys(issues)) or None,
    )


def _find(source: object, http: Http | None, most: int, *, obey_robots: bool) -> _Found:
    """Return the feed of a URL, a page that names one, a file, bytes or text."""
    if isinstance(source, bytes):
        return _Found(read_feed(source, most=most), None)
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n")[:1] in ("<", "{"):
        return _Found(read_feed(source.encode("utf-8", "replace"), most=most), None)
    is_url = isinstance(source, str) and _URL_LIKE.match(source) and not _is_file(source)
    if isinstance(source, Path) or (isinstance(source, str) and not is_url):
        return _of_file(source, most)
    address = checked_url("source", source)
    with DocumentFetcher(address, http, obey_robots=obey_robots) as documents:
        found, pages_feeds = _fetch(documents, address, most)
        if pages_feeds:
            first = pages_feeds[0]
            return _fetch(documents, first, most)[0]._replace(others=tuple(pages_feeds))
        return found


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long a name, a NUL
        return False


def _of_file(source: str | Path, most: int) -> _Found:
    try:
        data = Path(source).read_bytes()
    except (OSError, ValueError) as error:
        problem = f"{str(source)!r} cannot be read ({getattr(error, 'strerror', error)})"
        raise BadSetting("source", problem, "Pass a URL, a file, bytes or text.") from None
    return _Found(read_feed(data, most=most), str(source))


def _fetch(documents: DocumentFetcher, address: str, most: int) -> tuple[_Found, list[str]]:
    """Return the feed at an address, and if it is a page the feeds that it names."""
    response = documents.fetch(address)
    reason = response.error
    if reason is None and response.status != 200:
        reason = f"http_{response.status}"
    if reason is not None:
        return _Found(Feed(reason=reason), response.url), []
    feed = read_feed(response.body, most=most)
    links = []
    if feed.kind is None:
        links = feed_links(response.body, response.url, response.content_type)
        if not links and feed.reason == "html_page":
            feed.reason = "no_feed_named"
    return _Found(feed, response.url), links
