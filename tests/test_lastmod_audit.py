"""The audit of lastmod: samples, agreement, verdicts, manners, words, pictures, command line."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lastmod_tables import DAY, HONEST, NOW, Pages, audit, entries, spread_out

import crawlkit as ck
from crawlkit import lab
from crawlkit.audit.intervals import share_interval
from crawlkit.audit.lastmod_agreement import Agreement
from crawlkit.audit.lastmod_findings import FINDINGS
from crawlkit.audit.lastmod_sample import SAMPLE_COLUMNS
from crawlkit.audit.lastmod_scorecard import Score
from crawlkit.audit.lastmod_verdict import Evidence, LastmodThresholds, judge, make_thresholds
from crawlkit.audit.page_visits import Visit, read_visit

if TYPE_CHECKING:
    from pathlib import Path

mpl.use("Agg")


# -- sample and agreement ------------------------------------------------------------------


def test_agreement_makes_a_first_audit_provisional_and_never_more() -> None:
    found = audit(HONEST, lambda start: start)
    assert found.verdict == "provisional"
    assert list(found.reasons) == ["agrees_with_pages"]
    assert len(found.sentences) == 3


def test_ten_pages_never_suffice() -> None:
    found = audit(HONEST, lambda start: start, sample=10)
    assert (found.verdict, list(found.reasons)) == ("undecided", ["too_few_pages"])


def test_pages_that_were_modified_later_contradict() -> None:
    found = audit(HONEST, lambda start: min(NOW, start + 40 * DAY))
    assert found.verdict == "distrust"
    assert "mostly older" in found.reasons["contradicted"]
    assert (found.sample["gap_hours"].dropna() <= 0).all()


@pytest.mark.parametrize("hours", [-8, 5.5, 9])
def test_a_constant_offset_is_found_named_and_taken_off(hours: float) -> None:
    found = audit(HONEST, lambda start: start - hours * 3600, thresholds={"tolerance": 60})
    assert found.verdict == "provisional"
    side = "ahead of" if hours > 0 else "behind"
    assert f"{abs(hours):g} hours {side}" in found.reasons["zone_offset"]
    assert found.sample["gap_hours"].abs().max() == 0


def test_where_all_dates_are_of_one_day_agreement_is_chance() -> None:
    # Spread over ten hours, so no stamp; any date agrees with any other.
    starts = NOW - np.random.default_rng(2).random(300) * 36_000
    news: dict[str, Any] = {"kind": "news"}
    news["publication_date"] = pd.to_datetime(starts - 9_000, unit="s", utc=True)
    frame = entries(starts, made={"date": NOW}, **news)
    found = audit(frame, lambda start: start)
    assert found.verdict == "undecided"
    assert "shuffled" in found.reasons["not_above_chance"]


def test_page_dates_that_are_all_of_one_hour_are_no_evidence() -> None:
    found = audit(HONEST, lambda start: NOW - (start % 600))
    assert (found.verdict, list(found.reasons)) == ("undecided", ["page_dates_stamped"])


def test_last_modified_that_varies_stands_in_for_a_missing_date() -> None:
    class ByHttp(Pages):
        def visit(self, url: str) -> Visit:
            seen = super().visit(url)
            return seen._replace(modified=math.nan, http_modified=seen.modified)

    found = audit(HONEST, lambda start: start, pages=ByHttp(HONEST, lambda start: start))
    assert found.verdict == "provisional"
    assert set(found.sample["evidence"]) == {"http"}
    deployed = ByHttp(HONEST, lambda _: NOW - 5 * DAY)
    found = audit(HONEST, lambda start: start, pages=deployed)
    assert list(found.reasons) == ["no_page_dates"]


def test_the_draw_is_seeded_and_covers_files_and_ages() -> None:
    two = pd.concat(
        [HONEST, entries(spread_out(300, 5), sitemap="http://a/2.xml")], ignore_index=True
    )
    draws = []
    for seed in (1, 1, 2):
        pages = Pages(two, lambda start: start)
        audit(two, lambda start: start, pages=pages, random_seed=seed)
        draws.append(pages.asked)
    assert draws[0] == draws[1] != draws[2]
    found = audit(two, lambda start: start)
    counts = found.sample.groupby(["sitemap", "age"]).size()
    assert counts.tolist() == [10] * 6


def test_the_home_page_is_a_class_of_its_own() -> None:
    frame = HONEST.copy()
    frame.loc[0, "loc"] = "http://a/"
    pages = Pages(frame, lambda start: start)
    audit(frame, lambda start: start, pages=pages, sample=300)
    assert "http://a/" not in pages.asked
    assert len(pages.asked) == 299


def test_pages_on_other_hosts_are_not_asked() -> None:
    frame = HONEST.assign(scope=["other_host"] * 100 + ["ok"] * 200)
    pages = Pages(frame, lambda start: start)
    audit(frame, lambda start: start, pages=pages, sample=300)
    assert set(pages.asked) == set(frame["loc"][100:])


def test_nothing_is_asked_where_the_dates_alone_decide() -> None:
    frame = entries([NOW, NOW + 1] * 50, made={"last_modified": NOW, "date": NOW + 60})
    found = ck.audit_lastmod(frame, progress=False)  # would ask a host that does not exist
    assert (found.verdict, list(found.reasons)) == ("distrust", ["stamp_generation"])
    assert found.sample.empty


def test_an_interrupt_ends_the_sample_and_what_was_seen_counts() -> None:
    class Interrupted(Pages):
        def visit(self, url: str) -> Visit:
            if len(self.asked) == 25:
                raise KeyboardInterrupt
            return super().visit(url)

    found = audit(HONEST, lambda start: start, pages=Interrupted(HONEST, lambda start: start))
    assert len(found.sample) == 25
    assert "interrupted" in found.reasons
    assert found.verdict == "provisional"


def test_a_sample_has_its_columns_also_when_it_is_empty() -> None:
    for count in (0, 20):
        found = audit(HONEST, lambda start: start, sample=count)
        assert {n: str(kind) for n, kind in found.sample.dtypes.items()} == SAMPLE_COLUMNS


def test_the_best_date_of_a_page_is_its_own() -> None:
    body = b"""<html><script type="application/ld+json">{"@type": "NewsArticle",
    "dateModified": "2024-05-17T12:00:00Z", "comment": [{"@type": "Comment",
    "dateModified": "2024-06-01T00:00:00Z"}]}</script><main><p>Words of the page.</p></main>"""
    headers = {"Content-Type": "text/html", "Date": "Sat, 01 Jun 2024 00:00:00 GMT"}
    headers["Last-Modified"] = headers["Date"]
    seen = read_visit("http://a/1", body, headers, at=0)
    assert seen.modified == 1_715_947_200.0
    assert seen.at == 1_717_200_000.0  # the server's clock
    assert math.isnan(seen.http_modified)  # the moment of the answer is no evidence
    assert len(seen.dates) >= 2
    assert read_visit("http://a/1", b"\x89PNG\r\n", {}, at=0).reason == "not_html"


# -- verdicts ------------------------------------------------------------------------------

COUNTS = st.integers(0, 60)


def share(failures: int, trials: int) -> Any:
    return share_interval(max(0, trials - failures), trials)


@st.composite
def evidence(draw: Any) -> Evidence:
    """Any evidence, also such as no site gives."""
    moved, still, changed, pages = (draw(COUNTS) for _ in range(4))
    score = Score(
        precision=share(draw(st.integers(0, moved)), moved),
        recall=share(draw(st.integers(0, changed)), changed),
        changed_unmoved=share(draw(st.integers(0, still)), still).complement()
        if still
        else share(0, 0),
        pairs=moved + still,
        since=draw(st.integers(0, 3)),
        left_out={},
        bulk_events=draw(st.integers(0, 2)),
        counts=dict.fromkeys(("precision", "recall", "changed_unmoved"), (moved, moved)),
    )
    agreement = Agreement(
        share=share(draw(st.integers(0, pages)), pages),
        chance=draw(st.floats(0, 1)),
        older=1,
        newer=0,
        stamped=draw(st.booleans()),
        offset=draw(st.sampled_from([0.0, 2.0])),
    )
    return Evidence(
        finding=draw(st.sampled_from(sorted(FINDINGS))),
        dated=100,
        entries=100,
        agreement=draw(st.sampled_from([agreement, None])),
        score=score,
        passed_before=draw(st.booleans()),
    )


@given(evidence())
@settings(max_examples=150)
def test_trust_needs_both_bounds_over_time_and_dates_that_are_no_stamp(given: Evidence) -> None:
    limits = LastmodThresholds()
    verdict, reasons = judge(given, limits)
    assert reasons
    if verdict == "trust":
        assert given.score.precision.low >= 0.8
        assert given.score.changed_unmoved.high <= 0.15
        assert given.finding not in ("absent", "stamp_generation", "stamp_request", "too_few")
    if verdict == "provisional":
        assert given.finding in ("ok", "partial")
        assert given.passed_before or given.agreement is not None
    if given.score.pairs == 0 and given.finding in ("ok", "partial"):
        assert verdict != "trust"


@given(evidence())
@settings(max_examples=60)
def test_stricter_thresholds_never_make_trust(given: Evidence) -> None:
    usual = judge(given, LastmodThresholds()).verdict
    strict = judge(given, make_thresholds({"precision": 0.95, "changed_unmoved": 0.05})).verdict
    assert strict != "trust" or usual == "trust"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"nothing": 1}, "no threshold 'nothing'"),
        ({"precision": 2}, "precision cannot be 2"),
        ({"fade": 0}, "fade cannot be 0"),
        ({"few": "ten"}, "few cannot be"),
        (3, "no mapping"),
    ],
)
def test_thresholds_that_cannot_be_meant_are_refused(wrong: Any, words: str) -> None:
    with pytest.raises(ck.BadSetting, match=words):
        ck.audit_lastmod(HONEST, sample=0, thresholds=wrong)


@pytest.mark.parametrize(
    "options",
    [
        {"sample": -1}, {"sample": None}, {"sample": 1.5}, {"delay": -1}, {"delay": math.nan},
        {"refetch": "soon"}, {"extractor": "magic"}, {"pages": 3}, {"history": 3},
        {"history": ""}, {"random_seed": -1}, {"random_seed": "x"},
    ],
)  # fmt: skip
def test_arguments_that_cannot_work_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(ck.BadSetting, match=next(iter(options))):
        ck.audit_lastmod(HONEST, progress=False, **{"sample": 0, **options})
    with pytest.raises(ck.BadSetting, match="source"):
        ck.audit_lastmod(pd.DataFrame({"x": [1]}), progress=False)
    with pytest.raises(ck.BadSetting, match=r"http: int is no Http\. Pass ck\.Http"):
        ck.audit_lastmod("http://127.0.0.1:9/", http=3, progress=False)  # type: ignore[arg-type]
    with pytest.raises(ck.BadSetting, match="pages"):
        ck.record_lastmod("history", HONEST, None)


def test_a_verdict_without_a_sample_says_so() -> None:
    unknown = pd.DataFrame({"url": ["http://a/other"], "text_hash": ["0" * 32]})
    for options in ({"sample": 0}, {"sample": None, "pages": unknown}):
        found = ck.audit_lastmod(HONEST, progress=False, **options)
        assert (found.verdict, list(found.reasons)) == ("undecided", ["no_sample"])


def test_sitemaps_that_are_not_there_are_told_of() -> None:
    quick = ck.Http(retries=0, timeout=5)
    found = ck.audit_lastmod("http://127.0.0.1:9/", http=quick, progress=False)
    assert "1 of 1 sitemap files could not be read (robots_unreachable)" in found.sentences[0]
    files = ck.read_sitemaps([b"<html>", b"https://a.example/"], progress=False)
    found = ck.audit_lastmod(files, sample=0, progress=False)
    assert found.reasons["unread_files"] == "1 of 2 sitemap files could not be read (html_page)"


# -- over HTTP -----------------------------------------------------------------------------


def test_pages_are_fetched_politely_and_robots_is_obeyed() -> None:
    class Guarded(lab.Living):
        def robots_lines(self, place: Any) -> list[str]:
            named = f"Sitemap: {place.base}living/sitemap.xml"
            return ["Disallow: /living/pages/1", "Crawl-delay: 0.08", named]

    with lab.serve([Guarded(size=60)]) as site:
        entries = ck.read_sitemaps(site.url, delay=0, progress=False)
        site.forget()
        found = ck.audit_lastmod(entries, sample=20, delay=0.01, progress=False)
        asked = [request.path for request in site.requests]
        assert asked[0] == "/robots.txt"
        assert not [path for path in asked if path.startswith("/living/pages/1")]
        # From start to start; how long a request takes to arrive differs a little.
        assert site.closest_requests() >= 0.04
        assert set(found.sample["reason"].dropna()) == {"robots_disallowed"}


def test_a_page_that_cannot_be_had_is_a_row_with_the_reason() -> None:
    living = lab.Living(size=40)
    with lab.serve([living, "broken"]) as site:
        frame = ck.read_sitemaps(site.url, delay=0, progress=False)
        frame.loc[0, "loc"] = site.url + "broken/nothing-here"
        frame.loc[1, "loc"] = "http://127.0.0.9:1/elsewhere"
        found = ck.audit_lastmod(frame, sample=40, delay=0, progress=False)
    reasons = found.sample.set_index("url")["reason"].dropna()
    assert reasons.to_dict() == {
        site.url + "broken/nothing-here": "http_404",
        "http://127.0.0.9:1/elsewhere": "other_host",
    }
    assert found.verdict == "provisional"


def test_reading_again_shows_dates_that_are_made_at_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import time

    living = lab.Living(case="half_true", size=60)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        living.clock.advance(hours=1)

    stand_in = SimpleNamespace(sleep=sleep, time=time.time)
    monkeypatch.setattr("crawlkit.audit.lastmod.time", stand_in)
    with lab.serve([living]) as site:
        found = ck.audit_lastmod(site.url, sample=0, refetch=120, progress=False)
    assert slept == [120]
    files = found.spread.set_index("sitemap")["finding"]
    assert files[site.url + "living/stamped.xml"] == "stamp_request"
    assert files[site.url + "living/kept.xml"] == "ok"


def test_two_crawls_feed_the_scorecard(tmp_path: Path) -> None:
    verdicts = []
    for case in ("truthful", "restamped_by_deploy"):
        living = lab.Living(case=case, size=80)
        with lab.serve([living], seed=4) as site:
            for step in range(2):
                entries = ck.read_sitemaps(site.url, delay=0, progress=False)
                crawl = ck.crawl(
                    entries["loc"].tolist(),
                    tmp_path / f"{case}{step}",
                    delay=0,
                    max_depth=0,
                    progress=False,
                )
                found = ck.record_lastmod(tmp_path / case, entries, crawl)
                verdicts.append(found.verdict)
                again = ck.record_lastmod(tmp_path / case, entries, crawl.pages)
                assert len(again.pairs) == len(found.pairs)
                living.clock.advance(days=14)
        assert len(found.pairs) == 80
    assert verdicts == ["provisional", "trust", "provisional", "distrust"]


def test_a_crawl_that_spells_addresses_otherwise_is_recognized() -> None:
    pages = pd.DataFrame(
        {
            "url": ["http://a.example/1?b=2&a=1"],
            "key": [ck.normalize_url("http://a.example/1?b=2&a=1")],
            "text_hash": ["0" * 32],
            "text_hash_by": ["x"],
        }
    )
    frame = pd.DataFrame({"loc": ["http://A.example:80/1?a=1&b=2"], "lastmod": ["2024-05-17"]})
    found = ck.audit_lastmod(frame, pages=pages, sample=None, progress=False)
    assert found.sample["text_hash"].tolist() == ["0" * 32]


def test_hashes_of_different_methods_are_never_compared(tmp_path: Path) -> None:
    for step, by in enumerate(("one", "other")):
        pages = pd.DataFrame(
            {"url": HONEST["loc"], "text_hash": f"{step}" * 32, "text_hash_by": by}
        )
        frame = HONEST.copy()
        frame.attrs["files"] = ({"url": "http://a/s.xml", "date": NOW + step * 30 * DAY},)
        found = ck.record_lastmod(tmp_path, frame, pages)
    assert set(found.pairs["left_out"]) == {"other_method"}
    assert found.scorecard["pairs"].sum() == 0


def test_a_redeploy_of_the_whole_site_is_one_event_and_never_trust(tmp_path: Path) -> None:
    first = audit(HONEST, lambda start: start, history=tmp_path)
    stamps = NOW + 5 * DAY + np.arange(300) * 10.0
    redeployed = entries(stamps, made={"date": NOW + 10 * DAY})
    later = audit(redeployed, lambda start: start, history=tmp_path)
    assert (first.verdict, later.verdict) == ("provisional", "undecided")
    assert {"bulk_event", "bulk_redeploy", "evidence_against"} <= set(later.reasons)
    assert later.scorecard.set_index("measure")["votes"]["precision"] == 1
