"""The key of a page: the spelling that all its addresses share; deduplication uses nothing else.

A key is an address with rules applied to it, so it is a URL too, and the key of a key is the key
itself under the same rules. A key is not asked for: that is what the address is for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from crawlkit.errors import BadSetting
from crawlkit.web.url_addresses import Refusal, resolve_address, safe_tail

__all__ = [
    "DEFAULT_RULES",
    "KEY_RULES",
    "KeyMaker",
    "UrlRules",
    "key_maker",
    "parameter_list",
    "url_hash",
]

KEY_RULES: dict[str, str] = {
    "scheme": "https on its default port is written as http",
    "www": 'a leading "www." of the host is dropped',
    "path_case": "the path is in lower case",
    "session_ids": "session ids are dropped, from the query and from the path",
    "drop_parameters": "parameters named by the caller are dropped",
    "tracking": "tracking parameters are dropped",
    "sort_query": "parameters are sorted by name, and empty ones (&&) dropped",
    "index_file": "a last path segment such as index.html is dropped",
    "trailing_slash": "slashes at the end of the path are dropped, except the root's",
}
"""The rules that make a key of an address, in the order in which they apply."""

_LISTS = Path(__file__).with_name("data") / "tracking_parameters.json"
_WWW = re.compile(r"(?:www\.)+(?=[^.:]+\.[^.:])")
_ESCAPE = re.compile(r"%[0-9a-f]{2}")
# What Apache, nginx, IIS and Tomcat serve for a folder out of the box, and their like.
_INDEX_FILE = re.compile(
    r"(?<=/)(?:index\.(?:html?|xhtml|shtml|php\d?|phtml|aspx?|jspx?|cfm|cgi|pl)"
    r"|default\.(?:html?|aspx?))\Z",
    re.I,
)
# ASP.NET writes 24 letters and digits: /(S(lit3py55t21z5v55vlm25s55))/ and, before 2.0, /(...)/.
_ASPNET_SEGMENT = r"/\((?:(?:[A-Z]\([0-9A-Z]{24}\))+|[0-9A-Z]{24})\)(?=/|\Z)"
_VERDICTS_KEPT = 4_096
_NAME_KEPT = 128


@cache
def parameter_list(kind: str) -> frozenset[str]:
    """Return the kept list of parameter names, in lower case; ``*`` ends the start of a name.

    Parameters
    ----------
    kind
        ``"tracking"``, ``"session"``, or ``"session_in_path"``: the session ids that also stand
        behind a semicolon in the path.

    Examples
    --------
    >>> sorted(parameter_list("session_in_path"))
    ['jsessionid', 'phpsessid', 'sessionid', 'sid']
    """
    lists = json.loads(_LISTS.read_text(encoding="utf-8"))
    if kind == "session_in_path":
        return frozenset(one["name"].lower() for one in lists["session"] if one["in_path"])
    return frozenset(one["name"].lower() for one in lists[kind])


@dataclass(frozen=True, slots=True)
class UrlRules:
    """What makes two addresses one page; part of a crawl's settings.

    Case and escapes, dot segments, the default port, user info and the fragment are settled
    before: they make the address (see :func:`~crawlkit.web.urls.safe_url`). The first rules here
    are on by default, since servers that answer otherwise are rare. The others are off, since
    they merge different pages on some sites; ``check_url_rules`` tests them on the site itself.

    Parameters
    ----------
    tracking
        Drop tracking parameters (``utm_source``, ``gclid``, ``fbclid`` ...).
    tracking_parameters
        Names to drop instead of the kept list; without regard to case, and ``*`` at the end
        stands for any continuation.
    drop_parameters
        Names to drop besides; as they are written, and ``*`` at the end as before.
    session_ids
        Drop session ids: ``PHPSESSID``, ``sid``, ``osCsid`` ... in the query, ``;jsessionid=``
        and ASP.NET's ``/(S(...))/`` in the path.
    sort_query
        Sort parameters by name. Those of one name keep their order; ``a`` and ``a=`` stay apart.
    trailing_slash
        Drop slashes at the end of the path, except the root's.
    index_file
        Drop a last path segment that is ``index.html``, ``index.php``, ``default.aspx`` ...
    www
        Drop a leading ``www.`` of the host, if a name with a dot remains.
    scheme
        Write ``https`` as ``http`` where no port is given, so that both are one page. With a
        port they stay apart: a port speaks one of the two.
    path_case
        Write the path in lower case, the query not.

    Raises
    ------
    BadSetting
        If a list of names is one string, or holds anything else than names.

    Examples
    --------
    >>> from crawlkit.web.urls import normalize_url
    >>> rules = UrlRules(trailing_slash=True, drop_parameters=("view",))
    >>> normalize_url("https://example.com/shoes/?view=grid&utm_source=mail", rules)
    'https://example.com/shoes'
    """

    tracking: bool = True
    tracking_parameters: frozenset[str] | None = None
    drop_parameters: tuple[str, ...] = ()
    session_ids: bool = False
    sort_query: bool = True
    trailing_slash: bool = False
    index_file: bool = False
    www: bool = False
    scheme: bool = False
    path_case: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.default in (True, False) and not isinstance(getattr(self, field.name), bool):
                raise BadSetting(f"url_rules.{field.name}", "neither True nor False", "Pass one.")
        dropped = _names("drop_parameters", self.drop_parameters)
        object.__setattr__(self, "drop_parameters", tuple(dict.fromkeys(dropped)))
        if self.tracking_parameters is not None:
            names = _names("tracking_parameters", self.tracking_parameters)
            object.__setattr__(self, "tracking_parameters", frozenset(names))

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as JSON types.

        Examples
        --------
        >>> UrlRules.from_dict(UrlRules(www=True).to_dict()) == UrlRules(www=True)
        True
        """
        saved = {field.name: getattr(self, field.name) for field in fields(self)}
        saved["drop_parameters"] = list(self.drop_parameters)
        if self.tracking_parameters is not None:
            saved["tracking_parameters"] = sorted(self.tracking_parameters)
        return saved

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> UrlRules:
        """Return the rules that :meth:`to_dict` wrote; a missing name means its default.

        Raises
        ------
        BadSetting
            If a name is unknown, as in a folder of a newer version.
        """
        unknown = sorted(set(saved) - {field.name for field in fields(cls)})
        if unknown:
            known = ", ".join(field.name for field in fields(cls))
            raise BadSetting(f"url_rules.{unknown[0]}", "no such rule", f"There are: {known}.")
        return cls(**saved)


def _names(setting: str, given: object) -> list[str]:
    """Check a list of parameter names given by the caller."""
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [None]
    names = [name for name in listed if isinstance(name, str) and name]
    if len(names) != len(listed):
        raise BadSetting(
            f"url_rules.{setting}", "not a list of names", 'Pass a tuple such as ("view", "sort").'
        )
    return names


DEFAULT_RULES = UrlRules()
"""The rules in force where none are given."""


class _Names:
    """A set of names and beginnings of names."""

    def __init__(self, names: frozenset[str] | tuple[str, ...], *, fold: bool) -> None:
        spelled = {name.lower() if fold else _as_in_address(name) for name in names}
        self._fold = fold
        self._whole = frozenset(name for name in spelled if not name.endswith("*"))
        self._starts = tuple(name[:-1] for name in spelled if name.endswith("*"))

    def __contains__(self, name: str) -> bool:
        name = name.lower() if self._fold else name
        return name in self._whole or name.startswith(self._starts)


def _as_in_address(name: str) -> str:
    """Spell a name that a caller gives as it stands in an address: ``size[]`` -> ``size%5B%5D``."""
    address = resolve_address(f"http://localhost/?{name.replace('#', '%23').replace('&', '%26')}=")
    return safe_tail(name) if isinstance(address, Refusal) else address.partition("?")[2][:-1]


class _Verdicts(dict[str, str | None]):
    """For each parameter name, the rule that drops it, or None; bounded."""

    def __init__(self, rules: UrlRules) -> None:
        super().__init__()
        tracking = rules.tracking_parameters
        self._lists: list[tuple[str, _Names]] = []
        if rules.session_ids:
            self._lists.append(("session_ids", _Names(parameter_list("session"), fold=True)))
        if rules.drop_parameters:
            self._lists.append(("drop_parameters", _Names(rules.drop_parameters, fold=False)))
        if rules.tracking:
            names = parameter_list("tracking") if tracking is None else tracking
            self._lists.append(("tracking", _Names(names, fold=True)))

    def __missing__(self, name: str) -> str | None:
        rule = next((rule for rule, names in self._lists if name in names), None)
        if len(name) <= _NAME_KEPT:
            if len(self) >= _VERDICTS_KEPT:
                self.clear()
            self[name] = rule
        return rule


class KeyMaker:
    """Makes keys of addresses by one set of rules; use :func:`key_maker` to get one.

    Examples
    --------
    >>> KeyMaker(UrlRules()).key("https://example.com/?b=2&gclid=x&a=1")
    'https://example.com/?a=1&b=2'
    """

    def __init__(self, rules: UrlRules) -> None:
        self.rules = rules
        self._verdicts = _Verdicts(rules)
        self._changes_front = (
            rules.scheme or rules.www or rules.path_case or rules.session_ids
            or rules.index_file or rules.trailing_slash
        )  # fmt: skip
        behind_semicolon = "|".join(sorted(parameter_list("session_in_path")))
        self._session = re.compile(rf";(?:{behind_semicolon})=[^/;]*|{_ASPNET_SEGMENT}", re.I)

    def key(self, address: str, fired: list[str] | None = None) -> str:
        """Return the key of an address.

        Parameters
        ----------
        address
            An address as ``safe_url`` makes it; anything else gives a wrong key.
        fired
            A list that the names of the rules that changed something are added to.

        Returns
        -------
        str
            The key; the same object as the address if no rule changed it.
        """
        front, mark, query = address.partition("?")
        if not (mark or self._changes_front):
            return address
        names: list[str] = []
        kept_front = self._front_key(front, names) if self._changes_front else front
        kept_query = self._query_key(query, names) if mark else ""
        if not names:
            return address
        if fired is not None:
            fired += [rule for rule in KEY_RULES if rule in names]
        return f"{kept_front}?{kept_query}" if kept_query else kept_front

    def _query_key(self, query: str, fired: list[str]) -> str:
        """Drop and sort parameters."""
        parameters = query.split("&")
        verdicts = self._verdicts
        kept = []
        for parameter in parameters:
            rule = verdicts[parameter.partition("=")[0]]
            if rule is None:
                kept.append(parameter)
            else:
                fired.append(rule)
        if self.rules.sort_query:
            ordered = sorted(filter(None, kept), key=_parameter_name)
            if ordered != kept:
                fired.append("sort_query")
                kept = ordered
        return "&".join(kept)

    def _front_key(self, front: str, fired: list[str]) -> str:
        """Apply the rules on scheme, host and path."""
        scheme, _, rest = front.partition("://")
        host, _, path = rest.partition("/")
        path = "/" + path
        if self.rules.scheme and scheme == "https" and ":" not in host.rpartition("]")[2]:
            scheme = "http"
            fired.append("scheme")
        if self.rules.www and (found := _WWW.match(host)):
            host = host[found.end() :]
            fired.append("www")
        before = None
        while path != before:  # one rule may give another something to do: /a/index.html/
            before = path
            path = self._path_key(path, fired)
        return f"{scheme}://{host}{path}"

    def _path_key(self, path: str, fired: list[str]) -> str:
        """Apply each rule on the path once."""
        if self.rules.path_case:
            lower = _ESCAPE.sub(lambda match: match[0].upper(), path.lower())
            path = _changed(path, lower, "path_case", fired)
        if self.rules.session_ids and (";" in path or "(" in path):
            path = _changed(path, self._without_session(path), "session_ids", fired)
        if self.rules.index_file:
            path = _changed(path, _INDEX_FILE.sub("", path), "index_file", fired)
        if self.rules.trailing_slash:
            path = _changed(path, path.rstrip("/") or "/", "trailing_slash", fired)
        return path

    def _without_session(self, path: str) -> str:
        path = self._session.sub("", path) or "/"
        if "/." not in path:
            return path
        # "/a/..;sid=1" has become "/a/..", which is a dot segment
        address = resolve_address(f"http://localhost{path}")
        return path if isinstance(address, Refusal) else address.removeprefix("http://localhost")


def _parameter_name(parameter: str) -> str:
    return parameter.partition("=")[0]


def _changed(before: str, after: str, rule: str, fired: list[str]) -> str:
    if before != after:
        fired.append(rule)
    return after


@lru_cache(maxsize=64)
def key_maker(rules: UrlRules) -> KeyMaker:
    """Return the maker of keys by these rules; the same one for equal rules.

    Examples
    --------
    >>> key_maker(UrlRules(www=True)) is key_maker(UrlRules(www=True))
    True
    """
    return KeyMaker(rules)


def url_hash(key: str) -> int:
    """Return the 64-bit hash of a key, as SQLite and Parquet store it.

    Parameters
    ----------
    key
        A key as ``normalize_url`` makes it.

    Returns
    -------
    int
        BLAKE2b of 8 bytes, big endian, signed: from -2**63 to 2**63 - 1.

    Examples
    --------
    >>> url_hash("https://example.com/")
    1493557592560457051
    """
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
