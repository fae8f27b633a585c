"""Replays: partial PageRank against a growing networkx graph, and a million pages in each order.

    python benchmarks/replay_speed.py rival                 100,000 pages against networkx
    python benchmarks/replay_speed.py rival --graph uk      the public graph (55,006 reachable)
    python benchmarks/replay_speed.py rival --graph F.npz   another: arrays indptr, indices
    python benchmarks/replay_speed.py scale                 1,000,000 pages, 10,000,000 links
    python benchmarks/replay_speed.py scale --orders opic push_pagerank --plain

``rival`` replays partial PageRank with 100 recomputations. The other side grows a networkx graph by
the same downloads in the same order and calls ``networkx.pagerank`` at the same bound of the error,
warm-started, at each point where crawlkit computes. That takes long, so it is asked at some of the
100 points only (``--points``) and the rest is interpolated linearly in the number of links: the
figure printed is measured seconds scaled to 100. The bars: the computations alone 75 times less
CPU, the whole replay 40 times.

``scale`` prints CPU seconds and the greatest memory of one process for each order, and, with numba,
checks that the compiled orders are those of the plain form. The bars: 60 s for the queue and heap
orders, 240 s for partial PageRank with 100 recomputations, 1 GB; compiled, OPIC 10 times the plain
form and push PageRank within 60 s. Everything is CPU time, of processes of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from pagerank_speed import random_links

from crawlkit.order.link_graph import LinkGraph
from crawlkit.order.partial_pagerank_order import PartialPageRank
from crawlkit.order.registry import make_ordering
from crawlkit.order.simulation import download_order

PLAIN = ("breadth_first", "depth_first", "random", "inlinks", "larger_sites_first", "opic")
COMPUTATIONS = 100


class Timed(PartialPageRank):
    """Partial PageRank that notes what its computations cost, and when they come."""

    seconds = 0.0
    points: list[int] = []  # noqa: RUF012 - one replay a process

    def rescore(self) -> Any:
        """Compute, and take the time."""
        began = time.process_time()
        scores = super().rescore()
        Timed.seconds += time.process_time() - began
        Timed.points.append(self._downloads)
        return scores


def graph_of(name: str) -> LinkGraph:
    """Return the random graph of 100,000 pages, the public one, or that of an npz file."""
    if name == "random":
        return LinkGraph.from_edges(*random_links(100_000), 100_000)
    path = None if name == "uk" else name
    root = os.environ.get("CRAWLKIT_GRAPHS", Path(__file__).resolve().parents[2] / "shared/graphs")
    found = np.load(path or Path(root) / "uk-2007-05@100000.csr.npz")
    sources = np.repeat(np.arange(len(found["indptr"]) - 1), np.diff(found["indptr"]))
    return LinkGraph.from_edges(sources, found["indices"], len(found["indptr"]) - 1)


def best_seed(graph: LinkGraph) -> int:
    """Return a page in the largest strongly connected component."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components

    ways = sp.csr_array((np.ones(graph.links, dtype=np.int8), graph.targets, graph.indptr))
    _, part = connected_components(ways, connection="strong")
    return int(np.flatnonzero(part == np.bincount(part).argmax())[0])


def rival(options: argparse.Namespace) -> int:
    """Compare the replay with a growing networkx graph."""
    import networkx as nx

    graph = graph_of(options.graph)
    seed = best_seed(graph)
    reachable = len(graph.reachable([seed]))
    every = reachable // COMPUTATIONS
    began = time.process_time()
    order = download_order(graph, Timed(every, tol=options.tol), [seed])
    whole, computing = time.process_time() - began, Timed.seconds
    points = Timed.points[:COMPUTATIONS]
    asked = set(np.array(points)[np.linspace(0, len(points) - 1, options.points).astype(int)])
    growing: Any = nx.DiGraph()
    last: dict[int, float] | None = None
    links, costs, growing_cost = [], [], 0.0
    sizes = np.cumsum(graph.out_degree()[order])
    for step, node in enumerate(order.tolist(), start=1):
        began = time.process_time()
        growing.add_edges_from((node, target) for target in graph.out(node).tolist())
        growing_cost += time.process_time() - began
        if step in asked:
            start = {page: (last or {}).get(page, 1e-9) for page in growing}
            began = time.process_time()
            last = nx.pagerank(
                growing,
                tol=options.tol * 0.15 / 0.85 / len(growing),
                max_iter=1000,
                nstart=start,
            )
            costs.append(time.process_time() - began)
            links.append(int(sizes[step - 1]))
            print(f"  networkx at {step:6} downloads, {links[-1]:8} links: {costs[-1]:.2f} s")
    scaled = float(np.interp([sizes[point - 1] for point in points], links, costs).sum())
    print(
        f"{len(order)} downloads, {sizes[-1]} links, {len(points)} computations, tol {options.tol}"
    )
    print(f"networkx: computations {scaled:.1f} s (scaled from {len(costs)}: {sum(costs):.1f} s), "
          f"growing {growing_cost:.1f} s")  # fmt: skip
    print(f"crawlkit: computations {computing:.2f} s, whole replay {whole:.2f} s")
    passed = True
    for what, ratio, bar in (
        ("computations", scaled / computing, 75),
        ("whole replay", (scaled + growing_cost) / whole, 40),
    ):
        passed = passed and ratio >= bar
        print(
            f"{what}: {ratio:.1f} times less CPU (bar {bar}): {'PASS' if ratio >= bar else 'FAIL'}"
        )
    return 0 if passed else 1


def one(options: argparse.Namespace) -> None:
    """Replay one order at scale, and print what it cost."""
    pages = options.pages
    sources, targets = random_links(pages)
    hosts = None
    if options.one == "larger_sites_first":
        hosts = (np.arange(pages) // 1000).astype(np.int32)
    names = [f"h{number}" for number in range(pages // 1000 + 1)]
    graph = LinkGraph.from_edges(sources, targets, pages, hosts=hosts, host_names=names)
    del sources, targets, hosts
    ordering = make_ordering(options.one)
    if options.one == "partial_pagerank":
        ordering = PartialPageRank(pages // COMPUTATIONS)
    if not options.plain and options.one in ("opic", "push_pagerank"):
        small = LinkGraph.from_edges([0, 1], [1, 0])  # compiling is no part of it
        download_order(small, make_ordering(options.one), [0], compiled=True)
    resource.getrusage(resource.RUSAGE_SELF)
    began = time.process_time()
    order = download_order(graph, ordering, [0], compiled=not options.plain)
    cpu = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    checksum = int((order * np.arange(1, len(order) + 1) % 1_000_003).sum())
    print(json.dumps({"cpu": cpu, "mb": peak, "downloads": len(order), "checksum": checksum}))


def scale(options: argparse.Namespace) -> int:
    """Replay each order on a million pages."""
    runs = [(name, True) for name in (*PLAIN, "partial_pagerank")]
    runs += [("opic", False), ("push_pagerank", False)]
    if options.orders:
        runs = [(name, options.plain) for name in options.orders]
    found: dict[tuple[str, bool], dict[str, float]] = {}
    for name, plain in runs:
        command = [sys.executable, __file__, "scale", "--one", name, "--pages", str(options.pages)]
        command += ["--plain"] if plain else []
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        run = found[name, plain] = json.loads(printed.splitlines()[-1])
        bar = 240 if name == "partial_pagerank" else 60
        verdict = "PASS" if run["cpu"] <= bar and run["mb"] <= 1000 else "FAIL"
        form = "plain" if plain else "compiled"
        print(f"{name:20} {form:9} {run['cpu']:6.1f} s (bar {bar}) {run['mb']:5.0f} MB: {verdict}",
              flush=True)  # fmt: skip
    both = found.get(("opic", True)), found.get(("opic", False))
    if both[0] and both[1]:
        ratio = both[0]["cpu"] / both[1]["cpu"]
        print(f"opic compiled: {ratio:.1f} times (bar 10): {'PASS' if ratio >= 10 else 'FAIL'}; "
              f"the same order: {both[0]['checksum'] == both[1]['checksum']}")  # fmt: skip
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["rival", "scale"])
    parser.add_argument("--graph", default="random", help="random, uk, or an npz file")
    parser.add_argument("--points", type=int, default=6)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--orders", nargs="*")
    parser.add_argument("--plain", action="store_true", help="without numba")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options)
        return 0
    return rival(options) if options.what == "rival" else scale(options)


if __name__ == "__main__":
    sys.exit(main())
