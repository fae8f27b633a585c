"""Files that other tools write: JSON, JSON lines, CSV and XML as rows, as far as they can be read.

A tool that was killed leaves a last line that breaks off, or a list that never ends. What stands
before is taken; what is lost is a problem with a reason, never an exception.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.web.source_text import decoded_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Problem = Callable[[str, int | None, object], None]
    Row = tuple[int, dict[str, Any]]

__all__ = ["csv_rows", "file_text", "json_lines", "json_rows", "xml_rows"]

_MOST_BYTES = 2_000_000_000
_LONGEST_CELL = 100_000_000
_GZIP = b"\x1f\x8b"


def file_text(path: str | Path, problem: Problem, *, argument: str = "path") -> str:
    """Return the text of a file, in whatever encoding, also compressed by gzip.

    Raises
    ------
    BadSetting
        There is no such file, or it is larger than 2 GB unpacked.
    """
    try:
        file = Path(path).expanduser()
        data = file.read_bytes()
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        why = f"{str(path)!r} cannot be read ({type(error).__name__})"
        raise BadSetting(argument, why, "Pass the path of a file that is there.") from None
    if data.startswith(_GZIP):
        data = _unpacked(data, problem)
    if len(data) > _MOST_BYTES:
        raise BadSetting(argument, "it is larger than 2 GB", "Split the file.")
    return decoded_text(data)[0]


def _unpacked(data: bytes, problem: Problem) -> bytes:
    kept = bytearray()
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            while len(kept) <= _MOST_BYTES and (piece := stream.read(1 << 20)):
                kept += piece
    except (OSError, EOFError, zlib.error) as error:
        problem("truncated", None, error)
    return bytes(kept)


def json_lines(text: str, problem: Problem) -> Iterator[Row]:
    r"""Yield the objects of JSON lines, with their line numbers.

    Examples
    --------
    >>> told = []
    >>> list(json_lines('{"url": "a"}\n{"url": "b', lambda *each: told.append(each[:2])))
    [(1, {'url': 'a'})]
    >>> told
    [('truncated', 2)]
    """
    lines = text.split("\n")
    last = max((number for number, line in enumerate(lines, 1) if line.strip()), default=0)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line, strict=False)
        except (ValueError, RecursionError):
            problem("truncated" if number == last else "bad_line", number, line)
            continue
        if isinstance(item, dict):
            yield number, item
        else:
            problem("no_object", number, line)


def json_rows(text: str, problem: Problem) -> Iterator[Row]:
    """Yield the objects of a JSON list, up to where it breaks off.

    Examples
    --------
    >>> [row for _, row in json_rows('[{"url": "a"},{"url": "b"}', lambda *each: None)]
    [{'url': 'a'}, {'url': 'b'}]
    """
    decoder = json.JSONDecoder(strict=False)
    at = text.find("[") + 1
    number = 0
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text) or text[at] == "]":
            break
        number += 1
        try:
            item, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            problem("truncated", number, text[at : at + 200])
            return
        if isinstance(item, dict):
            yield number, item
        else:
            problem("no_object", number, item)
    if at >= len(text):
        problem("truncated", number, "the list does not end")


def csv_rows(text: str, problem: Problem) -> Iterator[Row]:
    r"""Yield the rows of a CSV file by the names in its first row; a cell without text is None.

    Examples
    --------
    >>> list(csv_rows('url;title\na;"One; two"\n', lambda *each: None))
    [(2, {'url': 'a', 'title': 'One; two'})]
    """
    head = text[: text.find("\n") + 1] or text
    separator = max(",;\t", key=head.count)
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        cells = list(_cells(text.replace("\0", ""), separator, problem))
    finally:
        csv.field_size_limit(before)
    if not cells:
        return
    names = [name.strip().lstrip("\ufeff") for name in cells[0][1]]
    for number, row in cells[1:]:
        if len(row) < len(names):
            problem("short_row", number, separator.join(row))
        yield number, {name: cell or None for name, cell in zip(names, row, strict=False)}


def _cells(text: str, separator: str, problem: Problem) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem("bad_line", reader.line_num, error)
            continue
        if any(cell.strip() for cell in row):
            yield reader.line_num, row


def xml_rows(text: str, problem: Problem) -> Iterator[Row]:
    """Yield the items of an XML feed, fields by name; a list of values is a list.

    Examples
    --------
    >>> list(xml_rows("<items><item><url>a</url></item></items>", lambda *each: None))
    [(1, {'url': 'a'})]
    """
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    depth = number = 0
    # The text is decoded; its own declaration may name another encoding.
    data = text.encode("utf-8", "replace")
    if text.lstrip().startswith("<?xml"):
        data = text[text.find("?>") + 2 :].encode("utf-8", "replace")
    try:
        for event, element in iterparse(io.BytesIO(data), events=("start", "end")):
            depth += 1 if event == "start" else -1
            if event == "end" and depth == 1:
                number += 1
                yield number, {child.tag: _xml_value(child) for child in element}
                element.clear()
    except DefusedXmlException as error:
        problem("xml_entities", number + 1, error)
    except ParseError as error:
        problem("truncated", number + 1, error)


def _xml_value(element: Any) -> str | list[str | None] | None:
    if len(element):
        return [child.text for child in element]
    text: str | None = element.text
    return text
