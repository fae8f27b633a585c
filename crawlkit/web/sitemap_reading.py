"""From the bytes of one file to its entries, whatever the bytes are."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from crawlkit.web.sitemap_bytes import (
    FILE_BYTES,
    find_encoding,
    head_of,
    transcoded,
    unpacked,
    without_bad_bytes,
)
from crawlkit.web.sitemap_content import (
    FILE_ISSUES,
    MOST_ENTRIES,
    NotASitemap,
    SitemapContent,
    trimmed,
)
from crawlkit.web.sitemap_regular import parse_regular
from crawlkit.web.sitemap_repair import ROOT_TAG, repaired
from crawlkit.web.sitemap_xml import parse_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_content"]

_MOST_URLS = 50_000
_MOST_NEWS = 1_000
_LONGEST_LINE = 65_536
_SPACE = b" \t\r\n\f\0"
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.I)
_NOT_FOUND = re.compile(
    rb"<(title|h1)[^>]{0,200}>[^<]{0,200}?"
    rb"(?:\b404\b|not found|no such page|does(?:n.t| not) exist|nicht gefunden|introuvable)",
    re.I,
)
_CUT_GZIP = frozenset(("gzip_truncated", "gzip_damaged"))
_CUT = _CUT_GZIP | {"file_too_large"}
_ABSOLUTE = re.compile(r"https?://\S", re.I)


def read_content(
    data: bytes, *, seconds: float = 60.0, limit: int = FILE_BYTES, whole: bool = True
) -> SitemapContent:
    r"""Read one file: a sitemap, an index, a text of URLs, RSS or Atom, compressed or not.

    Parameters
    ----------
    data
        The file.
    seconds
        The most time to spend; it is looked at once a megabyte.
    limit
        The most bytes to read once decompressed.
    whole
        Whether this is all of the file: of a text that breaks off, the last line is left out.

    Returns
    -------
    SitemapContent
        With a reason where the file is none of these, or not all of it could be read.

    Examples
    --------
    >>> content = read_content(b"https://example.com/a\nhttps://example.com/b\n")
    >>> content.kind, content.locs
    ('text', ['https://example.com/a', 'https://example.com/b'])
    >>> read_content(b"<html><title>Shop</title></html>").reason
    'html_page'
    """
    reading = _Reading(data, time.monotonic() + seconds, limit, whole=whole)
    try:
        content = reading.read()
    except NotASitemap as other:
        content = SitemapContent(kind="not_a_sitemap", reason=other.reason)
    return reading.finish(content)


class _Reading:
    """The attempts to read one file."""

    def __init__(self, data: bytes, deadline: float, limit: int, *, whole: bool) -> None:
        self._data = data
        self._deadline = deadline
        self._limit = limit
        self._whole = whole
        self._notes: list[str] = []
        self._size = 0
        self._head = head_of(data)
        self._encoding, self._skip = find_encoding(self._head)

    def read(self) -> SitemapContent:
        head = self._utf8_head()
        start = head.lstrip(b"\xef\xbb\xbf" + _SPACE)
        if not start:
            raise NotASitemap("empty_file")
        root = ROOT_TAG.search(head)
        if not start.startswith(b"<") and root is None:
            return self._read_text(start)
        page = _HTML.search(head, 0, len(head) if root is None else root.start())
        if page is not None and not head[: page.start()].strip(_SPACE).endswith(b"-->"):
            raise NotASitemap("soft_404" if _NOT_FOUND.search(head) else "html_page")
        return self._read_xml(len(head) - len(start), junk=not start.startswith(b"<"))

    def finish(self, content: SitemapContent) -> SitemapContent:
        """Put what the attempts have met into the content."""
        notes = [code for code in self._notes if code in FILE_ISSUES]
        found, content.file_issues = content.file_issues, []
        content.note(*notes, *found)
        if "file_too_large" in self._notes:
            content.reason = "file_too_large"
        cut = _CUT_GZIP & set(notes)
        if cut and content.reason in (None, "no_urls", "parse_error", "empty_file"):
            content.reason = "truncated"
        content.kind = content.kind or "not_a_sitemap"
        content.size = self._size
        if len(content.locs) > _MOST_URLS or len(content.children) > _MOST_URLS:
            content.note("too_many_urls")
        news = sum(kind == "news" for kind in content.kinds.values())
        if news:
            content.kind = "news"
        if news > _MOST_NEWS:
            content.note("too_many_news")
        if content.locs and content.children:
            content.note("mixed_entries")
        return content

    def _note(self, code: str) -> None:
        if code not in self._notes:
            self._notes.append(code)

    def _utf8_head(self) -> bytes:
        head = self._head[self._skip :]
        if self._encoding == "utf-8":
            return head
        self._note("not_utf8")
        return b"".join(transcoded([head], self._encoding))

    def _pieces(self, skip: int = 0) -> Iterator[bytes]:
        """Yield the content as UTF-8, without its byte order mark and `skip` bytes after it."""
        raw = self._counted()
        if self._encoding != "utf-8":
            raw = transcoded(_without_start(raw, self._skip), self._encoding)
            return _without_start(raw, skip)
        return _without_start(raw, self._skip + skip)

    def _counted(self) -> Iterator[bytes]:
        size = 0
        for piece in unpacked(self._data, self._note, self._limit):
            size += len(piece)
            self._size = max(self._size, size)
            yield piece

    def _read_xml(self, skip: int, *, junk: bool) -> SitemapContent:
        if skip and not junk:
            self._note("leading_space")
        content = None if junk else parse_regular(self._pieces(skip), self._deadline)
        if content is not None:
            return content
        root_known = ROOT_TAG.search(self._head) is not None
        try:
            if junk:
                content = SitemapContent(reason="parse_error")
            else:
                content = parse_pieces(lambda: self._pieces(skip), self._deadline)
        except NotASitemap:
            # A notice of PHP is HTML, too; a page would have been noticed before.
            if not root_known:
                raise
            content = SitemapContent(reason="parse_error")
        if content.reason == "parse_error":
            content = self._repair(content, skip)
        if content.kind is None and content.reason in ("parse_error", "truncated"):
            raise NotASitemap("unknown_root")
        return content

    def _repair(self, broken: SitemapContent, skip: int) -> SitemapContent:
        """Read the file once more, mended; keep what gives more."""
        content = parse_pieces(lambda: repaired(self._pieces(skip), self._note), self._deadline)
        if content.kind is None or content.entries < broken.entries:
            return broken
        content.note(*broken.file_issues, "recovered")
        return content

    def _text_limit(self, rest: str, content: SitemapContent) -> str | None:
        if len(content.locs) > MOST_ENTRIES:
            del content.locs[MOST_ENTRIES:], content.lastmods[MOST_ENTRIES:]
            return "too_many_entries"
        if len(rest) > _LONGEST_LINE:
            return "token_too_long"
        return "time_limit" if time.monotonic() > self._deadline else None

    def _read_text(self, start: bytes) -> SitemapContent:
        if start.count(b"\0") or sum(byte < 9 for byte in start[:1024]) > 8:
            raise NotASitemap("binary")
        content = SitemapContent(kind="text")
        rest = ""
        for text in without_bad_bytes(self._pieces(), self._note):
            lines = re.split("\r\n|\r|\n", rest + text)
            rest = lines.pop()
            _take_lines(lines, content)
            content.reason = self._text_limit(rest, content)
            if content.reason is not None:
                break
        else:
            if self._whole and not _CUT & set(self._notes):
                _take_lines([rest], content)
            elif trimmed(rest):  # perhaps half a URL
                content.skipped += 1
                content.reason = "truncated"
        if "bad_bytes" in self._notes:
            self._note("not_utf8")
        if not content.locs:
            raise NotASitemap("no_urls")
        return content


def _without_start(pieces: Iterator[bytes], skip: int) -> Iterator[bytes]:
    for piece in pieces:
        if skip >= len(piece):
            skip -= len(piece)
            continue
        yield piece[skip:] if skip else piece
        skip = 0


def _take_lines(lines: list[str], content: SitemapContent) -> None:
    """Take the lines of a text file that are URLs; text files have no other content."""
    for line in lines:
        loc = trimmed(line)
        if not loc:
            continue
        if _ABSOLUTE.match(loc) and len(loc) <= _LONGEST_LINE:
            content.locs.append(loc)
            content.lastmods.append(None)
        else:
            content.skipped += 1
            content.note("bad_line")
