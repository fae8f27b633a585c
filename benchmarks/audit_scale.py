"""What do the analyses of a large crawl cost: 100,000 pages, 300,000 URLs, 5 million links.

The crawl folder on disk is made up (``big_folder.py``): a catalog, an archive and a wiki of 90,000
pages and a calendar of 10,000, with the bodies kept. Each function runs in a process of its own
that opens the folder; reading it is part of what is measured: CPU seconds of all threads, wall
seconds, and the peak of the process. Bars: 30 s of CPU and 3 GB each.

    python benchmarks/audit_scale.py
    python benchmarks/audit_scale.py --pages 20000
    python benchmarks/audit_scale.py --keep out/big --only audit_site
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
    from collections.abc import Sequence

SECONDS, GIGABYTES = 30.0, 3.0
FUNCTIONS = (
    "discovery_curve", "discovery_curve by template", "find_traps", "estimate_size", "audit_site",
    "crawl_metrics", "compare_coverage",
)  # fmt: skip


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


def finders(urls: list[str], pages: int) -> list[int]:
    """Return the page that each URL was found on: an earlier one; a month on the month before."""
    draw = random.Random(0)
    found = [-1]
    for number in range(1, len(urls)):
        if number % 10 == 0 and number < pages + 10:
            found.append(number - 10)
        else:
            found.append(min(number - 1, int(draw.random() * min(number, pages))))
    return found


def measure(name: str, folder: str) -> dict[str, Any]:
    """Run one function; return its seconds, peaks in GB and what it said."""
    import crawlkit as ck

    crawl = ck.open_crawl(folder)
    listed = [address(number) for number in range(0, crawl.summary()["urls"]["done"] * 3, 5)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    cpu, wall = time.process_time(), time.perf_counter()
    match name:
        case "discovery_curve" | "discovery_curve by template":
            curve = ck.discovery_curve(crawl, by="template" if name.endswith("template") else None)
            said = f"{len(curve):,} rows, {curve['group'].nunique():,} groups"
        case "find_traps":
            rows = ck.find_traps(crawl).itertuples()
            said = ", ".join(f"{row.kind} {row.exclude}" for row in rows)
        case "estimate_size":
            said = str(ck.estimate_size(crawl))
        case "audit_site":
            said = str(ck.audit_site(crawl, listed, progress=False))
        case "crawl_metrics":
            said = str(ck.crawl_metrics(crawl, price_per_gb=1.0))
        case _:
            said = str(ck.compare_coverage(crawl, listed, listed[::2]))
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "before": before,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "said": said,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=50, help="links of each page")
    parser.add_argument("--only", nargs="*", choices=FUNCTIONS, help="all by default")
    parser.add_argument("--keep", type=Path, help="folder of the crawl, made where it is missing")
    parser.add_argument("--one", choices=FUNCTIONS, help="measure one here (used by the script)")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one, str(given.keep))))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch) / "crawl"
        if not folder.exists():
            urls = [address(number) for number in range(3 * given.pages)]
            make_folder(folder, urls, finders(urls, given.pages), given.pages, given.links)
        return run(given.only or FUNCTIONS, folder)


def run(names: Sequence[str], folder: Path) -> int:
    """Measure functions, each in a process of its own."""
    failed = False
    for name in names:
        command = [sys.executable, __file__, "--one", name, "--keep", str(folder)]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        got = json.loads(done.stdout)
        good = got["cpu"] <= SECONDS and got["peak"] <= GIGABYTES
        failed |= not good
        print(
            f"{'PASS' if good else 'FAIL'} {name:<28} {got['cpu']:5.1f} s of CPU, "
            f"{got['wall']:5.1f} s, peak {got['peak']:.2f} GB (of it {got['before']:.2f} GB before "
            f"the call): {got['said']}",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
