"""PageRank on arrays, with a known bound of its error, also of a graph that grows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crawlkit.errors import BadSetting
from crawlkit.order.base import check_number

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from crawlkit.order.link_graph import LinkGraph

    Vector = NDArray[np.float64]

__all__ = ["check_damping", "pagerank", "solve_pagerank"]

# The sums themselves are rounded to about this.
_ROUNDING = 1e-15


def pagerank(
    graph: LinkGraph,
    *,
    damping: float = 0.85,
    tol: float = 1e-12,
    start: ArrayLike | None = None,
    personalization: ArrayLike | None = None,
    max_iterations: int | None = None,
) -> Vector:
    """Return the PageRank of every page.

    The vector ``x`` with ``x = d (P' x + m v) + (1 - d) v``, where ``P`` gives each page's rank
    to its links in equal parts, ``m`` is the rank of the pages without links and ``v`` the
    personalization, found by power iteration. A step brings any two vectors nearer by the factor
    ``d`` in L1, so after a step that changed the vector by ``r`` the error is at most
    ``r d / (1 - d)``: this is what ``tol`` bounds.

    Parameters
    ----------
    graph
        The link graph.
    damping
        Share of rank that follows links, between 0 and 1, both excluded.
    tol
        Greatest L1 error of the result, whose sum is 1; not below 1e-15.
    start
        Where to begin, for example the last result; the nearer, the fewer steps.
    personalization
        Where the rest of the rank goes, and that of pages without links: one weight a page, not
        negative. By default each page gets the same.
    max_iterations
        Greatest number of steps; by default as many as surely suffice.

    Returns
    -------
    numpy.ndarray
        float64, one entry a page, summing to 1; empty for an empty graph.

    Raises
    ------
    BadSetting
        An argument cannot work, or ``max_iterations`` did not suffice.

    References
    ----------
    Page, Brin, Motwani and Winograd, "The PageRank citation ranking", Stanford, 1999.

    Examples
    --------
    >>> from crawlkit.order.link_graph import LinkGraph
    >>> graph = LinkGraph.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    >>> pagerank(graph).round(4).tolist()
    [0.2148, 0.3974, 0.3878]
    """
    import numpy as np

    check_damping(damping)
    nodes = graph.nodes
    teleport = _weights("personalization", personalization, nodes)
    begin = _weights("start", start, nodes)
    if not nodes:
        return np.zeros(0)
    uniform = 1.0 / nodes
    step = _step(graph, damping, uniform if teleport is None else teleport)
    if begin is None:
        begin = np.full(nodes, uniform) if teleport is None else teleport
    rank = solve_pagerank(step, begin, damping=damping, tol=tol, max_iterations=max_iterations)
    shares: Vector = rank / rank.sum()
    return shares


def check_damping(damping: float) -> None:
    """Raise BadSetting unless a damping factor lies between 0 and 1."""
    if not isinstance(damping, (int, float)) or not 0.0 < damping < 1.0:
        raise BadSetting(
            "damping", f"{damping!r} is not between 0 and 1", "Pass a share such as 0.85."
        )


def _weights(name: str, values: ArrayLike | None, nodes: int) -> Vector | None:
    """Return weights that sum to 1."""
    import numpy as np

    if values is None:
        return None
    weights = np.asarray(values, dtype=np.float64)
    if weights.shape != (nodes,):
        raise BadSetting(
            name, f"its shape is {weights.shape}", f"Pass one weight for each of {nodes} pages."
        )
    total = float(weights.sum())
    if nodes and not (np.isfinite(total) and total > 0 and float(weights.min()) >= 0):
        raise BadSetting(
            name, "the weights are not all numbers from 0 up", "Pass finite weights, one above 0."
        )
    return weights / total if nodes else weights


def _step(graph: LinkGraph, damping: float, teleport: Vector | float) -> Callable[[Vector], Vector]:
    """Return the step of the power iteration; a number as teleport is what each page gets."""
    import numpy as np
    import scipy.sparse as sp

    nodes, links = graph.nodes, graph.links
    out_degree = graph.out_degree()
    dangling = np.flatnonzero(out_degree == 0)
    share = damping / np.maximum(out_degree, 1)
    small = max(nodes, links) <= np.iinfo(np.int32).max
    indptr = graph.indptr.astype(np.int32 if small else np.int64, copy=False)
    columns = sp.csc_array(
        (np.ones(links), graph.targets.astype(indptr.dtype, copy=False), indptr),
        shape=(nodes, nodes),
    )

    def step(rank: Vector) -> Vector:
        moved: Vector = columns @ (rank * share)
        moved += (1.0 - damping + damping * float(rank[dangling].sum())) * teleport
        return moved

    return step


def solve_pagerank(
    step: Callable[[Vector], Vector],
    start: Vector,
    *,
    damping: float,
    tol: float,
    max_iterations: int | None = None,
) -> Vector:
    """Return the fixed point of a PageRank step, to an L1 error of ``tol``.

    Parameters
    ----------
    step
        Brings any two vectors nearer by the factor ``damping`` in L1; returns a new array.
    start
        Where to begin; its sum is at most 1.
    damping, tol, max_iterations
        See :func:`pagerank`.
    """
    import numpy as np

    if not isinstance(tol, (int, float)) or not tol >= _ROUNDING:
        raise BadSetting("tol", f"{tol!r} is below the rounding", "Pass 1e-15 or more.")
    if max_iterations is None:
        # The first change is at most 2, and each step shrinks it by the factor d.
        least = tol * (1.0 - damping) / (2.0 * damping)
        steps = 2 + (math.ceil(math.log(least) / math.log(damping)) if least < 1 else 0)
    else:
        check_number("max_iterations", max_iterations, least=1, whole=True)
        steps = max_iterations
    rank, factor, error = start, damping / (1.0 - damping), math.inf
    faster = _Mixing()
    for number in range(2 * steps):
        moved = step(rank)
        change = moved - rank
        error = float(np.abs(change).sum()) * factor
        if error <= tol:
            return moved
        if max_iterations is not None and number + 1 >= steps:
            raise BadSetting(
                "max_iterations",
                f"after {max_iterations} steps the error may still be {error:.1e}",
                "Pass more steps or a larger tol, or leave it out.",
            )
        # If mixing should ever fail to end in time, as many plain steps as surely suffice do.
        rank = faster.next(moved, change, error) if number < steps else moved
    return rank


class _Mixing:
    """Anderson's mixing: begin the next step where the last few say that the changes cancel out.

    It about halves the number of steps where plain ones converge slowly. The bound of the error
    holds for a step from any vector, so it does not depend on this. Sums are NumPy's own, which
    give the same digits on any number of processors.

    Anderson, "Iterative procedures for nonlinear integral equations", J. ACM 12, 1965.
    """

    _DEPTH = 3
    _SLOW = 0.5  # a step that shrinks the change to less than this share is quick enough

    def __init__(self) -> None:
        self._last: tuple[Vector, Vector, float] | None = None
        self._changes: list[Vector] = []
        self._moves: list[Vector] = []
        self._products: list[list[float]] = []  # of each two of the changes

    def next(self, moved: Vector, change: Vector, error: float) -> Vector:
        """Return where to begin the next step, after one that led to ``moved``."""
        import numpy as np

        last, self._last = self._last, (moved, change, error)
        if last is None or (error < self._SLOW * last[2] and not self._moves):
            return moved
        if error > 2.0 * last[2]:  # what was learned misleads
            self._changes.clear()
            self._moves.clear()
            self._products.clear()
            return moved
        self._moves.append(moved - last[0])
        self._changes.append(change - last[1])
        del self._moves[: -self._DEPTH], self._changes[: -self._DEPTH]
        newest = self._changes[-1]
        row = [float((one * newest).sum()) for one in self._changes]
        kept = [known[-len(row) + 1 :] for known in self._products[-len(row) + 1 :]]
        kept = kept if len(row) > 1 else []
        self._products = [[*known, new] for known, new in zip(kept, row, strict=False)] + [row]
        products = np.array(self._products)
        products[np.diag_indices(len(products))] *= 1.0 + 1e-12
        aims = np.array([float((one * change).sum()) for one in self._changes])
        try:
            shares = np.linalg.solve(products, aims)
        except np.linalg.LinAlgError:
            return moved
        mixed = moved.copy()
        for share, move in zip(shares.tolist(), self._moves, strict=True):
            mixed -= share * move
        return mixed if math.isfinite(float(mixed.sum())) else moved
