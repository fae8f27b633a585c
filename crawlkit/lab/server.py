"""The server of the practice site: small, fast, on loopback only, in a thread of its own.

It has an event loop of its own, so it also runs while a notebook's loop is running. Answers that
do not change are written once and kept.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import socket
import struct
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from crawlkit.lab.addresses import bind_loopback, root_url
from crawlkit.lab.content import Answer
from crawlkit.lab.log import CLOCK_OFFSET, LogWriter, Request
from crawlkit.lab.site import Site
from crawlkit.lab.wire import Clock, Heading, Prepared, is_unchanged, parse_headers, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from crawlkit.lab.content import Section

__all__ = ["LabServer", "Latency"]

Latency: TypeAlias = "float | Callable[[str], float]"
"""Seconds that every answer takes, or a function of the path that gives them."""

MAX_HEAD = 65_536
MAX_HEADINGS = 512
KEPT_BYTES = 64 * 1024 * 1024


class Connection(asyncio.Protocol):
    """One connection; its requests are answered one after the other."""

    def __init__(self, server: LabServer, host: int) -> None:
        self._server = server
        self._host = host
        self._pending = b""
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        self.number = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Join the server's connections."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment] # a socket's
        self.number = self._server.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's
        """Drop what was still to be sent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._server.left(self)

    def eof_received(self) -> bool:
        """Keep the connection for the answer that is on its way."""
        self._ended = True
        return self._timer is not None

    def data_received(self, data: bytes) -> None:
        """Collect bytes, and answer every whole request among them."""
        self._pending += data
        if self._timer is None:
            self._work()
        elif len(self._pending) > MAX_HEAD:
            self.abort()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def _work(self) -> None:
        """Answer requests until one has to wait, or the bytes are used up."""
        while self._timer is None and self._pending and not self._transport.is_closing():
            head, end, rest = self._pending.lstrip(b"\r\n").partition(b"\r\n\r\n")
            if not end:
                if len(self._pending) > MAX_HEAD:
                    self._refuse(431)
                return
            self._pending = rest
            self._begin(head)
        if self._ended and self._timer is None:
            self._transport.close()

    def _begin(self, head: bytes) -> None:
        """Read one request, and answer it now or later."""
        line, _, block = head.partition(b"\r\n")
        try:
            method, target, version = line.decode("latin-1").split(" ")
        except ValueError:
            self._refuse(400)
            return
        if not version.startswith("HTTP/1."):
            self._refuse(505)
            return
        heading = self._server.heading(block)
        keep = heading.keep_alive if heading.keep_alive is not None else version != "HTTP/1.0"
        if heading.has_body:
            keep = False  # the body is not read, so nothing after it can be
        reply, due = self._server.reply(self._host, method, target, heading, self.number)
        if due is not None:
            self._timer = self._server.loop.call_at(due, self._finish, method, reply, keep)
        else:
            self._send(method, reply, keep=keep)

    def _finish(self, method: str, reply: Prepared, keep: bool) -> None:  # noqa: FBT001 - a callback
        """Send an answer whose time has come, then go on."""
        self._timer = None
        self._send(method, reply, keep=keep)
        self._work()

    def _send(self, method: str, reply: Prepared, *, keep: bool) -> None:
        """Send an answer, or do the harm that it asks for."""
        if reply.fault == "reset":
            self._reset()
            return
        if reply.fault == "closed":
            self._transport.close()
            return
        body = b"" if method == "HEAD" else reply.body
        if reply.fault == "truncated":
            keep, body = False, body[: len(body) // 2]
        connection = b"Connection: keep-alive\r\n\r\n" if keep else b"Connection: close\r\n\r\n"
        # A site with a clock of its own says what time it is.
        date = b"" if b"\r\nDate: " in reply.head else self._server.clock.date_line()
        self._transport.write(reply.head + date + connection + body)
        if not keep:
            self._transport.close()

    def _reset(self) -> None:
        """Close so that the client sees a reset."""
        plug = self._transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _refuse(self, status: int) -> None:
        """Answer what is no request, and close."""
        self._pending = b""
        self._send("GET", prepare(Answer(status=status, content_type=None), None), keep=False)


class LabServer:
    """Serves a practice site on loopback addresses until closed.

    Parameters
    ----------
    sections, seed
        The site, see `Site`.
    hosts
        How many hosts, or their loopback addresses.
    port
        Port of the hosts; 0 takes a free one.
    latency
        Seconds that every answer takes, or a function of the path.
    log
        File of JSON lines to append requests to, or None.
    memory
        Whether to keep requests in memory, in ``log.requests``.
    """

    def __init__(
        self,
        sections: Sequence[Section],
        *,
        seed: int,
        hosts: int | Sequence[str],
        port: int,
        latency: Latency,
        log: Path | None,
        memory: bool,
    ) -> None:
        self.latency = latency
        self.clock = Clock()
        self.log = LogWriter(log, memory=memory)
        self._sockets: list[socket.socket] = []
        try:
            self._sockets = bind_loopback(hosts, port)
            self.bases = [root_url(each) for each in self._sockets]
            self.site = Site(sections, seed, self.bases)
            self.loop = asyncio.new_event_loop()
        except BaseException:
            self._release()
            raise
        self._names = [base.split("/")[2] for base in self.bases]
        self._connections: set[Connection] = set()
        self._served = 0
        self._headings: dict[bytes, Heading] = {}
        self._kept: dict[tuple[int, str], Prepared] = {}
        self._kept_bytes = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="crawlkit-lab", daemon=True)
        self._ready = threading.Event()
        self._thread.start()
        self._ready.wait()

    def call(self, function: Callable[[], None]) -> None:
        """Run a function between two requests, and wait for it."""
        if self._closed:
            function()
            return
        done: concurrent.futures.Future[None] = concurrent.futures.Future()

        def run() -> None:
            try:
                function()
                done.set_result(None)
            except BaseException as error:
                done.set_exception(error)
                raise

        self.loop.call_soon_threadsafe(run)
        done.result()

    def forget(self) -> None:
        """Forget all requests: pages that fail at first fail again."""

        def run() -> None:
            self.site.forget()
            self.log.requests.clear()

        self.call(run)

    def close(self) -> None:
        """Close every connection and socket, and end the thread; twice is fine."""
        if self._closed:
            return
        self._closed = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        # A forgotten server may be collected by its own thread, which cannot wait for itself.
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def joined(self, connection: Connection) -> int:
        """Note a new connection and return its number."""
        self._connections.add(connection)
        self._served += 1
        return self._served

    def left(self, connection: Connection) -> None:
        """Note that a connection has ended."""
        self._connections.discard(connection)

    def heading(self, block: bytes) -> Heading:
        """Read header lines; a client sends the same ones again and again."""
        found = self._headings.get(block)
        if found is None:
            if len(self._headings) >= MAX_HEADINGS:
                self._headings.clear()
            found = self._headings[block] = parse_headers(block)
        return found

    def reply(
        self, host: int, method: str, target: str, heading: Heading, connection: int
    ) -> tuple[Prepared, float | None]:
        """Log a request; return what to send, and when (monotonic seconds), None being now."""
        now = time.monotonic()
        if target.startswith("http://"):  # as a proxy is asked
            target = "/" + target[7:].partition("/")[2]
        path, mark, query = target.partition("?")
        latency = 0.0
        try:
            if method in {"GET", "HEAD"}:
                prepared = self._prepared(host, target)
            else:
                allow = (("Allow", "GET, HEAD"),)
                prepared = prepare(Answer(status=405, content_type=None, headers=allow), None)
            latency = self.latency(path) if callable(self.latency) else self.latency
        except Exception as error:  # noqa: BLE001 - sections and latency may be anybody's code
            text = f"The practice site failed: {type(error).__name__}: {error}"
            prepared = prepare(Answer(text.encode(), 500, content_type="text/plain"), None)
        if prepared.etag is not None and is_unchanged(prepared, heading.kept):
            lines = prepared.head.split(b"\r\n")
            kept = [line for line in lines[1:] if not line.startswith(b"Content-")]
            head = b"\r\n".join([b"HTTP/1.1 304 Not Modified", *kept])
            prepared = prepared._replace(status=304, head=head, body=b"")
        silent = prepared.fault in {"reset", "closed"}
        size = 0 if silent or method == "HEAD" else len(prepared.body)
        self.log.add(
            Request(
                now,
                now + CLOCK_OFFSET,
                self._names[host],
                method,
                path,
                query if mark else None,
                None if silent else prepared.status,
                size // 2 if prepared.fault == "truncated" else size,
                heading.user_agent,
                connection,
                heading.kept,
            )
        )
        wait = latency + prepared.wait
        return prepared, now + wait if wait > 0 else None

    def _prepared(self, host: int, target: str) -> Prepared:
        """Return the answer to a target, from memory if it is there."""
        visit = 0
        if self.site.keeps_count:
            visit, instead = self.site.notice(host, target)
            if instead is not None:
                return prepare(instead, None)
        key = (host, target)
        found = self._kept.get(key)
        if found is not None:
            return found
        answer = self.site.answer(host, target, visit)
        prepared = prepare(answer, self.site.last_modified(host, target))
        if answer.settled:
            if self._kept_bytes > KEPT_BYTES:
                self._kept.clear()
                self._kept_bytes = 0
            self._kept[key] = prepared
            self._kept_bytes += prepared.size
        return prepared

    def _run(self) -> None:
        """Serve until the loop is stopped, then leave nothing behind."""
        servers: list[asyncio.Server] = []
        try:
            for host, plug in enumerate(self._sockets):
                make = partial(Connection, self, host)
                start = self.loop.create_server(make, sock=plug, backlog=1024)
                servers.append(self.loop.run_until_complete(start))
            self._ready.set()
            self.loop.run_forever()
        finally:
            self._ready.set()
            self.loop.run_until_complete(self._drain(servers))
            self.loop.close()
            self._release()

    async def _drain(self, servers: list[asyncio.Server]) -> None:
        """Stop listening and close every connection."""
        for server in servers:
            server.close()
        # Connections that were just accepted are made by tasks; let them be made first.
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(tasks)
        for connection in list(self._connections):
            connection.abort()
        while self._connections:
            await asyncio.sleep(0)

    def _release(self) -> None:
        """Close sockets and log."""
        for plug in self._sockets:
            plug.close()
        self.log.close()
