"""How fast do 100,000 pages open? `crawl.pages` against pandas.read_json of the same rows.

Both sides in one process, in turns: first while the pages lie in 100 segments, then compacted into
one. The rows are those of a made-up site, with titles, descriptions and hashes of real length.

    python benchmarks/open_tables.py --rounds 5
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from hashlib import blake2b
from pathlib import Path

PAGES = 100_000
SEGMENT = 1_000
WORDS = ("crawl", "frontier", "seed", "politeness", "canonical", "template", "sitemap", "cash")


def rows(count: int):
    draw = random.Random(7)
    for number in range(count):
        url = f"https://www.example.com/section-{number % 97}/page-{number:06d}.html"
        text = " ".join(draw.choices(WORDS, k=12))
        yield {
            "url": url,
            "key": url,
            "url_hash": number * 7_919_777_777 % 2**62,
            "host": "www.example.com",
            "depth": number % 9,
            "found_on": f"https://www.example.com/section-{number % 97}/",
            "status": 200,
            "content_type": "text/html; charset=utf-8",
            "size": 9_000 + number % 7_000,
            "wire_bytes": 9_000 + number % 7_000,
            "fetched_at": 1_790_000_000_000_000 + number,
            "elapsed": 0.01,
            "title": text[:60],
            "description": text,
            "h1": text[:40],
            "lang": "en",
            "words": 300 + number % 900,
            "canonical": url,
            "canonicals": [url],
            "indexable": True,
            "body_hash": blake2b(url.encode(), digest_size=16).hexdigest(),
            "text_hash": blake2b(text.encode(), digest_size=16).hexdigest(),
            "text_hash_by": "visible_main_v1",
            "links_found": 40,
            "new_urls": number % 3,
            "attempts": 1,
            "round": 0,
            "seq": number,
        }


def build(folder: Path, lines: Path) -> None:
    from crawlkit.crawling.database import open_for_writing, transaction
    from crawlkit.crawling.tables import flush_buffer

    connection = open_for_writing(folder)
    with transaction(connection):
        connection.execute("INSERT INTO meta VALUES ('settings', '{}')")
    with lines.open("w", encoding="utf-8") as file:
        batch: list[tuple[int, str]] = []
        for number, row in enumerate(rows(PAGES), 1):
            file.write(json.dumps(row) + "\n")
            batch.append((number, json.dumps({"pages": [row]})))
            if len(batch) == SEGMENT:
                with transaction(connection):
                    connection.executemany("INSERT INTO buffer VALUES (?, ?)", batch)
                flush_buffer(connection, folder)
                batch.clear()
    connection.close()


def timed(call) -> float:
    began = time.perf_counter()
    frame = call()
    took = time.perf_counter() - began
    assert len(frame) == PAGES
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    import pandas as pd

    from crawlkit.crawling.crawl_folder import Crawl
    from crawlkit.crawling.database import open_for_writing
    from crawlkit.crawling.tables import compact

    with tempfile.TemporaryDirectory() as temporary:
        folder, lines = Path(temporary) / "crawl", Path(temporary) / "pages.jsonl"
        folder.mkdir()
        build(folder, lines)
        crawl = Crawl(folder)
        for name, bar in (("100 segments", 5.0), ("compacted", 10.0)):
            files = len(list((folder / "pages").iterdir()))
            ratios, ours, theirs = [], [], []
            timed(lambda: crawl.pages)
            for _ in range(options.rounds):
                theirs.append(timed(lambda: pd.read_json(lines, lines=True)))
                ours.append(timed(lambda: crawl.pages))
                ratios.append(theirs[-1] / ours[-1])
            ratio = statistics.median(ratios)
            print(
                f"{name} ({files} files): crawl.pages {statistics.median(ours):.3f} s, "
                f"read_json {statistics.median(theirs):.3f} s, ratio {ratio:.1f} "
                f"({min(ratios):.1f} to {max(ratios):.1f}) "
                f"{'PASS' if ratio >= bar else 'FAIL'}: at least {bar:.0f}"
            )
            connection = open_for_writing(folder)
            compact(connection, folder)
            connection.close()


if __name__ == "__main__":
    main()
