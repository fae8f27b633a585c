"""Pairs of visits to one page: whether ``lastmod`` moved, and whether the main text changed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from crawlkit.audit.lastmod_stamps import MOST_BEHIND, densest_share
from crawlkit.audit.text_change import change_size

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PAIR_COLUMNS", "bulk_rounds", "visit_pairs"]

PAIR_COLUMNS = {
    "url": "str",
    "sitemap": "str",
    "round": "int64",
    "before_at": "float64",
    "after_at": "float64",
    "moved": "boolean",
    "changed": "boolean",
    "change_size": "float64",
    "bulk": "bool",
    "draw_weight": "float64",
    "left_out": "str",
}

_FEWEST_MOVED = 10
_FEWEST_ROWS = 20


def visit_pairs(rounds: pd.DataFrame, *, bulk_share: float = 0.5) -> pd.DataFrame:
    """Return each page's consecutive visits as pairs.

    Parameters
    ----------
    rounds
        What `read_rounds` returns.
    bulk_share
        Share of a file's dates that moved in one round, above which that is one event.

    Returns
    -------
    DataFrame
        One row per pair: ``url sitemap`` (str), ``round`` (int64, of the later visit),
        ``before_at after_at`` (float64, seconds since 1970 UTC), ``moved changed`` (boolean),
        ``change_size`` (float64, 0 to 1), ``bulk`` (bool: the file was restamped in between),
        ``draw_weight`` (float64) and ``left_out`` (str): why the pair says nothing, null where it
        does: ``no_lastmod``, ``went_backwards``, ``same_day`` (a day that was not over at the
        first visit cannot move), ``other_method`` (hashes of different extractors),
        ``stale_sitemap`` (the move was due before the first visit, which saw the new text).
    """
    import pandas as pd

    bulk = bulk_rounds(rounds, bulk_share=bulk_share)
    seen = rounds[rounds["text_hash"].notna() & rounds["visited"]]
    rows = []
    before: dict[str, Any] = {}
    for after in seen.sort_values("round", kind="stable").itertuples(index=False):
        url = str(after.url)
        earlier = before.get(url)
        if earlier is not None and earlier.round < after.round:
            rows.append(_pair(earlier, after, bulk))
        before[url] = after
    frame = pd.DataFrame(rows, columns=list(PAIR_COLUMNS))
    return frame.astype(PAIR_COLUMNS)


def _pair(before: Any, after: Any, bulk: set[tuple[int, str | None]]) -> dict[str, Any]:
    """Compare two visits."""
    sitemap = after.sitemap if isinstance(after.sitemap, str) else None
    moved = after.lastmod_start >= before.lastmod_end
    changed = after.text_hash != before.text_hash
    left_out = _left_out(before, after, moved=moved, changed=changed)
    decided = left_out is None
    size = change_size(before.sketch, after.sketch) if len(before.sketch) else float("nan")
    between = range(before.round + 1, after.round + 1)
    return {
        "url": after.url,
        "sitemap": sitemap,
        "round": after.round,
        "before_at": before.at,
        "after_at": after.at,
        "moved": bool(moved) if decided else None,
        "changed": bool(changed) if decided else None,
        "change_size": size if decided else float("nan"),
        "bulk": any((step, sitemap) in bulk for step in between),
        "draw_weight": after.draw_weight,
        "left_out": left_out,
    }


def _left_out(before: Any, after: Any, *, moved: bool, changed: bool) -> str | None:
    """Return why a pair of visits says nothing, or None."""
    if math.isnan(before.lastmod_start) or math.isnan(after.lastmod_start):
        return "no_lastmod"
    if before.text_hash_by != after.text_hash_by:
        return "other_method"
    if after.lastmod_end <= before.lastmod_start:
        return "went_backwards"
    if not moved and after.date_only and after.lastmod_end + MOST_BEHIND > before.at:
        return "same_day"
    if moved and not changed and not after.date_only and after.lastmod_start <= before.at:
        return "stale_sitemap"
    return None


def bulk_rounds(rounds: pd.DataFrame, *, bulk_share: float) -> set[tuple[int, str | None]]:
    """Return the rounds in which a file was restamped: most of its dates moved, or moved at once.

    Parameters
    ----------
    rounds
        What `read_rounds` returns.
    bulk_share
        Share of a file's dates that moved; or of the dates that moved, those in one minute.

    Returns
    -------
    set of (int, str or None)
        Round and file.
    """
    found: set[tuple[int, str | None]] = set()
    last = int(rounds["round"].max()) if len(rounds) else 0
    for step in range(1, last + 1):
        before = rounds[rounds["round"] == step - 1].drop_duplicates("url").set_index("url")
        after = rounds[rounds["round"] == step].drop_duplicates("url").set_index("url")
        ends = before["lastmod_end"].rename("lastmod_end_before")
        both = after.join(ends, how="inner")
        both = both[both["lastmod_start"].notna() & both["lastmod_end_before"].notna()]
        both["moved"] = both["lastmod_start"] >= both["lastmod_end_before"]
        for name, group in both.groupby("sitemap", dropna=False):
            moved = group[group["moved"]]
            exact = moved.loc[~moved["date_only"], "lastmod_start"].to_numpy()
            at_once = len(exact) >= _FEWEST_MOVED and densest_share(exact, 60.0) > bulk_share
            most = len(group) >= _FEWEST_ROWS and len(moved) > bulk_share * len(group)
            if at_once or most:
                found.add((step, name if isinstance(name, str) else None))
    return found
