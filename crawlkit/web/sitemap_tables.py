"""The entries of a file as Arrow columns: dates read, URLs judged, codes collected.

Most rows of most files need no code, so columns are computed as a whole, and only what stands out
is looked at one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.web.feed_dates import parse_feed_dates
from crawlkit.web.sitemap_codes import Issues, add_codes, as_text, joined
from crawlkit.web.sitemap_scope import Place, judged
from crawlkit.web.w3c_columns import parse_w3c_column
from crawlkit.web.w3c_dates import GRANULARITIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import pyarrow as pa

    from crawlkit.web.sitemap_content import SitemapContent
    from crawlkit.web.w3c_columns import W3CColumn

__all__ = ["entries_frame", "entries_table", "file_row", "moment"]

_MOST_URLS = 50_000
_DAY = 86_400.0
_YEAR_1990 = 631_152_000.0


def _schema() -> pa.Schema:
    import pyarrow as pa

    # Large strings are what pandas keeps, so nothing is copied on the way.
    text, time = pa.large_string(), pa.timestamp("us", tz="UTC")
    pairs = pa.list_(pa.struct([("lang", pa.string()), ("url", pa.string())]))
    return pa.schema(
        [
            ("loc", text),
            ("lastmod", time),
            ("lastmod_text", text),
            ("lastmod_granularity", text),
            ("sitemap", text),
            ("sitemap_lastmod", time),
            ("kind", text),
            ("publication_date", time),
            ("alternates", pairs),
            ("scope", text),
            ("issues", text),
        ]
    )


def _stored_schema() -> pa.Schema:
    """Return the schema of one file's table: its own address is kept once, not in each row."""
    import pyarrow as pa

    schema = _schema()
    name = pa.field("sitemap", pa.dictionary(pa.int8(), pa.large_string()))
    return schema.set(schema.get_field_index("sitemap"), name)


def moment(text: str | None) -> float | None:
    """Return the start of the interval that a W3C date names, in seconds since 1970."""
    from crawlkit.web.w3c_dates import parse_w3c

    date = parse_w3c(text) if text else None
    return None if date is None else date.start


def entries_table(
    content: SitemapContent, place: Place, shared: dict[Any, pa.Array] | None = None
) -> pa.Table:
    """Return the entries of one file.

    Parameters
    ----------
    content
        What the file says.
    place
        Where it was found.
    shared
        Keeps columns of one value, so that files of one length have them in memory once.
    """
    import pyarrow as pa

    constants = _Constants({} if shared is None else shared)
    pool = pa.system_memory_pool()
    locs, count = content.locs, len(content.locs)
    issues: Issues = {}
    for row, codes in content.issues.items():
        add_codes(issues, row, *codes)
    is_feed = content.kind in ("rss", "atom")
    read = parse_feed_dates if is_feed else parse_w3c_column
    dates = read(content.lastmods)
    _flag_dates(dates, "lastmod", place, issues)
    locs, scopes = judged(locs, place, issues)
    _flag_duplicates(locs, issues)
    texts = content.lastmods
    columns = [
        pa.array(locs, pa.large_string(), memory_pool=pool),
        _times(dates.start),
        pa.array([text or None for text in texts], pa.large_string(), memory_pool=pool),
        _granularities(dates, constants),
        pa.DictionaryArray.from_arrays(
            constants.zeros(count), pa.array([place.name], pa.large_string())
        ),
        constants.time(place.sitemap_lastmod, count),
        _kinds(content, constants),
        _publication_dates(content, constants, is_feed=is_feed, place=place, issues=issues),
        _alternates(content, constants),
        constants.text("ok", count) if scopes is None else scopes,
        _issue_texts(issues, constants, count, recovered="recovered" in content.file_issues),
    ]
    return pa.table(columns, schema=_stored_schema())


def file_row(
    name: str, kind: str | None, codes: Sequence[str], sitemap_lastmod: float | None
) -> pa.Table:
    """Return the row that says what is missing of a file: `loc` is null, `issues` says why."""
    import pyarrow as pa

    row: dict[str, Any] = dict.fromkeys(_stored_schema().names)
    row |= {"sitemap": name, "kind": kind, "issues": " ".join(dict.fromkeys(codes))}
    table = pa.Table.from_pylist([row], schema=_stored_schema())
    if sitemap_lastmod is not None:
        index = table.schema.get_field_index("sitemap_lastmod")
        table = table.set_column(
            index, _schema().field(index), _Constants({}).time(sitemap_lastmod, 1)
        )
    return table


def entries_frame(tables: list[pa.Table]) -> pd.DataFrame:
    """Return tables of one schema as one DataFrame with fixed dtypes, also when empty.

    The tables are used up: the list is empty afterwards, and what is converted is freed.
    """
    import pandas as pd
    import pyarrow as pa

    schema, place = _schema(), _schema().get_field_index("sitemap")
    names = [chunk for table in tables for chunk in table.column(place).chunks]
    rest = [table.drop_columns(["sitemap"]) for table in tables]
    tables.clear()
    table = pa.concat_tables(rest) if rest else schema.remove(place).empty_table()
    rest.clear()
    pool = pa.system_memory_pool()
    text = pd.StringDtype(na_value=float("nan"))
    mapping = {pa.large_string(): text}
    frame: pd.DataFrame = table.to_pandas(
        types_mapper=mapping.get, split_blocks=True, self_destruct=True, memory_pool=pool
    )
    del table
    # The addresses of files are written out last, when the rest has left Arrow.
    written = [name.dictionary_decode() for name in names]
    column = pa.chunked_array(written, pa.large_string())
    frame.insert(place, "sitemap", column.to_pandas(types_mapper=mapping.get, memory_pool=pool))
    for name in ("lastmod", "sitemap_lastmod", "publication_date"):
        if str(frame[name].dtype) != "datetime64[us, UTC]":
            frame[name] = frame[name].astype("datetime64[us, UTC]")
    if frame["alternates"].notna().any():  # arrays to plain lists
        frame["alternates"] = frame["alternates"].map(list, na_action="ignore").astype("object")
    return frame


# -- dates ---------------------------------------------------------------------------------


def _flag_dates(dates: W3CColumn, column: str, place: Place, issues: Issues) -> None:
    import numpy as np

    for row, codes in dates.issues.items():
        add_codes(issues, row, *(f"{column}_{code}" for code in codes))
    with np.errstate(invalid="ignore"):
        future = np.flatnonzero(dates.start > place.fetched_at + _DAY) if place.fetched_at else ()
        ancient = np.flatnonzero(dates.start < _YEAR_1990)
    for row in map(int, future):
        add_codes(issues, row, f"{column}_future")
    for row in map(int, ancient):
        add_codes(issues, row, f"{column}_before_1990")


def _times(seconds: Any) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    missing = np.isnan(seconds)
    whole = np.rint(np.where(missing, 0.0, seconds) * 1e6).astype(np.int64)
    numbers = pa.array(whole, pa.int64(), mask=missing, memory_pool=pa.system_memory_pool())
    return numbers.view(pa.timestamp("us", tz="UTC"))


def _granularities(dates: W3CColumn, constants: _Constants) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    count = len(dates.granularity)
    found = np.unique(dates.granularity)
    if len(found) == 1:
        return constants.text(GRANULARITIES[found[0]] if found[0] >= 0 else None, count)
    codes = pa.array(dates.granularity, pa.int8(), mask=dates.granularity < 0)
    names = pa.array(GRANULARITIES, pa.large_string())
    column = pa.DictionaryArray.from_arrays(codes, names)
    return column.cast(pa.large_string(), memory_pool=pa.system_memory_pool())


def _publication_dates(
    content: SitemapContent, constants: _Constants, *, is_feed: bool, place: Place, issues: Issues
) -> pa.Array:
    import numpy as np

    count = len(content.locs)
    if not content.published:
        return constants.time(None, count)
    rows = np.fromiter(content.published, np.int64, len(content.published))
    read = parse_feed_dates if is_feed else parse_w3c_column
    dates = read(list(content.published.values()))
    starts = np.full(count, np.nan)
    starts[rows] = dates.start
    if not is_feed:  # there it is the lastmod, and has its codes already
        found: Issues = {}
        _flag_dates(dates, "publication", place, found)
        for at, codes in found.items():
            add_codes(issues, int(rows[at]), *codes)
    return _times(starts)


def _flag_duplicates(locs: list[str], issues: Issues) -> None:
    if len(set(locs)) == len(locs):
        return
    seen: set[str] = set()
    for row, loc in enumerate(locs):
        if loc in seen:
            add_codes(issues, row, "duplicate")
        seen.add(loc)


# -- the other columns ---------------------------------------------------------------------


class _Constants:
    """Columns of one value, made once for each value and length."""

    def __init__(self, made: dict[Any, pa.Array]) -> None:
        self._made = made

    def text(self, text: str | None, count: int) -> pa.Array:
        import pyarrow as pa

        return self._of(text, count, pa.large_string())

    def time(self, seconds: float | None, count: int) -> pa.Array:
        import pyarrow as pa

        number = None if seconds is None else round(seconds * 1e6)
        return self._of(number, count, pa.int64()).view(pa.timestamp("us", tz="UTC"))

    def zeros(self, count: int) -> pa.Array:
        import pyarrow as pa

        return self._of(0, count, pa.int8())

    def nulls(self, count: int, kind: pa.DataType) -> pa.Array:
        return self._of(None, count, kind)

    def _of(self, value: str | int | None, count: int, kind: pa.DataType) -> pa.Array:
        import pyarrow as pa

        column = self._made.get((value, count, str(kind)))
        if column is None:
            pool = pa.system_memory_pool()
            if value is None:
                column = pa.nulls(count, kind, memory_pool=pool)
            else:
                column = pa.repeat(pa.scalar(value, kind), count, memory_pool=pool)
            self._made[(value, count, str(kind))] = column
        return column


def _issue_texts(issues: Issues, constants: _Constants, count: int, *, recovered: bool) -> pa.Array:
    """Return the codes of each row as one text; what whole stretches have in common is added."""
    import pyarrow as pa

    common = ("recovered",) if recovered else ()
    beyond = (*common, "over_50000")
    if not issues and not recovered and count <= _MOST_URLS:
        return constants.text(None, count)
    within = min(count, _MOST_URLS)
    column = [as_text(common)] * within + [as_text(beyond)] * (count - within)
    for row, codes in issues.items():
        column[row] = as_text(joined(common if row < _MOST_URLS else beyond, codes))
    return pa.array(column, pa.large_string())


def _kinds(content: SitemapContent, constants: _Constants) -> pa.Array:
    import pyarrow as pa

    usual = "urlset" if content.kind in ("news", "index") else content.kind or "urlset"
    if not content.kinds:
        return constants.text(usual, len(content.locs))
    return pa.array(
        [content.kinds.get(row, usual) for row in range(len(content.locs))], pa.large_string()
    )


def _alternates(content: SitemapContent, constants: _Constants) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    count = len(content.locs)
    kind = _schema().field("alternates").type
    if not content.alternates:
        return constants.nulls(count, kind)
    sizes, missing = np.zeros(count, np.int32), np.ones(count, np.bool_)
    for row, pairs in content.alternates.items():
        sizes[row], missing[row] = len(pairs), False
    ends = np.cumsum(sizes, dtype=np.int32)
    offsets = pa.array(
        np.concatenate([np.zeros(1, np.int32), ends]), mask=np.append(missing, values=False)
    )
    flat = [pair for pairs in content.alternates.values() for pair in pairs]
    languages, urls = zip(*flat, strict=True)
    values = pa.StructArray.from_arrays(
        [pa.array(languages, pa.string()), pa.array(urls, pa.string())],
        fields=list(kind.value_type),
    )
    return pa.ListArray.from_arrays(offsets, values, type=kind)
