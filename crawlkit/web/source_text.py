"""Text of files and clipboards: its encoding, and the URLs that stand in running text."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["decoded_text", "is_url", "urls_in_text"]

# Longer marks first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT = 4096
_WHOLE_URL = re.compile(r"https?://[^\s/?#]\S*", re.I)
_IN_TEXT = re.compile(
    r"(?:https?://|(?<![\w./@-])www\.(?=\w))[^\s<>\"`{}|\\^\u00ab\u00bb\u201c-\u201f]+", re.I
)
_TRAILING = ".,;:!?'\u2019*_~\u2026\u3002\uff0c"
_PAIRS = {")": "(", "]": "["}


def decoded_text(data: bytes) -> tuple[str, str]:
    r"""Return the text of a file, and its encoding.

    A byte order mark decides; then the look of UTF-16, as spreadsheets export it; then UTF-8 where
    it fits; else it is windows-1252.

    Examples
    --------
    >>> decoded_text(b"\xff\xfeu\x00r\x00l\x00"), decoded_text("u,r".encode("utf-16-be"))
    (('url', 'utf-16-le'), ('u,r', 'utf-16-be'))
    >>> decoded_text(b"caf\xe9")
    ('café', 'windows-1252')
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace"), name
    start = data[:_LOOKED_AT]
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = start[first::2].count(0)
        if zeros > 0.4 * len(start) / 2 and zeros > 5 * start[1 - first :: 2].count(0):
            return data.decode(name, "replace"), name
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("windows-1252", "replace"), "windows-1252"


def is_url(cell: object, *, relative: bool = False) -> bool:
    """Say whether a cell as a whole is an http(s) URL, or with `relative` a path.

    Examples
    --------
    >>> is_url(" https://example.com/a "), is_url("see https://example.com"), is_url("/a")
    (True, False, False)
    """
    if not isinstance(cell, str):
        return False
    text = cell.strip()
    if _WHOLE_URL.fullmatch(text):
        return True
    return relative and text.startswith("/") and " " not in text


def urls_in_text(text: str) -> Iterator[str]:
    """Yield the URLs in running text, without the punctuation around them.

    Examples
    --------
    >>> list(urls_in_text("See <https://a.example/x>, (http://b.example/y_(z)) or www.c.example."))
    ['https://a.example/x', 'http://b.example/y_(z)', 'www.c.example']
    """
    for match in _IN_TEXT.finditer(text):
        url = match[0]
        while url:
            last = url[-1]
            opening = _PAIRS.get(last)
            if last in _TRAILING or (opening and url.count(last) > url.count(opening)):
                url = url[:-1]
            else:
                break
        if url.lower() not in ("http://", "https://", "www"):
            yield url
