"""Which entries of a sitemap changed since some moment, and on whose word."""

from __future__ import annotations

import warnings
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LastmodWarning", "changed_since"]

#: The four verdicts of an audit, in plain words.
_WORDS = {
    "trust": "lastmod was seen to move when the content did",
    "provisional": "lastmod passed a first audit; it was not yet watched over time",
    "undecided": "an audit could not tell whether lastmod is true",
    "distrust": "an audit found that lastmod does not tell when pages change",
}
_SECONDS = {"day": 86_400, "minute": 60, "second": 1}
_ENOUGH = 20
_ONE_MOMENT = 3_600.0


class LastmodWarning(UserWarning):
    """The answer of `changed_since` rests on a lastmod that looks false."""


def changed_since(
    entries: pd.DataFrame, when: datetime | date | timedelta, *, verdict: Any = None
) -> pd.DataFrame:
    """Tell entries apart by whether they changed since some moment, by what `lastmod` says.

    A lastmod is an interval: a date without a time is a whole day, ``2024-05`` a whole month. An
    entry counts as changed if its interval reaches beyond `when`, so a date-only lastmod on the
    day of `when` (in UTC) does.

    Parameters
    ----------
    entries
        A table of `read_sitemaps`, or any with a column `lastmod` of times in UTC and, if there
        are others than seconds, `lastmod_granularity`.
    when
        A datetime with a zone, a date (its first moment in UTC), or a timedelta back from now.
    verdict
        What an audit found: a `LastmodAudit`, or ``"trust"``, ``"provisional"``, ``"undecided"``,
        ``"distrust"``. It changes no row, only what is said of them.

    Returns
    -------
    pandas.DataFrame
        The entries with one more column `change` (str): ``changed``, ``undated`` (no lastmod that
        can be read: perhaps changed) or ``unchanged``; null in the rows that tell of files. What is
        asked for again should be the first two. ``.attrs["note"]`` says in words on whose word,
        ``.attrs["verdict"]`` has the verdict or None, ``.attrs["changed_since"]`` the moment in
        ISO format.

    Raises
    ------
    BadSetting
        If `when` has no zone or is no time, `entries` is no such table, or `verdict` is unknown.

    Warns
    -----
    LastmodWarning
        If the audit said ``distrust``, of all or of a file, or if every one of 20 dated entries or
        more counts as changed and all their lastmod lie within one hour: the moment at which the
        file was made, most likely, and not those at which pages changed.

    Examples
    --------
    >>> import pandas as pd
    >>> from datetime import datetime, timezone
    >>> entries = pd.DataFrame({
    ...     "loc": ["https://example.com/a", "https://example.com/b", "https://example.com/c"],
    ...     "lastmod": pd.to_datetime(["2024-05-17", "2024-05-16", None], utc=True),
    ...     "lastmod_granularity": ["day", "day", None],
    ... })
    >>> noon = datetime(2024, 5, 17, 12, tzinfo=timezone.utc)
    >>> changed_since(entries, noon)["change"].tolist()
    ['changed', 'unchanged', 'undated']
    """
    import numpy as np
    import pandas as pd

    moment = _moment(when)
    word = _verdict(verdict)
    lastmod = _lastmod(entries)
    ends = _ends(entries, lastmod)
    change = np.where(lastmod.isna(), "undated", np.where(ends > moment, "changed", "unchanged"))
    result = entries.copy(deep=False)
    column = pd.Series(change, index=entries.index, dtype="str")
    if "loc" in entries.columns:
        column = column.mask(entries["loc"].isna())
    result["change"] = column
    dated = lastmod[(column == "changed") | (column == "unchanged")]
    everything = len(dated) > 0 and bool((column != "unchanged").all())
    by_file = _by_file(entries, verdict)
    notes = [_word_note(word, by_file)]
    stamped = None
    if everything:
        spread = (dated.max() - dated.min()).total_seconds()
        stamped = _everything_note(len(dated), spread)
        notes.append(stamped)
        if len(dated) < _ENOUGH or spread > _ONE_MOMENT:
            stamped = None
    result.attrs["note"] = " ".join(notes)
    result.attrs["verdict"] = word
    result.attrs["changed_since"] = moment.isoformat()
    if stamped is not None or word == "distrust" or "distrust" in by_file:
        warnings.warn(result.attrs["note"], LastmodWarning, stacklevel=2)
    return result


def _by_file(entries: pd.DataFrame, verdict: Any) -> dict[str, int]:
    """Return how many entries are in files of which verdict, where an audit tells files apart."""
    verdict_of = getattr(verdict, "verdict_of", None)
    if not callable(verdict_of) or "sitemap" not in entries.columns:
        return {}
    counts: dict[str, int] = {}
    for sitemap, count in entries["sitemap"].value_counts().items():
        word = verdict_of(sitemap)
        counts[word] = counts.get(word, 0) + count
    return counts if len(counts) > 1 else {}


def _word_note(word: str | None, by_file: dict[str, int]) -> str:
    if word is None:
        return "On the sitemap's own word: its lastmod was not audited."
    if by_file:
        counts = ", ".join(f"{word} for {by_file[word]:,} entries" for word in sorted(by_file))
        return f"On the word of an audit, which judges files differently: {counts}."
    return f"On the word of an audit with the verdict {word}: {_WORDS[word]}."


def _everything_note(count: int, spread: float) -> str:
    said = f"All {count:,} dated entries count as changed, so nothing was told apart"
    if count > 1 and spread <= _ONE_MOMENT:
        return (
            f"{said}; their lastmod lie within {spread:,.0f} s of each other, which looks like the "
            "moment at which the file was made."
        )
    return f"{said}."


def _moment(when: Any) -> datetime:
    remedy = "Pass a datetime with a zone, such as datetime(2024, 5, 17, tzinfo=timezone.utc)."
    if isinstance(when, timedelta):
        if when < timedelta(0):
            raise BadSetting("when", "it lies in the future", "Pass a timedelta above 0.")
        try:
            return datetime.now(UTC) - when
        except OverflowError:
            raise BadSetting("when", "it lies before the year 1", "Pass a shorter time.") from None
    if isinstance(when, datetime):
        if when != when:  # noqa: PLR0124 - pandas.NaT
            raise BadSetting("when", "it is missing", remedy)
        if when.tzinfo is None:
            raise BadSetting("when", f"{when.isoformat()} has no zone", remedy)
        return when.astimezone(UTC)
    if isinstance(when, date):
        return datetime(when.year, when.month, when.day, tzinfo=UTC)
    raise BadSetting("when", f"{when!r} is no time", remedy)


def _verdict(verdict: Any) -> str | None:
    word = getattr(verdict, "verdict", verdict)
    if word is None or word in _WORDS:
        return None if word is None else str(word)
    raise BadSetting("verdict", f"{word!r} is none", f"Pass an audit, or one of {list(_WORDS)}.")


def _lastmod(entries: Any) -> pd.Series[Any]:
    import pandas as pd

    remedy = "Pass a table of read_sitemaps, or convert: pd.to_datetime(lastmod, utc=True)."
    if not isinstance(entries, pd.DataFrame) or "lastmod" not in entries.columns:
        raise BadSetting("entries", "it has no column 'lastmod'", remedy)
    lastmod = entries["lastmod"]
    if not isinstance(lastmod.dtype, pd.DatetimeTZDtype):
        if lastmod.isna().all():
            return pd.Series(pd.NaT, index=entries.index, dtype="datetime64[us, UTC]")
        raise BadSetting("entries", f"lastmod is {lastmod.dtype}, not times with a zone", remedy)
    return lastmod


def _ends(entries: pd.DataFrame, lastmod: pd.Series[Any]) -> pd.Series[Any]:
    """Return the first moment after each interval."""
    import pandas as pd

    if "lastmod_granularity" not in entries.columns:
        return lastmod + pd.Timedelta(seconds=1)
    parts = entries["lastmod_granularity"]
    seconds = parts.map(_SECONDS).fillna(1.0)
    ends = lastmod + pd.to_timedelta(seconds, unit="s").astype("timedelta64[us]")
    for part, unit in (("month", "M"), ("year", "Y")):
        rows = (parts == part) & lastmod.notna()
        if rows.any():
            starts = lastmod[rows].dt.tz_localize(None).to_numpy().astype(f"datetime64[{unit}]")
            after = (starts + 1).astype("datetime64[us]")
            ends[rows] = pd.Series(after, index=lastmod.index[rows]).dt.tz_localize("UTC")
    return ends
