"""Makes ``data/lab_traps_*.parquet``: a crawl of the practice site with two traps, and a sitemap.

A finite site, the shop with every fault, search pages without end and a loop of relative links are
crawled breadth first, one page at a time, until 600 pages are asked for: most of what is finite is
done by then, and most of what waits is of the traps. Everything follows from the seed. The server's
address is replaced by a name that cannot exist (RFC 2606), what differs from run to run by what
does not: a request starts every second, and ``elapsed`` is rounded down to quarters of a second.

    python benchmarks/make_trap_crawl.py
    python benchmarks/make_trap_crawl.py --check      compare with data/, write nothing
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from make_data import DATA, write_set

import crawlkit as ck

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["trap_tables"]

NAME = "lab_traps"
SEED = 7
MAX_PAGES = 600
HOST = "lab-traps.example"
START = "2026-06-01T12:00:00Z"
COLUMNS = {
    "pages": (
        "url", "host", "depth", "found_on", "status", "error", "content_type", "size", "fetched_at",
        "elapsed", "redirected_to", "title", "lang", "words", "canonical", "canonicals", "robots",
        "indexable", "hreflang", "text_hash", "links_found", "new_urls", "seq",
    ),
    "links": (
        "source", "target", "href", "position", "region", "text", "rel", "kind", "internal", "new",
    ),
    "fetches": (
        "seq", "url", "host", "started_at", "elapsed", "status", "error", "wire_bytes", "attempt",
        "new_urls", "known_urls", "frontier_size",
    ),
    "urls": ("url", "host", "depth", "state", "reason", "found_on", "found_seq", "source"),
    "entries": ("loc", "lastmod", "lastmod_text", "sitemap"),
}  # fmt: skip
FACTS = {
    "what": "A crawl that stopped at 600 pages: a finite site, a shop with faults, and two traps, "
    "search pages without end and a loop of relative links; entries are what its sitemap lists; "
    "no text of any page",
    "origin": f"The practice site that comes with crawlkit, sections finite, faulty, searches and "
    f"loop, seed {SEED}; made by benchmarks/make_trap_crawl.py. No page of anybody's site.",
    "license": "The tables: MIT, as crawlkit.",
}


def trap_tables() -> dict[str, pd.DataFrame]:
    """Crawl the practice site; return its tables under a name of their own."""
    finite = ck.lab.Finite(pages=250, parts=("catalog", "manual"))
    sections: list[str | ck.lab.Section] = [finite, ck.lab.Faulty(), "searches", "loop"]
    with ck.lab.serve(sections, seed=SEED) as site, tempfile.TemporaryDirectory() as folder:
        crawl = ck.crawl(
            site.url, folder, delay=0, workers=1, max_pages=MAX_PAGES, keep_bodies=False,
            progress=False,
        )  # fmt: skip
        if crawl.stop_reason != "max_pages":
            raise SystemExit(f"the crawl ended otherwise: {crawl.stop_reason}")
        made = {name: getattr(crawl, name) for name in COLUMNS if name != "entries"}
        made["entries"] = ck.read_sitemaps(site.url, delay=0, progress=False)
        base = site.url
    orders = {"pages": "seq", "fetches": "seq", "urls": "found_seq"}
    asked = {url: at for at, url in enumerate(made["pages"].sort_values("seq")["url"])}
    links = made["links"].assign(asked=made["links"]["source"].map(asked))
    made["links"] = links.sort_values(["asked", "position"], kind="stable")
    for name, column in orders.items():
        made[name] = made[name].sort_values(column, kind="stable")
    return {
        name: _same_everywhere(frame[list(COLUMNS[name])].reset_index(drop=True), base)
        for name, frame in made.items()
    }


def _same_everywhere(frame: pd.DataFrame, base: str) -> pd.DataFrame:
    """Replace what tells where and when a table was made."""
    import pandas as pd

    frame = frame.copy()
    frame.attrs = {}
    for column in frame.columns:
        if frame[column].dtype == object:
            frame[column] = frame[column].map(lambda cell: _renamed(cell, base))
        elif pd.api.types.is_string_dtype(frame[column]):
            frame[column] = frame[column].str.replace(base, f"http://{HOST}/", regex=False)
    if "host" in frame:
        frame["host"] = frame["host"].replace(base.split("/")[2], HOST)
    if "elapsed" in frame:
        frame["elapsed"] = frame["elapsed"] // 0.25 * 0.25
    for column in ("fetched_at", "started_at"):
        if column in frame:
            times = pd.Timestamp(START) + pd.to_timedelta(frame["seq"].astype("int64"), unit="s")
            frame[column] = times.astype("datetime64[us, UTC]")
    return frame


def _renamed(cell: Any, base: str) -> Any:
    """Replace the server's address in a cell that holds texts or pairs of texts."""
    if isinstance(cell, str):
        return cell.replace(base, f"http://{HOST}/")
    if isinstance(cell, dict):
        return {name: _renamed(value, base) for name, value in cell.items()}
    return [_renamed(each, base) for each in cell] if hasattr(cell, "__iter__") else cell


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and leave data/ as it is")
    check = parser.parse_args().check
    tables = trap_tables()
    if check:
        old = ck.load_data(NAME).tables
        same = all(_as_text(old[name]) == _as_text(frame) for name, frame in tables.items())
        print(f"{NAME}: {'the same' if same else 'DIFFERENT'}")
        return 0 if same else 1
    write_set(DATA, NAME, FACTS, tables)
    counts = ", ".join(f"{len(frame):,} {name}" for name, frame in tables.items())
    size = sum(path.stat().st_size for path in DATA.glob(f"{NAME}_*"))
    print(f"{NAME}: {counts}, {size / 1e3:,.0f} kB")
    return 0


def _as_text(frame: pd.DataFrame) -> str:
    """Return a table as text; cells may hold lists, which cannot be compared as they are."""
    import pandas as pd

    def plain(cell: Any) -> Any:
        return list(cell) if hasattr(cell, "__iter__") and not isinstance(cell, str) else cell

    columns = {name: frame[name].map(plain) for name in frame.columns}
    return pd.DataFrame(columns).to_json(orient="split", date_format="iso")


if __name__ == "__main__":
    sys.exit(main())
