"""Dates in JSON-LD: each with the node that it belongs to, and that node's place on the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.web.date_findings import (
    MAX_FINDINGS,
    MAX_RAW,
    Finding,
    bare_name,
    is_article,
    is_page,
    schema_property,
)
from crawlkit.web.json_ld import Block, read_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["find_in_json_ld"]

_MAX_NODES = 50_000  # of all scripts of a page
_MAX_CHARACTERS = 10_000_000  # likewise
_MAX_PATH = 200
_MAX_ADDRESS = 4_000
_KEYS = ("dateModified", "datePublished")
# What a page is about hangs below these; below any other key hangs a part of it.
_SAME_PAGE = frozenset({"@graph", "mainEntity", "mainEntityOfPage"})
_KEY = re.compile(
    r'(?:schema:|https?://schema\.org/)?(dateModified|datePublished)\\?["\']\s*:\s*'
    r'(?:\{\s*\\?["\']@value\\?["\']\s*:\s*)?(?:\\?["\']([^"\'\\<>\n]{0,200})|([0-9]{9,13}))'
)


class _Place(NamedTuple):
    """A value that is still to be looked at."""

    value: Any
    path: str
    nested: bool
    addresses: tuple[str, ...]  # what the node around it says of this one


def find_in_json_ld(scripts: Iterable[str]) -> Iterator[Finding]:
    """Yield the dates of a page's JSON-LD, script by script.

    Parameters
    ----------
    scripts
        The texts of its JSON-LD scripts.

    Yields
    ------
    Finding
        At most `MAX_FINDINGS`; of each script those near its beginning, or near its root, first.

    Examples
    --------
    >>> script = '{"@type": "Article", "comment": {"dateModified": "2024-05-17"}}'
    >>> [finding] = find_in_json_ld([script])
    >>> finding.path, finding.nested
    ('json_ld[0].comment.dateModified', True)
    """
    found = characters = 0
    nodes = [_MAX_NODES]
    for number, script in enumerate(scripts):
        characters += len(script)
        if characters > _MAX_CHARACTERS:
            return
        if not any(key in script for key in _KEYS):
            continue
        block = read_block(script)
        path = f"json_ld[{number}]"
        dates = _search(block, path) if block.parse == "regex" else _walk(block, path, nodes)
        for finding in dates:
            yield finding
            found += 1
            if found >= MAX_FINDINGS:
                return


def _search(block: Block, path: str) -> Iterator[Finding]:
    """Yield the dates of a script that is no JSON: the first of each kind counts as the page's."""
    seen: dict[str, str] = {}
    for match in _KEY.finditer(block.text):
        name, raw = match[1], match[2] if match[2] is not None else match[3]
        first = seen.setdefault(name, raw)
        yield Finding(
            "modified" if name == "dateModified" else "published",
            "json_ld",
            f"{path}~{name}",
            raw[:MAX_RAW],
            nested=raw != first,
            item=path,
            parse="regex",
        )


def _walk(block: Block, path: str, nodes_left: list[int]) -> Iterator[Finding]:
    """Yield the dates of a script's values, level by level."""
    level = [_Place(value, path, nested=False, addresses=()) for value in block.values]
    if len(level) > 1:
        level = [place._replace(path=f"{path}[{number}]") for number, place in enumerate(level)]
    while level:
        below: list[_Place] = []
        for place in level:
            nodes_left[0] -= 1
            if nodes_left[0] < 0:
                return
            if isinstance(place.value, dict):
                yield from _dates_of(place, block.parse)
                below.extend(_children(place))
            elif isinstance(place.value, list):
                room = min(len(place.value), nodes_left[0])
                below.extend(
                    place._replace(value=value, path=f"{place.path}[{number}]")
                    for number, value in enumerate(place.value[:room])
                    if isinstance(value, (dict, list))
                )
        level = below


def _children(place: _Place) -> Iterator[_Place]:
    """Yield what hangs below a node."""
    for key, value in place.value.items():
        if not isinstance(value, (dict, list)):
            continue
        name = bare_name(key)
        same = name in _SAME_PAGE
        alone = isinstance(value, dict) or len(value) == 1
        yield _Place(
            value,
            f"{place.path}.{name}"[:_MAX_PATH],
            place.nested or not same,
            # The one thing that a page is about is at the address of the page.
            _addresses(place.value) if alone and name == "mainEntity" else (),
        )


def _dates_of(place: _Place, parse: str) -> Iterator[Finding]:
    """Yield the dates of one node."""
    node = place.value
    for key, value in node.items():
        which = schema_property(key)
        if which is None:
            continue
        kind = _kind(node)
        addresses = _addresses(node) or place.addresses
        for number, raw in enumerate(_texts(value)):
            name = bare_name(key) + (f"[{number}]" if isinstance(value, list) else "")
            yield Finding(
                which, "json_ld", f"{place.path}.{name}", raw, kind, place.nested, addresses,
                identifier=_text(node.get("@id")), item=place.path, parse=parse,
            )  # fmt: skip


def _texts(value: Any) -> Iterator[str | None]:
    """Yield the texts of a date's value: a text, a number, an object with ``@value``, a list."""
    for part in value[:10] if isinstance(value, list) else [value]:
        inner = part.get("@value") if isinstance(part, dict) else part
        if isinstance(inner, str):
            yield inner[:MAX_RAW]
        elif isinstance(inner, (int, float)) and not isinstance(inner, bool):
            # A year in a number is a year; so are seconds since 1970.
            yield f"{inner:.0f}" if abs(inner) < 1e15 else None
        elif inner is not None:
            yield None


def _kind(node: dict[str, Any]) -> str | None:
    """Return the type of a node: of several, the one that says most of what the page is."""
    value = node.get("@type", node.get("type"))
    kinds = [
        bare_name(kind)[:MAX_RAW]
        for kind in (value[:20] if isinstance(value, list) else [value])
        if isinstance(kind, str)
    ]
    for wanted in (is_article, is_page):
        for kind in kinds:
            if wanted(kind):
                return kind
    return kinds[0] if kinds else None


def _addresses(node: dict[str, Any]) -> tuple[str, ...]:
    """Return the addresses that a node gives for the page that it is, or is on."""
    found = []
    for key in ("url", "mainEntityOfPage"):
        value = node.get(key, node.get(f"schema:{key}"))
        if isinstance(value, dict):
            value = value.get("@id", value.get("url"))
        address = _text(value)
        if address is not None:
            found.append(address)
    return tuple(found)


def _text(value: Any) -> str | None:
    """Return a text that may be an address."""
    return value if isinstance(value, str) and len(value) <= _MAX_ADDRESS else None
