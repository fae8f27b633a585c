"""The orderings that can be named: ``ck.ORDERINGS``."""

from __future__ import annotations

from crawlkit.errors import BadSetting
from crawlkit.order.base import Ordering
from crawlkit.order.breadth_first import BreadthFirst
from crawlkit.order.depth_first import DepthFirst

__all__ = ["ORDERINGS", "make_ordering"]

ORDERINGS: dict[str, type[Ordering]] = {
    ordering.name: ordering for ordering in (BreadthFirst, DepthFirst)
}


def make_ordering(order: str | Ordering) -> Ordering:
    """Return an ordering object for a name, or the object itself.

    Parameters
    ----------
    order
        A name in ``ORDERINGS``, or an :class:`~crawlkit.order.base.Ordering`.

    Raises
    ------
    BadSetting
        The name is not known, or the object is no ordering.

    Examples
    --------
    >>> make_ordering("breadth_first").name
    'breadth_first'
    """
    if isinstance(order, Ordering):
        return order
    known = ", ".join(sorted(ORDERINGS))
    if not isinstance(order, str):
        raise BadSetting(
            "order", f"{order!r} is no ordering", f"Pass one of {known}, or an ck.Ordering object."
        )
    if order not in ORDERINGS:
        raise BadSetting("order", f"there is no ordering named {order!r}", f"Pass one of {known}.")
    return ORDERINGS[order]()
