"""What one order of downloads was worth: curve, area, hot pages, agreement of ranks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crawlkit.order.link_graph import LinkGraph
from crawlkit.order.pagerank import pagerank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Vector = NDArray[np.float64]

__all__ = [
    "GRID",
    "HOT_AT",
    "measure_order",
    "paired_interval",
    "rank_agreement",
    "value_curve",
]

GRID = 201
"""Points of a curve, from no page to all reachable pages."""

HOT_AT = (5, 10, 25, 50)
"""Percent of the reachable pages at which hot pages are counted."""

_HOT_SHARE = 0.1


def value_curve(order: Numbers, values: Vector, reachable: Numbers) -> tuple[Vector, Vector]:
    """Return shares of pages and of value after each download, from no page on.

    Both are shares of what is reachable; the value's are NaN where nothing has any.
    """
    import numpy as np

    pages = np.arange(len(order) + 1) / max(1, len(reachable))
    gained = np.concatenate([[0.0], np.cumsum(values[order])])
    total = math.fsum(values[reachable].tolist())
    return pages, gained / total if total > 0 else np.full(len(gained), np.nan)


def measure_order(
    order: Numbers, values: Vector, reachable: Numbers
) -> tuple[dict[str, float], Vector]:
    """Return the figures of one order of downloads, and its curve at ``GRID`` points.

    Parameters
    ----------
    order
        Numbers of pages, as downloaded; all reachable ones, or the first of them.
    values
        What each page of the graph is worth, from 0 up.
    reachable
        Numbers of the pages that can be downloaded at all.

    Returns
    -------
    tuple of dict and numpy.ndarray
        ``auc``, the mean height of the curve over the downloads (by trapezoids); ``half``, the
        share of pages after which half of the value is there; ``hot_5`` to ``hot_50``, the share
        of hot pages (the tenth worth most) in the first 5 to 50 % of the pages. What lies beyond
        the last download is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> figures, curve = measure_order(np.array([1, 0]), np.array([1.0, 3.0]), np.array([0, 1]))
    >>> figures["auc"], figures["half"], float(curve[100])
    (0.625, 0.5, 0.75)
    """
    import numpy as np

    pages, gained = value_curve(order, values, reachable)
    downloads, count = len(order), len(reachable)
    figures = {"auc": math.nan, "half": math.nan}
    if downloads:
        figures["auc"] = float((gained[1:] + gained[:-1]).sum() / (2 * downloads))
    # The last sums differ by rounding; half of the value is not to be missed by it.
    enough = np.flatnonzero(gained >= 0.5 * (1 - 1e-12))
    if len(enough):
        figures["half"] = float(pages[enough[0]])
    hot = np.zeros(len(values), dtype=bool)
    best = np.lexsort((reachable, -values[reachable]))[: math.ceil(_HOT_SHARE * count)]
    hot[reachable[best]] = True
    found = np.concatenate([[0], np.cumsum(hot[order])])
    for percent in HOT_AT:
        after = round(percent / 100 * count)
        known = after <= downloads and len(best)
        figures[f"hot_{percent}"] = float(found[after] / len(best)) if known else math.nan
    grid = np.linspace(0.0, 1.0, GRID)
    curve = np.interp(grid, pages, gained, right=math.nan)
    return figures, curve


def rank_agreement(
    graph: LinkGraph, crawled: Numbers, truth: Vector, *, damping: float = 0.85
) -> float:
    """Return Kendall's tau between PageRank on the crawled pages alone and the true one.

    Orders that gather PageRank fast tend to misjudge it (Boldi, Santini and Vigna, "Do your
    worst to make the best", WAW 2004). Ranks are compared at 12 significant digits. NaN below
    two pages.

    Examples
    --------
    >>> import numpy as np
    >>> graph = LinkGraph.from_edges([0, 1, 2, 2], [1, 2, 0, 1])
    >>> rank_agreement(graph, np.array([0, 1, 2]), pagerank(graph))
    1.0
    """
    import numpy as np
    from scipy.stats import kendalltau

    if len(crawled) < 2:
        return math.nan
    number = np.full(graph.nodes, -1, dtype=np.int64)
    number[crawled] = np.arange(len(crawled))
    sources = np.repeat(number, graph.out_degree())
    targets = number[graph.targets]
    inside = (sources >= 0) & (targets >= 0)
    part = LinkGraph.from_edges(sources[inside], targets[inside], len(crawled))
    ranks = pagerank(part, damping=damping)
    return float(kendalltau(_rounded(ranks), _rounded(truth[crawled])).statistic)


def _rounded(ranks: Vector) -> Vector:
    """Return numbers at 12 significant digits."""
    import numpy as np

    _, exponents = np.frexp(ranks)
    scale = np.exp2(exponents)
    rounded: Vector = np.round(ranks / scale, 12) * scale
    return rounded


def paired_interval(differences: Vector) -> tuple[float, float, float]:
    """Return the mean of paired differences and the 95 % interval of that mean.

    By Student's t over the runs; the interval is NaN below two runs.

    Examples
    --------
    >>> import numpy as np
    >>> [round(part, 3) for part in paired_interval(np.array([0.01, 0.02, 0.03]))]
    [0.02, -0.005, 0.045]
    """
    import numpy as np
    from scipy.stats import t

    runs = len(differences)
    mean = float(np.mean(differences)) if runs else math.nan
    if runs < 2:
        return mean, math.nan, math.nan
    error = float(np.std(differences, ddof=1)) / math.sqrt(runs) * float(t.ppf(0.975, runs - 1))
    return mean, mean - error, mean + error
