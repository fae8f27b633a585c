"""From the outcomes of pairs of URLs to a verdict on each rule, and to the rules that follow."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlkit.audit.intervals import share_interval
from crawlkit.audit.url_rule_result import UrlRuleCheck
from crawlkit.web.urls import KEY_RULES, UrlRules, normalize_url

if TYPE_CHECKING:
    import pandas as pd

    from crawlkit.audit.pair_outcomes import PairOutcome
    from crawlkit.audit.url_pairs import UrlPair

__all__ = ["rule_verdicts"]

_SAFE = 0.85
"""The share of pairs that must be one page for a rule to be on."""
# Below this share of the text, a difference may be a clock or a banner.
_SMALL_CHANGE = 0.1

_TABLE = {
    "rule": "str",
    "parameter": "str",
    "pairs": "int64",
    "same": "int64",
    "different": "int64",
    "unknown": "int64",
    "share": "float64",
    "low": "float64",
    "high": "float64",
    "change": "float64",
    "verdict": "str",
}
_PARAMETERS = {
    "parameter": "str",
    "urls": "int64",
    "pairs": "int64",
    "same": "int64",
    "different": "int64",
    "changes": "float64",
    "low": "float64",
    "high": "float64",
    "effect": "str",
    "verdict": "str",
}
_PAIRS = {
    "rule": "str",
    "parameter": "str",
    "first": "str",
    "second": "str",
    "made": "bool",
    "outcome": "str",
    "reason": "str",
    "change": "float64",
    "noise": "float64",
}


def rule_verdicts(
    pairs: list[UrlPair],
    outcomes: list[PairOutcome],
    counts: dict[str, int],
    before: UrlRules,
    notes: list[str],
    *,
    alike: bool,
    fetched: bool,
) -> UrlRuleCheck:
    """Return what the outcomes say.

    Parameters
    ----------
    pairs, outcomes
        The pairs of URLs, and what came out of each.
    counts
        Each parameter that was met, and in how many URLs.
    before
        The rules so far.
    notes
        What to keep in mind; more may be added.
    alike
        Whether pages that have nothing to do with each other look the same: then nothing merges.
    fetched
        Whether pages were asked for, so that changes by themselves are known.
    """
    import pandas as pd

    by_test: dict[tuple[str, str | None], list[PairOutcome]] = {}
    for name in KEY_RULES:
        if name == "drop_parameters":
            by_test.update({(name, parameter): [] for parameter in counts})
        else:
            by_test[name, None] = []
    for pair, outcome in zip(pairs, outcomes, strict=True):
        by_test[pair.rule, pair.parameter].append(outcome)
    rows = [
        _row(rule, parameter, found, alike=alike, fetched=fetched)
        for (rule, parameter), found in by_test.items()
    ]
    if not fetched and any(row["verdict"] == "undecided" for row in rows):
        notes.append("fetch=True asks for more pairs, and tells small changes from noise.")
    listed = [
        (*pair, outcome.outcome, outcome.reason, outcome.change, outcome.noise)
        for pair, outcome in zip(pairs, outcomes, strict=True)
    ]
    frame = pd.DataFrame(listed, columns=list(_PAIRS)).astype(_PAIRS)
    return UrlRuleCheck(
        table=pd.DataFrame(rows, columns=list(_TABLE)).astype(_TABLE),
        parameters=_parameters(rows, counts),
        pairs=frame,
        rules=_rules(rows, before),
        notes=tuple(notes),
    )


def _row(
    rule: str, parameter: str | None, found: list[PairOutcome], *, alike: bool, fetched: bool
) -> dict[str, Any]:
    from statistics import median

    same = sum(each.outcome == "same" for each in found)
    different = sum(each.outcome == "different" for each in found)
    share = share_interval(same, same + different)
    changes = [
        each.change for each in found if each.outcome == "different" and not math.isnan(each.change)
    ]
    change = median(changes) if changes else math.nan
    verdict = "undecided"
    if not found:
        verdict = "no_pairs"
    elif share.low >= _SAFE and not alike:
        verdict = "merge"
    elif share.high < _SAFE and (fetched or not change < _SMALL_CHANGE):
        verdict = "keep_apart"
    judged = same + different > 0
    return {
        "rule": rule,
        "parameter": parameter,
        "pairs": len(found),
        "same": same,
        "different": different,
        "unknown": len(found) - same - different,
        "share": share.rate,
        "low": share.low if judged else math.nan,
        "high": share.high if judged else math.nan,
        "change": change,
        "verdict": verdict,
    }


def _parameters(rows: list[dict[str, Any]], counts: dict[str, int]) -> pd.DataFrame:
    """Return the parameters, those that surely change nothing first."""
    import pandas as pd

    ranked = []
    for row in rows:
        if row["rule"] != "drop_parameters":
            continue
        same, different = row["same"], row["different"]
        effect = "unknown"
        if same + different:
            effect = "never" if not different else "sometimes" if same else "always"
        ranked.append(
            {
                **{name: row[name] for name in ("parameter", "pairs", "verdict")},
                "same": same,
                "different": different,
                "urls": counts[row["parameter"]],
                "changes": 1 - row["share"],
                "low": 1 - row["high"],
                "high": 1 - row["low"],
                "effect": effect,
            }
        )
    ranked.sort(
        key=lambda row: (math.inf if math.isnan(row["high"]) else row["high"], -row["urls"])
    )
    return pd.DataFrame(ranked, columns=list(_PARAMETERS)).astype(_PARAMETERS)


def _rules(rows: list[dict[str, Any]], before: UrlRules) -> UrlRules:
    """Return the rules that follow from the verdicts."""
    changed: dict[str, Any] = {}
    dropped = list(before.drop_parameters)
    for row in rows:
        verdict, name = row["verdict"], row["parameter"]
        if verdict not in ("merge", "keep_apart"):
            continue
        if name is None:
            changed[row["rule"]] = verdict == "merge"
        elif verdict == "keep_apart":
            dropped = [each for each in dropped if each != name]
        elif name not in dropped:
            dropped.append(name)
    rules = replace(before, **changed, drop_parameters=())
    kept = [
        name
        for name in dropped
        if name in before.drop_parameters
        or normalize_url(f"http://a.example/?{name}=1", rules) != "http://a.example/"
    ]
    return replace(rules, drop_parameters=tuple(kept))
