"""What a notebook shows: nothing from the web gets through as markup or as terminal control."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from suites import suite_path

from crawlkit.reprs import (
    crawl_html,
    curves_svg,
    escape,
    facts_html,
    format_bytes,
    format_number,
    format_seconds,
    frame_html,
    link_html,
    plain_text,
    progress_text,
)

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "\"><svg onload='alert(1)'>",
    "</table></div><iframe src=javascript:alert(1)>",
    "<!--",
    "&lt;b&gt;",
    "$\\href{javascript:alert(1)}{x}$",
    "line\nfeed\r\x1b[2J\x1b]0;title\x07",
    "\u202egnp.exe",
    "lone \ud800 surrogate",
    "\x00null",
]

# The tags that the tables and sketches are made of.
OWN_TAGS = {
    "div", "table", "caption", "tbody", "thead", "tr", "th", "td", "p", "b", "svg", "polyline",
}  # fmt: skip


class Markup(HTMLParser):
    """Collects the tags, attributes and text of a piece of HTML."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def assert_harmless(markup: str) -> Markup:
    """Assert that only our own tags are there and none of their attributes runs anything."""
    found = Markup(markup)
    assert set(found.tags) <= OWN_TAGS | {"a"}, found.tags
    for name, value in found.attributes:
        assert not name.startswith("on")
        assert "javascript:" not in (value or "").lower() or name == "aria-label"
    assert "<!--" not in markup
    markup.encode("utf-8")  # nothing that a notebook file could not hold
    return found


def summary_of(text: str) -> dict[str, object]:
    return {
        "folder": text,
        "order": text,
        "stop_reason": text,
        "pages": 3,
        "urls": {"pending": 1, "done": 2, text: 5},
        "excluded": {text: 3},
        "failed": {text: 1},
        "beyond": {text: 2},
        "records": 4,
        "requests": 4,
        "retries": 1,
        "bytes": 2_000_000,
        "seconds": 61.0,
        "hosts": 1,
        "hints": [f"A seed redirects to {text}"],
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_crawl_becomes_markup(text: str) -> None:
    assert_harmless(crawl_html(summary_of(text)))
    assert_harmless(facts_html(text, [(text, text)], [text]))
    frame = pd.DataFrame({0: [text, None]}, index=pd.Index([text, "b"], dtype=object), dtype=object)
    frame.columns = pd.Index([text], dtype=object)
    assert_harmless(frame_html(frame, title=text))
    assert_harmless(curves_svg({text: [(0, 0), (1, 1)]}))


@given(st.text())
def test_any_text_survives_escaping_and_comes_back_as_it_was_shown(text: str) -> None:
    found = assert_harmless(facts_html("t", [("name", text)])) if text else None
    assert found is None or plain_text(text) in found.text
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202e]", plain_text(text))
    plain_text(text).encode("utf-8")


def test_naughty_strings_of_the_public_list_stay_text() -> None:
    lines = json.loads(suite_path("naughty-strings/blns.json").read_text(encoding="utf-8"))
    assert len(lines) > 400
    for line in lines:
        assert_harmless(frame_html(pd.DataFrame({"title": [line]})))
        assert_harmless(crawl_html(summary_of(line)))


def test_a_dollar_in_a_title_is_kept_from_mathjax() -> None:
    assert crawl_html(summary_of("$x$")).startswith('<div class="mathjax_ignore tex2jax_ignore">')


def test_html_brings_no_style_sheet_script_picture_or_fixed_color() -> None:
    markup = crawl_html(summary_of("shop")) + frame_html(pd.DataFrame({"a": [1]}))
    markup += curves_svg({"frontier": [(0, 1), (2, 3)]})
    assert not re.search(r"<style|<script|<link|<img|url\(|https?://|#[0-9a-f]{3}|rgb", markup)
    colors = set(re.findall(r"(?:color|stroke): ?([a-z]+)|stroke=\"([a-zA-Z]+)\"", markup))
    assert {"".join(pair) for pair in colors} == {"inherit", "currentColor"}


def test_progress_line_stays_one_line() -> None:
    text = progress_text({"pages": 1, "pending": 2}, state="failed\nat \x1b[31m")
    assert text == "failed\\nat \\x1b[31m: 1 pages, 2 pending"
    assert progress_text({}) == ""


def test_crawl_summary_shows_numbers_and_reasons() -> None:
    text = Markup(crawl_html(summary_of("shop"))).text
    for part in ("8: 5 shop, 2 done, 1 pending", "2.0 MB", "1 min 1 s", "4, 1 of them asked again"):
        assert part in text


def test_summary_without_numbers_leaves_the_rows_out() -> None:
    found = Markup(crawl_html({"folder": "f"}))
    assert found.tags.count("tr") == 1
    assert "not yet" in found.text


def test_counts_beyond_the_sixth_reason_are_joined() -> None:
    excluded = {f"reason_{n}": n for n in range(1, 11)}
    text = Markup(crawl_html({"folder": "f", "excluded": excluded})).text
    assert "10 reason_10, 9 reason_9" in text
    assert "10 for other reasons" in text  # 1 + 2 + 3 + 4


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", " https://e.com", "data:text/html,x", "https://e.com/\x1b", None]
)
def test_only_clean_http_links_become_links(url: str | None) -> None:
    assert "<a" not in link_html(url)


def test_links_open_apart_from_the_notebook() -> None:
    found = Markup(link_html('HTTPS://example.com/?a="><b>&c'))
    assert found.tags == ["a"]
    assert dict(found.attributes) == {
        "href": 'HTTPS://example.com/?a="><b>&c',
        "target": "_blank",
        "rel": "noopener noreferrer",
    }


def test_long_text_is_cut_before_it_is_escaped() -> None:
    assert escape("<" * 10_000) == "&lt;" * 299 + "…"
    assert plain_text("ab", longest=1) == "…"
    assert len(plain_text("a" * 1_000, longest=None)) == 1_000


def test_frame_shows_its_size_and_missing_values() -> None:
    frame = pd.DataFrame(
        {
            "text": ["a", None, "c"],
            "count": pd.array([1, None, 3], dtype="Int64"),
            "share": [0.123456, float("nan"), 1.0],
            "at": pd.to_datetime(pd.Series(["2026-01-01", None, "2026-01-03"]), utc=True),
            "many": [["x", "y"], None, []],
        }
    )
    text = Markup(frame_html(frame, rows=2)).text
    assert "2 of 3 rows" in text
    assert "0.1235" in text
    assert text.count("-") >= 5
    assert "nan" not in text
    assert "NA" not in text
    assert "NaT" not in text
    assert "0 rows" in Markup(frame_html(frame.head(0))).text


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "-"), (0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (999_949, "999.9 kB"),
     (999_960, "1.0 MB"), (2.5e9, "2.5 GB"), (7e12, "7.0 TB"), (9e15, "9,000.0 TB")],
)  # fmt: skip
def test_bytes_have_a_unit(count: float | None, text: str) -> None:
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.0, "0.0 s"), (59.94, "59.9 s"), (59.96, "1 min 0 s"), (3_599.7, "1 h 0 min"),
     (100_000, "27 h 46 min")],
)  # fmt: skip
def test_durations_are_in_words(seconds: float | None, text: str) -> None:
    assert format_seconds(seconds) == text


def test_numbers_are_grouped() -> None:
    assert format_number(12_345) == "12,345"
    assert [format_number(null) for null in (None, float("nan"), pd.NA, pd.NaT)] == ["-"] * 4


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), max_size=30))
def test_sketch_stays_inside_its_box(points: list[tuple[float, float]]) -> None:
    markup = curves_svg({"known": points}, width=100, height=50)
    for x, y in re.findall(r"([-\d.]+),([-\d.]+)(?=[ \"])", markup):
        assert 0 <= float(x) <= 100
        assert 0 <= float(y) <= 50


def test_texts_need_no_heavy_library() -> None:
    code = (
        "import sys; from crawlkit.reprs import crawl_html, curves_svg; crawl_html({});"
        "curves_svg({}); print(*({'pandas', 'numpy', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
