"""Asking a web archive's index (a CDX server): the query, paging, patience, and where to go on.

Three kinds of paging are in use. Some servers hand out resume keys (``showResumeKey``), some number
their pages (``page``, ``showNumPages``), some answer everything at once. `IndexWalk` begins with
resume keys, sees from the first answer whether the server has them, and falls back in that order.
Servers with pages answer with the first one when no page is asked for, however short it is.
Filters are sent where every server reads them alike, and applied again to what comes: what a server
ignores changes no result. Collapsing likewise.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawlkit.web.archive_answers import IndexAnswer, read_answer
from crawlkit.web.retry import is_retryable

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlkit.web.archive_answers import Capture
    from crawlkit.web.archive_query import IndexQuery
    from crawlkit.web.fetch import Fetcher
    from crawlkit.web.response import Response

__all__ = ["IndexWalk", "Patience"]

#: Captures asked for at once where a server has no paging at all.
UNPAGED_ROWS = 1_000_000

_PAGE_BYTES = 67_108_864
_UNPAGED_BYTES = 268_435_456
_LEAST_ROWS = 100
_SHOWN = 300
_PAGES = 100_000
_MOST_PROBLEMS = 1_000
# How servers answer a question that they do not know.
_NOT_KNOWN = frozenset(
    {"http_400", "http_404", "http_405", "http_422", "http_501", "not_an_index", "index_error"}
)
# Failures after which fewer rows at once may do.
_TOO_MUCH = frozenset({"timeout", "truncated", "bad_chunk", "connection_reset", "body_too_large"})


@dataclass(slots=True)
class Patience:
    """How an index is asked: the pause between requests, repeats, and bounds.

    Attributes
    ----------
    delay
        Seconds from the start of one request to the start of the next.
    retries
        How often a request is repeated after a failure that time may cure.
    max_wait
        The longest pause, in seconds, that a server can ask for.
    max_requests
        The most requests, repeats included.
    """

    delay: float = 1.0
    retries: int = 4
    max_wait: float = 300.0
    max_requests: int = 1_000
    requests: int = 0
    _next: float = 0.0
    _draw: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - jitter

    def ask(self, fetcher: Fetcher, address: str, body_limit: int) -> Response:
        """Wait for one's turn, and send one request."""
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = time.monotonic() + self.delay
        self.requests += 1
        return fetcher.fetch_following(address, body_limit=body_limit, keep_start=True)[-1]

    def back_off(self, attempt: int, asked_for: float | None) -> bool:
        """Note the pause after a failed attempt; False when it is longer than `max_wait`."""
        pause = asked_for
        if pause is None:
            pause = min(self.delay * 2**attempt * (0.5 + self._draw.random()), self.max_wait)
        self._next = max(self._next, time.monotonic() + pause)
        return pause <= self.max_wait


class _Ended(Exception):
    """The walk is over: a reason code and the words of the server or the system."""

    def __init__(self, reason: str, detail: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


class IndexWalk:
    """Walks through all that an index has on a query.

    Parameters
    ----------
    query
        What is asked.
    fetcher
        Sends the requests.
    patience
        The pauses and bounds.
    page_size
        Captures asked for at once.
    most
        Captures after which the walk ends, of those that `run`'s function counts.
    resume_key
        Where an earlier walk ended.

    Attributes
    ----------
    stop_reason : str
        ``"end"``, or why the walk ended before: ``"max_urls"``, ``"max_requests"``,
        ``"interrupted"`` or the code of a failure.
    problems : list of dict
        What went wrong, failures that a repeat cured included: `reason`, `detail`, `request`.
    resume_key : str or None
        Where to go on, if the server has such keys.
    captures, filtered : int
        Rows seen, and those of them left out by filters and collapsing.
    bad_rows : list of str
        Rows that are none.
    """

    def __init__(
        self,
        query: IndexQuery,
        fetcher: Fetcher,
        patience: Patience,
        *,
        page_size: int = 10_000,
        most: int = 100_000,
        resume_key: str | None = None,
    ) -> None:
        self.stop_reason = "end"
        self.problems: list[dict[str, Any]] = []
        self.resume_key = resume_key
        self.captures = self.filtered = 0
        self.bad_rows: list[str] = []
        self._query, self._fetcher, self._patience = query, fetcher, patience
        self._size, self._asked, self._room = page_size, page_size, most
        self._names: str | None = None
        self._probed: frozenset[Capture] = frozenset()
        self._last_value: str | None = None
        if resume_key is not None and query.collapse == "urlkey":
            # The row after the key may be a later capture of the URL that the last walk ended with.
            self._last_value = resume_key.rpartition(" ")[0]
        self._readable_keys = self._all_came = False
        self._take: Callable[[Capture], bool] = lambda _: True

    def run(self, take: Callable[[Capture], bool]) -> None:
        """Walk; `take` gets each capture that is wanted, and says whether it counts."""
        self._take = take
        try:
            if not self._by_resume_keys():
                self._by_pages()
        except _Ended as ended:
            self.stop_reason = ended.reason
            if ended.detail is not None:
                self._problem(ended.reason, ended.detail)
        except KeyboardInterrupt:
            self.stop_reason = "interrupted"

    def _by_resume_keys(self) -> bool:
        """Return False when the server turns out to have no resume keys."""
        probing = self.resume_key is None
        met: set[str] = set()
        while True:
            answer = self._ask(self._next_rows, by_rows=True)
            self._take_all(answer)
            if answer.resume_key is None:
                if probing and self._may_have_more(answer):
                    return False
                self.resume_key = None
                return True
            if answer.resume_key in met:
                raise _Ended("resume_key_repeats", "the index hands out a key for the second time")
            met.add(answer.resume_key)
            self.resume_key = answer.resume_key
            probing = False

    def _may_have_more(self, answer: IndexAnswer) -> bool:
        """Say whether a first answer without a key may be but a part.

        A server that has keys gives none only at the end. Those that write one object a line have
        none, and where they have pages, an answer is one page only, full or not.
        """
        self._all_came = len(answer.captures) < self._asked
        self._probed = frozenset(answer.captures)
        return not self._all_came or answer.form not in ("array", "fields")

    def _next_rows(self) -> list[tuple[str, str]]:
        # No more than there is room for, unless most of what comes is left out here.
        room = max(self._room, _LEAST_ROWS) if self.captures else self._room
        self._asked = min(self._size, room)
        pairs = [("limit", str(self._asked)), ("showResumeKey", "true")]
        return pairs if self.resume_key is None else [*pairs, ("resumeKey", self.resume_key)]

    def _by_pages(self) -> None:
        """Ask for numbered pages; for everything at once where the server does not count them."""
        # pywb looks for similar URLs when a page has no row that passes the filters.
        everything = (("limit", str(UNPAGED_ROWS)), ("allowFuzzy", "0"))
        count = self._number_of_pages()
        if self._all_came and (count is None or count < 2):
            return
        pages = [[*everything]]
        if count is not None:
            pages = [[("page", str(number)), *everything] for number in range(min(count, _PAGES))]
        for page in pages:
            answer = self._ask(page.copy)
            self._take_all(answer)
            if len(answer.captures) >= UNPAGED_ROWS:
                raise _Ended("cut_by_limit", f"there are more than {UNPAGED_ROWS:,} captures")

    def _number_of_pages(self) -> int | None:
        """Return how many pages there are; the limit spares servers that list captures instead."""
        try:
            return self._ask(lambda: [("showNumPages", "true"), ("limit", "1")]).pages
        except _Ended as ended:
            if ended.reason not in _NOT_KNOWN:
                raise
            return None  # the server does not count its pages

    def _ask(
        self, more: Callable[[], list[tuple[str, str]]], *, by_rows: bool = False
    ) -> IndexAnswer:
        """Ask until there is a whole answer; at the end of patience, keep what there is of it."""
        attempt = 0
        while True:
            if self._patience.requests >= self._patience.max_requests:
                raise _Ended("max_requests", f"{self._patience.requests} requests were sent")
            address = self._query.address(self._names, more())
            limit = _PAGE_BYTES if by_rows else _UNPAGED_BYTES
            response = self._patience.ask(self._fetcher, address, limit)
            answer, reason, detail = _judge(response)
            if reason is None:
                if "length_unknown" in response.flags and answer.resume_key is None:
                    self._problem("length_unknown", "a cut cannot be told from the end")
                self._names = self._names or answer.names
                return answer
            attempt += 1
            if attempt > self._patience.retries or not self._may_repeat(response, reason, by_rows):
                self._take_all(answer)
                raise _Ended(reason, detail or "")
            self._problem(reason, detail)
            if not self._patience.back_off(attempt, response.retry_after):
                wait = f"the index asks to wait {response.retry_after:.0f} seconds"
                raise _Ended("retry_after_too_long", wait)

    def _may_repeat(self, response: Response, reason: str, by_rows: bool) -> bool:  # noqa: FBT001 - internal
        """Say whether another attempt may do, if need be with fewer rows."""
        if by_rows and reason in _TOO_MUCH and self._size > _LEAST_ROWS:
            self._size = max(_LEAST_ROWS, self._size // 2)
            return True
        return reason == "truncated" or is_retryable(response)

    def _take_all(self, answer: IndexAnswer) -> None:
        self.bad_rows += answer.bad_rows
        if answer.resume_key is not None and answer.captures:
            last = answer.captures[-1].urlkey
            self._readable_keys = answer.resume_key.startswith(last + " ")
        # What came already, while it was found out how the server pages, is left out.
        fresh = [capture for capture in answer.captures if capture not in self._probed]
        for number, capture in enumerate(fresh, 1):
            self.captures += 1
            if not self._query.wants(capture) or self._is_collapsed(capture):
                self.filtered += 1
                continue
            self._room -= self._take(capture)
            if self._room <= 0:
                if number == len(fresh):
                    self.resume_key = answer.resume_key or self.resume_key
                elif self._readable_keys:  # the key of the place between two rows
                    self.resume_key = f"{capture.urlkey} {capture.timestamp}!"
                raise _Ended("max_urls")

    def _is_collapsed(self, capture: Capture) -> bool:
        """Say whether the row before has the same value; servers may have collapsed already."""
        name, _, length = (self._query.collapse or "").partition(":")
        if name not in _COLLAPSED_BY:
            return False
        value = str(getattr(capture, _COLLAPSED_BY[name]) or "")
        value = value[: int(length)] if length else value
        same, self._last_value = value == self._last_value, value
        return same

    def _problem(self, reason: str, detail: str | None) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            request = self._patience.requests
            self.problems.append({"reason": reason, "detail": detail or None, "request": request})


# Fields that collapsing can be repeated by; by any other (digest, length) the server alone does it.
_COLLAPSED_BY = {
    "urlkey": "urlkey",
    "timestamp": "timestamp",
    "original": "url",
    "url": "url",
    "mimetype": "mime",
    "mime": "mime",
    "statuscode": "status",
    "status": "status",
}


def _judge(response: Response) -> tuple[IndexAnswer, str | None, str | None]:
    """Return what there is of an answer, and why it is none, or not whole."""
    whole = response.error is None and "length_unknown" not in response.flags
    answer = read_answer(response.body, whole=whole)
    reason: str | None = None
    detail = answer.message or " ".join(response.body[:_SHOWN].decode("utf-8", "replace").split())
    if response.error is not None:
        reason, detail = response.error, response.detail or ""
    elif response.status == 404 and answer.message is not None:
        answer = IndexAnswer()  # "no captures found"
    elif response.status not in (200, 204):
        reason = f"http_{response.status}"
    elif answer.cut:
        reason, detail = "truncated", "the answer ends in the middle of a row"
    elif not answer.recognized:
        reason = "not_an_index"
    elif answer.message is not None and not answer.captures:
        reason = "index_error"
    if reason is not None and response.status != 200:
        answer = IndexAnswer()  # rows of an error page are none
    return answer, reason, detail
