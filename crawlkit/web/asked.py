"""A request that is on its way, and whose answer nobody waits for.

One thread can so look after many requests: it sends them on connections that are open and idle,
asks the system which of them has something to read, and reads an answer when all of it is there.
What takes waiting after all (an answer that comes in pieces, a connection that turns out to be
closed) is left to a thread of its own.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from crawlkit.web.answers import read_answer
from crawlkit.web.exchange import is_closed
from crawlkit.web.reasons import FetchFailed
from crawlkit.web.sockets import NotYet

if TYPE_CHECKING:
    from crawlkit.web.connections import Connection
    from crawlkit.web.exchange import Exchange
    from crawlkit.web.response import Response

__all__ = ["Asked"]


class Asked:
    """A request that has been sent; made by `Fetcher.begin`.

    Parameters
    ----------
    exchange
        Reads the answer into a response.
    connection
        An idle connection, which the request is sent on.
    request
        The request as it goes on the wire.
    """

    __slots__ = ("_closed", "_connection", "_exchange", "_request")

    def __init__(self, exchange: Exchange, connection: Connection, request: bytes) -> None:
        self._exchange = exchange
        self._connection = connection
        self._request = request
        self._closed = False
        exchange.response.peer = connection.sock.peer
        connection.sock.settimeout(0.0)
        try:
            self._closed = connection.sock.send(request) < len(request)
        except OSError:
            self._closed = True
        if self._closed:  # the request is not whole, so the server cannot act on it
            connection.close()
        else:
            exchange.response.sent_at = monotonic()

    def fileno(self) -> int:
        """Return the handle of the socket, -1 when it is closed: there is no use in watching it."""
        return self._connection.sock.fileno()

    def is_due(self) -> bool:
        """Return whether there is no time left, so that :meth:`answer` ends it."""
        return self._exchange.guard.is_over()

    def may_take_long(self) -> bool:
        """Return whether the rest of an answer is worth all the time of the request.

        That of a redirect is not: it is waited for briefly, see :meth:`wait`.
        """
        response = self._exchange.response
        return response.location is None and response.error is None

    def close(self) -> None:
        """Give the request up."""
        self._connection.close()

    def answer(self) -> Response | None:
        """Return the response if all of it is there; None when it must be waited for."""
        if self._closed:
            return None
        sock = self._connection.sock
        sock.guard = self._exchange.guard
        sock.look()
        try:
            return self._exchange.settle(self._read)
        except NotYet:
            self._exchange.flags = []
            if not self._closed:
                sock.look_over(again=True)
            return None

    def wait(self) -> Response:
        """Return the response, however long it takes; what was read before counts."""
        if not self._closed:
            self._connection.sock.guard = self._exchange.guard
            try:
                return self._exchange.settle(self._read)
            except NotYet:
                pass
        origin, request = self._connection.origin, self._request
        return self._exchange.settle(lambda: self._exchange.run_again(origin, request))

    def _read(self) -> None:
        try:
            answer = read_answer(self._connection.sock)
        except NotYet:
            raise
        except (FetchFailed, OSError) as error:
            self._connection.close()
            if self._exchange.guard.received or not is_closed(error):
                raise
            self._closed = True
            raise NotYet from None
        except BaseException:
            self._connection.close()
            raise
        self._exchange.complete(self._connection, answer)
