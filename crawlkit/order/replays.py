"""Replay: what a crawl in some order would have brought, on a graph that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.order.graph_inputs import link_graph, node_numbers
from crawlkit.order.page_values import page_values
from crawlkit.order.registry import make_ordering
from crawlkit.order.simulation import download_order

if TYPE_CHECKING:
    import pandas as pd

    from crawlkit.order.base import Ordering
    from crawlkit.order.graph_inputs import Hosts
    from crawlkit.order.page_values import Value

__all__ = ["replay"]


def replay(
    graph: Any,
    order: str | Ordering,
    seeds: Any,
    *,
    max_pages: int | None = None,
    hosts: Hosts | None = None,
    rest: int = 0,
    fetchers: int = 1,
    value: Value = "pagerank",
    random_seed: int = 0,
    damping: float = 0.85,
) -> pd.DataFrame:
    """Crawl a known graph in some order, without a network.

    The ordering is the object that a live crawl uses, and gets the same calls: with ``rest=0``
    and one fetcher, pages come as in a live crawl with one worker and no delay.

    Parameters
    ----------
    graph
        A networkx ``DiGraph``, a table of links, a crawl, arrays or a file of links, as
        :func:`crawlkit.order.graph_inputs.link_graph` takes them.
    order
        A name in ``ck.ORDERINGS`` or an :class:`~crawlkit.Ordering`; the object stays as it is.
    seeds
        The pages to begin with: one label or several, or numbers of pages.
    max_pages
        Where to stop; by default when all that the seeds lead to is there.
    hosts
        The host of each page, by default what the graph knows; see ``link_graph``.
    rest
        Downloads (with more than one fetcher: ticks) that a host must wait between two of its
        own. A live crawl is polite, so orderings that favor few hosts look wrong without it.
    fetchers
        Downloads in a tick.
    value
        What a page is worth: ``"pagerank"`` on the whole graph, ``"inlinks"``, a column, numbers
        in the order of the graph, a Series by label, or a function of the label.
    random_seed
        Seed of the order ``"random"``.
    damping
        Of the PageRank that pages are worth.

    Returns
    -------
    pandas.DataFrame
        One row a download: ``step`` (int64, from 1), ``page`` (label; without labels the number,
        int64), ``value`` (float64), ``value_share`` and ``page_share`` (float64: what has been
        gathered so far, as a share of all that the seeds lead to; where that is worth nothing,
        ``value_share`` is NaN).

    Raises
    ------
    BadSetting
        An argument cannot work; a seed that is not in the graph is named.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.DiGraph([("home", "news"), ("home", "docs"), ("docs", "news"), ("news", "a")])
    >>> found = replay(graph, "breadth_first", "home", value="inlinks")
    >>> found["page"].tolist(), found["value_share"].tolist()
    (['home', 'news', 'docs', 'a'], [0.0, 0.5, 0.75, 1.0])
    """
    import numpy as np
    import pandas as pd

    ordering = make_ordering(order, random_seed)
    links = link_graph(graph, hosts=hosts)
    begin = node_numbers(links, seeds, "seeds")
    if links.nodes and not len(begin):
        raise BadSetting("seeds", "there are none", "Pass the pages to begin with.")
    values = page_values(links, value, source=graph, damping=damping)
    nodes = download_order(
        links, ordering, begin, rest=rest, fetchers=fetchers, max_pages=max_pages, values=values
    )
    everything = nodes if max_pages is None else links.reachable(begin)
    total = float(values[everything].sum())
    gained = values[nodes]
    steps = np.arange(1, len(nodes) + 1, dtype=np.int64)
    pages = nodes if links.labels is None else _labels(links.labels, nodes.tolist())
    return pd.DataFrame(
        {
            "step": steps,
            "page": pages,
            "value": gained,
            "value_share": np.cumsum(gained) / total if total else np.full(len(nodes), np.nan),
            "page_share": steps / max(1, len(everything)),
        }
    )


def _labels(labels: Any, nodes: list[int]) -> pd.Series[Any]:
    """Return labels of some pages: text as text, also when there are none."""
    import pandas as pd

    chosen = [labels[node] for node in nodes]
    text = all(isinstance(label, str) for label in chosen)
    return pd.Series(chosen, dtype="str" if text else "object")
