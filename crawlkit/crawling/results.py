"""From one HTTP response to everything that a commit writes: pure work, done by the workers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.archive import compress
from crawlkit.crawling.records import Record, extract_records
from crawlkit.crawling.schema import to_json
from crawlkit.web.date_marks import has_date_marks
from crawlkit.web.fetch import is_retryable
from crawlkit.web.fingerprint import body_hash, clean_text
from crawlkit.web.html import Link, Page, parse_page
from crawlkit.web.http_dates import http_time
from crawlkit.web.urls import Address, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from crawlkit.crawling.expected import Markers
    from crawlkit.crawling.frontier import Lease
    from crawlkit.web.fetch import Response
    from crawlkit.web.urls import LinkResolver

    Extractor = Callable[[Page], Iterable[Mapping[str, Any]]]

__all__ = ["FOLLOWED", "Event", "PageResult", "digest", "transport_facts"]

# Links that lead on. Others (hreflang and feeds, say) are kept as rows and not followed.
FOLLOWED = frozenset(("anchor", "area", "frame", "pagination", "canonical", "redirect"))
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_MISLABELED = ("", "text/plain", "application/octet-stream", "application/xml", "text/xml")


@dataclass(slots=True, eq=False)
class Event:
    """A row of ``events``, before it has a time."""

    kind: str
    url: str | None = None
    host: str | None = None
    detail: str | None = None


@dataclass(slots=True, eq=False)
class PageResult:
    """What came of a lease; the engine writes it in one transaction.

    ``outcome`` is ``done``, ``failed``, ``retry`` (ask again later) or ``returned`` (not asked
    after all). ``addresses`` says where each of ``links`` leads.
    """

    lease: Lease
    response: Response
    started: float
    outcome: str
    page: dict[str, Any] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    addresses: list[Address] = field(default_factory=list)
    canonical: Address | None = None
    body: tuple[str, str, int, bytes] | None = None
    headers: str = "[]"
    records: list[Record] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def digest(
    lease: Lease,
    response: Response,
    *,
    started: float,
    resolver: LinkResolver,
    retries: int = 0,
    links_per_page: int | None = None,
    keep_body: bool = True,
    extractor: Extractor | None = None,
    robots_agent: str = "crawlkit",
    expect: Markers | None = None,
) -> PageResult:
    """Turn a response into a result: facts, links, records, compressed body.

    Parameters
    ----------
    lease
        The lease that the response answers.
    response
        What came back.
    started
        Monotonic seconds at which the request started.
    resolver
        Resolves links and makes their keys.
    retries
        Times that a failure may be tried again.
    links_per_page
        Links kept of one page.
    keep_body
        Whether the body is kept.
    extractor
        Gives records for a page.
    robots_agent
        The crawler's name in robots directives of pages.
    expect
        What a page is expected to show.
    """
    if response.error == "interrupted" or (
        response.error == "body_too_large" and lease.byte_budget is not None
    ):
        return PageResult(lease, response, started, "returned")
    if is_retryable(response):
        if lease.tries < retries:
            return PageResult(lease, response, started, "retry")
        outcome = "failed"
    else:
        outcome = "done" if response.error is None else "failed"
    result = PageResult(lease, response, started, outcome)
    result.page = transport_facts(lease, response)
    if keep_body and response.status is not None:
        result.headers = to_json(
            [(name, clean_text(value)) for name, value in response.headers.pairs]
        )
    if response.location is not None:
        _take_redirect(result, resolver)
    elif response.error is None and response.body:
        hashed = result.page["body_hash"] = body_hash(response.body)
        if keep_body:
            result.body = (hashed, *compress(response.body))
        if _may_be_html(response):
            page = parse_page(
                response.body,
                url=lease.url,
                content_type=response.content_type,
                headers=response.headers,
                links_per_page=sys.maxsize if links_per_page is None else links_per_page,
                robots_agent=robots_agent,
            )
            _take_page(result, page, resolver)
            if expect and page.error != "not_html":
                result.page["expected_found"] = expect.found_in(page)
            _take_records(result, page, extractor)
        if outcome == "failed":  # an error page: the page itself may yet come, with its own links
            result.links, result.addresses = [], []
    return result


def transport_facts(lease: Lease, response: Response) -> dict[str, Any]:
    """Return what is known of a page without looking into its body."""
    headers = response.headers
    return {
        "url": lease.url,
        "key": lease.key,
        "url_hash": lease.hash,
        "host": lease.host.name,
        "depth": lease.depth,
        "status": response.status,
        "error": response.error,
        "content_type": _clean(response.content_type),
        "size": len(response.body) if response.error is None else None,
        "wire_bytes": response.wire_bytes,
        "fetched_at": int(response.started_at * 1e6),
        "elapsed": response.elapsed,
        "etag": _clean(headers.get("etag")),
        "last_modified": _http_date(headers.get("last-modified")),
        "links_found": 0,
        "new_urls": 0,
        "attempts": lease.tries + 1,
        "flags": list(response.flags) or None,
    }


def _clean(text: str | None) -> str | None:
    return clean_text(text) if text else None


def _http_date(value: str | None) -> int | None:
    """Return an HTTP date as UTC microseconds, or None for one that is none."""
    seconds = http_time(value)
    return None if seconds is None else int(seconds * 1e6)


def _take_redirect(result: PageResult, resolver: LinkResolver) -> None:
    target = result.response.location or ""
    result.page["redirected_to"] = clean_text(target)
    link = Link(
        href=clean_text(result.response.headers.get("location") or target),
        position=0, region=None, text=None, rel=None, kind="redirect",
    )  # fmt: skip
    address = resolver.resolve(target, result.lease.url)
    if isinstance(address, Refusal):
        result.page["error"] = f"redirect_{address.reason}"
        result.outcome = "failed"
        return
    result.page["links_found"] = 1
    result.page["redirected_to"] = address.url
    result.links, result.addresses = [link], [address]


def _take_records(result: PageResult, page: Page, extractor: Extractor | None) -> None:
    if extractor is None or page.error is not None or result.response.status != 200:
        return
    url, host = result.lease.url, result.lease.host.name
    result.records, problem = extract_records(page, extractor, host)
    if problem is not None:
        result.events.append(Event("extractor_failed", url, host, problem))


def _may_be_html(response: Response) -> bool:
    if "unknown_encoding" in response.flags:  # kept as it came; nobody knows what it says
        return False
    kind = (response.content_type or "").split(";")[0].strip().lower()
    if kind in _HTML_TYPES:
        return True
    # A page without a type, or with a lazy one, is one if it looks so: browsers sniff too.
    start = response.body[:512].lstrip().lower()
    return kind in _MISLABELED and start.startswith((b"<!doctype html", b"<html"))


def _take_page(result: PageResult, page: Page, resolver: LinkResolver) -> None:
    row = result.page
    if page.error is not None:
        row["error"] = page.error
    if page.error == "not_html":
        return
    row.update(
        title=page.title,
        description=page.description,
        h1=page.h1,
        lang=page.lang,
        words=page.words,
        canonicals=list(page.canonicals) or None,
        robots=page.robots,
        indexable=page.indexable,
        hreflang=[{"lang": lang, "url": url} for lang, url in page.hreflang] or None,
        links_found=page.links_found,
        text_hash=page.text_hash,
        text_hash_by=page.text_hash_by,
    )
    # In the wide encodings the marks look otherwise; such pages are rare.
    if has_date_marks(result.response.body) or page.encoding.startswith("utf-16"):
        _take_dates(row, page, result.response.started_at)
    resolve = resolver.for_page(page.base_url)
    if page.canonical is not None:
        canonical = resolve(page.canonical)
        if isinstance(canonical, Address):
            row["canonical"] = canonical.url
            result.canonical = canonical
    answers = [resolve(link.href) for link in page.links]
    result.addresses = [answer for answer in answers if isinstance(answer, Address)]
    result.links = list(page.links)
    row["links_not_http"] = 0
    if len(result.addresses) < len(answers):
        _leave_out_refused(result, answers)
    if page.skipped_links:
        _note(result, "links_per_page", f"{page.skipped_links} links beyond limits.links_per_page")


def _leave_out_refused(result: PageResult, answers: list[Address | Refusal]) -> None:
    """Take the links out that lead nowhere: those of other schemes are counted, bad ones told."""
    pairs = list(zip(result.links, answers, strict=True))
    result.links = [link for link, answer in pairs if isinstance(answer, Address)]
    refused = [(link, answer) for link, answer in pairs if isinstance(answer, Refusal)]
    bad = [
        f"{answer.reason}: {link.href[:200]}"
        for link, answer in refused
        if answer.reason != "not_http"
    ]
    result.page["links_not_http"] = len(refused) - len(bad)
    if bad:
        _note(result, "bad_links", f"{len(bad)} links that cannot be asked for, first {bad[0]}")


def _take_dates(row: dict[str, Any], page: Page, fetched_at: float) -> None:
    # Most pages of most sites say nothing of dates, and then this need not be loaded.
    from crawlkit.web.date_candidates import stated_dates

    dates = stated_dates(page, fetched_at)
    modified, published = dates.get("modified"), dates.get("published")
    if modified is not None and modified.date is not None:
        row["date_modified"] = round(modified.date.start * 1e6)
        row["date_modified_source"] = modified.source
    if published is not None and published.date is not None:
        row["date_published"] = round(published.date.start * 1e6)


def _note(result: PageResult, kind: str, detail: str) -> None:
    result.events.append(Event(kind, result.lease.url, result.lease.host.name, clean_text(detail)))
