"""Checks of what pages say of themselves: canonicals, alternates in other languages, noindex."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.audit.site_pages import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlkit.audit.site_pages import SitePages

__all__ = ["canonical_conflicts", "hreflang_without_return", "noindex_in_sitemap"]

Row = dict[str, Any]


def canonical_conflicts(site: SitePages) -> Iterator[Row]:
    """Give one row for each page and conflict of its canonical.

    ``several`` (the page names more than one), ``off_host``, ``to_error``, ``to_redirect`` and
    ``chain`` (the canonical names yet another one).
    """
    for at, url in enumerate(site["url"]):
        if site["status"][at] != 200:
            continue
        named = {site.key(each) for each in site["canonicals"][at] if isinstance(each, str)}
        canonical = site["canonical"][at]
        problems = ["several"] if len(named) > 1 else []
        if canonical is not None:
            problems += _conflicts(site, at, canonical)
        target = site.place(canonical)
        for problem in problems:
            yield {
                "url": url,
                "canonical": canonical,
                "problem": problem,
                "canonical_status": None if target is None else site["status"][target],
                "leads_to": _leads_to(site, at, problem, target),
            }


def _conflicts(site: SitePages, at: int, canonical: str) -> Iterator[str]:
    if host_of(canonical) != site.hosts[at]:
        yield "off_host"
    target = site.place(canonical)
    if target is None or target == at:
        return
    status = site["status"][target]
    if status is not None and 300 <= status < 400:
        yield "to_redirect"
    elif status != 200:
        yield "to_error"
    else:
        further = site["canonical"][target]
        if further is not None and site.key(further) != site["key"][target]:
            yield "chain"


def _leads_to(site: SitePages, at: int, problem: str, target: int | None) -> str | None:
    """Return what the conflict is with."""
    if problem == "several":
        return " ".join(each for each in site["canonicals"][at] if isinstance(each, str))
    if target is None:
        return None
    name = {"to_redirect": "redirected_to", "chain": "canonical"}.get(problem)
    found: str | None = site[name][target] if name else None
    return found


def hreflang_without_return(site: SitePages) -> Iterator[Row]:
    """Give one row for each alternate that does not name the page in return, or is no page."""
    named: list[set[str] | None] = [None] * len(site)

    def alternates(at: int) -> set[str]:
        known = named[at]
        if known is None:
            known = named[at] = {site.key(url) for _, url in _pairs(site["hreflang"][at])}
        return known

    unknown = 0
    for at, url in enumerate(site["url"]):
        if site["status"][at] != 200:
            continue
        for lang, target in _pairs(site["hreflang"][at]):
            place = site.place(target)
            if place == at:
                continue
            if place is None:
                unknown += 1
                continue
            problem = None
            if site["status"][place] != 200:
                problem = "to_redirect" if site["redirected_to"][place] else "to_error"
            elif site["key"][at] not in alternates(place):
                problem = "no_return"
            if problem:
                yield {"url": url, "lang": lang, "alternate": target, "problem": problem}
    if unknown:
        site.notes["hreflang_without_return"] = f"{unknown:,} alternates were not fetched"


def _pairs(cell: list[Any]) -> Iterator[tuple[str, str]]:
    """Give language and URL of each alternate; what is none is passed over."""
    for pair in cell:
        if isinstance(pair, dict):
            lang, url = pair.get("lang"), pair.get("url")
        elif isinstance(pair, (tuple, list)) and len(pair) == 2:
            lang, url = pair
        else:
            continue
        if isinstance(lang, str) and isinstance(url, str):
            yield lang, url


def noindex_in_sitemap(site: SitePages) -> Iterator[Row]:
    """Give one row for each page that a sitemap lists and that asks not to be indexed."""
    assert site.entries is not None  # noqa: S101 - the check is skipped without entries
    seen: set[int] = set()
    for loc, sitemap in site.entries:
        at = site.place(loc)
        if at is None or at in seen or site["status"][at] != 200:
            continue
        seen.add(at)
        if site["indexable"][at] is False:
            yield {"url": site["url"][at], "sitemap": sitemap}
