"""Tables to networkx: the link graph of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

__all__ = ["graph_from_tables"]

# A chain of redirects longer than this is a loop for our purposes.
_LONGEST_CHAIN = 20


def graph_from_tables(
    pages: pd.DataFrame,
    links: pd.DataFrame,
    *,
    redirects: Literal["follow", "edge"] = "follow",
) -> nx.DiGraph[str]:
    """Return the directed graph of pages and links.

    Parameters
    ----------
    pages
        Columns ``url``, and where present ``status``, ``depth``, ``host`` and ``title``, which
        become attributes of the nodes.
    links
        Columns ``source``, ``target`` and ``kind``.
    redirects
        ``"follow"`` joins through redirects: a link to a page that redirects counts as a link to
        where it ends, and the page in between is left out. ``"edge"`` keeps each hop as an edge.

    Returns
    -------
    networkx.DiGraph
        Nodes are addresses. ``downloaded`` says whether a node is in ``pages``; an edge carries
        ``links``, the number of links it stands for. Links of the kinds canonical and alternate
        are statements about a page, not ways to another, and are left out.

    Raises
    ------
    BadSetting
        ``redirects`` is neither of the two.

    Examples
    --------
    >>> import pandas as pd
    >>> pages = pd.DataFrame({"url": ["http://a.example/"], "status": [200]})
    >>> links = pd.DataFrame(
    ...     {"source": ["http://a.example/"], "target": ["http://a.example/b"], "kind": ["anchor"]}
    ... )
    >>> sorted(graph_from_tables(pages, links).edges)
    [('http://a.example/', 'http://a.example/b')]
    """
    import networkx as nx
    import pandas as pd

    if redirects not in ("follow", "edge"):
        raise BadSetting("redirects", f"{redirects!r} is not known", "Pass 'follow' or 'edge'.")
    graph: nx.DiGraph[str] = nx.DiGraph()
    facts = [name for name in ("status", "depth", "host", "title") if name in pages.columns]
    for row in pages[["url", *facts]].itertuples(index=False, name=None):
        known = {name: value for name, value in zip(facts, row[1:], strict=True) if pd.notna(value)}
        graph.add_node(row[0], downloaded=True, **known)
    hops = links[links["kind"] == "redirect"]
    onward = dict(zip(hops["source"], hops["target"], strict=True))
    ways = links[~links["kind"].isin(["canonical", "alternate", "redirect"])]
    counts = ways.groupby(["source", "target"], sort=False, observed=True).size()
    for pair, count in counts.items():
        source, target = cast("tuple[str, str]", pair)
        end = target if redirects == "edge" else _end_of_chain(target, onward)
        _add_links(graph, source, end, int(count))
    if redirects == "edge":
        for source, target in onward.items():
            _add_links(graph, source, target, 1)
    else:
        graph.remove_nodes_from([url for url in onward if url in graph and not graph.degree(url)])
    return graph


def _add_links(graph: nx.DiGraph[str], source: str, target: str, count: int) -> None:
    if target not in graph:
        graph.add_node(target, downloaded=False)
    if graph.has_edge(source, target):
        graph[source][target]["links"] += count
    else:
        graph.add_edge(source, target, links=count)


def _end_of_chain(url: str, onward: dict[str, str]) -> str:
    """Follow redirects to their end; a loop ends where it began."""
    start = url
    for _ in range(_LONGEST_CHAIN):
        if url not in onward:
            return url
        url = onward[url]
        if url == start:
            break
    return start
