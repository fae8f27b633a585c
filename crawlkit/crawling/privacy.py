"""Whether a crawl may ask hosts with private addresses: only where its seeds are private."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["private_allowance"]


def _is_private(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        return False


def private_allowance(seed_hosts: Iterable[str]) -> Callable[[str], bool] | bool:
    """Return what the fetcher may do with private addresses.

    A crawl that starts at a private address, as on one's own machine, may go to others. Any other
    may only go there for the hosts that its seeds name: a name of an intranet, say. So a public
    page cannot send the crawler to a neighbor of its own machine.

    Examples
    --------
    >>> private_allowance(["127.0.0.1:8000"])
    True
    >>> private_allowance(["example.com"])("10.0.0.1")
    False
    """
    names = {urlsplit(f"//{host}").hostname or "" for host in seed_hosts}
    if any(_is_private(name) for name in names):
        return True
    return lambda host: (urlsplit(f"//{host}").hostname or "") in names
