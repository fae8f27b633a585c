"""The address of a page: what is asked for, spelled exactly as it goes on the wire.

An address is the URL as the WHATWG URL Standard resolves and writes it, which is what a browser
does, without fragment and user info, and made safe by RFC 3986: every octet that may not stand in
a path or a query is percent-encoded, escapes of unreserved characters are decoded, the others are
written in upper case, and a bare ``?`` goes. HTTP libraries do the last step by themselves when
they send a URL; an address is a fixed point of it, so what is stored is what was asked for.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ada_url import join_url, parse_url

from crawlkit.errors import BadURL

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

__all__ = [
    "MAX_URL_LENGTH",
    "REFUSALS",
    "Refusal",
    "registered_domain",
    "resolve_address",
    "safe_tail",
    "safe_url",
    "url_host",
]

MAX_URL_LENGTH = 8_192
"""Characters in a URL, fragment aside, as found and as an address. Servers rarely take more."""

REFUSALS: dict[str, str] = {
    "bad_port": "the port is 0, above 65535 or no number",
    "bad_url": "the URL Standard cannot parse it; most often the host is missing or impossible",
    "no_scheme": "a relative URL, and no page to resolve it against; write https://... in full",
    "not_http": "neither http nor https (mailto:, javascript:, data:, tel:, ftp: ...)",
    "not_text": "the value is missing or is no text",
    "too_long": f"longer than {MAX_URL_LENGTH:,} characters, fragment aside",
}
"""Why a URL is refused: stable code -> one line for people."""


class Refusal(NamedTuple):
    """A link that is not crawled, with a stable reason code: a key of :data:`REFUSALS`."""

    reason: str


_REFUSED = {reason: Refusal(reason) for reason in REFUSALS}
_HREF = ("href",)
# The URL Standard strips control characters and spaces at the ends and ignores tabs and newlines
# anywhere, so they may also stand in front of a scheme, or inside it.
_SCHEME = re.compile(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.\-\t\n\r]*):(//)?")
_HOST_AND_PORT = re.compile(r"\s*(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{1,5}(?:[/?#]|\s*$)", re.I)
_PORT = re.compile(r"(//[^/?#]*):[^/?#:@\[\]]*(?=[/?#]|$)")
# Everything but RFC 3986 pchar, "/" and "?"; a percent sign with the two digits that follow it.
_UNSAFE = re.compile(r"%(?:[0-9A-Fa-f]{2})?|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class _SafeForms(dict[str, str]):
    """What stands for an unsafe character or an escape; computed once for each spelling."""

    def __missing__(self, text: str) -> str:
        if len(text) == 3:
            octet = int(text[1:], 16)
            form = chr(octet) if chr(octet) in _UNRESERVED else text.upper()
        else:
            form = "".join(f"%{octet:02X}" for octet in _without_surrogates(text).encode())
        if text.isascii():
            self[text] = form
        return form


_safe_forms = _SafeForms()


def safe_tail(tail: str) -> str:
    """Return a path and query in the one spelling that RFC 3986 6.2.2 leaves of it.

    One pass from left to right, so nothing is decoded twice.

    Parameters
    ----------
    tail
        Path and query, dot segments already removed.

    Examples
    --------
    >>> safe_tail("/%7eann/100%/%5b1]?q=%e2%82%ac|%2541")
    '/~ann/100%25/%5B1%5D?q=%E2%82%AC%7C%2541'
    """
    return _UNSAFE.sub(lambda match: _safe_forms[match[0]], tail)


def resolve_address(href: str, base: str | None = None) -> str | Refusal:
    """Return the address that a link leads to, or why it is refused; never raises.

    Parameters
    ----------
    href
        The attribute as it stands in the page, or a whole URL.
    base
        The URL that the link is resolved against.

    Returns
    -------
    str or Refusal
        The address, at most :data:`MAX_URL_LENGTH` characters of ASCII.

    Examples
    --------
    >>> resolve_address("../b c#top", "http://Example.com:80/x/y/z?q=1")
    'http://example.com/x/b%20c'
    >>> resolve_address("mailto:ann@example.com").reason
    'not_http'
    """
    text, length = _without_fragment(href)
    scheme = _SCHEME.match(text)
    if scheme and _plain(scheme[1]) not in ("http", "https"):
        local = base is None and _HOST_AND_PORT.match(text)
        return _REFUSED["no_scheme" if local else "not_http"]
    if length > MAX_URL_LENGTH:
        return _REFUSED["too_long"]
    text = _without_surrogates(text)
    try:
        # After "http://" the base no longer matters, and parsing without one is twice as fast.
        if base is None or (scheme and scheme[2]):
            full = parse_url(text, _HREF)["href"]
        else:
            full = join_url(_usable_base(base), text)
    except ValueError:
        return _why_refused(text, base, has_scheme=scheme is not None)
    return _address(full)


def _without_fragment(url: str) -> tuple[str, int]:
    """Cut a fragment off; also return the length of what is in front of it.

    The ``#`` itself stays: a space in front of it belongs to the path, one at the end does not.
    """
    cut = url.find("#")
    return (url, len(url)) if cut < 0 else (url[: cut + 1], cut)


def _plain(scheme: str) -> str:
    return scheme.translate({9: None, 10: None, 13: None}).lower()


def _without_surrogates(text: str) -> str:
    """Replace lone surrogates by U+FFFD, as the URL Standard does with what it is given."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _usable_base(base: str) -> str:
    base, length = _without_fragment(base)
    if length > MAX_URL_LENGTH:
        raise ValueError("too long")
    return _without_surrogates(base)


def _address(full: str) -> str | Refusal:
    """Turn a URL as the URL Standard writes it into an address."""
    if not full.startswith(("http://", "https://")):
        return _REFUSED["not_http"]
    start = full.index("://") + 3
    slash = full.index("/", start)
    authority = full[start:slash].rpartition("@")[2]
    if authority.endswith(":0"):
        return _REFUSED["bad_port"]
    tail = safe_tail(full[slash:].partition("#")[0])
    if tail.endswith("?") and tail.index("?") == len(tail) - 1:
        tail = tail[:-1]
    address = f"{full[:start]}{authority}{tail}"
    return address if len(address) <= MAX_URL_LENGTH else _REFUSED["too_long"]


def _why_refused(text: str, base: str | None, *, has_scheme: bool) -> Refusal:
    """Say what is wrong with a link that does not parse; slow, and rarely asked."""
    if base is not None:
        of_base = resolve_address(base)
        if isinstance(of_base, Refusal):
            # "http:x" needs no base at all; anything else is as bad as its base.
            alone = resolve_address(text) if has_scheme else of_base
            return alone if isinstance(alone, Refusal) else _REFUSED["bad_url"]
        base = of_base
    elif not has_scheme:
        return _REFUSED["no_scheme"]
    portless = _PORT.sub(r"\1", text.replace("\\", "/"), count=1).rstrip("#") + "#"
    try:
        join_url(base or "http://localhost/", portless)
    except ValueError:
        return _REFUSED["bad_url"]
    return _REFUSED["bad_port"]


def safe_url(url: str, *, base: str | None = None) -> str:
    """Return the address of a URL: RFC-safe, exactly as it is asked for, and nothing more.

    Scheme and host are in lower case, an international host is in punycode and a numeric one
    is an IPv4 address; the default port, dot segments, user info, the fragment and a bare ``?``
    are gone. Query order, parameters, trailing slashes and everything else stay (RFC 3986 6.2.2
    and 6.2.3, WHATWG URL).

    Parameters
    ----------
    url
        A URL, or with ``base`` a link as it stands in a page.
    base
        The URL of the page.

    Returns
    -------
    str
        The address.

    Raises
    ------
    BadURL
        With a reason from :data:`REFUSALS`.

    Examples
    --------
    >>> safe_url("HTTP://user:secret@Example.com:80/%7eann/../a b?b=2&a=1#top")
    'http://example.com/a%20b?b=2&a=1'
    >>> safe_url("//münchen.example/x", base="https://example.com/")
    'https://xn--mnchen-3ya.example/x'
    """
    if not isinstance(url, str):
        raise BadURL(repr(url), "not_text")
    address = resolve_address(url, base)
    if isinstance(address, Refusal):
        raise BadURL(url, address.reason)
    return address


def url_host(url: str) -> str:
    """Return the host of a URL, with its port where that is not the scheme's own.

    Parameters
    ----------
    url
        Any http(s) URL.

    Returns
    -------
    str
        For example ``"example.com"``, ``"example.com:8080"`` or ``"[2001:db8::1]"``.

    Raises
    ------
    BadURL
        With a reason from :data:`REFUSALS`.

    Examples
    --------
    >>> url_host("https://Example.com:443/a"), url_host("http://[2001:DB8::1]:8080/")
    ('example.com', '[2001:db8::1]:8080')
    """
    address = safe_url(url)
    return address[address.index("://") + 3 :].partition("/")[0]


@lru_cache(maxsize=4_096)
def registered_domain(host: str) -> str:
    """Return the domain that one owner has registered.

    By the Public Suffix List, its private part included, so that every site of a shared host such
    as ``github.io`` is a site of its own. A port is ignored; an IP address, a single label and a
    public suffix are their own domains.

    Parameters
    ----------
    host
        A host as :func:`url_host` returns it.

    Returns
    -------
    str
        The registered domain, without port.

    Examples
    --------
    >>> registered_domain("www.shop.example.co.uk:8080"), registered_domain("ann.github.io")
    ('example.co.uk', 'ann.github.io')
    >>> registered_domain("127.0.0.1:8000"), registered_domain("[::1]"), registered_domain("box")
    ('127.0.0.1', '[::1]', 'box')
    """
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    name = host.partition(":")[0].rstrip(".").lower()
    # No top-level domain is a number, so a last label of digits means an IPv4 address.
    if name.rpartition(".")[2].isdigit():
        return name
    return _public_suffixes().privatesuffix(name) or name


@cache
def _public_suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # about 50 ms and 2 MB, not for every crawl

    return PublicSuffixList()
