"""What the parts of a URL commonly mean: sessions, sorting, languages, searches, pages, dates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlkit.audit.url_regions import LANGUAGE, TOKEN

if TYPE_CHECKING:
    from crawlkit.audit.url_regions import UrlParts

__all__ = [
    "LANGUAGE_NAMES",
    "NOT_FOUND",
    "PAGE_NAMES",
    "SEARCH_NAMES",
    "SEARCH_SEGMENTS",
    "SESSION_NAMES",
    "VIEW_NAMES",
    "date_in",
    "is_content_hash",
    "is_language",
    "is_token",
    "page_number",
    "repeats",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SESSION_NAMES = _words(
    "sid sessid session sessionid session_id phpsessid jsessionid aspsessionid zenid oscsid "
    "cfid cftoken sessionkey s_id viewstate"
)
VIEW_NAMES = _words(
    "sort sortby sort_by sortfield sorting order orderby order_by ordering dir direction asc desc "
    "view viewmode display mode layout style limit per_page perpage pagesize page_size "
    "items_per_page show count resultsperpage n d o c"
)
LANGUAGE_NAMES = _words("lang language locale hl lng uselang langcode lc loc")
SEARCH_NAMES = _words(
    "q query search s keyword keywords kw term terms text find searchterm search_query wd"
)
SEARCH_SEGMENTS = _words("search suche find results recherche buscar cerca zoeken")
PAGE_NAMES = _words(
    "page p paged pg pagenum page_number pageno seite start offset from pn startindex"
)
NOT_FOUND = re.compile(
    r"\b(?:404|not\s+found|no\s+such\s+page|does\s*n[o'\u2019]t\s+exist|page\s+(?:is\s+)?missing|"
    r"nicht\s+gefunden|introuvable|no\s+encontrad[ao])\b",
    re.IGNORECASE,
)
_YEARS = _words("year y jahr annee yr")
_MONTHS = _words("month m mon monat mois mo")
_DATE = re.compile(
    # Year and month with something between them; or 202605, 20260531 and 20260531120000. Ten
    # digits are a time in seconds, or a number.
    r"(?<!\d)(?:(\d{4,6})[-_/.](0[1-9]|1[0-2])(?!\d{3})(?=\D|\d\d(?!\d)|\Z)"
    r"|(\d{4})(0[1-9]|1[0-2])(?:(?:0[1-9]|[12]\d|3[01])(?:\d{4}|\d{6})?)?(?!\d))"
)
_DIGIT = re.compile(r"\d")
_PATH_PAGE = re.compile(r"(?:^|[/_.-])(?:page|seite|pagina|p|pg)[/_-]?(\d{1,9})(?=[/_.-]|\Z)")
_CONTENT_HASH = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_LAST_NUMBER = re.compile(r"(\d{1,9})(?=\D*\Z)")


def is_token(value: str) -> bool:
    """Tell whether a value looks like an id that a machine drew."""
    return TOKEN.search(value) is not None


def is_content_hash(value: str) -> bool:
    """Tell whether a value is written as SHA-1 and SHA-256 are, which name contents."""
    return _CONTENT_HASH.match(value) is not None


def is_language(value: str) -> bool:
    """Tell whether a value is a language code."""
    return LANGUAGE.match(value) is not None


def repeats(parts: UrlParts) -> int:
    """Return how often the most frequent segment stands in a path.

    Examples
    --------
    >>> from crawlkit.audit.url_regions import split_url
    >>> repeats(split_url("https://example.com/news/about/news/"))
    2
    """
    names = [segment for segment in parts.segments if segment]
    return max((names.count(name) for name in set(names)), default=0)


def date_in(parts: UrlParts) -> tuple[int, int] | None:
    """Return the (year, month) that a URL names, or None.

    Examples
    --------
    >>> from crawlkit.audit.url_regions import split_url
    >>> date_in(split_url("https://example.com/events/2026/05/"))
    (2026, 5)
    >>> date_in(split_url("https://example.com/events?month=5&year=2031"))
    (2031, 5)
    >>> date_in(split_url("https://example.com/wiki?rev=1754971262"))
    >>> date_in(split_url("https://example.com/commit?h=85af76a36290412d662060fd9b1e1dac349591f"))
    """
    values = {name.lower(): value for name, value in parts.query}
    if not values and not _DIGIT.search(parts.path):
        return None
    year = next((values[name] for name in values if name in _YEARS), "")
    if year.isdecimal() and len(year) <= 6 and int(year) >= 1000:
        month = next((values[name] for name in values if name in _MONTHS), "")
        return int(year), int(month) if month.isdecimal() and 1 <= int(month[:4]) <= 12 else 1
    for text in (*values.values(), parts.path):
        found = _DATE.search(TOKEN.sub("", text))  # an id that a machine drew has no dates
        year, month = (found[1] or found[3], found[2] or found[4]) if found else ("", "")
        if year and int(year) >= 1000:
            return int(year), int(month)
    return None


def page_number(parts: UrlParts) -> tuple[str, int] | None:
    """Return what counts pages in a URL and the number, or None.

    The first is the parameter's name, or ``"/"`` for a number in the path.

    Examples
    --------
    >>> from crawlkit.audit.url_regions import split_url
    >>> page_number(split_url("https://example.com/news?page=3"))
    ('page', 3)
    >>> page_number(split_url("https://example.com/news/page-12.html"))
    ('/', 12)
    """
    for name, value in parts.query:
        if name.lower() in PAGE_NAMES and value.isdecimal() and len(value) < 10:
            return name, int(value)
    if not parts.query:
        found = _PATH_PAGE.search(parts.path) or _LAST_NUMBER.search(parts.path)
        if found:
            return "/", int(found[1])
    return None
