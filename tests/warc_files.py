"""WARC and ARC files made by hand, byte for byte, and imports of them, for tests."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pandas as pd
from warcio.archiveiterator import ArchiveIterator

from crawlkit.crawling.database import open_for_writing, transaction
from crawlkit.crawling.warc_import import import_warc
from crawlkit.crawling.warc_reader import PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import crawlkit as ck

BASE = "http://a.example/"
TABLES = ("pages", "links", "fetches", "urls", "records")
Headers = Sequence[tuple[str, str]]
HTML = (("Content-Type", "text/html; charset=utf-8"),)
DATE = "2026-05-01T10:00:00Z"


def page(title: str, *hrefs: str, text: str = "Some words.") -> bytes:
    links = "".join(f'<a href="{href}">{href}</a>' for href in hrefs)
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title></head>"
        f"<body><main><p>{text}</p>{links}</main></body></html>"
    ).encode()


def http(
    body: bytes = b"", status: str = "200 OK", headers: Headers = HTML, version: str = "HTTP/1.1"
) -> bytes:
    """An answer as it goes over the wire; no length is added."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"{version} {status}\r\n{lines}\r\n".encode() + body


BODY = page("Coded", "next", text="word " * 300)


def chunks(data: bytes, size: int = 100, end: bytes = b"0\r\n\r\n") -> bytes:
    parts = (data[start : start + size] for start in range(0, len(data), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + end


def coded(*pairs: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return (*HTML, *pairs)


GZIP, CHUNKED = ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")


def record(
    url: str | None,
    block: bytes,
    kind: str = "response",
    *,
    date: str | None = DATE,
    more: Headers = (),
    length: int | str | None = None,
    version: str = "WARC/1.0",
) -> bytes:
    """One record with the blank lines behind it; ``length`` may lie."""
    headers = [("WARC-Type", kind), ("WARC-Record-ID", f"<urn:test:{hash((url, block))}>")]
    if url is not None:
        headers.append(("WARC-Target-URI", url))
    if date is not None:
        headers.append(("WARC-Date", date))
    if not any(name == "Content-Type" for name, _ in more):
        headers.append(("Content-Type", "application/http; msgtype=response"))
    headers += more
    headers.append(("Content-Length", str(len(block) if length is None else length)))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"{version}\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"


def digest(payload: bytes) -> str:
    return f"sha256:{hashlib.sha256(payload).hexdigest()}"


def revisit(url: str, payload: bytes, *, refers_to: str, headers: Headers = HTML) -> bytes:
    return record(
        url,
        http(headers=headers),
        "revisit",
        more=(
            ("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"),
            ("WARC-Refers-To-Target-URI", refers_to),
            ("WARC-Payload-Digest", digest(payload)),
        ),
    )


def members(records: Iterable[bytes]) -> bytes:
    """Each record as a gzip member of its own."""
    return b"".join(gzip.compress(each, mtime=0) for each in records)


def write(path: Path, records: Iterable[bytes], *, how: str = "plain") -> Path:
    """Write a file: ``plain``, by ``members``, or as one ``whole`` gzip member."""
    listed = list(records)
    if how == "members":
        data = members(listed)
    else:
        data = b"".join(listed)
        if how == "whole":
            data = gzip.compress(data, mtime=0)
    path.write_bytes(data)
    return path


def small_site(count: int = 6, base: str = "http://a.example/") -> list[bytes]:
    """A first page that links to ``count`` pages, all of them there."""
    names = [f"p{number}" for number in range(count)]
    return [
        record(base, http(page("Start", *names))),
        *(record(base + name, http(page(f"Page {name}", "./", "missing"))) for name in names),
    ]


def arc(records: Iterable[tuple[str, bytes]], *, ending: bytes = b"\n") -> bytes:
    """An ARC file of version 1."""
    head = b"1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
    first = b"filedesc://test.arc 0.0.0.0 20050614070144 text/plain %d\n" % (len(head) + 1)
    data = first + head + b"\n" + ending
    for url, block in records:
        data += f"{url} 192.0.2.1 20050614070150 text/html {len(block)}\n".encode()
        data += block + ending
    return data


def take(path: Path | list[Path], folder: Path, **options: Any) -> ck.Crawl:
    return import_warc(path, folder, progress=False, **options)


def take_records(tmp_path: Path, records: Iterable[bytes], **options: Any) -> ck.Crawl:
    write(tmp_path / "made.warc", records)
    return take(tmp_path / "made.warc", tmp_path / "crawl", **options)


def problems_of(crawl: ck.Crawl) -> list[str]:
    return [kind for kind in crawl.events["kind"] if kind in PROBLEMS]


def row(crawl: ck.Crawl, url: str) -> Mapping[str, Any]:
    found: dict[str, Any] = crawl.pages.set_index("url").loc[url].to_dict()
    return found


def same_tables(one: ck.Crawl, two: ck.Crawl, tables: Iterable[str] = TABLES) -> None:
    for name in tables:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(two, name), obj=name)


def plant(folder: Path, headers: list[list[str]] | None = None, **options: Any) -> None:
    """Put a crawl of one page into a folder, with such headers if any are given."""
    block = http(b"<p>x</p>")
    path = write(folder.with_suffix(".warc"), [record(BASE, block, **options)])
    import_warc(path, folder, progress=False)
    path.unlink()
    if headers is not None:
        with closing(open_for_writing(folder)) as connection, transaction(connection):
            connection.execute("UPDATE responses SET headers = ?", (json.dumps(headers),))


def check(path: Path) -> None:
    """Let warcio's own checker look at every digest."""
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "digest pass" in done.stdout
    assert "fail" not in done.stdout.lower()
    assert not done.stderr


def records_of(path: Path) -> list[tuple[Any, bytes]]:
    with path.open("rb") as file:
        return [(each, each.content_stream().read()) for each in ArchiveIterator(file)]


def responses_of(path: Path) -> dict[str, tuple[Any, bytes]]:
    return {
        record.rec_headers.get_header("WARC-Target-URI"): (record, body)
        for record, body in records_of(path)
        if record.rec_type == "response"
    }
