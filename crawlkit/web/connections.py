"""Connections that are kept open and used again, one request at a time.

They are guarded sockets, plain or encrypted, direct or through a proxy.
"""

from __future__ import annotations

import ssl
import threading
from collections import OrderedDict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.errors import BadSetting
from crawlkit.web.addresses import is_private_name
from crawlkit.web.answers import read_answer
from crawlkit.web.proxies import proxy_parts
from crawlkit.web.reasons import FetchFailed
from crawlkit.web.sockets import Guard, GuardedSocket, GuardedTLSContext, dial, wait_until_ready

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Connection", "Connections", "Origin"]

_IDLE_PER_ORIGIN = 32
_IDLE_IN_ALL = 256
#: Seconds after which an idle connection is not trusted any more: routers forget it silently.
_IDLE_SECONDS = 45.0
_NOT_OF_THE_PROXY = frozenset({"timeout", "interrupted", "proxy_failed"})


class Origin(NamedTuple):
    """Where a connection leads: what it can be used again for."""

    scheme: str
    host: str
    port: int
    proxy: str | None = None


class Connection:
    """One open connection.

    Parameters
    ----------
    origin
        Where it leads.
    sock
        Where requests are written and answers read.
    era
        How often `Connections` had been closed when this one was opened.
    """

    __slots__ = ("era", "idle_since", "origin", "sock", "used")

    def __init__(self, origin: Origin, sock: GuardedSocket, era: int) -> None:
        self.origin = origin
        self.sock = sock
        self.era = era
        self.used = False
        self.idle_since = 0.0

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()


class Connections:
    """Opens connections and keeps the idle ones; thread-safe.

    Parameters
    ----------
    verify
        As in `Http`.
    allow_private
        Whether a host may be outside the public web.
    """

    def __init__(
        self, *, verify: bool | str = True, allow_private: Callable[[str], bool] | bool = True
    ) -> None:
        self._verify = verify
        self._allow_private = allow_private
        self._lock = threading.Lock()
        self._idle: OrderedDict[Origin, list[Connection]] = OrderedDict()
        self._idle_count = 0
        self._era = 0
        # The usual certificates are loaded when they are needed; one's own are checked at once.
        self._context = _tls_context(verify=verify) if isinstance(verify, str) else None

    def take(self, origin: Origin, guard: Guard, *, fresh: bool = False) -> Connection:
        """Return a connection for one request, an idle one if there is one in order.

        Raises
        ------
        FetchFailed, OSError
            When none can be opened.
        """
        connection = None if fresh else self.take_idle(origin, guard)
        return self._open(origin, guard) if connection is None else connection

    def take_idle(self, origin: Origin, guard: Guard) -> Connection | None:
        """Return an idle connection that is in order, or None; this waits for nothing."""
        while (connection := self._pop(origin)) is not None:
            # Something to read on an idle connection is its end, or an answer nobody asked for.
            stale = monotonic() - connection.idle_since > _IDLE_SECONDS
            if not stale and not wait_until_ready(connection.sock, 0.0):
                connection.sock.guard = guard
                return connection
            connection.close()
        return None

    def give(self, connection: Connection) -> None:
        """Keep a connection whose last answer was read completely."""
        connection.used = True
        connection.idle_since = monotonic()
        dropped: list[Connection] = []
        with self._lock:
            if connection.era != self._era:
                connection.close()
                return
            idle = self._idle.setdefault(connection.origin, [])
            self._idle.move_to_end(connection.origin)
            idle.append(connection)
            self._idle_count += 1
            if len(idle) > _IDLE_PER_ORIGIN:
                dropped.append(idle.pop(0))
                self._idle_count -= 1
            while self._idle_count > _IDLE_IN_ALL:
                _, oldest = self._idle.popitem(last=False)
                dropped += oldest
                self._idle_count -= len(oldest)
        for unwanted in dropped:
            unwanted.close()

    def close(self) -> None:
        """Close what is idle; connections in use are closed when they come back."""
        with self._lock:
            idle = [connection for kept in self._idle.values() for connection in kept]
            self._idle.clear()
            self._idle_count = 0
            self._era += 1
        for connection in idle:
            connection.close()

    def private_allowed(self, host: str) -> bool:
        """Say whether a host may be outside the public web."""
        allowed = self._allow_private
        return allowed if isinstance(allowed, bool) else allowed(host)

    def _pop(self, origin: Origin) -> Connection | None:
        with self._lock:
            idle = self._idle.get(origin)
            if not idle:
                return None
            connection = idle.pop()
            self._idle_count -= 1
            if not idle:
                del self._idle[origin]
            return connection

    def _open(self, origin: Origin, guard: Guard) -> Connection:
        era = self._era
        private = self.private_allowed(origin.host)
        if origin.proxy is None:
            sock = dial(origin.host, origin.port, guard, private=private)
        elif not private and is_private_name(origin.host):
            raise FetchFailed("private_address", f"{origin.host} is not on the public web")
        else:
            sock = _through_proxy(origin.proxy, origin, guard)
        if origin.scheme == "https":
            sock = self._encrypt(sock, origin.host)
        return Connection(origin, sock, era)

    def _encrypt(self, sock: GuardedSocket, host: str) -> GuardedSocket:
        try:
            # Certificates know no final dot of a host name.
            return self._tls().wrap_socket(sock, server_hostname=host.rstrip("."))
        except BaseException:
            sock.close()
            raise

    def _tls(self) -> GuardedTLSContext:
        with self._lock:
            if self._context is None:
                self._context = _tls_context(verify=self._verify)
            return self._context


def _tls_context(*, verify: bool | str) -> GuardedTLSContext:
    context = GuardedTLSContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    if verify is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if verify is True:
        import certifi

        verify = certifi.where()
    try:
        context.load_verify_locations(**{"capath" if Path(verify).is_dir() else "cafile": verify})
    except OSError as error:  # also what is no certificate
        remedy = "Pass a file or a folder of PEM certificates."
        raise BadSetting("verify", f"{verify} cannot be used ({error})", remedy) from error
    return context


def _through_proxy(proxy: str, origin: Origin, guard: Guard) -> GuardedSocket:
    """Connect to a proxy, and for https through it (RFC 9110 9.3.6)."""
    host, port, credentials = proxy_parts(proxy)
    sock: GuardedSocket | None = None
    try:
        sock = dial(host, port, guard, private=True)  # whoever names a proxy means it
        if origin.scheme == "https":
            target = f"[{origin.host}]" if ":" in origin.host else origin.host
            target = f"{target}:{origin.port}"
            request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"
            if credentials is not None:
                request += f"Proxy-Authorization: {credentials}\r\n"
            sock.sendall(f"{request}\r\n".encode())
            answer = read_answer(sock)
            if not 200 <= answer.status <= 299 or answer.waiting():
                raise FetchFailed("proxy_failed", f"the proxy said {answer.status}")
    except BaseException as error:
        if sock is not None:
            sock.close()
        if isinstance(error, FetchFailed) and error.code not in _NOT_OF_THE_PROXY:
            raise FetchFailed("proxy_failed", f"{error.code}: {error.detail}") from error
        if isinstance(error, OSError):
            raise FetchFailed("proxy_failed", str(error)) from error
        raise
    return sock
