"""Whether a page may say when it was modified: a look at its bytes that costs almost nothing.

A crawl asks this of every page, and loads what reads dates only where the answer is yes.
"""

from __future__ import annotations

import re

__all__ = ["has_date_marks"]

# Searching is what this costs, so a page is searched as a whole for one name only. JSON-LD and
# microdata of a page with dates name the vocabulary that the dates are of.
_VOCABULARY = b"schema.org"
_PROPERTIES = (b"dateModified", b"datePublished")
_META = re.compile(rb"<meta[^>]*+", re.IGNORECASE)
# The names of meta elements have one of these in them: article:modified_time, og:updated_time,
# last-modified, dcterms.modified, DC.date.issued, pubdate...
_IN_HEAD = (b"ed_time", b"odified", b"ePublished", b'date"', b"date'", b".date", b"issued")
_HEAD_ENDS = (b"</head", b"<body")
_MAX_HEAD = 65_536


def has_date_marks(source: bytes) -> bool:
    """Return whether a page may hold a date that says when it was modified or published.

    Parameters
    ----------
    source
        The page, in an encoding in which bytes below 0x80 are ASCII.

    Returns
    -------
    bool
        False only if `crawlkit.web.date_candidates.stated_dates` would find nothing, but for odd
        spellings: a name in capital letters, a meta element in the body, or JSON-LD and microdata
        that never name schema.org.

    Examples
    --------
    >>> has_date_marks(b"<title>A page</title><body>It was modified today.")
    False
    >>> has_date_marks(b'<head><meta property="og:updated_time" content="2024-05-17"></head>')
    True
    """
    end = source.find(_HEAD_ENDS[0], 0, _MAX_HEAD)
    if end < 0:
        end = source.find(_HEAD_ENDS[1], 0, _MAX_HEAD)
    metas = b"".join(_META.findall(source, 0, end if end >= 0 else _MAX_HEAD))
    for name in _IN_HEAD:
        if name in metas:
            return True
    if _VOCABULARY not in source:
        return False
    return _PROPERTIES[0] in source or _PROPERTIES[1] in source
