"""Checks of links: broken ones with the pages that carry them, redirects, pages that none leads to.

A link is broken where its target answers with an error or not at all, or redirects to such a page.
An orphan is a URL that a sitemap lists and to which no other page leads; a canonical or an
alternate is no way to get there, a redirect is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.audit.site_pages import host_of, is_home
from crawlkit.audit.table_columns import plain_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlkit.audit.site_pages import Landing, SitePages

__all__ = ["broken_links", "broken_targets", "orphans", "redirect_chains"]

Row = dict[str, Any]


def broken_targets(site: SitePages) -> dict[str, Landing]:
    """Return the URLs that are broken, and where each one leads in the end."""
    found = {}
    for at, url in enumerate(site["url"]):
        if site["redirected_to"][at] is not None or site.is_broken(at):
            landing = site.landing(at)
            if landing.outcome in ("broken", "loop", "too_long"):
                found[url] = landing
    return found


def broken_links(site: SitePages) -> Iterator[Row]:
    """Give one row for each page and broken URL that it links to."""
    assert site.links is not None  # noqa: S101 - the check is skipped without links
    broken = broken_targets(site)
    carriers = site.links.carriers
    carriers = carriers[carriers["target"].isin(list(broken))].sort_values(["target", "source"])
    names = ("target", "source", "text", "region")
    for values in zip(*(plain_values(carriers[name]) for name in names), strict=True):
        landing = broken[values[0]]
        at = site.by_url[values[0]]
        yield {
            **dict(zip(names, values, strict=True)),
            "status": site["status"][at],
            "error": site["error"][at],
            "final_url": landing.url if landing.hops else None,
            "final_status": landing.status if landing.hops else None,
        }


def redirect_chains(site: SitePages) -> Iterator[Row]:
    """Give one row for each chain of two or more redirects, and for each that ends badly."""
    redirected = site["redirected_to"]
    starts = [at for at in range(len(site)) if redirected[at] is not None]
    later = {site.place(redirected[at]) for at in starts}
    told: set[str] = set()
    # A chain is told from its first hop on; a loop that nothing leads into, from any of its hops.
    for at in [at for at in starts if at not in later] + [at for at in starts if at in later]:
        landing = site.landing(at)
        if at in later and (landing.url != site["url"][at] or landing.url in told):
            continue
        if landing.outcome == "loop":
            told.update(landing.hops)
        kind = "chain" if landing.outcome in ("page", "not_fetched") else landing.outcome
        if kind == "chain" and len(landing.hops) < 2:
            continue
        yield {
            "url": site["url"][at],
            "kind": kind,
            "hops": len(landing.hops),
            "way": " -> ".join([*landing.hops, landing.url]),
            "final_url": landing.url,
            "final_status": landing.status,
        }


def orphans(site: SitePages) -> Iterator[Row]:
    """Give one row for each URL of the sitemap to which no page leads."""
    assert site.entries is not None  # noqa: S101 - the check is skipped without entries
    assert site.links is not None  # noqa: S101 - and without links
    linked = site.links.linked
    hosts = set(site.hosts)
    unsettled: list[tuple[str, str, str | None, int | None]] = []
    seen: set[str] = set()
    for loc, sitemap in site.entries:
        at = site.place(loc)
        key = site.key(loc) if at is None else site["key"][at]
        if key in seen or is_home(loc) or host_of(loc) not in hosts:
            continue
        seen.add(key)
        url = loc if at is None else site["url"][at]
        if url not in linked and key not in linked:
            unsettled.append((url, key, sitemap, at))
    if not unsettled:
        return
    # What is left may be linked in another spelling.
    keys = {site.key(url) for url in linked}
    for url, key, sitemap, at in unsettled:
        if key not in keys:
            yield {
                "url": url,
                "sitemap": sitemap,
                "fetched": at is not None,
                "status": None if at is None else site["status"][at],
            }
