"""What do the curve, the traps and the size cost at 100,000 pages and 5 million links.

The tables are made up: a catalog, an archive and a wiki of 90,000 pages and a calendar of 10,000,
300,000 known URLs. The five million links are there as a table that no function may touch: none of
them needs it on a crawl. Each function runs in a process of its own that has the tables already;
its CPU seconds and the peak of the process are told. Bars: 30 s and 3 GB each.

audit_site, crawl_metrics and compare_coverage do need links. They read a crawl folder on disk of
the same size (``big_folder.py``), column by column; reading it is part of what is measured.

    python benchmarks/audit_scale.py
    python benchmarks/audit_scale.py --pages 20000
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from big_folder import make_folder

if TYPE_CHECKING:
    import pandas as pd

SECONDS, GIGABYTES = 30.0, 3.0
ON_FOLDER = ("audit_site", "crawl_metrics", "compare_coverage")
FUNCTIONS = ("discovery_curve", "discovery_curve by template", "find_traps", "estimate_size")


class Tables:
    """Has the tables of a crawl; the links must not be read."""

    def __init__(self, pages: pd.DataFrame, fetches: pd.DataFrame, urls: pd.DataFrame) -> None:
        self.pages, self.fetches, self.urls = pages, fetches, urls

    @property
    def links(self) -> pd.DataFrame:
        """Refuse."""
        raise AssertionError("the links were read")


def address(number: int) -> str:
    host = "https://www.example.com"
    match number % 10:
        case 0:
            return f"{host}/calendar/{2026 + number // 120}-{number // 10 % 12 + 1:02d}"
        case 1 | 2 | 3 | 4:
            return f"{host}/shop/category-{number % 83}/product-{number}.html"
        case 5 | 6:
            return f"{host}/list/{number % 97}?page={number // 97}"
        case 7:
            return f"{host}/archive/{2000 + number % 26}/{number % 12 + 1:02d}/a-post-of-{number}"
        case _:
            return f"{host}/wiki/Page_{number:x}"


def make(pages: int) -> Tables:
    import pandas as pd

    draw = random.Random(0)
    count = pages * 3
    urls = [address(number) for number in range(count)]
    # Each URL is found on an earlier page; a month on the month before it.
    found = [None] + [
        urls[number - 10]
        if number % 10 == 0 and 10 <= number < pages + 10
        else urls[min(number - 1, int(draw.random() * min(number, pages)))]
        for number in range(1, count)
    ]
    new = dict.fromkeys(urls[:pages], 0)
    for origin in found[1:]:
        new[str(origin)] += 1
    times = pd.date_range("2026-06-01", periods=pages, freq="s", tz="UTC")
    page_table = pd.DataFrame(
        {
            "url": urls[:pages],
            "seq": range(1, pages + 1),
            "status": 200,
            "text_hash": [f"{number:032x}" for number in range(pages)],
            "size": [5_000 + number % 997 for number in range(pages)],
            "words": [200 + number % 311 for number in range(pages)],
            "title": [f"Page {number}" for number in range(pages)],
            "canonical": None,
            "fetched_at": times,
        }
    ).astype({"url": "str", "text_hash": "str", "title": "str", "canonical": "str"})
    url_table = pd.DataFrame(
        {"url": urls, "state": ["done"] * pages + ["pending"] * (count - pages), "found_on": found}
    ).astype("str")
    known = [1]
    for url in urls[:pages]:
        known.append(known[-1] + new[url])
    fetches = pd.DataFrame(
        {
            "seq": range(1, pages + 1),
            "url": urls[:pages],
            "new_urls": [new[url] for url in urls[:pages]],
            "known_urls": known[1:],
            "frontier_size": [total - at for at, total in enumerate(known[1:], 1)],
        }
    )
    return Tables(page_table, fetches, url_table)


def measure(name: str, pages: int) -> dict[str, Any]:
    import crawlkit as ck

    tables = make(pages)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    began = time.process_time()
    if name == "find_traps":
        traps = ck.find_traps(tables)
        said = ", ".join(f"{row.kind} {row.exclude}" for row in traps.itertuples())
    elif name == "estimate_size":
        said = str(ck.estimate_size(tables))
    else:
        by = "template" if name.endswith("template") else None
        curve = ck.discovery_curve(tables, by=by)
        said = f"{len(curve):,} rows, {curve['group'].nunique():,} groups"
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"seconds": seconds, "before": before, "peak": peak, "said": said}


def measure_folder(name: str, pages: int, folder: str) -> dict[str, Any]:
    import crawlkit as ck

    listed = [address(number) for number in range(0, pages * 3, 5)]
    crawl = ck.open_crawl(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    began = time.process_time()
    if name == "audit_site":
        said = str(ck.audit_site(crawl, listed, progress=False))
    elif name == "crawl_metrics":
        said = str(ck.crawl_metrics(crawl, price_per_gb=1.0))
    else:
        said = str(ck.compare_coverage(crawl, listed, listed[::2]))
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"seconds": seconds, "before": before, "peak": peak, "said": said}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=50, help="links of each page")
    parser.add_argument("--only", nargs="*", help="names of functions; all by default")
    one = (*FUNCTIONS, *ON_FOLDER)
    parser.add_argument("--one", choices=one, help="measure one here (used by the script)")
    parser.add_argument("--folder", help="of the crawl (used by the script)")
    given = parser.parse_args()
    if given.one in ON_FOLDER:
        print(json.dumps(measure_folder(given.one, given.pages, given.folder)))
        return 0
    if given.one:
        print(json.dumps(measure(given.one, given.pages)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        wanted = [name for name in one if not given.only or name in given.only]
        if any(name in ON_FOLDER for name in wanted):
            make_folder(Path(folder) / "crawl", given.pages, given.links, address)
        return run(wanted, given.pages, f"{folder}/crawl")


def run(names: list[str], pages: int, folder: str) -> int:
    failed = False
    for name in names:
        command = [sys.executable, __file__, "--one", name, "--pages", str(pages)]
        command += ["--folder", folder]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        got = json.loads(done.stdout)
        good = got["seconds"] <= SECONDS and got["peak"] <= GIGABYTES
        failed |= not good
        print(
            f"{'PASS' if good else 'FAIL'} {name:<28} {got['seconds']:5.1f} s of CPU, peak "
            f"{got['peak']:.2f} GB (of it the tables {got['before']:.2f} GB): {got['said']}",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
