"""What a crawl cost and brought: bytes, requests, duplicates, refusals, by status and host.

A page is *useful* where it answers 200 with HTML, does not lack the markers that the crawl was told
to expect, and is the first with its text. *Duplicates before normalization*: had every spelling of
an address that stands in a link been fetched (``link_spellings``), the share of these pages whose
text another one has. *After*: that share among the pages that were fetched. A rate that stays high
after normalization says that the normalization misses something, or that the site repeats itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from crawlkit.audit.link_spellings import count_spellings
from crawlkit.audit.metrics_result import CrawlMetrics
from crawlkit.audit.site_pages import SitePages, host_of, pages_of, whole
from crawlkit.audit.table_columns import plain_values
from crawlkit.errors import BadSetting
from crawlkit.plots.rates import count_column, rolling_rate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CrawlMetrics", "crawl_metrics"]

WINDOW = 100
"""Pages over which the discovery rate is taken."""
_GIGABYTE = 1e9
_FETCHES = (
    "seq", "url", "host", "status", "error", "wire_bytes", "attempt", "new_urls", "known_urls",
    "frontier_size",
)  # fmt: skip

_MEANINGS = {
    "pages": "URLs asked for",
    "pages_by_canonical": "different pages with status 200, by their canonical or own key",
    "useful_pages": "200, HTML, with the expected markers, first with its text",
    "requests": "with redirects, retries and robots.txt",
    "requests_per_stored_page": "requests for each page with status 200",
    "retries": "requests that were repeated attempts",
    "bytes": "on the wire, of all requests",
    "bytes_per_useful_page": "bytes of all requests for each useful page",
    "cost": "price_per_gb times bytes, in GB of 1e9 bytes",
    "cost_per_useful_page": "cost for each useful page",
    "known_urls": "URLs known after the last page",
    "frontier_size": "URLs waiting after the last page",
    "frontier_peak": "the most URLs that waited at a time",
    "discovery_rate": f"new URLs per page, last {WINDOW} pages",
    "duplicate_rate_before": "share of spellings whose page another spelling or page shows",
    "duplicate_rate_after": "share of pages with status 200 whose text another page has",
    "expected_found": "share of pages in which the expected markers were found",
    "robots_refused": "URLs that robots.txt disallows or could not be asked about",
}
_HOSTS = {
    "host": "str",
    "pages": "int64",
    "ok": "int64",
    "redirects": "int64",
    "client_errors": "int64",
    "server_errors": "int64",
    "no_answer": "int64",
    "useful": "int64",
    "duplicates": "int64",
    "expected_missing": "int64",
    "requests": "Int64",
    "retries": "Int64",
    "bytes": "Int64",
    "robots_refused": "Int64",
}
_FRONTIER = {
    "page": "int64",
    "new_urls": "int64",
    "known_urls": "Int64",
    "frontier_size": "Int64",
    "discovery_rate": "float64",
}


def crawl_metrics(crawl: Any, price_per_gb: float | None = None) -> CrawlMetrics:
    """Return what a crawl cost and what it brought.

    Parameters
    ----------
    crawl
        A crawl, finished or running; or a mapping with the DataFrames ``pages`` (needed: ``url``),
        ``fetches``, ``links`` (``target href``) and ``urls`` (``state reason host``), or some.
    price_per_gb
        Price of a gigabyte (1e9 bytes) on the wire, in any currency.

    Returns
    -------
    CrawlMetrics
        ``.table .hosts .statuses .frontier .plot()``; ``metrics["useful_pages"]`` is one number.

    Raises
    ------
    BadSetting
        On anything that is no crawl, or a price that is none.

    Examples
    --------
    >>> from crawlkit import lab
    >>> metrics = crawl_metrics(lab.walk(["shop"], max_pages=200), price_per_gb=5)
    >>> metrics["pages"], metrics["useful_pages"], round(metrics["cost_per_useful_page"], 6)
    (200.0, 200.0, 9e-06)
    """
    if price_per_gb is not None and not (
        isinstance(price_per_gb, (int, float))
        and not isinstance(price_per_gb, bool)
        and math.isfinite(price_per_gb)
        and price_per_gb >= 0
    ):
        raise BadSetting("price_per_gb", f"{price_per_gb!r} is no price", "Pass 0 or more.")
    work = _Work(pages_of(crawl))
    return work.metrics(price_per_gb)


class _Work:
    """Counts along the pages, then along the other tables."""

    def __init__(self, site: SitePages) -> None:
        self.site = site
        self.skipped: dict[str, str] = {}
        self.values: dict[str, float] = dict.fromkeys(_MEANINGS, math.nan)
        self.by_host: dict[str, dict[str, int | None]] = {}

    def metrics(self, price: float | None) -> CrawlMetrics:
        import pandas as pd

        self._count_pages()
        frontier = self._count_fetches()
        self._count_refused()
        self._count_spellings()
        self._divide(price)
        columns = {"metric": "str", "value": "float64", "meaning": "str"}
        rows = [(name, self.values[name], text) for name, text in _MEANINGS.items()]
        table = pd.DataFrame(rows, columns=list(columns)).astype(columns)
        hosts = [
            {"host": host, **counts}
            for host, counts in sorted(
                self.by_host.items(), key=lambda item: (-(item[1]["pages"] or 0), item[0])
            )
        ]
        return CrawlMetrics(
            table=table,
            hosts=pd.DataFrame(hosts, columns=list(_HOSTS)).astype(_HOSTS),
            statuses=self._statuses(),
            frontier=frontier,
            skipped=self.skipped,
        )

    # -- pages -----------------------------------------------------------------------------

    def _host(self, name: str | None) -> dict[str, int | None]:
        """Return the counts of a host, which are 0, or null where no table tells."""
        if name is None:
            name = "no host"
        if name not in self.by_host:
            plain: dict[str, int | None] = {}
            for column, kind in _HOSTS.items():
                if column != "host":
                    plain[column] = 0 if kind == "int64" else None
            self.by_host[name] = plain
        return self.by_host[name]

    def _add(self, host: str | None, column: str, count: int = 1) -> None:
        counts = self._host(host)
        counts[column] = (counts[column] or 0) + count

    def _count_pages(self) -> None:
        site = self.site
        texts: set[str] = set()
        canonicals: set[str] = set()
        stored = copies = useful = 0
        found = {True: 0, False: 0}
        for at in range(len(site)):
            host = site.hosts[at]
            self._add(host, "pages")
            status, expected = site["status"][at], site["expected_found"][at]
            self._add(host, _kind(status))
            if expected is not None:
                found[expected] += 1
                self._add(host, "expected_missing", int(not expected))
            if status != 200:
                continue
            stored += 1
            canonical = site["canonical"][at]
            canonicals.add(site["key"][at] if canonical is None else site.key(canonical))
            hashed = site["text_hash"][at]
            is_copy = hashed in texts
            if hashed is not None:
                texts.add(hashed)
            copies += is_copy
            self._add(host, "duplicates", int(is_copy))
            if site.is_page(at) and not is_copy and expected is not False:
                useful += 1
                self._add(host, "useful")
        self.stored, self.texts = stored, len(texts)
        self.values["pages"] = len(site)
        self._fill("pages.status", {"useful_pages": useful, "pages_by_canonical": len(canonicals)})
        self._fill("pages.text_hash", {"duplicate_rate_after": _ratio(copies, stored)})
        asked = found[True] + found[False]
        if asked:
            self.values["expected_found"] = found[True] / asked
        else:
            self.skipped["expected_found"] = "needs a crawl with expect="

    def _fill(self, needed: str, values: dict[str, float]) -> None:
        """Take numbers over, unless the column that they rest on is missing."""
        if needed in self.site.tables.missing:
            self.skipped |= dict.fromkeys(values, f"needs {needed}")
        else:
            self.values |= values

    def _statuses(self) -> pd.DataFrame:
        import pandas as pd

        site = self.site
        counts: dict[tuple[str | None, int | None, str | None], int] = {}
        for key in zip(site.hosts, site["status"], site["error"], strict=True):
            counts[key] = counts.get(key, 0) + 1
        rows = sorted(counts.items(), key=lambda item: (str(item[0][0]), -item[1], str(item[0])))
        kinds = {"host": "str", "status": "Int64", "error": "str", "pages": "int64"}
        made = [(*key, count) for key, count in rows]
        return pd.DataFrame(made, columns=list(kinds)).astype(kinds)

    # -- the other tables ------------------------------------------------------------------

    def _count_fetches(self) -> pd.DataFrame:
        import pandas as pd

        tables = self.site.tables
        empty = pd.DataFrame({name: [] for name in _FRONTIER}).astype(_FRONTIER)
        if not tables.has("fetches"):
            for name in ("requests", "retries", "bytes", "frontier_size", "discovery_rate"):
                self.skipped[name] = "needs the table 'fetches'"
            return empty
        fetches = tables.read("fetches", _FETCHES)
        if "fetches.seq" not in tables.missing:
            fetches["seq"] = count_column(fetches["seq"])
            fetches = fetches.sort_values("seq", kind="stable")
            fetches = fetches[~fetches["seq"].duplicated() | fetches["seq"].isna()]
        self.values["requests"] = len(fetches)
        sizes = [max(0, whole(value) or 0) for value in plain_values(fetches["wire_bytes"])]
        again = [(whole(value) or 1) > 1 for value in plain_values(fetches["attempt"])]
        self._fill("fetches.wire_bytes", {"bytes": float(sum(sizes))})
        self._fill("fetches.attempt", {"retries": float(sum(again))})
        for url, size, retry in zip(plain_values(fetches["url"]), sizes, again, strict=True):
            host = host_of(url) if isinstance(url, str) else None
            self._add(host, "requests")
            if "fetches.wire_bytes" not in tables.missing:
                self._add(host, "bytes", size)
            if "fetches.attempt" not in tables.missing:
                self._add(host, "retries", int(retry))
        if "fetches.new_urls" in tables.missing:
            self.skipped["discovery_rate"] = "needs fetches.new_urls"
            return empty
        return self._frontier(fetches)

    def _frontier(self, fetches: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        counted = ("new_urls", "known_urls", "frontier_size")
        fetches = fetches.assign(**{name: count_column(fetches[name]) for name in counted})
        rows = fetches[fetches["new_urls"].notna()].reset_index(drop=True)
        new: Any = rows["new_urls"].astype("float64").clip(lower=0)
        frame = pd.DataFrame(
            {
                "page": range(1, len(rows) + 1),
                "new_urls": new,
                "known_urls": rows["known_urls"],
                "frontier_size": rows["frontier_size"],
                "discovery_rate": rolling_rate(new.to_numpy(dtype="float64"), WINDOW)[0],
            },
            index=pd.RangeIndex(len(rows)),
        ).astype(_FRONTIER)
        if len(frame):
            self.values["discovery_rate"] = float(frame["discovery_rate"].iloc[-1])
            waits, known = frame["frontier_size"].dropna(), frame["known_urls"].dropna()
            if len(waits):
                self.values["frontier_size"] = float(waits.iloc[-1])
                self.values["frontier_peak"] = float(waits.max())
            if len(known):
                self.values["known_urls"] = float(known.iloc[-1])
        return frame

    def _count_refused(self) -> None:
        tables = self.site.tables
        if not tables.has("urls", "url", "reason"):
            self.skipped["robots_refused"] = "needs urls.reason"
            return
        urls = tables.read("urls", ("url", "reason"))
        refused = urls[urls["reason"].isin(["robots", "robots_unreachable"])]
        self.values["robots_refused"] = float(len(refused))
        for counts in self.by_host.values():
            counts["robots_refused"] = 0
        for url in plain_values(refused["url"]):
            if isinstance(url, str):
                self._add(host_of(url), "robots_refused")

    def _count_spellings(self) -> None:
        """Count the spellings of the addresses of stored pages, one piece of links at a time."""
        tables, site = self.site.tables, self.site
        if not tables.has("links", "target", "href") or "pages.text_hash" in tables.missing:
            self.skipped["duplicate_rate_before"] = "needs links.target, links.href, text_hash"
            return
        stored = {url for at, url in enumerate(site["url"]) if site["status"][at] == 200}
        spellings = count_spellings(tables, stored)
        # A page without a text is nobody's copy.
        textless = sum(
            text is None and site["status"][at] == 200 for at, text in enumerate(site["text_hash"])
        )
        copies = spellings - self.texts - textless
        self.values["duplicate_rate_before"] = _ratio(copies, spellings)

    def _divide(self, price: float | None) -> None:
        values = self.values
        values["requests_per_stored_page"] = _ratio(values["requests"], self.stored)
        values["bytes_per_useful_page"] = _ratio(values["bytes"], values["useful_pages"])
        if price is None:
            self.skipped["cost"] = "needs price_per_gb"
        else:
            values["cost"] = price * values["bytes"] / _GIGABYTE
            values["cost_per_useful_page"] = _ratio(values["cost"], values["useful_pages"])


def _kind(status: int | None) -> str:
    """Return the column of a status."""
    if status is None:
        return "no_answer"
    names = {2: "ok", 3: "redirects", 4: "client_errors", 5: "server_errors"}
    return names.get(status // 100, "no_answer")


def _ratio(part: float, whole_: float) -> float:
    return part / whole_ if whole_ else math.nan
