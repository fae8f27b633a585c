"""Keys of whole URLs: what is one page and what is not, and the laws that hold for all."""

from __future__ import annotations

import csv
import json
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from suites import suite_path
from url_strategies import EVERYTHING, PLAIN, absolute, bases, hrefs, json_cases, rule_sets

from crawlkit.errors import BadURL
from crawlkit.web.url_addresses import resolve_address
from crawlkit.web.urls import (
    KEY_RULES,
    MAX_URL_LENGTH,
    SPELLING_RULES,
    UrlRules,
    normalize_url,
    safe_url,
    url_hash,
)


def test_rfc_3986_6_2_equivalences() -> None:
    groups = json_cases("rfc3986/section-6.2.json")
    equivalent = [group["equivalent"] for group in groups if "equivalent" in group]
    assert len(equivalent) == 3
    for urls in equivalent:
        spellings = [
            url.replace("example://a", "http://a").replace("eXAMPLE://a", "HTTP://A")
            for url in urls
        ]
        assert len({normalize_url(url) for url in spellings}) == 1, urls
    # Against 6.2.3 a bare "?" goes, since HTTP clients do not send it.
    assert normalize_url("http://example.com/?") == normalize_url("http://example.com/")


def crawler_commons_pairs() -> list[tuple[str, str]]:
    path = suite_path("crawler-commons/normalizer/weirdToNormalizedUrls.csv")
    # Control characters of the suite are part of the URLs: lines end at "\n" alone.
    lines = [
        line for line in path.read_text("utf-8").split("\n") if line.strip() and line[0] != "#"
    ]
    return [(row[0], row[1].strip()) for line in lines for row in csv.reader([line])]


def is_opinion(url: str, normalized: str) -> bool:
    """Whether a pair does what neither RFC 3986 nor the URL Standard asks for."""
    if not url.strip().lower().startswith(("http:", "https:")):
        return True  # another scheme, or a scheme that is guessed
    front, _, query = url.partition("#")[0].partition("?")
    path = front.partition("//")[2].partition("/")
    parameters = query.split("&"), normalized.partition("?")[2].split("&")
    changed = [[quote(one, "=%") for one in side if one] for side in parameters]
    return (
        "//" in "/" + path[2]  # slashes collapsed
        or path[0].endswith(".")  # the root's dot dropped
        or (len(parameters[0]) > 1 and changed[0] != changed[1])  # sorted, or "b=" made "b"
    )


def test_crawler_commons_neutral_pairs() -> None:
    pairs = crawler_commons_pairs()
    neutral = [pair for pair in pairs if not is_opinion(*pair)]
    assert len(pairs) == 112
    assert len(neutral) >= 78
    wrong = [
        (url, normal, normalize_url(url, PLAIN))
        for url, normal in neutral
        if normalize_url(url, PLAIN) != normal
    ]
    assert not wrong


@pytest.mark.parametrize("relative", ["urlcanon/idempotence.json", "naughty-strings/blns.json"])
def test_hostile_strings_never_raise_and_keys_are_stable(relative: str) -> None:
    for text in json.loads(suite_path(relative).read_text("utf-8")):
        for base in (None, "https://example.com/a/b?c"):
            answer = resolve_address(text, base)
            if isinstance(answer, str):
                assert resolve_address(answer) == answer
                assert normalize_url(text, base=base) == normalize_url(answer)


SAME = [
    ("HTTP://Example.COM/", "http://example.com/"),
    ("http://example.com", "http://example.com/"),
    ("http://example.com:/", "http://example.com/"),
    ("http://example.com:80/", "http://example.com/"),
    ("https://example.com:0443/", "https://example.com/"),
    ("http://example.com/a/./b/../c", "http://example.com/a/c"),
    ("http://example.com/%7euser", "http://example.com/~user"),
    ("http://example.com/%2e%2E/a", "http://example.com/a"),
    ("http://example.com/%e2%82%ac", "http://example.com/€"),
    ("http://example.com/a%2fb", "http://example.com/a%2Fb"),
    ("http://example.com/a#b", "http://example.com/a"),
    ("http://ann:secret@example.com/", "http://example.com/"),
    ("http://bücher.example/", "http://xn--bcher-kva.example/"),
    ("http://bu\u0308cher.example/", "http://xn--bcher-kva.example/"),
    ("http://example\uff0ecom/", "http://example.com/"),
    ("http://example%2Ecom/", "http://example.com/"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://[2001:DB8:0:0::1]/", "http://[2001:db8::1]/"),
    ("http:\\\\example.com\\a", "http://example.com/a"),
    ("  http://example.com/a\n", "http://example.com/a"),
    ("http://example.com/a\tb", "http://example.com/ab"),
    ("http://example.com/a b", "http://example.com/a%20b"),
    ("http://example.com/?", "http://example.com/"),
    ("http://example.com/?b=2&a=1", "http://example.com/?a=1&b=2"),
    ("http://example.com/?utm_source=x&UTM_Medium=y", "http://example.com/"),
    ("http://example.com/?a=1&gclid=x", "http://example.com/?a=1"),
    ("http://example.com/?a&&b", "http://example.com/?a&b"),
]


APART = [
    ("http://example.com/", "https://example.com/"),
    ("http://example.com/", "http://www.example.com/"),
    ("http://example.com/", "http://example.com:8080/"),
    ("http://example.com:443/", "http://example.com/"),
    ("https://example.com:80/", "https://example.com/"),
    ("http://example.com/a", "http://example.com/a/"),
    ("http://example.com/a", "http://example.com/A"),
    ("http://example.com//a", "http://example.com/a"),
    ("http://example.com/a//b", "http://example.com/a/b"),
    ("http://example.com/", "http://example.com/index.html"),
    ("http://example.com/a%2Fb", "http://example.com/a/b"),
    ("http://example.com/%252561", "http://example.com/%2561"),
    ("http://example.com/%41%25", "http://example.com/%2541"),
    ("http://example.com/?a", "http://example.com/?a="),
    ("http://example.com/?a=1&a=2", "http://example.com/?a=2&a=1"),
    ("http://example.com/?a=b", "http://example.com/?A=b"),
    ("http://example.com/?a=1;b=2", "http://example.com/?a=1&b=2"),
    ("http://example.com/?a+b", "http://example.com/?a%20b"),
    ("http://example.com/?a=%26", "http://example.com/?a=&"),
    ("http://example.com/??", "http://example.com/"),
    ("http://example.com/;a=1", "http://example.com/"),
    ("http://example.com/?sid=1", "http://example.com/?sid=2"),
    ("http://example.com/?ref=a", "http://example.com/?ref=b"),
    ("http://example.com./", "http://example.com/"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_page_have_one_key(one: str, other: str) -> None:
    assert normalize_url(one) == normalize_url(other)


@pytest.mark.parametrize(("one", "other"), APART)
def test_different_pages_keep_different_keys(one: str, other: str) -> None:
    assert normalize_url(one) != normalize_url(other)


def test_addresses_keep_what_keys_leave_out() -> None:
    url = "https://www.example.com/Shop/index.html?utm_source=x&b=2&a=1&PHPSESSID=0"
    assert safe_url(url) == url
    assert normalize_url(url, EVERYTHING) == "http://example.com/shop?a=1&b=2"


def test_explain_lists_what_changed_in_order() -> None:
    key, rules = normalize_url(
        " HTTP:\\\\ann@WWW.Example.com:80/%7ea/../B/index.html?b&utm_source=x&a&view=1&sid=1#top",
        EVERYTHING,
        explain=True,
    )
    assert key == "http://example.com/b?a&b"
    assert rules == [
        "whitespace", "backslash", "scheme_case", "userinfo", "host", "port", "dot_segments",
        "percent_encoding", "fragment", "www", "path_case", "session_ids", "drop_parameters",
        "tracking", "sort_query", "index_file", "trailing_slash",
    ]  # fmt: skip
    assert set(rules) <= set(SPELLING_RULES) | set(KEY_RULES)


@pytest.mark.parametrize(
    ("url", "rules"),
    [
        ("https://example.com/a?b", []),
        ("https://example.com", ["empty_path"]),
        ("https://example.com?a", ["empty_path"]),
        ("https://example.com/?", ["empty_query"]),
        ("https:///example.com/", ["slashes"]),
        ("https://example.com/?q='", ["percent_encoding"]),
        ("https://[2001:DB8::1]/", ["host"]),
        ("../b", ["base", "dot_segments"]),
        ("//example.com:443", ["base", "port", "empty_path"]),
        ("?a=1", ["base"]),
    ],
)  # fmt: skip
def test_explain_names_each_difference_of_spelling(url: str, rules: list[str]) -> None:
    assert normalize_url(url, base="https://example.com/a/", explain=True)[1] == rules


@given(absolute | hrefs, rule_sets(), bases)
@settings(max_examples=600, deadline=None)
@example("/a/index.html/index.php//", UrlRules(index_file=True, trailing_slash=True), "http://h/")
@example("/a/..;jsessionid=1;sid=2", UrlRules(session_ids=True), "http://h/")
@example("/;sid=;sid=1id=2/%2e;sid=3", EVERYTHING, "http://h/")
@example("/" + "x" * (MAX_URL_LENGTH - 11), UrlRules(scheme=True), "https://h/")
def test_the_key_of_a_key_is_the_key(href: str, rules: UrlRules, base: str) -> None:
    try:
        key, fired = normalize_url(href, rules, base=base, explain=True)
    except BadURL:
        return
    assert normalize_url(key, rules, explain=True) == (key, [])
    assert normalize_url(href, rules, base=base) == key
    # The key depends on the address alone.
    address = safe_url(href, base=base)
    assert normalize_url(address, rules) == key
    assert (key != address) == any(rule in KEY_RULES for rule in fired)
    assert (address != href) == any(rule in SPELLING_RULES for rule in fired)
    assert -(2**63) <= url_hash(key) < 2**63


segments = st.text("abcXYZ019-._~!$&'()*+,;=:@ é漢%/?", min_size=1, max_size=6)


@st.composite
def spelled_twice(draw: st.DrawFn) -> tuple[str, str]:
    """Two spellings of one URL that RFC 3986 6.2.2 and 6.2.3 call equivalent."""

    def respell(text: str) -> str:
        """Encode some octets that need it not, and vary the case of escapes."""
        spelled = []
        for octet in text.encode():
            character = chr(octet)
            must = character not in "abcXYZ019-._~!$&'()*+,;=:@"
            may = character in "abcXYZ019-._~"
            if must or (may and draw(st.integers(0, 3)) == 0):
                character = f"%{octet:02x}" if draw(st.booleans()) else f"%{octet:02X}"
            spelled.append(character)
        return "".join(spelled)

    scheme = draw(st.sampled_from(["http", "https"]))
    path = draw(st.lists(segments.filter(lambda text: set(text) != {"."}), max_size=4))
    query = draw(st.none() | st.lists(segments, min_size=1, max_size=3))
    spellings = []
    for _ in range(2):
        start = "".join(draw(st.sampled_from([one, one.upper()])) for one in scheme)
        host = "".join(draw(st.sampled_from([one, one.upper()])) for one in "shop.example")
        port = draw(st.sampled_from(["", ":", {"http": ":80", "https": ":443"}[scheme]]))
        steps: list[str] = []
        for segment in path:
            steps += draw(st.sampled_from([[], ["."], ["%2E"], ["x", ".."], ["y", "%2e."]]))
            steps.append(respell(segment))
        tail = "/".join(steps)
        tail = f"/{tail}" if tail or query or draw(st.booleans()) else ""
        asked = "" if query is None else "?" + "&".join(respell(one) for one in query)
        spellings.append(
            f"{start}://{host}{port}{tail}{asked}{draw(st.sampled_from(['', '#', '#x']))}"
        )
    return spellings[0], spellings[1]


@given(spelled_twice())
@settings(max_examples=150, deadline=None)
def test_equivalent_spellings_have_one_address_and_one_key(pair: tuple[str, str]) -> None:
    assert safe_url(pair[0]) == safe_url(pair[1])
    assert normalize_url(pair[0]) == normalize_url(pair[1])
