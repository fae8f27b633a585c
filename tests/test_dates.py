"""Dates of pages: every form of every source, what is the page's own, and hostile input."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pandas as pd
import pytest
from crawls import serve
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit import lab
from crawlkit.web.date_candidates import CONFIDENCES, SOURCES
from crawlkit.web.date_marks import has_date_marks
from crawlkit.web.date_texts import DATE_CODES, read_date, read_http_date, without_nonsense
from crawlkit.web.html import parse_page
from crawlkit.web.json_ld import MAX_BLOCK, read_block
from crawlkit.web.w3c_dates import ISSUES, REFUSALS

URL = "https://example.com/news/flood"
COLUMNS = {
    "property": "str",
    "source": "str",
    "path": "str",
    "raw": "str",
    "start": "datetime64[us, UTC]",
    "end": "datetime64[us, UTC]",
    "precision": "str",
    "tz_known": "boolean",
    "own": "bool",
    "confidence": "str",
    "type": "str",
    "parse": "str",
    "issues": "str",
}


def json_ld(value: Any, kind: str = "application/ld+json") -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f'<script type="{kind}">{text}</script>'


def own(html: str | bytes, *, url: str | None = URL, which: str = "modified") -> list[str]:
    dates = ck.page_dates(html, url=url)
    return dates.loc[dates["own"] & (dates["property"] == which), "raw"].tolist()


def others(html: str, *, which: str = "modified") -> list[str]:
    dates = ck.page_dates(html, url=URL)
    return dates.loc[~dates["own"] & (dates["property"] == which), "raw"].tolist()


# --- the table


def test_the_columns_are_the_same_with_and_without_rows() -> None:
    full = ck.page_dates(json_ld({"dateModified": "2024-05-17"}))
    for dates in (full, ck.page_dates(""), ck.page_dates(b"%PDF-1.7")):
        assert {name: str(dtype) for name, dtype in dates.dtypes.items()} == COLUMNS
    assert len(full) == 1
    assert full["issues"].isna().all()


def test_a_row_holds_the_interval_that_the_text_names() -> None:
    row = ck.page_dates(json_ld({"@type": "Article", "dateModified": "2024-05"}), url=URL).iloc[0]
    assert row["start"] == pd.Timestamp("2024-05-01", tz="UTC")
    assert row["end"] == pd.Timestamp("2024-06-01", tz="UTC")
    assert row["precision"] == "month"
    assert not row["tz_known"]
    assert row["type"] == "Article"
    assert row["path"] == "json_ld[0].dateModified"


def test_dates_that_cannot_be_read_keep_their_text() -> None:
    row = ck.page_dates('<meta name="last-modified" content="05/06/2024">').iloc[0]
    assert row["raw"] == "05/06/2024"
    assert pd.isna(row["start"])
    assert pd.isna(row["tz_known"])
    assert row["issues"] == "day_or_month"


def test_modified_comes_first_then_own_then_readable_then_the_surer_source() -> None:
    html = (
        '<time class="updated" datetime="2024-01-01"></time>'
        '<meta property="article:published_time" content="2024-01-02">'
        '<meta property="article:modified_time" content="soon">'
        '<meta name="last-modified" content="2024-01-03">'
        + json_ld({"@type": "Article", "dateModified": "2024-01-04", "url": "/other"})
        + json_ld({"@type": "Article", "dateModified": "2024-01-05", "url": URL})
    )
    dates = ck.page_dates(html, url=URL)
    assert dates["raw"].tolist() == [
        "2024-01-05", "2024-01-03", "2024-01-01", "soon", "2024-01-04", "2024-01-02",
    ]  # fmt: skip


@pytest.mark.parametrize("html", [None, 5, ["<p>"]])
def test_what_is_no_page_is_refused_by_name(html: Any) -> None:
    with pytest.raises(ck.BadSetting, match="html"):
        ck.page_dates(html)
    with pytest.raises(ck.BadSetting, match="url"):
        ck.page_dates("", url=5)  # type: ignore[arg-type]


def test_a_parsed_page_will_do() -> None:
    page = parse_page('<meta name=date content="2024-05-17">', url=URL)
    assert ck.page_dates(page)["raw"].tolist() == ["2024-05-17"]


# --- JSON-LD, whole and broken

STAMP = "2024-05-17T12:30:00+02:00"
ARTICLE = f'{{"@context": "https://schema.org", "@type": "Article", "dateModified": "{STAMP}"}}'
WHOLE = {
    "plain": ARTICLE,
    "array": f"[{ARTICLE}]",
    "graph": f'{{"@context": "https://schema.org", "@graph": [{{"@type": "Person"}}, {ARTICLE}]}}',
    "main_entity": f'{{"@type": "WebPage", "mainEntity": {ARTICLE}}}',
    "main_entity_of_page": f'{{"@type": "Thing", "mainEntityOfPage": {ARTICLE}}}',
    "types": f'{{"@type": ["Thing", "NewsArticle"], "dateModified": "{STAMP}"}}',
    "type_as_address": f'{{"@type": "http://schema.org/Article", "dateModified": "{STAMP}"}}',
    "prefixed_key": f'{{"@type": "schema:Article", "schema:dateModified": "{STAMP}"}}',
    "key_as_address": f'{{"@type": "Article", "https://schema.org/dateModified": "{STAMP}"}}',
    "value_object": f'{{"@type": "Article", "dateModified": {{"@value": "{STAMP}"}}}}',
    "value_list": f'{{"@type": "Article", "dateModified": ["{STAMP}"]}}',
    "duplicate_key": f'{{"@type": "Article", "dateModified": "2001", "dateModified": "{STAMP}"}}',
}
MENDED = {
    "comment_around": f"<!-- {ARTICLE} -->",
    "comment_lines": f"<!--//\n{ARTICLE}\n//-->",
    "cdata": f"<![CDATA[{ARTICLE}]]>",
    "cdata_lines": f"//<![CDATA[\n{ARTICLE}\n//]]>",
    "cdata_blocks": f"/*<![CDATA[*/ {ARTICLE} /*]]>*/",
    "semicolon": f"{ARTICLE};",
    "byte_order_mark": f"\ufeff{ARTICLE}",
    "trailing_comma": ARTICLE.replace("}", ",}"),
    "two_objects": f'{{"@type": "Person"}}\n{ARTICLE}',
    "objects_with_a_comma": f'{{"@type": "Person"}},{ARTICLE}',
    "line_break_in_text": ARTICLE.replace("{", '{"headline": "a\nb",', 1),
    "control_character": ARTICLE.replace("{", '{"headline": "a\x02b",', 1),
    "bad_escape": ARTICLE.replace("{", r'{"headline": "it\'s",', 1),
    "comments_inside": ARTICLE.replace("{", '{ /* "x": */ "headline": "//", // "y"\n', 1),
    "entities": ARTICLE.replace('"', "&quot;"),
    "junk_after": f"{ARTICLE} </scr",
}
SEARCHED = {
    "unescaped_quote": ARTICLE.replace("{", '{"headline": "a "b" c",', 1),
    "cut_short": ARTICLE[:-1] + ', "headline": "Floo',
    "no_quotes_around_a_key": ARTICLE.replace('"@type"', "type"),
    "javascript": f"window.data = {ARTICLE.replace(STAMP, STAMP)[:-1]}",
    "single_quotes": ARTICLE.replace('"', "'"),
    "huge": '{"text": "' + "x" * MAX_BLOCK + f'", "dateModified": "{STAMP}"}}',
    "huge_number": f'{{"x": {"9" * 5000}, "dateModified": "{STAMP}"}}',
    "deep": '{"dateModified": "' + STAMP + '", "x": ' + "[" * 100_000,
    "value_object_cut_short": f'{{"dateModified": {{"@value": "{STAMP}"',
}


@pytest.mark.parametrize("form", sorted(WHOLE))
def test_json_ld_is_read_in_every_form(form: str) -> None:
    row = ck.page_dates(json_ld(WHOLE[form]), url=URL).iloc[0]
    assert (row["raw"], row["source"], row["own"]) == (STAMP, "json_ld", True)
    assert row["parse"] == "strict"
    assert row["start"] == pd.Timestamp(STAMP)


@pytest.mark.parametrize("form", sorted(MENDED))
def test_broken_json_ld_is_mended(form: str) -> None:
    row = ck.page_dates(json_ld(MENDED[form]), url=URL).iloc[0]
    assert (row["raw"], row["type"], row["own"]) == (STAMP, "Article", True)
    assert row["parse"] == "lenient"


@pytest.mark.parametrize("form", sorted(SEARCHED))
def test_what_is_no_json_is_searched_for_its_dates(form: str) -> None:
    row = ck.page_dates(json_ld(SEARCHED[form]), url=URL).iloc[0]
    assert (row["raw"], row["own"], row["confidence"]) == (STAMP, True, "low")
    assert row["parse"] == "regex"


@pytest.mark.parametrize(
    "html",
    [
        json_ld(ARTICLE, "application/ld+json; charset=utf-8"),
        json_ld(ARTICLE, "APPLICATION/LD+JSON"),
        f"<html><body></body></html>{json_ld(ARTICLE)}",
        json_ld('{"broken": "dateModified') + json_ld(ARTICLE),
        json_ld(ARTICLE).removesuffix("</script>"),
        f"<svg>{json_ld(ARTICLE)}</svg>",
    ],
)
def test_json_ld_is_found_wherever_it_is_written(html: str) -> None:
    assert own(html) == [STAMP]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "empty"),
        ("yesterday", "unreadable"),
        (True, "not_text"),
        ({"@value": ["2024"]}, "not_text"),
        ("0000-00-00", "impossible"),
        ("0001-01-01T00:00:00", "no_zone placeholder"),
        ("1970-01-01T00:00:00+00:00", "placeholder"),
        (0, "unreadable"),
        ("2999-01-01", "future"),
    ],
)
def test_values_that_are_no_date_say_why(value: Any, code: str) -> None:
    row = ck.page_dates(json_ld({"@type": "Article", "dateModified": value}), url=URL).iloc[0]
    assert row["issues"] == code
    assert pd.isna(row["start"])
    assert pd.isna(row["precision"])


@pytest.mark.parametrize("value", [None, [], {}, {"@id": "x"}])
def test_no_value_is_no_row(value: Any) -> None:
    assert ck.page_dates(json_ld({"@type": "Article", "dateModified": value})).empty


def test_numbers_may_be_years_or_seconds() -> None:
    html = json_ld([{"dateModified": 1715941815}, {"dateModified": 2023}])
    dates = ck.page_dates(html, url=URL)
    assert dates["precision"].tolist() == ["second", "year"]
    assert dates["issues"].tolist()[0] == "epoch_seconds"


# --- whose date it is


def test_comments_reviews_and_parts_are_told_apart() -> None:
    html = json_ld(
        {
            "@type": "Article",
            "dateModified": "2024-01-01",
            "comment": [{"@type": "Comment", "url": f"{URL}#c1", "dateModified": "2024-02-01"}],
            "review": {"@type": "Review", "dateModified": "2024-03-01"},
            "hasPart": {"@type": "Article", "dateModified": "2024-04-01"},
            "image": {"@type": "ImageObject", "dateModified": "2024-05-01"},
        }
    )
    assert own(html) == ["2024-01-01"]
    assert len(others(html)) == 4


def test_the_updates_of_a_live_blog_do_not_swamp_its_own_date() -> None:
    updates = [{"@type": "BlogPosting", "dateModified": f"2024-02-{day}"} for day in range(10, 29)]
    html = json_ld(
        {"@type": "LiveBlogPosting", "dateModified": "2024-03-01", "liveBlogUpdate": updates}
    )
    assert own(html) == ["2024-03-01"]
    assert len(others(html)) == 19


@pytest.mark.parametrize(
    "address",
    [
        {"url": URL},
        {"url": "http://www.example.com/news/flood/#top"},
        {"url": "/news/flood"},
        {"mainEntityOfPage": URL},
        {"mainEntityOfPage": {"@type": "WebPage", "@id": URL}},
        {"@id": f"{URL}#article"},
    ],
)
def test_the_node_with_the_address_of_the_page_wins(address: dict[str, Any]) -> None:
    related = {"@type": "Article", "url": "/news/storm", "dateModified": "2024-02-01"}
    unknown = {"@type": "Article", "dateModified": "2024-03-01", "headline": "?"}
    node = {"@type": "Article", "dateModified": "2024-01-01", **address}
    html = json_ld({"@graph": [related, node]})
    assert own(html) == ["2024-01-01"]
    assert others(html) == ["2024-02-01"]
    assert own(json_ld([unknown, unknown, node]))[0] == "2024-01-01"


def test_the_canonical_address_counts_as_the_pages_own() -> None:
    html = f'<link rel=canonical href="{URL}">' + json_ld(
        [
            {"@type": "Article", "url": "/news/storm", "dateModified": "2024-02-01"},
            {"@type": "Article", "url": URL, "dateModified": "2024-01-01"},
        ]
    )
    assert own(html, url=None) == ["2024-01-01"]
    assert own(html, url="https://example.com/news/flood?from=mail") == ["2024-01-01"]


def test_spellings_of_one_address_are_one_address() -> None:
    node = {"@type": "Article", "dateModified": "2024-01-01"}
    for address, spelling in (
        ("https://example.com/m%C3%BCnchen", "https://example.com/m%c3%bcnchen/"),
        ("https://example.com/m%C3%BCnchen", "http://www.EXAMPLE.com/münchen"),
        ("https://example.com/a?from=mail", "https://example.com/a"),
    ):
        dates = ck.page_dates(json_ld({**node, "url": spelling}), url=address)
        assert dates["confidence"].tolist() == ["high"]
    for address, other in (
        ("https://example.com/?id=5", "https://example.com/a?id=6"),
        ("https://example.com/a?id=5", "https://example.com/b?id=5"),
    ):
        assert own(json_ld({**node, "url": other}), url=address) == []


def test_a_question_is_what_its_page_is_about_and_its_answers_are_not() -> None:
    answer = {"@type": "Answer", "dateModified": "2024-02-01"}
    question = {"@type": "Question", "dateModified": "2024-01-01", "acceptedAnswer": answer}
    html = json_ld({"@type": "QAPage", "mainEntity": question})
    assert own(html) == ["2024-01-01"]
    assert others(html) == ["2024-02-01"]


def test_the_things_that_a_page_lists_do_not_share_its_address() -> None:
    things = [{"@type": "Article", "url": f"/{n}", "dateModified": "2024"} for n in range(3)]
    page = {"@type": "CollectionPage", "url": URL, "dateModified": "2023", "mainEntity": things}
    assert own(json_ld(page)) == ["2023"]
    untold = [{"@type": "Article", "dateModified": "2024"}] * 3
    assert own(json_ld({**page, "mainEntity": untold})) == ["2023"]


def test_teasers_for_other_pages_are_not_the_pages_own() -> None:
    teasers = [
        {"@type": "Article", "url": f"/news/{number}", "dateModified": "2024-02-01"}
        for number in range(5)
    ]
    assert own(json_ld(teasers)) == []
    assert own(json_ld(teasers[:1])) == []


@pytest.mark.parametrize("address", ["https://example.com/", "https://google.com/article"])
def test_an_address_copied_from_a_manual_is_forgiven_to_the_only_article(address: str) -> None:
    node = {"@type": "Article", "mainEntityOfPage": address, "dateModified": "2024-01-01"}
    dates = ck.page_dates(json_ld(node), url=URL)
    assert dates["own"].tolist() == [True]
    assert dates["confidence"].tolist() == ["low"]
    assert own(json_ld([node, {**node, "url": URL, "dateModified": "2024-02-01"}])) == [
        "2024-02-01"
    ]


def test_an_article_that_a_plugin_repeats_is_the_pages_own_each_time() -> None:
    html = json_ld({"@type": "Article", "dateModified": "2024-01-01"}) * 2
    assert own(html) == ["2024-01-01", "2024-01-01"]


def test_a_review_alone_on_a_page_needs_the_pages_address() -> None:
    assert own(json_ld({"@type": "Review", "dateModified": "2024-01-01"})) == []
    assert own(json_ld({"@type": "Review", "dateModified": "2024-01-01", "url": URL})) != []


def test_a_page_about_a_thing_may_have_one_thing_only() -> None:
    event = {"@type": "Event", "dateModified": "2024-01-01"}
    assert own(json_ld(event)) == ["2024-01-01"]
    assert own(json_ld([event, {**event, "dateModified": "2024-01-02"}])) == []


# --- microdata, RDFa, Open Graph, Dublin Core, meta and time elements

POST = 'itemscope itemtype="https://schema.org/BlogPosting"'


@pytest.mark.parametrize(
    "markup",
    [
        '<meta itemprop="dateModified" content="2024-05-17">',
        '<time itemprop="dateModified" datetime="2024-05-17">last week</time>',
        '<time itemprop="dateModified" content="2024-05-17">last week</time>',
        '<time itemprop="dateModified">2024-05-17</time>',
        '<span itemprop="dateModified">2024-05-17</span>',
        '<span itemprop="name dateModified" content="2024-05-17">x</span>',
        '<data itemprop="dateModified" value="2024-05-17">x</data>',
        '<b itemprop="http://schema.org/dateModified">2024-05-17</b>',
    ],
)
def test_microdata_is_read_where_authors_put_it(markup: str) -> None:
    dates = ck.page_dates(f"<article {POST}>{markup}</article>", url=URL)
    assert dates["raw"].tolist() == ["2024-05-17"]
    assert dates["source"].tolist() == ["microdata"]
    assert dates["type"].tolist() == ["BlogPosting"]
    assert dates["own"].tolist() == [True]


def test_items_inside_of_items_have_dates_of_their_own() -> None:
    html = f"""<article {POST}><meta itemprop=dateModified content=2024-01-01>
    <div itemprop=comment itemscope itemtype=http://schema.org/Comment>
    <time itemprop=dateModified>2024-02-01</time></div></article>
    <p itemscope itemtype=http://schema.org/Review><b itemprop=dateModified>2024-03-01</b>"""
    assert own(html) == ["2024-01-01"]
    assert others(html) == ["2024-02-01", "2024-03-01"]


def test_of_several_posts_in_markup_none_is_the_page_but_one_with_its_address() -> None:
    post = f"<article {POST}><a itemprop=url href=%s></a><b itemprop=dateModified>%s</b></article>"
    posts = post % ("/a", "2024-01-01") + post % ("/b", "2024-02-01")
    assert own(posts) == []
    assert own(posts + post % (URL, "2024-03-01")) == ["2024-03-01"]
    bare = f"<article {POST}><b itemprop=dateModified>2024</b></article>"
    assert own(bare) == ["2024"]
    assert own(bare * 2) == []


def test_the_only_post_of_a_blog_is_what_the_page_is_about() -> None:
    html = f"""<div itemscope itemtype=http://schema.org/Blog><div itemprop=blogPost {POST}>
    <b itemprop=dateModified>2024-05-17</b></div></div>"""
    assert own(html) == ["2024-05-17"]


def test_microdata_from_elsewhere_on_the_page_belongs_to_the_item_that_names_it() -> None:
    html = f"""<div {POST} itemref="x when"></div>
    <p id=when><b itemprop=dateModified>2024-05-17</b>"""
    dates = ck.page_dates(html, url=URL)
    assert dates["type"].tolist() == ["BlogPosting"]


@pytest.mark.parametrize(
    "markup",
    [
        '<p vocab="https://schema.org/" typeof="Article"><b property="dateModified">2024</b>',
        '<div typeof="schema:Article"><b property="schema:dateModified" content="2024">x</b></div>',
        '<div typeof="Article"><time property="dateModified" datetime="2024">x</time></div>',
        '<meta property="dateModified" content="2024">',
    ],
)
def test_rdfa_lite_is_read(markup: str) -> None:
    dates = ck.page_dates(markup, url=URL)
    assert dates["raw"].tolist() == ["2024"]
    assert dates["source"].tolist() == ["rdfa"]
    assert dates["own"].tolist() == [True]


@pytest.mark.parametrize(
    ("markup", "source", "which"),
    [
        ('<meta property="article:modified_time" content="2024">', "open_graph", "modified"),
        ('<meta name="article:modified_time" content="2024">', "open_graph", "modified"),
        ('<body><p><meta property="og:updated_time" content="2024">', "open_graph", "modified"),
        ('<META PROPERTY="Article:Published_Time" CONTENT="2024">', "open_graph", "published"),
        ('<meta name="DCTERMS.modified" content="2024">', "dublin_core", "modified"),
        ('<meta property="dc:date.modified" content="2024">', "dublin_core", "modified"),
        ('<meta name="DC.date.issued" content="2024">', "dublin_core", "published"),
        ('<meta http-equiv="last-modified" content="2024">', "meta", "modified"),
        ('<meta name="Last-Modified" content="2024">', "meta", "modified"),
        ('<meta name="revised" content="2024">', "meta", "modified"),
        ('<meta name="pubdate" content="2024">', "meta", "published"),
        ('<time class="entry-date updated" datetime="2024">x</time>', "time", "modified"),
        ('<time class="modified">2024</time>', "time", "modified"),
        ('<time pubdate datetime="2024">x</time>', "time", "published"),
    ],
)
def test_meta_and_time_elements_are_read(markup: str, source: str, which: str) -> None:
    dates = ck.page_dates(markup, url=URL)
    row = dates[dates["property"] == which].iloc[0]
    assert (row["raw"], row["source"], row["own"]) == ("2024", source, True)


@pytest.mark.parametrize(
    "markup",
    [
        '<meta name="dc.created" content="2024">',
        '<meta name="description" content="2024">',
        '<meta name="article:modified_time">',
        '<time datetime="2024">x</time>',
        "<!-- <meta name=date content=2024> -->",
        "<template><meta name=date content=2024></template>",
        '<script type="text/javascript">{"dateModified": "2024"}</script>',
    ],
)
def test_other_marks_are_no_dates_of_the_page(markup: str) -> None:
    assert ck.page_dates(markup, url=URL).empty


def test_times_of_comments_and_of_lists_are_not_the_pages_own() -> None:
    comment = '<div id="comments"><time class="updated">2024-02-01</time></div>'
    assert own('<time class="updated">2024-01-01</time>' + comment) == ["2024-01-01"]
    assert others('<aside><time class="updated">2024-02-01</time></aside>') == ["2024-02-01"]
    assert (
        own('<time class="updated">2024-01-01</time><time class="updated">2024-02-01</time>') == []
    )


def test_the_header_counts_unless_it_was_made_for_the_answer() -> None:
    when = {"last-modified": "Fri, 17 May 2024 12:30:15 GMT"}
    row = ck.page_dates("", headers=when).iloc[0]
    assert (row["source"], row["own"], row["confidence"]) == ("http", True, "low")
    assert row["start"] == pd.Timestamp("2024-05-17 12:30:15", tz="UTC")
    made = {**when, "Date": "Fri, 17 May 2024 12:30:16 GMT"}
    row = ck.page_dates("", headers=made).iloc[0]
    assert not row["own"]
    assert row["issues"] == "same_as_date"


def test_a_date_after_the_answer_is_of_the_future() -> None:
    html = '<meta name="last-modified" content="%s">'
    headers = {"Date": "Fri, 17 May 2024 12:00:00 GMT"}
    soon = ck.page_dates(html % "2024-05-18T11:00:00Z", headers=headers)
    late = ck.page_dates(html % "2024-05-18T13:00:00Z", headers=headers)
    assert soon["issues"].isna().all()
    assert late["issues"].tolist() == ["future"]


# --- written dates


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("Fri, 17 May 2024 12:30:15 GMT", "2024-05-17T12:30:15Z"),
        ("Fri, 17 May 2024 12:30:15 +0200", "2024-05-17T12:30:15+02:00"),
        ("17 May 2024 12:30 EST", "2024-05-17T12:30-05:00"),
        ("Fri May 17 2024 12:30:15 GMT+0200 (Central European Summer Time)",
         "2024-05-17T12:30:15+02:00"),
        ("Friday, 17-May-2024 12:30:15 GMT", "2024-05-17T12:30:15Z"),
        ("May 17, 2024", "2024-05-17"),
        ("17th of May 2024", "2024-05-17"),
        ("May 17th, 2024 at 3:05 pm", "2024-05-17T15:05"),
        ("May 17, 2024 12:05 AM", "2024-05-17T00:05"),
        ("17. März 2024", "2024-03-17"),
        ("17 août 2024", "2024-08-17"),
        ("17 de mayo de 2024", "2024-05-17"),
        ("Fri May 17 12:30:15 2024", "2024-05-17T12:30:15"),
        ("1715941815", "2024-05-17T10:30:15Z"),
        ("1715941815000", "2024-05-17T10:30:15Z"),
    ],
)  # fmt: skip
def test_written_dates_that_leave_no_choice_are_read(text: str, means: str) -> None:
    date, issues = read_date(text)
    right, _ = read_date(means)
    assert date is not None
    assert right is not None
    assert date[:4] == right[:4]
    assert issues
    assert set(issues) <= {*DATE_CODES, *ISSUES}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("05/06/2024", "day_or_month"),
        ("17.05.2024", "day_or_month"),
        ("5-6-24", "day_or_month"),
        ("05/06/2024 12:30", "day_or_month"),
        ("2024/05/17", "unreadable"),
        ("20240517", "unreadable"),
        ("17 Foo 2024", "unreadable"),
        ("31 Feb 2024", "impossible"),
        ("May 17, 2024 13:05 pm", "impossible"),
        ("May 17", "unreadable"),
        ("2 hours ago", "unreadable"),
        ("May 17, 2024 " * 10, "unreadable"),
        ("  ", "empty"),
    ],
)
def test_written_dates_that_leave_a_choice_are_refused(text: str, reason: str) -> None:
    assert read_date(text) == (None, (reason,))


def test_a_zone_with_several_meanings_is_unknown() -> None:
    date, issues = read_date("17 May 2024 12:30 IST")
    assert date is not None
    assert not date.tz_known
    assert "zone_unread" in issues


@pytest.mark.parametrize(
    "text",
    ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"],
)
def test_http_dates_are_read_in_their_three_forms(text: str) -> None:
    date, issues = read_http_date(text)
    assert date is not None
    assert (date.start, date.tz_known, issues) == (784111777.0, True, ())


@given(st.one_of(st.text(max_size=60), st.from_regex(r"[A-Z][a-z]{2} [0-9]{1,2},? [0-9]{4}.*")))
def test_any_text_has_an_answer(text: str) -> None:
    for found in (read_date(text), read_http_date(text)):
        date, issues = without_nonsense(*found, 4e9)
        assert (date is None) <= bool(issues)
        assert set(issues) <= {*DATE_CODES, *ISSUES, *REFUSALS}


# --- agreement with another reader

AGREED = {
    **{f"json_ld_{form}": json_ld(text) for form, text in WHOLE.items()},
    "json_ld_trailing_comma": json_ld(MENDED["trailing_comma"]),
    "json_ld_control_character": json_ld(MENDED["control_character"]),
    "json_ld_nested_comment": json_ld(
        {"@type": "Article", "dateModified": STAMP, "comment": {"dateModified": "2024-06-01"}}
    ),
    "json_ld_two_scripts": json_ld(ARTICLE) + json_ld({"@type": "WebPage", "dateModified": "2024"}),
    "microdata_meta": f"<p {POST}><meta itemprop=dateModified content={STAMP}>",
    "microdata_time": f"<p {POST}><time itemprop=dateModified datetime={STAMP}>x</time>",
    "microdata_text": f"<p {POST}><b itemprop=dateModified>{STAMP}</b>",
    "microdata_nested": f"<div {POST}><div itemprop=comment itemscope><b itemprop=dateModified>"
    "2024-06-01</b></div><b itemprop=dateModified>2024-06-02</b></div>",
    "open_graph": '<html prefix="article: http://ogp.me/ns/article#"><head><meta '
    f'property="article:modified_time" content="{STAMP}">',
    "dublin_core": f'<html><head><meta name="DC.date.modified" content="{STAMP}">',
}


def extruct_dates(html: str) -> set[str]:
    extruct = pytest.importorskip("extruct")
    found: set[str] = set()
    for syntax in ("json-ld", "microdata", "opengraph", "dublincore"):
        data = extruct.extract(html, base_url=URL, syntaxes=[syntax], errors="ignore")
        waiting: list[Any] = [data]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                if "modified" in str(value.get("name", "")).lower():  # Dublin Core
                    found.add(value["content"])
                for key, inner in value.items():
                    if "modified" in key.lower():
                        texts = inner if isinstance(inner, list) else [inner]
                        found |= {t["@value"] if isinstance(t, dict) else t for t in texts}
                    waiting.append(inner)
            elif isinstance(value, (list, tuple)):
                if len(value) == 2 and "modified" in str(value[0]):  # Open Graph
                    found.add(value[1])
                waiting.extend(value)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", sorted(AGREED))
def test_the_same_dates_are_found_as_by_extruct_where_it_is_right(form: str) -> None:
    html = f"<!doctype html>{AGREED[form]}"
    dates = ck.page_dates(html, url=URL)
    expected = extruct_dates(html)
    assert expected
    assert set(dates.loc[dates["property"] == "modified", "raw"]) == expected


# --- hostile input


def many(start: str, each: str, count: int, end: str = "") -> str:
    return start + each * count + end


@pytest.mark.timeout(60)  # what is quadratic takes minutes
@pytest.mark.parametrize(
    "html",
    [
        json_ld("[" * 100_000 + '"dateModified"'),
        json_ld(many("", "[", 5_000, '{"dateModified": "2024"}') + "]" * 5_000),
        json_ld(many("", '{"a":', 3_000, '{"dateModified": "2024"}') + "}" * 3_000),
        json_ld("[" + ",".join(['{"dateModified":"2024"}'] * 50_000) + "]"),
        json_ld('{"dateModified": [' + ",".join(['"2024"'] * 100_000) + "]}"),
        json_ld(many('{"dateModified": "2024', "x", 3_000_000, '"}')),
        json_ld(many('{"dateModified": "2024", ', '"dateModified": "2024", ', 50_000)),
        json_ld(many('"dateModified', '\\"', 300_000)),
        json_ld(many("dateModified", "/*", 300_000)),
        json_ld(many('{"dateModified"', " ", 1_000_000, "x")),
        json_ld(many("", '"dateModified"      ', 30_000)),
        json_ld(many('{"dateModified": "2024"', ", ", 300_000, "}")),
        json_ld(many("", "<!--", 200_000, "dateModified")),
        json_ld(many("dateModified", "; ", 300_000)),
        json_ld(many("dateModified", "&quot;", 100_000)),
        json_ld(many('{"dateModified": ', "9", 300_000, "}")),
        json_ld('{"dateModified": "20\0\ud80024", "\0": "\0"}'),
        many("", "<div itemscope><b itemprop=dateModified>2024</b>", 400),
        many("", "<p itemscope><a itemprop=url href=/x></a><b itemprop=dateModified>x</b>", 3_000),
        many(f'<p itemscope itemref="{"a " * 50_000}">', "<b itemprop=dateModified>x</b>", 999),
        many("", "<meta name=date content=2024>", 5_000),
        many("<div>" * 400, "<time class=updated>2024</time>", 2_000),
    ],
    ids=range(22),
)  # fmt: skip
def test_hostile_pages_end_and_raise_nothing(html: str) -> None:
    dates = ck.page_dates(html.encode("utf-8", "replace"), url=URL)
    assert len(dates) <= 2_000
    assert {name: str(dtype) for name, dtype in dates.dtypes.items()} == COLUMNS
    texts = dates["raw"].dropna()
    assert not texts.str.contains("\0", regex=False).any()
    assert texts.str.len().max() <= 200 or texts.empty


def test_a_table_that_was_cut_says_so() -> None:
    full = ck.page_dates("<meta name=date content=2024>" * 1_500)
    assert len(full) == 1_000
    assert full.attrs["cut"] == ["meta"]
    assert ck.page_dates("<meta name=date content=2024>").attrs["cut"] == []


MARKUP = st.lists(
    st.sampled_from(
        ["<script type=application/ld+json>", "</script>", "<div itemscope>", "</div>", "<!--",
         "<b itemprop=dateModified>", "<meta property=og:updated_time content=", "2024", ">", "-->",
         "<time class=updated datetime='", "'", '"', '{"dateModified":', '"2024-05"', "}", "[", "]",
         ",", '"@type":"Article"', '"url":"/news/flood"', "\\", "\0", "é", "<b property=schema:date"
         "Modified typeof=Article>", "Fri, 17 May 2024", "{", '"comment":']
    ),
    max_size=25,
).map("".join)  # fmt: skip


@settings(max_examples=60)
@given(st.one_of(MARKUP, st.binary(max_size=200)), st.text(max_size=30))
def test_any_page_has_an_answer(html: str | bytes, header: str) -> None:
    dates = ck.page_dates(html, url=URL, headers={"Last-Modified": header, "Date": header})
    assert set(dates["property"]) <= {"modified", "published"}
    assert set(dates["source"]) <= set(SOURCES)
    assert set(dates["confidence"]) <= set(CONFIDENCES)
    assert (dates["start"].isna() <= dates["issues"].notna()).all()
    assert (dates["start"].isna() | (dates["start"] < dates["end"])).all()


@given(st.text(alphabet='"\\{}[],:/*;<!-> \n\tdatex1&quot', max_size=80))
def test_any_script_has_an_answer(text: str) -> None:
    block = read_block(text)
    assert block.parse in ("strict", "lenient", "regex")
    assert (block.parse == "regex") == (not block.values)  # noqa: PD011 - it is no table


# --- while crawling


def test_pages_without_marks_are_told_by_their_bytes() -> None:
    for html in (
        "<head><title>Modified dates issued</title></head><p>modified on a date; published",
        json_ld({"@context": "https://schema.org", "@type": "Organization"}),
        "<meta" * 1_000,
        "",
    ):
        assert not has_date_marks(html.encode())
    for html in (
        json_ld(ARTICLE),
        f"<body><p {POST}><b itemprop=datePublished>",
        "<head><meta itemprop=datePublished content=2024></head>",
        '<head><meta property="article:modified_time"></head>',
        "<meta name=Last-Modified content=2024><body>",
        '<meta name="date">',
        "<META CONTENT='2024' NAME='pubdate'>",
        "<meta name=DC.date.issued>",
    ):
        assert has_date_marks(b"<!doctype html>" + html.encode())


def test_a_crawl_fills_the_dates_of_its_pages(tmp_path: Any) -> None:
    def page(markup: str, **headers: str) -> lab.Answer:
        body = f"<!doctype html><html><head><title>x</title>{markup}</head></html>"
        links = tuple(name for name in "abcde" if f"<a href={name}>" in markup)
        return lab.Answer(body.encode(), headers=tuple(headers.items()), links=links)

    pages = {
        "": page("".join(f"<a href={name}>x</a>" for name in ("a", "b", "c", "d", "e"))),
        "a": page(
            json_ld(WHOLE["plain"].replace("}", ', "datePublished": "2024-05-16"}'))
            + json_ld({"@type": "Article", "url": "/t/b", "dateModified": "2024-06-01"})
        ),
        "b": page('<meta property="article:modified_time" content="2024-05-17">'),
        "c": page('<meta name="pubdate" content="May 17, 2024"><meta name=lastmod content="x">'),
        "d": page("", **{"Last-Modified": "Fri, 17 May 2024 12:30:15 GMT"}),
        "e": page('<meta name="last-modified" content="2999-01-01">'),
    }
    with serve(pages) as site:
        crawl = ck.crawl(site.url + "t/", tmp_path / "c", delay=0, progress=False)
    table = crawl.pages.set_index(crawl.pages["url"].str.rpartition("/")[2])
    assert table["date_modified"].loc["a"] == pd.Timestamp(STAMP)
    assert table["date_published"].loc["a"] == pd.Timestamp("2024-05-16", tz="UTC")
    assert table["date_modified"].loc["b"] == pd.Timestamp("2024-05-17", tz="UTC")
    assert table["date_published"].loc["c"] == pd.Timestamp("2024-05-17", tz="UTC")
    assert table["date_modified_source"].dropna().to_dict() == {"a": "json_ld", "b": "open_graph"}
    assert table["date_modified"].loc[["", "c", "d", "e"]].isna().all()
    assert table["last_modified"].loc["d"] == pd.Timestamp("2024-05-17 12:30:15", tz="UTC")


def test_the_reader_loads_only_when_a_page_has_marks() -> None:
    program = """
import sys
from crawlkit.crawling import results
from crawlkit.web.html import parse_page
assert "crawlkit.web.date_marks" in sys.modules
for name in ("date_candidates", "json_ld", "item_dates", "meta_dates", "date_texts", "w3c_dates"):
    assert "crawlkit.web." + name not in sys.modules, name
from crawlkit.web.date_candidates import stated_dates
page = parse_page('<meta property="og:updated_time" content="2024-05-17">', url="http://a.example/")
assert stated_dates(page, 2e9)["modified"].source == "open_graph"
assert not {"pandas", "numpy"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
