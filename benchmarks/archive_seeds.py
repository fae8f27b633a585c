"""Are the seeds that a real index server gives those that its archive holds? Against pywb.

Writes a WARC of a small site with repeats, dead pages, pictures, redirects, revisits, subdomains
and odd URLs, lets pywb (GPL: only used here, as a program, in a virtual environment of its own)
index and serve it, and asks it with `crawlkit.seeds_from_archive` in several ways. The right rows
are worked out from pywb's own index file, line by line, without crawlkit.

    python benchmarks/archive_seeds.py
    python benchmarks/archive_seeds.py --pages 2000
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from sites import OUT
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

import crawlkit as ck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["CASES", "write_warc"]

PYWB = ("pywb==2.10.*", "setuptools<81")
FOLDER = OUT / "archive_seeds"
DATES = ("2019-03-04T05:06:07Z", "2021-06-07T08:09:10Z", "2024-11-12T13:14:15Z")
Line = dict[str, str]


def write_warc(path: Path, pages: int) -> int:
    """Write the captures of a site; returns how many."""
    count = 0
    with path.open("wb") as sink:
        writer = WARCWriter(sink, gzip=True)
        for number in range(pages):
            for url in urls_of(number):
                for date in DATES[: 1 + number % 3]:
                    status, kind = status_of(number), type_of(number)
                    headers = StatusAndHeaders(
                        status, [("Content-Type", kind)], protocol="HTTP/1.1"
                    )
                    record = writer.create_warc_record(
                        url,
                        "response",
                        payload=BytesIO(b"page %d of %s" % (number, date.encode())),
                        http_headers=headers,
                        warc_headers_dict={"WARC-Date": date},
                    )
                    writer.write_record(record)
                    count += 1
            if number % 11 == 0:  # the page again, unchanged
                record = writer.create_revisit_record(
                    next(urls_of(number)),
                    "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A",
                    next(urls_of(number)),
                    DATES[0],
                    http_headers=StatusAndHeaders("200 OK", [], protocol="HTTP/1.1"),
                    warc_headers_dict={"WARC-Date": "2025-01-01T00:00:00Z"},
                )
                writer.write_record(record)
                count += 1
    return count


def urls_of(number: int) -> Iterator[str]:
    """Return the spellings under which one page was saved."""
    host = ("www.site.example", "site.example", "docs.site.example", "other.example")[number % 4]
    path = ("/a/%d", "/a/%d/", "/A/%d.html", "/caf\u00e9/%d", "/b/%d?y=2&x=1", "/c%%20d/%d")[
        number % 6
    ]
    yield f"http://{host}{path % number}"
    if number % 5 == 0:
        yield f"https://{host}{path % number}"


def status_of(number: int) -> str:
    return ("200 OK", "200 OK", "404 Not Found", "301 Moved", "200 OK", "503 Busy", "200 OK")[
        number % 7
    ]


def type_of(number: int) -> str:
    return ("text/html; charset=utf-8", "text/html", "image/png", "application/pdf")[
        number % 3 + number % 2
    ]


def pywb_programs() -> Path:
    """Return the folder of pywb's programs, making its environment when it is missing."""
    venv = FOLDER / "venv"
    if not (venv / "complete").exists():
        print("making pywb's virtual environment ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        subprocess.run([str(venv / "bin/python"), "-m", "pip", "install", "-q", *PYWB], check=True)
        (venv / "complete").touch()
    return venv / "bin"


def write_paged_index(folder: Path, block: int = 50) -> None:
    """Write pywb's index once more as compressed blocks, which it serves in numbered pages."""
    lines = (folder / "collections/site/indexes/index.cdxj").read_bytes().splitlines(keepends=True)
    paged = folder / "paged"
    paged.mkdir()
    summary = []
    with (paged / "part-0.gz").open("wb") as part:
        for number, start in enumerate(range(0, len(lines), block), 1):
            packed = gzip.compress(b"".join(lines[start : start + block]))
            key = b" ".join(lines[start].split(b" ")[:2]).decode()
            summary.append(f"{key}\tpart-0\t{part.tell()}\t{len(packed)}\t{number}\n")
            part.write(packed)
    (paged / "cluster.idx").write_text("".join(summary))
    (paged / "cluster.loc").write_text("part-0\tpart-0.gz\n")
    index = {"type": "zipnum", "path": str(paged / "cluster.idx"), "max_blocks": 2}
    collection = {"index": index, "archive_paths": str(folder)}
    (folder / "config.yaml").write_text(json.dumps({"collections": {"paged": collection}}))


@contextmanager
def served(programs: Path, folder: Path) -> Iterator[str]:
    """Serve the collection on a free port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (folder / "pywb.log").open("wb") as log:
        command = [str(programs / "wayback"), "-b", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            for _ in range(300):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


def index_lines(folder: Path) -> list[Line]:
    """Read pywb's own index file."""
    lines = []
    for text in (folder / "collections/site/indexes/index.cdxj").read_text().splitlines():
        key, stamp, rest = text.split(" ", 2)
        lines.append({"urlkey": key, "timestamp": stamp, **json.loads(rest)})
    return lines


def of_site(line: Line) -> bool:
    return line["urlkey"].startswith(("example,site)", "example,site,"))


def html(line: Line) -> bool:
    return of_site(line) and line.get("status") == "200" and line["mime"] == "text/html"


def of_host(line: Line) -> bool:
    return html(line) and line["urlkey"].startswith("example,site)")


def alive_or_dead(line: Line) -> bool:
    return of_site(line) and line.get("status") in ("200", "404")


#: Name, options of `seeds_from_archive`, and which lines of the index are wanted.
CASES: list[tuple[str, dict[str, Any], Callable[[Line], bool]]] = [
    ("pages of the domain", {}, html),
    ("small pages of rows", {"page_size": 10}, html),
    ("as text", {"output": "text", "page_size": 10}, html),
    ("anything", {"status": None, "mime": None}, of_site),
    ("two statuses", {"status": (200, 404), "mime": None}, alive_or_dead),
    ("host", {"match": "host"}, of_host),
    ("since 2021", {"since": "2021"}, lambda line: html(line) and line["timestamp"] >= "2021"),
    ("until 2020", {"until": "2020"}, lambda line: html(line) and line["timestamp"] < "2021"),
    ("every capture", {"collapse": None}, html),
]


def right_rows(
    lines: list[Line], options: dict[str, Any], wanted: Callable[[Line], bool]
) -> Counter[tuple[str, str]]:
    """Return (key, time) of the rows that are wanted; of each key the first, unless all are."""
    chosen = sorted((line["urlkey"], line["timestamp"]) for line in lines if wanted(line))
    if options.get("collapse", "urlkey") is None:
        return Counter(chosen)
    first: dict[str, str] = {}
    for key, stamp in chosen:
        first.setdefault(key, stamp)
    return Counter(first.items())


def same_rows(
    name: str, endpoint: str, options: dict[str, Any], right: Counter[tuple[str, str]]
) -> bool:
    """Ask, compare, and print a line."""
    table = ck.seeds_from_archive(
        "site.example", endpoint=endpoint, delay=0.0, progress=False, **options
    )
    stamps = table["captured_at"].dt.strftime("%Y%m%d%H%M%S")
    rows = Counter(zip(table["urlkey"], stamps, strict=True))
    same = rows == right and bool(table.attrs["complete"])
    counts = f"{table.attrs['requests']} requests, {table.attrs['refused_count']} refused"
    print(f"{name}: {len(table):,} rows of {right.total():,}, {counts}: {'PASS' * same or 'FAIL'}")
    if not same:
        print("  missing", sorted(right - rows)[:3], "extra", sorted(rows - right)[:3])
    return same


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1_000)
    given = parser.parse_args()
    programs, folder = pywb_programs(), FOLDER / "archive"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    count = write_warc(folder / "site.warc.gz", given.pages)
    for command in (["init", "site"], ["add", "site", "site.warc.gz"]):
        manager = [str(programs / "wb-manager"), *command]
        subprocess.run(manager, cwd=folder, check=True, capture_output=True)
    lines = index_lines(folder)
    print(f"{count:,} captures written, {len(lines):,} in pywb's index")
    write_paged_index(folder)
    failed = 0
    with served(programs, folder) as server:
        for collection in ("site", "paged"):
            for name, options, wanted in CASES:
                endpoint = f"{server}/{collection}/cdx"
                right = right_rows(lines, options, wanted)
                failed += not same_rows(f"{collection}, {name}", endpoint, options, right)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
