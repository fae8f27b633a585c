"""Patterns: robots-style wildcards and regexes, asked once per new URL."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlkit.errors import BadSetting
from crawlkit.web.patterns import (
    RESERVED,
    UNRESERVED,
    Patterns,
    Wildcard,
    compile_patterns,
    respell,
    split_authority,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MATCHING: list[tuple[str | re.Pattern[str], str, bool]] = [
    # pattern, URL, matches?
    ("/calendar/", "https://example.com/calendar/2024", True),
    ("/calendar/", "https://example.com/shop/calendar/2024", False),
    ("/calendar/", "https://example.com/Calendar/2024", False),
    ("/calendar/", "https://example.com/calendar", False),
    ("/", "https://example.com", True),
    ("/$", "https://example.com/", True),
    ("/$", "https://example.com/a", False),
    ("*", "https://example.com/anything?at=all", True),
    ("*.pdf$", "https://example.com/files/a.pdf", True),
    ("*.pdf$", "https://example.com/files/a.pdf?page=2", False),
    ("*.pdf", "https://example.com/files/a.pdf?page=2", True),
    ("/*?filter=", "https://example.com/shop?filter=red", True),
    ("/*?filter=", "https://example.com/shop?page=1&filter=red", False),
    ("*filter=", "https://example.com/shop?page=1&filter=red", True),
    ("/a$b", "https://example.com/a$b", True),
    ("/a*b*c$", "https://example.com/a-b-b-c", True),
    ("/ab*bc$", "https://example.com/abc", False),  # pieces do not overlap
    ("/ab*bc$", "https://example.com/abbc", True),
    ("/a**b", "https://example.com/a-b", True),
    ("/a*$", "https://example.com/abc", True),
    ("*/example.com", "https://example.com/", False),  # a path pattern never sees the host
    ("/caf\u00e9/", "https://example.com/caf%C3%A9/menu", True),
    ("/caf%c3%a9/", "https://example.com/caf%C3%A9/menu", True),
    ("/%7Eann/", "https://example.com/~ann/", True),
    ("/a b", "https://example.com/a%20b", True),
    ("/a%2Fb", "https://example.com/a/b", False),
    ("https://example.com", "https://example.com/a", True),
    ("https://example.com", "https://example.com.evil.example/a", False),
    ("https://example.com", "https://example.com:8443/a", False),
    ("https://example.com:443/", "https://example.com/a", True),
    ("https://example.com", "http://example.com/a", False),
    ("HTTPS://Example.COM/Shop", "https://example.com/Shop/1", True),
    ("https://example.com/shop/*/print$", "https://example.com/shop/7/print", True),
    ("https://*.example.com/", "https://shop.example.com/a", True),
    ("https://*.example.com/", "https://example.com/a", False),
    ("https://b\u00fccher.example/", "https://xn--bcher-kva.example/a", True),
    ("http://[::1]:8000/a", "http://[::1]:8000/ab", True),
    ("https://", "https://example.com/", True),
    (re.compile("sid="), "https://example.com/a?sid=1", True),
    (re.compile("EXAMPLE"), "https://example.com/", False),
    (re.compile("EXAMPLE", re.IGNORECASE), "https://example.com/", True),
    (re.compile(r"^https://example\.com/\d+$"), "https://example.com/12", True),
]


@pytest.mark.parametrize(("pattern", "url", "expected"), MATCHING)
def test_a_pattern_matches_exactly_where_it_says(
    pattern: str | re.Pattern[str], url: str, expected: bool
) -> None:
    text = pattern if isinstance(pattern, str) else pattern.pattern
    assert compile_patterns(pattern).matches(url) == (text if expected else None)


def test_a_fragment_is_no_part_of_what_a_wildcard_sees() -> None:
    assert compile_patterns("*secret").matches("https://example.com/a#secret") is None
    assert compile_patterns("/a$").matches("https://example.com/a#b") == "/a$"


def test_the_first_pattern_in_the_given_order_is_named_whatever_its_kind() -> None:
    shop = "https://example.com/shop/1.pdf"
    kinds: list[str | re.Pattern[str]] = [
        "/shop",
        "*.pdf",
        "https://example.com/shop",
        re.compile("shop"),
    ]
    for first in kinds:
        rest = [kind for kind in kinds if kind is not first]
        text = first if isinstance(first, str) else first.pattern
        assert compile_patterns([first, *rest]).matches(shop) == text
        assert compile_patterns(["/nothing", re.compile("nothing"), first]).matches(shop) == text


def test_no_patterns_are_falsy_and_match_nothing() -> None:
    patterns = compile_patterns(())
    assert not patterns
    assert len(patterns) == 0
    assert patterns.matches("https://example.com/") is None
    assert patterns.to_list() == []
    assert compile_patterns(["/"])


def test_a_single_pattern_needs_no_list() -> None:
    assert compile_patterns("/ab") == compile_patterns(["/ab"])
    assert len(compile_patterns(re.compile("ab"))) == 1


@pytest.mark.parametrize(
    ("patterns", "remedy"),
    [
        ("calendar/", "'/calendar/'"),
        (["/fine", "?sid="], "'*?sid='"),
        ("^/a.*b$", "re.compile('^/a.*b$')"),
        ("ftp://example.com/", "https://"),
        ("example.com/shop", "https://"),
        ("", "'/' for every URL"),
        ("  ", "'/' for every URL"),
        ([3], "a compiled regex"),
        ([None], "a compiled regex"),
        (None, "a list of patterns"),
        (5, "a list of patterns"),
        ([b"/a"], "a compiled regex"),
        (re.compile(b"a"), "URLs are strings"),
        ({"regex": "(", "flags": 32}, "a compiled regex"),
        ([{"regex": "a"}], "a compiled regex"),
    ],
)
def test_an_unusable_pattern_is_a_typed_error_with_the_remedy(patterns: Any, remedy: str) -> None:
    with pytest.raises(BadSetting) as caught:
        compile_patterns(patterns, name="exclude")
    assert caught.value.name == "exclude"
    assert str(caught.value).startswith("exclude: ")
    assert remedy in str(caught.value)


def test_patterns_survive_json_with_the_flags_of_regexes() -> None:
    given_patterns: list[str | re.Pattern[str]] = [
        "/a*b",
        re.compile("x.y", re.IGNORECASE | re.DOTALL),
        "https://example.com",
    ]
    patterns = compile_patterns(given_patterns)
    again = Patterns.from_list(json.loads(json.dumps(patterns.to_list())))
    assert again == patterns
    assert hash(again) == hash(patterns)
    assert again.texts == patterns.texts
    assert again.matches("http://example.org/X\nY".replace("\n", "-")) == "x.y"
    assert again != compile_patterns(["/a*b", re.compile("x.y"), "https://example.com"])
    assert patterns != object()


def test_a_stored_regex_prints_nothing_when_it_is_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    patterns = compile_patterns(re.compile("ab+", re.DEBUG))
    capsys.readouterr()
    Patterns.from_list(patterns.to_list())
    assert capsys.readouterr().out == ""


# Pieces from few letters, so that they overlap and wildcards have something to get wrong.
_FEW = st.text("ab/", max_size=12)
_WILD = st.lists(st.text("ab/", max_size=3), min_size=1, max_size=5).map("*".join)


@given(pattern=_WILD, anchored=st.booleans(), text=_FEW)
def test_wildcards_match_what_the_regex_of_the_same_meaning_matches(
    pattern: str, anchored: bool, text: str
) -> None:
    meaning = ".*".join(map(re.escape, pattern.split("*"))) + (r"\Z" if anchored else "")
    expected = re.match(meaning, text, re.DOTALL) is not None
    assert Wildcard(pattern + "$" * anchored).matches(text) is expected


@given(
    patterns=st.lists(_WILD.map(lambda text: "/" + text), max_size=6),
    path=_FEW,
)
def test_many_patterns_together_answer_as_each_alone(patterns: list[str], path: str) -> None:
    url = "https://example.com/" + path
    alone = [pattern for pattern in patterns if compile_patterns(pattern).matches(url)]
    assert compile_patterns(patterns).matches(url) == (alone[0] if alone else None)


@given(st.text())
def test_respelling_is_idempotent_and_total(text: str) -> None:
    once = respell(text, literal=UNRESERVED | RESERVED)
    assert once.isascii()
    assert respell(once, literal=UNRESERVED | RESERVED) == once


@given(st.characters(codec="utf-8").filter(lambda char: char not in "%*$#?/"))
def test_a_character_and_its_escape_match_alike(char: str) -> None:
    escaped = "".join(f"%{octet:02x}" for octet in char.encode())
    assert char in "!&'()+,;=:@[]" or compile_patterns(f"/{char}").matches(
        f"https://example.com/{escaped}"
    )
    assert compile_patterns(f"/{char}").matches(f"https://example.com/{char}")


@given(st.text(), st.text())
def test_any_text_can_be_asked_about(start: str, url: str) -> None:
    compile_patterns(["/" + start, "*" + start, "https://" + start]).matches(url)
    authority, path = split_authority(url)
    assert path.startswith("/")
    assert url.startswith(authority)


def _seconds(function: Callable[..., object], *arguments: object) -> float:
    before = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - before


@pytest.mark.parametrize(
    "pattern", ["/" + "*a" * 2_000 + "*b", "/" + "a*" * 2_000 + "b$", "/" + "*" * 10_000 + "b"]
)
def test_many_wildcards_in_one_pattern_do_not_hang(pattern: str) -> None:
    # Backtracking would take longer than the age of the universe; a second is a generous bound.
    url = "https://example.com/" + "a" * 8_000
    assert _seconds(compile_patterns(pattern).matches, url) < 1
    assert compile_patterns(pattern).matches(url) is None


def test_a_thousand_plain_patterns_cost_little_more_than_ten() -> None:
    url = "https://example.com/shop/item/123?colour=red"
    few = compile_patterns([f"/path-{number}/" for number in range(10)])
    many = compile_patterns([f"/path-{number}/" for number in range(1_000)])

    def ask(patterns: Patterns) -> None:
        for _ in range(2_000):
            patterns.matches(url)

    ratios = sorted(_seconds(ask, many) / _seconds(ask, few) for _ in range(7))
    assert ratios[3] < 20  # 100 if each were looked at on its own
