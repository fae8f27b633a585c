"""Tags and attributes, read exactly as the tokenizer of an HTML parser reads them.

(WHATWG HTML, 13.2.5.) Regular expressions, since they see hundreds of thousands of tags; every
repeat is possessive or bounded, so that none can run away.
"""

from __future__ import annotations

import re

__all__ = [
    "ATTRIBUTE",
    "GROUPS",
    "LONG_TAG",
    "PLAIN_NAMES",
    "TAG",
    "TOKEN",
    "raw_text_end",
]

LONG_TAG = 1_000
"""Bytes; what is longer is looked at more closely."""

_SPACE = rb"[\t\n\f\r ]"
_VALUE = rb"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >"'][^\t\n\f\r >]*+)"""
_REST = rb"[^\t\n\f\r />=]*+"
_ASSIGNED = rb"(?:" + _SPACE + rb"*+=" + _SPACE + rb"*+" + _VALUE + rb"?+)?+"
_NAME = rb"[a-zA-Z][^\t\n\f\r />]*+"
# All that stands between the name and the end of a tag.
_ATTRIBUTES = rb"(?:[\t\n\f\r /]*+[^\t\n\f\r />]" + _REST + _ASSIGNED + rb")*+[\t\n\f\r /]*+"
ATTRIBUTE = re.compile(rb"[\t\n\f\r /]*+([^\t\n\f\r />]" + _REST + rb")" + _ASSIGNED)
"""One attribute; the group is its name."""

_AFTER_NAME = rb"(?=[\t\n\f\r />])"
_RAW_NAME = rb"(?i:script|style|title|textarea|xmp|iframe|noembed|noframes|plaintext)" + _AFTER_NAME
# What no element is inside of; looking for one would read a long run of these again and again.
_EMPTY_NAME = rb"(?i:br|img|hr|wbr|input|meta|link|col|area|base|source|param)" + _AFTER_NAME
_PLAIN = (
    "a abbr b bdi cite code del dfn div em i ins kbd label mark p pre q s samp small span strong "
    "sub sup time tt u var"
)
PLAIN_NAMES = frozenset(_PLAIN.encode().split())
"""Elements that change nothing outside of themselves, if they are closed in good order."""
_PLAIN_NAME = rb"(?:" + _PLAIN.replace(" ", "|").encode() + rb")" + _AFTER_NAME
_PLAIN_VOID = rb"(?:wbr|br|img)" + _AFTER_NAME + _ATTRIBUTES + rb">"


def _balanced(depth: int) -> bytes:
    """Return what matches text and whole plain elements, nested up to `depth`."""
    if depth == 0:
        return rb"[^<]*+"
    name = b"level_%d" % depth
    start = rb"(?P<" + name + rb">" + _PLAIN_NAME + rb")" + _ATTRIBUTES + rb">"
    element = start + _balanced(depth - 1) + rb"</(?P=" + name + rb")>"
    return rb"[^<]*+(?:<(?:" + element + rb"|" + _PLAIN_VOID + rb")[^<]*+){0,500}"


# No group may be captured in a possessive repeat: Python 3.11 may mistake where it ended.
# A start tag, with the rest of its element where all in it is closed in good order; an end tag.
TOKEN = re.compile(
    rb"<(?:(?P<start>(?=[a-zA-Z])(?:(?P<raw>"
    + _RAW_NAME
    + rb")|(?P<empty>"
    + _EMPTY_NAME
    + rb"))?[^\t\n\f\r />]*+)(?P<attributes>"
    + _ATTRIBUTES
    + rb")>?+(?P<whole>(?(empty)(?!)|(?(raw)[^<]*+|"
    + _balanced(3)
    + rb"))</(?P=start)>)?"
    rb"|/(?P<end>" + _NAME + rb")" + _ATTRIBUTES + rb">?+"
    rb"|!--(?:-?>|.*?(?:--!?>|\Z))"
    rb"|(?P<cdata>!\[CDATA\[)"
    rb"|[!?/][^>]*+>?)",
    re.DOTALL,
)
TAG = re.compile(rb"<(" + _NAME + rb")(" + _ATTRIBUTES + rb")")
"""A start tag: its name, and its attributes as they stand."""
_SCRIPT_STATE = re.compile(rb"<!--|-->|<(/?)script(?=[\t\n\f\r />])", re.IGNORECASE)
GROUPS = [
    TOKEN.groupindex[name] for name in ("start", "raw", "attributes", "whole", "end", "cdata")
]
"""The groups of a token that decide what it is, by number: asking by name takes longer."""


def raw_text_end(body: bytes, name: bytes, position: int) -> int:
    """Return where the text of a ``script``, ``style`` or such element ends.

    Parameters
    ----------
    body
        The page.
    name
        The element's name, lower case.
    position
        Where its start tag ends.

    Returns
    -------
    int
        Where its end tag begins; the length of the page if it has none.

    Examples
    --------
    >>> raw_text_end(b"<style>p > b {}</style>", b"style", 7)
    15
    """
    if name == b"plaintext":
        return len(body)
    if name == b"script":
        return _script_end(body, position)
    closing = re.compile(rb"</" + name + rb"(?=[\t\n\f\r />])", re.IGNORECASE)
    end = closing.search(body, position)
    return end.start() if end else len(body)


def _script_end(body: bytes, position: int) -> int:
    """Return where a script ends: inside ``<!--``, a second one has an end tag of its own."""
    in_comment = in_script = False
    while (mark := _SCRIPT_STATE.search(body, position)) is not None:
        position = mark.end()
        if mark[0] == b"<!--":
            if not in_comment:
                in_comment = True
                position -= 2  # "<!-->" is over at once
        elif mark[0] == b"-->":
            in_comment = in_script = False
        elif not mark[1]:
            in_script = in_comment
        elif not in_script:
            return mark.start()
        else:
            in_script = False
    return len(body)
