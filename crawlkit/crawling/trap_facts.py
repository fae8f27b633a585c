"""What a running crawl knows of itself, as the facts that the search for traps works on.

Read from the folder over a connection of its own: what is committed is what is looked at, in one
snapshot, and nobody waits for the reader. Neither pandas nor numpy is loaded.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from crawlkit.audit.crawl_facts import PAGE_COLUMNS, CrawlFacts, facts_of_columns
from crawlkit.crawling.admission import FOUND_BY_LINK
from crawlkit.crawling.archive import load_body
from crawlkit.crawling.database import read_only
from crawlkit.crawling.entry import PENDING, STATES

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

__all__ = ["RunningFacts", "running_facts"]

# A result's row of the buffer begins with its page; its links, which are most of it, come last.
# Quotes within a text are escaped, so this stands for the end of the page only.
_PAGE = '{"pages":'
_END_OF_PAGE = '],"fetches":'
# Which rows have a page is told by what comes back: asked in SQL, it reads each row twice.
_PAGES_IN_BUFFER = f"SELECT substr(rows, 1, instr(rows, '{_END_OF_PAGE}')) FROM buffer ORDER BY seq"


class RunningFacts(NamedTuple):
    """The facts of a crawl at one moment.

    Parameters
    ----------
    facts
        For ``crawlkit.audit.traps.trap_regions``.
    waiting
        Address -> number of the URLs that links led to and that nobody has asked for.
    last
        The number of the URL found last.
    """

    facts: CrawlFacts
    waiting: dict[str, int]
    last: int


def running_facts(folder: Path, *, bodies: bool) -> RunningFacts:
    """Return the facts of a crawl as it is at this moment.

    Parameters
    ----------
    folder
        The crawl folder.
    bodies
        Whether bodies are kept.
    """
    ids: dict[str, int] = {}

    def body(url: str) -> bytes:
        # Few are asked for. A snapshot held for all of them would keep the log from being emptied,
        # and without a log it would keep the writer waiting.
        with read_only(folder) as reader:
            found = load_body(reader, ids[url])
        if found is None:
            raise KeyError(url)
        return found

    with read_only(folder) as connection:
        urls, waiting = _urls(connection, ids)
        pages = _pages(connection, folder)
    now = time.gmtime()
    facts = facts_of_columns(
        pages, urls, today=(now.tm_year, now.tm_mon), body=body if bodies else None
    )
    return RunningFacts(facts, waiting, max(ids.values(), default=-1))


def _urls(
    connection: sqlite3.Connection, ids: dict[str, int]
) -> tuple[dict[str, list[Any]], dict[str, int]]:
    """Return the columns of ``urls`` that are needed, and what waits; fill in the numbers."""
    names: dict[int, str] = {}
    addresses: list[str] = []
    states: list[str] = []
    finders: list[str | None] = []
    waiting: dict[str, int] = {}
    for page_id, url, state, finder, source in connection.execute(
        "SELECT id, url, state, found_on, source FROM urls ORDER BY id"
    ):
        names[page_id] = url
        ids[url] = page_id
        addresses.append(url)
        states.append(STATES[state])
        finders.append(names.get(finder))
        if state == PENDING and source in FOUND_BY_LINK:
            waiting[url] = page_id
    return {"url": addresses, "state": states, "found_on": finders}, waiting


def _pages(connection: sqlite3.Connection, folder: Path) -> dict[str, list[Any]]:
    """Return the columns of ``pages`` that are needed, in order of fetching."""
    columns: dict[str, list[Any]] = {name: [] for name in PAGE_COLUMNS}
    names = [
        row[0]
        for row in connection.execute(
            "SELECT name FROM segments WHERE tablename = 'pages' ORDER BY first_seq"
        )
    ]
    if names:
        import pyarrow.parquet as pq

        for name in names:
            with pq.ParquetFile(folder / name) as file:
                for batch in file.iter_batches(columns=list(PAGE_COLUMNS), use_threads=False):
                    for column in PAGE_COLUMNS:
                        columns[column] += batch.column(column).to_pylist()
    for (text,) in connection.execute(_PAGES_IN_BUFFER):
        if not text.startswith(_PAGE):
            continue
        for page in orjson.loads(f"{text}}}")["pages"]:
            for column in PAGE_COLUMNS:
                columns[column].append(page.get(column))
    return columns
