"""Sitemap entries and pages made up for the tests of lastmod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import crawlkit as ck
from crawlkit.audit.lastmod_stamps import seconds_of, times_of
from crawlkit.audit.page_visits import Visit

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = 1_750_000_000.0
DAY = 86_400.0


def entries(
    starts: Any,
    *,
    made: dict[str, float] | None = None,
    sitemap: str = "http://a/s.xml",
    **more: Any,
) -> pd.DataFrame:
    """Return entries of one file with these lastmods, in seconds; NaN for none."""
    starts = np.asarray(starts, dtype=float)
    frame = pd.DataFrame({"loc": [f"http://a/{sitemap[-5:]}{n}" for n in range(len(starts))]})
    frame["lastmod"] = times_of(starts).to_numpy() if len(starts) else times_of([])
    frame["lastmod_granularity"] = pd.Series("second", index=frame.index, dtype="str").mask(
        np.isnan(starts)
    )
    frame["sitemap"] = pd.Series(sitemap, index=frame.index, dtype="str")
    for name, values in more.items():
        frame[name] = values
    if made is not None:
        frame.attrs["files"] = ({"url": sitemap, **made},)
    return frame


def spread_out(count: int = 200, seed: int = 1) -> Any:
    """Return honest dates: exponential ages."""
    return NOW - np.random.default_rng(seed).exponential(60 * DAY, count) - DAY


class Pages:
    """Pages whose date is a function of their lastmod; remembers what was asked for."""

    def __init__(
        self, frame: pd.DataFrame, modified: Callable[[float], float], **more: Any
    ) -> None:
        self._starts = dict(zip(frame["loc"], seconds_of(frame["lastmod"]), strict=True))
        self._modified = modified
        self._more = more
        self.asked: list[str] = []

    def visit(self, url: str) -> Visit:
        self.asked.append(url)
        at = self._modified(self._starts[url])
        known = {"modified": at, "modified_end": at + 1.0, "modified_source": "json_ld"}
        known |= {"text_hash": "0" * 32, "text_hash_by": "made_up"} | self._more
        return Visit(url, NOW, **known)


def audit(frame: pd.DataFrame, modified: Callable[[float], float], **options: Any) -> Any:
    return ck.audit_lastmod(
        frame, **{"pages": Pages(frame, modified), "progress": False, "sample": 60, **options}
    )


HONEST = entries(spread_out(300), made={"date": NOW, "last_modified": NOW - 60})
