"""Links of pages to addresses and keys, at the speed of a crawl.

Most links of a page lead where links of other pages have led before. So a link is first tried by
string work: joined to the page's folder, is it an address that is known? If not, is it plain, made
of safe characters only, so that a parser would find nothing to do? Only the rest goes the exact way
and is parsed by the URL Standard. Both ways give the same answer; the tests compare them on real
and on hostile links.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from crawlkit.web.url_addresses import MAX_URL_LENGTH, Refusal, resolve_address
from crawlkit.web.url_keys import DEFAULT_RULES, UrlRules, key_maker

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Address", "LinkResolver"]

# A path and query in which the URL Standard and RFC 3986 6.2.2 leave nothing to do, but for dot
# segments: safe characters, and escapes in upper case that stand for no unreserved character. The
# apostrophe is encoded in a query and not in a path.
_ESCAPE = r"%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|[46]0|5[B-E]|7[B-DF])"
_TAIL = (
    rf"/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]++|{_ESCAPE})*+"
    rf"(?:\?(?:[A-Za-z0-9\-._~!$&()*+,;=:@/?]++|{_ESCAPE})++)?"
)
_PLAIN_TAIL = re.compile(_TAIL)
# The same with a host in front that can only be a name, in small letters and not in punycode: the
# last label of a number has a digit.
_PLAIN_URL = re.compile(rf"https?://((?:(?!xn--)[a-z0-9-]++\.)+(?!xn--)[a-z]++){_TAIL}")
_LONGEST_KEPT = 2_048
_Answer = TypeVar("_Answer")


class Address(NamedTuple):
    """Where a link leads: the address to ask for, the key that names the page, and the host."""

    url: str
    key: str
    host: str


class _Kept(dict[str, _Answer]):
    """A dictionary that forgets everything when it is full; safe to use from many threads.

    Forgetting everything costs one slow answer for each link in use, once in a while, and needs
    no order to be kept. Room is counted in entries of ordinary length, so that long URLs do not
    take more memory than short ones.
    """

    __slots__ = ("_lock", "_room", "_size")

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._room = size
        self._lock = threading.Lock()

    def keep(self, text: str, answer: _Answer) -> None:
        """Remember an answer."""
        if len(text) > _LONGEST_KEPT:
            return
        with self._lock:
            self._room -= 1 + len(text) // 256
            if self._room < 0:
                self.clear()
                self._room = self._size
            self[text] = answer


class LinkResolver:
    """Resolves the links of pages; one for a whole crawl, shared by its threads.

    Parameters
    ----------
    rules
        What makes two addresses one page.
    cache_size
        Addresses of ordinary length that are remembered, about 300 bytes each.

    Examples
    --------
    >>> resolver = LinkResolver()
    >>> resolve = resolver.for_page("https://example.com/shop/list?page=2")
    >>> resolve("../about#team")
    Address(url='https://example.com/about', key='https://example.com/about', host='example.com')
    >>> resolve("item?id=7&utm_source=list").key
    'https://example.com/shop/item?id=7'
    >>> resolve("tel:+4930123456")
    Refusal(reason='not_http')
    """

    def __init__(self, rules: UrlRules = DEFAULT_RULES, *, cache_size: int = 65_536) -> None:
        self.rules = rules
        self._key = key_maker(rules).key
        self._known: _Kept[Address] = _Kept(cache_size)  # by address
        # By absolute link, as written.
        self._spelled: _Kept[Address | Refusal] = _Kept(cache_size // 4)

    def resolve(self, href: str, base: str | None = None) -> Address | Refusal:
        """Resolve one link by parsing it; never raises.

        Parameters
        ----------
        href
            The link as it stands in the page, or a whole URL.
        base
            The URL that it is resolved against.

        Returns
        -------
        Address or Refusal
            Where it leads, or why it is not crawled: a key of ``REFUSALS``.

        Examples
        --------
        >>> LinkResolver().resolve("b?x=1#top", "http://example.com/a").url
        'http://example.com/b?x=1'
        """
        address = resolve_address(href, base)
        return address if isinstance(address, Refusal) else self.address_of(address)

    def address_of(self, url: str, host: str | None = None) -> Address:
        """Complete an address with its key and host.

        Parameters
        ----------
        url
            An address as ``safe_url`` makes it.
        host
            Its host, if that is known.
        """
        found = self._known.get(url)
        if found is None:
            if host is None:
                host = url[url.index("://") + 3 :].partition("/")[0]
            found = Address(url, self._key(url), host)
            self._known.keep(url, found)
        return found

    def for_page(self, base_url: str) -> Callable[[str], Address | Refusal]:
        """Return the function that resolves the links of one page.

        It gives the same answers as :meth:`resolve`, much faster, and may be thrown away with the
        page.

        Parameters
        ----------
        base_url
            The page's URL, or its ``<base href>``.

        Returns
        -------
        callable
            Takes a link as it stands in the page; returns an Address or a Refusal, never raises.

        Examples
        --------
        >>> LinkResolver().for_page("http://example.com/a/b")("c").url
        'http://example.com/a/c'
        """
        page = self._known.get(base_url) or self.resolve(base_url)
        if isinstance(page, Refusal):
            return lambda href: self.resolve(href, base_url)
        return _PageLinks(self, base_url, page).__getitem__

    def _resolve_absolute(self, href: str) -> Address | Refusal:
        """Resolve a link to which the page does not matter; remembers how it was written."""
        found = self._known.get(href) or self._spelled.get(href)
        if found is None:
            if len(href) <= MAX_URL_LENGTH and "/." not in href:
                plain = _PLAIN_URL.fullmatch(href)
                if plain:
                    return self.address_of(href, plain[1])
            found = self.resolve(href)
            self._spelled.keep(href, found)
        return found


class _PageLinks(dict[str, "Address | Refusal"]):
    """The links of one page: a dictionary that resolves what it does not hold."""

    __slots__ = ("_base", "_folders", "_host", "_known", "_origin", "_resolver", "_root")

    def __init__(self, resolver: LinkResolver, base: str, page: Address) -> None:
        super().__init__()
        path = page.url.partition("?")[0]
        root = path.index("/", 8)
        self._resolver = resolver
        self._known = resolver._known
        self._base = base
        self._host = page.host
        self._origin = path[:root]
        self._root = path[: root + 1]
        # The page's folder, and by "../../" and its like, as links begin with it, those above.
        self._folders = {"./": path[: path.rindex("/") + 1]}
        self[""] = page

    def __missing__(self, href: str) -> Address | Refusal:
        cut = href.find("#")
        if cut < 0:
            answer = self._resolve(href)
        elif cut and href[cut - 1] <= " ":
            answer = self._resolver.resolve(href, self._base)  # "a #b" keeps its space, "a " not
        else:
            answer = self[href[:cut]]
        self[href] = answer
        return answer

    def _resolve(self, href: str) -> Address | Refusal:
        """Resolve a link without a fragment by string work, or else by parsing it."""
        first = href[0]
        if first == "/":
            url = "" if href[1:2] == "/" else self._origin + href
        elif first == ".":
            cut = href.rfind("./") + 2
            folder = self._folders.get(href[:cut]) or self._folder_above(href[:cut])
            url = folder and folder + href[cut:]
        elif ":" in href:
            if href.startswith(self._root):
                url = href
            elif href.startswith(("http://", "https://")):
                return self._resolver._resolve_absolute(href)
            else:
                url = ""
        elif first == "?":
            url = ""
        else:
            url = self._folders["./"] + href
        if url and len(href) <= MAX_URL_LENGTH:
            found = self._known.get(url)
            if found is not None:
                return found
            if (
                len(url) <= MAX_URL_LENGTH
                and "/." not in url
                and _PLAIN_TAIL.fullmatch(url, len(self._origin))
            ):
                return self._resolver.address_of(url, self._host)
        return self._resolver.resolve(href, self._base)

    def _folder_above(self, steps: str) -> str:
        """Return the folder that ``../../`` leads to; an empty string means: parse the link."""
        folder = self._folders["./"]
        count = len(steps) // 3
        if steps != "../" * count:
            return ""
        for _ in range(count):
            above = folder[: folder.rindex("/", 0, -1) + 1]
            if len(above) < len(self._root):  # the root has nothing above it
                break
            folder = above
        self._folders[steps] = folder
        return folder
