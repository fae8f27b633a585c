"""Measures how often the intervals of the audit cover the true rate.

Three questions, for rates from 0.5 to 0.99 and 20 trials or more:

1. exactly, by summing over all outcomes of a binomial: mean and least coverage of plain Wilson and
   of `share_interval`;
2. by simulation, one visit to each page, as the scorecard counts;
3. the same with repeated visits to the same pages, whose outcomes go together or not.

Bars: mean coverage 93 to 97 %, never under 90 %. Where the visits to a page have little in common,
intervals may be wider than needed: what repeated visits are worth is granted in part only.

    python benchmarks/interval_coverage.py
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy import stats

from crawlkit.audit.intervals import Share, share_interval

RATES = np.round(np.arange(0.5, 0.9901, 0.002), 3)
TRIALS = (*range(20, 61), 80, 100, 150, 200)
Z = 1.959963984540054


def wilson(successes: int, trials: int) -> tuple[float, float]:
    rate = successes / trials
    middle = (rate + Z * Z / (2 * trials)) / (1 + Z * Z / trials)
    half = Z * math.sqrt(rate * (1 - rate) / trials + (Z / (2 * trials)) ** 2)
    half /= 1 + Z * Z / trials
    return middle - half, middle + half


def corrected(successes: int, trials: int) -> tuple[float, float]:
    share = share_interval(successes, trials)
    return share.low, share.high


def exact_coverage(interval: object) -> tuple[float, float, str]:
    """Return mean and least coverage, and where the least is."""
    means, least, where = [], 1.0, ""
    for trials in TRIALS:
        bounds = np.array([interval(x, trials) for x in range(trials + 1)])  # type: ignore[operator]
        chances = stats.binom.pmf(np.arange(trials + 1)[None, :], trials, RATES[:, None])
        inside = (bounds[:, 0] <= RATES[:, None]) & (RATES[:, None] <= bounds[:, 1])
        coverage = (chances * inside).sum(axis=1)
        means.append(coverage.mean())
        if coverage.min() < least:
            least = float(coverage.min())
            where = f"{trials} trials, rate {RATES[coverage.argmin()]}"
    return float(np.mean(means)), least, where


def votes(outcomes: np.ndarray) -> Share:
    """Return the share as the scorecard has it: pages in rows, visits in columns."""
    pages, rounds = outcomes.shape
    means = outcomes.mean(axis=1)
    rate, scatter = float(means.mean()), float(means.var(ddof=1))
    worth = 1.0 if scatter <= 0 else min(max(rate * (1 - rate) / scatter, 1.0), rounds)
    trials = pages * worth ** (2 / 3)
    return share_interval(rate * trials, trials)


def simulated_coverage(
    *, pages: int, rounds: int, together: float, repeats: int, seed: int
) -> dict[float, float]:
    """Return the coverage of precision by true rate; `together` is the correlation in a page."""
    rng = np.random.default_rng(seed)
    found = {}
    for rate in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99):
        inside = 0
        for _ in range(repeats):
            if together >= 1:
                own = (rng.random(pages) < rate).astype(float)
            elif together > 0:
                size = 1 / together - 1
                own = rng.beta(rate * size, (1 - rate) * size, pages)
            else:
                own = np.full(pages, rate)
            outcomes = rng.random((pages, rounds)) < own[:, None]
            share = votes(outcomes)
            inside += share.low <= rate <= share.high
        found[rate] = inside / repeats
    return found


def main() -> int:
    failed = False
    for name, interval, held in (("wilson", wilson, False), ("share_interval", corrected, True)):
        mean, least, where = exact_coverage(interval)
        good = 0.93 <= mean <= 0.97 and least >= 0.9
        failed |= held and not good
        mark = ("PASS" if good else "FAIL") if held else "    "
        print(f"{mark} exact, {name:14}: mean {mean:.4f}, least {least:.4f} ({where})")
    for pages, rounds, together, top in (
        (25, 1, 0.0, 0.97),
        (50, 1, 0.0, 0.97),
        (40, 4, 1.0, 0.97),
        (30, 8, 0.8, 0.97),
        (30, 8, 0.5, 0.97),
        (40, 4, 0.0, 1.0),
    ):
        found = simulated_coverage(
            pages=pages, rounds=rounds, together=together, repeats=2000, seed=pages + rounds
        )
        mean = float(np.mean(list(found.values())))
        # 2,000 repeats leave an error of 0.5 % on each rate.
        good = 0.93 <= mean <= top and min(found.values()) >= 0.9
        failed |= not good
        print(
            f"{'PASS' if good else 'FAIL'} scorecard, {pages} pages, {rounds} visit(s) each, "
            f"correlation {together}: mean {mean:.3f}, by rate "
            + ", ".join(f"{rate}: {share:.3f}" for rate, share in found.items())
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
