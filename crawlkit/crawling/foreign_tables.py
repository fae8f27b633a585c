"""The tables of a crawl that another tool made: filled row by row, honest about what is not known.

A page that is there twice counts once, by its last row. What a tool does not record is null in the
tables and named in ``lacks``; analyses are handed only the columns that are known, so that they
skip, by name, what rests on the others, instead of finding nothing wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.crawling.schema import COLUMNS, arrow_schema, empty_frame, to_frame
from crawlkit.reprs import facts_html, plain_text
from crawlkit.web.fingerprint import clean_text
from crawlkit.web.urls import Address, LinkResolver, Refusal, url_hash

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ForeignTables", "LinkRow", "TableMaker"]

_TABLES = ("pages", "links", "fetches", "urls")
_MOST_PROBLEMS = 10_000
_SHOWN = 300


class ForeignTables(Mapping[str, Any]):
    """Tables of a crawl made with another tool; every analysis takes them.

    As a mapping it holds the tables and columns that are known, which is what analyses read. The
    attributes are the same tables with all columns, null where nothing is known.

    Attributes
    ----------
    pages, links, fetches, urls : DataFrame
        As those of a :class:`crawlkit.Crawl`, with the same columns and dtypes.
    lacks : dict
        ``table.column``, or ``table`` alone -> why it is not known.
    problems : DataFrame
        What could not be used: ``reason`` (str), ``row`` (Int64, line or item, from 1) and
        ``detail`` (str); at most 10,000 rows.
    problem_counts : dict
        Reason -> how often, all counted.
    source : str
        The tool.

    Examples
    --------
    >>> maker = TableMaker("another tool")
    >>> maker.tells("pages", "status")
    >>> maker.page("https://example.com/", {"status": 200})
    'https://example.com/'
    >>> tables = maker.tables()
    >>> list(tables), tables["pages"].columns.tolist(), len(tables.pages.columns) > 30
    (['pages', 'urls'], ['url', 'key', 'url_hash', 'host', 'status'], True)
    """

    def __init__(
        self,
        source: str,
        frames: Mapping[str, pd.DataFrame],
        *,
        lacks: Mapping[str, str],
        problems: pd.DataFrame,
        problem_counts: Mapping[str, int],
    ) -> None:
        self.source = source
        self.lacks = dict(lacks)
        self.problems = problems
        self.problem_counts = dict(problem_counts)
        self._all = {
            name: frames[name] if name in frames else empty_frame(name) for name in _TABLES
        }
        self._known = {
            name: frame[[each for each in frame.columns if f"{name}.{each}" not in self.lacks]]
            for name, frame in frames.items()
            if name not in self.lacks
        }

    @property
    def pages(self) -> pd.DataFrame:
        """One row per page."""
        return self._all["pages"]

    @property
    def links(self) -> pd.DataFrame:
        """One row per link; empty where the source has none."""
        return self._all["links"]

    @property
    def fetches(self) -> pd.DataFrame:
        """One row per page in the order of the fetches; empty where that is not known."""
        return self._all["fetches"]

    @property
    def urls(self) -> pd.DataFrame:
        """One row per URL, with its state."""
        return self._all["urls"]

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(frame):,} {name}" for name, frame in self._known.items())
        told = ", ".join(f"{count:,} {reason}" for reason, count in self.problem_counts.items())
        unused = f"; not used: {told}" if told else ""
        return f"<ForeignTables of {plain_text(self.source)}: {sizes}{unused}>"

    def _repr_html_(self) -> str:
        facts: list[tuple[str, object]] = [
            (name, f"{len(frame):,}") for name, frame in self._known.items()
        ]
        told = (f"{count:,} {reason}" for reason, count in self.problem_counts.items())
        facts.append(("not used", ", ".join(told)))
        reasons: dict[str, list[str]] = {}
        for name, why in self.lacks.items():
            reasons.setdefault(why, []).append(name)
        notes = [f"Not known: {', '.join(names)} ({why})." for why, names in reasons.items()]
        return facts_html(f"Crawl of {self.source}", facts, notes)


class LinkRow(NamedTuple):
    """A link of a page: where it leads, and what is known of it."""

    target: Address
    href: str | None = None
    region: str | None = None
    text: str | None = None
    rel: str | None = None
    kind: str = "anchor"


class TableMaker:
    """Fills the tables.

    Parameters
    ----------
    source
        The tool.
    ordered
        Whether pages come in the order of their fetches, each with its links: then it is known
        which URLs were new on which page.
    """

    def __init__(self, source: str, *, ordered: bool = False) -> None:
        self.source = source
        self._ordered = ordered
        self._resolver = LinkResolver()
        self._pages: dict[str, dict[str, Any]] = {}
        self._links: dict[str, list[LinkRow]] = {}
        self._aside: dict[str, tuple[Address, str]] = {}
        self._told = {
            "pages": {"url", "key", "url_hash", "host"},
            "links": set[str](),
            "fetches": set[str](),
            "urls": {"url", "key", "url_hash", "host", "state", "reason"},
        }
        self._whys: dict[str, str] = {}
        self._problems: list[tuple[str, int | None, str]] = []
        self._counts: dict[str, int] = {}

    def tells(self, table: str, *columns: str) -> None:
        """Note that the source knows some columns, also where they are null."""
        self._told[table].update(columns)

    def lacks(self, name: str, why: str) -> None:
        """Say why a column is not known."""
        self._whys[name] = why

    def problem(self, reason: str, row: int | None, detail: object) -> None:
        """Note something that cannot be used."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append((reason, row, clean_text(str(detail)[:_SHOWN])))

    def address(self, url: Any, base: str | None = None) -> Address | None:
        """Return an address as crawls have it, or None for what is none."""
        found = self._resolver.resolve(url, base) if isinstance(url, str) else None
        return found if isinstance(found, Address) else None

    def page(self, url: Any, facts: Mapping[str, Any], *, row: int | None = None) -> str | None:
        """Add a page; return its URL, or None where it has none that can be asked for."""
        found = self._resolver.resolve(url.strip()) if isinstance(url, str) else None
        if found is None or isinstance(found, Refusal):
            reason = "no_url" if found is None or not str(url).strip() else found.reason
            self.problem(reason, row, url)
            return None
        if found.url in self._pages:
            self.problem("duplicate_row", row, found.url)
            self._pages.pop(found.url)
            self._links.pop(found.url, None)
        self._pages[found.url] = {
            **facts,
            "url": found.url,
            "key": found.key,
            "url_hash": url_hash(found.key),
            "host": found.host,
        }
        return found.url

    def set_aside(self, url: Any, reason: str, *, row: int | None = None) -> None:
        """Note a URL that the tool knew and did not ask for."""
        address = self.address(url)
        if address is None:
            self.problem("no_url", row, url)
        else:
            self._aside[address.url] = (address, reason)

    def link(self, source: str, link: LinkRow) -> None:
        """Add a link of a page."""
        self._links.setdefault(source, []).append(link)

    # -- the result ------------------------------------------------------------------------

    def tables(self) -> ForeignTables:
        """Return what was collected."""
        import pandas as pd

        for page in self._pages.values():
            if "links_found" not in page and "source" in self._told["links"]:
                page["links_found"] = len(self._links.get(page["url"], ()))
        if "source" in self._told["links"]:
            self.tells("pages", "links_found")
        rows = {"links": self._link_rows(), "urls": self._url_rows(), "fetches": self._fetch_rows()}
        frames = {"pages": _frame("pages", list(self._pages.values()))}
        frames |= {name: _frame(name, made) for name, made in rows.items()}
        reasons, numbers, details = (
            zip(*self._problems, strict=True) if self._problems else ([],) * 3
        )
        problems = pd.DataFrame(
            {
                "reason": pd.Series(reasons, dtype="str"),
                "row": pd.Series(numbers, dtype="Int64"),
                "detail": pd.Series(details, dtype="str"),
            }
        )
        return ForeignTables(
            self.source,
            frames,
            lacks=self._all_lacks(),
            problems=problems,
            problem_counts=self._counts,
        )

    def _all_lacks(self) -> dict[str, str]:
        lacks = {}
        usual = f"{self.source} does not tell"
        for table in _TABLES:
            told = self._told[table]
            if not told:
                lacks[table] = self._whys.get(table, usual)
                continue
            for name in COLUMNS[table]:
                if name not in told:
                    lacks[f"{table}.{name}"] = self._whys.get(f"{table}.{name}", usual)
        return lacks

    def _link_rows(self) -> list[dict[str, Any]]:
        hosts = {page["host"] for page in self._pages.values()}
        if self._told["links"]:
            self.tells("links", "source", "target", "position", "internal")
            self._tell_order()
        known: set[str] = set()
        rows = []
        sources = [*self._pages, *(url for url in self._links if url not in self._pages)]
        for source in sources:
            known.add(source)
            new = 0
            for position, link in enumerate(self._links.get(source, ())):
                target = link.target
                internal = target.host in hosts
                is_new = internal and target.url not in known
                if is_new:
                    known.add(target.url)
                    new += 1
                rows.append(
                    {
                        "source": source,
                        "target": target.url,
                        "href": link.href,
                        "position": position,
                        "region": link.region,
                        "text": link.text,
                        "rel": link.rel,
                        "kind": link.kind,
                        "internal": internal,
                        "new": is_new if self._ordered else None,
                    }
                )
            if self._ordered and source in self._pages and self._told["links"]:
                self._pages[source].update(new_urls=new, _known=len(known))
        return rows

    def _tell_order(self) -> None:
        if not self._ordered:
            return
        self.tells("links", "new")
        self.tells("pages", "new_urls", "seq")
        self.tells("fetches", "seq", "url", "host", "status", "new_urls", "known_urls")
        self.tells("fetches", "frontier_size")
        self.tells("urls", "found_on", "found_seq")
        for name in ("started_at", "elapsed", "error"):
            if {"started_at": "fetched_at"}.get(name, name) in self._told["pages"]:
                self.tells("fetches", name)

    def _fetch_rows(self) -> list[dict[str, Any]]:
        """Take the pages, in their order, for the requests; redirects and retries are not told."""
        rows: list[dict[str, Any]] = []
        if not (self._ordered and self._told["links"]):
            return rows
        for seq, page in enumerate(self._pages.values()):
            page["seq"] = seq
            known = page.pop("_known")
            kept = {name: page.get(name) for name in ("url", "host", "elapsed", "status", "error")}
            rows.append(
                {
                    **kept,
                    "seq": seq,
                    "started_at": page.get("fetched_at"),
                    "new_urls": page["new_urls"],
                    "known_urls": known,
                    "frontier_size": known - seq - 1,
                }
            )
        # Pages that no link leads to are known from the start: the frontier is never negative.
        shift = max([0, *(-row["frontier_size"] for row in rows)])
        for row in rows:
            row["frontier_size"] += shift
            row["known_urls"] += shift
        return rows

    def _url_rows(self) -> list[dict[str, Any]]:
        """Return every URL once: pages, what was set aside, and targets that have no page."""
        hosts = {page["host"] for page in self._pages.values()}
        rows: dict[str, dict[str, Any]] = {}
        for url, page in self._pages.items():
            failed = page.get("error") is not None and page.get("status") is None
            state = "failed" if failed else "done"
            self._enter(rows, Address(url, page["key"], page["host"]), None, state)
            rows[url]["depth"] = page.get("depth")
            for link in self._links.get(url, ()):
                internal = link.target.host in hosts
                state = "pending" if internal else "excluded"
                self._enter(rows, link.target, url, state, None if internal else "scope")
        for address, reason in self._aside.values():
            self._enter(rows, address, None, "excluded", reason)
            if address.url not in self._pages:
                rows[address.url].update(state="excluded", reason=reason)
        for source, links in self._links.items():
            for link in links if source not in self._pages else ():
                internal = link.target.host in hosts
                state = "pending" if internal else "excluded"
                self._enter(rows, link.target, source, state, None if internal else "scope")
        return list(rows.values())

    def _enter(
        self,
        rows: dict[str, dict[str, Any]],
        address: Address,
        found_on: str | None,
        state: str,
        reason: str | None = None,
    ) -> None:
        row = rows.get(address.url)
        if row is not None:
            if state in ("done", "failed"):
                row.update(state=state, reason=None)
            return
        rows[address.url] = {
            "url": address.url,
            "key": address.key,
            "url_hash": url_hash(address.key),
            "host": address.host,
            "state": state,
            "reason": reason,
            "found_on": found_on if self._ordered else None,
            "found_seq": len(rows) if self._ordered else None,
        }


def _frame(table: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a table with the documented columns and dtypes."""
    import pyarrow as pa

    schema = arrow_schema(table)
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return to_frame(table, pa.Table.from_arrays(arrays, schema=schema))
