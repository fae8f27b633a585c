"""Requests whose answers nobody waits for: the same answers, however they come."""

from __future__ import annotations

import select
import threading
import time
from typing import TYPE_CHECKING

import pytest
from hostile_answers import BROKEN, ODD, PAGE, Broken, Odd
from hostile_server import CLOSE, RESET, SILENCE, HostileServer, Pause, Step, answer, certificate
from test_fetch_security import tls_context

from crawlkit.web.fetch import Fetcher, Http

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crawlkit.web.asked import Asked
    from crawlkit.web.response import Response

SECONDS = 0.6
OK = answer(PAGE)


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


def begin(server: HostileServer, fetcher: Fetcher, *steps: Step) -> Asked:
    """Ask for a page on a connection that is idle."""
    assert fetcher.fetch(server.on("/first", OK)).body == PAGE
    asked = fetcher.begin(server.on("/", *steps))
    assert asked is not None
    return asked


def looked_for(asked: Asked, looks: int = 3) -> Response:
    """Look now and then as a crawl does, and wait for what comes in pieces."""
    for _ in range(looks):
        while not asked.is_due() and not select.select([asked], [], [], 0.05)[0]:
            pass
        response = asked.answer()
        if response is not None:
            return response
        if asked.fileno() < 0:
            break
    return asked.wait()


@pytest.mark.parametrize("case", BROKEN, ids=name)
def test_a_broken_answer_has_the_same_reason(
    server: HostileServer, fetcher: Fetcher, case: Broken
) -> None:
    begun = time.monotonic()
    response = looked_for(begin(server, fetcher, *case.steps))
    assert response.error == case.error, response.detail
    assert time.monotonic() - begun < SECONDS + 1
    assert fetcher.fetch(server.on("/next", answer(b"next"))).body == b"next"


@pytest.mark.parametrize("case", ODD, ids=name)
def test_an_odd_answer_is_read_and_flagged_as_ever(
    server: HostileServer, fetcher: Fetcher, case: Odd
) -> None:
    response = looked_for(begin(server, fetcher, *case.steps))
    assert response.error is None, response.detail
    assert set(response.flags) == case.flags
    assert response.body == (PAGE if case.body is None else case.body)
    assert fetcher.fetch(server.on("/next", answer(b"next"))).body == b"next"


@pytest.mark.parametrize("looks", [1, 2, 9])
@pytest.mark.parametrize("cut", [1, 30, len(OK) - 500, len(OK) - 6])
def test_an_answer_in_pieces_is_put_together(
    server: HostileServer, fetcher: Fetcher, cut: int, looks: int
) -> None:
    asked = begin(
        server, fetcher, OK[:cut], Pause(0.1), OK[cut : cut + 5], Pause(0.1), OK[cut + 5 :]
    )
    response = looked_for(asked, looks)
    assert (response.body, response.error, response.flags) == (PAGE, None, ())
    assert response.wire_bytes == len(PAGE)
    assert response.sent_at is not None
    assert response.elapsed > 0.2
    assert fetcher.fetch(server.on("/next", answer(b"next"))).body == b"next"
    assert server.connections == 1


def test_without_an_idle_connection_nothing_is_sent(
    server: HostileServer, fetcher: Fetcher
) -> None:
    assert fetcher.begin(server.on("/", OK)) is None
    for bad in (
        "http://",
        "http://a b/",
        "http://127.0.0.1:99999999/",
        "http://a:b/",
        "ftp://127.0.0.1/",
        "",
    ):
        assert fetcher.begin(bad) is None
    assert server.seen == []


@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_a_connection_that_breaks_is_replaced_once(
    server: HostileServer, fetcher: Fetcher, end: Step
) -> None:
    assert fetcher.fetch(server.on("/first", OK)).body == PAGE
    server.on("/", end)
    asked = fetcher.begin(server.on("/", OK))
    assert asked is not None
    response = looked_for(asked)
    assert (response.body, response.flags) == (PAGE, ("reconnected",))
    assert [seen.connection for seen in server.asked("/")] == [1, 2]


def test_a_connection_that_breaks_within_an_answer_is_not_asked_again(
    server: HostileServer, fetcher: Fetcher
) -> None:
    asked = begin(server, fetcher, b"HTTP/1.1 200 OK\r\nX: y", Pause(0.1), RESET)
    assert looked_for(asked).error == "connection_reset"
    assert len(server.asked("/")) == 1


def test_silence_ends_when_the_time_is_up(server: HostileServer, fetcher: Fetcher) -> None:
    asked = begin(server, fetcher, SILENCE)
    assert asked.answer() is None
    assert not asked.is_due()
    time.sleep(SECONDS)
    assert asked.is_due()
    response = asked.answer()
    assert response is not None
    assert (response.error, response.wire_bytes) == ("timeout", 0)
    assert asked.fileno() < 0


def test_a_stop_ends_what_is_out_and_lets_nothing_out(server: HostileServer) -> None:
    stop = threading.Event()
    with Fetcher(Http(timeout=30), stop=stop) as fetcher:
        asked = begin(server, fetcher, SILENCE)
        stop.set()
        assert asked.is_due()
        response = asked.answer()
        assert response is not None
        assert response.error == "interrupted"
        assert fetcher.begin(server.on("/next", OK)) is None


def test_with_credentials_a_request_is_not_sent_this_way(server: HostileServer) -> None:
    with Fetcher(Http(auth=("user", "password"))) as fetcher:
        assert fetcher.fetch(server.on("/first", OK)).body == PAGE
        assert fetcher.begin(server.on("/", OK)) is None


def test_encrypted_answers_are_looked_for_too(tmp_path: Path) -> None:
    own = certificate(tmp_path, "DNS:localhost", "IP:127.0.0.1")
    big = answer(b"page of a crawl " * 9_000)
    with (
        HostileServer(tls=tls_context(own)) as server,
        Fetcher(Http(verify=str(own), timeout=5)) as fetcher,
    ):
        for steps in ((OK,), (OK[:200], Pause(0.1), OK[200:]), (big,)):
            response = looked_for(begin(server, fetcher, *steps))
            assert (response.error, response.flags) == (None, ())
            assert response.body in (PAGE, b"page of a crawl " * 9_000)
        assert server.connections == 1


def test_what_came_in_time_counts_however_late_it_is_looked_at(
    server: HostileServer, fetcher: Fetcher
) -> None:
    asked = begin(server, fetcher, OK)
    time.sleep(SECONDS + 0.1)  # the crawl's thread was busy with a large page
    assert asked.is_due()
    response = asked.answer()
    assert response is not None
    assert (response.body, response.error) == (PAGE, None)


def test_the_text_of_a_redirect_may_not_take_all_the_time(server: HostileServer) -> None:
    head = b"HTTP/1.1 301 Moved\r\nLocation: /to\r\nContent-Length: 20\r\n\r\n"
    with Fetcher(Http(timeout=30)) as fetcher:
        asked = begin(server, fetcher, head, SILENCE)
        assert asked.may_take_long()
        select.select([asked], [], [], 5)
        assert asked.answer() is None
        assert not asked.may_take_long()
        response = asked.wait()
    assert response.error is None
    assert response.location == server.url("/to")
    assert response.elapsed < 5
