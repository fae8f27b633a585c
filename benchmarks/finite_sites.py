"""Whether find_traps stays silent on real, finite sites.

Six Debian documentation packages are served by nginx and crawled to their end by `ck.crawl`; the
tables are then looked at as they were after every tenth of the crawl, and at the end. Crawls are
kept in ``out/finite`` and taken from there the next time.

    python benchmarks/finite_sites.py
    python benchmarks/finite_sites.py git handbook
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from sites import OUT, SITES, Site, serve

import crawlkit as ck

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["as_of", "crawl_site"]

SITES["git"] = Site("git-doc", "usr/share/doc/git", "html/index.html")
SITES["handbook"] = Site(
    "debian-handbook", "usr/share/doc/debian-handbook/html", "en-US/index.html"
)
CHOSEN = ("python", "sqlite", "git", "handbook", "pg", "jdk")
LOOKS = 10


def crawl_site(name: str) -> ck.Crawl:
    """Return the crawl of a site to its end."""
    folder: Path = OUT / "finite" / name
    if folder.exists():
        crawl = ck.open_crawl(folder)
        if crawl.finished:
            return crawl
    folder.parent.mkdir(parents=True, exist_ok=True)
    with serve(name) as base:
        return ck.crawl(
            base + SITES[name].start, folder, delay=0, max_pages=200_000, max_depth=None,
            keep_bodies=True, progress=False,
        )  # fmt: skip


def as_of(tables: dict[str, pd.DataFrame], pages: int) -> dict[str, pd.DataFrame]:
    """Return the tables as they were after that many pages."""
    fetched = tables["pages"].sort_values("seq").head(pages)
    there = set(fetched["url"])
    urls = tables["urls"]
    urls = urls[urls["found_on"].isna() | urls["found_on"].isin(there)].copy()
    waits = ~urls["url"].isin(there) & ~urls["state"].isin(["excluded"])
    urls.loc[waits, "state"] = "pending"
    return {"pages": fetched, "urls": urls}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", nargs="*", metavar="site", help=f"of {sorted(SITES)}")
    failed = 0
    for name in parser.parse_args().sites or CHOSEN:
        crawl = crawl_site(name)
        tables = {"pages": crawl.pages, "urls": crawl.urls}
        count = len(tables["pages"])
        alarms = 0
        began = time.process_time()
        for look in range(1, LOOKS + 1):
            at = count * look // LOOKS
            last = look == LOOKS
            traps = ck.find_traps(crawl if last else as_of(tables, at))
            alarms += bool(len(traps))
            failed += last and bool(len(traps))
            for row in traps.itertuples():
                print(f"  {name}, page {at:,}: {row.kind} {row.pattern} {row.exclude} "
                      f"({row.pages} pages, {row.pending} pending): {row.evidence}")  # fmt: skip
        seconds = time.process_time() - began
        size = ck.estimate_size(as_of(tables, count // 3))
        print(f"{name}: {count:,} pages, {alarms} of {LOOKS} looks with a row, {seconds:.1f} s of "
              f"CPU; at a third, estimate_size says {size}", flush=True)  # fmt: skip
    print("FAIL" if failed else "PASS: no row at the end of any site")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
