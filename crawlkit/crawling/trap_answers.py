"""What a crawl does about a trap: tell, hold, or stop; and how a region is released again.

Every function runs inside the caller's transaction, so that a region, the URLs that are set aside
for it and the event that says so become true together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlkit.crawling.admission import FOUND_BY_LINK
from crawlkit.crawling.entry import EXCLUDED
from crawlkit.crawling.results import Event
from crawlkit.crawling.trap_records import HELD

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from crawlkit.crawling.frontier import Frontier
    from crawlkit.crawling.trap_records import TrapRegion
    from crawlkit.crawling.trap_watch import TrapNews
    from crawlkit.web.patterns import Patterns

__all__ = ["answer_traps", "note_release", "settle_traps", "stop_reason_of"]

_AT_ONCE = 500


def stop_reason_of(region: TrapRegion) -> str:
    """Return the reason of a crawl that ends for a region: the rule, the kind, the region."""
    return f"on_trap: {region.kind} {region.region}"


def answer_traps(
    connection: sqlite3.Connection, frontier: Frontier, news: TrapNews, on_trap: str
) -> tuple[list[Event], str | None]:
    """Do what the crawl was told to do about what a look has found.

    Parameters
    ----------
    connection, frontier
        Of the crawl.
    news
        What was found.
    on_trap
        ``"warn"``, ``"hold"`` or ``"stop"``.

    Returns
    -------
    tuple of list and str or None
        Events to write, and why the crawl ends, if it does.
    """
    book = frontier.traps
    if news.problem is None:
        book.looks += 1
    book.looked_at = news.pages
    book.seconds += news.seconds
    events: list[Event] = []
    stop: str | None = None
    if news.problem is not None:
        events.append(Event("trap_watch_ended", detail=news.problem))
    for region, waiting in news.traps:
        same = (region.host, region.exclude)
        earlier = next((one for one in book.regions if (one.host, one.exclude) == same), None)
        holds = on_trap == "hold" and region.fits
        if earlier is not None and not (holds and earlier.status == "told"):
            continue
        if earlier is None:
            book.regions.append(region)
        else:
            region, earlier.fits = earlier, True  # noqa: PLW2901 - what was told of is held now
        if holds:
            later = _waiting(connection, frontier, region, after=news.seen_to)
            events.append(_hold(connection, frontier, region, [*waiting, *later]))
        elif on_trap == "stop":
            region.status = "stopped"
            stop = stop or stop_reason_of(region)
            events.append(_event("trap_stop", region, f"{region.pending:,} URLs of it wait"))
        else:
            fault = "" if region.fits or on_trap == "warn" else "; no pattern fits, so it goes on"
            events.append(_event("trap_found", region, f"{region.pending:,} URLs wait{fault}"))
    book.save(connection)
    return events, stop


def settle_traps(
    connection: sqlite3.Connection, frontier: Frontier, on_trap: str
) -> tuple[list[Event], str | None]:
    """Apply what is known of traps when a crawl begins or goes on.

    What is held stays held, also for URLs that were in hand at a death. ``"hold"`` now holds what
    was only told of; ``"stop"`` ends the crawl at once while URLs wait in a region that nobody
    has decided on; ``"warn"`` lets such a region go on.

    Returns
    -------
    tuple of list and str or None
        As of `answer_traps`.
    """
    book = frontier.traps
    events: list[Event] = []
    stop: str | None = None
    if not book.regions:
        return events, stop
    if book.any_held:
        _set_aside(connection, frontier, _waiting(connection, frontier, None))
    for region in book.regions:
        if region.status not in ("told", "stopped"):
            continue
        if on_trap == "hold" and region.fits:
            waiting = _waiting(connection, frontier, region)
            events.append(_hold(connection, frontier, region, waiting))
        elif on_trap == "stop" and _waiting(connection, frontier, region):
            region.status = "stopped"
            stop = stop or stop_reason_of(region)
        else:
            region.status = "told"
    book.save(connection)
    return events, stop


def _waiting(
    connection: sqlite3.Connection,
    frontier: Frontier,
    region: TrapRegion | None,
    *,
    after: int = -1,
) -> list[int]:
    """Return what waits of a region, or of all that is held; seeds are spared.

    With a number, only what was found after it, and what was in hand by then and waits again.
    """
    matches = frontier.traps.holds if region is None else region.matcher()
    return [
        page_id
        for page_id, url in connection.execute(
            "SELECT id, url FROM urls WHERE (id > ? OR urgent) AND state = 0 AND source IN (?, ?)",
            (after, *FOUND_BY_LINK),
        )
        if matches(url)
    ]


def _hold(
    connection: sqlite3.Connection,
    frontier: Frontier,
    region: TrapRegion,
    waiting: Sequence[int],
) -> Event:
    """Hold a region: set aside what waits in it, and from now on what is found of it."""
    region.status = "held"
    frontier.traps.changed()
    count = _set_aside(connection, frontier, waiting)
    return _event("trap_held", region, f"{count:,} URLs set aside")


def _set_aside(connection: sqlite3.Connection, frontier: Frontier, ids: Sequence[int]) -> int:
    """Set aside those of some URLs that still wait, and are held; return how many."""
    aside: list[int] = []
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        rows = connection.execute(
            f"SELECT id, url FROM urls WHERE id IN ({','.join('?' * len(some))}) AND state = 0",
            some,
        ).fetchall()
        aside += [page_id for page_id, url in rows if frontier.traps.holds(url)]
    if aside:
        connection.executemany(
            f"UPDATE urls SET state = {EXCLUDED}, reason = '{HELD}', retry_at = NULL WHERE id = ?",
            [(page_id,) for page_id in aside],
        )
        frontier.tell_excluded(aside)
        frontier.reload()
    return len(aside)


def _event(kind: str, region: TrapRegion, what: str) -> Event:
    detail = f"{region.kind} {region.region}: {what}; pattern {region.rule}; {region.evidence}"
    return Event(kind, region.example, region.host, detail)


def note_release(
    connection: sqlite3.Connection,
    frontier: Frontier,
    back: Sequence[str],
    patterns: Patterns | None,
) -> None:
    """Take note that held URLs were released: what is found of them later is let in, too.

    A region of which nothing is held any more is released as a whole, and one whose own pattern
    was named, also where the crawl has stopped for it. Of another one the part that matches the
    patterns is, and the rest stays held.

    Parameters
    ----------
    connection, frontier
        Of the crawl.
    back
        The held URLs that wait again.
    patterns
        By which they were chosen; None for everything.
    """
    book = frontier.traps
    named = [] if patterns is None else patterns.to_list()
    left = [url for (url,) in connection.execute("SELECT url FROM urls WHERE reason = ?", (HELD,))]
    in_part = False
    for region in book.regions:
        by_name = region.exclude[0] in named
        if region.status != "held":
            if by_name and region.status == "stopped":
                region.status = "released"
            continue
        matches = region.matcher()
        touched = any(map(matches, back))
        whole = touched and not any(map(matches, left))
        if whole or by_name or patterns is None:
            region.status = "released"
        else:
            in_part = in_part or touched
    if in_part:
        book.released += [one for one in named if one not in book.released]
    book.changed()
    book.save(connection)
