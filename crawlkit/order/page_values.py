"""What each page of a graph is worth: the measure by which orderings are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.order.pagerank import pagerank

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from crawlkit.order.link_graph import LinkGraph

    Value = (
        str
        | Sequence[float]
        | NDArray[Any]
        | pd.Series[Any]
        | Mapping[Any, float]
        | Callable[[Any], float]
    )

__all__ = ["page_values"]

_REMEDY = "Pass finite numbers from 0 up, one for each page."


def page_values(
    graph: LinkGraph, value: Value = "pagerank", *, source: Any = None, damping: float = 0.85
) -> NDArray[np.float64]:
    """Return what each page is worth.

    Parameters
    ----------
    graph
        The link graph.
    value
        ``"pagerank"`` on the whole graph, exact to 1e-12; ``"inlinks"``; the name of an attribute
        of the nodes of a networkx graph or of a column of a table of pages (a page without one
        counts 0); one number a page in the order of the graph; a Series or mapping by label (a
        page that is not in it counts 0); or a function of the label.
    source
        What the graph was made from, where ``value`` is the name of a column.
    damping
        For ``"pagerank"``.

    Returns
    -------
    numpy.ndarray
        float64, one entry a page.

    Raises
    ------
    BadSetting
        The value is none of these, or not a finite number from 0 up.

    Examples
    --------
    >>> from crawlkit.order.link_graph import LinkGraph
    >>> graph = LinkGraph.from_edges([0, 1, 2], [1, 2, 1], labels=["a", "b", "cc"])
    >>> page_values(graph, "inlinks").tolist(), page_values(graph, len).tolist()
    ([0.0, 2.0, 1.0], [1.0, 1.0, 2.0])
    """
    import numpy as np

    if isinstance(value, str):
        if value == "pagerank":
            return pagerank(graph, damping=damping, tol=1e-12)
        if value == "inlinks":
            return graph.in_degree().astype(np.float64)
        given: Any = _by_label(graph, _column(source, value))
    elif callable(value):
        labels = range(graph.nodes) if graph.labels is None else graph.labels
        given = [value(label) for label in labels]
    elif hasattr(value, "items"):
        given = _by_label(graph, value)
    else:
        given = value
    return _checked(given, graph.nodes)


def _checked(given: Any, nodes: int) -> NDArray[np.float64]:
    import numpy as np

    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadSetting("value", f"holds what is no number ({error})", _REMEDY) from None
    if values.shape != (nodes,):
        raise BadSetting("value", f"its shape is {values.shape}, for {nodes} pages", _REMEDY)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise BadSetting("value", f"page {wrong[0]} is worth {values[wrong[0]]}", _REMEDY)
    return values


def _by_label(graph: LinkGraph, values: Any) -> list[Any]:
    known = dict(values.items())
    if len(known) < len(values):
        raise BadSetting("value", "a page occurs twice", "Pass one number a page.")
    labels = range(graph.nodes) if graph.labels is None else graph.labels
    return [known.get(label, 0.0) for label in labels]


def _column(source: Any, name: str) -> Any:
    """Return a column of the pages that a graph was made from, by label, where it is not null."""
    pages: Any = getattr(source, "pages", None)
    if isinstance(source, (tuple, list)) and len(source) == 2 and hasattr(source[0], "columns"):
        pages = source[0]
    if hasattr(pages, "columns"):
        if name in pages.columns and "url" in pages.columns:
            return pages.set_index("url")[name].dropna()
    elif hasattr(source, "nodes") and hasattr(source.nodes, "data"):
        found = {page: number for page, number in source.nodes.data(name) if number is not None}
        if found:
            return found
    raise BadSetting(
        "value",
        f"the pages have no {name!r}",
        "Pass 'pagerank', 'inlinks', a column of the pages, numbers or a function.",
    )
