"""How well ``lastmod`` told of changes that were really seen: rates with intervals.

A site's ``lastmod`` is a signal of change that may be false or missing, and is scored as such: by
precision and recall against the main text (Busa-Fekete et al., WWW 2025). Visits to one page are
not independent of each other, so a page that was visited often is worth little more than one vote;
an event that restamps a whole file is one observation; old rounds count for less and less; and
where the site begins to behave otherwise, what was seen before no longer counts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.audit.intervals import Share, share_interval

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SCORECARD_COLUMNS", "Score", "first_round_that_counts", "score_pairs", "score_table"]

SCORECARD_COLUMNS = {
    "measure": "str",
    "rate": "float64",
    "low": "float64",
    "high": "float64",
    "votes": "float64",
    "pairs": "int64",
    "pages": "int64",
    "meaning": "str",
}

_MEANINGS = {
    "precision": "of the pages whose lastmod moved, those whose main text had changed",
    "phantom": "of the pages whose lastmod moved, those whose main text had not changed",
    "recall": "of the pages whose main text changed, those whose lastmod moved",
    "miss": "of the pages whose main text changed, those whose lastmod did not move",
    "changed_unmoved": "of the pages whose lastmod did not move, those whose main text had changed",
}

# A CUSUM of log-likelihood ratios: a fault in 20 is still good, 3 in 10 are not.
_GOOD, _BAD = 0.05, 0.3
_FAULT, _NO_FAULT = math.log(_BAD / _GOOD), math.log((1 - _BAD) / (1 - _GOOD))
_ALARM = 5.0

_GRANTED = 2 / 3


class Score(NamedTuple):
    """What the pairs of visits come to.

    Attributes
    ----------
    precision, recall, changed_unmoved
        Shares; see `score_table` for their meaning.
    pairs
        Pairs that count.
    since
        The first round that counts; above 0 after a break in behavior.
    left_out
        Pairs that say nothing, by reason.
    bulk_events
        Times that a file was restamped.
    counts
        Pairs and pages behind each measure.
    """

    precision: Share
    recall: Share
    changed_unmoved: Share
    pairs: int
    since: int
    left_out: dict[str, int]
    bulk_events: int
    counts: dict[str, tuple[int, int]]

    @property
    def has_seen(self) -> bool:
        """Whether any pair of visits counts."""
        return self.pairs > 0


def score_pairs(pairs: pd.DataFrame, *, fade: float = 0.9, confidence: float = 0.95) -> Score:
    """Return rates with intervals from pairs of visits.

    Parameters
    ----------
    pairs
        What `visit_pairs` returns, all or those of one file.
    fade
        Weight of a round, relative to the one after it.
    confidence
        Of the intervals.
    """
    left_out = {str(code): int(n) for code, n in pairs["left_out"].value_counts().items()}
    good = pairs[pairs["left_out"].isna()].copy()
    good["moved"] = good["moved"].astype("bool")
    good["changed"] = good["changed"].astype("bool")
    events = good[good["moved"] & good["bulk"]].groupby(["round", "sitemap"], dropna=False)
    good = _one_per_event(good)
    since = first_round_that_counts(good)
    good = good[good["round"] >= since]
    latest = int(good["round"].max()) if len(good) else 0
    good["fade"] = fade ** (latest - good["round"])
    moved, still = good[good["moved"]], good[~good["moved"]]
    changed = good[good["changed"]]
    return Score(
        precision=_share(moved, "changed", confidence),
        recall=_share(changed, "moved", confidence, drawn=True),
        changed_unmoved=_share(still, "changed", confidence),
        pairs=len(good),
        since=since,
        left_out=left_out,
        bulk_events=events.ngroups,
        counts={
            "precision": (len(moved), moved["url"].nunique()),
            "recall": (len(changed), changed["url"].nunique()),
            "changed_unmoved": (len(still), still["url"].nunique()),
        },
    )


def _one_per_event(good: pd.DataFrame) -> pd.DataFrame:
    """Replace the pairs that a restamp of a file moved by one pair for each restamp."""
    import pandas as pd

    is_event = good["moved"] & good["bulk"]
    if not is_event.any():
        return good
    rows = []
    for (step, name), group in good[is_event].groupby(["round", "sitemap"], dropna=False):
        row = group.iloc[0].to_dict()
        rows.append(row | {
            "url": f"restamp of {name} in round {step}",
            "changed": bool(group["changed"].mean() >= 0.5),
            "draw_weight": 1.0,
        })  # fmt: skip
    events = pd.DataFrame(rows, columns=good.columns).astype(good.dtypes.to_dict())
    return pd.concat([good[~is_event], events], ignore_index=True)


def _share(pairs: pd.DataFrame, outcome: str, confidence: float, *, drawn: bool = False) -> Share:
    """Return the share of an outcome, each page a vote or a little more.

    A page that was visited often is worth more than one vote as far as its visits differ: the
    scatter of the pages' means says how far (a cluster-robust design effect). Of that the power
    2/3 is granted, because the scatter of few pages is itself uncertain; without any scatter, as
    in a clean record, nothing is. ``benchmarks/interval_coverage.py`` has the coverage.
    """
    if pairs.empty:
        return share_interval(0, 0, confidence=confidence)
    weights = pairs["fade"] * (pairs["draw_weight"] if drawn else 1.0)
    table = pairs.assign(weight=weights, hit=weights * pairs[outcome])
    pages = table.groupby("url").agg(
        weight=("weight", "sum"), hit=("hit", "sum"), vote=("fade", "max"), drawn=("weight", "max")
    )
    means = pages["hit"] / pages["weight"]
    votes = float(pages["vote"].sum())
    rate = float((means * pages["drawn"]).sum() / pages["drawn"].sum())
    scatter = float(means.var(ddof=1)) if len(means) > 1 else 0.0
    if scatter > 0:
        worth = rate * (1 - rate) / scatter
        votes *= min(max(worth, 1.0), len(pairs) / len(pages)) ** _GRANTED
    if drawn:  # unequal weights are worth fewer votes (Kish)
        effective = pages["drawn"].sum() ** 2 / (pages["drawn"] ** 2).sum()
        votes *= min(1.0, float(effective) / len(pages))
    return share_interval(rate * votes, votes, confidence=confidence)


def first_round_that_counts(pairs: pd.DataFrame) -> int:
    """Return the round at which behavior last broke, or 0.

    Parameters
    ----------
    pairs
        ``round moved changed`` of the pairs that count.

    Notes
    -----
    Page (1954): the cumulated evidence for a fault rate of 0.3 against 0.05, never below 0, once
    for moves without a change and once for changes without a move. Above 5 it is an alarm; the
    break is placed after the round at which it was last 0. A record that is bad from its first
    round on has no break.
    """
    import pandas as pd

    since = 0
    faults = pairs["moved"] != pairs["changed"]
    for kind in (pairs["moved"], ~pairs["moved"]):
        steps = pd.Series(
            [_FAULT if fault else _NO_FAULT for fault in faults[kind]], dtype="float64"
        )
        by_round = steps.groupby(pairs.loc[kind, "round"].to_numpy()).sum()
        total, onset = 0.0, None
        rounds: list[int] = by_round.index.to_list()
        for step, evidence in zip(rounds, by_round.to_list(), strict=True):
            if total == 0.0:
                onset = step
            # Capped, so that a site that mends its ways is soon watched anew.
            total = min(max(0.0, total + evidence), _ALARM + _FAULT)
            if total > _ALARM and onset is not None and onset > rounds[0]:
                since = max(since, onset)
    return since


def score_table(score: Score) -> pd.DataFrame:
    """Return a score as a table.

    Returns
    -------
    DataFrame
        One row for each ``measure`` (str): ``precision phantom recall miss changed_unmoved``, with
        ``rate low high`` (float64), ``votes`` (float64, the independent observations that the
        interval stands on), ``pairs pages`` (int64) and ``meaning`` (str).
    """
    import pandas as pd

    shares = {
        "precision": (score.precision, "precision"),
        "phantom": (score.precision.complement(), "precision"),
        "recall": (score.recall, "recall"),
        "miss": (score.recall.complement(), "recall"),
        "changed_unmoved": (score.changed_unmoved, "changed_unmoved"),
    }
    rows = [
        (name, share.rate, share.low, share.high, share.trials, *score.counts[of], _MEANINGS[name])
        for name, (share, of) in shares.items()
    ]
    return pd.DataFrame(rows, columns=list(SCORECARD_COLUMNS)).astype(SCORECARD_COLUMNS)
