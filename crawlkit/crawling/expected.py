"""What a page of the site is expected to show: markers, and whether a page has them.

A page that answers 200 and shows none of what it always shows is a block, a consent wall or an
error in disguise. Markers say it: ``pages.expected_found``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawlkit.web.html import Page

__all__ = ["Markers", "compile_markers"]

_REMEDY = "Pass text that every page shows, compiled regexes, or a list of them."


class Markers:
    """Texts and regexes, all of which a page is expected to have.

    Without any it is falsy. A text is looked for, letter by letter, in the decoded source of a
    page and then in its visible text; a regex is searched for in the source.

    Examples
    --------
    >>> from crawlkit.web.html import parse_page
    >>> page = parse_page(b"<title>Shop</title><b>Add</b> to cart", url="https://example.com/")
    >>> compile_markers(["Add to cart", re.compile("<title>")]).found_in(page)
    True
    >>> compile_markers("Sold out").found_in(page)
    False
    """

    __slots__ = ("_markers",)

    def __init__(self, markers: Sequence[str | re.Pattern[str]] = ()) -> None:
        self._markers = tuple(_checked(marker) for marker in markers)

    def found_in(self, page: Page) -> bool:
        """Return whether a page has all of them."""
        source = page.html
        text: str | None = None
        for marker in self._markers:
            if isinstance(marker, re.Pattern):
                if marker.search(source) is None:
                    return False
            elif marker not in source:
                # Tags or line ends may stand between its words.
                text = page.text if text is None else text
                if marker not in text:
                    return False
        return True

    def to_list(self) -> list[str | dict[str, Any]]:
        """Return JSON-able values; `from_list` reads them back."""
        return [
            marker
            if isinstance(marker, str)
            else {"regex": marker.pattern, "flags": int(marker.flags & ~re.DEBUG)}
            for marker in self._markers
        ]

    @classmethod
    def from_list(cls, values: Iterable[str | dict[str, Any]]) -> Markers:
        """Compile what `to_list` returned."""
        return cls(
            [
                value if isinstance(value, str) else re.compile(value["regex"], value["flags"])
                for value in values
            ]
        )

    def __bool__(self) -> bool:
        return bool(self._markers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Markers) and self.to_list() == other.to_list()

    def __hash__(self) -> int:
        return hash(self._markers)

    def __repr__(self) -> str:
        return f"Markers({list(self._markers)!r})"


def compile_markers(markers: object) -> Markers:
    """Compile the argument ``expect`` of :func:`crawlkit.crawl`.

    Parameters
    ----------
    markers
        A text, a compiled regex of text, or an iterable of them.

    Raises
    ------
    BadSetting
        If one is empty, or is neither text nor such a regex.
    """
    if isinstance(markers, Markers):
        return markers
    if isinstance(markers, (str, re.Pattern)):
        markers = (markers,)
    if isinstance(markers, (bytes, dict)) or not hasattr(markers, "__iter__"):
        raise BadSetting("expect", f"{markers!r} is no marker", _REMEDY)
    return Markers(tuple(markers))


def _checked(marker: object) -> str | re.Pattern[str]:
    if isinstance(marker, re.Pattern):
        if isinstance(marker.pattern, str):
            return marker
        raise BadSetting(
            "expect", f"{marker!r} searches bytes", "Compile it from a str: pages are decoded."
        )
    if not isinstance(marker, str):
        raise BadSetting("expect", f"{marker!r} is no marker", _REMEDY)
    if not marker.strip():
        raise BadSetting("expect", "a marker is empty", "Leave it out.")
    return marker
