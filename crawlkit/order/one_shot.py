"""One question, one answer: which page next, given what has been downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.order.download_history import history_of_crawl, history_of_graph, rank_waiting
from crawlkit.order.graph_inputs import link_graph, node_numbers
from crawlkit.order.link_graph import LinkGraph
from crawlkit.order.pagerank import pagerank
from crawlkit.order.registry import make_ordering

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from crawlkit.order.base import Ordering

__all__ = ["partial_pagerank", "rank_frontier"]


def partial_pagerank(
    graph: Any,
    downloaded: Iterable[Any],
    *,
    damping: float = 0.85,
    tol: float = 1e-12,
) -> pd.Series[float]:
    """Return the PageRank of downloaded pages and frontier, by the links known so far.

    Parameters
    ----------
    graph
        Anything that :func:`~crawlkit.order.graph_inputs.link_graph` takes.
    downloaded
        The pages whose links are known: labels, or numbers of pages.
    damping
        Share of rank that follows links, between 0 and 1, both excluded.
    tol
        Greatest L1 error of the result.

    Returns
    -------
    Series
        ``partial_pagerank`` (float64), summing to 1, by ``page``: the downloaded pages and those
        that they link to, in the order of the graph.

    Raises
    ------
    BadSetting
        A page is not in the graph, or a number is out of bounds.

    References
    ----------
    Cho, Garcia-Molina and Page, "Efficient crawling through URL ordering", WWW 1998.

    Examples
    --------
    >>> graph = (["home", "home", "shop", "about"], ["shop", "about", "cart", "home"])
    >>> partial_pagerank(graph, ["home", "shop"]).round(3).to_dict()
    {'home': 0.165, 'shop': 0.235, 'about': 0.235, 'cart': 0.365}
    """
    import numpy as np
    import pandas as pd

    links = link_graph(graph)
    done = np.unique(node_numbers(links, downloaded, "downloaded"))
    degree = links.out_degree()
    sources = np.repeat(np.arange(links.nodes), degree)
    is_done = np.zeros(links.nodes, dtype=bool)
    is_done[done] = True
    seen = is_done[sources]
    sources, targets = sources[seen], links.targets[seen]
    known = is_done.copy()
    known[targets] = True
    number = np.cumsum(known) - 1
    pages = np.flatnonzero(known).tolist()
    part = LinkGraph.from_edges(number[sources], number[targets], len(pages))
    labels = pages if links.labels is None else [links.labels[page] for page in pages]
    ranks = pagerank(part, damping=damping, tol=tol)
    index = pd.Index(labels, name="page", dtype=None if labels else "str")
    return pd.Series(ranks, index=index, name="partial_pagerank", dtype="float64")


def rank_frontier(
    crawl_or_graph: Any,
    order: str | Ordering,
    downloaded: Iterable[Any] | None = None,
    *,
    random_seed: int = 0,
) -> pd.Series[float]:
    """Return the pages that wait to be downloaded, the one that an ordering takes next first.

    The ordering is told of each download with its links, one after the other, as if it had been
    there from the start. So this works on a crawl that ran in another order, whether it is
    finished, paused or still running.

    Parameters
    ----------
    crawl_or_graph
        A crawl; or anything else that :func:`~crawlkit.order.graph_inputs.link_graph` takes.
    order
        A name in ``ck.ORDERINGS``, or a fresh :class:`~crawlkit.Ordering` object.
    downloaded
        The pages downloaded, in their order: labels, or numbers of pages. Not needed with a
        crawl, or with its graph, whose nodes say so in ``downloaded``; a crawl is then only read
        as a graph, without its failures and refusals.
    random_seed
        Seed of ``order="random"``.

    Returns
    -------
    Series
        ``score`` (float64) by ``page``, best first; equal scores in order of discovery. Where
        the ordering ranks hosts, as larger_sites_first does, the rank of the host goes before
        the score. Empty where nothing waits.

    Raises
    ------
    BadSetting
        The ordering or a page is not known, or nothing says what has been downloaded.

    Examples
    --------
    >>> graph = (["home", "home", "shop", "about"], ["shop", "about", "cart", "cart"])
    >>> rank_frontier(graph, "breadth_first", ["home", "shop"]).to_dict()
    {'about': -1.0, 'cart': -2.0}
    >>> rank_frontier(graph, "depth_first", ["home", "shop"]).index[0]
    'cart'
    """
    import pandas as pd

    ordering = make_ordering(order, random_seed=random_seed)
    tables = isinstance(getattr(crawl_or_graph, "links", None), pd.DataFrame)
    labels: Sequence[Any] | None = None
    if tables and downloaded is None and not isinstance(crawl_or_graph, pd.DataFrame):
        history = history_of_crawl(crawl_or_graph)
    else:
        links = link_graph(crawl_or_graph)
        if downloaded is None:
            downloaded = _downloaded_nodes(crawl_or_graph)
        history = history_of_graph(links, node_numbers(links, downloaded, "downloaded").tolist())
        labels = links.labels
    ranked = rank_waiting(ordering, history)
    names: list[Any]
    if history.nodes:
        nodes = [history.nodes[page] for page, _ in ranked]
        names = nodes if labels is None else [labels[node] for node in nodes]
    else:
        names = [history.pages[page].url for page, _ in ranked]
    index = pd.Index(names, name="page", dtype=None if names else "str")
    values = [score for _, score in ranked]
    return pd.Series(values, index=index, name="score", dtype="float64")


def _downloaded_nodes(graph: Any) -> list[Any]:
    """Return the nodes of a crawl's networkx graph that were downloaded."""
    if hasattr(graph, "adjacency"):
        facts = list(graph.nodes(data="downloaded"))
        if any(done is not None for _, done in facts):
            return [node for node, done in facts if done]
    raise BadSetting(
        "downloaded", "nothing says what has been downloaded", "Pass the pages in their order."
    )
