"""The encoding of a page, in the order that browsers follow (WHATWG HTML, 13.2.3.2).

A byte-order mark, the charset of the Content-Type header, a declaration in the first 1,024
bytes (or later, where a browser would start over), and then a fallback. Labels are those of the
WHATWG Encoding standard, so ``latin1`` means windows-1252 and ``utf-7`` means nothing.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import NamedTuple

import webencodings

__all__ = ["Decoded", "decode", "detect_encoding", "is_ascii_transparent"]

_PRESCAN = 1024
_LATEST = 65_536
_FALLBACK = "windows-1252"
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xfe\xff", "utf-16be"),
    (b"\xff\xfe", "utf-16le"),
)
_FIRST_OF_MARKS = (b"\xef", b"\xfe", b"\xff")
# Bytes below 0x80 mean ASCII everywhere except here.
_NOT_ASCII = frozenset({"utf-16le", "utf-16be", "iso-2022-jp", "replacement"})

_HEADER_CHARSET = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|([^\s;,"]+))""", re.IGNORECASE)
_CONTENT_CHARSET = re.compile(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^"'\t\n\f\r ;][^\t\n\f\r ;]*))""",
    re.IGNORECASE,
)
_LATE_META = re.compile(rb"<meta[^>]{0,300}charset", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*(?:"([^">]+)"|'([^'>]+)')""")
_MARKUP = re.compile(rb"<(?:(!--)|(/?[a-zA-Z])|([!/?]))")
_SPACE = rb"[\t\n\f\r ]"
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*([^\t\n\f\r />][^\t\n\f\r />=]*)"
    rb"(?:" + _SPACE + rb"*=" + _SPACE + rb"*"
    rb"""(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r >"'][^\t\n\f\r >]*)|(?=>)))?"""
)
_TAG_NAME = re.compile(rb"</?[^\t\n\f\r />]*")
_AFTER_META = (b" ", b"\t", b"\n", b"\f", b"\r", b"/")
# An attribute is over only when something that is not its value follows it.
_UNFINISHED = re.compile(rb"[\t\n\f\r /]*(?:=|\Z)")


class Decoded(NamedTuple):
    """Text, the WHATWG name of its encoding, and whether any byte had to be replaced."""

    text: str
    encoding: str
    had_errors: bool


def detect_encoding(body: bytes, content_type: str | None) -> str:
    """Return the encoding that a browser would read the page with.

    Where nothing is declared, bytes that are valid UTF-8 are read as UTF-8 (the standard lets
    a reader look at the bytes at this point), anything else as windows-1252.

    Parameters
    ----------
    body
        The body of the response.
    content_type
        The Content-Type header, or None.

    Returns
    -------
    str
        A name of the WHATWG Encoding standard, lower case: ``"utf-8"``, ``"windows-1252"``...

    Examples
    --------
    >>> detect_encoding(b"<meta charset=latin1>", "text/html")
    'windows-1252'
    >>> detect_encoding(b"<meta charset=latin1>", "text/html; charset=UTF-8")
    'utf-8'
    """
    if body[:1] in _FIRST_OF_MARKS:
        for mark, name in _BYTE_ORDER_MARKS:
            if body.startswith(mark):
                return name
    declared = _header_encoding(content_type) if content_type else None
    if declared is not None:
        return declared
    declared = _prescan(body[:_PRESCAN])
    if declared is None and _LATE_META.search(body, 0, _LATEST) is not None:
        declared = _prescan(body[:_LATEST])  # where a browser would start over
    if declared is not None:
        return declared
    return "utf-8" if _is_multibyte_utf8(body) else _FALLBACK


def decode(body: bytes, content_type: str | None) -> Decoded:
    r"""Decode the body of a page by the encoding that a browser would choose.

    Parameters
    ----------
    body
        The body of the response.
    content_type
        The Content-Type header, or None.

    Returns
    -------
    Decoded
        ``(text, encoding, had_errors)``. A byte-order mark is not part of the text; bytes that
        the encoding does not allow are U+FFFD in it.

    Examples
    --------
    >>> decode(b"caf\xe9", "text/html")
    Decoded(text='café', encoding='windows-1252', had_errors=False)
    """
    encoding = detect_encoding(body, content_type)
    for mark, name in _BYTE_ORDER_MARKS:
        if name == encoding and body.startswith(mark):
            body = body[len(mark) :]
    if encoding == "replacement":
        return Decoded("\ufffd" if body else "", encoding, had_errors=bool(body))
    codec = _codec(encoding)
    try:
        return Decoded(codec.decode(body, "strict")[0], encoding, had_errors=False)
    except ValueError:
        return Decoded(codec.decode(body, "replace")[0], encoding, had_errors=True)


def is_ascii_transparent(encoding: str) -> bool:
    """Return whether bytes below 0x80 mean ASCII in this encoding.

    Parameters
    ----------
    encoding
        A name as `detect_encoding` returns it.

    Returns
    -------
    bool
        False for UTF-16, for ISO-2022-JP (whose escape sequences are ASCII bytes) and for the
        encodings that the standard refuses to decode.

    Examples
    --------
    >>> is_ascii_transparent("windows-1252"), is_ascii_transparent("iso-2022-jp")
    (True, False)
    """
    return encoding not in _NOT_ASCII


@lru_cache(maxsize=128)
def _codec(encoding: str) -> codecs.CodecInfo:
    """Return the codec for a name that `detect_encoding` returned."""
    if encoding == "gbk":
        return codecs.lookup("gb18030")  # the standard decodes GBK by its superset
    info: codecs.CodecInfo = webencodings.lookup(encoding).codec_info
    return info


@lru_cache(maxsize=1024)
def _header_encoding(content_type: str) -> str | None:
    """Return the encoding that a Content-Type header declares, if it is a known one."""
    for match in _HEADER_CHARSET.finditer(content_type):
        name = _known(match[1] if match[1] is not None else match[2])
        if name is not None:
            return name
    return None


def _known(label: str | bytes | None) -> str | None:
    """Return the WHATWG name of a label, or None for one that the standard does not know."""
    if label is None:
        return None
    if isinstance(label, bytes):
        label = label.decode("latin-1")
    encoding = webencodings.lookup(label.strip("\t\n\f\r '"))
    return encoding.name if encoding is not None else None


def _declared_in_markup(label: bytes | None) -> str | None:
    """Return what a label means inside ASCII-compatible markup (WHATWG, 13.2.3.2, step 12)."""
    name = _known(label)
    if name in ("utf-16le", "utf-16be"):
        return "utf-8"  # UTF-16 could not have been read this far as ASCII
    return "windows-1252" if name == "x-user-defined" else name


def _is_multibyte_utf8(body: bytes) -> bool:
    """Return whether the bytes hold non-ASCII text that is valid UTF-8."""
    if body.isascii():
        return False
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _prescan(head: bytes) -> str | None:
    """Return the encoding that the first bytes of a page declare.

    The standard's "prescan a byte stream", with the XML declaration as a fallback.
    """
    if head.startswith(b"<\0?\0x\0"):
        return "utf-16le"
    if head.startswith(b"\0<\0?\0x"):
        return "utf-16be"
    position = 0
    while (markup := _MARKUP.search(head, position)) is not None:
        position = markup.start()
        if markup[1]:
            end = head.find(b"-->", position + 2)
            position = end + 3 if end >= 0 else len(head)
        elif markup[2]:
            is_meta = head[position : position + 5].lower() == b"<meta" and (
                head[position + 5 : position + 6] in _AFTER_META
            )
            attributes, position = _attributes(head, position)
            name = _meta_encoding(attributes) if is_meta else None
            if name is not None:
                return name
        else:
            end = head.find(b">", position)
            position = end + 1 if end >= 0 else len(head)
    declaration = _XML_ENCODING.match(head)
    return _declared_in_markup(declaration[1] or declaration[2]) if declaration else None


def _attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """Return the attributes of the tag at `position` and where to go on.

    A tag that the first 1,024 bytes cut off declares nothing: the position is then the end.
    """
    found: dict[bytes, bytes] = {}
    name = _TAG_NAME.match(head, position)
    position = name.end() if name else len(head)
    while (match := _ATTRIBUTE.match(head, position)) is not None:
        position = match.end()
        value = match[2] or match[3] or match[4] or b""
        if _UNFINISHED.match(head, position) is not None:
            return {}, len(head)
        found.setdefault(match[1].lower(), value.lower())
    return found, position


def _meta_encoding(attributes: dict[bytes, bytes]) -> str | None:
    """Return the encoding that a ``meta`` element declares, if any."""
    if b"charset" in attributes:
        return _declared_in_markup(attributes[b"charset"])
    if attributes.get(b"http-equiv") != b"content-type":
        return None
    match = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
    return _declared_in_markup(match[1] or match[2] or match[3]) if match else None
