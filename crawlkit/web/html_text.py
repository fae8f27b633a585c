"""The text that a reader of a page sees, with and without what surrounds it.

Scripts and landmarks are taken out of the tree, the text is read in one pass, and they are put
back where they were: cheaper than a copy of the page, and exact where cutting text out of text
would not be.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborNode

from crawlkit.web.fingerprint import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from selectolax.lexbor import LexborHTMLParser

__all__ = ["TEXT_HASH_BY", "collapse", "count_words", "readable", "split_text", "visible_text"]

TEXT_HASH_BY = "visible_main_v1"
"""The name of the definition of main text; pages are compared only under the same one."""

_FRAGMENT = "\x1f"
# Chosen once for an element as the argument: choosing at each call takes ten times the work.
_insert_before: Callable[[LexborNode, LexborNode, bool], None]
_insert_child: Callable[[LexborNode, LexborNode, bool], None]
try:
    _insert_before = LexborNode.insert_before[LexborNode]  # type: ignore[index]
    _insert_child = LexborNode.insert_child[LexborNode]  # type: ignore[index]
except TypeError:
    _insert_before = LexborNode.insert_before
    _insert_child = LexborNode.insert_child
# One byte for each letter of a word, nothing for ASCII punctuation, a space for whitespace.
_PUNCTUATION = string.punctuation.encode()
_LETTERS = bytes(
    0x20 if byte in b" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f" else 0x77 for byte in range(256)
)
_BEFORE_PUNCTUATION = re.compile(r"\x1f(?=[,.;:!?)\]}%\u201d\u2019\u00bb\u2026])")
_AFTER_BRACKET = re.compile(r"(?<=[(\[{\u201c\u2018\u00ab])\x1f")


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


def split_text(
    tree: LexborHTMLParser,
    hidden: list[LexborNode],
    boilerplate: list[LexborNode],
    *,
    skip_blank: bool = False,
) -> tuple[str, str]:
    """Return the text outside of the landmarks of a page, and the text inside them.

    Parameters
    ----------
    tree
        The page.
    hidden
        Elements whose text nobody sees, in document order.
    boilerplate
        Landmarks that are not the main text, in document order.
    skip_blank
        Leave out text nodes of whitespace alone, a third of all: quicker, and the same to
        `count_words` and to hashes. Only `readable` may put a space before punctuation by them.

    Returns
    -------
    tuple[str, str]
        Both raw, text nodes joined by U+001F: for `count_words`, `readable` and
        `crawlkit.web.fingerprint.text_hash`.
    """
    body = tree.body
    if body is None:
        return "", ""
    removed = _take_out([*hidden, *boilerplate])
    try:
        # Keywords go the slow way: deep, separator, strip, skip_empty.
        texts = [node.text(True, _FRAGMENT, False, skip_blank) for node in boilerplate]  # noqa: FBT003
        return body.text(True, _FRAGMENT, False, skip_blank), _FRAGMENT.join(texts)  # noqa: FBT003
    finally:
        _put_back(removed)


def visible_text(tree: LexborHTMLParser, hidden: list[LexborNode]) -> str:
    """Return the raw text of a page in document order, landmarks and all.

    Parameters
    ----------
    tree
        The page.
    hidden
        Elements whose text nobody sees, in document order.

    Returns
    -------
    str
        Text nodes joined by U+001F.
    """
    return split_text(tree, hidden, [])[0]


def count_words(raw: bytes) -> int:
    r"""Return how many words a raw text has.

    A word is what whitespace, or the border of an element, separates and what has at least one
    character that is not ASCII punctuation.

    Parameters
    ----------
    raw
        Text as `split_text` returns it, in UTF-8 and without no-break spaces.

    Returns
    -------
    int
        The number of words.

    Examples
    --------
    >>> count_words(b"The \x1fcat\x1f, and - the dog's bone.")
    6
    """
    content = raw.translate(_LETTERS, _PUNCTUATION)
    return content.count(b" w") + content.startswith(b"w")


def readable(raw: str) -> str:
    r"""Return a raw text as one line for people.

    Parameters
    ----------
    raw
        Text as `split_text` returns it.

    Returns
    -------
    str
        Whitespace collapsed, no control characters, no space before punctuation where an
        element ended.

    Examples
    --------
    >>> readable("See \x1fthe list\x1f, please.\x1f\n  Thanks")
    'See the list, please. Thanks'
    """
    joined = _AFTER_BRACKET.sub("", _BEFORE_PUNCTUATION.sub("", raw))
    return clean_text(" ".join(joined.split()))


def _take_out(
    nodes: Iterable[LexborNode],
) -> list[tuple[LexborNode, LexborNode | None, LexborNode]]:
    """Unlink elements from their tree; return what it takes to put them back."""
    removed = []
    for node in nodes:
        parent = node.parent
        if parent is not None:
            removed.append((node, node.next, parent))
            node.decompose(False)  # noqa: FBT003
    return removed


def _put_back(removed: list[tuple[LexborNode, LexborNode | None, LexborNode]]) -> None:
    """Link elements again where they were; the last one out is the first one in."""
    for node, following, parent in reversed(removed):
        if following is not None:
            _insert_before(following, node, True)  # noqa: FBT003 - keywords go the slow way
        else:
            _insert_child(parent, node, True)  # noqa: FBT003
