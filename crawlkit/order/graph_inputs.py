"""Whatever holds links becomes a :class:`LinkGraph`: networkx graphs, tables, crawls, arrays."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.order.graph_hosts import host_numbers
from crawlkit.order.graph_tables import (
    NumberedLinks,
    check_numbers,
    holds_integers,
    number_links,
    number_pages,
)
from crawlkit.order.link_graph import LinkGraph
from crawlkit.reprs import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import networkx as nx
    import numpy as np
    from numpy.typing import NDArray

    Hosts = str | Sequence[str] | Mapping[str, str] | Callable[[str], str]

__all__ = ["link_graph", "node_numbers"]


def link_graph(source: Any, *, hosts: Hosts | None = None) -> LinkGraph:
    """Return the link graph of a networkx graph, a table, a crawl, arrays or a file.

    Parameters
    ----------
    source
        - a networkx ``DiGraph``: pages and links in the graph's own order, weights mean nothing;
        - a table of links with the columns ``source`` and ``target``, in the order in which they
          were found. Where it has ``position``, that is the order of a page's links; where it
          has ``kind``, canonical and alternate are left out, and a link to a page that redirects
          counts as one to where that ends, as in ``crawl.graph()``;
        - a :class:`~crawlkit.Crawl`, or anything with its tables ``links`` and ``urls``;
        - a pair of tables, of pages (``id``, ``url``, where known ``host``) and of links;
        - a pair of arrays or lists, sources and targets: numbers of pages, or any labels;
        - a SciPy sparse array with a row and a column for each page;
        - the path of a file, as :func:`~crawlkit.read_graph` takes it;
        - a :class:`LinkGraph`, which stays as it is.
    hosts
        The host of each page: by default what the source knows, or else what the address says.
        ``"site"`` takes the registered domain instead; a list has a host for each page, a
        mapping or a function gives the host of a label.

    Returns
    -------
    LinkGraph
        Pages in order of discovery (of first mention); links in the order of the page, each
        once, self links left out.

    Raises
    ------
    BadSetting
        The source is none of these, lacks a column, or a link has no source or target.

    Examples
    --------
    >>> import pandas as pd
    >>> links = pd.DataFrame({"source": ["http://a.example/"] * 2, "target": [
    ...     "http://a.example/b", "http://b.example/"]})
    >>> graph = link_graph(links)
    >>> graph.nodes, graph.links, graph.host_names
    (3, 2, ['a.example', 'b.example'])
    """
    found = _links_of(source)
    if isinstance(found, LinkGraph):
        return found if hosts is None else _with_hosts(found, hosts, _hosts_of(found))
    graph = LinkGraph.from_edges(found.sources, found.targets, found.nodes, labels=found.labels)
    return _with_hosts(graph, hosts, found.hosts)


def _with_hosts(graph: LinkGraph, hosts: Hosts | None, known: Sequence[Any] | None) -> LinkGraph:
    numbered = host_numbers(graph.labels, graph.nodes, hosts, known)
    if numbered is None:
        return graph
    return dataclasses.replace(graph, hosts=numbered[0], host_names=numbered[1])


def _hosts_of(graph: LinkGraph) -> list[str] | None:
    if graph.hosts is None:
        return None
    return [graph.host_names[number] for number in graph.hosts.tolist()]


def _links_of(source: Any) -> LinkGraph | NumberedLinks:  # noqa: PLR0911 - one a kind of source
    """Tell what was given."""
    from os import PathLike

    import pandas as pd

    if isinstance(source, LinkGraph):
        return source
    if isinstance(source, (str, PathLike)):
        from crawlkit.order.graph_files import read_graph

        return read_graph(source)
    if isinstance(source, pd.DataFrame):
        return number_links(source)
    if isinstance(source, (tuple, list)) and len(source) == 2:
        return _from_pair(source[0], source[1])
    if hasattr(source, "is_directed") and hasattr(source, "adjacency"):
        return _from_networkx(source)
    if hasattr(source, "tocsr"):
        return _from_sparse(source)
    if isinstance(getattr(source, "links", None), pd.DataFrame):
        return _from_crawl(source)
    raise BadSetting(
        "graph",
        f"{plain_text(repr(source), longest=80)} is no graph",
        "Pass a networkx DiGraph, a table with the columns source and target, a crawl, a pair of "
        "arrays, or the path of a file.",
    )


def _from_networkx(graph: nx.DiGraph[Any]) -> NumberedLinks:
    import numpy as np

    if not graph.is_directed():
        raise BadSetting("graph", "the networkx graph is undirected", "Pass graph.to_directed().")
    labels = list(graph)
    numbers = {label: number for number, label in enumerate(labels)}
    ways = [graph.adj[label] for label in labels]
    degrees = np.fromiter(map(len, ways), np.int64, len(labels))
    targets = np.fromiter(
        (numbers[target] for of_page in ways for target in of_page), np.int64, int(degrees.sum())
    )
    sources = np.repeat(np.arange(len(labels)), degrees)
    known = [facts.get("host") for _, facts in graph.nodes(data=True)]
    # A crawl's graph knows the hosts of the pages downloaded only; then addresses say more.
    hosts = known if known and all(isinstance(host, str) for host in known) else None
    return NumberedLinks(sources, targets, labels, hosts, len(labels))


def _from_sparse(matrix: Any) -> LinkGraph:
    import numpy as np

    rows = matrix.tocsr()
    if len(rows.shape) != 2 or rows.shape[0] != rows.shape[1]:
        raise BadSetting(
            "graph", f"the sparse array has the shape {rows.shape}", "Pass a square one."
        )
    sources = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return LinkGraph.from_edges(sources, rows.indices, rows.shape[0])


def _from_pair(first: Any, second: Any) -> LinkGraph | NumberedLinks:
    import numpy as np
    import pandas as pd

    if isinstance(first, pd.DataFrame) and isinstance(second, pd.DataFrame):
        return number_pages(first, second)
    try:
        sources, targets = (
            end if isinstance(end, pd.Series) else pd.Series(np.asarray(end))
            for end in (first, second)
        )
    except ValueError as error:
        raise BadSetting("graph", f"no pair of arrays: {error}", "Pass two flat arrays.") from error
    if len(sources) != len(targets):
        raise BadSetting(
            "graph",
            f"{len(sources)} sources and {len(targets)} targets",
            "Pass as many of the one as of the other.",
        )
    if not len(sources):
        return LinkGraph.from_edges([], [])
    if all(holds_integers(end) for end in (sources, targets)):
        numbers = sources.to_numpy(), targets.to_numpy()
        check_numbers(*numbers)
        return LinkGraph.from_edges(*numbers)
    if any(end.dtype.kind == "f" for end in (sources, targets)):
        raise BadSetting("graph", "the ends of links are no integers", "Pass integers or text.")
    frame = pd.DataFrame({"source": sources.array, "target": targets.array})
    return number_links(frame)


def _from_crawl(crawl: Any) -> NumberedLinks:
    """Take the links of a crawl; its pages in the order in which they were found."""
    for name in ("urls", "pages"):
        table = getattr(crawl, name, None)
        if table is not None and "url" in table.columns:
            return number_links(crawl.links, table)
    return number_links(crawl.links)


def node_numbers(graph: LinkGraph, pages: Any, name: str) -> NDArray[np.int64]:
    """Return the numbers of some pages, given by label or, where there are none, by number.

    Parameters
    ----------
    graph
        The link graph.
    pages
        One page or several: labels; without labels, or where none of them is an integer, also
        numbers.
    name
        Name of the argument, for the message.

    Raises
    ------
    BadSetting
        A page is not in the graph.

    Examples
    --------
    >>> graph = link_graph((["a", "b"], ["b", "c"]))
    >>> node_numbers(graph, "c", "seeds").tolist(), node_numbers(graph, [0, "b"], "seeds").tolist()
    ([2], [0, 1])
    """
    import numpy as np

    wanted = _as_list(pages)
    labels = graph.labels
    places: dict[Any, int] = {}
    numbers_too = True
    if labels is not None:
        wanted_labels = {page for page in wanted if page.__hash__ is not None}
        places = {label: number for number, label in enumerate(labels) if label in wanted_labels}
        numbers_too = not len(labels) or not isinstance(labels[0], int)
    found: list[int] = []
    for page in wanted:
        number = places.get(page) if page.__hash__ is not None else None
        is_number = isinstance(page, (int, np.integer)) and not isinstance(page, bool)
        if number is None and numbers_too and is_number and 0 <= page < graph.nodes:
            number = int(page)
        if number is None:
            raise BadSetting(
                name,
                f"{plain_text(repr(page), longest=80)} is not among the {graph.nodes} pages",
                "Pass labels of pages of the graph"
                + (", or their numbers." if numbers_too else "."),
            )
        found.append(number)
    return np.array(found, dtype=np.int64)


def _as_list(pages: Any) -> list[Any]:
    if isinstance(pages, (str, bytes, int)) or not hasattr(pages, "__iter__"):
        return [pages]
    values: Iterable[Any] = pages
    return list(values)
