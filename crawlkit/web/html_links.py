"""The links of a parsed page, each with its place on it.

One query finds links and landmarks in document order. A link's region is the nearest landmark
around it; because landmarks are few and a run of links between two of them mostly shares one, only
the ends of each run are traced to their ancestors.
"""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple, cast

from selectolax.lexbor import LexborHTMLParser

from crawlkit.web.fingerprint import clean_text
from crawlkit.web.html_text import collapse

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["DEFAULT_LINKS_PER_PAGE", "Link", "PageElements", "rel_tokens", "tag_ids"]

DEFAULT_LINKS_PER_PAGE = 50_000
"""Links kept of one page unless told otherwise; real indexes have up to 30,000."""

MAX_LINK_TEXT = 500
"""Characters of a link's text that are kept."""

MAX_SET_ASIDE = 10_000
"""Scripts and landmarks whose text is told apart; beyond that, all text is the page's."""

MAX_BASES = 100
"""``base`` elements among which a usable one is looked for."""

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


def tag_ids(names: str) -> dict[str, int]:
    """Return the numbers by which the parser knows elements: comparing those is cheap.

    Parameters
    ----------
    names
        Names of elements, separated by spaces.

    Returns
    -------
    dict[str, int]
        The number of each, in the order of `names`.

    Examples
    --------
    >>> list(tag_ids("a nav"))
    ['a', 'nav']
    """
    tree = LexborHTMLParser("<p>")
    return {name: tree.create_node(name).tag_id for name in names.split()}


_IDS = tag_ids(
    "a area link base iframe frame h1 script style noscript nav header main footer aside"
)
_A = _IDS["a"]
_HEAD = tag_ids("head")["head"]
_NAMES = {number: name for name, number in _IDS.items()}
_REFERENCES = frozenset({"href", "xlink:href"})  # SVG's older links have the second
_HIDDEN = frozenset({"script", "style", "noscript"})
# The kind of link that an element is; a link element's own depends on its rel.
_OTHER_LINKS = {"area": "area", "link": None, "base": "base", "iframe": "frame", "frame": "frame"}
# The pages of a site repeat the texts of their links: those seen lately need no second look.
_KNOWN_TEXTS: dict[str, str] = {}
_KNOWN_COUNT = 20_000
_KNOWN_LENGTH = 100
_PAGINATION = frozenset({"next", "prev", "previous"})


class _Finder(threading.local):
    """What finds elements: one for each thread, since each page's own takes time to be made."""

    def __init__(self) -> None:
        self.find = LexborHTMLParser("").selector.find


_FINDER = _Finder()


class PageElements:
    """What one pass over a parsed page finds, in document order.

    Attributes
    ----------
    links
        The links that are kept.
    skipped
        How many more there are.
    base_hrefs
        The ``href`` of each ``base`` element, up to `MAX_BASES`.
    relations
        ``link`` elements that name a page: their attributes, and the element.
    h1
        The first heading of the first level.
    hidden
        Elements of the body whose text nobody sees: ``script``, ``style``, ``noscript``.
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
        "h1",
        "hidden",
        "links",
        "relations",
        "skipped",
    )

    def __init__(self, tree: LexborHTMLParser, limit: int, size: int) -> None:
        self._limit = limit
        self._hrefs: list[str] = []
        self._texts: list[str | None] = []
        self._nodes: list[LexborNode] = []
        # Most links have neither, so they are kept by position.
        self._rels: dict[int, str | None] = {}
        self._kinds: dict[int, str] = {}
        self._landmarks: dict[int, str] = {}
        self._starts: list[int] = []
        self._last = 0
        self._text_left = 0
        self.skipped = 0
        self.base_hrefs: list[str] = []
        self.relations: list[tuple[dict[str, str | None], LexborNode]] = []
        self.h1: LexborNode | None = None
        self.hidden: list[LexborNode] = []
        self.boilerplate: list[LexborNode] = []
        root = tree.root
        if root is not None:
            find = _FINDER.find
            self._read(find(_QUERY, root), size)
            if tree.body is None:
                self._read(find(_FRAMES, root), size)
        self.links = self._links()
        self._nodes.clear()

    def _read(self, nodes: list[LexborNode], size: int) -> None:
        """Take in the elements that the query found."""
        hrefs, texts, kept, known = self._hrefs, self._texts, self._nodes, _KNOWN_TEXTS
        limit = self._limit
        # Anchors can be nested by tricks, and each would hold the text of those inside it.
        self._text_left = 4 * size + 100_000
        for node in nodes:
            tag = node.tag_id
            if tag != _A:
                self._other(node, tag)
                continue
            attributes = node.attributes
            if "role" in attributes and (
                self._is_repeated(node) or attributes.keys().isdisjoint(_REFERENCES)
            ):
                continue
            position = len(hrefs)
            if position >= limit:
                self.skipped += 1
                continue
            rel = attributes.get("rel")
            if rel:
                self._rels[position], tokens = rel_tokens(rel)
                if not tokens.isdisjoint(_PAGINATION):
                    self._kinds[position] = "pagination"
            hrefs.append(attributes.get("href") or attributes.get("xlink:href") or "")
            kept.append(node)
            child = node.first_child
            text = child.text_content if child is not None and child.next is None else None
            texts.append((known.get(text) if text else None) or self._shown_text(node, text))

    def _shown_text(self, node: LexborNode, text: str | None) -> str | None:
        """Return what a reader sees of an anchor; `text` if it holds that and nothing else."""
        if text is not None:
            return _collapse_known(text)
        if self._text_left < 0:
            return None
        text = node.text(True, _FRAGMENT)  # noqa: FBT003 - keywords go the slow way
        self._text_left -= len(text)
        if _FRAGMENT not in text:
            shown = _KNOWN_TEXTS.get(text) or _collapse_known(text)
        else:
            if _TOUCHING.search(text) is not None and node.css_first(_BLOCKS) is None:
                text = text.replace(_FRAGMENT, "")  # one word, partly in bold
            shown = collapse(text, MAX_LINK_TEXT)
        if shown is None:
            image = node.css_first("img[alt]")
            return collapse(image.attributes["alt"] or "", MAX_LINK_TEXT) if image else None
        return shown

    def _is_repeated(self, node: LexborNode) -> bool:
        """Return whether the query found this element just before, for another reason."""
        repeated = node.mem_id == self._last
        self._last = node.mem_id
        return repeated

    def _other(self, node: LexborNode, tag: int) -> None:
        """Take in an element that is no anchor."""
        name = _NAMES.get(tag, "")
        if name in _HIDDEN:
            parent = node.parent
            if len(self.hidden) < MAX_SET_ASIDE and parent and parent.tag_id != _HEAD:
                self.hidden.append(node)
        elif name in _OTHER_LINKS:
            self._other_link(node, name)
        elif name == "h1":
            self.h1 = self.h1 or node
        elif not self._is_repeated(node):
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
        if "role" in attributes and self._is_repeated(node):
            return
        rel, tokens = rel_tokens(attributes.get("rel") or "")
        kind = _OTHER_LINKS[name] or _link_kind(tokens)
        href = attributes.get("src" if kind == "frame" else "href")
        if kind is None or href is None:
            return
        if kind == "base":
            if len(self.base_hrefs) < MAX_BASES:
                self.base_hrefs.append(href)
            return
        if name == "link" and len(self.relations) < MAX_SET_ASIDE:
            self.relations.append((attributes, node))
        if len(self._hrefs) >= self._limit:
            self.skipped += 1
            return
        position = len(self._hrefs)
        self._rels[position] = rel
        self._kinds[position] = kind
        text = attributes.get("alt" if kind == "area" else "title")
        self._texts.append(collapse(text, MAX_LINK_TEXT) if text else None)
        self._hrefs.append(href)
        self._nodes.append(node)

    def _links(self) -> list[Link]:
        """Return the links that were kept, in document order."""
        count = len(self._hrefs)
        rels: list[str | None] = [None] * count
        kinds = ["anchor"] * count
        for position, rel in self._rels.items():
            rels[position] = rel
        for position, kind in self._kinds.items():
            kinds[position] = kind
        regions = self._regions() if self._landmarks else [None] * count
        fields = zip(self._hrefs, range(count), regions, self._texts, rels, kinds, strict=True)
        # Link._make, without a Python call for each.
        return cast("list[Link]", list(map(tuple.__new__, repeat(Link), fields)))

    def _regions(self) -> list[str | None]:
        """Return the region of each link."""
        count = len(self._nodes)
        regions: list[str | None] = [None] * count
        nearest: dict[int, int] = {landmark: landmark for landmark in self._landmarks}
        bounds = sorted({0, *self._starts, count})
        runs = [(first, end - 1) for first, end in pairwise(bounds)]
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


def _collapse_known(text: str) -> str | None:
    """Return what is shown of a text, and remember it."""
    shown = collapse(text, MAX_LINK_TEXT)
    if shown is not None and len(text) <= _KNOWN_LENGTH:
        if len(_KNOWN_TEXTS) >= _KNOWN_COUNT:
            _KNOWN_TEXTS.clear()
        _KNOWN_TEXTS[text] = shown
    return shown


def _link_kind(tokens: frozenset[str]) -> str | None:
    """Return the kind of a ``link`` element; None for one that leads to no page."""
    if "canonical" in tokens:
        return "canonical"
    if not tokens.isdisjoint(_PAGINATION):
        return "pagination"
    if "alternate" in tokens and "stylesheet" not in tokens:
        return "alternate"
    return None
