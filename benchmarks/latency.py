"""How well a crawl hides latency: every answer comes 50 ms after its request, 16 workers ask.

With W workers and L seconds per answer no crawler can ask more than W / L pages a second of the
server. Printed is the share of that bound which each side reaches between its first and its last
request for a page, by the server's own log; the crawler's start-up and its end are outside.

    python benchmarks/latency.py
    python benchmarks/latency.py --latency 0.05 --workers 16 --rounds 3 --rivals scrapy
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from crawl_speed import MAX_PAGES, command_for
from measured import run_measured
from sites import OUT, SITES, LogLine, read_log, serve

__all__ = ["bound_share"]

BAR = 0.90
CRAWL = """\
import sys
import crawlkit as ck
start, folder, workers, pages = sys.argv[1:]
ck.crawl(start, folder, delay=0, workers=int(workers), max_pages=int(pages), progress=False)
"""


def bound_share(lines: list[LogLine], workers: int, latency: float) -> tuple[float, float]:
    """Return (pages per second between the first and the last request, share of the bound)."""
    starts = sorted(line.start for line in lines)
    rate = (len(starts) - 1) / (starts[-1] - starts[0])
    return rate, rate * latency / workers


def crawl_command(side: str, start: str, folder: Path, workers: int) -> list[str]:
    """Return the command with which a side crawls with so many workers."""
    if side == "crawlkit":
        target = str(folder / "crawl")
        return [sys.executable, "-c", CRAWL, start, target, str(workers), str(MAX_PAGES)]
    command, _ = command_for(side, start, folder)
    settings = ("CONCURRENT_REQUESTS", "CONCURRENT_REQUESTS_PER_DOMAIN")
    return [*command, *(part for name in settings for part in ("-s", f"{name}={workers}"))]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--site", choices=sorted(SITES), default="pg")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds per answer")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--rivals", default="scrapy", help="scrapy, or none")
    parser.add_argument("--no-crawlkit", action="store_true", help="measure the rival alone")
    given = parser.parse_args()
    sides = ([] if given.no_crawlkit else ["crawlkit"]) + [
        name for name in given.rivals.split(",") if name and name != "none"
    ]
    shares: dict[str, list[float]] = {side: [] for side in sides}
    print(f"bound: {given.workers / given.latency:,.0f} pages/s")
    OUT.mkdir(exist_ok=True)
    for number in range(given.rounds):
        for side in sides:
            with tempfile.TemporaryDirectory(prefix="bench-latency-", dir=OUT) as name:
                folder = Path(name)
                log = folder / "access.log"
                with serve(given.site, given.latency, log) as base:
                    start = base + SITES[given.site].start
                    command = crawl_command(side, start, folder, given.workers)
                    used = run_measured(command, log=folder / "log", cwd=folder)
                pages = [line for line in read_log(log) if line.target != "/robots.txt"]
            rate, share = bound_share(pages, given.workers, given.latency)
            shares[side].append(share)
            served = statistics.median(line.end - line.start for line in pages)
            print(
                f"round {number + 1}, {side}: {len(pages):,} requests, {rate:,.0f} pages/s,"
                f" {share:.1%} of the bound (answers took {1000 * served:.1f} ms at the server;"
                f" {1000 * used.cpu / len(pages):.2f} ms of CPU a page)",
                flush=True,
            )
    for side, measured in shares.items():
        print(f"{side}: median {statistics.median(measured):.1%} of the bound")
    if given.no_crawlkit:
        return 0
    held = statistics.median(shares["crawlkit"]) >= BAR
    print(f"crawlkit >= {BAR:.0%}: {'PASS' if held else 'FAIL'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
