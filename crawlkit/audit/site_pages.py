"""The pages of a crawl as the site audit sees them: by position, found by URL in any spelling."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.audit.table_columns import TableColumns, plain_values, url_key
from crawlkit.plots.rates import LARGEST_COUNT
from crawlkit.web.url_addresses import resolve_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crawlkit.audit.link_pass import LinkPass

__all__ = ["AuditLimits", "Landing", "SitePages", "host_of", "is_home", "pages_of", "whole"]

_COLUMNS = (
    "url", "key", "status", "error", "redirected_to", "title", "h1", "words", "canonical",
    "canonicals", "indexable", "hreflang", "text_hash", "size", "elapsed", "expected_found",
)  # fmt: skip

MOST_HOPS = 20
"""Redirects in a row after which browsers give up."""


@dataclass(frozen=True)
class AuditLimits:
    """Where a finding begins.

    Attributes
    ----------
    slow
        Seconds that an answer may take.
    heavy
        Bytes that the HTML of a page may have.
    thin
        Words that a page should have.
    similar
        Share of word triples that near-duplicates have in common.
    bodies
        Stored bodies that are read for near-duplicates, at most; None for all.
    random_seed
        For the draw of those bodies.
    """

    slow: float = 2.0
    heavy: int = 1_000_000
    thin: int = 50
    similar: float = 0.8
    bodies: int | None = 2_000
    random_seed: int = 0


class Landing(NamedTuple):
    """Where a chain of redirects ends.

    Attributes
    ----------
    hops
        URLs on the way, the first one included, the last one excluded.
    url
        The last URL.
    status
        Its status; None where it was not fetched or gave none.
    outcome
        ``page``, ``broken``, ``loop``, ``too_long`` (past `MOST_HOPS`) or ``not_fetched``.
    """

    hops: tuple[str, ...]
    url: str
    status: int | None
    outcome: str


@dataclass
class SitePages:
    """What is known of each page; lists by position, None for what is missing.

    Attributes
    ----------
    tables
        Where it comes from.
    limits
        Where a finding begins.
    entries
        URL and file of what sitemaps list, or None.
    body, bodies
        Return the body of a page, and those of many, where bodies may have been kept.
    links
        What the pass over the links found; None without links.
    progress
        Whether to show a bar.
    columns, by_url, by_key, other_keys
        The columns by name, positions by address and by key, and keys of other addresses.
    notes, skipped
        Check -> how it was done, or why it was not.
    """

    tables: TableColumns
    limits: AuditLimits = field(default_factory=AuditLimits)
    entries: list[tuple[str, str | None]] | None = None
    body: Callable[[str], bytes] | None = None
    bodies: Callable[[Iterable[str]], Iterator[tuple[str, bytes]]] | None = None
    links: LinkPass | None = None
    progress: bool = False
    columns: dict[str, list[Any]] = field(default_factory=dict)
    by_url: dict[str, int] = field(default_factory=dict)
    by_key: dict[str, int] = field(default_factory=dict)
    other_keys: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["url"])

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    def place(self, url: object) -> int | None:
        """Return the position of a page, by its URL in any spelling."""
        if not isinstance(url, str):
            return None
        found = self.by_url.get(url)
        if found is None:
            found = self.by_key.get(url)
        return self.by_key.get(self.key(url)) if found is None else found

    def key(self, url: str) -> str:
        """Return what all spellings of a URL share."""
        at = self.by_url.get(url)
        if at is not None:
            own: str = self["key"][at]
            return own
        found = self.other_keys.get(url)
        if found is None:
            found = self.other_keys[url] = url_key(url, self.tables.rules)
        return found

    @cached_property
    def hosts(self) -> list[str | None]:
        """The host of each page."""
        return [host_of(url) for url in self["url"]]

    def is_broken(self, at: int) -> bool:
        """Tell whether a page failed: an error status, or no answer at all."""
        status = self["status"][at]
        return status >= 400 if status is not None else self["error"][at] is not None

    def is_page(self, at: int) -> bool:
        """Tell whether this is a page of HTML with status 200; without columns that tell, any."""
        return self._is_page[at]

    def counts(self, at: int) -> bool:
        """Tell whether a page asks to be shown: 200, indexable, and its own canonical."""
        return self._counts[at]

    @cached_property
    def _is_page(self) -> list[bool]:
        untold = {"pages.words", "pages.title"} <= self.tables.missing
        rows = zip(self["status"], self["words"], self["title"], strict=True)
        return [
            status == 200 and (untold or words is not None or title is not None)
            for status, words, title in rows
        ]

    @cached_property
    def _counts(self) -> list[bool]:
        rows = zip(
            self._is_page, self["indexable"], self["canonical"], self["url"], self["key"],
            strict=True,
        )  # fmt: skip
        return [
            is_page
            and indexable is not False
            and (canonical is None or canonical in (url, key) or self.key(canonical) == key)
            for is_page, indexable, canonical, url, key in rows
        ]

    def landing(self, at: int) -> Landing:
        """Follow the redirects from a page to where they end."""
        hops: list[str] = []
        seen: set[int] = set()
        place: int | None = at
        url = self["url"][at]
        while place is not None and self["redirected_to"][place] is not None:
            if place in seen:
                return Landing(tuple(hops), self["url"][place], None, "loop")
            if len(hops) == MOST_HOPS:
                return Landing(tuple(hops), url, None, "too_long")
            seen.add(place)
            hops.append(self["url"][place])
            url = self["redirected_to"][place]
            if self["error"][place] is not None:  # it leads to nothing that can be asked for
                return Landing(tuple(hops), url, None, "broken")
            place = self.place(url)
        if place is None:
            return Landing(tuple(hops), url, None, "not_fetched")
        outcome = "broken" if self.is_broken(place) else "page"
        return Landing(tuple(hops), self["url"][place], self["status"][place], outcome)


def host_of(url: str) -> str | None:
    """Return host and port of a URL in lower case, or None for what is none.

    Examples
    --------
    >>> host_of("http://me@Shop.Example:8080?a=//b"), host_of("/relative")
    ('shop.example:8080', None)
    """
    authority = url.partition("://")[2].partition("/")[0]
    if "?" in authority or "#" in authority:
        authority = authority.partition("?")[0].partition("#")[0]
    return authority.rpartition("@")[2].lower() or None


def is_home(url: str) -> bool:
    """Tell whether this is the root of a host, which is found by the name of the host alone."""
    return url.partition("://")[2].partition("/")[2] == ""


def whole(value: Any) -> int | None:
    """Return a count, or None for what is none."""
    try:
        found = None if value is None or math.isnan(value) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if found is None or abs(found) > LARGEST_COUNT else found


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _resolved(canonical: str, url: str) -> str | None:
    """Return a canonical as an address; crawls from elsewhere may have it as it stands."""
    if canonical.startswith(("http://", "https://")) and "[" not in canonical:
        return canonical
    found = resolve_address(canonical, url)
    return found if isinstance(found, str) else None


def _truth(value: Any) -> bool | None:
    if value is None or isinstance(value, str):
        return {"true": True, "false": False}.get(str(value).lower())
    return bool(value)


def _items(value: Any) -> list[Any]:
    """Return a cell that holds a list; anything else holds none."""
    if value is None or isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        return []
    return list(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "status": whole,
    "words": whole,
    "size": whole,
    "elapsed": _number,
    "indexable": _truth,
    "expected_found": _truth,
    "canonicals": _items,
    "hreflang": _items,
}


def pages_of(source: Any, *, argument: str = "crawl") -> SitePages:
    """Return the pages of a crawl, or of a mapping of tables; links and entries left open.

    Parameters
    ----------
    source
        As for `TableColumns`.
    argument
        The caller's name of it.
    """
    tables = TableColumns(source, argument)
    frame = tables.read("pages", _COLUMNS)
    site = SitePages(tables)
    for name in _COLUMNS:
        values = frame[name]
        plain = values.tolist() if name in ("canonicals", "hreflang") else plain_values(values)
        read: Callable[[Any], Any] = _READERS.get(name, _text)
        site.columns[name] = [read(value) for value in plain]
    site.columns["canonical"] = [
        canonical and _resolved(canonical, url)
        for canonical, url in zip(site["canonical"], site["url"], strict=True)
    ]
    # Crawls from elsewhere may know no keys.
    keys = [
        key or url_key(url, tables.rules) for url, key in zip(site["url"], site["key"], strict=True)
    ]
    site.columns["key"] = keys
    site.by_url = {url: at for at, url in enumerate(site["url"])}
    for at, key in enumerate(keys):
        site.by_key.setdefault(key, at)
    body = getattr(source, "body", None)
    site.body = body if callable(body) else None
    bodies = getattr(source, "bodies", None)
    site.bodies = bodies if callable(bodies) else None
    return site
