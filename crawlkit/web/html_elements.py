"""The kinds of elements that the tree construction of HTML tells apart (WHATWG HTML, 13.2.6)."""

from __future__ import annotations

__all__ = [
    "ALIASES",
    "BARRIERS",
    "BREAKOUT",
    "CLOSES_OTHERS",
    "CLOSES_PARAGRAPH",
    "CONTROLS",
    "FOREIGN",
    "FORMATTING",
    "IMPLIED",
    "INTEGRATION",
    "ITEMS",
    "ITEM_BARRIERS",
    "KNOWN",
    "LIST_BARRIERS",
    "MARKERS",
    "NEVER_OPEN",
    "PARAGRAPH_BARRIERS",
    "ROWS",
    "RUBY",
    "SCOPED",
    "SPECIAL",
    "TABLE",
]


def _names(text: str) -> frozenset[bytes]:
    return frozenset(text.encode().split())


VOID = _names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param "
    "source track wbr"
)
# Their end tags may be left out, and they nest only as deep as the elements around them.
IMPLIED = _names("html head body tr thead tbody tfoot colgroup")
ROWS = _names("td tr thead tbody tfoot colgroup col")
FORMATTING = _names("a b big code em font i nobr s small strike strong tt u")
# An end tag does not reach through these to an element outside; nor through SVG and MathML.
BARRIERS = _names("table td template object applet marquee select")
TABLE = _names("table template")
MARKERS = _names("td object applet marquee template")
LIST_BARRIERS = BARRIERS | _names("ol ul")
PARAGRAPH_BARRIERS = BARRIERS | _names("button")
# The start tags of these close a paragraph.
BLOCKS = _names(
    "address article aside blockquote center dd details dialog dir div dl fieldset figcaption "
    "figure footer form h1 header hgroup li listing main menu nav ol p pre search section summary "
    "ul"
)
CLOSES_PARAGRAPH = BLOCKS | _names("hr plaintext xmp")
# Their end tags close all that is in them, up to a barrier; others stop at a special element.
SCOPED = BLOCKS | BARRIERS | _names("button")
SPECIAL = SCOPED | _names(
    "frameset iframe noembed noframes noscript plaintext script style textarea title xmp"
)
RAW_TEXT = _names("script style title textarea xmp iframe noembed noframes plaintext")
NEVER_OPEN = VOID | IMPLIED | RAW_TEXT
KNOWN = VOID | IMPLIED | FORMATTING | SPECIAL | _names("span option optgroup")
ALIASES = {
    b"dt": b"dd",
    **dict.fromkeys(_names("th caption"), b"td"),
    **dict.fromkeys(_names("h2 h3 h4 h5 h6"), b"h1"),
}
# The start tag of an item closes the item before it, unless another element is between them.
ITEMS = _names("li dd")
RUBY = _names("rb rt rtc rp")
ITEM_BARRIERS = SPECIAL - _names("address div p")
# Controls that a list of choices cannot hold, and so close it.
CONTROLS = _names("input keygen textarea")
# Besides those that close a paragraph.
CLOSES_OTHERS = ROWS | ITEMS | CONTROLS | RUBY | _names("table button a nobr h1 option")
# HTML that ends SVG or MathML around it.
BREAKOUT = _names(
    "b big blockquote body br center code dd div dl em embed h1 head hr i img li listing menu "
    "meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
FOREIGN = b":"  # elements of SVG and MathML are kept as ":name"
INTEGRATION = _names(":title :desc :foreignobject :mi :mo :mn :ms :mtext")
