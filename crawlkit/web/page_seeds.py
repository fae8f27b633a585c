"""Seeds from a listing page: its links, by pattern or CSS selector."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import SelectolaxError

from crawlkit.errors import BadSetting
from crawlkit.web.html import Page, parse_page
from crawlkit.web.html_links import rel_tokens
from crawlkit.web.html_text import collapse
from crawlkit.web.patterns import compile_patterns
from crawlkit.web.seed_documents import DocumentFetcher, checked_url
from crawlkit.web.seed_tables import SeedTable
from crawlkit.web.url_addresses import Refusal, resolve_address

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from crawlkit.web.fetch import Http
    from crawlkit.web.patterns import Patterns

__all__ = ["page_table"]

_COLUMNS = {"title": "str", "region": "str", "rel": "str"}
_LONGEST_TITLE = 500


class _Link(NamedTuple):
    href: str
    title: str | None
    region: str | None
    rel: str | None


def page_table(
    url: object,
    *,
    pattern: str | re.Pattern[str] | Iterable[str | re.Pattern[str]] | None,
    css: str | None,
    http: Http | None,
    obey_robots: bool,
) -> pd.DataFrame:
    """Fetch a page and return what `seeds_from_page` promises."""
    address = checked_url("url", url)
    patterns = None if pattern is None else compile_patterns(pattern, name="pattern")
    if css is not None:
        _check_selector(css)
    with DocumentFetcher(address, http, obey_robots=obey_robots) as documents:
        response = documents.fetch(address)
    table = SeedTable("page", _COLUMNS)
    reason = response.error
    if reason is None and response.status != 200:
        reason = f"http_{response.status}"
    page, others = None, 0
    if reason is None:
        page = parse_page(
            response.body,
            url=response.url,
            content_type=response.content_type,
            headers=response.headers,
        )
        reason = page.error
        others = _take(table, page, patterns, css)
    if reason is not None:
        table.refuse(response.url, reason, response.url)
    return table.frame(
        page=response.url,
        title=page and page.title,
        reason=reason,
        not_matching=others,
        nofollow=page is not None and page.nofollow,
    )


def _take(table: SeedTable, page: Page, patterns: Patterns | None, css: str | None) -> int:
    """Add a page's links; returns how many do not match."""
    others = 0
    links = _links(page) if css is None else _selected(page, css)
    for link in links:
        address = resolve_address(link.href, page.base_url)
        if isinstance(address, Refusal):
            table.refuse(link.href, address.reason, page.url)
        elif patterns is not None and patterns.matches(address) is None:
            others += 1
        elif address == page.url:
            table.refuse(link.href, "same_page", page.url)
        else:
            table.add(
                address, found_in=page.url, title=link.title, region=link.region, rel=link.rel
            )
    if page.skipped_links and css is None:
        table.refuse(page.url, "links_per_page", page.url)
    return others


def _links(page: Page) -> Iterator[_Link]:
    for link in page.links:
        if link.kind in ("anchor", "area", "pagination"):
            yield _Link(link.href, link.text, link.region, link.rel)


def _selected(page: Page, css: str) -> Iterator[_Link]:
    """Yield the links among the selected elements, and those inside of the others."""
    regions = {link.href: link.region for link in page.links}
    seen = set()
    for node in page.css(css):
        inside = [node] if "href" in node.attributes else node.css("a[href], area[href]")
        for each in inside:
            href = each.attributes.get("href")
            if href is None or each.mem_id in seen:
                continue
            seen.add(each.mem_id)
            rel = rel_tokens(each.attributes.get("rel") or "")[0]
            yield _Link(href, collapse(each.text(), _LONGEST_TITLE), regions.get(href), rel)


def _check_selector(css: object) -> None:
    remedy = 'Pass a selector such as "main a" or "td.title > a".'
    if not isinstance(css, str) or not css.strip():
        raise BadSetting("css", f"{css!r} is no selector", remedy)
    try:
        parse_page(b"<p>x</p>", url="http://localhost/").css(css)
    except (SelectolaxError, ValueError, RuntimeError) as error:
        raise BadSetting("css", f"{css!r} cannot be read ({error})", remedy) from None
