"""Which page next: partial PageRank, and any ordering on a crawl that ran in another one."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from crawls import crawl, page, serve, text
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit.errors import BadSetting
from crawlkit.order.graph_inputs import link_graph
from crawlkit.order.simulation import download_order

if TYPE_CHECKING:
    from pathlib import Path

WEB = nx.DiGraph(
    [("home", "news"), ("home", "shop"), ("news", "n1"), ("news", "n2"), ("news", "shop"),
     ("shop", "cart"), ("n1", "n2"), ("n2", "home"), ("cart", "home")]
)  # fmt: skip

graphs = st.integers(2, 9).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1, max_size=30
    )
)
orderings = st.sampled_from(
    ["breadth_first", "depth_first", "inlinks", "opic", "push_pagerank", "random"]
)


# -- partial PageRank ----------------------------------------------------------------------


def test_partial_pagerank_knows_the_links_of_downloaded_pages_only() -> None:
    ranks = ck.partial_pagerank(WEB, ["home", "news"])
    known = nx.DiGraph([(s, t) for s, t in WEB.edges if s in ("home", "news")])
    truth = nx.pagerank(known, tol=1e-14, max_iter=1000)
    assert list(ranks.index) == ["home", "news", "shop", "n1", "n2"]
    assert max(abs(ranks[name] - truth[name]) for name in known) < 1e-12
    assert (ranks.name, ranks.index.name, str(ranks.dtype)) == (
        "partial_pagerank", "page", "float64",
    )  # fmt: skip


def test_partial_pagerank_of_nothing_is_empty_and_of_all_is_pagerank() -> None:
    assert len(ck.partial_pagerank(WEB, [])) == 0
    assert len(ck.partial_pagerank(nx.DiGraph(), [])) == 0
    truth = nx.pagerank(WEB, tol=1e-14, max_iter=1000)
    ranks = ck.partial_pagerank(WEB, list(WEB))
    assert max(abs(ranks[name] - truth[name]) for name in WEB) < 1e-12
    for wrong in ({"damping": 1.0}, {"tol": 0.0}, {"downloaded": ["nowhere"]}):
        with pytest.raises(BadSetting):
            ck.partial_pagerank(WEB, **{"downloaded": ["home"], **wrong})


# -- graphs --------------------------------------------------------------------------------


@given(graphs, orderings, st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_the_first_page_is_the_one_that_the_replay_takes_next(
    links: Any, order: str, done: int
) -> None:
    graph = link_graph(tuple(zip(*links, strict=True)))
    taken = download_order(graph, ck.ORDERINGS[order](), [0]).tolist()
    done = 1 + done % len(taken)
    waiting = ck.rank_frontier(graph, order, taken[:done])
    linked = {target for node in taken[:done] for target in graph.out(node).tolist()}
    assert set(waiting.index) == linked - set(taken[:done])
    assert list(waiting.index[:1]) == taken[done : done + 1]


def test_partial_pagerank_ranks_as_the_one_shot_answer_says() -> None:
    done = ["home", "news"]
    waiting = ck.rank_frontier(WEB, ck.ORDERINGS["partial_pagerank"](k=1), done)
    ranks = ck.partial_pagerank(WEB, done)
    assert list(waiting.index) == ["n2", "n1", "shop"] or waiting.is_monotonic_decreasing
    for name, score in waiting.items():
        assert score == pytest.approx(ranks[name], abs=1e-8)
    pushed = ck.rank_frontier(WEB, ck.ORDERINGS["push_pagerank"](eps=1e-13), done)
    assert set(pushed.index) == set(waiting.index)


def test_a_page_that_no_link_leads_to_was_a_seed() -> None:
    waiting = ck.rank_frontier(WEB, "breadth_first", ["cart", "news"])
    assert waiting.to_dict() == {"home": -1.0, "n1": -1.0, "n2": -1.0, "shop": -1.0}
    assert ck.rank_frontier(WEB, "breadth_first", list(WEB)).empty


def test_a_crawls_graph_says_itself_what_was_downloaded() -> None:
    graph = WEB.copy()
    nx.set_node_attributes(graph, {name: name in ("home", "news") for name in graph}, "downloaded")
    assert set(ck.rank_frontier(graph, "opic").index) == {"shop", "n1", "n2"}
    with pytest.raises(BadSetting, match="downloaded: nothing says"):
        ck.rank_frontier(WEB, "opic")
    with pytest.raises(BadSetting, match="there is no ordering named 'best'"):
        ck.rank_frontier(WEB, "best", ["home"])
    with pytest.raises(BadSetting, match="not among the 6 pages"):
        ck.rank_frontier(WEB, "opic", ["nowhere"])


def test_the_largest_site_goes_first() -> None:
    links = pd.DataFrame(
        {
            "source": ["http://s.example/"] * 4,
            "target": [
                "http://a.example/1",
                "http://b.example/1",
                "http://b.example/2",
                "http://c.example/1",
            ],
        }
    )
    waiting = ck.rank_frontier(links, "larger_sites_first", ["http://s.example/"])
    assert [name[7] for name in waiting.index] == ["b", "b", "a", "c"]


# -- crawls --------------------------------------------------------------------------------

SITE = {
    "": page("a", "b", "gone", "old"),
    "a": page("a1", "a2", "b"),
    "b": page("b1", "a2"),
    "gone": text("no", 404),
    "old": text("moved", 301, headers=(("Location", "new"),)),
    "new": page("n1", "a2"),
    **{name: page("late") for name in ("a1", "a2", "b1", "n1")},
    "late": page(),
}


@pytest.fixture(scope="module")
def paused(tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("crawl") / "c"
    with serve(SITE) as site:
        return site.url, crawl(site.url + "t/", folder, max_pages=6, workers=1)


def test_a_paused_crawl_is_ranked_by_another_ordering(paused: Any) -> None:
    base, made = paused
    waiting = made.urls[made.urls["state"] == "pending"]
    for order in ("breadth_first", "depth_first", "inlinks", "opic", "partial_pagerank",
                  "push_pagerank", "larger_sites_first", "random"):  # fmt: skip
        assert set(ck.rank_frontier(made, order).index) == set(waiting["url"])
    inlinks = ck.rank_frontier(made, "inlinks")
    assert inlinks.index[0] == base + "t/a2"
    assert inlinks.iloc[0] == 3.0


def test_failures_and_redirects_count_as_in_the_live_crawl(paused: Any) -> None:
    base, made = paused
    asked = [url.removeprefix(base + "t/") for url in made.pages.sort_values("seq")["url"]]
    assert asked == ["", "a", "b", "gone", "old", "new"]
    # The home page gives 1/4 to each; the cash of "gone" goes back to the seed, which is done.
    scores = ck.rank_frontier(made, ck.ORDERINGS["opic"]())
    found = {url.removeprefix(base + "t/"): score for url, score in scores.items()}
    third, half = (1 / 4) / 3, (1 / 4 + 1 / 12) / 2
    assert found == pytest.approx(
        {"a2": third + half + 1 / 8, "b1": half, "a1": third, "n1": 1 / 8}
    )
    assert next(iter(found)) == "a2"


def test_a_finished_crawl_has_no_frontier_and_any_pages_may_be_given(
    paused: Any, tmp_path: Path
) -> None:
    base, made = paused
    with serve({"": page("x"), "x": page()}) as site:
        done = crawl(site.url + "t/", tmp_path / "c")
    assert ck.rank_frontier(done, "opic").empty
    first = ck.rank_frontier(made, "breadth_first", [base + "t/"])
    assert [url.removeprefix(base + "t/") for url in first.index] == ["a", "b", "gone", "new"]


def test_tables_alone_will_do(paused: Any) -> None:
    _, made = paused
    tables = types.SimpleNamespace(urls=made.urls, pages=made.pages, links=made.links)
    assert ck.rank_frontier(tables, "opic").equals(ck.rank_frontier(made, "opic"))
    with pytest.raises(BadSetting, match="no table 'urls'"):
        ck.rank_frontier(types.SimpleNamespace(links=made.links), "opic")
    assert np.isfinite(ck.rank_frontier(tables, "priority")).all()
