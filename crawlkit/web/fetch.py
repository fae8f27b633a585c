"""One bounded HTTP request: an answer, or a reason.

`Fetcher.fetch` sends one GET and returns a `Response`. Whatever the network does - silence, drips,
bombs, broken framing, certificates, redirects to odd places - becomes a stable code in
`Response.error` or a flag in `Response.flags`, within a total time and a total size. It follows no
redirect and repeats no failed request; both are for the caller to decide, who knows about
politeness. The one exception: when an idle connection turns out to be closed, the request is sent
once more on a fresh one (RFC 9110 9.2.2), and flagged.
"""

from __future__ import annotations

import functools
import re
import time
from typing import TYPE_CHECKING, Self

from crawlkit.errors import BadSetting
from crawlkit.web.asked import Asked
from crawlkit.web.bodies import OFFERED
from crawlkit.web.connections import Connections, Origin
from crawlkit.web.credentials import Credentials, put_header
from crawlkit.web.exchange import Exchange
from crawlkit.web.headers import Headers
from crawlkit.web.http_settings import Http, check_header, is_secret_header
from crawlkit.web.proxies import proxy_for, proxy_parts, proxy_problem
from crawlkit.web.reasons import FLAGS, REASONS, RETRYABLE, FetchFailed
from crawlkit.web.response import Response
from crawlkit.web.retry import backoff_seconds, is_retryable
from crawlkit.web.sockets import Guard
from crawlkit.web.urls import safe_url

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

__all__ = [
    "FLAGS",
    "REASONS",
    "RETRYABLE",
    "Fetcher",
    "Headers",
    "Http",
    "Response",
    "backoff_seconds",
    "is_retryable",
]

# What may go on the wire without a closer look; nothing else is an address.
_ADDRESS = re.compile(r"https?://(?:[a-z0-9.\-_]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?/[!-~]*")
_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class Fetcher:
    """Sends requests and keeps connections; one per crawl, for any number of threads.

    Parameters
    ----------
    http
        How to ask.
    body_limit
        The most bytes of a body, on the wire and decoded.
    allow_private
        Whether hosts may lead to private, loopback, link-local or other addresses outside the
        public web: yes, no, or a function of the host's name. The address actually connected to
        counts. Through a proxy, only hosts written as an address can be judged.
    stop
        When this event is set, waiting requests end within half a second with ``interrupted``;
        only the look-up of a host name cannot be cut short.
    auth_hosts
        The hosts (as ``"example.com"``, ``"example.com:8080"``) that `Http.auth` and the secret
        ones among `Http.headers` are sent to. None: the first host that is asked, and never in
        the clear when it was first asked over https.

    Raises
    ------
    BadSetting
        When `http` is no `Http`, or `Http.verify` names no file or folder.

    Examples
    --------
    >>> with Fetcher(allow_private=False) as fetcher:
    ...     fetcher.fetch("http://10.0.0.1/")
    Response('http://10.0.0.1/', error='private_address')
    """

    def __init__(
        self,
        http: Http | None = None,
        *,
        body_limit: int = 10_485_760,
        allow_private: Callable[[str], bool] | bool = True,
        stop: threading.Event | None = None,
        auth_hosts: Iterable[str] | None = None,
    ) -> None:
        self.http = http = _checked_http(http)
        self._body_limit = body_limit
        self._stop = stop
        self._connections = Connections(verify=http.verify, allow_private=allow_private)
        self._credentials = Credentials(http, auth_hosts)
        self._headers = {
            "User-Agent": http.user_agent_line(),
            "Accept": _ACCEPT,
            "Accept-Encoding": OFFERED,
            "Connection": "keep-alive",
        }
        for name, value in http.header_pairs():
            if not is_secret_header(name):
                put_header(self._headers, name, value)
        self._header_lines = _lines(self._headers)

    def fetch(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body_limit: int | None = None,
        timeout: float | None = None,
        keep_start: bool = False,
    ) -> Response:
        """Send one GET request; never raises for anything that the network does.

        Parameters
        ----------
        url
            An absolute http or https URL; it is made safe as by `safe_url`.
        headers
            More headers for this request, such as If-None-Match.
        body_limit
            The most bytes of the body, on the wire and decoded; the fetcher's own when None.
        timeout
            Seconds in total; `Http.timeout` when None.
        keep_start
            Whether `body` has the beginning of a body that broke off (``truncated``, ``timeout``
            and the like), decoded, or of one above the limit, unless it is compressed.

        Returns
        -------
        Response
            With `error` set when there is no complete answer.
        """
        exchange = self._exchange(url, body_limit, timeout, keep_start=keep_start)

        def run() -> None:
            exchange.guard.wait()  # after a stop, nothing is sent
            exchange.response.url = address = safe_url(url)
            self._run(exchange, address, headers)

        return exchange.settle(run)

    def begin(self, address: str, *, body_limit: int | None = None) -> Asked | None:
        """Send one GET request if that takes no waiting, and do not wait for the answer.

        Parameters
        ----------
        address
            A URL as `safe_url` makes it.
        body_limit
            As for `fetch`.

        Returns
        -------
        Asked or None
            The request on its way; None when there is no idle connection to the host, or more to
            do than to send a request. `fetch` is the way then.
        """
        if self._credentials.in_use or not _ADDRESS.fullmatch(address):
            return None
        exchange = self._exchange(address, body_limit)
        origin, start = self._start(address)
        if origin.proxy is not None or exchange.guard.is_over():
            return None
        connection = self._connections.take_idle(origin, exchange.guard)
        if connection is None:
            return None
        return Asked(exchange, connection, f"{start}{self._header_lines}\r\n".encode())

    def fetch_following(
        self,
        url: str,
        *,
        hops: int = 5,
        before_hop: Callable[[str], str | None] | None = None,
        body_limit: int | None = None,
        keep_start: bool = False,
    ) -> list[Response]:
        """Fetch and follow redirects, for robots.txt and sitemaps.

        Parameters
        ----------
        url
            Where to begin.
        hops
            The most redirects to follow (RFC 9309 2.3.1.2: at least five).
        before_hop
            Called with each redirect's target before it is asked; it may wait for politeness, and
            returns None, or the reason why the target must not be asked.
        body_limit
            The most bytes of all bodies together; the fetcher's own limit for each when None.
        keep_start
            As in `fetch`.

        Returns
        -------
        list of Response
            Every request in order; the last one is the outcome. What was not asked (refused, a
            loop, one hop too many) is a last entry with an error and no status.
        """
        chain = [self.fetch(url, body_limit=body_limit, keep_start=keep_start)]
        while (target := chain[-1].location) is not None and chain[-1].error is None:
            reason = None
            if any(response.url == target for response in chain):
                reason = "redirect_loop"
            elif len(chain) > hops:
                reason = "too_many_redirects"
            elif before_hop is not None:
                reason = before_hop(target)
            if reason is None:
                spent = sum(response.wire_bytes for response in chain)
                left = None if body_limit is None else max(0, body_limit - spent)
                chain.append(self.fetch(target, body_limit=left, keep_start=keep_start))
            else:
                chain.append(Response(target, started_at=time.time(), error=reason))
        return chain

    def close(self) -> None:
        """Close the connections that are kept; the fetcher may be used again."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _exchange(
        self,
        url: str,
        body_limit: int | None,
        timeout: float | None = None,
        *,
        keep_start: bool = False,
    ) -> Exchange:
        response = Response(url, started_at=time.time())
        guard = Guard(self.http.timeout if timeout is None else timeout, self._stop)
        limit = self._body_limit if body_limit is None else body_limit
        return Exchange(self._connections, response, guard, limit, keep_start=keep_start)

    def _start(self, address: str) -> tuple[Origin, str]:
        """Return whom to ask, and the first lines of the request."""
        scheme, _, rest = address.partition("://")
        authority, _, path = rest.partition("/")
        proxy = proxy_for(address, self.http.proxies)
        origin = Origin(scheme, *_host_and_port(scheme, authority), proxy)
        return origin, f"GET /{path} HTTP/1.1\r\nHost: {authority}\r\n"

    def _run(self, exchange: Exchange, address: str, extra: Mapping[str, str] | None) -> None:
        origin, start = self._start(address)
        proxy = origin.proxy
        if extra is None and proxy is None and not self._credentials.in_use:
            exchange.run(origin, f"{start}{self._header_lines}\r\n".encode())
            return
        headers = dict(self._headers)
        for name, value in (extra or {}).items():
            problem = check_header(name, value)
            if problem is not None:
                raise FetchFailed("bad_request", f"{name!r}: {problem}")
            put_header(headers, name, value)
        if proxy is not None:
            problem = proxy_problem(proxy)
            if problem is not None:  # the environment's own
                raise FetchFailed("proxy_failed", problem)
            if origin.scheme == "http":  # a proxy is asked for whole URLs (RFC 9112 3.2.2)
                authority = address.partition("://")[2].partition("/")[0]
                start = f"GET {address} HTTP/1.1\r\nHost: {authority}\r\n"
                credentials = proxy_parts(proxy)[2]
                if credentials is not None:
                    start += f"Proxy-Authorization: {credentials}\r\n"
        self._run_with_credentials(exchange, origin, start, headers)

    def _run_with_credentials(
        self, exchange: Exchange, origin: Origin, start: str, headers: dict[str, str]
    ) -> None:
        response = exchange.response
        challenge = self._credentials.apply(response.url, headers)
        exchange.run(origin, f"{start}{_lines(headers)}\r\n".encode())
        self._credentials.remember(response)
        if challenge is not None and response.status == 401 and challenge.answer(response, headers):
            exchange.flags.append("auth_challenge")
            exchange.run(origin, f"{start}{_lines(headers)}\r\n".encode())
            self._credentials.remember(response)


def _checked_http(http: object) -> Http:
    if http is None:
        return Http()
    if isinstance(http, Http):
        return http
    problem = f"{type(http).__name__} is no Http"
    raise BadSetting("http", problem, 'Pass ck.Http(contact="you@example.com").')


def _lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


@functools.lru_cache(maxsize=4096)
def _host_and_port(scheme: str, authority: str) -> tuple[str, int]:
    # A colon after the last bracket: the others belong to an IPv6 address.
    host, colon, port = authority.rpartition(":")
    if not colon or "]" in port:
        host, port = authority, "443" if scheme == "https" else "80"
    return host.strip("[]"), int(port)
