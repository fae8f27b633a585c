"""The interface of an ordering: a few small answers to "which page next?".

The live crawl and the replay on a known graph run the same object. Pages are known by their
``id``, the number under which they were discovered: 0, 1, 2, ... in order of discovery. Higher
scores go first; equal scores go by discovery order. Politeness is no concern of an ordering.

To write one, subclass :class:`Ordering`, give it a ``name`` and answer ``start``. This one goes
through short addresses first::

    class ShortFirst(ck.Ordering):
        name = "short_first"

        def start(self, page):
            return -len(page.url)

    ck.crawl("https://example.com/", "example", order=ShortFirst())
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["FoundPage", "Ordering"]

_NO_CHANGES: dict[int, float] = {}


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page as an ordering sees it.

    Parameters
    ----------
    id
        Discovery number, counted from 0; in a replay, the number of the node.
    url
        The address; in a replay, the label of the node.
    host
        Host of the address, with the port where it is not the scheme's own.
    depth
        Links followed from a seed.
    source
        How it was found: ``"seed"``, ``"link"``, ``"redirect"`` or ``"sitemap"``.
    lastmod
        UTC epoch seconds from a sitemap, where one is known.
    """

    id: int
    url: str
    host: str = ""
    depth: int = 0
    source: str = "link"
    lastmod: float | None = None


class Ordering:
    """Which page next: subclass it and answer :meth:`start`; the rest is optional.

    Attributes
    ----------
    name
        Name of the ordering, saved with the crawl.
    needs_links
        Whether :meth:`downloaded` reads the out-links. A crawl saves the work where it does not.
    rescore_every
        Downloads between two calls of :meth:`rescore`; ``None`` for never.
    """

    name: ClassVar[str] = "ordering"
    needs_links: ClassVar[bool] = False
    rescore_every: int | None = None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make two orderings of one name differ (JSON-able)."""
        return {}

    def start(self, page: FoundPage) -> float:
        """Return the score with which a newly found page enters the frontier."""
        raise NotImplementedError

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        """Take note of a download; return the new scores of the pages that it changes.

        Parameters
        ----------
        page
            The page that was downloaded, or that failed or was refused (then without links).
        links
            Ids of the pages it links to, in the order of the links: each once, itself left out.
            A redirect has one, its target.

        Returns
        -------
        Mapping of int to float
            New score by page id; ids of pages that are no longer waiting are ignored.
        """
        del page, links
        return _NO_CHANGES

    def host_score(self, host: str) -> float:
        """Return the rank of a host among those that may be asked now; higher goes first."""
        del host
        return 0.0

    def rescore(self) -> Mapping[int, float]:
        """Return new scores for waiting pages; called every ``rescore_every`` downloads."""
        return _NO_CHANGES

    def state(self) -> dict[str, Any] | None:
        """Return what must survive the process (JSON-able), or ``None`` for nothing.

        It is saved in the same transaction as the download that changed it.
        """
        return None

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved :meth:`state`."""
        del state

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({options})"
