"""OPIC as an estimate: cash is conserved, and history converges to PageRank."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suites import graph_path

import crawlkit as ck
from crawlkit.errors import BadSetting
from crawlkit.order.base import FoundPage
from crawlkit.order.graph_inputs import link_graph
from crawlkit.order.pagerank import pagerank

SMALL = nx.DiGraph(
    [("a", "b"), ("a", "c"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "a")]
)
SMALL.add_node("alone")

graphs = st.integers(2, 7).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1, max_size=20
    )
)
options = st.fixed_dictionaries(
    {
        "initial": st.sampled_from(["seeds", "unit"]),
        "virtual_root": st.booleans(),
        "damping": st.sampled_from([0.5, 0.85]),
    }
)


def total(table: Any) -> float:
    return float(table["cash"].sum() + table.attrs["root_cash"])


@given(graphs, st.lists(st.integers(0, 100), max_size=40), options, st.data())
@settings(max_examples=100, deadline=None)
def test_cash_is_conserved_and_never_negative(
    links: Any, picks: list[int], chosen: dict[str, Any], data: st.DataObject
) -> None:
    graph = link_graph(tuple(zip(*links, strict=True)))
    downloads = [pick % graph.nodes for pick in picks]
    window = data.draw(st.sampled_from([None, 0.5, 3.0]))
    table = ck.opic(graph, downloads, window=window, **chosen)
    expected = len(table) if chosen["initial"] == "unit" else float(bool(downloads))
    assert abs(total(table) - expected) < 1e-9 * max(1, expected)
    assert (table["cash"] >= 0).all()
    assert (table["history"] >= 0).all()
    assert table["downloads"].sum() == len(downloads)
    if table["cash"].sum() > 0:
        assert abs(table["importance"].sum() - 1) < 1e-9


@given(graphs, st.lists(st.integers(0, 100), min_size=1, max_size=12, unique=True), options)
@settings(max_examples=60, deadline=None)
def test_cash_is_that_of_the_ordering(links: Any, picks: list[int], chosen: dict[str, Any]) -> None:
    graph = link_graph(tuple(zip(*links, strict=True)))
    downloads = list(dict.fromkeys(pick % graph.nodes for pick in picks))
    ordering, started = ck.ORDERINGS["opic"](**chosen), {downloads[0]}
    ordering.start(FoundPage(downloads[0], "", source="seed"))
    for page in downloads:
        out = graph.out(page).tolist()
        for found in (page, *out):
            if found not in started:
                started.add(found)
                ordering.start(FoundPage(found, ""))
        ordering.downloaded(FoundPage(page, ""), out)
    table = ck.opic(graph, downloads, **chosen)
    assert set(table.index) == started
    for page, cash in table["cash"].items():
        assert abs(cash - ordering.cash(page)) < 1e-9
    assert abs(table.attrs["root_cash"] - ordering.root_cash()) < 1e-9


@pytest.mark.parametrize(("policy", "constant"), [("greedy", 0.6), ("cyclic", 1.5)])
def test_the_error_falls_like_one_over_the_visits(policy: Any, constant: float) -> None:
    graph = ck.read_graph(graph_path("harvard500-2003.edges.tsv.gz"))
    truth = pagerank(graph)
    errors = []
    for visits in (4, 16, 64):
        table = ck.opic(graph, visits=visits, policy=policy, virtual_root=True, progress=False)
        errors.append(float(np.abs(table["importance"].to_numpy() - truth).sum()))
        assert errors[-1] * visits < constant
        assert abs(total(table) - 1) < 1e-9
    assert errors[2] < errors[0] / 8


def test_random_visits_converge_too() -> None:
    truth = np.array([nx.pagerank(SMALL, tol=1e-14, max_iter=1000)[page] for page in SMALL])
    table = ck.opic(SMALL, visits=3000, policy="random", virtual_root=True, random_seed=3)
    assert np.abs(table["importance"].to_numpy() - truth).sum() < 0.01
    again = ck.opic(SMALL, visits=3000, policy="random", virtual_root=True, random_seed=3)
    assert table.equals(again)


def test_seeds_make_it_personalized_pagerank() -> None:
    personal = {page: float(page == "b") for page in SMALL}
    truth = nx.pagerank(
        SMALL, personalization=personal, dangling=personal, tol=1e-14, max_iter=1000
    )
    table = ck.opic(SMALL, visits=2000, seeds="b", virtual_root=True)
    for page, importance in table["importance"].items():
        assert abs(importance - truth[page]) < 2e-3


def test_a_page_downloaded_again_gives_away_what_it_got_since() -> None:
    table = ck.opic(SMALL, ["a", "b", "c", "a"])
    # a: 1 -> b, c; b: 1/2 -> c; c: 1 -> a, d; a: 1/2 -> b, c
    assert table["cash"].to_dict() == {"a": 0.0, "b": 0.25, "c": 0.25, "d": 0.5}
    assert table["history"].to_dict() == {"a": 1.5, "b": 0.5, "c": 1.0, "d": 0.0}
    assert table["downloads"].to_dict() == {"a": 2, "b": 1, "c": 1, "d": 0}
    # (H + C) / (G + total) with G = 3 moved
    assert table["importance"].to_dict() == {"a": 0.375, "b": 0.1875, "c": 0.3125, "d": 0.125}


def test_a_window_forgets_what_is_long_ago() -> None:
    changing = nx.DiGraph([("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")])
    downloads = ["a", "b"] * 50 + ["c", "d"] * 50
    table = ck.opic(changing, downloads, seeds=["a", "c"], window=5)
    whole = ck.opic(changing, downloads, seeds=["a", "c"])
    assert whole["importance"]["c"] == pytest.approx(0.25, abs=0.02)
    assert table["importance"]["c"] > 0.4


def test_results_have_fixed_columns() -> None:
    for table in (ck.opic(SMALL, []), ck.opic(SMALL, ["a"]), ck.opic(nx.DiGraph(), visits=3)):
        types = {name: str(kind) for name, kind in table.dtypes.items()}
        assert types == {
            "cash": "float64", "history": "float64", "importance": "float64", "downloads": "int64",
        }  # fmt: skip
        assert table.index.name == "page"


def test_without_a_paying_root_unit_cash_of_dead_ends_stays_in_the_account() -> None:
    table = ck.opic(nx.DiGraph([("a", "b")]), ["a", "b"], initial="unit")
    assert table["cash"].to_dict() == {"a": 0.0, "b": 0.0}
    assert table.attrs["root_cash"] == 2.0
    assert ck.opic(nx.DiGraph([("a", "b")]), visits=50, initial="unit").attrs["root_cash"] == 2.0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "downloads"),
        ({"downloads": ["a"], "visits": 3}, "downloads"),
        ({"downloads": ["nowhere"]}, "downloads"),
        ({"visits": -1}, "visits"),
        ({"visits": float("nan")}, "visits"),
        ({"visits": 1, "policy": "lazy"}, "policy"),
        ({"visits": 1, "initial": "rich"}, "initial"),
        ({"visits": 1, "damping": 1.0}, "damping"),
        ({"visits": 1, "window": 0}, "window"),
        ({"visits": 1, "seeds": ["nowhere"]}, "seeds"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(BadSetting, match=f"^{named}:"):
        ck.opic(SMALL, **arguments)
