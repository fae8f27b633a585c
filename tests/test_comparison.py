"""Orderings side by side: figures, intervals, bounds, processes, interrupts, the command line."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from own_ordering import LongestFirst
from scipy.stats import kendalltau
from suites import graph_path

import crawlkit as ck
from crawlkit.cli import main
from crawlkit.errors import BadSetting
from crawlkit.order import comparison_helpers, comparison_runs
from crawlkit.order.comparison_measures import measure_order, paired_interval, rank_agreement
from crawlkit.order.graph_inputs import link_graph
from crawlkit.order.pagerank import pagerank

LINKS = [
    ("h", "a"), ("h", "b"), ("h", "c"), ("a", "d"), ("b", "d"), ("d", "h"), ("c", "e"), ("e", "f"),
    ("f", "g"), ("g", "h"), ("e", "d"), ("b", "h"),
]  # fmt: skip
WEB = nx.DiGraph(LINKS)

graphs = st.integers(2, 12).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1, max_size=40
    )
)


def compare(graph: Any, *arguments: Any, **options: Any) -> ck.Comparison:
    return ck.compare_orderings(graph, *arguments, progress=False, **options)


@pytest.fixture(scope="module")
def harvard() -> Any:
    return ck.read_graph(graph_path("harvard500-2003.edges.tsv.gz"))


# -- measures ------------------------------------------------------------------------------


def test_the_figures_of_an_order_are_those_worked_out_by_hand() -> None:
    values = np.array([4.0, 3.0, 2.0, 1.0, 0.0, 99.0])
    order = np.array([3, 0, 1, 2, 4])
    figures, curve = measure_order(order, values, np.arange(5))
    shares = [0, 0.1, 0.5, 0.8, 1.0, 1.0]
    area = sum((a + b) / 2 for a, b in pairwise(shares)) / 5
    assert figures["auc"] == pytest.approx(area)
    assert figures["half"] == 0.4
    # One page is hot, and it is the second.
    assert [figures[f"hot_{percent}"] for percent in (5, 10, 25, 50)] == [0, 0, 0, 1]
    assert curve[[0, 40, 80, 200]].tolist() == pytest.approx([0, 0.1, 0.5, 1.0])


def test_what_lies_beyond_the_last_download_is_unknown() -> None:
    figures, curve = measure_order(np.array([1, 0]), np.ones(10), np.arange(10))
    assert figures["auc"] == pytest.approx(0.1)
    assert math.isnan(figures["half"])
    assert [math.isnan(figures[f"hot_{p}"]) for p in (5, 10, 25, 50)] == [False, False, False, True]
    assert np.isnan(curve[41:]).all()
    assert not np.isnan(curve[:41]).any()


def test_worthless_pages_have_no_curve() -> None:
    figures, curve = measure_order(np.array([0, 1]), np.zeros(2), np.arange(2))
    assert math.isnan(figures["auc"])
    assert np.isnan(curve).all()


def test_the_interval_is_that_of_students_t() -> None:
    from scipy.stats import t

    gains = np.array([0.01, 0.03, -0.01, 0.02])
    mean, low, high = paired_interval(gains)
    error = gains.std(ddof=1) / 2
    assert (low, high) == pytest.approx(t.interval(0.95, 3, loc=gains.mean(), scale=error))
    assert mean == pytest.approx(0.0125)
    assert paired_interval(gains[:1])[0] == 0.01
    assert math.isnan(paired_interval(gains[:1])[1])


def test_tau_compares_pagerank_of_the_crawled_part_with_the_true_one(harvard: Any) -> None:
    crawled = np.arange(40, 160)
    truth = pagerank(harvard)
    whole = nx.DiGraph()
    whole.add_nodes_from(range(harvard.nodes))
    whole.add_edges_from((n, t) for n in range(harvard.nodes) for t in harvard.out(n).tolist())
    part = nx.pagerank(whole.subgraph(crawled.tolist()), tol=1e-14, max_iter=1000)
    ranks = [float(f"{part[page]:.10g}") for page in crawled.tolist()]
    expected = kendalltau(ranks, [float(f"{rank:.10g}") for rank in truth[crawled]]).statistic
    assert rank_agreement(harvard, crawled, truth) == pytest.approx(expected, abs=1e-3)


# -- laws ----------------------------------------------------------------------------------


@given(graphs, st.sampled_from([0, 1, 3]), st.sampled_from([None, 3]), st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_nothing_is_above_the_bound(links: Any, rest: int, most: int | None, seed: int) -> None:
    graph = link_graph(tuple(zip(*links, strict=True)))
    values = np.random.default_rng(seed).uniform(0.1, 1.0, graph.nodes)
    orders = ["depth_first", "opic", "push_pagerank", "larger_sites_first"]
    hosts = [str(page % 3) for page in range(graph.nodes)]
    found = compare(graph, orders, value=values, rest=rest, max_pages=most, hosts=hosts)
    heights = {
        name: rows["value_share"].to_numpy() for name, rows in found.curves.groupby("ordering")
    }
    bound = heights["reachable_bound"]
    for height in heights.values():
        assert np.array_equal(np.isnan(height), np.isnan(bound))
        assert (height <= bound + 1e-12)[~np.isnan(bound)].all()
        assert (np.diff(height[~np.isnan(height)]) >= 0).all()
    if most is None:
        assert all(height[-1] == pytest.approx(1) for height in heights.values())
    auc = found.table.set_index("ordering")["auc"]
    assert (auc <= auc["reachable_bound"] + 1e-12).all()


# -- the table -----------------------------------------------------------------------------


def test_differences_are_paired_over_the_runs(harvard: Any) -> None:
    found = compare(harvard, ["opic", "random"], runs=4, random_seed=4)
    assert found.table["ordering"].tolist() == [
        "breadth_first", "opic", "random", "omniscient", "reachable_bound",
    ]  # fmt: skip
    runs = found.runs.pivot_table(index="run", columns="ordering", values="auc")
    gains = runs["opic"] - runs["breadth_first"]
    row = found.table.set_index("ordering").loc["opic"]
    assert row["auc"] == pytest.approx(runs["opic"].mean())
    assert row["auc_sd"] == pytest.approx(runs["opic"].std())
    assert row["auc_gain"] == pytest.approx(gains.mean())
    assert row["auc_gain_low"] < row["auc_gain"] < row["auc_gain_high"]
    assert row["wins"] == (gains > 0).mean()
    assert row["runs"] == 4
    assert len(set(found.runs["seed"])) == 4
    assert found.table.set_index("ordering").loc["breadth_first", "auc_gain":"wins"].isna().all()


def test_opic_beats_breadth_first_and_random_loses_on_a_real_graph(harvard: Any) -> None:
    bare = ck.LinkGraph(harvard.indptr, harvard.targets)
    table = compare(bare, ["opic", "random", "push_pagerank"], runs=8).table.set_index("ordering")
    assert table.loc["opic", "auc_gain_low"] > 0.01
    assert table.loc["push_pagerank", "auc_gain_low"] > 0.01
    assert table.loc["random", "auc_gain_high"] < -0.01
    # Measured apart from this code: 0.65, 0.69, 0.70 and 0.76 over other seeds.
    expected = {"breadth_first": 0.65, "opic": 0.693, "push_pagerank": 0.70, "omniscient": 0.758}
    for name, auc in expected.items():
        assert table.loc[name, "auc"] == pytest.approx(auc, abs=0.025)
    assert table.loc["reachable_bound", "auc"] == pytest.approx(0.7605, abs=0.0005)


def test_rest_takes_the_disadvantage_from_larger_sites_first(harvard: Any) -> None:
    rushed = compare(harvard, ["larger_sites_first"], runs=3).table.set_index("ordering")
    polite = compare(harvard, ["larger_sites_first"], runs=3, rest=50).table.set_index("ordering")
    assert rushed.loc["larger_sites_first", "auc_gain_high"] < -0.05
    assert abs(polite.loc["larger_sites_first", "auc_gain"]) < 0.01


def test_the_same_seed_gives_the_same_figures(harvard: Any) -> None:
    first, again = (compare(harvard, ["random"], runs=2, random_seed=9) for _ in range(2))
    other = compare(harvard, ["random"], runs=2, random_seed=10)
    without = [name for name in first.runs.columns if name != "seconds"]
    assert first.runs[without].equals(again.runs[without])
    assert not first.runs[without].equals(other.runs[without])


def test_orders_may_have_labels_and_parameters() -> None:
    made = ck.ORDERINGS["opic"]
    found = compare(WEB, {"mine": "opic", "base": "breadth_first"}, "h")
    assert found.table["ordering"].tolist() == ["mine", "base", "omniscient", "reachable_bound"]
    assert math.isnan(found.table["auc_gain"][1])
    named: Any = [made(), made(initial="unit"), LongestFirst()]
    assert compare(WEB, named, "h").table["ordering"].tolist()[1:4] == [
        "opic", "opic(initial=unit)", "longest_first",
    ]  # fmt: skip


def test_seeds_may_be_given_for_each_run() -> None:
    found = compare(WEB, "opic", [["h"], ["e", "f"]])
    assert found.runs["seed"].unique().tolist() == ["h", "e"]
    assert compare(WEB, "opic", ["e", "f"], runs=2).runs["seed"].unique().tolist() == ["e"]
    assert compare(WEB, "opic", runs=100).facts["runs"] == 8  # all pages of the largest part


def test_value_may_be_anything_that_a_page_is_worth() -> None:
    for value in ("inlinks", [1.0] * 8, np.arange(8), dict.fromkeys("abc", 1.0), ord, "size"):
        graph = WEB.copy()
        nx.set_node_attributes(graph, 2.0, "size")
        table = compare(graph, "opic", "h", value=value).table
        assert table["auc"].between(0, 1).all()


def test_columns_and_types_are_always_the_same() -> None:
    full = compare(WEB, "opic", "h", max_pages=3)
    empty = compare(nx.DiGraph(), "opic")
    for name in ("table", "curves", "runs"):
        known, none = getattr(full, name), getattr(empty, name)
        assert list(known.columns) == list(none.columns)
        assert not len(none)
        ours = [column for column in known.columns if column != "seed"]
        assert known[ours].dtypes.equals(none[ours].dtypes)
    assert "<table" in empty._repr_html_()


def test_a_graph_without_links_is_its_seed() -> None:
    lonely = ck.LinkGraph.from_edges([], [], 1_000_000)
    table = compare(lonely, ["opic", "larger_sites_first"], runs=2).table
    assert table["auc"].tolist() == [0.5] * 5
    assert compare(nx.DiGraph([("a", "a")]), "opic").table["auc"].tolist() == [0.5] * 4


def test_a_comparison_shows_itself_with_a_picture() -> None:
    found = compare(nx.relabel_nodes(WEB, {"h": "<script>"}), {"<b>": "opic"}, "<script>")
    html = found._repr_html_()
    assert "<script>" not in html
    assert "<b>&lt;b&gt;" not in html
    assert html.count("data:image/png;base64,") == 1
    assert "4 orderings" in repr(found)


# -- processes and interrupts --------------------------------------------------------------


def test_helpers_give_the_same_results(harvard: Any) -> None:
    orders: list[Any] = ["random", LongestFirst()]
    alone = compare(harvard, orders, runs=2, processes=1)
    several = compare(harvard, orders, runs=2, processes=2)
    without = [name for name in alone.runs.columns if name != "seconds"]
    assert alone.runs[without].equals(several.runs[without])


def test_without_helpers_the_work_is_done_here(monkeypatch: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no processes here")

    monkeypatch.setattr(comparison_helpers.subprocess, "Popen", refuse)
    assert len(compare(WEB, "opic", "h", runs=2, processes=3).runs) == 8


def test_a_helper_that_dies_costs_nothing_but_time(monkeypatch: Any) -> None:
    monkeypatch.setattr(comparison_helpers.sys, "executable", "/bin/true")
    if not Path("/bin/true").exists():
        pytest.skip("needs /bin/true")
    assert len(compare(WEB, "opic", "h", runs=4, processes=2).runs) == 16


SCRIPT = """
import networkx as nx
import crawlkit as ck

class Mine(ck.Ordering):
    name = "mine"
    def start(self, page):
        print("asked")
        return -page.id

graph = nx.DiGraph([(0, 1), (1, 2), (2, 0)])
found = ck.compare_orderings(graph, [Mine(), "opic"], runs=3, processes=2, progress=False)
print(sorted(set(found.runs["ordering"])))
"""


def test_an_unguarded_script_runs_once(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True,
        timeout=100,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[-1] == "['breadth_first', 'mine', 'omniscient', 'opic', 'reachable_bound']"
    assert lines.count("asked") == 9


def test_an_interrupt_leaves_the_complete_runs(monkeypatch: Any) -> None:
    calls = 0
    real = comparison_runs.run_task

    def interrupted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 11:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(comparison_helpers, "run_task", interrupted)
    found = compare(WEB, "opic", runs=5)
    assert found.interrupted
    assert found.runs["run"].value_counts().tolist() == [4, 4]
    assert "ended early" in repr(found)
    calls = 9
    few = compare(WEB, "opic", runs=5)
    assert few.table["ordering"].tolist() == ["breadth_first"]


# -- wrong arguments -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"orders": "best"}, "there is no ordering named 'best'.*breadth_first, depth_first"),
        ({"orders": [7]}, "7 is no ordering"),
        ({"orders": 7}, "7 is no ordering"),
        ({"seeds": ["nowhere"]}, "'nowhere' is not among the 8 pages"),
        ({"seeds": []}, "seeds: there are none"),
        ({"seeds": [["h"], []]}, "seeds: there are none"),
        ({"seeds": [["h"], ["a"]], "runs": 3}, "3 runs with 2 lists"),
        ({"runs": 0}, "runs: "),
        ({"rest": -1}, "rest: "),
        ({"fetchers": 0}, "fetchers: "),
        ({"max_pages": 0}, "max_pages: "),
        ({"processes": 0}, "processes: "),
        ({"tau_at": 1.5}, "tau_at: "),
        ({"value": [math.nan] * 8}, "value: page 0 is worth nan"),
        ({"value": "weight"}, "the pages have no 'weight'"),
        ({"hosts": ["x"]}, "1 hosts of 8 pages"),
        ({"graph": 7}, "7 is no graph"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadSetting, match=problem):
        compare(**{"graph": WEB, "orders": "opic", **arguments})


# -- the command line ----------------------------------------------------------------------


def test_replay_on_the_command_line(tmp_path: Path, capsys: Any) -> None:
    pd.DataFrame(LINKS, columns=["source", "target"]).to_csv(tmp_path / "links.csv", index=False)
    graph, picture = str(tmp_path / "links.csv"), tmp_path / "curves.png"
    assert main(["replay", graph, "--seed", "h", "--orders", "opic", "--quiet"]) == 0
    assert "reachable_bound" in capsys.readouterr().out
    arguments = ["replay", graph, "--runs", "2", "--rest", "1", "--json", "--plot", str(picture)]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["pages"], told["runs"], told["rest"]) == (8, 2, 1)
    assert [row["ordering"] for row in told["orderings"]][-1] == "reachable_bound"
    assert told["orderings"][0]["auc_gain"] is None
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_wrong_arguments_on_the_command_line(tmp_path: Path, capsys: Any) -> None:
    links = tmp_path / "x.csv"
    links.write_text("a,b\n")
    lost = str(tmp_path / "no" / "x.png")
    for arguments in (
        ["nothing.tsv"],
        [str(links), "--orders", "best"],
        [str(links), "--orders", "opic", "--plot", lost, "--quiet"],
    ):
        assert main(["replay", *arguments]) == 2
        assert capsys.readouterr().err.startswith("crawlkit: ")
    with pytest.raises(SystemExit) as ended:
        main(["replay", "--help"])
    assert ended.value.code == 0
    assert "example:" in capsys.readouterr().out
