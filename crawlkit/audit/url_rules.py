"""Whether normalization merges only URLs that are one page, tested on the site itself.

For each rule, pairs of URLs are drawn that this rule alone would make one: URLs that the crawl met
under both spellings and, where pages may be asked for, new spellings of URLs that it met. Both
pages of a pair are compared by fingerprint (``pair_outcomes``). The share of pairs that are the
same page has a Wilson interval (``intervals``). A rule is on where its lower end is at least 0.85,
which takes 22 clean pairs; it is off where the upper end is below that. One parameter at a time is
dropped in the same way.

Two controls guard the verdict. Pages that change by themselves are asked for twice, so that a
clock or a rotating banner does not make everything different. Pages that have nothing to do with
each other are compared, so that a site which answers all requests alike (a wall, an empty shell)
does not make everything the same.

Pairs of one page are no independent draws; at most three of one page are taken, and the interval
is too narrow by as much.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlkit.audit.pair_outcomes import PAGE_COLUMNS, AskedPages, CrawledTexts, PairOutcome
from crawlkit.audit.table_columns import TableColumns
from crawlkit.audit.url_pairs import (
    UrlPair,
    met_pairs,
    parameter_counts,
    respelled,
    rule_names,
)
from crawlkit.audit.url_rule_result import UrlRuleCheck
from crawlkit.audit.url_rule_verdicts import rule_verdicts
from crawlkit.errors import BadSetting, BadURL
from crawlkit.web.urls import UrlRules, normalize_url, safe_url

if TYPE_CHECKING:
    from crawlkit.web.http_settings import Http

__all__ = ["UrlRuleCheck", "check_url_rules"]

_UNRELATED = 30
_ALIKE = 0.3
_MOST_ASKED_PARAMETERS = 20
# So many pairs without one that is the same end the requests for a rule.
_ALL_DIFFERENT = 8
_ALL_UNKNOWN = 10


def check_url_rules(
    crawl_or_pages: Any,
    *,
    fetch: bool = False,
    sample: int = 30,
    random_seed: int = 0,
    http: Http | None = None,
    delay: float = 1.0,
    progress: bool = True,
) -> UrlRuleCheck:
    """Test on a site which URLs are one page: which rules merge, which keep apart.

    Parameters
    ----------
    crawl_or_pages
        A crawl, its table ``pages`` (``url``, and better ``status redirected_to text_hash
        body_hash title words``), or a mapping with that table.
    fetch
        Whether pages may be asked for. Without, the pairs are those that the crawl met; spellings
        that its own rules had merged are not among them. With it, URLs are also spelled anew, and
        both pages of each pair are asked for, one after the other, as robots.txt allows: two
        requests a pair, four where they differ. A rule is given up after 8 pairs that all
        differ, or 10 of which nothing can be said (the spelling is not served, say).
    sample
        Pairs of each rule and of each parameter, at most.
    random_seed
        Makes the draw of the pairs.
    http
        How to ask, with ``fetch``.
    delay
        Seconds from start to start of two requests to one host, with ``fetch``.
    progress
        Whether a bar is shown, with ``fetch``. Interrupting keeps what was found so far.

    Returns
    -------
    UrlRuleCheck
        ``.table .parameters .pairs .rules .notes``.

    Raises
    ------
    BadSetting
        It is no crawl and no table of pages, or an option is out of its range.

    Notes
    -----
    Schonfeld, Bar-Yossef and Keidar, "Do not crawl in the DUST" (2007), test likely rules on
    samples of pages in this way.

    Examples
    --------
    >>> import pandas as pd
    >>> urls = [f"https://a.example/{n}{end}" for n in range(30) for end in ("", "/", "?lang=de")]
    >>> texts = [f"{n}{end}" for n in range(30) for end in ("", "", "de")]
    >>> check = check_url_rules(pd.DataFrame({"url": urls, "status": 200, "text_hash": texts}))
    >>> print(check)
    merge: trailing_slash; keep_apart: drop lang
    >>> check.rules.trailing_slash, check.rules.drop_parameters
    (True, ())
    """
    _check(sample, delay, random_seed, fetch)
    source = _as_source(crawl_or_pages)
    tables = TableColumns(source, "crawl_or_pages")
    pages = tables.read("pages", PAGE_COLUMNS)
    urls, odd = _usable(pages["url"].tolist())
    draw = random.Random(random_seed)  # noqa: S311 - no secret
    counts = parameter_counts(urls)
    pairs = met_pairs(urls, counts, sample=sample, draw=draw)
    body = getattr(source, "body", None)
    crawled = CrawledTexts(pages, body if callable(body) else None)
    notes = [f"{odd:,} rows without a usable URL were left out."] if odd else []
    alike = _alike(urls, crawled, draw)
    if fetch:
        pairs = _with_respelled(pairs, _answered(urls, crawled), counts, sample, draw)
        planned = len(pairs)
        pairs, outcomes, stopped = _ask(pairs, urls, http, delay, progress=progress)
        if stopped:
            notes.append(f"Interrupted: {len(pairs):,} of {planned:,} pairs were compared.")
    else:
        outcomes = [crawled.compare(pair.first, pair.second) for pair in pairs]
    if alike:
        notes.append("Pages that have nothing in common show the same text: nothing is merged.")
    return rule_verdicts(pairs, outcomes, counts, tables.rules, notes, alike=alike, fetched=fetch)


def _check(sample: int, delay: float, random_seed: object, fetch: object) -> None:
    if isinstance(random_seed, bool) or not isinstance(random_seed, int):
        raise BadSetting("random_seed", f"{random_seed!r} is no seed", "Pass a whole number.")
    if not isinstance(fetch, bool):  # any text is true, and would send requests
        raise BadSetting("fetch", f"{fetch!r} is neither", "Pass True or False.")
    if not isinstance(sample, int) or isinstance(sample, bool) or sample < 1:
        raise BadSetting("sample", f"{sample!r} is no number of pairs", "Pass for example 30.")
    if not isinstance(delay, int | float) or not 0 <= delay < math.inf:
        raise BadSetting("delay", f"{delay!r} is no number of seconds", "Pass for example 1.0.")


def _as_source(given: Any) -> Any:
    import pandas as pd

    if isinstance(given, pd.DataFrame):
        return {"pages": given}
    if isinstance(given, Mapping) or hasattr(given, "pages"):
        return given
    raise BadSetting(
        "crawl_or_pages",
        f"{type(given).__name__} is neither a crawl nor a table of pages",
        "Pass a crawl, or a DataFrame with the columns 'url' and 'text_hash'.",
    )


def _usable(urls: list[str]) -> tuple[list[str], int]:
    """Return the URLs that can be asked for as they stand, and how many cannot."""
    kept = []
    for url in urls:
        try:
            if safe_url(url) == url:
                kept.append(url)
        except BadURL:
            continue
    return kept, len(urls) - len(kept)


def _answered(urls: list[str], crawled: CrawledTexts) -> list[str]:
    """Return the URLs that a page was found at; all where the table has no statuses."""
    found = [url for url in urls if (seen := crawled.seen(url)).status == 200 and seen.url == url]
    return found or urls


def _alike(urls: list[str], crawled: CrawledTexts, draw: random.Random) -> bool:
    """Tell whether pages of different paths show the same, too often to judge by what they show."""
    rules = UrlRules.from_dict(dict.fromkeys(rule_names(), True))
    by_path: dict[str, str] = {}
    for url in urls:
        by_path.setdefault(normalize_url(url.partition("?")[0], rules), url)
    drawn = draw.sample(list(by_path.values()), min(len(by_path), 2 * _UNRELATED))
    half = len(drawn) // 2
    outcomes = [
        crawled.compare(*pair).outcome
        for pair in zip(drawn[:half], drawn[half : 2 * half], strict=True)
    ]
    same, judged = outcomes.count("same"), len(outcomes) - outcomes.count("unknown")
    return judged >= 3 and same / judged > _ALIKE


def _with_respelled(
    met: list[UrlPair],
    urls: list[str],
    counts: dict[str, int],
    sample: int,
    draw: random.Random,
) -> list[UrlPair]:
    """Add new spellings, so that each rule and parameter has its sample; rule by rule."""
    order = draw.sample(urls, len(urls))  # the same pages for all rules: each is asked for once
    tests: list[tuple[str, str | None]] = [(rule, None) for rule in rule_names()]
    tests += [("drop_parameters", name) for name in list(counts)[:_MOST_ASKED_PARAMETERS]]
    pairs: list[UrlPair] = []
    for rule, parameter in tests:
        mine = [pair for pair in met if pair.rule == rule and pair.parameter == parameter]
        taken = {frozenset((pair.first, pair.second)) for pair in mine}
        for url in order:
            if len(mine) >= sample:
                break
            other = respelled(url, rule, parameter)
            if other is not None and frozenset((url, other)) not in taken:
                mine.append(UrlPair(rule, parameter, url, other, made=True))
        pairs += mine
    return pairs


def _ask(
    pairs: list[UrlPair], urls: list[str], http: Http | None, delay: float, *, progress: bool
) -> tuple[list[UrlPair], list[PairOutcome], bool]:
    """Compare pairs on the site; return those compared, and whether it was interrupted."""
    from tqdm.auto import tqdm

    met = {host for url in urls if (host := urlsplit(url).hostname)}
    hosts = {each for host in met for each in (host, host.removeprefix("www."), f"www.{host}")}
    compared: list[UrlPair] = []
    outcomes: list[PairOutcome] = []
    tallies: dict[tuple[str, str | None], Counter[str]] = defaultdict(Counter)
    with AskedPages(http, hosts=hosts, delay=delay) as asked:
        try:
            for pair in tqdm(pairs, desc="pairs of URLs", unit="pair", disable=not progress):
                tally = tallies[pair.rule, pair.parameter]
                if _is_clear(tally):
                    continue
                found = asked.compare(pair.first, pair.second, made=pair.made)
                tally[found.outcome] += 1
                compared.append(pair)
                outcomes.append(found)
        except KeyboardInterrupt:
            return compared, outcomes, True
    return compared, outcomes, False


def _is_clear(tally: Counter[str]) -> bool:
    """Tell whether more requests are a waste: nothing can be had, or nothing is the same."""
    if tally["same"]:
        return False
    return tally["different"] >= _ALL_DIFFERENT or (
        tally["unknown"] >= _ALL_UNKNOWN and not tally["different"]
    )
