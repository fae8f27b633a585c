"""Tables in files, as crawlers, spreadsheets and search consoles export them, read row by row.

The form is told by the content: Excel, a zip of tables, JSON lines, JSON, delimited text, one URL a
line, running text. Names of files are not believed.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import threading
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting, MissingExtra
from crawlkit.web.source_text import decoded_text, is_url, urls_in_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd

__all__ = ["SAMPLE_ROWS", "SourceTable", "table_of_frame", "tables_of_bytes", "tables_of_text"]

#: Rows by which delimiters and columns are judged.
SAMPLE_ROWS = 500

_MOST_BYTES = 1_073_741_824
_DELIMITERS = ("\t", ",", ";", "|")
_XLS = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_TABLE_FILE = re.compile(r"\.(?:csv|tsv|txt|jl|jsonl|ndjson|json)$", re.I)
_OTHER_CELL = re.compile(r"\s*$|\s*-?[0-9][0-9.,:%/ T+-]*Z?\s*$|\s*https?://|.*\s", re.I | re.S)
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.I)
_URL_START = re.compile(r"https?:/", re.I)


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table before anything is known of its columns.

    Attributes
    ----------
    form
        ``"csv"``, ``"excel"``, ``"json"``, ``"jsonl"``, ``"lines"``, ``"text"`` or ``"frame"``.
    names
        Of its columns; for lines and running text one, with the name None.
    rows
        Returns an iterator over the rows, each as long as `names`.
    encoding, delimiter, part
        Of text; of delimited text; the file in a zip, or the sheet.
    """

    form: str
    names: Sequence[Any]
    rows: Callable[[], Iterator[Sequence[Any]]]
    encoding: str | None = None
    delimiter: str | None = None
    part: str | None = None


def table_of_frame(
    frame: pd.DataFrame, form: str = "frame", part: str | None = None
) -> SourceTable:
    """Return a DataFrame as a table."""

    def rows() -> Iterator[Sequence[Any]]:
        return frame.itertuples(index=False, name=None)

    return SourceTable(form, list(frame.columns), rows, part=part)


def tables_of_bytes(data: bytes) -> list[SourceTable]:
    r"""Return the tables in a file: several for a workbook and a zip, else one.

    Raises
    ------
    BadSetting
        It is in Excel's old format, or absurdly large once it is unpacked.
    MissingExtra
        It is an Excel file, and openpyxl is not installed.

    Examples
    --------
    >>> (table,) = tables_of_bytes(b"sep=;\nurl;status\nhttps://a.example/,b;200\n")
    >>> table.form, table.names, next(table.rows())
    ('csv', ['url', 'status'], ['https://a.example/,b', '200'])
    """
    if data.startswith(_XLS):
        raise BadSetting("source", "it is in Excel's old format", "Save it as .xlsx or CSV.")
    if data.startswith(b"PK\x03\x04"):
        return _tables_of_zip(data)
    if data.startswith(b"\x1f\x8b"):
        data = _gunzipped(data)
    text, encoding = decoded_text(data)
    return [tables_of_text(text, encoding=encoding)]


def tables_of_text(
    text: str, *, encoding: str | None = None, part: str | None = None
) -> SourceTable:
    """Return the table that a text is; the last resort is one column of the URLs in it."""
    text = text.lstrip("\ufeff")
    start = text.lstrip()[:1]
    table = None
    if start in ("{", "["):
        table = _json_table(text, encoding, part)
    if table is None:
        table = _delimited_table(text, encoding, part)
    if table is not None:
        return table
    if _is_list_of_urls(text):
        name = _name_over(text)
        skipped = 0 if name is None else 1
        return SourceTable(
            "lines", [name], lambda: islice(_lines(text), skipped, None), encoding, part=part
        )
    return SourceTable(
        "text", [None], lambda: ([url] for url in urls_in_text(text)), encoding, part=part
    )


def _lines(text: str) -> Iterator[Sequence[Any]]:
    return ([line] for line in text.splitlines() if line.strip() and not line.startswith("#"))


def _name_over(text: str) -> str | None:
    """Return the first line of a list if it names what follows: a word or two, and no address."""
    first = next((row[0].strip() for row in _lines(text)), "")
    return first if re.fullmatch(r"[^./:@#?]{1,60}", first) else None


def _is_list_of_urls(text: str) -> bool:
    """Say whether most lines are one URL each and nothing else."""
    sample = [row[0] for row in islice(_lines(text), SAMPLE_ROWS)]
    good = [line for line in sample if is_url(line) and len(_URL_START.findall(line)) == 1]
    return len(good) >= max(1, 0.5 * (len(sample) - 1))


def _delimited_table(text: str, encoding: str | None, part: str | None) -> SourceTable | None:
    said = _SEPARATOR_LINE.match(text)
    if said:
        text = text[said.end() :]
    best: tuple[float, str, int] | None = None
    for delimiter in (said[1],) if said else _DELIMITERS:
        sample = list(islice(_csv_rows(text, delimiter), SAMPLE_ROWS))
        width, share = _usual_width(sample)
        good = _share_of_url_rows(sample)
        if width < 2 or share < 0.8 or not (said or good):
            continue
        if not said and delimiter != "\t" and _may_be_addresses(sample, width):
            continue
        if best is None or share * good > best[0]:
            best = (share * good, delimiter, width)
    if best is None:
        return None
    _, delimiter, width = best
    return _headed(text, delimiter, width, encoding, part)


def _may_be_addresses(sample: Sequence[Sequence[str]], width: int) -> bool:
    """Say whether rows without names may be a list of addresses that have the delimiter in them.

    A table has numbers, more URLs or words in its other columns; an address goes on.
    """
    first = next(row for row in sample if len(row) == width)
    if not any(map(is_url, first)):
        return False  # a row of names
    return any(
        len(row) != width or not all(map(_OTHER_CELL.match, row[1:]))
        for row in sample
        if is_url(row[0])
    )


def _share_of_url_rows(sample: Sequence[Sequence[str]]) -> float:
    """Return how many of the rows with URLs have one as a whole cell; running text has not."""
    some = sum(any(_URL_START.search(cell) for cell in row) for row in sample)
    whole = sum(any(map(is_url, row)) for row in sample)
    if not some:
        return 0.1 if len(sample) > 1 else 0.0  # perhaps a table of paths
    return whole / some if whole >= 0.5 * some else 0.0


def _usual_width(sample: Sequence[Sequence[str]]) -> tuple[int, float]:
    widths = Counter(len(row) for row in sample)
    if not widths:
        return 0, 0.0
    width, count = widths.most_common(1)[0]
    return width, count / len(sample)


def _headed(
    text: str, delimiter: str, width: int, encoding: str | None, part: str | None
) -> SourceTable:
    """Find the row of names; lines before it, that tell about the export, are left out."""
    sample = list(islice(_csv_rows(text, delimiter), SAMPLE_ROWS))
    first = next(number for number, row in enumerate(sample) if len(row) == width)
    head = sample[first]
    has_names = not any(is_url(cell) for cell in head)
    names = [cell.strip() or None for cell in head] if has_names else list(range(width))
    skipped = first + has_names

    def rows() -> Iterator[Sequence[Any]]:
        for row in islice(_csv_rows(text, delimiter), skipped, None):
            yield row if len(row) >= width else [*row, *[None] * (width - len(row))]

    return SourceTable("csv", names, rows, encoding, delimiter, part)


def _csv_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    with _long_fields:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error:
                continue
            if any(cell.strip() for cell in row):
                yield row


class _FieldLimit:
    """Lifts the csv module's limit of a field, which is one for the whole process, while in use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._before = csv.field_size_limit(_MOST_BYTES)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                csv.field_size_limit(self._before)


_long_fields = _FieldLimit()


def _json_table(text: str, encoding: str | None, part: str | None) -> SourceTable | None:
    try:
        whole = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _json_lines(text, encoding, part)
    if isinstance(whole, dict):
        lists = [value for value in whole.values() if isinstance(value, list) and value]
        whole = max(lists, key=len) if lists else [whole]
    if not isinstance(whole, list):
        return None
    if all(isinstance(each, str) for each in whole):
        return SourceTable("json", [None], lambda: ([each] for each in whole), encoding, part=part)
    objects = [each for each in whole if isinstance(each, dict)]
    return _table_of_objects("json", lambda: iter(objects), encoding, part)


def _json_lines(text: str, encoding: str | None, part: str | None) -> SourceTable | None:
    def objects() -> Iterator[dict[str, Any]]:
        for line in io.StringIO(text):
            try:
                each = json.loads(line, strict=False) if line.strip() else None
            except (ValueError, RecursionError):
                each = {}  # a row of nothing, which is counted
            if isinstance(each, dict):
                yield each

    return _table_of_objects("jsonl", objects, encoding, part)


def _table_of_objects(
    form: str,
    objects: Callable[[], Iterator[dict[str, Any]]],
    encoding: str | None,
    part: str | None,
) -> SourceTable | None:
    names = list(dict.fromkeys(name for each in islice(objects(), SAMPLE_ROWS) for name in each))
    if not names:
        return None

    def rows() -> Iterator[Sequence[Any]]:
        return ([each.get(name) for name in names] for each in objects())

    return SourceTable(form, names, rows, encoding, part=part)


def _gunzipped(data: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as file:
            out = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadSetting("source", f"the gzip data is damaged ({error})", "Unpack it.") from None
    if len(out) > _MOST_BYTES:
        raise BadSetting("source", "it is larger than 1 GiB once unpacked", "Pass parts of it.")
    return out


def _tables_of_zip(data: bytes) -> list[SourceTable]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile as error:
        raise BadSetting("source", f"the file is damaged ({error})", "Save it again.") from None
    with archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > _MOST_BYTES:
            raise BadSetting("source", "it is larger than 1 GiB once unpacked", "Pass parts of it.")
        if any(member.filename.startswith("xl/") for member in members):
            return _tables_of_workbook(data)
        tables = []
        for member in members:
            if _TABLE_FILE.search(member.filename):
                try:
                    content = archive.read(member)
                except (zipfile.BadZipFile, RuntimeError, zlib.error, NotImplementedError):
                    continue
                text, encoding = decoded_text(content)
                tables.append(tables_of_text(text, encoding=encoding, part=member.filename))
        return tables


def _tables_of_workbook(data: bytes) -> list[SourceTable]:
    import pandas as pd

    try:
        sheets = pd.read_excel(io.BytesIO(data), sheet_name=None, dtype=object, engine="openpyxl")
    except ImportError as error:
        raise MissingExtra("openpyxl", "excel") from error
    except Exception as error:  # noqa: BLE001 - openpyxl raises anything on a damaged file
        raise BadSetting("source", f"the workbook is damaged ({error})", "Save it again.") from None
    return [table_of_frame(sheet, "excel", str(name)) for name, sheet in sheets.items()]
