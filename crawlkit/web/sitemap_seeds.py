"""Seeds from sitemaps: their entries as rows, by time and by pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.web.patterns import compile_patterns
from crawlkit.web.seed_tables import SeedTable

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable
    from datetime import date, datetime, timedelta

    import pandas as pd

    from crawlkit.web.patterns import Patterns

__all__ = ["sitemap_table"]

_COLUMNS = {
    "lastmod_text": "str",
    "lastmod_granularity": "str",
    "kind": "str",
    "issues": "str",
}
_USED = ("loc", "lastmod", "sitemap", "scope", *_COLUMNS)


def sitemap_table(
    source: object,
    *,
    since: datetime | date | timedelta | None,
    verdict: object,
    undated: bool,
    include: str | re.Pattern[str] | Iterable[str | re.Pattern[str]],
    exclude: str | re.Pattern[str] | Iterable[str | re.Pattern[str]],
    other_hosts: bool,
    options: dict[str, Any],
) -> pd.DataFrame:
    """Read a source and return what `seeds_from_sitemap` promises."""
    wanted = compile_patterns(include, name="include")
    unwanted = compile_patterns(exclude, name="exclude")
    entries = _entries(source, options)
    changes = None
    if since is not None:
        entries = _changed(entries, since, verdict)
        changes = entries["change"].tolist()
    columns = {name: _values(entries, name) for name in _USED}
    table = SeedTable("sitemap", _COLUMNS)
    counts = {"unchanged": 0, "undated": 0, "excluded": 0}
    for number, loc in enumerate(columns["loc"]):
        row = {name: values[number] for name, values in columns.items()}
        if loc is None:
            table.refuse(row["sitemap"], row["issues"] or "no_loc", row["sitemap"])
            continue
        change = "changed" if changes is None else changes[number]
        if change == "unchanged" or (change == "undated" and not undated):
            counts[change] += 1
        elif row["scope"] == "other_host" and not other_hosts:
            table.refuse(loc, "other_host", row["sitemap"])
        elif not _passes(loc, wanted, unwanted):
            counts["excluded"] += 1
        else:
            table.add(
                loc,
                lastmod=row["lastmod"],
                found_in=row["sitemap"],
                **{name: row[name] for name in _COLUMNS},
            )
    files = entries.attrs.get("files", ())
    unread = entries.attrs.get("unread", {})
    note = None if since is None else entries.attrs.get("note")
    return table.frame(files=files, unread=unread, note=note, **counts)


def _changed(
    entries: pd.DataFrame, since: datetime | date | timedelta, verdict: object
) -> pd.DataFrame:
    from crawlkit.web.sitemaps import changed_since

    try:
        return changed_since(entries, since, verdict=verdict)
    except BadSetting as error:
        if error.name != "when":
            raise
        problem = str(error).removeprefix("when: ").partition(". ")[0]
        remedy = "Pass a datetime with a zone, a date, or a timedelta back from now."
        raise BadSetting("since", problem, remedy) from None


def _passes(loc: str, wanted: Patterns, unwanted: Patterns) -> bool:
    if wanted and wanted.matches(loc) is None:
        return False
    return not (unwanted and unwanted.matches(loc) is not None)


def _entries(source: object, options: dict[str, Any]) -> pd.DataFrame:
    if not hasattr(source, "columns"):
        from crawlkit.web.sitemaps import read_sitemaps

        return read_sitemaps(source, **options)
    if "loc" not in source.columns:
        raise BadSetting(
            "source",
            f"the table has the columns {list(source.columns)!r}",
            "Pass a table of read_sitemaps, with a column 'loc'.",
        )
    return source  # type: ignore[return-value]


def _values(entries: pd.DataFrame, name: str) -> list[Any]:
    """Return a column as a list in which what is missing is None."""
    if name not in entries.columns:
        return [None] * len(entries)
    column = entries[name]
    if name == "lastmod" and not hasattr(column, "dt"):  # a table that was a CSV file, say
        import pandas as pd

        column = pd.to_datetime(column, utc=True, errors="coerce", format="ISO8601")
    return [
        None if missing else value
        for value, missing in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]
