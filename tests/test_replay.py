"""Replays: the laws of the orders on known graphs, politeness in ticks, and what is refused."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from crawls import crawl, page, serve
from hypothesis import given, settings
from hypothesis import strategies as st
from known_graphs import PUBLIC, home, link_graphs, public_graph

import crawlkit as ck
from crawlkit.order.base import FoundPage, Ordering
from crawlkit.order.kernels import HAS_NUMBA
from crawlkit.order.link_graph import LinkGraph
from crawlkit.order.pagerank import pagerank
from crawlkit.order.registry import make_ordering
from crawlkit.order.simulation import download_order

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ORDERS: dict[str, Any] = {
    **{name: (lambda name=name: make_ordering(name, 3)) for name in ck.ORDERINGS},
    "partial k=2": lambda: ck.PartialPageRank(2),
    "partial batch": lambda: ck.PartialPageRank(3, provisional=False),
    "opic unit": lambda: ck.Opic("unit", virtual_root=True),
    "sites by domain": lambda: ck.LargerSitesFirst("domain"),
}

SIZES = pytest.mark.parametrize("name", PUBLIC)


def check_order(graph: LinkGraph, order: Any, seeds: list[int]) -> None:
    """Check that an order is one of the reachable pages, each after a page that links to it."""
    assert sorted(order.tolist()) == graph.reachable(seeds).tolist()
    found = set(seeds)
    for node in order.tolist():
        assert node in found
        found.update(graph.out(node).tolist())


# -- laws ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ORDERS)
@given(link_graphs(hosts=True), st.data())
@settings(max_examples=8)
def test_each_page_comes_once_and_after_a_page_that_links_to_it(
    name: str, graph: LinkGraph, data: st.DataObject
) -> None:
    some = st.integers(0, graph.nodes - 1)
    seeds = data.draw(st.lists(some, min_size=1, max_size=3, unique=True))
    rest, fetchers = data.draw(st.integers(0, 4)), data.draw(st.integers(1, 3))
    values = np.arange(graph.nodes, dtype=float)
    plain = LinkGraph(graph.indptr, graph.targets)
    for each in (graph, plain):
        order = download_order(
            each, ORDERS[name](), seeds, rest=rest, fetchers=fetchers, values=values
        )
        check_order(each, order, seeds)


@SIZES
@pytest.mark.parametrize("order", [name for name in ORDERS if "partial" not in name])
def test_public_graphs_are_crawled_whole_in_every_order(name: str, order: str) -> None:
    graph = public_graph(name)
    found = download_order(graph, ORDERS[order](), [home(name)], values=pagerank(graph, tol=1e-6))
    check_order(graph, found, [home(name)])


@SIZES
def test_partial_pagerank_without_a_computation_is_opic(name: str) -> None:
    graph = public_graph(name)
    seeds = [home(name)]
    partial = download_order(graph, ck.PartialPageRank(graph.nodes), seeds)
    assert partial.tolist() == download_order(graph, ck.Opic(), seeds).tolist()


class Watched(Ordering):
    """Goes by a push order, and compares each choice with a partial PageRank of K = 1."""

    name = "watched"

    def __init__(self, eps: float) -> None:
        self.push = ck.PushPageRank(eps)
        self.exact = ck.PartialPageRank(1, tol=1e-14)
        self.scores: dict[int, float] = {}
        self.missed: list[float] = []

    def start(self, page: FoundPage) -> float:
        self.exact.start(page)
        return self.push.start(page)

    def downloaded(self, page: FoundPage, links: Any) -> Any:
        if self.scores:
            self.missed.append(max(self.scores.values()) - self.scores[page.id])
        self.exact.downloaded(page, links)
        ids, scores = self.exact.rescore()  # type: ignore[misc]
        self.scores = dict(zip(ids.tolist(), scores.tolist(), strict=True))
        MISSED[:] = self.missed
        return self.push.downloaded(page, links)


MISSED: list[float] = []


def test_pushing_everything_chooses_as_partial_pagerank_after_every_download() -> None:
    graph = public_graph("harvard500-2003")
    order = download_order(graph, Watched(1e-10), [0], max_pages=120)
    assert len(order) == 120
    assert len(MISSED) == 119
    assert max(MISSED) < 1e-9
    download_order(graph, Watched(5.0), [0], max_pages=120)
    assert max(MISSED) > 1e-6  # pushing little does not


@given(link_graphs(), st.data())
def test_the_omniscient_order_is_never_above_the_bound(graph: LinkGraph, data: Any) -> None:
    worth = st.lists(st.floats(0, 100), min_size=graph.nodes, max_size=graph.nodes)
    values = np.array(data.draw(worth))
    seed = data.draw(st.integers(0, graph.nodes - 1))
    order = download_order(graph, ck.Omniscient(), [seed], values=values)
    best = np.sort(values[graph.reachable([seed])])[::-1]
    assert (np.cumsum(values[order]) <= np.cumsum(best) * (1 + 1e-12)).all()
    # It is greedy: no page that was known at a step was worth more than the one taken.
    known = {seed}
    for node in order.tolist():
        assert values[node] >= max(values[one] for one in known) * (1 - 1e-11)
        known.remove(node)
        known |= set(graph.out(node).tolist()) - set(order[: order.tolist().index(node) + 1])


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
@SIZES
def test_compiled_orders_are_the_same(name: str) -> None:
    graph, seeds = public_graph(name), [home(name)]
    for ordering in (
        ck.Opic(), ck.Opic("unit"), ck.Opic("unit", virtual_root=True), ck.Opic(virtual_root=True),
        ck.PushPageRank(), ck.PushPageRank(0.05, damping=0.6),
    ):  # fmt: skip
        plain = download_order(graph, ordering, seeds, compiled=False)
        assert download_order(graph, ordering, seeds, compiled=True).tolist() == plain.tolist()
    several = [home(name), 5, 3]
    plain = download_order(graph, ck.PushPageRank(), several, compiled=False, max_pages=77)
    fast = download_order(graph, ck.PushPageRank(), several, compiled=True, max_pages=77)
    assert fast.tolist() == plain.tolist()


def test_scores_given_as_arrays_and_as_a_mapping_mean_the_same() -> None:
    class Shuffled(Ordering):
        """Gives some waiting pages new scores after each download, many of them equal."""

        name = "shuffled"

        def __init__(self, *, arrays: bool) -> None:
            self.arrays, self.known, self.draw = arrays, 0, random.Random(3)
            self.rescore_every = 7

        def start(self, page: FoundPage) -> float:
            self.known += 1
            return self.draw.randrange(10)

        def downloaded(self, page: FoundPage, links: Any) -> Any:
            return self.give(self.draw.sample(range(self.known), min(3, self.known)))

        def rescore(self) -> Any:
            return self.give(range(self.draw.choice([0, 0, self.known // 2]), self.known))

        def give(self, ids: Any) -> Any:
            scores = {number: self.draw.randrange(20) / 7 for number in ids}
            if not self.arrays:
                return scores
            return np.array(list(scores), dtype=np.int64), np.array(list(scores.values()))

    for hosts in (False, True):
        graph = public_graph("harvard500-2003", hosts=hosts)
        one = download_order(graph, Shuffled(arrays=False), [0])
        assert one.tolist() == download_order(graph, Shuffled(arrays=True), [0]).tolist()


# -- hosts and rests -----------------------------------------------------------------------


def star(leaves: int) -> LinkGraph:
    """Return a home page on host a, and leaves on hosts b, b, c, c, b, b, ..."""
    hosts = [0, *(1 + (leaf // 2) % 2 for leaf in range(leaves))]
    return LinkGraph.from_edges(
        [0] * leaves, range(1, leaves + 1), leaves + 1, hosts=hosts, host_names=["a", "b", "c"]
    )


def test_equal_scores_go_to_the_host_that_has_waited_longest() -> None:
    assert download_order(star(6), ck.BreadthFirst(), [0]).tolist() == [0, 1, 3, 2, 4, 5, 6]
    one_host = LinkGraph(star(6).indptr, star(6).targets)
    assert download_order(one_host, ck.BreadthFirst(), [0]).tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_a_host_rests_between_two_downloads() -> None:
    graph = public_graph("webkb-1997", hosts=True)
    order = download_order(graph, ck.LargerSitesFirst(), [home("webkb-1997")], rest=3)
    assert graph.hosts is not None
    hosts = graph.hosts[order].tolist()
    # While three other hosts have something, none is asked twice in four downloads.
    spread = [len(set(hosts[at : at + 4])) for at in range(len(hosts) - 4)]
    assert np.mean(np.array(spread[200:1500]) == 4) > 0.9
    unrested = graph.hosts[download_order(graph, ck.LargerSitesFirst(), [home("webkb-1997")])]
    assert (unrested[1:] == unrested[:-1]).mean() > 0.8


def test_all_fetchers_of_a_tick_are_sent_before_the_first_comes_back() -> None:
    graph = LinkGraph.from_edges([0, 0, 1, 3], [1, 2, 3, 4])
    deep = ck.DepthFirst()
    assert download_order(graph, deep, [0]).tolist() == [0, 1, 3, 4, 2]
    assert download_order(graph, deep, [0], fetchers=2).tolist() == [0, 1, 2, 3, 4]
    # On one host that rests, only one is under way at a time.
    assert download_order(graph, deep, [0], fetchers=2, rest=1).tolist() == [0, 1, 3, 4, 2]


def test_the_best_host_goes_first_whatever_its_page_scores() -> None:
    class Hosts(Ordering):
        name = "hosts"

        def __init__(self) -> None:
            self.ranks = {"a": 0.0, "b": 1.0, "c": 2.0}

        def start(self, page: FoundPage) -> float:
            return page.id

        def downloaded(self, page: FoundPage, links: Any) -> dict[int, float]:
            if page.id == 4:
                self.ranks = {"a": 0.0, "b": 3.0, "c": 2.0}  # and b rises above c
            return {}

        def host_score(self, host: str) -> float:
            return self.ranks[host]

    assert download_order(star(6), Hosts(), [0]).tolist() == [0, 4, 6, 5, 2, 1, 3]


# -- the table -----------------------------------------------------------------------------


def test_the_table_counts_steps_values_and_shares() -> None:
    graph = nx.DiGraph([("a", "b"), ("a", "c"), ("c", "d"), ("x", "a")])
    table = ck.replay(graph, "breadth_first", ["a"], value={"a": 1, "b": 2, "c": 3, "x": 9})
    assert table.columns.tolist() == ["step", "page", "value", "value_share", "page_share"]
    assert [str(dtype) for dtype in table.dtypes] == ["int64", "str", *["float64"] * 3]
    assert table["step"].tolist() == [1, 2, 3, 4]
    assert table["page"].tolist() == ["a", "b", "c", "d"]
    assert table["value_share"].tolist() == pytest.approx([1 / 6, 3 / 6, 1, 1])
    assert table["page_share"].tolist() == [0.25, 0.5, 0.75, 1.0]
    half = ck.replay(graph, "breadth_first", "a", value={"a": 1, "b": 2, "c": 3}, max_pages=2)
    pd.testing.assert_frame_equal(half, table.head(2))


def test_pages_are_worth_what_the_caller_says() -> None:
    graph = nx.DiGraph([("a", "b"), ("a", "c"), ("b", "c")])
    nx.set_node_attributes(graph, {"a": 5, "c": 2.5}, "words")

    def values(**options: Any) -> list[float]:
        return list(ck.replay(graph, "breadth_first", "a", **options)["value"])

    links = LinkGraph.from_edges([0, 0, 1], [1, 2, 2])
    assert values() == pagerank(links).tolist()
    assert values(damping=0.5) == pagerank(links, damping=0.5).tolist()
    assert values(value="inlinks") == [0, 1, 2]
    assert values(value="words") == [5, 0, 2.5]
    assert values(value=[3, 2, 1]) == values(value=np.array([3, 2, 1])) == [3, 2, 1]
    assert values(value=pd.Series({"c": 7, "a": 8})) == [8, 0, 7]
    assert values(value=ord) == [97, 98, 99]


def test_a_column_of_a_crawls_pages_is_a_value() -> None:
    pages = pd.DataFrame({"url": ["http://a.example/", "http://a.example/b"], "words": [5, None]})
    links = pd.DataFrame({"source": ["http://a.example/"], "target": ["http://a.example/b"]})
    table = ck.replay((pages, links), "breadth_first", "http://a.example/", value="words")
    assert table["value"].tolist() == [5.0, 0.0]


def test_the_random_seed_draws_another_order() -> None:
    graph = public_graph("harvard500-2003")
    draws = [ck.replay(graph, "random", 0, random_seed=seed)["page"].tolist() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_an_object_can_be_replayed_again() -> None:
    graph = public_graph("harvard500-2003")
    order = ck.PartialPageRank(50)
    pd.testing.assert_frame_equal(ck.replay(graph, order, 0), ck.replay(graph, order, 0))


# -- what is empty, and what is refused ----------------------------------------------------


def test_nothing_is_a_table_too() -> None:
    empty = ck.replay(nx.DiGraph(), "breadth_first", [])
    assert empty.empty
    assert empty["step"].dtype == "int64"
    alone = nx.DiGraph([("a", "a")])
    table = ck.replay(alone, "opic", "a", value="inlinks")
    assert table["page"].tolist() == ["a"]
    assert math.isnan(table["value_share"].iloc[0])
    assert ck.replay(alone, "partial_pagerank", "a")["value_share"].tolist() == [1.0]


@pytest.mark.parametrize("order", ["breadth_first", "partial_pagerank", "opic", "push_pagerank"])
def test_a_million_pages_without_links_leave_the_seed_alone(order: str) -> None:
    graph = LinkGraph.from_edges([], [], 1_000_000)
    table = ck.replay(graph, order, 7)
    assert table["page"].tolist() == [7]
    assert table["value_share"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("seeds", {"seeds": ["a", "nowhere"]}),
        ("seeds", {"seeds": []}),
        ("order", {"order": "best"}),
        ("rest", {"rest": -1}),
        ("rest", {"rest": 0.5}),
        ("fetchers", {"fetchers": 0}),
        ("max_pages", {"max_pages": -1}),
        ("damping", {"damping": 1.0}),
        ("value", {"value": "beauty"}),
        ("value", {"value": [1.0, math.nan]}),
        ("value", {"value": [1.0]}),
        ("value", {"value": [1.0, -1.0]}),
        ("value", {"value": lambda page: None}),
        ("random_seed", {"order": "random", "random_seed": -1}),
    ],
)
def test_an_argument_that_cannot_work_is_named(name: str, options: Any) -> None:
    call = {"order": "breadth_first", "seeds": "a", **options}
    with pytest.raises(ck.BadSetting, match=f"^{name}: ") as raised:
        ck.replay(nx.DiGraph([("a", "b")]), call.pop("order"), call.pop("seeds"), **call)
    if options.get("seeds"):
        assert "nowhere" in str(raised.value)


@pytest.mark.parametrize("score", [math.nan, None, "high"])
@pytest.mark.parametrize("hosts", [False, True])
def test_a_score_that_is_no_number_is_the_orderings_fault(score: Any, hosts: bool) -> None:
    class Early(Ordering):
        def start(self, page: FoundPage) -> float:
            return score  # type: ignore[no-any-return]

    class Late(Ordering):
        def start(self, page: FoundPage) -> float:
            return 0

        def downloaded(self, page: FoundPage, links: Any) -> dict[int, float]:
            return dict.fromkeys(links, score)

    graph = star(3) if hosts else LinkGraph.from_edges([0], [1])
    for ordering in (Early(), Late()):
        with pytest.raises(ck.BadSetting, match="the ordering gave the score"):
            download_order(graph, ordering, [0])


# -- live equals replay --------------------------------------------------------------------


class LatestLinked(ck.Ordering):
    """An ordering of a user's own, in ten lines."""

    name = "latest_linked"
    downloads = 0

    def start(self, page: Any) -> float:
        return self.downloads

    def downloaded(self, page: Any, links: Any) -> Any:
        self.downloads += 1
        return dict.fromkeys(links, self.downloads)


def two_sites() -> Iterator[str]:
    """Serve two hosts with 25 pages each, linked at random, and yield where to begin."""
    draw = random.Random(11)

    def pages(others: list[str]) -> dict[str, Any]:
        names = ["", *(f"p{number}" for number in range(1, 25))]
        made = {
            name: page(*draw.choices(names[1:], k=4), *draw.sample(others, min(1, len(others))))
            for name in names
        }
        made[""] = page(*names[1:9], *others[:2])
        return made

    with serve(pages([])) as second:
        there = [f"{second.url}t/p{number}" for number in range(1, 25)]
        with serve(pages(there)) as first:
            yield first.url + "t/"


@pytest.mark.parametrize("order", ["depth_first", "larger_sites_first", "opic", "own", "k"])
def test_a_replay_goes_as_the_crawl_went(order: str, tmp_path: Path) -> None:
    given = {"own": LatestLinked(), "k": ck.PartialPageRank(7)}.get(order, order)
    for seed in two_sites():
        made = crawl(
            seed, tmp_path / "c", order=given, workers=1, scope="any", max_pages=None, random_seed=5
        )
    fetches = made.fetches.sort_values("seq")
    went = fetches["url"][~fetches["url"].str.endswith("robots.txt")].tolist()
    assert len(went) > 40
    assert len({url.split("/")[2] for url in went}) == 2
    replayed = ck.replay(made, given, went[0], random_seed=5, value="inlinks")
    assert replayed["page"].tolist() == went
