"""The markers of a crawl: which pages show what every page is expected to show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from crawls import crawl, page, serve, text

import crawlkit as ck
from crawlkit import cli, lab
from crawlkit.crawling.expected import Markers, compile_markers
from crawlkit.web.html import parse_page

if TYPE_CHECKING:
    from pathlib import Path

FOOTER = '<footer class="imprint">Imprint &amp; contact</footer>'


def shown(found: ck.Crawl) -> dict[str, bool | None]:
    """What is known of each page, by its address behind ``/t/``."""
    pages = found.pages
    assert pages["expected_found"].dtype == "boolean"
    return {
        url.partition("/t/")[2]: None if pd.isna(value) else bool(value)
        for url, value in zip(pages["url"], pages["expected_found"], strict=True)
    }


def document(body: str, status: int = 200) -> lab.Answer:
    source = f"<!doctype html><title>T</title><body>{body}"
    return lab.Answer(source.encode(), status, content_type="text/html; charset=utf-8")


PAGES: dict[str, Any] = {
    "": page("good", "split", "blocked", "notes", "gone", "moved"),
    "good": document(f"<p>Good</p>{FOOTER}"),
    "split": document('<p>x</p><footer class="imprint">Imprint <b>&amp;</b>\n contact</footer>'),
    "blocked": document("<p>Please wait while we check your browser</p>"),
    "notes": text("Imprint & contact"),
    "gone": document("<p>Not here</p>", 404),
    "moved": lab.redirect("good"),
}


def test_each_html_page_says_whether_it_shows_the_markers(tmp_path: Path) -> None:
    with serve(PAGES) as site:
        expect = ["Imprint & contact", re.compile(r'class="\w*print"')]
        found = crawl(site.url + "t/", tmp_path / "c", expect=expect, workers=4)
    assert found.finished
    assert shown(found) == {
        "": False,
        "good": True,
        "split": True,
        "blocked": False,
        "notes": None,  # no HTML
        "gone": False,
        "moved": None,
    }
    metrics = ck.crawl_metrics(found).table.set_index("metric")["value"]
    assert metrics["expected_found"] == pytest.approx(2 / 5)


def test_without_markers_nothing_is_said(tmp_path: Path) -> None:
    with serve(PAGES) as site:
        found = crawl(site.url + "t/", tmp_path / "c", max_pages=3)
        assert set(shown(found).values()) == {None}
        # Markers may be added on a resume: the pages so far stay as they are.
        found.resume(max_pages=5, expect="Imprint", progress=False)
        now = shown(found)
        assert (now["good"], now["split"], now["blocked"]) == (None, None, False)


def test_markers_hold_on_a_resume_and_a_change_of_them_is_refused(tmp_path: Path) -> None:
    expect = ("Imprint", re.compile("imprint", re.IGNORECASE))
    with serve(PAGES) as site:
        crawl(site.url + "t/", tmp_path / "c", max_pages=2, expect=expect)
        again = ck.open_crawl(tmp_path / "c")
        assert again.settings.expect == Markers(expect)
        again.resume(max_pages=4, progress=False)
        assert None not in shown(again).values()
        crawl(site.url + "t/", tmp_path / "c", max_pages=5, expect=list(expect))
        for other in ((), "Imprint", ["Imprint", "imprint"]):
            with pytest.raises(ck.SettingsChanged, match="expect"):
                crawl(site.url + "t/", tmp_path / "c", expect=other)
        with pytest.raises(ck.SettingsChanged, match="expect"):
            again.resume(expect="other", progress=False)


def test_markers_at_the_command_line(tmp_path: Path) -> None:
    with serve(PAGES) as site:
        told = ["crawl", site.url + "t/", "-o", str(tmp_path / "c"), "--delay", "0", "--json"]
        assert cli.main([*told, "--expect", "Imprint", "--expect", "contact"]) == 0
    found = shown(ck.open_crawl(tmp_path / "c"))
    assert {url for url, value in found.items() if value} == {"good", "split"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("", "empty"),
        (["a", "  "], "empty"),
        (b"bytes", "no marker"),
        ([b"bytes"], "no marker"),
        (re.compile(b"x"), "searches bytes"),
        (5, "no marker"),
        (None, "no marker"),
        ([None], "no marker"),
        ({"a": 1}, "no marker"),
    ],
)
def test_wrong_markers_are_named_before_anything_is_written(
    tmp_path: Path, wrong: Any, says: str
) -> None:
    with pytest.raises(ck.BadSetting, match="expect") as caught:
        ck.crawl("http://127.0.0.1:9/", tmp_path / "c", expect=wrong, progress=False)
    assert says in str(caught.value)
    assert not (tmp_path / "c").exists()


def test_text_is_looked_for_in_the_source_and_in_what_is_visible() -> None:
    source = "<p title='a &lt; b'>one\n<i>two</i> caf\u00e9</p><script>var hidden = 1</script>"
    read = parse_page(source.encode("utf-16"), url="https://example.com/", content_type="text/html")
    for marker, there in (
        ("one two", True),
        ("caf\u00e9", True),
        ("<i>two", True),
        ("var hidden", True),
        ("One", False),
        ("one  two", False),
    ):
        assert compile_markers(marker).found_in(read) is there, marker
    assert Markers.from_list(compile_markers([re.compile("TWO", re.I)]).to_list()).found_in(read)
    assert not compile_markers(())
