"""How many spellings of its address the links to each page use.

A spelling is what a server would be asked for, had nothing been normalized: fragments are left out,
dot segments resolved, and what is no ASCII is encoded, as browsers do. A relative link counts as
another spelling only where the address that it led to does not end as it does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin

from crawlkit.audit.link_pass import LEADING

if TYPE_CHECKING:
    import pyarrow as pa

    from crawlkit.audit.table_columns import TableColumns

__all__ = ["count_spellings", "spelling_of"]

_SCHEME = re.compile(r"https?:", re.I)
_CLIMB = re.compile(r"^(?:\.{1,2}/)+")
_BREAKS = str.maketrans("", "", "\t\r\n")
_KEPT = "".join(map(chr, range(33, 127)))


def count_spellings(tables: TableColumns, stored: set[str]) -> int:
    """Return the number of spellings of the addresses of some pages, one or more each.

    Parameters
    ----------
    tables
        With ``links``: ``target href`` and better ``kind``.
    stored
        URLs of the pages.
    """
    names = ["target", "href", *(["kind"] if tables.has("links", "kind") else [])]
    known: set[tuple[str, str]] = set()
    for piece in tables.texts("links", names):
        known.update(
            (target, spelling_of(href, target))
            for target, href in _pairs(piece)
            if target in stored
        )
    # A page to which no link leads has been spelled once, too.
    return len(stored) + len(known) - len({target for target, _ in known})


def _pairs(piece: pa.Table) -> list[tuple[str, str]]:
    """Return the different pairs of target and href of a piece of links."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if "kind" in piece.column_names:
        wanted = pa.array(LEADING, piece.schema.field("kind").type)
        piece = piece.filter(pc.is_in(piece["kind"], value_set=wanted))
    found = piece.select(["target", "href"]).group_by(["target", "href"]).aggregate([])
    pairs = zip(found["target"].to_pylist(), found["href"].to_pylist(), strict=True)
    return [(target, href) for target, href in pairs if target and href is not None]


def spelling_of(href: str, target: str) -> str:
    """Return the address that a link spells, see the module's docstring.

    Examples
    --------
    >>> spelling_of("/a?utm_source=x#top", "http://a.example/a")
    'http://a.example/a?utm_source=x'
    >>> spelling_of("../a", "http://a.example/a")
    'http://a.example/a'
    """
    text = href.partition("#")[0].strip().translate(_BREAKS)
    if not text.isascii() or " " in text:  # as every browser sends it
        text = quote(text, safe=_KEPT)
    if not text:
        return target
    scheme, _, rest = target.partition("://")
    host, _, path = rest.partition("/")
    if _SCHEME.match(text):
        return text
    if text.startswith("//"):
        return f"{scheme}:{text}"
    if text.startswith("/"):
        root = f"{scheme}://{host}"
        return urljoin(root, text) if "/." in text else root + text
    tail = _CLIMB.sub("", text)
    if tail in ("", ".", "..") or (tail[0] == "?" and path.endswith(tail)):
        return target
    return target if f"/{path}".endswith(f"/{tail}") else tail
