"""Checks of answers: pages that are errors or blocks though the status is 200, slow, heavy, thin.

A *soft 404* has the text of a page that answered 404 or 410 on the same host, or a title or heading
that says so and a text that is short, or that three or more URLs share. A *soft block* has a title
or heading of a wall against robots and such a text. So two signals are needed: an article about
error pages says "404", and is long. Short is up to 150 words, or under half of the host's median.

*Expected, and missing*: a page that lacks the markers that the crawl was told to expect, on a host
where most pages have them. It may be another kind of page, or one whose content did not come.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlkit.audit.site_pages import SitePages

__all__ = ["expected_missing", "heavy_pages", "slow_pages", "soft_404", "soft_blocks", "thin_pages"]

Row = dict[str, Any]

SHORT = 150
"""Words up to which a page may be an error page."""
REPEATED = 3
"""URLs that share a text, from which it may be that of an error page."""
_MISSING = re.compile(
    r"^\W*404\W*$|\b(?:error|http|status|fehler|erreur)\W{0,3}404\b|"
    r"\b404\W{0,3}(?:error|not found)|\bnot found\b|"
    r"\b(?:could ?n[o']t|can ?n[o']t|cannot|could not) be found\b|"
    r"\b(?:does ?n[o']t|does not) exist\b|\bno longer (?:available|exists?|here)\b|"
    r"\bnothing (?:was )?(?:found|here)\b|\bpage (?:missing|gone|removed)\b|"
    r"\bnicht (?:gefunden|vorhanden)\b|\bintrouvable\b|\bno encontrad[ao]\b|\bnon trovat[ao]\b|"
    r"\bn[ãa]o encontrad[ao]\b|\bniet gevonden\b|\bnie znaleziono\b|"
    "\\bне найден|找不到|見つかりません",  # noqa: RUF001 - Cyrillic is meant
    re.IGNORECASE,
)
_BLOCKED = re.compile(
    r"\baccess (?:is |has been )?(?:denied|blocked|restricted)\b|\bjust a moment\b|"
    r"\battention required\b|\bare you (?:a )?(?:human|robot)\b|\b(?:robot|bot|human) (?:check|"
    r"verification)\b|\bverif(?:y|ying) (?:that )?you are (?:a )?human\b|\bcaptcha\b|"
    r"\bunusual (?:traffic|activity)\b|\bpardon our interruption\b|\bsecurity (?:check|"
    r"verification)\b|\brequest (?:was |has been )?(?:blocked|rejected)\b|\byou (?:have been|"
    r"are) blocked\b|\bchecking your browser\b|\btoo many requests\b|\bzugriff verweigert\b|"
    r"\bacc[èe]s refus[ée]\b|\bacceso denegado\b",
    re.IGNORECASE,
)


class _Texts:
    """What is usual on each host, and how often each text is there."""

    def __init__(self, site: SitePages) -> None:
        self._site = site
        words: dict[str | None, list[int]] = defaultdict(list)
        self._copies: Counter[tuple[str | None, str]] = Counter()
        self.missing: set[tuple[str | None, str]] = set()
        self.hosts = site.hosts
        for at, host in enumerate(self.hosts):
            hashed = site["text_hash"][at]
            if site.is_page(at):
                words[host].append(site["words"][at] or 0)
                if hashed is not None:
                    self._copies[host, hashed] += 1
            elif hashed is not None and site["status"][at] in (404, 410):
                self.missing.add((host, hashed))
        self._half = {host: median(counts) / 2 for host, counts in words.items()}

    def copies(self, at: int) -> int:
        hashed = self._site["text_hash"][at]
        return 0 if hashed is None else self._copies[self.hosts[at], hashed]

    def weak(self, at: int) -> str | None:
        """Say why a text may be that of an error page: short, or there again and again."""
        words = self._site["words"][at]
        if self.copies(at) >= REPEATED:
            return f"{self.copies(at):,} URLs have this text"
        if words is not None and (words <= SHORT or words < self._half[self.hosts[at]]):
            return f"{words:,} words"
        return None

    def says(self, at: int, pattern: re.Pattern[str]) -> str | None:
        """Return the words in title or heading that match."""
        for name in ("title", "h1"):
            found = pattern.search((self._site[name][at] or "")[:300])
            if found:
                return f"{name} says {found[0].strip()!r}"
        return None


def soft_404(site: SitePages) -> Iterator[Row]:
    """Give one row for each page that says 200 and means 404."""
    texts = _Texts(site)
    for at in range(len(site)):
        if not site.is_page(at):
            continue
        evidence = None
        if (texts.hosts[at], site["text_hash"][at]) in texts.missing:
            evidence = "its text is that of a page with status 404"
        elif (says := texts.says(at, _MISSING)) and (weak := texts.weak(at)):
            evidence = f"{says}; {weak}"
        if evidence:
            yield _telling(site, at, evidence)


def soft_blocks(site: SitePages) -> Iterator[Row]:
    """Give one row for each page that says 200 and is a wall against robots."""
    texts = _Texts(site)
    for at in range(len(site)):
        if (says := _wall(site, texts, at)) is not None:
            yield _telling(site, at, says)


def _wall(site: SitePages, texts: _Texts, at: int) -> str | None:
    """Say why a page is a wall, or None."""
    if not site.is_page(at) or not (weak := texts.weak(at)):
        return None
    says = texts.says(at, _BLOCKED)
    return f"{says}; {weak}" if says else None


def expected_missing(site: SitePages) -> Iterator[Row]:
    """Give one row for each page without the expected markers that is no wall against robots."""
    texts = _Texts(site)
    found: Counter[str | None] = Counter()
    lacking: Counter[str | None] = Counter()
    for at, host in enumerate(texts.hosts):
        if site.is_page(at):
            found[host] += site["expected_found"][at] is True
            lacking[host] += site["expected_found"][at] is False
    for at, host in enumerate(texts.hosts):
        if not site.is_page(at) or site["expected_found"][at] is not False:
            continue
        if found[host] > lacking[host] and _wall(site, texts, at) is None:
            weak = texts.weak(at)
            evidence = "the expected markers are missing" + (f"; {weak}" if weak else "")
            yield _telling(site, at, evidence)


def _telling(site: SitePages, at: int, evidence: str) -> Row:
    row = {name: site[name][at] for name in ("url", "title", "words")}
    return {**row, "evidence": evidence}


def slow_pages(site: SitePages) -> Iterator[Row]:
    """Give one row for each answer that took longer than the limit, the slowest first."""
    found = [(site["elapsed"][at], at) for at in range(len(site))]
    slow = [(-took, at) for took, at in found if took is not None and took > site.limits.slow]
    for took, at in sorted(slow):
        yield {"url": site["url"][at], "status": site["status"][at], "seconds": round(-took, 3)}


def heavy_pages(site: SitePages) -> Iterator[Row]:
    """Give one row for each page whose HTML is larger than the limit, the largest first."""
    found = [(site["size"][at], at) for at in range(len(site)) if site.is_page(at)]
    heavy = [(-size, at) for size, at in found if size is not None and size > site.limits.heavy]
    for size, at in sorted(heavy):
        yield {"url": site["url"][at], "bytes": -size, "words": site["words"][at]}


def thin_pages(site: SitePages) -> Iterator[Row]:
    """Give one row for each page that asks to be shown and has few words, the shortest first."""
    found = [(site["words"][at], at) for at in range(len(site)) if site.counts(at)]
    thin = [(words, at) for words, at in found if words is not None and words < site.limits.thin]
    for words, at in sorted(thin):
        yield {"url": site["url"][at], "words": words, "title": site["title"][at]}
