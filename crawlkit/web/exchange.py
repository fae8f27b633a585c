"""One request on the wire, and its answer written into a `Response` as it becomes known.

Whatever ends an exchange early leaves the response with what was known by then: a truncated page
still has its status and headers.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from crawlkit.errors import BadURL
from crawlkit.web.answers import Answer, read_answer
from crawlkit.web.bodies import decode_body, decode_start
from crawlkit.web.headers import content_type_of
from crawlkit.web.proxies import without_user
from crawlkit.web.reasons import FetchFailed, reason_for
from crawlkit.web.retry import retry_after_seconds
from crawlkit.web.sockets import NotYet
from crawlkit.web.url_addresses import Refusal, resolve_address

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlkit.web.connections import Connection, Connections, Origin
    from crawlkit.web.response import Response
    from crawlkit.web.sockets import Guard

__all__ = ["Exchange", "is_closed"]

_REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
#: The body of a redirect is read only where that costs next to nothing and saves a connection.
_DRAIN_BYTES = 65_536
_DRAIN_SECONDS = 0.25


class Exchange:
    """Sends requests for one response, within the bounds of its guard.

    Parameters
    ----------
    connections
        Where connections come from and go back to.
    response
        Is filled.
    guard
        The bounds in time.
    limit
        The most bytes of the body, on the wire and decoded.
    keep_start
        Whether the beginning of a body that is too large or breaks off is kept.

    Attributes
    ----------
    flags : list of str
        What was odd.
    response : Response
        What was given.
    start : bytes
        The beginning of a body that broke off, decoded; only with `keep_start`.
    """

    __slots__ = (
        "_begun",
        "_connections",
        "_head_end",
        "_keep_start",
        "_limit",
        "flags",
        "guard",
        "response",
        "start",
    )

    def __init__(
        self,
        connections: Connections,
        response: Response,
        guard: Guard,
        limit: int,
        *,
        keep_start: bool = False,
    ) -> None:
        self._keep_start = keep_start
        self._connections = connections
        self.response = response
        self._begun = monotonic()
        self.guard = guard
        self._limit = limit
        self._head_end: int | None = None
        self.flags: list[str] = []
        self.start = b""

    def run(self, origin: Origin, request: bytes) -> None:
        """Send a request and read its answer.

        Parameters
        ----------
        origin
            Whom to ask.
        request
            The request as it goes on the wire.

        Raises
        ------
        FetchFailed, OSError
            When there is no complete answer.
        """
        received = self.guard.received
        connection = self._connections.take(origin, self.guard)
        try:
            answer = self._send(connection, request)
        except (FetchFailed, OSError) as error:
            silent = self.guard.received == received
            if not (connection.used and silent and is_closed(error)):
                raise
            self.run_again(origin, request)
        else:
            self.complete(connection, answer)

    def run_again(self, origin: Origin, request: bytes) -> None:
        """Send a request once more, on a fresh connection, since an idle one was closed."""
        self.flags.append("reconnected")
        connection = self._connections.take(origin, self.guard, fresh=True)
        self.complete(connection, self._send(connection, request))

    def settle(self, act: Callable[[], None]) -> Response:
        """Return the response, with the reason in it if reading it fails."""
        response, limit = self.response, self._limit
        try:
            act()
        except FetchFailed as failure:
            response.error, response.detail = failure.code, failure.detail
            if self._keep_start and "content-encoding" not in response.headers:
                response.body = failure.start
        except BadURL as bad:
            response.url, response.error = without_user(str(response.url)), bad.reason
        except (OSError, ValueError) as error:
            # Sockets, TLS and requests raise OSErrors; what cannot be encoded is a ValueError.
            response.error, response.detail = reason_for(error)
        if response.error is not None and self.start:
            response.body = self.start
        if response.error is not None and not response.wire_bytes:
            # What came with the head beyond the limit was not asked for and is not counted.
            response.wire_bytes = min(self.body_bytes_so_far(), limit)
        response.flags = tuple(self.flags)
        response.elapsed = monotonic() - self._begun
        return response

    def complete(self, connection: Connection, answer: Answer) -> None:
        """Read an answer whose head is known, and give its connection back."""
        try:
            self._head_end = self.guard.received - answer.waiting()
            self._describe(answer)
            if not self._follow(connection, answer):
                self._read(answer)
        except NotYet:
            raise
        except BaseException:
            connection.close()
            raise
        finally:
            self.flags += answer.flags
        if answer.reusable():
            connection.sock.look_over(again=False)
            self._connections.give(connection)
        else:
            connection.close()

    def body_bytes_so_far(self) -> int:
        """Return how much of the body has arrived, frames of chunks included."""
        return 0 if self._head_end is None else self.guard.received - self._head_end

    def _send(self, connection: Connection, request: bytes) -> Answer:
        self.response.peer = connection.sock.peer
        try:
            connection.sock.sendall(request)
            self.response.sent_at = monotonic()
            return read_answer(connection.sock)
        except BaseException:
            connection.close()
            raise

    def _describe(self, answer: Answer) -> None:
        response, headers = self.response, answer.headers
        response.status = answer.status
        response.headers = headers
        response.content_type, repeated = content_type_of(headers)
        if repeated:
            self.flags.append("duplicate_content_type")
        response.retry_after = retry_after_seconds(
            headers.get("retry-after"), date=headers.get("date")
        )

    def _follow(self, connection: Connection, answer: Answer) -> bool:
        """Find out where a redirect leads; return False when this is none."""
        response = self.response
        said = answer.location() if answer.status in _REDIRECTS else None
        if said is None:
            return False
        target = resolve_address(said, response.url)
        if isinstance(target, Refusal):
            odd = "redirect_not_http" if target.reason == "not_http" else "redirect_bad_url"
            response.error, response.detail = odd, f"{target.reason}: {said[:200]!a}"
        else:
            response.location = target
            if response.url.startswith("https:") and target.startswith("http:"):
                self.flags.append("downgrade")
        self._drain(connection, answer)
        return True

    def _drain(self, connection: Connection, answer: Answer) -> None:
        """Read what a redirect says besides its target, if it is short and quick."""
        connection.sock.guard = self.guard.brief(_DRAIN_SECONDS)
        try:
            self.response.wire_bytes = len(answer.read_body(min(_DRAIN_BYTES, self._limit)))
        except (FetchFailed, OSError):
            answer.give_up()

    def _read(self, answer: Answer) -> None:
        response = self.response
        codings = answer.codings()
        try:
            wire = answer.read_body(self._limit, keep_start=self._keep_start)
        except (FetchFailed, OSError) as failure:
            if self._keep_start and getattr(failure, "code", None) != "body_too_large":
                self.start = decode_start(answer.arrived(), codings, self._limit)
            raise
        response.wire_bytes = len(wire)
        if not codings:
            response.body = wire
            return
        try:
            decoded = decode_body(wire, codings, self._limit)
        except FetchFailed as failure:
            if self._keep_start and failure.code == "truncated":
                self.start = decode_start(wire, codings, self._limit)
            raise
        response.body, response.error = decoded.body, decoded.error
        self.flags += decoded.flags


def is_closed(error: Exception) -> bool:
    """Tell whether an error says that the server has closed the connection."""
    return isinstance(error, ConnectionError) or getattr(error, "code", "") == "empty_reply"
