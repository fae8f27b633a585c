"""A crawl of a known graph, without a network: the loop of the replay."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from crawlkit.order.base import FoundPage, Ordering, check_number
from crawlkit.order.host_queues import HostQueues
from crawlkit.order.page_queue import OneQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from crawlkit.order.link_graph import LinkGraph
    from crawlkit.order.page_queue import Queue

__all__ = ["download_order"]

# Links from which on compiling, or loading what was compiled, is worth its seconds.
_WORTH_COMPILING = 500_000


def download_order(
    graph: LinkGraph,
    ordering: Ordering,
    seeds: Sequence[int] | NDArray[np.integer[Any]],
    *,
    rest: int = 0,
    fetchers: int = 1,
    max_pages: int | None = None,
    values: NDArray[np.float64] | None = None,
    compiled: bool | None = None,
    after: Callable[[int], None] | None = None,
) -> NDArray[np.int64]:
    """Return the nodes in the order in which an ordering downloads them.

    The same calls in the same order as in a live crawl with one worker and no delay.

    Parameters
    ----------
    graph
        The link graph; where it knows hosts, each has its own queue.
    ordering
        The ordering; it is copied first, so that an object can be replayed many times.
    seeds
        Node numbers to begin with; repeats count once.
    rest
        Ticks that a host waits between two downloads.
    fetchers
        Downloads in a tick. All of them are chosen before the first has its links read.
    max_pages
        Where to stop; by default when nothing is left.
    values
        What each node is worth, for orderings that know it.
    compiled
        Whether the compiled form of an ordering is used, where it has one and numba is there; by
        default on large graphs. It gives the same order.
    after
        Called after each download with the number of downloads so far.

    Raises
    ------
    BadSetting
        ``rest`` or ``fetchers`` is out of bounds, or the ordering gave what is no score.

    Examples
    --------
    >>> from crawlkit.order.link_graph import LinkGraph
    >>> from crawlkit.order.depth_first import DepthFirst
    >>> graph = LinkGraph.from_edges([0, 0, 1], [1, 2, 3])
    >>> download_order(graph, DepthFirst(), [0]).tolist()
    [0, 1, 3, 2]
    """
    import numpy as np

    check_number("rest", rest, least=0, whole=True)
    check_number("fetchers", fetchers, least=1, whole=True)
    if max_pages is not None:
        check_number("max_pages", max_pages, least=0, whole=True)
    limit = graph.nodes if max_pages is None else min(max_pages, graph.nodes)
    first = list(dict.fromkeys(int(seed) for seed in seeds))
    if compiled is None:
        compiled = graph.links >= _WORTH_COMPILING
    if compiled and after is None and fetchers == 1 and graph.hosts is None:
        from crawlkit.order.compiled import compiled_order

        order = compiled_order(graph, ordering, first, limit)
        if order is not None:
            return order
    simulation = _Simulation(graph, copy.deepcopy(ordering), values, rest)
    simulation.run(first, fetchers, limit, after)
    return np.array(simulation.downloads, dtype=np.int64)


class _Simulation:
    """The state of one replay: what has been found, and the ordering that is told of it."""

    def __init__(
        self,
        graph: LinkGraph,
        ordering: Ordering,
        values: NDArray[np.float64] | None,
        rest: int,
    ) -> None:
        self.downloads: list[int] = []
        self._ordering = ordering
        self._values = None if values is None else values.tolist()
        self._labels = graph.labels
        self._hosts = None if graph.hosts is None else graph.hosts.tolist()
        self._host_names = graph.host_names
        self._indptr = graph.indptr
        self._targets = graph.targets
        self._id_of = [-1] * graph.nodes
        self._node_of: list[int] = []
        self._depths: list[int] = []
        self._listens = type(ordering).downloaded is not Ordering.downloaded
        self._queue: Queue
        if self._hosts is None:
            self._queue = OneQueue(resting=rest > 0)
        else:
            ranks = type(ordering).host_score is not Ordering.host_score
            self._queue = HostQueues(
                self._host_names,
                rest=rest,
                host_score=ordering.host_score if ranks else None,
                local=ordering.host_score_is_local,
            )

    def run(
        self, seeds: list[int], fetchers: int, limit: int, after: Callable[[int], None] | None
    ) -> None:
        """Crawl from the seeds until nothing is left or the limit is reached."""
        for seed in seeds:
            self._find(seed, 0)
        ordering, downloads, queue = self._ordering, self.downloads, self._queue
        every = ordering.rescore_every
        due = every or 0
        while len(downloads) < limit:
            pages = queue.take(min(fetchers, limit - len(downloads)))
            if not pages:
                break
            for page in pages:
                self._download(page)
                if len(downloads) == due:
                    queue.update(ordering.rescore())
                    every = ordering.rescore_every
                    due = len(downloads) + every if every else 0
                if after is not None:
                    after(len(downloads))

    def _find(self, node: int, depth: int) -> None:
        page = len(self._node_of)
        self._id_of[node] = page
        self._node_of.append(node)
        self._depths.append(depth)
        host = 0 if self._hosts is None else self._hosts[node]
        self._queue.add(page, host, self._ordering.start(self._page(page, node, depth)))

    def _page(self, page: int, node: int, depth: int) -> FoundPage:
        return FoundPage(
            page,
            str(node) if self._labels is None else str(self._labels[node]),
            "" if self._hosts is None else self._host_names[self._hosts[node]],
            depth,
            "seed" if depth == 0 else "link",
            None,
            None if self._values is None else self._values[node],
        )

    def _download(self, page: int) -> None:
        node, depth, id_of = self._node_of[page], self._depths[page], self._id_of
        self.downloads.append(node)
        targets = self._targets[self._indptr[node] : self._indptr[node + 1]].tolist()
        links = list(map(id_of.__getitem__, targets))
        if -1 in links:
            for place, target in enumerate(targets):
                if id_of[target] == -1:
                    self._find(target, depth + 1)
                links[place] = id_of[target]
        if not self._listens:
            return
        if not self._ordering.links_as_found:
            if len(links) > 1:
                links = list(dict.fromkeys(links))
            if page in links:
                links.remove(page)
        changed = self._ordering.downloaded(self._page(page, node, depth), links)
        if changed:
            self._queue.update(changed)
