"""What is true about a practice site, computed from the answers it gives."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit

from crawlkit.lab.permissions import permissions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pandas as pd

    from crawlkit.lab.content import Answer
    from crawlkit.lab.site import Site

__all__ = ["TruePage", "Truth"]

RECOVERED = 1_000
"""A number of visits after which every page that recovers has done so."""


class TruePage(NamedTuple):
    """One URL of the practice site.

    Parameters
    ----------
    url, host, section, kind
        Its address, ``host:port``, section and kind (``"product"``, ``"redirect"`` ...).
    status
        Status once it has recovered, if it fails at first; None where no answer is ever whole.
    first_status
        Status of the first answer.
    fault
        ``reset``, ``closed`` or ``truncated`` where that happens to every answer.
    redirects_to, canonical
        Resolved targets, or None.
    same_as
        URL of the page of which this is a copy.
    depth
        Links from the section's first page, redirects not counted; None if no link leads here.
    is_trap
        Whether it belongs to a trap: it, or what it leads to, has no end or is nothing new.
    allowed
        Whether robots.txt allows it.
    record
        What an extractor should find.
    """

    url: str
    host: str
    section: str
    kind: str
    status: int | None
    first_status: int | None
    fault: str | None
    redirects_to: str | None
    canonical: str | None
    same_as: str | None
    depth: int | None
    is_trap: bool
    allowed: bool
    record: Mapping[str, object] | None = None


class Truth:
    """Which URLs a practice site has, how they hang together, and what they hold.

    Parameters
    ----------
    site
        The content; the truth is computed at the first question.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._rows: dict[str, TruePage] | None = None
        self._links: dict[str, list[str]] = {}
        self._allowed: dict[int, Callable[[str], bool]] = {}

    @property
    def rows(self) -> list[TruePage]:
        """Every URL of the site, by host and section; of a trap, the first ones."""
        return list(self._table().values())

    def page(self, url: str) -> TruePage:
        """Return what is true about a URL, in any of its spellings.

        Raises
        ------
        KeyError
            Where the truth does not list the URL.
        """
        return self._table()[self._plain(url)]

    def __contains__(self, url: object) -> bool:
        return isinstance(url, str) and self._plain(url) in self._table()

    def urls(
        self, section: str | None = None, *, kind: str | None = None, status: int | None = None
    ) -> set[str]:
        """Return the URLs of a section, a kind or a status."""
        return {
            row.url
            for row in self.rows
            if (section is None or row.section == section)
            and (kind is None or row.kind == kind)
            and (status is None or row.status == status)
        }

    @property
    def traps(self) -> list[str]:
        """URL prefixes of the sections without an end."""
        return [
            place.base[:-1] + section.start
            for place in self._site.places
            for section in self._site.on_host(place.host)
            if section.endless
        ]

    def is_trap(self, url: str) -> bool:
        """Tell whether a URL belongs to a trap, listed or not."""
        host = self._host(url)
        if host is None:
            return False
        place = self._site.places[host]
        target = "/" + url.removeprefix(place.base)
        section = self._site.section_at(host, target.partition("?")[0])
        return section is not None and section.is_trap(place, target)

    def links_of(self, url: str) -> list[str]:
        """Return the URLs a page links to, each spelling replaced by the URL it stands for."""
        self._table()
        return list(self._links.get(self._plain(url), ()))

    def reachable(self, starts: str | Iterable[str]) -> set[str]:
        """Return the URLs that a crawl finds from these, redirects followed.

        URLs off the site, and those of a trap that the truth does not list, are left out; URLs
        that are not there (404) or that robots.txt disallows are in.
        """
        starts = [starts] if isinstance(starts, str) else list(starts)
        return set(self._depths([self._plain(url) for url in starts]))

    @property
    def pages(self) -> pd.DataFrame:
        """Every URL of the site as a table.

        Returns
        -------
        DataFrame
            ``url host section kind`` (str), ``status first_status`` (Int64), ``fault
            redirects_to canonical same_as`` (str), ``depth`` (Int64), ``is_trap allowed`` (bool).
        """
        import pandas as pd

        names = list(TruePage._fields[:-1])
        frame = pd.DataFrame([row[:-1] for row in self.rows], columns=names)
        numbers = {"status", "first_status", "depth"}
        flags = {"is_trap", "allowed"}
        kinds = {n: "Int64" if n in numbers else "bool" if n in flags else "str" for n in names}
        return frame.astype(kinds)

    @property
    def products(self) -> pd.DataFrame:
        """The products of all shops.

        Returns
        -------
        DataFrame
            ``url id name`` (str), ``price`` (float64, euros), ``stock`` (int64), ``category``
            (str).
        """
        import pandas as pd

        rows = [{"url": row.url, **row.record} for row in self.rows if row.record]
        kinds = {
            "url": "str",
            "id": "str",
            "name": "str",
            "price": "float64",
            "stock": "int64",
            "category": "str",
        }
        return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)

    @property
    def links(self) -> pd.DataFrame:
        """The links among the site's URLs: ``source target`` (str), each pair once."""
        import pandas as pd

        self._table()
        pairs = [
            (source, target)
            for source, targets in self._links.items()
            for target in dict.fromkeys(targets)
        ]
        return pd.DataFrame(pairs, columns=["source", "target"]).astype("str")

    @property
    def broken(self) -> pd.DataFrame:
        """The links to URLs that answer with 400 or more, also once they could recover.

        Returns
        -------
        DataFrame
            ``source target`` (str), ``status`` (int64).
        """
        import pandas as pd

        table = self._table()
        bad = [
            (source, target, row.status)
            for source, targets in self._links.items()
            for target in dict.fromkeys(targets)
            if (row := table.get(target)) and row.status and row.status >= 400
        ]
        kinds = {"source": "str", "target": "str", "status": "int64"}
        return pd.DataFrame(bad, columns=list(kinds)).astype(kinds)

    @property
    def redirects(self) -> pd.DataFrame:
        """The redirects: ``source target`` (str, target null if there is none), ``status``."""
        import pandas as pd

        rows = [
            (row.url, row.redirects_to, row.status)
            for row in self.rows
            if row.status is not None and 300 <= row.status < 400
        ]
        kinds = {"source": "str", "target": "str", "status": "int64"}
        return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)

    def _table(self) -> dict[str, TruePage]:
        """Compute the table once: rows without depth, links, then depths."""
        if self._rows is not None:
            return self._rows
        site = self._site
        rows: dict[str, TruePage] = {}
        for place in site.places:
            self._allowed[place.host] = permissions(site, place.host)
            for name, target in site.targets(place.host):
                answer = site.answer(place.host, target, RECOVERED)
                first = answer if answer.settled else site.answer(place.host, target)
                url = place.base[:-1] + target
                rows[url] = self._row(url, place.host, name, answer, first)
                found = [self._plain(urljoin(url, href)) for href in answer.links]
                self._links[url] = [each for each in found if self._host(each) is not None]
        self._rows = rows
        # Addresses that are linked to and answer 404 are pages of a crawl, too.
        known = {each for links in self._links.values() for each in links}
        known |= {self._plain(row.redirects_to) for row in rows.values() if row.redirects_to}
        for url in sorted(known - set(rows)):
            self._add_unlisted(url)
        starts = [
            place.base[:-1] + section.start
            for place in site.places
            for section in site.on_host(place.host)
        ]
        depths = self._depths(starts)
        homes = {place.base: 0 for place in site.places}
        for url, row in rows.items():
            rows[url] = row._replace(depth=homes.get(url, depths.get(url)))
        return rows

    def _add_unlisted(self, url: str) -> None:
        """Add a URL that some page links to, and that no section lists."""
        if self._rows is None or self.is_trap(url):
            return
        host = self._host(url)
        if host is None:
            return
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        answer = self._site.answer(host, target, RECOVERED)
        self._rows[url] = self._row(url, host, parts.path.split("/")[1], answer, answer)

    def _row(self, url: str, host: int, section: str, answer: Answer, first: Answer) -> TruePage:
        """Return the row of a URL, depth left open."""
        location = answer.location
        target = url.removeprefix(self._site.places[host].base[:-1])
        return TruePage(
            url=url,
            host=urlsplit(url).netloc,
            section=section,
            kind=answer.kind,
            status=None if answer.fault else answer.status,
            first_status=None if first.fault else first.status,
            fault=answer.fault,
            redirects_to=None if location is None else urljoin(url, location),
            canonical=None if answer.canonical is None else urljoin(url, answer.canonical),
            same_as=None if answer.same_as is None else urljoin(url, answer.same_as),
            depth=None,
            is_trap=self.is_trap(url),
            allowed=self._allowed[host](target),
            record=answer.record,
        )

    def _host(self, url: str) -> int | None:
        """Return the number of the host of a URL."""
        for place in self._site.places:
            if url.startswith(place.base):
                return place.host
        return None

    def _plain(self, url: str) -> str:
        """Return the URL that stands for a spelling, without its fragment."""
        url = url.partition("#")[0]
        host = self._host(url)
        if host is None:
            return url
        base = self._site.places[host].base
        return base[:-1] + self._site.plain(host, "/" + url.removeprefix(base))

    def _depths(self, starts: list[str]) -> dict[str, int]:
        """Walk breadth first; a redirect's target is as deep as the redirect."""
        table = self._rows if self._rows is not None else self._table()
        depths = {url: 0 for url in starts if url in table}
        queue = deque(depths)
        while queue:
            url = queue.popleft()
            target = table[url].redirects_to
            hop = self._plain(target) if target else None
            if hop in table and depths.get(hop, len(table)) > depths[url]:
                depths[hop] = depths[url]
                queue.appendleft(hop)
            for link in self._links.get(url, ()):
                if link in table and depths.get(link, len(table)) > depths[url] + 1:
                    depths[link] = depths[url] + 1
                    queue.append(link)
        return depths
