"""plot_discovery: what it draws and says for a finite site, a trap, and both."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pandas as pd
import pytest

import crawlkit as ck
from crawlkit import lab

if TYPE_CHECKING:
    from collections.abc import Iterator

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgba


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    plt.close("all")


ALARM = to_rgba("#D55E00")


def alarmed(ax: plt.Axes) -> bool:
    """Tell whether any area has the color of a trap."""
    colors = [tuple(color) for area in ax.collections for color in area.get_facecolor()]
    return any(color == ALARM for color in colors)


def with_traps(crawl: Any) -> plt.Axes:
    return ck.plot_discovery(crawl, traps=ck.find_traps(crawl))


def labels(ax: plt.Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_finite_site_a_trap_and_both_tell_apart() -> None:
    finite = with_traps(lab.walk([lab.Finite(pages=150)], seed=3, max_pages=900))
    assert finite.get_title().startswith("No trap found. Finite, 100 % done")
    assert not alarmed(finite)
    trap = with_traps(lab.walk(["events"], max_pages=200))
    assert trap.get_title().startswith("Trap: calendar, 100 % of the last pages")
    assert alarmed(trap)
    both = with_traps(lab.walk([lab.Finite(pages=150), "sessions"], seed=3, max_pages=500))
    assert both.get_title().startswith("Trap: session_id, ")
    assert alarmed(both)
    assert labels(both)[0].startswith("trap: session_id /sessions/")


def test_traps_that_were_left_out_are_not_red_and_copies_keep_their_pages() -> None:
    crawl = ck.load_data("lab_traps")
    traps = ck.find_traps(crawl)
    one = ck.plot_discovery(crawl, traps=traps[traps["kind"] == "path_loop"])
    assert one.get_title().startswith("Trap: path_loop")
    assert not any("search_results" in label for label in labels(one))
    assert not alarmed(ck.plot_discovery(crawl, traps=traps.head(0)))
    for kind, pattern, urls in traps.attrs["pages"]:
        row = traps[(traps["kind"] == kind) & (traps["pattern"] == pattern)]
        assert row["pages"].tolist() == [len(urls)]
        assert set(urls) <= set(crawl.pages["url"])
    assert copy.deepcopy(traps.attrs["pages"]) is traps.attrs["pages"]


def test_without_traps_a_finite_site_gives_no_alarm_on_the_way() -> None:
    fetches = lab.walk([lab.Finite(pages=800)], seed=3).fetches
    for share in range(20, 100, 10):
        part = ck.plot_discovery(fetches.head(len(fetches) * share // 100))
        assert not alarmed(part)
        assert "No end" not in part.get_title()
    endless = lab.walk(["sessions"], max_pages=700)
    alone = ck.plot_discovery(endless)
    assert alone.get_title().startswith("No end in sight: ")
    assert alarmed(alone)


@pytest.mark.parametrize("wrong", [3, "find", pd.DataFrame({"kind": ["facets"]})])
def test_traps_that_are_none_are_told(wrong: Any) -> None:
    with pytest.raises(ck.BadSetting, match="traps"):
        ck.plot_discovery(pd.DataFrame({"new_urls": [1]}), traps=wrong)


@pytest.mark.parametrize("wrong", [3, "ax", plt])
def test_axes_that_are_none_are_told_by_all_plots(wrong: Any) -> None:
    crawl = lab.walk(["shop"], max_pages=30)
    coverage = ck.compare_coverage(crawl, list(crawl.urls["url"]))
    for plot, source in (
        (ck.plot_discovery, crawl),
        (ck.plot_frontier, crawl),
        (ck.plot_status, crawl),
        (ck.plot_coverage, coverage),
    ):
        with pytest.raises(ck.BadSetting, match="ax"):
            plot(source, ax=wrong)


def test_units_frontier_and_band_are_on_the_picture() -> None:
    ax = ck.plot_discovery(lab.walk(["shop"], max_pages=200))
    assert ax.get_xlabel() == "pages fetched"
    assert ax.get_ylabel() == "new URLs per page"
    right = next(other for other in ax.figure.axes if other is not ax)
    assert right.get_ylabel() == "frontier: URLs waiting"
    assert {"95 % band", "frontier (right)"} <= set(labels(ax))


def test_it_draws_on_the_axes_that_it_is_given_and_takes_a_curve() -> None:
    _, ax = plt.subplots()
    curve = ck.discovery_curve(lab.walk(["events"], max_pages=80), by="template")
    assert ck.plot_discovery(curve, ax=ax, window=10) is ax
    assert any("?month&year" in label for label in labels(ax))


def test_unsettled_and_nearly_finished_crawls_say_so() -> None:
    up = pd.DataFrame({"new_urls": [3] * 30 + [0] * 60 + [1] * 2, "frontier_size": 5})
    assert ck.plot_discovery(up).get_title().startswith("Not falling yet, 95 % of the known")
    down = pd.DataFrame({"new_urls": [3] * 30 + [0] * 60, "frontier_size": 10})
    assert ck.plot_discovery(down).get_title().startswith("Coming to an end, about 90 % done")
    # A pause of a crawl of which most was never looked at is no end.
    pause = pd.DataFrame({"new_urls": [3] * 30 + [0] * 60, "frontier_size": 1_300})
    assert ck.plot_discovery(pause).get_title().endswith("after 90 pages")
    assert ck.plot_discovery(pause).get_title().startswith("Low for now, 6 % of the known")
    early = pd.DataFrame({"new_urls": [3] * 5})
    assert "too early" in ck.plot_discovery(early).get_title()


def test_nothing_and_hostile_text_can_be_plotted() -> None:
    assert ck.plot_discovery(pd.DataFrame({"new_urls": []})).get_title() == "No page was fetched"
    urls = ["https://_$x$.example/$\\frac{/y"] * 600
    odd = pd.DataFrame({"new_urls": 2, "frontier_size": range(600), "url": urls})
    ax = ck.plot_discovery(odd)
    ax.figure.canvas.draw()
    assert "frac" in ax.get_title()


@pytest.mark.parametrize("wrong", [None, pd.DataFrame({"url": ["a"]})])
def test_what_has_no_curve_is_told(wrong: object) -> None:
    with pytest.raises(ck.BadSetting, match="crawl_or_fetches"):
        ck.plot_discovery(wrong)


@pytest.mark.parametrize("wrong", ["a", 2.5, True, None])
def test_a_wrong_number_of_sections_is_named(wrong: Any) -> None:
    with pytest.raises(ck.BadSetting, match="sections"):
        ck.plot_discovery(pd.DataFrame({"new_urls": [1]}), sections=wrong)
