"""Makes the link graphs and page tables in ``data/``: two Debian documentation sites, crawled.

Each site is served on the loopback address and crawled to its end, breadth first, one page at a
time. What is kept are addresses, titles, statuses, sizes and links: no text of any page. The
server's address is replaced by a name that cannot exist (RFC 2606), so that the tables are the
same wherever they are made; apart from that they are what ``crawl.pages`` and ``crawl.links`` hold.

    python benchmarks/make_data.py
    python benchmarks/make_data.py --check      make them elsewhere and compare with data/
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sites import OUT, SITES, serve

import crawlkit as ck

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = ["DATA", "Documentation", "crawl_tables", "write_set"]

DATA = Path(__file__).resolve().parent.parent / "data"
PAGES = (
    "url", "host", "depth", "found_on", "status", "error", "content_type", "size",
    "redirected_to", "title", "links_found", "new_urls", "seq",
)  # fmt: skip
LINKS = ("source", "target", "position", "region", "kind", "internal")
ADDRESSES = ("url", "found_on", "redirected_to", "source", "target")


class Documentation(NamedTuple):
    """A site to be crawled: its name in ``sites.py``, and under which license its text is."""

    site: str
    title: str
    license: str


DOCUMENTATION = {
    "python_docs": Documentation(
        "python",
        "Documentation of Python 3.11",
        "Python Software Foundation License 2 (PSF-2.0), copyright Python Software Foundation",
    ),
    "sqlite_docs": Documentation(
        "sqlite", "Documentation of SQLite 3", "public domain, by the SQLite contributors"
    ),
}


def package_version(package: str) -> str:
    """Return the version of a downloaded package, which its file name tells."""
    (*_, path) = sorted((OUT / "packages").glob(f"{package}_*.deb"))
    return path.name.split("_")[1].replace("%3a", ":")


def crawl_tables(site: str, name: str) -> dict[str, pd.DataFrame]:
    """Crawl a documentation site; return its pages and links under a name of their own."""
    with serve(site) as base, tempfile.TemporaryDirectory() as folder:
        crawl = ck.crawl(
            base + SITES[site].start, folder, delay=0, workers=1, max_pages=100_000,
            keep_bodies=False, progress=False,
        )  # fmt: skip
        if not crawl.finished:
            raise SystemExit(f"the crawl of {site} ended early: {crawl.stop_reason}")
        pages, links = crawl.pages, crawl.links
    host = f"{name.replace('_', '-')}.example"
    pages = pages.sort_values("seq", kind="stable")[list(PAGES)].reset_index(drop=True)
    asked = {url: number for number, url in enumerate(pages["url"])}
    links = links.assign(asked=links["source"].map(asked))
    links = links.sort_values(["asked", "position"], kind="stable")[list(LINKS)]
    links = links.reset_index(drop=True)
    for table in (pages, links):
        for column in set(ADDRESSES) & set(table.columns):
            table[column] = table[column].str.replace(base, f"http://{host}/", regex=False)
    pages["host"] = host
    return {"pages": pages, "links": links}


def write_set(
    folder: Path, name: str, facts: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]
) -> None:
    """Write the tables of one set of data, and its entry in the index."""
    files = {}
    for table, frame in tables.items():
        files[table] = f"{name}_{table}.parquet"
        frame.to_parquet(folder / files[table], index=False, compression="zstd")
    path = folder / "index.json"
    index = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    index[name] = {**facts, "tables": files}
    text = json.dumps(dict(sorted(index.items())), indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and leave data/ as it is")
    check = parser.parse_args().check
    different = 0
    for name, (site, title, terms) in DOCUMENTATION.items():
        tables = crawl_tables(site, name)
        package = SITES[site].package
        counts = ", ".join(f"{len(frame):,} {table}" for table, frame in tables.items())
        if check:
            old = ck.load_data(name).tables
            same = all(old[table].equals(frame) for table, frame in tables.items())
            different += not same
            print(f"{name}: {counts}: {'the same' if same else 'DIFFERENT'}")
            continue
        facts = {
            "what": f"{title}: its pages and links, as crawled by crawlkit; no text of any page",
            "origin": f"Debian package {package} {package_version(package)}, served on this "
            f"machine and crawled breadth first by benchmarks/make_data.py; the server's address "
            f"was replaced",
            "license": f"Titles and addresses: {terms}. The tables: MIT, as crawlkit.",
        }
        write_set(DATA, name, facts, tables)
        size = sum(path.stat().st_size for path in DATA.glob(f"{name}_*"))
        print(f"{name}: {counts}, {size / 1e3:,.0f} kB")
    print(f"data/ holds {sum(path.stat().st_size for path in DATA.iterdir()) / 1e6:.2f} MB")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
