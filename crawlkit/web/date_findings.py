"""What the readers of a page's dates have in common: a date as it was found, and what it is of."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = [
    "MAX_FINDINGS",
    "MAX_RAW",
    "Finding",
    "bare_name",
    "is_article",
    "is_page",
    "is_part",
    "schema_property",
]

MAX_FINDINGS = 1_000
"""Dates that are looked at, of one source of one page."""

MAX_RAW = 200
"""Characters of a date's text that are kept."""

_PREFIX = re.compile(r"(?:(?:https?:)?//(?:www\.)?schema\.org/|schema:)")
_PROPERTIES = {"dateModified": "modified", "datePublished": "published"}
_ARTICLE_TYPES = """
    article newsarticle blogposting report scholarlyarticle techarticle socialmediaposting
    liveblogposting analysisnewsarticle opinionnewsarticle reportagenewsarticle
    reviewnewsarticle backgroundnewsarticle askpublicnewsarticle advertisercontentarticle
    satiricalarticle discussionforumposting medicalscholarlyarticle apireference
"""
_PAGE_TYPES = """
    webpage itempage aboutpage faqpage qapage collectionpage contactpage profilepage
    checkoutpage searchresultspage medicalwebpage realestatelisting
"""
# Things that have dates of their own, and are on a page rather than what it is about.
_PART_TYPES = """
    comment usercomments review userreview criticreview employerreview answer rating
    aggregaterating person organization newsmediaorganization localbusiness website
    webpageelement wpheader wpfooter wpsidebar wpadblock imageobject audioobject offer
    breadcrumblist itemlist sitenavigationelement blog datafeed
"""
_ARTICLES, _PAGES, _PARTS = (
    frozenset(types.split()) for types in (_ARTICLE_TYPES, _PAGE_TYPES, _PART_TYPES)
)


class Finding(NamedTuple):
    """A date as it stands in a page, not read yet.

    Attributes
    ----------
    property
        ``"modified"`` or ``"published"``.
    source
        Where dates of its kind come from: ``"json_ld"``, ``"microdata"``...
    path
        Where it stands in the page, for people.
    raw
        Its text, at most `MAX_RAW` characters; None for a value that is no text.
    kind
        The type of what it is a date of, as of schema.org, or None.
    nested
        Whether that is a part of something else: a comment of an article, say.
    addresses
        Addresses that the page gives for what it is a date of, not resolved.
    identifier
        Its ``@id``, ``itemid`` or ``resource``: often an address, and often with a fragment.
    item
        What it is a date of: equal for dates of the same thing.
    parse
        How well the source could be read: ``"strict"``, ``"lenient"`` or ``"regex"``.
    """

    property: str
    source: str
    path: str
    raw: str | None
    kind: str | None = None
    nested: bool = False
    addresses: tuple[str, ...] = ()
    identifier: str | None = None
    item: str | None = None
    parse: str = "strict"


def schema_property(name: str) -> str | None:
    """Return which date a name of schema.org stands for, with or without its prefix.

    Examples
    --------
    >>> schema_property("schema:dateModified"), schema_property("dateCreated")
    ('modified', None)
    """
    return _PROPERTIES.get(name) or _PROPERTIES.get(bare_name(name))


def bare_name(name: str) -> str:
    """Return a name of schema.org without its prefix or address.

    Examples
    --------
    >>> bare_name("https://schema.org/NewsArticle")
    'NewsArticle'
    """
    match = _PREFIX.match(name)
    return name[match.end() :] if match is not None else name


def is_article(kind: str | None) -> bool:
    """Return whether something of a type is what a page is about, by its nature."""
    return kind is not None and kind.lower() in _ARTICLES


def is_page(kind: str | None) -> bool:
    """Return whether something of a type is a page."""
    return kind is not None and kind.lower() in _PAGES


def is_part(kind: str | None) -> bool:
    """Return whether something of a type is on a page, rather than what it is about."""
    return kind is not None and kind.lower() in _PARTS
