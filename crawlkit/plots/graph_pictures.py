"""Pictures of a link graph, and of the way a crawl takes through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.errors import BadSetting
from crawlkit.plots.label_places import wrapped
from crawlkit.plots.style import axes_or_new, safe_label
from crawlkit.reprs import format_number, plain_text

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import networkx as nx
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["plot_graph"]

_MOST_LABELS = 30
_MOST_ARROWS = 150
_WAITING = "#bbbbbb"


class _Shown(NamedTuple):
    """The part of a graph that is drawn; ``rank`` is the download's number, from 1."""

    pages: list[Any]
    links: list[tuple[int, int]]
    rank: dict[Any, int]


def plot_graph(
    graph: Any,
    *,
    order: Any = None,
    max_pages: int = 300,
    random_seed: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Plot pages and links, the order of the downloads as color.

    Parameters
    ----------
    graph
        A networkx graph; a crawl, or anything else with a method ``graph()``; a table with the
        columns ``source`` and ``target``; or a :class:`~crawlkit.order.link_graph.LinkGraph`.
    order
        The pages in the order of their downloads: a sequence, or what :func:`~crawlkit.replay`
        returns. By default no page has a color of its own.
    max_pages
        Pages drawn at most. Of a larger graph those downloaded first are drawn, and without an
        order those with most links; the title says so.
    random_seed
        Seed of the layout.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Axes
        A dot a page, larger with more links to it; dark is early and light is late, gray is not
        downloaded; a square was downloaded first. Arrows and labels where there is room.

    Raises
    ------
    BadSetting
        What was passed is no graph, or no page of the order is in it.

    Examples
    --------
    >>> import matplotlib, networkx as nx
    >>> matplotlib.use("Agg")
    >>> graph = nx.DiGraph([("home", "news"), ("home", "shop")])
    >>> plot_graph(graph, order=["home", "shop"]).get_title()
    '2 of 3 pages downloaded, from home to shop'
    """
    if isinstance(max_pages, bool) or not isinstance(max_pages, int) or max_pages < 1:
        raise BadSetting("max_pages", f"{max_pages!r} is no count", "Pass a whole number above 0.")
    whole = _networkx_of(graph)
    downloads = _downloads(order, whole)
    shown = _choose(whole, downloads, max_pages)
    ax = axes_or_new(ax, 8, 6)
    ax.set_title(wrapped(ax, _title(whole, shown, downloads)), fontsize="medium")
    ax.set_axis_off()
    if shown.pages:
        places = _layout(shown, random_seed)
        _draw_links(ax, shown, places)
        _draw_pages(ax, shown, places)
    return ax


def _networkx_of(graph: Any) -> nx.DiGraph[Any]:
    """Return any of the sources as a networkx graph."""
    import networkx as nx
    import pandas as pd

    if isinstance(graph, pd.DataFrame) and {"source", "target"} <= set(graph.columns):
        made: nx.DiGraph[Any] = nx.DiGraph()
        made.add_edges_from(zip(graph["source"].tolist(), graph["target"].tolist(), strict=True))
        return made
    if hasattr(graph, "adjacency") and hasattr(graph, "is_directed"):
        return graph if graph.is_directed() else graph.to_directed()  # type: ignore[no-any-return]
    if hasattr(graph, "indptr") and hasattr(graph, "targets"):
        return _from_arrays(graph)
    if callable(getattr(graph, "graph", None)):
        return _networkx_of(graph.graph())
    raise BadSetting(
        "graph",
        f"{plain_text(repr(graph), longest=80)} is no graph",
        "Pass a networkx graph, a crawl, or a table with the columns source and target.",
    )


def _from_arrays(graph: Any) -> nx.DiGraph[Any]:
    import networkx as nx

    labels = range(graph.nodes) if graph.labels is None else graph.labels
    ends, targets = graph.indptr.tolist(), graph.targets.tolist()
    made: nx.DiGraph[Any] = nx.DiGraph()
    made.add_nodes_from(labels)
    for number, label in enumerate(labels):
        made.add_edges_from(
            (label, labels[target]) for target in targets[ends[number] : ends[number + 1]]
        )
    return made


def _downloads(order: Any, graph: nx.DiGraph[Any]) -> list[Hashable]:
    """Return the pages of an order that are in the graph, each once."""
    if order is None:
        return []
    if hasattr(order, "columns"):
        if "page" not in order.columns:
            raise BadSetting(
                "order", "the table has no column 'page'", "Pass what ck.replay gives."
            )
        order = order["page"]
    if isinstance(order, str) or not hasattr(order, "__iter__"):
        raise BadSetting(
            "order",
            f"{plain_text(repr(order), longest=60)} is no sequence of pages",
            "Pass pages in the order of their downloads, such as ck.replay(...).",
        )
    given: Iterable[Any] = order.tolist() if hasattr(order, "tolist") else order
    asked = list(dict.fromkeys(given))
    known = [page for page in asked if page in graph]
    if asked and not known:
        raise BadSetting("order", "none of its pages is in the graph", "Pass labels of its pages.")
    return known


def _choose(graph: nx.DiGraph[Any], downloads: Sequence[Any], most: int) -> _Shown:
    """Return the pages to draw: the first downloaded, then those with most links."""
    rank = {page: number for number, page in enumerate(downloads, start=1)}
    pages = list(graph)
    if len(pages) > most:
        pages = list(downloads[:most])
        degrees = graph.degree()
        others = [page for page in graph if page not in rank]
        others.sort(key=lambda page: -degrees[page])
        pages += others[: most - len(pages)]
    number = {page: place for place, page in enumerate(pages)}
    links = [
        (number[source], number[target])
        for source in pages
        for target in graph.adj[source]
        if target in number and target != source
    ]
    return _Shown(pages, links, rank)


def _layout(shown: _Shown, random_seed: int) -> NDArray[np.float64]:
    import networkx as nx
    import numpy as np

    plain: nx.Graph[int] = nx.Graph()
    plain.add_nodes_from(range(len(shown.pages)))
    plain.add_edges_from(shown.links)
    # Pages without a link would fly off and leave the others a spot in the middle.
    count = len(shown.pages)
    places = nx.spring_layout(
        plain, seed=random_seed, k=1.5 / max(1.0, count**0.5), iterations=80, method="force"
    )
    return np.array([places[page] for page in range(count)])


def _draw_links(ax: Axes, shown: _Shown, places: NDArray[np.float64]) -> None:
    from matplotlib.collections import LineCollection

    if len(shown.links) > _MOST_ARROWS:
        lines = [places[[source, target]] for source, target in shown.links]
        ax.add_collection(LineCollection(lines, colors="#888888", linewidths=0.5, alpha=0.35))
        return
    for source, target in shown.links:
        ax.annotate(
            "", places[target], places[source],
            arrowprops={"arrowstyle": "-|>", "color": "#888888", "lw": 0.8, "shrinkA": 6,
                        "shrinkB": 7, "connectionstyle": "arc3,rad=0.08"},
        )  # fmt: skip


def _draw_pages(ax: Axes, shown: _Shown, places: NDArray[np.float64]) -> None:
    import numpy as np
    from matplotlib.ticker import MaxNLocator

    inlinks = np.zeros(len(shown.pages))
    for _, target in shown.links:
        inlinks[target] += 1
    crowd = 1.0 if len(shown.pages) <= _MOST_LABELS else 0.35
    sizes = crowd * (60 + 240 * np.sqrt(inlinks / max(1.0, inlinks.max())))
    ranks = np.array([shown.rank.get(page, 0) for page in shown.pages])
    common: dict[str, Any] = {"edgecolors": "black", "linewidths": 0.5, "zorder": 3}
    x, y = places[:, 0], places[:, 1]
    waiting = ranks == 0
    if waiting.any():
        ax.scatter(x[waiting], y[waiting], s=sizes[waiting], c=_WAITING, **common)
    norm = (1, max(2, int(ranks.max())))
    drawn = None
    for chosen, marker in ((ranks > 1, "o"), (ranks == 1, "s")):
        if chosen.any():
            drawn = ax.scatter(
                x[chosen], y[chosen], s=sizes[chosen], c=ranks[chosen], cmap="viridis",
                vmin=norm[0], vmax=norm[1], marker=marker, **common,
            )  # fmt: skip
    figure = ax.get_figure()
    if drawn is not None and figure is not None:
        bar = figure.colorbar(drawn, ax=ax, shrink=0.7, label="download, from 1")
        bar.ax.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    ax.margins(0.08)
    if len(shown.pages) <= _MOST_LABELS:
        for page, place in zip(shown.pages, places, strict=True):
            number = shown.rank.get(page)
            label = safe_label(_short(page), longest=24).lstrip()
            ax.annotate(
                f"{number}: {label}" if number else label, place, xytext=(0, 11),
                textcoords="offset points", ha="center", fontsize=8, zorder=4,
            )  # fmt: skip


def _short(page: Any) -> str:
    """Return an address without its scheme, and without its host where it has a path."""
    text = str(page)
    address = text.partition("://")[2]
    path = address.partition("/")[2]
    return f"/{path}" if path else address or text


def _named(page: Any) -> str:
    return safe_label(_short(page), longest=30).lstrip()


def _title(graph: nx.DiGraph[Any], shown: _Shown, downloads: Sequence[Any]) -> str:
    pages, links = len(graph), graph.number_of_edges()
    if not pages:
        return "The graph is empty"
    if not downloads:
        text = f"{format_number(pages)} page{'s' * (pages != 1)}, {format_number(links)} links"
    else:
        first, last = (_named(downloads[place]) for place in (0, -1))
        text = f"{format_number(len(downloads))} of {format_number(pages)} pages downloaded"
        if len(shown.pages) == pages:  # else the title would be long
            text += f", from {first} to {last}" if len(downloads) > 1 else f": {first}"
    if len(shown.pages) < pages:
        which = "those downloaded first" if downloads else "those with most links"
        text += f"; a sample of {format_number(len(shown.pages))} is drawn, {which}"
    return text
