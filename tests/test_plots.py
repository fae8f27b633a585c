"""Pictures: what is drawn, in numbers; hostile labels; empty tables."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlkit.errors import BadSetting
from crawlkit.plots.crawls import plot_frontier, plot_status
from crawlkit.plots.style import OKABE_ITO, safe_label

if TYPE_CHECKING:
    from collections.abc import Iterator

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def fetches(rows: list[tuple[int, int | None, int, int]]) -> pd.DataFrame:
    """Return a small table ``fetches``: seq, new_urls, known_urls, frontier_size."""
    frame = pd.DataFrame(rows, columns=["seq", "new_urls", "known_urls", "frontier_size"])
    return frame.astype("Int64")


def pages(statuses: dict[str, list[int | None]]) -> pd.DataFrame:
    """Return a small table ``pages`` from statuses by host."""
    rows = [(host, status) for host, codes in statuses.items() for status in codes]
    frame = pd.DataFrame(rows, columns=["host", "status"])
    return frame.astype({"host": "str", "status": "Int64"})


SMALL = fetches([(1, None, 1, 1), (2, 2, 3, 2), (4, 0, 3, 0), (3, 0, 3, 1)])


def drawn(ax: Any) -> bytes:
    """Return the figure as a picture, so that every text is really set."""
    picture = io.BytesIO()
    ax.figure.savefig(picture)
    return picture.getvalue()


def bars(ax: Any) -> dict[str, dict[str, float]]:
    """Return the widths of the bars by the label of their row and their class."""
    rows = [label.get_text() for label in ax.get_yticklabels()]
    return {
        row: {
            str(container.get_label()): container.patches[number].get_width()
            for container in ax.containers
        }
        for number, row in enumerate(rows)
    }


# -- frontier ------------------------------------------------------------------------------


def test_frontier_counts_pages_in_order_of_seq_and_leaves_robots_out() -> None:
    ax: Any = plot_frontier(SMALL)
    lines = {str(line.get_label()): line for line in ax.lines}
    assert list(lines["frontier"].get_xdata()) == [1, 2, 3]
    assert list(lines["frontier"].get_ydata()) == [2, 1, 0]
    assert list(lines["known URLs"].get_ydata()) == [3, 3, 3]
    assert ax.get_xlabel() == "pages fetched"
    assert ax.get_ylabel() == "URLs"
    assert {text.get_text() for text in ax.texts} == {"known URLs: 3", "frontier: 0"}


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([], "No page was fetched"),
        ([(1, 0, 1, 0)], "Frontier empty after 1 page: all 1 known URLs settled"),
        (
            [(1, 9, 10, 9), (2, 0, 10, 8)],
            "8 of 10 known URLs wait after 2 pages (most: 9 at page 1)",
        ),
        ([(1, 9, 10, 9), (2, 5, 15, 13)], "13 of 15 known URLs wait after 2 pages"),
    ],
)  # fmt: skip
def test_frontier_title_states_the_finding(
    rows: list[tuple[int, int, int, int]], title: str
) -> None:
    assert plot_frontier(fetches(list(rows))).get_title() == title


def test_lines_differ_in_more_than_color() -> None:
    known, waiting = plot_frontier(SMALL).lines
    assert known.get_linestyle() != waiting.get_linestyle()
    assert known.get_marker() != waiting.get_marker()
    assert {known.get_color(), waiting.get_color()} <= set(OKABE_ITO.values())


# -- status --------------------------------------------------------------------------------


def test_status_counts_every_page_once_by_class_and_host() -> None:
    frame = pages({"a.com": [200, 204, 301, 404, None], "b.com": [500, 503, 429, 100]})
    ax = plot_status(frame)
    found = bars(ax)
    assert found["a.com"] == {
        "2xx": 2, "3xx": 1, "4xx": 1, "5xx": 0, "no answer": 1, "other": 0,
    }  # fmt: skip
    assert found["b.com"] == {
        "2xx": 0, "3xx": 0, "4xx": 1, "5xx": 2, "no answer": 0, "other": 1,
    }  # fmt: skip
    assert ax.get_title() == "2 of 9 pages answered 2xx;\nmost others on b.com (4 of 4)"
    assert ax.get_xlabel() == "pages asked for"


def test_hosts_past_the_number_shown_share_the_last_bar() -> None:
    frame = pages({f"h{n}.com": [200] * n for n in range(1, 6)})
    found = bars(plot_status(frame, hosts=2))
    assert list(found) == ["h5.com", "h4.com", "3 other hosts"]
    assert found["3 other hosts"]["2xx"] == 6


@given(
    st.dictionaries(
        st.text(st.characters(min_codepoint=36, max_codepoint=126), min_size=1, max_size=12),
        st.lists(st.one_of(st.none(), st.integers(100, 599)), min_size=1, max_size=8),
        max_size=5,
    ),
    st.integers(1, 4),
)
@settings(max_examples=25, deadline=None)
def test_bars_always_add_up_to_the_pages(statuses: dict[str, list[int | None]], hosts: int) -> None:
    import matplotlib.pyplot as plt

    frame = pages(statuses)
    ax: Any = plot_status(frame, hosts=hosts)
    total = sum(patch.get_width() for box in ax.containers for patch in box.patches)
    plt.close("all")
    assert total == len(frame)


def test_classes_differ_in_more_than_color() -> None:
    ax: Any = plot_status(pages({"a.com": [200, 301, 404, 500, None, 999]}))
    styles = [(box.patches[0].get_facecolor(), box.patches[0].get_hatch()) for box in ax.containers]
    assert len({color for color, _ in styles}) == len({hatch for _, hatch in styles}) == 6


def test_all_good_is_said_shortly() -> None:
    assert plot_status(pages({"a": [200], "b": [200]})).get_title() == (
        "All 2 pages on 2 hosts answered 2xx"
    )


# -- both ----------------------------------------------------------------------------------


@pytest.mark.parametrize("plot", [plot_frontier, plot_status])
def test_empty_tables_of_a_crawl_are_drawn(plot: Any) -> None:
    from crawlkit.crawling.schema import empty_frame

    class Empty:
        fetches = empty_frame("fetches")
        pages = empty_frame("pages")

    ax = plot(Empty())
    assert ax.get_title().startswith("No page was")
    assert drawn(ax)


def test_anything_with_tables_will_do_and_a_column_is_not_taken_for_a_table() -> None:
    class Tables:
        fetches = SMALL
        pages = pages({"a": [200]})

    assert plot_frontier(Tables()).lines
    assert plot_status(Tables()).containers
    with_column = pages({"a": [200]}).assign(pages=1)
    assert plot_status(with_column).get_title() == "All 1 pages on 1 host answered 2xx"


@pytest.mark.parametrize("wrong", [None, 3, "crawl", [1, 2], pd.DataFrame({"x": [1]})])
def test_something_else_is_refused_with_a_remedy(wrong: object) -> None:
    with pytest.raises(BadSetting, match=r"crawl_or_fetches: .*Pass a"):
        plot_frontier(wrong)
    with pytest.raises(BadSetting, match=r"crawl_or_pages: .*Pass a"):
        plot_status(wrong)


@pytest.mark.parametrize("hosts", [0, -1, 1.5, True])
def test_a_number_of_hosts_that_is_none_is_refused(hosts: object) -> None:
    with pytest.raises(BadSetting, match="hosts"):
        plot_status(pages({"a": [200]}), hosts=hosts)  # type: ignore[arg-type]


def test_given_axes_are_used_returned_and_need_no_pyplot() -> None:
    code = (
        "import sys, pandas as pd\n"
        "from matplotlib.figure import Figure\n"
        "from crawlkit.plots.crawls import plot_frontier, plot_status\n"
        "ax = Figure().subplots(2)\n"
        "f = pd.DataFrame({'frontier_size': [1], 'known_urls': [2]})\n"
        "assert plot_frontier(f, ax=ax[0]) is ax[0]\n"
        "assert plot_status(pd.DataFrame({'host': ['a'], 'status': [200]}), ax=ax[1]) is ax[1]\n"
        "ax[0].figure.savefig(__import__('io').BytesIO())\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_neither_shows_nor_closes_figures_nor_changes_settings() -> None:
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams)
    plot_frontier(SMALL)
    plot_status(pages({"a": [200]}))
    assert len(plt.get_fignums()) == 2
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    "text", ["price $x_{1$ {", "$$", "_hidden", "__", "$\\frac{", "a\\$b$", "new\nline\x1b[0m", "$"]
)
def test_hostile_host_names_are_drawn_as_text(text: str) -> None:
    ax = plot_status(pages({text: [200, 404], "b": [200]}))
    assert drawn(ax)
    fig_ax = plot_frontier(SMALL)
    fig_ax.lines[0].set_label(safe_label(text))
    legend = fig_ax.legend()
    assert len(legend.get_texts()) == 2, "the label vanished"
    assert drawn(fig_ax)


def test_tables_need_no_crawl() -> None:
    code = (
        "import sys, crawlkit.plots.crawls, crawlkit.reprs;"
        "print(*[m for m in sys.modules if m.startswith(('crawlkit.crawling', 'crawlkit.web'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
