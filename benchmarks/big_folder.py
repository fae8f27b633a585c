"""A crawl folder of 100,000 pages and millions of links, made up: what a benchmark of audits reads.

A real folder of two pages is crawled from the practice site; its segments, URLs and bodies are then
replaced. Pages have redirects, errors, shared titles and texts; links are those of a navigation
(the same twenty targets on every page) and others drawn at random. Bodies are HTML of 3 to 9 kB,
kept compressed as a crawl keeps them; each tenth is that of the page before but for a few words.
"""

from __future__ import annotations

import sqlite3
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["make_folder"]

GROUP = 16_384
_ENDINGS = ("n", "r", "st", "lla", "ndo", "ric", "mel", "ton", "va", "shi")
PER_PIECE = 2_000


def make_folder(
    folder: Path, urls: Sequence[str], found_on: Sequence[int], pages: int, links_per_page: int
) -> None:
    """Make a crawl folder.

    Parameters
    ----------
    folder
        Where.
    urls
        All known URLs; the first of them are the pages.
    found_on
        For each URL the position of the page that it was found on; -1 for a seed.
    pages
        Number of pages.
    links_per_page
        Links of each page.
    """
    import crawlkit as ck

    with ck.lab.serve([ck.lab.Shop(listings=1, per_page=1)]) as site:
        ck.crawl(site.url + "shop/", folder, delay=0, progress=False)
    connection = sqlite3.connect(folder / "crawl.sqlite")
    with connection:
        for name in ("segments", "buffer", "urls", "responses", "bodies", "aliases"):
            connection.execute(f"DELETE FROM {name}")
        connection.execute("UPDATE hosts SET id = 1, name = 'www.example.com'")
        connection.executemany(
            "INSERT INTO urls (id, hash, url, host, depth, state, reason, score, found_on, source) "
            "VALUES (?, ?, ?, 1, 3, ?, ?, 0, ?, 'link')",
            (
                (at + 1, ck.url_hash(url), url, 2 if at < pages else 4 if at % 50 == 0 else 0,
                 "robots" if at >= pages and at % 50 == 0 else None, found_on[at] + 1 or None)
                for at, url in enumerate(urls)
            ),
        )  # fmt: skip
        _write(connection, folder, "pages", _pages(urls, pages, found_on))
        _write(connection, folder, "fetches", _fetches(urls, pages, found_on))
        _write(connection, folder, "links", _links(urls, pages, links_per_page))
        _keep_bodies(connection, urls, pages)
    connection.close()


def _keep_bodies(connection: sqlite3.Connection, urls: Sequence[str], pages: int) -> None:
    """Keep a body for each page, as a crawl does."""
    from crawlkit.crawling.archive import compress, save_response
    from crawlkit.web.fingerprint import body_hash

    headers = '[["Content-Type", "text/html; charset=utf-8"], ["Server", "example"]]'
    for at, body in enumerate(_bodies(urls, pages)):
        kept = (body_hash(body), *compress(body))
        save_response(connection, at + 1, at + 1, status=200, headers=headers, body=kept)


def _bodies(urls: Sequence[str], pages: int) -> Iterator[bytes]:
    import numpy as np

    draw = np.random.default_rng(1)
    words = np.array([f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in _ENDINGS])
    # Words of a text come as often as Zipf's law has it.
    chances = 1 / np.arange(1, len(words) + 1)
    menu = "".join(f'<li><a href="/{url.split("/", 3)[3]}">Part {url[-9:]}</a></li>'
                   for url in urls[:20])  # fmt: skip
    text: list[str] = []
    for at in range(pages):
        if at % 10 == 1:  # a near-duplicate of the page before
            text[len(text) // 2] = f"{at}"
        else:
            chosen = draw.choice(len(words), int(draw.integers(200, 900)), p=chances / sum(chances))
            text = words[chosen].tolist()
        parts = [
            f"<p>{' '.join(text[start : start + 60])}.</p>" for start in range(0, len(text), 60)
        ]
        links = "".join(f'<a href="/{urls[(at * 31 + n) % len(urls)].split("/", 3)[3]}">more</a> '
                        for n in range(30))  # fmt: skip
        yield (
            f"<!DOCTYPE html><html lang=en><head><title>Page {at % 90_000}</title></head><body>"
            f"<nav><ul>{menu}</ul></nav><main><h1>Page {at}</h1>{''.join(parts)}{links}</main>"
            "<footer>All of this is made up.</footer></body></html>"
        ).encode()


def _write(connection: sqlite3.Connection, folder: Path, table: str, pieces: Any) -> None:
    import pyarrow.parquet as pq

    from crawlkit.crawling.schema import arrow_schema

    name, rows = f"{table}/part-900000.parquet", 0
    (folder / table).mkdir(exist_ok=True)
    with pq.ParquetWriter(folder / name, arrow_schema(table), compression="zstd") as writer:
        for piece in pieces:
            writer.write_table(piece, row_group_size=GROUP)
            rows += piece.num_rows
    connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?)", (name, table, 900_000, rows))


def _table(table: str, columns: dict[str, Any], rows: int) -> Any:
    import pyarrow as pa

    from crawlkit.crawling.schema import arrow_schema

    schema = arrow_schema(table)
    arrays = [
        pa.array(columns[f.name]).cast(f.type) if f.name in columns else pa.nulls(rows, f.type)
        for f in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _pages(urls: Sequence[str], pages: int, found_on: Sequence[int]) -> Any:
    numbers = range(pages)
    moved = [at % 50 == 7 for at in numbers]
    broken = [at % 50 == 8 for at in numbers]
    status = [301 if moved[at] else 404 if broken[at] else 200 for at in numbers]
    good = [each == 200 for each in status]
    columns = {
        "url": urls[:pages],
        "key": urls[:pages],
        "host": ["www.example.com"] * pages,
        "depth": [at % 9 for at in numbers],
        "status": status,
        "found_on": [None if origin < 0 else urls[origin] for origin in found_on[:pages]],
        "content_type": ["text/html; charset=utf-8"] * pages,
        "fetched_at": [(1_780_000_000 + at) * 1_000_000 for at in numbers],
        "new_urls": _new(pages, found_on),
        "redirected_to": [urls[(at * 7) % pages] if moved[at] else None for at in numbers],
        "title": [f"Page {at % 90_000}" if good[at] else None for at in numbers],
        "h1": [f"Page {at}" if good[at] else None for at in numbers],
        "words": [20 + at % 900 if good[at] else None for at in numbers],
        "size": [5_000 + at % 99_991 for at in numbers],
        "wire_bytes": [2_000 + at % 9_973 for at in numbers],
        "elapsed": [0.02 * (at % 120) for at in numbers],
        "canonical": [urls[at if at % 11 else (at + 1) % pages] if good[at] else None
                      for at in numbers],
        "indexable": [at % 31 != 0 for at in numbers],
        "text_hash": [f"{at % 95_000:032x}" if good[at] else None for at in numbers],
        "seq": list(range(1, pages + 1)),
    }  # fmt: skip
    yield _table("pages", columns, pages)


def _new(pages: int, found_on: Sequence[int]) -> list[int]:
    """Return how many URLs were found on each page."""
    new = [0] * pages
    for origin in found_on:
        if origin >= 0:
            new[origin] += 1
    return new


def _fetches(urls: Sequence[str], pages: int, found_on: Sequence[int]) -> Any:
    numbers = range(pages)
    new = _new(pages, found_on)
    known = list(accumulate(new, initial=1))[1:]
    columns = {
        "seq": list(range(1, pages + 1)),
        "url": urls[:pages],
        "host": ["www.example.com"] * pages,
        "status": [200] * pages,
        "wire_bytes": [2_000 + at % 9_973 for at in numbers],
        "attempt": [1 + (at % 100 == 0) for at in numbers],
        "new_urls": new,
        "known_urls": known,
        "frontier_size": [total - at for at, total in enumerate(known, 1)],
    }
    yield _table("fetches", columns, pages)


def _links(urls: Sequence[str], pages: int, per_page: int) -> Any:
    import numpy as np
    import pyarrow as pa

    draw = np.random.default_rng(0)
    targets = pa.array(urls)
    hrefs = pa.array(["/" + url.split("/", 3)[3] for url in urls])
    texts = pa.array([f"Link to page {at}" for at in range(len(urls))])
    navigation = np.arange(20)
    rest = per_page - len(navigation)
    for start in range(0, pages, PER_PIECE):
        count = min(PER_PIECE, pages - start)
        drawn = draw.integers(0, len(urls), (count, rest))
        chosen = np.hstack([np.tile(navigation, (count, 1)), drawn]).ravel()
        sources = np.repeat(np.arange(start, start + count), per_page)
        rows = len(chosen)
        yield _table(
            "links",
            {
                "source": targets.take(pa.array(sources)),
                "target": targets.take(pa.array(chosen)),
                "href": hrefs.take(pa.array(chosen)),
                "position": np.tile(np.arange(per_page), count),
                "region": pa.array(["nav"] * 20 + ["main"] * rest).take(
                    pa.array(np.tile(np.arange(per_page), count))
                ),
                "text": texts.take(pa.array(chosen)),
                "kind": pa.repeat("anchor", rows),
                "internal": pa.repeat(True, rows),
                "new": pa.repeat(False, rows),
            },
            rows,
        )
