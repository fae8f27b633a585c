"""A raw socket server that answers by script, for tests of what real servers should never do.

    with HostileServer() as server:
        url = server.on("/cut", answer(b"page", "Content-Length: 99"), CLOSE)

A script is a row of steps: bytes are sent as they are; `Pause`, `Drip`, `Forever`, `CLOSE`,
`RESET` and `SILENCE` do what they say. A script that ends in none of the last three leaves the
connection open for the next request. Paths without a script are answered with 404.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import pytest

if TYPE_CHECKING:
    import ssl
    from pathlib import Path


@dataclass(frozen=True)
class Pause:
    """Send nothing for a while."""

    seconds: float


@dataclass(frozen=True)
class Drip:
    """Send one byte at a time."""

    data: bytes
    every: float


@dataclass(frozen=True)
class Forever:
    """Send the same bytes again and again, until the other side has enough."""

    data: bytes
    every: float = 0.0


@dataclass(frozen=True)
class Tunnel:
    """Hand the connection through to a port of 127.0.0.1, as a proxy does after CONNECT."""

    port: int


class _Ending(NamedTuple):
    name: str


CLOSE = _Ending("close")
RESET = _Ending("reset")
SILENCE = _Ending("silence")

Step = bytes | Pause | Drip | Forever | Tunnel | _Ending


class Seen(NamedTuple):
    """One request as it arrived."""

    at: float
    connection: int
    target: str
    head: str

    def header(self, name: str) -> str | None:
        for line in self.head.split("\r\n")[1:]:
            found, _, value = line.partition(":")
            if found.lower() == name.lower():
                return value.strip()
        return None


def answer(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """An HTTP answer; Content-Length is right unless one is among the headers."""
    lines = [f"HTTP/1.1 {status}", *headers]
    names = {line.partition(":")[0].lower() for line in headers}
    if not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    if "content-type" not in names:
        lines.append("Content-Type: text/html")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def chunked(*parts: bytes) -> bytes:
    """A body in chunks, with its end."""
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


class HostileServer:
    """See the module.

    Parameters
    ----------
    host
        Where to listen, "127.0.0.1" or "::1".
    tls
        A server's TLS context; None for plain HTTP.
    greeting
        Steps to take on every connection before any request is read.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        greeting: tuple[Step, ...] = (),
    ) -> None:
        self.seen: list[Seen] = []
        self.connections = 0
        self._scripts: dict[str, list[tuple[Step, ...]]] = {}
        self._tls = tls
        self._greeting = greeting
        self._stop = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.bind((host, 0))
        self._listener.listen(64)
        self.port: int = self._listener.getsockname()[1]
        self.host = f"[{host}]" if ":" in host else host

    def on(self, path: str, *steps: Step) -> str:
        """Answer a path by a script; further scripts answer further requests, the last all."""
        self._scripts.setdefault(path, []).append(steps)
        return self.url(path)

    def url(self, path: str = "/") -> str:
        return f"{'https' if self._tls else 'http'}://{self.host}:{self.port}{path}"

    def asked(self, path: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.target == path]

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(sock)
            self._start(self._serve, sock, self.connections)

    def _serve(self, sock: socket.socket, number: int) -> None:
        plain = sock
        try:
            if self._greeting and not self._run(sock, self._greeting):
                return
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._open.add(sock)
            pending = b""
            while not self._stop.is_set():
                while b"\r\n\r\n" not in pending:
                    data = sock.recv(65_536)
                    if not data:
                        return
                    pending += data
                head, _, pending = pending.partition(b"\r\n\r\n")
                text = head.decode("latin-1")
                target = text.split(" ", 2)[1]
                self.seen.append(Seen(time.monotonic(), number, target, text))
                if not self._run(sock, self._script(target)):
                    return
        except OSError:
            return  # the other side went away, as it should
        finally:
            with contextlib.suppress(OSError):
                sock.close()
            plain.close()

    def _script(self, target: str) -> tuple[Step, ...]:
        scripts = self._scripts.get(target)
        if not scripts:
            return (answer(b"no such page", status="404 Not Found"),)
        return scripts.pop(0) if len(scripts) > 1 else scripts[0]

    def _run(self, sock: socket.socket, steps: tuple[Step, ...]) -> bool:
        """Take the steps; return whether the connection stays open."""
        for step in steps:
            if isinstance(step, bytes):
                sock.sendall(step)
            elif isinstance(step, Pause):
                self._stop.wait(step.seconds)
            elif isinstance(step, Drip):
                for byte in step.data:
                    sock.sendall(bytes([byte]))
                    if self._stop.wait(step.every):
                        return False
            elif isinstance(step, Forever):
                while not self._stop.is_set():
                    sock.sendall(step.data)
                    if step.every:
                        self._stop.wait(step.every)
            elif isinstance(step, Tunnel):
                self._hand_through(sock, step.port)
                return False
            else:
                self._end(sock, step)
                return False
        return True

    def _hand_through(self, sock: socket.socket, port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as beyond:
            self._open.add(beyond)
            self._start(_pump, beyond, sock)
            _pump(sock, beyond)
            with contextlib.suppress(OSError):
                beyond.shutdown(socket.SHUT_RDWR)  # a close alone would not wake the other pump

    def _end(self, sock: socket.socket, ending: _Ending) -> None:
        if ending is SILENCE:
            self._stop.wait(30)
        elif ending is RESET:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            # Without the shutdown, what the other side sent late would turn the end into a reset.
            sock.shutdown(socket.SHUT_WR)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)


def unused_port() -> int:
    """A port of 127.0.0.1 on which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def certificate(
    folder: Path, *names: str, start: str = "20200101000000Z", end: str = "20991231000000Z"
) -> Path:
    """Make a self-signed certificate with its key in one file, by the openssl command."""
    folder.mkdir(exist_ok=True)
    settings = (
        "[req]\ndistinguished_name=dn\nprompt=no\n[dn]\nCN=test\n"
        "[ca]\ndefault_ca=own\n"
        f"[own]\ndatabase={folder}/index\nserial={folder}/serial\nnew_certs_dir={folder}\n"
        "default_md=sha256\npolicy=any\nx509_extensions=ext\n"
        "[any]\ncommonName=supplied\n"
        f"[ext]\nsubjectAltName={','.join(names)}\nbasicConstraints=critical,CA:TRUE\n"
    )
    (folder / "settings").write_text(settings)
    (folder / "index").write_text("")
    (folder / "serial").write_text("01\n")
    key, made = folder / "key.pem", folder / "made.pem"
    for command in (
        f"openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
        f"-config {folder}/settings -keyout {key} -out {folder}/request",
        f"openssl ca -batch -selfsign -config {folder}/settings -keyfile {key} -notext "
        f"-startdate {start} -enddate {end} -in {folder}/request -out {made}",
    ):
        try:
            subprocess.run(command.split(), check=True, capture_output=True)
        except FileNotFoundError:
            pytest.skip("the openssl command is not installed")
    both = folder / "both.pem"
    both.write_bytes(key.read_bytes() + made.read_bytes())
    return both
