"""Everything that a crawl is told, as one frozen object that is saved in the folder."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from crawlkit.crawling.expected import Markers, compile_markers
from crawlkit.errors import BadSetting, SettingsChanged
from crawlkit.order.base import FoundPage
from crawlkit.order.omniscient import Omniscient
from crawlkit.order.registry import make_ordering
from crawlkit.web.fetch import Http
from crawlkit.web.patterns import Patterns, compile_patterns
from crawlkit.web.urls import UrlRules, registered_domain

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from crawlkit.order.base import Ordering

__all__ = ["Limits", "Scope", "Settings", "settings_from_arguments"]

SETTINGS_VERSION = 1
_SCOPE_WORDS = ("host", "site", "any")
_ON_TRAP = ("warn", "hold", "stop")
# A lease taken and never finished means that the process died with it. Kills at random may hit
# one page several times, so the limit is well above the number that a restless user would reach.
_LEASES_PER_PAGE = 15


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of a crawl; ``None`` means none.

    Parameters
    ----------
    pages_per_host
        Pages asked for on one host.
    bytes
        Bytes of bodies on the wire, in all; never exceeded.
    seconds
        Seconds of crawling, added up over resumes; no request starts after them.
    known_urls
        URLs kept in ``urls``; those found beyond are counted, not kept.
    body
        Bytes of one body, on the wire and decoded.
    links_per_page
        Links kept of one page; those beyond are counted.
    attempts
        Times a page may be leased. Only a process that died with the page in hand uses up more
        than one for each retry, so a page that kills the process is given up in the end.

    Examples
    --------
    >>> Limits(pages_per_host=200).pages_per_host
    200
    """

    pages_per_host: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    known_urls: int | None = None
    body: int = 10_485_760
    links_per_page: int | None = 50_000
    attempts: int = _LEASES_PER_PAGE

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            _check_positive(f"limits.{option.name}", value, whole=option.name != "seconds")
            if value is None and option.name in ("body", "attempts"):
                raise BadSetting(f"limits.{option.name}", "it must be set", "Pass a number.")


def _check_positive(
    name: str, value: object, *, whole: bool, zero: bool = False, optional: bool = True
) -> None:
    """Raise unless ``value`` is None or a finite number above (or at) zero."""
    if value is None and optional:
        return
    kinds = (int,) if whole else (int, float)
    good = isinstance(value, kinds) and not isinstance(value, bool)
    if good:
        number = cast("float", value)
        good = math.isfinite(number) and (number > 0 or (zero and number == 0))
    if not good:
        least = "0 or more" if zero else "above 0"
        kind = "a whole number" if whole else "a number"
        none = ", or None for no limit" if optional else ""
        raise BadSetting(name, f"{value!r} is not {kind} {least}", f"Pass {kind} {least}{none}.")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which hosts belong to a crawl.

    Parameters
    ----------
    kind
        ``"host"``: the seeds' hosts; ``"site"``: their registered domains; ``"any"``: all;
        ``"hosts"``: those listed.
    hosts
        The hosts or registered domains that the kind refers to.
    """

    kind: str
    hosts: frozenset[str]

    def allows(self, host: str) -> bool:
        """Return whether a host belongs to the crawl."""
        if self.kind == "any":
            return True
        return (registered_domain(host) if self.kind == "site" else host) in self.hosts


@dataclass(frozen=True, slots=True)
class Settings:
    """What a crawl was told; see :func:`crawlkit.crawl` for the meaning of each field."""

    order: Ordering
    max_pages: int | None = 1_000
    max_depth: int | None = None
    scope: Literal["host", "site", "any"] | tuple[str, ...] = "host"
    include: Patterns = field(default_factory=lambda: compile_patterns(()))
    exclude: Patterns = field(default_factory=lambda: compile_patterns(()))
    delay: float = 1.0
    workers: int = 8
    obey_robots: bool = True
    canonical: Literal["record", "merge"] = "record"
    url_rules: UrlRules = field(default_factory=UrlRules)
    limits: Limits = field(default_factory=Limits)
    http: Http = field(default_factory=Http)
    keep_bodies: bool = True
    random_seed: int = 0
    on_trap: Literal["warn", "hold", "stop"] = "warn"
    expect: Markers = field(default_factory=Markers)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able dict; passwords are left out."""
        return {
            "version": SETTINGS_VERSION,
            "order": {"name": self.order.name, "parameters": _saved_parameters(self.order)},
            "max_pages": self.max_pages,
            "max_depth": self.max_depth,
            "scope": self.scope if isinstance(self.scope, str) else list(self.scope),
            "include": self.include.to_list(),
            "exclude": self.exclude.to_list(),
            "delay": self.delay,
            "workers": self.workers,
            "obey_robots": self.obey_robots,
            "canonical": self.canonical,
            "url_rules": self.url_rules.to_dict(),
            "limits": asdict(self.limits),
            "http": self.http.to_dict(),
            "keep_bodies": self.keep_bodies,
            "random_seed": self.random_seed,
            "on_trap": self.on_trap,
            "expect": self.expect.to_list(),
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any], order: Ordering | None = None) -> Settings:
        """Rebuild settings from :meth:`to_dict`; secrets must be given again.

        Parameters
        ----------
        saved
            The saved dict.
        order
            The ordering object, needed where the crawl ran with one that has no name in
            ``ck.ORDERINGS``, or with a function among its parameters.

        Raises
        ------
        BadSetting
            The ordering cannot be made again from what was saved.
        """
        if order is None:
            order = _made_again(saved)
        scope = saved["scope"]
        return cls(
            order=order,
            max_pages=saved["max_pages"],
            max_depth=saved["max_depth"],
            scope=cast("Any", scope) if isinstance(scope, str) else tuple(scope),
            include=Patterns.from_list(saved["include"]),
            exclude=Patterns.from_list(saved["exclude"]),
            delay=saved["delay"],
            workers=saved["workers"],
            obey_robots=saved["obey_robots"],
            canonical=saved["canonical"],
            url_rules=UrlRules.from_dict(saved["url_rules"]),
            limits=Limits(**saved["limits"]),
            http=Http.from_dict(saved["http"]),
            keep_bodies=saved["keep_bodies"],
            random_seed=saved["random_seed"],
            # Folders of earlier releases have neither.
            on_trap=saved.get("on_trap", "warn"),
            expect=Markers.from_list(saved.get("expect", ())),
        )

    def check_resume(self, saved: dict[str, Any]) -> None:
        """Raise :class:`SettingsChanged` where a folder cannot go on with these settings."""
        now = self.to_dict()
        for name in ("order", "scope", "url_rules", "canonical"):
            if now[name] != saved[name]:
                raise SettingsChanged(name, saved[name], now[name])
        self._check_expect(saved.get("expect") or [])

    def _check_expect(self, saved: list[Any]) -> None:
        """Raise where markers have changed; where there were none, pages have nulls so far."""
        given = self.expect.to_list()
        if saved and given != saved:
            raise SettingsChanged("expect", saved, given)

    def with_changes(self, **changes: Any) -> Settings:
        """Return a copy with some fields, or some fields of ``limits``, replaced and checked."""
        limit_names = {option.name for option in fields(Limits)}
        own = {option.name for option in fields(self)} - {"order", "scope", "url_rules"}
        limits: dict[str, Any] = {}
        mine: dict[str, Any] = {}
        for name, value in changes.items():
            if name in own:
                mine[name] = value
            elif name in limit_names:
                limits[name] = value
            else:
                known = ", ".join(sorted(own | limit_names))
                raise BadSetting(name, "it cannot be changed on a resume", f"Known: {known}.")
        if limits:
            mine["limits"] = replace(mine.get("limits", self.limits), **limits)
        for name in ("include", "exclude"):
            if name in mine and not isinstance(mine[name], Patterns):
                mine[name] = compile_patterns(_as_patterns(mine[name]))
        if "expect" in mine:
            mine["expect"] = compile_markers(mine["expect"])
        changed = replace(self, **mine)
        changed._check_expect(self.expect.to_list())
        changed.check()
        return changed

    def check(self) -> None:
        """Raise :class:`BadSetting` for a value that cannot work."""
        if isinstance(self.order, Omniscient):
            self.order.start(FoundPage(0, ""))  # raises, and says why
        _saved_parameters(self.order)
        _check_positive("max_pages", self.max_pages, whole=True)
        _check_positive("max_depth", self.max_depth, whole=True, zero=True)
        _check_positive("delay", self.delay, whole=False, zero=True, optional=False)
        _check_positive("workers", self.workers, whole=True, optional=False)
        if self.workers > 256:
            raise BadSetting("workers", f"{self.workers} threads are too many", "Pass 1 to 256.")
        if self.canonical not in ("record", "merge"):
            raise BadSetting(
                "canonical", f"{self.canonical!r} is not known", "Pass 'record' or 'merge'."
            )
        if self.on_trap not in _ON_TRAP:
            raise BadSetting(
                "on_trap", f"{self.on_trap!r} is not known", "Pass 'warn', 'hold' or 'stop'."
            )
        if isinstance(self.scope, str) and self.scope not in _SCOPE_WORDS:
            raise BadSetting(
                "scope",
                f"{self.scope!r} is not known",
                "Pass 'host', 'site', 'any' or a list of hosts.",
            )
        for name, kind in (("limits", Limits), ("http", Http), ("url_rules", UrlRules)):
            if not isinstance(getattr(self, name), kind):
                raise BadSetting(
                    name,
                    f"{getattr(self, name)!r} is no {kind.__name__}",
                    f"Pass ck.{kind.__name__}(...).",
                )


def _saved_parameters(order: Ordering) -> Any:
    """Return an ordering's parameters as they come back from a file: tuples as lists, say."""
    try:
        return json.loads(json.dumps(order.parameters()))
    except (TypeError, ValueError) as error:
        raise BadSetting(
            "order",
            f"the parameters of {order.name!r} cannot be saved: {error}",
            "Return numbers, text, lists and dicts from parameters().",
        ) from error


def _made_again(saved: dict[str, Any]) -> Ordering:
    """Return a new ordering of the saved name and parameters."""
    name, parameters = saved["order"]["name"], saved["order"]["parameters"]
    try:
        order = make_ordering(name, saved["random_seed"], parameters=parameters)
        if _saved_parameters(order) == parameters:
            return order
    except BadSetting:
        pass
    raise BadSetting(
        "order",
        f"the crawl ran with an ordering of your own, {name!r}",
        "Pass the same object to ck.crawl to go on.",
    )


def _as_patterns(patterns: object) -> Iterable[str | re.Pattern[str]]:
    """Let a single pattern stand for a list of one."""
    import re as regex

    if isinstance(patterns, (str, regex.Pattern)):
        return (patterns,)
    return cast("Iterable[str | re.Pattern[str]]", patterns)


def settings_from_arguments(
    *,
    order: str | Ordering,
    scope: str | Iterable[str],
    include: object,
    exclude: object,
    url_rules: UrlRules | None,
    limits: Limits | None,
    http: Http | None,
    expect: object = (),
    **plain: Any,
) -> Settings:
    """Build checked settings from the arguments of :func:`crawlkit.crawl`."""
    settings = Settings(
        order=make_ordering(order, plain.get("random_seed", 0)),
        scope=cast("Any", scope) if isinstance(scope, str) else _scope_hosts(scope),
        include=compile_patterns(_as_patterns(include)),
        exclude=compile_patterns(_as_patterns(exclude)),
        url_rules=UrlRules() if url_rules is None else url_rules,
        limits=Limits() if limits is None else limits,
        http=Http() if http is None else http,
        expect=compile_markers(expect),
        **plain,
    )
    settings.check()
    return settings


def _scope_hosts(hosts: object) -> tuple[str, ...]:
    """Check a list of hosts; a URL's scheme and path are a common slip, so say so."""
    try:
        listed = tuple(str(host).lower() for host in cast("Iterable[object]", hosts))
    except TypeError:
        listed = ()
    if not listed:
        raise BadSetting(
            "scope", f"{hosts!r} lists no host", "Pass 'host', 'site', 'any' or a list of hosts."
        )
    for host in listed:
        if "/" in host or not host:
            raise BadSetting(
                "scope",
                f"{host!r} is no host",
                "Pass hosts as 'example.com' or 'example.com:8080'.",
            )
    return tuple(sorted(set(listed)))


def check_folder(folder: str | Path) -> Path:
    """Return the folder as a path; raise where a file stands in its place."""
    if not isinstance(folder, (str, Path)) or not str(folder) or "\0" in str(folder):
        raise BadSetting("folder", f"{folder!r} is no path", "Pass the path of a folder.")
    path = Path(folder).expanduser()
    try:
        there = path.exists()
    except (OSError, ValueError) as error:  # a name too long, or with a NUL
        raise BadSetting(
            "folder", f"{str(folder)[:80]!r}: {error}", "Pass another name."
        ) from error
    if there and not path.is_dir():
        raise BadSetting(
            "folder", f"{path} is a file", "Pass a folder, new or of an earlier crawl."
        )
    return path
