"""Find the regions of a site that make URLs without end, or make nothing new.

The method, so that it can be checked
-------------------------------------
Regions. Each URL belongs to several groups (`crawlkit.audit.url_regions`): the folders above it,
its template (numbers, dates, tokens and titles generalized), its path under any query or under one
value of a parameter such as ``action``, each of its parameters on any path, a path parameter, a
language code. Groups with fewer than ``min_pages``
fetched pages are not judged. Of groups with the same URLs one stays. G is the number of groups that
are left.

Tests. Each group goes through nine tests (`crawlkit.audit.trap_evidence`), each of which has a null
hypothesis that honest sections meet, and a one-sided p-value:

- copies: at most half of its pages have a text that another page stands for (of pages with the same
  text hash the one with the fewest parameters and segments, then the first, stands for all);
  binomial tail;
- combinations (facets, sort and view): at most half of the URLs that were found last hold only
  parameter values seen before, and at most half of the pages fetched last lead to nothing new
  outside the group; the larger of two binomial tails. Needs three parameters with few values, or
  mostly parameters that are known to sort. Of these parameters only those that modify a page count
  (without one, most URLs are still those of known pages; or another one alone names a known page,
  and this one does not): an id that is combined with them names the page. A parameter of which no
  page is free counts where pages that differ in it alone are alike (see sessions);
- searches: at most half of the later result pages lead to nothing new outside; binomial tail. Needs
  the name of a search, and lasting growth (below);
- future: at most a fifth of the later dated pages lie more than twelve months past the crawl;
  binomial tail;
- repetition: at most a fifth of the later paths have a segment three times; binomial tail;
- sessions: without a parameter whose values are tokens, at most half of the URLs coincide; binomial
  tail. Unless its name is that of a session, twenty different URLs must be left without it, and of
  pages that differ in it alone at most half are alike (text, or title, and words and size within
  5 %); the larger of two binomial tails. Values written as SHA-1 or SHA-256 are named
  ``generated_space``: they name contents, such as the states of a tree;
- listing: each page past some number is, with chance a half at most, like one before but for its
  number (text, or size, words and title without digits), while it leads to nothing new; the run at
  the end with the best sum of +1 (like) and -4 (unlike), binomial tail times the number of pages at
  which a run was looked for. A sample of the run must link to the same pages;
- hidden: at most a tenth of the links into a group with lasting growth are invisible; binomial
  tail;
- space: the group has at most ten times the URLs that are known. Were URLs met at random, its rate
  would have fallen by a tenth; the least-squares slope of new URLs per page against that of such a
  fall, normal tail. Needs 500 pages, and more than 1.2 new URLs per page.

Trend. New URLs of the group on each of its pages, in order: z = r sqrt(n - 1) with the correlation
r of count and position, which is standard normal when the order is random (Pitman 1937).
``falling`` and ``rising`` at 1 %, one-sided; ``undecided`` under 20 pages. Lasting growth: z >
-2.33, and the lower end of a one-sided 95 % interval of the mean over the later half above 0.5.

Several comparisons. A p-value counts when p * 9 G < ``alpha`` (Bonferroni, valid under any
dependence of the groups); the column ``p_value`` is that product. One look is one family: who looks
k times passes ``alpha / k``. Pages of a group are not independent, so that p-values are guides;
what counts are the error rates below.

Overlaps. Groups nest. The most telling kind has a URL, and within a kind the narrowest group that
has four fifths of what the largest has.

No trap is what may end: a chain of pages that differ is ``undecided``, however long, unless its
dates or its repetition give it away. A finite section of copies is one, since it wastes as much.

Error rates, measured by ``benchmarks/trap_detection.py`` and ``benchmarks/finite_sites.py``
--------------------------------------------------------------------------------------------
Detection: each of the 11 kinds of the practice site's zoo, 20 seeds each, alone and beside finite
sites of 50 to 5,000 pages, once the trap had taken 100 pages or a tenth of the crawl: 220 of 220
found under their kind, each with a pattern that drops more than 95 % of the trap's URLs and less
than 1 % of the others, without a row for anything else. (``hidden`` was looked for in bodies.)
False alarms: none on 100 generated finite sites of 50 to 5,000 pages at 365 looks along the way
and at the end, none on six documentation sites of 127 to 10,248 pages at 60 looks. With 0 of 100
sites the 95 % upper limit of the rate is 3 %. Of a DokuWiki and a gitweb with content, 2,000 pages
of each, what they make of other pages was found and what was written was kept, in all 17 classes
of addresses (``benchmarks/real_generators.py``).

Limits: an honest section of random links that is more than ten times larger than what is known
looks like a generated one; invisible links need the bodies or the texts of the links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.audit.address_evidence import what_is_left
from crawlkit.audit.crawl_facts import CrawlFacts, facts_of
from crawlkit.audit.suspects import Finding, Suspect
from crawlkit.audit.trap_evidence import TESTS
from crawlkit.audit.trap_patterns import choose_pattern
from crawlkit.audit.trap_statistics import trend_name
from crawlkit.audit.url_regions import group_urls
from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    import re

    import pandas as pd

__all__ = ["KINDS", "Trap", "TrapPages", "find_traps", "trap_regions", "trap_table"]

KINDS = (
    "soft_404",
    "session_id",
    "path_loop",
    "hidden_links",
    "calendar",
    "pagination",
    "sort_or_view",
    "facets",
    "search_results",
    "locale_copies",
    "duplicate_region",
    "generated_space",
)
"""The kinds of traps, the most telling first: where regions overlap, the first kind has it."""

COLUMNS = {
    "pattern": "str",
    "kind": "str",
    "pages": "int64",
    "bytes": "int64",
    "pending": "int64",
    "discovery_rate": "float64",
    "trend": "str",
    "duplicate_share": "float64",
    "evidence": "str",
    "example": "str",
    "exclude": "object",
    "p_value": "float64",
    "verdict": "str",
}


class Trap(NamedTuple):
    """A region that was judged; the fields are the columns of `find_traps`."""

    pattern: str
    kind: str
    pages: int
    bytes: int
    pending: int
    discovery_rate: float
    trend: str
    duplicate_share: float
    evidence: str
    example: str
    exclude: str | re.Pattern[str] | None
    p_value: float
    verdict: str
    members: frozenset[int] = frozenset()
    """Positions of its URLs among those of the facts; no column."""


class TrapPages(tuple[tuple[str, str, tuple[str, ...]], ...]):
    """Kind, pattern and URLs of fetched pages of each trap.

    A table copies its ``attrs`` deeply again and again; what cannot change need not be copied.
    """

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> TrapPages:
        return self


def find_traps(
    crawl_or_tables: Any, *, alpha: float = 0.01, min_pages: int = 20, undecided: bool = False
) -> pd.DataFrame:
    """Find the regions of a site that make URLs without end, or make nothing new.

    The method, its tests and its measured error rates are in the docstring of the module.

    Parameters
    ----------
    crawl_or_tables
        A crawl, finished or running, or a mapping with DataFrames: ``pages`` (``url``; better
        with ``seq status text_hash size words title``), ``urls`` (``url state found_on``) or in
        its place ``links`` (``source target``).
    alpha
        The chance, at most, that a site without traps gets a row; between 0 and 0.5. It holds
        for one look: who looks k times while a crawl runs passes ``alpha / k``.
    min_pages
        Fetched pages below which a region is not judged, 10 or more.
    undecided
        Also return regions that grow without their rate falling, on evidence that is too short
        for a verdict.

    Returns
    -------
    DataFrame
        One row per region, traps first, the one with most pages and pending URLs on top:
        ``pattern`` (str, the region), ``kind`` (str, one of `KINDS`), ``pages`` ``bytes``
        ``pending`` (int64, what the trap took and what waits or is held in it), ``discovery_rate``
        (float64, new URLs of the region per page of it, later half), ``trend`` (str: ``rising``
        ``flat`` ``falling`` ``undecided``), ``duplicate_share`` (float64, share of its pages whose
        text another page stands for; NaN without texts), ``evidence`` (str), ``example`` (str, a
        URL), ``exclude`` (object: a wildcard as str, or a compiled regex, for ``crawl.exclude``
        and ``ck.crawl(exclude=...)``; null while undecided), ``p_value`` (float64, times the
        number of tests) and ``verdict`` (str: ``trap`` or ``undecided``). ``attrs["skipped"]``
        names missing columns and what could not be done without them. ``attrs["pages"]`` has for
        each row its kind, its pattern and the URLs of its fetched pages, as
        ``ck.plot_discovery(crawl, traps=...)`` takes them.

    Raises
    ------
    BadSetting
        On anything that is no crawl and no tables, or on an option out of its range.

    Examples
    --------
    >>> from crawlkit import lab
    >>> crawl = lab.walk(["finite", "events"], seed=1, max_pages=900)
    >>> find_traps(crawl)[["kind", "trend", "exclude"]]
           kind trend     exclude
    0  calendar  flat  /events/20
    """
    facts = facts_of(crawl_or_tables, held_wait=True)
    return trap_table(
        facts, trap_regions(facts, alpha=alpha, min_pages=min_pages, undecided=undecided)
    )


def trap_table(facts: CrawlFacts, traps: list[Trap]) -> pd.DataFrame:
    """Return regions as the table that `find_traps` gives."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            name: pd.Series([getattr(trap, name) for trap in traps], dtype=dtype)
            for name, dtype in COLUMNS.items()
        }
    )
    frame.attrs["skipped"] = dict(facts.skipped)
    fetched = set(facts.pages)
    frame.attrs["pages"] = TrapPages(
        (trap.kind, trap.pattern, tuple(facts.urls[n] for n in sorted(trap.members & fetched)))
        for trap in traps
    )
    return frame


def trap_regions(
    facts: CrawlFacts, *, alpha: float = 0.01, min_pages: int = 20, undecided: bool = False
) -> list[Trap]:
    """Do the work of `find_traps` on plain lists, without pandas.

    Parameters
    ----------
    facts
        What is known of the crawl: of `crawlkit.audit.crawl_facts.facts_of`, or of
        ``facts_of_columns`` from plain lists.
    alpha, min_pages, undecided
        As for `find_traps`.

    Returns
    -------
    list of Trap
        Worst first.
    """
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not 0 < alpha < 0.5:
        raise BadSetting("alpha", f"{alpha!r} is no error rate", "Pass for example 0.01.")
    if isinstance(min_pages, bool) or not isinstance(min_pages, int) or min_pages < 10:
        raise BadSetting("min_pages", f"{min_pages!r} is too few", "Pass 10 or more.")
    fetched = set(facts.pages)
    regions = group_urls(facts.urls, facts.pages, fewest=min_pages)
    place = {number: at for at, number in enumerate(facts.pages)}
    suspects = []
    for region, members in regions.items():
        pages = sorted((n for n in members if n in fetched), key=place.__getitem__)
        suspects.append(Suspect(region, members, pages, facts))
    tests = max(1, len(suspects) * len(TESTS))
    found: list[tuple[Suspect, Finding]] = []
    for suspect in suspects:
        for test in TESTS:
            finding = test(suspect)
            if finding is not None and finding.chance * tests < alpha:
                found.append((suspect, finding))
    chosen = _without_overlaps(found, alpha / tests)
    traps = [_row(suspect, finding, tests) for suspect, finding in chosen]
    traps.sort(key=lambda trap: (-trap.pages - trap.pending, trap.pattern))
    if undecided:
        taken = {number for _, finding in chosen for number in finding.members}
        traps += _undecided(suspects, taken)
    return traps


def _without_overlaps(
    found: list[tuple[Suspect, Finding]], most_likely: float
) -> list[tuple[Suspect, Finding]]:
    """Keep one finding for each set of URLs: the most telling kind, then the narrowest region.

    A narrower region is preferred while it has four fifths of what the widest one of its kind has:
    its rule says more about the trap, and less about anything else. Of wide combinations what is
    left counts on, where it still stands at ``most_likely``.
    """
    chosen: list[tuple[Suspect, Finding]] = []
    taken: set[int] = set()
    for kind in KINDS:
        same = [(suspect, finding) for suspect, finding in found if finding.kind == kind]
        while same:
            sizes = [len(set(finding.members) - taken) for _, finding in same]
            most = max(sizes)
            if most < 10:
                break
            near = [
                pair
                for pair, size in zip(same, sizes, strict=True)
                if size >= 0.8 * most and size * 2 > len(pair[1].members)
            ]
            if not near:
                largest = [pair for pair, size in zip(same, sizes, strict=True) if size == most]
                same = [pair for pair, size in zip(same, sizes, strict=True) if size < most]
                for suspect, finding in largest:
                    left = what_is_left(suspect, finding, taken)
                    if left is not None and left.chance < most_likely:
                        same.append((suspect, left))
                continue
            best = min(near, key=lambda pair: (len(pair[0].members), pair[0].region))
            chosen.append(best)
            taken.update(best[1].members)
            same = [pair for pair in same if pair is not best]
    return chosen


def _row(suspect: Suspect, finding: Finding, tests: int) -> Trap:
    """Return the row of a trap."""
    facts, growth = suspect.facts, suspect.growth
    members = finding.members
    exclude, covered, lost = choose_pattern(facts.urls, finding, suspect.region)
    pending = [number for number in members if facts.pending[number]]
    fetched = set(suspect.pages)
    pages = [number for number in members if number in fetched]
    text = finding.text
    if covered < 0.95:
        text += f"; the pattern covers {covered:.0%} of it"
    if lost > 0.01:
        text += f"; the pattern takes {lost:.1%} of the other URLs, too"
    answered = suspect.answered
    return Trap(
        pattern=suspect.region.label,
        kind=finding.kind,
        pages=len(pages),
        bytes=sum(max(0, facts.size[number]) for number in pages),
        pending=len(pending),
        discovery_rate=round(growth.rate, 4),
        trend=trend_name(growth.own),
        duplicate_share=len(suspect.copies) / len(answered) if answered else float("nan"),
        evidence=text,
        example=facts.urls[(pending or pages)[len(pending or pages) // 2]],
        exclude=exclude,
        p_value=min(1.0, finding.chance * tests),
        verdict="trap",
        members=frozenset(members),
    )


def _undecided(suspects: list[Suspect], taken: set[int]) -> list[Trap]:
    """Return rows for regions that may become traps."""
    rows: list[Trap] = []
    claimed: set[int] = set(taken)
    for suspect in sorted(suspects, key=lambda one: (-len(one.pages), one.region)):
        growth = suspect.growth
        free = [number for number in suspect.members if number not in claimed]
        if len(free) * 2 < len(suspect.members) or not suspect.pending:
            continue
        if not growth.lasts or growth.self_made < 0.5:
            continue
        claimed.update(suspect.members)
        facts, answered = suspect.facts, suspect.answered
        rows.append(
            Trap(
                pattern=suspect.region.label,
                kind="generated_space",
                pages=len(suspect.pages),
                bytes=sum(max(0, facts.size[number]) for number in suspect.pages),
                pending=len(suspect.pending),
                discovery_rate=round(growth.rate, 4),
                trend=trend_name(growth.own),
                duplicate_share=(len(suspect.copies) / len(answered) if answered else float("nan")),
                evidence=f"each page of it leads to {growth.rate:.1f} new ones, and they differ: "
                "it may end at any page",
                example=facts.urls[suspect.pending[0]],
                exclude=None,
                p_value=1.0,
                verdict="undecided",
                members=frozenset(suspect.members),
            )
        )
    return rows
