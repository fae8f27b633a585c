"""The query that is put to a web archive's index, and what of an answer it wants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlkit.web.archive_answers import Capture

__all__ = ["MATCHES", "IndexQuery", "bare_host"]

#: What a query covers: one URL, all below a path, a host, a domain with its subdomains.
MATCHES = ("exact", "prefix", "host", "domain")

_FIELDS = {
    "wayback": "urlkey,timestamp,original,mimetype,statuscode",
    "pywb": "urlkey,timestamp,url,mime,status",
}


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """What is asked of an index.

    Attributes
    ----------
    endpoint
        The address of the index.
    url
        A URL without its scheme, or a host.
    match
        One of `MATCHES`.
    since, until
        The first and last moment of capture, as up to 14 digits; "" for none.
    status, mime
        The statuses and media types wanted; empty for any.
    collapse
        Of neighbors that agree in this field (``"urlkey"``, ``"digest"``, ``"timestamp:8"``) the
        first is kept; None keeps all.
    output
        ``"json"`` or ``"text"``.
    """

    endpoint: str
    url: str
    match: str = "domain"
    since: str = ""
    until: str = ""
    status: tuple[str, ...] = ("200",)
    mime: tuple[str, ...] = ("text/html",)
    collapse: str | None = "urlkey"
    output: str = "json"

    def address(self, names: str | None, more: Iterable[tuple[str, str]]) -> str:
        """Return the address of one request.

        A filter is sent only where it has one value: how several are written differs by server.

        Examples
        --------
        >>> query = IndexQuery("https://cdx.example/", "example.com", mime=(), collapse=None)
        >>> query.address(None, [("limit", "5")])
        'https://cdx.example/?url=example.com&matchType=domain&output=json&filter=statuscode%3A200&limit=5'
        """
        pairs = [("url", self.url), ("matchType", self.match)]
        if self.output == "json":  # the other is every server's default
            pairs.append(("output", "json"))
        pairs += [("from", self.since)] if self.since else []
        pairs += [("to", self.until)] if self.until else []
        for name, values in (("statuscode", self.status), ("mimetype", self.mime)):
            if len(values) == 1 and not re.search(r"[*+?|()\[\]^$\\]", values[0]):
                pairs.append(("filter", f"{name}:{values[0]}"))
        if self.collapse:
            pairs.append(("collapse", self.collapse))
        if names in _FIELDS and self.output == "json":
            pairs.append(("fl", _FIELDS[names]))
        separator = "&" if "?" in self.endpoint else "?"
        return self.endpoint + separator + urlencode([*pairs, *more])

    def wants(self, capture: Capture) -> bool:
        """Whether a capture passes the filters."""
        if self.status and capture.status not in self.status:
            return False
        if self.mime:
            kind = (capture.mime or "").partition(";")[0].strip().lower()
            if kind not in self.mime:
                return False
        stamp = capture.timestamp
        if self.since and stamp.ljust(14, "9") < self.since:
            return False
        return not (self.until and stamp > self.until and not stamp.startswith(self.until))

    def covers(self, address: str) -> bool:
        """Whether an address's host is one that was asked about; ``www.`` makes no difference."""
        asked, host = bare_host("//" + self.url), bare_host(address)
        return host == asked or (self.match == "domain" and host.endswith("." + asked))


def bare_host(address: str) -> str:
    """Return the host of an address without port and ``www.``; "" where there is none.

    Examples
    --------
    >>> bare_host("https://www.example.com:8080/a"), bare_host("http://[::1]:80/")
    ('example.com', '[::1]')
    """
    authority = address.partition("//")[2].partition("/")[0].partition("?")[0]
    host, colon, port = authority.rpartition(":")
    return (host if colon and "]" not in port else authority).rstrip(".").removeprefix("www.")
