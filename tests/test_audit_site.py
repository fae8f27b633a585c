"""The site audit: each check finds its fault over real HTTP, and not what only looks like it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from crawls import crawl as run_crawl
from crawls import page, serve
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit import lab
from crawlkit.audit.near_duplicates import Sketcher, cluster_texts
from crawlkit.audit.site_checks import CHECKS
from crawlkit.audit.text_change import change_size, shingle_sketch

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {check.name for check in CHECKS}
BASE = "http://a.example/"


class Audited:
    """The faulty shop, crawled over HTTP and audited."""

    def __init__(self, folder: Path) -> None:
        with lab.serve([lab.Faulty(seconds=1.0)]) as site:
            self.base = site.url + "faulty/"
            self.crawl = run_crawl(self.base, folder, workers=1)
            self.entries = ck.read_sitemaps(site.url, progress=False)
        self.audit = ck.audit_site(self.crawl, self.entries, slow=0.8, progress=False)

    def found(self, check: str) -> set[str]:
        table = self.audit.tables[check]
        column = "target" if check == "broken_links" else "url"
        return {url.removeprefix(self.base) for url in table[column]}

    def row(self, check: str, url: str, column: str = "url") -> Any:
        table = self.audit.tables[check]
        rows = table[table[column] == self.base + url]
        assert len(rows) >= 1, (check, url)
        return rows.iloc[0]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    return Audited(tmp_path_factory.mktemp("faulty") / "crawl")


# -- each fault, and what looks like it ----------------------------------------------------


def test_every_check_has_a_fault_and_a_look_alike_in_the_lab() -> None:
    # expected_missing depends on what a crawl was told to expect, not on the site.
    assert {fault.check for fault in lab.FAULTS} == NAMES - {"expected_missing"}
    assert all(fault.faulty and fault.alike for fault in lab.FAULTS)


@pytest.mark.parametrize("fault", lab.FAULTS, ids=lambda fault: fault.check)
def test_a_check_finds_its_fault_and_nothing_else(shop: Audited, fault: lab.Fault) -> None:
    found = shop.found(fault.check)
    assert found >= set(fault.faulty)
    assert not found & set(fault.alike)
    # A busy machine may be slow anywhere.
    assert fault.check == "slow_pages" or found == set(fault.faulty)


def test_a_broken_link_comes_with_the_pages_that_carry_it(shop: Audited) -> None:
    row = shop.row("broken_links", "gone", "target")
    assert row["source"] == shop.base + "product-1"
    assert (row["text"], row["region"], row["status"]) == ("gone", "main", 404)


def test_chains_and_loops_of_redirects_are_told_apart(shop: Audited) -> None:
    chain, loop = shop.row("redirect_chains", "chain-1"), shop.row("redirect_chains", "loop-a")
    assert (chain["kind"], chain["hops"], chain["final_status"]) == ("chain", 2, 200)
    assert chain["way"].split(" -> ") == [shop.base + p for p in ("chain-1", "chain-2", "landing")]
    assert (loop["kind"], loop["hops"]) == ("loop", 2)


def test_each_conflict_of_a_canonical_has_its_name(shop: Audited) -> None:
    table = shop.audit.tables["canonical_conflicts"].set_index("url")["problem"]
    assert {url.removeprefix(shop.base): problem for url, problem in table.items()} == {
        "canonical-gone": "to_error",
        "canonical-moved": "to_redirect",
        "canonical-chain": "chain",
        "canonical-two": "several",
        "canonical-off": "off_host",
    }


def test_an_orphan_is_listed_with_its_sitemap(shop: Audited) -> None:
    row = shop.row("orphans", "orphan")
    assert row["sitemap"] == shop.base + "sitemap.xml"
    assert not row["fetched"]


def test_near_duplicates_say_how_near_and_by_which_method(shop: Audited) -> None:
    row = shop.row("near_duplicates", "near-2")
    assert row["similar_to"] == shop.base + "near-1"
    assert 0.8 <= row["similarity"] < 1
    summary = shop.audit.summary.set_index("check")
    assert "word triples of stored bodies" in summary.loc["near_duplicates", "note"]


def test_an_alternate_without_return_is_named(shop: Audited) -> None:
    row = shop.row("hreflang_without_return", "en/chair")
    assert (row["lang"], row["problem"]) == ("de", "no_return")
    assert row["alternate"] == shop.base + "de/chair"


# -- the summary ---------------------------------------------------------------------------


def test_the_summary_counts_what_the_tables_hold_worst_first(shop: Audited) -> None:
    audit = shop.audit
    assert set(audit.tables) == set(audit.summary["check"]) == NAMES
    assert audit.table is audit.summary
    counts = audit.summary.set_index("check")["count"]
    assert counts["canonical_conflicts"] == 5
    assert counts["duplicate_titles"] == 1  # one title, two pages
    assert counts["broken_links"] == audit.tables["broken_links"]["target"].nunique() == 2
    assert audit.summary["severity"].iloc[0] == "error"
    assert audit.summary["what_to_do"].str.len().min() > 20
    assert audit.summary["skipped"].isna().all()
    assert "5 canonical_conflicts" in str(audit)


def test_what_an_audit_shows_is_plain_and_escaped() -> None:
    evil = "<img src=x onerror=alert(1)>"
    pages = pd.DataFrame({"url": [BASE + "1", BASE + "2"], "status": 200, "title": evil})
    audit = ck.audit_site({"pages": pages}, progress=False)
    assert audit.tables["duplicate_titles"]["title"].tolist() == [evil, evil]
    assert "<img" not in audit._repr_html_()
    json.dumps(audit.to_dict())


def test_the_picture_says_what_was_found(shop: Audited) -> None:
    import matplotlib.pyplot as plt

    ax = shop.audit.plot()
    assert "14 kinds of findings" in ax.get_title()
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        name.replace("_", " ") for name in shop.audit.summary["check"]
    ]
    plt.close("all")


# -- entries -------------------------------------------------------------------------------


def test_without_entries_the_checks_that_need_them_are_skipped_by_name(shop: Audited) -> None:
    audit = ck.audit_site(shop.crawl, progress=False, bodies=0)
    skipped = audit.summary.set_index("check")["skipped"].dropna()
    assert skipped.to_dict() == dict.fromkeys(["orphans", "noindex_in_sitemap"], "needs entries")
    assert audit.summary.set_index("check")["count"].isna()["orphans"]


def test_urls_that_the_crawl_took_from_a_sitemap_are_entries(tmp_path: Path) -> None:
    site = serve({"": page("linked"), "linked": page(), "lost": page(title="Lost")})
    with site:
        start = site.url + "t/"
        seeds = pd.DataFrame({"loc": [start, start + "linked", start + "lost"]})
        crawl = run_crawl(seeds, tmp_path / "c")
    found = ck.audit_site(crawl, progress=False).tables["orphans"]
    assert set(found["url"]) == {start + "lost", start}  # nothing links to the first page either
    assert found.set_index("url").loc[start + "lost", "status"] == 200


def test_orphans_of_a_crawl_that_is_not_finished_are_no_last_word(tmp_path: Path) -> None:
    with serve({"": page("a", "b"), "a": page("c"), "b": page(), "c": page()}) as site:
        start = site.url + "t/"
        crawl = run_crawl(start, tmp_path / "c", max_pages=1)
        summary = ck.audit_site(crawl, [start + "c"], progress=False).summary.set_index("check")
        assert summary.loc["orphans", "count"] == 1
        assert "not finished" in summary.loc["orphans", "note"]
        crawl.resume(max_pages=10, progress=False)
        summary = ck.audit_site(crawl, [start + "c"], progress=False).summary.set_index("check")
    assert summary.loc["orphans", "count"] == 0
    assert pd.isna(summary.loc["orphans", "note"])


def test_bodies_that_were_not_kept_are_said_to_be_missing(tmp_path: Path) -> None:
    with serve({"": page("a", title="One"), "a": page(title="Two")}) as site:
        crawl = run_crawl(site.url + "t/", tmp_path / "c", keep_bodies=False)
    source = type("Source", (), {})()
    source.pages, source.body = crawl.pages.assign(words=100), crawl.body
    summary = ck.audit_site(source, progress=False).summary.set_index("check")
    assert "text_hash" in summary.loc["near_duplicates", "skipped"]


def test_fewer_bodies_than_texts_are_told(shop: Audited) -> None:
    audit = ck.audit_site(shop.crawl, bodies=5, random_seed=3, progress=False)
    note = audit.summary.set_index("check").loc["near_duplicates", "note"]
    assert "5 of " in note


def test_an_interrupt_while_bodies_are_read_keeps_the_audit() -> None:
    walked = lab.walk([lab.Faulty(seconds=0, size=10)])
    read = []

    def body(url: str) -> bytes:
        read.append(url)
        if len(read) > 10:
            raise KeyboardInterrupt
        return walked.body(url)

    source = type("Source", (), {})()
    source.pages, source.links, source.body = walked.pages, walked.links, body
    audit = ck.audit_site(source, progress=False)
    note = audit.summary.set_index("check").loc["near_duplicates", "note"]
    assert "texts compared" in note
    assert audit.summary.set_index("check").loc["broken_links", "count"] == 1


# -- bad input -----------------------------------------------------------------------------


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def counts(audit: ck.SiteAudit) -> dict[str, Any]:
    found = audit.summary.set_index("check")["count"]
    return {name: None if pd.isna(value) else int(value) for name, value in found.items()}


@pytest.mark.parametrize("given", [None, 7, "crawl", {}, {"pages": frame(address=["x"])}, []])
def test_what_is_no_crawl_is_refused_by_name(given: Any) -> None:
    with pytest.raises(ck.BadSetting, match=r"^crawl: .*pages"):
        ck.audit_site(given, progress=False)


@pytest.mark.parametrize(
    ("option", "value"),
    [("slow", -1), ("slow", float("nan")), ("heavy", "big"), ("thin", True), ("similar", 0),
     ("similar", 1.5), ("bodies", -1), ("bodies", 2.5), ("entries", "http://a.example/"),
     ("random_seed", "x"), ("random_seed", True), ("entries", frame(address=["x"])),
     ("entries", 7)],
)  # fmt: skip
def test_an_option_out_of_its_range_is_named(option: str, value: Any) -> None:
    with pytest.raises(ck.BadSetting, match=rf"^{option}: "):
        ck.audit_site({"pages": frame(url=[BASE])}, progress=False, **{option: value})


def test_a_missing_column_skips_the_checks_that_need_it_by_name() -> None:
    pages = frame(url=[BASE + "a"], status=[200], title=["A"])
    links = frame(source=[BASE + "a"], target=[BASE + "b"])
    audit = ck.audit_site({"pages": pages, "links": links}, [BASE + "b"], progress=False)
    skipped = audit.summary.set_index("check")["skipped"]
    assert skipped["redirect_chains"] == "needs pages.redirected_to"
    assert skipped["slow_pages"] == "needs pages.elapsed"
    assert skipped["noindex_in_sitemap"] == "needs pages.indexable"
    assert skipped["soft_404"] == "needs pages.words"
    assert skipped[["broken_links", "orphans", "duplicate_titles"]].isna().all()
    alone = ck.audit_site({"pages": pages[["url"]]}, progress=False).summary.set_index("check")
    assert alone["count"].isna().all()
    assert alone.loc["broken_links", "skipped"] == "needs pages.status, links.source, links.target"


def test_columns_and_dtypes_are_the_same_for_an_empty_crawl(shop: Audited) -> None:
    empty = {"pages": shop.crawl.pages.head(0), "links": shop.crawl.links.head(0)}
    audit = ck.audit_site(empty, [], progress=False)
    assert audit.pages == 0
    assert set(counts(audit).values()) <= {0, None}
    for name, table in audit.tables.items():
        assert table.dtypes.to_dict() == shop.audit.tables[name].dtypes.to_dict()
    assert audit.plot().get_title() == "Nothing found"
    import matplotlib.pyplot as plt

    plt.close("all")


def test_one_page_and_nothing_but_failures() -> None:
    one = frame(url=[BASE], status=[200], title=["A"], words=[300], text_hash=["1"])
    assert set(counts(ck.audit_site({"pages": one}, progress=False)).values()) <= {0, None}
    failed = frame(url=[BASE, BASE + "b"], status=[None, 503], error=["timeout", None])
    links = frame(source=[BASE + "x"] * 2, target=[BASE, BASE + "b"])
    audit = ck.audit_site({"pages": failed, "links": links}, progress=False)
    table = audit.tables["broken_links"].set_index("target")
    assert table.loc[BASE, "error"] == "timeout"
    assert table.loc[BASE + "b", "status"] == 503


def test_rows_that_are_there_twice_change_nothing(shop: Audited) -> None:
    crawl = shop.crawl
    once = {"pages": crawl.pages, "links": crawl.links}
    twice = {name: pd.concat([table, table]) for name, table in once.items()}
    first = ck.audit_site(once, shop.entries, slow=0.8, progress=False)
    second = ck.audit_site(twice, shop.entries, slow=0.8, progress=False)
    for name, table in first.tables.items():
        pd.testing.assert_frame_equal(table, second.tables[name])
    # A folder, read column by column, gives what its DataFrames give.
    for name in NAMES - {"near_duplicates"}:
        pd.testing.assert_frame_equal(first.tables[name], shop.audit.tables[name])


def test_strange_values_are_taken_for_what_they_are() -> None:
    long = BASE + "x" * 8_000
    pages = frame(
        url=[long, BASE + "é", BASE + "日本", None, 7, "", "no url"],
        status=[404, 200, 200, 200, 200, 200, "many"],
        title=["x", "Käse", "käse ", None, "x", "x", np.nan],
        words=[1, np.inf, 90, 3, 4, 5, "few"],
        canonical=[None, "http://[", 7, None, None, None, None],
        canonicals=[None, ["http://[", None, 3], "text", 7, None, None, np.nan],
        hreflang=[None, [("de", BASE + "日本"), 3, ("en",)], [{"lang": 1}], "x", None, None, 1.5],
        redirected_to=[None, None, None, None, None, None, "also none"],
        elapsed=["slow", np.nan, 9.5, 1, 1, 1, -1],
    )
    links = frame(source=[BASE + "é", None, 7], target=[long, BASE, long], text=["\ud800", 1, None])
    audit = ck.audit_site({"pages": pages, "links": links}, [long, None, 3], progress=False)
    assert audit.pages == 4
    assert audit.tables["broken_links"]["target"].tolist() == [long]
    assert audit.tables["duplicate_titles"]["pages"].tolist() == [2, 2]
    assert audit.tables["slow_pages"]["seconds"].tolist() == [9.5]
    assert audit.tables["hreflang_without_return"]["problem"].tolist() == ["no_return"]
    audit._repr_html_()


# -- parts ---------------------------------------------------------------------------------


def test_loops_with_and_without_a_way_into_them_are_told_once() -> None:
    hops = {"in": "a", "a": "b", "b": "a", "x": "x", "s": "end", "t": "gone", "p": "q", "q": "r"}
    pages = frame(
        url=[BASE + each for each in (*hops, "end", "gone")],
        status=[301] * len(hops) + [200, 404],
        redirected_to=[BASE + each for each in hops.values()] + [None, None],
    )
    table = ck.audit_site({"pages": pages}, progress=False).tables["redirect_chains"]
    told = dict(zip(table["url"].str.removeprefix(BASE), table["kind"], strict=True))
    assert told == {"in": "loop", "x": "loop", "t": "broken", "p": "chain"}


def test_redirects_without_end_are_given_up_as_browsers_do() -> None:
    pages = frame(
        url=[f"{BASE}{n}" for n in range(3_000)],
        status=302,
        redirected_to=[f"{BASE}{n + 1}" for n in range(3_000)],
    )
    links = frame(source=["http://a.example/start"], target=[BASE + "0"])
    audit = ck.audit_site({"pages": pages, "links": links}, progress=False)
    chain = audit.tables["redirect_chains"]
    assert chain[["url", "kind", "hops"]].to_numpy().tolist() == [[BASE + "0", "too_long", 20]]
    assert audit.tables["broken_links"]["target"].tolist() == [BASE + "0"]


def test_missing_markers_are_a_finding_of_their_own_where_most_pages_have_them() -> None:
    pages = frame(
        url=[f"{BASE}{n}" for n in range(6)],
        status=200,
        title=[*(f"Page {n}" for n in range(5)), "Access denied"],
        words=[400, 400, 400, 400, 380, 30],
        text_hash=list("abcdef"),
        expected_found=[True, True, True, True, False, False],
    )
    audit = ck.audit_site({"pages": pages}, progress=False)
    assert audit.tables["expected_missing"]["url"].tolist() == [BASE + "4"]
    assert audit.tables["soft_blocks"]["url"].tolist() == [BASE + "5"]  # a wall, and so no more
    advice = audit.summary.set_index("check")["what_to_do"]
    assert "access" not in advice["expected_missing"]
    unusual = pages.assign(expected_found=[True, *[False] * 5])
    assert ck.audit_site({"pages": unusual}, progress=False).tables["expected_missing"].empty


def test_a_page_with_the_text_of_a_404_is_one_whatever_its_title() -> None:
    pages = frame(
        url=[BASE + "gone", BASE + "soft", "http://b.example/same", BASE + "good"],
        status=[404, 200, 200, 200],
        title=["Oops", "Welcome", "Welcome", "Peugeot 404, a car"],
        words=[400, 400, 400, 400],
        text_hash=["0", "0", "0", "1"],
    )
    soft = ck.audit_site({"pages": pages}, progress=False).tables["soft_404"]
    assert soft["url"].tolist() == [BASE + "soft"]


def test_batches_give_the_columns_of_a_table_and_no_others(shop: Audited) -> None:
    import pyarrow as pa

    names = ["target", "kind", "position"]
    read = pa.concat_tables(shop.crawl.batches("links", names))
    assert read.column_names == names
    assert read.to_pandas()["target"].tolist() == shop.crawl.links["target"].tolist()
    with pytest.raises(ck.BadSetting, match="links has no 'color'"):
        shop.crawl.batches("links", ["color"])
    with pytest.raises(ck.BadSetting, match="table"):
        shop.crawl.batches("records", ["url"])


def test_batches_of_urls_are_those_of_the_table(shop: Audited) -> None:
    import pyarrow as pa

    read = pa.concat_tables(shop.crawl.batches("urls", ["state", "found_on", "lastmod"]))
    assert read.column_names == ["state", "found_on", "lastmod"]
    urls = shop.crawl.urls
    for name in ("state", "found_on"):
        assert (
            read[name].to_pylist()
            == urls[name].astype(object).where(urls[name].notna(), None).tolist()
        )
    with pytest.raises(ck.BadSetting, match="urls has no 'color'"):
        shop.crawl.batches("urls", ["color"])


def test_bodies_are_read_at_once_as_one_by_one(shop: Audited) -> None:
    urls = shop.crawl.pages["url"].tolist()
    read = dict(shop.crawl.bodies([*urls, "http://elsewhere.example/"]))
    assert read
    assert set(read) <= set(urls)
    for url, body in read.items():
        assert body == shop.crawl.body(url)


WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=40).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(WORDS, WORDS)
def test_quick_sketches_tell_what_those_of_hashed_triples_tell(one: str, other: str) -> None:
    sketch = Sketcher().sketch
    quick = change_size(sketch(one), sketch(other))
    assert quick == pytest.approx(change_size(shingle_sketch(one), shingle_sketch(other)))


TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=30).map(" ".join), max_size=12)


@settings(max_examples=25, deadline=None)
@given(TEXTS, st.sampled_from([0.5, 0.8, 1.0]))
def test_clusters_of_texts_keep_their_promise(texts: list[str], similar: float) -> None:
    sketches = [Sketcher().sketch(text) for text in texts]
    found = cluster_texts(sketches, similar=similar)
    firsts = {first for first, _ in found}
    for at, (first, likeness) in enumerate(found):
        assert first <= at
        assert found[first] == (first, 1.0)
        assert similar <= likeness <= 1
        if sketches[at]:  # equal texts are never apart
            same = [n for n in range(at) if sketches[n] == sketches[at]]
            assert all(found[n][0] == first or found[n][1] == likeness for n in same)
    assert len(firsts) <= len(texts)


def test_every_column_of_every_table_is_documented() -> None:
    doc = (ck.audit_site.__doc__ or "").partition("Returns\n")[2].partition("Raises\n")[0]
    for check in CHECKS:
        part = doc.partition(f"``{check.name}``")[2].partition(";\n")[0]
        assert set(check.columns) <= set(part.replace("`", " ").split()), check.name
