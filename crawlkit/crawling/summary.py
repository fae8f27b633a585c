"""The numbers that tell how a crawl stands, straight from its database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.crawling.dispatch import BUDGETS
from crawlkit.crawling.frontier import STATES
from crawlkit.crawling.meta import load_meta
from crawlkit.crawling.trap_records import HELD, TrapBook
from crawlkit.crawling.writer import Counters

if TYPE_CHECKING:
    import sqlite3

__all__ = ["summarize"]


def summarize(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return counts, the reason of the end, and what lies beyond each limit.

    Returns
    -------
    dict
        ``stop_reason`` (null while a crawl runs or after a kill), ``finished``, ``urls`` (count
        by state), ``pages`` (URLs asked for), ``excluded`` and ``failed`` (count by reason),
        ``requests``, ``bytes``, ``seconds``, ``hosts``, ``records``, ``beyond`` (URLs past each
        limit), ``left`` (what waits: count by host, most first, at most ten of them), ``traps``
        (one dict for each region that was found while crawling: ``region kind status exclude rule
        evidence example at_page pages pending held``; ``exclude`` goes to ``crawl.exclude`` as it
        is, ``rule`` is the same as one writes it in Python), ``last_run`` and ``hints``.
    """
    ask = connection.execute
    states = dict.fromkeys(STATES, 0)
    for state, count in ask("SELECT state, count(*) FROM urls GROUP BY state"):
        states[STATES[state]] = count
    settings = load_meta(connection, "settings") or {}
    stop = load_meta(connection, "stop") or {}
    counters = Counters.load(connection)
    excluded = _by_reason(connection, 4)
    result: dict[str, Any] = {
        "order": settings.get("order", {}).get("name"),
        "stop_reason": stop.get("reason"),
        "finished": stop.get("reason") == "finished" and not states["pending"],
        "pages": ask("SELECT count(*) FROM urls WHERE leases > 0").fetchone()[0],
        "urls": states,
        "excluded": excluded,
        "failed": _by_reason(connection, 3),
        "hosts": ask("SELECT count(*) FROM hosts WHERE asked").fetchone()[0],
        "records": ask("SELECT count(*) FROM records").fetchone()[0],
        "requests": counters.fetches,
        "retries": counters.retries,
        "bytes": counters.bytes,
        "seconds": round(counters.seconds, 3),
        "beyond": _beyond(settings, stop, states, excluded, counters),
        "left": _left(connection),
        "traps": _traps(connection, excluded),
        "last_run": load_meta(connection, "last_run"),
    }
    result["hints"] = _hints(connection, result)
    return result


def _by_reason(connection: sqlite3.Connection, state: int) -> dict[str, int]:
    return dict(
        connection.execute(
            "SELECT coalesce(reason, 'unknown'), count(*) FROM urls WHERE state = ? "
            "GROUP BY reason ORDER BY count(*) DESC, reason",
            (state,),
        ).fetchall()
    )


def _left(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how many URLs wait on each host, of the ten with most of them."""
    return dict(
        connection.execute(
            "SELECT hosts.name, count(*) FROM urls JOIN hosts ON hosts.id = urls.host "
            "WHERE urls.state = 0 GROUP BY hosts.id ORDER BY count(*) DESC, hosts.name LIMIT 10"
        ).fetchall()
    )


def _traps(connection: sqlite3.Connection, excluded: dict[str, int]) -> list[dict[str, Any]]:
    """Return the regions that were found to be traps, in the order in which they were found."""
    book = TrapBook.load(connection)
    held: list[str] = []
    if excluded.get(HELD):
        held = [
            row[0] for row in connection.execute("SELECT url FROM urls WHERE reason = ?", (HELD,))
        ]
    rows: list[dict[str, Any]] = []
    for region in book.regions:
        count = sum(map(region.matcher(), held))
        rows.append(
            {
                "region": region.region,
                "kind": region.kind,
                "status": region.status,
                "exclude": region.exclude[0],
                "rule": region.rule,
                "evidence": region.evidence,
                "example": region.example,
                "at_page": region.at_page,
                "pages": region.pages,
                "pending": region.pending,
                "held": count,
            }
        )
    return rows


def _beyond(
    settings: dict[str, Any],
    stop: dict[str, Any],
    states: dict[str, int],
    excluded: dict[str, int],
    counters: Counters,
) -> dict[str, int]:
    """Return how many URLs lie beyond each limit that was set and reached."""
    beyond: dict[str, int] = {}
    if settings.get("max_depth") is not None:
        beyond["max_depth"] = excluded.get("depth", 0)
    if (settings.get("limits") or {}).get("known_urls") is not None:
        beyond["known_urls"] = counters.not_kept
    reason = stop.get("reason")
    if reason in BUDGETS:
        beyond[reason] = states["pending"]
    return beyond


# The way back from a redirect's target that is out of scope to the seed that it began at.
_LOST_SEED = """
WITH RECURSIVE way(target, id) AS (
  SELECT url, found_on FROM urls WHERE state = 4 AND reason = 'scope' AND source = 'redirect'
  UNION
  SELECT way.target, urls.found_on FROM way JOIN urls ON urls.id = way.id
  WHERE urls.source = 'redirect'
)
SELECT way.target FROM way JOIN urls ON urls.id = way.id
WHERE urls.source NOT IN ('link', 'redirect') LIMIT 1
"""


def _seed_hints(connection: sqlite3.Connection) -> list[str]:
    """Return what went wrong with seeds, which explains a crawl of few pages or none."""
    hints: list[str] = []
    lost = connection.execute(_LOST_SEED).fetchone()
    if lost is not None:
        hints.append(
            f"A seed redirects to {lost[0]}, which is out of scope; start from there, or pass "
            f"scope='site'."
        )
    refused = connection.execute(
        "SELECT url FROM urls WHERE state = 4 AND reason = 'robots' AND "
        "source NOT IN ('link', 'redirect') ORDER BY id LIMIT 1"
    ).fetchone()
    if refused is not None:
        hints.append(
            f"robots.txt disallows the seed {refused[0]}; start from an allowed page, or pass "
            f"obey_robots=False where the site is yours."
        )
    return hints


_WHAT_TO_DO = {
    "told": "crawl.exclude({rule}) sets it aside.",
    "stopped": "crawl.exclude({rule}) sets it aside.",
    "held": "{held:,} URLs of it are held; crawl.release({rule}) lets it go on.",
    "released": "It was released.",
}


def _trap_hint(trap: dict[str, Any]) -> str:
    """Return what is known of a region, and what one can do about it."""
    what = _WHAT_TO_DO[trap["status"]].format(**trap)
    return (
        f"{trap['region']} looks like a trap ({trap['kind']}, found after {trap['at_page']:,} "
        f"pages): {trap['evidence']}. {what}"
    )


def _hints(connection: sqlite3.Connection, summary: dict[str, Any]) -> list[str]:
    """Return what the reader may want to do next, in words."""
    hints: list[str] = []
    last = summary["last_run"] or {}
    if summary["finished"] and last and not last.get("requests"):
        hints.append("Nothing was left to do: every URL in scope has been asked for.")
    name, waiting = summary["stop_reason"], summary["urls"]["pending"]
    if name in BUDGETS:
        hints.append(
            f"Stopped at the limit {name} with {waiting:,} URLs pending; crawl.resume({name}=...) "
            f"goes on from here."
        )
    elif name is not None and name.startswith("on_trap:"):
        hints.append(
            f"Stopped for a trap with {waiting:,} URLs pending, its own among them; after "
            f"crawl.exclude(pattern), or with on_trap='hold' or 'warn', crawl.resume() goes on."
        )
    elif waiting and name != "finished":
        hints.append(
            f"Not finished, {waiting:,} URLs pending; the same call, or crawl.resume(), goes on "
            f"from here."
        )
    for name in ("max_depth", "known_urls"):
        count = summary["beyond"].get(name)
        if count:
            hints.append(f"{count} links lead beyond {name}; crawl.resume({name}=...) goes there.")
    hints += map(_trap_hint, summary["traps"])
    hints += _seed_hints(connection)
    if summary["excluded"].get("robots_unreachable"):
        hints.append(
            "robots.txt could not be had, so its host was left alone (RFC 9309); "
            "crawl.retry('robots_unreachable') asks again."
        )
    return hints
