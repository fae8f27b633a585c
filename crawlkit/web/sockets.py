"""Sockets that keep to the bounds of one request: a total time, and an event that stops it.

The `timeout` of a socket bounds one read; a server that sends a byte now and then is never late.
So every wait here is short (`SLICE`), and between two waits the request's guard is asked whether
there is time left. No watchdog thread is needed, and TLS works the same way. The look-up of a
host name is the one wait that the system offers no way to cut.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from crawlkit.web.addresses import is_private_address
from crawlkit.web.reasons import FetchFailed

if TYPE_CHECKING:
    import threading

    from typing_extensions import Buffer

__all__ = [
    "SLICE",
    "Guard",
    "GuardedSocket",
    "GuardedTLSContext",
    "NotYet",
    "dial",
    "wait_until_ready",
]

#: The longest single wait, in seconds: how late a stop or a deadline may be noticed.
SLICE = 0.25


class Guard:
    """The bounds of one request, and how much has arrived for it.

    Parameters
    ----------
    seconds
        The total time from now.
    stop
        Ends the request soon after it is set.
    """

    __slots__ = ("_deadline", "_stop", "received")

    def __init__(self, seconds: float, stop: threading.Event | None = None) -> None:
        self._deadline = monotonic() + seconds
        self._stop = stop
        self.received = 0

    def wait(self) -> float:
        """Return how long the next wait may last, in seconds.

        Raises
        ------
        FetchFailed
            With ``interrupted`` or ``timeout``, when there must be no further wait.
        """
        if self._stop is not None and self._stop.is_set():
            raise FetchFailed("interrupted")
        left = self._deadline - monotonic()
        if left <= 0:
            raise FetchFailed("timeout")
        return min(left, SLICE)

    def is_over(self) -> bool:
        """Return whether there must be no further wait."""
        stopped = self._stop is not None and self._stop.is_set()
        return stopped or self._deadline <= monotonic()

    def left(self) -> float:
        """Return the seconds until the deadline; negative once it has passed."""
        return self._deadline - monotonic()

    def brief(self, seconds: float) -> Guard:
        """Return a guard that ends after `seconds`, and not later than this one."""
        return Guard(min(seconds, self.left()), self._stop)


class _Unconnected(Guard):
    """The guard of a socket that has none yet: ssl reads from one to learn whether it is open."""

    __slots__ = ()

    def wait(self) -> float:
        raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))


class NotYet(Exception):
    """What is to be read has not arrived, and is not to be waited for."""


class GuardedSocket(socket.socket):
    """A TCP socket whose waits are short; its guard is replaced for each request.

    Between :meth:`look` and :meth:`look_over` it does not wait at all. What is read then is kept,
    so that a reader who misses something can begin again when more has come.
    """

    guard: Guard = _Unconnected(0.0)
    peer = ""
    _looked_at: list[bytes] | None = None
    _unread = b""

    def look(self) -> None:
        """Let reads raise `NotYet` instead of waiting, and give again what a look has read."""
        self._looked_at = [self._unread] if self._unread else []
        self.settimeout(0.0)

    def look_over(self, *, again: bool) -> None:
        """Let reads wait; with `again`, whoever reads next begins at what the look began with."""
        self._unread = b"".join(self._looked_at or ()) if again else b""
        self._looked_at = None

    def recv(self, buflen: int = 65_536, flags: int = 0) -> bytes:
        """Read what has arrived, or wait for it as long as the guard allows."""
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        guard = self.guard
        if self._looked_at is not None:
            return self._recv_at_once(self._looked_at, buflen, flags)
        while True:
            self.settimeout(guard.wait())
            try:
                data = super().recv(buflen, flags)
            except TimeoutError:
                continue
            guard.received += len(data)
            return data

    def _recv_at_once(self, kept: list[bytes], buflen: int, flags: int) -> bytes:
        try:
            data = super().recv(buflen, flags)
        except (BlockingIOError, ssl.SSLWantReadError):
            self.guard.wait()  # what is there came in time, however late it is looked at
            raise NotYet from None
        self.guard.received += len(data)
        kept.append(data)
        return data

    def sendall(self, data: Buffer, flags: int = 0) -> None:
        """Write everything, or wait for room as long as the guard allows."""
        view = memoryview(data)
        while view:
            self.settimeout(self.guard.wait())
            try:
                view = view[super().send(view, flags) :]
            except TimeoutError:
                continue


class GuardedTLSSocket(GuardedSocket, ssl.SSLSocket):
    """A TLS socket under a guard; its handshake waits in slices too."""

    def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 - as in ssl
        """Agree on encryption, however slowly the server answers, until the guard says no."""
        while True:
            self.settimeout(self.guard.wait())
            try:
                super().do_handshake(block)
            except TimeoutError:
                continue
            return


class GuardedTLSContext(ssl.SSLContext):
    """A client's TLS context whose sockets inherit the guard of the socket that they wrap."""

    sslsocket_class = GuardedTLSSocket

    def wrap_socket(self, sock: socket.socket, *args: Any, **options: Any) -> GuardedTLSSocket:
        """Encrypt a guarded socket."""
        plain = cast("GuardedSocket", sock)
        options["do_handshake_on_connect"] = False
        wrapped = cast("GuardedTLSSocket", super().wrap_socket(plain, *args, **options))
        wrapped.guard, wrapped.peer = plain.guard, plain.peer
        try:
            wrapped.do_handshake()
        except BaseException:
            wrapped.close()
            raise
        return wrapped


def wait_until_ready(sock: socket.socket, seconds: float, *, to_write: bool = False) -> bool:
    """Wait until a socket has something to read (or takes something); say whether it does.

    Parameters
    ----------
    sock
        A connected or connecting socket.
    seconds
        The longest wait.
    to_write
        Whether to wait for room to write, which is also the end of connecting.
    """
    if hasattr(select, "poll"):  # no limit on the number of files, unlike select
        poller = select.poll()
        poller.register(sock, select.POLLOUT if to_write else select.POLLIN)
        return bool(poller.poll(seconds * 1000))
    watched = [sock]
    ready = select.select(*(([], watched) if to_write else (watched, [])), watched, seconds)
    return any(ready)


def dial(host: str, port: int, guard: Guard, *, private: bool) -> GuardedSocket:
    """Connect to a host, to the very address that was checked.

    Parameters
    ----------
    host
        A name or an IP address without brackets.
    port
        1 to 65535.
    guard
        The bounds of the request.
    private
        Whether addresses outside the public web are allowed. Where they are not, they are not
        connected to, whatever name leads there: a name is looked up once, each address found is
        checked, and the connection is made to that address (no DNS rebinding).

    Raises
    ------
    FetchFailed
        With the reason.
    """
    addresses = _look_up(host, port)
    if not private:
        addresses = [item for item in addresses if not is_private_address(str(item[3][0]))]
        if not addresses:
            raise FetchFailed("private_address", f"{host} is not on the public web")
    failure = FetchFailed("connect_failed", "no address")
    for tried, (family, kind, protocol, address) in enumerate(addresses):
        try:
            sock = GuardedSocket(family, kind, protocol)
        except OSError as error:  # a family that this machine lacks, or no file handle left
            failure = FetchFailed("network_failed", str(error))
            continue
        sock.guard, sock.peer = guard, str(address[0])
        try:
            # A share for each address: one that swallows packets must not use up all the time.
            _connect(sock, address, guard, guard.left() / (len(addresses) - tried))
        except OSError as error:
            sock.close()
            failure = _connect_failure(error)
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


_Found = tuple[int, int, int, tuple[Any, ...]]


def _look_up(host: str, port: int) -> list[_Found]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        missing = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
        code = "dns_not_found" if error.errno in missing else "dns_failed"
        raise FetchFailed(code, error.strerror) from error
    except (UnicodeError, OverflowError) as error:  # a label over 63 letters, a port over 65535
        raise FetchFailed("bad_url", str(error)) from error
    return [(family, kind, protocol, address) for family, kind, protocol, _, address in found]


def _connect(sock: GuardedSocket, address: tuple[Any, ...], guard: Guard, seconds: float) -> None:
    sock.settimeout(0.0)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        sock.connect(address)
    except BlockingIOError:
        until = monotonic() + seconds
        while not wait_until_ready(sock, _connect_wait(guard, until), to_write=True):
            if monotonic() >= until:
                raise TimeoutError("no connection in time") from None
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code)) from None


def _connect_wait(guard: Guard, until: float) -> float:
    try:
        return max(min(guard.wait(), until - monotonic()), 0.0)
    except FetchFailed as failure:
        if failure.code == "timeout":
            raise FetchFailed("connect_timeout") from None
        raise


def _connect_failure(error: OSError) -> FetchFailed:
    if isinstance(error, ConnectionRefusedError):
        return FetchFailed("connect_refused", str(error))
    if isinstance(error, TimeoutError):
        return FetchFailed("connect_timeout", str(error))
    return FetchFailed("connect_failed", str(error))
