"""How crawlkit presents itself to servers: user agent, time, headers, secrets, proxies, TLS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from crawlkit.errors import BadSetting
from crawlkit.version import __version__
from crawlkit.web.proxies import ENVIRONMENT, proxy_problem, without_user

if TYPE_CHECKING:
    from requests.auth import AuthBase

__all__ = ["Http", "check_header", "is_secret_header"]

#: What the fetcher itself decides; an answer that these asked for could not be read safely.
_OWN_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "range",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
#: Headers whose values are written into a crawl folder. No list of secret names is ever complete,
#: so this is the list of the harmless ones.
_HARMLESS_HEADERS = frozenset(
    {"accept", "accept-language", "cache-control", "dnt", "from", "pragma", "referer", "save-data"}
)
_SECRET_PARTS = re.compile(r"auth|cookie|token|secret|session|passw|credential|signature|api-?key")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True, repr=False)
class Http:
    """How to ask: everything about requests that is not about one URL.

    Parameters
    ----------
    user_agent
        The product that asks, for example ``"mybot/1.0"``; robots.txt rules are matched with its
        name.
    contact
        An address or URL where the owner of a site reaches you; added to the User-Agent line.
    timeout
        Seconds for one request in total: connection, encryption, headers and body. Only the
        look-up of a host name cannot be cut short.
    retries
        How often a crawl asks again after a failure that time may cure.
    headers
        More headers: a mapping, or pairs. Those that look secret (Authorization, Cookie, tokens,
        keys) go only where `auth` goes; the others go to every host.
    auth
        ``(user, password)``, or an AuthBase of requests that sets headers. It is sent only to the
        first host that is asked, or to the `auth_hosts` given to the fetcher.
    proxies
        None: no proxy, and no environment variable is read. A URL: this proxy for everything. A
        mapping from ``"http"``, ``"https"``, ``"all"`` or ``"https://host"`` to a proxy's URL.
        ``"environment"``: the environment's variables. Proxies are ``http://``.
    cookies
        False: cookies are neither kept nor sent. True: one jar per crawl.
    verify
        True: certificates are checked against certifi's list. A path: against this file or
        folder. False: they are not checked.

    Raises
    ------
    BadSetting
        When a value cannot work.

    Examples
    --------
    >>> http = Http(user_agent="mybot/1.0", contact="https://example.com/bot", auth=("me", "pw"))
    >>> http.user_agent_line()
    'mybot/1.0 (+https://example.com/bot)'
    >>> "pw" in repr(http), http.to_dict()["auth"]
    (False, 'not saved')
    """

    user_agent: str = f"crawlkit/{__version__}"
    contact: str | None = None
    timeout: float = 30.0
    retries: int = 2
    headers: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    auth: tuple[str, str] | AuthBase | None = None
    proxies: Mapping[str, str] | str | None = field(default=None, hash=False)
    cookies: bool = False
    verify: bool | str = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "headers", _header_pairs(self.headers))
        _check_text("user_agent", self.user_agent)
        if self.contact is not None:
            _check_text("contact", self.contact)
        _check_number("timeout", self.timeout, above=0)
        _check_number("retries", self.retries, above=-1)
        _check_auth(self.auth)
        if isinstance(self.proxies, Mapping):
            object.__setattr__(self, "proxies", dict(self.proxies))
        _check_proxies(self.proxies)
        if not isinstance(self.verify, bool):
            object.__setattr__(self, "verify", str(self.verify))

    def header_pairs(self) -> tuple[tuple[str, str], ...]:
        """Return `headers` as pairs, which is how they are kept whatever was given."""
        return cast("tuple[tuple[str, str], ...]", self.headers)

    def user_agent_line(self) -> str:
        """Return the User-Agent header: the product, and the contact where there is one."""
        return self.user_agent if self.contact is None else f"{self.user_agent} (+{self.contact})"

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for a file, without any secret.

        Returns
        -------
        dict
            JSON types only. `auth` is ``"not saved"`` where there is one; so are the values of
            headers that are not known to be harmless; proxies are without user and password.
        """
        return {
            "user_agent": self.user_agent,
            "contact": self.contact,
            "timeout": self.timeout,
            "retries": self.retries,
            "headers": [
                [name, value if name.lower() in _HARMLESS_HEADERS else _NOT_SAVED]
                for name, value in self.header_pairs()
            ],
            "auth": None if self.auth is None else _NOT_SAVED,
            "proxies": self._proxies_without_users(),
            "cookies": self.cookies,
            "verify": self.verify,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Http:
        """Return the settings of `to_dict`; what was not saved has to be given again.

        Examples
        --------
        >>> Http.from_dict(Http(timeout=5, auth=("me", "pw")).to_dict()).auth is None
        True
        """
        known = {name: saved[name] for name in cls.__slots__ if name in saved}
        known["headers"] = [pair for pair in saved.get("headers", ()) if pair[1] != _NOT_SAVED]
        known["auth"] = None
        return cls(**known)

    def _proxies_without_users(self) -> dict[str, str] | str | None:
        if isinstance(self.proxies, Mapping):
            return {key: without_user(url) for key, url in self.proxies.items()}
        return self.proxies and without_user(self.proxies)

    def __repr__(self) -> str:
        return f"Http({', '.join(f'{key}={value!r}' for key, value in self.to_dict().items())})"


_NOT_SAVED = "not saved"


def is_secret_header(name: str) -> bool:
    """Say whether a header looks as if it carried a secret.

    Examples
    --------
    >>> is_secret_header("X-Api-Key"), is_secret_header("Accept-Language")
    (True, False)
    """
    return _SECRET_PARTS.search(name.lower()) is not None


def check_header(name: object, value: object) -> str | None:
    """Return what is wrong with a request header, or None.

    Examples
    --------
    >>> check_header("If-None-Match", '"abc"')
    >>> check_header("X", "a" + chr(10) + "Host: b")
    'its value has control characters'
    """
    if not isinstance(name, str) or not isinstance(value, str):
        return "a header is a pair of strings"
    if not _TOKEN.fullmatch(name):
        return "its name is not allowed in HTTP"
    if _FORBIDDEN.search(value):
        return "its value has control characters"
    if name.lower() in _OWN_HEADERS:
        return "crawlkit sets this header itself"
    return None


def _header_pairs(headers: object) -> tuple[tuple[str, str], ...]:
    remedy = 'Pass a mapping such as {"Accept-Language": "en"}.'
    items = headers.items() if isinstance(headers, Mapping) else headers
    if items is None:
        return ()
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise BadSetting("headers", f"{type(headers).__name__} is not a mapping", remedy)
    pairs: list[tuple[str, str]] = []
    for item in items:
        if isinstance(item, str) or len(item) != 2:
            raise BadSetting("headers", "a header is a pair of strings", remedy)
        name, value = item
        problem = check_header(name, value)
        if problem is not None:
            raise BadSetting("headers", f"{name!r}: {problem}", remedy)
        if name.lower() == "user-agent":
            raise BadSetting("headers", "User-Agent is a setting of its own", "Pass user_agent=.")
        pairs.append((name, value))
    return tuple(pairs)


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip() or not value.isascii():
        raise BadSetting(name, f"{value!r} is no ASCII text", "Pass a short string.")
    if _FORBIDDEN.search(value):
        raise BadSetting(name, "it has control characters", "Pass one line of text.")


def _check_number(name: str, value: object, *, above: float) -> None:
    kinds = int if name == "retries" else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise BadSetting(name, f"{value!r} is not a number", "Pass a number.")
    if not above < value < float("inf"):
        raise BadSetting(name, f"{value!r} is out of range", f"Pass a number above {above}.")


def _check_auth(auth: object) -> None:
    remedy = 'Pass ("user", "password") or an AuthBase of requests.'
    if auth is None or (callable(auth) and not isinstance(auth, type)):
        return
    if not isinstance(auth, tuple) or [type(part) for part in auth] != [str, str]:
        raise BadSetting("auth", "it is no pair of strings", remedy)
    if ":" in auth[0]:
        raise BadSetting("auth", "a user name cannot contain a colon (RFC 7617)", remedy)


def _check_proxies(proxies: object) -> None:
    remedy = 'Pass "http://host:port", a mapping of such, or "environment".'
    if proxies is None or proxies == ENVIRONMENT:
        return
    for proxy in proxies.values() if isinstance(proxies, Mapping) else [proxies]:
        problem = proxy_problem(proxy) if isinstance(proxy, str) else "a proxy is a string"
        if problem is not None:
            raise BadSetting("proxies", problem, remedy)
