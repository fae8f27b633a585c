"""News feeds - RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0, JSON Feed - as entries with their URLs.

XML is read tag by tag in constant memory under defusedxml's rules, from the same pieces of UTF-8 as
sitemaps are; a broken feed is mended once. Entries found before a fault are kept. Nothing here
raises for anything that a feed holds.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.parsers import expat

from defusedxml.common import DefusedXmlException, DTDForbidden

from crawlkit.web.feed_tags import FeedTags
from crawlkit.web.guarded_xml import guarded_parser, let_go
from crawlkit.web.sitemap_bytes import find_encoding, head_of, transcoded, unpacked
from crawlkit.web.sitemap_repair import repaired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Feed", "FeedEntry", "read_feed"]

#: The most bytes of a feed, unpacked, and the most seconds spent on it.
FEED_BYTES = 20_971_520
FEED_SECONDS = 30.0

_JUNK_AFTER_ROOT = 9
_SPACE = b" \t\r\n\f\0"
_NO_ISSUES: tuple[str, ...] = ()
_JSON_DATES = ("date_modified", "date_published")


class FeedEntry(NamedTuple):
    """One entry, as written.

    Attributes
    ----------
    link
        Its URL, or what stands for it; None where there is none.
    base
        What a relative link is resolved against; None where only the feed's own URL can be.
    title, updated, published
        As written, without space around; None where absent.
    issues
        ``"link_from_id"`` (there is no link, its permanent id is a URL), ``"bad_base"``,
        ``"recovered"``, ``"truncated"``.
    """

    link: str | None
    base: str | None
    title: str | None
    updated: str | None
    published: str | None
    issues: tuple[str, ...] = ()


@dataclass(slots=True)
class Feed:
    """A feed as far as it could be read.

    Attributes
    ----------
    kind
        ``"rss"``, ``"atom"``, ``"json"``, or None: this is no feed.
    title, home
        Its title and the page that it belongs to, as written.
    entries
        In their order.
    reason
        Why it could not be read to its end: ``"html_page"``, ``"not_a_feed"``, ``"empty_file"``,
        ``"entities_forbidden"``, ``"parse_error"``, ``"truncated"``, ``"time_limit"``,
        ``"file_too_large"``; None when it could.
    """

    kind: str | None = None
    title: str | None = None
    home: str | None = None
    entries: list[FeedEntry] = field(default_factory=list)
    reason: str | None = None


def read_feed(data: bytes, *, most: int = 100_000) -> Feed:
    r"""Read a feed.

    Parameters
    ----------
    data
        The file, compressed or not.
    most
        The most entries to keep.

    Returns
    -------
    Feed
        Entries, and the reason where not all could be read.

    Examples
    --------
    >>> feed = read_feed(b'''<rss><channel><item><link>/a</link><title>A</title></item>
    ... <item><guid>http://b.example/1</guid></item></channel></rss>''')
    >>> feed.kind, [(entry.link, entry.issues) for entry in feed.entries]
    ('rss', [('/a', ()), ('http://b.example/1', ('link_from_id',))])
    >>> read_feed(b"<!doctype html><title>Hello</title>").reason
    'html_page'
    """
    deadline = time.monotonic() + FEED_SECONDS
    head = head_of(data)
    encoding, skip = find_encoding(head)
    start = b"".join(transcoded([head[skip:]], encoding))
    if not start.strip(_SPACE):
        return Feed(reason="empty_file")
    if start.lstrip(b"\xef\xbb\xbf" + _SPACE).startswith(b"{"):
        return _read_json(b"".join(_pieces(data, encoding, skip, Feed())), most)
    notes = Feed()
    feed = _parse(_pieces(data, encoding, skip, notes), deadline, most)
    if feed.reason in ("parse_error", "not_a_feed") and not _is_html(start):
        mended = _parse(
            repaired(_pieces(data, encoding, skip, notes), lambda _: None), deadline, most
        )
        if mended.kind is not None and len(mended.entries) >= len(feed.entries):
            feed = mended
            feed.entries = [
                entry._replace(issues=(*entry.issues, "recovered")) for entry in feed.entries
            ]
    if feed.kind is None:
        other = "entities_forbidden" if feed.reason == "entities_forbidden" else "not_a_feed"
        feed.reason = "html_page" if _is_html(start) else other
    feed.reason = notes.reason if notes.reason and feed.kind else feed.reason
    return feed


def _is_html(start: bytes) -> bool:
    return re.search(rb"<(?:!doctype\s+html|html|body)[\s>]", start[:8192], re.I) is not None


def _pieces(data: bytes, encoding: str, skip: int, notes: Feed) -> Iterator[bytes]:
    """Yield the content as UTF-8, from its first tag on."""

    def note(code: str) -> None:
        if code == "file_too_large":
            notes.reason = code
        elif code in ("gzip_truncated", "gzip_damaged"):
            notes.reason = "truncated"

    raw = unpacked(data, note, FEED_BYTES)
    first = next(raw, b"")[skip:]

    def rest() -> Iterator[bytes]:
        yield first
        yield from raw

    pieces = transcoded(rest(), encoding)
    yield next(pieces, b"").lstrip(b"\xef\xbb\xbf" + _SPACE)
    yield from pieces


def _parse(pieces: Iterable[bytes], deadline: float, most: int) -> Feed:
    kept = list(pieces)
    feed = Feed()
    try:
        _run(kept, feed, deadline, most, forbid_dtd=True)
    except DTDForbidden as doctype:
        if str(doctype.name).lower() == "html":
            return Feed(reason="html_page")
        feed = Feed()
        try:
            _run(kept, feed, deadline, most, forbid_dtd=False)
        except DefusedXmlException:
            feed.reason = "entities_forbidden"
    return feed


def _run(
    pieces: Iterable[bytes], feed: Feed, deadline: float, most: int, *, forbid_dtd: bool
) -> None:
    reader = _FeedReader(feed, most)
    parser = _parser(reader, forbid_dtd=forbid_dtd)
    at_end = False
    try:
        for piece in pieces:
            parser.Parse(piece, False)  # noqa: FBT003 - expat takes it by position
            if time.monotonic() > deadline:
                feed.reason = "time_limit"
                return
        at_end = True
        parser.Parse(b"", True)  # noqa: FBT003 - expat takes it by position
    except expat.ExpatError as error:
        if error.code != _JUNK_AFTER_ROOT:
            feed.reason = "truncated" if at_end else "parse_error"
        if at_end and feed.kind is not None:
            reader.finish()
    except _NotAFeed:
        feed.reason = "not_a_feed"
    finally:
        let_go(parser)


def _parser(reader: _FeedReader, *, forbid_dtd: bool) -> expat.XMLParserType:
    """Return a guarded parser that tells the reader."""
    parser = guarded_parser(forbid_dtd=forbid_dtd)
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    return parser


class _NotAFeed(Exception):
    """The root is that of something else; never leaves this module."""


class _FeedReader(FeedTags):
    """Takes expat's calls and fills a feed."""

    def __init__(self, feed: Feed, most: int) -> None:
        super().__init__()
        self._feed, self._most = feed, most

    def begin(self, kind: str | None) -> None:
        if kind is None:
            raise _NotAFeed
        self._feed.kind = kind

    def take_feed_field(self, name: str, value: str) -> None:
        if name == "title":
            self._feed.title = self._feed.title or value
        elif name == "link":
            self._feed.home = self._feed.home or value

    def take_entry(self, values: dict[str, str], base: str | None, issues: list[str]) -> None:
        link = values.get("link")
        if link is None and re.match(r"https?://", values.get("id", ""), re.I):
            link = values["id"]
            issues = [*issues, "link_from_id"]
        if len(self._feed.entries) >= self._most:
            self._feed.reason = "max_urls"
            return
        get = values.get
        self._feed.entries.append(
            FeedEntry(link, base, get("title"), get("updated"), get("published"), tuple(issues))
        )


def _read_json(data: bytes, most: int) -> Feed:
    """Read a JSON Feed (https://www.jsonfeed.org/version/1.1/)."""
    try:
        whole = json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return Feed(reason="parse_error")
    if not isinstance(whole, dict) or not isinstance(whole.get("items"), list):
        return Feed(reason="not_a_feed")
    feed = Feed("json", _text(whole, "title"), _text(whole, "home_page_url"))
    for each in whole["items"]:
        if len(feed.entries) >= most:
            feed.reason = "max_urls"
            break
        item = each if isinstance(each, dict) else {}
        link, issues = _text(item, "url") or _text(item, "external_url"), _NO_ISSUES
        if link is None and (spare := _text(item, "id")) and spare.startswith("http"):
            link, issues = spare, ("link_from_id",)
        updated, published = (_text(item, name) for name in _JSON_DATES)
        feed.entries.append(FeedEntry(link, None, _text(item, "title"), updated, published, issues))
    return feed


def _text(item: dict[str, Any], name: str) -> str | None:
    value = item.get(name)
    return value.strip() or None if isinstance(value, str) else None
