"""XML sitemaps, RSS and Atom, read tag by tag in constant memory.

expat reports tags and text; an `EntryReader` makes rows of them. Names are compared without regard
to namespaces that are missing, old or misspelled: what counts is where a tag stands. DTDs are
forbidden by defusedxml's rules at first; a file that has nothing worse than a bare DOCTYPE is read
again with it, but never with a declared entity.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from xml.parsers import expat

from defusedxml.common import DefusedXmlException, DTDForbidden

from crawlkit.web.guarded_xml import guarded_parser, let_go
from crawlkit.web.sitemap_content import (
    CHANGEFREQS,
    LONGEST_TEXT,
    MOST_ENTRIES,
    PRIORITIES,
    Child,
    NotASitemap,
    SitemapContent,
    StopReading,
    trimmed,
)
from crawlkit.web.sitemap_tags import HTML_TAGS, ROOTS, TagRoles, namespace_issue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["EntryReader", "parse_pieces"]

_JUNK_AFTER_ROOT = 9
_LONGEST_DATE = 256
_MOST_ALTERNATES = 1_000
_MOST_NAMES = 100_000
_DEEPEST = 100
_NEWS_PARTS = frozenset(("news:name", "news:language", "news:title", "published"))
_TEXT_ROLES = frozenset(("loc", "lastmod", "priority", "changefreq", "published"))


class EntryReader:
    """Makes rows of tags and text; the methods are expat's handlers.

    Parameters
    ----------
    content
        Is filled.
    """

    def __init__(self, content: SitemapContent) -> None:
        self.content = content
        self.text: list[str] = []  # filled by expat itself
        self._roles = TagRoles(content)
        self._role_of = self._roles.known.get
        self._depth = 0
        self._entry = ""  # the kind of the open entry
        self._entry_depth = 0
        self._role = ""  # of the open field
        self._field_depth = 0
        self._clear = self.text.clear
        self._reset()

    def _reset(self) -> None:
        self._loc: str | None = None
        self._spare_loc: str | None = None  # a feed's permanent id, or its second-best link
        self._lastmod: str | None = None
        self._published: str | None = None
        self._kind: str | None = None
        self._alternates: list[tuple[str, str]] = []
        self._issues: dict[str, None] = {}
        self._news: set[str] = set()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take a start tag."""
        self._depth = depth = self._depth + 1
        if self._field_depth:
            if depth > _DEEPEST:
                raise StopReading("too_nested")
            if self._role == "loc":
                self._issues["loc_markup"] = None
            return
        role = self._role_of(name)
        if role is None or attributes:
            role = self._roles.role(name, attributes)
        if depth == self._entry_depth + 1 and role in _TEXT_ROLES:  # almost every tag
            if self._loc is None and role != "loc":
                self._take_bare_text()
            self._clear()
            self._role, self._field_depth = role, depth
            return
        if depth > _DEEPEST:
            raise StopReading("too_nested")
        if depth == 1:
            self._open_root(name, attributes)
        elif not self._entry_depth:
            if role.startswith("entry:"):
                self._open_entry(role[6:], depth, attributes)
        elif role:
            self._open_other(role, depth, attributes)
        self._clear()

    def end(self, _name: str) -> None:
        """Take an end tag."""
        depth = self._depth
        self._depth = depth - 1
        if depth == self._field_depth:
            self._field_depth = 0
            text = self.text
            self._take_field(text[0] if len(text) == 1 else "".join(text))
            self._clear()
        elif depth == self._entry_depth:
            self._close_entry()
            self._clear()

    def finish(self) -> None:
        """Take the end of a file that ends too early: what is whole of the open entry counts."""
        if self._entry_depth and self._loc:
            self._issues["truncated"] = None
            self._field_depth = 0
            self._clear()
            self._close_entry()

    def _open_root(self, name: str, attributes: dict[str, str]) -> None:
        prefix, _, local = name.rpartition(":")
        kind = ROOTS.get(local.lower())
        if kind is None:
            raise NotASitemap("html_page" if local.lower() in HTML_TAGS else "unknown_root")
        self.content.kind = kind
        self._roles.begin(kind, prefix)
        if kind in ("urlset", "index"):
            uri = attributes.get(f"xmlns:{prefix}" if prefix else "xmlns")
            self.content.note(*namespace_issue(uri))

    def _open_entry(self, entry: str, depth: int, attributes: dict[str, str]) -> None:
        self._entry, self._entry_depth = entry, depth
        if entry == "item" and (about := attributes.get("rdf:about")):
            self._spare_loc = about

    def _open_other(self, role: str, depth: int, attributes: dict[str, str]) -> None:
        """Take a tag inside an entry that is no plain field of it."""
        if self._loc is None and self.text and self._entry == "sitemap":
            self._take_bare_text()
        if role.startswith("kind:"):
            self._set_kind(role[5:])
        elif self._entry == "url" and role in _NEWS_PARTS:
            self._role, self._field_depth = role, depth
        elif depth != self._entry_depth + 1:
            return
        elif role == "alternate":
            self._take_alternate(attributes)
        elif role == "link":
            self._take_link(attributes)
        elif role == "id" and attributes.get("isPermaLink", "").lower() != "false":
            self._role, self._field_depth = role, depth

    def _set_kind(self, kind: str) -> None:
        if self._kind is None or kind == "news" or (kind == "video" and self._kind == "image"):
            self._kind = kind

    def _take_field(self, raw: str) -> None:
        role = self._role
        if role == "loc":
            self._take_loc(raw)
        elif role == "lastmod":
            self._take_lastmod(trimmed(raw)[:_LONGEST_DATE])
        elif role == "published":
            if self._entry in ("url", "sitemap"):
                self._news.add(role)
            self._published = self._published or trimmed(raw)[:_LONGEST_DATE]
        elif role == "id":
            self._spare_loc = self._spare_loc or trimmed(raw)
        elif role == "priority":
            if raw not in PRIORITIES and not _is_priority(raw):
                self._issues["priority_invalid"] = None
        elif role == "changefreq":
            if raw not in CHANGEFREQS and raw.strip().lower() not in CHANGEFREQS:
                self._issues["changefreq_invalid"] = None
        elif trimmed(raw):
            self._news.add(role)

    def _take_loc(self, raw: str) -> None:
        loc = trimmed(raw)
        if loc != raw.strip(" \t\r\n"):
            self._issues["loc_padding"] = None
        if self._loc and loc and self._entry in ("url", "sitemap"):
            self._issues["loc_repeated"] = None
            self._close_entry()
            self._issues["loc_repeated"] = None
        self._loc = self._loc or loc

    def _take_lastmod(self, text: str) -> None:
        if self._lastmod is None:
            self._lastmod = text
        elif self._entry != "entry":  # Atom 0.3 has two
            self._issues["lastmod_repeated"] = None

    def _take_bare_text(self) -> None:
        if self._entry not in ("url", "sitemap"):
            return
        loc = trimmed("".join(self.text))
        if "://" in loc:
            self._loc = loc
            self._issues["loc_without_tag"] = None

    def _take_alternate(self, attributes: dict[str, str]) -> None:
        rel = attributes.get("rel", "").lower().split()
        if rel and "alternate" not in rel:
            return
        language, href = attributes.get("hreflang", "").strip(), trimmed(attributes.get("href", ""))
        if not (language and href) or len(href) > LONGEST_TEXT:
            self._issues["alternate_incomplete"] = None
            return
        if not rel:
            self._issues["alternate_without_rel"] = None
        if len(self._alternates) < _MOST_ALTERNATES:
            self._alternates.append((language, href))
        else:
            self._issues["alternates_many"] = None

    def _take_link(self, attributes: dict[str, str]) -> None:
        """Take a link of an Atom entry: the alternate one is the page's."""
        href, rel = trimmed(attributes.get("href", "")), attributes.get("rel", "alternate").lower()
        if href and rel.rpartition("/")[2] == "alternate":
            self._loc = self._loc or href

    def _close_entry(self) -> None:
        content, entry = self.content, self._entry
        if self._loc is None:
            self._take_bare_text()
        loc = self._loc
        if not loc and self._spare_loc and "://" in self._spare_loc:
            loc = self._spare_loc
            self._issues["loc_from_id"] = None
        if not loc or len(loc) > LONGEST_TEXT:
            content.skipped += 1
            content.note("loc_too_long" if loc else "missing_loc")
        elif content.entries >= MOST_ENTRIES:
            raise StopReading("too_many_entries")
        elif entry == "sitemap":
            if "loc_without_tag" in self._issues:
                content.note("child_without_tag")
            content.children.append(Child(loc, self._lastmod or None))
        else:
            self._add_row(loc)
        self._entry_depth = 0 if self._depth < self._entry_depth else self._entry_depth
        self._reset()

    def _add_row(self, loc: str) -> None:
        content, row = self.content, len(self.content.locs)
        if self._kind == "news" and self._news != _NEWS_PARTS:
            self._issues["news_incomplete"] = None
        if self._published:
            content.published[row] = self._published
        lastmod = self._lastmod
        if lastmod is None and self._entry in ("item", "entry"):
            lastmod = self._published
        content.locs.append(loc)
        content.lastmods.append(lastmod)
        if self._alternates:
            content.alternates[row] = self._alternates
        if self._kind is not None:
            content.kinds[row] = self._kind
        if self._issues:
            content.issues[row] = list(self._issues)


def _is_priority(raw: str) -> bool:
    try:
        return 0.0 <= float(raw) <= 1.0
    except ValueError:
        return False


def parse_pieces(pieces: Callable[[], Iterable[bytes]], deadline: float) -> SitemapContent:
    """Read pieces of UTF-8 as one XML document.

    Parameters
    ----------
    pieces
        Called for the pieces; a second time if the file has a DOCTYPE.
    deadline
        On the monotonic clock.

    Returns
    -------
    SitemapContent
        With ``parse_error`` as the reason where expat found a fault that a repair may cure; rows
        found before are there.

    Raises
    ------
    NotASitemap
        When the root is that of something else.
    """
    content = SitemapContent()
    try:
        _parse(pieces(), content, deadline, forbid_dtd=True)
    except DTDForbidden as doctype:
        if str(doctype.name).lower() == "html":
            raise NotASitemap("html_page") from None
        content = SitemapContent()
        content.note("doctype")
        try:
            _parse(pieces(), content, deadline, forbid_dtd=False)
        except DefusedXmlException:
            content.reason = "entities_forbidden"
    return content


def _parse(
    pieces: Iterable[bytes], content: SitemapContent, deadline: float, *, forbid_dtd: bool
) -> None:
    reader = EntryReader(content)
    parser = _parser(reader, forbid_dtd=forbid_dtd)
    at_end = False
    try:
        for piece in pieces:
            if b"<" not in piece and len(piece) > LONGEST_TEXT * 8:
                raise StopReading("token_too_long")
            parser.Parse(piece)
            if time.monotonic() > deadline:
                raise StopReading("time_limit")
            if len(parser.intern) > _MOST_NAMES:
                raise StopReading("too_many_names")
        at_end = True
        parser.Parse(b"", True)  # noqa: FBT003 - expat takes no names
    except StopReading as stopped:
        content.reason = stopped.reason
    except expat.ExpatError as error:
        if error.code == _JUNK_AFTER_ROOT:
            content.note("trailing_junk")
        elif at_end:
            content.reason = "truncated"
            reader.finish()
        else:
            content.reason = "parse_error"
    finally:
        let_go(parser)


def _parser(reader: EntryReader, *, forbid_dtd: bool) -> expat.XMLParserType:
    """Return a guarded parser that tells the reader."""
    parser = guarded_parser(forbid_dtd=forbid_dtd)
    parser.SkippedEntityHandler = _refuse_skipped
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text.append
    return parser


def _refuse_skipped(name: str, _is_parameter: bool) -> None:  # noqa: FBT001 - expat's call
    """Refuse what expat would leave out in silence where there is an external DTD."""
    error = expat.ExpatError(f"undefined entity {name}")
    error.code = 11
    raise error
