"""Dates in meta and time elements: Open Graph, Dublin Core, and the names that sites made up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlkit.web.date_findings import MAX_FINDINGS, MAX_RAW, Finding, schema_property

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from crawlkit.web.html import Page

__all__ = ["find_in_meta", "find_in_time_elements"]

_MAX_DEPTH = 512
# Source, property, and names in lower case, with "." where Dublin Core may also have ":".
_TABLE = (
    ("open_graph", "modified", """
        article:modified_time article:modified article:updated_time og:updated_time
        og:modified_time og:article:modified_time
    """),
    ("open_graph", "published", """
        article:published_time article:published og:published_time og:article:published_time
        og:pubdate
    """),
    ("dublin_core", "modified", """
        dcterms.modified dc.modified dc.date.modified dcterms.date.modified dc.date.updated
    """),
    ("dublin_core", "published", """
        dcterms.issued dc.issued dc.date.issued dc.date.published dcterms.date dc.date
        dcterms.available
    """),
    ("meta", "modified", """
        last-modified last_modified lastmodified lastmod modified date.modified datemodified
        date_modified modified_time modifieddate revised updated updated_time last-updated
        last_updated lastupdated
    """),
    ("meta", "published", """
        date pubdate pub_date publishdate publish-date publish_date publication_date
        publicationdate published published_time datepublished date_published date.published
        parsely-pub-date sailthru.date article.published citation_publication_date
    """),
)  # fmt: skip
_NAMES = {name: (source, which) for source, which, names in _TABLE for name in names.split()}
_MODIFIED_CLASSES = frozenset(
    {"updated", "modified", "dt-updated", "date-modified", "modified-date", "last-modified",
     "entry-modified", "post-modified"}
)  # fmt: skip
_PUBLISHED_CLASSES = frozenset(
    {"published", "entry-date", "dt-published", "date-published", "published-date", "post-date"}
)
_COMMENTS = ("comment", "respond", "related", "sidebar", "widget")
_ELSEWHERE = frozenset({"aside", "nav", "footer"})


def find_in_meta(page: Page) -> Iterator[Finding]:
    """Yield the dates of a page's meta elements, wherever they stand in it.

    Parameters
    ----------
    page
        A parsed page.

    Yields
    ------
    Finding
        In document order, at most `MAX_FINDINGS`.

    Examples
    --------
    >>> from crawlkit.web.html import parse_page
    >>> html = '<meta name="article:modified_time" content="2024-05-17">'
    >>> [finding] = find_in_meta(parse_page(html, url="http://example.com/"))
    >>> finding.source, finding.property, finding.raw
    ('open_graph', 'modified', '2024-05-17')
    """
    found = 0
    for node in page.css("meta"):
        attributes = node.attributes
        raw = attributes.get("content")
        if raw is None or "itemprop" in attributes:
            continue
        for which in ("property", "name", "http-equiv"):
            name = (attributes.get(which) or "")[:100].strip()
            if which == "property" and schema_property(name) is not None:
                continue  # that is RDFa
            known = _NAMES.get(_plain(name))
            if known is not None:
                source, wanted = known
                yield Finding(wanted, source, f'meta[{which}="{name}"]', raw[:MAX_RAW])
                found += 1
                break
        if found >= MAX_FINDINGS:
            return


def _plain(name: str) -> str:
    """Return the name of a meta element as `_NAMES` has it."""
    lower = name.lower()
    return lower.replace(":", ".", 1) if lower.startswith(("dc:", "dcterms:")) else lower


def find_in_time_elements(page: Page) -> Iterator[Finding]:
    """Yield the dates of ``time`` elements whose class says what they are the time of.

    Parameters
    ----------
    page
        A parsed page.

    Yields
    ------
    Finding
        In document order, at most `MAX_FINDINGS`; nested if among comments, or beside the text.

    Examples
    --------
    >>> from crawlkit.web.html import parse_page
    >>> html = '<time class="entry-date updated" datetime="2024-05-17">May 17</time>'
    >>> found = find_in_time_elements(parse_page(html, url="http://example.com/"))
    >>> [(finding.property, finding.raw) for finding in found]
    [('modified', '2024-05-17'), ('published', '2024-05-17')]
    """
    found = 0
    known: dict[int, bool] = {}
    for node in page.css("time"):
        attributes = node.attributes
        if "itemprop" in attributes:
            continue
        classes = frozenset((attributes.get("class") or "").lower().split())
        wanted = []
        if classes & _MODIFIED_CLASSES:
            wanted.append("modified")
        if classes & _PUBLISHED_CLASSES or "pubdate" in attributes:
            wanted.append("published")
        if not wanted:
            continue
        raw = attributes.get("datetime") or node.text()
        path = "time." + ".".join(sorted(classes)) if classes else "time[pubdate]"
        nested = _is_aside(node, known)
        for which in wanted:
            yield Finding(which, "time", path[:MAX_RAW], raw[:MAX_RAW], nested=nested)
        found += 1
        if found >= MAX_FINDINGS:
            return


def _is_aside(node: LexborNode, known: dict[int, bool]) -> bool:
    """Return whether an element stands among comments or beside the text of a page.

    `known` holds the answers for the elements that were passed before.
    """
    passed: list[int] = []
    answer = False
    parent = node.parent
    while parent is not None and parent.tag != "body" and len(passed) < _MAX_DEPTH:
        if parent.mem_id in known:
            answer = known[parent.mem_id]
            break
        passed.append(parent.mem_id)
        attributes = parent.attributes
        words = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        if parent.tag in _ELSEWHERE or any(word in words for word in _COMMENTS):
            answer = True
            break
        parent = parent.parent
    known.update(dict.fromkeys(passed, answer))
    return answer
