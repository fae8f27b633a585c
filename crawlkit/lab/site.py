"""The whole site without the server: which section answers a path, home pages, robots.txt."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.lab.content import Answer, Ask, Place, Section, draw
from crawlkit.lab.faulty import Faulty
from crawlkit.lab.finite import Finite
from crawlkit.lab.lastmod_sites import Living
from crawlkit.lab.links import Broken, Canonical, Cross, Redirects
from crawlkit.lab.markup import Anchor, bullets, document
from crawlkit.lab.mazes import Calendar, Deep
from crawlkit.lab.shop import Shop, ShopTracking
from crawlkit.lab.trouble import Failing, Files, Large, Outage, Robots, Slow
from crawlkit.lab.zoo import TRAPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["SECTIONS", "Site", "make_sections", "section_from_text", "section_to_text"]

KINDS: tuple[type[Section], ...] = (
    Shop,
    ShopTracking,
    Redirects,
    Broken,
    Canonical,
    Cross,
    Slow,
    Failing,
    Outage,
    Large,
    Files,
    Robots,
    Calendar,
    Deep,
    Faulty,
    Finite,
    *TRAPS,
    Living,
)
SECTIONS: dict[str, type[Section]] = {kind.name: kind for kind in KINDS}
"""The sections that a site can be made of, by name."""

ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def make_sections(given: Sequence[str | Section], *, hosts: int = 1) -> tuple[Section, ...]:
    """Return the sections asked for, checked.

    Parameters
    ----------
    given
        Names from `SECTIONS`, or section objects with their own options.
    hosts
        Number of hosts, which bounds the option ``on``.

    Raises
    ------
    BadSetting
        On a name that is not known, a section given twice, or one on a host that is not there.
    """
    if isinstance(given, str):
        given = (given,)
    sections = []
    for each in given:
        if isinstance(each, Section):
            sections.append(each)
        elif each in SECTIONS:
            sections.append(SECTIONS[each]())
        else:
            known = ", ".join(SECTIONS)
            raise BadSetting("sections", f"there is no section {each!r}", f"There are: {known}.")
    names = [section.name for section in sections]
    if not names:
        raise BadSetting("sections", "no section was given", 'Pass for example ("shop",).')
    for section in sections:
        if names.count(section.name) > 1:
            raise BadSetting("sections", f"{section.name!r} is given twice", "Give it once.")
        if not re.fullmatch(r"[a-z][a-z0-9-]*", section.name):
            raise BadSetting("sections", f"{section.name!r} is no name", "Use a-z, 0-9 and -.")
        if section.on is not None and not all(0 <= host < hosts for host in section.on):
            problem = f"{section.name!r} is on hosts {section.on}, and there are {hosts}"
            raise BadSetting("sections", problem, "Count hosts from 0.")
    return tuple(sections)


def section_to_text(section: Section) -> str:
    """Return name and options as text, for the command line of another process.

    Raises
    ------
    BadSetting
        On a section that another process cannot find by its name.
    """
    if SECTIONS.get(section.name) is not type(section):
        problem = f"{type(section).__name__} is known in this process only"
        raise BadSetting("sections", problem, "Serve it with process=False.")
    options = {
        field.name: getattr(section, field.name)
        for field in dataclasses.fields(section)
        if getattr(section, field.name) != field.default
    }
    return section.name if not options else f"{section.name}:{json.dumps(options)}"


def section_from_text(text: str) -> Section:
    """Return the section that `section_to_text` wrote.

    Raises
    ------
    BadSetting
        On an unknown name or option.

    Examples
    --------
    >>> section_from_text('slow:{"seconds": 2}')
    Slow(on=None, seconds=2, pages=5)
    """
    name, _, options = text.partition(":")
    (section,) = make_sections([name])
    try:
        values: dict[str, Any] = json.loads(options) if options else {}
        tuples = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
        return dataclasses.replace(section, **tuples)
    except (ValueError, TypeError, AttributeError) as error:
        problem = f"the options of {name!r} cannot be used ({error})"
        fields = ", ".join(field.name for field in dataclasses.fields(section))
        raise BadSetting("sections", problem, f"Write JSON with any of: {fields}.") from error


def decode_unreserved(path: str) -> str:
    """Decode the escapes that mean the same as the character itself (RFC 3986, 6.2.2.2).

    Examples
    --------
    >>> decode_unreserved("/%73hop/a%2Fb")
    '/shop/a%2Fb'
    """
    if "%" not in path:
        return path

    def decoded(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if character in UNRESERVED else found[0]

    return ESCAPE.sub(decoded, path)


class Site:
    """The content of a practice site.

    Parameters
    ----------
    sections
        What it is made of.
    seed
        Makes all texts, names, prices and spellings.
    bases
        Root of each host, for example ``http://127.0.0.1:8000/``.
    """

    def __init__(self, sections: Sequence[Section], seed: int, bases: Sequence[str]) -> None:
        self.sections = tuple(sections)
        self.places = tuple(Place(seed, host, tuple(bases)) for host in range(len(bases)))
        self._by_name = {section.name: section for section in sections}
        self._counting = [section for section in sections if section.counts]
        self._visits: Counter[tuple[int, str]] = Counter()
        self._asked: Counter[int] = Counter()

    def forget(self) -> None:
        """Forget all requests, so that pages which fail at first fail again."""
        self._visits.clear()
        self._asked.clear()

    def on_host(self, host: int) -> list[Section]:
        """Return the sections that a host serves."""
        return [each for each in self.sections if each.on is None or host in each.on]

    def section_at(self, host: int, path: str) -> Section | None:
        """Return the section that a path belongs to."""
        section = self._by_name.get(path.split("/", 2)[1].partition(";")[0])
        if section is None or (section.on is not None and host not in section.on):
            return None
        return section

    @property
    def keeps_count(self) -> bool:
        """Whether any answer depends on earlier requests."""
        return bool(self._counting)

    def notice(self, host: int, target: str) -> tuple[int, Answer | None]:
        """Count a request; return how many there were of it, and what stands in for any answer."""
        visit = self._visits[host, target]
        asked = self._asked[host]
        self._visits[host, target] += 1
        self._asked[host] += 1
        path, mark, query = target.partition("?")
        ask = Ask(self.places[host], path, query if mark else None, visit)
        for section in self._counting:
            if section.on is None or host in section.on:
                instead = section.before(ask, asked)
                if instead is not None:
                    return visit, instead
        return visit, None

    def answer(self, host: int, target: str, visit: int = 0) -> Answer:
        """Answer a target (path and query) on a host, asked for ``visit`` times before."""
        path, mark, query = target.partition("?")
        if not path.startswith("/"):
            return self._missing(host, status=400)
        return self._page(
            Ask(self.places[host], decode_unreserved(path), query if mark else None, visit)
        )

    def _page(self, ask: Ask) -> Answer:
        """Answer by path: robots.txt, the home page, or a page of a section."""
        host = ask.place.host
        if ask.path.endswith(".txt") and (found := self._robots(ask)):
            return found
        if ask.target == "/":
            return self._home(host)
        section = self.section_at(host, ask.path)
        return (section and section.answer(ask)) or self._missing(host)

    def robots_text(self, host: int) -> str:
        """Return the robots.txt of a host."""
        place = self.places[host]
        lines = [line for each in self.on_host(host) for line in each.robots_lines(place)]
        return "\n".join(["User-agent: *", *(lines or ["Disallow:"])]) + "\n"

    def _robots(self, ask: Ask) -> Answer | None:
        """Answer for robots.txt, or for a file that stands in for it."""
        text = self.robots_text(ask.place.host)
        for section in self.on_host(ask.place.host):
            instead = section.robots_answer(ask, text)
            if instead is not None:
                return instead
        if ask.target != "/robots.txt":
            return None
        return Answer(text.encode(), content_type="text/plain; charset=utf-8", kind="robots.txt")

    def _home(self, host: int) -> Answer:
        """Write the home page of a host: its sections, and the other hosts."""
        place = self.places[host]
        anchors = [Anchor(each.start, f"Section {each.name}") for each in self.on_host(host)]
        for number, base in enumerate(place.bases):
            if number != host:
                anchors.append(Anchor(base, f"Host {number}"))
        return document(f"Practice site, host {host}", main=bullets(anchors), kind="home")

    def _missing(self, host: int, *, status: int = 404) -> Answer:
        """Return the page for addresses that are not there."""
        text = "There is no such page on this host."
        return document(f"Not found on host {host}", text, status=status, kind="missing")

    def plain(self, host: int, target: str) -> str:
        """Return the one target that stands for all spellings of it."""
        path, mark, query = target.partition("?")
        target = decode_unreserved(path) + mark + query
        section = self.section_at(host, target)
        return section.plain(target) if section else target

    def targets(self, host: int) -> Iterator[tuple[str, str]]:
        """Give section name and target of each page that the truth lists."""
        yield "home", "/"
        for section in self.on_host(host):
            for target in section.paths(self.places[host]):
                yield section.name, target

    def last_modified(self, host: int, target: str) -> int:
        """Return when a page was last changed, in seconds of the epoch: fixed by the seed."""
        day = draw(self.places[host].seed, "modified", host, target) % (300 * 86_400)
        return 1_767_225_600 + day  # 2026-01-01 and some days
