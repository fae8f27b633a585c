"""An independent closure of a site, to hold a crawl's set of pages against.

Breadth first from the start page over one connection, with nothing but the standard library:
``http.client`` asks, ``html.parser`` finds the links, ``urljoin`` resolves them. No code of
crawlkit takes part, so an error would have to be made twice to go unseen.

    python benchmarks/closure.py python               the closure, its counts, its file in out/
    python benchmarks/closure.py python --crawl       crawls the site too and compares
    python benchmarks/closure.py python --folder F --base URL    compares with a crawl made before
    python benchmarks/closure.py python --wget        compares with wget -r as a second opinion
    ... --reuse                                       takes the closure from the last run's file
"""

from __future__ import annotations

import argparse
import http.client
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

from sites import OUT, SITES, read_log, serve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Found", "closure", "compare"]

SAFE = "%/:=&?~#+!$,;'@()*[]"
FOLLOWED_RELS = {"next", "prev", "alternate", "canonical"}


@dataclass
class Found:
    """A URL of the closure: its status, its type, and how it was linked (kind of link -> times)."""

    status: int = 0
    content_type: str = ""
    parent: str = ""
    kinds: Counter[str] = field(default_factory=Counter)


class Links(HTMLParser):
    """Collects (kind, href) pairs and the first base href of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.base, self.links, self._templates = "", list[tuple[str, str]](), 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a start tag."""
        given = {name: value or "" for name, value in reversed(attrs)}
        self._templates += tag == "template"
        if self._templates:
            return
        if tag == "base" and "href" in given:
            self.base = self.base or given["href"]
        elif tag in {"a", "area"} and "href" in given:
            self.links.append((tag, given["href"]))
        elif tag in {"iframe", "frame"} and "src" in given:
            self.links.append((tag, given["src"]))
        elif tag == "link" and "href" in given:
            kinds = FOLLOWED_RELS & set(given.get("rel", "").lower().split())
            self.links.extend((f"link {kind}", given["href"]) for kind in sorted(kinds))

    def handle_endtag(self, tag: str) -> None:
        """Take an end tag."""
        self._templates -= tag == "template" and self._templates > 0


def links_of(url: str, body: bytes) -> Iterator[tuple[str, str]]:
    """Yield (kind, absolute URL without fragment) for the http links of a page."""
    page = Links()
    page.feed(body.decode("utf-8", "replace"))
    page.close()
    base = urljoin(url, page.base)
    for kind, href in page.links:
        # As browsers do: no tabs or line breaks, and a backslash in the path is a slash.
        path, mark, rest = re.split(r"([?#]|$)", re.sub(r"[\t\r\n]", "", href.strip()), maxsplit=1)
        try:
            target = urldefrag(urljoin(base, path.replace("\\", "/") + mark + rest)).url
            parts = urlsplit(target)
        except ValueError:
            continue
        if parts.scheme in {"http", "https"} and parts.netloc:
            yield kind, quote(target if parts.path else target + "/", safe=SAFE)


def closure(start: str) -> dict[str, Found]:
    """Return every URL of the start's host that links and redirects reach, and what it answered."""
    host = urlsplit(start).netloc
    connection = http.client.HTTPConnection(host, timeout=60)
    found, queue = {start: Found()}, deque([start])
    while queue:
        url = queue.popleft()
        connection.request("GET", url.split(host, 1)[1] or "/")
        answer = connection.getresponse()
        body = answer.read()
        here = found[url]
        here.status, here.content_type = answer.status, answer.getheader("Content-Type", "") or ""
        targets: Iterable[tuple[str, str]] = ()
        if location := answer.getheader("Location"):
            targets = [("redirect", urldefrag(urljoin(url, location)).url)]
        elif answer.status == 200 and "html" in here.content_type:
            targets = links_of(url, body)
        for kind, target in targets:
            if urlsplit(target).netloc != host:
                continue
            if target not in found:
                found[target] = Found(parent=url)
                queue.append(target)
            found[target].kinds[kind] += 1
    connection.close()
    return found


def compare(found: dict[str, Found], crawled: dict[str, int | None]) -> list[str]:
    """Return one line for each difference between a closure and a crawl's URLs and statuses."""
    lines = []
    spellings = {unquote(url): url for url in crawled}
    for url in sorted(set(found) - set(crawled)):
        here = found[url]
        why = f"status {here.status}, {here.content_type}, linked by {dict(here.kinds)}"
        if other := spellings.get(unquote(url)):
            why += f"; the crawl has another spelling: {other}"
        lines.append(f"only in the closure: {url}  ({why}; first on {here.parent})")
    known = {unquote(url): url for url in found}
    for url in sorted(set(crawled) - set(found)):
        other = known.get(unquote(url))
        spelled = f"; the closure has another spelling: {other}" if other else ""
        lines.append(f"only in the other: {url}  (status {crawled[url]}{spelled})")
    for url in sorted(set(crawled) & set(found)):
        if crawled[url] != found[url].status:
            lines.append(
                f"status differs: {url}  (closure {found[url].status}, crawl {crawled[url]})"
            )
    return lines


def crawl_pages(folder: Path) -> dict[str, int | None]:
    """Return url -> status of a crawl folder's pages."""
    import crawlkit as ck

    pages = ck.open_crawl(folder).pages
    missing = pages["status"].isna()
    return {
        url: None if no_status else int(status)
        for url, status, no_status in zip(pages["url"], pages["status"], missing, strict=True)
    }


def crawl_site(start: str, folder: Path) -> dict[str, int | None]:
    """Crawl the site with crawlkit's defaults and no delay; returns url -> status."""
    import crawlkit as ck

    ck.crawl(start, folder, delay=0, max_pages=1_000_000, keep_bodies=True, progress=False)
    return crawl_pages(folder)


def wget_pages(start: str, log: Path) -> dict[str, int | None]:
    """Let wget crawl the site; returns url -> status as the server logged it."""
    offset = log.stat().st_size
    base = "{0.scheme}://{0.netloc}".format(urlsplit(start))
    with tempfile.TemporaryDirectory() as folder:
        # Images, style sheets and scripts are no pages: only a, area and frames are followed.
        tags = ["--follow-tags=a,area,iframe,frame", "-e", "robots=off", "--level=inf"]
        subprocess.run(["wget", "-q", "-r", *tags, "-P", folder, start], check=False)
    return {base + line.target: line.status for line in read_log(log, offset)}


def report(name: str, found: dict[str, Found]) -> None:
    """Print the closure's counts and write it to ``out/closure-NAME.tsv``."""
    pages = sum(f.status == 200 and "html" in f.content_type for f in found.values())
    print(f"{name}: {len(found):,} URLs, of them {pages:,} HTML pages with status 200")
    groups = Counter((f.status, f.content_type.split(";")[0]) for f in found.values())
    for (status, kind), count in sorted(groups.items()):
        print(f"  {count:>7,}  {status}  {kind or '-'}")
    kinds = Counter("+".join(sorted(f.kinds)) for f in found.values() if not f.kinds["a"])
    print(f"  reached by no <a>: {dict(kinds)}")
    OUT.mkdir(exist_ok=True)
    with (OUT / f"closure-{name}.tsv").open("w", encoding="utf-8") as file:
        for url, f in sorted(found.items()):
            path = url.split("/", 3)[3]
            parent = f.parent.split("/", 3)[-1]
            kinds_found = "+".join(sorted(f.kinds))
            print(path, f.status, f.content_type, kinds_found, parent, sep="\t", file=file)


def stored(name: str, base: str) -> dict[str, Found]:
    """Return the closure that an earlier run wrote to ``out/closure-NAME.tsv``."""
    found = {}
    for line in (OUT / f"closure-{name}.tsv").read_text(encoding="utf-8").splitlines():
        path, status, kind, kinds, parent = line.split("\t")
        counted = Counter(kinds.split("+") if kinds else [])
        found[base + path] = Found(int(status), kind, base + parent, counted)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", choices=sorted(SITES))
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--crawl", action="store_true", help="crawl with crawlkit and compare")
    other.add_argument("--folder", type=Path, help="compare with this crawl folder")
    other.add_argument("--wget", action="store_true", help="compare with wget -r")
    parser.add_argument("--base", help="with --folder: the base URL that the site had in the crawl")
    parser.add_argument("--reuse", action="store_true", help="take the closure from the last run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "access.log"
        with serve(given.site, access_log=log) as base:
            start = base + SITES[given.site].start
            began = time.process_time()
            found = stored(given.site, base) if given.reuse else closure(start)
            print(f"closure took {time.process_time() - began:.1f} s of CPU")
            crawled = None
            if given.crawl:
                crawled = crawl_site(start, Path(folder) / "crawl")
            elif given.wget:
                crawled = wget_pages(start, log)
    if given.folder:
        crawled = crawl_pages(given.folder)
        if given.base:
            crawled = {url.replace(given.base, base, 1): s for url, s in crawled.items()}
    report(given.site, found)
    if crawled is None:
        return 0
    differences = compare(found, crawled)
    print(f"compared with {len(crawled):,} URLs: {len(differences):,} differences")
    print("\n".join(differences))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
