"""How much of a page may be given to the HTML parser.

An HTML parser is linear on pages and quadratic on bombs: each block element walks the stack of
open elements, each new attribute is compared with those before it, and each paragraph opens
again the formatting elements that were left open. None of that can be stopped once it runs, so a
page is measured first. Most pages are small enough to be harmless whatever they hold; the rest
is counted by cheap scans, and only a page that those leave in doubt is read tag by tag.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawlkit.web.html_outline import Cut

__all__ = ["safe_length"]

# Up to here a page cannot hold enough of anything.
_HARMLESS_BYTES = 8_192
_HARMLESS_MARKS = 1_500
# The square of these numbers, at about 3 ns a step, is a fraction of a second.
_MAX_START_TAGS = 20_000
_MAX_ATTRIBUTES = 15_000
_FEW_ATTRIBUTES_BYTES = 131_072
# Elements that open formatting may repeat; each costs about 0.3 microseconds and 320 bytes.
_MAX_REOPENED = 600_000

# Usual attributes, at most four of them: everything else is counted one by one.
_PLAIN = rb"""(?: [\w:-]++=(?:"[^"]*+"|[\w./:#?&%+,;~@!-]++))?+"""
_UNUSUAL_TAG = re.compile(rb"<[a-zA-Z](?![\w:-]*+" + _PLAIN * 4 + rb" ?/?>)")
# Most names begin otherwise, are longer, or end in ">": those need not be compared, letter by
# letter in either case.
_FORMATTING_TAG = re.compile(
    rb"<(?=[bcefistuBCEFISTU][a-zA-Z]{0,5}[\t\n\f\r /])"
    rb"((?i:[bisu]|big|code|em|font|small|strike|strong|tt)"
    rb'(?:(?: [\w:-]++="[^"<>]*+")++ ?/?>|[\t\n\f\r /]))'
)


def safe_length(body: bytes) -> Cut | None:
    """Return where a page must be cut so that it can be parsed in bounded time.

    Parameters
    ----------
    body
        The page, in an encoding in which bytes below 0x80 are ASCII.

    Returns
    -------
    Cut or None
        None for a page that may be parsed as a whole. Otherwise the length of its harmless
        beginning, with the reason: ``"nesting"`` (more than `MAX_NESTING` elements open, or
        formatting opened again too often) or ``"attributes"`` (too many attributes on one
        element, or too many different names).

    Notes
    -----
    Linear in the length of the page. The bounds hold for any input: the number of start tags is
    at most the number of ``<`` less that of ``</``, and what a page costs the parser is at most
    a square of what is counted here.

    Examples
    --------
    >>> safe_length(b"<p>Hello <b>world</b>")
    >>> safe_length(b"<div>" * 100_000)
    Cut(length=2560, reason='nesting')
    """
    if len(body) <= _HARMLESS_BYTES:
        return None
    marks = body.count(b"<")
    if marks <= _HARMLESS_MARKS and len(body) <= _FEW_ATTRIBUTES_BYTES:
        return None
    ends = body.count(b"</")
    starts = opened = marks - ends
    if starts <= _HARMLESS_MARKS and len(body) <= _FEW_ATTRIBUTES_BYTES:
        return None
    if starts > _MAX_START_TAGS:
        # An anchor closes the one before it, so anchors cannot be what is deep.
        starts -= body.count(b"<a ")
        ends -= body.count(b"</a>")
    if (
        starts <= _MAX_START_TAGS
        and ends <= 2 * _MAX_START_TAGS
        and _reopening_formats(body) * opened <= _MAX_REOPENED
        and (len(body) <= _FEW_ATTRIBUTES_BYTES or _has_few_attributes(body))
    ):
        return None
    # Few crawls meet such a page, and its patterns take as long to compile as ten pages to parse.
    from crawlkit.web.html_outline import outline_cut

    return outline_cut(body)


def _reopening_formats(body: bytes) -> int:
    """Return how many formatting elements a paragraph might open again, at most.

    A parser keeps at most three that are alike, so those without attributes do not matter, and
    the others count by how many different ones there are.
    """
    found = _FORMATTING_TAG.findall(body)
    # A tag that does not end in ">" here was not read to its end: each of those counts.
    unread = sum(not tag.endswith(b">") for tag in found)
    return 3 * len(set(found)) + unread


def _has_few_attributes(body: bytes) -> bool:
    """Return whether no tag holds many attributes, and all together few different ones."""
    from crawlkit.web.html_markup import ATTRIBUTE, TAG

    names: set[bytes] = set()
    scanned = 0
    for match in _UNUSUAL_TAG.finditer(body):
        tag = TAG.match(body, match.start())
        if tag is None:
            continue
        scanned += tag.end() - tag.start()
        found = ATTRIBUTE.findall(tag[2])
        names.update(found)
        # What looks like a tag may be part of a value, and then each is read to its end again.
        if max(len(found), len(names)) > _MAX_ATTRIBUTES or scanned > 2 * len(body):
            return False
    return True
