"""Larger sites first: the site with the most waiting pages goes first."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from crawlkit.errors import BadSetting
from crawlkit.order.base import Ordering

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlkit.order.base import FoundPage

__all__ = ["LargerSitesFirst"]

_NO_CHANGES: dict[int, float] = {}


class LargerSitesFirst(Ordering):
    """The site with the most known pages that still wait; breadth first inside it.

    So that a crawl does not end with a few huge sites that each allow one request at a time:
    Castillo, Marin, Rodriguez and Baeza-Yates, "Scheduling algorithms for Web crawling", LA-WEB
    2004. Without a pause between the requests to a host it stays on the largest site that it
    has found, and does worse than breadth first.

    Parameters
    ----------
    by
        What a site is: ``"host"``, or ``"domain"`` for the registered domain.

    Raises
    ------
    BadSetting
        ``by`` is neither.

    Examples
    --------
    >>> from crawlkit.order.base import FoundPage
    >>> order = LargerSitesFirst(by="domain")
    >>> for number, host in enumerate(["a.example.com", "b.example.com", "example.org"]):
    ...     _ = order.start(FoundPage(id=number, url=f"http://{host}/", host=host))
    >>> order.host_score("a.example.com"), order.host_score("example.org")
    (2.0, 1.0)
    """

    name: ClassVar[str] = "larger_sites_first"
    needs_links = False

    def __init__(self, by: Literal["host", "domain"] = "host") -> None:
        if by not in ("host", "domain"):
            raise BadSetting("by", f"{by!r} is not known", "Pass 'host' or 'domain'.")
        self._by = by
        self.host_score_is_local = by == "host"
        self._waiting: dict[str, int] = {}
        self._counted: set[int] = set()

    def parameters(self) -> dict[str, Any]:
        """Return what a site is."""
        return {"by": self._by}

    def _site(self, host: str) -> str:
        return host if self._by == "host" else _domain(host)

    def start(self, page: FoundPage) -> float:
        """Return the negative depth, and count the page to its site."""
        site = self._site(page.host)
        self._waiting[site] = self._waiting.get(site, 0) + 1
        self._counted.add(page.id)
        return -float(page.depth)

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        """Count the page out; nothing changes inside a site."""
        del links
        if page.id in self._counted:
            self._counted.remove(page.id)
            self._waiting[self._site(page.host)] -= 1
        return _NO_CHANGES

    def host_score(self, host: str) -> float:
        """Return the number of pages that wait on the host's site."""
        return float(self._waiting.get(self._site(host), 0))


@lru_cache(maxsize=1 << 16)
def _domain(host: str) -> str:
    from crawlkit.web.url_addresses import registered_domain

    return registered_domain(host)
