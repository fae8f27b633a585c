"""The statistics of a region: how fast it makes URLs of its own, whether that falls, its copies.

Plain arithmetic on short lists, so that a running crawl can afford them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Growth", "binomial_tail", "growth_of", "slope_tail", "trend_name", "trend_score"]

ONE_PERCENT = 2.326
"""One-sided quantile of the standard normal at 1 %."""
FIVE_PERCENT = 1.645
FEWEST_FOR_TREND = 20


def binomial_tail(successes: int, trials: int, share: float) -> float:
    """Return the chance of at least so many successes when each has the chance ``share``.

    Parameters
    ----------
    successes, trials
        What was counted.
    share
        The share under the hypothesis, between 0 and 1.

    Examples
    --------
    >>> round(binomial_tail(9, 10, 0.5) * 1024, 6)
    11.0
    """
    if successes <= 0:
        return 1.0
    if successes <= trials * share:
        return 1.0  # more than a half: never evidence
    ratio = share / (1 - share)
    log_term = (
        math.lgamma(trials + 1)
        - math.lgamma(successes + 1)
        - math.lgamma(trials - successes + 1)
        + successes * math.log(share)
        + (trials - successes) * math.log1p(-share)
    )
    # Terms fall from here on, so the sum is that of a few hundred at most.
    total, term = 0.0, 1.0
    for count in range(successes, trials + 1):
        total += term
        term *= (trials - count) / (count + 1) * ratio
        if term < 1e-12 * total:
            break
    return min(1.0, math.exp(log_term) * total)


def trend_score(values: Sequence[float]) -> float:
    """Return the standard score of a trend along a sequence; below zero it falls.

    The score test for a slope, r * sqrt(n - 1) with the correlation r of value and position. If
    the values come in random order it is standard normal for long sequences, whatever their
    distribution (the permutation distribution of Pitman 1937). A constant sequence has score 0.

    Examples
    --------
    >>> trend_score([1, 1, 1, 1]), trend_score([3, 2, 1, 0]) < -1.7
    (0.0, True)
    """
    count = len(values)
    if count < 3:
        return 0.0
    middle, mean = (count - 1) / 2, sum(values) / count
    squares = sum((value - mean) ** 2 for value in values)
    if squares <= 0:
        return 0.0
    product = sum((at - middle) * (value - mean) for at, value in enumerate(values))
    return product / math.sqrt(squares * (count**3 - count) / 12) * math.sqrt(count - 1)


def trend_name(values: Sequence[float]) -> str:
    """Name the trend: ``rising``, ``flat`` or ``falling`` at 1 %, else ``undecided``."""
    if len(values) < FEWEST_FOR_TREND:
        return "undecided"
    score = trend_score(values)
    return "falling" if score < -ONE_PERCENT else "rising" if score > ONE_PERCENT else "flat"


def slope_tail(values: Sequence[float], fall: float) -> float:
    """Return the p-value against a rate that fell by the share ``fall`` or more.

    A region of N URLs that are met at random, k of which are known, makes new ones at 1 - k / N
    of its first rate: a fall of at least ``fall`` is what N of at most k / fall would show. The
    slope of a straight line by least squares is held against that of such a fall, with its
    standard error, one-sided.

    Examples
    --------
    >>> slope_tail([3, 3, 3, 3], 0.1), slope_tail([3, 2, 1, 0], 0.1) > 0.9
    (0.0, True)
    """
    count = len(values)
    if count < 4:
        return 1.0
    middle, mean = (count - 1) / 2, sum(values) / count
    width = (count**3 - count) / 12
    slope = sum((at - middle) * (value - mean) for at, value in enumerate(values)) / width
    null = -fall * mean / (1 - fall / 2) / max(1, count - 1)
    residual = sum((value - mean - slope * (at - middle)) ** 2 for at, value in enumerate(values))
    error = math.sqrt(residual / (count - 2) / width)
    if error <= 1e-12 * mean:
        return 0.0 if slope > null else 1.0
    return 0.5 * math.erfc((slope - null) / error / math.sqrt(2))


class Growth(NamedTuple):
    """How a region makes new URLs.

    Parameters
    ----------
    own
        New URLs of the region found on each of its fetched pages, in order of fetching.
    other
        New URLs outside it found on each of them.
    rate
        Mean of ``own`` over the later half.
    low
        Lower end of a one-sided 95 % interval for that mean.
    score
        `trend_score` of ``own``.
    self_made
        Share of the region's known URLs that were found on its own pages.
    barren
        Number of pages of the later half on which nothing new outside the region was found.
    later
        Number of pages in the later half.
    """

    own: list[int]
    other: list[int]
    rate: float
    low: float
    score: float
    self_made: float
    barren: int
    later: int

    @property
    def lasts(self) -> bool:
        """Whether it makes a URL for about each page it is fetched, without falling off."""
        return self.low > 0.5 and self.score > -ONE_PERCENT


def growth_of(
    pages: Sequence[int], members: set[int], children: Sequence[Sequence[int] | None]
) -> Growth:
    """Return how a region grows.

    Parameters
    ----------
    pages
        Positions of its fetched URLs, in order of fetching.
    members
        Positions of all its URLs.
    children
        For each URL the positions of those that were first found on it.
    """
    own: list[int] = []
    other: list[int] = []
    for page in pages:
        found = children[page] or ()
        inside = sum(1 for one in found if one in members)
        own.append(inside)
        other.append(len(found) - inside)
    half = len(own) // 2
    later = own[half:]
    count = max(1, len(later))
    rate = sum(later) / count
    spread = math.sqrt(sum((value - rate) ** 2 for value in later) / max(1, count - 1))
    return Growth(
        own=own,
        other=other,
        rate=rate,
        low=rate - FIVE_PERCENT * spread / math.sqrt(count),
        score=trend_score(own),
        self_made=sum(own) / max(1, len(members)),
        barren=sum(1 for value in other[half:] if not value),
        later=len(later),
    )
