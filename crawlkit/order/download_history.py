"""What has been downloaded, and what that led to: the story that a fresh ordering is told."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.order.base import FoundPage, round_score
from crawlkit.reprs import is_null

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from crawlkit.order.base import Ordering, Scores
    from crawlkit.order.link_graph import LinkGraph

__all__ = ["DownloadHistory", "history_of_crawl", "history_of_graph", "rank_waiting", "tell"]

# Reasons for which a URL was never let in; others are found while it waits.
_NEVER_WAITED = frozenset(("not_followed", "scope", "depth", "include", "exclude", "known_urls"))
_SET_ASIDE = "set_aside"
# Links that a crawl goes along.
_FOLLOWED = ("anchor", "area", "frame", "pagination", "canonical", "redirect")


@dataclass
class DownloadHistory:
    """Pages by number in order of discovery, and the downloads in theirs.

    Parameters
    ----------
    pages
        Every known page; its place is its ``id``.
    first
        Pages known before the first download.
    turns
        For each download: the page, the pages found by it, and its links as they stand.
    waiting
        Pages that may be asked for next.
    nodes
        In a graph, the number of each page's node.
    """

    pages: list[FoundPage]
    first: list[int] = field(default_factory=list)
    turns: list[tuple[int, Sequence[int], Sequence[int]]] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)


def tell(ordering: Ordering, history: DownloadHistory) -> dict[int, float]:
    """Call a fresh ordering as the crawl would have; return the last score of each page.

    Examples
    --------
    >>> from crawlkit.order.inlinks import InLinks
    >>> pages = [FoundPage(number, f"http://a.example/{number}") for number in range(3)]
    >>> tell(InLinks(), DownloadHistory(pages, [0], [(0, [1, 2], [1, 2, 1])]))
    {0: 0.0, 1: 1.0, 2: 1.0}
    """
    scores: dict[int, float] = {}
    for page in history.first:
        scores[page] = float(ordering.start(history.pages[page]))
    left = ordering.rescore_every
    for page, found, links in history.turns:
        for new in found:
            scores[new] = float(ordering.start(history.pages[new]))
        onward = links
        if not ordering.links_as_found:
            onward = [link for link in dict.fromkeys(links) if link != page]
        _note(scores, ordering.downloaded(history.pages[page], onward))
        if left is not None:
            left -= 1
            if left <= 0:
                _note(scores, ordering.rescore())
                left = ordering.rescore_every
    return scores


def rank_waiting(ordering: Ordering, history: DownloadHistory) -> list[tuple[int, float]]:
    """Tell a fresh ordering a history; return the waiting pages with their scores, best first.

    The rank of the host goes before the score; equal scores go in order of discovery.

    Examples
    --------
    >>> from crawlkit.order.inlinks import InLinks
    >>> pages = [FoundPage(number, f"http://a.example/{number}") for number in range(3)]
    >>> rank_waiting(InLinks(), DownloadHistory(pages, [0], [(0, [1, 2], [1, 2])], [1, 2]))
    [(1, 1.0), (2, 1.0)]
    """
    scores = tell(ordering, history)
    pages = history.pages
    hosts = {pages[page].host for page in history.waiting}
    rank = {host: round_score(ordering.host_score(host)) for host in hosts}
    ranked = sorted(
        (page for page in history.waiting if page in scores),
        key=lambda page: (-rank[pages[page].host], -round_score(scores[page]), page),
    )
    return [(page, scores[page]) for page in ranked]


def _note(scores: dict[int, float], changes: Scores) -> None:
    if isinstance(changes, tuple):
        ids, values = changes
        changes = dict(zip(ids.tolist(), values.tolist(), strict=True))
    for page, score in changes.items():
        scores[int(page)] = float(score)


def history_of_graph(
    graph: LinkGraph,
    downloaded: Sequence[int],
    *,
    seeds: Sequence[int] = (),
    values: Sequence[float] | None = None,
) -> DownloadHistory:
    """Return the history of downloading some pages of a graph, one after the other.

    Parameters
    ----------
    graph
        The link graph.
    downloaded
        Numbers of pages in the order of their downloads. A page to which none of those before it
        links was known from the start.
    seeds
        Pages that were known from the start in any case, in their order.
    values
        What each page is worth, for orderings that know it.

    Examples
    --------
    >>> from crawlkit.order.link_graph import LinkGraph
    >>> history = history_of_graph(LinkGraph.from_edges([0, 0, 1], [1, 2, 3]), [0, 1])
    >>> [page.url for page in history.pages], history.waiting
    (['0', '1', '2', '3'], [2, 3])
    """
    order = list(dict.fromkeys(downloaded))
    begin = dict.fromkeys(seeds)
    linked: set[int] = set()
    for node in order:
        if node not in linked:
            begin.setdefault(node)
        linked.update(graph.out(node).tolist())
    history = DownloadHistory([], list(range(len(begin))))
    ids: dict[int, int] = {}

    def find(node: int, depth: int, source: str) -> int:
        ids[node] = number = len(history.pages)
        url = str(node if graph.labels is None else graph.labels[node])
        host = "" if graph.hosts is None else graph.host_names[int(graph.hosts[node])]
        value = None if values is None else float(values[node])
        history.pages.append(FoundPage(number, url, host, depth, source, None, value))
        return number

    for node in begin:
        find(node, 0, "seed")
    for node in order:
        targets = graph.out(node).tolist()
        depth = history.pages[ids[node]].depth + 1
        new = [find(target, depth, "link") for target in targets if target not in ids]
        history.turns.append((ids[node], new, [ids[target] for target in targets]))
    history.nodes = list(ids)
    done = {ids[node] for node in order}
    history.waiting = [page for page in range(len(history.pages)) if page not in done]
    return history


def history_of_crawl(crawl: Any) -> DownloadHistory:
    """Return the history of a crawl from its tables ``urls``, ``pages`` and ``links``.

    A page that failed led nowhere, a redirect leads to its target. URLs that robots.txt refused,
    or whose host was given up, are told after the downloads, since the tables do not say when.

    Raises
    ------
    BadSetting
        A table is missing, or lacks a column.
    """
    urls = _table(crawl, "urls", ("url", "state"))
    pages = _table(crawl, "pages", ("url",))
    links = _table(crawl, "links", ("source", "target"))
    if "seq" in pages.columns:
        pages = pages.sort_values("seq", kind="stable")
    names = urls["url"].tolist()
    ids = {name: number for number, name in enumerate(names)}
    states = urls["state"].tolist()
    reasons = urls["reason"].tolist() if "reason" in urls.columns else [None] * len(names)
    history = DownloadHistory(_found_pages(urls))
    out = _links_by_page(links, ids)
    found_on: dict[int | None, list[int]] = defaultdict(list)
    parents = urls["found_on"].tolist() if "found_on" in urls.columns else [None] * len(names)
    asked = [ids[url] for url in pages["url"].tolist() if url in ids]
    told = set(asked)
    for page, (state, reason, parent) in enumerate(zip(states, reasons, parents, strict=True)):
        if state != "excluded" or reason not in _NEVER_WAITED:
            by = None if is_null(parent) else ids.get(parent)
            found_on[by if by in told else None].append(page)
    history.first = found_on.pop(None, [])
    for page in asked:
        led = out.get(page, []) if states[page] != "failed" else []
        history.turns.append((page, found_on.pop(page, []), led))
    refused = [
        page
        for page, (state, reason) in enumerate(zip(states, reasons, strict=True))
        if page not in told
        and state in ("excluded", "failed", "dead")
        and reason not in _NEVER_WAITED
        and reason != _SET_ASIDE
    ]
    history.turns += [(page, [], []) for page in refused]
    history.waiting = [page for page, state in enumerate(states) if state in ("pending", "leased")]
    return history


def _table(crawl: Any, name: str, needed: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    table = getattr(crawl, name, None)
    if not isinstance(table, pd.DataFrame):
        raise BadSetting(
            "crawl_or_graph",
            f"it has no table {name!r}",
            "Pass a crawl with its tables, or a graph.",
        )
    for column in needed:
        if column not in table.columns:
            raise BadSetting(
                "crawl_or_graph", f"its table {name!r} has no column {column!r}", "Pass a crawl."
            )
    return table


def _found_pages(urls: pd.DataFrame) -> list[FoundPage]:
    """Return the pages of a table ``urls``, as an ordering sees them."""
    count = len(urls)

    def column(name: str, missing: Any) -> list[Any]:
        if name not in urls.columns:
            return [missing] * count
        return [missing if is_null(value) else value for value in urls[name].tolist()]

    rows = zip(
        urls["url"].tolist(), column("host", ""), column("depth", 0), column("source", "link"),
        strict=True,
    )  # fmt: skip
    return [FoundPage(number, *row) for number, row in enumerate(rows)]


def _links_by_page(links: pd.DataFrame, ids: dict[str, int]) -> dict[int, list[int]]:
    """Return the links that a crawl goes along, as numbers in the order of the page."""
    if "kind" in links.columns:
        links = links[links["kind"].isin(_FOLLOWED)]
    if "position" in links.columns:
        links = links.sort_values("position", kind="stable")
    out: dict[int, list[int]] = defaultdict(list)
    for source, target in zip(links["source"].tolist(), links["target"].tolist(), strict=True):
        if source in ids and target in ids:
            out[ids[source]].append(ids[target])
    return out
