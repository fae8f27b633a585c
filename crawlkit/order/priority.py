"""Priority: a small integer from what is known of a page before it is asked for."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, ClassVar

from crawlkit.errors import BadSetting
from crawlkit.order.base import Ordering, ResumesBy, check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crawlkit.order.base import FoundPage

__all__ = ["Priority"]

_DAY = 86_400.0


class Priority(Ordering):
    """A small integer for each page, the sum of parts that :meth:`explain` shows; rounded.

    Parameters
    ----------
    depth
        Added for each link from a seed to the page; mostly negative.
    patterns
        Pattern of URLs (as in ``include``) to the number it adds; every one that matches counts.
    lastmod
        Added for a page that its sitemap says was modified just now; half of it after
        ``half_life`` days, and so on. A page without lastmod gets nothing.
    half_life
        Days.
    changes
        Address to the number of changes seen earlier, for example from ``crawl.changes``.
    change
        Added for each of these changes, of which five count at most.
    value
        Function of the address and a dict with ``id host depth source lastmod`` that returns a
        number to add.
    weight
        What that number is multiplied by.
    now
        UTC epoch seconds from which the age of lastmod counts; by default the moment of the call.

    Raises
    ------
    BadSetting
        A weight is no finite number, a pattern cannot be read, or ``value`` returned none.

    Examples
    --------
    >>> from crawlkit.order.base import FoundPage
    >>> order = Priority(patterns={"/docs/": 5})
    >>> order.start(FoundPage(id=4, url="http://a.example/docs/x", depth=2))
    3.0
    >>> order.explain(4)
    {'depth': -2.0, '/docs/': 5.0, 'priority': 3}
    """

    name: ClassVar[str] = "priority"
    resumes_by: ClassVar[ResumesBy] = "state"

    def __init__(
        self,
        *,
        depth: float = -1.0,
        patterns: Mapping[str, float] | None = None,
        lastmod: float = 2.0,
        half_life: float = 30.0,
        changes: Mapping[str, float] | None = None,
        change: float = 1.0,
        value: Callable[[str, dict[str, Any]], float] | None = None,
        weight: float = 1.0,
        now: float | None = None,
    ) -> None:
        from crawlkit.web.patterns import compile_patterns

        self._weights = {"depth": depth, "lastmod": lastmod, "change": change, "weight": weight}
        for name, number in self._weights.items():
            check_number(name, number, least=-math.inf)
        check_number("half_life", half_life, least=0.0, above=True)
        if now is not None:
            check_number("now", now, least=-math.inf)
        if value is not None and not callable(value):
            raise BadSetting("value", f"{value!r} is no function", "Pass value(url, row).")
        self._half_life = half_life
        self._bonuses = dict(patterns or {})
        for pattern, number in self._bonuses.items():
            check_number(f"patterns[{pattern!r}]", number, least=-math.inf)
        self._patterns = [
            (compile_patterns(pattern, name="patterns"), pattern, float(number))
            for pattern, number in self._bonuses.items()
        ]
        self._changes = dict(changes or {})
        for url, number in self._changes.items():
            check_number(f"changes[{url!r}]", number, least=0.0)
        self._value = value
        self._given_now = now
        self._now = time.time() if now is None else float(now)
        self._parts: dict[int, dict[str, float]] = {}

    def parameters(self) -> dict[str, Any]:
        """Return the weights; a function is told by its name, changes by their number."""
        return {
            **self._weights,
            "patterns": self._bonuses,
            "half_life": self._half_life,
            "changes": len(self._changes) or None,
            "value": None if self._value is None else _name_of(self._value),
            "now": self._given_now,
        }

    def start(self, page: FoundPage) -> float:
        """Return the page's priority, a whole number."""
        parts = self._parts_of(page)
        self._parts[page.id] = parts
        return float(round(sum(parts.values())))

    def _parts_of(self, page: FoundPage) -> dict[str, float]:
        weights = self._weights
        parts = {"depth": weights["depth"] * page.depth}
        for pattern, text, bonus in self._patterns:
            parts.update({text: bonus} if pattern.matches(page.url) is not None else {})
        if page.lastmod is not None:
            days = max(0.0, self._now - page.lastmod) / _DAY
            parts["lastmod"] = weights["lastmod"] * 0.5 ** (days / self._half_life)
        if page.url in self._changes:
            parts["changes"] = weights["change"] * min(5.0, self._changes[page.url])
        if self._value is not None:
            parts["value"] = weights["weight"] * self._own_value(page)
        return parts

    def _own_value(self, page: FoundPage) -> float:
        row = {name: getattr(page, name) for name in ("id", "host", "depth", "source", "lastmod")}
        given = self._value(page.url, row) if self._value is not None else 0.0
        try:
            number = float(given)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise BadSetting(
                "value", f"the function gave {given!r} for {page.url}", "Return a finite number."
            )
        return number

    def explain(self, page_id: int) -> dict[str, Any]:
        """Return the parts of a page's priority, and the priority."""
        parts = self._parts.get(page_id, {})
        return {**parts, "priority": round(sum(parts.values()))}

    def state(self) -> dict[str, Any]:
        """Return the moment from which the age of lastmod counts."""
        return {"now": self._now}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on counting from the saved moment."""
        self._now = float(state["now"])


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))
