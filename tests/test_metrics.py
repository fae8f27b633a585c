"""What a crawl cost and brought: every number against a small site known to the last byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from crawls import crawl as run_crawl
from crawls import page, serve, text
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit import lab
from crawlkit.audit.link_spellings import spelling_of

if TYPE_CHECKING:
    from pathlib import Path

BASE = "http://a.example/"
SITE = {
    "": page(
        "secret", "a", "a?utm_source=x", "/t/a?utm_source=y#top", "../t/a", "b", "moved",
        "gone", "c?s=1", "c?s=2", "file.txt", title="Start",
    ),
    "a": page(title="A"),
    "b": page(title="B", canonical="/t/a"),
    "c?s=1": page(title="Same"),
    "c?s=2": page(title="Same"),
    "moved": lab.redirect("a"),
    "gone": page(title="Gone", status=404),
    "file.txt": text("no page"),
}  # fmt: skip
ROBOTS = "User-agent: *\nDisallow: /t/secret\n"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[ck.Crawl, list[lab.Request]]:
    with serve(SITE, robots=ROBOTS) as site:
        crawl = run_crawl(site.url + "t/", tmp_path_factory.mktemp("metrics") / "c")
        return crawl, site.requests


def test_the_numbers_of_a_known_site(crawled: tuple[ck.Crawl, list[lab.Request]]) -> None:
    crawl, requests = crawled
    metrics = ck.crawl_metrics(crawl, price_per_gb=8.0)
    assert metrics["pages"] == len(crawl.pages) == 8
    assert metrics["requests"] == len(requests) == 9  # with robots.txt
    assert metrics["bytes"] == sum(request.bytes for request in requests)
    assert metrics["useful_pages"] == 4  # start, a, b, one of two copies
    assert metrics["pages_by_canonical"] == 5  # b names a; the file is a page of its own
    assert metrics["requests_per_stored_page"] == 9 / 6
    assert metrics["bytes_per_useful_page"] == metrics["bytes"] / 4
    assert metrics["cost"] == pytest.approx(8.0 * metrics["bytes"] / 1e9)
    assert metrics["cost_per_useful_page"] == pytest.approx(metrics["cost"] / 4)
    assert metrics["robots_refused"] == 1
    assert metrics["retries"] == 0
    assert metrics["frontier_size"] == 0
    assert metrics["known_urls"] == len(crawl.urls)


def test_duplicates_are_fewer_after_normalization_than_before(
    crawled: tuple[ck.Crawl, list[lab.Request]],
) -> None:
    metrics = ck.crawl_metrics(crawled[0])
    # Six pages, one a copy. Two more spellings of a; "../t/a" and the fragment are none.
    assert metrics["duplicate_rate_after"] == pytest.approx(1 / 6)
    assert metrics["duplicate_rate_before"] == pytest.approx(3 / 8)


def test_results_by_host_and_status_add_up(tmp_path: Path) -> None:
    with lab.serve(["cross", "broken"], hosts=2) as site:
        crawl = run_crawl(site.seeds, tmp_path / "c", scope="any", http=ck.Http(retries=0))
        asked = [request.host for request in site.requests]
    metrics = ck.crawl_metrics(crawl)
    hosts = metrics.hosts.set_index("host")
    assert hosts["requests"].to_dict() == {host: asked.count(host) for host in set(asked)}
    kinds = ["ok", "redirects", "client_errors", "server_errors", "no_answer"]
    assert hosts[kinds].sum(axis=1).to_dict() == hosts["pages"].to_dict()
    assert (hosts["server_errors"] == 2).all()
    pages = crawl.pages
    table = metrics.statuses
    assert table["pages"].sum() == len(pages)
    assert table.loc[table["status"] == 404, "pages"].sum() == (pages["status"] == 404).sum()


def test_the_frontier_is_told_along_the_crawl(crawled: tuple[ck.Crawl, list[lab.Request]]) -> None:
    import matplotlib.pyplot as plt

    crawl = crawled[0]
    metrics = ck.crawl_metrics(crawl)
    frontier = metrics.frontier
    assert frontier["page"].tolist() == list(range(1, 9))
    assert frontier["discovery_rate"].iloc[-1] == frontier["new_urls"].mean()
    assert frontier["frontier_size"].iloc[-1] == 0
    assert metrics["frontier_peak"] == frontier["frontier_size"].max()
    assert "Frontier empty after 8 pages" in metrics.plot().get_title()
    plt.close("all")


def test_markers_retries_and_refusals_are_counted() -> None:
    pages = pd.DataFrame(
        {
            "url": [BASE + "1", BASE + "2", BASE + "3", BASE + "4"],
            "status": [200, 200, 200, None],
            "title": ["a", "b", "c", None],
            "text_hash": ["1", "2", "3", None],
            "expected_found": [True, False, True, None],
        }
    )
    fetches = pd.DataFrame(
        {"url": [BASE + "1"] * 3, "attempt": [1, 2, 3], "wire_bytes": [10, 20, None]}
    )
    urls = pd.DataFrame(
        {"url": [BASE + "5", BASE + "6", "http://b.example/"],
         "reason": ["robots", "scope", "robots_unreachable"]}
    )  # fmt: skip
    metrics = ck.crawl_metrics({"pages": pages, "fetches": fetches, "urls": urls})
    assert metrics["expected_found"] == pytest.approx(2 / 3)
    assert metrics["useful_pages"] == 2
    assert metrics["retries"] == 2
    assert metrics["bytes"] == 30
    assert metrics["robots_refused"] == 2
    hosts = metrics.hosts.set_index("host")
    assert hosts["robots_refused"].to_dict() == {"a.example": 1, "b.example": 1}
    assert hosts.loc["a.example", "expected_missing"] == 1
    assert metrics.skipped["discovery_rate"] == "needs fetches.new_urls"
    assert pd.isna(metrics["discovery_rate"])


def test_what_the_tables_do_not_tell_is_null_and_named() -> None:
    metrics = ck.crawl_metrics({"pages": pd.DataFrame({"url": [BASE, None, BASE]})})
    assert metrics["pages"] == 1
    assert pd.isna(metrics["bytes"])
    assert pd.isna(metrics["useful_pages"])
    assert metrics.skipped["bytes"] == "needs the table 'fetches'"
    assert metrics.skipped["useful_pages"] == "needs pages.status"
    assert metrics.skipped["robots_refused"] == "needs urls.reason"
    assert metrics.hosts["bytes"].isna().all()
    assert "needs pages.status" in metrics._repr_html_()


def test_an_empty_crawl_has_the_same_columns(
    crawled: tuple[ck.Crawl, list[lab.Request]],
) -> None:
    crawl = crawled[0]
    full = ck.crawl_metrics(crawl)
    names = ("pages", "links", "fetches", "urls")
    empty = ck.crawl_metrics({name: getattr(crawl, name).head(0) for name in names})
    for name in ("table", "hosts", "statuses", "frontier"):
        assert getattr(empty, name).dtypes.to_dict() == getattr(full, name).dtypes.to_dict()
    assert empty["pages"] == 0
    assert pd.isna(empty["duplicate_rate_after"])
    # Tables in memory tell what the folder tells.
    again = ck.crawl_metrics({name: getattr(crawl, name) for name in names})
    pd.testing.assert_frame_equal(again.table, full.table)


@pytest.mark.parametrize("price", [-1, float("nan"), float("inf"), "8", True])
def test_a_price_that_is_none_is_refused(price: Any) -> None:
    with pytest.raises(ck.BadSetting, match=r"^price_per_gb: "):
        ck.crawl_metrics({"pages": pd.DataFrame({"url": [BASE]})}, price)


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(ck.BadSetting, match="there is no 'speed'"):
        ck.crawl_metrics({"pages": pd.DataFrame({"url": [BASE]})})["speed"]


def test_hosts_from_the_web_are_escaped() -> None:
    url = "http://a.example/<script>alert(1)</script>"
    assert "<script" not in ck.crawl_metrics({"pages": pd.DataFrame({"url": [url]})})._repr_html_()


@pytest.mark.parametrize(
    ("href", "spelling"),
    [
        ("/t/a", BASE + "t/a"),
        ("http://A.example/t/a", "http://A.example/t/a"),
        ("//a.example/t/a", BASE + "t/a"),
        ("a#part", BASE + "t/a"),
        ("./a", BASE + "t/a"),
        ("../../t/a", BASE + "t/a"),
        ("", BASE + "t/a"),
        ("#top", BASE + "t/a"),
        (".", BASE + "t/a"),
        ("/t/a?utm_source=x", BASE + "t/a?utm_source=x"),
        ("a?utm_source=x", "a?utm_source=x"),
        ("/x/../t/a", BASE + "t/a"),
        ("/t/\ta\n", BASE + "t/a"),
        ("/t/a b/é", BASE + "t/a%20b/%C3%A9"),
    ],
)
def test_spellings_of_one_address(href: str, spelling: str) -> None:
    assert spelling_of(href, BASE + "t/a") == spelling


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 5),
        st.sampled_from([200, 200, 301, 404, 500, None]),
        st.sampled_from(["x", "y", None]),
    ),
    max_size=15,
)


@settings(max_examples=10, deadline=None)
@given(ROWS)
def test_shares_are_shares_and_hosts_add_up(rows: list[tuple[Any, ...]]) -> None:
    pages = pd.DataFrame(
        {
            "url": [f"http://{host}.example/{number}" for host, number, *_ in rows],
            "status": [status for *_, status, _ in rows],
            "title": "t",
            "text_hash": [hashed for *_, hashed in rows],
        }
    )
    metrics = ck.crawl_metrics({"pages": pages})
    assert metrics["pages"] == pages["url"].nunique() == metrics.hosts["pages"].sum()
    assert metrics.hosts["useful"].sum() == metrics["useful_pages"] <= metrics.hosts["ok"].sum()
    rate = metrics["duplicate_rate_after"]
    assert pd.isna(rate) or 0 <= rate < 1
    assert metrics.statuses["pages"].sum() == metrics["pages"]
