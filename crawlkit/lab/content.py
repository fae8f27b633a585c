"""What a section of the practice site is, and what it answers with.

A section is a small class: a name, which is also the first segment of its paths, the paths that
it has, and an answer to each. Everything that it makes up comes from `draw`, so the same seed,
section and path always give the same bytes. Truth is computed from the same answers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Answer", "Ask", "Place", "Section", "draw", "pick", "redirect"]

HTML = "text/html; charset=utf-8"

T = TypeVar("T")


def draw(*key: object) -> int:
    """Return 64 bits that depend on the key alone: the same on every machine and version."""
    text = "\x1f".join(map(str, key)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def pick(choices: Sequence[T], *key: object) -> T:
    """Return one of the choices, always the same one for a key."""
    return choices[draw(*key) % len(choices)]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a section stands: the seed of the site, its hosts, and which of them this is."""

    seed: int
    host: int
    bases: tuple[str, ...]

    @property
    def base(self) -> str:
        """The root of this host, with a slash at its end."""
        return self.bases[self.host]


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, as a section sees it.

    Parameters
    ----------
    place
        The host that was asked.
    path
        The path, percent-encoded letters and digits decoded, for example ``/shop/``.
    query
        What stands behind the question mark, or None where there is none.
    visit
        How often this very target was asked for before (only for sections with ``counts``).
    """

    place: Place
    path: str
    query: str | None = None
    visit: int = 0

    @property
    def target(self) -> str:
        """Path and query together."""
        return self.path if self.query is None else f"{self.path}?{self.query}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a path answers with, and what is true about it.

    Parameters
    ----------
    body
        The bytes of the body.
    status
        The HTTP status.
    kind
        What the page is, in a word: ``"product"``, ``"listing"``, ``"missing"``.
    content_type
        Value of the Content-Type header; None leaves the header out.
    headers
        More headers, in order.
    links
        The hrefs of the page, in document order, unresolved.
    canonical
        The canonical address that the page declares, unresolved.
    same_as
        Path of the page of which this one is a copy.
    wait
        Seconds that this answer takes, on top of the site's latency.
    fault
        ``"reset"`` (the connection is reset), ``"closed"`` (closed without a byte) or
        ``"truncated"`` (half of the promised body).
    record
        What an extractor should find here, for example id, name and price of a product.
    settled
        False where the answer depends on earlier requests, so that it must not be kept.
    """

    body: bytes = b""
    status: int = 200
    kind: str = "page"
    content_type: str | None = HTML
    headers: tuple[tuple[str, str], ...] = ()
    links: tuple[str, ...] = ()
    canonical: str | None = None
    same_as: str | None = None
    wait: float = 0.0
    fault: str | None = None
    record: Mapping[str, object] | None = None
    settled: bool = True

    @property
    def location(self) -> str | None:
        """The redirect target as sent, or None."""
        return next((value for name, value in self.headers if name == "Location"), None)


def redirect(location: str, status: int = 302) -> Answer:
    """Return an answer that redirects."""
    return Answer(status=status, kind="redirect", headers=(("Location", location),))


@dataclass(frozen=True)
class Section:
    """One part of the practice site; subclass it to add another.

    A subclass is a frozen dataclass whose fields are its options. It sets ``name`` and writes
    `paths` and `answer`.

    Parameters
    ----------
    on
        Numbers of the hosts that serve the section, from 0; None means all of them.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from crawlkit import lab
    >>> @dataclass(frozen=True)
    ... class Notes(lab.Section):
    ...     name = "notes"
    ...
    ...     def paths(self, place):
    ...         return ["/notes/"]
    ...
    ...     def answer(self, ask):
    ...         return lab.document("Notes", "Nothing here.") if ask.path == "/notes/" else None
    >>> with lab.serve([Notes()]) as site:
    ...     sorted(site.truth.urls("notes")) == [site.url + "notes/"]
    True
    """

    name: ClassVar[str]
    counts: ClassVar[bool] = False
    """True where answers depend on how often a target was asked for."""
    endless: ClassVar[bool] = False
    """True for a trap: `paths` gives only the first of its URLs."""

    on: tuple[int, ...] | None = None

    @property
    def start(self) -> str:
        """Path of the section's first page."""
        return f"/{self.name}/"

    def paths(self, place: Place) -> Iterable[str]:
        """Give the path (with query) of every URL, the first page first."""
        raise NotImplementedError

    def answer(self, ask: Ask) -> Answer | None:
        """Answer a request, or return None where there is no such page."""
        raise NotImplementedError

    def is_trap(self, place: Place, target: str) -> bool:  # noqa: ARG002 - for subclasses
        """Tell whether a target of this section belongs to a trap; by default all or none do."""
        return self.endless

    def plain(self, target: str) -> str:
        """Return the one path that stands for all spellings of a target."""
        return target

    def robots_lines(self, place: Place) -> Sequence[str]:  # noqa: ARG002 - for subclasses
        """Give the lines that the section adds to the group ``User-agent: *``."""
        return ()

    def robots_answer(self, ask: Ask, text: str) -> Answer | None:  # noqa: ARG002 - for subclasses
        """Answer in place of the host's robots.txt, whose text is given; None leaves it."""
        return None

    def before(self, ask: Ask, asked: int) -> Answer | None:  # noqa: ARG002 - for subclasses
        """Answer in place of any page of the host; ``asked`` is the number of earlier requests.

        Called only for sections with ``counts``.
        """
        return None
