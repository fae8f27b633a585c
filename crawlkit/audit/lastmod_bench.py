"""One audit of ``lastmod`` while it is being made: look at pages, score, judge, remember."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlkit.audit.lastmod_agreement import add_agreement, measure_agreement
from crawlkit.audit.lastmod_findings import lastmod_spread
from crawlkit.audit.lastmod_history import (
    control_rows,
    empty_rounds,
    read_rounds,
    site_of,
    write_round,
)
from crawlkit.audit.lastmod_pairs import visit_pairs
from crawlkit.audit.lastmod_result import LastmodAudit
from crawlkit.audit.lastmod_sample import (
    choose_pages,
    eligible_pages,
    public_sample,
    visits_frame,
)
from crawlkit.audit.lastmod_scorecard import score_pairs, score_table
from crawlkit.audit.lastmod_stamps import entry_dates, times_of
from crawlkit.audit.lastmod_verdict import Evidence, Judgment, LastmodThresholds, judge
from crawlkit.audit.lastmod_words import three_sentences
from crawlkit.audit.page_visits import CrawledPages

if TYPE_CHECKING:
    import pandas as pd

    from crawlkit.audit.page_visits import PageVisits, Visit

__all__ = ["AuditBench"]

_DECISIVE = frozenset({"absent", "stamp_generation", "stamp_request"})


class AuditBench:
    """One audit while it is being made."""

    def __init__(
        self,
        entries: pd.DataFrame,
        again: pd.DataFrame | None,
        limits: LastmodThresholds,
        random_seed: int,
    ) -> None:
        self.limits = limits
        self._entries = entries
        self._files: tuple[dict[str, Any], ...] = tuple(entries.attrs.get("files", ()))
        self._random_seed = random_seed
        self._dates = entry_dates(entries)
        self._spread = lastmod_spread(entries, again=again)
        self._rounds = empty_rounds()
        self._rounds["round"] = self._rounds["round_at"].astype("int64")
        self._chosen: pd.DataFrame = self._dates.iloc[:0].assign(
            age="", seen_before=False, draw_weight=1.0
        )
        self._visits: list[Visit] = []
        self._no_score = score_pairs(visit_pairs(self._rounds))
        self._interrupted = False
        self.site = site_of(self._dates)

    @property
    def finding(self) -> str:
        """What the spread of the whole site is."""
        return str(self._spread["finding"].iloc[0])

    @property
    def is_decided(self) -> bool:
        """Whether the dates alone decide."""
        return self.finding in _DECISIVE

    @property
    def hosts(self) -> set[str]:
        """Hosts that may be asked: those of the sitemap files, and those they may speak for."""
        dates = self._dates
        found = {_host_of(name) for name in dates["sitemap"].dropna().unique()} - {None}
        scope = self._entries.get("scope")
        if found and scope is None:
            dates = dates.iloc[:0]
        elif found:
            dates = dates[self._entries["scope"].eq("cross_submitted").to_numpy()]
        # Entries of a file on the disk, or of a table, are asked for wherever they are.
        authorities = dates["url"].str.extract(r"^(https?://[^/?#]+)", expand=False).unique()
        return {each for each in found | {_host_of(name) for name in authorities} if each}

    def _unread_files(self) -> dict[str, str]:
        """Return the reason that tells how many files could not be read, if any."""
        known = {each.get("url") for each in self._files}
        rows = self._entries.attrs.get("unread_rows", ())
        more = [code for name, code in rows if name not in known]
        unread = [each["reason"] for each in self._files if each.get("reason")]
        unread = [code for code in (*unread, *more) if code != "already_read"]
        if not unread:
            return {}
        return {
            "unread_files": f"{len(unread)} of {len(self._files) + len(more)} sitemap files could "
            f"not be read ({', '.join(sorted(set(unread)))})"
        }

    def open_history(self, folder: Any) -> None:
        """Read what earlier audits saw."""
        if folder is not None:
            self._rounds = read_rounds(folder, self.site)

    def look(
        self,
        source: PageVisits,
        count: int | None,
        *,
        available: Any = None,
        progress: bool,
    ) -> None:
        """Look at pages; an interrupt ends it early."""
        from tqdm.auto import tqdm

        spread = self._spread
        decided = spread[(spread["level"] == "file") & spread["finding"].isin(_DECISIVE)]
        skipped: set[str | None] = set()
        if available is None:
            skipped = {n if isinstance(n, str) else None for n in decided["sitemap"].tolist()}
        eligible = eligible_pages(self._dates, self._entries.get("scope"), skipped=skipped)
        seen = self._rounds[self._rounds["visited"] & self._rounds["text_hash"].notna()]
        self._chosen = choose_pages(
            eligible,
            seen.drop_duplicates("url", keep="last"),
            count=count,
            random_seed=self._random_seed,
            available=available,
        )
        bar = tqdm(
            self._chosen["url"],
            desc="pages",
            unit="page",
            disable=not (progress and len(self._chosen)),
        )
        try:
            for url in bar:
                self._visits.append(source.visit(url))
        except KeyboardInterrupt:
            self._interrupted = True
        finally:
            bar.close()
        ahead = self._server_ahead()
        if isinstance(source, CrawledPages) and ahead:
            # A crawl's times are our own; lastmod is the server's.
            self._visits = [visit._replace(at=visit.at + ahead) for visit in self._visits]

    def _server_ahead(self) -> float:
        """Return the seconds that the server's clock is ahead of ours, by its sitemaps."""
        from statistics import median

        gaps = [
            float(file["date"]) - float(file["fetched_at"])
            for file in self._files
            if file.get("date") is not None and file.get("fetched_at") is not None
        ]
        return median(gaps) if gaps else 0.0

    def finish(self, history: Any) -> LastmodAudit:
        """Score, judge, and add this round to the history."""
        import pandas as pd

        sample = visits_frame(self._chosen, self._visits)
        sample = add_agreement(sample, tolerance=self.limits.tolerance)
        this_round = self._this_round(sample)
        before = self._rounds[self._rounds["round_at"] != this_round["round_at"].max()]
        rounds = pd.concat([before, this_round], ignore_index=True) if len(before) else this_round
        rounds = rounds.sort_values("round_at", kind="stable", ignore_index=True)
        rounds["round"] = pd.Series(pd.factorize(rounds["round_at"])[0], dtype="int64")
        pairs = visit_pairs(rounds, bulk_share=self.limits.bulk)
        evidence = self._evidence(self._spread.iloc[0], sample, pairs)
        files = self._judge_files(evidence, sample, pairs)
        judgment = _with_files(judge(evidence, self.limits), files)
        reasons = dict(judgment.reasons)
        if self._interrupted:
            reasons["interrupted"] = f"the sample ended after {len(self._visits)} pages"
        for name in self._rounds.attrs.get("unreadable", ()):
            reasons["history_unreadable"] = f"{name} could not be read, and is left out"
        reasons |= self._unread_files()
        if history is not None and len(this_round):
            write_round(history, this_round.assign(passed=judgment.verdict))
        return LastmodAudit(
            verdict=judgment.verdict,
            reasons=reasons,
            sentences=three_sentences(
                judgment.verdict,
                reasons,
                evidence,
                self._spread,
                pages=(len(sample), int(sample["text_hash"].notna().sum())),
                confidence=self.limits.confidence,
            ),
            spread=self._spread,
            sample=public_sample(sample),
            dates=self._page_dates(),
            scorecard=score_table(evidence.score),
            pairs=pairs,
            files=files,
            lastmods=self._lastmods(),
            agreement=evidence.agreement,
            thresholds=self.limits,
            site=self.site,
        )

    def _evidence(self, row: pd.Series, sample: pd.DataFrame, pairs: pd.DataFrame) -> Evidence:
        """Return what is known of the site, or of the file that a row of the spread is about."""
        rounds = self._rounds
        if row["level"] == "file":
            name = row["sitemap"]
            sample = _of_file(sample, name)
            pairs = _of_file(pairs, name)
        agreement = None
        if len(sample):
            agreement = measure_agreement(
                sample,
                tolerance=self.limits.tolerance,
                confidence=self.limits.confidence,
                random_seed=self._random_seed,
            )
        last = rounds["passed"].iloc[-1] if len(rounds) else None
        score = self._no_score
        if len(pairs):
            score = score_pairs(pairs, fade=self.limits.fade, confidence=self.limits.confidence)
        return Evidence(
            finding=str(row["finding"]),
            dated=int(row["dated"]),
            entries=int(row["entries"]),
            agreement=agreement,
            score=score,
            passed_before=last in ("trust", "provisional"),
        )

    def _judge_files(
        self, site: Evidence, sample: pd.DataFrame, pairs: pd.DataFrame
    ) -> pd.DataFrame:
        """Return the verdict on each file; a single one shares that on the site."""
        import pandas as pd

        rows = []
        listed = self._spread[self._spread["level"] == "file"]
        for _, row in listed.iterrows():
            evidence = site if len(listed) == 1 else self._evidence(row, sample, pairs)
            verdict, reasons = judge(evidence, self.limits)
            pages = int(_of_file(sample, row["sitemap"])["text_hash"].notna().sum())
            rows.append(
                (
                    row["sitemap"],
                    verdict,
                    ", ".join(reasons),
                    row["finding"],
                    row["entries"],
                    row["dated"],
                    pages,
                    evidence.score.pairs,
                )
            )
        names = ("sitemap", "verdict", "reasons", "finding", "entries", "dated", "pages", "pairs")
        kinds = {name: "str" if place < 4 else "int64" for place, name in enumerate(names)}
        return pd.DataFrame(rows, columns=list(names)).astype(kinds)

    def _this_round(self, sample: pd.DataFrame) -> pd.DataFrame:
        """Return this audit as rows of a history."""
        dates = self._dates[self._dates["start"].notna()].drop_duplicates("url")
        chosen = sample.set_index("url")
        kept = dates[control_rows(dates["url"]) | dates["url"].isin(chosen.index)]
        rows = kept.rename(columns={"start": "lastmod_start", "end": "lastmod_end"})
        rows = rows[["url", "sitemap", "lastmod_start", "lastmod_end", "date_only"]]
        rows = rows.assign(
            round_at=self._round_at(),
            site=self.site,
            visited=rows["url"].isin(chosen.index),
            finding=self.finding,
            passed=None,
        )
        for name in ("at", "reason", "text_hash", "text_hash_by", "sketch", "draw_weight"):
            rows[name] = rows["url"].map(chosen[name])
        rows["sketch"] = [each if isinstance(each, list) else [] for each in rows["sketch"]]
        rows["passed"] = rows["passed"].astype("str")
        return rows.reset_index(drop=True)

    def _round_at(self) -> float:
        """Return when this audit was made, by the site's own clock where it tells."""
        for name in ("date", "fetched_at"):
            moments = [file.get(name) for file in self._files]
            known = [float(m) for m in moments if isinstance(m, int | float) and math.isfinite(m)]
            if known:
                return max(known)
        seen = [visit.at for visit in self._visits if math.isfinite(visit.at)]
        return max(seen) if seen else time.time()

    def _page_dates(self) -> pd.DataFrame:
        """Return every candidate for a date of every page."""
        import pandas as pd

        from crawlkit.web.dates import candidates_table

        frame = candidates_table([found for visit in self._visits for found in visit.dates])
        urls = [visit.url for visit in self._visits for _ in visit.dates]
        frame.insert(0, "url", pd.Series(urls, dtype="str"))
        return frame

    def _lastmods(self) -> pd.DataFrame:
        """Return the dates of all entries that have one."""
        dated = self._dates[self._dates["start"].notna()]
        return dated[["sitemap"]].reset_index(drop=True).assign(lastmod=times_of(dated["start"]))


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(str(url)).hostname
    except ValueError:
        return None


def _of_file(frame: pd.DataFrame, sitemap: Any) -> pd.DataFrame:
    """Return the rows about one file; attributes are kept."""
    known = isinstance(sitemap, str)
    return frame[frame["sitemap"] == sitemap] if known else frame[frame["sitemap"].isna()]


def _with_files(judgment: Judgment, files: pd.DataFrame) -> Judgment:
    """Return the verdict on a site, given those on its files: no mean of good and bad is true."""
    if judgment.verdict == "distrust" or len(files) < 2:
        return judgment
    dated = int(files["dated"].sum())
    bad = files[files["verdict"] == "distrust"]
    if dated and bad["dated"].sum() > 0.1 * dated:
        text = (
            f"{len(bad)} of {len(files)} files are not to be trusted, others may be: "
            f"use the verdict on each file"
        )
        reasons = {code: words for code, words in judgment.reasons.items() if code != "mixed"}
        return Judgment("undecided", {"mixed_files": text} | reasons)
    return judgment
