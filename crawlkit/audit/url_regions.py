"""Regions of a site: groups of URLs that one rule could have made, and that one could leave out.

A URL belongs to several regions at once, from wide to narrow: the folders above it, its template,
its path under any query, each of its parameters under any path. Which of them tells a trap is not
decided here.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["LANGUAGE", "TOKEN", "Region", "UrlParts", "group_urls", "regions_of", "split_url"]

LANGUAGE = re.compile(
    r"(?:af|ar|az|be|bg|bn|bs|ca|cs|cy|da|de|el|en|eo|es|et|eu|fa|fi|fr|ga|gl|gu|he|hi|hr|hu|hy|id|"
    r"is|it|ja|ka|kk|km|kn|ko|lo|lt|lv|mk|ml|mn|mr|ms|my|nb|ne|nl|nn|no|pa|pl|ps|pt|ro|ru|si|sk|sl|"
    r"sq|sr|sv|sw|ta|te|th|tl|tr|uk|ur|uz|vi|zh|zu)(?:[-_](?:[a-z]{2}|[a-z]{4}|419))?\Z",
    re.IGNORECASE,
)
"""A language code, with or without a country or script (BCP 47)."""

TOKEN = re.compile(
    # Fifteen and more letters and digits in disorder: an id that a machine drew.
    r"(?<![0-9A-Za-z])(?=[a-z-]*\d)(?=[\d-]*[a-z])(?:[0-9a-f]{12,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-"
    r"[0-9a-f]{12}|(?=(?:[a-z]*\d){3})(?=(?:\d*[a-z]){3})[a-z\d]{15,})(?![0-9A-Za-z])",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?<!\d)(?:1[89]|2\d)\d\d[-_.]?(?:0\d|1[0-2])(?:[-_.]?[0-3]\d)?(?!\d)")
_NUMBER = re.compile(r"\d+")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}\Z")
_WORDS = re.compile(r"[^-_+.%{}]+")
_SEPARATOR = re.compile(r"&|;(?=[\w.\[\]%-]{1,60}=)")
"""What separates parameters: some programs write ``;``, as HTML 4 advised."""
_ACTIONS = frozenset({"a", "do", "action", "act", "cmd", "op", "task", "func"})
"""Parameters whose value says which of its pages a program is to make."""
_ACTION = re.compile(r"[A-Za-z][\w-]{0,39}\Z")
_DEEPEST = 3
_SLUG_WORDS = 3
_MOST_PARAMETERS = 12
_LONGEST_SEGMENT = 300
_LONGEST = 9_000
"""Characters of a URL that are looked at; what makes it longer is not read."""


class UrlParts(NamedTuple):
    """A URL taken apart: host, path segments, path parameters and query."""

    host: str
    segments: tuple[str, ...]
    matrix: tuple[str, ...]
    query: tuple[tuple[str, str], ...]

    @property
    def path(self) -> str:
        """The path without its path parameters."""
        return "/" + "/".join(self.segments)


class Region(NamedTuple):
    """A group of URLs.

    Parameters
    ----------
    kind
        ``folder`` (all below it), ``template`` (one shape of path, one set of parameters),
        ``query`` (one shape of path, any parameters), ``action`` (one shape of path, one value of
        a parameter such as ``action``), ``parameter`` (one parameter on any path),
        ``matrix`` (one path parameter), ``language`` (a language code at one place of the path)
        or ``leaf`` (one last segment in any folder).
    host
        The host.
    path
        The shape of the path; "" where it may be any.
    names
        The parameter names that all have.
    action
        Parameter and value that say which page a program makes, such as ``action=history``; "".
    """

    kind: str
    host: str
    path: str
    names: tuple[str, ...] = ()
    action: str = ""

    @property
    def label(self) -> str:
        """The region as a reader knows it, host first."""
        name = self.action.partition("=")[0]
        shown = "&".join(self.action if name == one else one for one in self.names)
        path = {
            "parameter": f"/*?{shown}=",
            "matrix": f"/*;{shown}=",
            "leaf": f"/*/{self.path}",
            "folder": f"{self.path}*",
            "language": f"{self.path}*",
            "query": f"{self.path}?*",
            "action": f"{self.path}?{shown}&*",
        }.get(self.kind)
        return self.host + (path or self.path + ("?" + shown if shown else ""))


def split_url(url: str) -> UrlParts:
    """Take a URL apart; any text gives an answer.

    Examples
    --------
    >>> parts = split_url("https://example.com/a/b;sid=1?x=2&y")
    >>> parts.segments, parts.matrix, parts.query
    (('a', 'b'), ('sid',), (('x', '2'), ('y', '')))
    """
    front, _, query = url[:_LONGEST].partition("#")[0].partition("?")
    scheme, mark, rest = front.partition("://")
    host, _, path = (rest if mark else scheme).partition("/")
    matrix: tuple[str, ...] = ()
    if ";" in path:
        names = re.findall(r";([^=;/]*)", path)
        matrix = tuple(dict.fromkeys(names))
        path = re.sub(r";[^/]*", "", path)
    pairs = []
    separated = _SEPARATOR.split(query) if ";" in query else query.split("&")
    for one in separated if query else ():
        name, _, value = one.partition("=")
        if name:
            pairs.append((name, value))
    return UrlParts(host, tuple(path.split("/")), matrix, tuple(pairs[:_MOST_PARAMETERS]))


@lru_cache(maxsize=200_000)
def shape(segment: str) -> str:
    """Put in braces what varies in one path segment.

    Examples
    --------
    >>> [shape(text) for text in ("item-12.html", "2026-05", "s-23845a673d9004ff", "how-to-do-it")]
    ['item-{number}.html', '{date}', 's-{token}', '{slug}']
    """
    if len(segment) > _LONGEST_SEGMENT:
        return "{long}"
    if segment.isalpha():
        return segment
    extension = _EXTENSION.search(segment)
    stem = segment[: extension.start()] if extension else segment
    ending = extension[0] if extension else ""
    text = stem
    if _NUMBER.search(stem):  # tokens and dates have a digit, too
        text = TOKEN.sub("{token}", stem)
        text = _DATE.sub("{date}", text)
        text = _NUMBER.sub("{number}", text)
    words = [word for word in _WORDS.findall(text) if word not in {"number", "date", "token"}]
    if len(words) >= _SLUG_WORDS and "{token}" not in text:
        text = "{slug}"
    return text + ending


class _Form(NamedTuple):
    """What the regions of a URL depend on; a site has few forms and many URLs."""

    host: str
    shapes: tuple[str, ...]
    names: tuple[str, ...]
    matrix: tuple[str, ...]
    language: int
    action: str


def _form_of(parts: UrlParts) -> _Form:
    segments = parts.segments
    names = tuple(sorted({name for name, _ in parts.query})) if parts.query else ()
    language = -1
    for at, segment in enumerate(segments[: min(_DEEPEST, len(segments) - 1)]):
        if _is_language(segment):
            language = at
            break
    action = _action_of(parts) if names else ""
    return _Form(parts.host, tuple(map(shape, segments)), names, parts.matrix, language, action)


@lru_cache(maxsize=10_000)
def _is_language(segment: str) -> bool:
    return LANGUAGE.match(segment) is not None


def regions_of(parts: UrlParts) -> Iterator[Region]:
    """Give every region that a URL belongs to, its template first."""
    yield from _regions_of_form(_form_of(parts))


def _regions_of_form(form: _Form) -> Iterator[Region]:
    host, shapes, names = form.host, form.shapes, form.names
    path = "/" + "/".join(shapes)
    yield Region("template", host, path, names, form.action)
    if form.action:
        yield Region("action", host, path, (form.action.partition("=")[0],), form.action)
    for depth in range(1, min(_DEEPEST, len(shapes) - 1) + 1):
        yield Region("folder", host, "/" + "/".join(shapes[:depth]) + "/")
    if names:
        yield Region("query", host, path)
        for name in names:
            yield Region("parameter", host, "", (name,))
    for name in form.matrix:
        yield Region("matrix", host, "", (name,))
    if form.language >= 0:
        before = "/".join(["", *shapes[: form.language], "{language}", ""])
        yield Region("language", host, before)
    last = shapes[-1] or (shapes[-2] + "/" if len(shapes) > 1 else "")
    if len(shapes) > 2 and last.rstrip("/").isalpha():
        yield Region("leaf", host, last)


def _action_of(parts: UrlParts) -> str:
    """Return the parameter and value that say which page a program makes, or ""."""
    for name, value in parts.query:
        if name.lower() in _ACTIONS and _ACTION.match(value):
            return f"{name}={value}"
    return ""


def group_urls(
    urls: Sequence[str], fetched: Iterable[int], *, fewest: int
) -> dict[Region, list[int]]:
    """Group URLs by region; regions with fewer fetched pages than ``fewest`` are left out.

    Parameters
    ----------
    urls
        All known URLs.
    fetched
        Positions of those that were fetched.
    fewest
        Fetched pages that a region needs.

    Returns
    -------
    dict
        Region -> positions of its URLs, in order. Of regions with the same URLs one is kept.
    """
    wanted = set(fetched)
    forms: dict[_Form, list[int]] = {}
    for number, url in enumerate(urls):
        form = _form_of(split_url(url))
        known = forms.get(form)
        if known is None:
            forms[form] = [number]
        else:
            known.append(number)
    counts: Counter[Region] = Counter()
    for form, numbers in forms.items():
        count = sum(number in wanted for number in numbers)
        if count:
            for region in dict.fromkeys(_regions_of_form(form)):
                counts[region] += count
    kept: dict[Region, list[int]] = {
        region: [] for region, count in counts.items() if count >= fewest
    }
    if not kept:
        return {}
    for form, numbers in forms.items():
        for region in dict.fromkeys(_regions_of_form(form)):
            members = kept.get(region)
            if members is not None:
                members.extend(numbers)
    for members in kept.values():
        members.sort()
    return _distinct(kept)


# Where two regions hold the same URLs, the one whose rule says most about them stays.
_PRECEDENCE = ("matrix", "action", "parameter", "language", "template", "query", "leaf", "folder")


def _distinct(kept: dict[Region, list[int]]) -> dict[Region, list[int]]:
    seen: set[tuple[str, int, int, int, int]] = set()
    result = {}
    for region in sorted(kept, key=lambda one: (_PRECEDENCE.index(one.kind), -len(one.path))):
        members = kept[region]
        mark = (region.host, len(members), members[0], members[-1], sum(members))
        if mark not in seen:
            seen.add(mark)
            result[region] = members
    return result
