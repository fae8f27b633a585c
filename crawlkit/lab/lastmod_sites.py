"""A living site whose pages change as its clock is moved, with a sitemap that may or may not lie.

Nine cases, each a way in which real sites keep ``lastmod``. All of a site is computed from the seed
and the clock: the same seed and time give the same bytes, and what truly changed is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.errors import BadSetting
from crawlkit.lab.content import Answer, Ask, Place, Section, draw, pick
from crawlkit.lab.lastmod_pages import article, iso, iso_day, sitemap_index, urlset
from crawlkit.lab.markup import Anchor, bullets, document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

__all__ = ["LASTMOD_CASES", "LastmodCase", "Living", "SimulatedClock"]

DAY = 86_400.0
START = 1_750_000_000.0  # 2025-06-15 15:06:40 UTC
ARCHIVE_PAGES = 10_236
NEWS_SECONDS = 576  # one article each: 300 in two days
ZONES = (-8.0, -5.0, 2.0, 5.5, 9.0)


class LastmodCase(NamedTuple):
    """One way to keep ``lastmod``, and what an audit should say of it.

    Attributes
    ----------
    words
        What the site does.
    first
        The right verdict of a first audit.
    later
        The right verdicts once the content was observed twice.
    reasons
        Codes of which at least one belongs to the last verdict.
    """

    words: str
    first: tuple[str, ...]
    later: tuple[str, ...]
    reasons: tuple[str, ...]


LASTMOD_CASES: dict[str, LastmodCase] = {
    "truthful": LastmodCase(
        "lastmod moves when the main text changes, to the second",
        ("provisional",), ("trust",), ("moves_with_content",),
    ),
    "truthful_days": LastmodCase(
        "lastmod moves when the main text changes, as a day",
        ("provisional",), ("trust",), ("moves_with_content",),
    ),
    "shifted_zone": LastmodCase(
        "lastmod moves when the main text changes, in local time marked as UTC",
        ("provisional",), ("trust",), ("zone_offset",),
    ),
    "news_stamps": LastmodCase(
        "a news file whose entries all carry one of two stamps, a second apart",
        ("distrust",), ("distrust",), ("stamp_generation",),
    ),
    "undated_archive": LastmodCase(
        "an archive of 10,236 pages without lastmod",
        ("distrust",), ("distrust",), ("absent",),
    ),
    "stamped_per_entry": LastmodCase(
        "each entry carries the moment at which it was written, with microseconds",
        ("distrust",), ("distrust",), ("stamp_request",),
    ),
    "restamped_by_deploy": LastmodCase(
        "nightly deploys restamp some pages, in the sitemap and in the page alike",
        ("provisional",), ("distrust", "undecided"), ("phantom_moves", "evidence_against"),
    ),
    "frozen_at_publication": LastmodCase(
        "lastmod is the date of publication for ever",
        ("distrust", "undecided"), ("distrust",), ("frozen", "missed_changes"),
    ),
    "half_true": LastmodCase(
        "one file is truthful, the other is stamped when it is made",
        ("undecided",), ("undecided",), ("mixed_files",),
    ),
}  # fmt: skip
"""The nine cases by name, with the verdicts that are right."""


class SimulatedClock:
    """The time of a living site; it stands still until it is moved.

    Attributes
    ----------
    now : float
        Seconds since 1970 UTC.

    Examples
    --------
    >>> clock = SimulatedClock(0.0)
    >>> clock.advance(days=1)
    >>> clock.now
    86400.0
    """

    def __init__(self, now: float = START) -> None:
        self.now = now

    def advance(self, *, days: float = 0.0, hours: float = 0.0, seconds: float = 0.0) -> None:
        """Move the clock forward."""
        step = days * DAY + hours * 3600 + seconds
        if not step >= 0:
            raise BadSetting("days", f"{step} seconds lead back", "Pass numbers of 0 or more.")
        self.now += step


@lru_cache(maxsize=20_000)
def _changes(seed: int, number: int, rare: bool, until: int) -> tuple[float, ...]:  # noqa: FBT001
    """Return publication and changes of a page up to the end of a span of 100 days."""
    # Two kinds of page, as on real sites: some change every other week, most hardly ever.
    busy = not rare and draw(seed, "busy", number) % 100 < 45
    mean = 12 * DAY if busy else 150 * DAY
    at = START - 30 * DAY - draw(seed, "born", number) % (400 * DAY)
    found = [at]
    while True:
        step = draw(seed, "change", number, len(found)) / 2**64
        at += 3_600 - mean * math.log(1 - step)
        if at >= until:
            return tuple(found)
        found.append(at)


@dataclass(frozen=True)
class Living(Section):
    """A site that changes over simulated time; see `LASTMOD_CASES`.

    Its sitemap is ``/living/sitemap.xml``, named in robots.txt. ``clock`` moves it.

    Parameters
    ----------
    case
        A name in `LASTMOD_CASES`.
    size
        Pages; the archive has 10,236, and a news file what came out in two days.

    Examples
    --------
    >>> from crawlkit import lab
    >>> living = lab.Living(case="truthful", size=50)
    >>> with lab.serve([living]) as site:
    ...     before = living.truth(site.url)
    ...     living.clock.advance(days=14)
    ...     after = living.truth(site.url)
    >>> bool((after["changed_at"] > before["changed_at"]).any())
    True
    """

    name = "living"

    case: str = "truthful"
    size: int = 400

    def __post_init__(self) -> None:
        if self.case not in LASTMOD_CASES:
            known = ", ".join(LASTMOD_CASES)
            raise BadSetting("case", f"there is no case {self.case!r}", f"There are: {known}.")
        # State, not an option: two sections with the same options are equal all the same.
        object.__setattr__(self, "_clock", SimulatedClock())

    @property
    def clock(self) -> SimulatedClock:
        """The site's clock."""
        clock: SimulatedClock = self.__dict__["_clock"]
        return clock

    # -- what is true ----------------------------------------------------------------------

    def numbers(self) -> Sequence[int]:
        """Return the numbers of the pages that the sitemap lists now."""
        if self.case == "undated_archive":
            return range(ARCHIVE_PAGES)
        if self.case == "news_stamps":
            newest = int(self.clock.now // NEWS_SECONDS)
            return range(newest - 299, newest + 1)
        return range(self.size)

    def changes(self, seed: int, number: int) -> tuple[float, ...]:
        """Return publication and all changes of a page so far, in seconds since 1970 UTC."""
        now = self.clock.now
        if self.case == "news_stamps":
            born = number * NEWS_SECONDS + draw(seed, "minute", number) % NEWS_SECONDS
            again = born + 3_600 * (1 + draw(seed, "again", number) % 20)
            moments = (float(born), float(again)) if number % 3 == 0 else (float(born),)
            return tuple(at for at in moments if at <= now) or (float(born),)
        until = int((now // (100 * DAY) + 1) * 100 * DAY)
        rare = self.case in ("restamped_by_deploy", "undated_archive")
        return tuple(at for at in _changes(seed, number, rare, until) if at <= now)

    def truth(self, base: str, *, seed: int = 0) -> pd.DataFrame:
        """Return what is true of each page that the sitemap lists now.

        Parameters
        ----------
        base
            Root of the site, ``site.url``.
        seed
            Seed of the site, ``site.seed``.

        Returns
        -------
        DataFrame
            ``url`` (str), ``published_at changed_at`` (datetime64[us, UTC]), ``changes`` (int64).
        """
        import pandas as pd

        rows = [(number, self.changes(seed, number)) for number in self.numbers()]
        times = pd.DataFrame(
            [(moments[0], moments[-1]) for _, moments in rows],
            columns=["published_at", "changed_at"],
            dtype="float64",
        )
        return pd.DataFrame(
            {
                "url": pd.Series([base + self._path(n)[1:] for n, _ in rows], dtype="str"),
                **{
                    name: pd.to_datetime((times[name] * 1e6).astype("int64"), unit="us", utc=True)
                    for name in times
                },
                "changes": pd.Series([len(moments) - 1 for _, moments in rows], dtype="int64"),
            }
        )

    # -- what is said ----------------------------------------------------------------------

    def made_at(self, seed: int) -> float:
        """Return when the sitemap's file was made last."""
        minutes = draw(seed, "made", int(self.clock.now // 3_600)) % 8
        return math.floor(self.clock.now) - 60.0 * (1 + minutes)

    def lastmod(  # noqa: PLR0911 - one line for each case
        self, seed: int, number: int
    ) -> str | None:
        """Return the text of ``lastmod`` of a page, None where the sitemap gives none."""
        moment = self._modified(seed, number)
        if self.case == "undated_archive":
            return None
        if self.case == "truthful_days":
            return iso_day(moment)
        if self.case == "shifted_zone":
            return iso(moment + 3_600 * pick(ZONES, seed, "zone"))
        if self.case == "frozen_at_publication":
            return iso(self.changes(seed, number)[0])
        if self.case == "news_stamps":
            return iso(self.made_at(seed) + draw(seed, "second", number) % 2)
        if self.case == "stamped_per_entry":
            return iso(self.clock.now - 40 * (1 - number / self.size), micros=True)
        if self.case == "half_true" and number % 2:
            return iso(self.made_at(seed) + draw(seed, "second", number) % 2)
        return iso(moment)

    def _modified(self, seed: int, number: int) -> float:
        """Return the date of change that the page itself gives."""
        changed = self.changes(seed, number)[-1]
        if self.case != "restamped_by_deploy":
            return changed
        # The last nightly deploy that touched the page, whether or not its text had changed.
        for night in range(int(self.clock.now // DAY), int(START // DAY) - 400, -1):
            deployed = night * DAY + 7_200 + draw(seed, "minute", night) % 3_600
            if deployed <= self.clock.now and draw(seed, "deploy", night, number) % 100 < 3:
                return float(deployed)
        return changed

    # -- pages -----------------------------------------------------------------------------

    def paths(self, place: Place) -> Iterable[str]:
        """Give the first page, the sitemaps and every page listed now."""
        yield self.start
        yield from (f"{self.start}{name}" for name in self._files(place))
        yield from (self._path(number) for number in self.numbers())

    def robots_lines(self, place: Place) -> Sequence[str]:
        """Name the sitemap."""
        return ("Disallow:", f"Sitemap: {place.base}living/sitemap.xml")

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with the first page, a sitemap or an article."""
        rest = ask.path.removeprefix(self.start)
        if ask.query is not None:
            return None
        if rest == "":
            return self._first_page(ask.place)
        if rest in self._files(ask.place):
            return self._sitemap(ask.place, rest)
        _, slash, digits = rest.partition("/")
        number = int(digits) if slash and digits.isdecimal() and len(digits) < 12 else -1
        if number < 0 or self._path(number) != ask.path or not self._exists(number):
            return None
        return self._article(ask.place, number)

    def _exists(self, number: int) -> bool:
        """Tell whether a page is there; old news stays."""
        numbers = self.numbers()
        return number <= numbers[-1] if self.case == "news_stamps" else number in numbers

    def _path(self, number: int) -> str:
        """Return the path of a page."""
        if self.case == "half_true":
            return f"{self.start}{'stamped' if number % 2 else 'kept'}/{number}"
        return f"{self.start}pages/{number}"

    def _files(self, place: Place) -> list[str]:
        """Return the names of the sitemap files."""
        del place
        more = ["kept.xml", "stamped.xml"] if self.case == "half_true" else []
        return ["sitemap.xml", *more]

    def _headers(self, modified: float | None) -> tuple[tuple[str, str], ...]:
        """Return the headers that tell the simulated time."""
        now = ("Date", formatdate(math.floor(self.clock.now), usegmt=True))
        # Empty: no Last-Modified, as on most pages that are made when asked for.
        text = "" if modified is None else formatdate(math.floor(modified), usegmt=True)
        return (now, ("Last-Modified", text))

    def _first_page(self, place: Place) -> Answer:
        """Link some of the pages."""
        listed = list(self.numbers())[:20]
        links = bullets(Anchor(self._path(number), f"Page {number}") for number in listed)
        page = document(f"Living site {place.seed}", main=links, kind="listing", settled=False)
        return Answer(
            page.body, kind=page.kind, links=page.links, settled=False, headers=self._headers(None)
        )

    def _sitemap(self, place: Place, name: str) -> Answer:
        """Write one sitemap file."""
        made: float | None = self.made_at(place.seed)
        if self.case == "half_true" and name == "sitemap.xml":
            children = [(f"{place.base}living/{each}", None) for each in self._files(place)[1:]]
            body = sitemap_index(children)
        else:
            body = urlset(self._entries(place, name))
        if self.case == "stamped_per_entry":
            made = None
        return Answer(
            body,
            kind="sitemap",
            content_type="application/xml",
            headers=self._headers(made),
            settled=False,
        )

    def _entries(self, place: Place, name: str) -> Iterator[tuple[str, str | None, str | None]]:
        """Give address, lastmod and publication date of each entry of a file."""
        news = self.case == "news_stamps"
        for number in self.numbers():
            if self.case == "half_true" and (number % 2 == 1) != (name == "stamped.xml"):
                continue
            published = iso(self.changes(place.seed, number)[0]) if news else None
            address = place.base[:-1] + self._path(number)
            yield address, self.lastmod(place.seed, number), published

    def _article(self, place: Place, number: int) -> Answer:
        """Write one article as it reads now."""
        moments = self.changes(place.seed, number)
        body = article(
            place.seed,
            number,
            changes=len(moments) - 1,
            published=iso(moments[0]),
            modified=iso(self._modified(place.seed, number)),
            now=self.clock.now,
        )
        return Answer(body, kind="article", headers=self._headers(None), settled=False)
