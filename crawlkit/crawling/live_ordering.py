"""The ordering of a running crawl: what it is told, what it answers, and what is saved of it.

Everything here runs inside the caller's transaction, so that what the ordering knows and what the
folder holds become true together.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING

from crawlkit.crawling.ordering_history import OrderingHistory
from crawlkit.errors import BadSetting
from crawlkit.order.base import Ordering, round_score

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from crawlkit.order.base import FoundPage, Scores

__all__ = ["LiveOrdering", "write_scores"]

# Names of what is saved: the ordering's own state; the downloads so far, and at which number all
# scores are made anew.
_STATE, _RESCORE = "ordering", "ordering_rescore"
# Where so many scores change at once, hosts are looked at anew instead of rows.
_MANY = 200
_UPDATE = "UPDATE urls SET score = ?1 WHERE id = ?2 AND state = 0 AND score != ?1"


class LiveOrdering:
    """One ordering at work in one crawl.

    It runs as a copy, so that an object that has run before can be passed again; only one that
    resumes by nothing, and so has nothing to forget, runs itself.

    Parameters
    ----------
    connection
        The writing connection.
    ordering
        The ordering of the crawl's settings.
    known
        The number of URLs known.

    Raises
    ------
    BadSetting
        The ordering cannot be copied.
    """

    def __init__(self, connection: sqlite3.Connection, ordering: Ordering, known: int) -> None:
        self._connection = connection
        self._known = known
        if ordering.resumes_by != "nothing":
            ordering = _copy(ordering)
        self._ordering = ordering
        self.links_as_found = ordering.links_as_found
        ranks = type(ordering).host_score is not Ordering.host_score
        self.host_score = ordering.host_score if ranks else None
        self.host_score_is_local = ordering.host_score_is_local
        self.listens = type(ordering).downloaded is not Ordering.downloaded
        self._downloads = 0
        self._next_rescore = ordering.rescore_every
        self._saved: dict[str, str] = {}
        for name in (_STATE, _RESCORE):
            row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
            if row is not None:
                self._saved[name] = row[0]
        if _RESCORE in self._saved:
            self._downloads, self._next_rescore = json.loads(self._saved[_RESCORE])
        self._history: OrderingHistory | None = None
        if ordering.resumes_by == "history":
            self._history = OrderingHistory(connection, keeps_links=ordering.needs_links)
            self._history.feed(ordering, known)
        elif _STATE in self._saved:
            ordering.restore(json.loads(self._saved[_STATE]))

    @property
    def asks_again(self) -> bool:
        """Whether a start score may be asked for at any time: no download changes it."""
        return not self.listens

    # -- what it is told -------------------------------------------------------------------

    def start(self, page: FoundPage) -> float:
        """Tell of a page that was just found; return the score that it enters with."""
        self._known = page.id + 1
        return round_score(self._ordering.start(page))

    def refused(self, page_id: int) -> None:
        """Take note of a page that was just found and is set aside: the ordering hears nothing."""
        self._known = page_id + 1
        if self._history is not None:
            self._history.refused(page_id)

    def start_again(self, page: FoundPage) -> float:
        """Tell of a page that waits again; return its score."""
        score = round_score(self._ordering.start(page))
        if self._history is not None:
            self._history.started(page.id, self._known)
        return score

    def about_to_change(self, page_id: int) -> None:
        """Note what a page is like; call it before its depth, source or lastmod changes."""
        if self._history is not None:
            self._history.about_to_change(page_id, self._known)

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> Iterator[Scores]:
        """Tell of a download or a failure; yield the new scores, all of them where they are due."""
        if self.listens:
            yield self._tell(page, links)
        self._downloads += 1
        if self._next_rescore is not None and self._downloads >= self._next_rescore:
            yield self._rescore()

    def excluded(self, page: FoundPage) -> Scores:
        """Tell that nothing will come of a page that waited; return the new scores."""
        return self._tell(page, ()) if self.listens else {}

    def _tell(self, page: FoundPage, links: Sequence[int]) -> Scores:
        if self._history is not None:
            self._history.downloaded(page.id, self._known, links)
        return self._ordering.downloaded(page, links)

    def _rescore(self) -> Scores:
        scores = self._ordering.rescore()
        if self._history is not None:
            self._history.rescored(self._known, self._ordering.snapshot())
        every = self._ordering.rescore_every
        self._next_rescore = None if every is None else self._downloads + every
        return scores

    # -- what is saved ---------------------------------------------------------------------

    def save(self) -> None:
        """Write what must survive the process, where it has changed."""
        if self._history is None:
            state = self._ordering.state()
            if state is not None:
                self._save(_STATE, state)
        if self._next_rescore is not None:
            self._save(_RESCORE, [self._downloads, self._next_rescore])

    def _save(self, name: str, value: object) -> None:
        text = json.dumps(value)
        if self._saved.get(name) != text:
            self._connection.execute(
                "INSERT INTO meta (name, value) VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, text),
            )
            self._saved[name] = text


def _copy(ordering: Ordering) -> Ordering:
    try:
        return copy.deepcopy(ordering)
    except Exception as error:
        raise BadSetting(
            "order",
            f"the ordering {ordering.name!r} cannot be copied: {error}",
            "Give it a method __deepcopy__, or hold what cannot be copied outside of it.",
        ) from error


# -- scores --------------------------------------------------------------------------------


def _columns(scores: Scores) -> tuple[list[int], list[float]]:
    """Return ids and scores as plain lists, from a mapping or from two columns."""
    try:
        if isinstance(scores, tuple):
            ids, values = (c.tolist() if hasattr(c, "tolist") else list(c) for c in scores)
        else:
            ids, values = [int(page_id) for page_id in scores], list(scores.values())
        if len(ids) == len(values):
            return ids, values
    except (TypeError, ValueError, AttributeError):
        pass
    raise BadSetting(
        "order",
        f"the ordering gave {type(scores).__name__} as new scores",
        "Return a mapping of page ids to scores, or a pair of ids and scores of one length.",
    )


def write_scores(connection: sqlite3.Connection, scores: Scores, *, hosts: int) -> set[int] | None:
    """Write new scores of waiting pages.

    Parameters
    ----------
    connection
        The writing connection.
    scores
        As an ordering gives them; ids of pages that do not wait are ignored.
    hosts
        How many hosts there are.

    Returns
    -------
    set of int or None
        The hosts whose queues may have changed; None for any of them.
    """
    ids, values = _columns(scores)
    if not ids:
        return set()
    rounded = map(round_score, values)
    cursor = connection.executemany(_UPDATE, zip(rounded, ids, strict=True))
    if not cursor.rowcount:
        return set()
    if hosts == 1 or len(ids) > _MANY:
        return None
    marks = ",".join("?" * len(ids))
    return {
        row[0]
        for row in connection.execute(
            f"SELECT DISTINCT host FROM urls WHERE id IN ({marks}) AND state = 0", ids
        )
    }
