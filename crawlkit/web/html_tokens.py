"""The tokens of a page: tags, whole plain elements, comments.

Apart from `html_markup`, since this one pattern takes longer to compile than a page to read, and
few pages need it.
"""

from __future__ import annotations

import re

from crawlkit.web.html_markup import AFTER_NAME, ATTRIBUTES, NAME

__all__ = ["GROUPS", "PLAIN_NAMES", "TOKEN"]

_RAW_NAME = rb"(?i:script|style|title|textarea|xmp|iframe|noembed|noframes|plaintext)" + AFTER_NAME
# What no element is inside of; looking for one would read a long run of these again and again.
_EMPTY_NAME = rb"(?i:br|img|hr|wbr|input|meta|link|col|area|base|source|param)" + AFTER_NAME
_PLAIN = (
    "a abbr b bdi cite code del dfn div em i ins kbd label mark p pre q s samp small span strong "
    "sub sup time tt u var"
)
PLAIN_NAMES = frozenset(_PLAIN.encode().split())
"""Elements that change nothing outside of themselves, if they are closed in good order."""
_PLAIN_NAME = rb"(?:" + _PLAIN.replace(" ", "|").encode() + rb")" + AFTER_NAME
_PLAIN_VOID = rb"(?:wbr|br|img)" + AFTER_NAME + ATTRIBUTES + rb">"


def _balanced(depth: int) -> bytes:
    """Return what matches text and whole plain elements, nested up to `depth`."""
    if depth == 0:
        return rb"[^<]*+"
    name = b"level_%d" % depth
    start = rb"(?P<" + name + rb">" + _PLAIN_NAME + rb")" + ATTRIBUTES + rb">"
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
    + ATTRIBUTES
    + rb")>?+(?P<whole>(?(empty)(?!)|(?(raw)[^<]*+|"
    + _balanced(3)
    + rb"))</(?P=start)>)?"
    rb"|/(?P<end>" + NAME + rb")" + ATTRIBUTES + rb">?+"
    rb"|!--(?:-?>|.*?(?:--!?>|\Z))"
    rb"|(?P<cdata>!\[CDATA\[)"
    rb"|[!?/][^>]*+>?)",
    re.DOTALL,
)
GROUPS = [
    TOKEN.groupindex[name] for name in ("start", "raw", "attributes", "whole", "end", "cdata")
]
"""The groups of a token that decide what it is, by number: asking by name takes longer."""
