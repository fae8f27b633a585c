"""Exports of Screaming Frog's SEO Spider: CSV files of pages and of links, with English headers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.foreign_files import csv_rows, file_text
from crawlkit.crawling.foreign_tables import ForeignTables, LinkRow, TableMaker
from crawlkit.crawling.foreign_values import as_moment, as_number, as_text, as_whole
from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["read_screaming_frog"]

_PAGES = ("internal_all.csv", "internal_html.csv")
_LINKS = ("all_outlinks.csv", "all_inlinks.csv")
_COLUMNS: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "depth": (("Crawl Depth", "Level"), as_whole),
    "status": (("Status Code",), as_whole),
    "content_type": (("Content Type", "Content"), as_text),
    "size": (("Size (bytes)", "Size (Bytes)", "Size"), as_whole),
    "wire_bytes": (("Transferred (bytes)", "Transferred (Bytes)", "Transferred"), as_whole),
    "fetched_at": (("Crawl Timestamp",), as_moment),
    "elapsed": (("Response Time",), as_number),
    "redirected_to": (("Redirect URL", "Redirect URI"), as_text),
    "title": (("Title 1",), as_text),
    "description": (("Meta Description 1",), as_text),
    "h1": (("H1-1",), as_text),
    "lang": (("Language",), as_text),
    "words": (("Word Count",), as_whole),
    "canonical": (("Canonical Link Element 1",), as_text),
    "robots": (("Meta Robots 1",), as_text),
    "last_modified": (("Last Modified",), as_moment),
    "body_hash": (("Hash",), as_text),
}
_REASONS = {
    "robots": "robots_disallowed",
    "timeout": "timeout",
    "dns": "dns_failed",
    "refused": "connect_refused",
    "ssl": "tls_failed",
    "reset": "connection_reset",
}
_KINDS = {
    "hyperlink": "anchor",
    "ahref": "anchor",
    "canonical": "canonical",
    "html canonical": "canonical",
    "http canonical": "canonical",
    "http redirect": "redirect",
    "hreflang": "alternate",
    "html hreflang": "alternate",
    "iframe": "frame",
    "rel next": "pagination",
    "rel prev": "pagination",
}
_REGIONS = {"navigation": "nav", "header": "header", "content": "main", "footer": "footer"}


def read_screaming_frog(folder: str | Path) -> ForeignTables:
    """Return the tables of a folder of exports."""
    files = _files(folder)
    maker = TableMaker("Screaming Frog")
    maker.lacks("fetches", "the export is not in the order of the fetches")
    seen = _take_pages(maker, files)
    _tell(maker, seen)
    links = next((files[name] for name in _LINKS if name in files), None)
    if links is None:
        maker.lacks("links", f"the folder has none of {', '.join(_LINKS)}")
    else:
        _take_links(maker, links)
    return maker.tables()


def _files(folder: str | Path) -> dict[str, Path]:
    """Return the exports by name, in lower case."""
    try:
        files = {file.name.lower(): file for file in Path(folder).expanduser().iterdir()}
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        problem = f"{str(folder)!r} is no folder that can be read ({type(error).__name__})"
        raise BadSetting("folder", problem, "Pass the folder of the exports.") from None
    if not any(name in files for name in _PAGES):
        raise BadSetting(
            "folder", f"it has none of {', '.join(_PAGES)}", "Export the tab Internal as CSV."
        )
    return files


def _take_pages(maker: TableMaker, files: Mapping[str, Path]) -> set[str]:
    file = next(files[name] for name in _PAGES if name in files)
    seen: set[str] = set()
    for number, row in csv_rows(file_text(file, maker.problem, argument="folder"), maker.problem):
        if not seen and "Address" not in row:
            shown = ", ".join(list(row)[:8])
            raise BadSetting(
                "folder",
                f"{file.name} has no column 'Address' (columns: {shown})",
                "Export with the language of the program set to English.",
            )
        seen.update(row)
        _take_page(maker, row, number)
    return seen


def _take_page(maker: TableMaker, row: Mapping[str, Any], number: int) -> None:
    url = as_text(row.get("Address"))
    facts = {name: read(_cell(row, names)) for name, (names, read) in _COLUMNS.items()}
    if not facts["status"]:  # 0 stands for no answer
        facts["status"] = None
        said = (as_text(row.get("Status")) or "").casefold()
        code = next((code for sign, code in _REASONS.items() if sign in said), "network_failed")
        if code == "robots_disallowed":
            maker.set_aside(url, code, row=number)
            return
        facts["error"] = code if said else None
    for name in ("canonical", "redirected_to"):
        found = maker.address(facts[name], url)
        facts[name] = None if found is None else found.url
    facts["canonicals"] = [facts["canonical"]] if facts["canonical"] else None
    tag = as_text(row.get("X-Robots-Tag 1"))
    facts["robots"] = ", ".join(each.lower() for each in (facts["robots"], tag) if each) or None
    words = set((facts["robots"] or "").replace(",", " ").split())
    facts["indexable"] = not words & {"noindex", "none"}
    maker.page(url, facts, row=number)


def _cell(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if name in row), None)


def _tell(maker: TableMaker, seen: set[str]) -> None:
    for name, (names, _) in _COLUMNS.items():
        if any(each in seen for each in names):
            maker.tells("pages", name)
        else:
            maker.lacks(f"pages.{name}", f"the export has no column {names[0]!r}")
    if "Status" in seen:
        maker.tells("pages", "error")
    if "Meta Robots 1" in seen:
        maker.tells("pages", "indexable")
    if "Canonical Link Element 1" in seen:
        maker.tells("pages", "canonicals")
    if "Crawl Depth" in seen:
        maker.tells("urls", "depth")


def _take_links(maker: TableMaker, file: Path) -> None:
    seen: set[str] = set()
    rows = csv_rows(file_text(file, maker.problem, argument="folder"), maker.problem)
    for number, row in rows:
        seen.update(row)
        kind = _KINDS.get((as_text(row.get("Type")) or "hyperlink").casefold())
        if kind is None:
            continue  # pictures, scripts and style sheets are no links of a crawl
        source = maker.address(as_text(_cell(row, ("Source", "From"))))
        target = maker.address(as_text(_cell(row, ("Destination", "To"))))
        if source is None or target is None:
            maker.problem("bad_link", number, row.get("Destination"))
            continue
        region = _REGIONS.get((as_text(row.get("Link Position")) or "").casefold())
        text = as_text(_cell(row, ("Anchor", "Anchor Text")))
        maker.link(source.url, LinkRow(target, None, region, text, as_text(row.get("Rel")), kind))
    if not seen or not seen & {"Source", "From"} or not seen & {"Destination", "To"}:
        maker.lacks("links", f"{file.name} has no columns 'Source' and 'Destination'")
        return
    maker.tells("links", "kind")
    named = {"text": ("Anchor", "Anchor Text"), "rel": ("Rel",), "region": ("Link Position",)}
    maker.tells("links", *(name for name, names in named.items() if seen & set(names)))
