"""Compiled forms of orderings, with the optional extra ``fast`` (numba): the same order, sooner."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from crawlkit.order.opic_order import Opic
from crawlkit.order.push_pagerank import PushPageRank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crawlkit.order.base import Ordering
    from crawlkit.order.link_graph import LinkGraph

__all__ = ["compiled_order"]


def compiled_order(
    graph: LinkGraph, ordering: Ordering, seeds: list[int], limit: int
) -> NDArray[np.int64] | None:
    """Return the nodes in order of download, or ``None`` where the plain form must do it.

    Parameters
    ----------
    graph
        A graph without hosts, or whose hosts do not matter.
    ordering
        An ordering that has seen nothing yet.
    seeds
        Node numbers, each once.
    limit
        Greatest number of downloads.
    """
    import numpy as np

    kind = type(ordering)
    known = kind is PushPageRank or (kind is Opic and len(seeds) == 1)
    if not known or not seeds or find_spec("numba") is None:
        return None
    from crawlkit.order.kernels import is_simple, opic_order, push_order

    targets: Any = graph.targets
    if targets.dtype != np.int32 or not is_simple(graph.indptr, targets):
        return None
    if isinstance(ordering, PushPageRank):
        begin = np.array(seeds, dtype=np.int64)
        return push_order(graph.indptr, targets, begin, limit, ordering.eps, ordering.damping)
    if isinstance(ordering, Opic):
        return opic_order(
            graph.indptr,
            targets,
            seeds[0],
            limit,
            ordering.initial == "unit",
            ordering.virtual_root,
            ordering.damping,
        )
    return None
