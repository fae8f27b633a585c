"""The stack of open elements of a page, followed without parsing it.

Written for the few pages that are large or odd enough to be bombs: it reads each tag once and
answers where, if anywhere, the page becomes dearer to parse than it may. It follows the tree
construction of the HTML standard (WHATWG HTML, 13.2.6) closely enough never to believe an element
closed that a parser keeps open; where it cannot tell, it counts against the page.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from crawlkit.web.html_elements import (
    ALIASES,
    BARRIERS,
    BREAKOUT,
    CLOSES_OTHERS,
    CLOSES_PARAGRAPH,
    CONTROLS,
    FOREIGN,
    FORMATTING,
    IMPLIED,
    INTEGRATION,
    ITEM_BARRIERS,
    ITEMS,
    KNOWN,
    LIST_BARRIERS,
    MARKERS,
    NEVER_OPEN,
    PARAGRAPH_BARRIERS,
    ROWS,
    RUBY,
    SCOPED,
    SPECIAL,
    TABLE,
)
from crawlkit.web.html_markup import ATTRIBUTE, LONG_TAG, TAG, raw_text_end
from crawlkit.web.html_tokens import GROUPS, PLAIN_NAMES, TOKEN

__all__ = ["MAX_NESTING", "Cut", "outline_cut"]

MAX_NESTING = 512
"""Elements that may be open at once; browsers stop at the same number."""

# One step is one element that a parser passes on its way down the stack: about 3 ns.
_MAX_STEPS = 200_000_000
# The same in Python is dearer.
_OWN_STEP = 20
# Elements opened again because formatting was left open: 0.3 microseconds and 320 bytes each.
_MAX_REOPENED = 500_000
_MAX_NAMES = 10_000
_MAX_SAMPLED_NAMES = 1_000

_BLOCK_INSIDE = re.compile(rb"<(?:div|p|pre)[\t\n\f\r />]")
_DOCTYPE = re.compile(
    rb"""(?:\s|<!--.*?-->|<\?[^>]*>)*+<!doctype\s+html\s*(?:>|system\s*["']about:|public[^>]*"""
    rb"""//DTD[ ](?:XHTML[ ]1|HTML[ ]4[.]01//))""",
    re.IGNORECASE | re.DOTALL,
)
_CLOSES_ITSELF = re.compile(rb"""(?:^|[\t\n\f\r /"'])/$""")
_FONT_OF_HTML = re.compile(rb"color|face|size", re.IGNORECASE)


class Cut(NamedTuple):
    """Where to cut a page (bytes from its start), and the stable reason code."""

    length: int
    reason: str


def outline_cut(body: bytes) -> Cut | None:
    """Return where a page becomes too dear to parse, if it does.

    Parameters
    ----------
    body
        The page, in an encoding in which bytes below 0x80 are ASCII.

    Returns
    -------
    Cut or None
        The length of the harmless beginning, with the reason ``"nesting"`` or ``"attributes"``.

    Examples
    --------
    >>> outline_cut(b"<ul>" + b"<li>an item" * 100_000)
    >>> outline_cut(b"<ul><li>" * 100_000)
    Cut(length=2048, reason='nesting')
    """
    head = body[:2_048]
    if _DOCTYPE.match(head):
        outline = _Outline(tables_close_paragraphs=True)
    else:
        old = b"<!doctype" in head.lower()
        outline = _Outline(tables_close_paragraphs=None if old else False)
    position = 0
    while 0 <= position < len(body):
        for token in TOKEN.finditer(body, position):
            name, raw, attributes, whole, closed, cdata = token.group(*GROUPS)
            if name is not None:
                name = name.lower()
                name = ALIASES.get(name, name)
                reason = outline.start(name, attributes, whole)
                if reason is not None:
                    return Cut(token.start(), reason)
                if raw is not None and whole is None and not outline.is_foreign():
                    if outline.counts.get(b"select") and name != b"script":
                        return Cut(token.start(), "nesting")  # raw text or markup: no telling
                    position = raw_text_end(body, name, token.end())
                    break
            elif closed is not None:
                closed = closed.lower()
                outline.close(ALIASES.get(closed, closed))
                if len(outline.names) > _MAX_NAMES:
                    return Cut(token.start(), "attributes")
            elif cdata is not None:
                position = body.find(b"]]>" if outline.is_foreign() else b">", token.end())
                break
        else:
            return None
    return None


class _Outline:
    """The elements that may be open, and what they have cost so far."""

    def __init__(self, *, tables_close_paragraphs: bool | None) -> None:
        self.tables_close_paragraphs = tables_close_paragraphs  # None: no telling
        self.open: list[bytes] = []
        self.counts: dict[bytes, int] = {}
        self.formats: dict[bytes, list[bytes]] = {}
        self.active = 0  # formatting elements that a paragraph would open again
        self.reopened = 0
        self.steps = 0
        self.tokens = 0
        self.names: set[bytes] = set()
        self.sampled: set[bytes] = set()

    def is_foreign(self) -> bool:
        """Return whether the next tag is one of SVG or MathML."""
        if not self.open:
            return False
        return self.open[-1].startswith(FOREIGN) and self.open[-1] not in INTEGRATION

    def start(self, name: bytes, attributes: bytes, whole: bytes | None) -> str | None:
        """Follow a start tag, or a whole element; return the reason if it passes a limit."""
        self.tokens += 1
        self.steps += len(self.open) + self.active
        top = self.open[-1] if self.open else b""
        foreign = top[:1] == FOREIGN and top not in INTEGRATION
        sampled = self.tokens & 15 == 0
        if (
            whole is not None
            and name in PLAIN_NAMES
            and not (foreign or sampled or self.active or self.counts.get(b"p"))
            and len(whole) + len(attributes) < LONG_TAG
        ):
            return None  # most elements are like this
        if sampled or name not in KNOWN or len(attributes) > LONG_TAG or whole is not None:
            self.look_inside(name, attributes, whole, sampled=sampled)
            if len(self.names) > _MAX_NAMES or len(self.sampled) > _MAX_SAMPLED_NAMES:
                return "attributes"
        if name == b"annotation-xml" and b"html" in attributes.lower():
            return "nesting"  # HTML inside MathML: not followed
        if foreign and not self.leaves_foreign(name, attributes, whole):
            if whole is None and not _CLOSES_ITSELF.search(attributes):
                self.push(FOREIGN + name)
        else:
            self.start_html(name, attributes, whole)
        if self.steps > _MAX_STEPS or self.reopened > _MAX_REOPENED:
            return "nesting"
        return "nesting" if len(self.open) + self.active > MAX_NESTING else None

    def look_inside(
        self, name: bytes, attributes: bytes, whole: bytes | None, *, sampled: bool
    ) -> None:
        """Collect names, and count what an element costs that is closed again with all in it.

        The names of every tag would be too many to read: of short ones, a sample is.
        """
        if name not in KNOWN:
            self.names.add(name)
        tags = [(name, attributes)]
        if whole is not None:
            self.reopened += self.active * (1 + whole.count(b"<"))
            if sampled or len(whole) > LONG_TAG:
                tags += TAG.findall(whole)
                self.steps += len(tags) * len(self.open)
        for _, found in tags:
            if len(found) > LONG_TAG:
                self.names.update(ATTRIBUTE.findall(found))
            elif sampled:
                self.sampled.update(ATTRIBUTE.findall(found))

    def close_before(self, name: bytes) -> None:
        """Close what the start tag of an HTML element closes."""
        if name in IMPLIED or name in SPECIAL:
            self.reopened += self.active
        if name in ROWS or name == b"table":
            self.close_in_table(name)
        elif name in ITEMS:
            self.close_through(name, stops=ITEM_BARRIERS)
        elif name == b"button":
            self.close_through(name, stops=BARRIERS)
        elif name in CONTROLS:
            self.close_through(b"select", stops=BARRIERS)
        elif name in (b"a", b"nobr"):
            self.drop(name)
        elif name in (b"h1", b"option"):
            # Formatting that a parser opens again may stand between two of them.
            if self.open[-1:] == [name] and not self.active:
                self.drop(name)
        elif name in RUBY and self.open and self.open[-1] in (b"li", b"dd", b"p"):
            self.disown(len(self.open) - 1)

    def close_paragraph(self, name: bytes, whole: bytes | None) -> None:
        """Close the paragraph that a block ends, be it inside of an element that is whole."""
        closes = name in CLOSES_PARAGRAPH
        if name == b"form":
            closes = not self.counts.get(name)
        elif name == b"table" and self.tables_close_paragraphs is not None:
            closes = self.tables_close_paragraphs
        elif name == b"table":
            for index, found in enumerate(self.open):
                if found == b"p":
                    self.disown(index)
        if closes or (whole is not None and _BLOCK_INSIDE.search(whole) is not None):
            self.close_through(b"p", stops=PARAGRAPH_BARRIERS)

    def disown(self, index: int) -> None:
        """Keep an element that may be closed or not: nothing must rely on either."""
        self.counts[self.open[index]] -= 1
        self.open[index] = b"*"

    def start_html(self, name: bytes, attributes: bytes, whole: bytes | None) -> None:
        """Follow the start tag of an HTML element."""
        if self.counts.get(b"p"):
            self.close_paragraph(name, whole)
        if self.active or name in CLOSES_OTHERS:
            self.close_before(name)
        if whole is None and name not in NEVER_OPEN:
            self.open_html(name, attributes)

    def open_html(self, name: bytes, attributes: bytes) -> None:
        """Open an HTML element."""
        if name == b"select" and self.counts.get(name):
            self.close_through(name, stops=BARRIERS)  # a second one only closes the first
            return
        if name in (b"svg", b"math"):
            if not _CLOSES_ITSELF.search(attributes):
                self.push(FOREIGN + name)
            return
        if (name == b"form" and self.counts.get(name)) or (
            name == b"td" and not self.counts.get(b"table")
        ):
            return
        if name in FORMATTING and name not in (b"a", b"nobr"):
            alike = self.formats.setdefault(name, [])
            if alike.count(attributes) < 3:
                alike.append(attributes)
                self.active += 1
        self.push(name)

    def close_in_table(self, name: bytes) -> None:
        """Close the cell that a row or cell ends; a table that is not in a cell ends a table."""
        if not self.counts.get(b"table"):
            return
        if name != b"table":
            self.close_through(b"td", stops=TABLE)
        else:
            for index in range(len(self.open) - 1, -1, -1):
                self.steps += _OWN_STEP
                found = self.open[index]
                if found == name:
                    self.cut_back(index)
                if found in TABLE or found == b"td":
                    return

    def leaves_foreign(self, name: bytes, attributes: bytes, whole: bytes | None) -> bool:
        """Close SVG or MathML if this element cannot be inside it; return whether it did."""
        leaves = name in BREAKOUT or (name == b"font" and _FONT_OF_HTML.search(attributes))
        if not leaves and whole is not None:
            leaves = any(inner.lower() in BREAKOUT for inner, _ in TAG.findall(whole))
        if not leaves:
            return False
        while self.is_foreign():
            self.counts[self.open.pop()] -= 1
        return True

    def push(self, name: bytes) -> None:
        """Open an element that stays open until an end tag closes it."""
        self.open.append(name)
        self.counts[name] = self.counts.get(name, 0) + 1

    def close(self, name: bytes) -> None:
        """Follow an end tag."""
        if name not in KNOWN:
            self.names.add(name)
        if self.is_foreign():
            if name in (b"p", b"br"):
                self.leaves_foreign(b"p", b"", None)
            elif self.close_foreign(name):
                return
        if name in IMPLIED or name in SPECIAL:
            self.reopened += self.active
        if name in ROWS:
            self.close_through(b"td", stops=TABLE)
        elif name in FORMATTING or name == b"form":
            if self.formats.get(name):
                self.formats[name].pop()
                self.active -= 1
            self.drop(name)
        elif name == b"li":
            self.close_through(name, stops=LIST_BARRIERS)
        elif name == b"p":
            self.close_through(name, stops=PARAGRAPH_BARRIERS)
        else:
            self.close_through(name, stops=BARRIERS if name in SCOPED else SPECIAL)

    def close_foreign(self, name: bytes) -> bool:
        """Close an element of SVG or MathML; return False if HTML is reached first."""
        name = FOREIGN + name
        for index in range(len(self.open) - 1, -1, -1):
            self.steps += _OWN_STEP
            if not self.open[index].startswith(FOREIGN):
                return False
            if self.open[index] == name:
                self.cut_back(index)
                return True
        return True

    def close_through(self, name: bytes, *, stops: frozenset[bytes]) -> None:
        """Close the innermost element of this name and all in it, unless one stops that."""
        if not self.counts.get(name):
            return
        for index in range(len(self.open) - 1, -1, -1):
            self.steps += _OWN_STEP
            found = self.open[index]
            if found == name:
                self.cut_back(index)
                return
            if found in stops or found.startswith(FOREIGN):
                return

    def cut_back(self, length: int) -> None:
        """Leave only the outermost elements open, and open formatting again that was in others."""
        closed = self.open[length:]
        del self.open[length:]
        for name in closed:
            self.counts[name] = self.counts.get(name, 0) - 1
        if not self.active:
            return
        for name in set(closed) & self.formats.keys():
            again = min(closed.count(name), len(self.formats[name]))
            if closed[0] in MARKERS:  # what was opened in these ends with them
                del self.formats[name][len(self.formats[name]) - again :]
                self.active -= again
            else:
                self.open += [name] * again
                self.counts[name] += again

    def drop(self, name: bytes) -> None:
        """Close the innermost element of this name, and no other."""
        if not self.counts.get(name):
            return
        self.counts[name] -= 1
        for index in range(len(self.open) - 1, -1, -1):
            self.steps += _OWN_STEP
            if self.open[index] == name:
                del self.open[index]
                return
