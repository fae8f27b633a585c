"""Pictures of orderings and graphs: what is drawn, in numbers; hostile labels; samples."""

from __future__ import annotations

import io
import types
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.text import Text

from crawlkit.errors import BadSetting
from crawlkit.order.graph_inputs import link_graph
from crawlkit.order.registry import ORDERINGS
from crawlkit.plots.graph_pictures import plot_graph
from crawlkit.plots.orderings import plot_orderings

if TYPE_CHECKING:
    from collections.abc import Iterator

mpl.use("Agg")

HOSTILE = "_$x_{1$ <b>\n\x1b[2J"


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def curves(**powers: float) -> pd.DataFrame:
    """Return curves that are powers of the share of pages."""
    grid = np.linspace(0, 1, 51)
    parts = [
        pd.DataFrame(
            {
                "ordering": name, "page_share": grid, "value_share": grid**power,
                "low": grid ** (power * 1.1), "high": grid ** (power * 0.9),
            }
        )
        for name, power in powers.items()
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def drawn(ax: Any) -> bytes:
    """Return the figure as a picture, so that every text is really set."""
    picture = io.BytesIO()
    ax.figure.savefig(picture)
    return picture.getvalue()


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_text()]


# -- orderings -----------------------------------------------------------------------------

FOUR = curves(breadth_first=0.8, opic=0.6, omniscient=0.3, reachable_bound=0.25)


def test_every_ordering_is_a_labeled_line_and_omniscient_is_dashed() -> None:
    ax = plot_orderings(types.SimpleNamespace(curves=FOUR))
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines) == ["breadth_first", "opic", "omniscient", "reachable_bound"]
    assert lines["omniscient"].get_linestyle() == "--"
    assert lines["reachable_bound"].get_linestyle() == ":"
    assert lines["opic"].get_ydata()[25] == pytest.approx(0.5**0.6)
    assert texts(ax) == ["breadth_first", "opic", "omniscient", "bound"]
    assert len(ax.collections) == 2  # bands of the first two
    assert not plot_orderings(FOUR, bands=False).collections
    assert ax.get_xlabel() == "pages downloaded, % of the reachable"
    assert drawn(ax).startswith(b"\x89PNG")


def test_the_title_says_who_is_first_to_half_of_the_value() -> None:
    title = plot_orderings(FOUR).get_title().replace("\n", " ")
    assert title == (
        "opic has half of the value after 32% of the pages; breadth_first needs 42%, omniscient 10%"
    )
    slow = plot_orderings(curves(breadth_first=0.8, random=1)).get_title()
    assert slow == "breadth_first has half of the value after 42% of the pages"


def test_labels_lie_inside_and_apart() -> None:
    powers = {f"ordering number {n}": 0.4 + 0.05 * n for n in range(9)}
    ax = plot_orderings(curves(**powers))
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    boxes = [Text.get_window_extent(text) for text in ax.texts]  # without the line to the curve
    for number, box in enumerate(boxes):
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1
        assert not any(box.overlaps(other) for other in boxes[:number])


def test_hostile_names_are_only_text_and_gaps_are_left_out() -> None:
    some = curves(**{HOSTILE: 0.5})
    some.loc[30:, "value_share"] = np.nan
    ax = plot_orderings(some)
    assert len(ax.lines[0].get_xdata()) == 30
    assert "\x1b" not in "".join(texts(ax))
    assert drawn(ax)


def test_empty_curves_are_an_empty_picture() -> None:
    ax = plot_orderings(FOUR.iloc[:0])
    assert ax.get_title() == "Nothing to compare"
    assert drawn(ax)
    for wrong in (7, FOUR[["ordering"]]):
        with pytest.raises(BadSetting, match="comparison"):
            plot_orderings(wrong)


# -- graphs --------------------------------------------------------------------------------

WEB = nx.DiGraph([("http://a.example/", "http://a.example/b"), ("http://a.example/", "c")])


def test_downloads_have_a_color_and_waiting_pages_are_gray() -> None:
    ax = plot_graph(WEB, order=["http://a.example/", "c"])
    waiting, later, first = ax.collections
    assert (len(waiting.get_offsets()), len(later.get_offsets())) == (1, 1)
    assert (first.get_array().tolist(), later.get_array().tolist()) == ([1], [2])
    assert ax.get_title() == "2 of 3 pages downloaded, from a.example/ to c"
    assert texts(ax) == ["1: a.example/", "/b", "2: c"]
    assert drawn(ax)


def test_a_large_graph_is_a_sample_and_says_so() -> None:
    large = nx.gnp_random_graph(120, 0.05, seed=1, directed=True)
    ax = plot_graph(large, order=list(range(100)), max_pages=40)
    dots = [found for found in ax.collections if isinstance(found, PathCollection)]
    assert sum(len(each.get_offsets()) for each in dots) == 40
    assert max(each.get_array().max() for each in dots) == 40
    title = ax.get_title().replace("\n", " ")
    assert title == ("100 of 120 pages downloaded; a sample of 40 is drawn, those downloaded first")
    most = plot_graph(large, max_pages=10).get_title().replace("\n", " ")
    assert most.endswith("a sample of 10 is drawn, those with most links")


def test_graphs_come_in_many_forms() -> None:
    table = nx.to_pandas_edgelist(WEB)
    crawl = types.SimpleNamespace(graph=lambda: WEB)
    replayed = pd.DataFrame({"page": ["c"]})
    for source in (WEB, table, crawl, link_graph(WEB), WEB.to_undirected()):
        title = plot_graph(source, order=replayed).get_title()
        assert title == "1 of 3 pages downloaded: c"
    assert plot_graph(nx.DiGraph()).get_title() == "The graph is empty"


def test_hostile_pages_are_only_text() -> None:
    ax = plot_graph(nx.DiGraph([(HOSTILE, "$b$")]), order=[HOSTILE])
    assert "\x1b" not in "".join([ax.get_title(), *texts(ax)])
    assert drawn(ax)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"graph": 7}, "7 is no graph"),
        ({"order": ["nowhere"]}, "none of its pages"),
        ({"order": "opic"}, "no sequence of pages"),
        ({"order": pd.DataFrame({"url": []})}, "no column 'page'"),
        ({"max_pages": 0}, "max_pages: "),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadSetting, match=problem):
        plot_graph(**{"graph": WEB, **arguments})


def test_an_ordering_has_its_color_and_style_in_every_picture() -> None:
    def look(*names: str) -> dict[str, tuple[Any, Any]]:
        curves = pd.DataFrame(
            [(name, share, share) for name in names for share in (0.0, 1.0)],
            columns=["ordering", "page_share", "value_share"],
        )
        lines = plot_orderings(curves).get_lines()
        return {
            str(line.get_label()): (line.get_color(), str(line.get_linestyle())) for line in lines
        }

    usual = [name for name in ORDERINGS if name not in ("breadth_first", "omniscient")]
    together = look(*usual, "mine", "breadth_first")
    assert len(set(together.values())) == len(together) == 10
    for name in usual:
        assert look("mine", name)[name] == together[name]


def test_a_title_does_not_tell_one_number_for_two_orderings() -> None:
    shares = {"breadth_first": [0.2040, 0.9], "opic": [0.2004, 0.9]}
    curves = pd.DataFrame(
        [(name, x, y) for name, xs in shares.items() for x, y in zip(xs, (0.5, 1.0), strict=True)]
        + [(name, 0.0, 0.0) for name in shares],
        columns=["ordering", "page_share", "value_share"],
    ).sort_values(["ordering", "page_share"])
    title = plot_orderings(curves).get_title().replace("\n", " ")
    assert title == "opic has half of the value after 20.0% of the pages; breadth_first needs 20.4%"
