"""Coverage: what the sitemap lists, what pages link to, what a web archive knows, side by side.

Addresses are compared by key, so spellings that the crawl's rules merge are one row. A URL is
linked where another page leads to it by a link that a reader follows or by a redirect. A home page
without a link to it is no orphan: it is found by the name of its host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlkit.audit.link_pass import pass_links
from crawlkit.audit.site_pages import host_of, is_home, whole
from crawlkit.audit.table_columns import TableColumns, listed_urls, plain_values, url_key
from crawlkit.plots.rates import section_of
from crawlkit.reprs import format_number, frame_html

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["FINDINGS", "Coverage", "compare_coverage"]

FINDINGS = ("listed_and_linked", "orphan", "unlisted", "archive_only", "seed_only")
"""Where a URL is known from: sitemap and links; sitemap alone; links alone; the archive alone;
none of these."""

_COLUMNS = {
    "url": "str",
    "section": "str",
    "in_sitemap": "bool",
    "in_links": "bool",
    "in_archive": "boolean",
    "fetched": "bool",
    "status": "Int64",
    "state": "str",
    "depth": "Int64",
    "finding": "str",
}
_COUNTED = ("in_sitemap", "in_links", "in_archive", "fetched")


@dataclass(frozen=True, eq=False)
class Coverage:
    """Sitemap, links and archive against each other.

    Attributes
    ----------
    table
        One row per URL: ``url section`` (str), ``in_sitemap in_links`` (bool), ``in_archive``
        (boolean, null without an archive), ``fetched`` (bool), ``status`` (Int64), ``state`` (str,
        as in ``urls``; null where the crawl does not know the URL), ``depth`` (Int64) and
        ``finding`` (str, one of `FINDINGS`).
    sections
        One row per host and first folder, largest first: ``section`` (str), ``urls in_sitemap
        in_links`` (int64), ``in_archive`` (Int64, null without an archive), ``fetched ok`` (int64,
        ok: status 200) and one int64 column for each of `FINDINGS`.
    """

    table: pd.DataFrame
    sections: pd.DataFrame

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot the counts by section; see `crawlkit.plot_coverage`."""
        from crawlkit.plots.coverage import plot_coverage

        return plot_coverage(self, ax=ax)

    def __str__(self) -> str:
        counts = self.table["finding"].value_counts()
        there = [name for name in FINDINGS if name in counts]
        parts = [f"{format_number(int(counts[name]))} {name}" for name in there]
        return f"{format_number(len(self.table))} URLs: {', '.join(parts) or 'none'}"

    def __repr__(self) -> str:
        return f"<Coverage of {self}>"

    def _repr_html_(self) -> str:
        return frame_html(self.sections.set_index("section"), rows=20, title=f"Coverage: {self}")


def compare_coverage(crawl: Any, entries: Any, archive: Any = None) -> Coverage:
    """Compare what a sitemap lists with what a crawl found by links, and with a web archive.

    Parameters
    ----------
    crawl
        A crawl; or a mapping with the DataFrames ``pages`` (needed: ``url``) and ``links``
        (``source target``, better with ``kind``), better with ``urls`` (``url state depth``).
    entries
        The table of `read_sitemaps`, any with a column ``loc`` or ``url``, or URLs.
    archive
        The same of what an archive knows, such as the table of `seeds_from_archive`.

    Returns
    -------
    Coverage
        ``.table`` (a row per URL), ``.sections`` (counts), ``.plot()``.

    Raises
    ------
    BadSetting
        On an argument that is none of these.

    Examples
    --------
    >>> from crawlkit import lab
    >>> crawl = lab.walk(["shop"])
    >>> listed = ["http://lab.example/shop/", "http://lab.example/shop/forgotten"]
    >>> print(compare_coverage(crawl, listed))
    527 URLs: 1 listed_and_linked, 1 orphan, 525 unlisted
    """
    tables = TableColumns(crawl)
    work = _Work(tables)
    work.take_pages()
    work.take_urls()
    work.take_links()
    work.take_listed(listed_urls(entries, "entries"), "in_sitemap")
    if archive is not None:
        work.take_listed(listed_urls(archive, "archive"), "in_archive")
    table = work.table(with_archive=archive is not None)
    return Coverage(table, _sections(table))


class _Work:
    """One row per key, filled table by table."""

    def __init__(self, tables: TableColumns) -> None:
        self.tables = tables
        self.rows: dict[str, dict[str, Any]] = {}
        self.keys: dict[str, str] = {}
        self.hosts: set[str | None] = set()

    def _key(self, url: str) -> str:
        found = self.keys.get(url)
        return url_key(url, self.tables.rules) if found is None else found

    def _row(self, url: str, key: str) -> dict[str, Any]:
        found = self.rows.get(key)
        if found is None:
            found = self.rows[key] = dict.fromkeys(_COLUMNS) | {
                "url": url, "in_sitemap": False, "in_links": False, "in_archive": False,
                "fetched": False,
            }  # fmt: skip
        return found

    def take_pages(self) -> None:
        names = ("url", "key", "status", "depth")
        frame = self.tables.read("pages", names)
        for url, key, status, depth in _tuples(frame, names):
            own = key if isinstance(key, str) else url_key(url, self.tables.rules)
            self.keys[url] = own
            self.hosts.add(host_of(url))
            row = self._row(url, own)
            row.update(fetched=True, status=whole(status), depth=whole(depth), state="done")

    def take_urls(self) -> None:
        if not self.tables.has("urls", "url"):
            return
        names = ("url", "key", "state", "reason", "depth", "source")
        for url, key, state, reason, depth, source in _tuples(
            self.tables.read("urls", names), names
        ):
            if not isinstance(url, str) or (state == "excluded" and reason == "scope"):
                continue
            own = key if isinstance(key, str) else url_key(url, self.tables.rules)
            self.keys[url] = own
            self.hosts.add(host_of(url))
            row = self._row(url, own)
            if isinstance(state, str):
                row["state"] = state
            if row["depth"] is None:
                row["depth"] = whole(depth)
            # Where the links were not kept, this is what is left of them.
            row["in_links"] |= source in ("link", "redirect")

    def take_links(self) -> None:
        if not self.tables.has("links", "source", "target"):
            return
        for url in pass_links(self.tables).linked:
            key = self.keys.get(url)
            if key is None:
                if host_of(url) not in self.hosts or "urls" not in self.tables.missing:
                    continue  # out of the crawl's scope
                key = url_key(url, self.tables.rules)
            self._row(url, key)["in_links"] = True

    def take_listed(self, listed: list[tuple[str, str | None]], column: str) -> None:
        for url, _ in listed:
            self._row(url, self._key(url))[column] = True

    def table(self, *, with_archive: bool) -> pd.DataFrame:
        import pandas as pd

        for row in self.rows.values():
            row["section"] = section_of(row["url"])
            row["finding"] = _finding(row)
            if not with_archive:
                row["in_archive"] = None
        columns = {
            name: pd.Series([row[name] for row in self.rows.values()], dtype=kind)
            for name, kind in _COLUMNS.items()
        }
        frame = pd.DataFrame(columns)
        return frame.sort_values(["section", "url"], kind="stable", ignore_index=True)


def _finding(row: dict[str, Any]) -> str:
    found = row["in_links"] or is_home(row["url"])
    if row["in_sitemap"]:
        return "listed_and_linked" if found else "orphan"
    if found:
        return "unlisted"
    return "archive_only" if row["in_archive"] else "seed_only"


def _tuples(frame: pd.DataFrame, names: tuple[str, ...]) -> zip[tuple[Any, ...]]:
    return zip(*(plain_values(frame[name]) for name in names), strict=True)


def _sections(table: pd.DataFrame) -> pd.DataFrame:
    marks = table[list(_COUNTED)].astype("Int64")
    marks["ok"] = (table["status"] == 200).fillna(False).astype("Int64")  # noqa: FBT003
    for name in FINDINGS:
        marks[name] = (table["finding"] == name).astype("Int64")
    marks.insert(0, "urls", 1)
    counts = marks.groupby(table["section"], sort=False).sum(min_count=1)
    counts = counts.sort_values("urls", ascending=False, kind="stable").reset_index()
    kinds = {name: "Int64" if name == "in_archive" else "int64" for name in counts.columns[1:]}
    frame: pd.DataFrame = counts.astype({"section": "str", **kinds})
    return frame
