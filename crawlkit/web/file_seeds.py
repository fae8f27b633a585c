"""Seeds from files, tables and clipboard text: which column holds the URLs, and its rows."""

from __future__ import annotations

import re
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.web.date_texts import read_date
from crawlkit.web.seed_tables import SeedTable, moment
from crawlkit.web.source_tables import (
    SAMPLE_ROWS,
    SourceTable,
    table_of_frame,
    tables_of_bytes,
    tables_of_text,
)
from crawlkit.web.source_text import is_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

__all__ = ["file_table", "source_tables"]

# Names that a column of URLs has in exports, the page's own address before others.
_NAMES = (
    "url", "address", "loc", "page", "pages", "top pages", "landing page", "page url", "page_url",
    "landing_page", "page location", "full url", "urls", "link", "permalink", "href", "uri",
    "final url", "original url",
)  # fmt: skip
_LASTMOD_NAMES = frozenset(
    {
        "lastmod", "last-modified", "last_modified", "lastmodified", "modified", "date_modified",
        "datemodified", "resp_headers_last-modified",
    }
)  # fmt: skip
_COLUMNS = {"row": "Int64", "issues": "str"}
_LONGEST_PATH = 4096


def source_tables(source: object) -> tuple[list[SourceTable], str | None]:
    """Return the tables that a source is, and the file's name.

    Raises
    ------
    BadSetting
        It is no file, table, text or list.
    """
    if hasattr(source, "columns") and hasattr(source, "itertuples"):
        return [table_of_frame(source)], None  # type: ignore[arg-type]
    if isinstance(source, bytes):
        return tables_of_bytes(source), None
    if isinstance(source, str) and not _is_path(source):
        return [tables_of_text(source)], None
    if isinstance(source, (str, Path)):
        try:
            return tables_of_bytes(Path(source).read_bytes()), str(source)
        except (OSError, ValueError) as error:
            problem = f"{str(source)!r} cannot be read ({getattr(error, 'strerror', error)})"
            raise BadSetting("source", problem, "Pass a file, a DataFrame or text.") from None
    values = source.tolist() if hasattr(source, "tolist") else source
    if isinstance(values, (list, tuple, set, frozenset)):
        return [SourceTable("lines", [None], lambda: ([each] for each in values))], None
    raise BadSetting(
        "source", f"{type(source).__name__} is no source", "Pass a file, a DataFrame or text."
    )


def _is_path(text: str) -> bool:
    """Say whether a string is meant as a file's name: one is there, or it is a line without URL."""
    if "\n" in text or len(text) > _LONGEST_PATH:
        return False
    try:
        if Path(text).is_file():
            return True
    except (OSError, ValueError):  # too long a name, a NUL
        return False
    return not re.search(r"https?:/|\bwww[.]", text)


def file_table(source: object, *, column: object, base: str | None) -> pd.DataFrame:
    """Read a source and return what `seeds_from_file` promises."""
    tables, name = source_tables(source)
    table, number = _chosen(tables, column, relative=base is not None)
    seeds = SeedTable("file", _COLUMNS)
    place = name if table is None or table.part is None else f"{name or ''}#{table.part}"
    empty = 0
    if table is None or number is None:
        seeds.refuse(None, "no_url_column", place)
    else:
        for row, cell, lastmod, issue in _cells(table, number):
            if _is_missing(cell):
                empty += 1
                continue
            text = str(cell).strip().strip("<>\"'") if isinstance(cell, (str, bytes)) else cell
            seeds.add(text, base=base, lastmod=lastmod, found_in=place, row=row, issues=issue)
    return seeds.frame(
        column=None if table is None or number is None else table.names[number],
        columns=tuple(str(each) for each in table.names if each is not None) if table else (),
        form=table and table.form,
        part=table and table.part,
        encoding=table and table.encoding,
        delimiter=table and table.delimiter,
        empty_cells=empty,
    )


def _chosen(
    tables: Sequence[SourceTable], column: object, *, relative: bool
) -> tuple[SourceTable | None, int | None]:
    """Return the table and the number of the column with the URLs."""
    if column is not None:
        for table in tables:
            if column in table.names:
                return table, list(table.names).index(column)
            if isinstance(column, int) and -len(table.names) <= column < len(table.names):
                return table, column % len(table.names)
        there = [name for table in tables for name in table.names if name is not None]
        raise BadSetting("column", f"there is no column {column!r}", f"There are {there!r}.")
    judged = [(table, *_url_column(table, relative=relative)) for table in tables]
    if not judged:
        return None, None
    table, number, _ = max(judged, key=lambda each: each[2])
    return table, number


def _url_column(table: SourceTable, *, relative: bool) -> tuple[int | None, float]:
    """Return the number of the likeliest column, and how good it is; (None, -1) for none."""
    sample = list(islice(table.rows(), SAMPLE_ROWS))
    if len(table.names) == 1 and table.names[0] is None:
        return 0, float(bool(sample))
    best: tuple[float, int] | None = None
    for number, name in enumerate(table.names):
        cells = [row[number] for row in sample if not _is_missing(row[number])]
        share = sum(is_url(cell, relative=relative) for cell in cells) / max(1, len(cells))
        known = str(name).strip().strip("\ufeff").lower()
        rank = _NAMES.index(known) if known in _NAMES else None
        if share >= 0.5 or (share > 0 and rank is not None):
            # A known name beats any share; else more URLs, and more rows, beat fewer.
            score = 1e3 - rank if rank is not None else share + len(cells) / (len(sample) + 1)
            if best is None or score > best[0]:
                best = (score, number)
    return (None, -1.0) if best is None else (best[1], best[0])


def _cells(
    table: SourceTable, number: int
) -> Iterator[tuple[int, Any, float | datetime | None, str | None]]:
    """Yield row number, URL, lastmod and issue."""
    lastmods = [
        each
        for each, name in enumerate(table.names)
        if each != number and str(name).strip().lower().replace(" ", "-") in _LASTMOD_NAMES
    ]
    for count, row in enumerate(table.rows(), 1):
        lastmod, issue = (None, None) if not lastmods else _lastmod(row[lastmods[0]])
        yield count, row[number], lastmod, issue


def _lastmod(cell: object) -> tuple[float | datetime | None, str | None]:
    if _is_missing(cell):
        return None, None
    if isinstance(cell, datetime):
        return moment(cell), None
    read, _ = read_date(cell.isoformat() if isinstance(cell, date) else str(cell))
    if read is None:
        return None, "lastmod_unreadable"
    return read.start, None if read.tz_known or read.granularity == "day" else "lastmod_no_zone"


def _is_missing(cell: object) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    if isinstance(cell, float):
        return cell != cell  # noqa: PLR0124 - NaN differs from itself
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")
