"""What an analysis needs to know of a crawl, as plain lists, from a crawl or from tables.

One pass over a few columns; rows that cannot be used are dropped, the first row of a URL counts,
and what is missing is noted by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from crawlkit.audit.table_columns import TableColumns
from crawlkit.errors import BadSetting
from crawlkit.plots.rates import count_column, plain_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

__all__ = ["PAGE_COLUMNS", "CrawlFacts", "column", "facts_of", "facts_of_columns", "table_in"]

PAGE_COLUMNS = ("url", "status", "text_hash", "body_hash", "size", "words", "title", "canonical")
"""The columns of ``pages`` that are looked at."""
_URL_COLUMNS = ("url", "state", "reason", "found_on")

HELD = "trap_held"
"""The reason of URLs that ``on_trap="hold"`` set aside."""

EXCLUDED = "pattern"
"""The reason of URLs that a pattern set aside."""

_SHORT_TEXT = 25
"""Words below which a text alone does not tell pages apart: the title must be the same, too."""


@dataclass(eq=False)
class CrawlFacts:
    """URLs by position, in order of discovery, and what is known of each.

    Attributes
    ----------
    urls
        The URLs.
    pending
        Whether each one waits to be fetched.
    finder
        Position of the URL it was found on; -1 for seeds and where that is not known.
    children
        Positions of the URLs that were first found on each; None for none.
    pages
        Positions of the fetched URLs, in order of fetching.
    text
        Number of the text of each page with status 200: the same text, the same number; -1 else.
    original
        Whether a page is the one that stands for all with its text.
    size, words, title
        Of each page; -1, -1 and "" where that is not known.
    today
        The time of the last fetch, as (year, month).
    aside
        Number of URLs that were set aside (scope, patterns, robots.txt, limits); they are not
        among the others.
    held
        Number of URLs that were set aside as those of a trap; they are among the others, as
        waiting ones, where they were asked for, and else among those of `aside`.
    excluded
        Number of those of `aside` that a pattern set aside.
    skipped
        Missing column -> what could not be done without it.
    body
        Returns the body of a page, where bodies are kept.
    links
        The table of links, where it was passed.
    """

    urls: list[str] = field(default_factory=list)
    pending: list[bool] = field(default_factory=list)
    finder: list[int] = field(default_factory=list)
    children: list[list[int] | None] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    text: list[int] = field(default_factory=list)
    original: list[bool] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    title: list[str] = field(default_factory=list)
    today: tuple[int, int] = (1970, 1)
    aside: int = 0
    held: int = 0
    excluded: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    body: Callable[[str], bytes] | None = None
    links: pd.DataFrame | None = None


def table_in(source: Any, name: str) -> pd.DataFrame | None:
    """Return a table of a crawl or of a mapping of tables, or None."""
    import pandas as pd

    found = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    return plain_frame(found) if isinstance(found, pd.DataFrame) else None


def _table(source: Any, name: str, columns: tuple[str, ...]) -> pd.DataFrame | None:
    """Return a table; of a crawl's, these columns alone are read."""
    if isinstance(source, Mapping) or not callable(getattr(source, "batches", None)):
        return table_in(source, name)
    return TableColumns(source).read(name, columns)


def column(frame: pd.DataFrame | None, name: str) -> list[Any] | None:
    """Return a column as a list with None for what is missing, or None without the column."""
    if frame is None or name not in frame.columns:
        return None
    values = frame[name]
    missing = values.isna()
    plain: list[Any] = values.tolist()
    if missing.any():
        plain = [None if gone else v for v, gone in zip(plain, missing.tolist(), strict=True)]
    return plain


def facts_of(
    source: Any, *, argument: str = "crawl_or_tables", held_wait: bool = False
) -> CrawlFacts:
    """Return the facts of a crawl, or of a mapping with its tables.

    Parameters
    ----------
    source
        A crawl, or a mapping with DataFrames ``pages`` (needed: ``url``) and ``urls``
        (``url state found_on``); in place of ``urls``, ``links`` (``source target``) will do.
    argument
        The caller's name of it, for messages.
    held_wait
        Whether URLs that are held as those of a trap count as waiting, or are left out.

    Raises
    ------
    BadSetting
        It is neither, or has no URLs.
    """
    pages = _table(source, "pages", (*PAGE_COLUMNS, "seq", "fetched_at"))
    if pages is None or "url" not in pages.columns:
        what = "has no table 'pages'" if pages is None else "has a table 'pages' without 'url'"
        raise BadSetting(
            argument,
            f"{type(source).__name__} {what}",
            "Pass a crawl, such as ck.open_crawl(folder), or a dict with the DataFrames 'pages' "
            "and 'urls' (or 'links').",
        )
    facts = CrawlFacts()
    places: dict[str, int] = {}
    body = getattr(source, "body", None)
    facts.body = body if callable(body) else None
    # The links of a crawl are many, and its bodies tell the same; tables alone have no bodies.
    if isinstance(source, Mapping) or facts.body is None:
        facts.links = table_in(source, "links")
    urls = _table(source, "urls", _URL_COLUMNS)
    if urls is None or "url" not in urls.columns:
        _take_targets(facts, places)
    else:
        columns = {name: column(urls, name) for name in _URL_COLUMNS}
        _take_urls(facts, columns, places, held_wait=held_wait)
    pages = _in_order(facts, pages)
    _take_pages(facts, {name: column(pages, name) for name in PAGE_COLUMNS}, places)
    _take_today(facts, pages)
    return _with_children(facts)


def facts_of_columns(
    pages: Mapping[str, Sequence[Any] | None],
    urls: Mapping[str, Sequence[Any] | None],
    *,
    today: tuple[int, int],
    body: Callable[[str], bytes] | None = None,
) -> CrawlFacts:
    """Return the facts from plain columns, for a crawl that runs: no pandas is loaded.

    Parameters
    ----------
    pages
        Column name -> values, None for what is missing, in the order of the fetches; those of
        `PAGE_COLUMNS`, ``url`` needed.
    urls
        The same for ``url state found_on``, in the order of discovery.
    today
        Year and month.
    body
        Returns the body of a page.

    Examples
    --------
    >>> pages = {"url": ["https://example.com/"], "status": [200], "text_hash": ["a"]}
    >>> urls = {"url": ["https://example.com/", "https://example.com/b"],
    ...         "state": ["done", "pending"], "found_on": [None, "https://example.com/"]}
    >>> facts = facts_of_columns(pages, urls, today=(2026, 6))
    >>> facts.pending, facts.children
    ([False, True], [[1], None])
    """
    facts = CrawlFacts(today=today, body=body)
    places: dict[str, int] = {}
    _take_urls(facts, urls, places)
    _take_pages(facts, pages, places)
    return _with_children(facts)


def _with_children(facts: CrawlFacts) -> CrawlFacts:
    """Fill in what was found on each page."""
    facts.children = [None] * len(facts.urls)
    for number, finder in enumerate(facts.finder):
        if finder >= 0 and finder != number:
            known = facts.children[finder]
            if known is None:
                facts.children[finder] = [number]
            else:
                known.append(number)
    return facts


def _enter(facts: CrawlFacts, places: dict[str, int], url: str) -> int:
    """Return the position of a URL, a new one at the end."""
    place = places.setdefault(url, len(facts.urls))
    if place == len(facts.urls):
        facts.urls.append(url)
        facts.pending.append(False)
        facts.finder.append(-1)
        facts.text.append(-1)
        facts.original.append(False)
        facts.size.append(-1)
        facts.words.append(-1)
        facts.title.append("")
    return place


def _take_urls(
    facts: CrawlFacts,
    columns: Mapping[str, Sequence[Any] | None],
    places: dict[str, int],
    *,
    held_wait: bool = False,
) -> None:
    """Take the URLs from the columns of ``urls``."""
    urls = columns.get("url") or []
    states, finders = columns.get("state"), columns.get("found_on")
    reasons = columns.get("reason")
    if states is None:
        facts.skipped["urls.state"] = "pending URLs are those without a page"
    if finders is None:
        facts.skipped["urls.found_on"] = "new URLs per page are not known: only copies are judged"
    later: list[tuple[int, str]] = []
    for row, url in enumerate(urls):
        if not isinstance(url, str) or not url or url in places:
            continue
        held = False
        if states is not None and states[row] == "excluded":
            held = reasons is not None and reasons[row] == HELD
            facts.held += held
            facts.excluded += reasons is not None and reasons[row] == EXCLUDED
            if not (held and held_wait):
                facts.aside += 1
                continue
        place = _enter(facts, places, url)
        facts.pending[place] = held or states is None or states[row] in {"pending", "leased"}
        if finders is not None and isinstance(finders[row], str):
            later.append((place, finders[row]))
    for place, finder in later:
        facts.finder[place] = places.get(finder, -1)


def _take_targets(facts: CrawlFacts, places: dict[str, int]) -> None:
    """Take the URLs from links: each was found on the first page that links to it."""
    sources, targets = column(facts.links, "source"), column(facts.links, "target")
    if sources is None or targets is None:
        facts.skipped["urls"] = "known URLs are those of 'pages': only copies are judged"
        return
    internal = column(facts.links, "internal")
    for row, (origin, target) in enumerate(zip(sources, targets, strict=True)):
        if not isinstance(origin, str) or not isinstance(target, str):
            continue
        if internal is not None and not internal[row]:
            continue
        finder = _enter(facts, places, origin)
        if target not in places:
            place = _enter(facts, places, target)
            facts.finder[place] = finder
            facts.pending[place] = True


def _in_order(facts: CrawlFacts, pages: pd.DataFrame) -> pd.DataFrame:
    """Return the pages in the order of their fetches."""
    if "seq" in pages.columns:
        order = count_column(pages["seq"])
    elif "fetched_at" in pages.columns:
        order = _times(pages["fetched_at"])
    else:
        facts.skipped["pages.seq"] = "the order of the rows is taken for that of the fetches"
        return pages
    return pages.iloc[order.reset_index(drop=True).sort_values(kind="stable").index]


def _take_pages(
    facts: CrawlFacts, columns: Mapping[str, Sequence[Any] | None], places: dict[str, int]
) -> None:
    """Take what each fetched page says."""
    urls = columns.get("url") or []
    if columns.get("text_hash") is None and columns.get("body_hash") is None:
        facts.skipped["pages.text_hash"] = "copies are not known"
    texts: dict[tuple[object, object], int] = {}
    best: dict[int, tuple[tuple[int, ...], int]] = {}
    seen: set[int] = set()
    for row, url in enumerate(urls):
        if not isinstance(url, str) or not url:
            continue
        place = _enter(facts, places, url)
        facts.pending[place] = False
        if place in seen:
            continue
        seen.add(place)
        facts.pages.append(place)
        got = {name: values[row] for name, values in columns.items() if values is not None}
        title = got.get("title")
        facts.size[place] = _whole(got.get("size"))
        facts.words[place] = _whole(got.get("words"))
        facts.title[place] = title if isinstance(title, str) else ""
        if "status" in got and _whole(got["status"]) != 200:
            continue
        hashed = got.get("text_hash") or got.get("body_hash")
        if hashed is None:
            continue
        short = facts.words[place] < _SHORT_TEXT
        number = texts.setdefault((hashed, facts.title[place] if short else None), len(texts))
        facts.text[place] = number
        rank = _rank(url, got.get("canonical"), len(facts.pages))
        if number not in best or rank < best[number][0]:
            best[number] = (rank, place)
    for _, place in best.values():
        facts.original[place] = True


def _rank(url: str, canonical: object, order: int) -> tuple[int, ...]:
    """Say how well a page stands for its text: plain and short addresses first."""
    path, _, query = url.partition("?")
    return (
        int(isinstance(canonical, str) and canonical != url),
        query.count("&") + 1 if query else 0,
        path.rstrip("/").count("/"),
        path.count(";"),
        order,
    )


def _times(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of times in UTC; numbers and other texts than ISO 8601 are none."""
    import pandas as pd

    if values.dtype.kind != "M":
        plain = [v if isinstance(v, (str, datetime)) else None for v in values]
        values = pd.Series(plain, dtype=object)
    return pd.to_datetime(values, errors="coerce", utc=True, format="ISO8601")


def _take_today(facts: CrawlFacts, pages: pd.DataFrame) -> None:
    import pandas as pd

    if "fetched_at" in pages.columns:
        times = _times(pages["fetched_at"]).dropna()
        if len(times):
            facts.today = (int(times.max().year), int(times.max().month))
            return
    facts.skipped["pages.fetched_at"] = "today is taken for the day of the crawl"
    now = pd.Timestamp.now(tz="UTC")
    facts.today = (int(now.year), int(now.month))


def _whole(value: Any) -> int:
    """Return a count, or -1 for what is none."""
    try:
        return -1 if value is None or math.isnan(value) else int(value)
    except (TypeError, ValueError, OverflowError):
        return -1
