"""A shop with every fault that an audit looks for, and beside each a page that only looks so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from crawlkit.lab.content import Answer, Ask, Place, redirect
from crawlkit.lab.links import Table
from crawlkit.lab.markup import Anchor, bullets, document, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["FAULTS", "Fault", "Faulty"]


class Fault(NamedTuple):
    """A fault of the shop: the check that should find it, where it is, and what only looks so."""

    check: str
    faulty: tuple[str, ...]
    alike: tuple[str, ...]


FAULTS = (
    Fault("broken_links", ("gone", "loop-a"), ("moved-once", "catalog.pdf")),
    Fault("redirect_chains", ("chain-1", "loop-a"), ("moved-once",)),
    Fault("orphans", ("orphan",), ("linked-once", "landing", "product-1")),
    Fault(
        "canonical_conflicts",
        ("canonical-gone", "canonical-moved", "canonical-chain", "canonical-two", "canonical-off"),
        ("product-1?view=print", "canonical-twice"),
    ),
    Fault("noindex_in_sitemap", ("noindex-listed",), ("noindex-unlisted", "nofollow-listed")),
    Fault("soft_404", ("no-such-product",), ("about-error-pages",)),
    Fault("soft_blocks", ("wall",), ("history-of-locks",)),
    Fault("hreflang_without_return", ("en/chair",), ("en/table", "de/table")),
    Fault("duplicate_titles", ("title-1", "title-2"), ("lamp", "lamp?view=print")),
    Fault("duplicate_content", ("copy-1", "copy-2"), ("product-1", "product-1?view=print")),
    Fault("near_duplicates", ("near-1", "near-2"), ("far-1", "far-2")),
    Fault("slow_pages", ("slow",), ("brisk",)),
    Fault("heavy_pages", ("heavy",), ("catalog.pdf", "large")),
    Fault("thin_pages", ("thin",), ("thin-noindex", "product-1")),
)
"""Addresses relative to the start of the section."""

_TRACKED = "utm_source=letter"
_OTHER_HOST = "http://shop.example.com/item"
_LISTED = ("orphan", "linked-once", "landing", "product-1", "noindex-listed", "nofollow-listed")
_UNLINKED = frozenset({"orphan", "linked-once", "landing", "chain-2", "loop-b", "gone"})


@dataclass(frozen=True)
class Faulty(Table):
    """A shop in which each fault is there once, beside a page that only looks like it.

    `FAULTS` says which is which. Its sitemap is ``/faulty/sitemap.xml``.

    Parameters
    ----------
    seconds
        How long the slow page takes; a brisk one takes a tenth of it.
    size
        Bytes of the heavy page, about; a large file takes as many.
    """

    name: ClassVar[str] = "faulty"

    seconds: float = 2.5
    size: int = 1_200_000

    def table(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return every page; what a sitemap is made of is no page."""
        table: dict[str, Callable[[], Answer]] = {
            **self._redirects(),
            **self._own_words(place),
            **self._copies(place),
            **self._heads(place),
        }
        table["gone"] = partial(document, "Gone", "This is no more.", status=404, kind="missing")
        return table

    def listed(self, place: Place) -> list[str]:
        """Return what the first page links to."""
        return [path for path in self.table(place) if path not in _UNLINKED]

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with a page, or with the sitemap."""
        if ask.target == f"{self.start}sitemap.xml":
            locs = "".join(
                f"<url><loc>{ask.place.base[:-1]}{self.start}{path}</loc></url>\n"
                for path in _LISTED
            )
            text = (
                '<?xml version="1.0" encoding="UTF-8"?>\n'
                f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{locs}</urlset>\n'
            )
            return Answer(text.encode(), content_type="application/xml", kind="sitemap")
        return super().answer(replace(ask, query=None) if ask.query == _TRACKED else ask)

    def plain(self, target: str) -> str:
        """Return a target without what only tells where a reader comes from."""
        return target.removesuffix(f"?{_TRACKED}")

    def robots_lines(self, place: Place) -> Sequence[str]:
        """Name the sitemap."""
        return [f"Sitemap: {place.base[:-1]}{self.start}sitemap.xml"]

    def _page(
        self,
        place: Place,
        path: str,
        *,
        title: str | None = None,
        text: str | None = None,
        links: Iterable[str] = (),
        **options: object,
    ) -> Answer:
        """Write a page with a text of its own, unless told otherwise."""
        return document(
            title or f"The page {path}",
            sentences(9, place.seed, self.name, path) if text is None else text,
            main=bullets(Anchor(self.start + each, each) for each in links),
            nav=[Anchor(self.start, "Shop")],
            **options,  # type: ignore[arg-type] # those of document
        )

    def _redirects(self) -> dict[str, Callable[[], Answer]]:
        hops = {
            "moved-once": "landing",
            "chain-1": "chain-2",
            "chain-2": "landing",
            "loop-a": "loop-b",
            "loop-b": "loop-a",
        }
        return {path: partial(redirect, self.start + target, 301) for path, target in hops.items()}

    def _own_words(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return pages that differ in what they say and how much, and how they are sent."""
        page = partial(self._page, place)
        long = sentences(40, place.seed, self.name, "long")
        other = sentences(40, place.seed, self.name, "longer")
        script = f'<script type="application/json">"{"x" * self.size}"</script>\n'
        pdf = b"%PDF-1.4\n" + b"0" * self.size
        return {
            "product-1": partial(page, "product-1", links=["gone"]),
            "product-2": partial(page, "product-2", links=["moved-once"]),
            "product-3": partial(page, "product-3", links=[f"linked-once?{_TRACKED}"]),
            "landing": partial(page, "landing"),
            "orphan": partial(page, "orphan"),
            "linked-once": partial(page, "linked-once"),
            "no-such-product": partial(
                page, "no-such-product", title="Product not found", text="Please look elsewhere."
                + " " + sentences(7, place.seed, self.name, "elsewhere"),
            ),
            "about-error-pages": partial(
                page, "about-error-pages", title="Page not found: what to say", text=long
            ),
            "wall": partial(
                page, "wall", title="Access denied",
                text="Prove that you are no robot. " + sentences(7, place.seed, self.name, "wall"),
            ),
            "history-of-locks": partial(
                page, "history-of-locks", title="Access denied: a history of locks", text=other
            ),
            "slow": lambda: replace(page("slow"), wait=self.seconds),
            "brisk": lambda: replace(page("brisk"), wait=self.seconds / 10),
            "heavy": partial(page, "heavy", head=script),
            "large": partial(page, "large", head=script[: self.size // 2] + '"</script>\n'),
            "catalog.pdf": partial(Answer, pdf, content_type="application/pdf", kind="pdf"),
            "thin": partial(page, "thin", text="Few words."),
        }  # fmt: skip

    def _copies(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return pages that share a title or a text, wholly or nearly."""
        page = partial(self._page, place)
        key = (place.seed, self.name)
        first = sentences(9, *key, "product-1")
        copied, common = sentences(9, *key, "copied"), sentences(20, *key, "common")
        half = sentences(8, *key, "half")
        table: dict[str, Callable[[], Answer]] = {
            "product-1?view=print": partial(
                page, "print", title="The page product-1", text=first, links=["gone"],
                canonical=f"{place.base[:-1]}{self.start}product-1",
            ),
            "lamp": partial(page, "lamp", title="A lamp"),
            "lamp?view=print": partial(
                page, "lamp print", title="A lamp", canonical=self.start + "lamp"
            ),
        }  # fmt: skip
        for number in (1, 2):
            table |= {
                f"title-{number}": partial(page, f"title-{number}", title="The same title"),
                f"copy-{number}": partial(self._untitled, f"copy-{number}", copied),
                f"near-{number}": partial(
                    self._untitled, f"near-{number}", f"{common} {sentences(1, *key, number)}"
                ),
                f"far-{number}": partial(
                    self._untitled, f"far-{number}", f"{half} {sentences(8, *key, number)}"
                ),
            }
        return table

    def _untitled(self, path: str, text: str) -> Answer:
        """Write a page whose heading is that of all of its kind; its title is its own."""
        page = document(f"The page {path}", text, nav=[Anchor(self.start, "Shop")], kind="page")
        return replace(page, body=page.body.replace(f"<h1>The page {path}".encode(), b"<h1>Page"))

    def _heads(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return pages that differ in what their heads say."""
        start, base = self.start, place.base[:-1] + self.start
        page = partial(self._page, place)
        robots = '<meta name="robots" content="{}">\n'.format
        second = '<link rel="canonical" href="{}">\n'.format

        def alternates(*pairs: tuple[str, str]) -> str:
            line = '<link rel="alternate" hreflang="{}" href="{}">\n'.format
            return "".join(line(language, address) for language, address in pairs)

        table: dict[str, Callable[[], Answer]] = {
            "canonical-gone": partial(page, "canonical-gone", canonical=start + "gone"),
            "canonical-moved": partial(page, "canonical-moved", canonical=start + "moved-once"),
            "canonical-chain": partial(page, "canonical-chain", canonical=start + "canonical-link"),
            "canonical-link": partial(page, "canonical-link", canonical=start + "product-2"),
            "canonical-off": partial(page, "canonical-off", canonical=_OTHER_HOST),
            "canonical-two": partial(
                page, "canonical-two", canonical=start + "product-1",
                head=second(start + "product-2"),
            ),
            "canonical-twice": partial(
                page, "canonical-twice", canonical="product-2", head=second(base + "product-2")
            ),
            "noindex-listed": partial(page, "noindex-listed", head=robots("noindex")),
            "noindex-unlisted": partial(page, "noindex-unlisted", head=robots("noindex")),
            "nofollow-listed": partial(page, "nofollow-listed", head=robots("nofollow")),
            "thin-noindex": partial(
                page, "thin-noindex", text="Few words here.", head=robots("noindex")
            ),
        }  # fmt: skip
        chairs = alternates(("en", start + "en/chair"), ("de", start + "de/chair"))
        tables = alternates(("en", "../en/table"), ("de", base + "de/table"))
        heads = {"en/chair": chairs, "de/chair": "", "en/table": tables, "de/table": tables}
        for path, head in heads.items():
            table[path] = partial(page, path, head=head, lang=path[:2])
        return table
