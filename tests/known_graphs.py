"""The public link graphs, and small random ones, for the tests of orderings."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from suites import graph_path

from crawlkit.order.link_graph import LinkGraph

# A page of each public graph from which most of it can be reached.
PUBLIC = {
    "harvard500-2003": "0",
    "hollins-2004": "0",
    "webkb-1997": "http://www.cs.cornell.edu/",
}


@cache
def public_graph(name: str, *, hosts: bool = False) -> LinkGraph:
    """Return a public graph, or skip the calling test."""
    nodes = pd.read_csv(graph_path(f"{name}.nodes.tsv.gz"), sep="\t", keep_default_na=False)
    edges = pd.read_csv(graph_path(f"{name}.edges.tsv.gz"), sep="\t")
    numbers, names = pd.factorize(nodes["host"])
    return LinkGraph.from_edges(
        edges["source"].to_numpy(),
        edges["target"].to_numpy(),
        len(nodes),
        labels=nodes["url"].tolist(),
        hosts=numbers if hosts else None,
        host_names=list(names) if hosts else None,
    )


def home(name: str) -> int:
    """Return the number of a page from which most of a public graph can be reached."""
    start = PUBLIC[name]
    return int(start) if start.isdigit() else list(public_graph(name).labels or ()).index(start)


@st.composite
def edge_lists(draw: st.DrawFn, most: int = 12) -> tuple[int, list[tuple[int, int]]]:
    """Draw a number of nodes and some links, with repeats and links of a page to itself."""
    nodes = draw(st.integers(1, most))
    ends = st.integers(0, nodes - 1)
    return nodes, draw(st.lists(st.tuples(ends, ends), max_size=4 * nodes))


@st.composite
def link_graphs(draw: st.DrawFn, most: int = 12, *, hosts: bool = False) -> LinkGraph:
    """Draw a small graph."""
    nodes, links = draw(edge_lists(most))
    numbers = draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes)) if hosts else None
    return LinkGraph.from_edges(
        np.array([source for source, _ in links], dtype=np.int64),
        np.array([target for _, target in links], dtype=np.int64),
        nodes,
        hosts=numbers,
        host_names=["a.example", "b.example", "c.example"] if hosts else None,
    )
