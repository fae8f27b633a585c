"""Traps that spell the same pages in ever new ways: filters, views, sessions, languages, copies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from crawlkit.lab.content import Answer, Ask, Place, draw
from crawlkit.lab.endless import Trap, parameters, with_query
from crawlkit.lab.markup import Anchor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Copies", "Filters", "Languages", "Sessions", "Views"]

FILTERS = (
    ("color", "red green blue black white"),
    ("size", "s m l xl"),
    ("brand", "north river harbor summit"),
    ("material", "wool linen steel oak"),
    ("price", "0-20 20-50 50-100 100-500"),
    ("rating", "2 3 4 5"),
)
VIEWS = (
    ("sort", "name price date rating"),
    ("order", "asc desc"),
    ("view", "grid list table"),
    ("per_page", "10 20 50"),
)
LANGUAGES = (  # noqa: SIM905 - a code a line would fill a screen
    "de fr es it pt nl sv da nb fi pl cs sk hu ro bg el tr ru uk ja ko zh ar he hi th vi id ms"
).split()
PER_PAGE = 10


@dataclass(frozen=True)
class _Listing(Trap):
    """Items in a listing of several pages, each with choices that make new addresses."""

    choices: ClassVar[tuple[tuple[str, str], ...]] = ()

    def real(self, place: Place) -> list[str]:
        """Return the listing's pages and the items."""
        pages = range(2, -(-self.items // PER_PAGE) + 1)
        return [*super().real(place), *(f"{self.start}?page={page}" for page in pages)]

    def is_trap(self, place: Place, target: str) -> bool:  # noqa: ARG002 - the same everywhere
        """Tell whether any choice is made."""
        return any(re.search(rf"[?&]{name}=", target) for name, _ in self.choices)

    def chosen(self, place: Place, values: dict[str, str]) -> list[int]:
        """Return the items that these choices show, in order."""
        raise NotImplementedError

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with an item, or the listing under any choices."""
        number = self.item_number(ask.path)
        if number is not None and ask.query is None:
            back = [Anchor(self.start, "All items")]
            return self.page(ask.place, f"Item {number + 1}", back, about=number, kind="item")
        if ask.path != self.start:
            return None
        values = parameters(ask)
        page = values.pop("page", "1")
        known = {name: set(options.split()) for name, options in self.choices}
        if not page.isdecimal() or any(values[name] not in known.get(name, ()) for name in values):
            return None
        found = self.chosen(ask.place, values)
        cut = (int(page) - 1) * PER_PAGE
        links = [Anchor(self.item(n), f"Item {n + 1}") for n in found[cut : cut + PER_PAGE]]
        if cut + PER_PAGE < len(found):
            following = {**values, "page": str(int(page) + 1)}
            links.append(Anchor(with_query(self.start, following), "Next page", "next"))
        for name, options in self.choices:
            links += [
                Anchor(with_query(self.start, {**values, name: option}), f"{name}: {option}")
                for option in options.split()
                if values.get(name) != option
            ]
        return self.page(ask.place, "Items", links, about="listing", kind="listing")


@dataclass(frozen=True)
class Filters(_Listing):
    """A listing with six filters, each combination of which is an address: tens of thousands."""

    name: ClassVar[str] = "filters"
    choices: ClassVar[tuple[tuple[str, str], ...]] = FILTERS

    def chosen(self, place: Place, values: dict[str, str]) -> list[int]:
        """Return the items that have all values; one has each with a chance of a half."""
        return [
            number
            for number in range(self.items)
            if all(draw(place.seed, number, name, value) % 2 == 0 for name, value in values.items())
        ]


@dataclass(frozen=True)
class Views(_Listing):
    """A listing that can be sorted and shown in many ways; the items are always the same."""

    name: ClassVar[str] = "views"
    choices: ClassVar[tuple[tuple[str, str], ...]] = VIEWS

    items: int = 200

    def chosen(self, place: Place, values: dict[str, str]) -> list[int]:
        """Return all items in the order asked for."""
        order = _sorted(place.seed, self.items, values.get("sort", "name"))
        return order[::-1] if values.get("order") == "desc" else order


@lru_cache(maxsize=64)
def _sorted(seed: int, items: int, column: str) -> list[int]:
    """Return the items in the order of a made-up column."""
    return sorted(range(items), key=lambda number: draw(seed, column, number))


@dataclass(frozen=True)
class Sessions(Trap):
    """Links that carry a new session id on each page that is fetched.

    The id is a parameter, a path segment or a path parameter, as the seed or ``where`` says.

    Parameters
    ----------
    where
        ``"query"``, ``"path"`` or ``"matrix"``; by default the seed chooses.
    """

    name: ClassVar[str] = "sessions"

    where: str | None = None

    def place_of_id(self, place: Place) -> str:
        """Return where the session id stands."""
        return self.where or ("query", "path", "matrix")[self.style(place, 3)]

    def tagged(self, place: Place, target: str, origin: str) -> str:
        """Return a target with the session id that the page at ``origin`` gives out."""
        token = f"{draw(place.seed, 'session', origin):016x}"
        where = self.place_of_id(place)
        if where == "query":
            return f"{target}?sid={token}"
        if where == "matrix":
            return f"{target};jsessionid={token}"
        return f"{self.start}s-{token}/{target.removeprefix(self.start)}"

    def is_trap(self, place: Place, target: str) -> bool:  # noqa: ARG002 - the same everywhere
        """Tell whether there is a session id."""
        return re.search(r"\?sid=|;jsessionid=|/s-[0-9a-f]{16}/", target) is not None

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with the page under the id."""
        clean = re.sub(r";jsessionid=[0-9a-f]{16}$", "", ask.path)
        clean = re.sub(r"/s-[0-9a-f]{16}/", "/", clean)
        if ask.query is not None and not re.fullmatch(r"sid=[0-9a-f]{16}", ask.query):
            return None
        number = self.item_number(clean)
        if clean != self.start and number is None:
            return None
        links = []
        if ask.target == self.start:
            links = [Anchor(self.item(n), f"Item {n + 1}") for n in range(self.items)]
        for step in range(1, 6):
            near = self.item(((number or 0) + step * step) % self.items)
            links.append(Anchor(self.tagged(ask.place, near, ask.target), f"See also {step}"))
        about = "start" if number is None else number
        return self.page(ask.place, f"Page {about}", links, about=about)


@dataclass(frozen=True)
class Languages(Trap):
    """Every page once more for each of thirty languages, though none was translated."""

    name: ClassVar[str] = "languages"

    def address(self, place: Place, number: int, language: str | None) -> str:
        """Return the address of an item in a language."""
        if language is None:
            return self.item(number)
        if self.style(place, 2):
            return f"{self.item(number)}?lang={language}"
        return f"{self.start}{language}/item-{number + 1}"

    def is_trap(self, place: Place, target: str) -> bool:  # noqa: ARG002 - the same everywhere
        """Tell whether a language is named."""
        return re.search(r"\?lang=|^/[\w-]+/[a-z]{2}/", target) is not None

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with the untranslated page."""
        if ask.target == self.start:
            links = [Anchor(self.item(n), f"Item {n + 1}") for n in range(self.items)]
            return self.page(ask.place, "Items", links, about="start", kind="index")
        number = self.item_number(ask.path)
        if number is None:
            return None
        found = re.search(r"lang=([a-z]{2})$|/([a-z]{2})/item-\d+$", ask.target)
        language = (found[1] or found[2]) if found else None
        if ask.target != self.address(ask.place, number, language) or (
            language is not None and language not in LANGUAGES
        ):
            return None
        links = [Anchor(self.address(ask.place, number, each), each) for each in LANGUAGES]
        after = self.address(ask.place, (number + 1) % self.items, language)
        links.append(Anchor(after, "Next item"))
        title = f"Item {number + 1}"
        return self.page(ask.place, title, links, about=number, lang=language or "en")


@dataclass(frozen=True)
class Copies(Trap):
    """Every page once more for printing or for small screens, the same text at a new address."""

    name: ClassVar[str] = "copies"

    items: int = 150

    def copies(self, place: Place, number: int) -> Sequence[str]:
        """Return the addresses of an item's copies."""
        ending = f"item-{number + 1}"
        return (
            [f"{self.item(number)}?print=1"],
            [f"{self.start}print/{ending}"],
            [f"{self.start}m/{ending}"],
            [f"{self.start}amp/{ending}", f"{self.item(number)}?print=1"],
        )[self.style(place, 4)]

    def is_trap(self, place: Place, target: str) -> bool:  # noqa: ARG002 - the same everywhere
        """Tell whether this is a copy."""
        return re.search(r"\?print=1$|/(?:print|m|amp)/", target) is not None

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with an item or its copy."""
        if ask.target == self.start:
            links = [Anchor(self.item(n), f"Item {n + 1}") for n in range(self.items)]
            return self.page(ask.place, "Items", links, about="start", kind="index")
        number = self.item_number(ask.path)
        if number is None:
            return None
        copies = self.copies(ask.place, number)
        if ask.target != self.item(number) and ask.target not in copies:
            return None
        links = [Anchor(each, "Another view") for each in copies]
        links += [Anchor(self.item((number + 1) % self.items), "Next")]
        return self.page(ask.place, f"Item {number + 1}", links, about=number)
