"""Bring URLs back, or set them aside: when limits grow, patterns change, or the user says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlkit.crawling.frontier import EXCLUDED, FAILED, Found, Frontier
from crawlkit.crawling.results import FOLLOWED
from crawlkit.crawling.seen import UNREACHED
from crawlkit.crawling.segment_readers import read_link_targets
from crawlkit.crawling.trap_answers import note_release
from crawlkit.crawling.trap_records import HELD
from crawlkit.web.urls import Address, LinkResolver, Refusal

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from crawlkit.crawling.settings import Settings
    from crawlkit.web.patterns import Patterns

__all__ = ["judge_again", "judge_depths", "release", "retry_failed", "set_aside", "take_in_dropped"]

# Reasons that come from settings, and so may no longer hold when the settings change.
_FROM_SETTINGS = "('scope', 'depth', 'include', 'exclude')"
_SET_ASIDE = "set_aside"
_ROWS = (
    "SELECT urls.id, urls.url, coalesce(urls.key, urls.url), hosts.name, urls.depth, urls.source, "
    "urls.lastmod FROM urls JOIN hosts ON hosts.id = urls.host WHERE "
)


def _found(row: tuple[int, str, str, str, int, str, float | None]) -> tuple[int, Found]:
    page_id, url, key, host, depth, source, lastmod = row
    return page_id, Found(Address(url, key, host), depth, source, lastmod=lastmod)


def judge_again(connection: sqlite3.Connection, frontier: Frontier) -> tuple[int, int]:
    """Apply the settings anew to every URL that waits or was refused by them.

    Returns
    -------
    tuple of int
        How many came back, and how many are set aside now.
    """
    back = 0
    aside: list[int] = []
    refused = connection.execute(
        f"{_ROWS} state = {EXCLUDED} AND reason IN {_FROM_SETTINGS}"
    ).fetchall()
    for row in refused:
        page_id, found = _found(row)
        reason = frontier.admission.refusal(found)
        if reason is None:
            frontier.bring_back(page_id, found)
            back += 1
        else:
            connection.execute("UPDATE urls SET reason = ? WHERE id = ?", (reason, page_id))
    for row in connection.execute(f"{_ROWS} state = 0 AND leases = 0").fetchall():
        page_id, found = _found(row)
        reason = frontier.admission.refusal(found)
        if reason is not None:
            connection.execute(
                f"UPDATE urls SET state = {EXCLUDED}, reason = ? WHERE id = ?", (reason, page_id)
            )
            aside.append(page_id)
    frontier.tell_excluded(aside)
    frontier.reload()
    return back, len(aside)


def judge_depths(connection: sqlite3.Connection, frontier: Frontier, folder: Path) -> int:
    """Bring back what is inside ``max_depth`` by a way that was found late; return how many.

    A page may be asked for before the shortest way to it is known: the page on that way was slow,
    or the ordering went elsewhere first. What it links to is then nearer than it seemed. So depths
    are counted anew over the links that were kept, in as many passes as they still change.
    """
    if connection.execute(
        f"SELECT 1 FROM urls WHERE state = {EXCLUDED} AND reason = 'depth' LIMIT 1"
    ).fetchone() is None:  # fmt: skip
        return 0
    depths: dict[str, int] = dict(connection.execute("SELECT url, depth FROM urls"))
    changed = True
    while changed:
        changed = False
        for source, target, kind in read_link_targets(folder):
            depth = depths.get(source, UNREACHED) + (kind != "redirect")
            if kind in FOLLOWED and depth < depths.get(target, 0):
                depths[target] = depth
                changed = True
    count = 0
    rows = connection.execute(f"{_ROWS} state = {EXCLUDED} AND reason = 'depth'").fetchall()
    for row in rows:
        page_id, found = _found(row)
        found = found._replace(depth=depths[found.address.url])
        if frontier.admission.refusal(found) is None:
            frontier.bring_back(page_id, found)
            count += 1
    frontier.reload()
    return count


def set_aside(connection: sqlite3.Connection, frontier: Frontier, patterns: Patterns) -> int:
    """Set the waiting URLs that match aside, keeping their rows; return how many."""
    rows = connection.execute("SELECT id, url FROM urls WHERE state = 0").fetchall()
    matching = [page_id for page_id, url in rows if patterns.matches(url) is not None]
    connection.executemany(
        f"UPDATE urls SET state = {EXCLUDED}, reason = '{_SET_ASIDE}' WHERE id = ?",
        [(page_id,) for page_id in matching],
    )
    frontier.tell_excluded(matching)
    frontier.reload()
    return len(matching)


def release(connection: sqlite3.Connection, frontier: Frontier, patterns: Patterns | None) -> int:
    """Bring back URLs that were set aside or held and match, or all of them; return how many."""
    rows = connection.execute(
        f"{_ROWS} state = {EXCLUDED} AND reason IN ('{_SET_ASIDE}', '{HELD}')"
    ).fetchall()
    held = {row[0] for row in connection.execute("SELECT id FROM urls WHERE reason = ?", (HELD,))}
    count = 0
    back: list[str] = []
    for row in rows:
        page_id, found = _found(row)
        if patterns is None or patterns.matches(found.address.url) is not None:
            frontier.bring_back(page_id, found)
            count += 1
            if page_id in held:
                back.append(found.address.url)
    note_release(connection, frontier, back, patterns)
    frontier.reload()
    return count


def retry_failed(connection: sqlite3.Connection, frontier: Frontier, reason: str | None) -> int:
    """Let failed URLs, and those that robots.txt or a lost host refused, be asked again."""
    rows = connection.execute(
        f"{_ROWS} (state = {FAILED} OR (state = {EXCLUDED} AND reason IN "
        f"('robots', 'robots_unreachable', 'host_unreachable'))) AND (?1 IS NULL OR reason = ?1)",
        (reason,),
    ).fetchall()
    for row in rows:
        page_id, found = _found(row)
        frontier.bring_back(page_id, found)
        connection.execute(
            "UPDATE urls SET tries = 0, leases = min(leases, 1) WHERE id = ?", (page_id,)
        )
    if reason in (None, "robots"):
        connection.execute("DELETE FROM robots")
    frontier.reload()
    return len(rows)


def take_in_dropped(frontier: Frontier, settings: Settings, folder: Path) -> int:
    """Take in the URLs that lay past a smaller ``known_urls``: the kept links still name them."""
    resolver = LinkResolver(settings.url_rules)
    count = 0
    frontier.not_kept = 0
    for source, target, kind in read_link_targets(folder):
        address = resolver.resolve(target, source)
        parent = resolver.resolve(source, source)
        if isinstance(address, Refusal) or isinstance(parent, Refusal):
            continue
        known = frontier.seen.find(parent)
        redirect = kind == "redirect"
        depth = (0 if known is None else known.depth) + (0 if redirect else 1)
        found_on = None if known is None else known.id
        follow = kind != "alternate"
        found = Found(address, depth, "redirect" if redirect else "link", found_on, follow)
        count += frontier.enter(found)[1]
    frontier.reload()
    return count
