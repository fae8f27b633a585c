"""Sitemaps made to hurt: bounded in time and memory, a row with the reason, siblings go on."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import time
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from hostile_server import CLOSE, RESET, SILENCE, Drip, Forever, HostileServer, Pause, answer
from sitemap_cases import CORE, HEAD, A, B, U, child, dated, entry, index, urlset
from suites import suite_path

import crawlkit as ck
from crawlkit.web import sitemaps
from crawlkit.web.fetch import Fetcher
from crawlkit.web.sitemap_bytes import FILE_BYTES
from crawlkit.web.sitemap_content import FILE_REASONS, MOST_ENTRIES
from crawlkit.web.sitemap_reading import read_content
from crawlkit.web.sitemap_walk import WalkLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pandas as pd

MB = 1_000_000
GOOD = entry(A)


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as running:
        yield running


def read(source: Any, **options: Any) -> pd.DataFrame:
    return ck.read_sitemaps(source, **{"delay": 0, "progress": False, **options})


def xml(body: bytes, *headers: str) -> bytes:
    return answer(body, "Content-Type: application/xml", *headers)


def packed(piece: bytes, times: int, *, start: bytes = b"") -> bytes:
    """Gzip data that is small, and large once it is unpacked."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08" + bytes(7) + start_block(start) + block * times


def start_block(start: bytes) -> bytes:
    """A block of its own in front, so that what follows can be repeated as it is."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)


def many_attributes(count: int) -> str:
    names = " ".join(f'a{number}="1"' for number in range(count))
    return f"<url {names}/>"


HURTFUL: dict[str, tuple[Callable[[], bytes], str | None]] = {
    "300 MB of space": (lambda: packed(b" " * MB, 300), "empty_file"),
    "300 MB of text": (lambda: packed(b"x" * MB, 300), "no_urls"),
    "300 MB of tags": (lambda: packed(b"<a>" * MB, 100, start=b"<urlset><url>"), "too_nested"),
    "a bomb in a bomb": (lambda: gzip.compress(packed(b"\0" * MB, 300)), "empty_file"),
    "20 MB attribute": (lambda: urlset(f'<url x="{"a" * 20 * MB}"/>', GOOD), "token_too_long"),
    "20 MB comment": (lambda: urlset(f"<!--{'a' * 20 * MB}-->", GOOD), "token_too_long"),
    "20 MB loc": (lambda: urlset(entry(U + "a" * 20 * MB), GOOD), "token_too_long"),
    "20 MB attribute of many pieces": (
        lambda: urlset(f'<url x="{"&lt;" * 5 * MB}"/>', GOOD),
        "token_too_long",
    ),
    "20 MB comment of tags": (lambda: urlset(f"<!--{'<a>' * 6 * MB}-->", GOOD), None),
    "500,000 attributes": (lambda: urlset(many_attributes(500_000), GOOD), "token_too_long"),
    "100,000 attributes": (lambda: urlset(many_attributes(100_000), GOOD), "too_many_names"),
    "kinds of tags": (lambda: urlset(*(f"<a{n}/>" for n in range(200_000))), "too_many_names"),
    "a million levels": (lambda: urlset("<a>" * MB), "too_nested"),
    "a million levels in a URL": (lambda: urlset("<url><loc>" + "<a>" * MB), "too_nested"),
    "padding by turns": (lambda: urlset(entry("\u200b " * 100_000 + A)), None),
    "repeated fields": (
        lambda: urlset(f"<url>{dated('x') * 100_000}<loc>{'<a/>' * 100_000}</loc></url>", GOOD),
        None,
    ),
    "endless openings": (lambda: b"PHP " + b"<? <!-- " * 8_000 + urlset(GOOD), None),
    "ampersands": (lambda: urlset(GOOD)[:-9] + b"&" * 3 * MB, "token_too_long"),
}


@pytest.mark.parametrize("name", HURTFUL)
def test_what_hurts_is_refused_in_time(name: str) -> None:
    make, reason = HURTFUL[name]
    data = make()
    begun = time.process_time()
    content = read_content(data)
    assert time.process_time() - begun < 30
    assert content.reason == reason
    assert reason is None or reason in FILE_REASONS
    assert set(content.locs) <= {A}
    if reason is None:
        assert content.locs == [A]


@pytest.mark.parametrize(
    ("name", "locs", "reason"),
    [
        ("simple.xml", 0, "unknown_root"),
        ("xmlbomb.xml", 0, "unknown_root"),
        ("xmlbomb2.xml", 0, "unknown_root"),
        ("quadratic.xml", 0, "unknown_root"),
        ("cyclic.xml", 0, "unknown_root"),
        ("external.xml", 0, "unknown_root"),
        ("external_file.xml", 0, "unknown_root"),
        ("dtd.xml", 0, "html_page"),
    ],
)
def test_public_attacks_are_no_sitemaps(name: str, locs: int, reason: str) -> None:
    content = read_content(suite_path(f"defusedxml-attacks/{name}").read_bytes())
    assert len(content.locs) == locs
    assert content.kind == "not_a_sitemap" or content.reason == "entities_forbidden"


def test_rows_up_to_the_limits_are_there() -> None:
    row = entry(U + "x" * 100).encode()
    start = f'{HEAD}<urlset xmlns="{CORE}">'.encode()
    content = read_content(start + row * (FILE_BYTES // len(row) + 10))
    assert content.reason in ("file_too_large", "too_many_entries")
    assert len(content.locs) == min(MOST_ENTRIES, FILE_BYTES // len(row) - 1) or (
        abs(len(content.locs) - MOST_ENTRIES) < 2
    )
    long = entry(U + "x" * 2_000).encode()
    content = read_content(packed(long * 400, 100, start=start))
    assert content.reason == "file_too_large"
    assert FILE_BYTES // len(long) - 2 <= len(content.locs) <= FILE_BYTES // len(long)
    assert set(content.locs) == {U + "x" * 2_000}
    assert content.size <= FILE_BYTES


def test_time_for_a_file_is_limited() -> None:
    rows = b"".join(entry(f"{U}{n}", "<x/>").encode() for n in range(60_000))
    content = read_content(f'<urlset xmlns="{CORE}">'.encode() + rows, seconds=0)
    assert content.reason == "time_limit"
    assert 0 < len(content.locs) < 60_000


MEMORY = """
import re, sys
from pathlib import Path
import pandas, pyarrow.compute
import crawlkit as ck

def peak():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) / 1024

ck.read_sitemaps(b"https://a.example/", progress=False)
before = peak()
frame = ck.read_sitemaps([Path(name) for name in sys.argv[1:]], progress=False, workers=2)
print(before, peak(), sorted({one["reason"] or "" for one in frame.attrs["files"]}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_memory_is_limited(tmp_path: Path) -> None:
    row = entry(U + "?a=1&amp;b=" + "x" * 60, dated("2024-05-17")).encode()
    start = f'{HEAD}<urlset xmlns="{CORE}">'.encode()
    files = {
        "bomb.xml.gz": packed(row * 10_000, 200, start=start),
        "space.xml.gz": packed(b" " * MB, 300),
        "attribute.xml": urlset(f'<url x="{"a" * 20 * MB}"/>'),
        "broken.xml.gz": packed(row * 5_000, 60, start=start + row.replace(b"&amp;", b"&")),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, *(str(tmp_path / name) for name in files)],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    before, peak = map(float, done.stdout.split()[:2])
    assert peak - before < 300
    assert set(re.findall(r"'(\w*)'", done.stdout)) <= {
        "too_many_entries", "empty_file", "token_too_long", "file_too_large", "time_limit",
        "truncated",
    }  # fmt: skip


# -- servers -------------------------------------------------------------------------------


def test_siblings_of_what_hurts_go_on(server: HostileServer) -> None:
    url = server.url
    server.on("/good.xml", xml(urlset(entry(url("/a")))))
    server.on("/drip.xml", answer(b"", "Content-Length: 1000"), Drip(b"x" * 1000, 0.2))
    server.on("/silent.xml", SILENCE)
    server.on("/reset.xml", RESET)
    server.on("/cut.xml", answer(urlset(GOOD), "Content-Length: 5000"), CLOSE)
    server.on("/bomb.xml", xml(gzip.compress(b" " * 60 * MB), "Content-Encoding: gzip"))
    server.on("/gzip.xml", xml(packed(b" " * MB, 300)))
    server.on("/endless.xml", answer(b"", "Transfer-Encoding: chunked"),
              Forever(b"100\r\n" + b"x" * 256 + b"\r\n"))  # fmt: skip
    server.on("/dtd.xml", xml(b'<!DOCTYPE x [<!ENTITY a "b">]><urlset/>'))
    server.on("/html.xml", answer(b"<html><title>404</title></html>"))
    server.on("/loop.xml", answer(b"", f"Location: {url('/loop.xml')}", status="302 Found"))
    names = ["drip", "silent", "reset", "cut", "bomb", "gzip", "dtd", "html", "loop", "good"]
    server.on("/index.xml", xml(index(*(child(url(f"/{name}.xml")) for name in names))))
    begun = time.monotonic()
    frame = read(url("/index.xml"), seconds_per_file=2, workers=4, http=ck.Http(retries=0))
    assert time.monotonic() - begun < 30
    assert set(frame["loc"].dropna()) == {A, url("/a")}  # A was whole when its file was cut
    gone = frame[frame["loc"].isna()]
    reasons = {
        name.rpartition("/")[2].partition(".")[0]: codes.split()[0]
        for name, codes in gone[["sitemap", "issues"]].to_numpy().tolist()
    }
    assert reasons == {
        "drip": "timeout",
        "silent": "timeout",
        "reset": "connection_reset",
        "cut": "truncated",
        "bomb": "compression_bomb",
        "gzip": "empty_file",
        "dtd": "entities_forbidden",
        "html": "soft_404",
        "loop": "redirect_loop",
    }


def test_a_file_that_breaks_off_on_the_way_keeps_what_was_whole(server: HostileServer) -> None:
    data = urlset(entry(A), entry(B), entry(U + "cut"))
    start = data[: data.index(b"cut")]
    packed_up = gzip.compress(data)
    text = f"{A}\n{B}\n{U}cu".encode()
    much = "Content-Length: 99999"
    for name, steps in {
        "length": (answer(start, much), CLOSE),
        "reset": (answer(start, much), Pause(0.3), RESET),
        "late": (answer(start, much), SILENCE),
        "chunks": (answer(b"", "Transfer-Encoding: chunked") + b"fff\r\n" + start, CLOSE),
        "text": (answer(text, "Content-Type: text/plain", much), CLOSE),
        "coded": (answer(packed_up[:-9], "Content-Encoding: gzip", much), CLOSE),
        "missing": (answer(start, much, status="404 Not Found"), CLOSE),
    }.items():
        url = server.on(f"/{name}.xml", *steps)
        frame = read(url, http=ck.Http(retries=0), seconds_per_file=1)
        found, (record,) = frame["loc"].dropna().tolist(), frame.attrs["files"]
        whole = {"missing": set(), "coded": {A, B, U + "cut"}}.get(name, {A, B})
        assert set(found) == whole, name
        expected = {"reset": "connection_reset", "late": "timeout"}.get(name, "truncated")
        assert record["reason"] == frame["issues"].iloc[-1].split()[0] == expected
        assert record["entries"] == len(found)


def test_half_a_url_at_the_end_of_a_text_is_none() -> None:
    lines = "\n".join(f"{U}{number}" for number in range(2_000))
    content = read_content(gzip.compress(lines.encode())[:-400])
    assert content.reason == "truncated"
    assert 100 < len(content.locs) < 2_000
    assert content.locs == lines.split("\n")[: len(content.locs)]
    assert content.skipped == 1
    content = read_content(f"{A}\n{B}".encode(), limit=len(A) + 9)
    assert (content.locs, content.reason) == ([A], "file_too_large")
    assert read_content(f"{A}\n{B}\n".encode(), whole=False).locs == [A, B]


def test_a_body_beyond_the_limit_gives_its_first_part(server: HostileServer) -> None:
    start = f'<urlset xmlns="{CORE}">{entry(A)}{entry(B)}'.encode()
    url = server.on(
        "/s.xml", answer(start, "Content-Length: 99999999999"), Forever(b"<x>" + b" " * 65_000)
    )
    frame = read(url, seconds_per_file=30)
    files = frame.attrs["files"]
    assert files[0]["wire_bytes"] <= FILE_BYTES
    if files[0]["reason"] != "timeout":  # a very busy machine
        assert frame["loc"].dropna().tolist() == [A, B]
        assert frame["issues"].dropna().tolist()[-1].startswith("too_nested")


def test_endless_indexes_end(server: HostileServer) -> None:
    for depth in range(12):
        children = [child(server.url(f"/{depth + 1}.xml?{n}")) for n in range(3)]
        for n in ("", "?0", "?1", "?2"):
            server.on(f"/{depth}.xml{n}", xml(index(*children)))
    frame = read(server.url("/0.xml"), max_depth=3, max_files=50)
    assert len(server.seen) == 10  # each is known by its URL, whoever lists it
    assert frame["issues"].tolist() == ["max_depth"]
    frame = read(server.url("/0.xml"), max_depth=100, max_files=8)
    assert frame["issues"].tolist() == ["max_files"]


def test_an_index_of_100_000_files_is_read_as_far_as_told(server: HostileServer) -> None:
    children = [child(server.url(f"/c{n}.xml"), "2024-05-17") for n in range(100_000)]
    server.on("/index.xml", xml(index(*children)))
    server.on("/c0.xml", xml(urlset(entry(server.url("/a")))))
    frame = read(server.url("/index.xml"), max_files=5, http=ck.Http(retries=0))
    assert frame["loc"].dropna().tolist() == [server.url("/a")]
    assert sorted(frame["issues"].dropna()) == ["http_404"] * 3 + ["max_files"]
    assert frame.attrs["unread"] == {"max_files": 99_996}
    assert "too_many_urls" in frame.attrs["files"][0]["issues"]


def test_redirects_off_the_site_are_followed_and_told(server: HostileServer) -> None:
    with HostileServer(host="::1") as other:
        other.on("/s.xml", xml(urlset(entry(other.url("/a")), entry(server.url("/b")))))
        url = server.on("/s.xml", answer(b"", f"Location: {other.url('/s.xml')}", status="302 X"))
        frame = read(url)
        record = frame.attrs["files"][0]
        assert record["final_url"] == other.url("/s.xml")
        assert record["issues"] == ("redirected_off_site",)
        assert frame["scope"].tolist() == ["ok", "ok"]


def test_private_addresses_are_not_reached_from_the_public_web(server: HostileServer) -> None:
    """127.0.0.1 stands for the public site here, 127.0.0.2 for a neighbor of the reader."""
    neighbor = f"http://127.0.0.2:{server.port}"
    server.on("/secret.xml", xml(urlset(GOOD)))
    server.on("/moved.xml", answer(b"", f"Location: {neighbor}/secret.xml", status="302 Found"))
    listed = [child(f"{neighbor}/secret.xml"), child(server.url("/moved.xml"))]
    server.on("/index.xml", xml(index(*listed)))
    server.on("/robots.txt", answer(f"Sitemap: {neighbor}/secret.xml".encode()))
    limits = WalkLimits(10, 5, 1, 10.0)
    with Fetcher(allow_private=lambda host: host.startswith("127.0.0.1")) as fetcher:
        for source in (server.url("/index.xml"), server.url("/")):
            frame = sitemaps._read([source], fetcher, limits, 0.0, progress=False)
            assert frame["loc"].isna().all()
            assert {codes.split()[0] for codes in frame["issues"]} == {"private_address"}
    assert server.asked("/secret.xml") == []


def test_bytes_lead_to_no_private_address(server: HostileServer) -> None:
    server.on("/s.xml", xml(urlset(GOOD)))
    frame = read(index(child(server.url("/s.xml")), child("file:///etc/passwd")))
    assert frame["issues"].tolist() == ["private_address"]
    assert frame.attrs["files"][0]["issues"] == ("child_not_http",)
    assert server.seen == []
