"""Does the frontier slow down with the crawl? Leasing and completing at 10,000 and 1,000,000 URLs.

Each size runs in a process of its own; the sizes take turns. A step is what one page costs the
frontier: complete, meet some known links and a few new ones, lease the next, commit. It also
reports what deduplication costs in memory: the growth of the process between the empty frontier
and the full one, per URL.

    python benchmarks/frontier_scale.py --rounds 3
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (10_000, 1_000_000)
STEPS = 4_000
LINKS = 50
NEW_EACH = 1


def address(number: int):
    from crawlkit.web.urls import Address

    host = f"www{number % 20}.example.com"
    url = f"https://{host}/section-{number % 97}/page-{number:09d}.html"
    return Address(url, url, host)


def resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()


def measure(size: int) -> dict[str, float]:
    from crawlkit.crawling.database import open_for_writing, transaction
    from crawlkit.crawling.frontier import DONE, Found, Frontier
    from crawlkit.crawling.settings import Scope, Settings
    from crawlkit.order.breadth_first import BreadthFirst

    with tempfile.TemporaryDirectory() as folder:
        connection = open_for_writing(Path(folder))
        settings = Settings(order=BreadthFirst(), delay=0.0, max_pages=None)
        frontier = Frontier(connection, settings, Scope("any", frozenset()))
        before = resident_bytes()
        number = 0
        began = time.process_time()
        while number < size:
            with transaction(connection):
                for _ in range(1_000):
                    frontier.enter(Found(address(number), 1 + number * 5 // size))
                    number += 1
        filled = time.process_time() - began
        memory = resident_bytes() - before
        draw = random.Random(1)
        found = frontier.candidate()
        assert found is not None
        with transaction(connection):
            lease = frontier.lease(found[0], seconds=60)
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(STEPS):
            with transaction(connection):
                frontier.hosts.end_request(lease.host, started=None)
                assert frontier.owns(lease)
                # Links of a site point near: mostly to pages met lately, one or two to any page.
                for _ in range(LINKS - 2):
                    frontier.enter(Found(address(lease.id + draw.randrange(-500, 500) % 500), 2))
                for _ in range(2):
                    frontier.enter(Found(address(draw.randrange(size)), 2))
                for _ in range(NEW_EACH):
                    frontier.enter(Found(address(number), 9))
                    number += 1
                frontier.close_lease(lease, DONE, None)
                found = frontier.candidate()
                assert found is not None
                lease = frontier.lease(found[0], seconds=60)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        kept = connection.execute("SELECT count(*) FROM urls").fetchone()[0]
        assert kept == number == frontier.known, "a URL was dropped or doubled"
        connection.close()
        return {
            "size": size,
            "steps_per_s": STEPS / wall,
            "steps_per_cpu_s": STEPS / cpu,
            "fill_per_cpu_s": size / filled,
            "bytes_per_url": memory / size,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.size:
        print(json.dumps(measure(options.size)))
        return
    runs: dict[int, list[dict[str, float]]] = {size: [] for size in SIZES}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(options.rounds):
        for size in SIZES:
            command = [sys.executable, __file__, "--size", str(size)]
            out = subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment
            ).stdout
            runs[size].append(json.loads(out))
    for size, rows in runs.items():
        middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        print(
            f"{size:>9,} known URLs: {middle['steps_per_s']:7,.0f} steps/s, "
            f"{middle['steps_per_cpu_s']:7,.0f} per CPU second, "
            f"filled at {middle['fill_per_cpu_s']:7,.0f} URLs per CPU second, "
            f"{middle['bytes_per_url']:5.1f} bytes of memory per URL"
        )
    small, large = (runs[size] for size in SIZES)
    for key in ("steps_per_s", "steps_per_cpu_s"):
        ratio = statistics.median(b[key] / a[key] for a, b in zip(small, large, strict=True))
        print(f"{key}: large / small = {ratio:.2f} ({'PASS' if ratio >= 0.8 else 'FAIL'}: 0.8)")
    memory = statistics.median(row["bytes_per_url"] for row in large)
    print(f"bytes per URL: {memory:.1f} ({'PASS' if memory <= 80 else 'FAIL'}: at most 80)")


if __name__ == "__main__":
    main()
