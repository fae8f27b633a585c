"""PageRank against independent solvers, the arrays it runs on, and scores at 12 digits."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from known_graphs import edge_lists, link_graphs, public_graph

import crawlkit as ck
from crawlkit.order.base import round_score
from crawlkit.order.growing_pagerank import GrowingPageRank
from crawlkit.order.kernels import round_score_fast
from crawlkit.order.link_graph import LinkGraph
from crawlkit.order.pagerank import pagerank
from crawlkit.order.rounding import round_scores

DAMPINGS = st.sampled_from([0.1, 0.5, 0.85, 0.99])


def solve(graph: LinkGraph, damping: float, teleport: Any = None) -> Any:
    """Solve the linear system of PageRank directly."""
    nodes = graph.nodes
    teleport = np.full(nodes, 1 / nodes) if teleport is None else np.array(teleport)
    teleport = teleport / teleport.sum()
    ways = np.zeros((nodes, nodes))
    for node in range(nodes):
        out = graph.out(node)
        if len(out):
            np.add.at(ways[:, node], out, 1 / len(out))
        else:
            ways[:, node] = teleport
    return np.linalg.solve(np.eye(nodes) - damping * ways, (1 - damping) * teleport)


def to_networkx(graph: LinkGraph) -> Any:
    made: Any = nx.DiGraph()
    made.add_nodes_from(range(graph.nodes))
    sources = np.repeat(np.arange(graph.nodes), graph.out_degree())
    made.add_edges_from(zip(sources.tolist(), graph.targets.tolist(), strict=True))
    return made


# -- PageRank ------------------------------------------------------------------------------


@given(link_graphs(), DAMPINGS)
@settings(max_examples=30)
def test_it_agrees_with_a_dense_solver(graph: LinkGraph, damping: float) -> None:
    found = pagerank(graph, damping=damping)
    assert np.abs(found - solve(graph, damping)).sum() < 1e-11
    assert found.sum() == pytest.approx(1, abs=1e-14)


@given(link_graphs(), st.data())
@settings(max_examples=30)
def test_a_personalization_is_where_the_rest_goes(graph: LinkGraph, data: st.DataObject) -> None:
    weight = st.floats(0, 5).filter(lambda number: number == 0 or number > 1e-3)
    weights = data.draw(st.lists(weight, min_size=graph.nodes, max_size=graph.nodes))
    weights[0] += 1.0
    found = pagerank(graph, personalization=weights)
    assert np.abs(found - solve(graph, 0.85, weights)).sum() < 1e-11


@pytest.mark.parametrize("name", ["harvard500-2003", "hollins-2004", "webkb-1997"])
def test_it_agrees_with_networkx_on_public_graphs(name: str) -> None:
    graph = public_graph(name)
    theirs = nx.pagerank(to_networkx(graph), tol=1e-14, max_iter=1000)
    ours = pagerank(graph)
    assert np.abs(ours - [theirs[node] for node in range(graph.nodes)]).sum() < 1e-9


@pytest.mark.parametrize("damping", [0.5, 0.85, 0.95])
def test_the_error_is_below_the_tolerance(damping: float) -> None:
    graph = public_graph("harvard500-2003")
    exact = solve(graph, damping)
    errors = []
    for tol in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10):
        errors.append(np.abs(pagerank(graph, damping=damping, tol=tol) - exact).sum())
        assert errors[-1] <= tol
    assert errors == sorted(errors, reverse=True)


def test_the_last_result_is_a_good_start() -> None:
    graph = public_graph("harvard500-2003")
    exact = pagerank(graph)
    again = pagerank(graph, start=exact, tol=1e-10, max_iterations=1)
    assert np.abs(again - exact).sum() < 1e-10
    with pytest.raises(ck.BadSetting, match="max_iterations: after 3 steps"):
        pagerank(graph, tol=1e-10, max_iterations=3)


def test_graphs_without_links_and_without_pages_have_a_pagerank() -> None:
    assert pagerank(LinkGraph.from_edges([], [])).tolist() == []
    assert pagerank(LinkGraph.from_edges([], [], 4)).tolist() == [0.25] * 4
    only_to_itself = LinkGraph.from_edges([0, 0], [0, 0], keep_self_links=True, keep_repeats=True)
    assert only_to_itself.links == 2
    assert pagerank(only_to_itself).tolist() == [1.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("damping", 0.0), ("damping", 1.0), ("damping", float("nan")), ("damping", "0.85"),
        ("tol", 0.0), ("tol", float("nan")), ("tol", -1.0), ("max_iterations", 0),
        ("start", [1.0]), ("start", [0.0, 0.0, 0.0]), ("personalization", [1.0, -1.0, 1.0]),
        ("personalization", [1.0, float("nan"), 1.0]), ("start", [1.0, float("inf"), 1.0]),
    ],
)  # fmt: skip
def test_an_argument_that_cannot_work_is_named(name: str, value: Any) -> None:
    graph = LinkGraph.from_edges([0, 1], [1, 2])
    options: dict[str, Any] = {name: value}
    with pytest.raises(ck.BadSetting, match=f"^{name}: "):
        pagerank(graph, **options)


# -- a graph that grows --------------------------------------------------------------------


@given(link_graphs(), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_a_growing_graph_has_the_pagerank_of_what_is_known(graph: LinkGraph, draw: Any) -> None:
    growing = GrowingPageRank(damping=0.85, tol=1e-12)
    pages = list(range(graph.nodes))
    draw.shuffle(pages)
    start = None
    for count, page in enumerate(pages, start=1):
        growing.add(page, graph.out(page).tolist())
        if len(graph.out(page)):
            growing.add(page, [page])  # only the first download counts
        if draw.random() < 0.5:
            added = pages[:count]
            sources = np.repeat(added, [len(graph.out(node)) for node in added])
            targets = np.concatenate([graph.out(node) for node in added])
            known = LinkGraph.from_edges(sources, targets, graph.nodes)
            start = growing.solve(graph.nodes, start)
            assert np.abs(start - solve(known, 0.85)).sum() < 1e-11


def test_a_growing_graph_may_be_empty_and_start_anywhere() -> None:
    growing = GrowingPageRank(damping=0.85, tol=1e-12)
    assert growing.solve(0).tolist() == []
    assert growing.solve(2).tolist() == [0.5, 0.5]
    growing.add(0, [1])
    assert growing.solve(2, [0.0, 0.0]) == pytest.approx(growing.solve(2, [0.1, 7.0]), abs=1e-12)


# -- link graphs ---------------------------------------------------------------------------


@given(edge_lists(), st.booleans(), st.booleans())
@settings(max_examples=30)
def test_links_stay_in_the_order_of_the_page(
    edges: tuple[int, list[tuple[int, int]]], selves: bool, repeats: bool
) -> None:
    nodes, links = edges
    graph = LinkGraph.from_edges(
        [source for source, _ in links],
        [target for _, target in links],
        nodes,
        keep_self_links=selves,
        keep_repeats=repeats,
    )
    for node in range(nodes):
        out = [target for source, target in links if source == node]
        if not selves:
            out = [target for target in out if target != node]
        assert graph.out(node).tolist() == (out if repeats else list(dict.fromkeys(out)))
    assert graph.nodes == nodes
    assert graph.links == graph.out_degree().sum() == graph.in_degree().sum()


@given(link_graphs(), st.data())
@settings(max_examples=30)
def test_reachable_pages_are_those_that_links_lead_to(graph: LinkGraph, data: Any) -> None:
    seeds = data.draw(st.lists(st.integers(0, graph.nodes - 1), max_size=3))
    expected = set(seeds)
    for seed in seeds:
        expected |= nx.descendants(to_networkx(graph), seed)
    assert graph.reachable(np.array(seeds, dtype=np.int64)).tolist() == sorted(expected)


@pytest.mark.parametrize(
    ("name", "given_edges", "options"),
    [
        ("sources", ([0], [1, 2]), {}),
        ("sources", ([-1], [1]), {}),
        ("targets", ([1], [-1]), {}),
        ("targets", ([1], [0.5]), {}),
        ("sources", ([[1]], [1]), {}),
        ("sources", (["a"], [1]), {}),
        ("nodes", ([0], [1]), {"nodes": 1}),
        ("labels", ([0], [1]), {"labels": ["a"], "nodes": 2}),
        ("hosts", ([0], [1]), {"hosts": [0]}),
    ],
)
def test_edges_that_make_no_graph_are_refused(name: str, given_edges: Any, options: Any) -> None:
    with pytest.raises(ck.BadSetting, match=f"^{name}: "):
        LinkGraph.from_edges(*given_edges, **options)


def test_a_million_pages_without_links_are_a_graph() -> None:
    graph = LinkGraph.from_edges([], [], 1_000_000)
    assert graph.nodes == 1_000_000
    assert graph.reachable([7]).tolist() == [7]
    assert pagerank(graph).sum() == pytest.approx(1)


# -- scores at 12 digits -------------------------------------------------------------------

SCORES = st.one_of(
    st.floats(allow_nan=False),
    st.floats(1e-13, 1e13),
    st.integers(10**11, 10**12).map(lambda digits: (digits + 0.5) / 64),  # halfway, exactly
    st.tuples(st.integers(1, 999), st.integers(-25, 20)).map(
        lambda pair: pair[0] * 10.0 ** pair[1]
    ),
)


@given(st.lists(SCORES, min_size=1, max_size=20))
@settings(max_examples=100)
def test_scores_are_rounded_alike_one_by_one_and_together(scores: list[float]) -> None:
    assert round_scores(scores).tolist() == [round_score(score) for score in scores]


@given(st.floats(1e-250, 9e10), st.integers(-3, 3))
@example(1e-15, -1)
@settings(max_examples=100)
def test_compiled_scores_are_ordered_like_rounded_ones(score: float, steps: int) -> None:
    other = score * (1 + steps * 4e-13)
    one, two = round_score(score), round_score(other)
    fast_one, fast_two = round_score_fast(score), round_score_fast(other)
    assert (one < two, one == two) == (fast_one < fast_two, fast_one == fast_two)
