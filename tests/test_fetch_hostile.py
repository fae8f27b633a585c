"""Broken and hostile answers, each over a real socket: a bound and a reason for every one.

The cases of one answer are in `hostile_answers`.
"""

from __future__ import annotations

import gzip
import socket
import time
import zlib
from typing import TYPE_CHECKING

import pytest
from hostile_answers import BROKEN, ODD, PAGE, Broken, Odd
from hostile_server import CLOSE, Drip, Forever, HostileServer, Step, answer, chunked

from crawlkit.web.fetch import FLAGS, REASONS, RETRYABLE, Fetcher, Http
from crawlkit.web.url_addresses import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 0.6
BOMB = gzip.compress(b"\0" * 4_000_000)


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as running:
        yield running


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    with Fetcher(Http(timeout=SECONDS), body_limit=200_000) as made:
        yield made


def name(case: Broken | Odd) -> str:
    return f"{case.number:02}-{case.name}"


@pytest.mark.parametrize("case", BROKEN, ids=name)
def test_a_broken_answer_becomes_its_reason_in_time(
    server: HostileServer, fetcher: Fetcher, case: Broken
) -> None:
    url = server.on("/", *case.steps)
    begun = time.monotonic()

    response = fetcher.fetch(url)

    assert time.monotonic() - begun < SECONDS + 1
    assert response.error == case.error, response.detail
    assert response.error in REASONS
    assert set(response.flags) <= set(FLAGS)
    kept = "raw_body" in response.flags
    assert kept == (case.error in {"undecodable", "encoding_not_offered"})
    assert bool(response.body) == kept
    assert len(server.seen) == 1, "a failed request is not repeated by the fetcher"


@pytest.mark.parametrize("case", BROKEN[::4], ids=name)
def test_the_next_request_after_a_broken_answer_is_whole(
    server: HostileServer, fetcher: Fetcher, case: Broken
) -> None:
    assert fetcher.fetch(server.on("/", *case.steps)).error == case.error
    assert fetcher.fetch(server.on("/next", answer(PAGE))).body == PAGE


#: After these, nobody knows what may still come over the connection.
UNSAFE = {"extra_bytes", "body_ignored", "length_and_chunked", "length_unknown"}


@pytest.mark.parametrize("case", ODD, ids=name)
def test_an_odd_answer_is_read_and_flagged(
    server: HostileServer, fetcher: Fetcher, case: Odd
) -> None:
    response = fetcher.fetch(server.on("/", *case.steps))

    assert response.error is None, response.detail
    assert set(response.flags) == case.flags <= set(FLAGS)
    assert response.body == (PAGE if case.body is None else case.body)
    # Whatever was odd, it must not be taken for the answer to the next request.
    assert fetcher.fetch(server.on("/next", answer(b"next"))).body == b"next"
    assert server.connections == (2 if case.flags & UNSAFE or CLOSE in case.steps else 1)


@pytest.mark.parametrize("line", ["Content-Length: 4", "Transfer-Encoding: chunked"])
def test_a_body_announced_where_none_belongs_may_still_come(
    server: HostileServer, fetcher: Fetcher, line: str
) -> None:
    assert fetcher.fetch(server.on("/", answer(b"", line, status="204 None"))).error is None
    fetcher.fetch(server.url("/next"))
    assert server.connections == 2


def test_a_page_that_grows_absurdly_is_a_bomb_below_the_limit(server: HostileServer) -> None:
    with Fetcher(body_limit=10_485_760) as fetcher:
        response = fetcher.fetch(server.on("/", answer(BOMB, "Content-Encoding: gzip")))
    assert (response.error, response.body) == ("compression_bomb", b"")
    assert response.wire_bytes == len(BOMB)


def test_many_tiny_gzip_members_do_not_take_quadratic_time(server: HostileServer) -> None:
    body = gzip.compress(b"") * 40_000
    with Fetcher() as fetcher:
        begun = time.process_time()
        response = fetcher.fetch(server.on("/", answer(body, "Content-Encoding: gzip")))
    assert time.process_time() - begun < 1
    assert response.flags == ("trailing_bytes",)


def test_headers_stay_readable_around_what_is_no_header(
    server: HostileServer, fetcher: Fetcher
) -> None:
    lines = ("junk", "X-One: a\0b\x1b[31m", "X-Two: caf\xe9", "X-Three: a\r\n\tb", "X-Four : d")
    headers = fetcher.fetch(server.on("/", answer(PAGE, *lines))).headers
    assert [headers[f"x-{number}"] for number in ("one", "two", "three", "four")] == [
        "ab[31m",
        "caf\xe9",
        "a b",
        "d",
    ]
    assert headers["Content-Length"] == str(len(PAGE)), "fields after the junk still count"


def test_of_two_content_types_the_last_valid_one_counts(
    server: HostileServer, fetcher: Fetcher
) -> None:
    lines = (
        "Content-Type: text/plain",
        "Content-Type: text/html; charset=utf-8",
        "Content-Type: x",
    )
    response = fetcher.fetch(server.on("/", answer(PAGE, *lines)))
    assert response.content_type == "text/html; charset=utf-8"
    assert len(response.headers.get_all("Content-Type")) == 3


def test_a_truncated_page_keeps_its_status_headers_and_size_on_the_wire(
    server: HostileServer, fetcher: Fetcher
) -> None:
    response = fetcher.fetch(server.on("/", answer(PAGE, "Content-Length: 99999"), CLOSE))
    assert (response.status, response.error) == (200, "truncated")
    assert response.wire_bytes == len(PAGE)
    assert response.headers["content-length"] == "99999"


START = b"<p>" + bytes(range(32, 127)) * 40
SMALLER = gzip.compress(START)
BROKEN_OFF: dict[str, tuple[tuple[Step, ...], str]] = {
    "length": ((answer(START, "Content-Length: 99999"), CLOSE), "truncated"),
    "late": ((answer(START, "Content-Length: 99999"), Drip(b"", 9), Forever(b"", 1)), "timeout"),
    "chunk": (
        (answer(b"", "Transfer-Encoding: chunked") + b"ffff\r\n" + START, CLOSE), "truncated",
    ),
    "bad_chunk": (
        (answer(b"", "Transfer-Encoding: chunked") + b"%x\r\n%s\r\nxyz\r\n" % (len(START), START),),
        "bad_chunk",
    ),
    "gzip": ((answer(SMALLER[:-8], "Content-Encoding: gzip"),), "truncated"),
    "gzip_cut": (
        (answer(SMALLER[:-8], "Content-Encoding: gzip", "Content-Length: 99999"), CLOSE),
        "truncated",
    ),
    "deflate": ((answer(zlib.compress(START)[:-4], "Content-Encoding: deflate"),), "truncated"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_OFF)
def test_who_asks_for_it_gets_the_start_of_a_body_that_broke_off(
    server: HostileServer, fetcher: Fetcher, case: str
) -> None:
    steps, error = BROKEN_OFF[case]
    url = server.on("/", *steps)
    response = fetcher.fetch(url, keep_start=True)
    assert (response.error, response.body) == (error, START)
    response = fetcher.fetch(url)
    assert (response.error, response.body) == (error, b"")


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "gzip"])
def test_a_start_that_cannot_be_decoded_is_not_kept(
    server: HostileServer, fetcher: Fetcher, coding: str
) -> None:
    lines = (f"Content-Encoding: {coding}", "Content-Length: 99999")
    response = fetcher.fetch(server.on("/", answer(PAGE, *lines), CLOSE), keep_start=True)
    assert (response.error, response.body) == ("truncated", b"")


def test_the_start_of_a_compressed_body_has_bounds(server: HostileServer) -> None:
    lines = ("Content-Encoding: gzip", "Content-Length: 99999")
    with Fetcher(Http(timeout=SECONDS), body_limit=200_000) as fetcher:
        response = fetcher.fetch(server.on("/", answer(BOMB, *lines), CLOSE), keep_start=True)
    assert response.error == "truncated"
    assert response.body == b"\0" * 200_000


# Redirects and addresses


@pytest.mark.parametrize("body", ["endless", "drip", "large", "small", "chunked"])
def test_the_body_of_a_redirect_never_holds_up_the_crawl(server: HostileServer, body: str) -> None:
    head = b"HTTP/1.1 301 Moved\r\nLocation: /new\r\n"
    length = b"Content-Length: 60\r\n\r\n"
    steps: dict[str, tuple[Step, ...]] = {
        "endless": (head + b"\r\n", Forever(b"x" * 1000)),
        "drip": (head + length, Drip(b"x" * 60, 0.1)),
        "large": (head + b"Content-Length: 70000\r\n\r\n" + b"x" * 70_000,),
        "small": (head + length + b"x" * 60,),
        "chunked": (head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"x" * 60),),
    }
    with Fetcher(Http(timeout=30)) as fetcher:
        response = fetcher.fetch(server.on("/", *steps[body]))
        assert response.elapsed < 2
        assert (response.status, response.error, response.body) == (301, None, b"")
        assert response.location == server.url("/new")
        assert fetcher.fetch(server.on("/new", answer(PAGE))).body == PAGE
    assert server.connections == (1 if body in {"small", "chunked"} else 2)


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("file:///etc/passwd", "redirect_not_http"),
        ("ftp://example.com/", "redirect_not_http"),
        ("javascript:alert(1)", "redirect_not_http"),
        ("data:text/html,x", "redirect_not_http"),
        ("http://[::1", "redirect_bad_url"),
        ("http://example.com:99999/", "redirect_bad_url"),
        ("http://example.com:0/", "redirect_bad_url"),
        ("http://h/" + "a" * 10_000, "redirect_bad_url"),
    ],
)
def test_a_redirect_to_no_page_is_a_reason(
    server: HostileServer, fetcher: Fetcher, location: str, error: str
) -> None:
    url = server.on("/", answer(b"", f"Location: {location}", status="302 Found"))
    response = fetcher.fetch(url)
    assert (response.status, response.location, response.error) == (302, None, error)


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/a b", "/a%20b"),
        ("../x?y=1#top", "/x?y=1"),
        ("?q", "/deep/?q"),
        ("/caf\u00e9".encode().decode("latin-1"), "/caf%C3%A9"),
        ("/caf\u00e9", "/caf%E9"),
        ("\\\\other.example\\x", "//other.example/x"),
    ],
)
def test_a_location_resolves_as_in_a_browser(
    server: HostileServer, fetcher: Fetcher, location: str, path: str
) -> None:
    url = server.on("/deep/", answer(b"", f"Location: {location}", status="302 Found"))
    expected = f"http:{path}" if path.startswith("//") else server.url(path)
    assert fetcher.fetch(url).location == expected


@pytest.mark.parametrize("line", ["X: no location", "Location: "])
def test_a_redirect_that_leads_nowhere_is_a_final_answer(
    server: HostileServer, fetcher: Fetcher, line: str
) -> None:
    response = fetcher.fetch(server.on("/", answer(PAGE, line, status="302 Found")))
    assert (response.status, response.location, response.error) == (302, None, None)
    assert response.body == PAGE


PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "[::1]",
    "[::]",
    "[fe80::1]",
    "[fd00::1]",
    "[::ffff:10.0.0.1]",
    "[64:ff9b::10.0.0.1]",
    "[2002:a00:1::]",
    "0x7f.1",
    "2130706433",
    "017700000001",
]


@pytest.mark.parametrize("host", PRIVATE)
def test_private_addresses_are_refused_however_they_are_written(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    def no_connection(*_: object) -> None:
        raise AssertionError("connected to a private address")

    monkeypatch.setattr(socket.socket, "connect", no_connection)
    with Fetcher(allow_private=False) as fetcher:
        assert fetcher.fetch(f"http://{host}/").error == "private_address"


def test_private_addresses_can_be_allowed_by_host(server: HostileServer) -> None:
    asked: list[str] = []

    def allow(host: str) -> bool:
        asked.append(host)
        return host == "127.0.0.1"

    url = server.on("/", answer(PAGE))
    with Fetcher(allow_private=allow) as fetcher:
        assert fetcher.fetch(url).body == PAGE
        assert fetcher.fetch(url.replace("127.0.0.1", "localhost")).error == "private_address"
    assert asked == ["127.0.0.1", "localhost"]


def test_a_name_that_changes_its_address_leads_nowhere_private(
    server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # DNS rebinding: a name that looked public now leads to this machine.
    looked_up: list[object] = []

    def rebinding(host: object, port: int, **_: object) -> list[object]:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with Fetcher(allow_private=False) as fetcher:
        response = fetcher.fetch(f"http://rebind.example:{server.port}/")
    assert response.error == "private_address"
    assert (looked_up, server.connections) == (["rebind.example"], 0)


def test_of_several_addresses_only_the_public_ones_are_tried(
    server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def two_addresses(_: object, port: int, **__: object) -> list[object]:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in ("127.0.0.1", "93.184.215.14")
        ]

    def refuse(_: socket.socket, address: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", two_addresses)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with Fetcher(allow_private=False) as fetcher:
        assert fetcher.fetch("http://both.example/").error == "connect_refused"
    assert tried == [("93.184.215.14", 80)]


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://[::1", "bad_url"),
        ("http://" + "a" * 70 + ".example/", "bad_url"),
        ("http://example.com:0/", "bad_port"),
        ("http://example.com:99999/", "bad_port"),
        ("http://", "bad_url"),
        ("ftp://example.com/", "not_http"),
        ("javascript:alert(1)", "not_http"),
        ("/relative", "no_scheme"),
        ("", "no_scheme"),
        ("http://...", "bad_url"),
        ("http://h/" + "a" * 70_000, "too_long"),
    ],
)
def test_what_is_no_address_is_not_asked_for(fetcher: Fetcher, url: str, error: str) -> None:
    response = fetcher.fetch(url)
    assert (response.error, response.status, response.wire_bytes) == (error, None, 0)


def test_what_is_no_text_is_not_asked_for(fetcher: Fetcher) -> None:
    assert fetcher.fetch(None).error == "not_text"  # type: ignore[arg-type]


def test_control_characters_in_a_url_cannot_add_headers(
    server: HostileServer, fetcher: Fetcher
) -> None:
    fetcher.fetch(server.url("/a b\r\nX-Injected: 1\r\n\r\nGET /second HTTP/1.1"))
    assert [seen.header("X-Injected") for seen in server.seen] == [None]


def test_every_reason_and_flag_is_a_stable_name_with_an_explanation() -> None:
    for codes in (REASONS, FLAGS):
        for code, meaning in codes.items():
            assert code.replace("_", "").isalnum(), code
            assert code == code.lower()
            assert meaning.endswith("."), code
    assert set(REASONS) >= RETRYABLE
    assert set(REFUSALS) <= set(REASONS)
