"""The fetcher on its ordinary ways: one request, time, stops, redirects."""

from __future__ import annotations

import errno
import gzip
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest
from hostile_server import (
    SILENCE,
    Drip,
    HostileServer,
    answer,
    chunked,
    unused_port,
)

from crawlkit.web import sockets
from crawlkit.web.fetch import Fetcher, Http, Response

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = b"<p>a page of some words</p>" * 40
OK = answer(PAGE)


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as running:
        yield running


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    with Fetcher(Http(timeout=5)) as made:
        yield made


# One request


def test_a_page_arrives_with_all_that_is_known_about_it(
    server: HostileServer, fetcher: Fetcher
) -> None:
    url = server.on("/a", answer(gzip.compress(PAGE), "Content-Encoding: gzip", 'ETag: W/"1"'))
    before = time.time()
    response = fetcher.fetch(url)
    assert (response.url, response.status, response.error, response.flags) == (url, 200, None, ())
    assert response.body == PAGE
    assert response.wire_bytes == len(gzip.compress(PAGE))
    assert response.headers["etag"] == response.headers.get("ETAG") == 'W/"1"'
    assert response.content_type == "text/html"
    assert response.peer == "127.0.0.1"
    assert before <= response.started_at <= time.time()
    assert 0 < response.elapsed < 5
    assert response.location is None
    assert response.retry_after is None


def test_the_request_says_who_asks_and_offers_only_what_can_be_read(server: HostileServer) -> None:
    http = Http(user_agent="bot/2", contact="https://e.example/", headers={"Accept-Language": "de"})
    with Fetcher(http) as fetcher:
        fetcher.fetch(server.on("/a?b=c", OK), headers={"If-None-Match": '"1"', "Accept": "x/y"})
    (seen,) = server.seen
    assert seen.head.startswith("GET /a?b=c HTTP/1.1\r\n")
    assert seen.header("Host") == f"127.0.0.1:{server.port}"
    assert seen.header("User-Agent") == "bot/2 (+https://e.example/)"
    assert seen.header("Accept-Encoding") == "gzip, deflate"
    assert seen.header("Accept-Language") == "de"
    assert seen.header("If-None-Match") == '"1"'
    assert seen.head.lower().count("accept:") == 1
    assert seen.header("Accept") == "x/y"
    assert seen.header("Cookie") is None


def test_user_info_and_fragment_never_leave_the_machine(
    server: HostileServer, fetcher: Fetcher
) -> None:
    server.on("/x", OK)
    response = fetcher.fetch(f"http://me:secret@127.0.0.1:{server.port}/x#part")
    assert response.url == server.url("/x")
    assert server.seen[0].target == "/x"
    assert server.seen[0].header("Authorization") is None
    assert "secret" not in repr(fetcher.fetch("http://me:secret@127.0.0.1:99999/"))


def test_ipv6_addresses_work_in_brackets(fetcher: Fetcher) -> None:
    try:
        running = HostileServer(host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with running as server:
        response = fetcher.fetch(server.on("/", OK))
        assert (response.body, response.peer) == (PAGE, "::1")
        assert server.seen[0].header("Host") == f"[::1]:{server.port}"


def test_the_body_limit_counts_wire_and_decoded_bytes(server: HostileServer) -> None:
    small, page = gzip.compress(PAGE), len(PAGE)
    server.on("/plain", OK)
    server.on("/gzip", answer(small, "Content-Encoding: gzip"))
    server.on("/chunks", answer(chunked(PAGE[:500], PAGE[500:]), "Transfer-Encoding: chunked"))
    with Fetcher() as fetcher:
        for path in ("/plain", "/gzip", "/chunks"):
            url = server.url(path)
            assert fetcher.fetch(url, body_limit=page).body == PAGE
            assert fetcher.fetch(url, body_limit=page - 1).error == "body_too_large"


@pytest.mark.parametrize("name", ["Bad Name", "Host", "Accept-Encoding", "X"])
def test_a_header_that_http_forbids_is_a_reason_and_nothing_is_sent(
    server: HostileServer, fetcher: Fetcher, name: str
) -> None:
    response = fetcher.fetch(server.on("/", OK), headers={name: "a\r\nb"})
    assert response.error == "bad_request"
    assert server.seen == []


# Failures of the connection, time, stop


def test_a_closed_port_is_refused(fetcher: Fetcher) -> None:
    response = fetcher.fetch(f"http://127.0.0.1:{unused_port()}/")
    assert (response.error, response.status, response.peer) == ("connect_refused", None, None)


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (socket.EAI_NONAME, "dns_not_found"),
        (socket.EAI_AGAIN, "dns_failed"),
        (socket.EAI_FAIL, "dns_failed"),
    ],
)
def test_a_name_that_does_not_exist_differs_from_a_look_up_that_failed(
    fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch, number: int, error: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(number, "no")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert fetcher.fetch("http://nowhere.example/").error == error


def test_an_address_that_cannot_be_reached_is_a_reason(
    fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object) -> None:
        raise OSError(errno.EHOSTUNREACH, "No route to host")

    monkeypatch.setattr(socket.socket, "connect", unreachable)
    response = fetcher.fetch("http://127.0.0.1/")
    assert (response.error, response.detail) == ("connect_failed", "[Errno 113] No route to host")


def test_running_out_of_file_handles_is_a_reason(
    fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(sockets, "GuardedSocket", none_left)
    assert fetcher.fetch("http://127.0.0.1/").error == "network_failed"


def test_a_server_that_does_not_even_read_ends_in_time() -> None:
    with HostileServer(greeting=(SILENCE,)) as server, Fetcher(Http(timeout=2)) as fetcher:
        response = fetcher.fetch(server.url(), headers={"X": "y" * 16_000_000})
    assert response.error == "timeout"
    assert response.elapsed < 2.5


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """A port whose queue of connections is full: one more is never answered."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(8)]
        for sock in waiting:
            sock.settimeout(0)
            with pytest.raises(BlockingIOError):
                sock.connect(("127.0.0.1", port))
        yield port
        for sock in waiting:
            sock.close()


def test_a_connection_that_never_comes_about_ends_in_time(deaf_port: int) -> None:
    with Fetcher(Http(timeout=0.5)) as fetcher:
        begun = time.monotonic()
        assert fetcher.fetch(f"http://127.0.0.1:{deaf_port}/").error == "connect_timeout"
        assert 0.4 < time.monotonic() - begun < 2


def test_an_address_that_swallows_packets_leaves_time_for_the_next(
    server: HostileServer, deaf_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two(*_: object, **__: object) -> list[object]:
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, ("127.0.0.1", port)) for port in (deaf_port, server.port)]

    url = server.on("/", OK).replace("127.0.0.1", "two.example")
    monkeypatch.setattr(socket, "getaddrinfo", two)
    with Fetcher(Http(timeout=1.0)) as fetcher:
        assert fetcher.fetch(url).body == PAGE


def test_the_time_of_one_request_can_be_set(server: HostileServer, fetcher: Fetcher) -> None:
    begun = time.monotonic()
    assert fetcher.fetch(server.on("/", SILENCE), timeout=0.3).error == "timeout"
    assert 0.25 < time.monotonic() - begun < 2


@pytest.mark.parametrize("phase", ["connect", "handshake", "head", "body", "drip"])
def test_a_stop_ends_a_waiting_request_within_half_a_second(
    phase: str, request: pytest.FixtureRequest
) -> None:
    stop = threading.Event()
    greeting = (SILENCE,) if phase == "handshake" else ()
    with HostileServer(greeting=greeting) as server, Fetcher(stop=stop) as fetcher:
        head = answer(b"", "Content-Length: 999")
        steps = {"body": (head, SILENCE), "drip": (head, Drip(PAGE, 0.1))}
        url = server.on("/", *steps.get(phase, (SILENCE,)))
        if phase == "connect":
            url = f"http://127.0.0.1:{request.getfixturevalue('deaf_port')}/"
        elif phase == "handshake":
            url = url.replace("http:", "https:")
        stopped: list[float] = []

        def set_stop() -> None:
            stopped.append(time.monotonic())
            stop.set()

        timer = threading.Timer(0.3, set_stop)
        timer.start()
        response = fetcher.fetch(url)
        assert time.monotonic() - stopped[0] < 0.5
        assert response.error == "interrupted", response.detail
        timer.join()
        # After the stop nothing is sent at all.
        asked = len(server.seen)
        assert fetcher.fetch(server.url("/other")).error == "interrupted"
        assert len(server.seen) == asked


def test_waiting_costs_next_to_nothing(server: HostileServer) -> None:
    url = server.on("/", SILENCE)
    with Fetcher(Http(timeout=1.0), stop=threading.Event()) as fetcher:
        begun = time.thread_time()
        assert fetcher.fetch(url).error == "timeout"
        assert time.thread_time() - begun < 0.05


# Redirects


def to(target: str) -> bytes:
    return answer(b"", f"Location: {target}", status="302 Found")


def test_a_fetch_does_not_follow(server: HostileServer, fetcher: Fetcher) -> None:
    response = fetcher.fetch(server.on("/", to("/next")))
    assert (response.status, response.location) == (302, server.url("/next"))
    assert len(server.seen) == 1


def test_following_returns_every_hop(server: HostileServer, fetcher: Fetcher) -> None:
    server.on("/a", to("b"))
    server.on("/b", to("/c?d"))
    server.on("/c?d", OK)
    asked: list[str] = []

    def before_hop(url: str) -> None:
        asked.append(url)

    chain = fetcher.fetch_following(server.url("/a"), before_hop=before_hop)
    assert [response.status for response in chain] == [302, 302, 200]
    assert chain[-1].body == PAGE
    assert asked == [server.url("/b"), server.url("/c?d")]


def test_following_stops_at_a_loop_a_limit_or_a_refusal(
    server: HostileServer, fetcher: Fetcher
) -> None:
    server.on("/loop", to("/pool"))
    server.on("/pool", to("/loop"))
    for number in range(9):
        server.on(f"/{number}", to(f"/{number + 1}"))
    loop = fetcher.fetch_following(server.url("/loop"))
    assert [response.error for response in loop] == [None, None, "redirect_loop"]
    chain = fetcher.fetch_following(server.url("/0"))
    assert [response.error for response in chain] == [None] * 6 + ["too_many_redirects"]
    refused = fetcher.fetch_following(server.url("/0"), before_hop=lambda _: "scope")
    assert [response.error for response in refused] == [None, "scope"]
    assert len(server.seen) == 2 + 6 + 1


@pytest.mark.parametrize("line", ["Retry-After: 7", "Retry-After: soon"])
def test_retry_after_is_read(server: HostileServer, fetcher: Fetcher, line: str) -> None:
    response = fetcher.fetch(server.on("/", answer(b"", line, status="429 Slow down")))
    assert response.retry_after == (7.0 if line.endswith("7") else None)


def test_a_response_shows_what_matters_and_not_its_body() -> None:
    shown = repr(Response("http://a.example/", status=200, body=b"secret", flags=("downgrade",)))
    assert shown == "Response('http://a.example/', status=200, flags=('downgrade',), size=6)"
