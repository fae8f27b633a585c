"""The headers of one answer: case-insensitive, in order, with nothing thrown away."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar, overload

__all__ = ["Headers", "basic_credentials", "content_type_of"]

T = TypeVar("T")

_MIME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*(?:;|$)")


class Headers(Mapping[str, str]):
    """Header fields by name, whatever its case; a repeated field is joined by a comma.

    Parameters
    ----------
    pairs
        Names and values in the order in which they came.

    Examples
    --------
    >>> headers = Headers([("Via", "a"), ("Content-Type", "text/html"), ("VIA", "b")])
    >>> headers["content-type"], headers["via"], headers.get_all("Via")
    ('text/html', 'a, b', ['a', 'b'])
    >>> list(headers), len(headers)
    (['via', 'content-type'], 2)
    """

    __slots__ = ("_values", "pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs: list[tuple[str, str]] = list(pairs)
        values: dict[str, list[str]] = {}
        for name, value in self.pairs:
            values.setdefault(name.lower(), []).append(value)
        self._values = values

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._values[name.lower()])

    @overload
    def get(self, name: str, /) -> str | None: ...
    @overload
    def get(self, name: str, /, default: str) -> str: ...
    @overload
    def get(self, name: str, /, default: T) -> str | T: ...
    def get(self, name: str, /, default: object = None) -> object:
        """Return a field's value; `default` when it is absent."""
        values = self._values.get(name.lower())
        if values is None:
            return default
        return values[0] if len(values) == 1 else ", ".join(values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values

    def get_all(self, name: str) -> list[str]:
        """Return every value of a field, in order; an empty list when it is absent."""
        return list(self._values.get(name.lower(), ()))

    def __repr__(self) -> str:
        return f"Headers({self.pairs!r})"


def content_type_of(headers: Headers) -> tuple[str | None, bool]:
    """Return the Content-Type that counts, and whether there was more than one.

    The last valid one counts (WHATWG Fetch, "extract a MIME type"); where none is valid, the last.

    Examples
    --------
    >>> content_type_of(Headers([("Content-Type", "text/html"), ("Content-Type", "junk")]))
    ('text/html', True)
    """
    values = headers.get_all("content-type")
    if not values:
        return None, False
    if len(values) == 1:
        return values[0] or None, False
    valid = [value for value in values if _MIME.match(value)]
    return (valid or values)[-1] or None, True


def basic_credentials(user: str, password: str) -> str:
    """Return the value of an Authorization header of the Basic scheme (RFC 7617).

    Examples
    --------
    >>> basic_credentials("Aladdin", "open sesame")
    'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='
    """
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode("ascii")
