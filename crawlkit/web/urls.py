"""URLs of pages: the address that is asked for, and the key that all its spellings share.

Everything about URLs can be imported from here. How an address comes about is told in
``url_addresses.py``, what a key leaves out in ``url_keys.py``, how links become both quickly in
``link_resolver.py``, and what tables say of many URLs in ``url_tables.py``.
"""

from __future__ import annotations

from typing import Literal, overload

from crawlkit.web.link_resolver import Address, LinkResolver
from crawlkit.web.url_addresses import (
    MAX_URL_LENGTH,
    REFUSALS,
    Refusal,
    registered_domain,
    safe_url,
    url_host,
)
from crawlkit.web.url_keys import DEFAULT_RULES, KEY_RULES, UrlRules, key_maker, url_hash
from crawlkit.web.url_spelling import SPELLING_RULES, spelling_changes
from crawlkit.web.url_tables import url_table, url_template

__all__ = [
    "KEY_RULES",
    "MAX_URL_LENGTH",
    "REFUSALS",
    "SPELLING_RULES",
    "Address",
    "LinkResolver",
    "Refusal",
    "UrlRules",
    "normalize_url",
    "registered_domain",
    "safe_url",
    "url_hash",
    "url_host",
    "url_table",
    "url_template",
]


@overload
def normalize_url(
    url: str, rules: UrlRules = ..., *, base: str | None = ..., explain: Literal[False] = ...
) -> str: ...
@overload
def normalize_url(
    url: str, rules: UrlRules = ..., *, base: str | None = ..., explain: Literal[True]
) -> tuple[str, list[str]]: ...
def normalize_url(
    url: str, rules: UrlRules = DEFAULT_RULES, *, base: str | None = None, explain: bool = False
) -> str | tuple[str, list[str]]:
    """Return the key of a URL: what every spelling of the same page comes down to.

    The key of a key is the key itself, and a key can be asked for, though a crawl asks for the
    address (:func:`safe_url`).

    Parameters
    ----------
    url
        A URL, or with ``base`` a link as it stands in a page.
    rules
        What makes two addresses one page. By default tracking parameters are dropped and the
        others sorted.
    base
        The URL of the page.
    explain
        Return the rules that changed something, too, in the order in which they apply: keys of
        ``SPELLING_RULES`` and of ``KEY_RULES``.

    Returns
    -------
    str, or tuple of str and list of str
        The key; with ``explain`` the key and the names of the rules.

    Raises
    ------
    BadURL
        With a reason from ``REFUSALS``.

    Examples
    --------
    >>> normalize_url("HTTP://Example.com:80/a/./b?b=2&utm_source=mail&a=1#top")
    'http://example.com/a/b?a=1&b=2'
    >>> normalize_url("https://example.com/a?b=2&a=1", explain=True)
    ('https://example.com/a?a=1&b=2', ['sort_query'])
    >>> normalize_url("https://www.example.com/index.html", UrlRules(www=True, index_file=True))
    'https://example.com/'
    """
    address = safe_url(url, base=base)
    fired = spelling_changes(url, address) if explain else []
    key = key_maker(rules).key(address, fired)
    return (key, fired) if explain else key
