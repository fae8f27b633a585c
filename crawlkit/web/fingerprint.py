"""Fingerprints of pages, and the one place where text from the web is cleaned.

A body hash says whether two responses are the same bytes; a text hash whether two pages say the
same words, however their markup is indented.
"""

from __future__ import annotations

import hashlib
import re

__all__ = ["body_hash", "clean_text", "text_hash", "utf8_text_hash"]

_WHITESPACE = b" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f"
# What Python, SQLite or Arrow cannot store, and what a terminal or a notebook must not receive.
_BROKEN = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SUSPECT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def body_hash(body: bytes) -> str:
    """Return the fingerprint of a response body.

    Parameters
    ----------
    body
        The decoded body, as bytes.

    Returns
    -------
    str
        32 hexadecimal digits: BLAKE2b (RFC 7693) with a digest of 128 bits.

    Examples
    --------
    >>> body_hash(b"hello")
    '46fb7408d4f285228f4af516ea25851b'
    """
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def text_hash(text: str) -> str:
    r"""Return the fingerprint of a page's text, blind to whitespace.

    Whitespace (ASCII's, and the no-break space) is dropped rather than collapsed: a template that
    is indented anew, or puts each item on a line of its own, changed nothing that a reader sees.

    Parameters
    ----------
    text
        The text of a page, or of a part of it.

    Returns
    -------
    str
        32 hexadecimal digits: BLAKE2b (RFC 7693), 128 bits, of the UTF-8 text.

    Examples
    --------
    >>> text_hash("two words") == text_hash("two\n   words")
    True
    """
    # A lone surrogate becomes "?", so the hash exists for any string.
    return utf8_text_hash(text.replace("\xa0", " ").encode("utf-8", "replace"))


def utf8_text_hash(text: bytes) -> str:
    """Return the `text_hash` of text that is encoded already.

    Parameters
    ----------
    text
        Text in UTF-8, without no-break spaces.

    Returns
    -------
    str
        32 hexadecimal digits.

    Examples
    --------
    >>> utf8_text_hash(b"two  words") == text_hash("two words")
    True
    """
    return body_hash(text.translate(None, _WHITESPACE))


def clean_text(s: str) -> str:
    r"""Return text that any store, terminal or notebook can take.

    NUL and lone surrogates become U+FFFD; other control characters are dropped, except tab,
    line feed and carriage return. Clean text is returned as it is, and cleaning twice changes
    nothing more.

    Parameters
    ----------
    s
        Any string.

    Returns
    -------
    str
        The same text without NUL, lone surrogates and control characters.

    Examples
    --------
    >>> clean_text("a\x00b\x1b[31m")
    'a\ufffdb[31m'
    """
    if s.isprintable() or _SUSPECT.search(s) is None:
        return s
    return _CONTROL.sub("", _BROKEN.sub("\ufffd", s))
