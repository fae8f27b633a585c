"""Keys of links: crawlkit against ``urljoin`` and ``w3lib.canonicalize_url``.

Reads the pages of a folder, page by page as in a crawl, and turns each page's links into keys, both
ways in one process and in turn, so that a busy machine disturbs both alike. The result is a ratio;
it should be 8 or more. Before that, every link is resolved the fast and the exact way, and the
answers must be the same.

What is timed for crawlkit is all that a crawl does with a link: for each page ``for_page``, for
each link the call that gives address, key and host, with a resolver that is empty when a round
begins. For the rival it is ``canonicalize_url(urljoin(page, link))``.

w3lib is no dependency of crawlkit. Run the script with an environment that has both, or name one
with w3lib in it::

    python3 -m venv /tmp/w3lib && /tmp/w3lib/bin/pip install w3lib
    python benchmarks/url_keys.py --docs FOLDER --w3lib /tmp/w3lib

The Debian packages postgresql-doc-15 and openjdk-17-doc (``apt-get download``, ``dpkg -x``) make
good folders.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import statistics
import sys
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin

from selectolax.lexbor import LexborHTMLParser

from crawlkit.web.urls import Address, LinkResolver

if TYPE_CHECKING:
    from collections.abc import Callable

Pages = list[tuple[str, list[str]]]


def read_pages(folder: Path, most: int) -> Pages:
    """Return URL and links of each page, in the order of the paths."""
    files = sorted(file for file in folder.rglob("*.html") if not file.is_symlink())
    pages = []
    for file in files[:most]:
        tree = LexborHTMLParser(file.read_bytes())
        links = [node.attributes["href"] or "" for node in tree.css("a[href]")]
        url = "http://127.0.0.1:8080/" + quote(file.relative_to(folder).as_posix())
        pages.append((url, links))
    return pages


def ours(pages: Pages) -> tuple[float, int]:
    """Time crawlkit; also return the number of keys, so that nothing can be skipped."""
    resolver = LinkResolver()
    keys = 0
    started = time.process_time()
    for url, links in pages:
        resolve = resolver.for_page(url)
        for link in links:
            answer = resolve(link)
            if isinstance(answer, Address):
                keys += 1
    return time.process_time() - started, keys


def rival(pages: Pages, canonicalize: Callable[[str], str]) -> tuple[float, int]:
    """Time urljoin and w3lib."""
    keys = 0
    started = time.process_time()
    for url, links in pages:
        for link in links:
            if canonicalize(urljoin(url, link)):
                keys += 1
    return time.process_time() - started, keys


def differences(pages: Pages) -> int:
    """Count the links for which the fast way and the exact way differ."""
    resolver, exact = LinkResolver(), LinkResolver()
    count = 0
    for url, links in pages:
        resolve = resolver.for_page(url)
        count += sum(resolve(link) != exact.resolve(link, url) for link in links)
    return count


def memory(pages: Pages) -> tuple[int, int]:
    """Return the bytes that a resolver holds after all pages, and the addresses in it."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    resolver = LinkResolver()
    for url, links in pages:
        resolve = resolver.for_page(url)
        for link in links:
            resolve(link)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return held, len(resolver._known)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--docs", type=Path, required=True, help="folder with HTML files")
    parser.add_argument("--w3lib", type=Path, help="a virtual environment that holds w3lib")
    parser.add_argument("--pages", type=int, default=2_000, help="pages read at most (2000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, both sides in each (5)")
    options = parser.parse_args()
    if options.w3lib:
        sys.path += [str(path) for path in options.w3lib.glob("lib/python*/site-packages")]
    canonicalize = importlib.import_module("w3lib.url").canonicalize_url

    pages = read_pages(options.docs, options.pages)
    links = sum(len(found) for _, found in pages)
    wrong = differences(pages)
    ratios, fast, slow = [], [], []
    for _ in range(options.rounds):
        (our_time, _), (their_time, _) = ours(pages), rival(pages, canonicalize)
        ratios.append(their_time / our_time)
        fast.append(our_time / links * 1e6)
        slow.append(their_time / links * 1e6)
    held, addresses = memory(pages)
    print(
        json.dumps(
            {
                "docs": str(options.docs),
                "pages": len(pages),
                "links": links,
                "fast_differs_from_exact": wrong,
                "microseconds_per_link": round(statistics.median(fast), 3),
                "w3lib_microseconds_per_link": round(statistics.median(slow), 3),
                "ratio": round(statistics.median(ratios), 1),
                "ratios": [round(ratio, 1) for ratio in ratios],
                "cache_bytes_per_address": round(held / max(1, addresses)),
            },
            indent=1,
        )
    )
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
