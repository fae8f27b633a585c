"""How good estimate_size is: sites of known size, crawled to a third and to two thirds.

100 finite sites of the practice site (50 to 5,000 pages, shapes drawn by the seed) are crawled
breadth first in memory. An interval covers when the number of pages that the whole crawl has lies
in it. Bars: at a third at least 85 % cover, the median width is at most twice the truth, and no
lower end lies under the URLs that are known.

    python benchmarks/size_estimates.py
    python benchmarks/size_estimates.py --sites 30 --first 1000
"""

from __future__ import annotations

import argparse
import statistics
import sys

import crawlkit as ck
from crawlkit import lab

SIZES = (50, 100, 200, 500, 1_000, 2_000, 5_000)
PARTS = {"a third": 3, "two thirds": 1.5}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    covered = dict.fromkeys(PARTS, 0)
    widths: dict[str, list[float]] = {part: [] for part in PARTS}
    errors: dict[str, list[float]] = {part: [] for part in PARTS}
    under = 0
    for seed in range(given.first, given.first + given.sites):
        size = SIZES[seed % len(SIZES)]
        whole = lab.walk([lab.Finite(pages=size)], seed=seed, max_pages=20_000)
        truth = len(whole.pages)
        for part, divisor in PARTS.items():
            crawl = whole.first(max(1, int(truth / divisor)))
            estimate = ck.estimate_size(crawl)
            covered[part] += estimate.low <= truth <= estimate.high
            widths[part].append((estimate.high - estimate.low) / truth)
            errors[part].append(abs(estimate.pages - truth) / truth)
            under += estimate.low < len(crawl.urls)
            if part == "a third" and not estimate.low <= truth <= estimate.high:
                print(f"  seed {seed}: {truth} pages, {estimate}", flush=True)
    for part in PARTS:
        print(
            f"at {part}: {covered[part]} of {given.sites} intervals cover, median width "
            f"{statistics.median(widths[part]):.2f} of the truth, median error of the estimate "
            f"{statistics.median(errors[part]):.0%}"
        )
    good = (
        covered["a third"] >= 0.85 * given.sites
        and statistics.median(widths["a third"]) <= 2
        and not under
    )
    print(f"{'PASS' if good else 'FAIL'}: {under} lower ends under the known URLs")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
