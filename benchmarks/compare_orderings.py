"""Orderings on real link graphs: which gathers PageRank soonest, with and without host rest.

Replays each ordering from many seed pages of the largest strongly connected part of a graph (from
all of them where there are fewer), and prints the mean area under the curve of gathered PageRank,
with the paired difference to breadth first on the same seeds and its 95 % interval.

Without rest there are no hosts: one queue, as in textbooks. ``larger_sites_first`` has no meaning
without hosts, so it runs with them, and breadth first once more with hosts that take turns. With
rest, every ordering runs under the same rule: a host waits for some downloads between its own.

    python benchmarks/compare_orderings.py --graphs ../shared/graphs
    python benchmarks/compare_orderings.py --graphs ../shared/graphs --only harvard500 --seeds 20
    python benchmarks/compare_orderings.py --graphs ../shared/graphs --speed

Runs go to ``out/compare_orderings-*.csv`` as they come, and are not done again: a call that was
interrupted goes on, and one with more seeds adds to it. Two hundred seeds on a graph of 6,000 pages
take about six minutes of CPU a setting.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

import crawlkit as ck
from crawlkit.order.comparison_measures import paired_interval
from crawlkit.order.graph_files import read_graph
from crawlkit.order.graph_inputs import link_graph

CHUNK = 10  # seeds between two writes
OUT = Path(__file__).parent / "out"
FILES = {
    "harvard500": "harvard500-2003.edges.tsv.gz",
    "hollins": "hollins-2004.edges.tsv.gz",
    "webkb": "webkb-1997.edges.tsv.gz",
}
MADE: dict[str, Any] = dict(ck.ORDERINGS)
ORDERS: dict[str, Any] = {
    "breadth_first": "breadth_first",
    "depth_first": "depth_first",
    "random": "random",
    "inlinks": "inlinks",
    "opic, cash on seeds": MADE["opic"]("seeds"),
    "opic, a unit a page": MADE["opic"]("unit"),
    "partial_pagerank, K=100": MADE["partial_pagerank"](k=100),
    "push_pagerank": "push_pagerank",
    "larger_sites_first": "larger_sites_first",
}
TURNS = {
    "breadth_first, hosts in turn": "breadth_first",
    "larger_sites_first": ORDERS["larger_sites_first"],
}
SHOWN = ("auc", "auc_sd", "gain", "low", "high", "wins", "half", "hot_10", "hot_25", "tau")


def folder_of(url: str) -> str:
    """Return host and first two folders: sites inside a graph that has two hosts only."""
    parts = urlsplit(url)
    return "/".join([parts.netloc, *parts.path.split("/")[1:-1][:2]])


def seed_pages(graph: ck.LinkGraph, most: int) -> list[int]:
    """Return pages of the largest strongly connected part, in an order drawn once for all."""
    ways = csr_array((np.ones(graph.links), graph.targets, graph.indptr), (graph.nodes,) * 2)
    _, part = connected_components(ways, connection="strong")
    largest = np.flatnonzero(part == np.bincount(part).argmax())
    chosen: list[int] = np.random.default_rng(0).permutation(largest)[:most].tolist()
    return chosen


def some_runs(name: str, graph: ck.LinkGraph, seeds: list[int], rest: int) -> pd.DataFrame:
    """Return one row a seed page and ordering, with or without rest."""
    hosted = link_graph(graph, hosts=folder_of) if name == "hollins" else graph

    def runs_of(part: ck.LinkGraph, orders: dict[str, Any]) -> pd.DataFrame:
        compared = ck.compare_orderings(
            part,
            orders,
            [[seed] for seed in seeds],
            rest=rest,
            random_seed=seeds[0],
            progress=False,
        )
        return compared.runs.assign(run=[seeds[run] for run in compared.runs["run"]])

    if rest:
        return runs_of(hosted, ORDERS)
    alone = {label: order for label, order in ORDERS.items() if label not in TURNS}
    bare = runs_of(dataclasses.replace(graph, hosts=None, host_names=[]), alone)
    turns = runs_of(hosted, TURNS)
    return pd.concat([bare, turns[turns["ordering"].isin(list(TURNS))]], ignore_index=True)


def all_runs(name: str, graph: ck.LinkGraph, count: int, rest: int) -> pd.DataFrame:
    """Return the runs of one graph and setting; those of an earlier call are not done again."""
    kept = OUT / f"compare_orderings-{name}-{rest}.csv"
    done = pd.read_csv(kept) if kept.exists() else pd.DataFrame({"run": []})
    wanted = seed_pages(graph, count)
    left = [seed for seed in wanted if seed not in set(done["run"])]
    for start in range(0, len(left), CHUNK):
        more = some_runs(name, graph, left[start : start + CHUNK], rest)
        done = more if not len(done) else pd.concat([done, more], ignore_index=True)
        done.to_csv(kept.with_suffix(".new"), index=False)
        kept.with_suffix(".new").replace(kept)
    return done[done["run"].isin(wanted)]


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return means and paired differences by ordering."""
    base = runs[runs["ordering"] == "breadth_first"].set_index("run")["auc"]
    rows = []
    for label in runs["ordering"].unique():
        own = runs[runs["ordering"] == label].set_index("run")
        gains = (own["auc"] - base).to_numpy()
        gain, low, high = paired_interval(gains)
        figures = own[["auc", "half", "hot_10", "hot_25", "tau"]].mean().to_dict()
        rows.append(
            {
                "ordering": label, "seeds": len(own), "auc_sd": own["auc"].std(), "gain": gain,
                "low": low, "high": high, "wins": float((gains > 1e-12).mean()), **figures,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)[["ordering", "seeds", *SHOWN]]


def markdown(frame: pd.DataFrame) -> str:
    """Return the table for a document."""
    lines = [
        "| ordering | AUC | sd | difference to breadth first (95 %) | wins | half at | hot@10 "
        "| hot@25 | tau |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for row in frame.to_dict("records"):
        gain = f"{row['gain']:+.4f} ({row['low']:+.4f} to {row['high']:+.4f})"
        wins = f"{row['wins']:.0%}"
        if row["ordering"] == "breadth_first":
            gain, wins = "", ""
        tau = "" if pd.isna(row["tau"]) else f"{row['tau']:.2f}"
        lines.append(
            f"| {row['ordering']} | {row['auc']:.4f} | {row['auc_sd']:.4f} | {gain} | {wins} "
            f"| {row['half']:.0%} | {row['hot_10']:.0%} | {row['hot_25']:.0%} | {tau} |"
        )
    return "\n".join(lines)


def speed(graphs: Path) -> None:
    """Time eight orderings over twenty seeds on the graph of 100,000 pages."""
    graph = read_graph(graphs / "uk-2007-05@100000.csr.npz")
    orders: list[Any] = [
        "breadth_first", "depth_first", "random", "inlinks", "opic", MADE["opic"]("unit"),
        "partial_pagerank", "push_pagerank",
    ]  # fmt: skip
    began = time.perf_counter()
    compared = ck.compare_orderings(graph, orders, runs=20)
    seconds = time.perf_counter() - began
    print(compared.table.round(4).to_string())
    verdict = "PASS" if seconds < 300 else "FAIL"
    print(f"{verdict}: 8 orderings x 20 runs in {seconds:.0f} s (bar: 300 s on 2 processors)")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graphs", type=Path, required=True, help="folder of the link graphs")
    parser.add_argument("--only", choices=FILES, help="one graph instead of all")
    parser.add_argument("--seeds", type=int, default=200, help="seed pages (200)")
    parser.add_argument("--rest", type=int, nargs="+", default=[0, 50], help="settings (0 50)")
    parser.add_argument("--speed", action="store_true", help="time the large graph instead")
    options = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    if options.speed:
        speed(options.graphs)
        return
    for name in [options.only] if options.only else FILES:
        graph = read_graph(options.graphs / FILES[name])
        for rest in options.rest:
            frame = summary(all_runs(name, graph, options.seeds, rest))
            print(
                f"\n{name}, rest {rest}, {frame['seeds'].max()} seed pages\n\n{markdown(frame)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
