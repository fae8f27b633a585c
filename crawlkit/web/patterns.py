"""URL patterns for ``include`` and ``exclude``: robots-style wildcards, or compiled regexes.

A wildcard pattern reads as in robots.txt (RFC 9309 2.2.3): ``*`` stands for any run of characters,
``$`` at the end for the end of the URL, and everything else for itself, upper and lower case apart.
Where it starts says what it is compared with:

- ``/calendar/`` or ``*.pdf$``: path and query, from their first character;
- ``https://example.com/shop/*/print``: the whole URL, from its first character; a complete host
  stands for itself alone (``https://example.com`` does not match ``https://example.com.org/``).

A compiled ``re.Pattern`` is searched for anywhere in the whole URL. Wildcards are matched by
searching for their literal pieces from left to right, which never backtracks; how long a regex
takes is up to whoever wrote it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import ada_url

from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Patterns", "Wildcard", "compile_patterns", "respell", "split_authority"]

UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
RESERVED = frozenset(b":/?#[]@!$&'()*+,;=")

_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?//[^/?#]*")
_WHOLE_URL = re.compile(r"https?://([^/?#*$]*)", re.IGNORECASE)
_ESCAPE_OR_OTHER = re.compile(rb"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~]")
# What `respell` would change in a path: an escape in lower case or of an unreserved character, a
# bare percent sign, a character that URLs do not hold.
_UNUSUAL = re.compile(
    r"%(?!2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF]|[0189A-F][0-9A-F])|[^!#-;=?-\[\]_a-z~]"
)
_KEPT_FLAGS = ~re.DEBUG  # a pattern that prints its parse tree would do so on every load


class Wildcard:
    """One robots-style wildcard, matched from the start of a text in linear time.

    Examples
    --------
    >>> Wildcard("/*.pdf$").matches("/files/a.pdf")
    True
    >>> Wildcard("/*.pdf$").matches("/files/a.pdf?page=2")
    False
    """

    __slots__ = ("anchored", "first", "last", "literal", "middle")

    def __init__(self, pattern: str) -> None:
        self.anchored = pattern.endswith("$")
        pieces = pattern.removesuffix("$").split("*")
        self.first = pieces[0]
        self.middle = tuple(piece for piece in pieces[1:-1] if piece)
        self.last = pieces[-1] if len(pieces) > 1 else None
        self.literal = max(pieces, key=len)

    @property
    def is_prefix(self) -> bool:
        """Whether the pattern is plain text: all that begins with it matches."""
        return self.last is None and not self.anchored

    def matches(self, text: str) -> bool:
        """Whether `text` matches from its first character.

        Each piece is taken at the first place where it fits, and the last one, if it is anchored,
        at the very end: if any choice of places works, this one does, so nothing is tried twice.
        """
        if not text.startswith(self.first):
            return False
        at = len(self.first)
        if self.last is None:
            return not self.anchored or len(text) == at
        for piece in self.middle:
            found = text.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        if self.anchored:
            return len(text) - len(self.last) >= at and text.endswith(self.last)
        return text.find(self.last, at) >= 0


def respell(text: str, *, literal: frozenset[int], decoded: frozenset[int] = UNRESERVED) -> str:
    """Give equivalent percent-encodings one spelling, octet by octet (RFC 3986 6.2.2).

    Parameters
    ----------
    text
        A path, or a pattern without its wildcards.
    literal
        Octets that stay as they are when they are written plainly; all others become ``%XX``.
    decoded
        Octets whose escapes are resolved; the other escapes stay, in upper case.

    Examples
    --------
    >>> respell("/caf%c3%a9 %7Ea?b", literal=UNRESERVED | RESERVED)
    '/caf%C3%A9%20~a?b'
    """
    try:
        octets = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that stands for no octet
        octets = text.encode("utf-8", "replace")
    spelling = _spelling(literal, decoded)
    return _ESCAPE_OR_OTHER.sub(lambda found: spelling[found[0]], octets).decode("ascii")


class _Spelling(dict[bytes, bytes]):
    """How octets and escapes are spelled, found out once for each."""

    def __init__(self, literal: frozenset[int], decoded: frozenset[int]) -> None:
        super().__init__()
        self.literal, self.decoded = literal, decoded

    def __missing__(self, written: bytes) -> bytes:
        escaped = len(written) == 3
        octet = int(written[1:], 16) if escaped else written[0]
        plain = octet in (self.decoded if escaped else self.literal)
        self[written] = spelled = bytes((octet,)) if plain else b"%%%02X" % octet
        return spelled


_spelling = cache(_Spelling)


def split_authority(url: str) -> tuple[str, str]:
    """Cut a URL into scheme with authority, and path with query; a fragment falls away.

    Examples
    --------
    >>> split_authority("https://example.com/a?b#c")
    ('https://example.com', '/a?b')
    >>> split_authority("/a?b")
    ('', '/a?b')
    """
    match = _AUTHORITY.match(url)
    cut = match.end() if match else 0
    path = url[cut:].partition("#")[0]
    return url[:cut], path if path.startswith("/") else "/" + path


class Patterns:
    """Compiled patterns, asked once per new URL; see `compile_patterns`.

    Empty patterns are falsy and match nothing. Two with the same patterns in the same order are
    equal.
    """

    __slots__ = ("_patterns", "_prefixes", "_regexes", "_wildcards", "texts")

    def __init__(
        self, patterns: Sequence[str | re.Pattern[str] | Mapping[str, Any]], *, name: str
    ) -> None:
        self._patterns = tuple(_checked(pattern, name) for pattern in patterns)
        self.texts: tuple[str, ...] = tuple(_text(pattern) for pattern in self._patterns)
        prefixes: list[tuple[str, int]] = []
        wildcards: list[tuple[str, int, bool, Wildcard]] = []
        regexes: list[tuple[int, re.Pattern[str]]] = []
        for number, pattern in enumerate(self._patterns):
            if isinstance(pattern, re.Pattern):
                regexes.append((number, pattern))
                continue
            spelled, whole = _spelled(pattern)
            wildcard = Wildcard(spelled)
            if wildcard.is_prefix and not whole:
                prefixes.append((spelled, number))
            else:
                wildcards.append((wildcard.literal, number, whole, wildcard))
        self._prefixes = (tuple(text for text, _ in prefixes), tuple(prefixes))
        self._wildcards = tuple(wildcards)
        self._regexes = tuple(regexes)

    def matches(self, url: str) -> str | None:
        """Return the first pattern that matches the URL, as text, or None.

        Parameters
        ----------
        url
            An absolute URL as the crawl asks for it (percent-encoded, no fragment).

        Examples
        --------
        >>> compile_patterns(["/calendar/", "*.pdf$"]).matches("http://example.com/a.pdf")
        '*.pdf$'
        """
        if not self._patterns:
            return None
        authority, path = split_authority(url)
        if _UNUSUAL.search(path):
            path = respell(path, literal=UNRESERVED | RESERVED)
        whole = authority + path
        best = len(self._patterns)
        texts, prefixes = self._prefixes
        if path.startswith(texts):  # one look at all of them rules most URLs out
            best = next(number for text, number in prefixes if path.startswith(text))
        for literal, number, on_whole, wildcard in self._wildcards:
            if number > best:
                break
            if literal in whole and wildcard.matches(whole if on_whole else path):
                best = number
                break
        for number, regex in self._regexes:
            if number > best:
                break
            if regex.search(url):
                best = number
                break
        return self.texts[best] if best < len(self.texts) else None

    def to_list(self) -> list[str | dict[str, Any]]:
        """Return the patterns as JSON-able values; `from_list` reads them back.

        A regex becomes ``{"regex": text, "flags": number}``.
        """
        return [
            pattern
            if isinstance(pattern, str)
            else {"regex": pattern.pattern, "flags": int(pattern.flags & _KEPT_FLAGS)}
            for pattern in self._patterns
        ]

    @classmethod
    def from_list(cls, values: Iterable[str | dict[str, Any]]) -> Patterns:
        """Compile what `to_list` returned."""
        return cls(tuple(values), name="patterns")

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def __len__(self) -> int:
        return len(self._patterns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Patterns):
            return NotImplemented
        return self.to_list() == other.to_list()

    def __hash__(self) -> int:
        return hash(self.texts)

    def __repr__(self) -> str:
        return f"Patterns({list(self._patterns)!r})"


def compile_patterns(
    patterns: str
    | re.Pattern[str]
    | Mapping[str, Any]
    | Iterable[str | re.Pattern[str] | Mapping[str, Any]],
    *,
    name: str = "patterns",
) -> Patterns:
    """Compile URL patterns into something that is quick to ask.

    Parameters
    ----------
    patterns
        Wildcard strings (starting with ``/``, ``*``, ``http://`` or ``https://``) and compiled
        regexes, in any mixture; a single one needs no list. Regexes may also be as `to_list`
        writes them for JSON.
    name
        The name of the caller's argument, for error messages.

    Returns
    -------
    Patterns
        With ``.matches(url) -> str | None``, ``.to_list()`` and ``Patterns.from_list()``.

    Raises
    ------
    BadSetting
        If a pattern is empty, starts with anything else, or is no string and no str regex.

    Examples
    --------
    >>> patterns = compile_patterns(["/calendar/", "/*?filter=", re.compile("sid=", re.I)])
    >>> patterns.matches("https://example.com/shop?filter=red")
    '/*?filter='
    >>> patterns.matches("https://example.com/shop") is None
    True
    """
    if isinstance(patterns, (str, re.Pattern, Mapping)):
        return Patterns((patterns,), name=name)
    try:
        given = tuple(patterns)
    except TypeError:
        raise BadSetting(
            name, f"{patterns!r} is no pattern", "Pass a pattern or a list of patterns."
        ) from None
    return Patterns(given, name=name)


def _checked(pattern: object, name: str) -> str | re.Pattern[str]:
    """Return a usable pattern as it is, or raise with the remedy."""
    if isinstance(pattern, Mapping):
        try:
            return re.compile(pattern["regex"], pattern["flags"])
        except (KeyError, TypeError, ValueError, OverflowError, re.error):
            raise BadSetting(
                name, f"{pattern!r} is no pattern", "Pass a wildcard string or a compiled regex."
            ) from None
    if isinstance(pattern, re.Pattern):
        if isinstance(pattern.pattern, str):
            return pattern
        raise BadSetting(
            name, f"{pattern!r} searches bytes", "Compile it from a str: URLs are strings."
        )
    if not isinstance(pattern, str):
        raise BadSetting(
            name, f"{pattern!r} is no pattern", "Pass a wildcard string or a compiled regex."
        )
    if pattern.startswith(("/", "*")) or _WHOLE_URL.match(pattern):
        return pattern
    if not pattern.strip():
        raise BadSetting(name, "a pattern is empty", "Leave it out, or write '/' for every URL.")
    bare = pattern.lstrip("^")
    raise BadSetting(
        name,
        f"{pattern!r} does not say where it starts",
        f"Write {'/' + bare!r} for the start of the path, {'*' + bare!r} for anywhere in path and "
        f"query, the whole URL from https:// on, or pass re.compile({pattern!r}).",
    )


def _text(pattern: str | re.Pattern[str]) -> str:
    return pattern if isinstance(pattern, str) else pattern.pattern


def _spelled(pattern: str) -> tuple[str, bool]:
    """Spell a wildcard pattern the way URLs are spelled; say if it wants the whole URL."""
    whole = _WHOLE_URL.match(pattern)
    written = whole[0] if whole else ""
    rest = pattern[len(written) :]
    authority = written.lower()
    if whole and whole[1] and not rest.startswith("*"):
        # The host is complete: spell it as URLs do (IDN, default port), and do not let it match
        # every host that merely begins like it.
        with contextlib.suppress(ValueError):
            authority = ada_url.URL(written).href.removesuffix("/")
        rest = rest if rest.startswith("/") else "/" + rest
    anchor = "$" if rest.endswith("$") else ""
    rest = respell(rest.removesuffix("$"), literal=UNRESERVED | RESERVED)
    return authority + rest + anchor, whole is not None
