"""A verdict in three sentences: what the dates look like, what pages say, what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlkit.audit.lastmod_findings import FINDINGS

if TYPE_CHECKING:
    import pandas as pd

    from crawlkit.audit.lastmod_verdict import Evidence, Verdict

__all__ = ["headline", "three_sentences"]

_HEADLINES = {
    "trust": "lastmod moved when the content did, seen over time",
    "provisional": "lastmod looks right, but was not yet seen to move with the content",
    "distrust": "lastmod does not tell when pages changed",
    "undecided": "there is not enough to go by",
}
_ADVICE = {
    "trust": "Schedule by it, with a share of control fetches.",
    "provisional": (
        "Schedule by it with a larger share of control fetches, and audit again with the same "
        "history once pages have changed."
    ),
    "distrust": "Do not schedule by it: find changes by fetching.",
    "undecided": "Do not schedule by it yet; audit again with the same history once pages changed.",
}

_BY_FILE = "Go by the verdict on each file: see the table of files."


def three_sentences(
    verdict: Verdict,
    reasons: dict[str, str],
    evidence: Evidence,
    spread: pd.DataFrame,
    *,
    pages: tuple[int, int],
    confidence: float = 0.95,
) -> tuple[str, str, str]:
    """Return what to tell people.

    Parameters
    ----------
    verdict, reasons, evidence
        The judgment and what it stands on.
    spread
        What `lastmod_spread` returns.
    pages
        Of the sample: how many were asked for, and how many gave a text.
    confidence
        Of the intervals.
    """
    advice = _BY_FILE if "mixed_files" in reasons else _ADVICE[verdict]
    return (
        _of_dates(spread, reasons),
        _of_pages(reasons, evidence, *pages, confidence=confidence),
        f"{_of_changes(reasons, evidence)} {advice}",
    )


def headline(verdict: Verdict, reasons: dict[str, str]) -> str:
    """Return a verdict in a few words.

    Examples
    --------
    >>> headline("distrust", {})
    'lastmod does not tell when pages changed'
    """
    if "mixed_files" in reasons:
        return "lastmod is right in some files and wrong in others"
    return _HEADLINES[verdict]


def _of_dates(spread: pd.DataFrame, reasons: dict[str, str]) -> str:
    """Say what the dates look like."""
    site = spread.iloc[0]
    unread = reasons.get("unread_files")
    if not site["entries"]:
        return f"No entry was read; {unread or 'there is none'}."
    text = f"{site['dated']:,} of {site['entries']:,} entries have a lastmod"
    if unread is not None:
        text = f"{unread}; of what was read, {text}"
        text = text[0].upper() + text[1:]
    if not site["dated"]:
        return f"{text}."
    text += f"; {FINDINGS[site['finding']]}"
    text += f" ({site['densest_1h']:.0%} of them lie within one hour"
    if site["near_generation"] > 0.1:
        text += f", {site['near_generation']:.0%} close to when the file was made"
    return f"{text})."


def _of_pages(
    reasons: dict[str, str],
    evidence: Evidence,
    visited: int,
    readable: int,
    *,
    confidence: float,
) -> str:
    """Say what the pages' own dates say."""
    if not visited and evidence.finding in ("absent", "stamp_generation", "stamp_request"):
        return "No page was looked at: the dates alone decide."
    if not visited:
        return "No page was looked at."
    text = f"{readable:,} of {visited:,} pages could be read"
    found = evidence.agreement
    if found is None or not found.share.trials:
        detail = reasons.get("page_dates_stamped", "none gives a date of its own to compare with")
        return f"{text}; {detail}."
    text += (
        f"; lastmod agrees with the page's own date on {found.share.rate:.0%} of "
        f"{found.share.trials:.0f} ({confidence:.0%} interval {found.share.low:.0%} to "
        f"{found.share.high:.0%}; shuffled dates reach {found.chance:.0%})"
    )
    if found.offset:
        side = "ahead" if found.offset > 0 else "behind"
        text += f", once the {abs(found.offset):g} hours are taken off by which it is {side}"
    return f"{text}."


def _of_changes(reasons: dict[str, str], evidence: Evidence) -> str:
    """Say what repeated visits showed."""
    for code in (
        "moves_with_content",
        "frozen",
        "phantom_moves",
        "missed_changes",
        "evidence_against",
        "too_few_visits",
    ):
        if code in reasons:
            text = reasons[code]
            broke = "Since the site changed its ways, " if "behavior_changed" in reasons else ""
            text = broke + text if broke else text[0].upper() + text[1:]
            return f"{text}."
    if evidence.score.has_seen:
        return "Pages were seen twice, but what they show is not needed for this verdict."
    return "No page was seen twice yet."
