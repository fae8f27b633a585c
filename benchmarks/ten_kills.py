"""Ten kills: crawl a shop of 525 pages, kill the crawl ten times, let it end, count what is wrong.

    python benchmarks/ten_kills.py            # 20 seeds, 1, 4 and 16 workers, both variants
    python benchmarks/ten_kills.py --seeds 2 --workers 16 --variant fast

Every life is a process of its own that dies of a SIGKILL, at a random moment after its first
request: ``slow`` 0.2 to 1 s, behind a server that answers after 15 ms times the number of workers;
``fast`` 50 to 300 ms, at full speed. Exact means: 525 pages, each once, 500 records, every link
once, all values as the site's truth has them, tables and database in agreement.

A request is repeated if a kill hit it in flight, so at most kills times workers are. The fast
variant may end before the tenth kill; ``hit`` is the smallest number of kills of a run that found
pages left.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from kill_harness import FAST, SLOW, KillRun, Variant, ten_kills

VARIANTS = {"slow": SLOW, "fast": FAST}
HEADINGS = (
    "variant           workers  runs  exact  kills  hit  repeats: median  worst  allowed  "
    "one URL  seconds"
)


def measure(variant: Variant, workers: int, seeds: int, parallel: int) -> list[KillRun]:
    """Run all seeds, so many side by side."""

    def run(seed: int) -> KillRun:
        with tempfile.TemporaryDirectory(prefix="crawlkit-kills-") as folder:
            done = ten_kills(Path(folder) / "crawl", variant, workers, seed)
        if done.wrong:
            print(done.in_words(), flush=True)
        return done

    with ThreadPoolExecutor(parallel) as pool:
        return list(pool.map(run, range(seeds)))


def row(runs: list[KillRun]) -> str:
    """Return the figures of runs with one variant and number of workers."""
    repeats = [run.repeats for run in runs]
    worst = max(runs, key=lambda run: run.repeats / max(run.allowed, 1))
    return (
        f"{runs[0].variant.name:<16} {runs[0].workers:>8} {len(runs):>5} "
        f"{sum(not run.wrong for run in runs):>6} {sum(run.kills for run in runs):>6} "
        f"{min(run.hits for run in runs):>4} {statistics.median(repeats):>16g} "
        f"{worst.repeats:>6} {worst.allowed:>8} {max(run.most_asked for run in runs):>8} "
        f"{statistics.median(run.seconds for run in runs):>8.1f}"
    )


def main() -> int:
    """Print the table; exit code 1 if anything was not exact or asked for too often."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="series of kills (20)")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--variant", choices=[*VARIANTS, "both"], default="both")
    parser.add_argument("--parallel", type=int, default=4, help="slow runs side by side (4)")
    options = parser.parse_args()
    names = list(VARIANTS) if options.variant == "both" else [options.variant]
    began = time.monotonic()
    everything: list[KillRun] = []
    print(HEADINGS, flush=True)
    for name in names:
        for workers in options.workers:
            # At full speed a run needs the machine for itself.
            parallel = options.parallel if name == "slow" else 1
            runs = measure(VARIANTS[name], workers, options.seeds, parallel)
            print(row(runs), flush=True)
            everything += runs
    bad = [run for run in everything if run.wrong or run.repeats > run.allowed]
    bad += [run for run in everything if run.variant is SLOW and run.hits < run.kills]
    worst = max(everything, key=lambda run: run.repeats / max(run.allowed, 1))
    kills = sum(run.kills for run in everything)
    print(
        f"{len(everything)} runs, {kills} kills, {len(everything) - len(bad)} as they must be; "
        f"most repeats for what is allowed: {worst.repeats} of {worst.allowed} "
        f"({worst.variant.name}, {worst.workers} workers, seed {worst.seed}); "
        f"{time.monotonic() - began:.0f} s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
