"""Listings that go on past their last real page: runs of pages that repeat each other."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from typing import NamedTuple

from crawlkit.audit.page_links import link_targets
from crawlkit.audit.suspects import FEWEST_COPIES, Finding, Suspect
from crawlkit.audit.trap_names import page_number
from crawlkit.audit.trap_statistics import binomial_tail

__all__ = ["find_tail"]

_DIGITS = re.compile(r"\d+")


def find_tail(suspect: Suspect) -> Finding | None:
    """Find that pages of a listing repeat each other from some number on."""
    if suspect.region.kind not in {"template", "parameter", "query"}:
        return None
    families: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for page in suspect.answered:
        if found := _family(suspect, page):
            families[found[0]].append((found[1], page))
    runs: dict[object, _Run] = {}
    looked = 0
    for name, family in families.items():
        family.sort()
        if len(family) < FEWEST_COPIES // 2 or not _consecutive([at for at, _ in family]):
            continue
        looked += len(family)
        run = _like_run(suspect, family, blind=True)
        if run.hits < FEWEST_COPIES // 2:
            continue
        same = _same_links(suspect, [page for _, page in family[-run.length :]])
        if same is None:  # without links, only the same text counts
            run = _like_run(suspect, family, blind=False)
        if same is not False and run.hits >= FEWEST_COPIES // 2:
            runs[name] = run
    if not runs or suspect.growth.low <= 0:
        return None
    hits, length = sum(run.hits for run in runs.values()), sum(run.length for run in runs.values())
    members = [
        number
        for number in suspect.members
        if (found := _family(suspect, number))
        and found[0] in runs
        and found[1] > runs[found[0]].above
    ]
    above = max(run.above for run in runs.values())
    text = (
        f"from page {above + 1:,} on, {hits:,} of {length:,} pages are like one before, but for "
        "their number, and lead to nothing new"
    )
    # The best run was looked for at every page of every listing: each is a test of its own.
    best = min(binomial_tail(run.hits, run.length, 0.5) for run in runs.values())
    return Finding("pagination", min(1.0, best * looked), members, text, above)


def _family(suspect: Suspect, number: int) -> tuple[object, int] | None:
    """Return what the pages of one listing have in common, and the page's number."""
    parts = suspect.parts(number)
    found = page_number(parts)
    if found is None:
        return None
    name, at = found
    if name == "/":
        before, _, after = parts.path.rpartition(str(at))
        return (before.rstrip("0"), after), at
    return (parts.path, tuple(pair for pair in parts.query if pair[0] != name)), at


class _Run(NamedTuple):
    """Pages at the end of a listing: how many, how many like one before, the number before it."""

    length: int
    hits: int
    above: int


def _same_links(suspect: Suspect, pages: list[int]) -> bool | None:
    """Tell whether pages of a listing lead to the same pages elsewhere; None: not known."""
    inside = {suspect.facts.urls[number] for number in suspect.members}
    sample = pages[:: max(1, len(pages) // 6)]
    sets = {
        frozenset(links - inside)
        for page in sample
        if (links := link_targets(suspect.facts, page)) is not None
    }
    # Two at most: the last page may lead to a next one that is not yet known.
    return len(sets) <= 2 if sets else None


def _consecutive(numbers: list[int]) -> bool:
    """Tell whether numbers mostly go up in equal steps, as those of pages do."""
    steps = Counter(after - before for before, after in pairwise(numbers))
    return bool(steps) and steps.most_common(1)[0][1] >= 0.8 * (len(numbers) - 1)


def _like_run(suspect: Suspect, family: list[tuple[int, int]], *, blind: bool) -> _Run:
    """Return the run of like pages at the end of a listing."""
    facts = suspect.facts
    inside = set(suspect.members)
    seen: set[object] = set()
    flags = []
    for _, page in family:
        look = (facts.size[page], facts.words[page], _DIGITS.sub("0", facts.title[page]))
        known = blind and facts.size[page] >= 0 and look in seen
        seen.add(look)
        barren = all(number in inside for number in facts.children[page] or ())
        flags.append(barren and (known or not facts.original[page]))
    # The change point: a page unlike those before counts against four that are like them, so that
    # a change of length (page 99, page 100) does not cut the run, and real pages do.
    start, score, most = len(flags), 0, 0
    for at in range(len(flags) - 1, -1, -1):
        score += 1 if flags[at] else -4
        if score > most:
            start, most = at, score
    above = family[start - 1][0] if start else 0
    return _Run(len(flags) - start, sum(flags[start:]), above)
