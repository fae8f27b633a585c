"""The explorer of orderings: what its controls change, without a front end."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import crawlkit as ck

if TYPE_CHECKING:
    import networkx as nx

HOSTILE = "http://a.example/<img src=x onerror=alert(1)>$x_{1$ {"
FIGURE_MARK = b"\x89PNG"


@pytest.fixture(scope="module")
def graph() -> nx.DiGraph[str]:
    """Two hosts of 40 pages each, links at random."""
    import networkx as nx
    import numpy as np

    draw = np.random.default_rng(3)
    pages = [f"http://{host}.example/{number}" for host in "ab" for number in range(40)]
    made: nx.DiGraph[str] = nx.DiGraph()
    made.add_nodes_from(pages)
    for place, page in enumerate(pages):
        near = [(place + 1) % 80, *draw.integers(0, 80, 3).tolist()]
        made.add_edges_from((page, pages[other]) for other in near)
    return made


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no pictures: they are most of the time, and what they show is tested below."""
    monkeypatch.setattr(ck.OrderingExplorer, "_png", lambda _: b"")


def seeds_of(graph: nx.DiGraph[str]) -> list[str]:
    return [list(graph)[5], list(graph)[60]]


def html_of(explorer: ck.OrderingExplorer) -> str:
    """Return all the HTML that the explorer shows."""

    def collect(widget: Any) -> str:
        own = widget.value if type(widget).__name__ == "HTML" else ""
        return own + "".join(collect(child) for child in getattr(widget, "children", ()))

    return collect(explorer.view)


def picture_of(explorer: ck.OrderingExplorer) -> bytes:
    def collect(widget: Any) -> bytes:
        own = bytes(widget.value) if type(widget).__name__ == "Image" else b""
        return own + b"".join(collect(child) for child in getattr(widget, "children", ()))

    return collect(explorer.view)


# -- what it shows is what a replay does ---------------------------------------------------


@pytest.mark.usefixtures("unseen")
@pytest.mark.parametrize("name", sorted(ck.ORDERINGS))
def test_the_best_of_the_frontier_is_downloaded_next_where_no_host_rests(
    graph: nx.DiGraph[str], name: str
) -> None:
    one_host = dict.fromkeys(graph, "a.example")
    seeds = seeds_of(graph)
    explorer = ck.OrderingExplorer(graph, seeds, orders=name, hosts=one_host)
    expected = ck.replay(graph, name, seeds, hosts=one_host)["page"].tolist()
    assert explorer.downloads(name) == expected
    for step in (0, 1, 17, 64, 79):
        explorer.controls["downloads"].value = step
        first = explorer.frontier.iloc[0]
        assert (first["page"], first["next"]) == (expected[step], True), step
        assert explorer.frontier["next"].sum() == 1
    explorer.controls["downloads"].value = 80
    assert explorer.frontier.empty


@pytest.mark.usefixtures("unseen")
def test_the_table_and_the_curves_are_those_of_a_replay(graph: nx.DiGraph[str]) -> None:
    orders = ["breadth_first", "opic"]
    explorer = ck.OrderingExplorer(graph, seeds_of(graph), orders=orders)
    explorer.controls["downloads"].value = 30
    for row in explorer.table.itertuples(index=False):
        told = ck.replay(graph, str(row.ordering), seeds_of(graph))
        assert row.value_share == pytest.approx(told["value_share"].iloc[29])
        reached = told.loc[told["value_share"] >= 0.5 * (1 - 1e-12), "page_share"].iloc[0]
        assert row.half == pytest.approx(reached)
        curve = explorer.curves[explorer.curves["ordering"] == row.ordering]
        assert curve["value_share"].tolist()[1:] == pytest.approx(told["value_share"].tolist())
    assert "after 30 of 80 downloads: breadth_first" in explorer.text


@pytest.mark.usefixtures("unseen")
def test_controls_change_the_replays_that_they_are_for(graph: nx.DiGraph[str]) -> None:
    orders = ["breadth_first", "partial_pagerank", "push_pagerank"]
    explorer = ck.OrderingExplorer(graph, seeds_of(graph), orders=orders)
    before = {name: explorer.downloads(name) for name in orders}
    explorer.controls["k"].value = 1
    every = ck.PartialPageRank(k=1)
    told = ck.replay(graph, every, seeds_of(graph))["page"].tolist()
    assert explorer.downloads("partial_pagerank") == told != before["partial_pagerank"]
    assert explorer.downloads("breadth_first") == before["breadth_first"]
    explorer.controls["damping"].value = 0.3
    told = ck.replay(graph, ck.PushPageRank(damping=0.3), seeds_of(graph))["page"].tolist()
    assert explorer.downloads("push_pagerank") == told != before["push_pagerank"]
    explorer.controls["rest"].value = 3
    told = ck.replay(graph, "breadth_first", seeds_of(graph), rest=3)["page"].tolist()
    assert explorer.downloads("breadth_first") == told


@pytest.mark.usefixtures("unseen")
def test_a_page_whose_host_rests_is_not_the_next(graph: nx.DiGraph[str]) -> None:
    explorer = ck.OrderingExplorer(graph, seeds_of(graph)[:1], orders="depth_first")
    explorer.controls["rest"].value = 2
    passed_over = 0
    for step in range(1, 60, 2):
        explorer.controls["downloads"].value = step
        frontier = explorer.frontier
        chosen = frontier.loc[frontier["next"], "page"].tolist()
        assert chosen in ([explorer.downloads("depth_first")[step]], [])
        passed_over += not frontier["next"].iloc[0]
        if not chosen:
            assert "the hosts before it rest" in html_of(explorer)
    assert passed_over


# -- controls ------------------------------------------------------------------------------


@pytest.mark.usefixtures("unseen")
def test_the_frontier_can_be_that_of_each_ordering_chosen(graph: nx.DiGraph[str]) -> None:
    explorer = ck.OrderingExplorer(graph, seeds_of(graph), orders=["breadth_first", "inlinks"])
    controls = explorer.controls
    assert controls["shown"].options == ("breadth_first", "inlinks")
    controls["shown"].value = "inlinks"
    assert explorer.frontier["score"].iloc[0] >= 1
    controls["orders"].value = ("opic", "inlinks", "random")
    assert (controls["shown"].value, explorer.chosen) == ("inlinks", ["opic", "inlinks", "random"])
    controls["orders"].value = ("omniscient",)
    assert controls["shown"].value == "omniscient"
    assert explorer.frontier["score"].tolist() == explorer.frontier["value"].tolist()
    controls["orders"].value = ()
    assert "choose an ordering" in html_of(explorer)
    assert (len(explorer.table), len(explorer.curves), len(explorer.frontier)) == (0, 0, 0)
    controls["orders"].value = ("breadth_first",)
    assert explorer.table["ordering"].tolist() == ["breadth_first"]


@pytest.mark.usefixtures("unseen")
def test_orderings_of_a_users_own_can_be_explored(graph: nx.DiGraph[str]) -> None:
    class ShortFirst(ck.Ordering):
        name: ClassVar[str] = "short_first"

        def start(self, page: ck.FoundPage) -> float:
            return -len(page.url)

    explorer = ck.OrderingExplorer(
        graph, seeds_of(graph), orders={"short": ShortFirst(), "every 7": ck.PartialPageRank(k=7)}
    )
    assert explorer.chosen == ["short", "every 7"]
    told = ck.replay(graph, ShortFirst(), seeds_of(graph))["page"].tolist()
    assert explorer.downloads("short") == told


def test_an_ordering_that_fails_is_shown_and_can_be_left(graph: nx.DiGraph[str]) -> None:
    class Fails(ck.Ordering):
        name: ClassVar[str] = "fails"

        def start(self, page: ck.FoundPage) -> float:
            raise ValueError("<b>no</b>")

    explorer = ck.OrderingExplorer(graph, seeds_of(graph), orders=[Fails()])
    assert isinstance(explorer.error, ValueError)
    assert "ValueError: &lt;b&gt;no" in html_of(explorer)
    assert picture_of(explorer) == b""
    explorer.controls["orders"].value = ("breadth_first",)
    assert str(explorer.error) == "None"
    assert picture_of(explorer).startswith(FIGURE_MARK)


# -- what is seen --------------------------------------------------------------------------


def test_the_picture_moves_with_the_slider(graph: nx.DiGraph[str]) -> None:
    import matplotlib.image

    explorer = ck.OrderingExplorer(graph, seeds_of(graph))
    before = picture_of(explorer)
    assert matplotlib.image.imread(io.BytesIO(before)).std() > 0.01
    explorer.controls["downloads"].value = 60
    assert picture_of(explorer) != before


@pytest.mark.usefixtures("unseen")
def test_text_of_pages_stays_text() -> None:
    graph = [["http://a.example/"] * 2, [HOSTILE, "http://a.example/b"]]
    explorer = ck.OrderingExplorer(graph, "http://a.example/")
    explorer.controls["downloads"].value = 1
    assert HOSTILE in explorer.frontier["page"].tolist()
    assert "<img" not in html_of(explorer)
    assert "&lt;img" in html_of(explorer)


@pytest.mark.usefixtures("unseen")
def test_it_is_text_where_widgets_cannot_be_shown(graph: nx.DiGraph[str]) -> None:
    explorer = ck.OrderingExplorer(graph, seeds_of(graph), orders="opic")
    bundle = explorer._repr_mimebundle_()
    assert bundle["text/plain"] == repr(explorer)
    assert "<OrderingExplorer: after 8 of 80 downloads: opic" in repr(explorer)
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_nothing_is_drawn_with_pyplot() -> None:
    code = (
        "import sys, crawlkit as ck\n"
        "made = ck.OrderingExplorer((['a', 'a', 'b'], ['b', 'c', 'a']), 'a')\n"
        "made.controls['downloads'].value = 2\n"
        "assert made.error is None, made.error\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("graph_given", "seeds", "options", "names"),
    [
        (3, "a", {}, "graph"),
        ((["a"], ["b"]), "c", {}, "seeds"),
        ((["a"], ["b"]), [], {}, "seeds"),
        (([], []), [], {}, "seeds"),
        ((["a"], ["b"]), "a", {"orders": "no such"}, "order"),
        ((["a"], ["b"]), "a", {"orders": [3]}, "order"),
        ((["a"], ["b"]), "a", {"value": "no such"}, "value"),
    ],
)
def test_wrong_arguments_are_named(
    graph_given: Any, seeds: Any, options: dict[str, Any], names: str
) -> None:
    with pytest.raises(ck.BadSetting, match=names):
        ck.OrderingExplorer(graph_given, seeds, **options)
