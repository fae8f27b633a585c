"""The explorer of orderings: replays on a known graph, and the frontier at every download.

All is recomputed in the callback of the control that was moved, under a lock, since some front
ends run callbacks beside the cells. Pictures are drawn on a figure of their own, without pyplot,
whose state belongs to the main thread. Nothing is printed.
"""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.order.base import Ordering
from crawlkit.order.comparison_measures import value_curve
from crawlkit.order.download_history import history_of_graph, rank_waiting
from crawlkit.order.graph_inputs import link_graph, node_numbers
from crawlkit.order.page_values import page_values
from crawlkit.order.registry import ORDERINGS, make_ordering
from crawlkit.order.simulation import download_order
from crawlkit.reprs import escape, format_number, frame_html, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    from crawlkit.order.graph_inputs import Hosts
    from crawlkit.order.page_values import Value

__all__ = ["OrderingExplorer"]

_USUAL = ("breadth_first", "opic", "partial_pagerank", "larger_sites_first", "omniscient")
_SHOWN = 10  # pages of the frontier
_POINTS = 400  # of a curve in the picture
_KEPT = 64  # replays
_DAMPING = 0.85


class OrderingExplorer:
    """Orderings on a known graph, with controls: the curves, and the frontier at each download.

    Let it be the last line of a cell. Choose orderings, slide along the downloads, and see what
    each would download next and why: the ten best pages of its frontier with their scores.

    Parameters
    ----------
    graph
        Anything that :func:`crawlkit.replay` takes: a networkx ``DiGraph``, a table of links, a
        crawl, arrays, a file.
    seeds
        The pages to begin with.
    orders
        The orderings chosen at the start: names in ``ck.ORDERINGS``, :class:`~crawlkit.Ordering`
        objects, or a mapping from labels of your own to these. The named ones can all be chosen
        later; ``K`` and damping are for those among them that have such a parameter.
    hosts
        The host of each page, by default what the graph knows.
    value
        What a page is worth, as in :func:`crawlkit.replay`.
    random_seed
        Seed of the order ``"random"``.

    Attributes
    ----------
    controls : dict
        The widgets ``orders``, ``shown`` (the ordering whose frontier is shown), ``k`` (0: 1 % of
        the known pages, at least 50), ``damping``, ``rest`` and ``downloads``.
    curves : pandas.DataFrame
        ``ordering`` (str), ``page_share`` and ``value_share`` (float64) of the chosen orderings.
    table : pandas.DataFrame
        One row an ordering, after the downloads chosen: ``ordering`` (str), ``value_share`` and
        ``half``, the share of pages after which half of the value is there (float64).
    frontier : pandas.DataFrame
        The ten best waiting pages of the ordering shown: ``page`` (label), ``score``, ``value``
        (float64) and ``next`` (bool), whether the page is downloaded next.
    view : ipywidgets.VBox
        The whole, to be put into other widgets.

    Raises
    ------
    BadSetting
        An argument cannot work. What an ordering of your own raises later is shown, and is in
        ``error``.

    Examples
    --------
    >>> import crawlkit as ck
    >>> graph = (["home", "home", "news", "docs"], ["news", "docs", "home", "a"])
    >>> explorer = ck.OrderingExplorer(graph, "home", orders=["breadth_first", "depth_first"])
    >>> explorer.controls["downloads"].value = 2
    >>> explorer.frontier[["page", "score", "next"]].values.tolist()
    [['docs', -1.0, True]]
    """

    def __init__(
        self,
        graph: Any,
        seeds: Any,
        *,
        orders: str | Ordering | Iterable[str | Ordering] | Mapping[str, str | Ordering] = _USUAL,
        hosts: Hosts | None = None,
        value: Value = "pagerank",
        random_seed: int = 0,
    ) -> None:
        self._graph = link_graph(graph, hosts=hosts)
        self._seeds = node_numbers(self._graph, seeds, "seeds")
        if not len(self._seeds):
            raise BadSetting("seeds", "there are none", "Pass the pages to begin with.")
        self._values = page_values(self._graph, value, source=graph)
        self._reachable = self._graph.reachable(self._seeds)
        self._random_seed = random_seed
        chosen = _labeled(orders)
        for order in chosen.values():
            make_ordering(order, random_seed)
        self._orders: dict[str, str | Ordering] = {**{name: name for name in ORDERINGS}, **chosen}
        self._replays: dict[tuple[object, ...], NDArray[np.int64]] = {}
        self._drawn: tuple[pd.DataFrame, Figure, Line2D] | None = None
        self._drawing = threading.Lock()
        self.error: Exception | None = None
        self._make_view(list(chosen))
        self._draw()

    # -- what it holds ---------------------------------------------------------------------

    @property
    def chosen(self) -> list[str]:
        """The orderings chosen."""
        return list(self.controls["orders"].value)

    def downloads(self, ordering: str) -> list[Any]:
        """Return the pages in the order in which an ordering downloads them, as set now.

        Parameters
        ----------
        ordering
            One of the labels that can be chosen.
        """
        return [self._label(node) for node in self._replay(ordering).tolist()]

    @property
    def text(self) -> str:
        """The explorer as one line of text, for where widgets cannot be shown."""
        if self.error is not None:
            return plain_text(f"{type(self.error).__name__}: {self.error}")
        count = self.controls["downloads"].value
        parts = [
            f"{row.ordering} {row.value_share:.0%}" for row in self.table.itertuples(index=False)
        ]
        total = format_number(len(self._reachable))
        said = ", ".join(parts) or "choose an ordering"
        return plain_text(f"after {format_number(count)} of {total} downloads: {said}")

    def __repr__(self) -> str:
        return f"<OrderingExplorer: {self.text}>"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = self.view._repr_mimebundle_(**options) or {}
        return {**bundle, "text/plain": repr(self)}

    # -- replays ---------------------------------------------------------------------------

    def _ordering(self, label: str) -> Ordering:
        """Return a fresh ordering, with the parameters that the controls say."""
        order = self._orders[label]
        if isinstance(order, Ordering):
            return copy.deepcopy(order)
        known = inspect.signature(ORDERINGS[order]).parameters
        k = self.controls["k"].value or None
        said = {"k": k, "damping": round(self.controls["damping"].value, 6)}
        parameters = {name: value for name, value in said.items() if name in known}
        return make_ordering(order, self._random_seed, parameters=parameters)

    def _replay(self, label: str) -> NDArray[np.int64]:
        rest, ordering = self.controls["rest"].value, self._ordering(label)
        key = (label, rest, repr(ordering))
        if key not in self._replays:
            while len(self._replays) >= _KEPT:
                self._replays.pop(next(iter(self._replays)))
            self._replays[key] = download_order(
                self._graph, ordering, self._seeds, rest=rest, values=self._values
            )
        return self._replays[key]

    def _measure(self) -> None:
        """Find curves, figures and frontier for what the controls say."""
        import numpy as np
        import pandas as pd

        count = self.controls["downloads"].value
        curves, rows = [], []
        for label in self.chosen:
            pages, gained = value_curve(self._replay(label), self._values, self._reachable)
            enough = np.flatnonzero(gained >= 0.5 * (1 - 1e-12))
            rows.append(
                (
                    label,
                    float(gained[min(count, len(gained) - 1)]),
                    float(pages[enough[0]]) if len(enough) else np.nan,
                )
            )
            some = np.unique(np.linspace(0, len(pages) - 1, _POINTS).round().astype(np.int64))
            names = pd.Series([label] * len(some), dtype="str")
            curves.append(
                pd.DataFrame(
                    {"ordering": names, "page_share": pages[some], "value_share": gained[some]}
                )
            )
        self.curves = pd.concat(curves, ignore_index=True) if curves else _no_curves()
        self.table = pd.DataFrame(rows, columns=["ordering", "value_share", "half"]).astype(
            {"ordering": "str", "value_share": "float64", "half": "float64"}
        )
        self.frontier = self._frontier(self.controls["shown"].value, count)

    def _frontier(self, label: str | None, count: int) -> pd.DataFrame:
        """Return the best waiting pages of an ordering after some downloads."""
        import pandas as pd

        ranked: list[tuple[int, float]] = []
        next_one = -1
        if label is not None:
            order = self._replay(label)
            history = history_of_graph(
                self._graph,
                order[:count].tolist(),
                seeds=self._seeds.tolist(),
                values=self._values.tolist(),
            )
            next_one = int(order[count]) if count < len(order) else -1
            ranked = [
                (history.nodes[page], score)
                for page, score in rank_waiting(self._ordering(label), history)
            ]
        self._waiting = len(ranked)
        places = [place for place, (node, _) in enumerate(ranked) if node == next_one]
        self._next = (self._label(next_one), places[0] + 1) if places else None
        top = ranked[:_SHOWN]
        nodes = [node for node, _ in top]
        frame = pd.DataFrame(
            {
                "page": pd.Series([self._label(node) for node in nodes], dtype="object"),
                "score": pd.Series([score for _, score in top], dtype="float64"),
                "value": pd.Series(self._values[nodes], dtype="float64"),
                "next": pd.Series([node == next_one for node in nodes], dtype="bool"),
            }
        )
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        return frame

    def _label(self, node: int) -> Any:
        return node if self._graph.labels is None else self._graph.labels[node]

    # -- what is seen ----------------------------------------------------------------------

    def _make_view(self, chosen: list[str]) -> None:
        import ipywidgets as widgets

        style = {"description_width": "110px"}
        wide = widgets.Layout(width="330px")
        pages = len(self._reachable)
        hosts = max(1, len(self._graph.host_names))
        self.controls = {
            "orders": widgets.SelectMultiple(
                options=list(self._orders), value=chosen, rows=len(self._orders),
                description="orderings", style=style, layout=wide,
            ),
            "k": widgets.BoundedIntText(
                0, min=0, max=10**9, description="K (0: automatic)", style=style, layout=wide
            ),
            "damping": widgets.FloatSlider(
                _DAMPING, min=0.05, max=0.95, step=0.05, description="damping",
                continuous_update=False, style=style, layout=wide,
            ),
            "rest": widgets.BoundedIntText(
                0, min=0, max=10**6, description="host rest", style=style, layout=wide,
                tooltip="downloads of other hosts between two of one host",
            ),
            "shown": widgets.Dropdown(
                options=chosen, value=chosen[0] if chosen else None,
                description="frontier of", style=style, layout=wide,
            ),
            "downloads": widgets.IntSlider(
                pages // 10, min=0, max=pages, description="downloads", continuous_update=False,
                style=style, layout=widgets.Layout(width="95%"),
            ),
        }  # fmt: skip
        size = f"{format_number(pages)} pages that the seeds lead to, {format_number(hosts)} host"
        head = widgets.HTML(f"<b>Orderings</b> on {escape(size)}{'s' if hosts != 1 else ''}")
        self._picture = widgets.Image(format="png", layout=widgets.Layout(max_width="640px"))
        self._status, self._details = widgets.HTML(), widgets.HTML()
        names = ("orders", "k", "damping", "rest", "shown")
        panel = widgets.VBox([self.controls[name] for name in names])
        row = widgets.HBox([panel, self._picture])
        self.view = widgets.VBox(
            [head, row, self.controls["downloads"], self._status, self._details]
        )
        for name, control in self.controls.items():
            control.observe(self._chose if name == "orders" else self._moved, "value")

    def _chose(self, _change: object) -> None:
        """Offer the frontiers of the orderings chosen; keep the one that is shown, if it is."""
        shown, chosen = self.controls["shown"], self.chosen
        before = shown.value
        with self._drawing:
            shown.unobserve(self._moved, "value")
            shown.options = chosen
            shown.value = before if before in chosen else next(iter(chosen), None)
            shown.observe(self._moved, "value")
        self._draw()

    def _moved(self, _change: object) -> None:
        self._draw()

    def _draw(self) -> None:
        """Show what the controls say; called from any thread."""
        with self._drawing:
            self._status.value = '<span role="status">computing ...</span>'
            try:
                self._measure()
            except Exception as error:  # noqa: BLE001 - an ordering of the caller's own may fail
                self.error = error
                self._picture.value, self._details.value = b"", ""
            else:
                self.error = None
                self._picture.value = self._png()
                self._details.value = self._details_html()
            text = escape(self.text, longest=None)
            self._status.value = f'<span role="status">{text}</span>'

    def _png(self) -> bytes:
        """Return the curves with the place of the slider, without pyplot."""
        import io

        if self._drawn is None or not self._drawn[0].equals(self.curves):
            self._drawn = (self.curves, *_new_figure(self.curves))
        _, figure, mark = self._drawn
        share = self.controls["downloads"].value / max(1, len(self._reachable))
        mark.set_xdata([share, share])
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=90)
        figure.set_layout_engine("none")  # the first drawing has found the places
        return buffer.getvalue()

    def _details_html(self) -> str:
        label = self.controls["shown"].value
        if label is None:
            return ""
        table = self.frontier.assign(next=self.frontier["next"].map({True: "next", False: ""}))
        title = f"Frontier of {label}: {format_number(self._waiting)} pages wait"
        said = ""
        if self._next is not None and self._next[1] > _SHOWN:
            page, place = self._next
            said = f"Next goes number {format_number(place)}, {page}: the hosts before it rest."
        figures = frame_html(self.table, rows=30, title="Value gathered so far")
        return f"{frame_html(table, title=plain_text(title))}<p>{escape(said)}</p>{figures}"


def _new_figure(curves: pd.DataFrame) -> tuple[Figure, Line2D]:
    """Return a figure of some curves, and an upright line that can be moved."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from crawlkit.plots.orderings import plot_orderings

    figure = Figure(figsize=(7, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = plot_orderings(curves, ax=figure.add_subplot())
    return figure, axes.axvline(0, color="#888888", linewidth=1)


def _no_curves() -> pd.DataFrame:
    import pandas as pd

    columns = {"ordering": "str", "page_share": "float64", "value_share": "float64"}
    return pd.DataFrame({name: pd.Series([], dtype=kind) for name, kind in columns.items()})


def _labeled(orders: Any) -> dict[str, str | Ordering]:
    """Return the orderings by label."""
    if isinstance(orders, Mapping):
        return {str(label): order for label, order in orders.items()}
    several = [orders] if isinstance(orders, (str, Ordering)) else list(orders)
    return {
        order if isinstance(order, str) else getattr(order, "name", str(order)): order
        for order in several
    }
