"""The dates of a page, best first: which of them are the page's own, and how far to trust each.

A page holds dates of comments, of teasers for other pages, of images. A date is the page's own if
what it is a date of has the page's address; where nothing has, if it is the one thing that the
page can be about.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from crawlkit.web.date_findings import Finding, is_article, is_page, is_part
from crawlkit.web.date_texts import read_date, read_http_date, without_nonsense
from crawlkit.web.fingerprint import clean_text
from crawlkit.web.html_facts import resolve
from crawlkit.web.item_dates import MICRODATA, RDFA, find_in_items
from crawlkit.web.json_ld_dates import find_in_json_ld
from crawlkit.web.meta_dates import find_in_meta, find_in_time_elements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crawlkit.web.html import Page
    from crawlkit.web.w3c_dates import W3CDate

__all__ = ["CONFIDENCES", "SOURCES", "DateCandidate", "date_candidates", "stated_dates"]

# Best first.
SOURCES = ("json_ld", "microdata", "rdfa", "open_graph", "dublin_core", "meta", "time", "http")
CONFIDENCES = ("high", "medium", "low")

_DAY = 86_400.0
_SAME_ANSWER = 2.0  # seconds between Last-Modified and Date of an answer that was made for it


class DateCandidate(NamedTuple):
    """One date of a page.

    Attributes
    ----------
    property
        ``"modified"`` or ``"published"``.
    source, path
        One of `SOURCES`, and where in it.
    raw
        The text as it stands there, or None for a value that is no text.
    date
        The interval that it names, or None.
    own
        Whether it is the page's own date.
    confidence
        One of `CONFIDENCES`: how likely it is what its property says, of this page.
    kind
        The type of what it is a date of, as of schema.org, or None.
    parse
        ``"strict"``, ``"lenient"`` or ``"regex"``: how the source had to be read.
    issues
        Codes of `w3c_dates.ISSUES`, `REFUSALS` and `date_texts.DATE_CODES`.
    """

    property: str
    source: str
    path: str
    raw: str | None
    date: W3CDate | None
    own: bool
    confidence: str
    kind: str | None
    parse: str
    issues: tuple[str, ...]


def date_candidates(
    page: Page, headers: Mapping[str, str] | None = None, *, fetched_at: float | None = None
) -> list[DateCandidate]:
    """Return every date that a page and its headers give for it, best first.

    Parameters
    ----------
    page
        A parsed page.
    headers
        The response's headers, for ``Last-Modified`` and ``Date``; names in any case.
    fetched_at
        Seconds since 1970 UTC; the ``Date`` header's time, else now, if None. Dates more than a
        day later are none.

    Returns
    -------
    list[DateCandidate]
        Those of the modification first; within each, the page's own first, then those that can be
        read, then by confidence, then by source.

    Examples
    --------
    >>> from crawlkit.web.html import parse_page
    >>> page = parse_page('<meta property=og:updated_time content=1715941815>', url="http://a.example/")
    >>> [(found.source, found.date.start) for found in date_candidates(page)]
    [('open_graph', 1715941815.0)]
    """
    values = {} if headers is None else {name.lower(): value for name, value in headers.items()}
    answered = read_http_date(values.get("date") or "")[0]
    if fetched_at is None:
        fetched_at = time.time() if answered is None else answered.start
    found = _judge(page, [*_stated(page), *find_in_time_elements(page)], fetched_at + _DAY)
    if values.get("last-modified"):
        found.append(_last_modified(values["last-modified"], answered, fetched_at + _DAY))
    found.sort(key=_rank)
    return found


def stated_dates(page: Page, fetched_at: float) -> dict[str, DateCandidate]:
    """Return the best date of each property that a page states of itself, for machines to read.

    Parameters
    ----------
    page
        A parsed page.
    fetched_at
        Seconds since 1970 UTC at which it was fetched.

    Returns
    -------
    dict[str, DateCandidate]
        By property; one is absent if the page has no own date for it that can be read. Those of
        ``time`` elements and headers do not count.

    Examples
    --------
    >>> from crawlkit.web.html import parse_page
    >>> page = parse_page('<meta name="dcterms.modified" content="2024-05">', url="http://a.example/")
    >>> stated_dates(page, 2e9)["modified"].date.granularity
    'month'
    """
    found = _judge(page, list(_stated(page)), fetched_at + _DAY)
    best: dict[str, DateCandidate] = {}
    for candidate in sorted(found, key=_rank):
        if candidate.own and candidate.date is not None:
            best.setdefault(candidate.property, candidate)
    return best


def _stated(page: Page) -> Iterator[Finding]:
    """Yield the dates that a page states for machines to read."""
    yield from find_in_json_ld(node.text() for node in page.css('script[type*="ld+json" i]'))
    yield from find_in_items(page, MICRODATA)
    yield from find_in_items(page, RDFA)
    yield from find_in_meta(page)


def _rank(candidate: DateCandidate) -> tuple[object, ...]:
    """Return what candidates are sorted by; equals stay in document order."""
    return (
        candidate.property,  # "modified" comes before "published"
        not candidate.own,
        candidate.date is None,
        CONFIDENCES.index(candidate.confidence),
        SOURCES.index(candidate.source),
        0 if is_article(candidate.kind) else 1 if is_page(candidate.kind) else 2,
    )


def _judge(page: Page, findings: list[Finding], latest: float) -> list[DateCandidate]:
    """Read the dates, and tell which are the page's own."""
    owners = _Owners(page, findings)
    candidates = []
    for finding in findings:
        raw = finding.raw
        date, issues = (None, ("not_text",)) if raw is None else read_date(raw)
        date, issues = without_nonsense(date, issues, latest)
        own, confidence = owners.judge(finding)
        candidates.append(
            DateCandidate(
                finding.property,
                finding.source,
                clean_text(finding.path),
                None if raw is None else clean_text(raw),
                date,
                own,
                confidence,
                None if finding.kind is None else clean_text(finding.kind),
                finding.parse,
                issues,
            )
        )
    return candidates


def _last_modified(raw: str, answered: W3CDate | None, latest: float) -> DateCandidate:
    """Return the date of the header, which is no evidence if it is the time of the answer."""
    date, issues = without_nonsense(*read_http_date(raw), latest)
    made_for_it = (
        date is not None
        and answered is not None
        and abs(date.start - answered.start) <= _SAME_ANSWER
    )
    if made_for_it:
        issues = (*issues, "same_as_date")
    return DateCandidate(
        "modified", "http", "Last-Modified", clean_text(raw[:200]), date, not made_for_it, "low",
        None, "strict", issues,
    )  # fmt: skip


class _Owners:
    """Which of the things on a page the page is about."""

    def __init__(self, page: Page, findings: list[Finding]) -> None:
        self._base = page.base_url
        own = [_address_key(page.base_url, address) for address in (page.url, *page.canonicals)]
        self._own = frozenset(key for key in own if key is not None)
        self._paths = frozenset(key.partition("?")[0] for key in self._own)
        self._hosts = frozenset(path.partition("/")[0] for path in self._paths)
        self._places: dict[tuple[str, str | None], str] = {}
        self._something_is_here = False
        # What the page might be about: of several alike, none is.
        self._rivals: dict[tuple[str, str], set[str | None]] = {}
        self._times: dict[str, set[str | None]] = {}
        for finding in findings:
            if finding.source == "time" and not finding.nested:
                self._times.setdefault(finding.property, set()).add(finding.raw)
            elif finding.item is not None and not finding.nested:
                self._something_is_here |= self._place(finding) == "here"
                key = (finding.source, _role(finding.kind))
                self._rivals.setdefault(key, set()).add(finding.item)

    def judge(self, finding: Finding) -> tuple[bool, str]:
        """Return whether a date is the page's own, and how far it can be trusted."""
        if finding.nested:
            return False, "low"
        if finding.source == "time":
            return len(self._times[finding.property]) == 1, "low"
        if finding.item is None:  # of the page as such
            sure = finding.source == "open_graph" and "article:" in finding.path
            return True, "high" if sure else "medium"
        if finding.parse == "regex":
            return True, "low"
        return self._judge_item(finding)

    def _judge_item(self, finding: Finding) -> tuple[bool, str]:
        """Return the same for the date of a thing."""
        place, role = self._place(finding), _role(finding.kind)
        if place == "here":
            return True, "high"
        if place == "elsewhere" or role == "part":
            return False, "low"
        alone = len(self._rivals[finding.source, role]) == 1
        if place == "unclear":  # an address that may have been copied from somewhere
            return alone and not self._something_is_here and role != "other", "low"
        if role == "article" and alone:
            return True, "medium" if self._something_is_here else "high"
        # Plugins repeat an article in JSON-LD; in the markup of a page, each stands for a text.
        repeated = finding.source == "json_ld" and role == "article" and not self._something_is_here
        return alone or repeated, "medium"

    def _place(self, finding: Finding) -> str:
        """Return where the thing of a date is by the addresses that it gives.

        ``"here"``, ``"elsewhere"`` (another page of this host), ``"unclear"`` (the home page, or
        another host), or ``"unknown"`` (it gives none, or the page's own address is not known).
        """
        item = (finding.source, finding.item)
        place = self._places.get(item)
        if place is None:
            place = self._places[item] = self._find_place(finding)
        return place

    def _find_place(self, finding: Finding) -> str:
        role = _role(finding.kind)
        place = "unknown"
        for address in finding.addresses[:20]:
            key = _address_key(self._base, address)
            # A comment has the address of its page, and a fragment.
            if self._is_own(key) and not (role == "part" and "#" in address):
                return "here"
            if key is not None and self._own and place != "elsewhere":
                path = key.partition("?")[0]
                host, _, below = path.partition("/")
                differs = below and host in self._hosts and path not in self._paths
                place = "elsewhere" if differs else "unclear"
        if finding.identifier and role in ("article", "page"):
            key = _address_key(self._base, finding.identifier)
            # Names such as /#website, or /#article of a home page, are on every page of a site.
            if self._is_own(key) and (place == "unknown" or "#" not in finding.identifier):
                return "here"
        return place

    def _is_own(self, key: str | None) -> bool:
        """Return whether an address is the page's own, be it asked for with a query or without."""
        return key in self._own or (key in self._paths and key is not None and "/" in key)


def _role(kind: str | None) -> str:
    """Return what something of a type can be to a page."""
    if is_article(kind):
        return "article"
    if is_page(kind):
        return "page"
    return "part" if is_part(kind) else "other"


def _address_key(base: str, address: str) -> str | None:
    """Return an address without what often differs between two spellings of one page."""
    url = resolve(base, address.strip())
    if url is None or not url.startswith(("http://", "https://")):
        return None
    bare = url.partition("#")[0].partition("://")[2].removeprefix("www.")
    path, mark, query = bare.partition("?")
    return unquote(path).rstrip("/") + mark + query
