"""What a web archive's index (a CDX server) answers, in every form in use, as captures.

The index of a web archive lists captures: which URL was saved when, with which status and type.
Its servers write it in four ways, and this module tells them apart by what is there, never by what
was asked for: JSON arrays with or without a row of names, one JSON object a line, plain lines of
fields, and lines of two fields and a JSON object (CDXJ). Nothing here raises for anything that a
server sends, and a row that is cut off is never taken for a whole one.
"""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Capture", "IndexAnswer", "read_answer"]

_DEFAULT_NAMES = ("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length")
_HEADS = frozenset({"urlkey", "timestamp", "original", "url"})  # in a row of names, never values
_TIMESTAMP = re.compile(r"[0-9]{4,17}")
_SHOWN = 300
_MOST_BAD = 1_000


class Capture(NamedTuple):
    """One saved answer of a URL.

    Attributes
    ----------
    urlkey
        The archive's own sort key of the URL (SURT); the URL itself where it names none.
    timestamp
        When it was saved: 4 to 14 digits, UTC.
    url
        The URL as it was asked for.
    mime, status
        The type and status as the archive has them; None where it has none.
    """

    urlkey: str
    timestamp: str
    url: str
    mime: str | None
    status: str | None


class IndexAnswer:
    """One answer of an index.

    Attributes
    ----------
    captures
        The rows, in their order.
    bad_rows
        What else stood where rows stand, cut to 300 characters each.
    resume_key
        Where the rest begins, decoded; None at the end, or where the server has no such keys.
    form
        ``"array"``, ``"objects"`` (one a line), ``"cdxj"``, ``"fields"``; None without rows.
    names
        ``"wayback"`` (`original`, `statuscode`), ``"pywb"`` (`url`, `status`) or None: by which
        names the server calls its fields.
    cut
        Whether the answer ends in the middle of a row.
    pages
        The number of pages, if that is what was answered.
    message
        What the server says in place of rows.
    recognized
        Whether this is an index's answer at all; an empty one is.
    """

    __slots__ = (
        "bad_rows",
        "captures",
        "cut",
        "form",
        "message",
        "names",
        "pages",
        "recognized",
        "resume_key",
    )

    def __init__(self) -> None:
        self.captures: list[Capture] = []
        self.bad_rows: list[str] = []
        self.resume_key: str | None = None
        self.form: str | None = None
        self.names: str | None = None
        self.cut = False
        self.pages: int | None = None
        self.message: str | None = None
        self.recognized = True

    def _add(self, row: Mapping[str, Any], shown: object) -> None:
        if self.names is None:
            self.names = "pywb" if "url" in row else "wayback" if "original" in row else None
        url, timestamp = row.get("original", row.get("url")), row.get("timestamp")
        good = isinstance(url, str) and url and _TIMESTAMP.fullmatch(str(timestamp))
        if not good:
            self._bad(shown)
            return
        self.captures.append(
            Capture(
                _text(row.get("urlkey")) or str(url),
                str(timestamp),
                str(url),
                _text(row.get("mimetype", row.get("mime"))),
                _text(row.get("statuscode", row.get("status"))),
            )
        )

    def _bad(self, shown: object) -> None:
        if len(self.bad_rows) < _MOST_BAD:
            self.bad_rows.append(str(shown)[:_SHOWN])


def read_answer(body: bytes, *, whole: bool = True) -> IndexAnswer:
    r"""Read what an index answered.

    Parameters
    ----------
    body
        The body of the answer.
    whole
        Whether it is known to be complete; if not, a last line without an end is left out.

    Returns
    -------
    IndexAnswer
        Rows, and where to go on.

    Examples
    --------
    >>> answer = read_answer(b'''[["urlkey","timestamp","original"],
    ... ["com,example)/", "20200102030405", "http://example.com/"],
    ... [], ["com%2Cexample%29%2Fa+2020"]]''')
    >>> answer.captures[0].url, answer.resume_key, answer.names
    ('http://example.com/', 'com,example)/a 2020', 'wayback')
    >>> read_answer(b"com,example)/ 2020 http://example.com/ text/html 200 -").captures[0].mime
    'text/html'
    >>> read_answer(b"<html>Sorry</html>").recognized
    False
    """
    answer = IndexAnswer()
    start = body[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if not start:
        answer.recognized = not body.strip(b"\xef\xbb\xbf \t\r\n")
    elif body.strip().isdigit() and len(body) < 24:
        answer.pages = int(body)
    elif start == b"[":
        answer.form = "array"
        _read_array(body.decode("utf-8", "replace").lstrip("\ufeff"), answer)
    elif start == b"<":
        answer.recognized = False
    else:
        _read_lines(body, answer, whole=whole)
    if answer.bad_rows and not answer.captures and answer.resume_key is None:
        answer.recognized = False
    return answer


def _read_array(text: str, answer: IndexAnswer) -> None:
    """Read ``[[names], [values], ..., [], [resume key]]``, or what there is of it."""
    try:
        rows = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        rows = _rows_before_the_cut(text)
        answer.cut = True
        answer.recognized = bool(rows)
    if len(rows) > 1 and rows[-2] == [] and isinstance(rows[-1], list) and len(rows[-1]) == 1:
        answer.resume_key = unquote_plus(str(rows[-1][0])) or None
        rows = rows[:-2]
    names: Sequence[str] = _DEFAULT_NAMES
    for number, row in enumerate(rows):
        if isinstance(row, dict):
            answer._add(row, row)
        elif not isinstance(row, list):
            answer._bad(row)
        elif number == 0 and any(name in _HEADS for name in row if isinstance(name, str)):
            names = [str(name) for name in row]
            answer.names = "pywb" if "url" in names else "wayback"
        elif number == 0 and row in (["numpages"], ["pages"]):
            names = ("pages",)
        elif names == ("pages",):
            answer.pages = int(row[0]) if row and str(row[0]).isdigit() else None
        elif row:
            answer._add(dict(zip(names, row, strict=False)), row)


def _rows_before_the_cut(text: str) -> list[Any]:
    """Return the whole rows at the beginning of an array that does not end."""
    decoder = json.JSONDecoder(strict=False)
    rows: list[Any] = []
    at = text.index("[") + 1
    skipped = re.compile(r"[\s,]*")
    while True:
        match = skipped.match(text, at)
        at = match.end() if match else at
        try:
            row, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return rows
        rows.append(row)


def _read_lines(body: bytes, answer: IndexAnswer, *, whole: bool) -> None:
    """Read one JSON object, CDXJ row or row of fields a line."""
    blank = False
    for raw in _whole_lines(body, answer, whole=whole):
        line = raw.decode("utf-8", "replace").strip("\ufeff \t\r\n")
        if not line:
            blank = True
            continue
        if line.startswith("{"):
            _read_object(line, answer)
        elif blank and _is_resume_key(line, answer):
            answer.resume_key = unquote_plus(line)
        elif not line.startswith("CDX "):  # the legend of a CDX file
            _read_fields(line, answer)
        blank = False


def _is_resume_key(line: str, answer: IndexAnswer) -> bool:
    """Say whether a line after a blank one is a key; one without rows before it looks like one."""
    return line.count(" ") < 2 and (bool(answer.captures) or ")" in unquote_plus(line))


def _whole_lines(body: bytes, answer: IndexAnswer, *, whole: bool) -> Iterable[bytes]:
    for line in io.BytesIO(body):
        if not whole and not line.endswith(b"\n"):
            answer.cut = True
            return
        yield line


def _read_object(line: str, answer: IndexAnswer) -> None:
    try:
        row = json.loads(line, strict=False)
    except (ValueError, RecursionError):
        answer._bad(line)
        return
    if not isinstance(row, dict):
        answer._bad(line)
    elif isinstance(row.get("pages"), int) and "timestamp" not in row:
        answer.pages = row["pages"]
    elif "timestamp" not in row and ("message" in row or "error" in row):
        answer.message = str(row.get("message", row.get("error")))[:_SHOWN]
    else:
        answer.form = "objects"
        answer._add(row, line)


def _read_fields(line: str, answer: IndexAnswer) -> None:
    parts = line.split(" ", 2)
    if len(parts) == 3 and parts[2].startswith("{"):  # CDXJ
        try:
            row = json.loads(parts[2], strict=False)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            answer.form = "cdxj"
            answer._add(row | {"urlkey": parts[0], "timestamp": parts[1]}, line)
        else:
            answer._bad(line)
        return
    fields = line.split()
    if len(fields) < 5:
        answer._bad(line)
        return
    # Plain lines name no fields: what they hold says nothing on how the server calls them.
    names = answer.names
    answer.form = "fields"
    answer._add(dict(zip(_DEFAULT_NAMES, fields, strict=False)), line)
    answer.names = names


def _text(value: object) -> str | None:
    text = "" if value is None else str(value).strip()
    return text if text not in ("", "-") else None
