"""The loops of the replay that numba compiles; without numba they are plain Python, and slow.

They make the same choices as the orderings with :mod:`crawlkit.order.page_queue`, number by
number, on a graph without hosts whose pages link to each other once and never to themselves.
"""

from __future__ import annotations

import contextlib
import math
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int32]

__all__ = ["HAS_NUMBA", "is_simple", "opic_order", "push_order", "round_score_fast"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")

try:
    _NUMBA: Any = import_module("numba")
except ImportError:
    _NUMBA = None

HAS_NUMBA = _NUMBA is not None


def _jit(function: _Function) -> _Function:
    """Compile a function, keeping the result on disk where that is possible."""
    if _NUMBA is None:
        return function
    compiled: Any = None
    with contextlib.suppress(RuntimeError):  # no folder to keep it in
        compiled = _NUMBA.njit(cache=True)(function)
    made: _Function = _NUMBA.njit(function) if compiled is None else compiled
    return made


_POWERS = np.array([float(10**power) for power in range(23)])


def _split_product(left: float, right: float) -> tuple[float, float]:
    """Return a product and what rounding took from it (Dekker 1971)."""
    product = left * right
    scaled = left * 134217729.0
    left_high = scaled - (scaled - left)
    left_low = left - left_high
    scaled = right * 134217729.0
    right_high = scaled - (scaled - right)
    right_low = right - right_high
    rest = left_low * right_low - (
        ((product - left_high * right_high) - left_low * right_high) - left_high * right_low
    )
    return product, rest


split_product = _jit(_split_product)


def _times_power(value: float, power: int) -> tuple[float, float]:
    """Return ``value * 10**power`` and what rounding took from it."""
    whole, rest = value, 0.0
    left = power
    while left > 0:
        step = min(left, 22)
        factor = _POWERS[step]
        high, low = split_product(whole, factor)
        low += rest * factor
        whole = high + low
        rest = low - (whole - high)
        left -= step
    return whole, rest


times_power = _jit(_times_power)


def _round_score_fast(score: float) -> float:
    """Return a score at 12 significant digits, ordered exactly as by ``round_score``."""
    size = abs(score)
    if size < 1e-280 or size >= 1e11:
        return score
    power = 11 - math.floor(math.log10(size))
    whole, rest = times_power(size, power)
    if whole < 1e11:  # the logarithm may be off by one beside a power of ten
        power += 1
        whole, rest = times_power(size, power)
    elif whole >= 1e12:
        power -= 1
        whole, rest = times_power(size, power)
    nearest = np.rint(whole)
    left = (whole - nearest) + rest
    if left > 0.5:
        nearest += 1.0
    elif left < -0.5:
        nearest -= 1.0
    if nearest == 1e12:  # one number must not have two forms: they may divide to different floats
        nearest = 1e11
        power -= 1
    while power > 0:
        step = min(power, 22)
        nearest /= _POWERS[step]
        power -= step
    return float(nearest) if score > 0 else -float(nearest)


round_score_fast = _jit(_round_score_fast)


def _is_simple(indptr: NDArray[np.int64], targets: Ints) -> bool:
    """Return whether no page links to itself, or twice to another."""
    nodes = len(indptr) - 1
    seen = np.full(nodes, -1, dtype=np.int32)
    for node in range(nodes):
        for place in range(indptr[node], indptr[node + 1]):
            target = targets[place]
            if target == node or seen[target] == node:
                return False
            seen[target] = node
    return True


is_simple = _jit(_is_simple)


# A heap of pages with the place of each, so that a page can rise: scores of waiting pages only
# ever grow. The page of the greatest key is on top, of equal keys the least number.


def _rise(heap: Ints, place_of: Ints, key: Floats, place: int) -> None:
    page = heap[place]
    mine = key[page]
    while place > 0:
        above = (place - 1) >> 2
        other = heap[above]
        if key[other] > mine or (key[other] == mine and other < page):
            break
        heap[place] = other
        place_of[other] = place
        place = above
    heap[place] = page
    place_of[page] = place


rise = _jit(_rise)


def _pop(heap: Ints, place_of: Ints, key: Floats, size: int) -> int:
    """Take the top out of a heap that has ``size`` entries."""
    top = int(heap[0])
    place_of[top] = -1
    size -= 1
    page = heap[size]
    if size == 0:
        return top
    mine = key[page]
    place = 0
    while True:
        best = -1
        first = 4 * place + 1
        for below in range(first, min(first + 4, size)):
            if best < 0:
                best = below
                continue
            one, other = heap[below], heap[best]
            if key[one] > key[other] or (key[one] == key[other] and one < other):
                best = below
        if best < 0:
            break
        other = heap[best]
        if mine > key[other] or (mine == key[other] and page < other):
            break
        heap[place] = other
        place_of[other] = place
        place = best
    heap[place] = page
    place_of[page] = place
    return top


pop = _jit(_pop)


def _opic_order(  # noqa: PLR0917 - numba is called by position
    indptr: NDArray[np.int64],
    targets: Ints,
    seed: int,
    limit: int,
    unit: bool,  # noqa: FBT001 - numba is called by position
    virtual_root: bool,  # noqa: FBT001 - numba is called by position
    damping: float,
) -> NDArray[np.int64]:
    """Return the nodes in the order of :class:`crawlkit.order.opic_order.Opic` from one seed."""
    nodes = len(indptr) - 1
    page_of = np.full(nodes, -1, dtype=np.int32)
    node_of = np.zeros(nodes, dtype=np.int32)
    own = np.zeros(nodes)
    key = np.zeros(nodes)
    heap = np.zeros(nodes, dtype=np.int32)
    place_of = np.full(nodes, -1, dtype=np.int32)
    order = np.zeros(limit, dtype=np.int64)
    page_of[seed], node_of[0] = 0, seed
    own[0] = key[0] = 1.0
    place_of[0] = 0
    known, size, done, paid = 1, 1, 0, 0.0
    while size > 0 and done < limit:
        page = pop(heap, place_of, key, size)
        size -= 1
        node = node_of[page]
        order[done] = node
        done += 1
        begin, end = indptr[node], indptr[node + 1]
        for place in range(begin, end):
            target = targets[place]
            if page_of[target] < 0:
                page_of[target] = known
                node_of[known] = target
                own[known] = 1.0 - paid if unit else 0.0
                key[known] = round_score_fast(own[known])
                heap[size] = known
                rise(heap, place_of, key, size)
                known += 1
                size += 1
        payee = unit or page == 0
        cash = own[page] + paid if payee else own[page]
        own[page] = -paid if payee else 0.0
        passed = cash if end > begin else 0.0
        if end > begin and virtual_root:
            passed *= damping
        if passed != 0.0:
            share = passed / (end - begin)
            for place in range(begin, end):
                found = page_of[targets[place]]
                own[found] += share
                if place_of[found] >= 0:
                    key[found] = round_score_fast(own[found])
                    rise(heap, place_of, key, place_of[found])
        to_root = cash - passed
        if to_root != 0.0:
            if not unit:
                paid += to_root
            elif virtual_root:
                paid += to_root / known
    return order[:done]


opic_order = _jit(_opic_order)


def _push_order(  # noqa: PLR0915, PLR0917 - one loop for numba, called by position
    indptr: NDArray[np.int64],
    targets: Ints,
    seeds: NDArray[np.int64],
    limit: int,
    eps: float,
    damping: float,
) -> NDArray[np.int64]:
    """Return the nodes in the order of :class:`crawlkit.order.push_pagerank.PushPageRank`."""
    nodes = len(indptr) - 1
    page_of = np.full(nodes, -1, dtype=np.int32)
    node_of = np.zeros(nodes, dtype=np.int32)
    held = np.zeros(nodes)
    key = np.zeros(nodes)
    heap = np.zeros(nodes, dtype=np.int32)
    place_of = np.full(nodes, -1, dtype=np.int32)
    order = np.zeros(limit, dtype=np.int64)
    turns = np.zeros(nodes + 1, dtype=np.int32)
    changed = np.zeros(nodes, dtype=np.int32)
    is_changed = np.zeros(nodes, dtype=np.bool_)
    known, size, done = 0, 0, 0
    for seed in seeds:
        page_of[seed], node_of[known] = known, seed
        held[known] = key[known] = 1.0
        heap[size] = known
        rise(heap, place_of, key, size)
        known += 1
        size += 1
    while size > 0 and done < limit:
        page = pop(heap, place_of, key, size)
        size -= 1
        order[done] = node_of[page]
        done += 1
        for place in range(indptr[node_of[page]], indptr[node_of[page] + 1]):
            target = targets[place]
            if page_of[target] < 0:
                page_of[target] = known
                node_of[known] = target
                held[known] = key[known] = 1.0
                heap[size] = known
                rise(heap, place_of, key, size)
                known += 1
                size += 1
        first, last, changes = 0, 1, 0
        turns[0] = page
        while first != last:
            source = turns[first]
            first = first + 1 if first < nodes else 0
            amount, held[source] = held[source], 0.0
            begin, end = indptr[node_of[source]], indptr[node_of[source] + 1]
            if begin == end:
                continue
            share = damping * amount / (end - begin)
            for place in range(begin, end):
                found = page_of[targets[place]]
                before = held[found]
                held[found] = before + share
                if place_of[found] >= 0:
                    if not is_changed[found]:
                        is_changed[found] = True
                        changed[changes] = found
                        changes += 1
                elif before <= eps < held[found]:
                    turns[last] = found
                    last = last + 1 if last < nodes else 0
        for number in range(changes):
            found = changed[number]
            is_changed[found] = False
            key[found] = round_score_fast(held[found])
            rise(heap, place_of, key, place_of[found])
    return order[:done]


push_order = _jit(_push_order)
