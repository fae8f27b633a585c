"""The tables of a crawl of the practice site, without HTTP: for statistics over many sites."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlkit.errors import BadSetting
from crawlkit.lab.site import Site, make_sections
from crawlkit.lab.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from crawlkit.lab.content import Answer, Section
    from crawlkit.web.urls import Address

__all__ = ["LabWalk", "walk"]

BASE = "http://lab.example/"
FOLLOWED = frozenset({"anchor", "area", "frame", "pagination", "alternate"})
START = 1_780_300_800
"""2026-06-01, the moment of the first fetch; each page takes a second."""


class LabWalk:
    """A crawl of the practice site that never was: its tables, and the truth.

    Attributes
    ----------
    pages, links, fetches, urls : DataFrame
        As of a `crawlkit.Crawl`, with the columns that analyses read.
    truth : Truth
        What is true about the site; its root is ``http://lab.example/``.
    """

    def __init__(self, site: Site, tables: dict[str, pd.DataFrame]) -> None:
        self._site = site
        self.truth = Truth(site)
        self.pages = tables["pages"]
        self.links = tables["links"]
        self.fetches = tables["fetches"]
        self.urls = tables["urls"]

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The four tables by name."""
        names = ("pages", "links", "fetches", "urls")
        return {name: getattr(self, name) for name in names}

    def body(self, url: str) -> bytes:
        """Return the body of a page."""
        return self._site.answer(0, "/" + url.removeprefix(BASE)).body

    def first(self, count: int) -> LabWalk:
        """Return the same crawl as it was after that many pages."""
        urls = self.urls[self.urls["found_after"] <= count].copy()
        urls.loc[urls["fetched_as"].isna() | (urls["fetched_as"] > count), "state"] = "pending"
        pages = self.pages.iloc[:count]
        tables = {
            "pages": pages,
            "links": self.links[self.links["page_number"] <= count],
            "fetches": self.fetches.iloc[:count],
            "urls": urls,
        }
        made = LabWalk(self._site, tables)
        made.truth = self.truth
        return made


def walk(
    sections: Sequence[str | Section],
    *,
    seed: int = 0,
    max_pages: int = 1_000,
    start: str = "/",
    until: Callable[[str], bool] | None = None,
) -> LabWalk:
    """Crawl a practice site breadth first without a server, as if each page took a second.

    Parameters
    ----------
    sections
        As for `serve`.
    seed
        Seed of the site.
    max_pages
        Pages to fetch, 1 or more.
    start
        Path of the first page.
    until
        Called with the URL of each page once it is fetched; the crawl ends when it says True.

    Returns
    -------
    LabWalk
        With ``.pages .links .fetches .urls .truth``, ``.body(url)`` and ``.first(count)``.

    Examples
    --------
    >>> from crawlkit import lab
    >>> crawl = lab.walk(("shop",), max_pages=100)
    >>> len(crawl.pages), int(crawl.fetches["known_urls"].iloc[-1])
    (100, 317)
    """
    if max_pages < 1:
        raise BadSetting("max_pages", f"{max_pages} is no number of pages", "Pass 1 or more.")
    site = Site(make_sections(sections), seed, [BASE])
    return LabWalk(site, _Walker(site).run(start, max_pages, until))


class _Walker:
    """Takes pages breadth first and notes what a crawl would note."""

    def __init__(self, site: Site) -> None:
        # Serving the practice site must not load a parser.
        from crawlkit.web.urls import LinkResolver

        self.site = site
        self.resolver = LinkResolver()
        self.keys: dict[str, str] = {}
        self.urls: list[dict[str, Any]] = []
        self.pages: list[dict[str, Any]] = []
        self.links: list[dict[str, Any]] = []
        self.fetches: list[dict[str, Any]] = []
        self.queue: deque[int] = deque()

    def run(
        self, start: str, max_pages: int, until: Callable[[str], bool] | None
    ) -> dict[str, pd.DataFrame]:
        """Fetch up to ``max_pages`` pages and return the tables."""
        self.enter(self.resolver.address_of(BASE[:-1] + start), None, 0)
        while self.queue and len(self.pages) < max_pages:
            number = self.queue.popleft()
            self.fetch(number)
            if until is not None and until(self.urls[number]["url"]):
                break
        return self.tables()

    def enter(self, address: Address, found_on: str | None, depth: int) -> bool:
        """Put a new URL into the frontier; return whether it was new."""
        if address.key in self.keys or address.host != urlsplit(BASE).netloc:
            return False
        self.keys[address.key] = address.url
        self.queue.append(len(self.urls))
        self.urls.append(
            {
                "url": address.url,
                "key": address.key,
                "host": address.host,
                "depth": depth,
                "state": "pending",
                "reason": None,
                "found_on": found_on,
                "found_seq": len(self.urls),
                "source": "seed" if found_on is None else "link",
                "found_after": len(self.pages) + 1 if found_on else 0,
                "fetched_as": None,
            }
        )
        return True

    def fetch(self, number: int) -> None:
        """Take one page."""
        from crawlkit.web.fingerprint import body_hash

        entry = self.urls[number]
        url = entry["url"]
        answer = self.site.answer(0, "/" + url.removeprefix(BASE))
        seq = len(self.pages) + 1
        row: dict[str, Any] = {
            "url": url,
            "key": entry["key"],
            "host": entry["host"],
            "depth": entry["depth"],
            "found_on": entry["found_on"],
            "status": answer.status,
            "error": None,
            "size": len(answer.body),
            "wire_bytes": len(answer.body),
            "fetched_at": START + seq,
            "body_hash": body_hash(answer.body),
            "seq": seq,
        }
        new = self.read(entry, answer, row) if answer.status == 200 else 0
        row["new_urls"] = new
        entry["state"], entry["fetched_as"] = "done", seq
        self.pages.append(row)
        self.fetches.append(
            {
                "seq": seq,
                "url": url,
                "host": entry["host"],
                "started_at": START + seq,
                "status": answer.status,
                "error": None,
                "wire_bytes": len(answer.body),
                "attempt": 1,
                "new_urls": new,
                "known_urls": len(self.urls),
                "frontier_size": len(self.queue),
            }
        )

    def read(self, entry: dict[str, Any], answer: Answer, row: dict[str, Any]) -> int:
        """Note what a page says and where it leads; return the number of new URLs."""
        from crawlkit.web.html import parse_page
        from crawlkit.web.urls import Address

        page = parse_page(answer.body, url=entry["url"], content_type=answer.content_type)
        row.update(
            title=page.title, h1=page.h1, lang=page.lang, words=page.words,
            canonical=page.canonical, text_hash=page.text_hash, links_found=page.links_found,
        )  # fmt: skip
        resolve = self.resolver.for_page(page.base_url)
        new = 0
        for link in page.links:
            address = resolve(link.href)
            if not isinstance(address, Address):
                continue
            is_new = link.kind in FOLLOWED and self.enter(address, entry["url"], entry["depth"] + 1)
            new += is_new
            self.links.append(
                {
                    "source": entry["url"],
                    "target": self.keys.get(address.key, address.url),
                    "href": link.href,
                    "position": link.position,
                    "region": link.region,
                    "text": link.text,
                    "rel": link.rel,
                    "kind": link.kind,
                    "internal": address.host == entry["host"],
                    "new": is_new,
                    "page_number": len(self.pages) + 1,
                }
            )
        return new

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables with the dtypes of a crawl."""
        import pandas as pd

        whole = {"depth", "status", "size", "wire_bytes", "seq", "words", "links_found"}
        whole |= {"new_urls", "known_urls", "frontier_size", "attempt", "position"}
        whole |= {"found_after", "fetched_as", "page_number"}
        made = {}
        for name in ("pages", "links", "fetches", "urls"):
            rows: list[dict[str, Any]] = getattr(self, name)
            frame = pd.DataFrame(rows)
            for column in frame.columns:
                if column in {"fetched_at", "started_at"}:
                    frame[column] = pd.to_datetime(frame[column], unit="s", utc=True)
                elif column in whole:
                    frame[column] = frame[column].astype("Int64")
                elif column not in {"internal", "new"}:
                    frame[column] = frame[column].astype("str")
            made[name] = frame
        return made
