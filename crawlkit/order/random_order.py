"""Random: a fair draw among the waiting pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from crawlkit.order.base import Ordering, ResumesBy, check_number

if TYPE_CHECKING:
    from crawlkit.order.base import FoundPage

__all__ = ["RandomOrder"]

_MASK = (1 << 64) - 1


class RandomOrder(Ordering):
    """Any waiting page, each with the same chance: what every other ordering must beat.

    The draw of a page depends on the seed and its number alone, so that a crawl that goes on, or
    a replay, draws the same.

    Parameters
    ----------
    random_seed
        Seed of the draws, an integer from 0.

    Raises
    ------
    BadSetting
        The seed is no such integer.

    Examples
    --------
    >>> from crawlkit.order.base import FoundPage
    >>> page = FoundPage(id=1, url="http://a.example/")
    >>> RandomOrder(7).start(page) == RandomOrder(7).start(page) != RandomOrder(8).start(page)
    True
    """

    name: ClassVar[str] = "random"
    resumes_by: ClassVar[ResumesBy] = "nothing"

    def __init__(self, random_seed: int = 0) -> None:
        check_number("random_seed", random_seed, least=0, whole=True)
        self._random_seed = random_seed
        self._stream = _mix(random_seed & _MASK)

    def parameters(self) -> dict[str, Any]:
        """Return the seed."""
        return {"random_seed": self._random_seed}

    def start(self, page: FoundPage) -> float:
        """Return the page's draw, from 0 to 1."""
        return (_mix((self._stream + page.id) & _MASK) >> 11) * 2.0**-53


def _mix(number: int) -> int:
    """Return 64 well-mixed bits: a step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    number = (number * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)
