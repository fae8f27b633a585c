"""Traps that make up pages: events, pages past the last, loops, answers to anything, searches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from crawlkit.lab.content import Answer, Ask, Place, draw
from crawlkit.lab.endless import Trap, parameters, with_query
from crawlkit.lab.markup import WORDS, Anchor, bullets, document, sentences

__all__ = ["Anything", "Events", "Hidden", "Listing", "Loop", "Searches"]

PER_PAGE = 10
FAR = 10**7
"""Numbers of pages or months beyond this are not answered, so that integers stay small."""


@dataclass(frozen=True)
class Events(Trap):
    """A calendar of events whose next month always exists; the first months have events.

    Parameters
    ----------
    first_year
        Year of the first month.
    """

    name: ClassVar[str] = "events"

    first_year: int = 2026

    def month(self, place: Place, number: int) -> str:
        """Return the target of a month, counted from 0."""
        year, month = self.first_year + number // 12, number % 12 + 1
        return (
            self.start
            + (
                f"{year}-{month:02d}",
                f"{year}/{month:02d}/",
                f"?month={month}&year={year}",
                f"?date={year}-{month:02d}-01&view=month",
            )[self.style(place, 4)]
        )

    def is_trap(self, place: Place, target: str) -> bool:  # noqa: ARG002 - the same everywhere
        """Tell whether this is a month."""
        return target != self.start and "item-" not in target

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with a month, or with an event."""
        if ask.target == self.start:
            return self.page(
                ask.place, "Calendar", [Anchor(self.month(ask.place, 0), "This month")], about="all"
            )
        number = self.item_number(ask.path)
        if number is not None and ask.query is None:
            return self.page(ask.place, f"Event {number + 1}", [], about=number, kind="event")
        found = re.search(r"(\d{4,7})[-/](\d\d)", ask.target)
        values = parameters(ask)
        year = found[1] if found else values.get("year", "")
        month = found[2] if found else values.get("month", "")
        if not (year.isdecimal() and month.isdecimal()):
            return None
        at = (int(year) - self.first_year) * 12 + int(month) - 1
        if not 0 <= at < FAR or self.month(ask.place, at) != ask.target:
            return None
        shown = range(at * 4, min(at * 4 + 4, self.items))
        links = [Anchor(self.item(n), f"Event {n + 1}") for n in shown]
        links += [Anchor(self.month(ask.place, at + 1), "Next month", "next")]
        if at:
            links.append(Anchor(self.month(ask.place, at - 1), "Previous month", "prev"))
        return self.page(ask.place, f"{year}-{month}", links, about=f"month {at}", kind="month")


@dataclass(frozen=True)
class Listing(Trap):
    """A listing that goes on past its last real page, without items or with the last ones again.

    Parameters
    ----------
    past
        ``"empty"`` or ``"repeat"``; by default the seed chooses.
    """

    name: ClassVar[str] = "listing"

    items: int = 150
    past: str | None = None

    @property
    def last(self) -> int:
        """The number of the last real page."""
        return -(-self.items // PER_PAGE)

    def number(self, place: Place, page: int) -> str:
        """Return the target of a page of the listing, counted from 1."""
        if page == 1:
            return self.start
        return (
            self.start
            + (f"?page={page}", f"page/{page}/", f"page-{page}.html")[self.style(place, 3)]
        )

    def real(self, place: Place) -> list[str]:
        """Return the real pages of the listing, and the items."""
        pages = [self.number(place, page) for page in range(2, self.last + 1)]
        return [*super().real(place), *pages]

    def is_trap(self, place: Place, target: str) -> bool:  # noqa: ARG002 - the same everywhere
        """Tell whether this is a page past the last."""
        found = re.search(r"page[=/-](\d+)", target)
        return found is not None and int(found[1]) > self.last

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with an item or a page of the listing."""
        number = self.item_number(ask.path)
        if number is not None and ask.query is None:
            return self.page(ask.place, f"Item {number + 1}", [], about=number, kind="item")
        found = re.search(r"page[=/-](\d{1,8})", ask.target)
        page = int(found[1]) if found else 1
        if not 1 <= page < FAR or ask.target != self.number(ask.place, page):
            return None
        past = self.past or ("empty", "repeat")[draw(ask.place.seed, "past") % 2]
        shown = page if past == "empty" else min(page, self.last)
        items = range(min((shown - 1) * PER_PAGE, self.items), min(shown * PER_PAGE, self.items))
        links = [Anchor(self.item(n), f"Item {n + 1}") for n in items]
        links.append(Anchor(self.number(ask.place, page + 1), "Next page", "next"))
        title = f"Items, page {page}"
        return self.page(ask.place, title, links, about="listing", kind="listing")


@dataclass(frozen=True)
class Loop(Trap):
    """Relative links without a leading slash, on pages that are served at any depth."""

    name: ClassVar[str] = "loop"

    items: int = 4

    def real(self, place: Place) -> list[str]:  # noqa: ARG002 - the same everywhere
        """Return the first page and the pages right below it."""
        return [self.start, *(f"{self.start}{word}/" for word in WORDS[: self.items])]

    def is_trap(self, place: Place, target: str) -> bool:
        """Tell whether more than one name stands behind the start."""
        return target not in self.real(place)

    def answer(self, ask: Ask) -> Answer | None:
        """Answer by the last name of the path."""
        words = ask.target.removeprefix(self.start).split("/")
        if words.pop() or len(ask.target) > 8_000 or not set(words) <= set(WORDS[: self.items]):
            return None
        links = [Anchor(f"{word}/", word.capitalize()) for word in WORDS[: self.items]]
        about = words[-1] if words else "start"
        return self.page(ask.place, about.capitalize(), links, about=about)


@dataclass(frozen=True)
class Hidden(Trap):
    """Links that no reader sees, into made-up pages that lead to more of them: a honeypot."""

    name: ClassVar[str] = "hidden"

    def is_trap(self, place: Place, target: str) -> bool:
        """Tell whether this is a made-up page."""
        return target not in self.real(place)

    def made_up(self, place: Place, origin: str, number: int) -> str:
        """Return the target of a made-up page."""
        bits = draw(place.seed, "hidden", origin, number)
        words = [WORDS[bits // len(WORDS) ** n % len(WORDS)] for n in range(3)]
        return f"{self.start}{'-'.join(words)}-{bits % 100_000}"

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with a real or a made-up page."""
        if ask.query is not None:
            return None
        number = self.item_number(ask.path)
        if ask.path == self.start or number is not None:
            near = range(self.items) if number is None else range(number, number + 3)
            links = [Anchor(self.item(n % self.items), f"Item {n % self.items + 1}") for n in near]
            bait = Anchor(self.made_up(ask.place, ask.path, 0), "Archive", "nofollow")
            return document(
                "Items" if number is None else f"Item {number + 1}",
                sentences(4, ask.place.seed, self.name, ask.path),
                main=[*bullets(links), '<div style="display:none">', bait, "</div>\n"],
            )
        if not re.fullmatch(r"[a-z]+(-[a-z]+){2}-\d{1,5}", ask.path.removeprefix(self.start)):
            return None
        links = [Anchor(self.made_up(ask.place, ask.path, n), f"More {n}") for n in range(3)]
        return self.page(ask.place, ask.path, links, about=ask.path, kind="bait")


@dataclass(frozen=True)
class Anything(Trap):
    """A section that answers 200 to any address with the same text, and guesses what was meant."""

    name: ClassVar[str] = "anything"

    def is_trap(self, place: Place, target: str) -> bool:
        """Tell whether no page stands here."""
        return target not in self.real(place)

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with an item, or with the page that stands for all others."""
        number = self.item_number(ask.path)
        if ask.target == self.start or (number is not None and ask.target == self.item(number)):
            near = range(self.items) if number is None else range(number, number + 3)
            links = [Anchor(self.item(n % self.items), f"Item {n % self.items + 1}") for n in near]
            if number is not None:
                links.append(Anchor(f"{self.start}topic-{number + 1}", "Topic"))
            about = "start" if number is None else number
            return self.page(ask.place, f"Item {about}", links, about=about)
        if len(ask.target) > 2_000:
            return None
        guesses = [draw(ask.place.seed, ask.target, n) % 10**6 for n in range(2)]
        names = [f"{self.start}topic-{guess}" for guess in guesses]
        title = ("Page not found", "Nothing here yet")[self.style(ask.place, 2)]
        return self.page(
            ask.place, title, [Anchor(name, "Did you mean this?") for name in names], about="none"
        )


@dataclass(frozen=True)
class Searches(Trap):
    """Result pages of a search, each of which suggests to search for more words."""

    name: ClassVar[str] = "searches"

    def query(self, place: Place, words: tuple[str, ...]) -> str:
        """Return the target of a search."""
        if self.style(place, 3) == 2:
            return f"{self.start}search/{'-'.join(words)}"
        return with_query(self.start, {("q", "query")[self.style(place, 3)]: " ".join(words)})

    def is_trap(self, place: Place, target: str) -> bool:  # noqa: ARG002 - the same everywhere
        """Tell whether this is a page of results."""
        return "?" in target or "/search/" in target

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with an item or with results."""
        number = self.item_number(ask.path)
        if number is not None and ask.query is None:
            tag = self.query(ask.place, (WORDS[number % len(WORDS)],))
            return self.page(ask.place, f"Item {number + 1}", [Anchor(tag, "Tag")], about=number)
        found = " ".join(parameters(ask).values()) or ask.path.partition("/search/")[2]
        words = tuple(word for word in re.split("[ -]", found) if word)
        if ask.target != self.start and (
            not words or not set(words) <= set(WORDS) or self.query(ask.place, words) != ask.target
        ):
            return None
        key = (ask.place.seed, "results", *words)
        shown = range(self.items) if not words else [draw(*key, n) % self.items for n in range(5)]
        links = [Anchor(self.item(n), f"Item {n + 1}") for n in dict.fromkeys(shown)]
        for step in range(3):
            more = WORDS[draw(*key, "more", step) % len(WORDS)]
            longer = (*words[-3:], more)
            links.append(Anchor(self.query(ask.place, longer), f"and {more}"))
        title = f"Results for {' '.join(words)}" if words else "Search"
        return self.page(ask.place, title, links, about=words, kind="results")
