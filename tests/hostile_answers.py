"""Broken and odd answers as scripts for `HostileServer`, with what must become of each.

`BROKEN`: number, name, expected error code, steps. `ODD`: number, name, expected flags, expected
body (None for the whole page), steps. The numbers are those of the list of hostile input that the
fetcher was written against.
"""

from __future__ import annotations

import gzip
import zlib
from typing import NamedTuple

from hostile_server import (
    CLOSE,
    RESET,
    SILENCE,
    Drip,
    Forever,
    Pause,
    Step,
    answer,
    chunked,
)

PAGE = b"<p>a page of some words</p>" * 40
GZIP = gzip.compress(PAGE)
ZLIB = zlib.compress(PAGE)
LARGE = b"a page" * 100_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


class Broken(NamedTuple):
    number: int
    name: str
    error: str
    steps: tuple[Step, ...]


class Odd(NamedTuple):
    number: int
    name: str
    flags: frozenset[str]
    body: bytes | None
    steps: tuple[Step, ...]


def coded(coding: str, body: bytes) -> bytes:
    return answer(body, f"Content-Encoding: {coding}")


def in_chunks(body: bytes, *headers: str) -> bytes:
    return answer(body, "Transfer-Encoding: chunked", *headers)


def length(named: str, body: bytes = PAGE) -> bytes:
    return answer(body, f"Content-Length: {named}")


def broken(number: int, name: str, error: str, *steps: Step) -> Broken:
    return Broken(number, name, error, steps)


def odd(number: int, name: str, flags: str, *steps: Step, body: bytes | None = None) -> Odd:
    return Odd(number, name, frozenset(flags.split()), body, steps)


# For a fetcher with a body limit of 200,000 bytes and less than a second of time.
BROKEN = [
    broken(1, "body drip", "timeout", length("999", b""), Drip(PAGE, 0.1)),
    broken(2, "header drip", "timeout", Drip(HEAD * 9, 0.1)),
    broken(3, "endless 100", "too_many_interim", Forever(b"HTTP/1.1 100 Continue\r\n\r\n")),
    broken(3, "slow 100", "timeout", Forever(b"HTTP/1.1 100 Continue\r\n\r\n", 0.2)),
    broken(
        4,
        "endless chunks",
        "body_too_large",
        in_chunks(b""),
        Forever(b"3e8\r\n" + b"x" * 1000 + b"\r\n"),
    ),
    broken(4, "chunk drip", "timeout", in_chunks(b""), Forever(b"1\r\nx\r\n", 0.1)),
    broken(4, "endless body", "body_too_large", HEAD + b"\r\n", Forever(b"x" * 1000)),
    broken(6, "gzip bomb", "body_too_large", coded("gzip", gzip.compress(LARGE))),
    broken(6, "deflate bomb", "body_too_large", coded("deflate", zlib.compress(LARGE))),
    broken(7, "br", "encoding_not_offered", coded("br", b"\x1b\x0f\0\xf8")),
    broken(7, "zstd", "encoding_not_offered", coded("zstd", b"(\xb5/\xfd")),
    broken(8, "ten codings", "too_many_encodings", coded(", ".join(["gzip"] * 10), GZIP)),
    broken(9, "long line", "headers_too_large", answer(PAGE, "X: " + "y" * 100_000)),
    broken(9, "endless line", "headers_too_large", HEAD + b"X: ", Forever(b"y" * 1000)),
    broken(9, "150 fields", "headers_too_large", answer(PAGE, *["X: y"] * 150)),
    broken(9, "endless fields", "headers_too_large", HEAD, Forever(b"X: y\r\n" * 100)),
    broken(
        9, "endless trailers", "headers_too_large", in_chunks(b"0\r\n"), Forever(b"X: y\r\n" * 100)
    ),
    broken(10, "100 MB announced", "body_too_large", length("100000000", b"")),
    broken(14, "cut short", "truncated", length("99999"), CLOSE),
    broken(16, "two lengths", "bad_length", answer(PAGE, "Content-Length: 5", "Content-Length: 9")),
    broken(16, "two in one line", "bad_length", length("5, 9")),
    broken(19, "cut chunk", "truncated", in_chunks(b"ff\r\nonly this"), CLOSE),
    broken(19, "no last chunk", "truncated", in_chunks(b"4\r\npage\r\n"), CLOSE),
    broken(19, "no size", "bad_chunk", in_chunks(b"4\r\npage\r\nxyz\r\n")),
    broken(19, "size -1", "bad_chunk", in_chunks(b"-1\r\n"), Forever(b"x" * 1000)),
    broken(19, "size +4", "bad_chunk", in_chunks(b"+4\r\npage\r\n")),
    broken(19, "size 0x4", "bad_chunk", in_chunks(b"0x4\r\npage\r\n")),
    broken(19, "longer than said", "bad_chunk", in_chunks(b"2\r\npage\r\n0\r\n\r\n")),
    broken(19, "size of 15 digits", "body_too_large", in_chunks(b"f" * 15 + b"\r\n")),
    broken(19, "endless size", "bad_chunk", in_chunks(b""), Forever(b"0" * 1000)),
    broken(20, "reset in the body", "connection_reset", length("99", b""), Pause(0.1), RESET),
    broken(20, "reset at once", "connection_reset", RESET),
    broken(22, "half a gzip", "truncated", coded("gzip", GZIP[: len(GZIP) // 2])),
    broken(22, "gzip without its end", "truncated", coded("gzip", GZIP[:-1])),
    broken(22, "half a deflate", "truncated", coded("deflate", ZLIB[:-9])),
    broken(23, "br on garbage", "encoding_not_offered", coded("br", PAGE)),
    broken(24, "gzip on text", "undecodable", coded("gzip", PAGE)),
    broken(24, "deflate on text", "undecodable", coded("deflate", PAGE)),
    broken(24, "wrong checksum", "undecodable", coded("gzip", GZIP[:-8] + b"\0" * 8)),
    broken(26, "HTTP/0.9", "bad_response", PAGE, CLOSE),
    broken(26, "status abc", "bad_response", b"HTTP/1.1 abc\r\n\r\n"),
    broken(26, "HTTP/2 in words", "bad_response", b"HTTP/2 200\r\n\r\n"),
    broken(26, "other protocol", "bad_response", b"220 mail.example ESMTP\r\n"),
    broken(26, "empty", "empty_reply", CLOSE),
    broken(26, "cut in the head", "truncated", HEAD, CLOSE),
    broken(26, "silence", "timeout", SILENCE),
    broken(27, "switch", "bad_response", b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    broken(27, "status 000", "bad_response", b"HTTP/1.1 000 What\r\n\r\n"),
]

ODD = [
    odd(8, "two codings", "", coded("gzip, gzip", gzip.compress(GZIP))),
    odd(15, "longer than said", "extra_bytes", length("9"), body=PAGE[:9]),
    odd(16, "same length twice", "", answer(PAGE, *[f"Content-Length: {len(PAGE)}"] * 2)),
    odd(17, "length -5", "length_invalid length_unknown", length("-5"), CLOSE),
    odd(17, "length abc", "length_invalid length_unknown", length("abc"), CLOSE),
    odd(17, "length of 5000 digits", "length_invalid length_unknown", length("9" * 5000), CLOSE),
    odd(
        18,
        "chunks and length",
        "length_and_chunked",
        in_chunks(chunked(PAGE), "Content-Length: 3"),
    ),
    odd(
        18,
        "identity and length",
        "",
        answer(PAGE, "Transfer-Encoding: identity", f"Content-Length: {len(PAGE)}"),
    ),
    odd(19, "no empty line at the end", "", in_chunks(chunked(PAGE)[:-2]), CLOSE),
    odd(
        19,
        "extension and trailer",
        "",
        in_chunks(b"%x;a=b\r\n%s\r\n0;c\r\nX: y\r\n\r\n" % (len(PAGE), PAGE)),
    ),
    odd(19, "chunks with bare newlines", "", in_chunks(b"%x\n%s\n0\n\n" % (len(PAGE), PAGE))),
    odd(19, "bytes after the chunks", "extra_bytes", in_chunks(chunked(PAGE) + b"more")),
    odd(21, "no length", "length_unknown", HEAD + b"\r\n" + PAGE, CLOSE),
    odd(22, "two members", "", coded("gzip", gzip.compress(PAGE[:99]) + gzip.compress(PAGE[99:]))),
    odd(22, "junk after gzip", "trailing_bytes", coded("x-gzip", GZIP + b"junk")),
    odd(22, "junk after deflate", "trailing_bytes", coded("deflate", ZLIB + b"junk")),
    odd(22, "padded gzip", "", coded("gzip", GZIP + b"\0\0")),
    odd(22, "bare deflate", "", coded("deflate", ZLIB[2:-4])),
    odd(22, "empty gzip", "", coded("gzip", b""), body=b""),
    odd(
        22, "gzip as transfer coding", "", answer(chunked(GZIP), "Transfer-Encoding: gzip, chunked")
    ),
    odd(25, "unknown coding", "unknown_encoding raw_body", coded("utf-8", PAGE)),
    odd(27, "status 999", "", answer(PAGE, status="999 Request Denied")),
    odd(27, "interim answers", "", b"HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n" * 2 + answer(PAGE)),
    odd(27, "no reason phrase", "", b"HTTP/1.1 200\r\nContent-Length: 1080\r\n\r\n" + PAGE),
    odd(28, "204 with a body", "body_ignored", answer(PAGE, status="204 None"), body=b""),
    odd(28, "304 with a body", "body_ignored", answer(PAGE, status="304 Same"), body=b""),
    odd(
        29,
        "two types",
        "duplicate_content_type",
        answer(PAGE, "Content-Type: junk", "Content-Type: text/html"),
    ),
    odd(30, "no colon", "bad_header_line", answer(PAGE, "this is no header")),
    odd(30, "NUL", "bad_header_line", answer(PAGE, "X: a\0b")),
    odd(30, "space in the name", "bad_header_line", answer(PAGE, "X y: a")),
    odd(30, "Latin-1", "", answer(PAGE, "X: caf\xe9")),
    odd(30, "folded", "", answer(PAGE, "X: a\r\n  b")),
    odd(30, "bare newlines", "", HEAD.replace(b"\r", b"") + b"Content-Length: 1080\n\n" + PAGE),
]
