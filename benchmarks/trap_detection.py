"""Whether find_traps finds each trap of the practice site, and nothing on finite sites.

Every kind is crawled breadth first (in memory, by `crawlkit.lab.walk`) with 20 seeds, alone and
beside a finite site of 50 to 5,000 pages, until the trap has taken 100 pages or a tenth of the
crawl, whichever is later. A trap counts as found when there is a row of its kind, the patterns of
these rows drop more than 95 % of the trap's known URLs, and all patterns together take less than
1 % of the real ones. Finite sites are looked at at their end and five times on the way.

    python benchmarks/trap_detection.py                 all kinds, 100 finite sites
    python benchmarks/trap_detection.py --kinds loop views --seeds 5 --finite 0
    python benchmarks/trap_detection.py --http          three seeds of each kind by ck.crawl
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import crawlkit as ck
from crawlkit import lab
from crawlkit.lab.zoo import KINDS
from crawlkit.web.patterns import compile_patterns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Verdict", "finite_sites", "judge", "walk_to_detection"]

BESIDE = (0, 50, 300, 0, 1_000, 50, 300, 0, 300, 50)
"""Pages of the finite site beside the trap, by seed; 0: alone. Seed 19 has 5,000."""
FINITE = (50, 100, 200, 500, 1_000, 2_000, 5_000)
MOST = 12_000


@dataclass(frozen=True)
class Verdict:
    """What came of one crawl: whether the trap was found, and the shares that were dropped."""

    found: bool
    pages: int
    dropped: float
    lost: float
    others: list[str]
    exclude: list[str]
    seconds: float


class Enough:
    """Says when the trap has taken 100 pages or a tenth of the crawl, whichever is later."""

    def __init__(self, truth: Any, base: str) -> None:
        self.truth, self.base = truth, base
        self.trap = self.pages = 0

    def __call__(self, url: str) -> bool:
        self.pages += 1
        self.trap += self.truth.is_trap(url)
        return self.trap >= max(100, 0.1 * self.pages)


def beside(seed: int) -> int:
    return 5_000 if seed == 19 else BESIDE[seed % len(BESIDE)]


def walk_to_detection(name: str, seed: int) -> lab.LabWalk:
    """Crawl a trap until it must be found."""
    size = beside(seed)
    sections: list[Any] = [lab.Finite(pages=size), name] if size else [name]
    truth = lab.walk(sections, seed=seed, max_pages=1).truth
    return lab.walk(sections, seed=seed, max_pages=MOST, until=Enough(truth, ""))


def judge(crawl: Any, truth: Any, kind: str) -> Verdict:
    """Hold what find_traps says against the truth."""
    began = time.process_time()
    traps: pd.DataFrame = ck.find_traps(crawl)
    seconds = time.process_time() - began
    right = traps[traps["kind"] == kind]
    urls = crawl.urls["url"].tolist()
    trap = [url for url in urls if truth.is_trap(url)]
    real = [url for url in urls if not truth.is_trap(url)]
    dropped = _share(right["exclude"].tolist(), trap)
    lost = _share(traps["exclude"].tolist(), real)
    return Verdict(
        found=dropped > 0.95 and lost < 0.01,
        pages=len(crawl.pages),
        dropped=dropped,
        lost=lost,
        others=[f"{row.kind} {row.pattern}" for row in traps.itertuples() if row.kind != kind],
        exclude=[str(pattern) for pattern in right["exclude"]],
        seconds=seconds,
    )


def _share(patterns: list[Any], urls: list[str]) -> float:
    compiled = compile_patterns(patterns)
    return sum(compiled.matches(url) is not None for url in urls) / max(1, len(urls))


def finite_sites(count: int) -> tuple[int, int, int]:
    """Return sites with a false alarm at the end, looks with one, and all looks."""
    at_end = alarms = looks = 0
    for seed in range(count):
        whole = lab.walk([lab.Finite(pages=FINITE[seed % len(FINITE)])], seed=seed, max_pages=MOST)
        pages = len(whole.pages)
        for cut in sorted({*range(200, pages, max(200, pages // 6)), pages}):
            traps = ck.find_traps(whole.first(cut))
            looks += 1
            if len(traps):
                alarms += 1
                at_end += cut == pages
                row = traps.iloc[0]
                print(f"  false alarm: seed {seed}, page {cut} of {pages}: {row['kind']} "
                      f"{row['pattern']}: {row['evidence']}", flush=True)  # fmt: skip
    return at_end, alarms, looks


def http_check(names: list[str], seeds: int) -> int:
    """Crawl over loopback with ck.crawl, without a limit of depth; return the number missed."""
    missed = 0
    for name in names:
        for seed in range(seeds):
            sections: list[Any] = [lab.Finite(pages=100), name]
            with tempfile.TemporaryDirectory() as folder, lab.serve(sections, seed=seed) as site:
                crawl = ck.crawl(
                    site.url, Path(folder) / "crawl", delay=0, max_pages=400, max_depth=None,
                    progress=False,
                )  # fmt: skip
                verdict = judge(crawl, site.truth, KINDS[name])
            missed += not verdict.found
            print(f"  http {name:<10} seed {seed}: {'found' if verdict.found else 'MISSED'} "
                  f"{verdict.exclude} {verdict.others or ''}", flush=True)  # fmt: skip
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--finite", type=int, default=100, help="number of finite sites")
    parser.add_argument("--http", action="store_true", help="three seeds of each by ck.crawl")
    given = parser.parse_args()
    if given.http:
        return 1 if http_check(given.kinds, min(given.seeds, 3)) else 0
    failed = False
    for name in given.kinds:
        verdicts = {}
        for seed in range(given.seeds):
            crawl = walk_to_detection(name, seed)
            verdicts[seed] = judge(crawl, crawl.truth, KINDS[name])
        good = sum(verdict.found for verdict in verdicts.values())
        extra = sum(bool(verdict.others) for verdict in verdicts.values())
        enough = good >= 0.95 * given.seeds
        failed |= not enough
        print(
            f"{'PASS' if enough else 'FAIL'} {name:<10} {KINDS[name]:<17} found {good} of "
            f"{given.seeds}, {extra} with other rows, e.g. {verdicts[0].exclude[:1]}", flush=True,
        )  # fmt: skip
        for seed, verdict in verdicts.items():
            if not verdict.found or verdict.others:
                print(f"    seed {seed}: {verdict}", flush=True)
    if given.finite:
        at_end, alarms, looks = finite_sites(given.finite)
        failed |= at_end > 1
        print(f"{'PASS' if at_end <= 1 else 'FAIL'} {given.finite} finite sites: {at_end} with a "
              f"false alarm at the end, {alarms} of {looks} looks")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
