"""An HTML page: its links, what it says of itself, and its text.

Nothing here raises for anything a server sends. A page is measured before it is parsed, it is
parsed once, and what leaves this module holds no NUL and no lone surrogate.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

from crawlkit.web.charset import decode, detect_encoding, is_ascii_transparent
from crawlkit.web.fingerprint import utf8_text_hash
from crawlkit.web.html_facts import MAX_TEXT, HeadFacts, resolve
from crawlkit.web.html_limits import safe_length
from crawlkit.web.html_links import DEFAULT_LINKS_PER_PAGE, Link, PageElements
from crawlkit.web.html_text import (
    TEXT_HASH_BY,
    collapse,
    count_words,
    readable,
    split_text,
    visible_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from selectolax.lexbor import LexborNode

__all__ = ["DEFAULT_LINKS_PER_PAGE", "Link", "Page", "parse_page"]

# Without events the tree is the same, and made faster.
_OPTIONS = LexborDocumentOptions.WO_EVENTS.value
_UTF8_MARK = b"\xef\xbb\xbf"
_HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})
# Types that servers give to pages by mistake, or to XHTML by the book.
_PERHAPS_HTML_TYPES = frozenset(
    {"application/xml", "text/xml", "text/plain", "application/octet-stream"}
)
_SNIFFED = 1024
_STARTS_LIKE_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>])",
    re.IGNORECASE | re.DOTALL,
)
_MAGIC = re.compile(
    rb"%PDF-|\x89PNG\r|GIF8[79]a|\xff\xd8\xff|PK\x03\x04|\x1f\x8b|BZh[1-9]|\xfd7zXZ|7z\xbc\xaf"
    rb"|Rar!\x1a|\x7fELF|MZ.\0|RIFF....(?:WEBP|WAVE|AVI )|....ftyp|OggS\0|ID3[\x02-\x04]|fLaC"
    rb"|\0\0\x01\0|wOF[F2]|\0\x01\0\0\0|OTTO\0|\xca\xfe\xba\xbe|\xd0\xcf\x11\xe0\xa1\xb1|\x1aE\xdf\xa3"
    rb"|\x28\xb5\x2f\xfd|SQLite format 3\0|%!PS|\{\\rtf",
    re.DOTALL,
)
_BINARY = bytes({*range(0x20)} - {0x09, 0x0A, 0x0C, 0x0D, 0x1B})
_EMPTY_ELEMENT = re.compile(rb"<([a-zA-Z][\w.-]*+)((?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)(?<=/)>")
_VOID = frozenset(b"area base br col embed hr img input link meta param source track wbr".split())


class Page:
    """One parsed page.

    Attributes
    ----------
    url
        The page's address, as it was given.
    base_url
        What its references are relative to: `url`, or its first ``base`` with an http(s) URL.
    encoding
        The name of the encoding it was read with (WHATWG Encoding).
    title, description, h1, lang
        Text with whitespace collapsed, at most 1,000 characters, or None.
    words
        Words of its visible text, navigation included; scripts, styles, templates and
        ``noscript`` are not visible.
    canonicals, canonical
        The canonical URLs it names (elements of the head, then ``Link`` headers), and the first.
    robots, indexable, nofollow
        Its robots directives for this crawler (``meta`` elements, then ``X-Robots-Tag``) joined
        by ", ", lower case; whether they allow it in an index; whether they disown its links.
    hreflang
        (language, URL) of each alternate.
    refresh
        The target of a ``meta`` refresh as it stands in the page, or None.
    links, links_found, skipped_links
        Its links, at most as many as were asked for; how many it has; how many were left out.
    text_hash_by
        The name of the definition of `main_text`.
    error
        A stable reason code, or None: ``"not_html"`` (another type, or bytes that are no
        text; nothing was parsed), ``"nesting"`` or ``"attributes"`` (a bomb: what is known is of
        its harmless beginning), ``"unparsable"`` (the parser failed).
    """

    __slots__ = (
        "_boilerplate",
        "_hidden",
        "_main",
        "_source",
        "_tree",
        "base_url",
        "canonicals",
        "description",
        "encoding",
        "error",
        "h1",
        "hreflang",
        "indexable",
        "lang",
        "links",
        "links_found",
        "nofollow",
        "refresh",
        "robots",
        "skipped_links",
        "title",
        "url",
        "words",
    )

    text_hash_by = TEXT_HASH_BY

    def __init__(self, url: str, encoding: str) -> None:
        self.url = url
        self.base_url = url
        self.encoding = encoding
        self.error: str | None = None
        self.title: str | None = None
        self.description: str | None = None
        self.h1: str | None = None
        self.lang: str | None = None
        self.words = 0
        self.canonicals: tuple[str, ...] = ()
        self.robots: str | None = None
        self.indexable = True
        self.nofollow = False
        self.hreflang: tuple[tuple[str, str], ...] = ()
        self.refresh: str | None = None
        self.links: list[Link] = []
        self.links_found = 0
        self.skipped_links = 0
        self._source = b""
        self._main = b""
        self._tree: LexborHTMLParser | None = None
        self._hidden: list[LexborNode] = []
        self._boilerplate: list[LexborNode] = []

    def __repr__(self) -> str:
        problem = f", error={self.error!r}" if self.error else ""
        return f"Page({self.url!r}, {len(self.links)} links, {self.words} words{problem})"

    @property
    def canonical(self) -> str | None:
        """The first canonical URL that the page names, or None."""
        return self.canonicals[0] if self.canonicals else None

    @property
    def text(self) -> str:
        """The visible text of the page on one line, navigation included; made when asked for."""
        return readable(visible_text(self._tree, self._hidden)) if self._tree is not None else ""

    @property
    def main_text(self) -> str:
        """The visible text outside of ``nav``, ``header``, ``footer`` and ``aside``, on one line.

        Of a page that has no text outside of them, all visible text; made when asked for.
        """
        if self._tree is None:
            return ""
        main, around = map(_utf8, split_text(self._tree, self._hidden, self._boilerplate))
        return readable((main if count_words(main) else around).decode("utf-8"))

    @property
    def text_hash(self) -> str:
        """The fingerprint of `main_text`, blind to whitespace."""
        return utf8_text_hash(self._main)

    @property
    def html(self) -> str:
        """The source of the page, decoded."""
        return self._source.decode("utf-8", "replace").replace("\0", "\ufffd")

    def css(self, selector: str) -> list[LexborNode]:
        """Return the elements that match a CSS selector, in document order.

        Parameters
        ----------
        selector
            A CSS selector, for example ``"td.price"``.

        Returns
        -------
        list[LexborNode]
            Nodes of selectolax, with ``.text()``, ``.attributes``, ``.css_first()``...

        Raises
        ------
        selectolax.lexbor.SelectolaxError
            The selector cannot be read.

        Examples
        --------
        >>> page = parse_page(b"<ul><li>one<li>two</ul>", url="http://example.com/")
        >>> [node.text() for node in page.css("li")]
        ['one', 'two']
        """
        return self._tree.css(selector) if self._tree is not None else []

    def css_first(self, selector: str) -> LexborNode | None:
        """Return the first element that matches a CSS selector, or None.

        Parameters
        ----------
        selector
            A CSS selector, for example ``"h1"``.

        Returns
        -------
        LexborNode or None
            A node of selectolax.

        Raises
        ------
        selectolax.lexbor.SelectolaxError
            The selector cannot be read.

        Examples
        --------
        >>> page = parse_page(b"<p id=a>x</p>", url="http://example.com/")
        >>> page.css_first("p").id
        'a'
        """
        return self._tree.css_first(selector) if self._tree is not None else None


def parse_page(
    body: bytes | str,
    *,
    url: str,
    content_type: str | None = None,
    headers: Mapping[str, str] | None = None,
    links_per_page: int | None = None,
    robots_agent: str = "crawlkit",
) -> Page:
    """Parse a page; never raises for what is in it.

    Parameters
    ----------
    body
        The body of the response (a string is taken as decoded already).
    url
        The address that the page came from.
    content_type
        The Content-Type header: decides whether this is HTML, and its encoding first of all.
    headers
        The response's headers, for ``Link`` and ``X-Robots-Tag``.
    links_per_page
        The most links to keep; `DEFAULT_LINKS_PER_PAGE` if None.
    robots_agent
        The crawler's name in robots directives.

    Returns
    -------
    Page
        Links (RFC 3986 references, not resolved), facts and text. Links in comments, scripts and
        templates are none; those in ``noscript`` are, since no script has run.

    Examples
    --------
    >>> page = parse_page(
    ...     b"<title>Shop</title><nav><a href='/cart'>Cart</a></nav><p>Welcome",
    ...     url="https://example.com/",
    ... )
    >>> page.title, page.words
    ('Shop', 2)
    >>> page.links
    [Link(href='/cart', position=0, region='nav', text='Cart', rel=None, kind='anchor')]
    """
    if isinstance(body, str):
        body = body.encode("utf-8", "replace")
        encoding = "utf-8"
    else:
        encoding = detect_encoding(body, content_type)
    page = Page(url, encoding)
    facts = HeadFacts(robots_agent.lower())
    if _is_html(body, content_type, encoding):
        source = _utf8_source(body, encoding, content_type)
        cut = safe_length(source)
        if cut is not None:
            page.error = cut.reason
            source = source[: cut.length]
        page._source = source
        _parse(page, facts, links_per_page)
    else:
        page.error = "not_html"
    if headers:
        facts.read_headers(headers)
    _take_facts(page, facts)
    return page


def _parse(page: Page, facts: HeadFacts, links_per_page: int | None) -> None:
    """Parse the source of a page and take from it what is asked of every page."""
    limit = DEFAULT_LINKS_PER_PAGE if links_per_page is None else links_per_page
    try:
        tree = LexborHTMLParser(page._source, options=_OPTIONS)
        elements = PageElements(tree, limit, len(page._source))
        facts.read_head(tree, elements)
        main, around = split_text(tree, elements.hidden, elements.boilerplate, skip_blank=True)
    except (SelectolaxError, RuntimeError, ValueError, MemoryError):
        page.error = "unparsable"
        return
    page._tree = tree
    page._hidden = elements.hidden
    page._boilerplate = elements.boilerplate
    main_utf8, around_utf8 = _utf8(main), _utf8(around)
    main_words = count_words(main_utf8)
    page.words = main_words + count_words(around_utf8)
    page._main = main_utf8 if main_words else around_utf8
    page.links = elements.links
    page.links_found = len(elements.links) + elements.skipped
    page.skipped_links = elements.skipped
    if elements.h1 is not None:
        page.h1 = collapse(elements.h1.text(), MAX_TEXT)
    if tree.root is not None:
        attributes = tree.root.attributes
        page.lang = collapse(attributes.get("lang") or attributes.get("xml:lang") or "", 100)
    for href in elements.base_hrefs:
        base = resolve(page.url, href)
        if base is not None and base.startswith(("http://", "https://")):
            page.base_url = base
            break


def _utf8(text: str) -> bytes:
    """Return text in UTF-8, with no space but ASCII's."""
    return text.replace("\xa0", " ").encode("utf-8", "replace")


def _take_facts(page: Page, facts: HeadFacts) -> None:
    """Give a page what its head and headers say of it."""
    page.title = facts.title
    page.description = facts.description
    page.refresh = facts.refresh
    if facts.robots:
        page.robots = ", ".join(dict.fromkeys(facts.robots))
        page.indexable = not facts.forbids("noindex")
        page.nofollow = facts.forbids("nofollow")
    if facts.canonicals or facts.header_canonicals:
        page.canonicals = facts.all_canonicals(page.base_url, page.url)
    if facts.alternates or facts.header_alternates:
        page.hreflang = facts.hreflang(page.base_url, page.url)


@lru_cache(maxsize=1024)
def _media_type(content_type: str | None) -> str:
    """Return the type of a Content-Type header, lower case, without its parameters."""
    return (content_type or "").partition(";")[0].partition(",")[0].strip().lower()


def _is_html(body: bytes, content_type: str | None, encoding: str) -> bool:
    """Return whether a body is to be parsed: by its declared type, and by its first bytes."""
    kind = _media_type(content_type)
    head = body[:_SNIFFED]
    if kind not in _HTML_TYPES and (
        kind not in _PERHAPS_HTML_TYPES or _STARTS_LIKE_HTML.match(head) is None
    ):
        return False
    if head[:1] == b"<":
        return True
    if _MAGIC.match(head) is not None:
        return False
    if b"<" in head or encoding in ("utf-16le", "utf-16be"):
        return True
    # Text without a tag may be a page; one byte in ten that no text has may not.
    return 10 * (len(head) - len(head.translate(None, _BINARY))) <= len(head)


def _utf8_source(body: bytes, encoding: str, content_type: str | None) -> bytes:
    """Return a body in UTF-8, which is what the parser reads; unchanged if it can be."""
    if encoding == "utf-8":
        source = body.removeprefix(_UTF8_MARK)
    elif body.isascii() and is_ascii_transparent(encoding):
        source = body
    else:
        source = decode(body, content_type).text.encode("utf-8", "replace")
    if _media_type(content_type) == "application/xhtml+xml":
        source = _EMPTY_ELEMENT.sub(_with_end_tag, source)
    return source


def _with_end_tag(match: re.Match[bytes]) -> bytes:
    """Return an empty element of XML as HTML has it: ``<a/>`` would stay open there."""
    if match[1].lower() in _VOID:
        return match[0]
    return b"<" + match[1] + match[2][:-1] + b"></" + match[1] + b">"
