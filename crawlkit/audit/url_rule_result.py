"""What a test of normalization rules found: a verdict on each, and the rules to crawl with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlkit.reprs import facts_html, frame_html, plain_text

if TYPE_CHECKING:
    import pandas as pd

    from crawlkit.web.urls import UrlRules

__all__ = ["UrlRuleCheck"]


@dataclass(frozen=True, repr=False, eq=False)
class UrlRuleCheck:
    """What `check_url_rules` found.

    Attributes
    ----------
    table
        One row per rule, and one per parameter for ``drop_parameters``: ``rule parameter`` (str),
        ``pairs same different unknown`` (int64), ``share low high`` (float64: of the pairs that
        could be judged, those that are the same page, with its 95 % interval; null where there
        are none), ``change`` (float64: median share of the text that differs in those that are
        not) and ``verdict`` (str): ``merge``, ``keep_apart``, ``undecided``, or ``no_pairs``.
    parameters
        One row per parameter, the surely harmless first: ``parameter`` (str), ``urls pairs same
        different`` (int64), ``changes low high`` (float64: share of pairs whose content differs,
        with its interval), ``effect`` (str: ``never``, ``sometimes``, ``always``, or
        ``unknown``) and ``verdict`` (str).
    pairs
        The pairs: ``rule parameter first second`` (str), ``made`` (bool, spelled by the test),
        ``outcome reason`` (str), ``change noise`` (float64).
    rules
        The rules that follow: ``merge`` is on, ``keep_apart`` off, the others as they were.
        Pass them as ``url_rules=`` to a new crawl.
    notes
        What to keep in mind.
    """

    table: pd.DataFrame
    parameters: pd.DataFrame
    pairs: pd.DataFrame
    rules: UrlRules
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<UrlRuleCheck: {self}>"

    def __str__(self) -> str:
        named = []
        for verdict in ("merge", "keep_apart", "undecided"):
            rows = self.table[self.table["verdict"] == verdict]
            names = [
                rule if not isinstance(parameter, str) else f"drop {parameter}"
                for rule, parameter in zip(rows["rule"], rows["parameter"], strict=True)
            ]
            if names:
                named.append(f"{verdict}: {', '.join(names)}")
        return plain_text("; ".join(named) or "no pairs to judge by", longest=None)

    def _repr_html_(self) -> str:
        changed = [
            (name, value)
            for name, value in self.rules.to_dict().items()
            if name != "tracking_parameters"
        ]
        tested = self.table[self.table["pairs"] > 0]
        return frame_html(tested, rows=30, title="URL rules, tested on pairs of URLs") + facts_html(
            "Rules that follow", changed, self.notes
        )
