"""New URLs per fetched page: the rolling rate and its band, from the rows of ``fetches``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.plots.style import table_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

__all__ = [
    "check_window",
    "count_column",
    "page_rows",
    "plain_frame",
    "rolling_rate",
    "section_of",
]

LARGEST_COUNT = 2**53
"""Counts beyond this are none."""

BAND = 1.96
"""Standard errors to each side: a band of 95 %."""


def section_of(url: object) -> str:
    """Return host and first folder of a URL.

    Examples
    --------
    >>> section_of("https://example.com/shop/item-1"), section_of("https://example.com/about")
    ('example.com/shop/', 'example.com/')
    """
    rest = str(url).partition("://")[2].partition("#")[0].partition("?")[0]
    host, _, path = rest.partition("/")
    first, slash, _ = path.partition("/")
    return f"{host}/{first}/" if slash else f"{host}/"


def page_rows(crawl_or_fetches: Any, argument: str = "crawl_or_fetches") -> pd.DataFrame:
    """Return the fetches that were pages, in order.

    Parameters
    ----------
    crawl_or_fetches
        A crawl, a mapping of tables, or the table ``fetches`` (or ``pages``) with ``new_urls``.
    argument
        The caller's name of it.

    Returns
    -------
    DataFrame
        The rows with ``new_urls``, sorted by ``seq`` where that is there, index from 0;
        ``new_urls`` is int64. Rows of robots.txt and repeated tries have none.
    """
    import pandas as pd

    source = crawl_or_fetches
    if isinstance(source, dict):
        source = source.get("fetches", source.get("pages"))
    elif callable(getattr(source, "batches", None)):
        source = _fetches_of(source)
    elif not isinstance(source, pd.DataFrame):
        # Tables from elsewhere may have no fetches: then the pages tell the same.
        found = getattr(source, "fetches", None)
        source = getattr(source, "pages", source) if found is None else found
    fetches = plain_frame(table_of(source, "fetches", argument, ("new_urls",)))
    if "seq" in fetches.columns:
        fetches = fetches.assign(seq=count_column(fetches["seq"]))
        fetches = fetches.sort_values("seq", kind="stable")
        fetches = fetches[~fetches["seq"].duplicated() | fetches["seq"].isna()]
    counts = {
        name: count_column(fetches[name])
        for name in ("new_urls", "known_urls", "frontier_size")
        if name in fetches.columns
    }
    fetches = fetches.assign(**counts)
    rows = fetches[fetches["new_urls"].notna()].reset_index(drop=True)
    return rows.assign(new_urls=rows["new_urls"].astype("int64").clip(lower=0))


def _fetches_of(crawl: Any) -> pd.DataFrame:
    """Return the columns of a crawl's fetches that a curve is made of, and read no others."""
    import pandas as pd
    import pyarrow as pa

    columns = ["seq", "url", "host", "new_urls", "known_urls", "frontier_size"]
    pieces = list(crawl.batches("fetches", columns))
    if not pieces:
        return pd.DataFrame({name: pd.Series([], dtype=object) for name in columns})
    kinds: dict[Any, Any] = {pa.int64(): pd.Int64Dtype()}
    frame: pd.DataFrame = pa.concat_tables(pieces).to_pandas(types_mapper=kinds.get)
    return frame


def plain_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with one column of each name, the first, and rows counted from 0."""
    if not frame.columns.is_unique:
        frame = frame.loc[:, ~frame.columns.duplicated()]
    return frame.reset_index(drop=True)


def count_column(values: Any) -> pd.Series[Any]:
    """Return a column as Int64; what is no whole number of a usable size is null."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(values.dtype):
        texts = [value if isinstance(value, (int, float, str)) else None for value in values]
        values = pd.to_numeric(pd.Series(texts, index=values.index, dtype=object), errors="coerce")
    if isinstance(values.dtype, pd.BooleanDtype) or values.dtype.kind not in "iu":
        numbers = pd.to_numeric(values, errors="coerce").astype("Float64")
        values = numbers.where((numbers.abs() <= LARGEST_COUNT).fillna(value=False)).round()
    counts: pd.Series[Any] = values.astype("Int64")
    return counts


def rolling_rate(
    new: npt.NDArray[np.float64], window: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the mean of the last ``window`` values at each place, with a 95 % band.

    The band is that of a mean of independent values with the spread of the window: mean and 1.96
    standard errors. Where a window of n pages found nothing, it ends at 3 / n, the rule of three
    (the 95 % upper limit for a share that was 0 in n trials).

    Parameters
    ----------
    new
        New URLs of each page.
    window
        Pages; at the start there are fewer.

    Returns
    -------
    tuple of three arrays
        Rate, lower and upper end, as long as ``new``.
    """
    import numpy as np

    count = len(new)
    if not count:
        return new, new, new
    ends = np.arange(1, count + 1)
    starts = np.maximum(0, ends - window)
    size = ends - starts
    sums = np.concatenate(([0.0], np.cumsum(new)))
    squares = np.concatenate(([0.0], np.cumsum(np.square(new))))
    rate = (sums[ends] - sums[starts]) / size
    spread = np.maximum(0.0, (squares[ends] - squares[starts]) / size - np.square(rate))
    error = BAND * np.sqrt(spread / np.maximum(1, size - 1))
    return rate, np.maximum(0.0, rate - error), np.maximum(rate + error, 3.0 / size)


def check_window(window: object) -> int:
    """Return a usable window, or raise `BadSetting`."""
    if isinstance(window, bool) or not isinstance(window, int) or window < 2:
        raise BadSetting("window", f"{window!r} is no number of pages", "Pass 2 or more.")
    return window
