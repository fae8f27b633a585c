"""Which pages an audit looks at: a seeded draw over files and ages, and those seen before.

The draw is systematic: entries are put in order of file and age, and every k-th is taken from a
random start. So each file and each age has its share, and every entry the same chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.audit.lastmod_stamps import times_of

if TYPE_CHECKING:
    from collections.abc import Container

    import pandas as pd

    from crawlkit.audit.page_visits import Visit

__all__ = ["SAMPLE_COLUMNS", "choose_pages", "eligible_pages", "public_sample", "visits_frame"]

SAMPLE_COLUMNS = {
    "url": "str",
    "sitemap": "str",
    "age": "str",
    "seen_before": "bool",
    "lastmod": "datetime64[us, UTC]",
    "page_date": "datetime64[us, UTC]",
    "evidence": "str",
    "modified_source": "str",
    "modified_raw": "str",
    "agreement": "str",
    "gap_hours": "float64",
    "fetched_at": "datetime64[us, UTC]",
    "reason": "str",
    "text_hash": "str",
    "text_hash_by": "str",
}

_AGES = ("newest", "middle", "oldest")
_FAR = ("other_host",)
_HOME = r"https?://[^/?#]+/?(?:#.*)?"


def eligible_pages(
    dates: pd.DataFrame, scope: pd.Series | None, *, skipped: set[str | None]
) -> pd.DataFrame:
    """Return the entries that may be looked at, each address once, with ``age``.

    Parameters
    ----------
    dates
        What `entry_dates` returns.
    scope
        The column ``scope`` of the entries; what lies on another host is left out.
    skipped
        Files whose dates need no page to be judged.
    """
    import numpy as np
    import pandas as pd

    keep = dates["start"].notna() & ~dates["sitemap"].map(_none_of_null).isin(skipped)
    keep &= dates["url"].str.startswith(("http://", "https://"))
    if scope is not None:
        keep &= ~scope.isin(_FAR).to_numpy()
    found = dates[keep].drop_duplicates("url").copy()
    # The home page's lastmod is that of its newest child, and says nothing of the others.
    home = found["url"].str.fullmatch(_HOME)
    if not home.all():
        found = found[~home]
    rank = found.groupby("sitemap", dropna=False)["start"].rank(method="first", pct=True)
    tercile = np.clip(np.ceil(rank * 3).fillna(1).to_numpy().astype(int) - 1, 0, 2)
    found["age"] = pd.Series([_AGES[2 - each] for each in tercile], index=found.index, dtype="str")
    return found


def _none_of_null(value: object) -> object:
    return value if isinstance(value, str) else None


def choose_pages(
    eligible: pd.DataFrame,
    seen: pd.DataFrame,
    *,
    count: int | None,
    random_seed: int,
    available: Container[object] | None = None,
) -> pd.DataFrame:
    """Return the pages to look at: those seen before first, then new ones.

    Parameters
    ----------
    eligible
        What `eligible_pages` returns.
    seen
        Last visit of each page seen before: ``url lastmod_end``.
    count
        How many; None for all.
    random_seed
        Makes the draw.
    available
        Addresses that can be had; None for all.

    Returns
    -------
    DataFrame
        Rows of `eligible` with ``seen_before`` (bool) and ``draw_weight`` (float64). Where more
        pages were seen before than may be looked at, half of them are pages whose lastmod moved,
        because both kinds are needed; the weight makes up for that.
    """
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(random_seed)
    if available is not None:
        eligible = eligible[[url in available for url in eligible["url"]]]
    count = len(eligible) if count is None else count
    ends = pd.Series(seen["lastmod_end"].to_numpy(), index=seen["url"])
    known = eligible[eligible["url"].isin(ends.index)]
    moved = known["start"] >= known["url"].map(ends).astype("float64")
    kinds = [known[moved], known[~moved]]
    quota = [len(kinds[0]), len(kinds[1])]
    if sum(quota) > count:
        quota[0] = min(quota[0], max(count // 2, count - quota[1]))
        quota[1] = count - quota[0]
    chosen = []
    for kind, wanted in zip(kinds, quota, strict=True):
        if wanted:
            drawn = kind.iloc[np.sort(rng.choice(len(kind), wanted, replace=False))]
            chosen.append(drawn.assign(seen_before=True, draw_weight=len(kind) / wanted))
    fresh = eligible[~eligible["url"].isin(ends.index)]
    wanted = min(count - sum(quota), len(fresh))
    if wanted > 0:
        order = fresh.assign(luck=rng.random(len(fresh)))
        order = order.sort_values(["sitemap", "age", "luck"], kind="stable")
        step = len(order) / wanted
        rows = np.floor(rng.random() * step + np.arange(wanted) * step).astype(int)
        drawn = order.iloc[np.minimum(rows, len(order) - 1)].drop(columns="luck")
        chosen.append(drawn.assign(seen_before=False, draw_weight=1.0))
    if not chosen:
        return eligible.iloc[:0].assign(seen_before=False, draw_weight=1.0)
    return pd.concat(chosen, ignore_index=True)


def visits_frame(chosen: pd.DataFrame, visits: list[Visit]) -> pd.DataFrame:
    """Return the chosen pages that were visited, with what was found, times in seconds."""
    import pandas as pd

    frame = chosen.iloc[: len(visits)].reset_index(drop=True)
    found: dict[str, Any] = {
        "at": pd.Series([v.at for v in visits], dtype="float64"),
        "reason": pd.Series([v.reason for v in visits], dtype="str"),
        "text_hash": pd.Series([v.text_hash for v in visits], dtype="str"),
        "text_hash_by": pd.Series([v.text_hash_by for v in visits], dtype="str"),
        "sketch": pd.Series([list(v.sketch) for v in visits], dtype="object"),
        "modified_start": pd.Series([v.modified for v in visits], dtype="float64"),
        "modified_end": pd.Series([v.modified_end for v in visits], dtype="float64"),
        "zone_known": pd.Series([v.zone_known for v in visits], dtype="bool"),
        "modified_source": pd.Series([v.modified_source for v in visits], dtype="str"),
        "modified_raw": pd.Series([v.modified_raw for v in visits], dtype="str"),
        "http_modified": pd.Series([v.http_modified for v in visits], dtype="float64"),
    }
    frame["is_home"] = frame["url"].str.fullmatch(_HOME).astype("bool")
    return frame.rename(columns={"start": "lastmod_start", "end": "lastmod_end"}).assign(**found)


def public_sample(sample: pd.DataFrame) -> pd.DataFrame:
    """Return the sample as users see it, in the columns of `SAMPLE_COLUMNS`."""
    import pandas as pd

    times = {"lastmod": "lastmod_start", "page_date": "page_start", "fetched_at": "at"}
    columns: dict[str, Any] = {}
    for name, kind in SAMPLE_COLUMNS.items():
        if name in times:
            columns[name] = times_of(sample[times[name]])
        else:
            columns[name] = pd.Series(sample[name].to_numpy(), dtype=kind)
    return pd.DataFrame(columns)
