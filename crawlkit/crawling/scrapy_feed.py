"""Feeds of Scrapy: items with a URL and whatever else, as JSON, JSON lines, CSV or XML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.foreign_files import csv_rows, file_text, json_lines, json_rows, xml_rows
from crawlkit.crawling.foreign_tables import ForeignTables, LinkRow, TableMaker
from crawlkit.crawling.foreign_values import (
    as_moment,
    as_number,
    as_text,
    as_truth,
    as_whole,
)
from crawlkit.crawling.schema import COLUMNS
from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["read_scrapy_feed"]

_READERS: dict[str, Callable[[Any], Any]] = {
    "text": as_text,
    "int": as_whole,
    "float": as_number,
    "bool": as_truth,
    "time": as_moment,
}
_MADE = ("key", "url_hash", "host", "seq", "new_urls", "round", "attempts", "links_found")
_ADDRESSES = ("canonical", "redirected_to", "found_on")
# Other names that items commonly have, where the column's own name is not there.
_ALSO = {
    "url": ("response_url", "page_url", "link", "loc"),
    "status": ("status_code", "http_status"),
    "description": ("meta_description",),
    "found_on": ("referer", "referrer"),
    "fetched_at": ("crawled_at", "scraped_at", "crawl_time", "timestamp"),
    "elapsed": ("download_latency",),
}


def read_scrapy_feed(path: str | Path, columns: Mapping[str, str] | None) -> ForeignTables:
    """Return the tables of a feed; see :func:`crawlkit.tables_from_scrapy_feed`."""
    wanted = _checked(columns)
    maker = TableMaker("a Scrapy feed", ordered=True)
    items = list(_items(file_text(path, maker.problem), maker))
    seen = dict.fromkeys(name for _, item in items for name in item)
    fields = _fields(wanted, seen)
    if "links" not in wanted and not any(_link_list(item.get("links")) for _, item in items):
        fields.pop("links", None)  # a count of links, most likely
    if items and "url" not in fields:
        shown = ", ".join(list(seen)[:20])
        raise BadSetting(
            "path",
            f"no item has a field 'url' (fields: {shown})",
            "Name the field: columns={'url': 'address'}.",
        )
    kinds = COLUMNS["pages"]
    maker.tells("pages", *(name for name in fields if name in kinds))
    for number, item in items:
        facts: dict[str, Any] = {}
        for name, field in fields.items():
            if name not in ("url", "links"):
                facts[name] = _READERS[kinds[name]](item.get(field))
        base = as_text(item.get(fields["url"]))
        for name in _ADDRESSES:
            if facts.get(name):
                found = maker.address(facts[name], base)
                facts[name] = None if found is None else found.url
        source = maker.page(base, facts, row=number)
        if source is not None and "links" in fields:
            _take_links(maker, source, item.get(fields["links"]), number)
    if "links" in fields:
        maker.tells("links", "href", "kind")
    else:
        maker.lacks("links", "no field of the items lists URLs")
    return maker.tables()


def _checked(columns: Mapping[str, str] | None) -> dict[str, str]:
    given = {} if columns is None else columns
    if not isinstance(given, Mapping):
        raise BadSetting("columns", "it is no mapping", "Pass {'url': 'address'}.")
    known = [
        name for name, kind in COLUMNS["pages"].items() if kind in _READERS and name not in _MADE
    ]
    for name, field in given.items():
        if name not in known and name != "links":
            raise BadSetting(
                "columns", f"there is no column {name!r}", f"There are: {', '.join(known)}, links."
            )
        if not isinstance(field, str):
            raise BadSetting("columns", f"{field!r} is no name of a field", "Pass text.")
    return dict(given)


def _items(text: str, maker: TableMaker) -> Iterator[tuple[int, dict[str, Any]]]:
    start = text.lstrip()[:1]
    if start == "[":
        return json_rows(text, maker.problem)
    if start == "{":
        return json_lines(text, maker.problem)
    if start == "<":
        return xml_rows(text, maker.problem)
    return csv_rows(text, maker.problem)


def _fields(wanted: Mapping[str, str], seen: Mapping[str, Any]) -> dict[str, str]:
    """Return the field of each column that the items have."""
    fields = {}
    for name, kind in {**COLUMNS["pages"], "links": "urls"}.items():
        if name in _MADE or (kind not in _READERS and name != "links"):
            continue
        if name in wanted:
            names: tuple[str, ...] = (wanted[name],)
            if wanted[name] not in seen and seen:
                problem = f"no item has the field {wanted[name]!r}"
                raise BadSetting("columns", problem, "Pass a field of the items.")
        else:
            names = (name, *_ALSO.get(name, ()))
        found = next((each for each in names if each in seen), None)
        if found is not None:
            fields[name] = found
    return fields


def _take_links(maker: TableMaker, source: str, value: Any, number: int) -> None:
    """Add the links of a page."""
    for each in _link_list(value):
        href = (each.get("url") or each.get("href")) if isinstance(each, dict) else each
        address = maker.address(href, source)
        if address is None:
            maker.problem("bad_link", number, href)
        else:
            maker.link(source, LinkRow(address, as_text(href)))


def _link_list(value: Any) -> list[Any]:
    """Return the links that a field lists: URLs, objects with one, or text between commas."""
    if isinstance(value, list):
        return value
    if not isinstance(value, str) or not ("://" in value or value.startswith("/")):
        return []  # a count, or nothing
    return value.replace(",http", "\nhttp").replace(",/", "\n/").split()
