"""Articles and sitemaps of the living site, as text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from crawlkit.lab.content import draw
from crawlkit.lab.markup import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["article", "iso", "iso_day", "sitemap_index", "urlset"]

PARAGRAPHS = 6
CORE = "http://www.sitemaps.org/schemas/sitemap/0.9"
NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


def iso(moment: float, *, micros: bool = False) -> str:
    """Return a moment as a W3C datetime in UTC, to the second or the microsecond.

    Examples
    --------
    >>> iso(0), iso(0.5, micros=True)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:00.500000Z')
    """
    text = datetime.fromtimestamp(moment, UTC).isoformat(
        timespec="microseconds" if micros else "seconds"
    )
    return text.replace("+00:00", "Z")


def iso_day(moment: float) -> str:
    """Return the day of a moment, in UTC."""
    return iso(moment)[:10]


def article(
    seed: int, number: int, *, changes: int, published: str, modified: str, now: float
) -> bytes:
    """Write an article after a number of changes, with the noise of a real page around it.

    Parameters
    ----------
    seed, number
        The site and the page.
    changes
        Changes so far; each rewrites one paragraph of the main text.
    published, modified
        Dates for the JSON-LD.
    now
        The time, which header, links and a nonce show, and the main text does not.
    """
    title = sentences(1, seed, number, "title")
    parts = []
    for position in range(PARAGRAPHS):
        version = (changes - position + PARAGRAPHS - 1) // PARAGRAPHS
        text = sentences(3, seed, number, position, version)
        parts.append(f"<p>{escape(text)}</p>\n")
    data = {
        "@context": "https://schema.org",
        "@type": "Article",
        "headline": title,
        "datePublished": published,
        "dateModified": modified,
    }
    nonce = draw(seed, "nonce", number, now)
    minutes = draw(seed, "ago", number, now) % 59
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)}</title>\n"
        f'<script type="application/ld+json">{json.dumps(data)}</script>\n'
        f'<script>var nonce = "{nonce:x}";</script>\n</head>\n<body>\n'
        f"<header><p>Updated {minutes} minutes ago</p></header>\n"
        f"<nav><p>Others read: {escape(sentences(1, seed, 'related', nonce))}</p></nav>\n"
        f"<main>\n<h1>{escape(title)}</h1>\n{''.join(parts)}</main>\n"
        f"<footer><p>{nonce % 100_000} readers</p></footer>\n</body>\n</html>\n"
    ).encode()


def urlset(entries: Iterable[tuple[str, str | None, str | None]]) -> bytes:
    """Write a sitemap from address, lastmod and publication date of each entry."""
    rows = []
    named = ""
    for address, lastmod, published in entries:
        row = f"<url><loc>{escape(address)}</loc>"
        if lastmod is not None:
            row += f"<lastmod>{lastmod}</lastmod>"
        if published is not None:
            named = f' xmlns:news="{NEWS}"'
            row += (
                "<news:news><news:publication><news:name>Practice</news:name>"
                "<news:language>en</news:language></news:publication>"
                f"<news:publication_date>{published}</news:publication_date>"
                "<news:title>News</news:title></news:news>"
            )
        rows.append(row + "</url>\n")
    return f'{DECLARATION}<urlset xmlns="{CORE}"{named}>\n{"".join(rows)}</urlset>\n'.encode()


def sitemap_index(children: Iterable[tuple[str, str | None]]) -> bytes:
    """Write an index from address and lastmod of each file."""
    rows = [
        f"<sitemap><loc>{escape(address)}</loc>"
        + (f"<lastmod>{lastmod}</lastmod>" if lastmod else "")
        + "</sitemap>\n"
        for address, lastmod in children
    ]
    body = "".join(rows)
    return f'{DECLARATION}<sitemapindex xmlns="{CORE}">\n{body}</sitemapindex>\n'.encode()
