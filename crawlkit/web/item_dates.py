"""Dates in microdata and RDFa Lite: each with the item that it belongs to.

Both mark an item on an element and its properties on the elements inside. They differ in the names
of the attributes, and in where a value may stand.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.web.date_findings import (
    MAX_FINDINGS,
    MAX_RAW,
    Finding,
    bare_name,
    schema_property,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from crawlkit.web.html import Page

__all__ = ["MICRODATA", "RDFA", "Syntax", "find_in_items"]

# What a page is about hangs below these (a page of a blog is about a post); below any other
# property hangs a part of it.
_SAME_PAGE = frozenset({"mainEntity", "mainEntityOfPage", "blogPost", "blogPosts"})
_MAX_DEPTH = 512  # of ancestors that are looked at
_MAX_ADDRESSES = 2_000
_MAX_REFERENCES = 100


class Syntax(NamedTuple):
    """The names by which a syntax marks items.

    Attributes
    ----------
    source
        Its name.
    property, item, kind, identifier
        Attributes: of a property's name; that makes an element an item; of its type; of its id.
    """

    source: str
    property: str
    item: str
    kind: str
    identifier: tuple[str, ...]


MICRODATA = Syntax("microdata", "itemprop", "itemscope", "itemtype", ("itemid",))
RDFA = Syntax("rdfa", "property", "typeof", "typeof", ("resource", "about"))


class _Item(NamedTuple):
    """What a date of an item is said to be of."""

    kind: str | None
    nested: bool
    addresses: tuple[str, ...]
    identifier: str | None
    item: str | None
    path: str


_NO_ITEM = _Item(None, nested=False, addresses=(), identifier=None, item=None, path="")


def find_in_items(page: Page, syntax: Syntax) -> Iterator[Finding]:
    """Yield the dates that a page's microdata or RDFa names.

    Parameters
    ----------
    page
        A parsed page.
    syntax
        `MICRODATA` or `RDFA`.

    Yields
    ------
    Finding
        In document order, at most `MAX_FINDINGS`.

    Examples
    --------
    >>> from crawlkit.web.html import parse_page
    >>> html = "<p itemscope itemtype=//schema.org/Article><b itemprop=dateModified>2024</b>"
    >>> [finding] = find_in_items(parse_page(html, url="http://example.com/"), MICRODATA)
    >>> finding.raw, finding.kind
    ('2024', 'Article')
    """
    items = _Items(page, syntax)
    found = 0
    for node in page.css(
        f'[{syntax.property}*="dateModified"],[{syntax.property}*="datePublished"]'
    ):
        names = (node.attributes.get(syntax.property) or "").split()
        properties = dict.fromkeys(filter(None, map(schema_property, names)))
        if not properties:
            continue
        item = items.around(node)
        raw = _value(node)
        for which in properties:
            yield Finding(
                which,
                syntax.source,
                f"{item.path or node.tag} {node.tag}[{syntax.property}]".strip(),
                raw,
                item.kind,
                item.nested,
                item.addresses,
                item.identifier,
                item.item,
            )
        found += 1
        if found >= MAX_FINDINGS:
            return


def _value(node: LexborNode) -> str | None:
    """Return a property's value: where the standards have it, or where authors put it."""
    attributes = node.attributes
    order = ("datetime", "content") if node.tag == "time" else ("content", "datetime", "value")
    for name in order:
        value = attributes.get(name)
        if value and value.strip():
            return value[:MAX_RAW]
    for name in order:
        if attributes.get(name) is not None and node.tag == "meta":
            return ""
    return node.text()[:MAX_RAW]


class _Items:
    """The items of a page in one syntax; each is described once, when a date needs it."""

    def __init__(self, page: Page, syntax: Syntax) -> None:
        self._page = page
        self._syntax = syntax
        self._known: dict[int, _Item] = {}

    def around(self, node: LexborNode) -> _Item:
        """Return the item that a property belongs to."""
        owner = self._owner(node)
        if owner is None and self._syntax is MICRODATA:
            owner = self._referring(node)
        if owner is None:
            return _NO_ITEM
        item = self._known.get(owner.mem_id)
        if item is None:
            item = self._known[owner.mem_id] = self._describe(owner)
        return item

    def _owner(self, node: LexborNode) -> LexborNode | None:
        """Return the nearest element around a node that is an item."""
        parent = node.parent
        for _ in range(_MAX_DEPTH):
            if parent is None:
                break
            if self._syntax.item in parent.attributes:
                return parent
            parent = parent.parent
        return None

    def _referring(self, node: LexborNode) -> LexborNode | None:
        """Return the item that takes a property in by the id of an element around it."""
        around: LexborNode | None = node if self._references else None
        for _ in range(_MAX_DEPTH):
            if around is None:
                break
            item = self._references.get(around.attributes.get("id") or "")
            if item is not None:
                return item
            around = around.parent
        return None

    @cached_property
    def _references(self) -> dict[str, LexborNode]:
        """The items that take in properties from outside of them, by the ids that they name."""
        items: dict[str, LexborNode] = {}
        for item in self._page.css("[itemref]")[:_MAX_REFERENCES]:
            for name in (item.attributes.get("itemref") or "").split()[:_MAX_REFERENCES]:
                items.setdefault(name, item)
        return items

    @cached_property
    def _addresses(self) -> dict[int, list[str]]:
        """The addresses that items give for the page that they are, or are on."""
        name = self._syntax.property
        found: dict[int, list[str]] = {}
        nodes = self._page.css(f'[{name}~="url"],[{name}~="mainEntityOfPage"]')
        for node in nodes[:_MAX_ADDRESSES]:
            attributes = node.attributes
            for place in ("href", "content", "itemid", "resource"):
                value = attributes.get(place)
                owner = self._owner(node) if value else None
                if value and owner is not None:
                    found.setdefault(owner.mem_id, []).append(value)
                    break
        return found

    def _describe(self, owner: LexborNode) -> _Item:
        """Return what is known of an item."""
        attributes = owner.attributes
        kinds = (attributes.get(self._syntax.kind) or "").split()
        kind = bare_name(kinds[0])[:MAX_RAW] if kinds else None
        role = attributes.get(self._syntax.property)
        nested = role is not None and role not in _SAME_PAGE and self._owner(owner) is not None
        identifiers = (attributes.get(name) for name in self._syntax.identifier)
        name = f"{self._syntax.source}[{len(self._known)}]"
        return _Item(
            kind,
            nested,
            tuple(self._addresses.get(owner.mem_id, ())),
            next(filter(None, identifiers), None),
            name,
            f"{name} {kind or owner.tag}",
        )
