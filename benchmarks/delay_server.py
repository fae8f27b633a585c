"""A static file server that answers every request after a fixed delay, at little CPU.

One process, one event loop, no thread: a request costs some tens of microseconds, so the delay and
not the server bounds a crawl. It speaks just enough HTTP/1.1 for crawlers: GET and HEAD,
keep-alive, one request at a time on a connection. Used by ``sites.serve(..., latency=...)``.
"""

from __future__ import annotations

import argparse
import asyncio
import mimetypes
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["serve_with_delay"]

# The event loop rounds its waits up to whole milliseconds, so it is half of one late on average.
ROUNDED_UP = 0.0005
NOT_FOUND = b"<!doctype html><title>404 Not Found</title><h1>404 Not Found</h1>"


class Files:
    """The responses of a folder, each built once: path -> (status, content type, head, body)."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._ready: dict[str, tuple[int, str, bytes, bytes]] = {}

    def response(self, target: str) -> tuple[int, str, bytes, bytes]:
        """Return the response for a request target."""
        path = target.partition("?")[0]
        if path not in self._ready:
            self._ready[path] = self._build(unquote(path))
        return self._ready[path]

    def _build(self, path: str) -> tuple[int, str, bytes, bytes]:
        file = (self._root / path.lstrip("/")).resolve()
        if file.is_dir():
            if not path.endswith("/"):
                head = f"Location: {path}/\r\nContent-Length: 0\r\n\r\n"
                return 301, "text/html", f"HTTP/1.1 301 Moved Permanently\r\n{head}".encode(), b""
            file /= "index.html"
        if not file.is_file() or not file.is_relative_to(self._root):
            status, line, kind, body = 404, "404 Not Found", "text/html", NOT_FOUND
        else:
            guessed = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            status, line, kind, body = 200, "200 OK", guessed, file.read_bytes()
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        head = f"HTTP/1.1 {line}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        return status, kind, head.encode(), body


class Connection(asyncio.Protocol):
    """One client connection: collects a request, answers it after the delay, waits for the next."""

    def __init__(self, files: Files, delay: float, log: TextIO | None) -> None:
        self._files, self._delay, self._log = files, delay, log
        self._loop = asyncio.get_running_loop()
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take bytes; a whole request head starts the delay."""
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head, self._received = self._received[:end], self._received[end + 4 :]
            self._loop.call_later(self._delay - ROUNDED_UP, self._answer, head, time.time())

    def _answer(self, head: bytes, start: float) -> None:
        if self._transport.is_closing():
            return
        method, target, *_ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        status, kind, lines, body = self._files.response(target)
        self._transport.write(lines if method == "HEAD" else lines + body)
        if b"\nconnection: close" in head.lower():
            self._transport.close()
        if self._log:
            now = time.time()
            self._log.write(
                f"{now:.6f}\t{now - start:.6f}\t{status}\t{len(body)}\t{kind}\t{method}\t{target}\n"
            )


async def serve_with_delay(root: Path, port: int, delay: float, log: TextIO | None) -> None:
    """Serve a folder on 127.0.0.1 until SIGTERM or SIGINT."""
    loop, files, stop = asyncio.get_running_loop(), Files(root), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = await loop.create_server(
        lambda: Connection(files, delay, log), "127.0.0.1", port, backlog=512
    )
    await stop.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds per response")
    parser.add_argument("--log", type=Path, help="file for one line per request")
    given = parser.parse_args()
    # Line-buffered: a reader that looks once a crawl has ended finds every request of it.
    log = given.log.open("a", buffering=1, encoding="utf-8") if given.log else None
    try:
        asyncio.run(serve_with_delay(given.root, given.port, given.latency, log))
    finally:
        if log:
            log.close()


if __name__ == "__main__":
    main()
