"""What find_traps says of two real programs that make pages from data: DokuWiki and gitweb.

Each is served with content behind it (``generators.py``), crawled for 2,000 pages with crawlkit's
defaults and no delay, and judged. The script knows by its own reasoning what each address is: a
page that somebody wrote, or one that the program makes of others. It prints the rows of
`find_traps`, the discovery curve, the estimate of the size, and for each class of addresses whether
the patterns drop it and whether they should. Crawls are kept in ``out/generators`` and taken from
there the next time.

    python benchmarks/real_generators.py
    python benchmarks/real_generators.py dokuwiki --anew
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from generators import GENERATORS, serve_generator
from sites import OUT

import crawlkit as ck
from crawlkit.web.patterns import compile_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

__all__ = ["judge"]

PAGES = 2_000
FEWEST = 20
"""Pages below which find_traps does not judge a region."""
HALF = 0.5


class Kind(NamedTuple):
    """A class of addresses: what it is, whether a trap finder should name it, and why."""

    name: str
    should: str
    why: str


def of_dokuwiki(url: str) -> Kind:
    """Return the class of an address of DokuWiki."""
    path, _, query = url.partition("?")
    names = {one.partition("=")[0] for one in query.split("&")}
    do = re.search(r"[?&]do=(\w+)", url)
    if path.endswith("detail.php"):
        return Kind("detail.php?id=&media=", "yes", "each picture anew for each page that has it")
    if not path.endswith("doku.php"):
        return Kind("pictures and feeds", "no", "files, one address each or few")
    if do and do[1] == "diff":
        return Kind("do=diff", "yes", "pages x pairs of revisions x two displays")
    if do and do[1] == "media":
        return Kind("do=media", "yes", "the same media manager: pages x namespaces x files x tabs")
    if "do" in names:
        return Kind("do=, other", "yes", "forms and lists of each page, set to noindex")
    if "idx" in names:
        return Kind("idx=", "yes", "the same index for each page x namespace")
    if "rev" in names:
        return Kind("rev=", "may", "old revisions: they end, and differ")
    return Kind("id= alone", "no", "the pages that were written")


def of_gitweb(url: str) -> Kind:
    """Return the class of an address of gitweb."""
    found = re.search(r"[?;&]a=(\w+)", url)
    action = found[1] if found else ""
    at_commit = re.search(r"[;&]hb=[0-9a-f]{40}", url) is not None
    if action in {"tree", "blob", "blob_plain", "history"}:
        if at_commit:
            return Kind("files at a commit (hb=)", "yes", "commits x paths x views; few differ")
        return Kind("files as they are", "no", "the content: one address or few for each file")
    if action.startswith("blobdiff"):
        return Kind("blobdiff", "may", "changes x views: an end, and inside commitdiff already")
    if action == "search":
        return Kind("search", "yes", "authors x commits, each a part of the log")
    if action == "snapshot":
        return Kind("snapshot", "may", "an archive for each commit and tree: an end, and heavy")
    if "ds=" in url or action in {"patch", "commitdiff_plain", "log"}:
        return Kind("second views of commits", "may", "commitdiff and shortlog in other forms")
    if action in {"rss", "atom", "opml"}:
        return Kind("feeds", "may", "one for each file")
    if action in {"commit", "commitdiff"}:
        return Kind("commit, commitdiff", "no", "the history: two for each commit")
    return Kind("summary, shortlog, tags ...", "no", "lists; shortlog begins anew at each commit")


CLASSES: dict[str, Callable[[str], Kind]] = {"dokuwiki": of_dokuwiki, "gitweb": of_gitweb}


def crawl_generator(name: str, *, anew: bool = False) -> ck.Crawl:
    """Return a crawl of 2,000 pages."""
    folder = OUT / "generators" / name
    if anew:
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists() and ck.open_crawl(folder).stop_reason is not None:
        return ck.open_crawl(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with serve_generator(name) as start:
        return ck.crawl(start, folder, delay=0, max_pages=PAGES, progress=False)


def judge(crawl: ck.Crawl, traps: pd.DataFrame, kind_of: Callable[[str], Kind]) -> list[list[str]]:
    """Return the judgement: one row for each class of addresses."""
    patterns = compile_patterns(traps["exclude"].dropna().tolist())
    urls = crawl.urls[crawl.urls["state"] != "excluded"]
    known: Counter[Kind] = Counter()
    dropped: Counter[Kind] = Counter()
    for url in urls["url"].tolist():
        kind = kind_of(url)
        known[kind] += 1
        dropped[kind] += patterns.matches(url) is not None
    fetched = Counter(map(kind_of, crawl.pages["url"].tolist()))
    rows = []
    for kind, count in known.most_common():
        share = dropped[kind] / count
        flagged = share > HALF
        if kind.should == "may" or flagged == (kind.should == "yes"):
            right = "right"
        elif kind.should == "yes" and fetched[kind] < FEWEST:
            right = "too few pages"
        else:
            right = "WRONG"
        rows.append([kind.name, f"{count:,}", f"{fetched[kind]:,}", f"{share:.0%}",
                     kind.should, right, kind.why])  # fmt: skip
    return rows


def show(heads: Iterable[str], rows: list[list[str]]) -> None:
    """Print a table."""
    table = [list(heads), *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    for row in table:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def report(name: str, crawl: ck.Crawl) -> bool:
    """Print what is said of a crawl; return whether it is right."""
    summary = crawl.summary()
    print(f"{name}: {summary['pages']:,} pages, {summary['urls']['pending']:,} URLs wait")
    curve = ck.discovery_curve(crawl)
    quarters = [curve.iloc[max(0, len(curve) * at // 4 - 1)] for at in range(1, 5)]
    said = ", ".join(f"{row.rate:.1f} at page {row.page:,}" for row in quarters)
    print(f"  new URLs per page: {said}\n  estimate_size: {ck.estimate_size(crawl)}")
    traps = ck.find_traps(crawl)
    for row in traps.to_dict("records"):
        print(
            f"  {row['kind']} {row['pattern']}: {row['pages']:,} pages, {row['bytes'] / 1e6:.1f} "
            f"MB, {row['pending']:,} pending, {row['discovery_rate']:.1f} new URLs of its own per "
            f"page, {row['trend']}\n    {row['evidence']}\n    exclude: {row['exclude']}\n"
            f"    preview: {ck.preview_exclude(crawl, row['exclude'])}"
        )
    rows = judge(crawl, traps, CLASSES[name])
    show(("class", "known", "pages", "dropped", "should", "", "because"), rows)
    return not any("WRONG" in row for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="program", help=f"of {sorted(GENERATORS)}")
    parser.add_argument("--anew", action="store_true", help="crawl again")
    given = parser.parse_args()
    good = True
    for name in given.programs or GENERATORS:
        good &= report(name, crawl_generator(name, anew=given.anew))
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
