"""Tables and templates of URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given, settings
from url_strategies import EVERYTHING, PLAIN, absolute

from crawlkit.errors import BadURL
from crawlkit.web.url_addresses import resolve_address
from crawlkit.web.urls import Refusal, normalize_url, url_hash, url_host, url_table, url_template

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("url", "template"),
    [
        ("https://h/", "h/"),
        ("http://h:8080/a/B.html", "h:8080/a/B.html"),
        ("https://h/product/17?size=3&color=red", "h/product/{number}?color&size"),
        ("https://h/page-12.html", "h/page-{number}.html"),
        ("https://h/v2/2024/05/17/", "h/v{number}/{number}/{number}/{number}/"),
        ("https://h/calendar/2024-05", "h/calendar/{date}"),
        ("https://h/calendar/2024-13-40", "h/calendar/{number}-{number}-{number}"),
        ("https://h/2024-05-17T10:30", "h/{date}"),
        ("https://h/x/3F2504E0-4F89-11D3-9A0C-0305E82C3301.json", "h/x/{uuid}.json"),
        ("https://h/d41d8cd98f00b204e9800998ecf8427e", "h/{hash}"),
        ("https://h/v/dQw4w9WgXcQdQw4w9WgXcQ", "h/v/{hash}"),
        ("https://h/news/how-to-tell-a-trap-from-a-site-2024", "h/news/{slug}"),
        ("https://h/news/How_To_Tell_A_Trap.html", "h/news/{slug}.html"),
        ("https://h/about-us/our-team", "h/about-us/our-team"),
        ("https://h/wiki/%E6%97%A5%E6%9C%AC", "h/wiki/%E6%97%A5%E6%9C%AC"),
        ("https://h/?f[1]=a&f[2]=b&utm_source=x", "h/?f%5B{number}%5D&utm_source"),
        ("https://h/?b&a&b", "h/?a&b"),
        ("https://h/?=1", "h/?"),
    ],
)
def test_templates(url: str, template: str) -> None:
    assert url_template(url) == template


@given(absolute)
@settings(deadline=None)
def test_templates_are_total_and_no_urls(url: str) -> None:
    if isinstance(resolve_address(url), Refusal):
        return
    template = url_template(url)
    assert template.startswith(url_host(url) + "/")
    assert url_template(normalize_url(url, PLAIN)) == template


def test_template_of_a_bad_url_raises() -> None:
    with pytest.raises(BadURL):
        url_template("mailto:ann@example.com")


DTYPES = {
    "given": "str", "url": "str", "key": "str", "url_hash": "Int64", "scheme": "str", "host": "str",
    "domain": "str", "path": "str", "query": "str", "depth_of_path": "Int64", "parameters": "str",
    "parameter_count": "Int64", "template": "str", "rules": "str", "error": "str",
}  # fmt: skip


@pytest.mark.parametrize(
    "urls",
    [
        [],
        ["https://h/"],
        ["mailto:x"],
        [None, float("nan"), 7, b"x", "\ud800", "http://h/\ud800", ""],
    ],
)
def test_tables_have_fixed_columns_and_dtypes(urls: list[Any], tmp_path: Path) -> None:
    table = url_table(urls)
    assert {name: str(dtype) for name, dtype in table.dtypes.items()} == DTYPES
    assert len(table) == len(urls)
    table.to_parquet(tmp_path / "urls.parquet")
    back = pd.read_parquet(tmp_path / "urls.parquet")
    pd.testing.assert_frame_equal(back, table)


def test_table_takes_urls_apart() -> None:
    urls = pd.Series(
        ["https://WWW.Example.co.uk:8443/a//b/?y=1&x&utm_id=2#z", "javascript:x", None, "b"],
        index=[4, 3, 2, 1],
    )
    table = url_table(urls, base="http://h/a/")
    good = table.iloc[0].to_dict()
    assert good == {
        "given": "https://WWW.Example.co.uk:8443/a//b/?y=1&x&utm_id=2#z",
        "url": "https://www.example.co.uk:8443/a//b/?y=1&x&utm_id=2",
        "key": "https://www.example.co.uk:8443/a//b/?x&y=1",
        "url_hash": url_hash("https://www.example.co.uk:8443/a//b/?x&y=1"),
        "scheme": "https",
        "host": "www.example.co.uk:8443",
        "domain": "example.co.uk",
        "path": "/a//b/",
        "query": "y=1&x&utm_id=2",
        "depth_of_path": 2,
        "parameters": "y&x&utm_id",
        "parameter_count": 3,
        "template": "www.example.co.uk:8443/a//b/?utm_id&x&y",
        "rules": "host fragment tracking sort_query",
        "error": good["error"],
    }
    assert table["error"].isna().tolist() == [True, False, False, True]
    assert table["error"].tolist()[1:3] == ["not_http", "not_text"]
    assert table.loc[1, "given"] == "javascript:x"
    assert table.drop(columns=["given", "error"]).iloc[1:3].isna().all(axis=None)
    assert table.loc[3, "url"] == "http://h/a/b"
    assert table["query"].isna().tolist() == [False, True, True, True]
    assert table.loc[3, "rules"] == "base"


def test_table_follows_the_rules_given() -> None:
    table = url_table(["https://www.h.example/a/"], rules=EVERYTHING)
    assert table.loc[0, "key"] == "http://h.example/a"
    assert table.loc[0, "rules"] == "scheme www trailing_slash"
