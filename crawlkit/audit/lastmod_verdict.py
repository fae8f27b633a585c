"""The verdict on a ``lastmod``: what spread, sample and scorecard together allow to say.

Only content that was seen twice makes ``trust``. What pages say of themselves is mostly the same
field as ``lastmod``, so agreement with it makes ``provisional`` and no more; a missing ``lastmod``
means unknown, never unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from crawlkit.audit.lastmod_findings import FINDINGS
from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    from crawlkit.audit.lastmod_agreement import Agreement
    from crawlkit.audit.lastmod_scorecard import Score

__all__ = ["Evidence", "Judgment", "LastmodThresholds", "Verdict", "judge", "make_thresholds"]

Verdict = Literal["trust", "provisional", "distrust", "undecided"]


class LastmodThresholds(NamedTuple):
    """Where verdicts begin; every one may be given to `audit_lastmod`.

    Attributes
    ----------
    precision
        Trust: the lower bound of P(changed | lastmod moved) is at least this. Distrust: the upper
        bound is below it.
    changed_unmoved
        Trust: the upper bound of P(changed | lastmod did not move) is at most this. Distrust: the
        lower bound is above it.
    agreement
        Provisional: the lower bound of the pages that agree is at least this.
    contradicted
        Distrust: the upper bound of the pages that agree is below this.
    recall
        Distrust: the upper bound of P(lastmod moved | changed) is below this.
    few
        Pages below which nothing is held against a site.
    tolerance
        Seconds that may lie between lastmod and a page's own date.
    bulk
        Share of a file's dates that move in one round, above which that is one event.
    fade
        Weight of a round of visits, relative to the one after it.
    confidence
        Of all intervals.
    """

    precision: float = 0.8
    changed_unmoved: float = 0.15
    agreement: float = 0.8
    contradicted: float = 0.7
    recall: float = 0.5
    few: int = 10
    tolerance: float = 86_400.0
    bulk: float = 0.5
    fade: float = 0.9
    confidence: float = 0.95


def make_thresholds(given: LastmodThresholds | Mapping[str, Any] | None) -> LastmodThresholds:
    """Return thresholds, those given in place of the usual ones.

    Raises
    ------
    BadSetting
        On an unknown name, or a value that cannot be meant.

    Examples
    --------
    >>> make_thresholds({"precision": 0.9}).precision
    0.9
    """
    if given is None:
        return LastmodThresholds()
    if isinstance(given, LastmodThresholds):
        given = given._asdict()
    if not isinstance(given, Mapping):
        raise BadSetting("thresholds", f"{given!r} is no mapping", 'Pass {"precision": 0.9}.')
    known = LastmodThresholds._fields
    for name, value in given.items():
        if name not in known:
            problem = f"there is no threshold {name!r}"
            raise BadSetting("thresholds", problem, f"There are: {', '.join(known)}.")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        top = float("inf") if name in ("few", "tolerance") else 1.0
        if not number or not 0 <= value <= top or (name in ("fade", "confidence") and not value):
            raise BadSetting("thresholds", f"{name} cannot be {value!r}", "Pass a share, 0 to 1.")
    return LastmodThresholds(**given)


class Evidence(NamedTuple):
    """All that is known of a file, or of a site.

    Attributes
    ----------
    finding
        Of `lastmod_spread`.
    dated, entries
        Entries with a date, and all.
    agreement
        Of the sampled pages; None where none was looked at.
    score
        Of pairs of visits.
    passed_before
        Whether an earlier audit made it provisional or trust.
    """

    finding: str
    dated: int
    entries: int
    agreement: Agreement | None
    score: Score
    passed_before: bool = False


class Judgment(NamedTuple):
    """A verdict, and the reasons for it with their counts in words, weightiest first."""

    verdict: Verdict
    reasons: dict[str, str]


def judge(evidence: Evidence, thresholds: LastmodThresholds) -> Judgment:
    """Return the verdict on a file or a site.

    Parameters
    ----------
    evidence
        All that is known.
    thresholds
        Where verdicts begin.
    """
    finding = evidence.finding
    counted = f"{evidence.dated:,} of {evidence.entries:,} entries have a lastmod"
    if finding in ("absent", "stamp_generation", "stamp_request"):
        return Judgment("distrust", {finding: f"{FINDINGS[finding]} ({counted})"})
    if finding == "too_few":
        return Judgment("undecided", {finding: f"{FINDINGS[finding]} ({counted})"})
    reasons: dict[str, str] = {}
    seen = _by_history(evidence, thresholds, reasons)
    sampled = _by_sample(evidence, thresholds, reasons)
    if finding != "ok":
        reasons[finding] = f"{FINDINGS[finding]} ({counted})"
    if seen is not None and seen != "provisional":
        return Judgment(seen, reasons)
    if sampled == "distrust":
        return Judgment("distrust", reasons)
    if seen is None and sampled is None:
        reasons["no_sample"] = (
            "no page was looked at, and dates alone never prove that they are true"
        )
    passed = sampled == "provisional" or (sampled is None and evidence.passed_before)
    if passed and finding in ("ok", "partial"):
        return Judgment("provisional", reasons)
    return Judgment("undecided", reasons)


def _percent(share: Any) -> str:
    return f"{share.low:.0%} to {share.high:.0%}"


def _by_history(
    evidence: Evidence, limits: LastmodThresholds, reasons: dict[str, str]
) -> Verdict | None:
    """Return what repeated visits say; None without any, "provisional" if they say too little."""
    score = evidence.score
    if score.since:
        reasons["behavior_changed"] = (
            f"the site began to behave otherwise at round {score.since + 1}; "
            f"what was seen before no longer counts"
        )
    if score.bulk_events:
        reasons["bulk_redeploy"] = (
            f"{score.bulk_events} time(s) most dates of a file moved at once; each counts once"
        )
    if not score.has_seen:
        return None
    precision, still, recall = score.precision, score.changed_unmoved, score.recall
    moved_text = (
        f"the text had changed on {precision.rate:.0%} ({_percent(precision)}) of "
        f"{score.counts['precision'][1]} pages whose lastmod moved"
    )
    still_text = (
        f"the text had changed on {still.rate:.0%} ({_percent(still)}) of "
        f"{score.counts['changed_unmoved'][1]} pages whose lastmod did not move"
    )
    against = {}
    if recall.trials >= limits.few and recall.high < limits.recall:
        against["frozen"] = (
            f"lastmod moved on {recall.rate:.0%} ({_percent(recall)}) of "
            f"{score.counts['recall'][1]} pages whose text changed"
        )
    if precision.trials >= limits.few and precision.high < limits.precision:
        against["phantom_moves"] = moved_text
    if still.trials >= limits.few and still.low > limits.changed_unmoved:
        against["missed_changes"] = still_text
    if against:
        reasons |= against
        return "distrust"
    if precision.low >= limits.precision and still.high <= limits.changed_unmoved:
        reasons["moves_with_content"] = f"{moved_text}, and {still_text}"
        return "trust"
    doubtful = precision.rate < limits.precision or still.rate > limits.changed_unmoved
    if doubtful:
        reasons["evidence_against"] = " and ".join(
            text for text, share in ((moved_text, precision), (still_text, still)) if share.trials
        )
        return "undecided"
    reasons["too_few_visits"] = (
        f"{score.counts['precision'][1]} pages were seen again with a lastmod that had moved and "
        f"{score.counts['changed_unmoved'][1]} with one that had not: too few to be sure"
    )
    return "provisional"


def _by_sample(  # noqa: PLR0911 - one line for each outcome
    evidence: Evidence, limits: LastmodThresholds, reasons: dict[str, str]
) -> Verdict | None:
    """Return what the pages' own dates say; None where no page was looked at."""
    found = evidence.agreement
    if found is None:
        return None
    if found.offset:
        reasons["zone_offset"] = (
            f"lastmod is {abs(found.offset):g} hours "
            f"{'ahead of' if found.offset > 0 else 'behind'} the pages' own dates throughout: "
            f"local time marked as UTC, most likely"
        )
    share = found.share
    text = (
        f"lastmod agrees with the page's own date on {share.rate:.0%} ({_percent(share)}) of "
        f"{share.trials:.0f} pages"
    )
    if found.stamped:
        reasons["page_dates_stamped"] = "the pages' own dates are all of one hour, and tell nothing"
        return "undecided"
    if not share.trials:
        reasons["no_page_dates"] = "no page of the sample gives a date of its own"
        return "undecided"
    if share.trials >= limits.few and share.high < limits.contradicted:
        direction = "older" if found.older >= found.newer else "newer"
        reasons["contradicted"] = f"{text}; elsewhere it is mostly {direction}"
        return "distrust"
    if not found.above_chance:
        reasons["not_above_chance"] = f"{text}, which shuffled dates reach as well"
        return "undecided"
    if share.low >= limits.agreement:
        reasons["agrees_with_pages"] = text
        return "provisional"
    reasons["too_few_pages" if share.rate >= limits.agreement else "agrees_in_part"] = text
    return "undecided"
