"""Many scores at 12 significant digits at once, digit for digit as ``round_score`` gives them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from crawlkit.order.base import round_score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["powers_of_ten", "round_scores"]

# Powers of ten up to this one are whole numbers of double precision.
_EXACT_POWER = 22
_SPLITTER = 134_217_729.0  # 2**27 + 1 cuts a double into two halves (Dekker 1971)


def round_scores(scores: ArrayLike) -> NDArray[np.float64]:
    """Return scores at 12 significant digits; the same floats as :func:`round_score`, faster.

    Raises
    ------
    BadSetting
        A score is no number.

    Examples
    --------
    >>> round_scores([0.1 + 0.2, 1234567890123.0, 0.0]).tolist()
    [0.3, 1234567890120.0, 0.0]
    """
    import numpy as np

    given = np.asarray(scores, dtype=np.float64)
    size = np.abs(given)
    # Between these bounds ten to the power needed is exact; the few scores outside go one by one.
    usual = (size > 1e-11) & (size < 1e11)
    values = np.where(usual, size, 1.0)
    power = 11 - np.floor(np.log10(values)).astype(np.int64)
    whole, rest = _exact_product(values, powers_of_ten()[power])
    # The logarithm may be off by one beside a power of ten.
    for _ in range(2):
        step = (whole < 1e11).astype(np.int64) - (whole >= 1e12)
        if not step.any():
            break
        power += step
        whole, rest = _exact_product(values, powers_of_ten()[power])
    nearest = np.rint(whole)
    left = (whole - nearest) + rest
    nearest += (left > 0.5).astype(np.float64) - (left < -0.5)
    rounded: NDArray[np.float64] = np.copysign(nearest / powers_of_ten()[power], given)
    for place in np.flatnonzero(~usual).tolist():
        value = float(given[place])
        rounded[place] = value if value == 0.0 else round_score(value)
    return rounded


@cache
def powers_of_ten() -> NDArray[np.float64]:
    """Return the powers of ten that are exact, and one to spare."""
    import numpy as np

    return np.array([float(10**power) for power in range(_EXACT_POWER + 2)])


def _exact_product(left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the product of two arrays and what rounding took from it (Dekker 1971)."""
    product = left * right
    left_high, left_low = _halves(left)
    right_high, right_low = _halves(right)
    rest = left_low * right_low - (
        ((product - left_high * right_high) - left_low * right_high) - left_high * right_low
    )
    return product, rest


def _halves(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    scaled = values * _SPLITTER
    high = scaled - (scaled - values)
    return high, values - high
