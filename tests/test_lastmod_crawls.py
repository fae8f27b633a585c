"""From a site's own lists to a crawl, and from crawls to a verdict, over HTTP and end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hostile_server import HostileServer, answer

import crawlkit as ck
from crawlkit import lab
from crawlkit.lab.lastmod_demo import show_lastmod

if TYPE_CHECKING:
    from pathlib import Path

HTML = b"<html><title>A page</title><p>Text of a page."


def clock_of(living: lab.Living) -> pd.Timestamp:
    return pd.Timestamp(living.clock.now, unit="s", tz="UTC")


def crawl(seeds: Any, folder: Path) -> ck.Crawl:
    return ck.crawl(seeds, folder, delay=0, progress=False)


def test_urls_of_a_crawl_say_which_list_named_them(tmp_path: Path) -> None:
    with HostileServer() as server:
        url = server.url
        rss = (
            "<rss version='2.0'><channel><title>News</title><item><title>C</title>"
            f"<link>{url('/c')}</link><pubDate>Fri, 17 May 2024 10:00:00 GMT</pubDate></item>"
            "</channel></rss>"
        )
        for path, body, kind in (
            ("/robots.txt", f"Sitemap: {url('/all.xml')}", "text/plain"),
            ("/all.xml", f"<sitemapindex><sitemap><loc>{url('/pages.xml.gz')}</loc></sitemap>"
             "</sitemapindex>", "application/xml"),
            ("/pages.xml.gz", f"<urlset><url><loc>{url('/a')}</loc><lastmod>2024-05</lastmod></url>"
             f"<url><loc>{url('/b')}</loc></url></urlset>", "application/x-gzip"),
            ("/feed", rss, "application/rss+xml"),
            ("/list", f"<a href='{url('/d')}'>D</a><a href='{url('/about')}'>x</a>", "text/html"),
        ):  # fmt: skip
            server.on(path, answer(body.encode(), f"Content-Type: {kind}"))
        (tmp_path / "export.csv").write_text(f"Address,Status\n{url('/e')},200\n")
        for name in "abcde":
            server.on(f"/{name}", answer(HTML + name.encode()))
        lists = [
            ck.seeds_from_sitemap(url("/"), progress=False),
            ck.seeds_from_feed(url("/feed")),
            ck.seeds_from_page(url("/list"), pattern="/d$"),
            ck.seeds_from_file(tmp_path / "export.csv"),
        ]
        found = crawl(pd.concat(lists), tmp_path / "all").urls
        one = crawl(lists[0], tmp_path / "one").urls
    may = pd.Timestamp("2024-05-01", tz="UTC")
    noon = pd.Timestamp("2024-05-17 10:00", tz="UTC")
    expected = [
        (url("/a"), "sitemap", "pages.xml.gz", may),
        (url("/b"), "sitemap", "pages.xml.gz", None),
        (url("/c"), "feed", "feed", noon),
        (url("/d"), "page", "list", None),
        (url("/e"), "file", "export.csv", None),
    ]
    for urls, right in ((found, expected), (one, expected[:2])):
        rows = urls.sort_values("url")
        assert set(rows["state"]) == {"done"}
        places = rows["found_on"].str.rpartition("/")[2]
        dates = [None if date is pd.NaT else date for date in rows["lastmod"]]
        assert list(zip(rows["url"], rows["source"], places, dates, strict=True)) == right


def test_after_two_crawls_a_true_sitemap_decides_the_third(tmp_path: Path) -> None:
    living = lab.Living(size=120)
    with lab.serve([living], seed=3) as site:
        for step in range(2):
            seen = clock_of(living)
            entries = ck.read_sitemaps(site.url, delay=0, progress=False)
            done = crawl(ck.seeds_from_sitemap(entries), tmp_path / f"{step}")
            found = ck.record_lastmod(tmp_path / "history", entries, done)
            living.clock.advance(days=14)
        assert found.verdict == "trust"
        assert len(found.pairs) == 120
        entries = ck.read_sitemaps(site.url, delay=0, progress=False)
        changed = ck.changed_since(entries, seen, verdict=found)
        seeds = ck.seeds_from_sitemap(site.url, since=seen, verdict=found, progress=False)
        third = crawl(seeds, tmp_path / "third")
        truth = living.truth(site.url, seed=3)
    due = set(truth.loc[truth["changed_at"] > seen, "url"])
    assert "On the word of an audit with the verdict trust" in changed.attrs["note"]
    assert set(changed.loc[changed["change"] == "changed", "loc"]) == due == set(seeds["url"])
    assert set(third.pages["url"]) == due
    assert 20 < len(due) < 80
    before, now = (ck.open_crawl(tmp_path / name).pages for name in ("1", "third"))
    both = now.merge(before, on="url", suffixes=("", "_before"))
    assert (both["text_hash"] != both["text_hash_before"]).all()


def test_a_false_sitemap_is_distrusted_after_two_crawls_and_the_third_is_warned(
    tmp_path: Path,
) -> None:
    living = lab.Living(case="frozen_at_publication", size=120)
    with lab.serve([living], seed=3) as site:
        for step in range(2):
            seen = clock_of(living)
            entries = ck.read_sitemaps(site.url, delay=0, progress=False)
            done = crawl(ck.seeds_from_sitemap(entries), tmp_path / f"{step}")
            found = ck.record_lastmod(tmp_path / "history", entries, done)
            living.clock.advance(days=14)
        assert found.verdict == "distrust"
        entries = ck.read_sitemaps(site.url, delay=0, progress=False)
    with pytest.warns(ck.LastmodWarning, match="verdict distrust"):
        changed = ck.changed_since(entries, seen, verdict=found)
    assert set(changed["change"]) == {"unchanged"}


def test_the_demonstration_shows_a_lie_and_the_truth(tmp_path: Path) -> None:
    lines: list[str] = []
    picture = show_lastmod(tmp_path, lines.append)
    text = "\n".join(lines)
    assert "distrust: lastmod does not tell when pages changed" in text
    assert "provisional at first, then trust: lastmod moved when the content did" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
