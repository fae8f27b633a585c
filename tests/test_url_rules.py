"""Rules of normalization, tested on sites whose truth is known."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from crawls import crawl, page, serve
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit import lab
from crawlkit.audit.pair_outcomes import AskedPages, Seen, compare_seen
from crawlkit.audit.url_pairs import met_pairs, respelled, rule_names, without
from crawlkit.lab.shop import ShopTracking

if TYPE_CHECKING:
    from pathlib import Path

HOME = "https://a.example/"
COUNT = 24


def pages_table(rows: dict[str, str], **more: Any) -> pd.DataFrame:
    return pd.DataFrame({"url": list(rows), "text_hash": list(rows.values()), "status": 200} | more)


def verdicts(check: ck.UrlRuleCheck) -> dict[str, str]:
    table = check.table.assign(name=check.table["parameter"].fillna(check.table["rule"]))
    return dict(zip(table["name"], table["verdict"], strict=True))


# -- from tables ---------------------------------------------------------------------------

TWINS = {
    "trailing_slash": ("https://a.example/{}", "https://a.example/{}/"),
    "index_file": ("https://a.example/{}/", "https://a.example/{}/index.html"),
    "www": ("https://a.example/{}", "https://www.a.example/{}"),
    "scheme": ("http://a.example/{}", "https://a.example/{}"),
    "path_case": ("https://a.example/p{}", "https://a.example/P{}"),
    "sort_query": ("https://a.example/{}?a=1&b=2", "https://a.example/{}?b=2&a=1"),
    "tracking": ("https://a.example/{}", "https://a.example/{}?gclid=7"),
    "session_ids": ("https://a.example/{}", "https://a.example/{};jsessionid=7"),
}


@pytest.mark.parametrize("rule", TWINS)
@pytest.mark.parametrize("same", [True, False])
def test_each_rule_is_judged_by_its_own_pairs(rule: str, same: bool) -> None:
    first, second = TWINS[rule]
    rows = {}
    for n in range(COUNT):
        rows[first.format(n)] = f"text {n}"
        rows[second.format(n)] = f"text {n}" if same else f"other {n}"
    check = ck.check_url_rules(pages_table(rows))
    row = check.table[check.table["rule"] == rule].iloc[0]
    assert (row["pairs"], row["same" if same else "different"]) == (COUNT, COUNT)
    assert row["low"] <= row["share"] <= row["high"]
    assert row["verdict"] == ("merge" if same else "keep_apart")
    assert getattr(check.rules, rule) is same
    others = check.table[(check.table["rule"] != rule) & check.table["parameter"].isna()]
    assert set(others["verdict"]) == {"no_pairs"}
    for url in rows if same else ():
        assert ck.normalize_url(url, check.rules) == ck.normalize_url(
            next(twin for twin in rows if rows[twin] == rows[url]), check.rules
        )


def test_parameters_are_ranked_by_what_they_change() -> None:
    rows = {}
    for n in range(COUNT):
        rows[f"{HOME}{n}"] = rows[f"{HOME}{n}?view=grid"] = rows[f"{HOME}{n}?view=list"] = str(n)
        rows[f"{HOME}{n}?lang=de"] = f"{n} de"
        rows[f"{HOME}{n}?size=1"] = str(n) if n % 2 else f"{n} size"
    check = ck.check_url_rules(pages_table(rows))
    ranked = check.parameters
    assert ranked["parameter"].tolist() == ["view", "size", "lang"]
    assert ranked["effect"].tolist() == ["never", "sometimes", "always"]
    assert ranked["verdict"].tolist() == ["merge", "keep_apart", "keep_apart"]
    assert ranked["urls"].tolist() == [2 * COUNT, COUNT, COUNT]
    assert check.rules.drop_parameters == ("view",)
    assert ck.normalize_url(f"{HOME}1?view=grid&lang=de", check.rules) == f"{HOME}1?lang=de"


def test_few_pairs_decide_nothing_for_merging() -> None:
    rows = {f"{HOME}{n}{end}": str(n) for n in range(9) for end in ("", "/")}
    check = ck.check_url_rules(pages_table(rows))
    assert verdicts(check)["trailing_slash"] == "undecided"
    assert check.rules == ck.UrlRules()
    assert "fetch=True" in check.notes[0]


def test_a_wall_that_answers_all_alike_merges_nothing() -> None:
    rows = {f"{HOME}{n}{end}": "please log in" for n in range(60) for end in ("", "/", "?a=1")}
    check = ck.check_url_rules(pages_table(rows))
    assert "merge" not in set(check.table["verdict"])
    assert any("nothing is merged" in note for note in check.notes)


def test_pages_without_text_or_answer_are_unknown_and_counted() -> None:
    rows = {f"{HOME}{n}{end}": str(n) for n in range(6) for end in ("", "/")}
    table = pages_table(rows)
    table["words"] = 40
    table["error"] = None
    table.loc[0, "status"] = 503
    table.loc[2, "words"] = 0
    table.loc[4, ["status", "error"]] = [None, "timeout"]
    table.loc[6, "text_hash"] = None
    table.loc[9, "status"] = 404
    row = ck.check_url_rules(table).table.set_index("rule").to_dict("index")["trailing_slash"]
    counts = [int(row[name]) for name in ("pairs", "same", "different", "unknown")]
    assert counts == [6, 1, 1, 4]


def test_short_texts_need_the_same_title() -> None:
    first = Seen("a", 200, text_hash="t", title="One", words=4)
    assert compare_seen(first, first._replace(url="b")).outcome == "same"
    assert compare_seen(first, first._replace(url="b", title="Two")).reason == "title"
    long = first._replace(words=400)
    assert compare_seen(long, long._replace(url="b", title="Two")).outcome == "same"


def test_a_redirect_between_the_two_is_the_same_page() -> None:
    rows = {f"{HOME}{n}{end}": str(n) for n in range(COUNT) for end in ("", "/")}
    table = pages_table(rows)
    slash = table["url"].str.endswith("/")
    table["redirected_to"] = table["url"].str.rstrip("/").where(slash)
    table.loc[slash, "status"] = 301
    table.loc[slash, "text_hash"] = None
    check = ck.check_url_rules(table)
    assert verdicts(check)["trailing_slash"] == "merge"
    assert set(check.pairs["reason"]) == {"redirect"}
    loop = pd.DataFrame({"url": [HOME + "a", HOME + "a/"], "status": 301})
    loop["redirected_to"] = loop["url"].tolist()[::-1]
    assert ck.check_url_rules(loop).pairs["outcome"].tolist() == ["unknown"]


def test_hostile_tables_give_tables_of_the_same_shape() -> None:
    long = HOME + "?q=" + "x" * 8_000
    urls = [HOME, HOME, long, "mailto:a@b.example", "", None, float("nan"), 7, "https://ü.example/",
            HOME + "?*=1&=2&&a*=3", "http://[::1]/x"]  # fmt: skip
    for table in (pd.DataFrame({"url": urls}), pd.DataFrame({"url": pd.Series([], dtype="str")})):
        check = ck.check_url_rules(table)
        full = ck.check_url_rules(pages_table({HOME + "a": "x", HOME + "a/": "x"}))
        for name in ("table", "parameters", "pairs"):
            pd.testing.assert_series_equal(getattr(check, name).dtypes, getattr(full, name).dtypes)
        assert check.rules == ck.UrlRules()
    assert "without a usable URL" in ck.check_url_rules(pd.DataFrame({"url": urls})).notes[0]


def test_wrong_arguments_are_named() -> None:
    table = pages_table({HOME: "x"})
    for options in ({"sample": 0}, {"sample": 2.5}, {"delay": -1}, {"delay": float("nan")}):
        with pytest.raises(ck.BadSetting, match=next(iter(options))):
            ck.check_url_rules(table, **options)
    for name, value in (("random_seed", "x"), ("random_seed", True), ("fetch", "yes")):
        with pytest.raises(ck.BadSetting, match=name):
            ck.check_url_rules(table, **{name: value})
    for wrong in (7, "crawl", pd.DataFrame({"u": []}), {"links": table}):
        with pytest.raises(ck.BadSetting, match="crawl_or_pages"):
            ck.check_url_rules(wrong)


def test_the_result_is_shown_escaped() -> None:
    rows = {f"{HOME}?<img>{n}=1": str(n) for n in range(3)} | {HOME: "x"}
    check = ck.check_url_rules(pages_table(rows))
    assert "<img" not in check._repr_html_()
    assert repr(check).startswith("<UrlRuleCheck")


# -- laws ----------------------------------------------------------------------------------

ADDRESSES = st.builds(
    "http{}://{}a.example/{}{}{}".format,
    st.sampled_from(["", "s"]),
    st.sampled_from(["", "www."]),
    st.sampled_from(["", "a", "A/b", "index.html", "a.html", "a;jsessionid=1"]),
    st.sampled_from(["", "/"]),
    st.sampled_from(["", "?a=1", "?b=1&a=2", "?utm_source=x", "?a=1&a=2&view="]),
)


@given(st.lists(ADDRESSES, unique=True, max_size=25), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_pairs_are_what_the_rule_alone_merges(urls: list[str], sample: int) -> None:
    urls = list(dict.fromkeys(ck.normalize_url(url, ck.UrlRules(tracking=False, sort_query=False))
                              for url in urls))  # fmt: skip
    pairs = met_pairs(urls, ["a", "view"], sample=sample, draw=random.Random(0))
    for pair in pairs:
        assert pair.first != pair.second
        if pair.parameter is None:
            only = {"tracking": False, "sort_query": False, pair.rule: True}
            rules = ck.UrlRules.from_dict(only)
            assert ck.normalize_url(pair.first, rules) == ck.normalize_url(pair.second, rules)
        else:
            both = {without(url, pair.parameter) for url in (pair.first, pair.second)}
            assert len(both) == 1
    tests = [(pair.rule, pair.parameter) for pair in pairs]
    assert all(tests.count(each) <= sample for each in tests)


@given(ADDRESSES, st.sampled_from(rule_names()))
@settings(max_examples=60, deadline=None)
def test_a_new_spelling_is_one_that_the_rule_merges(url: str, rule: str) -> None:
    other = respelled(url, rule)
    if other is not None:
        rules = ck.UrlRules.from_dict({"tracking": False, "sort_query": False, rule: True})
        assert other != url
        assert ck.normalize_url(other, rules) == ck.normalize_url(url, rules)


# -- on a site -----------------------------------------------------------------------------


def test_the_tracking_shop_is_told_right(tmp_path: Path) -> None:
    with ck.lab.serve([ShopTracking(sessions=True)]) as site:
        made = crawl(site.url + "shop-tracking/", tmp_path / "c", max_pages=250)
        found = verdicts(ck.check_url_rules(made, fetch=True, delay=0, progress=False))
    assert {found[each] for each in ("tracking", "sort_query", "session_ids")} == {"merge"}
    assert found["page"] == "keep_apart"
    assert found["trailing_slash"] == "undecided"


def test_views_of_the_canonical_section_do_not_matter(tmp_path: Path) -> None:
    with ck.lab.serve(["canonical"]) as site:
        made = crawl(site.url + "canonical/", tmp_path / "c")
        check = ck.check_url_rules(made)
    row = check.parameters.set_index("parameter").loc["view"]
    assert (row["effect"], row["different"]) == ("never", 0)
    assert row["same"] > 3


def clock(n: int, *, language: str = "en") -> Any:
    """A page of which some words change with every request."""
    ticks = itertools.count(random.Random(f"{n}{language}").randrange(10**6))

    def answer(ask: lab.Ask) -> lab.Answer:
        del ask
        words = " ".join(f"{language}{n}word{k}" for k in range(60))
        return lab.document(f"Page {n}", f"{words} It is {next(ticks)} o'clock.")

    return answer


def clock_site() -> dict[str, Any]:
    pages: dict[str, Any] = {}
    for n in range(COUNT):
        same, other = clock(n), clock(n, language="de")
        pages |= {f"p{n}": same, f"p{n}?ref=a": same, f"p{n}?lang=de": other}
    return {"": page(*pages), **pages}


def test_a_clock_on_every_page_is_noise_and_another_language_is_not(tmp_path: Path) -> None:
    with serve(clock_site()) as site:
        made = crawl(site.url + "t/", tmp_path / "c")
        told = verdicts(ck.check_url_rules(made))
        before = len(site.requests)
        check = ck.check_url_rules(made, fetch=True, delay=0, progress=False)
        asked = len(site.requests) - before
    assert told["ref"] == "undecided"  # a crawl alone cannot tell small changes from noise
    assert told["lang"] == "keep_apart"
    rows = check.table.set_index(check.table["parameter"].fillna(check.table["rule"]))
    assert rows.loc["ref", "verdict"] == "merge"
    assert rows.loc["lang", "verdict"] == "keep_apart"
    assert rows.loc["lang", "pairs"] == 8  # no more than it takes
    noisy = check.pairs[check.pairs["parameter"] == "ref"]
    assert set(noisy["reason"]) == {"noise"}
    assert noisy["noise"].between(0.01, 0.3).all()
    assert asked < 6 * COUNT + 60


def test_robots_and_hosts_are_kept(tmp_path: Path) -> None:
    with serve({"": page("a?x=1"), "a?x=1": page(), "a": page()},
               robots="User-agent: *\nDisallow: /t/a$") as site:  # fmt: skip
        made = crawl(site.url + "t/", tmp_path / "c")
        before = len(site.requests)
        check = ck.check_url_rules(made, fetch=True, delay=0, progress=False)
        asked = [request.target for request in site.requests[before:]]
        with AskedPages(None, hosts={"127.0.0.1"}, delay=0) as pages:
            assert pages.seen("https://elsewhere.example/").reason == "other_host"
    assert "/t/a" not in asked
    dropped = check.pairs[check.pairs["parameter"] == "x"]
    assert dropped[["outcome", "reason"]].to_numpy().tolist() == [["unknown", "robots_disallowed"]]


def test_an_interrupt_keeps_what_was_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = AskedPages.compare
    calls = itertools.count()

    def compare(self: AskedPages, *pair: str, **options: Any) -> Any:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return seen(self, *pair, **options)

    monkeypatch.setattr(AskedPages, "compare", compare)
    with serve({"": page("a", "b", "c"), "a": page(), "b": page(), "c": page()}) as site:
        made = crawl(site.url + "t/", tmp_path / "c")
        check = ck.check_url_rules(made, fetch=True, delay=0, progress=False)
    assert len(check.pairs) == 3
    assert check.notes[0].startswith("Interrupted: 3 of ")
