"""What the tags of sitemaps and feeds mean, whatever their prefix and namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawlkit.web.sitemap_content import SitemapContent

__all__ = ["CORE_NAMESPACE", "HTML_TAGS", "ROOTS", "TagRoles", "namespace_issue"]

CORE_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"

#: The root's name in lower case -> the kind of file.
ROOTS = {
    "urlset": "urlset",
    "sitemapindex": "index",
    "rss": "rss",
    "rdf": "rss",
    "feed": "atom",
}

#: A document that begins with one of these is a page, or a piece of one.
HTML_TAGS = frozenset(
    (
        *("html", "head", "body", "title", "meta", "link", "script", "style", "noscript"),
        *("div", "p", "br", "hr", "b", "h1", "h2", "span", "table", "center", "font", "pre", "a"),
    )
)

_LEGACY = frozenset(
    f"http://www.google.com/schemas/sitemap/{version}" for version in ("0.84", "0.9", "0.90")
)

# Roles: "entry:*" opens an entry, "kind:*" tells its kind; the others are fields of an entry.
_SITEMAP_ROLES = {
    "url": "entry:url",
    "sitemap": "entry:sitemap",
    "loc": "loc",
    "lastmod": "lastmod",
    "priority": "priority",
    "changefreq": "changefreq",
    "xhtml:link": "alternate",
    "image:image": "kind:image",
    "video:video": "kind:video",
    "news:news": "kind:news",
    "news:name": "news:name",
    "news:language": "news:language",
    "news:title": "news:title",
    "news:publication_date": "published",
}
_ROLES = {
    "urlset": _SITEMAP_ROLES,
    "index": _SITEMAP_ROLES,
    "rss": {
        "item": "entry:item",
        "link": "loc",
        "guid": "id",
        "pubdate": "published",
        "dc:date": "published",
        "atom:updated": "lastmod",
    },
    "atom": {
        "entry": "entry:entry",
        "link": "link",
        "id": "id",
        "updated": "lastmod",
        "modified": "lastmod",
        "published": "published",
        "issued": "published",
    },
}

# Part of a namespace -> the prefix that it usually has; "" is the file's own format.
_FAMILIES = (
    ("sitemap-image", "image"),
    ("sitemap-video", "video"),
    ("sitemap-news", "news"),
    ("schemas/sitemap", ""),
    ("w3.org/1999/xhtml", "xhtml"),
    ("w3.org/2005/atom", "atom"),
    ("purl.org/dc/", "dc"),
    ("purl.org/rss/1.0/modules", "rss-module"),
    ("purl.org/rss/1.0/", ""),
)


class TagRoles:
    """The role of each tag of one file.

    Parameters
    ----------
    content
        Gets the issues.

    Attributes
    ----------
    known : dict
        Tags as written -> role; empty for those without one.
    """

    def __init__(self, content: SitemapContent) -> None:
        self.known: dict[str, str] = {}
        self._content = content
        self._families: dict[str, str] = {}
        self._roles: dict[str, str] = {}
        self._kind = ""

    def begin(self, kind: str, root_prefix: str) -> None:
        """Say what the root was; all tags seen until now have no role."""
        self.known.clear()
        self._kind = kind
        self._roles = _ROLES[kind]
        # Whatever its namespace, what has the root's prefix is of the root's format.
        if root_prefix.lower() != "rdf":
            self._families[root_prefix] = ""

    def role(self, name: str, attributes: dict[str, str]) -> str:
        """Return the role of a tag, and take in the namespaces that it declares.

        A prefix means the same from there to the end of the file: to redeclare one is legal, and
        done by nobody. Tags without a prefix are of the root's format, wherever they stand.
        """
        for key, uri in attributes.items():
            if key.startswith("xmlns:"):
                self._declare(key[6:], uri)
        found = self.known.get(name)
        if found is None:
            found = self.known[name] = self._find(name)
        return found

    def _declare(self, prefix: str, uri: str) -> None:
        lowered = uri.lower()
        family = next((name for part, name in _FAMILIES if part in lowered), "foreign")
        if self._families.get(prefix) not in ("", family):
            self._families[prefix] = family
            self.known.clear()

    def _find(self, name: str) -> str:
        prefix, _, local = name.rpartition(":")
        lowered = local.lower()
        family = self._families.get(prefix) if prefix else ""
        if family is None:
            family = prefix.lower()
            if prefix != "xml":
                self._content.note("undeclared_prefix")
        role = self._roles.get(f"{family}:{lowered}" if family else lowered, "")
        if role and local != lowered and self._kind in ("urlset", "index"):
            self._content.note("tag_case")
        return role


def namespace_issue(uri: str | None) -> tuple[str, ...]:
    """Return the code for the namespace of a sitemap's root, if it is not the protocol's.

    Examples
    --------
    >>> namespace_issue("http://www.google.com/schemas/sitemap/0.84")
    ('namespace_legacy',)
    """
    if uri == CORE_NAMESPACE:
        return ()
    if not uri:
        return ("namespace_missing",)
    return ("namespace_legacy",) if uri in _LEGACY else ("namespace_other",)
