"""Whole crawls side by side: crawlkit, Scrapy and advertools on the same site.

Each run is a fresh process that crawls every page of a site on 127.0.0.1, start-up included, into
a fresh folder; the sides take turns (A B A B ...). Costs are those of the side's own process tree;
the server is outside it, and its access log says how many URLs were asked for, and how often.

crawlkit runs with its defaults and ``--delay 0``: robots.txt, every page's full record and links,
bodies kept, a durable commit for each result, Parquet at the end. Scrapy: LinkExtractor, 16
concurrent requests, robots.txt, no AutoThrottle, a JOBDIR, items to JSON lines. advertools:
``crawl(follow_links=True)`` to JSON lines.

    python benchmarks/crawl_speed.py --site pg --rounds 3
    python benchmarks/crawl_speed.py --site jdk --rounds 3 --rivals scrapy
    python benchmarks/crawl_speed.py --site jdk --rivals advertools --reuse advertools

Every run is appended to ``out/crawl_speed.jsonl``; ``--reuse SIDE`` takes that side's last figures
from there, since advertools needs minutes on the large site. Compare wall times on a quiet machine
only; CPU per page holds better.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measured import rivals_python, run_measured, spread
from sites import HERE, OUT, SITES, read_log, serve, warm_cache

__all__ = ["RUNS", "command_for", "measure"]

RUNS = OUT / "crawl_speed.jsonl"
MAX_PAGES = 1_000_000

# (site, rival, figure) -> bound on crawlkit's figure divided by the rival's: at least or at most.
BARS: dict[tuple[str, str, str], tuple[str, float]] = {
    ("pg", "scrapy", "pages_per_s"): (">=", 4.0),
    ("jdk", "scrapy", "pages_per_s"): (">=", 5.0),
    ("pg", "scrapy", "cpu_ms_per_page"): ("<=", 1 / 4),
    ("jdk", "scrapy", "cpu_ms_per_page"): ("<=", 1 / 5),
    ("pg", "scrapy", "peak_mb"): ("<=", 1.0),
    ("jdk", "scrapy", "peak_mb"): ("<=", 0.7),
    ("pg", "advertools", "cpu_ms_per_page"): ("<=", 1 / 10),
    ("jdk", "advertools", "cpu_ms_per_page"): ("<=", 1 / 20),
}
FIGURES = ("pages_per_s", "cpu_ms_per_page", "peak_mb", "wall", "urls", "requests_per_url")


def command_for(side: str, start: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command that crawls ``start`` into ``folder``, and what its environment adds."""
    if side == "crawlkit":
        script = Path(sys.executable).with_name("crawlkit")
        command = [str(script), "crawl", start, "-o", str(folder / "crawl"), "--delay", "0"]
        return [*command, "--max-pages", str(MAX_PAGES), "--json"], {}
    python = rivals_python()
    path = {"PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    if side == "scrapy":
        command = [
            str(python.with_name("scrapy")),
            "runspider",
            str(HERE / "rivals/scrapy_site.py"),
        ]
        command += ["-a", f"start={start}", "-o", str(folder / "items.jsonl")]
        return [*command, "-s", f"JOBDIR={folder / 'job'}"], path
    script = HERE / "rivals/advertools_site.py"
    return [str(python), str(script), start, str(folder / "items.jsonl")], path


def measure(side: str, site: str, start: str, access_log: Path) -> dict[str, Any]:
    """Crawl the site once with one side and return the figures of the run."""
    offset = access_log.stat().st_size
    with tempfile.TemporaryDirectory(prefix=f"bench-{side}-", dir=OUT) as name:
        folder = Path(name)
        command, env = command_for(side, start, folder)
        used = run_measured(command, log=folder / "log", cwd=folder, env=env)
        written = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    asked = [line for line in read_log(access_log, offset) if line.target != "/robots.txt"]
    urls = {line.target for line in asked}
    html = {line.target for line in asked if line.status == 200 and "html" in line.content_type}
    if not urls:
        raise RuntimeError(f"{side} asked for nothing")
    return {
        "side": side,
        "site": site,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "load": os.getloadavg()[0],
        **used.to_dict(),
        "urls": len(urls),
        "html_pages": len(html),
        "requests": len(asked),
        "requests_per_url": len(asked) / len(urls),
        "pages_per_s": len(urls) / used.wall,
        "cpu_ms_per_page": 1000 * used.cpu / len(urls),
        "written_mb": written / 1e6,
    }


def stored(side: str, site: str, rounds: int) -> list[dict[str, Any]]:
    """Return the last runs of a side that are kept in ``out/crawl_speed.jsonl``."""
    lines = RUNS.read_text().splitlines() if RUNS.exists() else []
    runs = [run for run in map(json.loads, lines) if run["side"] == side and run["site"] == site]
    if not runs:
        raise SystemExit(f"no stored run of {side} on {site}: run once without --reuse {side}")
    return runs[-rounds:]


def show_sides(runs: dict[str, list[dict[str, Any]]]) -> None:
    """Print the median of each figure of each side, with its least and greatest."""
    for side, made in runs.items():
        loads = ", ".join(f"{run['load']:.1f}" for run in made)
        print(f"\n{side}: {len(made)} run(s), load of the machine {loads}")
        for figure in (*FIGURES, "html_pages", "written_mb"):
            s = spread([run[figure] for run in made])
            print(f"  {figure:<17}{s['median']:>12,.3f}   ({s['min']:,.3f} to {s['max']:,.3f})")


def show_ratios(site: str, runs: dict[str, list[dict[str, Any]]], reused: set[str]) -> bool:
    """Print crawlkit's figures divided by each rival's, and whether the bars hold."""
    passed = True
    ours = runs["crawlkit"]
    counts = {side: sorted({run["html_pages"] for run in made}) for side, made in runs.items()}
    if len(set(map(tuple, counts.values()))) > 1:
        print(f"\nNOT THE SAME PAGES: HTML pages by side {counts}")
        passed = False
    print(f"\n{'crawlkit / rival':<40}{'median':>9}{'min':>9}{'max':>9}   bar")
    for rival in [side for side in runs if side != "crawlkit"]:
        theirs_too = runs[rival] + runs[rival][-1:] * (len(ours) - len(runs[rival]))
        pairs = list(zip(ours, theirs_too, strict=False))
        for figure in ("pages_per_s", "cpu_ms_per_page", "peak_mb"):
            s = spread([mine[figure] / theirs[figure] for mine, theirs in pairs])
            verdict = ""
            if bar := BARS.get((site, rival, figure)):
                sign, bound = bar
                held = s["median"] >= bound if sign == ">=" else s["median"] <= bound
                passed = passed and bool(held)
                verdict = f"{sign} {bound:.2f}  {'PASS' if held else 'FAIL'}"
            name = f"{figure} / {rival}{' (stored)' if rival in reused else ''}"
            print(f"{name:<40}{s['median']:>9.3f}{s['min']:>9.3f}{s['max']:>9.3f}   {verdict}")
    asked = statistics.median(float(run["requests_per_url"]) for run in ours)
    passed = passed and asked == 1.0
    print(f"{'requests per unique URL':<40}{asked:>9.3f}{'':>21}== 1.00  ", end="")
    print("PASS" if asked == 1.0 else "FAIL")
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--site", choices=sorted(SITES), default="pg")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rivals", default="scrapy,advertools", help="comma-separated, or none")
    parser.add_argument("--reuse", default="", help="sides whose stored figures are taken")
    parser.add_argument("--advertools-rounds", type=int, help="default: 1 on the JDK site")
    parser.add_argument("--no-crawlkit", action="store_true", help="measure the rivals alone")
    given = parser.parse_args()
    sides = [] if given.no_crawlkit else ["crawlkit"]
    sides += [name for name in given.rivals.split(",") if name and name != "none"]
    if unknown := set(sides) - {"crawlkit", "scrapy", "advertools"}:
        parser.error(f"unknown rival: {', '.join(sorted(unknown))}")
    reused = set(filter(None, given.reuse.split(",")))
    slow = given.advertools_rounds or (1 if given.site == "jdk" else given.rounds)
    rounds = {side: slow if side == "advertools" else given.rounds for side in sides}
    runs: dict[str, list[dict[str, Any]]] = {
        side: stored(side, given.site, rounds[side]) if side in reused else [] for side in sides
    }
    OUT.mkdir(exist_ok=True)
    warm_cache(given.site)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "access.log"
        with serve(given.site, access_log=log) as base, RUNS.open("a") as kept:
            for number in range(given.rounds):
                for side in sides:
                    if side in reused or number >= rounds[side]:
                        continue
                    run = measure(side, given.site, base + SITES[given.site].start, log)
                    runs[side].append(run)
                    print(json.dumps(run), file=kept, flush=True)
                    print(
                        f"round {number + 1}, {side}: {run['pages_per_s']:,.0f} pages/s,"
                        f" {run['cpu_ms_per_page']:.2f} ms of CPU a page, {run['peak_mb']:.0f} MB",
                        flush=True,
                    )
    show_sides(runs)
    if given.no_crawlkit or len(sides) == 1:
        return 0
    return 0 if show_ratios(given.site, runs, reused) else 1


if __name__ == "__main__":
    sys.exit(main())
