"""Near-duplicate texts: pages whose word triples mostly are the same.

Each text becomes a bottom sketch, the 64 least hashes of its word triples (Broder, "On the
resemblance and containment of documents", 1997); two sketches estimate the share of triples that
two texts have in common (exact up to 64 triples; beyond, the standard error is at most 0.06).
Texts are taken in order: one that is similar enough to the first text of a cluster joins it, else
it begins a cluster of its own. Only clusters that share a hash are compared; a hash that more than
`COMMON` clusters share is boilerplate and brings nobody together.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from crawlkit.audit.text_change import change_size

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Sketcher", "cluster_texts"]

COMMON = 64
"""Clusters that share a hash, beyond which it tells nothing."""
_COMPARED = 5
_SIZE = 64
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


class _Codes(dict[str, int]):
    """Hashes of words, each made when it is first asked for."""

    def __missing__(self, word: str) -> int:
        digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
        code = self[word] = int.from_bytes(digest, "big")
        return code


class Sketcher:
    """Makes bottom sketches of texts; each word is hashed once, its triples by arithmetic.

    Several times as fast as a hash of each triple: a site has thousands of texts.
    """

    def __init__(self) -> None:
        self._words = _Codes()

    def sketch(self, text: str) -> tuple[int, ...]:
        """Return the 64 least hashes of a text's word triples, ascending.

        Parameters
        ----------
        text
            Any text; case and whitespace do not count. One of fewer than three words is one triple.
        """
        import numpy as np

        words = text.casefold().split()
        if not words:
            return ()
        codes = np.array(list(map(self._words.__getitem__, words)), dtype=np.uint64)
        if len(codes) < 3:
            codes = np.concatenate([codes, np.zeros(3 - len(codes), dtype=np.uint64)])
        first, second, third, last = (np.uint64(factor) for factor in _FACTORS)
        mixed = (codes[:-2] * first + codes[1:-1]) * second + codes[2:] * third
        mixed = (mixed ^ (mixed >> np.uint64(32))) * last
        mixed ^= mixed >> np.uint64(29)
        least: list[int] = np.unique(mixed)[:_SIZE].tolist()
        return tuple(least)


def cluster_texts(
    sketches: Sequence[Sequence[int]], *, similar: float = 0.8
) -> list[tuple[int, float]]:
    """Return the cluster of each text, and how similar it is to the first of the cluster.

    Parameters
    ----------
    sketches
        Of `Sketcher`; an empty one is similar to nothing.
    similar
        Share of word triples in common from which two texts are near-duplicates.

    Returns
    -------
    list of tuple
        Position of the cluster's first text, and the similarity to it, from 0 to 1.

    Examples
    --------
    >>> sketch = Sketcher().sketch
    >>> texts = ["a b c d e f g h i j", "x y z", "a b c d e f g h i k"]
    >>> cluster_texts([sketch(text) for text in texts], similar=0.7)
    [(0, 1.0), (1, 1.0), (0, 0.7777777777777778)]
    """
    holders: dict[int, list[int]] = defaultdict(list)
    found: list[tuple[int, float]] = []
    for at, sketch in enumerate(sketches):
        shared = Counter(
            first
            for value in sketch
            if len(holders.get(value, ())) <= COMMON
            for first in holders.get(value, ())
        )
        best, likeness = at, 1.0
        for first, _ in shared.most_common(_COMPARED):
            common = 1 - change_size(sketches[first], sketch)
            if common >= similar and (best == at or common > likeness):
                best, likeness = first, common
        found.append((best, likeness))
        if best == at:
            for value in sketch:
                holders[value].append(at)
    return found
