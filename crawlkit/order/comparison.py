"""Orderings side by side on one graph: a table, curves, and what chance has in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.order.base import Ordering, check_number
from crawlkit.order.comparison_helpers import run_all
from crawlkit.order.comparison_runs import Plan, Task
from crawlkit.order.comparison_tables import (
    complete_runs,
    curves_table,
    figures_table,
    runs_frame,
)
from crawlkit.order.graph_inputs import link_graph, node_numbers
from crawlkit.order.page_values import page_values
from crawlkit.order.registry import make_ordering
from crawlkit.reprs import escape, format_number, frame_html

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from crawlkit.order.comparison_runs import RunResult
    from crawlkit.order.graph_inputs import Hosts
    from crawlkit.order.link_graph import LinkGraph
    from crawlkit.order.page_values import Value

    Orders = str | Ordering | Iterable[str | Ordering] | Mapping[str, str | Ordering]

__all__ = ["Comparison", "compare_orderings"]

_BASE = "breadth_first"
_BEST = "omniscient"
_BOUND = "reachable_bound"


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare_orderings` found.

    Attributes
    ----------
    table
        One row an ordering, the means over the runs; see :func:`compare_orderings`.
    curves
        ``ordering`` (str), ``page_share``, ``value_share`` (mean), ``low`` and ``high`` (10th and
        90th percentile of the runs; float64), at 201 points.
    runs
        One row an ordering and run: ``run`` (int64, from 0), ``seed`` (the first one),
        ``ordering``, and the figures of ``table`` one by one.
    facts
        Pages, links, hosts, reachable pages, runs, rest, fetchers and value, by name.
    interrupted
        Whether it was ended early; then only the runs that were complete count.
    """

    table: pd.DataFrame
    curves: pd.DataFrame
    runs: pd.DataFrame
    facts: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot the curves; see :func:`~crawlkit.plot_orderings`."""
        from crawlkit.plots.orderings import plot_orderings

        return plot_orderings(self, ax=ax)

    def _summary(self) -> str:
        parts = [f"{name} {format_number(value)}" for name, value in self.facts.items()]
        ended = "ended early; " if self.interrupted else ""
        return f"{ended}{', '.join(parts)}"

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.table)} orderings: {self._summary()}>"

    def _repr_html_(self) -> str:
        table = frame_html(self.table, rows=30, title="Orderings compared")
        return f"{table}<p>{escape(self._summary())}</p>{self._picture()}"

    def _picture(self) -> str:
        """Return the plot as an image that needs nothing from elsewhere."""
        import base64
        import io

        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        if not len(self.curves):
            return ""
        figure = Figure(figsize=(8, 5), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        self.plot(ax=axes)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=90)
        data = base64.b64encode(buffer.getvalue()).decode()
        text = escape(axes.get_title())
        return f'<img alt="{text}" src="data:image/png;base64,{data}">'


def compare_orderings(
    graph: Any,
    orders: Orders,
    seeds: Any = None,
    *,
    runs: int = 1,
    hosts: Hosts | None = None,
    rest: int = 0,
    fetchers: int = 1,
    value: Value = "pagerank",
    max_pages: int | None = None,
    tau_at: float = 0.25,
    random_seed: int = 0,
    processes: int | None = None,
    progress: bool = True,
) -> Comparison:
    """Replay orderings on a known graph, and compare how soon each gathers what is valuable.

    Breadth first and omniscient always run along, for comparison, and the bound is computed: the
    reachable pages sorted by value, whatever leads to them.

    Parameters
    ----------
    graph
        Anything that :func:`~crawlkit.order.graph_inputs.link_graph` takes.
    orders
        Names in ``ck.ORDERINGS``, :class:`~crawlkit.Ordering` objects, or both; or a mapping
        from labels of your own to these. Every run has a fresh copy.
    seeds
        The pages to begin with, in every run; or a list of such lists, one a run. By default
        each run has one page of the largest strongly connected part of the graph, drawn at
        random, none twice; where that is smaller than ``runs``, each of its pages once.
    runs
        Number of runs. The spread and the intervals tell what the seed page does.
    hosts
        The host of each page, by default what the graph knows; see ``link_graph``.
    rest
        Downloads (with more than one fetcher: ticks) that a host must wait between two of its
        own. A crawl must be polite: without a rest, an ordering that stays on one large host
        looks worse than it would be, and strict breadth first is one that no polite crawler
        can follow. Compare both.
    fetchers
        Downloads in a tick.
    value
        What a page is worth: ``"pagerank"`` on the whole graph (exact to 1e-12), ``"inlinks"``, a
        column, numbers in the order of the graph, a Series by label, or a function of the label.
        PageRank as value favors orderings that compute it.
    max_pages
        Where each replay stops; shares are still of all reachable pages.
    tau_at
        Share of the reachable pages at which ``tau`` is taken.
    random_seed
        Seed of the drawn seed pages, and of ``"random"``, which draws anew in each run.
    processes
        Processes to use; by default one a processor where the work is worth it.
    progress
        Whether to show a bar. Interrupting returns the runs that are complete.

    Returns
    -------
    Comparison
        Its ``table`` has a row for each ordering, with ``omniscient`` and ``reachable_bound``
        last: ``ordering`` (str), ``runs`` (int64) and float64 means over the runs: ``auc`` (area
        under the curve of value over pages, 0 to 1) and its standard deviation ``auc_sd``;
        ``auc_gain``, the mean difference to breadth first on the same seeds, with the 95 %
        interval ``auc_gain_low`` to ``auc_gain_high`` and ``wins``, the share of the runs where
        it is above; ``half``, the share of pages after which half of the value is there; ``hot_5
        hot_10 hot_25 hot_50``, the share of the hot pages (the tenth worth most) in the first 5
        to 50 % of the pages; ``tau``, Kendall's tau between PageRank on the crawled pages alone
        and the true one (orders that gather PageRank fast may misjudge it); ``seconds`` of CPU.
        What cannot be told is NaN. Empty for an empty graph.

    Raises
    ------
    BadSetting
        An argument cannot work; an unknown ordering's message lists the known ones.

    References
    ----------
    Boldi, Santini and Vigna, "Do your worst to make the best", WAW 2004; Baeza-Yates, Castillo,
    Marin and Rodriguez, "Crawling a country", WWW 2005.

    Examples
    --------
    >>> graph = (["home", "home", "news", "docs"], ["news", "docs", "home", "news"])
    >>> comparison = compare_orderings(graph, ["depth_first"], "home", progress=False)
    >>> comparison.table["ordering"].tolist()
    ['breadth_first', 'depth_first', 'omniscient', 'reachable_bound']
    """
    _check_numbers(
        tau_at, runs=runs, rest=rest, fetchers=fetchers, max_pages=max_pages, processes=processes
    )
    named = _named_orders(orders, random_seed)
    links = link_graph(graph, hosts=hosts)
    values = page_values(links, value, source=graph)
    starts = _seeds_of_runs(links, seeds, runs, random_seed)
    labels = [*named]
    plan = Plan(
        links,
        [list(_named_orders(orders, random_seed + run).values()) for run in range(len(starts))],
        starts,
        values,
        values if isinstance(value, str) and value == "pagerank" else page_values(links),
        rest,
        fetchers,
        max_pages,
        tau_at,
    )
    numbers: list[int | None] = [*range(len(labels)), None]
    tasks = [Task(run, number) for run in range(len(starts)) for number in numbers]
    results, interrupted = _run(plan, tasks, processes=processes, progress=progress)
    kept = complete_runs(results, len(numbers))
    frame = runs_frame(plan, kept, [*labels, _BOUND])
    base = next(name for name, made in named.items() if made.name == _BASE)
    facts = {
        "pages": links.nodes,
        "links": links.links,
        "hosts": len(links.host_names),
        "runs": int(frame["run"].nunique()),
        "rest": rest,
        "fetchers": fetchers,
    }
    return Comparison(
        figures_table(frame, [*labels, _BOUND], base),
        curves_table(kept, [*labels, _BOUND]),
        frame,
        facts,
        interrupted,
    )


# -- arguments -----------------------------------------------------------------------------


def _check_numbers(tau_at: float, **counts: int | None) -> None:
    for name, number in counts.items():
        if number is not None:
            check_number(name, number, least=0 if name == "rest" else 1, whole=True)
    check_number("tau_at", tau_at, least=0.0, above=True)
    if tau_at > 1:
        raise BadSetting("tau_at", f"{tau_at!r} is above 1", "Pass a share such as 0.25.")


def _named_orders(orders: Orders, random_seed: int) -> dict[str, Ordering]:
    """Return the orderings by label, with breadth first and omniscient among them."""
    named: dict[str, Ordering] = {}
    if isinstance(orders, Mapping):
        named = {str(name): make_ordering(order, random_seed) for name, order in orders.items()}
    else:
        several: Any = orders if hasattr(orders, "__iter__") else [orders]
        for order in [several] if isinstance(several, str) else several:
            made = make_ordering(order, random_seed)
            named.setdefault(order if isinstance(order, str) else _label(made), made)
    if not any(made.name == _BASE for made in named.values()):
        named = {_BASE: make_ordering(_BASE), **named}
    best = [name for name, made in named.items() if made.name == _BEST]
    last = {name: named.pop(name) for name in best} or {_BEST: make_ordering(_BEST)}
    return {**named, **last}


def _label(ordering: Ordering) -> str:
    """Return the ordering's name with the parameters that are not the usual ones."""
    given = ordering.parameters()
    try:
        usual = type(ordering)().parameters()
    except TypeError:
        usual = {}
    said = [f"{name}={value}" for name, value in given.items() if usual.get(name, ...) != value]
    return f"{ordering.name}({', '.join(said)})" if said else ordering.name


def _seeds_of_runs(
    graph: LinkGraph, seeds: Any, runs: int, random_seed: int
) -> list[NDArray[np.int64]]:
    """Return the seed pages of each run."""
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if seeds is not None:
        nested = isinstance(seeds, (list, tuple)) and any(isinstance(one, list) for one in seeds)
        if nested and runs not in (1, len(seeds)):
            raise BadSetting("runs", f"{runs} runs with {len(seeds)} lists of seeds", "Leave it.")
        each = [node_numbers(graph, one, "seeds") for one in (seeds if nested else [seeds])]
        if graph.nodes and not all(len(one) for one in each):
            raise BadSetting("seeds", "there are none", "Pass the pages to begin with.")
        return each if nested else each * runs
    if not graph.nodes:
        return []
    draw = np.random.default_rng(random_seed)
    ways = csr_array(
        (np.ones(graph.links, dtype=np.int8), graph.targets, graph.indptr),
        shape=(graph.nodes, graph.nodes),
    )
    _, part = connected_components(ways, directed=True, connection="strong")
    largest = np.flatnonzero(part == np.bincount(part).argmax())
    drawn = draw.permutation(largest)[:runs]
    return [np.array([page], dtype=np.int64) for page in drawn.tolist()]


def _run(
    plan: Plan, tasks: list[Task], *, processes: int | None, progress: bool
) -> tuple[list[RunResult], bool]:
    from tqdm.auto import tqdm

    with tqdm(total=len(tasks), desc="replays", unit="", disable=not progress) as bar:
        return run_all(plan, tasks, processes=processes, done=bar.update)
