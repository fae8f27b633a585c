"""The waiting pages of a replay in one queue, as on a single host.

Scores are kept negated and rounded, so that the least entry of a heap is the page that goes next.
Entries go stale instead of being removed: one counts only while it holds the page's present score.
A page that waits no longer has NaN, which equals no entry.
"""

from __future__ import annotations

import heapq
import math
from array import array
from typing import TYPE_CHECKING, Any, Protocol

from crawlkit.order.base import round_score

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from crawlkit.order.base import Scores

__all__ = ["OneQueue", "Queue", "negated", "pairs"]

_SLACK = 1024
_COUNTS = 10**12
_WHOLE_DIGITS = 1e12  # whole numbers below have twelve digits at most
_WHOLE: frozenset[type] = frozenset({int})


class Queue(Protocol):
    """What the replay asks of the waiting pages."""

    def add(self, page: int, host: int, score: float) -> None:
        """Let a newly found page wait; pages come in the order of their ids."""

    def update(self, scores: Scores) -> None:
        """Take new scores of waiting pages; others are ignored."""

    def take(self, most: int) -> list[int]:
        """Take out the pages that go next, in one tick; none only if nothing waits."""


def negated(score: float) -> float:
    """Return a score rounded as by ``round_score``, with the other sign."""
    try:
        if -_WHOLE_DIGITS < score < _WHOLE_DIGITS and score % 1.0 == 0.0:
            return -float(score)  # most scores are counts
        rounded = -float(f"{score:.12g}")
    except (TypeError, ValueError):
        return -round_score(score)  # which says what is wrong
    if rounded != rounded:  # noqa: PLR0124 - only NaN differs from itself
        round_score(score)
    return rounded


def pairs(scores: Scores) -> Iterator[tuple[int, float]]:
    """Return ids and scores, pair by pair."""
    if isinstance(scores, tuple):
        return zip(scores[0].tolist(), scores[1].tolist(), strict=True)
    return iter(scores.items())


class OneQueue:
    """All pages in one queue, as on one host.

    A pair of arrays, which a rescoring gives for most of the pages, is not put into the heap: its
    best entries are sorted, as many as may be needed before the next one, and the rest waits.

    Parameters
    ----------
    resting
        Whether the host rests between two downloads, so that only one goes in a tick.
    """

    def __init__(self, *, resting: bool = False) -> None:
        self._most = 1 if resting else None
        self._scores = array("d")
        self._heap: list[tuple[float, int]] = []
        self._run = _SortedRun()
        self._waiting = 0

    def add(self, page: int, host: int, score: float) -> None:
        """Let a newly found page wait."""
        del page, host
        entered = negated(score)
        heapq.heappush(self._heap, (entered, len(self._scores)))
        self._scores.append(entered)
        self._waiting += 1

    def update(self, scores: Scores) -> None:
        """Take new scores of waiting pages."""
        if isinstance(scores, tuple):
            self._replace(*scores)
            return
        known, heap, push = self._scores, self._heap, heapq.heappush
        count = len(known)
        try:
            for page, score in scores.items():
                if page >= count:
                    continue
                old = known[page]
                if old != old:  # noqa: PLR0124 - it waits no longer
                    continue
                # A count needs no rounding.
                counted = type(score) in _WHOLE and -_COUNTS < score < _COUNTS
                new = -score if counted else -float(f"{score:.12g}")
                if new != old:
                    if new != new:  # noqa: PLR0124 - only NaN differs from itself
                        round_score(score)
                    known[page] = new
                    push(heap, (new, page))
        except (TypeError, ValueError):
            for score in scores.values():
                round_score(score)
            raise
        if len(heap) > 2 * self._waiting + _SLACK:
            self._compact()

    def _compact(self) -> None:
        """Leave the stale entries out."""
        known = self._scores
        self._heap = list({entry for entry in self._heap if known[entry[1]] == entry[0]})
        heapq.heapify(self._heap)

    def _replace(self, pages: NDArray[Any], scores: NDArray[Any]) -> None:
        import numpy as np

        from crawlkit.order.rounding import round_scores

        lowered = -round_scores(scores)
        old_run = self._run.left()
        known = np.frombuffer(self._scores)
        if len(pages) and pages.max() >= len(known):
            found = pages < len(known)
            pages, lowered = pages[found], lowered[found]
        waits = ~np.isnan(known[pages])
        if not waits.all():
            pages, lowered = pages[waits], lowered[waits]
        known[pages] = lowered
        del known  # an array that is looked at cannot grow
        if len(pages) >= self._waiting:
            self._heap.clear()
        else:
            for entry in old_run:
                heapq.heappush(self._heap, entry)
        self._run = _SortedRun(pages, lowered)

    def take(self, most: int) -> list[int]:
        """Take out the pages that go next."""
        if self._most is not None:
            most = self._most
        taken: list[int] = []
        while len(taken) < most:
            page = self._pop()
            if page is None:
                break
            taken.append(page)
        return taken

    def _pop(self) -> int | None:
        known, heap, run = self._scores, self._heap, self._run
        while heap and known[heap[0][1]] != heap[0][0]:
            heapq.heappop(heap)
        first = run.peek(known)
        if first is not None and (not heap or first < heap[0]):
            page = first[1]
        elif heap:
            page = heapq.heappop(heap)[1]
        else:
            return None
        known[page] = math.nan
        self._waiting -= 1
        return page


class _SortedRun:
    """Entries of one rescoring, sorted piece by piece as they are needed."""

    _PIECE = 4096

    def __init__(self, pages: NDArray[Any] | None = None, scores: NDArray[Any] | None = None):
        self._rest = None if pages is None or scores is None else (pages, scores)
        self._sorted: list[tuple[float, int]] = []  # the best last

    def peek(self, known: array[float]) -> tuple[float, int] | None:
        """Return the best entry that is not stale; it stays."""
        while True:
            entries = self._sorted
            while entries:
                score, page = entries[-1]
                if known[page] == score:
                    return entries[-1]
                entries.pop()
            if self._rest is None:
                return None
            self._sort_piece()

    def _sort_piece(self) -> None:
        import numpy as np

        pages, scores = self._rest or (np.zeros(0, dtype=np.int64), np.zeros(0))
        if len(pages) > 2 * self._PIECE:
            limit = np.partition(scores, self._PIECE)[self._PIECE]
            best = scores <= limit
            self._rest = pages[~best], scores[~best]
            pages, scores = pages[best], scores[best]
        else:
            self._rest = None
        order = np.lexsort((pages, scores))[::-1]
        self._sorted = list(zip(scores[order].tolist(), pages[order].tolist(), strict=True))

    def left(self) -> Iterator[tuple[float, int]]:
        """Yield all entries that are left, in no order."""
        yield from self._sorted
        if self._rest is not None:
            pages, scores = self._rest
            yield from zip(scores.tolist(), pages.tolist(), strict=True)
