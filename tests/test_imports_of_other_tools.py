"""Crawls of other tools as tables: what their files say is kept, what they lack is named."""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit.crawling.foreign_files import csv_rows, json_rows, xml_rows
from crawlkit.crawling.foreign_values import as_moment, as_number, as_text, as_whole
from crawlkit.crawling.schema import empty_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from crawlkit.crawling.foreign_tables import ForeignTables

SITE = "https://shop.example/"
LONG = SITE + "?q=" + "x" * 8_000


def lines(*items: Mapping[str, Any]) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


ADVERTOOLS = lines(
    {
        "url": SITE,
        "title": "Shop@@Shop again",
        "body_text": "Tables and chairs",
        "status": 200,
        "depth": 0,
        "size": 900,
        "canonical": "/",
        "crawl_time": "2026-05-01 10:00:00",
        "download_latency": 0.25,
        "links_url": f"{SITE}@@{SITE}a@@{SITE}old@@https://other.example/@@{SITE}a",
        "links_text": "Home@@A@@@@Other@@A once more",
        "links_nofollow": "False@@False@@False@@True@@False",
        "nav_links_url": f"{SITE}@@{SITE}a",
        "resp_headers_Content-Type": "text/html",
        "resp_headers_Last-Modified": "Fri, 01 May 2026 08:00:00 GMT",
    },
    {
        "url": SITE + "new",
        "status": 200,
        "depth": 1,
        "body_text": "Moved here",
        "redirect_urls": f"{SITE}old@@{SITE}middle",
        "redirect_reasons": "301@@302",
        "request_headers_Referer": SITE,
    },
    {"url": SITE + "a", "status": 404, "depth": 1},
    {"url": SITE + "dead", "errors": "twisted.internet.error.DNSLookupError: no"},
)


def advertools(tmp_path: Path, text: str) -> ForeignTables:
    file = tmp_path / "crawl.jl"
    file.write_text(text)
    return ck.tables_from_advertools(file)


def one(frame: pd.DataFrame, url: str) -> Any:
    found = frame[frame["url"] == url]
    assert len(found) == 1
    return found.iloc[0]


def check_shape(tables: ForeignTables) -> None:
    for name in ("pages", "links", "fetches", "urls"):
        expected = empty_frame(name).dtypes
        pd.testing.assert_series_equal(getattr(tables, name).dtypes, expected)
    for name, frame in tables.items():
        assert not any(f"{name}.{column}" in tables.lacks for column in frame.columns)
    texts = tables.pages.select_dtypes("str")
    assert not (texts == "").any().any()
    assert tables.pages["url"].is_unique
    assert tables.urls["url"].is_unique


# -- advertools ----------------------------------------------------------------------------


def test_advertools_pages_and_links_are_kept(tmp_path: Path) -> None:
    tables = advertools(tmp_path, ADVERTOOLS)
    check_shape(tables)
    home = one(tables.pages, SITE)
    assert (home["title"], home["words"], home["canonical"]) == ("Shop", 3, SITE)
    assert home["fetched_at"] == pd.Timestamp("2026-05-01 10:00", tz="UTC")
    assert home["last_modified"] == pd.Timestamp("2026-05-01 08:00", tz="UTC")
    links = tables.links[tables.links["source"] == SITE]
    assert links["region"].fillna("").tolist() == ["nav", "nav", "", "", ""]
    assert links["text"].fillna("").tolist() == ["Home", "A", "", "Other", "A once more"]
    assert links["rel"].fillna("").tolist() == ["", "", "", "nofollow", ""]
    assert links["internal"].tolist() == [True, True, True, False, True]
    assert links["new"].tolist() == [False, True, True, False, False]


def test_each_hop_of_an_advertools_redirect_is_a_page(tmp_path: Path) -> None:
    tables = advertools(tmp_path, ADVERTOOLS)
    hop = one(tables.pages, SITE + "old")
    assert (hop["status"], hop["redirected_to"], hop["found_on"]) == (301, SITE + "middle", SITE)
    assert one(tables.pages, SITE + "middle")["redirected_to"] == SITE + "new"
    assert tables.links.loc[tables.links["kind"] == "redirect", "target"].tolist() == [
        SITE + "middle", SITE + "new",
    ]  # fmt: skip


def test_advertools_urls_have_their_state(tmp_path: Path) -> None:
    tables = advertools(tmp_path, ADVERTOOLS)
    states = dict(zip(tables.urls["url"], tables.urls["state"], strict=True))
    assert states[SITE + "a"] == "done"
    assert states[SITE + "dead"] == "failed"
    assert states["https://other.example/"] == "excluded"
    assert one(tables.pages, SITE + "dead")["error"] == "dns_failed"


def test_a_text_with_the_separator_in_it_costs_the_texts_only(tmp_path: Path) -> None:
    item = {"url": SITE, "links_url": f"{SITE}a@@{SITE}b", "links_text": "mail@@home@@B"}
    tables = advertools(tmp_path, lines(item))
    assert tables.links["target"].tolist() == [SITE + "a", SITE + "b"]
    assert tables.links["text"].isna().all()
    assert tables.problem_counts == {"link_texts_unclear": 1}


# -- hostile files -------------------------------------------------------------------------


def test_what_cannot_be_used_is_a_problem_and_nothing_more(tmp_path: Path) -> None:
    text = lines(
        {"url": SITE, "status": float("nan"), "size": "many", "title": "\ud800\0", "depth": -3},
        {"url": float("nan")},
        {"title": "no url"},
        {"url": "mailto:ann@example.com"},
        {"url": LONG, "links_url": LONG + "1"},
        {"url": SITE, "status": 200},
    )
    tables = advertools(tmp_path, text + "[]\nrubbish\n" + '{"url": "https://shop.exam')
    check_shape(tables)
    assert tables.pages["url"].tolist() == [LONG, SITE]
    assert one(tables.pages, SITE)["status"] == 200
    assert tables.problem_counts == {
        "no_url": 2, "not_http": 1, "duplicate_row": 1, "no_object": 1, "bad_line": 1,
        "truncated": 1,
    }  # fmt: skip
    assert tables.problems["row"].tolist() == [2, 3, 4, 6, 7, 8, 9]
    assert "not used: " in repr(tables)
    assert "2 no_url" in repr(tables)


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "[]", "{}", "url\n", "<items></items>"])
def test_a_file_without_a_page_gives_empty_tables(tmp_path: Path, text: str) -> None:
    file = tmp_path / "feed"
    file.write_text(text)
    if text == "{}":
        with pytest.raises(ck.BadSetting, match="no item has a field 'url'"):
            ck.tables_from_scrapy_feed(file)
        return
    for read in (ck.tables_from_advertools, ck.tables_from_scrapy_feed):
        tables = read(file)
        check_shape(tables)
        assert tables.pages.empty


@pytest.mark.parametrize(
    "read",
    [ck.tables_from_advertools, ck.tables_from_scrapy_feed, ck.tables_from_screaming_frog],
)
def test_a_missing_file_is_named(tmp_path: Path, read: Callable[[Any], Any]) -> None:
    with pytest.raises(ck.BadSetting, match="gone"):
        read(tmp_path / "gone")


@given(st.lists(st.dictionaries(st.sampled_from(
    ["url", "status", "title", "links_url", "redirect_urls", "redirect_reasons", "crawl_time",
     "canonical", "alt_href", "alt_hreflang", "links_text", "size"]),
    st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=20), st.booleans(),
              st.sampled_from([SITE, SITE + "a@@" + SITE, "@@", "2026-01-01 00:00:00"]),
              st.lists(st.integers(), max_size=2))), max_size=6))  # fmt: skip
@settings(max_examples=12, deadline=None)
def test_no_advertools_row_is_lost_without_a_word(
    tmp_path_factory: pytest.TempPathFactory, items: list[dict[str, Any]]
) -> None:
    tables = advertools(tmp_path_factory.mktemp("adv"), lines(*items))
    check_shape(tables)
    lost = sum(tables.problem_counts.values())
    assert len(tables.pages) + lost >= len(items)


@given(st.one_of(st.text(max_size=40), st.integers(), st.floats(), st.none(), st.booleans()))
@settings(max_examples=60, deadline=None)
def test_values_are_read_or_null(value: Any) -> None:
    whole, number, moment = as_whole(value), as_number(value), as_moment(value)
    assert whole is None or 0 <= whole < 2**63
    assert number is None or abs(number) < float("inf")
    assert moment is None or isinstance(moment, int)
    assert as_text(value) != ""


# -- Scrapy --------------------------------------------------------------------------------

ITEMS: list[dict[str, Any]] = [
    {"url": SITE, "title": "Shop, all", "status": 200, "links": [SITE + "a", "/b"]},
    {"url": SITE + "a", "title": None, "status": 404, "links": []},
]


def feed(form: str) -> str:
    if form == "jsonl":
        return lines(*ITEMS)
    if form == "json":
        return json.dumps(ITEMS, indent=1)
    if form == "csv":
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(["url", "title", "status", "links"])
        for item in ITEMS:
            listed = ",".join(item["links"])
            writer.writerow([item["url"], item["title"] or "", item["status"], listed])
        return out.getvalue()
    items = "".join(
        f"<item><url>{i['url']}</url><title>{i['title'] or ''}</title>"
        f"<status>{i['status']}</status>"
        f"<links>{''.join(f'<value>{each}</value>' for each in i['links'])}</links></item>"
        for i in ITEMS
    )
    return f'<?xml version="1.0" encoding="utf-8"?>\n<items>\n{items}\n</items>'


@pytest.mark.parametrize("form", ["jsonl", "json", "csv", "xml"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gzip"])
def test_all_forms_of_a_feed_say_the_same(tmp_path: Path, form: str, encoding: str) -> None:
    file = tmp_path / "items"
    text = feed(form)
    data = gzip.compress(text.encode()) if encoding == "gzip" else text.encode(encoding)
    file.write_bytes(data)
    tables = ck.tables_from_scrapy_feed(file)
    check_shape(tables)
    assert tables.pages["url"].tolist() == [SITE, SITE + "a"]
    assert tables.pages["title"].fillna("-").tolist() == ["Shop, all", "-"]
    assert tables.pages["status"].tolist() == [200, 404]
    assert tables.links["target"].tolist() == [SITE + "a", SITE + "b"]
    assert tables.problems.empty


@pytest.mark.parametrize("form", ["jsonl", "json", "xml"])
def test_a_feed_that_breaks_off_gives_what_came_before(tmp_path: Path, form: str) -> None:
    file = tmp_path / "items"
    text = feed(form)
    file.write_text(text[: text.rindex("404")])
    tables = ck.tables_from_scrapy_feed(file)
    assert tables.pages["url"].tolist() == [SITE]
    assert tables.problem_counts == {"truncated": 1}


def test_a_count_of_links_is_not_taken_for_links(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(lines({"url": SITE, "links": 24}))
    tables = ck.tables_from_scrapy_feed(file)
    assert "links" not in tables
    assert tables.links.empty


def test_columns_name_the_fields_of_items(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(lines({"address": SITE, "name": "Shop", "out": [SITE + "a"], "price": 3}))
    named = {"url": "address", "title": "name", "links": "out"}
    tables = ck.tables_from_scrapy_feed(file, columns=named)
    assert tables.pages["title"].tolist() == ["Shop"]
    assert tables.links["target"].tolist() == [SITE + "a"]
    for wrong in ({"colour": "name"}, {"title": "nome"}, {"url_hash": "name"}, {"title": 3}, 7):
        with pytest.raises(ck.BadSetting, match="columns"):
            ck.tables_from_scrapy_feed(file, columns={**named, **wrong} if wrong != 7 else 7)  # type: ignore[arg-type,dict-item]


def test_xml_bombs_are_refused() -> None:
    told: list[str] = []
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><items><item><url>&a;</url></item></items>'
    assert list(xml_rows(bomb, lambda reason, *_: told.append(reason))) == []
    assert told == ["xml_entities"]


def test_deep_json_is_a_problem() -> None:
    told: list[str] = []
    deep = '[{"url": ' + "[" * 100_000
    assert list(json_rows(deep, lambda reason, *_: told.append(reason))) == []
    assert told == ["truncated"]


def test_short_rows_of_csv_are_kept_and_told() -> None:
    told: list[str] = []
    rows = list(csv_rows("url,title\na\n", lambda reason, *_: told.append(reason)))
    assert rows == [(2, {"url": "a"})]
    assert told == ["short_row"]


# -- Screaming Frog ------------------------------------------------------------------------

INTERNAL = (
    '"Address","Content Type","Status Code","Status","Title 1","Meta Robots 1","Word Count",'
    '"Canonical Link Element 1","Crawl Depth","Redirect URL","Hash"\r\n'
    '"https://shop.example/","text/html","200","OK","Café","noindex","12","/","0","","aa"\r\n'
    '"https://shop.example/old","","301","Moved","","","0","","1","https://shop.example/a",""\r\n'
    '"https://shop.example/a","text/html","404","Not Found","","","3","","1","","bb"\r\n'
    '"https://shop.example/slow","","0","Connection Timeout","","","","","1","",""\r\n'
    '"https://shop.example/no","","0","Blocked by Robots.txt","","","","","1","",""\r\n'
)
OUTLINKS = (
    '"Type","Source","Destination","Anchor","Rel","Link Position"\r\n'
    '"Hyperlink","https://shop.example/","https://shop.example/a","A","nofollow","Navigation"\r\n'
    '"Image","https://shop.example/","https://shop.example/a.png","","","Content"\r\n'
    '"HTTP Redirect","https://shop.example/old","https://shop.example/a","","",""\r\n'
    '"Hyperlink","https://shop.example/","https://other.example/","Away","","Content"\r\n'
)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "windows-1252", "utf-16-le"])
def test_screaming_frog_exports_are_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "Internal_All.csv").write_bytes(INTERNAL.encode(encoding))
    (tmp_path / "all_outlinks.csv").write_bytes(OUTLINKS.encode(encoding))
    tables = ck.tables_from_screaming_frog(tmp_path)
    check_shape(tables)
    home = one(tables.pages, SITE)
    assert (home["title"], home["canonical"], home["indexable"]) == ("Café", SITE, False)
    assert one(tables.pages, SITE + "old")["redirected_to"] == SITE + "a"
    assert one(tables.pages, SITE + "slow")["error"] == "timeout"
    assert one(tables.urls, SITE + "no")["reason"] == "robots_disallowed"
    assert SITE + "no" not in set(tables.pages["url"])
    assert tables.links["kind"].tolist() == ["anchor", "anchor", "redirect"]
    assert tables.links["region"].fillna("").tolist() == ["nav", "main", ""]
    assert "fetches" not in tables


def test_headers_in_another_language_are_named(tmp_path: Path) -> None:
    (tmp_path / "internal_all.csv").write_text('"Adresse","Statuscode"\n"https://a.example/","200"')
    with pytest.raises(ck.BadSetting, match=r"'Address'.*Adresse.*English"):
        ck.tables_from_screaming_frog(tmp_path)
    (tmp_path / "internal_all.csv").unlink()
    with pytest.raises(ck.BadSetting, match="internal_all"):
        ck.tables_from_screaming_frog(tmp_path)


# -- analyses ------------------------------------------------------------------------------


def test_every_analysis_takes_the_tables(tmp_path: Path) -> None:
    tables = advertools(tmp_path, ADVERTOOLS)
    audit = ck.audit_site(tables)
    found = dict(zip(audit.table["check"], audit.table["count"], strict=True))
    assert found["broken_links"] == 1
    assert len(ck.discovery_curve(tables)) == len(tables.fetches)
    assert ck.find_traps(tables).empty
    assert ck.crawl_metrics(tables)["pages"] == len(tables.pages)
    assert ck.estimate_size(tables) is not None
    assert len(ck.rank_frontier(tables, "inlinks", downloaded=[SITE]))
    assert len(ck.compare_coverage(tables, [SITE]).table)
    assert "ForeignTables" in repr(tables)
    assert "Not known" in tables._repr_html_()


def test_a_check_whose_column_is_lacking_is_skipped_by_name(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(lines({"url": SITE, "status": 200}, {"url": SITE + "a", "status": 200}))
    tables = ck.tables_from_scrapy_feed(file)
    assert "text_hash" in tables.pages.columns
    skipped = dict(
        zip(*(ck.audit_site(tables).table[each] for each in ("check", "skipped")), strict=True)
    )
    assert "pages.title" in str(skipped["duplicate_titles"])


def test_warc_files_give_the_tables_of_the_crawl(tmp_path: Path) -> None:
    pytest.importorskip("warcio")
    with ck.lab.serve(["shop"]) as site:
        crawl = ck.crawl(site.url + "shop/", tmp_path / "a", delay=0, max_pages=15, progress=False)
    crawl.export_warc(tmp_path / "shop.warc.gz")
    tables = ck.tables_from_warc(tmp_path / "shop.warc.gz", progress=False)
    check_shape(tables)
    same = ["url", "status", "title", "text_hash"]
    left = tables.pages[same].sort_values("url").reset_index(drop=True)
    pd.testing.assert_frame_equal(left, crawl.pages[same].sort_values("url").reset_index(drop=True))
    assert "elapsed" not in tables["pages"].columns
    assert tables.problems.empty
    assert ck.find_traps(tables).empty
