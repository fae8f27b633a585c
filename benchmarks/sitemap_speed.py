"""What reading sitemaps costs, against advertools and ultimate-sitemap-parser.

One file of 50,000 URLs, and an index of 20 such files, over HTTP to a DataFrame with parsed
lastmod; crawlkit judges scope and collects issue codes besides. Each side is a process of its own,
in turns. CPU is that of the call alone, imports left out (and listed apart); memory is the peak of
the whole process. The rivals live in a virtual environment of their own, in ``out/sitemap-venv``.

    python benchmarks/sitemap_speed.py [file index] [--rounds 3] [--urls N] [--files N] [--json]

The bars: CPU at least 2 times less than advertools (3 is the stretch) and 3.5 times less than
ultimate-sitemap-parser (5); peak memory for the index at most a quarter of advertools'.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from measured import run_measured
from sites import OUT

RIVALS = ("advertools==0.18.*", "ultimate-sitemap-parser==1.8.*")
BARS = {"advertools": (2.0, 3.0), "usp": (3.5, 5.0)}
MEMORY_BAR = 0.25

# Each gets the base URL and "file" or "index", and prints CPU of imports and call, and the rows.
REPORT = """
import json, sys, time
began = time.process_time()
{imports}
import pandas as pd
base, what = sys.argv[1:]
imported = time.process_time()
frame = read(base, what)
done = time.process_time()
assert str(frame["lastmod"].dtype).startswith("datetime64"), frame["lastmod"].dtype
assert frame["lastmod"].notna().all()
print("RESULT" + json.dumps([imported - began, done - imported, len(frame)]))
"""
SIDES = {
    "crawlkit": """
import crawlkit as ck
import pandas, pyarrow.compute
from crawlkit.web import sitemaps

def read(base, what):
    frame = ck.read_sitemaps(f"{base}/{what}.xml", delay=0, progress=False)
    assert (frame["scope"] == "ok").all() and frame["issues"].isna().all()
    return frame
""",
    "advertools": """
import logging
import advertools
logging.disable(logging.CRITICAL)

def read(base, what):
    return advertools.sitemap_to_df(f"{base}/{what}.xml")
""",
    "usp": """
import logging
from usp.fetch_parse import SitemapFetcher
from usp.tree import sitemap_tree_for_homepage
logging.disable(logging.CRITICAL)

def read(base, what):
    fetcher = SitemapFetcher(url=f"{base}/{what}.xml", recursion_level=0)
    pages = fetcher.sitemap().all_pages()
    rows = [(page.url, page.last_modified) for page in pages]
    frame = pd.DataFrame(rows, columns=["loc", "lastmod"])
    return frame.assign(lastmod=pd.to_datetime(frame["lastmod"], utc=True))
""",
}


def rivals_python() -> Path:
    """Return the Python of the rivals' environment, making it when it is missing."""
    venv = OUT / "sitemap-venv"
    python = venv / "bin" / "python"
    if not (venv / "complete").exists():
        print("making the rivals' virtual environment ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *RIVALS], check=True)
        (venv / "complete").touch()
    return python


def write_site(folder: Path, base: str, urls: int, files: int) -> None:
    """Write one file, and an index of several, as a content system would."""
    draw = random.Random(0)
    core = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    for number in range(files):
        rows = [
            f"  <url>\n    <loc>{base}/section-{draw.randrange(40)}/article-{number}-{row}-with-a-"
            f"title-of-some-length.html?id={row}&amp;lang=en</loc>\n    <lastmod>2025-"
            f"{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}T{draw.randrange(24):02}:"
            f"{draw.randrange(60):02}:{draw.randrange(60):02}+00:00</lastmod>\n"
            f"    <changefreq>weekly</changefreq>\n    <priority>0.5</priority>\n  </url>\n"
            for row in range(urls)
        ]
        text = f"{head}<urlset {core}>\n{''.join(rows)}</urlset>\n"
        (folder / f"part-{number}.xml").write_text(text)
    (folder / "file.xml").write_bytes((folder / "part-0.xml").read_bytes())
    children = "".join(
        f"<sitemap><loc>{base}/part-{number}.xml</loc><lastmod>2025-12-{number % 28 + 1:02}"
        "</lastmod></sitemap>"
        for number in range(files)
    )
    (folder / "index.xml").write_text(f"{head}<sitemapindex {core}>{children}</sitemapindex>")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass


def run_side(side: str, base: str, what: str) -> dict[str, float]:
    """Run one side once."""
    python = Path(sys.executable) if side == "crawlkit" else rivals_python()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        script = REPORT.replace("{imports}", SIDES[side])
        usage = run_measured([str(python), "-c", script, base, what], log=log, cwd=Path(folder))
        line = next(x for x in log.read_text().splitlines() if x.startswith("RESULT"))
        imports, call, rows = json.loads(line.removeprefix("RESULT"))
    return {"imports": imports, "call": call, "rows": rows, **usage.to_dict()}


def measure(base: str, what: str, rounds: int) -> dict[str, list[dict[str, float]]]:
    """Run all sides in turns."""
    runs: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for _ in range(rounds):
        for side in SIDES:
            runs[side].append(run_side(side, base, what))
    return runs


def report(what: str, runs: dict[str, list[dict[str, float]]]) -> bool:
    """Print figures and bars; return whether all bars held."""
    held = True
    rows = int(runs["crawlkit"][0]["rows"])
    print(f"{what}: {rows:,} URLs, load {os.getloadavg()[0]:.1f}")
    for side, each in runs.items():
        call, imports, peak = (
            statistics.median(run[name] for run in each) for name in ("call", "imports", "peak_mb")
        )
        print(f"  {side:12} {call:7.2f} s CPU (imports {imports:.2f} s), peak {peak:6.0f} MB")
    for side, (bar, stretch) in BARS.items():
        ratio = statistics.median(
            theirs["call"] / ours["call"]
            for ours, theirs in zip(runs["crawlkit"], runs[side], strict=True)
        )
        held &= ratio >= bar
        verdict = "PASS" if ratio >= bar else "FAIL"
        print(f"  {verdict}: {ratio:.1f} times less CPU than {side} (bar {bar}, stretch {stretch})")
    if what == "index":
        share = statistics.median(
            ours["peak_mb"] / theirs["peak_mb"]
            for ours, theirs in zip(runs["crawlkit"], runs["advertools"], strict=True)
        )
        held &= share <= MEMORY_BAR
        verdict = "PASS" if share <= MEMORY_BAR else "FAIL"
        print(f"  {verdict}: {share:.2f} of the memory of advertools (bar {MEMORY_BAR})")
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", help="file, index; default: both")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--urls", type=int, default=50_000, help="of a file")
    parser.add_argument("--files", type=int, default=20, help="of the index")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    held, everything = True, {}
    with tempfile.TemporaryDirectory() as folder:
        handler = functools.partial(_Quiet, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        base = f"http://127.0.0.1:{server.server_port}"
        write_site(Path(folder), base, options.urls, options.files)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            for what in options.what or ("file", "index"):
                everything[what] = runs = measure(base, what, options.rounds)
                held &= report(what, runs)
        finally:
            server.shutdown()
            server.server_close()
    if options.json:
        print(json.dumps(everything))
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
