"""The interface of an ordering: a few small answers to "which page next?".

The live crawl and the replay on a known graph run the same object. Pages are known by their
``id``, the number under which they were discovered: 0, 1, 2, ... in order of discovery. Higher
scores go first; scores are compared at 12 significant digits, and equal ones go by discovery.
Politeness is no concern of an ordering.

To write one, subclass :class:`Ordering`, give it a ``name`` and answer ``start``. This one goes
through short addresses first::

    class ShortFirst(ck.Ordering):
        name = "short_first"

        def start(self, page):
            return -len(page.url)

    ck.crawl("https://example.com/", "example", order=ShortFirst())
    ck.replay(graph, ShortFirst(), ["https://example.com/"])

This one learns from the links that it sees, and goes where the latest of them point::

    class LatestLinked(ck.Ordering):
        name = "latest_linked"
        downloads = 0

        def start(self, page):
            return self.downloads

        def downloaded(self, page, links):
            self.downloads += 1
            return dict.fromkeys(links, self.downloads)

A crawl that goes on feeds it all earlier calls again, in their order, so that it need save nothing.
"""

from __future__ import annotations

import dis
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Scores: TypeAlias = Mapping[int, float] | tuple[NDArray[np.integer[Any]], NDArray[np.float64]]

__all__ = ["SEED_SOURCES", "FoundPage", "Ordering", "ResumesBy", "check_number", "round_score"]

# Pages that were not found on another page.
SEED_SOURCES = ("seed", "sitemap")

ResumesBy: TypeAlias = Literal["nothing", "state", "history"]

_NO_CHANGES: dict[int, float] = {}


class FoundPage(NamedTuple):
    """A page as an ordering sees it.

    Parameters
    ----------
    id
        Discovery number, counted from 0, in a live crawl and in a replay alike.
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
    value
        What the page is worth: known in a replay only.
    """

    id: int
    url: str
    host: str = ""
    depth: int = 0
    source: str = "link"
    lastmod: float | None = None
    value: float | None = None


class Ordering:
    """Which page next: subclass it and answer :meth:`start`; the rest is optional.

    :meth:`start` is called once for each page, in order of discovery, and before
    :meth:`downloaded` of the page that it was found on. Links may also lead to pages that were
    never started: those that the crawl's own rules keep out.

    Attributes
    ----------
    name
        Name of the ordering, saved with the crawl.
    needs_links
        Whether :meth:`downloaded` reads the out-links; a crawl may save the work where it does
        not. By default true where :meth:`downloaded` is overridden.
    links_as_found
        Whether :meth:`downloaded` gets the links as they stand, with links of a page to itself
        and a second link to the same page.
    host_score_is_local
        Whether :meth:`host_score` changes for no other hosts than those of the page downloaded
        and of the pages found on it; a replay of many hosts is quicker then.
    rescore_every
        Downloads until the next call of :meth:`rescore`, ``None`` for never. Read at the start
        and after each rescore, so it may be a property.
    resumes_by
        What a crawl that goes on gives back to a fresh object: ``"state"``, what :meth:`state`
        gave; ``"history"``, all earlier calls again in their order (scores that they return are
        ignored); ``"nothing"``. By default ``"state"`` where :meth:`state` is overridden, else
        ``"history"`` where :meth:`downloaded`, :meth:`rescore` or :meth:`host_score` is, or where
        :meth:`start` reads the object; else ``"nothing"``.
    """

    name: ClassVar[str] = "ordering"
    needs_links: bool = False
    links_as_found: bool = False
    host_score_is_local: bool = False
    resumes_by: ClassVar[ResumesBy] = "nothing"
    rescore_every: int | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.__dict__
        if "downloaded" in own and "needs_links" not in own:
            cls.needs_links = True
        if "resumes_by" not in own:
            cls.resumes_by = _how_it_resumes(cls)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make two orderings of one name differ (JSON-able)."""
        return {}

    def start(self, page: FoundPage) -> float:
        """Return the score with which a newly found page enters the frontier."""
        raise NotImplementedError

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> Scores:
        """Take note of a download; return the new scores of the pages that it changes.

        Parameters
        ----------
        page
            The page that was downloaded, or that failed or was refused (then without links).
        links
            Ids of the pages it links to, in the order of the links: each once, itself left out,
            unless ``links_as_found``. A redirect has one, its target.

        Returns
        -------
        Mapping of int to float, or a pair of arrays
            New score by page id, or an array of ids, each once, and one of their scores; ids of
            pages that are no longer waiting are ignored.
        """
        del page, links
        return _NO_CHANGES

    def host_score(self, host: str) -> float:
        """Return the rank of a host among those that may be asked now; higher goes first."""
        del host
        return 0.0

    def rescore(self) -> Scores:
        """Return new scores for waiting pages, as :meth:`downloaded` does.

        Called every ``rescore_every`` downloads, after :meth:`downloaded`.
        """
        return _NO_CHANGES

    def state(self) -> dict[str, Any] | None:
        """Return what must survive the process (small and JSON-able), or ``None`` for nothing.

        It is saved in the same transaction as the download that changed it.
        """
        return None

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved :meth:`state`."""
        del state

    def snapshot(self) -> bytes | None:
        """Return bulky results that spare work when the history is fed again, or ``None``.

        Asked for after each :meth:`rescore`, and saved in the same transaction.
        """
        return None

    def load_snapshot(self, data: bytes) -> None:
        """Take back the last :meth:`snapshot`, before the history is fed."""
        del data

    def explain(self, page_id: int) -> dict[str, Any]:
        """Return what the score of a page is made of, by name."""
        del page_id
        return {}

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({options})"


def _how_it_resumes(cls: type[Ordering]) -> ResumesBy:
    if cls.state is not Ordering.state:
        return "state"
    learns = any(
        getattr(cls, name) is not getattr(Ordering, name)
        for name in ("downloaded", "rescore", "host_score")
    )
    return "history" if learns or _reads_itself(cls.start) else "nothing"


def _reads_itself(method: Callable[..., Any]) -> bool:
    """Return whether a method uses its first argument; unless surely not, it does."""
    code = getattr(method, "__code__", None)
    if code is None or not code.co_varnames or not code.co_argcount:
        return True
    own = code.co_varnames[0]
    for step in dis.get_instructions(code):
        used = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if own in used and step.opname != "MAKE_CELL":
            return True
    return False


def round_score(score: float) -> float:
    """Return a score at 12 significant digits, so that float noise never decides.

    Raises
    ------
    BadSetting
        An ordering of the caller's own gave something that is no number.

    Examples
    --------
    >>> round_score(0.1 + 0.2) == round_score(0.3)
    True
    """
    try:
        rounded = float(f"{score:.12g}")
    except (TypeError, ValueError):
        rounded = math.nan
    if rounded != rounded:  # noqa: PLR0124 - only NaN differs from itself, and this is cheapest
        raise BadSetting(
            "order", f"the ordering gave the score {score!r}", "Return a number from its methods."
        )
    return rounded


def check_number(
    name: str, value: object, *, least: float, whole: bool = False, above: bool = False
) -> None:
    """Raise BadSetting unless a parameter is a finite number from ``least`` up.

    Parameters
    ----------
    name, value
        The parameter.
    least
        The least value that works; with ``above``, it is just too small itself.
    whole
        Whether it must be an integer.
    above
        Whether it must be greater than ``least``.
    """
    kinds = (int,) if whole else (int, float)
    good = (
        isinstance(value, kinds)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and (value > least if above else value >= least)
    )
    if not good:
        kind = "an integer" if whole else "a number"
        bound = f"above {least:g}" if above else f"of at least {least:g}"
        raise BadSetting(name, f"{value!r} does not work", f"Pass {kind} {bound}.")
