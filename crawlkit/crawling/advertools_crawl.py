"""Crawls of advertools: JSON lines, one object a response, several values joined by ``@@``.

The URL of a row is the one that answered in the end; the addresses that redirected to it stand in
``redirect_urls``. Here each of those is a page of its own, as in a crawl of crawlkit.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.foreign_files import file_text, json_lines
from crawlkit.crawling.foreign_tables import ForeignTables, LinkRow, TableMaker
from crawlkit.crawling.foreign_values import (
    as_moment,
    as_number,
    as_text,
    as_whole,
    first_part,
)
from crawlkit.web.fingerprint import text_hash

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_advertools"]

_JOINED = "@@"
_REGIONS = ("nav", "header", "footer")
_ERRORS = {
    "dns": "dns_failed",
    "timeout": "timeout",
    "refused": "connect_refused",
    "ssl": "tls_failed",
    "connectionlost": "connection_reset",
    "ignorerequest": "robots_disallowed",
}
_TEXT_BY = "advertools body_text"
_PAGE_COLUMNS = (
    "depth", "found_on", "status", "error", "content_type", "size", "wire_bytes", "fetched_at",
    "elapsed", "redirected_to", "title", "description", "h1", "words", "canonical", "canonicals",
    "hreflang", "etag", "last_modified", "text_hash", "text_hash_by",
)  # fmt: skip


def read_advertools(path: str | Path) -> ForeignTables:
    """Return the tables of a file that ``advertools.crawl`` wrote."""
    maker = TableMaker("advertools", ordered=True)
    text = file_text(path, maker.problem)
    seen: set[str] = set()
    for number, item in json_lines(text, maker.problem):
        seen.update(item)
        _take_row(maker, item, number)
    _tell(maker, seen)
    return maker.tables()


def _tell(maker: TableMaker, seen: set[str]) -> None:
    """Note what a file of this kind knows."""
    needs = {"words": "body_text", "text_hash": "body_text", "text_hash_by": "body_text"}
    needs |= {"wire_bytes": "resp_headers_Content-Length", "depth": "depth", "size": "size"}
    needs |= {"found_on": "request_headers_Referer"}
    needs |= {"elapsed": "download_latency", "fetched_at": "crawl_time", "status": "status"}
    for name in _PAGE_COLUMNS:
        if needs.get(name, "status") in seen:
            maker.tells("pages", name)
        else:
            maker.lacks(f"pages.{name}", f"the file has no {needs.get(name, 'status')}")
    if any(name.endswith("links_url") for name in seen):
        maker.tells("links", "text", "rel", "region", "kind")
    else:
        maker.lacks("links", "the file has no links_url")
    maker.lacks("links.href", "advertools resolves links before it writes them")


def _take_row(maker: TableMaker, item: dict[str, Any], number: int) -> None:
    url = item.get("url")
    base = as_text(url) or ""
    facts: dict[str, Any] = {
        "depth": as_whole(item.get("depth")),
        "status": as_whole(item.get("status")),
        "error": _error(item.get("errors")),
        "content_type": _header(item, "content-type"),
        "size": as_whole(item.get("size")),
        "wire_bytes": as_whole(_header(item, "content-length")),
        "fetched_at": as_moment(item.get("crawl_time")),
        "elapsed": as_number(item.get("download_latency")),
        "title": first_part(item.get("title")),
        "description": first_part(item.get("meta_desc")),
        "h1": first_part(item.get("h1")),
        "etag": _header(item, "etag"),
        "last_modified": as_moment(_header(item, "last-modified")),
    }
    finder = maker.address(item.get("request_headers_Referer"))
    facts["found_on"] = None if finder is None else finder.url
    canonicals = [
        found.url
        for each in _parts(item.get("canonical"))
        if (found := maker.address(each, base)) is not None
    ]
    if canonicals:
        facts |= {"canonical": canonicals[0], "canonicals": canonicals}
    body = item.get("body_text")
    if isinstance(body, str) and body.strip():
        text = " ".join(body.replace(_JOINED, " ").split())
        facts |= {"words": len(text.split()), "text_hash": text_hash(text)}
        facts["text_hash_by"] = _TEXT_BY
    alternates = _alternates(maker, item, base)
    facts["hreflang"] = alternates or None
    _take_redirects(maker, item, facts, number)
    source = maker.page(url, facts, row=number)
    if source is not None:
        _take_links(maker, item, source, number)


def _parts(value: Any) -> list[str]:
    return value.split(_JOINED) if isinstance(value, str) and value else []


def _header(item: dict[str, Any], name: str) -> str | None:
    """Return a header of the response, however its name is written."""
    for field, value in item.items():
        if field.startswith("resp_headers_") and field[13:].lower() == name:
            return first_part(value)
    return None


def _error(value: Any) -> str | None:
    text = as_text(value)
    if text is None:
        return None
    lowered = text.casefold()
    return next((code for sign, code in _ERRORS.items() if sign in lowered), "network_failed")


def _alternates(maker: TableMaker, item: dict[str, Any], base: str) -> list[dict[str, str]]:
    languages, targets = _parts(item.get("alt_hreflang")), _parts(item.get("alt_href"))
    if len(languages) != len(targets):
        return []
    return [
        {"lang": language, "url": found.url}
        for language, target in zip(languages, targets, strict=True)
        if language and (found := maker.address(target, base)) is not None
    ]


def _take_redirects(
    maker: TableMaker, item: dict[str, Any], facts: dict[str, Any], number: int
) -> None:
    """Add the addresses that led here by redirects."""
    hops = _parts(item.get("redirect_urls"))
    statuses = _parts(str(item.get("redirect_reasons") or ""))
    ends = [*hops[1:], item.get("url")] if hops else []
    for place, (hop, end) in enumerate(zip(hops, ends, strict=True)):
        target = maker.address(end, hop)
        status = as_whole(statuses[place]) if place < len(statuses) else None
        source = maker.page(
            hop,
            {
                "depth": facts["depth"],
                "found_on": facts["found_on"] if place == 0 else hops[place - 1],
                "status": status,
                "fetched_at": facts["fetched_at"],
                "redirected_to": None if target is None else target.url,
            },
            row=number,
        )
        if source is not None and target is not None:
            maker.link(source, LinkRow(target, kind="redirect"))


def _take_links(maker: TableMaker, item: dict[str, Any], source: str, number: int) -> None:
    targets = _parts(item.get("links_url"))
    texts, follow = _parts(item.get("links_text")), _parts(item.get("links_nofollow"))
    if texts and len(texts) != len(targets):  # a text with "@@" in it: whose it is, is not known
        maker.problem("link_texts_unclear", number, source)
        texts = []
    if len(follow) != len(targets):
        follow = []
    regions = {region: Counter(_parts(item.get(f"{region}_links_url"))) for region in _REGIONS}
    for place, target in enumerate(targets):
        address = maker.address(target, source)
        if address is None:
            maker.problem("bad_link", number, target)
            continue
        text = as_text(texts[place]) if texts else None
        rel = "nofollow" if follow and follow[place] == "True" else None
        maker.link(source, LinkRow(address, None, _region(regions, target), text, rel))


def _region(regions: dict[str, Counter[str]], target: str) -> str | None:
    """Take a link for one of a region's as often as the region lists its address."""
    for region, left in regions.items():
        if left[target] > 0:
            left[target] -= 1
            return region
    return None
