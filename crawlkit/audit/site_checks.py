"""The checks of the site audit: what each needs, returns and asks to be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.audit.site_canonicals import (
    canonical_conflicts,
    hreflang_without_return,
    noindex_in_sitemap,
)
from crawlkit.audit.site_duplicates import duplicate_content, duplicate_titles, near_duplicates
from crawlkit.audit.site_links import broken_links, orphans, redirect_chains
from crawlkit.audit.site_responses import (
    expected_missing,
    heavy_pages,
    slow_pages,
    soft_404,
    soft_blocks,
    thin_pages,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from crawlkit.audit.site_pages import SitePages

__all__ = ["CHECKS", "SEVERITIES", "Check", "run_check"]

SEVERITIES = ("error", "warning", "notice")
"""Worst first."""

_DTYPES = {
    "cluster": "int64",
    "pages": "int64",
    "hops": "int64",
    "status": "Int64",
    "final_status": "Int64",
    "canonical_status": "Int64",
    "words": "Int64",
    "bytes": "int64",
    "seconds": "float64",
    "similarity": "float64",
    "fetched": "bool",
}
"""Columns that are no text."""


class Check(NamedTuple):
    """One check.

    Attributes
    ----------
    name
        Also the name of its table.
    severity
        One of `SEVERITIES`.
    run
        Gives the rows.
    columns
        Of its table.
    counted
        The column whose distinct values are counted.
    needs
        Columns without which it is skipped; ``entries`` and ``bodies`` are no columns.
    counts
        What is counted, in words.
    what_to_do
        In words.
    """

    name: str
    severity: str
    run: Callable[[SitePages], Iterator[dict[str, Any]]]
    columns: tuple[str, ...]
    counted: str
    needs: tuple[str, ...]
    counts: str
    what_to_do: str


_LINKS = ("links.source", "links.target")

CHECKS = (
    Check(
        "broken_links", "error", broken_links,
        ("target", "source", "text", "region", "status", "error", "final_url", "final_status"),
        "target", ("pages.status", *_LINKS), "broken URLs that pages link to",
        "Mend or remove the links on the pages named, or bring the target back.",
    ),
    Check(
        "redirect_chains", "warning", redirect_chains,
        ("url", "kind", "hops", "way", "final_url", "final_status"),
        "url", ("pages.status", "pages.redirected_to"), "chains, loops and dead ends",
        "Let each redirect lead to its last page in one hop; break loops.",
    ),
    Check(
        "orphans", "warning", orphans, ("url", "sitemap", "fetched", "status"),
        "url", ("entries", *_LINKS), "URLs of the sitemap to which no page links",
        "Link to them from a page that belongs to them, or take them out of the sitemap.",
    ),
    Check(
        "canonical_conflicts", "error", canonical_conflicts,
        ("url", "canonical", "problem", "canonical_status", "leads_to"),
        "url", ("pages.status", "pages.canonical"), "pages whose canonical misleads",
        "Name one canonical that answers 200 and names itself.",
    ),
    Check(
        "noindex_in_sitemap", "error", noindex_in_sitemap, ("url", "sitemap"),
        "url", ("entries", "pages.status", "pages.indexable"), "pages listed and set to noindex",
        "Take them out of the sitemap, or let them be indexed.",
    ),
    Check(
        "soft_404", "error", soft_404, ("url", "title", "words", "evidence"),
        "url", ("pages.status", "pages.title", "pages.words"), "pages that say 200 and mean 404",
        "Answer 404 or 410 where there is no page.",
    ),
    Check(
        "soft_blocks", "warning", soft_blocks, ("url", "title", "words", "evidence"),
        "url", ("pages.status", "pages.title", "pages.words"), "walls that answer 200",
        "Crawl more slowly or ask for access; these pages were not seen, leave them out.",
    ),
    Check(
        "expected_missing", "notice", expected_missing, ("url", "title", "words", "evidence"),
        "url", ("pages.status", "pages.expected_found"), "pages without what expect= names",
        "Look at some: other kinds of pages, or content that did not come without scripts?",
    ),
    Check(
        "hreflang_without_return", "warning", hreflang_without_return,
        ("url", "lang", "alternate", "problem"),
        "url", ("pages.status", "pages.hreflang"), "pages with alternates that do not return",
        "Let each language name all others, and itself.",
    ),
    Check(
        "duplicate_titles", "warning", duplicate_titles, ("cluster", "title", "url", "pages"),
        "cluster", ("pages.status", "pages.title"), "titles that several pages share",
        "Give each page a title of its own.",
    ),
    Check(
        "duplicate_content", "warning", duplicate_content,
        ("cluster", "url", "pages", "words", "title"),
        "cluster", ("pages.status", "pages.text_hash"), "texts that several pages share",
        "Keep one address and let the others redirect to it or name it as canonical.",
    ),
    Check(
        "near_duplicates", "notice", near_duplicates,
        ("cluster", "url", "similar_to", "similarity", "pages", "words"),
        "cluster", ("pages.status", "pages.text_hash", "bodies"), "groups of nearly equal texts",
        "Join the pages, or say on each what is its own.",
    ),
    Check(
        "slow_pages", "warning", slow_pages, ("url", "status", "seconds"),
        "url", ("pages.elapsed",), "answers slower than the limit",
        "Find out what the server waits for; cache the page.",
    ),
    Check(
        "heavy_pages", "notice", heavy_pages, ("url", "bytes", "words"),
        "url", ("pages.status", "pages.size"), "pages whose HTML is over the limit",
        "Move scripts, styles and data out of the HTML; split long lists.",
    ),
    Check(
        "thin_pages", "notice", thin_pages, ("url", "words", "title"),
        "url", ("pages.status", "pages.words"), "pages with few words",
        "Say more, join them with others, or set them to noindex.",
    ),
)  # fmt: skip
"""All checks."""


def run_check(check: Check, site: SitePages) -> pd.DataFrame:
    """Return the table of a check with its fixed columns and dtypes."""
    import pandas as pd

    rows = list(check.run(site))
    columns = {
        name: pd.Series([row[name] for row in rows], dtype=_DTYPES.get(name, "str"))
        for name in check.columns
    }
    return pd.DataFrame(columns)
