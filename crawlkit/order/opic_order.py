"""OPIC: pages hold cash, and pass it to their links when they are downloaded."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from crawlkit.errors import BadSetting
from crawlkit.order.base import SEED_SOURCES, Ordering
from crawlkit.order.pagerank import check_damping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlkit.order.base import FoundPage

__all__ = ["Opic"]


class Opic(Ordering):
    """The waiting page with the most cash (on-line page importance computation).

    A download empties the page's cash and gives it to its links in equal parts. The cash of a
    page without links, of a failed and of a refused one goes to the root. Nothing is lost and
    nothing is made: see :meth:`total_cash`. Cash that comes to a page after its download stays
    there, since a crawl asks for it once.

    Parameters
    ----------
    initial
        Who has cash at the start. ``"seeds"``: the seeds, in equal parts, 1 in all, and the root
        is the seeds too: what it gets, it pays out to them. Then cash approximates PageRank
        personalized to the seeds. ``"unit"``: each page has 1 when it is found, and the root is
        an account of its own.
    virtual_root
        Whether every download also gives the share ``1 - damping`` to the root, and the root
        pays out what it gets: with ``"unit"``, to all known pages in equal parts.
    damping
        Share that follows the links with a virtual root, between 0 and 1, both excluded.
    keep_payments
        Whether :meth:`explain` can tell who paid how much; takes memory for every link.
    links_as_found
        Whether a page's links to itself and its repeated links count too.

    Raises
    ------
    BadSetting
        ``initial`` is not known, or damping is not between 0 and 1.

    Notes
    -----
    Cash is kept in units of which each seed brings one, so that seeds may come at any time;
    :meth:`cash` and :meth:`total_cash` give it as shares. Payments of the root to many pages are
    one number that grows: a page is owed what it has grown by since the page was last emptied.

    References
    ----------
    Abiteboul, Preda and Cobena, "Adaptive on-line page importance computation", WWW 2003.

    Examples
    --------
    >>> from crawlkit.order.base import FoundPage
    >>> order = Opic()
    >>> home = FoundPage(id=0, url="http://a.example/", source="seed")
    >>> order.start(home), order.start(FoundPage(1, "http://a.example/1"))
    (1.0, 0.0)
    >>> order.start(FoundPage(2, "http://a.example/2"))
    0.0
    >>> order.downloaded(home, [1, 2])
    {1: 0.5, 2: 0.5}
    """

    name: ClassVar[str] = "opic"

    def __init__(
        self,
        initial: Literal["seeds", "unit"] = "seeds",
        *,
        virtual_root: bool = False,
        damping: float = 0.85,
        keep_payments: bool = False,
        links_as_found: bool = False,
    ) -> None:
        if initial not in ("seeds", "unit"):
            raise BadSetting("initial", f"{initial!r} is not known", "Pass 'seeds' or 'unit'.")
        check_damping(damping)
        self.initial = initial
        self.virtual_root = bool(virtual_root)
        self.damping = damping
        self.links_as_found = links_as_found
        self._unit = initial == "unit"
        self._own: list[float] = []  # cash of each page, but for what the root owes it
        self._started = bytearray()
        self._known = 0
        self._seeds: set[int] = set()
        self._root = 0.0  # what the account of its own holds
        self._paid = 0.0  # what the root has paid to each of its payees since the start
        # Waiting seeds by host, best first: when the root pays them all, the first of each host
        # is the one that may go next, so the scores of the others need not be told.
        self._waiting: set[int] = set()
        self._queues: dict[str, list[tuple[float, int]]] = {}
        self._seed_hosts: dict[int, str] = {}
        self._history: dict[int, float] = {}
        self._payments: dict[int, dict[int, float]] | None = {} if keep_payments else None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters."""
        return {
            "initial": self.initial,
            "virtual_root": self.virtual_root,
            "damping": self.damping,
            "keep_payments": self._payments is not None,
            "links_as_found": self.links_as_found,
        }

    # -- the calls of a crawl --------------------------------------------------------------

    def start(self, page: FoundPage) -> float:
        """Return the page's cash."""
        self._grow(page.id)
        if self._started[page.id]:  # set aside and brought back
            return self._score(page.id)
        self._started[page.id] = 1
        self._known += 1
        if self._unit:
            self._own[page.id] += 1.0 - self._paid
        elif page.source in SEED_SOURCES:
            self._own[page.id] += 1.0 - self._paid
            self._seeds.add(page.id)
            self._waiting.add(page.id)
            self._seed_hosts[page.id] = page.host
            self._enqueue(page.id)
        return self._score(page.id)

    def downloaded(self, page: FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        """Move the page's cash to its links; return theirs."""
        self._grow(max(page.id, max(links, default=0)))
        was_seed = page.id in self._waiting
        self._waiting.discard(page.id)
        cash = self._empty(page.id)
        passed = cash if links else 0.0
        if links and self.virtual_root:
            passed *= self.damping
        changed = self._pay_links(page.id, links, passed) if passed else {}
        to_root = cash - passed
        if to_root:
            self._pay_root(to_root)
        if self._waiting:
            self._tell_seeds(changed, None if to_root else page.host if was_seed else "")
        return changed

    def _pay_links(self, payer: int, links: Sequence[int], amount: float) -> dict[int, float]:
        own, share = self._own, amount / len(links)
        changed: dict[int, float] = {}
        for target in links:
            own[target] += share
            changed[target] = own[target]
        for target in self._waiting.intersection(changed):
            self._enqueue(target)
            changed[target] = self._score(target)
        if self._payments is not None:
            for target in links:
                payers = self._payments.setdefault(target, {})
                payers[payer] = payers.get(payer, 0.0) + share
        return changed

    def _pay_root(self, amount: float) -> None:
        payees = self._known if self._unit else len(self._seeds)
        if not payees or (self._unit and not self.virtual_root):
            self._root += amount
        else:
            self._paid += amount / payees

    # -- seeds as the root -----------------------------------------------------------------

    def _enqueue(self, seed: int) -> None:
        queue = self._queues.setdefault(self._seed_hosts[seed], [])
        heapq.heappush(queue, (-self._own[seed], seed))

    def _tell_seeds(self, changed: dict[int, float], host: str | None) -> None:
        """Add the score of the best waiting seed of a host, or of every host."""
        for name in list(self._queues) if host is None else [host]:
            queue = self._queues.get(name, [])
            while queue and (
                queue[0][1] not in self._waiting or -queue[0][0] != self._own[queue[0][1]]
            ):
                heapq.heappop(queue)
            if queue:
                changed[queue[0][1]] = self._score(queue[0][1])
            else:
                self._queues.pop(name, None)

    # -- accounts --------------------------------------------------------------------------

    def _grow(self, page_id: int) -> None:
        missing = page_id + 1 - len(self._own)
        if missing > 0:
            self._own.extend([0.0] * missing)
            self._started.extend(bytes(missing))

    def _is_payee(self, page_id: int) -> bool:
        return bool(self._started[page_id]) if self._unit else page_id in self._seeds

    def _score(self, page_id: int) -> float:
        """Return cash; where the root owes every page the same, without it."""
        own = self._own[page_id]
        return own + self._paid if page_id in self._seeds else own

    def _balance(self, page_id: int) -> float:
        own = self._own[page_id]
        return own + self._paid if self._is_payee(page_id) else own

    def _empty(self, page_id: int) -> float:
        cash = self._balance(page_id)
        self._own[page_id] = -self._paid if self._is_payee(page_id) else 0.0
        if cash:
            self._history[page_id] = self._history.get(page_id, 0.0) + cash
        return cash

    def _unit_of_account(self) -> float:
        """Return what one seed brought, or one page: the total is 1, or the number of pages."""
        return 1.0 if self._unit else 1.0 / max(1, len(self._seeds))

    def cash(self, page_id: int) -> float:
        """Return the cash of a page, what the root owes it included."""
        if page_id >= len(self._own):
            return 0.0
        return self._balance(page_id) * self._unit_of_account()

    def root_cash(self) -> float:
        """Return what the root's own account holds."""
        return self._root * self._unit_of_account()

    def total_cash(self) -> float:
        """Return the cash of all pages and the root: 1, or with ``"unit"`` the number of pages."""
        pages = (self._balance(page_id) for page_id in range(len(self._own)))
        return (math.fsum(pages) + self._root) * self._unit_of_account()

    def explain(self, page_id: int) -> dict[str, Any]:
        """Return cash, history and, with ``keep_payments``, what each page has paid in all.

        ``cash`` is what the page has, ``history`` what it had when it was downloaded, and
        ``payments`` the amounts by the number of the page that paid.
        """
        unit = self._unit_of_account()
        parts: dict[str, Any] = {
            "cash": self.cash(page_id),
            "history": self._history.get(page_id, 0.0) * unit,
        }
        if self._payments is not None:
            payers = self._payments.get(page_id, {})
            parts["payments"] = {payer: paid * unit for payer, paid in payers.items()}
        return parts
