"""When a page was modified and published, by everything that it says: `page_dates`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.web.date_candidates import SOURCES, DateCandidate, date_candidates
from crawlkit.web.date_findings import MAX_FINDINGS
from crawlkit.web.html import Page, parse_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

__all__ = ["candidates_table", "page_dates"]

_NOWHERE = "about:blank"  # the address of a page whose address is not known
_DTYPES = {
    "property": "str",
    "source": "str",
    "path": "str",
    "raw": "str",
    "precision": "str",
    "tz_known": "boolean",
    "own": "bool",
    "confidence": "str",
    "type": "str",
    "parse": "str",
    "issues": "str",
}


def page_dates(
    html: bytes | str | Page, *, url: str | None = None, headers: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return every date that a page gives for its modification and publication, best first.

    Reads JSON-LD (also when its JSON is broken), microdata, RDFa Lite, Open Graph, Dublin Core,
    other ``meta`` elements, ``time`` elements whose class says what they are, and the
    ``Last-Modified`` header. No order of day and month is ever guessed.

    Parameters
    ----------
    html
        The page: bytes as they came, text, or a parsed page.
    url
        The page's address. With it, dates of this page are told from those of other pages that
        are named on it; without it, the page's canonical URL serves.
    headers
        The response's headers: ``Content-Type`` (its encoding), ``Last-Modified``, ``Date``.

    Returns
    -------
    pandas.DataFrame
        One row per date:

        - ``property`` (str): ``modified`` or ``published``; all rows of the first come first.
        - ``source`` (str): ``json_ld``, ``microdata``, ``rdfa``, ``open_graph``, ``dublin_core``,
          ``meta``, ``time`` or ``http``; ``path`` (str): where in it.
        - ``raw`` (str): the text as it stands there, at most 200 characters; null if the value is
          no text.
        - ``start``, ``end`` (datetime64[us, UTC]): the interval that it names; null if it cannot
          be read or cannot be meant. A time without a zone is read as if in UTC.
        - ``precision`` (str): ``year``, ``month``, ``day``, ``minute`` or ``second``.
        - ``tz_known`` (boolean): whether the text gives a zone.
        - ``own`` (bool): whether it is the page's own date, not that of a comment, of another
          page, or of the answer. Own dates come before others, readable ones before the rest.
        - ``confidence`` (str): ``high``, ``medium`` or ``low``.
        - ``type`` (str): the type (schema.org) of what it is a date of.
        - ``parse`` (str): ``strict``; ``lenient`` for mended JSON; ``regex`` for what is no JSON.
        - ``issues`` (str): codes, separated by spaces, or null: those of `ISSUES` and `REFUSALS` in
          `crawlkit.web.w3c_dates`, and of `DATE_CODES` in `crawlkit.web.date_texts`.

        ``.attrs["cut"]`` lists the sources of which no more than 1,000 dates were looked at.

    Raises
    ------
    BadSetting
        `html` or `url` is of another type.

    References
    ----------
    https://schema.org/dateModified, https://ogp.me, RFC 9110 section 8.8.2.

    Examples
    --------
    >>> html = '''<script type="application/ld+json">
    ... {"@type": "NewsArticle", "dateModified": "2024-05-17T12:30:00+02:00",
    ...  "comment": [{"@type": "Comment", "dateModified": "2024-06-01"}]}</script>'''
    >>> dates = page_dates(html, url="https://example.com/news")
    >>> dates["start"].dt.strftime("%Y-%m-%d %H:%M").tolist()
    ['2024-05-17 10:30', '2024-06-01 00:00']
    >>> dates["own"].tolist()
    [True, False]
    """
    if isinstance(html, Page):
        page = html
    elif isinstance(html, (bytes, str)):
        if url is not None and not isinstance(url, str):
            raise BadSetting("url", f"is a {type(url).__name__}", "give the page's address as text")
        content_type = next(
            (value for name, value in (headers or {}).items() if name.lower() == "content-type"),
            None,
        )
        page = parse_page(html, url=url or _NOWHERE, content_type=content_type, headers=headers)
    else:
        raise BadSetting(
            "html", f"is a {type(html).__name__}", "give the page as bytes or text, not its address"
        )
    return candidates_table(date_candidates(page, headers))


def candidates_table(candidates: Sequence[DateCandidate]) -> pd.DataFrame:
    """Return date candidates as a table with the columns of `page_dates`.

    Examples
    --------
    >>> candidates_table([]).dtypes["start"]
    datetime64[us, UTC]
    """
    import pandas as pd

    columns: dict[str, list[Any]] = {
        "property": [found.property for found in candidates],
        "source": [found.source for found in candidates],
        "path": [found.path for found in candidates],
        "raw": [found.raw for found in candidates],
        "start": [found.date and found.date.start for found in candidates],
        "end": [found.date and found.date.end for found in candidates],
        "precision": [found.date and found.date.granularity for found in candidates],
        "tz_known": [found.date and found.date.tz_known for found in candidates],
        "own": [found.own for found in candidates],
        "confidence": [found.confidence for found in candidates],
        "type": [found.kind for found in candidates],
        "parse": [found.parse for found in candidates],
        "issues": [" ".join(found.issues) or None for found in candidates],
    }
    table = pd.DataFrame(
        {
            name: _times(values)
            if name in ("start", "end")
            else pd.Series(values, dtype=_DTYPES[name])
            for name, values in columns.items()
        }
    )
    counts = Counter(columns["source"])
    table.attrs["cut"] = [source for source in SOURCES if counts[source] >= MAX_FINDINGS]
    return table


def _times(seconds: list[float | None]) -> pd.Series[Any]:
    """Return seconds since 1970 as times, in microseconds: nanoseconds would end in 2262."""
    import numpy as np
    import pandas as pd

    missing = np.iinfo(np.int64).min  # which is what NumPy keeps for no time
    counts = [missing if second is None else round(second * 1e6) for second in seconds]
    return pd.Series(np.array(counts, np.int64).view("datetime64[us]")).dt.tz_localize("UTC")
