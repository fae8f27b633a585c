"""PageRank from raw links: crawlkit against networkx at equal accuracy, CPU time and memory.

Each side starts from the same links, as two arrays of integers or as a table of URL strings, builds
its graph and computes PageRank to an L1 error of 1e-6 by its own bound; what is timed is both
steps, what is weighed is the memory that they take on top of the links. Each run is a process of
its own, the two sides in turn; the error is measured afterwards against PageRank at 1e-13.

    python benchmarks/pagerank_speed.py                       100,000 pages, 3 rounds
    python benchmarks/pagerank_speed.py --pages 1000000 --rounds 1
    python benchmarks/pagerank_speed.py --links links.parquet  a crawl's own links (source, target)

The bars: 50 times less CPU and a fifth of the memory from arrays, 15 times and a tenth from URLs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ACCURACY = 1e-6
DAMPING = 0.85
BARS = {"arrays": (50.0, 5.0), "urls": (15.0, 10.0)}


def random_links(pages: int) -> tuple[Any, Any]:
    """Return ten links a page: most near it, as in a site's navigation, some to popular pages."""
    draw = np.random.default_rng(7)
    sources = np.repeat(np.arange(pages), 10)
    near = (sources + draw.integers(1, 200, len(sources))) % pages
    popular = (pages * draw.random(len(sources)) ** 3).astype(np.int64)
    return sources, np.where(draw.random(len(sources)) < 0.6, near, popular)


def load(options: argparse.Namespace) -> Any:
    """Return the links as a side gets them: two arrays, or a table."""
    import pandas as pd

    if options.links:
        table = pd.read_parquet(options.links, columns=["source", "target"])
        if options.kind == "urls":
            return table
        codes, _ = pd.factorize(pd.concat([table["source"], table["target"]], ignore_index=True))
        return codes[: len(table)], codes[len(table) :]
    sources, targets = random_links(options.pages)
    if options.kind == "arrays":
        return sources, targets
    names = pd.Series([f"https://www.example.com/section/{n}.html" for n in range(options.pages)])
    return pd.DataFrame({"source": names.take(sources).array, "target": names.take(targets).array})


def run_crawlkit(links: Any) -> Any:
    """Return PageRank by URL or number."""
    from crawlkit.order.graph_inputs import link_graph
    from crawlkit.order.link_graph import LinkGraph
    from crawlkit.order.pagerank import pagerank

    graph = LinkGraph.from_edges(*links) if isinstance(links, tuple) else link_graph(links)
    return graph.labels, pagerank(graph, damping=DAMPING, tol=ACCURACY)


def run_networkx(links: Any) -> Any:
    """Return PageRank by URL or number."""
    import networkx as nx

    graph: Any = nx.DiGraph()
    if isinstance(links, tuple):
        graph.add_edges_from(zip(links[0].tolist(), links[1].tolist(), strict=True))
    else:
        graph.add_edges_from(zip(links["source"], links["target"], strict=True))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    # Its tolerance is for the change of a step, a page; the bound of the error is known from that.
    tol = ACCURACY * (1 - DAMPING) / DAMPING / len(graph)
    rank = nx.pagerank(graph, alpha=DAMPING, tol=tol, max_iter=1000)
    return list(rank), np.array(list(rank.values()))


def side(options: argparse.Namespace) -> None:
    """Run one side and print what it cost; then how far off it was."""
    import scipy.sparse  # noqa: F401 - both sides need it, and neither is to pay for it

    from crawlkit.order import graph_inputs, pagerank  # noqa: F401

    links = load(options)
    before = resident_memory(forget_peak=True)
    began = time.process_time()
    labels, rank = (run_crawlkit if options.side == "crawlkit" else run_networkx)(links)
    cpu = time.process_time() - began
    memory = resident_memory() - before
    error = measured_error(links, labels, rank)
    print(json.dumps({"cpu": cpu, "mb": memory, "error": error, "pages": len(rank)}))


def resident_memory(*, forget_peak: bool = False) -> float:
    """Return the greatest resident memory so far in MB, or from now on the memory there is.

    Reading the links takes more for a moment than they take; that must not hide what follows.
    """
    if forget_peak:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measured_error(links: Any, labels: Any, rank: Any) -> float:
    """Return the L1 distance from PageRank at 1e-13."""
    import pandas as pd

    from crawlkit.order.graph_inputs import link_graph
    from crawlkit.order.link_graph import LinkGraph
    from crawlkit.order.pagerank import pagerank

    graph = LinkGraph.from_edges(*links) if isinstance(links, tuple) else link_graph(links)
    exact = pagerank(graph, damping=DAMPING, tol=1e-13)
    known = range(graph.nodes) if graph.labels is None else list(graph.labels)
    given = range(graph.nodes) if labels is None else labels
    return float((pd.Series(rank, list(given)).reindex(list(known)) - exact).abs().sum())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--links", help="Parquet file with the columns source and target")
    parser.add_argument("--kind", choices=list(BARS))
    parser.add_argument("--side", choices=["crawlkit", "networkx"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        side(options)
        return 0
    passed = True
    for kind in [options.kind] if options.kind else list(BARS):
        runs: dict[str, list[dict[str, float]]] = {"crawlkit": [], "networkx": []}
        for _ in range(options.rounds):
            for name, found in runs.items():
                command = [sys.executable, __file__, "--side", name, "--kind", kind]
                command += ["--pages", str(options.pages)]
                command += ["--links", options.links] if options.links else []
                printed = subprocess.run(command, check=True, capture_output=True, text=True)
                found.append(json.loads(printed.stdout.splitlines()[-1]))
                print(
                    f"{kind:7} {name:9} " + "  ".join(f"{k} {v:.4g}" for k, v in found[-1].items())
                )
        ratios = [
            statistics.median(
                theirs[what] / max(ours[what], 1e-9)
                for ours, theirs in zip(runs["crawlkit"], runs["networkx"], strict=True)
            )
            for what in ("cpu", "mb")
        ]
        exact = all(run["error"] <= ACCURACY for found in runs.values() for run in found)
        for what, ratio, bar in zip(("CPU", "memory"), ratios, BARS[kind], strict=True):
            verdict = "PASS" if ratio >= bar else "FAIL"
            passed = passed and ratio >= bar
            print(f"{kind}: {what} {ratio:.1f} times less (bar {bar:.0f}): {verdict}")
        print(f"{kind}: every error at most {ACCURACY}: {'PASS' if exact else 'FAIL'}")
        passed = passed and exact
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
