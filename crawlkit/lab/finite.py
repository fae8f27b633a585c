"""A finite site whose shape depends on the seed: catalog, archive, forum, manual and wiki pages.

Nothing here is a trap, though parts of it look like one for a while: listing pages in a long
chain, threads of many pages, months of an archive, pages that link to each other at random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from crawlkit.lab.content import Answer, Ask, Place, Section, draw, pick
from crawlkit.lab.markup import Anchor, bullets, document, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PARTS", "Finite"]

PARTS = ("catalog", "archive", "forum", "manual", "wiki")
"""What a finite site can be made of."""

Pages = dict[str, list[str]]


@dataclass(frozen=True)
class Finite(Section):
    """A finite site of about as many pages as asked for.

    Parameters
    ----------
    pages
        Number of pages, 10 to 100,000; a few more or less come out.
    parts
        Which of `PARTS` it has, in equal shares; without any the seed chooses two to four.
    """

    name: ClassVar[str] = "finite"

    pages: int = 500
    parts: tuple[str, ...] = ()

    def paths(self, place: Place) -> Iterator[str]:
        """Give the first page and all others."""
        return iter(_site(self, place.seed, place.host))

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with one page."""
        links = _site(self, ask.place.seed, ask.place.host).get(ask.target)
        if links is None:
            return None
        key = (ask.place.seed, self.name, ask.place.host, ask.target)
        name = ask.target.removeprefix(self.start) or "index"
        return document(
            f"{sentences(1, *key, 'title').split()[0]} {name}",
            sentences(2 + draw(*key, "length") % 4, *key),
            main=bullets(Anchor(self.start + path, path or "Start") for path in links),
            nav=[Anchor(self.start, "Start")],
            kind="page",
        )


@lru_cache(maxsize=64)
def _site(section: Finite, seed: int, host: int) -> Pages:
    """Return target -> links (relative to the start) of each page."""
    key = (seed, section.name, host)
    parts = section.parts
    if not parts:
        order = sorted(PARTS, key=lambda part: draw(*key, part))
        parts = tuple(order[: 2 + draw(*key, "parts") % 3])
    made: Pages = {"": []}
    share = max(2, (section.pages - 1) // len(parts))
    for part in parts:
        pages = _BUILDERS[part](share, (*key, part))
        made[""].append(next(iter(pages)))
        made.update(pages)
    return {section.start + path: links for path, links in made.items()}


def _listing(path: str, pages: int, *, in_path: bool) -> list[str]:
    """Return the addresses of the pages of a listing; the first has no number."""
    if in_path:
        return [path, *(f"{path}page/{number}/" for number in range(2, pages + 1))]
    return [path, *(f"{path}?page={number}" for number in range(2, pages + 1))]


def _catalog(count: int, key: tuple[object, ...]) -> Pages:
    """Make categories, listing pages that lead to the next one only, products with related ones."""
    per_page = 10 + draw(*key, "per page") % 15
    categories = 1 + draw(*key, "categories") % min(12, 1 + count // 40)
    numbered = draw(*key, "numbered") % 2 == 0
    products = [
        f"catalog/product/{1000 + number}"
        if numbered
        else f"catalog/{sentences(1, *key, number)[:-1].lower().replace(' ', '-')}-{number}.html"
        for number in range(max(1, count - categories - count // per_page))
    ]
    starts = [f"catalog/category-{number}/" for number in range(categories)]
    pages: Pages = {"catalog/": starts}
    for number, start in enumerate(starts):
        own = products[number::categories]
        listing = _listing(
            start, math.ceil(len(own) / per_page), in_path=draw(*key, "path") % 2 == 0
        )
        last = [listing[-1]] if draw(*key, "last") % 2 and listing else []
        for index, path in enumerate(listing):
            shown = own[index * per_page : (index + 1) * per_page]
            pages[path] = [*shown, *listing[index + 1 : index + 2], *last]
    for number, product in enumerate(products):
        pages[product] = [
            products[draw(*key, "related", number, other) % len(products)] for other in range(3)
        ]
    return pages


def _archive(count: int, key: tuple[object, ...]) -> Pages:
    """Make months back from the first, each with its posts; every post leads to the one before."""
    months = max(1, count // (6 + draw(*key, "posts") % 12))
    first = 2026 * 12 - months
    chained = draw(*key, "chained") % 2 == 0
    names = [f"archive/{m // 12}/{m % 12 + 1:02d}/" for m in range(first, first + months)][::-1]
    posts = count - months - 1
    pages: Pages = {"archive/": names[:1] if chained else list(names)}
    for index, month in enumerate(names):
        pages[month] = names[index + 1 : index + 2]
    before = ""
    for number in range(max(0, posts)):
        month = names[number * months // posts]
        title = sentences(1, *key, number)[:-1].lower().replace(" ", "-")
        post = f"{month}{title}"
        pages[month].append(post)
        pages[post] = [before] if before else []
        before = post
    return pages


def _forum(count: int, key: tuple[object, ...]) -> Pages:
    """Make a long list of threads over many pages, and threads of one to many pages."""
    pages: Pages = {"forum/": []}
    threads: list[str] = []
    left, number = count, 100
    while left > 0:
        number += 1 + draw(*key, number) % 5
        length = 1 + draw(*key, number, "length") % 4
        if draw(*key, number, "long") % 25 == 0:
            length = min(left, 40 + draw(*key, number, "very") % 160)
        thread = f"forum/thread.php?t={number}"
        names = [thread, *(f"{thread}&page={page}" for page in range(2, length + 1))]
        for index, path in enumerate(names):
            pages[path] = [*names[index + 1 : index + 2], *([thread] if index else [])]
        threads.append(thread)
        left -= length
    listing = [
        "forum/",
        *(f"forum/?start={20 * page}" for page in range(1, math.ceil(len(threads) / 20))),
    ]
    for index, path in enumerate(listing):
        pages[path] = [*threads[index * 20 : index * 20 + 20], *listing[index + 1 : index + 2]]
    return pages


def _manual(count: int, key: tuple[object, ...]) -> Pages:
    """Make a tree of chapters, each with a link to the one before."""
    branching = 3 + draw(*key, "branching") % 8
    ending = pick([".html", "/", ""], *key, "ending")
    names = ["manual/"]
    pages: Pages = {"manual/": []}
    for number in range(1, max(2, count)):
        above = (number - 1) // branching
        stem = names[above].removesuffix(ending) if above else "manual"
        word = sentences(1, *key, number).split()[1]
        name = f"{stem}/{word}-{number}{ending}"
        names.append(name)
        pages[names[above]].append(name)
        pages[name] = [names[number - 1]]
    return pages


def _wiki(count: int, key: tuple[object, ...]) -> Pages:
    """Make pages that link to each other at random; each is reached from an earlier one."""
    names = ["wiki/"]
    for number in range(1, max(2, count)):
        words = sentences(1, *key, number)[:-1].title().split()
        names.append(f"wiki/{'_'.join(words[: 1 + number % 3])}_{number}")
    pages: Pages = {name: [] for name in names}
    for number, name in enumerate(names):
        if number:
            pages[names[draw(*key, "from", number) % number]].append(name)
        for other in range(2 + draw(*key, "links", number) % 5):
            pages[name].append(names[draw(*key, number, other) % len(names)])
    return pages


_BUILDERS = {
    "catalog": _catalog,
    "archive": _archive,
    "forum": _forum,
    "manual": _manual,
    "wiki": _wiki,
}
