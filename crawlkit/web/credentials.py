"""Secrets and cookies: which request carries them, and nobody else's does."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING, Any

from crawlkit.web.headers import basic_credentials
from crawlkit.web.http_settings import Http, is_secret_header
from crawlkit.web.reasons import FetchFailed

if TYPE_CHECKING:
    from collections.abc import Iterable

    import requests
    from requests.cookies import RequestsCookieJar

    from crawlkit.web.response import Response

__all__ = ["Challenge", "Credentials", "put_header"]

_MOST_COOKIES = 1_000
_MOST_COOKIE_BYTES = 4_096


class Credentials:
    """What `Http` says about secrets, applied to one request after the other; thread-safe.

    Parameters
    ----------
    http
        Brings `auth`, `headers` and `cookies`.
    hosts
        Who may see secrets; None for the first host asked.
    """

    def __init__(self, http: Http, hosts: Iterable[str] | None = None) -> None:
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self._first: tuple[str, str] | None = None
        self._lock = threading.Lock()
        self._secrets = {
            name: value for name, value in http.header_pairs() if is_secret_header(name)
        }
        self._auth: Any = None
        if isinstance(http.auth, tuple):
            put_header(self._secrets, "Authorization", basic_credentials(*http.auth))
        else:
            self._auth = http.auth
        self._jar = _new_jar() if http.cookies else None
        #: False when there is nothing to apply or to remember, which is the usual case.
        self.in_use = bool(self._secrets) or self._auth is not None or self._jar is not None

    def apply(self, address: str, headers: dict[str, str]) -> Challenge | None:
        """Add secrets and cookies to the headers of one request, where they belong.

        Parameters
        ----------
        address
            What is asked.
        headers
            The request's headers; changed in place.

        Returns
        -------
        Challenge or None
            What can answer a challenge of the server, when `Http.auth` is an AuthBase that does.

        Raises
        ------
        FetchFailed
            ``auth_failed`` when the AuthBase raises.
        """
        trusted = self._trusts(address)
        if trusted:
            for name, value in self._secrets.items():
                put_header(headers, name, value)
        if self._jar is not None:
            self._add_cookies(self._jar, address, headers)
        if trusted and self._auth is not None:
            return self._call_auth(address, headers)
        return None

    def remember(self, response: Response) -> None:
        """Keep the cookies that an answer sets; each only for the hosts it may be sent to."""
        lines = response.headers.get_all("set-cookie")
        if self._jar is None or not lines or len(self._jar) >= _MOST_COOKIES:
            return
        from http.client import HTTPMessage

        from requests.cookies import MockRequest, MockResponse

        message = HTTPMessage()
        for line in lines:
            if len(line) <= _MOST_COOKIE_BYTES:
                message["Set-Cookie"] = line
        request: Any = MockRequest(_prepared(response.url, {}))
        answer: Any = MockResponse(message)
        self._jar.extract_cookies(answer, request)

    def _trusts(self, address: str) -> bool:
        scheme, _, rest = address.partition("://")
        host = rest.partition("/")[0]
        if self._hosts is not None:
            return host in self._hosts
        with self._lock:
            if self._first is None:
                self._first = (scheme, host)
            return self._first[1] == host and scheme in {"https", self._first[0]}

    def _add_cookies(self, jar: RequestsCookieJar, address: str, headers: dict[str, str]) -> None:
        from requests.cookies import get_cookie_header

        kept = get_cookie_header(jar, _prepared(address, {}))  # type: ignore[no-untyped-call]
        if kept:
            given = next((value for name, value in headers.items() if name.lower() == "cookie"), "")
            put_header(headers, "Cookie", f"{given}; {kept}" if given else kept)

    def _call_auth(self, address: str, headers: dict[str, str]) -> Challenge | None:
        prepared = _prepared(address, headers)
        try:
            prepared = self._auth(prepared)
        except Exception as error:  # foreign code: its failure is a row too
            raise FetchFailed("auth_failed", repr(error)[:300]) from error
        _replace(headers, prepared)
        return Challenge(prepared) if prepared.hooks.get("response") else None


class Challenge:
    """A request prepared by an AuthBase that wants to see the answer, such as HTTPDigestAuth."""

    def __init__(self, prepared: requests.PreparedRequest) -> None:
        self._prepared = prepared
        self._answered: requests.PreparedRequest | None = None

    def answer(self, response: Response, headers: dict[str, str]) -> bool:
        """Let the AuthBase see an answer; return whether it wants to ask again.

        Parameters
        ----------
        response
            The server's answer, read completely.
        headers
            The request's headers; changed in place when there is another request to send.

        Raises
        ------
        FetchFailed
            ``auth_failed`` when the AuthBase raises, as it may on a challenge made up of nonsense.
        """
        import requests
        from requests.structures import CaseInsensitiveDict

        seen: Any = requests.Response()
        seen.status_code = response.status or 0
        seen.headers = CaseInsensitiveDict(response.headers)
        seen.url = response.url
        seen.request = self._prepared
        seen.raw = io.BytesIO(response.body)
        seen.connection = self
        try:
            for hook in self._prepared.hooks["response"]:
                hook(seen)
        except Exception as error:  # foreign code: its failure is a row too
            raise FetchFailed("auth_failed", repr(error)[:300]) from error
        if self._answered is None:
            return False
        _replace(headers, self._answered)
        return True

    def send(self, prepared: requests.PreparedRequest, **_: object) -> requests.Response:
        """Note what the AuthBase would send; the fetcher sends it, within its bounds."""
        import requests

        self._answered = prepared
        return requests.Response()


def put_header(headers: dict[str, str], name: str, value: str) -> None:
    """Set a header, replacing one whose name differs only in case.

    Examples
    --------
    >>> headers = {"Accept": "*/*"}
    >>> put_header(headers, "accept", "text/html")
    >>> headers
    {'accept': 'text/html'}
    """
    for present in [present for present in headers if present.lower() == name.lower()]:
        del headers[present]
    headers[name] = value


def _new_jar() -> RequestsCookieJar:
    from requests.cookies import RequestsCookieJar

    return RequestsCookieJar()


def _prepared(address: str, headers: dict[str, str]) -> requests.PreparedRequest:
    import requests

    prepared = requests.Request("GET", address, headers=headers).prepare()
    prepared.url = address
    return prepared


def _replace(headers: dict[str, str], prepared: requests.PreparedRequest) -> None:
    headers.clear()
    headers.update((str(name), str(value)) for name, value in prepared.headers.items())
