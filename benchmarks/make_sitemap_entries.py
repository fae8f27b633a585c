"""Makes ``data/sitemap_entries_*.parquet``: sitemap entries of three kinds, with what is true.

The practice site serves its living section three times, once for each kind; `read_sitemaps` reads
it. Everything follows from the seed and from the site's own clock. The server's address is replaced
by a name that cannot exist (RFC 2606), and what differs from run to run (when it was asked, how
long it took) by the site's own time and by 0.

    python benchmarks/make_sitemap_entries.py
    python benchmarks/make_sitemap_entries.py --check      compare with data/, write nothing
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from make_data import DATA, write_set

import crawlkit as ck

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["entries_of"]

NAME = "sitemap_entries"
SEED = 6
CASES = {"stamped": "news_stamps", "absent": "undated_archive", "honest": "truthful"}
HOSTS = {"stamped": "news.example", "absent": "archive.example", "honest": "magazine.example"}
COLUMNS = [
    "loc", "lastmod", "lastmod_text", "lastmod_granularity", "sitemap", "kind", "publication_date",
]  # fmt: skip
FACTS = {
    "what": "Entries of three sitemaps as read_sitemaps returns them: stamped (each lastmod is "
    "the moment at which the file was made), absent (none has a lastmod), honest (lastmod moves "
    "with the text); changed_at is when the page truly changed last",
    "origin": "The practice site that comes with crawlkit, section living, seed 6, at its own "
    "time of June 2025; made by benchmarks/make_sitemap_entries.py. No page of anybody's site.",
    "license": "The tables: MIT, as crawlkit.",
}


def entries_of(kind: str) -> pd.DataFrame:
    """Return the entries of one kind, under a name of their own, with the truth beside them."""
    living = ck.lab.Living(case=CASES[kind])
    with ck.lab.serve([living], seed=SEED) as site:
        entries = ck.read_sitemaps(site.url, delay=0, progress=False)
        truth = living.truth(site.url, seed=SEED).set_index("url")
        base, name = site.url, f"https://{HOSTS[kind]}/"
    files = [
        {
            key: value.replace(base, name) if isinstance(value, str) else value
            for key, value in {
                **record, "fetched_at": living.clock.now, "seconds": 0.0,
                "issues": list(record["issues"]),
            }.items()
        }
        for record in entries.attrs["files"]
    ]  # fmt: skip
    changed = truth["changed_at"].reindex(entries["loc"]).dt.floor("s")
    entries = entries[COLUMNS].assign(changed_at=changed.to_numpy())
    entries["changed_at"] = entries["changed_at"].astype("datetime64[us, UTC]")
    for column in ("loc", "sitemap"):
        entries[column] = entries[column].str.replace(base, name, regex=False)
    entries.attrs = {"files": files}
    return entries


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and leave data/ as it is")
    check = parser.parse_args().check
    tables = {kind: entries_of(kind) for kind in CASES}
    if check:
        old = ck.load_data(NAME).tables
        same = all(
            old[kind].equals(frame) and old[kind].attrs == frame.attrs
            for kind, frame in tables.items()
        )
        print(f"{NAME}: {'the same' if same else 'DIFFERENT'}")
        return 0 if same else 1
    write_set(DATA, NAME, FACTS, tables)
    counts = ", ".join(f"{len(frame):,} {kind}" for kind, frame in tables.items())
    size = sum(path.stat().st_size for path in DATA.glob(f"{NAME}_*"))
    print(f"{NAME}: {counts}, {size / 1e3:,.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
