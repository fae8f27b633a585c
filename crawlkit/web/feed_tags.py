"""What the tags of a feed mean: which are entries, which are fields of one, and what is their base.

Names are compared by the family of their namespace, where one is declared, and by the prefix's own
name where none is. What counts is where a tag stands: only children of an entry are its fields.
"""

from __future__ import annotations

from crawlkit.web.url_addresses import Refusal, resolve_address

__all__ = ["FeedTags"]

_LONGEST_LINK = 65_536
_LONGEST_TEXT = 2_000
_DEEPEST_BASES = 100

_ROOTS = {"rss": "rss", "rdf": "rss", "feed": "atom"}
_ENTRIES = frozenset({"item", "entry"})
# Where in a namespace's address its family stands.
_FAMILIES = (
    ("w3.org/2005/atom", "atom"),
    ("purl.org/atom", "atom"),
    ("purl.org/dc/terms", "dcterms"),
    ("purl.org/dc/elements", "dc"),
    ("purl.org/rss/1.0/modules", "other"),
    ("purl.org/rss", ""),
    ("backend.userland.com", ""),
    ("my.netscape.com/rdf/simple", ""),
    ("w3.org/1999/02/22-rdf", "rdf"),
)
# The field that a tag is; the same in every kind of feed.
_FIELDS = {
    "title": "title",
    "link": "link",
    "guid": "id",
    "id": "id",
    "pubdate": "published",
    "published": "published",
    "issued": "published",
    "created": "published",
    "dc:date": "published",
    "dcterms:issued": "published",
    "dcterms:created": "published",
    "updated": "updated",
    "modified": "updated",
    "lastbuilddate": "updated",
    "dcterms:modified": "updated",
    "atom:title": "title",
    "atom:link": "atom:link",
    "atom:id": "id",
    "atom:published": "published",
    "atom:updated": "updated",
}


class FeedTags:
    """Turns tags and text into entries; a subclass says what becomes of them."""

    def __init__(self) -> None:
        self._kind: str | None = None
        self._depth = 0
        self._entry_depth = 0
        self._field, self._field_depth = "", 0
        self._text: list[str] = []
        self._text_size = 0
        self._values: dict[str, str] = {}
        self._issues: list[str] = []
        self._about: str | None = None
        self._families: dict[str, str] = {}
        self._own_family = ""
        self._bases: list[tuple[int, str | None]] = [(0, None)]

    def begin(self, kind: str | None) -> None:
        """Take the kind of the root; None for that of something else."""
        raise NotImplementedError

    def take_feed_field(self, name: str, value: str) -> None:
        """Take a field of the feed itself."""
        raise NotImplementedError

    def take_entry(self, values: dict[str, str], base: str | None, issues: list[str]) -> None:
        """Take an entry's fields."""
        raise NotImplementedError

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take a start tag."""
        self._depth += 1
        if attributes:
            self._declare(attributes)
        if self._field_depth:
            return  # markup inside of a field
        prefix, _, local = name.rpartition(":")
        local = local.lower()
        if self._depth == 1:
            self._own_family = self._families.get(prefix, "")
            self._kind = _ROOTS.get(local)
            self.begin(self._kind)
        elif not self._entry_depth and local in _ENTRIES and self._is_own(prefix):
            self._entry_depth = self._depth
            self._values, self._issues = {}, []
            about = attributes.get("rdf:about", "").strip()
            if about:
                self._values["id"] = about
        else:
            self._open_field(prefix, local, attributes)
        if "xml:base" in attributes and len(self._bases) < _DEEPEST_BASES:
            base = self._resolved_base(attributes["xml:base"].strip(), self._bases[-1][1])
            self._bases.append((self._depth, base))

    def end(self, _name: str) -> None:
        """Take an end tag."""
        depth = self._depth
        if depth == self._field_depth:
            self._close_field()
        elif depth and depth == self._entry_depth:
            self._close_entry()
        while len(self._bases) > 1 and self._bases[-1][0] >= depth:
            self._bases.pop()
        self._depth = depth - 1

    def data(self, text: str) -> None:
        """Take text."""
        if self._field_depth and self._text_size < _LONGEST_LINK:
            self._text.append(text)
            self._text_size += len(text)

    def finish(self) -> None:
        """Take the end of a file that ends too early: what is whole of the open entry counts."""
        self._field_depth = 0
        if self._entry_depth and "link" in self._values:
            self._issues.append("truncated")
            self._close_entry()

    def _is_own(self, prefix: str) -> bool:
        return self._families.get(prefix, prefix.lower()) in ("", self._own_family, "atom")

    def _declare(self, attributes: dict[str, str]) -> None:
        """Take namespaces; a prefix means the same from there to the end."""
        for name, value in attributes.items():
            if name == "xmlns" or name.startswith("xmlns:"):
                lowered = value.lower()
                family = next((each for part, each in _FAMILIES if part in lowered), None)
                prefix = name[6:]
                if family is None:
                    family = prefix.lower() if prefix else ""
                if prefix or not self._families.get("", ""):
                    self._families.setdefault(prefix, family)

    def _resolved_base(self, base: str, outer: str | None) -> str | None:
        address = resolve_address(base, outer)
        if not isinstance(address, Refusal):
            return address
        if address.reason == "no_scheme":
            return base  # relative to the feed's own URL, which only the caller knows
        self._issues.append("bad_base")
        return outer

    def _open_field(self, prefix: str, local: str, attributes: dict[str, str]) -> None:
        if self._entry_depth:
            if self._depth != self._entry_depth + 1:
                return
        elif self._depth > 3:
            return
        family = self._families.get(prefix, prefix.lower())
        if family == self._own_family or (self._kind == "atom" and family == "atom"):
            family = ""
        field = _FIELDS.get(f"{family}:{local}" if family else local)
        if field is None:
            return
        if field == "atom:link" or (field == "link" and "href" in attributes):
            self._take_link(attributes)
            return
        permanent = attributes.get("isPermaLink", "true").strip().lower() != "false"
        if field != "id" or permanent:
            self._field, self._field_depth = field, self._depth
            self._text, self._text_size = [], 0

    def _take_link(self, attributes: dict[str, str]) -> None:
        """Take Atom's link: of several alternates an HTML one, else the first."""
        href = attributes.get("href", "").strip()
        rel = attributes.get("rel", "alternate").strip().lower().rpartition("/")[2]
        if not href or rel not in ("alternate", "") or len(href) > _LONGEST_LINK:
            return
        html = (
            attributes.get("type", "text/html").lower().startswith(("text/html", "application/xh"))
        )
        if self._entry_depth and (self._values.get("html") is None if html else True):
            if html:
                self._values["html"] = "yes"
                self._values["link"] = href
            else:
                self._values.setdefault("link", href)
        elif not self._entry_depth:
            self.take_feed_field("link", href)

    def _close_field(self) -> None:
        field, self._field_depth = self._field, 0
        limit = _LONGEST_LINK if field in ("link", "id") else _LONGEST_TEXT
        whole = "".join(self._text)
        value = whole.strip("\ufeff\u200b\0 \t\r\n\u00a0")
        self._text = []
        if field == "title":
            value = " ".join(value.split())[:1000]
        elif len(whole) > limit:
            return  # a link that was cut would lead elsewhere
        if not value:
            return
        if self._entry_depth:
            self._values.setdefault(field, value)
        else:
            self.take_feed_field(field, value)

    def _close_entry(self) -> None:
        self._entry_depth = 0
        self._values.pop("html", None)
        self.take_entry(self._values, self._bases[-1][1], self._issues)
