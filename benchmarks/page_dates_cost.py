"""What reading a page's dates costs: where there are any, and where there are none.

Pages without marks are real ones (Debian's postgresql-doc-15 and openjdk-17-doc): all that a crawl
does there is to look for the marks. Pages with marks are made here, of 100 kB: a JSON-LD graph
with comments, Open Graph, microdata, RDFa and links. Everything runs in this process, in turns.

    python benchmarks/page_dates_cost.py [pg jdk] [--pages 300] [--rounds 9] [--json]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import sys
import time
from typing import TYPE_CHECKING

from sites import site_root

from crawlkit.web.date_candidates import stated_dates
from crawlkit.web.date_marks import has_date_marks
from crawlkit.web.html import parse_page
from crawlkit.web.w3c_columns import parse_w3c_column
from crawlkit.web.w3c_dates import parse_w3c

if TYPE_CHECKING:
    from collections.abc import Callable

READER_BAR = 3_000.0  # microseconds beyond parsing, for a page of 100 kB
SHARE_BAR = 0.02  # of parsing, for a page without marks
URL = "https://example.com/news/flood"
TYPE = "text/html; charset=utf-8"


def marked_page(number: int, size: int = 100_000) -> bytes:
    """Return an article with everything that says when it was modified."""
    draw = random.Random(number)
    day = f"2024-05-{draw.randint(10, 28)}"
    comments = [
        {"@type": "Comment", "dateModified": f"2024-06-{n % 20 + 10}", "text": "x" * 200}
        for n in range(30)
    ]
    graph = [
        {"@type": "WebSite", "@id": "https://example.com/#website", "name": "News"},
        {"@type": "WebPage", "@id": URL, "url": URL, "dateModified": f"{day}T10:00:00+02:00"},
        {
            "@type": "NewsArticle",
            "@id": f"{URL}#article",
            "mainEntityOfPage": {"@id": URL},
            "datePublished": f"{day}T08:00:00+02:00",
            "dateModified": f"{day}T10:00:00+02:00",
            "comment": comments,
        },
    ]
    head = (
        f'<!doctype html><html><head><title>Flood {number}</title><link rel=canonical href="{URL}">'
        f'<meta property="article:modified_time" content="{day}T08:00:00Z">'
        f'<meta property="og:updated_time" content="1715941815">'
        f'<meta name="dcterms.modified" content="{day}">'
        + "".join(f'<meta name="x{n}" content="y">' for n in range(30))
        + f'<script type="application/ld+json">{json.dumps({"@graph": graph})}</script>'
        "</head><body>"
        f'<article itemscope itemtype="https://schema.org/NewsArticle">'
        f'<time itemprop="dateModified" datetime="{day}">{day}</time>'
        f'<p typeof="Article"><b property="dateModified" content="{day}"></b></p>'
    )
    body = []
    length = len(head)
    while length < size:
        words = " ".join(draw.choice(("the", "river", "rose", "again", "over")) for _ in range(60))
        body.append(f'<p class="text">{words} <a href="/news/{draw.random()}">more</a></p>\n')
        length += len(body[-1])
    return (head + "".join(body) + "</article></body></html>").encode()


def microseconds(run: Callable[[], object], count: int) -> float:
    gc.collect()
    start = time.process_time()
    run()
    return (time.process_time() - start) / count * 1e6


def without_marks(name: str, pages: int, rounds: int) -> dict[str, float]:
    """Return what the look for marks costs a page, and its share of parsing."""
    files = sorted(site_root(name).rglob("*.html"))
    if pages:
        files = random.Random(0).sample(files, min(pages, len(files)))
    bodies = [file.read_bytes() for file in files]
    looks, shares = [], []
    for _ in range(rounds):
        look = microseconds(lambda: [has_date_marks(body) for body in bodies], len(bodies))
        parsed = microseconds(
            lambda: [parse_page(body, url=URL, content_type=TYPE) for body in bodies], len(bodies)
        )
        looks.append(look)
        shares.append(look / parsed)
    return {
        "kilobytes": sum(map(len, bodies)) / len(bodies) / 1e3,
        "microseconds": statistics.median(looks),
        "share_of_parsing": statistics.median(shares),
        "marked": sum(map(has_date_marks, bodies)) / len(bodies),
    }


def with_marks(rounds: int, count: int = 40) -> dict[str, float]:
    """Return what reading the dates of a page of 100 kB costs, and its share of parsing."""
    bodies = [marked_page(number) for number in range(count)]
    pages = [parse_page(body, url=URL, content_type=TYPE) for body in bodies]
    assert all(stated_dates(page, 2e9)["modified"].confidence == "high" for page in pages)
    reads, shares = [], []
    for _ in range(rounds):
        read = microseconds(lambda: [stated_dates(page, 2e9) for page in pages], count)
        parsed = microseconds(
            lambda: [parse_page(body, url=URL, content_type=TYPE) for body in bodies], count
        )
        reads.append(read)
        shares.append(read / parsed)
    return {
        "kilobytes": sum(map(len, bodies)) / count / 1e3,
        "microseconds": statistics.median(reads),
        "share_of_parsing": statistics.median(shares),
    }


def w3c_dates(rounds: int, count: int = 100_000) -> dict[str, float]:
    """Return microseconds a date, one by one and as a column."""
    draw = random.Random(0)
    stamps = [
        f"20{draw.randint(10, 24)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        f"T{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:{draw.randint(0, 59):02}+02:00"
        for _ in range(count)
    ]
    figures = {}
    for name, texts in (("stamp", stamps), ("day", [stamp[:10] for stamp in stamps])):
        runs: dict[str, Callable[[], object]] = {
            "one": lambda texts=texts: [parse_w3c(text) for text in texts],  # type: ignore[misc]
            "column": lambda texts=texts: parse_w3c_column(texts),  # type: ignore[misc]
        }
        for kind, run in runs.items():
            figures[f"{name}_{kind}"] = statistics.median(
                microseconds(run, count) for _ in range(rounds)
            )
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sites", nargs="*", help="pg, jdk or another of sites.py; default: both")
    parser.add_argument("--pages", type=int, default=300, help="pages of each site, 0 for all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = options.sites or ["pg", "jdk"]
    none = {name: without_marks(name, options.pages, options.rounds) for name in names}
    some = with_marks(options.rounds)
    dates = w3c_dates(min(options.rounds, 5))
    failed = some["microseconds"] > READER_BAR * some["kilobytes"] / 100
    failed |= any(result["share_of_parsing"] > SHARE_BAR for result in none.values())
    if options.json:
        print(json.dumps({"without_marks": none, "with_marks": some, "w3c_dates": dates}))
        return int(failed)
    print(f"load {os.getloadavg()[0]:.1f}")
    for name, result in none.items():
        verdict = "PASS" if result["share_of_parsing"] <= SHARE_BAR else "FAIL"
        print(
            f"{name:6} no marks, {result['kilobytes']:5.1f} kB:"
            f" {result['microseconds']:7.1f} us/page, {result['share_of_parsing']:.1%} of parsing;"
            f" taken for marked: {result['marked']:.1%}"
            f"  {verdict}: at most {SHARE_BAR:.0%} of parsing"
        )
    verdict = "PASS" if some["microseconds"] <= READER_BAR * some["kilobytes"] / 100 else "FAIL"
    print(
        f"marked, {some['kilobytes']:5.1f} kB: {some['microseconds']:7.0f} us/page beyond parsing,"
        f" {some['share_of_parsing']:.0%} of it  {verdict}: at most {READER_BAR:.0f} us a 100 kB"
    )
    print("W3C dates, us each:", *(f"{name} {figure:.2f}" for name, figure in dates.items()))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
