"""OPIC as an estimate: what a series of downloads, repeated ones too, says of importance."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, Any, Literal

from crawlkit.errors import BadSetting
from crawlkit.order.graph_inputs import link_graph, node_numbers
from crawlkit.order.pagerank import check_damping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

    from crawlkit.order.link_graph import LinkGraph

__all__ = ["opic"]

_POLICIES = ("greedy", "cyclic", "random")


def opic(
    graph: Any,
    downloads: Iterable[Any] | None = None,
    *,
    visits: float | None = None,
    policy: Literal["greedy", "cyclic", "random"] = "greedy",
    initial: Literal["seeds", "unit"] = "seeds",
    seeds: Any = None,
    virtual_root: bool = False,
    damping: float = 0.85,
    window: float | None = None,
    random_seed: int = 0,
    progress: bool = True,
) -> pd.DataFrame:
    """Return cash, history and importance of pages after some downloads (OPIC).

    A download adds the page's cash to its history, and gives it to its links in equal parts. The
    cash of a page without links goes to the root. Cash is neither made nor lost, and what has
    gone through a page, in relation to all that has moved, estimates its importance.

    Parameters
    ----------
    graph
        Anything that :func:`~crawlkit.order.graph_inputs.link_graph` takes.
    downloads
        Pages in the order of their downloads, repeats allowed: labels, or numbers of pages.
    visits
        Instead of downloads: how often each page is downloaded on average.
    policy
        Which page is next with ``visits``: ``"greedy"`` the one with the most cash, ``"cyclic"``
        one after the other, ``"random"`` any.
    initial
        ``"seeds"``: the seeds hold 1 in all, in equal parts, and the root is the seeds.
        ``"unit"``: each page holds 1 as soon as it is known, and the root is an account of its
        own, which pays only with ``virtual_root``, to all known pages in equal parts.
    seeds
        Where the cash is at the start. By default the first page downloaded; with ``visits`` all
        pages of the graph.
    virtual_root
        Whether each download gives the share ``1 - damping`` to the root, and the root pays out
        at once what it gets. Then importance converges to PageRank: to that of the graph when
        the root pays to all pages, else to the one personalized to the seeds.
    damping
        Share that follows the links with a virtual root, between 0 and 1, both excluded.
    window
        How far back history goes, in multiples of the total cash; by default for ever. As cash
        moves, older history fades, so that importance follows a graph that changes.
    random_seed
        Seed of the draws of ``policy="random"``.
    progress
        Whether a long run shows a bar. Interrupting it returns what there is.

    Returns
    -------
    DataFrame
        Index ``page``: the pages known (the seeds, what was downloaded and what that links to;
        with ``visits`` all), in the order of the graph. Columns ``cash``, ``history`` and
        ``importance`` (float64) and ``downloads`` (int64). ``importance`` is ``(H + C) / (G +
        total)``, where G is all cash that pages have moved and the total what they hold: it sums
        to 1. ``attrs["root_cash"]`` is what the root's own account holds.

    Raises
    ------
    BadSetting
        An argument cannot work, or a page is not in the graph.

    Notes
    -----
    The L1 error of the estimate falls like 1 / visits under any policy that comes back to each
    page again and again; greedy is best. Late pages are owed what the root paid before by one
    number that grows, so a download costs the page's links and the logarithm of the pages.

    References
    ----------
    Abiteboul, Preda and Cobena, "Adaptive on-line page importance computation", WWW 2003.

    Examples
    --------
    >>> graph = (["home", "home", "shop"], ["shop", "about", "home"])
    >>> opic(graph, ["home", "shop", "home"])["cash"].to_dict()
    {'home': 0.0, 'shop': 0.25, 'about': 0.75}
    >>> table = opic(graph, visits=500, virtual_root=True)
    >>> table["importance"].round(2).to_dict()  # the PageRank
    {'home': 0.39, 'shop': 0.3, 'about': 0.3}
    """
    import numpy as np

    if (downloads is None) == (visits is None):
        raise BadSetting(
            "downloads", "give either downloads or visits", "Pass a list of pages, or visits=30."
        )
    _check(policy, initial, damping, visits, window)
    links = link_graph(graph)
    given = None if seeds is None else node_numbers(links, seeds, "seeds").tolist()
    accounts = _Accounts(
        links, unit=initial == "unit", damping=damping if virtual_root else 1.0, pays=virtual_root
    )
    turns: Iterable[int]
    if downloads is not None:
        turns = asked = node_numbers(links, downloads, "downloads").tolist()
        accounts.begin(asked[:1] if given is None else given)
    else:
        everything = range(links.nodes)
        accounts.begin(everything if given is None else given)
        for page in everything:
            accounts.know(page)
        count = round((visits or 0) * links.nodes)
        turns = _turns(accounts, policy, count, np.random.default_rng(random_seed))
    span = math.inf if window is None else window * max(accounts.total(), 1e-300)
    _download_all(accounts, turns, span, progress=progress)
    return _table(links, accounts, span)


def _check(
    policy: str, initial: str, damping: float, visits: float | None, window: float | None
) -> None:
    if policy not in _POLICIES:
        raise BadSetting("policy", f"{policy!r} is not known", f"Pass one of {_POLICIES}.")
    if initial not in ("seeds", "unit"):
        raise BadSetting("initial", f"{initial!r} is not known", "Pass 'seeds' or 'unit'.")
    check_damping(damping)
    for name, number, above in (("visits", visits, False), ("window", window, True)):
        fits = isinstance(number, (int, float)) and math.isfinite(number) and number >= 0
        if number is not None and not (fits and (number > 0 or not above)):
            raise BadSetting(name, f"{number!r} is no fitting number", "Pass one such as 10.")


class _Accounts:
    """Who holds how much.

    Each of the payees is owed ``paid`` beside its own: what the root has paid to each since the
    start. A payee that joins late, or has been emptied, begins with ``-paid``.
    """

    def __init__(self, links: LinkGraph, *, unit: bool, damping: float, pays: bool) -> None:
        self.unit, self.damping, self.pays = unit, damping, pays
        ends, targets = links.indptr.tolist(), links.targets.tolist()
        self.out: list[Sequence[int]] = [
            targets[ends[page] : ends[page + 1]] for page in range(links.nodes)
        ]
        count = links.nodes
        self.own = [0.0] * count
        self.history = [0.0] * count
        self.when = [0.0] * count  # how much had moved at the page's last download
        self.times = [0] * count
        self.known = bytearray(count)
        self.payee = bytearray(count)
        self.payees = 0
        self.paid = 0.0
        self.root = 0.0
        self.moved = 0.0
        # Waiting offers of (-own, page), payees and others apart, for the greedy policy alone.
        self.heaps: tuple[list[tuple[float, int]], list[tuple[float, int]]] | None = None

    def begin(self, seeds: Iterable[int]) -> None:
        first = list(dict.fromkeys(seeds))
        for page in first:
            self.know(page)
            if not self.unit:
                self.own[page] = 1.0 / len(first)
                self.payee[page] = 1
                self.payees += 1

    def know(self, page: int) -> None:
        """Note that a page exists; in unit mode it brings cash, and is owed nothing before."""
        if not self.known[page]:
            self.known[page] = 1
            if self.unit:
                self.own[page] = 1.0 - self.paid
                self.payee[page] = 1
                self.payees += 1

    def balance(self, page: int) -> float:
        # The difference of two numbers may miss zero by the rounding.
        return max(0.0, self.own[page] + self.paid) if self.payee[page] else self.own[page]

    def total(self) -> float:
        """Return all cash, the root's too."""
        return math.fsum(map(self.balance, range(len(self.own)))) + self.root

    def download(self, page: int, span: float) -> None:
        """Move a page's cash to its history, its links and the root."""
        own, out = self.own, self.out[page]
        self.know(page)
        for target in out:
            self.know(target)
        cash = self.balance(page)
        self.moved += cash
        self.history[page] = self.remembered(page, cash, span)
        self.when[page] = self.moved
        self.times[page] += 1
        own[page] = -self.paid if self.payee[page] else 0.0
        onward = cash * self.damping if out else 0.0
        if onward:
            share = onward / len(out)
            for target in out:
                own[target] += share
        if self.heaps is not None:
            for changed in (page, *out):
                heapq.heappush(self.heaps[self.payee[changed]], (-own[changed], changed))
        self._to_root(cash - onward)

    def _to_root(self, amount: float) -> None:
        if self.payees and (self.pays or not self.unit):
            self.paid += amount / self.payees
        else:
            self.root += amount

    def remembered(self, page: int, cash: float, span: float) -> float:
        """Return a page's history with its cash: by interpolation over the last ``span`` moved."""
        since = self.moved - self.when[page]
        if since < span:
            return self.history[page] * (1.0 - since / span) + cash
        return cash * span / since

    def greedy(self) -> int | None:
        """Return the page with the most cash; ``None`` when no page has any."""
        if self.heaps is None or max(map(len, self.heaps)) > 8 * len(self.own) + 1_000:
            self.heaps = ([], [])
            for page, amount in enumerate(self.own):
                self.heaps[self.payee[page]].append((-amount, page))
            for heap in self.heaps:
                heapq.heapify(heap)
        best: list[tuple[float, int]] = []
        for heap, owed in zip(self.heaps, (0.0, self.paid), strict=True):
            while heap and -heap[0][0] != self.own[heap[0][1]]:  # an offer of the past
                heapq.heappop(heap)
            if heap:
                best.append((heap[0][0] - owed, heap[0][1]))
        cash, page = min(best, default=(0.0, -1))
        return page if cash < 0 else None


def _turns(accounts: _Accounts, policy: str, count: int, draw: Any) -> Iterator[int]:
    """Give the pages to download, one at a time."""
    nodes = len(accounts.own)
    if policy == "cyclic":
        yield from (number % nodes for number in range(count))
    elif policy == "random":
        for start in range(0, count, 10_000):
            yield from draw.integers(nodes, size=min(10_000, count - start)).tolist()
    else:
        for _ in range(count):
            page = accounts.greedy()
            if page is None:
                return
            yield page


def _download_all(
    accounts: _Accounts, turns: Iterable[int], span: float, *, progress: bool
) -> None:
    from tqdm.auto import tqdm

    bar = tqdm(turns, desc="opic", unit=" downloads", delay=2.0, disable=not progress)
    try:
        with bar:
            for page in bar:
                accounts.download(page, span)
    except KeyboardInterrupt:
        return


def _table(links: LinkGraph, accounts: _Accounts, span: float) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    known = np.flatnonzero(np.frombuffer(accounts.known, dtype=np.uint8))
    pages = known.tolist()
    cash = [accounts.balance(page) for page in pages]
    weights = np.array(
        [accounts.remembered(page, held, span) for page, held in zip(pages, cash, strict=True)],
        dtype=np.float64,
    )
    total = float(weights.sum())
    labels = pages if links.labels is None else [links.labels[page] for page in pages]
    frame = pd.DataFrame(
        {
            "cash": np.array(cash, dtype=np.float64),
            "history": np.array([accounts.history[page] for page in pages], dtype=np.float64),
            "importance": weights / total if total > 0 else weights,
            "downloads": np.array([accounts.times[page] for page in pages], dtype=np.int64),
        },
        index=pd.Index(labels, name="page", dtype=None if labels else "str"),
    )
    frame.attrs["root_cash"] = accounts.root
    return frame
