"""Connections: kept and used again, replaced when they are gone, never trusted too far."""

from __future__ import annotations

import select
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hostile_server import CLOSE, RESET, HostileServer, Pause, answer, unused_port

from crawlkit.web import connections, sockets
from crawlkit.web.connections import Origin
from crawlkit.web.fetch import Fetcher, Http
from crawlkit.web.reasons import reason_for
from crawlkit.web.sockets import Guard

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


def test_requests_to_one_host_share_a_connection(server: HostileServer, fetcher: Fetcher) -> None:
    for number in range(5):
        assert fetcher.fetch(server.on(f"/{number}", OK)).body == PAGE
    assert server.connections == 1


@pytest.mark.parametrize(
    "head", [b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 200 OK\r\nConnection: Close\r\n"]
)
def test_a_connection_that_the_server_ends_is_not_used_again(
    server: HostileServer, fetcher: Fetcher, head: bytes
) -> None:
    url = server.on("/", head + b"Content-Length: 4\r\n\r\npage", CLOSE)
    responses = [fetcher.fetch(url) for _ in range(3)]
    assert [(response.body, response.flags) for response in responses] == [(b"page", ())] * 3
    assert server.connections == 3


def test_http_1_0_with_keep_alive_shares_a_connection(
    server: HostileServer, fetcher: Fetcher
) -> None:
    head = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\n"
    url = server.on("/", head + b"page")
    assert [fetcher.fetch(url).body for _ in range(3)] == [b"page"] * 3
    assert server.connections == 1


@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_an_idle_connection_that_was_closed_is_replaced_without_a_repeat(
    server: HostileServer, fetcher: Fetcher, end: object
) -> None:
    url = server.on("/", OK, Pause(0.05), end)  # type: ignore[arg-type]
    assert fetcher.fetch(url).body == PAGE
    time.sleep(0.2)
    response = fetcher.fetch(url)
    assert (response.body, response.flags) == (PAGE, ())
    assert len(server.seen) == 2


@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_a_kept_connection_that_breaks_is_tried_once_more_on_a_fresh_one(
    server: HostileServer, fetcher: Fetcher, end: object
) -> None:
    assert fetcher.fetch(server.on("/first", OK)).body == PAGE
    url = server.on("/", end)  # type: ignore[arg-type]
    server.on("/", OK)
    response = fetcher.fetch(url)
    assert (response.body, response.flags) == (PAGE, ("reconnected",))
    assert [seen.connection for seen in server.asked("/")] == [1, 2]


def test_a_kept_connection_that_breaks_within_an_answer_is_not_tried_again(
    server: HostileServer, fetcher: Fetcher
) -> None:
    fetcher.fetch(server.on("/first", OK))
    url = server.on("/", b"HTTP/1.1 200 OK\r\nX: y", Pause(0.1), RESET)
    assert fetcher.fetch(url).error == "connection_reset"
    assert len(server.asked("/")) == 1


def test_a_server_that_always_hangs_up_is_asked_twice_at_most(
    server: HostileServer, fetcher: Fetcher
) -> None:
    fetcher.fetch(server.on("/first", OK))
    assert fetcher.fetch(server.on("/", CLOSE)).error == "empty_reply"
    assert len(server.asked("/")) == 2


def test_a_late_surplus_is_not_taken_for_the_next_answer(
    server: HostileServer, fetcher: Fetcher
) -> None:
    surplus = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    url = server.on("/", OK, Pause(0.1), surplus)
    assert fetcher.fetch(url).body == PAGE
    time.sleep(0.3)
    assert fetcher.fetch(server.on("/next", answer(b"next"))).body == b"next"


def test_many_threads_share_a_fetcher(server: HostileServer, fetcher: Fetcher) -> None:
    urls = [server.on(f"/{number}", answer(b"%d" % number * 3000)) for number in range(200)]
    with ThreadPoolExecutor(8) as workers:
        bodies = [response.body for response in workers.map(fetcher.fetch, urls)]
    assert bodies == [b"%d" % number * 3000 for number in range(200)]
    assert server.connections <= 8


def test_nothing_stays_open_after_close(server: HostileServer) -> None:
    fetcher = Fetcher()
    fetcher.fetch(server.on("/", OK))
    fetcher.close()
    # The server reads the end of the connection, and its thread ends.
    for thread in server._threads[1:]:
        thread.join(2)
        assert not thread.is_alive()


def test_only_so_many_idle_connections_are_kept(
    server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_IDLE_PER_ORIGIN", 2)
    monkeypatch.setattr(connections, "_IDLE_IN_ALL", 3)
    kept = connections.Connections()
    guard = Guard(5.0)
    with HostileServer() as other:
        origins = [Origin("http", "127.0.0.1", port) for port in (server.port, other.port)]
        taken = [kept.take(origin, guard) for origin in (origins[0],) * 3 + (origins[1],) * 2]
        for connection in taken:
            kept.give(connection)
        # The oldest of its host went first, then the host that was longest unused.
        still_open = [connection.sock.fileno() >= 0 for connection in taken]
        assert still_open == [False, False, False, True, True]
        again = [kept.take(origin, guard) for origin in (origins[1], origins[0])]
        assert again[0] is taken[4]
        assert again[1] not in taken
        for connection in again:
            connection.close()
        kept.close()
        assert not any(connection.sock.fileno() >= 0 for connection in taken)


def test_a_connection_that_comes_back_after_close_is_closed(server: HostileServer) -> None:
    kept = connections.Connections()
    origin = Origin("http", "127.0.0.1", server.port)
    taken = kept.take(origin, Guard(5.0))
    kept.close()
    kept.give(taken)
    assert taken.sock.fileno() == -1


def test_a_server_that_hangs_up_at_once_is_a_reset_even_for_tls() -> None:
    # What ssl finds out by a read, when the connection is gone before encryption begins.
    context = sockets.GuardedTLSContext(ssl.PROTOCOL_TLS_CLIENT)
    with sockets.GuardedSocket() as sock:
        sock.guard = Guard(5.0)
        with pytest.raises(OSError, match="not connected") as caught:
            context.wrap_socket(sock, server_hostname="localhost")
    assert reason_for(caught.value)[0] == "connection_reset"


def test_a_machine_without_poll_waits_by_select(
    server: HostileServer, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(select, "poll")
    url = server.on("/", OK)
    assert [fetcher.fetch(url).body for _ in range(2)] == [PAGE] * 2
    assert server.connections == 1
    assert fetcher.fetch(f"http://127.0.0.1:{unused_port()}/").error == "connect_refused"


def test_a_connection_idle_for_long_is_not_trusted(
    server: HostileServer, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.on("/", OK)
    fetcher.fetch(url)
    monkeypatch.setattr(connections, "_IDLE_SECONDS", 0.0)
    assert fetcher.fetch(url).body == PAGE
    assert server.connections == 2
