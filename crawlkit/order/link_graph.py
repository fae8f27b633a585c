"""A link graph as three arrays: who links to whom, in the order of the links on the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Integers = NDArray[np.integer[Any]]

__all__ = ["LinkGraph", "group_links"]

# Repeats up to so many places apart are found by comparing, which is quickest on small pages.
_NEARBY = 16
# Links of a page that lie together, on the average, from which whole runs of them are moved, and
# about how many links are moved in one step.
_LONG_RUN = 3
_LINKS_MOVED = 1 << 16
# Entries of the table by which repeats are found on pages with many links: it stays in the cache.
_STAMPS = 1 << 19
# Links that a step over a few pages must hold at least, to be worth its fixed cost.
_LINKS_PER_STEP = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class LinkGraph:
    """Pages numbered from 0, and the links of each in the order of the page.

    Ten million links take 40 MB: the links of all pages lie behind each other in one array.
    Make one with :meth:`from_edges`.

    Parameters
    ----------
    indptr
        Where the links of each page begin; int64, one entry more than there are pages.
    targets
        The pages linked to: those of page ``i`` are ``targets[indptr[i]:indptr[i + 1]]``;
        int32, or int64 past two thousand million pages.
    labels
        Address of each page, if known.
    hosts
        Number of each page's host, int32, if known.
    host_names
        Names of the hosts by that number.

    Examples
    --------
    >>> graph = LinkGraph.from_edges([0, 0, 1, 0], [2, 1, 2, 2])
    >>> graph.nodes, graph.links
    (3, 3)
    >>> graph.out(0).tolist()
    [2, 1]
    """

    indptr: NDArray[np.int64]
    targets: Integers
    labels: Sequence[str] | None = None
    hosts: NDArray[np.int32] | None = None
    host_names: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        """Number of pages."""
        return len(self.indptr) - 1

    @property
    def links(self) -> int:
        """Number of links."""
        return len(self.targets)

    def out(self, node: int) -> Integers:
        """Return the pages that a page links to, in the order of its links."""
        return self.targets[self.indptr[node] : self.indptr[node + 1]]

    def out_degree(self) -> NDArray[np.int64]:
        """Return the number of links of each page."""
        import numpy as np

        return np.diff(self.indptr)

    def in_degree(self) -> NDArray[np.int64]:
        """Return the number of links to each page."""
        import numpy as np

        return np.bincount(self.targets, minlength=self.nodes)

    def reachable(self, seeds: ArrayLike) -> NDArray[np.int64]:
        """Return the pages that links from some pages lead to, these included, in ascending order.

        Examples
        --------
        >>> LinkGraph.from_edges([0, 1, 3], [1, 2, 0]).reachable([1]).tolist()
        [1, 2]
        """
        import numpy as np
        import scipy.sparse as sp
        from scipy.sparse.csgraph import breadth_first_order

        begin = np.unique(_integers("seeds", seeds))
        # One page more, which links to the seeds: then one search finds what any of them leads to.
        indptr = np.append(self.indptr, self.links + len(begin)).astype(np.int32)
        targets = np.append(self.targets, begin).astype(np.int32)
        size = self.nodes + 1
        ways = sp.csr_array((np.ones(len(targets), dtype=np.int8), targets, indptr), (size, size))
        found = breadth_first_order(ways, self.nodes, return_predecessors=False)
        return np.sort(found[1:]).astype(np.int64)

    @classmethod
    def from_edges(
        cls,
        sources: ArrayLike,
        targets: ArrayLike,
        nodes: int | None = None,
        *,
        labels: Sequence[str] | None = None,
        hosts: ArrayLike | None = None,
        host_names: Sequence[str] | None = None,
        keep_self_links: bool = False,
        keep_repeats: bool = False,
    ) -> LinkGraph:
        """Return the graph of some links.

        Linear in time; the working memory is about 30 bytes a link beside the input.

        Parameters
        ----------
        sources, targets
            The pages at both ends of each link, integers from 0; the links of one page in
            their order.
        nodes
            Number of pages; by default one more than the greatest number that occurs, or the
            number of labels.
        labels, hosts, host_names
            See the class.
        keep_self_links
            Whether a link from a page to itself stays.
        keep_repeats
            Whether a second link between the same two pages stays.

        Raises
        ------
        BadSetting
            The arrays differ in length, are no integers, or name a page that is not there.
        """
        import numpy as np

        ends = _integers("sources", sources), _integers("targets", targets)
        if len(ends[0]) != len(ends[1]):
            raise BadSetting(
                "sources",
                f"{len(ends[0])} sources and {len(ends[1])} targets",
                "Pass as many of the one as of the other.",
            )
        count = _count_nodes(ends, nodes, labels)
        dtype = np.int32 if count <= np.iinfo(np.int32).max else np.int64
        source: Integers = ends[0].astype(dtype, copy=False)
        target: Integers = ends[1].astype(dtype, copy=False)
        indptr, order = group_links(source, target, count)
        if not keep_repeats:
            indptr, order = _without(_repeats(indptr, order), indptr, order)
        if not keep_self_links:
            pages = np.repeat(np.arange(count, dtype=dtype), np.diff(indptr))
            indptr, order = _without(pages == order, indptr, order)
        host_numbers = None
        if hosts is not None:
            host_numbers = _integers("hosts", hosts).astype(np.int32, copy=False)
            if len(host_numbers) != count:
                raise BadSetting(
                    "hosts", f"{len(host_numbers)} hosts of {count} pages", "Pass one a page."
                )
        return cls(indptr, order, labels, host_numbers, list(host_names or ()))


def _integers(name: str, values: ArrayLike) -> Integers:
    """Return a flat array of integers."""
    import numpy as np

    array: NDArray[Any] = np.asarray(values)
    if array.ndim != 1:
        raise BadSetting(name, f"has {array.ndim} dimensions", "Pass a flat array of integers.")
    if not len(array):
        return np.zeros(0, dtype=np.int32)
    if array.dtype.kind not in "iu":
        raise BadSetting(name, f"holds {array.dtype}", "Pass a flat array of integers.")
    return array


def _count_nodes(
    ends: tuple[Integers, Integers], nodes: int | None, labels: Sequence[str] | None
) -> int:
    """Return the number of pages, having checked that no link leads past them."""
    names = [("sources", ends[0]), ("targets", ends[1])]
    if any(len(end) and int(end.min()) < 0 for _, end in names):
        name = next(name for name, end in names if len(end) and int(end.min()) < 0)
        raise BadSetting(name, "holds a negative number", "Number the pages from 0.")
    greatest = max((int(end.max()) for _, end in names if len(end)), default=-1)
    if nodes is None:
        nodes = greatest + 1 if labels is None else len(labels)
    if nodes < 0 or greatest >= nodes:
        raise BadSetting(
            "nodes", f"a link names page {greatest} of {nodes} pages", "Number them from 0."
        )
    if labels is not None and len(labels) != nodes:
        raise BadSetting("labels", f"{len(labels)} labels of {nodes} pages", "Pass one a page.")
    return int(nodes)


def group_links(
    sources: Integers, targets: Integers, nodes: int
) -> tuple[NDArray[np.int64], Integers]:
    """Return ``indptr`` and ``targets`` of links in any order, each page's links in theirs.

    Examples
    --------
    >>> import numpy as np
    >>> [part.tolist() for part in group_links(np.array([1, 0, 1]), np.array([9, 8, 7]), 2)]
    [[0, 1, 3], [8, 9, 7]]
    """
    import numpy as np

    if not len(sources):
        return np.zeros(nodes + 1, dtype=np.int64), targets
    heads = np.append(0, np.flatnonzero(sources[1:] != sources[:-1]) + 1)
    lengths = np.diff(heads, append=len(sources))
    pages = sources[heads]  # those of each run of links with the same source
    indptr = np.zeros(nodes + 1, dtype=np.int64)
    np.add.at(indptr, pages + 1, lengths)
    np.cumsum(indptr, out=indptr)
    if bool((pages[1:] > pages[:-1]).all()):
        return indptr, targets
    if len(heads) * _LONG_RUN > len(sources):
        return indptr, _by_column(np.arange(len(sources) + 1), sources, targets, nodes)[1]
    runs = np.argsort(pages, kind="stable")
    begins, lengths = heads[runs], lengths[runs]
    ends = np.cumsum(lengths)
    moves = begins - (ends - lengths)  # how far each run comes forward
    grouped = np.empty_like(targets)
    step = max(1, _LINKS_MOVED * len(runs) // len(sources))
    for first in range(0, len(runs), step):
        some = slice(first, first + step)
        begin, end = int(ends[first] - lengths[first]), int(ends[some][-1])
        places = np.repeat(moves[some], lengths[some])
        places += np.arange(begin, end)
        grouped[begin:end] = targets[places]
    return indptr, grouped


def _by_column(
    indptr: NDArray[Any], columns: Integers, values: NDArray[Any], width: int
) -> tuple[Integers, NDArray[Any]]:
    """Return row and value of each entry, by column and then by row: a counting sort.

    SciPy's change from rows to columns is a stable sort in linear time, which NumPy has not.
    """
    import numpy as np
    import scipy.sparse as sp

    small = max(len(columns), width) <= np.iinfo(np.int32).max
    dtype = np.int32 if small else np.int64
    rows = sp.csr_array(
        (values, columns.astype(dtype, copy=False), indptr.astype(dtype, copy=False)),
        shape=(len(indptr) - 1, width),
    )
    turned = rows.tocsc()
    return turned.indices, turned.data


def _without(
    unwanted: NDArray[np.bool_], indptr: NDArray[np.int64], targets: Integers
) -> tuple[NDArray[np.int64], Integers]:
    """Leave out some links."""
    import numpy as np

    if not unwanted.any():
        return indptr, targets
    kept = np.flatnonzero(~unwanted)
    return np.searchsorted(kept, indptr), targets[kept]


def _repeats(indptr: NDArray[np.int64], targets: Integers) -> NDArray[np.bool_]:
    """Mark links that repeat an earlier one of the same page."""
    import numpy as np

    nodes = len(indptr) - 1
    if _is_dense(indptr, nodes):
        return _repeats_stamped(indptr, targets, nodes)
    repeated = _repeats_nearby(indptr, targets)
    large = np.flatnonzero(np.diff(indptr) > _NEARBY + 1)
    if len(large):
        degrees = np.diff(indptr)[large]
        places = np.repeat(indptr[large], degrees) + _count_up(degrees)
        within = np.zeros(len(large) + 1, dtype=np.int64)
        np.cumsum(degrees, out=within[1:])
        find = _repeats_stamped if _is_dense(within, nodes) else _repeats_sorted
        repeated[places] |= find(within, targets[places], nodes)
    return repeated


def _is_dense(indptr: NDArray[np.int64], nodes: int) -> bool:
    """Return whether pages have so many links that a table of page by target is worth its steps."""
    links = int(indptr[-1])
    steps = -(-(len(indptr) - 1) // max(1, _STAMPS // max(1, nodes)))
    return nodes <= _STAMPS and links >= _LINKS_PER_STEP * steps


def _repeats_stamped(indptr: NDArray[np.int64], targets: Integers, nodes: int) -> NDArray[np.bool_]:
    """Mark links that repeat an earlier one of the same page, a few pages at a time.

    Each link stamps its place into a table of page by target, the last link first, so what stays
    is the first. The table is never cleared: what is read was written in the same step.
    """
    import numpy as np

    rows = max(1, _STAMPS // max(1, nodes))
    stamps = np.empty(rows * nodes, dtype=np.int32)
    repeated = np.empty(len(targets), dtype=bool)
    for first in range(0, len(indptr) - 1, rows):
        bounds = indptr[first : first + rows + 1]
        begin, end = int(bounds[0]), int(bounds[-1])
        cells = np.repeat(np.arange(0, (len(bounds) - 1) * nodes, nodes), np.diff(bounds))
        cells += targets[begin:end]
        places = np.arange(end - begin, dtype=np.int32)
        stamps[cells[::-1]] = places[::-1]
        np.not_equal(stamps[cells], places, out=repeated[begin:end])
    return repeated


def _count_up(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, 2, ... anew for each of some lengths."""
    import numpy as np

    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)


def _repeats_nearby(indptr: NDArray[np.int64], targets: Integers) -> NDArray[np.bool_]:
    """Mark links that repeat one a few places before, on the same page."""
    import numpy as np

    degrees = np.diff(indptr)
    repeated = np.zeros(len(targets), dtype=bool)
    pages = np.repeat(np.arange(len(degrees), dtype=targets.dtype), degrees)
    for apart in range(1, min(_NEARBY, int(degrees.max(initial=0)) - 1) + 1):
        same = targets[apart:] == targets[:-apart]
        same &= pages[apart:] == pages[:-apart]
        repeated[apart:] |= same
    return repeated


def _repeats_sorted(indptr: NDArray[np.int64], targets: Integers, nodes: int) -> NDArray[np.bool_]:
    """Mark links that repeat an earlier one of the same page."""
    import numpy as np

    places = np.arange(len(targets), dtype=np.int64)
    # By target and then by page, links between the same two pages lie beside each other.
    pages, places = _by_column(indptr, targets, places, nodes)
    again = np.flatnonzero(pages[1:] == pages[:-1]) + 1
    repeated = np.zeros(len(targets), dtype=bool)
    repeated[places[again[targets[places[again]] == targets[places[again - 1]]]]] = True
    return repeated
