"""What a file may list: URLs of its own folder, on its own scheme, host and port.

A file may also list the URLs of a site whose robots.txt names it. Real sites break the rule all
the time, so nothing is dropped for it: each row says where its URL lies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlkit.web.sitemap_codes import Issues, add_codes
from crawlkit.web.url_addresses import resolve_address
from crawlkit.web.urls import Refusal, url_host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

__all__ = ["Place", "judged"]

_LONG = 2_048
_OUTSIDE = ("other_dir", "other_scheme", "other_host")
# Everything that may stand in a URL but "#", which begins a fragment.
_PLAIN = r"^[!$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]]*$"
_ABSOLUTE = re.compile(r"https?://[^/?#\s]", re.I)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SPACE = re.compile(r"[\s\x00-\x20\x7f]")
_UNSAFE = re.compile(r'[<>"{}|\\^`]')


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file was found, which decides what it may list.

    Attributes
    ----------
    name
        What the column ``sitemap`` says: its URL as asked for, or the name of a local file.
    urls
        The URLs under which it was asked for and found; empty if it is no file of a site.
    submitted_by
        ``scheme://host`` of the sites whose robots.txt names it.
    sitemap_lastmod
        What the index says of the file, in seconds since 1970; None if nothing.
    fetched_at
        Seconds since 1970.
    """

    name: str
    urls: tuple[str, ...] = ()
    submitted_by: frozenset[str] = frozenset()
    sitemap_lastmod: float | None = None
    fetched_at: float = 0.0


def judged(locs: list[str], place: Place, issues: Issues) -> tuple[list[str], pa.Array | None]:
    """Return absolute URLs and their scopes, None for all "ok"; flag what is odd about each."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    pool = pa.system_memory_pool()  # Arrow's own keeps what it has had once
    array = pa.array(locs, pa.large_string(), memory_pool=pool)
    judge = _Judge(place)
    ordinary = pc.match_substring_regex(array, _PLAIN, memory_pool=pool)
    if locs and (pc.max(pc.binary_length(array)).as_py() or 0) >= _LONG:
        ordinary = pc.and_(ordinary, pc.less(pc.binary_length(array), _LONG))
    # Dot segments and the like decide where a URL lies only once they are resolved.
    dotted = pc.match_substring_regex(array, r"/(?:\.|%2e)", memory_pool=pool)
    ordinary = pc.and_(ordinary, pc.invert(dotted))
    inside = pc.and_(_starts_with(array, judge.folders), ordinary)
    if judge.folders and pc.all(inside).as_py():
        return locs, None
    beside = pc.and_(_starts_with(array, judge.origins), ordinary)
    scopes = np.where(inside.to_numpy(zero_copy_only=False), "ok", "other_dir").astype(object)
    if not judge.origins:
        scopes[:] = None
    resolved = locs
    usual = pc.and_(ordinary, _starts_with(array, ("http://", "https://")))
    for row in np.flatnonzero(~usual.to_numpy(zero_copy_only=False)).tolist():
        address, codes = judge.address(locs[row])
        if address != locs[row]:
            if resolved is locs:
                resolved = list(locs)
            resolved[row] = address
        add_codes(issues, row, *codes)
    if judge.origins:
        for row in np.flatnonzero(~beside.to_numpy(zero_copy_only=False)).tolist():
            scopes[row] = judge.scope(resolved[row])
    for row in np.flatnonzero(np.isin(scopes, _OUTSIDE)).tolist():
        add_codes(issues, row, scopes[row])
    return resolved, pa.array(scopes, pa.large_string(), memory_pool=pool)


def _starts_with(array: pa.Array, starts: Sequence[str]) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = None
    for start in starts:
        each = pc.starts_with(array, start)
        found = each if found is None else pc.or_(found, each)
    return pa.array([False] * len(array)) if found is None else found


class _Judge:
    """What a file may list: its own folder, on its own scheme, host and port."""

    def __init__(self, place: Place) -> None:
        self._scopes: dict[str, str | None] = {}
        self._base = place.urls[-1] if place.urls else None
        self._submitted_by = place.submitted_by
        urls = [url.partition("?")[0] for url in place.urls]
        self.folders = tuple(dict.fromkeys(url[: url.rindex("/") + 1] for url in urls))
        self.origins = tuple(dict.fromkeys("/".join(url.split("/")[:3]) + "/" for url in urls))
        self._hosts = {url_host(url) for url in urls}

    def address(self, loc: str) -> tuple[str, list[str]]:
        """Return what a URL comes down to, if it had to be resolved, and the codes for it."""
        codes = [code for code, odd in _ODDITIES if odd(loc)]
        if _ABSOLUTE.match(loc):
            return loc, codes
        if _SCHEME.match(loc) or self._base is None:
            return loc, [*codes, "loc_not_http" if _SCHEME.match(loc) else "loc_relative"]
        address = resolve_address(loc, self._base)
        if isinstance(address, Refusal):
            return loc, [*codes, "loc_not_http"]
        return address, [*codes, "loc_relative"]

    def scope(self, loc: str) -> str | None:
        """Return where a URL lies, seen from the file; None if there is no telling."""
        if not self.origins:
            return None
        start = "/".join(loc.split("/", 3)[:3])
        if start not in self._scopes:
            self._scopes[start] = self._scope_of_origin(start)
        scope = self._scopes[start]
        if scope != "ok":
            return scope
        address = resolve_address(loc)
        return "ok" if str(address).startswith(self.folders) else "other_dir"

    def _scope_of_origin(self, start: str) -> str | None:
        address = resolve_address(start)
        if isinstance(address, Refusal):
            return None
        if address in self.origins:
            return "ok"
        origin = address.rstrip("/")
        if origin in self._submitted_by:
            return "cross_submitted"
        return "other_scheme" if origin.partition("://")[2] in self._hosts else "other_host"


_ODDITIES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("loc_space", lambda loc: _SPACE.search(loc) is not None),
    ("loc_non_ascii", lambda loc: not loc.isascii()),
    ("loc_unsafe", lambda loc: _UNSAFE.search(loc) is not None),
    ("loc_fragment", lambda loc: "#" in loc),
    ("loc_long", lambda loc: len(loc) >= _LONG),
)
