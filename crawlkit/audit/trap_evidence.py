"""What speaks against a region of URLs: one function for each piece of evidence.

Each returns a `Finding` or None; `crawlkit.audit.traps` tells how they are put together.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from crawlkit.audit.address_evidence import (
    choice_names,
    find_combinations,
    find_sessions,
    has_session,
)
from crawlkit.audit.listing_runs import find_tail
from crawlkit.audit.page_links import hidden_entries
from crawlkit.audit.suspects import FEWEST_COPIES, Finding, Suspect
from crawlkit.audit.trap_names import (
    LANGUAGE_NAMES,
    NOT_FOUND,
    PAGE_NAMES,
    SEARCH_NAMES,
    SEARCH_SEGMENTS,
    VIEW_NAMES,
    date_in,
    is_language,
    repeats,
)
from crawlkit.audit.trap_statistics import binomial_tail, slope_tail

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["TESTS"]

FEWEST_SPACE = 500
"""Pages of an unnamed region before it is called generated for its growth alone."""
LARGER = 10
"""A region is called endless when being at most so many times larger than known is refuted."""
MONTHS_AHEAD = 12
FAR_UP = 200
"""Pages up from a link that are looked at for whether a region led to it."""


# -- copies ----------------------------------------------------------------------------------


def find_copies(suspect: Suspect) -> Finding | None:
    """Find that more than half of the pages say the same as another page."""
    answered, copies = suspect.answered, suspect.copies
    if len(copies) < FEWEST_COPIES or len(copies) * 2 <= len(answered):
        return None
    chance = binomial_tail(len(copies), len(answered), 0.5)
    texts = Counter(suspect.facts.text[page] for page in answered)
    common, times = texts.most_common(1)[0]
    single = times / len(answered)
    said = next(
        suspect.facts.title[page] for page in answered if suspect.facts.text[page] == common
    )
    kind = _kind_of_copies(suspect, single, missing=NOT_FOUND.search(said) is not None)
    text = (
        f"{len(copies):,} of {len(answered):,} pages have the text of another page "
        f"({len(texts):,} texts in all)"
    )
    members = [*copies, *suspect.pending]
    if kind == "soft_404":
        text += f"; the most frequent has the title {said[:80]!r}"
    return Finding(kind, chance, members, text)


def _kind_of_copies(suspect: Suspect, single: float, *, missing: bool) -> str:
    """Name the kind of a region of copies by its addresses."""
    if single >= 0.8 and missing:
        return "soft_404"
    for kind, fits in _SHAPES:
        if fits(suspect):
            return kind
    if single >= 0.8 and suspect.growth.self_made >= 0.5:
        return "soft_404"
    return "duplicate_region"


def _has_loop(suspect: Suspect) -> bool:
    sample = suspect.members[:: max(1, len(suspect.members) // 2_000)]
    again = sum(repeats(suspect.parts(number)) >= 2 for number in sample)
    return again >= 0.25 * len(sample)


def _has_language(suspect: Suspect) -> bool:
    region = suspect.region
    if region.kind == "language":
        return True
    if region.kind != "parameter":
        return False
    name = region.names[0]
    if name.lower() in LANGUAGE_NAMES:
        return True
    values = {v for one in suspect.members for n, v in suspect.parts(one).query if n == name}
    return len(values) >= 5 and all(map(is_language, values))


def _has_pages(suspect: Suspect) -> bool:
    region = suspect.region
    names = [name for name in region.names if name.lower() in PAGE_NAMES]
    if region.kind == "parameter":
        return bool(names)
    if region.kind != "template":
        return False
    if re.search(r"/(?:page|seite|p)[/-]\{number\}", region.path):
        return True
    sample = suspect.members[:: max(1, len(suspect.members) // 500)]
    numbered = sum(
        any(name in names and value.isdecimal() for name, value in suspect.parts(number).query)
        for number in sample
    )
    return numbered * 2 > len(sample)


def _has_views(suspect: Suspect) -> bool:
    names = {name.lower() for name in suspect.region.names} - PAGE_NAMES
    if suspect.region.kind == "query":
        names = choice_names(suspect)
    return bool(names) and len(names & VIEW_NAMES) * 2 > len(names)


def _has_dates(suspect: Suspect) -> bool:
    sample = suspect.members[:: max(1, len(suspect.members) // 500)]
    dated = sum(date_in(suspect.parts(number)) is not None for number in sample)
    return dated >= 0.8 * len(sample)


def _has_filters(suspect: Suspect) -> bool:
    if suspect.region.kind == "template":
        return len(set(suspect.region.names) - PAGE_NAMES) >= 3
    return suspect.region.kind == "query" and len(choice_names(suspect)) >= 3


def _has_search(suspect: Suspect) -> bool:
    region = suspect.region
    if region.action.partition("=")[2].lower() in SEARCH_SEGMENTS:
        return True
    if region.names:
        return any(name.lower() in SEARCH_NAMES for name in region.names)
    folders = region.path.rstrip("/").split("/")
    return region.kind == "folder" and folders[-1].lower() in SEARCH_SEGMENTS


_SHAPES: tuple[tuple[str, Callable[[Suspect], bool]], ...] = (
    ("session_id", has_session),
    ("path_loop", _has_loop),
    ("locale_copies", _has_language),
    ("pagination", _has_pages),
    ("sort_or_view", _has_views),
    ("calendar", _has_dates),
    ("search_results", _has_search),
    ("facets", _has_filters),
)


# -- growth with nothing new in it -----------------------------------------------------------


def find_searches(suspect: Suspect) -> Finding | None:
    """Find that results lead to further searches, and to nothing else that is new."""
    growth = suspect.growth
    if not _has_search(suspect) or growth.later < 10 or not growth.lasts:
        return None
    if growth.self_made < 0.5 or not suspect.pending:
        return None
    chance = binomial_tail(growth.barren, growth.later, 0.5)
    text = (
        f"each page of results leads to {growth.rate:.1f} new searches; {growth.barren:,} of the "
        f"last {growth.later:,} lead to nothing new elsewhere"
    )
    return Finding("search_results", chance, list(suspect.members), text)


def find_future(suspect: Suspect) -> Finding | None:
    """Find that dates in the addresses run far past today."""
    dated = [
        (number, found)
        for number in suspect.pages
        if (found := date_in(suspect.parts(number))) is not None
    ]
    if len(dated) < FEWEST_COPIES:
        return None
    year, month = suspect.facts.today
    limit = year * 12 + month + MONTHS_AHEAD
    later = dated[len(dated) // 2 :]
    ahead = sum(at[0] * 12 + at[1] > limit for _, at in later)
    chance = binomial_tail(ahead, len(later), 0.2)
    furthest = max(at for _, at in dated)
    members = [number for number in suspect.members if date_in(suspect.parts(number)) is not None]
    text = (
        f"{ahead:,} of the last {len(later):,} dated pages lie more than a year past "
        f"{year}-{month:02d}, up to {furthest[0]}-{furthest[1]:02d}"
    )
    return Finding("calendar", chance, members, text) if suspect.pending or ahead else None


def find_repetition(suspect: Suspect) -> Finding | None:
    """Find that paths repeat their segments."""
    if suspect.region.kind not in {"folder", "leaf"}:
        return None
    later = suspect.pages[len(suspect.pages) // 2 :]
    again = sum(repeats(suspect.parts(page)) >= 3 for page in later)
    if again < FEWEST_COPIES // 2 or not suspect.pending:
        return None
    chance = binomial_tail(again, len(later), 0.2)
    members = [number for number in suspect.members if repeats(suspect.parts(number)) >= 2]
    text = f"{again:,} of the last {len(later):,} paths have a segment three or more times"
    return Finding("path_loop", chance, members, text)


# -- growth alone ----------------------------------------------------------------------------


def find_hidden(suspect: Suspect) -> Finding | None:
    """Find that the way into a growing region leads through links that no reader sees."""
    growth = suspect.growth
    if suspect.region.kind not in {"template", "folder", "language"} or not growth.lasts:
        return None
    if growth.self_made < 0.5 or not suspect.pending or len(suspect.pages) < FEWEST_COPIES:
        return None
    inside = set(suspect.members)
    entries = [number for number in suspect.members if _from_outside(suspect, number, inside)]
    counted = hidden_entries(suspect.facts, entries)
    if counted is None or counted[1] < 3:
        return None
    hidden, seen = counted
    chance = binomial_tail(hidden, seen, 0.1)
    text = (
        f"{hidden:,} of {seen:,} links into it are invisible; each of its pages leads to "
        f"{growth.rate:.1f} new ones"
    )
    return Finding("hidden_links", chance, list(suspect.members), text)


def _from_outside(suspect: Suspect, number: int, inside: set[int]) -> bool:
    """Tell whether a URL was found on a page that was itself found without the region's help."""
    finder = suspect.facts.finder
    at = finder[number]
    if at < 0:
        return False
    for _ in range(FAR_UP):
        if at in inside:
            return False
        if at < 0:
            break
        at = finder[at]
    return True


def find_space(suspect: Suspect) -> Finding | None:
    """Find that a region makes more URLs than it takes, and that no end of it is in sight."""
    growth = suspect.growth
    if suspect.region.kind not in {"template", "folder", "query", "action"} or not suspect.pending:
        return None
    if len(suspect.pages) < FEWEST_SPACE or growth.low < 1.2 or growth.self_made < 0.95:
        return None
    chance = slope_tail(growth.own, 1 / LARGER)
    text = (
        f"each of its pages leads to {growth.rate:.1f} new ones, after {len(growth.own):,} pages; "
        f"that it has at most {LARGER} times the {len(suspect.members):,} known URLs is refuted"
    )
    return Finding("generated_space", chance, list(suspect.members), text)


TESTS: tuple[Callable[[Suspect], Finding | None], ...] = (
    find_copies,
    find_combinations,
    find_searches,
    find_future,
    find_repetition,
    find_sessions,
    find_tail,
    find_hidden,
    find_space,
)
"""The tests that each region goes through."""
