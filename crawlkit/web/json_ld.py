"""JSON-LD as pages hold it: scripts whose JSON is broken in the ways in which it is often broken.

Each block is read as strictly as it allows; what could not be read as JSON is left to a search for
the keys that are wanted. Nothing here raises, and nothing takes more than linear time.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

__all__ = ["MAX_BLOCK", "Block", "read_block"]

MAX_BLOCK = 2_000_000
"""Characters of a block up to which it is read as JSON; of a longer one, keys are searched for."""

_MAX_VALUES = 1_000  # of one block, one after the other
_WRAPPERS = re.compile(
    r"\s*(?:<!--(?:\s*//)?|//\s*<!--|(?://\s*|/\*\s*)?<!\[CDATA\[(?:\s*\*/)?|\ufeff)\s*"
)
_END_WRAPPERS = re.compile(r"\s*(?:(?://\s*)?-->|(?://\s*|/\*\s*)?\]\]>(?:\s*\*/)?|;)\s*\Z")
_TOKENS = re.compile(
    r'"(?:[^"\\]++|\\.)*+(?:"|\Z)'  # a string, also one that does not end
    r"|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)"
    r"|//[^\n]*+"
    r"|,(?=\s*+[}\]])",
    re.DOTALL,
)
_BAD_ESCAPE = re.compile(r"\\(?:([\"\\/bfnrt]|u[0-9a-fA-F]{4})|(.))", re.DOTALL)
_BETWEEN = re.compile(r"[\s,;]*")
_DECODER = json.JSONDecoder(strict=False)


class Block(NamedTuple):
    """What came of one script.

    Attributes
    ----------
    values
        The JSON values in it, one after the other.
    parse
        ``"strict"``, ``"lenient"`` (read once mended) or ``"regex"`` (no JSON: `text` is to be
        searched).
    text
        The text of the script; entities are decoded if it had them in place of quotes.
    """

    values: list[Any]
    parse: str
    text: str


def read_block(text: str) -> Block:
    """Read the text of a JSON-LD script.

    Parameters
    ----------
    text
        The script's text.

    Returns
    -------
    Block
        Values of JSON, or nothing but the text.

    Examples
    --------
    >>> read_block('{"a": 1}').values
    [{'a': 1}]
    >>> read_block('<!-- {"a": 1,}; -->')[:2]
    ([{'a': 1}], 'lenient')
    >>> read_block('{"a": "cut sh').parse
    'regex'
    """
    if len(text) > MAX_BLOCK:
        return Block([], "regex", text)
    try:
        return Block([json.loads(text)], "strict", text)
    except (ValueError, RecursionError, MemoryError):
        pass
    bare = _unescaped(_unwrapped(text))
    values, rest = _values(bare)
    if rest:
        values, rest = _values(_TOKENS.sub(_mend_token, bare))
    # What follows the last whole value is left out only if there is nothing to be missed in it.
    if values and "date" not in rest:
        return Block(values, "lenient", bare)
    return Block([], "regex", _unescaped(text))


def _unwrapped(text: str) -> str:
    """Return a text without the comment or CDATA marks around it, and without ``;`` at its end."""
    start, end = 0, text[-200:]
    while (match := _WRAPPERS.match(text, start)) is not None:
        start = match.end()
    shortened = end
    while (match := _END_WRAPPERS.search(shortened)) is not None:
        shortened = shortened[: match.start()]
    return text[start : len(text) - len(end) + len(shortened)]


def _unescaped(text: str) -> str:
    """Return a text with its entities decoded, if they stand where its quotes should."""
    if '"' not in text and ("&quot;" in text or "&#34;" in text or "&#x22;" in text):
        import html  # and with it a table of 2,000 names, which few pages need

        return html.unescape(text)
    return text


def _mend_token(match: re.Match[str]) -> str:
    """Return a string with escapes that JSON knows; nothing for a comment or a needless comma."""
    token = match[0]
    if not token.startswith('"'):
        return "" if token.startswith(",") else " "
    if "\\" in token:
        return _BAD_ESCAPE.sub(lambda escape: escape[0] if escape[1] else escape[2], token)
    return token


def _values(text: str) -> tuple[list[Any], str]:
    """Return the JSON values of a text, and the rest of it that could not be read."""
    values: list[Any] = []
    position = _end_of_gap(text, 0)
    while position < len(text) and len(values) < _MAX_VALUES:
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError, MemoryError):
            break
        values.append(value)
        position = _end_of_gap(text, position)
    return values, text[position:]


def _end_of_gap(text: str, position: int) -> int:
    """Return where the space, commas and semicolons at a position end."""
    match = _BETWEEN.match(text, position)
    return position if match is None else match.end()
