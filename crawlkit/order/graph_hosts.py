"""The host of each page of a link graph, as numbers and names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.reprs import plain_text
from crawlkit.web.urls import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Hosts = str | Sequence[str] | Mapping[str, str] | Callable[[str], str]
    Numbered = tuple[NDArray[np.int32], list[str]]

__all__ = ["host_numbers"]

# Scheme and authority; user names and passwords are no part of the host.
_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.\-]*)://(?:[^/?#@]*@)?(?P<host>[^/?#]+)")
# Addresses read at a time.
_PIECE = 1 << 14
_OWN_PORTS = {"http": ":80", "https": ":443"}


def host_numbers(
    labels: Sequence[Any] | None,
    nodes: int,
    hosts: Hosts | None = None,
    known: Sequence[Any] | None = None,
) -> Numbered | None:
    """Return the number of each page's host, and the hosts' names by that number.

    Parameters
    ----------
    labels
        Addresses of the pages, if known.
    nodes
        Number of pages.
    hosts
        ``None`` or ``"host"`` for what the source says, or else the address; ``"site"`` for the
        registered domain; a sequence with a host for each page; a mapping or a function from
        labels to hosts.
    known
        The hosts that came with the source.

    Returns
    -------
    tuple of numpy.ndarray and list of str, or None
        int32 numbers by first mention; a page without a host has the name ``""``. ``None`` where
        no host is known.

    Raises
    ------
    BadSetting
        ``hosts`` is none of these, or does not fit the pages.

    Examples
    --------
    >>> numbers, names = host_numbers(["http://A.example:80/x", "https://b.example:8443/"], 2)
    >>> numbers.tolist(), names
    ([0, 1], ['a.example', 'b.example:8443'])
    """
    if hosts is None or isinstance(hosts, str):
        if hosts not in (None, "host", "site"):
            raise BadSetting(
                "hosts", f"{hosts!r} is not known", "Pass 'host', 'site', a list or a function."
            )
        numbered = _encode(known) if known is not None else _of_addresses(labels)
        return _by_site(numbered) if hosts == "site" and numbered is not None else numbered
    return _encode(_given(hosts, labels, nodes))


def _given(hosts: Any, labels: Sequence[Any] | None, nodes: int) -> Sequence[Any]:
    """Return the host of each page as the caller gave it."""
    if isinstance(hosts, Mapping) or callable(hosts):
        if labels is None:
            raise BadSetting(
                "hosts", "the pages have no labels to look up", "Pass a list, one host a page."
            )
        find = hosts.get if isinstance(hosts, Mapping) else hosts
        return [find(label) for label in labels]
    if not hasattr(hosts, "__len__") or not hasattr(hosts, "__getitem__"):
        raise BadSetting(
            "hosts",
            f"{plain_text(repr(hosts), longest=80)} gives no hosts",
            "Pass 'host', 'site', a list, a mapping or a function.",
        )
    if len(hosts) != nodes:
        raise BadSetting("hosts", f"{len(hosts)} hosts of {nodes} pages", "Pass one a page.")
    return hosts  # type: ignore[no-any-return]


def _encode(hosts: Sequence[Any]) -> Numbered:
    """Return hosts as numbers by first mention; what is missing becomes ``""``."""
    import numpy as np
    import pandas as pd

    numbers, names = pd.factorize(pd.Series(list(hosts), dtype=object), use_na_sentinel=True)
    found = [str(name) for name in names]
    if len(numbers) and int(numbers.min()) < 0:
        numbers = np.where(numbers < 0, len(found), numbers)
        found.append("")
    return numbers.astype(np.int32), found


def _of_addresses(labels: Sequence[Any] | None) -> Numbered | None:
    """Read the hosts from addresses; ``None`` where no label is one."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if labels is None or not any("://" in str(label) for label in labels[:1_000]):
        return None
    numbers = np.empty(len(labels), dtype=np.int32)
    known: dict[str | None, int] = {}
    for begin in range(0, len(labels), _PIECE):
        piece = labels[begin : begin + _PIECE]
        texts = pa.array([each if isinstance(each, str) else None for each in piece], pa.string())
        is_address = pc.fill_null(pc.match_substring(texts, "://"), fill_value=False)
        parts = pc.split_pattern(pc.if_else(is_address, texts, "://"), "/", max_splits=3)
        # One code for each beginning of an address; there are few of them.
        beginnings = pc.binary_join_element_wise(
            pc.list_element(parts, 0), pc.list_element(parts, 1), pc.list_element(parts, 2), "/"
        ).dictionary_encode()
        found = [
            known.setdefault(_host(text), len(known)) for text in beginnings.dictionary.to_pylist()
        ]
        numbers[begin : begin + len(piece)] = np.array(found)[np.asarray(beginnings.indices)]
    return numbers, [name or "" for name in known]


def _host(beginning: str) -> str | None:
    """Return the host of an address that may end behind it, without its scheme's own port."""
    found = _ADDRESS.match(beginning.lower())
    return found["host"].removesuffix(_OWN_PORTS.get(found["scheme"], " ")) if found else None


def _by_site(numbered: Numbered) -> Numbered:
    numbers, names = numbered
    sites, found = _encode([registered_domain(name) if name else "" for name in names])
    return sites[numbers], found
