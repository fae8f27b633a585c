"""Links of a few pages, from their bodies or from the table of links: targets, and hidden ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from crawlkit.web.html import parse_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selectolax.lexbor import LexborNode

    from crawlkit.audit.crawl_facts import CrawlFacts

__all__ = ["hidden_entries", "is_hidden", "link_targets"]

LOOKED_AT = 12
"""Pages that are looked at for one region."""
_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0+)?\s*(?:;|\Z)|"
    r"font-size\s*:\s*0|(?:left|top|text-indent)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)


def is_hidden(node: LexborNode) -> bool:
    """Tell whether an element, or one around it, is styled or marked not to be seen."""
    at: LexborNode | None = node
    while at is not None and at.tag not in {"-undef", "-document"}:
        attributes = at.attributes
        if "hidden" in attributes or attributes.get("aria-hidden") == "true":
            return True
        if _STYLE.search(attributes.get("style") or ""):
            return True
        at = at.parent
    return False


def hidden_entries(facts: CrawlFacts, entries: Sequence[int]) -> tuple[int, int] | None:
    """Return how many of the links into a region are hidden, and how many were looked at.

    Parameters
    ----------
    facts
        The crawl's facts; with bodies, or with the table of links (a link without text counts).
    entries
        Positions of URLs of the region that were found on pages outside it.

    Returns
    -------
    tuple of int, or None
        None where nothing could be looked at; the reason is noted in ``facts.skipped``.
    """
    chosen = entries[:: max(1, len(entries) // LOOKED_AT)][:LOOKED_AT]
    if facts.body is not None:
        found = [_in_body(facts, number) for number in chosen]
        known = [one for one in found if one is not None]
        if known:
            return sum(known), len(known)
    links = facts.links
    if links is None or not {"source", "target", "text"} <= set(links.columns):
        facts.skipped["links.text"] = "hidden links are not looked for without bodies or links"
        return None
    targets = {facts.urls[number] for number in chosen}
    rows = links[links["target"].isin(list(targets))]
    pairs = {(facts.urls[facts.finder[n]], facts.urls[n]) for n in chosen}
    shown: dict[tuple[str, str], bool] = {}
    missing = rows["text"].isna().tolist()
    for pair, gone in zip(zip(rows["source"], rows["target"], strict=True), missing, strict=True):
        if pair in pairs:
            shown[pair] = shown.get(pair, False) or not gone
    return sum(not seen for seen in shown.values()), len(shown)


def _in_body(facts: CrawlFacts, number: int) -> bool | None:
    """Tell whether all links from a URL's finder to it are hidden; None without a body or link."""
    assert facts.body is not None  # noqa: S101 - the caller looked
    target, origin = facts.urls[number], facts.urls[facts.finder[number]]
    try:
        body = facts.body(origin)
    except (KeyError, ValueError, OSError):
        return None
    page = parse_page(body, url=origin)
    states = []
    for node in page.css("a[href]"):
        href = node.attributes.get("href") or ""
        try:
            same = urljoin(page.base_url, href.strip()).partition("#")[0] == target
        except ValueError:
            continue
        if same:
            states.append(is_hidden(node))
    return all(states) if states else None


def link_targets(facts: CrawlFacts, number: int) -> frozenset[str] | None:
    """Return the URLs that a page links to, without fragments; None where that is not known."""
    url = facts.urls[number]
    if facts.body is not None:
        try:
            page = parse_page(facts.body(url), url=url)
        except (KeyError, ValueError, OSError):
            return None
        found = []
        for link in page.links:
            try:
                found.append(urljoin(page.base_url, link.href).partition("#")[0])
            except ValueError:
                continue
        return frozenset(found)
    links = facts.links
    if links is None or not {"source", "target"} <= set(links.columns):
        facts.skipped["links.target"] = (
            "listing pages that differ in their number only are not told without bodies or links"
        )
        return None
    return frozenset(links.loc[links["source"] == url, "target"].dropna())
