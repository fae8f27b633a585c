"""How the dates of a sitemap are spread: what can be seen without asking for a page.

Dates that all lie within a moment, close to the moment at which the file was made, tell when the
file was made and nothing about its pages. Counting equal values is not enough: a stamp per entry,
or two stamps a second apart, differ in every value. So the densest window counts.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.audit.lastmod_stamps import (
    DAY,
    checked_entries,
    densest_share,
    distance,
    entry_dates,
    seconds_of,
    times_of,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Floats = npt.NDArray[np.float64]

__all__ = ["FINDINGS", "SPREAD_COLUMNS", "SpreadLimits", "lastmod_spread"]

FINDINGS = {
    "ok": "the dates are spread over time",
    "absent": "there are next to no dates",
    "partial": "some entries have no date, which says nothing about them",
    "too_few": "too few dates to say anything",
    "stamp_generation": "the dates are the moment at which the file was made",
    "stamp_request": "the dates are the moment at which the file was asked for",
    "bulk_event": "the dates are those of one event, such as a migration",
    "frozen": "the dates are those of first publication",
    "mixed": "some files are stamped, others are not",
}
"""What `lastmod_spread` finds, in words."""

SPREAD_COLUMNS = {
    "level": "str",
    "sitemap": "str",
    "finding": "str",
    "entries": "int64",
    "dated": "int64",
    "coverage": "float64",
    "densest_60s": "float64",
    "densest_1h": "float64",
    "densest_1d": "float64",
    "modal_share": "float64",
    "modal_value": "datetime64[us, UTC]",
    "distinct_share": "float64",
    "first": "datetime64[us, UTC]",
    "last": "datetime64[us, UTC]",
    "generated_at": "datetime64[us, UTC]",
    "generated_by": "str",
    "near_generation": "float64",
    "day_share": "float64",
    "midnight_share": "float64",
    "clock_time": "str",
    "clock_time_share": "float64",
    "future": "int64",
    "epoch": "int64",
    "published_share": "float64",
    "moved_on_refetch": "float64",
}

_NEAR_SECONDS = 600.0
_REQUEST_SECONDS = 5.0
_FEWEST_POOLED = 5


class SpreadLimits(NamedTuple):
    """Where findings begin.

    Attributes
    ----------
    few
        Dated entries below which nothing is said.
    absent, partial
        Coverage below which dates are `absent`, or `partial`.
    stamped
        Share in the densest hour, and share near the generation time, of a stamp.
    bulk
        Share in the densest day of an event.
    """

    few: int = 20
    absent: float = 0.05
    partial: float = 0.9
    stamped: float = 0.9
    bulk: float = 0.8


class _Made(NamedTuple):
    """When a file was made, by one source."""

    source: str
    moment: float


def lastmod_spread(
    entries: pd.DataFrame,
    *,
    again: pd.DataFrame | None = None,
    limits: SpreadLimits = SpreadLimits(),  # noqa: B008 - a tuple cannot change
) -> pd.DataFrame:
    """Return how the ``lastmod`` of sitemap entries are spread, per file and for the site.

    Parameters
    ----------
    entries
        What `read_sitemaps` returns: ``loc`` and ``lastmod``, and where they are there
        ``lastmod_granularity sitemap sitemap_lastmod kind publication_date``. When each file was
        made is taken from ``entries.attrs["files"]``: HTTP Last-Modified, Date, and the date that
        the index gives to the file.
    again
        The same sitemaps, read again some minutes later: dates that moved meanwhile are made at
        each request.
    limits
        Where findings begin.

    Returns
    -------
    DataFrame
        One row for the site (``level`` is ``"site"``, ``sitemap`` null), then one per file
        (``"file"``), largest first. ``finding`` (str) is a key of `FINDINGS`; ``entries dated
        future epoch`` (int64) are counts; ``coverage densest_60s densest_1h densest_1d
        modal_share distinct_share near_generation day_share midnight_share clock_time_share
        published_share moved_on_refetch`` (float64) are shares: of the entries that have a date,
        and of these in the densest minute, hour and day, with the commonest value, with a value
        of their own, within ten minutes of ``generated_at``, given as a day, at midnight, at the
        commonest time of day (``clock_time``, str), equal to the entry's own publication date,
        and moved when read again; null where there is nothing to go by. ``modal_value first last
        generated_at`` are datetime64[us, UTC]; ``generated_by`` (str) is ``last_modified``,
        ``index`` or ``date``.

    Raises
    ------
    BadSetting
        `entries` is no table, or lacks ``loc`` or ``lastmod``.

    Notes
    -----
    Distances and shares follow the remarks of Bing's crawler team (2023): the commonest fault is a
    date of generation in place of a date of change.

    Examples
    --------
    >>> import pandas as pd
    >>> stamps = ["2024-05-17T12:30:00Z", "2024-05-17T12:30:01Z"] * 20
    >>> entries = pd.DataFrame({"loc": [f"https://a.example/{n}" for n in range(40)]})
    >>> entries["lastmod"] = pd.to_datetime(stamps)
    >>> entries.attrs["files"] = ({"url": None, "last_modified": 1715949005.0},)
    >>> lastmod_spread(entries)[["finding", "modal_share", "densest_60s"]].values.tolist()
    [['stamp_generation', 0.5, 1.0]]
    """
    import numpy as np
    import pandas as pd

    entries = checked_entries(entries)
    dates = entry_dates(entries)
    dates["published"] = _published(entries)
    dates["kind"] = entries["kind"].astype("str").to_numpy() if "kind" in entries.columns else None
    dates["moved"] = _moved(dates, again)
    files = dict(iter(dates.groupby("sitemap", sort=False, dropna=False)))
    made = _generation(entries, dates)
    rows = []
    near_rows = np.zeros(len(dates), dtype=bool)
    for name, group in sorted(files.items(), key=lambda item: -len(item[1])):
        key = None if pd.isna(name) else str(name)
        row, near = _file_row(group, made.get(key, []), limits)
        near_rows[group.index.to_numpy()] = near
        rows.append({"level": "file", "sitemap": key, **row})
    site = _shares(dates)
    dated = dates["start"].notna().to_numpy()
    site["near_generation"] = float(near_rows[dated].mean()) if dated.any() else math.nan
    site["future"] = sum(row["future"] for row in rows)
    site["finding"] = _site_finding(site, rows, limits)
    if len(rows) == 1:
        site |= {name: rows[0].get(name) for name in ("generated_at", "generated_by")}
    rows.insert(0, {"level": "site", "sitemap": None, **site})
    if len(rows) == 2 and rows[1]["sitemap"] is None:
        del rows[1]  # no file is known: the site's row says it all
    for row in rows:
        row.pop("stamp", None)
    return _to_frame(rows)


def _to_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as the table with its dtypes."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name, kind in SPREAD_COLUMNS.items():
        values = [row.get(name) for row in rows]
        if kind.startswith("datetime"):
            columns[name] = times_of(values)
        elif kind == "float64":
            columns[name] = pd.Series([math.nan if v is None else v for v in values], dtype=kind)
        else:
            columns[name] = pd.Series(values, dtype=kind)
    return pd.DataFrame(columns)


def _published(entries: pd.DataFrame) -> Floats:
    """Return publication dates in seconds."""
    import numpy as np

    if "publication_date" not in entries.columns:
        return np.full(len(entries), np.nan)
    return seconds_of(entries["publication_date"])


def _moved(dates: pd.DataFrame, again: pd.DataFrame | None) -> Floats:
    """Return 1 where the date moved when read again, 0 where not, NaN where that is unknown."""
    import numpy as np
    import pandas as pd

    if again is None:
        return np.full(len(dates), np.nan)
    later = entry_dates(checked_entries(again, argument="again"))
    later = later[later["start"].notna()].drop_duplicates("url", keep="last")
    second = dates["url"].map(pd.Series(later["start"].to_numpy(), index=later["url"]))
    first = dates["start"].to_numpy()
    found = np.where(second.to_numpy(dtype=np.float64) > first, 1.0, 0.0)
    found[np.isnan(first) | second.isna().to_numpy()] = np.nan
    return found


def _generation(entries: pd.DataFrame, dates: pd.DataFrame) -> dict[str | None, list[_Made]]:
    """Return the moments at which each file may have been made, best source first."""
    import pandas as pd

    made: dict[str | None, list[_Made]] = {}
    for file in entries.attrs.get("files", ()):
        asked = file.get("date")  # by the server's clock; by our own where it does not tell
        sources = (
            ("last_modified", file.get("last_modified")),
            ("index", file.get("sitemap_lastmod")),
            ("date", file.get("fetched_at") if asked is None else asked),
        )
        found = [
            _Made(source, float(moment))
            for source, moment in sources
            if isinstance(moment, int | float) and math.isfinite(moment)
        ]
        for key in dict.fromkeys((file.get("url"), file.get("final_url"))):
            made[key] = found
    if "sitemap_lastmod" in entries.columns:
        moments = pd.Series(seconds_of(entries["sitemap_lastmod"]), index=dates["sitemap"])
        for name, moment in moments.groupby(level=0).first().items():
            known = made.setdefault(str(name), [])
            if not any(each.source == "index" for each in known) and not math.isnan(moment):
                known.append(_Made("index", float(moment)))
    return made


def _shares(dates: pd.DataFrame) -> dict[str, Any]:
    """Return the counts and shares of some entries."""
    import numpy as np

    dated = dates[dates["start"].notna()]
    starts = dated["start"].to_numpy()
    count = len(starts)
    row: dict[str, Any] = {
        "entries": len(dates),
        "dated": count,
        "coverage": count / len(dates) if len(dates) else math.nan,
        "densest_60s": densest_share(starts, 60.0),
        "densest_1h": densest_share(starts, 3600.0),
        "densest_1d": densest_share(starts, DAY),
        "epoch": int(dates["is_epoch"].sum()),
        "future": 0,
    }
    if not count:
        return row
    values, counts = np.unique(starts, return_counts=True)
    row["modal_share"] = float(counts.max() / count)
    row["modal_value"] = float(values[counts.argmax()])
    row["distinct_share"] = len(values) / count
    row["first"], row["last"] = float(starts.min()), float(starts.max())
    row["day_share"] = float(dated["date_only"].mean())
    clock = np.round(starts % DAY) % DAY
    row["midnight_share"] = float((clock == 0).mean())
    times, often = np.unique(clock, return_counts=True)
    row["clock_time_share"] = float(often.max() / count)
    hour, rest = divmod(int(times[often.argmax()]), 3600)
    row["clock_time"] = f"{hour:02}:{rest // 60:02}:{rest % 60:02}"
    published = dated["published"].to_numpy()
    known = ~np.isnan(published)
    if known.any():
        gap = np.maximum(starts - published, published - (dated["end"].to_numpy() - 1))[known]
        row["published_share"] = float((gap <= 60).mean())
        row["published_1h"] = densest_share(published[known], 3600.0)
    moved = dated["moved"].to_numpy(dtype=np.float64)
    if not np.isnan(moved).all():
        row["moved_on_refetch"] = float(np.nanmean(moved))
    return row


def _file_row(
    dates: pd.DataFrame, made: list[_Made], limits: SpreadLimits
) -> tuple[dict[str, Any], npt.NDArray[np.bool_]]:
    """Return the row of one file, and which of its entries lie near its generation time."""
    import numpy as np

    row = _shares(dates)
    dated = dates["start"].notna().to_numpy()
    best = np.zeros(len(dates), dtype=bool)
    for source, moment in made:
        near = dated & (distance(dates, moment) <= _NEAR_SECONDS)
        if "generated_at" not in row or near.sum() > best.sum():
            best = near
            row |= {"generated_at": moment, "generated_by": source}
    if made and dated.any():
        row["near_generation"] = float(best[dated].mean())
    now = next((moment for source, moment in made if source == "date"), None)
    if now is not None:
        row["future"] = int((dates["start"].to_numpy() > now + DAY).sum())
    row["stamp"] = _stamp(row, dates, now, limits)
    row["finding"] = _file_finding(row, dates, limits)
    return row, best


def _stamp(
    row: dict[str, Any], dates: pd.DataFrame, now: float | None, limits: SpreadLimits
) -> str | None:
    """Return the kind of stamp that a file's dates are, or None."""
    import numpy as np

    if row.get("moved_on_refetch", 0.0) >= limits.stamped:
        return "stamp_request"
    # A day holds any hour, so days crowd where hours would.
    if not row["dated"] or row["densest_1h"] < limits.stamped:
        return None
    if row.get("near_generation", 0.0) >= limits.stamped:
        days = row["day_share"] > 0.5
        newest = float(np.nanmax(dates["start"].to_numpy()))
        per_request = not days and now is not None and abs(newest - now) <= _REQUEST_SECONDS
        return "stamp_request" if per_request else "stamp_generation"
    # Articles that came out at different hours were not all changed within one.
    if row.get("published_1h", 1.0) < limits.stamped / 2:
        return "stamp_generation"
    return None


def _file_finding(  # noqa: PLR0911 - one line for each finding
    row: dict[str, Any], dates: pd.DataFrame, limits: SpreadLimits
) -> str:
    """Return what there is to say about one file."""
    if row["entries"] and not row["coverage"] >= limits.absent:
        return "absent"
    if row["dated"] < limits.few:
        return "too_few"
    if row["stamp"] is not None:
        return str(row["stamp"])
    news = Counter(dates["kind"].dropna()).most_common(1) == [("news", len(dates))]
    if news or "published_1h" in row:
        # A page may well be as it was when it came out; not a file full of them.
        if row.get("published_share", 0.0) >= 0.98:
            return "frozen"
    elif row["densest_1d"] >= limits.bulk:
        return "bulk_event"
    if row["densest_1h"] >= limits.stamped:
        return "bulk_event"
    return "partial" if row["coverage"] < limits.partial else "ok"


def _site_finding(  # noqa: PLR0911 - one line for each finding
    site: dict[str, Any], files: list[dict[str, Any]], limits: SpreadLimits
) -> str:
    """Return what there is to say about all files together, each weighing what it holds."""
    if site["entries"] and not site["coverage"] >= limits.absent:
        return "absent"
    if site["dated"] < limits.few:
        return "too_few"
    if len(files) == 1:
        return str(files[0]["finding"])
    weights: Counter[str] = Counter()
    for row in files:
        stamp = row["stamp"] if row["dated"] >= _FEWEST_POOLED else None
        weights[stamp or row["finding"]] += row["dated"]
    share = {name: weight / site["dated"] for name, weight in weights.items()}
    stamps = share.get("stamp_generation", 0.0) + share.get("stamp_request", 0.0)
    if stamps >= limits.stamped:
        return max(("stamp_generation", "stamp_request"), key=lambda name: share.get(name, 0.0))
    for name in ("bulk_event", "frozen"):
        if share.get(name, 0.0) >= limits.bulk:
            return name
    if stamps + share.get("bulk_event", 0.0) + share.get("frozen", 0.0) > 1 - limits.stamped:
        return "mixed"
    if site["densest_1d"] >= limits.bulk and "published_1h" not in site:
        return "bulk_event"
    return "partial" if site["coverage"] < limits.partial else "ok"
