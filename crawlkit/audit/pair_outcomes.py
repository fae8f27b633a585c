"""Whether two URLs show the same page: by fingerprint, with repeated requests as the control.

Two pages are the same where their main texts are (short texts: the titles too), or where one
redirects to the other. A page whose text changes from request to request is asked for twice; the
other URL shows the same page if it is no further from it than it is from itself.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from crawlkit.audit.page_visits import PolitePages
from crawlkit.audit.site_pages import whole
from crawlkit.audit.table_columns import plain_values
from crawlkit.audit.text_change import change_size, shingle_sketch
from crawlkit.web.fingerprint import body_hash
from crawlkit.web.html import parse_page

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from crawlkit.web.http_settings import Http
    from crawlkit.web.response import Response

__all__ = ["PAGE_COLUMNS", "AskedPages", "CrawledTexts", "PairOutcome", "Seen", "compare_seen"]

PAGE_COLUMNS = (
    "url", "status", "error", "redirected_to", "text_hash", "text_hash_by", "body_hash", "title",
    "words",
)  # fmt: skip

NAN = math.nan
_SHORT_TEXT = 25
_MOST_HOPS = 5
_LONGEST_WAIT = 60.0
# Above this share of its text from request to request, a page has nothing to be known by.
_UNSTABLE = 0.5
# Room for chance above the change that a page shows by itself.
_ROOM = 1.25
_BROKEN = frozenset((404, 410))


class Seen(NamedTuple):
    """What was at an address, after redirects."""

    url: str
    status: int | None = None
    reason: str | None = None
    text_hash: str | None = None
    text_hash_by: str | None = None
    body_hash: str | None = None
    title: str | None = None
    words: int | None = None
    sketch: tuple[int, ...] = ()


class PairOutcome(NamedTuple):
    """How two URLs compare.

    Attributes
    ----------
    outcome
        ``same``, ``different`` or ``unknown``.
    reason
        What it rests on: ``redirect``, ``text``, ``body``, ``title``, ``noise`` (no further apart
        than the page from itself), or why nothing is known.
    change
        Share of the text that differs; NaN where that is not known.
    noise
        The same between two requests for one URL; NaN where it was not asked twice.
    """

    outcome: str
    reason: str
    change: float = NAN
    noise: float = NAN


def compare_seen(first: Seen, second: Seen, *, made: bool = False) -> PairOutcome:  # noqa: PLR0911 - one a kind of evidence
    """Compare what was seen at two URLs, each asked for once.

    Parameters
    ----------
    first, second
        What was there.
    made
        Whether the second URL was spelled by us; then its absence tells nothing.
    """
    if first.url == second.url:
        return PairOutcome("same", "redirect", 0.0)
    if first.status != 200 or second.status != 200:
        return _without_page(first, second, made=made)
    if first.body_hash is not None and first.body_hash == second.body_hash:
        return PairOutcome("same", "body", 0.0)
    if first.text_hash is None or second.text_hash is None:
        known = first.body_hash is not None and second.body_hash is not None
        return PairOutcome("different", "body") if known else PairOutcome("unknown", "no_text")
    if first.text_hash_by != second.text_hash_by:
        return PairOutcome("unknown", "other_extractor")
    if first.words == 0 or second.words == 0:
        return PairOutcome("unknown", "no_text")
    change = change_size(first.sketch, second.sketch) if first.sketch and second.sketch else NAN
    if first.text_hash != second.text_hash:
        return PairOutcome("different", "text", change)
    short = first.words is not None and first.words < _SHORT_TEXT
    if short and first.title != second.title:
        return PairOutcome("different", "title", 0.0)
    return PairOutcome("same", "text", 0.0)


def _without_page(first: Seen, second: Seen, *, made: bool) -> PairOutcome:
    statuses = {first.status, second.status}
    if 200 in statuses and statuses & _BROKEN and not (made and second.status in _BROKEN):
        return PairOutcome("different", "broken")
    bad = second if first.status == 200 else first
    return PairOutcome("unknown", bad.reason or f"http_{bad.status}")


class CrawledTexts:
    """Pages that a crawl has.

    Parameters
    ----------
    pages
        Columns `PAGE_COLUMNS`.
    body
        Returns the body of a page, where bodies are kept.
    """

    def __init__(self, pages: pd.DataFrame, body: Callable[[str], bytes] | None) -> None:
        columns = {name: plain_values(pages[name]) for name in PAGE_COLUMNS}
        self._rows: dict[str, dict[str, Any]] = {
            url: {name: values[row] for name, values in columns.items()}
            for row, url in enumerate(columns["url"])
        }
        self._body = body

    def seen(self, url: str) -> Seen:
        """Return what the crawl found at a URL."""
        for _ in range(_MOST_HOPS):
            row = self._rows.get(url)
            if row is None:
                return Seen(url, None, "not_crawled")
            if not isinstance(row["redirected_to"], str):
                break
            url = row["redirected_to"]
        else:
            return Seen(url, None, "too_many_redirects")
        status, text = row["status"], row["text_hash"]
        if status is None and row["error"] is None and (text or row["body_hash"]):
            status = 200  # a table without statuses
        return Seen(
            url, whole(status), row["error"], text, row["text_hash_by"],
            row["body_hash"], row["title"], whole(row["words"]),
        )  # fmt: skip

    def compare(self, first: str, second: str, *, made: bool = False) -> PairOutcome:
        """Compare two URLs; how much differs is known where bodies are kept."""
        seen = self.seen(first), self.seen(second)
        found = compare_seen(*seen, made=made)
        if found.reason == "text" and found.outcome == "different" and self._body is not None:
            sketches = [self._sketch(each.url) for each in seen]
            if all(sketches):
                return found._replace(change=change_size(sketches[0], sketches[1]))
        return found

    def _sketch(self, url: str) -> tuple[int, ...]:
        try:
            body = self._body(url) if self._body is not None else b""
        except (KeyError, LookupError, OSError, ValueError):
            return ()
        return shingle_sketch(parse_page(body, url=url).main_text)


class AskedPages(PolitePages):
    """Asks for the pages of pairs, as robots.txt and the delay allow; each at most twice.

    Parameters
    ----------
    http, hosts, delay
        As of `PolitePages`.
    """

    def __init__(self, http: Http | None, *, hosts: set[str], delay: float) -> None:
        super().__init__(http, hosts=hosts, delay=delay)
        self._kept: dict[tuple[str, int], Seen] = {}

    def seen(self, url: str, turn: int = 0) -> Seen:
        """Return what is at a URL, after redirects; the second time it is asked for again."""
        start = url
        if (start, turn) not in self._kept:
            for _ in range(_MOST_HOPS):
                found, target = self._ask(url)
                if target is None:
                    break
                url = target
            else:
                found = Seen(url, None, "too_many_redirects")
            self._kept[start, turn] = found
        return self._kept[start, turn]

    def _ask(self, url: str) -> tuple[Seen, str | None]:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname not in self._hosts:
            return Seen(url, None, "other_host"), None
        refused = self._refused(url, parts.netloc)
        if refused is not None:
            return Seen(url, None, refused), None
        self._wait(parts.netloc)
        response = self._fetcher.fetch(url)
        self._note(parts.netloc, response)
        if response.retry_after is not None:
            self._paused[parts.netloc] = time.monotonic() + min(response.retry_after, _LONGEST_WAIT)
        if response.location is not None and response.error is None:
            return Seen(url), response.location
        return _read(response, url), None

    def compare(self, first: str, second: str, *, made: bool = False) -> PairOutcome:
        """Ask for two URLs and compare them; where they differ, ask for both again."""
        seen = [self.seen(first), self.seen(second)]
        found = compare_seen(*seen, made=made)
        if found.outcome != "different" or found.reason != "text":
            return found
        again = [self.seen(first, 1), self.seen(second, 1)]
        if any(each.status != 200 or each.text_hash is None for each in again):
            return PairOutcome("unknown", "not_repeatable", found.change)
        if {seen[0].text_hash, again[0].text_hash} & {seen[1].text_hash, again[1].text_hash}:
            return PairOutcome("same", "text", 0.0)
        noise = max(change_size(seen[at].sketch, again[at].sketch) for at in (0, 1))
        change = min(
            change_size(one.sketch, other.sketch)
            for one in (seen[0], again[0])
            for other in (seen[1], again[1])
        )
        if noise > _UNSTABLE:
            return PairOutcome("unknown", "unstable", change, noise)
        same = noise > 0 and change <= noise * _ROOM
        return PairOutcome(
            "same" if same else "different", "noise" if same else "text", change, noise
        )


def _read(response: Response, url: str) -> Seen:
    if response.error is not None:
        return Seen(url, None, response.error)
    if response.status != 200:
        return Seen(url, response.status)
    hashed = body_hash(response.body)
    page = parse_page(
        response.body, url=url, content_type=response.content_type, headers=response.headers
    )
    if page.error in ("not_html", "unparsable"):
        return Seen(url, 200, body_hash=hashed)
    sketch = shingle_sketch(page.main_text)
    words = page.words if page.main_text else 0
    return Seen(
        url, 200, None, page.text_hash, page.text_hash_by, hashed, page.title, words, sketch
    )
