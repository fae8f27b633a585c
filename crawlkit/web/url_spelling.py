"""Which differences of spelling lie between a link as it was found and its address."""

from __future__ import annotations

import re

from crawlkit.web.url_addresses import safe_tail

__all__ = ["SPELLING_RULES", "spelling_changes"]

SPELLING_RULES: dict[str, str] = {
    "whitespace": "spaces at the ends, tabs and line breaks are dropped (WHATWG)",
    "base": "a relative link is resolved against its page (RFC 3986 5.2)",
    "backslash": "a backslash in front of the query is a slash (WHATWG)",
    "slashes": "there are two slashes behind the scheme, no more and no fewer (WHATWG)",
    "scheme_case": "the scheme is in lower case (RFC 3986 6.2.2.1)",
    "userinfo": "user name and password are dropped",
    "host": "the host is in lower case, in punycode, or a plain IP address (WHATWG, UTS 46)",
    "port": "the scheme's own port, an empty port and zeros in front are dropped (RFC 3986 6.2.3)",
    "empty_path": "an empty path is / (RFC 3986 6.2.3)",
    "dot_segments": "the segments . and .. are resolved (RFC 3986 6.2.2.3)",
    "percent_encoding": "unsafe characters are encoded, unreserved ones not (RFC 3986 6.2.2.2)",
    "empty_query": "a bare ? is dropped: clients do not send it",
    "fragment": "the fragment is dropped: it is never sent",
}
"""What is settled in the address already, in the order in which it is looked at."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_ENDS = "".join(map(chr, range(33)))
_DOT_SEGMENT = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$)", re.I)
_QUOTE = re.compile(r"[ \"'<>`{}^]|[^\x21-\x7e]")


def spelling_changes(given: str, address: str) -> list[str]:
    """Name the differences between a URL as given and its address.

    Parameters
    ----------
    given
        The URL, or the link as it stands in a page.
    address
        Its address.

    Returns
    -------
    list of str
        Keys of :data:`SPELLING_RULES`, in their order.

    Examples
    --------
    >>> spelling_changes("HTTP://Example.com:80/%7eann/../b#c", "http://example.com/b")
    ['scheme_case', 'host', 'port', 'dot_segments', 'percent_encoding', 'fragment']
    """
    text = re.sub("[\t\n\r]", "", given.strip(_ENDS))
    found = {"whitespace"} if text != given else set[str]()
    text, mark, _ = text.partition("#")
    if mark:
        found.add("fragment")
    front, mark, query = text.partition("?")
    if mark and not query:
        found.add("empty_query")
    if "\\" in front:
        found.add("backslash")
        front = front.replace("\\", "/")
    scheme = _SCHEME.match(front)
    if scheme is None:
        found.add("base")
    elif scheme[0] != scheme[0].lower():
        found.add("scheme_case")
    rest = front[scheme.end() + 1 :] if scheme else front
    path = rest.lstrip("/")
    slashes = len(rest) - len(path)
    if scheme or slashes > 1:
        authority, _, path = path.partition("/")
        if slashes != 2:
            found.add("slashes")
        if not rest.lstrip("/").removeprefix(authority):
            found.add("empty_path")
        found |= _authority_changes(authority, address)
    if _DOT_SEGMENT.search(path):
        found.add("dot_segments")
    if safe_tail(path) != path or safe_tail(query) != query or _QUOTE.search(query):
        found.add("percent_encoding")
    return [rule for rule in SPELLING_RULES if rule in found]


def _authority_changes(authority: str, address: str) -> set[str]:
    """Compare user info, host and port."""
    found = set()
    _, mark, host_and_port = authority.rpartition("@")
    if mark:
        found.add("userinfo")
    host, port = _split_port(host_and_port)
    final_host, final_port = _split_port(address.split("/", 3)[2])
    if host != final_host:
        found.add("host")
    if port != final_port:
        found.add("port")
    return found


def _split_port(host_and_port: str) -> tuple[str, str]:
    """Split at the colon in front of the port, which stays with it: ``("[::1]", ":8080")``."""
    host, mark, port = host_and_port.rpartition(":")
    if not mark or port.endswith("]"):
        return host_and_port, ""
    return host, mark + port
