"""Dates of sitemap entries as intervals of seconds, and where in time they crowd.

A ``lastmod`` of a day is the whole local day somewhere on Earth: its interval is widened by 14
hours before and 12 after wherever it is compared with a moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.reprs import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Floats = npt.NDArray[np.float64]

__all__ = [
    "DAY",
    "EPOCH_BEFORE",
    "LENGTHS",
    "MOST_AHEAD",
    "MOST_BEHIND",
    "checked_entries",
    "densest_share",
    "distance",
    "entry_dates",
    "seconds_of",
    "times_of",
]

DAY = 86_400.0
EPOCH_BEFORE = 631_152_000.0
"""1990-01-01: no page of the web is older; earlier dates are zeros of some program."""

LENGTHS = {"second": 1.0, "minute": 60.0, "day": DAY, "month": 31 * DAY, "year": 366 * DAY}
"""Seconds that a date covers, by its granularity."""

# A local day may begin 14 hours before the UTC day of its name, and end 12 hours after it.
MOST_AHEAD, MOST_BEHIND = 14 * 3600.0, 12 * 3600.0


def checked_entries(entries: Any, *, argument: str = "entries") -> pd.DataFrame:
    """Return entries that have the columns needed, or raise `BadSetting`.

    Rows without an address tell of files that could not be read; they are no entries.
    """
    import pandas as pd

    if not isinstance(entries, pd.DataFrame):
        raise BadSetting(
            argument,
            f"{plain_text(repr(entries), longest=80)} is no table",
            "Pass the DataFrame that read_sitemaps returns.",
        )
    missing = [name for name in ("loc", "lastmod") if name not in entries.columns]
    if missing:
        raise BadSetting(
            argument,
            f"the table has no column {missing[0]!r}",
            "Pass a table with the columns loc and lastmod, as read_sitemaps returns it.",
        )
    told = entries["loc"].notna()
    if told.all():
        return entries
    kept = entries[told]
    kept.attrs = dict(entries.attrs)
    if {"sitemap", "issues"} <= set(entries.columns):
        codes = entries.loc[~told, "issues"].astype("str").str.partition(" ")[0]
        kept.attrs["unread_rows"] = tuple(
            zip(entries.loc[~told, "sitemap"].astype("str"), codes, strict=True)
        )
    return kept


def seconds_of(values: Any) -> Floats:
    """Return a column of times as seconds since 1970 UTC, float64; NaN where there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> seconds_of(pd.Series(["1970-01-02", None])).tolist()
    [86400.0, nan]
    """
    import numpy as np
    import pandas as pd

    series = pd.Series(values)
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    times = pd.to_datetime(series, utc=True, errors="coerce", format="ISO8601")
    micros = times.astype("datetime64[us, UTC]")
    found = micros.dt.tz_localize(None).to_numpy(dtype="datetime64[us]").astype(np.int64) / 1e6
    found[micros.isna().to_numpy()] = np.nan
    return found


def times_of(seconds: Any) -> pd.Series:
    """Return seconds since 1970 as a column of UTC timestamps; null for NaN and None."""
    import numpy as np
    import pandas as pd

    values = np.array([np.nan if s is None else s for s in seconds], dtype=np.float64)
    # Outside of the years 1 to 9999 nothing can be shown.
    values[~((values > -62_135_596_800) & (values < 253_402_300_800))] = np.nan
    micros = np.full(len(values), np.datetime64("NaT"), dtype="datetime64[us]")
    known = ~np.isnan(values)
    micros[known] = np.round(values[known] * 1e6).astype(np.int64).astype("datetime64[us]")
    return pd.Series(micros).dt.tz_localize("UTC").astype("datetime64[us, UTC]")


def entry_dates(entries: pd.DataFrame) -> pd.DataFrame:
    """Return the dates of entries as intervals, one row per entry, in their order.

    Returns
    -------
    DataFrame
        ``url sitemap granularity`` (str), ``start end`` (float64, seconds since 1970 UTC, NaN
        where there is no date), ``date_only`` (bool), ``is_epoch`` (bool: a zero of some
        program, whose start and end are NaN).
    """
    import numpy as np
    import pandas as pd

    start = seconds_of(entries["lastmod"])
    if "lastmod_granularity" in entries.columns:
        granularity = entries["lastmod_granularity"].astype("str")
    else:
        granularity = pd.Series("second", index=entries.index, dtype="str").mask(np.isnan(start))
    length = granularity.map(LENGTHS).to_numpy(dtype=np.float64, na_value=1.0)
    epoch = start < EPOCH_BEFORE
    start = np.where(epoch, np.nan, start)
    sitemap: Any = entries["sitemap"] if "sitemap" in entries.columns else None
    return pd.DataFrame(
        {
            "url": entries["loc"].astype("str").to_numpy(),
            "sitemap": pd.Series(None if sitemap is None else sitemap.to_numpy(), dtype="str")
            if sitemap is not None
            else pd.Series([None] * len(entries), dtype="str"),
            "granularity": granularity.to_numpy(),
            "start": start,
            "end": start + length,
            "date_only": (length >= DAY) & ~np.isnan(start),
            "is_epoch": epoch,
        }
    )


def densest_share(starts: Floats, window: float) -> float:
    """Return the share of moments in the window that holds most of them.

    Parameters
    ----------
    starts
        Seconds, in any order, without NaN.
    window
        Length of the window in seconds, both ends within it.

    Examples
    --------
    >>> import numpy as np
    >>> densest_share(np.array([0.0, 1.0, 100.0, 59.0]), 60)
    0.75
    """
    import numpy as np

    if not len(starts):
        return float("nan")
    ordered = np.sort(starts)
    behind = np.searchsorted(ordered, ordered + window, side="right")
    return float((behind - np.arange(len(ordered))).max() / len(ordered))


def distance(dates: pd.DataFrame, moments: Sequence[float] | Floats | float) -> Floats:
    """Return the seconds between each date's interval and a moment; 0 where it is inside.

    Days are widened to every zone on Earth, because they do not say where they were days.
    """
    import numpy as np

    moment = np.asarray(moments, dtype=np.float64)
    days = dates["date_only"].to_numpy()
    start = dates["start"].to_numpy() - np.where(days, MOST_AHEAD, 0.0)
    end = dates["end"].to_numpy() + np.where(days, MOST_BEHIND, 0.0)
    gap: Floats = np.maximum(np.maximum(start - moment, moment - end), 0.0)
    return gap
