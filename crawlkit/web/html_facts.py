"""What a page says of itself in its head and in its headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import ada_url

from crawlkit.web.html_links import PageElements, rel_tokens, tag_ids
from crawlkit.web.html_text import collapse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from selectolax.lexbor import LexborHTMLParser, LexborNode

__all__ = ["HeadFacts", "header_robots", "parse_link_header", "resolve"]

MAX_TEXT = 1_000
"""Characters of a title, a description or a heading that are kept."""

_MAX_HEADER = 16_384
_MAX_ITEMS = 200
_META, _TITLE, _HEAD, _NOSCRIPT = tag_ids("meta title head noscript").values()
_METADATA = frozenset(tag_ids("meta link title base style script noscript img").values())

# RFC 8288, section 3: <target>; parameter=value, ... A comma in quotes ends nothing.
_HEADER_LINK = re.compile(r'<([^>]*)>((?:[^",<]++|"(?:[^"\\]++|\\.)*+(?:"|\Z))*+)')
_HEADER_PARAMETER = re.compile(
    r""";\s*([\w!#$%&'*+.^`|~-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]+)))?"""
)
_ROBOTS_PREFIX = re.compile(r"([\w*.-]+)\s*:\s*(.*)", re.DOTALL)
_ROBOTS_VALUES = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_REFRESH = re.compile(r"""\s*[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?["']?([^"']*)""", re.IGNORECASE)


def resolve(base: str, href: str) -> str | None:
    """Return the absolute URL of a reference (WHATWG URL), or None if there is none.

    Parameters
    ----------
    base
        The URL of the page, or its base URL.
    href
        The reference, as it stands in the page or header.

    Returns
    -------
    str or None
        An absolute URL of any scheme.

    Examples
    --------
    >>> resolve("https://example.com/a/b", "../c")
    'https://example.com/c'
    >>> resolve("https://example.com/", "http://[")
    """
    try:
        url: str = ada_url.join_url(base, href)
    except (ValueError, UnicodeError):
        return None
    return url


def parse_link_header(value: str) -> list[tuple[str, dict[str, str]]]:
    """Read a ``Link`` header (RFC 8288); whatever cannot be read is left out.

    Parameters
    ----------
    value
        The header's value; several headers joined by commas. 16 kB and 200 links are read.

    Returns
    -------
    list[tuple[str, dict[str, str]]]
        Each target with its parameters; names are lower case, the first of a name counts.

    Examples
    --------
    >>> parse_link_header('</a,b>; rel="canonical"; title="x, y", </c>; rel=next')
    [('/a,b', {'rel': 'canonical', 'title': 'x, y'}), ('/c', {'rel': 'next'})]
    """
    links = []
    for match in _HEADER_LINK.finditer(value[:_MAX_HEADER]):
        parameters: dict[str, str] = {}
        for name, quoted, plain in _HEADER_PARAMETER.findall(match[2]):
            parameters.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
        links.append((match[1].strip(), parameters))
        if len(links) == _MAX_ITEMS:
            break
    return links


def header_robots(value: str, agent: str) -> list[str]:
    """Return the directives of an ``X-Robots-Tag`` header that are meant for a crawler.

    Parameters
    ----------
    value
        The header's value; several headers joined by commas. A name and a colon in front
        (``googlebot: noindex``) bind what follows to that crawler, up to the next name.
    agent
        The crawler's own name, lower case.

    Returns
    -------
    list[str]
        Directives in lower case, in the order of the header.

    Examples
    --------
    >>> header_robots("noarchive, googlebot: noindex, crawlkit: nofollow", "crawlkit")
    ['noarchive', 'nofollow']
    """
    directives = []
    applies = True
    for part in value[:_MAX_HEADER].lower().replace("\n", ",").split(","):
        directive = part
        match = _ROBOTS_PREFIX.match(directive.strip())
        if match is not None and match[1] not in _ROBOTS_VALUES:
            applies = match[1] in (agent, "*")
            directive = match[2]
        cleaned = collapse(directive, MAX_TEXT)
        if applies and cleaned is not None:
            directives.append(cleaned)
    return directives


class HeadFacts:
    """What the head of a page, and the headers it came with, say of it.

    Attributes
    ----------
    title, description
        Text, or None.
    robots
        The directives for this crawler: ``meta`` elements first, then ``X-Robots-Tag``.
    canonicals, alternates
        References of ``rel=canonical``, and (language, reference) of ``hreflang``.
    refresh
        The target of a ``meta`` refresh, not resolved.
    """

    __slots__ = (
        "_agents",
        "alternates",
        "canonicals",
        "description",
        "header_alternates",
        "header_canonicals",
        "refresh",
        "robots",
        "title",
    )

    def __init__(self, agent: str) -> None:
        self._agents = ("robots", agent)
        self.title: str | None = None
        self.description: str | None = None
        self.robots: list[str] = []
        self.canonicals: list[str] = []
        self.alternates: list[tuple[str, str]] = []
        self.header_canonicals: list[str] = []
        self.header_alternates: list[tuple[str, str]] = []
        self.refresh: str | None = None

    def read_headers(self, headers: Mapping[str, str]) -> None:
        """Take in the ``Link`` and ``X-Robots-Tag`` headers."""
        robots = headers.get("X-Robots-Tag") or headers.get("x-robots-tag")
        if robots:
            self.robots += header_robots(robots, self._agents[1])
        links = headers.get("Link") or headers.get("link")
        if not links:
            return
        for target, parameters in parse_link_header(links):
            _, tokens = rel_tokens(parameters.get("rel", ""))
            if "anchor" in parameters:
                continue  # said of another resource
            if "canonical" in tokens:
                self.header_canonicals.append(target)
            if "alternate" in tokens and parameters.get("hreflang"):
                self.header_alternates.append((parameters["hreflang"], target))

    def read_head(self, tree: LexborHTMLParser, elements: PageElements) -> None:
        """Take in the elements of the head."""
        head = tree.head
        # Those of the head, and those that a noscript has driven out of it.
        nodes = [] if head is None else [*head.iter(), *_driven_out(head, tree.body)]
        for node in nodes:
            tag = node.tag_id
            if tag == _META:
                self._meta(node)
            elif tag == _TITLE and self.title is None:
                self.title = collapse(node.text(), MAX_TEXT)
        driven_out: set[int] | None = None
        for attributes, node in elements.relations:
            parent = node.parent
            if parent is None or parent.tag_id != _HEAD:
                if driven_out is None:
                    driven_out = {other.mem_id for other in _driven_out(tree.head, tree.body)}
                if node.mem_id not in driven_out:
                    continue
            self._link(attributes)
        if self.title is None:
            # Misplaced in the body, it is still the title that browsers show.
            title = tree.css_first("title:not(svg title)")
            if title is not None:
                self.title = collapse(title.text(), MAX_TEXT)

    def _meta(self, node: LexborNode) -> None:
        attributes = node.attributes
        content = attributes.get("content")
        if not content:
            return
        name = (attributes.get("name") or "").strip().lower()
        if name == "description":
            self.description = self.description or collapse(content, MAX_TEXT)
        elif name in self._agents:
            parts = [collapse(part.lower(), MAX_TEXT) for part in content.split(",", _MAX_ITEMS)]
            self.robots += [part for part in parts if part]
        elif (attributes.get("http-equiv") or "").strip().lower() == "refresh":
            match = _REFRESH.match(content)
            if match is not None and match[1].strip():
                self.refresh = self.refresh or match[1].strip()

    def _link(self, attributes: dict[str, str | None]) -> None:
        href = attributes.get("href")
        if not href or not href.strip():
            return
        _, tokens = rel_tokens(attributes.get("rel") or "")
        if "canonical" in tokens and len(self.canonicals) < _MAX_ITEMS:
            self.canonicals.append(href)
        language = attributes.get("hreflang")
        if language and "alternate" in tokens and len(self.alternates) < _MAX_ITEMS:
            self.alternates.append((language, href))

    def all_canonicals(self, base_url: str, url: str) -> tuple[str, ...]:
        """Return the canonical URLs that are given, each once, those of the page first.

        A reference that is no URL is kept as it is: an audit wants to see it.
        """
        found = [resolve(base_url, href) or href.strip() for href in self.canonicals]
        found += [resolve(url, href) or href for href in self.header_canonicals]
        return tuple(dict.fromkeys(found))

    def hreflang(self, base_url: str, url: str) -> tuple[tuple[str, str], ...]:
        """Return (language, URL) of each alternate, those of the page first."""
        found = [(language, _absolute(base_url, href)) for language, href in self.alternates]
        found += [(language, _absolute(url, href)) for language, href in self.header_alternates]
        cleaned = [(collapse(language, 100), href) for language, href in found]
        return tuple(dict.fromkeys((language, href) for language, href in cleaned if language))

    def forbids(self, *names: str) -> bool:
        """Return whether one of these directives, or ``none``, is among those given."""
        words = {word for part in self.robots if ":" not in part for word in part.split()}
        return not words.isdisjoint({*names, "none"})


def _absolute(base: str, href: str) -> str:
    """Return a reference as an absolute URL; one that is absolute already as it is."""
    href = href.strip()
    if href[:8].lower().startswith(("https://", "http://")):
        return href  # alternates come by the dozen, and nearly all are written out
    return resolve(base, href) or href


def _driven_out(head: LexborNode | None, body: LexborNode | None) -> Iterator[LexborNode]:
    """Yield elements of the head that lead the body because of a ``noscript``.

    Where scripts do not run, an image in a ``noscript`` ends the head (WHATWG HTML,
    13.2.6.4.5), and what was written after it ends up in the body.
    """
    last = head.last_child if head is not None else None
    while last is not None and not last.is_element_node:
        last = last.prev
    if last is None or body is None or last.tag_id != _NOSCRIPT:
        return
    for number, node in enumerate(body.iter()):
        if number == _MAX_ITEMS or node.tag_id not in _METADATA:
            return
        yield node
