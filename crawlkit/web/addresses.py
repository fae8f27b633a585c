"""Which network addresses are part of the public web."""

from __future__ import annotations

import functools
import ipaddress

__all__ = ["is_private_address", "is_private_name"]

# IPv6 prefixes that carry an IPv4 address, and how many bits follow it: what they carry decides.
_CARRIERS = (
    (ipaddress.IPv6Network("::ffff:0:0/96"), 0),  # mapped (RFC 4291)
    (ipaddress.IPv6Network("64:ff9b::/96"), 0),  # NAT64 (RFC 6052)
    (ipaddress.IPv6Network("2002::/16"), 80),  # 6to4 (RFC 3056)
)


@functools.lru_cache(maxsize=4096)
def is_private_address(address: str) -> bool:
    """Say whether an IP address is anything but a public one.

    Parameters
    ----------
    address
        An IPv4 or IPv6 address as text, without brackets; a zone is ignored.

    Returns
    -------
    bool
        True for loopback, private, link-local, shared (100.64.0.0/10), multicast, reserved and
        documentation addresses, for IPv6 addresses that carry one of those, and for anything that
        is no address.

    Examples
    --------
    >>> [is_private_address(a) for a in ("127.0.0.1", "::ffff:10.0.0.1", "100.64.0.1", "fe80::1%2")]
    [True, True, True, True]
    >>> is_private_address("93.184.215.14"), is_private_address("::ffff:93.184.215.14")
    (False, False)
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return True
    if isinstance(parsed, ipaddress.IPv6Address):
        for network, shift in _CARRIERS:
            if parsed in network:
                parsed = ipaddress.IPv4Address(int(parsed) >> shift & 0xFFFF_FFFF)
                break
        else:
            if parsed.is_site_local:
                return True
    return parsed.is_multicast or not parsed.is_global


def is_private_name(host: str) -> bool:
    """Say whether a host is private without looking it up: by its name or written address.

    Examples
    --------
    >>> [is_private_name(host) for host in ("localhost", "10.0.0.1", "::1", "example.com")]
    [True, True, True, False]
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761 6.3
        return True
    # An address has a colon, or ends in a digit; no top-level domain does.
    return (":" in name or name[-1:].isdigit()) and is_private_address(name)
