"""Export: the kept responses of a crawl as a WARC file (ISO 28500), for other tools and archives.

The file begins with a warcinfo record (who crawled, told what) and a metadata record of the seeds,
which :func:`crawlkit.import_warc` reads back. Then follows one response record for each page whose
answer was kept, in the order of the fetches.

A stored body is decoded. So the headers that describe it as it came over the wire are renamed, as
the crawlers of the web archives do: ``Content-Encoding`` becomes ``X-Crawler-Content-Encoding``,
and so on, and ``Content-Length`` is that of the record. Nothing else of the headers changes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
import uuid
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.crawling.archive import decompress
from crawlkit.crawling.buffer import buffer_to_arrow
from crawlkit.crawling.database import read_only
from crawlkit.crawling.meta import load_meta
from crawlkit.crawling.session import saved_settings
from crawlkit.crawling.settings import check_folder
from crawlkit.crawling.tables import sync_folder
from crawlkit.errors import (
    BadSetting,
    CrawlkitError,
    FolderUnusable,
    MissingExtra,
    StorageFailed,
)
from crawlkit.version import __version__

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    import pyarrow as pa

__all__ = ["RENAMED", "SEEDS_URI", "export_warc", "require_warcio"]

SEEDS_URI = "urn:crawlkit:seeds"
"""Target of the metadata record that lists the seeds, as lines of JSON."""

RENAMED = {
    name: f"X-Crawler-{name.title()}"
    for name in ("content-encoding", "content-length", "transfer-encoding")
}
"""Headers that tell how a body came over the wire, and the names they have in an export."""

_WARC_VERSION = "1.1"  # 1.0 knows no fractions of a second
_ROWS_AT_ONCE = 100
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BREAKS = re.compile(r"[\x00\r\n]+")
_NO_BODY = frozenset((204, 304))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# What the table of pages knows of an answer that was kept; ``seq`` tells which fetch it was.
_COLUMNS = (
    "url", "url_hash", "seq", "fetched_at", "error", "redirected_to", "content_type", "etag",
    "last_modified",
)  # fmt: skip
_RESPONSE = (
    "SELECT responses.status, responses.headers, bodies.codec, bodies.size, bodies.data "
    "FROM urls JOIN responses ON responses.url_id = urls.id "
    "LEFT JOIN bodies ON bodies.hash = responses.body_hash "
    "WHERE urls.hash = ? AND urls.url = ? AND responses.seq = ?"
)
_SEEDS = (
    "SELECT json_object('url', url, 'source', source, 'lastmod', lastmod) FROM urls "
    "WHERE source NOT IN ('link', 'redirect') ORDER BY id"
)


class _Kept(NamedTuple):
    """A response as it is exported; ``fetched_at`` is in microseconds (UTC epoch)."""

    url: str
    fetched_at: int
    status: int
    headers: list[tuple[str, str]]
    body: bytes


def require_warcio() -> None:
    """Raise :class:`MissingExtra` where warcio is not installed."""
    try:
        import warcio  # noqa: F401 - only to see whether it is there
    except ImportError:
        raise MissingExtra("warcio", "warc") from None


def export_warc(folder: str | Path, path: str | Path, *, gzip: bool = True) -> int:
    """Write the kept responses of a crawl into a WARC 1.1 file.

    A crawl may be running in the folder: the file holds what was committed when the export began.
    The folder may be read-only. The file appears under its name only when it is whole and on the
    disk; memory stays the same however large the crawl is.

    Pages without an answer, and answers that broke off, are not in the file, nor is robots.txt.

    Parameters
    ----------
    folder
        The crawl folder.
    path
        The file to write, usually named ``.warc.gz``; one that exists is replaced.
    gzip
        Whether each record is compressed, as archives expect.

    Returns
    -------
    int
        Number of response records. It is 0 where the crawl kept no bodies.

    Raises
    ------
    MissingExtra
        warcio is not installed.
    BadSetting
        The path is a folder, or lies in none.
    FolderUnusable
        There is no crawl in the folder.
    StorageFailed
        The disk refused a write.

    Examples
    --------
    >>> import crawlkit as ck, tempfile
    >>> with ck.lab.serve() as site, tempfile.TemporaryDirectory() as folder:
    ...     crawl = ck.crawl(
    ...         site.url + "shop/", folder + "/a", delay=0, max_pages=9, progress=False
    ...     )
    ...     print(export_warc(folder + "/a", folder + "/shop.warc.gz"))
    9
    """
    require_warcio()
    source = check_folder(folder)
    if not source.exists() or saved_settings(source) is None:
        raise FolderUnusable(f"{source} holds no crawl. Start one with ck.crawl(seeds, folder).")
    target = _check_target(path)
    for _ in range(10):
        # A crawl that ends joins its segments: then look again, from the start.
        with contextlib.suppress(FileNotFoundError):
            return _export(source, target, gzip=gzip)
    try:
        return _export(source, target, gzip=gzip)
    except FileNotFoundError as error:
        raise FolderUnusable(f"a file of the tables in {source} is missing: {error}") from error


def _check_target(path: str | Path) -> Path:
    if not isinstance(path, (str, Path)) or not str(path):
        raise BadSetting("path", f"{path!r} is no path", "Pass the name of the file to write.")
    target = Path(path).expanduser()
    if target.is_dir():
        raise BadSetting("path", f"{target} is a folder", "Pass the name of the file to write.")
    if not target.parent.is_dir():
        raise BadSetting("path", f"there is no folder {target.parent}", "Make it first.")
    return target


def _export(source: Path, target: Path, *, gzip: bool) -> int:
    hidden = target.with_name("." + target.name)
    try:
        with hidden.open("wb") as file, read_only(source) as connection:
            count = _write_records(source, connection, file, target.name, gzip=gzip)
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(target)
        sync_folder(target.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            hidden.unlink()
        if isinstance(error, OSError) and not isinstance(error, (FileNotFoundError, CrawlkitError)):
            raise StorageFailed(
                f"{target} cannot be written: {error}. Free some space, or choose another place."
            ) from error
        raise
    return count


def _write_records(
    source: Path, connection: sqlite3.Connection, file: io.BufferedWriter, name: str, *, gzip: bool
) -> int:
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    writer = WARCWriter(file, gzip=gzip, warc_version=_WARC_VERSION)
    info = writer.create_warcinfo_record(_BREAKS.sub(" ", name), _warcinfo(connection))
    info_id = info.rec_headers.get_header("WARC-Record-ID")
    writer.write_record(info)
    _write_seeds(connection, writer, info_id)
    count = 0
    for kept in _kept_responses(source, connection):
        head = StatusAndHeaders(_status_line(kept.status), _head(kept), protocol="HTTP/1.1")
        # Headers stay as they were received; warcio would escape what is not ASCII.
        head.to_ascii_bytes = head.to_bytes
        record = writer.create_warc_record(
            kept.url,
            "response",
            payload=io.BytesIO(kept.body),
            length=len(kept.body),
            http_headers=head,
            warc_headers_dict={
                "WARC-Record-ID": _record_id(f"{kept.url} {kept.fetched_at}"),
                "WARC-Date": _warc_date(kept.fetched_at),
                "WARC-Warcinfo-ID": info_id,
            },
        )
        writer.write_record(record)
        count += 1
    return count


def _warcinfo(connection: sqlite3.Connection) -> dict[str, str]:
    """Return who crawled and what they were told; the saved settings hold no secret."""
    settings = load_meta(connection, "settings") or {}
    http = settings.get("http") or {}
    agent = str(http.get("user_agent") or "")
    if http.get("contact"):
        agent += f" (+{http['contact']})"
    return {
        "software": f"crawlkit/{__version__}",
        "format": f"WARC File Format {_WARC_VERSION}",
        "conformsTo": "https://iipc.github.io/warc-specifications/specifications/warc-format/"
        "warc-1.1/",
        "robots": "obey" if settings.get("obey_robots", True) else "ignore",
        "http-header-user-agent": _BREAKS.sub(" ", agent),
        "crawlkit-settings": json.dumps(settings),
    }


def _write_seeds(connection: sqlite3.Connection, writer: Any, info_id: str) -> None:
    with tempfile.SpooledTemporaryFile(max_size=1 << 20) as lines:
        for (line,) in connection.execute(_SEEDS):
            lines.write(line.encode("utf-8", "replace") + b"\n")
        length = lines.tell()
        lines.seek(0)
        record = writer.create_warc_record(
            SEEDS_URI,
            "metadata",
            payload=lines,
            length=length,
            warc_content_type="application/x-ndjson",
            warc_headers_dict={"WARC-Warcinfo-ID": info_id},
        )
        writer.write_record(record)


def _record_id(name: str) -> str:
    """Return an id that the same response has in every export."""
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}>"


def _warc_date(microseconds: int) -> str:
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} "


def _head(kept: _Kept) -> list[tuple[str, str]]:
    """Return the headers of a record: as received, but for those that no longer hold."""
    names = {name.lower() for name, _ in kept.headers}
    length = str(len(kept.body))
    decoded = bool(names & {"content-encoding", "transfer-encoding"})
    headers: list[tuple[str, str]] = []
    for name, value in kept.headers:
        lower = name.lower()
        if lower == "content-length" and value == length and not decoded:
            continue  # it is right, and comes last
        if _TOKEN.fullmatch(name):
            headers.append((RENAMED.get(lower, name), _one_line(value)))
    if kept.status not in _NO_BODY:
        headers.append(("Content-Length", length))
    return headers


def _one_line(value: str) -> str:
    """Return a value that cannot end its header line, nor hold what UTF-8 cannot."""
    return _BREAKS.sub(" ", value).strip().encode("utf-8", "replace").decode()


def _kept_responses(source: Path, connection: sqlite3.Connection) -> Iterator[_Kept]:
    """Yield every response that was kept, in the order of the fetches, each once."""
    for row in _page_rows(source, connection):
        found = connection.execute(_RESPONSE, (row["url_hash"], row["url"], row["seq"])).fetchone()
        if found is None:  # not kept, or fetched again later
            continue
        status, text, codec, size, data = found
        headers = [(name, value) for name, value in json.loads(text)] or _known_headers(row)
        moved = any(name.lower() == "location" for name, _ in headers)
        whole = data is not None or row["error"] is None or moved
        if status is not None and whole:
            body = b"" if data is None else decompress(codec, size, data)
            yield _Kept(row["url"], row["fetched_at"], status, headers, body)


def _known_headers(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what the table of pages knows of the headers of an answer without a body."""
    known = {
        "content-type": row["content_type"],
        "location": row["redirected_to"],
        "etag": row["etag"],
        "last-modified": _http_date(row["last_modified"]),
    }
    return [(name, value) for name, value in known.items() if value is not None]


def _http_date(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    from email.utils import format_datetime

    return format_datetime(_EPOCH + timedelta(microseconds=microseconds), usegmt=True)


def _page_rows(source: Path, connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``pages`` as far as an export needs them; times in microseconds.

    The list of segments and the rows that still wait are from one snapshot of the database.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = connection.execute(
        "SELECT name FROM segments WHERE tablename = 'pages' ORDER BY first_seq"
    ).fetchall()
    for (name,) in names:
        with pq.ParquetFile(source / name) as file:
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=list(_COLUMNS)):
                yield from _plain_rows(pa.Table.from_batches([batch]))
    waiting = connection.execute("SELECT CAST(rows AS BLOB) FROM buffer ORDER BY seq")
    while texts := waiting.fetchmany(_ROWS_AT_ONCE):
        pages = buffer_to_arrow([text for (text,) in texts]).get("pages")
        if pages is not None:
            yield from _plain_rows(pages.select(list(_COLUMNS)))


def _plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    import pyarrow as pa

    for column in ("fetched_at", "last_modified"):
        index = table.schema.get_field_index(column)
        table = table.set_column(index, column, table[column].cast(pa.int64()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
