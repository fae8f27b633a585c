"""What parsing a page costs crawlkit, against selectolax finding its links alone.

Real pages of Debian's postgresql-doc-15 and openjdk-17-doc. Both sides run in this process, in
turns, and the ratio of each round is taken, so that a busy machine slows both. The steps show
where the time goes; ``with_hashes`` adds the fingerprints of text and body that a crawl stores.

    python benchmarks/parse_cost.py [pg jdk] [--pages 300] [--rounds 15] [--json]
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

from selectolax.lexbor import LexborHTMLParser
from sites import site_root

from crawlkit.web.fingerprint import body_hash
from crawlkit.web.html import parse_page
from crawlkit.web.html_limits import safe_length
from crawlkit.web.html_links import PageElements
from crawlkit.web.html_text import count_words, split_text

if TYPE_CHECKING:
    from collections.abc import Callable

BAR = 2.5
TYPE = "text/html; charset=utf-8"


def links_alone(body: bytes) -> object:
    return [node.attributes["href"] for node in LexborHTMLParser(body).css("a[href]")]


def page_and_links(body: bytes) -> object:
    return parse_page(body, url="http://example.com/a/b.html", content_type=TYPE)


def with_hashes(body: bytes) -> object:
    page = parse_page(body, url="http://example.com/a/b.html", content_type=TYPE)
    return page.text_hash, body_hash(body)


def parse_only(body: bytes) -> object:
    return LexborHTMLParser(body, options=1)


def limits_only(body: bytes) -> object:
    return safe_length(body)


def elements(body: bytes) -> object:
    return PageElements(LexborHTMLParser(body, options=1), 50_000, len(body)).links


def elements_and_text(body: bytes) -> object:
    tree = LexborHTMLParser(body, options=1)
    found = PageElements(tree, 50_000, len(body))
    main, around = split_text(tree, found.hidden, found.boilerplate, skip_blank=True)
    return found.links, count_words(main.encode() + around.encode())


def measure(bodies: list[bytes], rounds: int) -> dict[str, dict[str, float]]:
    """Return microseconds a page, and the median ratio to finding links alone."""
    variants: list[Callable[[bytes], object]] = [
        links_alone,
        page_and_links,
        with_hashes,
        parse_only,
        limits_only,
        elements,
        elements_and_text,
    ]
    times: dict[str, list[float]] = {variant.__name__: [] for variant in variants}
    for _ in range(rounds):
        for variant in variants:
            gc.collect()
            start = time.process_time()
            for body in bodies:
                variant(body)
            times[variant.__name__].append(time.process_time() - start)
    base = times["links_alone"]
    return {
        name: {
            "microseconds": statistics.median(taken) / len(bodies) * 1e6,
            "ratio": statistics.median(a / b for a, b in zip(taken, base, strict=True)),
        }
        for name, taken in times.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sites", nargs="*", help="pg, jdk or another of sites.py; default: both")
    parser.add_argument("--pages", type=int, default=300, help="pages of each site, 0 for all")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = {}
    for name in options.sites or ("pg", "jdk"):
        files = sorted(site_root(name).rglob("*.html"))
        if options.pages:
            files = random.Random(0).sample(files, min(options.pages, len(files)))
        bodies = [file.read_bytes() for file in files]
        results[name] = measure(bodies, options.rounds)
        if options.json:
            continue
        size = sum(map(len, bodies)) / len(bodies) / 1e3
        print(f"{name}: {len(bodies)} pages of {size:.1f} kB, load {os.getloadavg()[0]:.1f}")
        for variant, result in results[name].items():
            print(f"  {variant:18} {result['microseconds']:8.0f} us/page  {result['ratio']:5.2f}")
        reached = results[name]["page_and_links"]["ratio"]
        print(f"  {'PASS' if reached <= BAR else 'FAIL'}: {reached:.2f}, at most {BAR}")
    if options.json:
        print(json.dumps(results))
    return int(any(result["page_and_links"]["ratio"] > BAR for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
