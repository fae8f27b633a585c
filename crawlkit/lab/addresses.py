"""Addresses of the practice site: loopback only, one address or port for each host."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from typing import TYPE_CHECKING

from crawlkit.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["bind_loopback", "root_url"]

MAX_HOSTS = 250


def bind_loopback(hosts: int | Sequence[str], port: int) -> list[socket.socket]:
    """Return a bound socket for each host.

    Several hosts are 127.0.0.1, 127.0.0.2 and so on, on one port; where a system has only the
    first address (macOS), they are ports of it.

    Parameters
    ----------
    hosts
        How many, 1 to 250, or their loopback addresses.
    port
        The port; 0 takes a free one.

    Raises
    ------
    BadSetting
        On an address that is not loopback, or a port that is taken.
    """
    if isinstance(hosts, int):
        if not 1 <= hosts <= MAX_HOSTS:
            raise BadSetting("hosts", f"{hosts} is no number of hosts", f"Use 1 to {MAX_HOSTS}.")
        addresses = [f"127.0.0.{number}" for number in range(1, hosts + 1)]
    else:
        addresses = [hosts] if isinstance(hosts, str) else list(hosts)
        if not addresses:
            raise BadSetting("hosts", "there is none", "Pass a number or loopback addresses.")
    if not 0 <= port <= 65_535:
        raise BadSetting("port", f"{port} is no port", "Pass port=0 to take a free one.")
    for address in addresses:
        if not _is_loopback(address):
            problem = f"{address!r} is not a loopback address"
            raise BadSetting("hosts", problem, "The practice site is for this machine only.")
    for _ in range(20):
        try:
            return _bind_all(addresses, port)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and isinstance(hosts, int) and hosts > 1:
                return _bind_ports(hosts, port)
            if error.errno == errno.EADDRINUSE and port == 0:
                continue  # the free port of one address is taken on another
            problem = f"cannot listen on port {port} of {addresses[0]}: {error.strerror}"
            raise BadSetting("port", problem, "Pass port=0 to take a free one.") from error
    raise BadSetting("port", "no port is free on all hosts", "Use fewer hosts.")


def _is_loopback(address: str) -> bool:
    """Tell whether this is the text of a loopback address; names are not."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _bind_all(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """Bind one port on every address."""
    bound: list[socket.socket] = []
    try:
        for address in addresses:
            bound.append(_bind(address, port))
            port = port or int(bound[0].getsockname()[1])
    except BaseException:
        for each in bound:
            each.close()
        raise
    return bound


def _bind_ports(count: int, port: int) -> list[socket.socket]:
    """Bind several ports of 127.0.0.1, consecutive ones if the first is given."""
    bound: list[socket.socket] = []
    try:
        for number in range(count):
            plug = _bind("127.0.0.1", port + number if port else 0)
            bound.append(plug)
    except OSError as error:
        for each in bound:
            each.close()
        problem = f"cannot listen on {count} ports from {port}: {error.strerror}"
        raise BadSetting("port", problem, "Pass port=0 to take free ones.") from error
    return bound


def _bind(address: str, port: int) -> socket.socket:
    """Return a socket bound to one address, not yet listening."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    plug = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # a port left in TIME_WAIT can be used again at once
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        plug.bind((address, port))
    except BaseException:
        plug.close()
        raise
    return plug


def root_url(plug: socket.socket) -> str:
    """Return the root URL of a bound socket."""
    address, port = plug.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    return f"http://{shown}:{port}/"
