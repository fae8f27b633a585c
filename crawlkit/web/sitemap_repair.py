"""One repair of a broken XML file: what generators get wrong most, and nothing else.

What stands before the first tag is cut off, bytes of another encoding are read as windows-1252,
control characters go, a stray ``&`` is escaped, HTML's named characters are put in, and tags are
written in lower case. Sections of CDATA and comments stay as they are.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING

from crawlkit.web.sitemap_bytes import PIECE, without_bad_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["ROOT_TAG", "repaired"]

#: The first tag of a file of any kind that is read.
ROOT_TAG = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:urlset|sitemapindex|rss|feed|rdf)(?=[\s/>])", re.I)

_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_FAULTS = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)"  # stay as they are
    rb"|&(?:(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)?"
    rb"|</?[A-Za-z][\w.:-]*[A-Z][\w.:-]*|</?[A-Z][\w.:-]*",
    re.DOTALL,
)
_PREDEFINED = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))


def repaired(pieces: Iterable[bytes], note: Callable[[str], None]) -> Iterator[bytes]:
    """Yield a broken file as UTF-8 that a parser may take.

    Parameters
    ----------
    pieces
        The file in what should be UTF-8.
    note
        Called with the codes of what was found.

    Yields
    ------
    bytes
        Pieces of about a megabyte.

    Examples
    --------
    >>> broken = b"PHP Notice: x<urlset><url><loc>http://a.example/?b&c=&eacute;</loc>"
    >>> b"".join(repaired([broken], print)).decode()
    leading_junk
    '<urlset><url><loc>http://a.example/?b&amp;c=é</loc>'
    """
    data = bytearray()
    for text in without_bad_bytes(pieces, note):
        data += _CONTROL.sub("", text).encode("utf-8", "replace")
    root = ROOT_TAG.search(data, 0, 2 * PIECE)
    start = 0 if root is None else root.start()
    junk = re.sub(
        rb"<\?.*?(?:\?>|\Z)|<!--.*?(?:-->|\Z)|<!DOCTYPE[^>\[]*>",
        b"",
        data[:start],
        flags=re.S | re.I,
    )
    if junk.strip(b"\xef\xbb\xbf \t\r\n"):
        note("leading_junk")
    waiting: list[bytes | bytearray] = []
    size = 0
    for fault in _FAULTS.finditer(data, start):
        at = fault.start()
        waiting += (data[start:at], _mended(fault))
        size += len(waiting[-2]) + len(waiting[-1])
        start = fault.end()
        if size >= PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    waiting.append(data[start:])
    yield b"".join(waiting)


def _mended(fault: re.Match[bytes]) -> bytes:
    text = fault[0]
    if text.startswith(b"<"):
        return text if text.startswith(b"<!") else text.lower()
    name = fault[1]
    if name is None:
        return b"&amp;"
    if name in _PREDEFINED:
        return text
    if not name.startswith(b"#"):
        character = html5.get(f"{name.decode()};")
        return b"&amp;" + text[1:] if character is None else character.encode()
    number = int(name[2:], 16) if name[1:2] in b"xX" else int(name[1:])
    return text if _is_allowed(number) else b""


def _is_allowed(number: int) -> bool:
    """Say whether XML 1.0 has a character of this number."""
    return number in (9, 10, 13) or (
        32 <= number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF and number not in (65534, 65535)
    )
