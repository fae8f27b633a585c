"""Laws of the answer reader: how bytes are cut on their way never matters; nothing else escapes."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import io
import zlib
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlkit.web.addresses import is_private_address
from crawlkit.web.answers import read_answer
from crawlkit.web.bodies import GROWTH, GROWTH_FLOOR, decode_body
from crawlkit.web.headers import Headers
from crawlkit.web.reasons import REASONS, FetchFailed, reason_for

if TYPE_CHECKING:
    import socket

LIMIT = 1_000_000


class Segments:
    """A socket whose data arrives in given portions, then ends."""

    def __init__(self, data: bytes, cuts: list[int]) -> None:
        self._data = data
        self._cuts = cuts

    def recv(self, size: int) -> bytes:
        take = min(self._cuts.pop(), size) if self._cuts else size
        part, self._data = self._data[:take], self._data[take:]
        return part

    def makefile(self, _: str) -> io.BytesIO:  # what http.client reads from
        return io.BytesIO(self._data)


def read(data: bytes, cuts: list[int] | None = None) -> tuple[int, Headers, bytes, bool]:
    sock = cast("socket.socket", Segments(data, list(cuts or [])))
    answer = read_answer(sock)
    body = answer.read_body(LIMIT)
    return answer.status, answer.headers, body, answer.reusable()


CUTS = st.lists(st.integers(1, 40), max_size=60)
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,12}", fullmatch=True).map(lambda name: f"X-{name}")
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30).map(str.strip)
CHUNK_LISTS = st.lists(st.binary(min_size=1, max_size=50), max_size=8)


@given(CHUNK_LISTS, CUTS, st.sampled_from([b"\r\n", b"\n"]), st.sampled_from([b"", b";a=b", b" "]))
def test_chunks_are_joined_however_they_arrive(
    parts: list[bytes], cuts: list[int], newline: bytes, extension: bytes
) -> None:
    frames = [b"%x%s%s%s%s" % (len(p), extension, newline, p, newline) for p in parts]
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    data = head + b"".join(frames) + b"0" + newline + newline
    assert read(data, cuts)[2:] == (b"".join(parts), True)


@given(CHUNK_LISTS.filter(bool), st.data())
def test_a_cut_anywhere_in_the_chunks_is_noticed(parts: list[bytes], data: st.DataObject) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    whole = head + body + b"0\r\n\r\n"
    # From the first chunk up to the size of the last one, "0"; what follows may be missing.
    cut = data.draw(st.integers(len(head), len(head) + len(body) + 1))
    with pytest.raises(FetchFailed) as caught:
        read(whole[:cut])
    assert caught.value.code == "truncated"


@given(st.integers(200, 599), st.lists(st.tuples(NAMES, VALUES), max_size=9), st.binary(), CUTS)
def test_a_sound_answer_reads_as_with_http_client(
    status: int, fields: list[tuple[str, str]], body: bytes, cuts: list[int]
) -> None:
    if status in {204, 304}:
        body = b""
    lines = [f"HTTP/1.1 {status} Some Reason", *(f"{name}: {value}" for name, value in fields)]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
    data = head.encode() + body
    oracle = http.client.HTTPResponse(cast("socket.socket", Segments(data, [])))
    oracle.begin()

    got_status, headers, got_body, reusable = read(data, cuts)

    assert (got_status, got_body, reusable) == (oracle.status, oracle.read(), True)
    assert headers.pairs == oracle.getheaders()
    for name, _ in fields:
        assert headers[name.upper()] == oracle.getheader(name)


@given(st.binary(max_size=300), CUTS)
def test_no_bytes_whatever_raise_anything_but_a_reason(junk: bytes, cuts: list[int]) -> None:
    for start in (
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ):
        with contextlib.suppress(FetchFailed):
            status, _, body, _ = read(start + junk, cuts)
            assert 200 <= status <= 999
            assert len(body) <= len(junk)


@given(st.binary(max_size=200), CUTS)
def test_how_bytes_are_cut_on_their_way_never_matters(junk: bytes, cuts: list[int]) -> None:
    data = b"HTTP/1.1 200 OK\r\nA: b\r\n" + junk

    def outcome(portions: list[int]) -> object:
        try:
            return [str(part) for part in read(data, portions)[:3]]
        except FetchFailed as failure:
            return failure.code

    assert outcome(cuts) == outcome([])


# Bodies


def decoding(wire: bytes, codings: list[str], limit: int) -> str | None:
    try:
        return decode_body(wire, codings, limit).error
    except FetchFailed as failure:
        return failure.code


@given(st.binary(max_size=2000), st.sampled_from(["gzip", "deflate"]), st.integers(0, 30))
def test_a_compressed_body_comes_back_and_a_cut_one_never_does(
    body: bytes, coding: str, cut: int
) -> None:
    wire = gzip.compress(body) if coding == "gzip" else zlib.compress(body)
    assert decode_body(wire, [coding], LIMIT).body == body
    short = wire[: len(wire) - 1 - cut]
    outcome = decoding(short, [coding], LIMIT)
    assert outcome in {"truncated", "undecodable"} if short else outcome is None


@given(
    st.binary(max_size=300), st.lists(st.sampled_from(["gzip", "deflate", "br", "x"]), max_size=4)
)
def test_no_body_whatever_raises_anything_but_a_reason(wire: bytes, codings: list[str]) -> None:
    reason = decoding(wire, codings, 1000)
    assert reason is None or reason in REASONS
    if reason is None:
        decoded = decode_body(wire, codings, 1000)
        assert decoded.body == wire if "raw_body" in decoded.flags else len(decoded.body) <= 1000


def test_growth_is_bounded_before_memory_is_used() -> None:
    wire = gzip.compress(b"\0" * 50_000_000)
    with pytest.raises(FetchFailed) as caught:
        decode_body(wire, ["gzip"], 10**9)
    assert caught.value.code == "compression_bomb"
    allowed = max(GROWTH_FLOOR, GROWTH * len(wire))
    assert f"{allowed:,}" in str(caught.value.detail)


# Headers and addresses


@given(st.lists(st.tuples(st.sampled_from(["A", "a", "B", "c"]), VALUES)))
def test_headers_are_a_mapping_that_loses_nothing(pairs: list[tuple[str, str]]) -> None:
    headers = Headers(pairs)
    assert headers.pairs == pairs
    for name in ("a", "A", "b", "C", "none"):
        values = [value for key, value in pairs if key.lower() == name.lower()]
        assert headers.get_all(name) == values
        assert headers.get(name) == (", ".join(values) if values else None)
        assert (name in headers) == bool(values)
    assert dict(headers.items()) == {name: headers[name] for name in headers}
    assert len(headers) == len({key.lower() for key, _ in pairs})
    with pytest.raises(KeyError):
        headers["none"]


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("8.8.8.8", False),
        ("2606:4700::1111", False),
        ("::ffff:8.8.8.8", False),
        ("64:ff9b::8.8.8.8", False),
        ("::ffff:127.0.0.1", True),
        ("64:ff9b::a9fe:a9fe", True),
        ("2002:7f00:1::", True),
        ("198.18.0.1", True),
        ("255.255.255.255", True),
        ("240.0.0.1", True),
        ("fec0::1", True),
        ("ff02::1", True),
        ("2001:db8::1", True),
        ("fe80::1%eth0", True),
        ("not an address", True),
    ],
)
def test_public_addresses_are_told_from_all_others(address: str, private: bool) -> None:
    assert is_private_address(address) is private


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConnectionRefusedError(), "connect_refused"),
        (BrokenPipeError(), "connection_reset"),
        (TimeoutError(), "timeout"),
        (OSError(113, "No route to host"), "network_failed"),
        (UnicodeError("x"), "bad_request"),
    ],
)
def test_every_network_exception_has_a_code(error: Exception, code: str) -> None:
    assert reason_for(error)[0] == code
