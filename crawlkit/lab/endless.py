"""What all traps of the zoo share: real pages, a way in, and which address is a trap."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qsl, urlencode, urljoin

from crawlkit.lab.content import Answer, Ask, Place, Section, draw
from crawlkit.lab.markup import Anchor, bullets, document, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Trap"]


@dataclass(frozen=True)
class Trap(Section):
    """A section with real pages, which the truth lists, and a trap, of which it lists the first.

    A subclass writes `answer`, `is_trap` and, where they are not ``item-1`` and so on, `real`.

    Parameters
    ----------
    items
        Number of its real pages below the first.
    shown
        Number of trap URLs that the truth lists.
    """

    endless: ClassVar[bool] = True

    items: int = 40
    shown: int = 20

    def style(self, place: Place, choices: int) -> int:
        """Return which of several spellings this seed has."""
        return draw(place.seed, self.name, place.host, "style") % choices

    def item(self, number: int) -> str:
        """Return the path of a real page, counted from 0."""
        return f"{self.start}item-{number + 1}"

    def real(self, place: Place) -> list[str]:  # noqa: ARG002 - for subclasses
        """Return the targets of the real pages, the first page first."""
        return [self.start, *map(self.item, range(self.items))]

    def is_trap(self, place: Place, target: str) -> bool:
        """Tell whether a target of this section belongs to the trap."""
        raise NotImplementedError

    def paths(self, place: Place) -> Iterator[str]:
        """Give the real pages, then the first of the trap."""
        real = self.real(place)
        yield from real
        yield from islice(self._walk(place, real), self.shown)

    def _walk(self, place: Place, real: Sequence[str]) -> Iterator[str]:
        """Give trap targets, breadth first."""
        seen, queue = set(real), list(real)
        for target in queue:
            path, mark, query = target.partition("?")
            answer = self.answer(Ask(place, path, query if mark else None))
            for href in answer.links if answer else ():
                found = urljoin(target, href)
                if found.startswith(self.start) and found not in seen:
                    seen.add(found)
                    queue.append(found)
                    if self.is_trap(place, found):
                        yield found

    def item_number(self, path: str) -> int | None:
        """Return the number of the item at the end of a path, or None."""
        name = path.rsplit("/", 1)[-1]
        number = name.removeprefix("item-")
        if name == number or not number.isdecimal() or not 1 <= int(number) <= self.items:
            return None
        return int(number) - 1

    def page(
        self,
        place: Place,
        title: str,
        links: Sequence[Anchor],
        *,
        about: object,
        nav: bool = True,
        kind: str = "page",
        lang: str = "en",
    ) -> Answer:
        """Write a page whose text depends on what it is about, not on its address."""
        text = sentences(3 + draw(place.seed, about) % 4, place.seed, self.name, place.host, about)
        return document(
            title,
            text,
            main=bullets(links),
            nav=[Anchor(self.start, self.name.capitalize())] if nav else [],
            kind=kind,
            lang=lang,
        )


def parameters(ask: Ask) -> dict[str, str]:
    """Return the parameters of a request, the last of each name."""
    return dict(parse_qsl(ask.query or "", keep_blank_values=True))


def with_query(path: str, values: dict[str, str]) -> str:
    """Return a path with its parameters, sorted."""
    return f"{path}?{urlencode(sorted(values.items()))}" if values else path
