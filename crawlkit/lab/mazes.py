"""Sections without an end, or with a far one: a calendar and a deep chain."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crawlkit.lab.content import Answer, Ask, Place, Section
from crawlkit.lab.markup import Anchor, bullets, document, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Calendar", "Deep"]

MONTHS = (  # noqa: SIM905 - a word a line would fill a screen
    "January February March April May June July August September October November December"
).split()


@dataclass(frozen=True)
class Calendar(Section):
    """A calendar whose link to the next month never ends: a trap.

    Parameters
    ----------
    first_year
        Year of the first month; there is nothing before it.
    shown
        Number of months that the truth lists.
    """

    name: ClassVar[str] = "calendar"
    endless: ClassVar[bool] = True

    first_year: int = 2026
    shown: int = 24

    def path(self, month: int) -> str:
        """Return the path of a month, counted from 0 at the first."""
        year, rest = divmod(month, 12)
        return f"{self.start}{self.first_year + year}-{rest + 1:02d}"

    def paths(self, place: Place) -> Iterator[str]:  # noqa: ARG002 - the same on each host
        """Give the first page and the first months."""
        yield self.start
        for month in range(self.shown):
            yield self.path(month)

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with any month from the first on."""
        if ask.target == self.start:
            first = Anchor(self.path(0), f"January {self.first_year}")
            return document("Calendar", main=bullets([first]), kind="index")
        found = re.fullmatch(r"(\d{4,9})-(\d\d)", ask.target.removeprefix(self.start))
        if not found:
            return None
        month = (int(found[1]) - self.first_year) * 12 + int(found[2]) - 1
        if month < 0 or self.path(month) != ask.target:
            return None
        anchors = [Anchor(self.path(month + 1), "Next month", "next")]
        if month:
            anchors.insert(0, Anchor(self.path(month - 1), "Previous month", "prev"))
        return document(
            f"{MONTHS[month % 12]} {found[1]}",
            sentences(2, ask.place.seed, self.name, ask.place.host, month),
            main=bullets(anchors),
            nav=[Anchor(self.start, "Calendar")],
            kind="month",
        )


@dataclass(frozen=True)
class Deep(Section):
    """A chain of pages, each found only on the one before.

    Parameters
    ----------
    depth
        Number of pages below the first.
    """

    name: ClassVar[str] = "deep"

    depth: int = 50

    def paths(self, place: Place) -> Iterator[str]:  # noqa: ARG002 - the same on each host
        """Give the first page and those below it."""
        yield self.start
        for number in range(1, self.depth + 1):
            yield f"{self.start}level-{number}"

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with one level."""
        found = re.fullmatch(r"level-([1-9]\d{0,8})", ask.target.removeprefix(self.start))
        level = int(found[1]) if found else 0
        if level > self.depth or (not found and ask.target != self.start):
            return None
        below = [Anchor(f"{self.start}level-{level + 1}", "Deeper")] if level < self.depth else []
        return document(
            f"Level {level}",
            sentences(3, ask.place.seed, self.name, ask.place.host, level),
            main=bullets(below),
            kind="level" if level else "index",
        )
