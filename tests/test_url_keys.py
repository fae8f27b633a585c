"""Rules of keys: what each does, how they are saved, where the kept names come from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from url_strategies import EVERYTHING, rule_sets

from crawlkit.errors import BadSetting, CrawlkitError
from crawlkit.web.url_keys import key_maker, parameter_list
from crawlkit.web.urls import UrlRules, normalize_url, safe_url, url_hash


@pytest.mark.parametrize(
    ("rules", "url", "key"),
    [
        (UrlRules(trailing_slash=True), "http://h/a//?x", "http://h/a?x"),
        (UrlRules(trailing_slash=True), "http://h//", "http://h/"),
        (UrlRules(index_file=True), "http://h/a/Default.aspx?x", "http://h/a/?x"),
        (UrlRules(index_file=True), "http://h/index.php/a", "http://h/index.php/a"),
        (UrlRules(index_file=True), "http://h/xindex.php", "http://h/xindex.php"),
        (UrlRules(www=True), "http://www.www.example.com:8080/", "http://example.com:8080/"),
        (UrlRules(www=True), "http://www.com/", "http://www.com/"),
        (UrlRules(www=True), "http://www2.example.com/", "http://www2.example.com/"),
        (UrlRules(scheme=True), "https://h/", "http://h/"),
        (UrlRules(scheme=True), "https://[::1]/", "http://[::1]/"),
        (UrlRules(scheme=True), "https://h:8443/", "https://h:8443/"),
        (UrlRules(scheme=True), "https://[::1]:8443/", "https://[::1]:8443/"),
        (UrlRules(path_case=True), "http://h/A/%c3%89?Q=Z", "http://h/a/%C3%89?Q=Z"),
        (UrlRules(session_ids=True), "http://h/a.jsp;jsessionid=0A.b!c?x=1", "http://h/a.jsp?x=1"),
        (UrlRules(session_ids=True), "http://h/a;JSESSIONID=1;v=2/b", "http://h/a;v=2/b"),
        (UrlRules(session_ids=True), "http://h/a/..;sid=1/b", "http://h/b"),
        (UrlRules(session_ids=True), "http://h/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "http://h/a.aspx"),
        (UrlRules(session_ids=True), "http://h/x/(lit3py55t21z5v55vlm25s55)", "http://h/x"),
        (UrlRules(session_ids=True), "http://h/?osCsid=1&zenid=2&CFID=3&CFTOKEN=4&a", "http://h/?a"),
        (UrlRules(session_ids=True), "http://h/?ASPSESSIONIDQQABCDEF=1", "http://h/"),
        (UrlRules(session_ids=True), "http://h/?inside=1&asid=2", "http://h/?asid=2&inside=1"),
        (UrlRules(drop_parameters=("view",)), "http://h/?view=1&View=2", "http://h/?View=2"),
        (UrlRules(drop_parameters=("f[x]",)), "http://h/?f[x]=1&f%5bx%5D=2&f=3", "http://h/?f=3"),
        (UrlRules(drop_parameters=("größe",)), "http://h/?größe=1&a", "http://h/?a"),
        (UrlRules(drop_parameters=("f_*",)), "http://h/?f_a=1&f=2", "http://h/?f=2"),
        (UrlRules(tracking=False), "http://h/?utm_source=1", "http://h/?utm_source=1"),
        (UrlRules(tracking_parameters=frozenset({"From"})), "http://h/?from=1&gclid=2", "http://h/?gclid=2"),
        (UrlRules(sort_query=False), "http://h/?b&&a&utm_id=1&", "http://h/?b&&a&"),
        (UrlRules(), "http://h/?b=2&a=2&b=1&a=1", "http://h/?a=2&a=1&b=2&b=1"),
        (UrlRules(), "http://h/?b&=1&a", "http://h/?=1&a&b"),
        (UrlRules(), "http://h/?utm%5Fsource=1", "http://h/"),
    ],
)  # fmt: skip
def test_each_rule_does_what_it_says(rules: UrlRules, url: str, key: str) -> None:
    assert normalize_url(url, rules) == key
    assert normalize_url(key, rules) == key


def test_the_tracking_list_says_where_each_name_comes_from() -> None:
    from crawlkit.web import url_keys

    path = url_keys._LISTS
    lists = json.loads(path.read_text("utf-8"))
    entries = lists["tracking"] + lists["session"]
    for entry in entries:
        assert entry["source"] in lists["sources"], entry
        assert entry["vendor"]
    names = [entry["name"].lower() for entry in entries]
    assert len(names) == len(set(names))
    assert {"utm_*", "gclid", "fbclid", "msclkid"} <= parameter_list("tracking")
    # Names that choose content on some sites are left to drop_parameters.
    assert not {"ref", "source", "id", "cid", "s", "lang", "page"} & parameter_list("tracking")


@given(rule_sets())
@settings(deadline=None)
def test_rules_survive_json(rules: UrlRules) -> None:
    saved = json.loads(json.dumps(rules.to_dict()))
    assert UrlRules.from_dict(saved) == rules
    assert hash(UrlRules.from_dict(saved)) == hash(rules)


def test_lists_given_as_lists_are_taken() -> None:
    rules = UrlRules(drop_parameters=["view", "view"], tracking_parameters=["x"])  # type: ignore[arg-type]
    assert rules == UrlRules(drop_parameters=("view",), tracking_parameters=frozenset({"x"}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"drop_parameters": "view"},
        {"drop_parameters": [1]},
        {"drop_parameters": [""]},
        {"drop_parameters": 7},
        {"tracking_parameters": "utm_source"},
        {"www": "yes"},
        {"no_such_rule": True},
    ],
)
def test_wrong_rules_name_the_argument(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadSetting) as raised:
        UrlRules.from_dict(wrong)
    assert raised.value.name == f"url_rules.{next(iter(wrong))}"
    assert isinstance(raised.value, CrawlkitError)


@given(st.permutations(["a=1", "b=2", "c", "d=", "utm_source=x", "", "fbclid=y"]))
@settings(deadline=None)
def test_the_order_of_different_parameters_does_not_matter(parameters: list[str]) -> None:
    assert normalize_url("http://h/?" + "&".join(parameters)) == "http://h/?a=1&b=2&c&d="


def test_hashes_are_64_bits_signed_and_stable() -> None:
    assert url_hash("https://example.com/") == 1493557592560457051
    assert url_hash("\ud800") == url_hash("\ud800")
    values = {url_hash(f"https://example.com/{number}") for number in range(10_000)}
    assert len(values) == 10_000
    assert min(values) < 0 < max(values)


def test_equal_rules_share_a_key_maker() -> None:
    assert key_maker(UrlRules(www=True)) is key_maker(UrlRules(www=True))
    assert key_maker(UrlRules()) is not key_maker(UrlRules(www=True))


def test_a_key_that_no_rule_changes_is_the_address_itself() -> None:
    address = safe_url("https://example.com/a?a=1&b=2")
    assert (
        key_maker(EVERYTHING).key(safe_url("http://example.com/a?a=1&b=2"))
        == "http://example.com/a?a=1&b=2"
    )
    assert key_maker(UrlRules()).key(address) is address
