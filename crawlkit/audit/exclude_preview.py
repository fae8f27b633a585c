"""What an exclude pattern would do to a crawl, before it does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlkit.audit.crawl_facts import facts_of
from crawlkit.reprs import escape, frame_html
from crawlkit.web.patterns import compile_patterns

if TYPE_CHECKING:
    import re

    import pandas as pd

__all__ = ["ExcludePreview", "preview_exclude"]


@dataclass(frozen=True)
class ExcludePreview:
    """What a pattern would drop.

    Attributes
    ----------
    pattern
        The pattern, as text.
    pending
        Number of waiting URLs that it drops.
    pending_left
        Number of waiting URLs that stay.
    pages
        Number of fetched pages that match it: a crawl with this pattern would not have them.
    copies
        Those among them whose text another page has that does not match.
    lost_texts
        Number of different texts that would be lost: many pages may share one.
    lost : DataFrame
        Those among them with status 200 and a text that no page outside the pattern has: ``url``
        (str), ``title`` (str), ``new_elsewhere`` (int64, URLs outside the pattern that were first
        found there).
    """

    pattern: str
    pending: int
    pending_left: int
    pages: int
    copies: int
    lost: pd.DataFrame
    lost_texts: int = 0

    @property
    def table(self) -> pd.DataFrame:
        """The counts, one row each: ``what`` (str), ``count`` (int64)."""
        import pandas as pd

        rows = [
            ("pending dropped", self.pending),
            ("pending left", self.pending_left),
            ("fetched pages that match", self.pages),
            ("of them copies of pages that stay", self.copies),
            ("of them with a text of their own", len(self.lost)),
            ("different texts among these", self.lost_texts),
        ]
        frame = pd.DataFrame(rows, columns=["what", "count"])
        return frame.astype({"what": "str", "count": "int64"})

    def __str__(self) -> str:
        texts = f" ({self.lost_texts:,} different)" if self.lost_texts < len(self.lost) else ""
        return (
            f"{self.pattern or 'No pattern'} drops {self.pending:,} of "
            f"{self.pending + self.pending_left:,} pending URLs; of {self.pages:,} fetched "
            f"pages that match, {len(self.lost):,} have a text of their own{texts}"
        )

    def _repr_html_(self) -> str:
        title = f"The first of {len(self.lost):,} pages with a text of their own"
        return f"<p>{escape(str(self), longest=None)}</p>" + frame_html(self.lost, title=title)


def preview_exclude(
    crawl_or_tables: Any, pattern: str | re.Pattern[str] | list[str | re.Pattern[str]]
) -> ExcludePreview:
    """Say what an exclude pattern would drop, and which good pages would be lost.

    Parameters
    ----------
    crawl_or_tables
        A crawl, or a mapping with its DataFrames ``pages`` and ``urls``.
    pattern
        A pattern as for ``ck.crawl(exclude=...)``, or several.

    Returns
    -------
    ExcludePreview
        With ``.pending .pending_left .pages .copies .lost .lost_texts .table``.

    Raises
    ------
    BadSetting
        On a pattern that cannot be used, or on anything that is no crawl.

    Examples
    --------
    >>> from crawlkit import lab
    >>> crawl = lab.walk(["events"], max_pages=100)
    >>> preview = preview_exclude(crawl, "/events/?")
    >>> preview.pending, preview.pages, len(preview.lost)
    (1, 58, 58)
    """
    import pandas as pd

    patterns = compile_patterns(pattern, name="pattern")
    facts = facts_of(crawl_or_tables)
    hit = [patterns.matches(url) is not None for url in facts.urls]
    outside = {facts.text[page] for page in facts.pages if not hit[page]} - {-1}
    matched = [page for page in facts.pages if hit[page]]
    own = [page for page in matched if facts.text[page] >= 0 and facts.text[page] not in outside]
    rows = [
        (
            facts.urls[page],
            facts.title[page] or None,
            sum(not hit[number] for number in facts.children[page] or ()),
        )
        for page in own
    ]
    lost = pd.DataFrame(rows, columns=["url", "title", "new_elsewhere"])
    dropped = sum(waits and hits for waits, hits in zip(facts.pending, hit, strict=True))
    return ExcludePreview(
        pattern=" ".join(patterns.texts),
        pending=dropped,
        pending_left=sum(facts.pending) - dropped,
        pages=len(matched),
        copies=sum(facts.text[page] in outside for page in matched),
        lost_texts=len({facts.text[page] for page in own}),
        lost=lost.astype({"url": "str", "title": "str", "new_elsewhere": "int64"}),
    )
