"""Whether ``lastmod`` agrees with the dates that pages give for their own last change.

Agreement is overlap of intervals, widened by a tolerance. It shows that two fields of one system
are kept alike, no more; disagreement shows that one of them is wrong.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.audit.intervals import Share, share_interval
from crawlkit.audit.lastmod_stamps import MOST_AHEAD, MOST_BEHIND, densest_share

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

__all__ = ["Agreement", "add_agreement", "measure_agreement", "zone_offset"]

_SHUFFLES = 1_000
_QUARTER = 900.0
_LARGEST_OFFSET = 14 * 3600.0
_FEWEST_OFFSETS = 10


class Agreement(NamedTuple):
    """How far the sampled pages bear ``lastmod`` out.

    Attributes
    ----------
    share
        Pages that agree, of those with a date of their own.
    chance
        The agreement that shuffled dates reach in 95 of 100 cases; NaN where there are no pages.
    older, newer
        Pages whose lastmod is older, or newer, than their own date.
    stamped
        Whether the pages' own dates are all of one hour, so that they tell nothing.
    offset
        Hours by which lastmod is ahead of the pages' own dates throughout; 0 for none.
    """

    share: Share
    chance: float
    older: int
    newer: int
    stamped: bool
    offset: float

    @property
    def above_chance(self) -> bool:
        """Whether the agreement is more than what shuffled dates reach."""
        return self.share.trials > 0 and self.share.rate > self.chance


def zone_offset(lastmod: npt.NDArray[np.float64], page: npt.NDArray[np.float64]) -> float:
    """Return the constant offset between two columns of moments, in seconds; 0 for none.

    Local time that is marked as UTC is off by a multiple of a quarter of an hour, up to 14 hours.

    Parameters
    ----------
    lastmod, page
        Seconds, of the pages for which both are known to the second.

    Examples
    --------
    >>> import numpy as np
    >>> page = np.arange(20) * 1e6
    >>> zone_offset(page + 7200, page), zone_offset(page + 30, page)
    (7200.0, 0.0)
    """
    import numpy as np

    if len(lastmod) < _FEWEST_OFFSETS:
        return 0.0
    gaps = lastmod - page
    quarters = np.round(gaps / _QUARTER) * _QUARTER
    fits = (np.abs(gaps - quarters) <= 60) & (np.abs(quarters) <= _LARGEST_OFFSET)
    values, counts = np.unique(quarters[fits], return_counts=True)
    if not len(values):
        return 0.0
    best = values[counts.argmax()]
    # In summer and in winter the same zone is off by different hours.
    twin = max(counts[np.abs(values - best) == 3600.0], default=0)
    if counts.max() < 0.6 * len(gaps) or counts.max() + twin < 0.8 * len(gaps):
        return 0.0
    return float(best)


def add_agreement(sample: pd.DataFrame, *, tolerance: float) -> pd.DataFrame:
    """Return the sample with ``evidence`` and ``agreement`` of each page filled in.

    Parameters
    ----------
    sample
        ``lastmod_start lastmod_end modified_start modified_end http_modified`` in seconds,
        ``date_only zone_known``, ``reason``, ``is_home``.
    tolerance
        Seconds that may lie between the two dates.

    Returns
    -------
    DataFrame
        With the columns ``evidence`` (``page`` or ``http``, null for none), ``page_start
        page_end`` (seconds), ``agreement`` (``agrees older newer``, null for no evidence) and
        ``gap_hours`` (above 0 where lastmod is later); attrs hold ``offset`` (seconds) and
        ``stamped``.
    """
    import numpy as np
    import pandas as pd

    found = sample.copy()
    usable = found["reason"].isna() & ~found["is_home"] & found["lastmod_start"].notna()
    own = usable & found["modified_start"].notna()
    stamped = False
    starts = found.loc[own, "modified_start"].to_numpy()
    if len(starts) >= _FEWEST_OFFSETS and densest_share(starts, 3600.0) >= 0.9:
        stamped, own = True, own & False
    http = usable & ~own & found["http_modified"].notna()
    varied = found.loc[http, "http_modified"].nunique()
    if varied < max(2, 0.5 * http.sum()) or stamped:
        http &= False
    found["evidence"] = pd.Series(np.select([own, http], ["page", "http"], ""), dtype="str")
    found.loc[~(own | http), "evidence"] = None
    found["page_start"] = np.select(
        [own, http], [found["modified_start"], found["http_modified"]], np.nan
    )
    found["page_end"] = np.select(
        [own, http], [found["modified_end"], found["http_modified"] + 1], np.nan
    )
    exact = (own | http) & ~found["date_only"] & found["zone_known"]
    exact &= found["page_end"] - found["page_start"] <= 60
    offset = zone_offset(
        found.loc[exact, "lastmod_start"].to_numpy(), found.loc[exact, "page_start"].to_numpy()
    )
    gap = _gaps(found, offset)
    found["gap_hours"] = np.round(gap / 3600, 3)
    verdicts = np.select([np.abs(gap) <= tolerance, gap < 0], ["agrees", "older"], "newer")
    found["agreement"] = pd.Series(verdicts, dtype="str")
    found.loc[np.isnan(gap), "agreement"] = None
    found.attrs |= {"offset": offset, "stamped": stamped}
    return found


def _bounds(found: pd.DataFrame, offset: float) -> tuple[npt.NDArray[np.float64], ...]:
    """Return both intervals of each page; a day of unknown zone is widened to all of them."""
    import numpy as np

    days = found["date_only"].to_numpy()
    vague = ~found["zone_known"].to_numpy()
    # Two days without a zone come from one place, most likely, and are compared as they stand.
    first, second = days & ~vague, vague & ~days
    return (
        found["lastmod_start"].to_numpy() - offset - np.where(first, MOST_AHEAD, 0.0),
        found["lastmod_end"].to_numpy() - offset + np.where(first, MOST_BEHIND, 0.0),
        found["page_start"].to_numpy() - np.where(second, MOST_AHEAD, 0.0),
        found["page_end"].to_numpy() + np.where(second, MOST_BEHIND, 0.0),
    )


def _gaps(found: pd.DataFrame, offset: float) -> npt.NDArray[np.float64]:
    """Return the seconds from the page's date to lastmod; 0 where they overlap."""
    import numpy as np

    start, end, page_start, page_end = _bounds(found, offset)
    gap = np.where(start >= page_end, start - page_end, np.minimum(0.0, end - page_start))
    gap[np.isnan(page_start) | np.isnan(start)] = np.nan
    return gap


def measure_agreement(
    sample: pd.DataFrame, *, tolerance: float, confidence: float, random_seed: int
) -> Agreement:
    """Return how far a sample with agreements bears ``lastmod`` out.

    Parameters
    ----------
    sample
        What `add_agreement` returns, or some of its rows.
    tolerance
        Seconds, as there.
    confidence
        Of the interval.
    random_seed
        For the shuffled dates.

    Notes
    -----
    Where all dates lie within the tolerance of each other, everything agrees with everything:
    so the dates of the sampled pages are shuffled 1,000 times, and agreement must be above the
    95th percentile of what that gives.
    """
    import numpy as np

    known = sample[sample["agreement"].notna()]
    count = len(known)
    offset = float(sample.attrs.get("offset", 0.0))
    agrees = int((known["agreement"] == "agrees").sum())
    chance = math.nan
    if count:
        start, end, page_start, page_end = _bounds(known, offset)
        matrix = (start[:, None] <= page_end[None, :] + tolerance) & (
            page_start[None, :] <= end[:, None] + tolerance
        )
        rng = np.random.default_rng(random_seed)
        rows = np.arange(count)
        shares = [matrix[rng.permutation(count), rows].mean() for _ in range(_SHUFFLES)]
        chance = float(np.quantile(shares, 0.95))
    return Agreement(
        share=share_interval(agrees, count, confidence=confidence),
        chance=chance,
        older=int((known["agreement"] == "older").sum()),
        newer=int((known["agreement"] == "newer").sum()),
        stamped=bool(sample.attrs.get("stamped", False)),
        offset=offset / 3600,
    )
