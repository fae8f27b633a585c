"""Columns of a crawl's tables: only those that are needed, from a crawl or a mapping of tables.

A crawl folder is read column by column, large tables piece by piece. What comes from elsewhere may
lack tables and columns: they read as null, and `TableColumns.missing` names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting, BadURL
from crawlkit.plots.rates import plain_frame
from crawlkit.reprs import plain_text
from crawlkit.web.url_keys import DEFAULT_RULES, UrlRules
from crawlkit.web.urls import normalize_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    import pyarrow as pa

__all__ = ["TableColumns", "listed_urls", "plain_values", "url_key", "whole_text"]

_PIECE = 250_000
_TABLES = ("pages", "links", "fetches", "urls", "events")


def url_key(url: str, rules: UrlRules = DEFAULT_RULES) -> str:
    """Return the key of a URL, or the text itself where it is no URL."""
    try:
        return normalize_url(url, rules)
    except BadURL:
        return url


def whole_text(text: str) -> str:
    """Return a text that can be written: half of a surrogate pair is a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def plain_values(values: Any) -> list[Any]:
    """Return a column as a list of Python values, with None for what is missing."""
    missing = values.isna()
    plain: list[Any] = values.tolist()
    if missing.any():
        plain = [None if gone else v for v, gone in zip(plain, missing.tolist(), strict=True)]
    return plain


def listed_urls(given: Any, argument: str) -> list[tuple[str, str | None]]:
    """Return what lists URLs as pairs of URL and sitemap file; rows without a URL are dropped.

    Parameters
    ----------
    given
        A DataFrame with a column ``loc`` or ``url``, or URLs.
    argument
        The caller's name of it, for messages.

    Raises
    ------
    BadSetting
        It is neither.
    """
    import pandas as pd

    remedy = "Pass a DataFrame with a column 'loc' or 'url', or a list of URLs."
    if isinstance(given, pd.DataFrame):
        name = next((name for name in ("loc", "url") if name in given.columns), None)
        if name is None:
            raise BadSetting(argument, "the table has no column 'loc' and no 'url'", remedy)
        locs = plain_values(given[name])
        files = plain_values(given["sitemap"]) if "sitemap" in given.columns else [None] * len(locs)
    elif isinstance(given, str) or not hasattr(given, "__iter__"):
        shown = plain_text(repr(given), longest=80)
        raise BadSetting(argument, f"{shown} is no list of URLs", remedy)
    else:
        locs = list(given)
        files = [None] * len(locs)
    return [
        (whole_text(loc.strip()), file if isinstance(file, str) else None)
        for loc, file in zip(locs, files, strict=True)
        if isinstance(loc, str) and loc.strip()
    ]


class TableColumns:
    """Reads columns of the tables of a crawl, or of a mapping of DataFrames.

    Parameters
    ----------
    source
        A crawl, anything else with DataFrames as attributes ``pages links fetches urls events``,
        or a mapping with some of them.
    argument
        The caller's name of it, for messages.

    Attributes
    ----------
    missing : set of str
        ``table.column``, or ``table`` alone, for what was wanted and is not there.
    rules : UrlRules
        What makes two addresses one page in this crawl.

    Raises
    ------
    BadSetting
        It has no table ``pages`` with a column ``url``.
    """

    def __init__(self, source: Any, argument: str = "crawl") -> None:
        self.source = source
        self.missing: set[str] = set()
        self._argument = argument
        self._batches = None if isinstance(source, Mapping) else getattr(source, "batches", None)
        # What a crawl was told is a matter of crawls; tables from elsewhere know no rules.
        settings = None if self._batches is None else getattr(source, "settings", None)
        rules = getattr(settings, "url_rules", None)
        self.rules: UrlRules = rules if isinstance(rules, UrlRules) else DEFAULT_RULES
        if self._batches is None and (self._frame("pages") is None or not self.has("pages", "url")):
            raise BadSetting(
                argument,
                f"{plain_text(type(source).__name__)} has no table 'pages' with a column 'url'",
                "Pass a crawl, such as ck.open_crawl(folder), or a dict with the DataFrames "
                "'pages' and 'links'.",
            )

    def _frame(self, table: str) -> pd.DataFrame | None:
        import pandas as pd

        source = self.source
        found = source.get(table) if isinstance(source, Mapping) else getattr(source, table, None)
        return plain_frame(found) if isinstance(found, pd.DataFrame) else None

    def has(self, table: str, *columns: str) -> bool:
        """Tell whether a table and columns of it are there; note those that are not."""
        if self._batches is not None:
            return table in _TABLES
        frame = self._frame(table)
        if frame is None:
            self.missing.add(table)
            return False
        gone = [f"{table}.{name}" for name in columns if name not in frame.columns]
        self.missing.update(gone)
        return not gone

    def read(self, table: str, columns: Sequence[str]) -> pd.DataFrame:
        """Return columns of a table; those that are not there are null, and noted.

        Of rows of ``pages`` with the same URL the last one counts; rows without one are dropped.
        """
        import pandas as pd

        if self._batches is not None:
            frame = self._read_batches(table, columns)
        else:
            found = self._frame(table)
            self.has(table, *columns)
            given = pd.DataFrame() if found is None else found
            frame = pd.DataFrame(
                {name: _whole(given[name]) if name in given.columns else None for name in columns},
                index=given.index,
            ).reset_index(drop=True)
        if table == "pages":
            usable = [isinstance(url, str) and bool(url.strip()) for url in frame["url"]]
            frame = (
                frame[pd.Series(usable, index=frame.index, dtype=bool)]
                .drop_duplicates("url", keep="last")
                .reset_index(drop=True)
            )
        return frame

    def _read_batches(self, table: str, columns: Sequence[str]) -> pd.DataFrame:
        import pandas as pd
        import pyarrow as pa

        assert self._batches is not None  # noqa: S101 - the caller looked
        kinds: dict[Any, Any] = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        pieces = list(self._batches(table, columns))
        if not pieces:
            return pd.DataFrame({name: pd.Series([], dtype=object) for name in columns})
        frame: pd.DataFrame = pa.concat_tables(pieces).to_pandas(types_mapper=kinds.get)
        return frame

    def texts(self, table: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield columns of text in pieces; what is no text is null.

        Parameters
        ----------
        table
            A large table, such as ``links``.
        columns
            Those that are not there are null.
        """
        import pyarrow as pa

        if self._batches is not None:
            yield from self._batches(table, columns)
            return
        found = self._frame(table)
        self.has(table, *columns)
        if found is None:
            return
        for start in range(0, len(found), _PIECE):
            piece = found.iloc[start : start + _PIECE]
            arrays = {
                name: _text_array(piece[name])
                if name in piece.columns
                else pa.nulls(len(piece), pa.string())
                for name in columns
            }
            yield pa.table(arrays)


def _whole(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column whose texts can be written."""
    if values.dtype != object:
        return values
    return values.map(lambda value: whole_text(value) if isinstance(value, str) else value)


def _text_array(values: Any) -> pa.Array:
    """Return a column of text as Arrow has it."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(values.dtype, pd.StringDtype):
        made = pa.array(values, from_pandas=True)
        made = made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made
        return made.cast(pa.large_string())
    texts = [
        value.encode("utf-8", "replace").decode() if isinstance(value, str) else None
        for value in values.tolist()
    ]
    return pa.array(texts, pa.large_string())
