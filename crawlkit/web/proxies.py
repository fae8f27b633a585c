"""Which proxy a request goes through; the environment counts only where that is asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from crawlkit.web.headers import basic_credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ENVIRONMENT", "proxy_for", "proxy_parts", "proxy_problem", "without_user"]

#: The value of `Http.proxies` that asks for the variables http_proxy, https_proxy, no_proxy.
ENVIRONMENT = "environment"

_USER = re.compile(r"(?:(?<=//)|^(?![A-Za-z][A-Za-z0-9+.-]*://))[^/?#\\]*@")


def proxy_for(address: str, proxies: Mapping[str, str] | str | None) -> str | None:
    """Return the URL of the proxy for an address, or None.

    Parameters
    ----------
    address
        What is asked.
    proxies
        As in `Http`. In a mapping, the most specific key counts: ``"https://host"``,
        ``"https"``, ``"all://host"``, ``"all"``.

    Examples
    --------
    >>> proxy_for("https://example.com/", {"http": "http://a:1", "all": "http://b:2"})
    'http://b:2'
    >>> proxy_for("https://example.com/", None)
    """
    if proxies is None:
        return None
    if isinstance(proxies, str) and proxies != ENVIRONMENT:
        return proxies
    from requests.utils import get_environ_proxies, select_proxy

    if isinstance(proxies, str):
        proxies = get_environ_proxies(address)
    proxy: str | None = select_proxy(address, dict(proxies))
    if proxy is None or "://" in proxy:
        return proxy
    return f"http://{proxy}"


def proxy_problem(proxy: str) -> str | None:
    """Return what is wrong with the URL of a proxy, or None.

    Examples
    --------
    >>> proxy_problem("socks5://me:secret@localhost:1080")
    "'socks5://localhost:1080' is not http://host:port"
    >>> proxy_problem("http://localhost:3128")
    """
    try:
        parts = urlsplit(proxy)
        usable = parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    return None if usable else f"{without_user(proxy)!r} is not http://host:port"


def proxy_parts(proxy: str) -> tuple[str, int, str | None]:
    """Return a proxy's host, its port (80 when none is given), and its credentials or None.

    Examples
    --------
    >>> proxy_parts("http://me:p%40ss@proxy.example:3128")
    ('proxy.example', 3128, 'Basic bWU6cEBzcw==')
    """
    parts = urlsplit(proxy)
    credentials = None
    if parts.username:
        credentials = basic_credentials(unquote(parts.username), unquote(parts.password or ""))
    return parts.hostname or "", parts.port or 80, credentials


def without_user(url: str) -> str:
    """Return a URL, well-formed or not, without user and password.

    Examples
    --------
    >>> without_user("http://me:p@ss@example.com:99999/a@b"), without_user("me:pw@proxy:3128")
    ('http://example.com:99999/a@b', 'proxy:3128')
    """
    return _USER.sub("", url, count=1)
