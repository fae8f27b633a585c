"""What an audit of ``lastmod`` found: tables, the verdict, three sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawlkit.audit.lastmod_verdict import LastmodThresholds, Verdict
from crawlkit.audit.lastmod_words import headline
from crawlkit.reprs import facts_html, plain_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from crawlkit.audit.lastmod_agreement import Agreement

__all__ = ["LastmodAudit"]


@dataclass(frozen=True, repr=False)
class LastmodAudit:
    """What an audit of ``lastmod`` found.

    Attributes
    ----------
    verdict : str
        ``"trust"`` (lastmod moved when the content did, seen over time), ``"provisional"`` (spread
        and sample pass, not yet seen over time), ``"distrust"`` or ``"undecided"``.
    reasons : dict
        Code of each reason, weightiest first, to the reason in words, with its counts.
    sentences : tuple of str
        What the dates look like, what pages say, what was seen to change and what to do.
    spread : DataFrame
        What `lastmod_spread` returns.
    sample : DataFrame
        The pages looked at: ``url sitemap age evidence modified_source modified_raw agreement
        reason text_hash text_hash_by`` (str; null where there is nothing), ``seen_before`` (bool),
        ``lastmod page_date fetched_at`` (datetime64[us, UTC]), ``gap_hours`` (float64, above 0
        where lastmod is later).
    dates : DataFrame
        Every candidate for a date of every page looked at: ``url`` and the columns of
        `page_dates`. Empty where pages came from a crawl.
    scorecard : DataFrame
        Rates of "lastmod moved" against "main text changed", see `score_table`.
    pairs : DataFrame
        The pairs of visits behind it, see `visit_pairs`.
    files : DataFrame
        One row per sitemap file: ``sitemap verdict reasons finding`` (str), ``entries dated pages
        pairs`` (int64).
    lastmods : DataFrame
        ``sitemap`` (str) and ``lastmod`` (datetime64[us, UTC]) of every entry with a date.
    agreement : Agreement or None
        How far the sample bears lastmod out; None where no page was looked at.
    thresholds : LastmodThresholds
        Where verdicts begin.
    site : str
        Scheme and host of most entries.

    Examples
    --------
    >>> import crawlkit as ck, pandas as pd
    >>> entries = pd.DataFrame({"loc": ["https://a.example/1"], "lastmod": [None]})
    >>> audit = ck.audit_lastmod(entries, sample=0, progress=False)
    >>> audit.verdict, list(audit.reasons)
    ('distrust', ['absent'])
    """

    verdict: Verdict
    reasons: dict[str, str]
    sentences: tuple[str, str, str]
    spread: pd.DataFrame
    sample: pd.DataFrame
    dates: pd.DataFrame
    scorecard: pd.DataFrame
    pairs: pd.DataFrame
    files: pd.DataFrame
    lastmods: pd.DataFrame
    agreement: Agreement | None = None
    thresholds: LastmodThresholds = field(default_factory=LastmodThresholds)
    site: str = ""

    @property
    def table(self) -> pd.DataFrame:
        """The verdict on each file: `files`."""
        return self.files

    def verdict_of(self, sitemap: str | None) -> Verdict:
        """Return the verdict on one file; that on the site for a file the audit does not know."""
        known = self.files[self.files["sitemap"] == sitemap]
        return self.verdict if known.empty else known["verdict"].iloc[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict and what it stands on, in JSON types only."""
        return {
            "site": self.site,
            "verdict": self.verdict,
            "reasons": dict(self.reasons),
            "sentences": list(self.sentences),
            "spread": _records(self.spread),
            "scorecard": _records(self.scorecard),
            "files": _records(self.files),
            "pages": len(self.sample),
            "pairs": len(self.pairs),
        }

    def plot(self, *, part: str | None = None, ax: Axes | None = None) -> Axes:
        """Plot dates, agreement and intervals, or one `part` of them; see `plot_lastmod`."""
        from crawlkit.plots.lastmod import plot_lastmod

        return plot_lastmod(self, part=part, ax=ax)

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {headline(self.verdict, self.reasons)}", *self.sentences]
        if "mixed_files" in self.reasons:
            shown = self.files.head(20)
            lines += [
                f"  {verdict:11} {sitemap} ({reasons})"
                for sitemap, verdict, reasons in zip(
                    shown["sitemap"], shown["verdict"], shown["reasons"], strict=True
                )
            ]
        return "\n".join(plain_text(line, longest=None) for line in lines)

    def __repr__(self) -> str:
        return f"<LastmodAudit {plain_text(self.site)} {self.verdict}: {', '.join(self.reasons)}>"

    def _repr_html_(self) -> str:
        facts = [
            ("verdict", f"{self.verdict}: {headline(self.verdict, self.reasons)}"),
            ("because", ", ".join(self.reasons)),
            ("entries", f"{self.spread['entries'].iloc[0]:,}"),
            ("pages looked at", f"{len(self.sample):,}"),
            ("pages seen twice", f"{self.pairs['url'].nunique():,}"),
        ]
        return facts_html(f"lastmod of {self.site}", facts, self.sentences)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows in JSON types: times as text, null as None."""
    rows: list[dict[str, Any]] = []
    for row in frame.to_dict("records"):
        rows.append({str(name): _json_value(value) for name, value in row.items()})  # noqa: PERF401 - one line would not fit
    return rows


def _json_value(value: Any) -> Any:
    import pandas as pd

    if isinstance(value, list | tuple):
        return [_json_value(each) for each in value]
    if pd.isna(value):
        return None
    return value.isoformat() if isinstance(value, pd.Timestamp) else value
