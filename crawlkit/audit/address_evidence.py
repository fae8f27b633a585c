"""Evidence in the addresses of a region: choices that are combined, ids that change nothing.

Each function returns a `Finding` or None; `crawlkit.audit.traps` tells how they are put together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from crawlkit.audit.suspects import FEWEST_COPIES, Finding, Suspect
from crawlkit.audit.trap_names import (
    PAGE_NAMES,
    SESSION_NAMES,
    VIEW_NAMES,
    is_content_hash,
    is_token,
)
from crawlkit.audit.trap_statistics import binomial_tail, growth_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlkit.audit.trap_statistics import Growth
    from crawlkit.audit.url_regions import UrlParts

__all__ = ["choice_names", "find_combinations", "find_sessions", "has_session", "what_is_left"]

SAMPLE = 2_000
"""Addresses of a region that are taken apart, at most."""


def has_session(suspect: Suspect) -> bool:
    """Tell whether a region is one of ids that a machine draws for each visit, by its addresses."""
    region = suspect.region
    if region.kind in {"parameter", "matrix"}:
        name = region.names[0]
        if name.lower() in SESSION_NAMES:
            return True
        values = {v for one in suspect.members for n, v in suspect.parts(one).query if n == name}
        return len(values) >= 10 and sum(map(is_token, values)) >= 0.8 * len(values)
    return region.kind in {"folder", "template"} and "{token}" in region.path


def choice_names(suspect: Suspect) -> set[str]:
    """Return the parameters of a region that are choices: few values, many addresses each."""
    values: dict[str, set[str]] = defaultdict(set)
    uses: Counter[str] = Counter()
    for number in suspect.members:
        for name, value in suspect.parts(number).query:
            uses[name] += 1
            values[name].add(value)
    return {
        name.lower()
        for name, count in uses.items()
        if name.lower() not in PAGE_NAMES and count >= 4 * len(values[name])
    }


def find_combinations(suspect: Suspect) -> Finding | None:
    """Find that new addresses are old choices in new combinations, and lead to nothing new."""
    if suspect.region.kind not in {"query", "parameter"} or len(suspect.pages) < FEWEST_COPIES:
        return None
    names = choice_names(suspect)
    views = names & VIEW_NAMES
    mostly_views = bool(views) and len(views) * 2 > len(names)
    if not mostly_views and len(names) < 3:
        return None
    if not mostly_views and not (suspect.growth.low > 0 and suspect.pending):
        return None
    old = _old_values(suspect)
    chance = _combined(suspect.growth, [old[number] for number in suspect.members])[0]
    if chance >= 0.5:
        return None
    making = _modifiers(suspect, names)
    if suspect.region.kind == "parameter" and suspect.region.names[0].lower() not in making:
        # It may yet be one of which no page is free, such as the state of a tree that is shown.
        chance = max(chance, _chance_alike(suspect)[0])
    members = [
        number
        for number in suspect.members
        if any(name.lower() in making for name, _ in suspect.parts(number).query)
    ]
    growth = suspect.growth
    if suspect.region.kind == "parameter":
        members = list(suspect.members)
    elif making != names:
        inside = set(members)
        pages = [page for page in suspect.pages if page in inside]
        growth = growth_of(pages, inside, suspect.facts.children)
    if growth.later < FEWEST_COPIES // 2:
        return None
    again, later = _combined(growth, [old[number] for number in members])
    chance = max(chance, again)
    text = (
        f"{later[0]:,} of the last {later[1]:,} addresses combine known values of "
        f"{len(names)} parameters ({', '.join(sorted(names)[:6])}); {growth.barren:,} of the last "
        f"{growth.later:,} pages lead to nothing new elsewhere"
    )
    exact = {name for n in members for name, _ in suspect.parts(n).query if name.lower() in making}
    kind = "sort_or_view" if mostly_views else "facets"
    return Finding(kind, chance, members, text, names=tuple(sorted(exact)))


def what_is_left(suspect: Suspect, finding: Finding, taken: set[int]) -> Finding | None:
    """Return a finding of combinations without addresses that another has; None if that is little.

    Parameters
    ----------
    suspect, finding
        A region, and what `find_combinations` found in it.
    taken
        Positions of URLs that count no more.
    """
    left = [number for number in finding.members if number not in taken]
    inside = set(left)
    pages = [page for page in suspect.pages if page in inside]
    if suspect.region.kind != "query" or not finding.names or len(pages) < FEWEST_COPIES:
        return None
    old = _old_values(suspect)
    growth = growth_of(pages, inside, suspect.facts.children)
    again, later = _combined(growth, [old[number] for number in left])
    here = {name for number in left for name, _ in suspect.parts(number).query}
    text = (
        f"{later[0]:,} of the last {later[1]:,} addresses combine known values of parameters; "
        f"{growth.barren:,} of the last {growth.later:,} pages lead to nothing new elsewhere"
    )
    names = tuple(name for name in finding.names if name in here)
    return Finding(finding.kind, max(finding.chance, again), left, text, names=names)


def _old_values(suspect: Suspect) -> dict[int, bool]:
    """Tell of each address whether it has parameters, and no value that is new."""
    seen: set[tuple[str, str]] = set()
    old = {}
    for number in suspect.members:
        pairs = {pair for pair in suspect.parts(number).query if pair[0].lower() not in PAGE_NAMES}
        old[number] = bool(pairs) and pairs <= seen
        seen |= pairs
    return old


def _combined(growth: Growth, old: Sequence[bool]) -> tuple[float, tuple[int, int]]:
    """Return the chance of so many old values and barren pages, and how many the former are."""
    later = old[len(old) // 2 :]
    chance = max(
        binomial_tail(sum(later), len(later), 0.5),
        binomial_tail(growth.barren, growth.later, 0.5),
    )
    return chance, (sum(later), len(later))


def _modifiers(suspect: Suspect, names: set[str]) -> set[str]:
    """Return the choices that modify a page; the others (an id, say) name it.

    Without a modifier most addresses are still those of known pages. Where one choice alone names
    a known page, and so without all others, those that do not are modifiers, too. Where no choice
    is a modifier, all are taken to be.
    """
    known = set(suspect.facts.urls)
    uses: Counter[str] = Counter()
    stays: Counter[str] = Counter()
    names_page: Counter[str] = Counter()
    for number in suspect.members[:: max(1, len(suspect.members) // SAMPLE)]:
        start, _, query = suspect.facts.urls[number].partition("?")
        mark = ";" if ";" in query else "&"
        fields = [(one.partition("=")[0].lower(), one) for one in query.split(mark)]
        for name in names & {name for name, _ in fields}:
            uses[name] += 1
            without = mark.join(one for found, one in fields if found != name)
            alone = mark.join(one for found, one in fields if found == name or found not in names)
            stays[name] += (f"{start}?{without}" if without else start) in known
            names_page[name] += f"{start}?{alone}" in known
    found = {name for name in names if stays[name] * 2 > uses[name]}
    naming = {name for name in names if names_page[name] * 2 > uses[name]}
    if naming:
        found |= names - naming
    return found | (names & VIEW_NAMES) if found else names


def find_sessions(suspect: Suspect) -> Finding | None:
    """Find that without the id most addresses are those of other pages, and the pages alike."""
    region = suspect.region
    if region.kind != "parameter" or not has_session(suspect):
        return None
    name = region.names[0]
    plain = len({_without(suspect.parts(number), name) for number in suspect.members})
    again = len(suspect.members) - plain
    values = {
        value for number in suspect.members for n, value in suspect.parts(number).query if n == name
    }
    if len(values) < 10 or sum(map(is_token, values)) < 0.8 * len(values):
        return None
    chance = binomial_tail(again, len(suspect.members), 0.5)
    text = f"{len(suspect.members):,} addresses are {plain:,} without {name!r}"
    text += f", which has {len(values):,} values"
    kind = "session_id"
    if name.lower() not in SESSION_NAMES:
        # An id may be all that tells pages apart: they must be alike without it, too.
        likeness, alike, pairs = _chance_alike(suspect)
        if plain < FEWEST_COPIES:
            return None
        chance = max(chance, likeness)
        text += f"; {alike:,} of {pairs:,} pages look like one that differs in it alone"
        if sum(map(is_content_hash, values)) >= 0.8 * len(values):
            kind = "generated_space"
    # Values that are words, such as HEAD, are no ids.
    members = [number for number in suspect.members if _has_token(suspect.parts(number), name)]
    return Finding(kind, chance, members, text)


def _has_token(parts: UrlParts, name: str) -> bool:
    """Tell whether a parameter of an address looks like an id."""
    return any(is_token(value) for found, value in parts.query if found == name)


def _without(parts: UrlParts, name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return an address without one parameter."""
    return parts.path, tuple(pair for pair in parts.query if pair[0] != name)


def _chance_alike(suspect: Suspect) -> tuple[float, int, int]:
    """Compare each page with the one fetched before it that differs in the parameter alone.

    Returns the chance of so many that are alike when half of them are at most, how many they are,
    and how many were compared.
    """
    facts, name = suspect.facts, suspect.region.names[0]
    last: dict[object, int] = {}
    alike = pairs = 0
    for page in suspect.answered:
        rest = _without(suspect.parts(page), name)
        before = last.get(rest)
        last[rest] = page
        if before is None:
            continue
        pairs += 1
        alike += facts.text[page] == facts.text[before] or (
            facts.title[page] == facts.title[before] != ""
            and _near(facts.words[page], facts.words[before])
            and _near(facts.size[page], facts.size[before])
        )
    return binomial_tail(alike, pairs, 0.5), alike, pairs


def _near(first: int, second: int) -> bool:
    """Tell whether two counts differ by 5 % at most: an id or a date that is shown, say."""
    return min(first, second) >= 0 and abs(first - second) <= 0.05 * max(first, second)
