"""The living site: same seed and time, same bytes; its truth; the verdict on each of its cases."""

from __future__ import annotations

import re
import urllib.request
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import crawlkit as ck
from crawlkit import lab
from crawlkit.lab.site import Site, section_from_text, section_to_text
from crawlkit.web.html import parse_page

if TYPE_CHECKING:
    from pathlib import Path

BASE = "http://127.0.0.1:1/"


def body_at(living: lab.Living, path: str, seed: int = 0) -> bytes:
    return Site([living], seed, [BASE]).answer(0, path).body


@pytest.mark.parametrize("case", lab.LASTMOD_CASES)
def test_two_audits_two_weeks_apart_come_to_the_right_verdict(case: str, tmp_path: Path) -> None:
    right = lab.LASTMOD_CASES[case]
    living = lab.Living(case=case)
    with lab.serve([living], seed=7) as site:
        options = {"sample": 80, "delay": 0, "history": tmp_path, "progress": False}
        first = ck.audit_lastmod(site.url, **options)
        living.clock.advance(days=14)
        later = ck.audit_lastmod(site.url, **options)
    assert first.verdict in right.first, first
    assert later.verdict in right.later, later
    assert set(right.reasons) & set(later.reasons), later.reasons


@pytest.mark.parametrize("case", lab.LASTMOD_CASES)
def test_the_same_seed_and_time_give_the_same_bytes(case: str) -> None:
    one, other = lab.Living(case=case), lab.Living(case=case)
    path = one._path(one.numbers()[5])
    before = body_at(one, path)
    for living in (one, other):
        living.clock.advance(days=3, hours=2)
    for each in (path, "/living/sitemap.xml"):
        assert body_at(one, each) == body_at(other, each)
    assert body_at(one, path) != before  # the noise around the text, at least
    assert body_at(one, path, seed=1) != body_at(one, path)


def test_the_main_text_changes_exactly_when_the_truth_says() -> None:
    living = lab.Living(size=80)
    site = Site([living], 3, [BASE])

    def texts() -> dict[str, str]:
        return {
            url: parse_page(site.answer(0, "/" + url.removeprefix(BASE)).body, url=url).text_hash
            for url in living.truth(BASE, seed=3)["url"]
        }

    truth, before = living.truth(BASE, seed=3).set_index("url"), texts()
    living.clock.advance(days=14)
    later, after = living.truth(BASE, seed=3).set_index("url"), texts()
    changed = {url for url in before if before[url] != after[url]}
    assert changed == set(truth.index[later["changed_at"] > truth["changed_at"]])
    assert 10 < len(changed) < 50


def test_a_truthful_sitemap_has_the_times_of_the_truth() -> None:
    living = lab.Living(size=30)
    listed = re.findall(
        rb"<loc>(.*?)</loc><lastmod>(.*?)</lastmod>", body_at(living, "/living/sitemap.xml")
    )
    truth = living.truth(BASE).set_index("url")["changed_at"].dt.floor("s")
    assert {url.decode(): pd.Timestamp(date.decode()) for url, date in listed} == truth.to_dict()


def test_two_stamps_a_second_apart_and_an_archive_without_dates() -> None:
    news = body_at(lab.Living(case="news_stamps"), "/living/sitemap.xml")
    stamps = sorted(set(re.findall(rb"<lastmod>(.*?)</lastmod>", news)))
    first, second = (pd.Timestamp(stamp.decode()) for stamp in stamps)
    assert (second - first).total_seconds() == 1
    archive = body_at(lab.Living(case="undated_archive"), "/living/sitemap.xml")
    assert archive.count(b"<loc>") == 10_236
    assert b"<lastmod>" not in archive


def test_the_site_tells_its_own_time_over_http() -> None:
    living = lab.Living(size=20)
    living.clock.advance(days=2)
    with lab.serve([living, "shop"]) as site:
        with urllib.request.urlopen(site.url + "living/sitemap.xml") as reply:
            dates = reply.headers.get_all("Date")
            modified = reply.headers.get_all("Last-Modified")
        with urllib.request.urlopen(site.url + "living/pages/3") as reply:
            assert reply.headers["Last-Modified"] is None
        with urllib.request.urlopen(site.url + "shop/") as reply:
            assert parsedate_to_datetime(reply.headers["Date"]).timestamp() > living.clock.now
            assert reply.headers["Last-Modified"] is not None
        with urllib.request.urlopen(site.url + "robots.txt") as reply:
            assert f"Sitemap: {site.url}living/sitemap.xml" in reply.read().decode()
    assert len(dates) == len(modified) == 1
    assert parsedate_to_datetime(dates[0]).timestamp() == living.clock.now
    assert parsedate_to_datetime(modified[0]).timestamp() < living.clock.now


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(ck.BadSetting, match="no case 'x'"):
        lab.Living(case="x")
    with pytest.raises(ck.BadSetting, match="lead back"):
        lab.Living().clock.advance(days=-1)
    assert section_from_text(section_to_text(lab.Living(case="half_true"))).case == "half_true"  # type: ignore[attr-defined]
