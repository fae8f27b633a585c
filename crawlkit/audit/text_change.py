"""Whether the main text of a page changed, and by how much.

Detection is by exact hash, because small edits that matter (a price) hardly move any measure of
likeness. The measure beside it is for people: the share of the text that changed.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from crawlkit.errors import BadSetting, MissingExtra
from crawlkit.web.fingerprint import text_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlkit.web.html import Page

__all__ = ["EXTRACTORS", "MainText", "change_size", "main_text", "shingle_sketch"]

EXTRACTORS = ("core", "trafilatura")
"""What can find the main text: crawlkit's own rules, or the library trafilatura."""

_SKETCH = 64
_SHINGLE = 3


class MainText:
    """The main text of one page, hashed.

    Attributes
    ----------
    hash : str
        32 hexadecimal digits.
    hash_by : str
        The extractor with its version; hashes of different ones are never compared.
    sketch : tuple of int
        See `shingle_sketch`.
    """

    __slots__ = ("hash", "hash_by", "sketch")

    def __init__(self, digest: str, hash_by: str, sketch: tuple[int, ...]) -> None:
        self.hash = digest
        self.hash_by = hash_by
        self.sketch = sketch


def main_text(page: Page, *, extractor: str = "core") -> MainText:
    """Return the fingerprint of a page's main text.

    Parameters
    ----------
    page
        A page of `crawlkit.web.html.parse_page`.
    extractor
        ``"core"``, or ``"trafilatura"`` (extra ``text``), which is slower and leaves out more of
        what surrounds an article; where it finds next to nothing, the core's text counts.

    Raises
    ------
    BadSetting
        On another extractor.
    MissingExtra
        trafilatura is not installed.

    Examples
    --------
    >>> from crawlkit.web.html import parse_page
    >>> page = parse_page("<nav>Menu</nav><p>One two three four.", url="https://a.example/")
    >>> main_text(page).hash_by, len(main_text(page).sketch)
    ('visible_main_v1', 2)
    """
    if extractor == "core":
        return MainText(page.text_hash, page.text_hash_by, shingle_sketch(page.main_text))
    if extractor != "trafilatura":
        known = ", ".join(EXTRACTORS)
        raise BadSetting("extractor", f"there is no {extractor!r}", f"There are: {known}.")
    try:
        import trafilatura
    except ImportError:
        raise MissingExtra("trafilatura", "text") from None
    text = trafilatura.extract(page.html, fast=True, include_comments=False) or ""
    if len(text) < 200:  # a list or a product: no article to be found
        core = main_text(page)
        core.hash_by = f"{core.hash_by}, short for trafilatura"
        return core
    by = f"trafilatura {trafilatura.__version__} fast"
    return MainText(text_hash(text), by, shingle_sketch(text))


def shingle_sketch(text: str) -> tuple[int, ...]:
    """Return the 64 least hashes of a text's word triples, ascending: enough to compare two texts.

    Parameters
    ----------
    text
        Any text; case and whitespace do not count.

    Notes
    -----
    Broder, "On the resemblance and containment of documents" (1997).

    Examples
    --------
    >>> shingle_sketch("A rose is  red") == shingle_sketch("a rose is red")
    True
    """
    words = text.casefold().split()
    count = max(1, len(words) - _SHINGLE + 1) if words else 0
    shingles = {" ".join(words[at : at + _SHINGLE]) for at in range(count)}
    hashes = sorted(
        int.from_bytes(hashlib.blake2b(each.encode("utf-8", "replace"), digest_size=7).digest())
        for each in shingles
    )
    return tuple(hashes[:_SKETCH])


def change_size(before: Sequence[int], after: Sequence[int]) -> float:
    """Return the share of two texts that differs: 0 for the same, 1 for nothing in common.

    Parameters
    ----------
    before, after
        Sketches of `shingle_sketch`.

    Returns
    -------
    float
        One less the Jaccard similarity of the word triples; exact for texts of up to 64 triples,
        an estimate beyond.

    Examples
    --------
    >>> old, new = shingle_sketch("a b c d e"), shingle_sketch("a b c d f")
    >>> change_size(old, new)
    0.5
    """
    first, second = set(before), set(after)
    if not first and not second:
        return 0.0
    # Of the least hashes of both together, the share that both have.
    least = sorted(first | second)[: max(len(first), len(second))]
    if max(len(first), len(second)) < _SKETCH:
        least = sorted(first | second)
    shared = sum(1 for each in least if each in first and each in second)
    return 1 - shared / len(least)
