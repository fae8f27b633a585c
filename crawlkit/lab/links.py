"""Sections about addresses: redirects, broken links, duplicates with canonicals, other hosts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from crawlkit.lab.content import Answer, Ask, Place, Section, redirect
from crawlkit.lab.markup import Anchor, bullets, document, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Broken", "Canonical", "Cross", "Redirects", "Table", "leaf"]


def leaf(section: Section, place: Place, path: str, title: str, *, kind: str = "page") -> Answer:
    """Write a small page with its own text and a link back to the section's first page."""
    return document(
        title,
        sentences(5, place.seed, section.name, place.host, path),
        nav=[Anchor(section.start, section.name.capitalize())],
        kind=kind,
    )


@dataclass(frozen=True)
class Table(Section):
    """A section whose pages are listed one by one; the first page links to all of ``listed``."""

    def table(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return what each path, relative to the start, answers with."""
        raise NotImplementedError

    def listed(self, place: Place) -> list[str]:
        """Return the relative addresses to which the first page links."""
        return list(self.table(place))

    def paths(self, place: Place) -> Iterator[str]:
        """Give the first page and every page of the table."""
        yield self.start
        for path in self.table(place):
            yield self.start + path

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with the first page or a page of the table."""
        if ask.target == self.start:
            links = (Anchor(self.start + path, path) for path in self.listed(ask.place))
            return document(
                f"Section {self.name}",
                sentences(3, ask.place.seed, self.name, ask.place.host),
                main=bullets(links),
                kind="index",
            )
        make = self.table(ask.place).get(ask.target.removeprefix(self.start))
        return make() if make else None


@dataclass(frozen=True)
class Redirects(Table):
    """Redirects of every kind: single, chain, loop, off the host, to a fragment, to nowhere.

    Parameters
    ----------
    chain
        Hops of the chain that ends at a page.
    """

    name: ClassVar[str] = "redirects"

    chain: int = 3

    def table(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return the redirects and their targets."""
        start = self.start
        other = place.bases[(place.host + 1) % len(place.bases)]
        if len(place.bases) == 1:  # the same server under another name is another host
            other = re.sub(r"//[^/]*?(:\d+)?/$", r"//localhost\1/", other)
        hops = {
            "loop-a": f"{start}loop-b",
            "loop-b": f"{start}loop-a",
            "loop-self": f"{start}loop-self",
            "off-host": f"{other}redirects/landed",
            "fragment": f"{start}target-fragment#part-2",
            "relative": "target-relative",
            "absolute": f"{place.base}redirects/target-absolute",
            "to-missing": f"{start}not-there",
            "to-file": "file:///etc/hostname",
            "to-mail": "mailto:shop@example.com",
        }
        for number in range(1, self.chain + 1):
            last = number == self.chain
            hops[f"chain-{number}"] = start + ("target-chain" if last else f"chain-{number + 1}")
        table: dict[str, Callable[[], Answer]] = {}
        for status in (301, 302, 303, 307, 308):
            location = f"{start}target-{status}"
            table[str(status)] = partial(redirect, location, status)
        for path, location in hops.items():
            table[path] = partial(redirect, location, 302)
        table["no-location"] = partial(Answer, status=302, kind="redirect")
        names = ("301", "302", "303", "307", "308", "chain", "fragment", "relative", "absolute")
        for path in (*(f"target-{name}" for name in names), "landed"):
            table[path] = partial(leaf, self, place, path, f"Page {path}", kind="target")
        return table

    def listed(self, place: Place) -> list[str]:
        """Return the redirects; their targets and the later hops are found by following."""
        hidden = re.compile(r"target-|landed|loop-b|chain-(?!1$)")
        return [path for path in self.table(place) if not hidden.match(path)]


@dataclass(frozen=True)
class Broken(Table):
    """Links to pages that are missing, gone, or fail: 404, 410, 500, 503.

    Parameters
    ----------
    articles
        Number of good pages that carry the broken links.
    """

    name: ClassVar[str] = "broken"

    articles: int = 6

    BAD: ClassVar[dict[str, tuple[int, str]]] = {
        "missing": (404, "missing"),
        "gone": (410, "gone"),
        "error": (500, "error"),
        "down": (503, "error"),
    }

    def table(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return the articles and the failing pages."""
        table: dict[str, Callable[[], Answer]] = {}
        for number in range(1, self.articles + 1):
            table[f"article-{number}"] = partial(self._article, place, number)
        for path, (status, kind) in self.BAD.items():
            table[path] = partial(
                document, f"Status {status}", f"This is {path}.", status=status, kind=kind
            )
        return table

    def listed(self, place: Place) -> list[str]:
        """Return the good pages and one that is not there."""
        good = [path for path in self.table(place) if path.startswith("article-")]
        return [*good, "missing"]

    def _article(self, place: Place, number: int) -> Answer:
        """Write a good page that links to two broken ones."""
        bad = list(self.BAD)
        wanted = [bad[number % len(bad)], bad[(number + 1) % len(bad)]]
        return document(
            f"Article {number}",
            sentences(5, place.seed, self.name, place.host, number),
            main=bullets(Anchor(self.start + path, f"More on {path}") for path in wanted),
            nav=[Anchor(self.start, "All articles")],
            kind="article",
        )


@dataclass(frozen=True)
class Canonical(Table):
    """Duplicates that name their original: by tag and by header, and canonicals that mislead.

    Parameters
    ----------
    items
        Number of originals; each has a print view (tag) and a mobile view (header).
    """

    name: ClassVar[str] = "canonical"

    items: int = 5

    def table(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return originals, copies and the misleading pages."""
        table: dict[str, Callable[[], Answer]] = {}
        for number in range(1, self.items + 1):
            original = f"item-{number}"
            address = self.start + original
            for path, tag, header in (
                (original, address, None),
                (f"{original}?view=print", address, None),
                (f"mobile/{original}", None, address),
            ):
                table[path] = partial(self._item, place, path, original, tag, header)
        table["absolute?view=print"] = partial(
            self._item,
            place,
            "absolute?view=print",
            "item-1",
            f"{place.base}canonical/item-1",
            None,
        )
        for path, canonical in {
            "to-missing": self.start + "not-there",
            "to-redirect": self.start + "moved",
            "chain-a": self.start + "chain-b",
            "chain-b": self.start + "item-2",
            "off-host": "http://shop.example.com/item",
        }.items():
            table[path] = partial(
                document,
                f"Page {path}",
                sentences(5, place.seed, self.name, place.host, path),
                canonical=canonical,
                kind="misleading",
            )
        table["two-canonicals"] = partial(
            document,
            "Page with two canonicals",
            sentences(5, place.seed, self.name, place.host, "two"),
            canonical=self.start + "item-1",
            head=f'<link rel="canonical" href="{self.start}item-2">\n',
            kind="misleading",
        )
        table["moved"] = partial(redirect, self.start + "item-3", 301)
        return table

    def _item(
        self, place: Place, path: str, original: str, tag: str | None, header: str | None
    ) -> Answer:
        """Write an original, or a copy of it with the same text."""
        copy = path != original
        page = document(
            original.replace("-", " ").capitalize(),
            sentences(8, place.seed, self.name, place.host, original),
            canonical=tag,
            headers=(("Link", f'<{header}>; rel="canonical"'),) if header else (),
            same_as=self.start + original if copy else None,
            kind="copy" if copy else "original",
        )
        return replace(page, canonical=tag or header)


@dataclass(frozen=True)
class Cross(Section):
    """Pages that link to the next page and to the same page of the next host.

    Parameters
    ----------
    pages
        Number of pages on each host, besides the first.
    """

    name: ClassVar[str] = "cross"

    pages: int = 10

    def paths(self, place: Place) -> Iterator[str]:  # noqa: ARG002 - the same on each host
        """Give the first page and the numbered ones."""
        yield self.start
        for number in range(1, self.pages + 1):
            yield f"{self.start}page-{number}"

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with one page; its links to other hosts are absolute."""
        if ask.target == self.start:
            number = 0
        elif found := re.fullmatch(r"page-([1-9]\d{0,6})", ask.target.removeprefix(self.start)):
            number = int(found[1])
        else:
            return None
        if number > self.pages:
            return None
        place = ask.place
        anchors = [Anchor(self.start, "First page")]
        if number < self.pages:
            anchors.append(Anchor(f"{self.start}page-{number + 1}", "Next page"))
        if len(place.bases) > 1:
            there = place.bases[(place.host + 1) % len(place.bases)][:-1]
            anchors.append(Anchor(there + ask.path, "The same page of our neighbor"))
        return document(
            f"Host {place.host}, page {number}",
            sentences(4, place.seed, self.name, place.host, number),
            main=bullets(anchors),
        )
