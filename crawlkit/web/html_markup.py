"""Tags and attributes, read exactly as the tokenizer of an HTML parser reads them.

(WHATWG HTML, 13.2.5.) Regular expressions, since they see hundreds of thousands of tags; every
repeat is possessive or bounded, so that none can run away.
"""

from __future__ import annotations

import re

__all__ = [
    "AFTER_NAME",
    "ATTRIBUTE",
    "ATTRIBUTES",
    "LONG_TAG",
    "NAME",
    "TAG",
    "raw_text_end",
]

LONG_TAG = 1_000
"""Bytes; what is longer is looked at more closely."""

_SPACE = rb"[\t\n\f\r ]"
_VALUE = rb"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >"'][^\t\n\f\r >]*+)"""
_REST = rb"[^\t\n\f\r />=]*+"
_ASSIGNED = rb"(?:" + _SPACE + rb"*+=" + _SPACE + rb"*+" + _VALUE + rb"?+)?+"
NAME = rb"[a-zA-Z][^\t\n\f\r />]*+"
"""The name of a tag, as a pattern."""
AFTER_NAME = rb"(?=[\t\n\f\r />])"
ATTRIBUTES = rb"(?:[\t\n\f\r /]*+[^\t\n\f\r />]" + _REST + _ASSIGNED + rb")*+[\t\n\f\r /]*+"
"""All that stands between the name and the end of a tag, as a pattern."""

ATTRIBUTE = re.compile(rb"[\t\n\f\r /]*+([^\t\n\f\r />]" + _REST + rb")" + _ASSIGNED)
"""One attribute; the group is its name."""

TAG = re.compile(rb"<(" + NAME + rb")(" + ATTRIBUTES + rb")")
"""A start tag: its name, and its attributes as they stand."""
_SCRIPT_STATE = re.compile(rb"<!--|-->|<(/?)script(?=[\t\n\f\r />])", re.IGNORECASE)


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
