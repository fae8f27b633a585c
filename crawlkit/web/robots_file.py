"""Reading a robots.txt: from bytes to records, whatever the bytes are.

Protego reads robots.txt too, but lets a byte order mark hide the first line and a line that is no
rule end a group, and ends lines where only Unicode does. So the file is read here, and Protego is
given the rules of one agent.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ROBOTS_BYTES",
    "decode",
    "delay_seconds",
    "kept_bytes",
    "printable",
    "product_token",
    "read_records",
    "sitemap_urls",
]

#: Bytes of a robots.txt that count; RFC 9309 2.5 asks for this many at least.
ROBOTS_BYTES = 500 * 1024

_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_LINE_END = re.compile(r"\r\n|\r|\n")

#: What site owners write for the five records that matter here.
_RECORDS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "user-agent"),
    **dict.fromkeys(
        ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "desallow"),
        "disallow",
    ),
    "allow": "allow",
    **dict.fromkeys(("sitemap", "sitemaps", "site-map"), "sitemap"),
    **dict.fromkeys(("crawl-delay", "crawl delay", "crawldelay"), "crawl-delay"),
}
_TOKEN = re.compile(r"[A-Za-z_-]*")
_ANY_AGENT = re.compile(r"\*(?:\s|$)")
_BROWSER_LIKE = re.compile(r"mozilla/[^(]*\(compatible;\s*([A-Za-z_-]+)", re.IGNORECASE)
_SITEMAP_LIST = re.compile(r"(?<=[\s,])(?=[\"'<]?https?://)", re.IGNORECASE)
_SITEMAP_END = re.compile(r"[\"'<>\s]")


def kept_bytes(content: bytes) -> bytes:
    r"""Return the bytes that count: at most `ROBOTS_BYTES`, cut at a line end.

    Examples
    --------
    >>> kept_bytes(b"User-agent: *\n" + b"Disallow: /" + b"x" * ROBOTS_BYTES)
    b'User-agent: *\n'
    """
    if len(content) <= ROBOTS_BYTES:
        return content
    head = content[:ROBOTS_BYTES]
    for mark, codec in _UTF16_BOMS:
        if head.startswith(mark):
            text = head.decode(codec, "replace")
            return text[: max(text.rfind("\n"), text.rfind("\r")) + 1].encode(codec)
    return head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]


def decode(content: bytes) -> str:
    """Decode a robots.txt; octets that are no UTF-8 stay what they are, as lone surrogates."""
    for mark, codec in _UTF16_BOMS:
        if content.startswith(mark):
            return content[len(mark) :].decode(codec, "replace")
    # Half a byte order mark happens too, and the reference implementation skips it.
    for length in (3, 2, 1):
        if content.startswith(_UTF8_BOM[:length]):
            content = content[length:]
            break
    return content.decode("utf-8", "surrogateescape")


def read_records(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield the lines that say something, as record name and value.

    The value of a ``user-agent`` is its product token in lower case, ``*`` for any agent, or empty
    where it names none.

    Examples
    --------
    >>> list(read_records("<html>\nUseragent: Bot/2.0 # ours\nDisallow /a\n"))
    [('user-agent', 'bot'), ('disallow', '/a')]
    """
    # Without its NULs, UTF-16 without a byte order mark reads as well.
    for line in _LINE_END.split(text.replace("\0", "")):
        content = line.partition("#")[0].strip()
        name, colon, value = content.partition(":")
        record = _RECORDS.get(name.strip().lower()) if colon else None
        if record is None:
            # Some forget the colon. Two words are a record, more are prose.
            words = content.split(None, 2)
            record = _RECORDS.get(words[0].lower()) if len(words) == 2 else None
            value = words[1] if record else ""
        if record is None:
            continue
        value = value.strip()
        if record == "user-agent":
            value = "*" if _ANY_AGENT.match(value) else _leading_token(value).lower()
        yield record, value


def product_token(user_agent: str) -> str:
    """Return the product token that a User-Agent line begins with (RFC 9309 2.2.1).

    Of a line that poses as a browser, it is the name after ``compatible;``. Empty if there is none.

    Examples
    --------
    >>> product_token("crawlkit/0.1 (+https://example.com/bot)")
    'crawlkit'
    >>> product_token("Mozilla/5.0 (compatible; examplebot/2.0; +https://example.com/bot)")
    'examplebot'
    """
    stripped = user_agent.strip()
    posing = _BROWSER_LIKE.match(stripped)
    return posing[1] if posing else _leading_token(stripped)


def delay_seconds(value: str) -> float | None:
    """Return the value of a Crawl-delay, or None if it is no finite number of 0 or more."""
    try:
        delay = float(value)
    except ValueError:
        return None
    return delay if math.isfinite(delay) and delay >= 0 else None


def sitemap_urls(value: str) -> Iterator[str]:
    """Yield the addresses of a Sitemap line: quoted, in angle brackets, several in one line.

    Examples
    --------
    >>> list(sitemap_urls("<https://example.com/a.xml>, https://example.com/b.xml"))
    ['https://example.com/a.xml', 'https://example.com/b.xml']
    """
    for piece in _SITEMAP_LIST.split(printable(value)):
        address = _SITEMAP_END.split(piece.strip(" \t,\"'<>"), maxsplit=1)[0]
        if address:
            yield address.rstrip(",")


def printable(text: str) -> str:
    """Replace what `decode` kept as lone surrogates, so that the text can be stored."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _leading_token(value: str) -> str:
    match = _TOKEN.match(value)
    return match[0] if match else ""
