"""What tables say of many URLs: their parts, and the templates that they follow."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from crawlkit.web.url_addresses import Refusal, registered_domain, resolve_address, safe_url
from crawlkit.web.url_keys import DEFAULT_RULES, KeyMaker, UrlRules, key_maker, url_hash
from crawlkit.web.url_spelling import spelling_changes

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

__all__ = ["url_table", "url_template"]

# column -> pandas dtype
_COLUMNS = {
    "given": "str",
    "url": "str",
    "key": "str",
    "url_hash": "Int64",
    "scheme": "str",
    "host": "str",
    "domain": "str",
    "path": "str",
    "query": "str",
    "depth_of_path": "Int64",
    "parameters": "str",
    "parameter_count": "Int64",
    "template": "str",
    "rules": "str",
    "error": "str",
}
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_YEAR_MONTH = r"(?:19|20)\d\d[-_](?:0?[1-9]|1[0-2])"
_DATE = rf"{_YEAR_MONTH}(?:[-_](?:0?[1-9]|[12]\d|3[01]))?(?:T\d\d(?:%3A|:)?\d\d\S*)?"
_PARTS = re.compile(
    rf"(?P<uuid>{_UUID})|(?<![0-9])(?P<date>{_DATE})(?![0-9])|(?P<number>\d+)", re.I
)
_HASH = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,}\Z", re.I)
_TOKEN = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9_-]{20,}\Z")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}\Z")
_WORD_BREAK = re.compile(r"[-_+.]|%20")
_SLUG_LENGTH = 16
_SLUG_WORDS = 3


def url_template(url: str) -> str:
    """Return the pattern that a URL follows: URLs of one region of a site share it.

    The host, then the path with what varies between pages of one kind put in braces, then the
    names of the parameters, sorted, without their values. In a path segment and in a name

    - ``{uuid}`` stands for a UUID,
    - ``{hash}`` for 16 or more hexadecimal digits, or 20 or more letters of both cases and digits,
    - ``{date}`` for a year with a month, or a day (``2024-05``, ``2024-05-17``),
    - ``{slug}`` for a title: three or more words and 16 or more characters, numbers included,
    - ``{number}`` for any other run of digits.

    File extensions stay. Braces never stand in an address, so a template cannot be taken for one.

    Parameters
    ----------
    url
        Any http(s) URL.

    Returns
    -------
    str
        The template; the scheme is left out.

    Raises
    ------
    BadURL
        With a reason from ``REFUSALS``.

    Examples
    --------
    >>> url_template("https://example.com/2024/05/how-to-tell-a-trap-from-a-site.html?page=2")
    'example.com/{number}/{number}/{slug}.html?page'
    >>> url_template("https://example.com/calendar/2024-05-17?view=week&lang=en")
    'example.com/calendar/{date}?lang&view'
    """
    return _template(safe_url(url))


def _template(address: str) -> str:
    front, _, query = address.partition("?")
    host, *segments = front.split("://", 1)[1].split("/")
    path = "/".join(map(_shape, segments))
    names = sorted({_varying(one.partition("=")[0]) for one in query.split("&") if one})
    return f"{host}/{path}?{'&'.join(names)}" if names else f"{host}/{path}"


def _shape(segment: str) -> str:
    """Put in braces what varies in one path segment."""
    extension = _EXTENSION.search(segment)
    stem = segment[: extension.start()] if extension else segment
    ending = extension[0] if extension else ""
    if _HASH.match(stem) or _TOKEN.match(stem):
        return "{hash}" + ending
    shape = _varying(stem)
    if len(stem) >= _SLUG_LENGTH and "{uuid}" not in shape:
        words = [word for word in _WORD_BREAK.split(shape) if word]
        if len(words) >= _SLUG_WORDS and any(word[0] != "{" for word in words):
            shape = "{slug}"
    return shape + ending


def _varying(text: str) -> str:
    """Replace UUIDs, dates and numbers; escapes such as ``%5B`` are no numbers."""
    if "%" not in text:
        return _PARTS.sub(lambda match: f"{{{match.lastgroup}}}", text)
    pieces = re.split(r"((?:%[0-9A-F]{2})+)", text)
    return "".join(piece if piece.startswith("%") else _varying(piece) for piece in pieces)


def url_table(
    urls: Iterable[object], *, rules: UrlRules = DEFAULT_RULES, base: str | None = None
) -> pd.DataFrame:
    """Take URLs apart, one row each, in the order given.

    Parameters
    ----------
    urls
        URLs: a list, a Series, or anything else that gives them one by one.
    rules
        The rules of the keys.
    base
        A URL that relative ones are resolved against.

    Returns
    -------
    DataFrame
        ``given`` (str, as it came), ``url`` (str, the address), ``key`` (str), ``url_hash``
        (Int64), ``scheme`` ``host`` ``domain`` (str; the registered domain), ``path`` ``query``
        (str; without ``?``, null if there is none), ``depth_of_path`` (Int64, segments that are
        not empty), ``parameters`` (str, names in their order, joined by ``&``),
        ``parameter_count`` (Int64), ``template`` (str, see :func:`url_template`), ``rules`` (str,
        those that changed something on the way to the key, joined by spaces; "" for none) and
        ``error`` (str, a key of ``REFUSALS``, null for a good URL). In the row of a bad URL
        everything but ``given`` and ``error`` is null. Same columns and dtypes without any row.

    Examples
    --------
    >>> table = url_table(["https://Example.com/b?y=1&x=2", "mailto:ann@example.com"])
    >>> table[["key", "rules", "error"]]
                                 key            rules     error
    0  https://example.com/b?x=2&y=1  host sort_query       NaN
    1                            NaN              NaN  not_http
    """
    import pandas as pd

    maker = key_maker(rules)
    rows = [_row(url, base, maker) for url in urls]
    columns = {
        name: pd.Series([row.get(name) for row in rows], dtype=dtype)
        for name, dtype in _COLUMNS.items()
    }
    return pd.DataFrame(columns)


def _row(url: object, base: str | None, maker: KeyMaker) -> dict[str, Any]:
    """Take one URL apart; what is missing in the row is null in the table."""
    if not isinstance(url, str):
        missing = url is None or (isinstance(url, float) and math.isnan(url))
        return {"given": None if missing else str(url), "error": "not_text"}
    address = resolve_address(url, base)
    given = url.encode("utf-8", "replace").decode()
    if isinstance(address, Refusal):
        return {"given": given, "error": address.reason}
    fired = spelling_changes(url, address)
    key = maker.key(address, fired)
    front, mark, query = address.partition("?")
    scheme, rest = front.split("://", 1)
    host, _, path = rest.partition("/")
    names = [one.partition("=")[0] for one in query.split("&") if one]
    return {
        "given": given,
        "url": address,
        "key": key,
        "url_hash": url_hash(key),
        "scheme": scheme,
        "host": host,
        "domain": registered_domain(host),
        "path": "/" + path,
        "query": query if mark else None,
        "depth_of_path": sum(map(bool, path.split("/"))),
        "parameters": "&".join(names) if mark else None,
        "parameter_count": len(names),
        "template": _template(address),
        "rules": " ".join(fired),
    }
