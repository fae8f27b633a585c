"""The orderings that can be named: ``ck.ORDERINGS``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.order.base import Ordering
from crawlkit.order.breadth_first import BreadthFirst
from crawlkit.order.depth_first import DepthFirst
from crawlkit.order.inlinks import InLinks
from crawlkit.order.larger_sites_first import LargerSitesFirst
from crawlkit.order.omniscient import Omniscient
from crawlkit.order.opic_order import Opic
from crawlkit.order.partial_pagerank_order import PartialPageRank
from crawlkit.order.priority import Priority
from crawlkit.order.push_pagerank import PushPageRank
from crawlkit.order.random_order import RandomOrder

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ORDERINGS", "make_ordering"]

ORDERINGS: dict[str, type[Ordering]] = {
    ordering.name: ordering
    for ordering in (
        BreadthFirst,
        DepthFirst,
        RandomOrder,
        Priority,
        InLinks,
        LargerSitesFirst,
        PartialPageRank,
        Opic,
        PushPageRank,
        Omniscient,
    )
}


def make_ordering(
    order: str | Ordering,
    random_seed: int = 0,
    *,
    parameters: Mapping[str, Any] | None = None,
) -> Ordering:
    """Return a new ordering object for a name, or the object itself.

    Parameters
    ----------
    order
        A name in ``ORDERINGS``, or an :class:`~crawlkit.order.base.Ordering`.
    random_seed
        Seed of the draws of ``"random"``, where ``parameters`` do not name one.
    parameters
        Parameters for the named ordering, as its ``parameters()`` gave them.

    Raises
    ------
    BadSetting
        The name is not known, the object is no ordering, or a parameter does not work.

    Examples
    --------
    >>> make_ordering("breadth_first").name
    'breadth_first'
    >>> make_ordering("partial_pagerank", parameters={"k": 100}).rescore_every
    100
    """
    if isinstance(order, Ordering):
        return order
    known = ", ".join(ORDERINGS)
    if not isinstance(order, str):
        raise BadSetting(
            "order", f"{order!r} is no ordering", f"Pass one of {known}, or a ck.Ordering object."
        )
    if order not in ORDERINGS:
        raise BadSetting("order", f"there is no ordering named {order!r}", f"Pass one of {known}.")
    options = dict(parameters or {})
    made = ORDERINGS[order]
    if made is RandomOrder:
        options.setdefault("random_seed", random_seed)
    try:
        return made(**options)
    except TypeError as error:
        raise BadSetting(
            "order", f"{order!r} cannot be made of {options!r}: {error}", "Pass an ordering object."
        ) from None
