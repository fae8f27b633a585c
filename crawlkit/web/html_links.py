"""The links of a parsed page, each with its place on it.

One query finds links and landmarks in document order. A link's region is the nearest landmark
around it; because landmarks are few and a run of links between two of them mostly shares one, only
the ends of each run are traced to their ancestors.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, cast

from selectolax.lexbor import LexborHTMLParser

from crawlkit.web.fingerprint import clean_text

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["DEFAULT_LINKS_PER_PAGE", "Link", "PageElements", "collapse", "rel_tokens"]

DEFAULT_LINKS_PER_PAGE = 50_000
"""Links kept of one page unless told otherwise; real indexes have up to 30,000."""

MAX_LINK_TEXT = 500
"""Characters of a link's text that are kept."""

MAX_SET_ASIDE = 10_000
"""Scripts and landmarks whose text is told apart; beyond that, all text is the page's."""

_QUERY = "[href],iframe,nav,header,main,footer,aside,[role],script,style,noscript,h1"
_FRAMES = "frame"
_REGIONS = {"nav": "nav", "header": "header", "main": "main", "footer": "footer"}
_ROLES = {"navigation": "nav", "banner": "header", "main": "main", "contentinfo": "footer"}
_BOILERPLATE = frozenset({"nav", "header", "footer", "aside"})
_BLOCKS = (
    "address,article,br,dd,div,dl,dt,figcaption,figure,h1,h2,h3,h4,h5,h6,hr,li,ol,p,pre,section,"
    "table,td,th,tr,ul"
)
_FRAGMENT = "\x1f"
_TOUCHING = re.compile(r"\S\x1f+\S")


class Link(NamedTuple):
    """One link of a page.

    Attributes
    ----------
    href
        The attribute as it stands in the page, not resolved; a ``frame``'s is its ``src``.
    position
        The link's number on the page, in document order, from 0.
    region
        The nearest landmark around it: ``"nav"``, ``"header"``, ``"main"``, ``"footer"`` or None.
    text
        Its text with whitespace collapsed (else the ``alt`` of an image in it), at most 500
        characters; None if there is none.
    rel
        Its ``rel`` tokens, lower case, separated by spaces; None if there is none.
    kind
        ``"anchor"``, ``"area"``, ``"canonical"``, ``"alternate"``, ``"frame"`` or
        ``"pagination"``.
    """

    href: str
    position: int
    region: str | None
    text: str | None
    rel: str | None
    kind: str


def collapse(text: str, limit: int) -> str | None:
    r"""Return text with whitespace collapsed and cleaned, at most `limit` characters, or None.

    Parameters
    ----------
    text
        Any text of a page.
    limit
        The most characters to return.

    Returns
    -------
    str or None
        None if only whitespace is left.

    Examples
    --------
    >>> collapse("  two\n words ", 100)
    'two words'
    """
    if len(text) > 4 * limit:
        text = text.lstrip()[: 4 * limit]
    text = " ".join(text.split())[:limit]
    if not text.isprintable():
        text = clean_text(text)
    return text or None


@lru_cache(maxsize=4096)
def rel_tokens(rel: str) -> tuple[str | None, frozenset[str]]:
    """Return a ``rel`` attribute in lower case, and its tokens.

    Parameters
    ----------
    rel
        The attribute as it stands in the page.

    Returns
    -------
    tuple[str | None, frozenset[str]]
        The tokens joined by single spaces (None if there are none), and as a set.

    Examples
    --------
    >>> rel_tokens("Next  NoFollow")[0]
    'next nofollow'
    """
    tokens = clean_text(rel[:500]).lower().split()
    return " ".join(tokens) or None, frozenset(tokens)


def _tag_ids(names: str) -> dict[str, int]:
    """Return the numbers by which the parser knows elements; comparing those is cheap."""
    tree = LexborHTMLParser("<p>")
    return {name: tree.create_node(name).tag_id for name in names.split()}


_IDS = _tag_ids(
    "a area link base iframe frame h1 script style noscript nav header main footer aside"
)
_A = _IDS["a"]
_NAMES = {number: name for name, number in _IDS.items()}
_PAGINATION = frozenset({"next", "prev", "previous"})


class PageElements:
    """What one pass over a parsed page finds, in document order.

    Attributes
    ----------
    found
        How many links the page has.
    base_hrefs
        The ``href`` of each ``base`` element.
    h1
        The first heading of the first level.
    hidden
        Elements whose text nobody sees: ``script``, ``style``, ``noscript``.
    boilerplate
        Landmarks around the main text: ``nav``, ``header``, ``footer``, ``aside``.
    """

    __slots__ = (
        "_hrefs",
        "_kinds",
        "_landmarks",
        "_last",
        "_limit",
        "_nodes",
        "_rels",
        "_starts",
        "_text_left",
        "_texts",
        "base_hrefs",
        "boilerplate",
        "found",
        "h1",
        "hidden",
    )

    def __init__(self, tree: LexborHTMLParser, limit: int, size: int) -> None:
        self._limit = limit
        # Anchors can be nested by tricks, and each would hold the text of those inside it.
        self._text_left = 4 * size + 100_000
        self._hrefs: list[str] = []
        self._texts: list[str | None] = []
        self._rels: list[str | None] = []
        self._kinds: list[str] = []
        self._nodes: list[LexborNode] = []
        self._landmarks: dict[int, str] = {}
        self._starts: list[int] = []
        self._last = 0
        self.found = 0
        self.base_hrefs: list[str] = []
        self.h1: LexborNode | None = None
        self.hidden: list[LexborNode] = []
        self.boilerplate: list[LexborNode] = []
        root = tree.root
        if root is not None:
            self._read(root.css(_QUERY))
            if tree.body is None:
                self._read(root.css(_FRAMES))

    def _read(self, nodes: list[LexborNode]) -> None:
        """Take in the elements that the query found."""
        hrefs, texts, rels, kinds = self._hrefs, self._texts, self._rels, self._kinds
        kept, limit, other = self._nodes, self._limit, self._other
        for node in nodes:
            if node.tag_id != _A:
                other(node)
                continue
            attributes = node.attributes
            if "href" not in attributes or ("role" in attributes and self._is_repeated(node)):
                continue  # an element with a role is found twice
            self.found += 1
            if len(hrefs) >= limit:
                continue
            rel = attributes.get("rel")
            if rel:
                rel, tokens = rel_tokens(rel)
                kinds.append("anchor" if tokens.isdisjoint(_PAGINATION) else "pagination")
            else:
                kinds.append("anchor")
            hrefs.append(attributes["href"] or "")
            rels.append(rel or None)
            texts.append(self._text(node))
            kept.append(node)

    def _is_repeated(self, node: LexborNode) -> bool:
        """Return whether the query found this element just before."""
        repeated = node.mem_id == self._last
        self._last = node.mem_id
        return repeated

    def _other(self, node: LexborNode) -> None:
        """Take in an element that is no anchor."""
        if self._is_repeated(node):
            return
        name = _NAMES.get(node.tag_id, "")
        if name in ("script", "style", "noscript"):
            if len(self.hidden) < MAX_SET_ASIDE:
                self.hidden.append(node)
        elif name in ("area", "link", "base", "iframe", "frame"):
            self._other_link(node, name)
        elif name == "h1":
            self.h1 = self.h1 or node
        else:
            self._landmark(node, name)

    def _landmark(self, node: LexborNode, name: str) -> None:
        """Remember a landmark, and at which link it begins."""
        region = _REGIONS.get(name)
        if not name:
            roles = (node.attributes.get("role") or "").lower().split()
            region = _ROLES.get(roles[0]) if roles else None
            name = region or ("aside" if roles[:1] == ["complementary"] else "")
        if region is not None:
            self._landmarks[node.mem_id] = region
            self._starts.append(len(self._hrefs))
        if name in _BOILERPLATE and len(self.boilerplate) < MAX_SET_ASIDE:
            self.boilerplate.append(node)

    def _other_link(self, node: LexborNode, name: str) -> None:
        """Take in a link that is no anchor."""
        attributes = node.attributes
        rel, tokens = rel_tokens(attributes.get("rel") or "")
        text = None
        if name == "base":
            self.base_hrefs.append(attributes.get("href") or "")
            return
        if name == "link":
            kind = _link_kind(tokens)
        elif name == "area":
            kind = "area"
            text = attributes.get("alt")
        else:
            kind = "frame"
            text = attributes.get("title")
        href = attributes.get("src" if kind == "frame" else "href")
        if kind is None or href is None:
            return
        self.found += 1
        if len(self._hrefs) < self._limit:
            self._hrefs.append(href)
            self._texts.append(collapse(text, MAX_LINK_TEXT) if text else None)
            self._rels.append(rel)
            self._kinds.append(kind)
            self._nodes.append(node)

    def _text(self, node: LexborNode) -> str | None:
        """Return what a reader sees of an anchor."""
        if self._text_left < 0:
            return None
        text = node.text(True, _FRAGMENT)  # noqa: FBT003 - by keyword it takes twice the time
        self._text_left -= len(text)
        if (
            _FRAGMENT in text
            and _TOUCHING.search(text) is not None
            and node.css_first(_BLOCKS) is None
        ):
            text = text.replace(_FRAGMENT, "")  # one word, partly in bold
        shown = collapse(text, MAX_LINK_TEXT)
        if shown is None:
            image = node.css_first("img[alt]")
            if image is not None:
                shown = collapse(image.attributes["alt"] or "", MAX_LINK_TEXT)
        return shown

    def links(self) -> list[Link]:
        """Return the links that were kept, in document order."""
        fields = zip(
            self._hrefs,
            range(len(self._hrefs)),
            self._regions() if self._landmarks else repeat(None),
            self._texts,
            self._rels,
            self._kinds,
            strict=False,
        )
        # Link._make, without a Python call for each.
        return cast("list[Link]", list(map(tuple.__new__, repeat(Link), fields)))

    def _regions(self) -> list[str | None]:
        """Return the region of each link."""
        regions: list[str | None] = [None] * len(self._nodes)
        nearest: dict[int, int] = {landmark: landmark for landmark in self._landmarks}
        bounds = sorted({*self._starts, len(self._nodes)})
        runs = [
            (first, end - 1)
            for first, end in zip([0, *bounds], bounds, strict=False)
            if first < end
        ]
        while runs:
            first, last = runs.pop()
            landmark = self._nearest(first, nearest)
            if first != last and landmark != self._nearest(last, nearest):
                # A landmark ends in between: no other begins there, so halves find where.
                middle = (first + last) // 2
                runs += [(first, middle), (middle + 1, last)]
            elif landmark:
                region = self._landmarks[landmark]
                regions[first : last + 1] = [region] * (last + 1 - first)
        return regions

    def _nearest(self, index: int, nearest: dict[int, int]) -> int:
        """Return the landmark around a link, 0 for none; remembers what it passes."""
        passed = []
        landmark = 0
        node = self._nodes[index].parent
        while node is not None:
            number = node.mem_id
            if number in nearest:
                landmark = nearest[number]
                break
            passed.append(number)
            node = node.parent
        for number in passed:
            nearest[number] = landmark
        return landmark


def _link_kind(tokens: frozenset[str]) -> str | None:
    """Return the kind of a ``link`` element; None for one that leads to no page."""
    if "canonical" in tokens:
        return "canonical"
    if not tokens.isdisjoint(_PAGINATION):
        return "pagination"
    if "alternate" in tokens and "stylesheet" not in tokens:
        return "alternate"
    return None
