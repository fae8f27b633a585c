"""find_traps: each trap is found and named, honest sections are not, bad tables do no harm."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit import lab
from crawlkit.audit.crawl_facts import PAGE_COLUMNS, column, facts_of_columns
from crawlkit.audit.trap_names import date_in, page_number, repeats
from crawlkit.audit.trap_patterns import above_pattern
from crawlkit.audit.trap_statistics import binomial_tail, slope_tail, trend_name, trend_score
from crawlkit.audit.traps import KINDS, trap_regions
from crawlkit.audit.url_regions import group_urls, regions_of, shape, split_url
from crawlkit.lab.zoo import KINDS as ZOO
from crawlkit.web.patterns import compile_patterns

COLUMNS = {
    "pattern": "str",
    "kind": "str",
    "pages": "int64",
    "bytes": "int64",
    "pending": "int64",
    "discovery_rate": "float64",
    "trend": "str",
    "duplicate_share": "float64",
    "evidence": "str",
    "example": "str",
    "exclude": "object",
    "p_value": "float64",
    "verdict": "str",
}


def until_found(truth_of: lab.LabWalk):
    """Stop when the trap has taken 100 pages or a tenth of the crawl, whichever is later."""
    taken = {"trap": 0, "pages": 0}

    def enough(url: str) -> bool:
        taken["pages"] += 1
        taken["trap"] += truth_of.truth.is_trap(url)
        return taken["trap"] >= max(100, taken["pages"] / 10)

    return enough


def trapped(name: str, seed: int, beside: int = 0) -> lab.LabWalk:
    sections: list = [lab.Finite(pages=beside), name] if beside else [name]
    first = lab.walk(sections, seed=seed, max_pages=1)
    return lab.walk(sections, seed=seed, max_pages=3000, until=until_found(first))


def share(patterns: list, urls: list[str]) -> float:
    compiled = compile_patterns(patterns)
    return sum(compiled.matches(url) is not None for url in urls) / len(urls)


# --- what is found ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "seed"), [(name, n) for n, name in enumerate(ZOO)])
def test_each_trap_is_found_beside_a_finite_site_with_the_right_pattern(
    name: str, seed: int
) -> None:
    crawl = trapped(name, seed, beside=100)
    traps = ck.find_traps(crawl)
    assert traps["kind"].tolist() == [ZOO[name]], traps.T
    urls = crawl.urls["url"].tolist()
    trap = [url for url in urls if crawl.truth.is_trap(url)]
    real = [url for url in urls if not crawl.truth.is_trap(url)]
    assert share(traps["exclude"].tolist(), trap) > 0.95
    assert share(traps["exclude"].tolist(), real) < 0.01
    row = traps.iloc[0]
    assert row["verdict"] == "trap"
    assert crawl.truth.is_trap(row["example"])
    assert 90 <= row["pages"] <= len(crawl.pages)
    assert row["bytes"] > 100 * row["pages"]
    assert row["p_value"] < 0.01


def test_the_table_has_its_columns_with_and_without_rows() -> None:
    some = ck.find_traps(trapped("loop", 0))
    none = ck.find_traps(lab.walk(["shop"], max_pages=60))
    for table, rows in ((some, 1), (none, 0)):
        assert len(table) == rows
        assert {name: str(dtype) for name, dtype in table.dtypes.items()} == COLUMNS
    assert set(ZOO.values()) | {"generated_space"} == set(KINDS)


def test_two_traps_give_two_rows_the_larger_first() -> None:
    crawl = lab.walk([lab.Finite(pages=60), "loop", "sessions"], seed=2, max_pages=350)
    traps = ck.find_traps(crawl)
    assert set(traps["kind"]) == {"path_loop", "session_id"}
    sizes = (traps["pages"] + traps["pending"]).tolist()
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("trap", [lab.Sessions(items=10), lab.Listing(items=30)])
def test_a_crawl_over_http_gives_the_same_answer(trap: lab.Section, tmp_path) -> None:
    with lab.serve([lab.Finite(pages=20), trap], seed=1) as site:
        crawl = ck.crawl(
            site.url, tmp_path / "crawl", delay=0, max_pages=110, max_depth=None, progress=False
        )
        traps = ck.find_traps(crawl)
        assert traps["kind"].tolist() == [ZOO[trap.name]]
        pattern = traps["exclude"].iloc[0]
        preview = ck.preview_exclude(crawl, pattern)
        assert crawl.exclude(pattern) == preview.pending > 0
        left = crawl.urls.query("state == 'pending'")["url"]
        assert not any(map(site.truth.is_trap, left))
        assert ck.find_traps(crawl)["pending"].sum() == 0


# --- what is no trap ----------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["catalog", "archive", "forum", "manual", "wiki"])
def test_a_large_honest_section_is_no_trap_at_any_time(part: str) -> None:
    whole = lab.walk([lab.Finite(pages=500, parts=(part,))], seed=5, max_pages=3000)
    for pages in (100, 300, len(whole.pages)):
        assert ck.find_traps(whole.first(pages)).empty


def chain(count: int, **more: object) -> dict[str, pd.DataFrame]:
    """Make the tables of pages that each lead to the next one."""
    urls = [f"https://example.com/list/page/{n}/" for n in range(1, count + 2)]
    pages = pd.DataFrame(
        {
            "url": urls[:-1],
            "seq": range(1, count + 1),
            "status": 200,
            "text_hash": [f"{n:032d}" for n in range(count)],
            "size": 5000,
            "words": 300,
            "title": [f"Page {n}" for n in range(count)],
        }
    ).assign(**more)
    state = ["done"] * count + ["pending"]
    return {
        "pages": pages,
        "urls": pd.DataFrame({"url": urls, "state": state, "found_on": [None, *urls[:-1]]}),
    }


def test_a_long_chain_of_pages_that_differ_is_undecided() -> None:
    tables = chain(200)
    assert ck.find_traps(tables).empty
    rows = ck.find_traps(tables, undecided=True)
    assert rows["verdict"].tolist() == ["undecided"]
    assert rows["trend"].tolist() == ["flat"]
    assert rows["exclude"].isna().all()


def test_a_listing_whose_pages_look_alike_but_link_elsewhere_is_no_trap() -> None:
    tables = chain(120)
    urls = tables["pages"]["url"]
    items = pd.DataFrame({"source": urls, "target": [f"https://example.com/{u}" for u in urls]})
    assert ck.find_traps({**tables, "links": items}).empty
    same = items.assign(target="https://example.com/")
    assert ck.find_traps({**tables, "links": same})["kind"].tolist() == ["pagination"]


def test_short_evidence_gives_no_row() -> None:
    for name in ZOO:
        assert ck.find_traps(lab.walk([name], seed=1, max_pages=15)).empty


# --- previews -----------------------------------------------------------------------------------


def test_the_preview_counts_what_is_dropped_and_names_good_pages() -> None:
    crawl = trapped("views", 3)
    preview = ck.preview_exclude(crawl, ck.find_traps(crawl)["exclude"].tolist())
    assert preview.pending > 0
    assert preview.pages >= 90
    good = ck.preview_exclude(crawl, "/views/item-")
    items = {url for url in crawl.pages["url"] if "/item-" in url}
    assert set(good.lost["url"]) == items
    assert list(good.lost) == ["url", "title", "new_elsewhere"]
    assert good.table["count"].tolist()[2] == len(items)
    assert "item-" in good._repr_html_()


def test_a_preview_counts_copies_of_pages_that_stay_as_no_loss() -> None:
    crawl = trapped("copies", 0)
    preview = ck.preview_exclude(crawl, ck.find_traps(crawl)["exclude"].iloc[0])
    assert preview.copies == preview.pages >= 90
    assert preview.lost.empty
    assert "different" not in str(preview)
    assert str(ck.preview_exclude(crawl, [])).startswith("No pattern drops 0 of ")


def test_a_preview_tells_how_many_texts_the_lost_pages_have() -> None:
    crawl = trapped("anything", 0)
    preview = ck.preview_exclude(crawl, ck.find_traps(crawl)["exclude"].iloc[0])
    assert (preview.lost_texts, len(preview.lost) >= 90) == (1, True)
    assert str(preview).endswith("a text of their own (1 different)")


def test_hidden_links_are_found_in_tables_that_are_attributes() -> None:
    crawl = trapped("hidden", 1)
    tables = SimpleNamespace(**crawl.tables)  # as of ``ck.load_data``: no bodies
    found = ck.find_traps(tables)
    assert "links.text" not in found.attrs["skipped"]
    assert ck.find_traps(crawl.tables).equals(found)


def test_tables_without_urls_take_them_from_links_also_as_attributes() -> None:
    crawl = trapped("sessions", 1)
    given = SimpleNamespace(pages=crawl.pages, links=crawl.links)
    assert ck.find_traps(given)["pending"].sum() > 100


# --- bad input ----------------------------------------------------------------------------------

PAGES = pd.DataFrame({"url": pd.Series([], dtype="str"), "status": pd.Series([], dtype="Int64")})


@pytest.mark.parametrize(
    "tables",
    [
        {"pages": PAGES},
        {"pages": pd.DataFrame({"url": ["https://example.com/"]})},
        {"pages": pd.DataFrame({"url": [f"https://example.com/{n}" for n in range(40)]})},
        {"pages": pd.DataFrame({"url": [np.nan, None, ""], "text_hash": [None, np.nan, "a"]})},
        {
            "pages": pd.DataFrame(
                {"url": [f"https://example.com/a/{n}" for n in range(90)], "status": [503] * 90}
            ),
            "urls": pd.DataFrame({"url": ["https://example.com/a/1", None]}),
        },
    ],
)
def test_empty_tiny_and_failing_crawls_have_no_traps(tables: dict[str, pd.DataFrame]) -> None:
    traps = ck.find_traps(tables, undecided=True)
    assert traps.empty
    assert traps.attrs["skipped"]


def test_missing_columns_are_named_and_what_can_be_judged_is() -> None:
    crawl = trapped("copies", 1)
    traps = ck.find_traps({"pages": crawl.pages[["url", "text_hash"]]})
    assert traps["kind"].tolist() == ["duplicate_region"]
    assert {"urls", "pages.seq", "pages.fetched_at"} <= set(traps.attrs["skipped"])
    from_links = ck.find_traps({"pages": crawl.pages, "links": crawl.links})
    assert from_links["kind"].tolist() == ["duplicate_region"]


def test_rows_given_twice_change_nothing() -> None:
    crawl = trapped("languages", 0)
    once = ck.find_traps({"pages": crawl.pages, "urls": crawl.urls})
    twice = ck.find_traps(
        {"pages": pd.concat([crawl.pages] * 2), "urls": pd.concat([crawl.urls] * 2)}
    )
    pd.testing.assert_frame_equal(once, twice)


def test_long_and_foreign_urls_are_judged_like_others() -> None:
    urls = [f"https://example.com/straße/{'ü' * 4000}/?sid={n:016x}f0a" for n in range(80)]
    pages = pd.DataFrame({"url": urls, "text_hash": "same", "status": 200})
    traps = ck.find_traps({"pages": pages})
    assert len(traps) == 1
    assert traps["exclude"].tolist() == ["/*?sid="]


@pytest.mark.parametrize("wrong", [None, 3, "folder", {}, {"pages": pd.DataFrame({"a": [1]})}])
def test_what_is_no_crawl_is_told(wrong: object) -> None:
    with pytest.raises(ck.BadSetting, match=r"crawl_or_tables: .*ck\.open_crawl\(folder\)"):
        ck.find_traps(wrong)


@pytest.mark.parametrize(
    "option", [{"alpha": 0}, {"alpha": 1.0}, {"alpha": "1"}, {"alpha": None}, {"min_pages": 5}]
)
def test_options_out_of_range_are_told(option: dict[str, float]) -> None:
    with pytest.raises(ck.BadSetting, match=next(iter(option))):
        ck.find_traps({"pages": PAGES}, **option)


# --- parts --------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**7), st.integers(0, 10**8))
def test_the_regex_for_numbers_above_a_limit_is_exact(limit: int, number: int) -> None:
    found = re.fullmatch(above_pattern(limit), str(number)) is not None
    assert found == (number > limit)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(0, 60), st.sampled_from([0.1, 0.2, 0.5]))
def test_the_binomial_tail_is_that_of_scipy(trials: int, hits: int, chance: float) -> None:
    from scipy.stats import binom

    hits = min(hits, trials)
    exact = float(binom.sf(hits - 1, trials, chance))
    if hits > trials * chance:
        assert binomial_tail(hits, trials, chance) == pytest.approx(exact, rel=1e-6)
    else:
        assert binomial_tail(hits, trials, chance) == 1.0


def test_the_trend_score_is_standard_normal_in_random_order() -> None:
    draw = np.random.default_rng(1)
    scores = [trend_score(draw.poisson(2.0, 80).tolist()) for _ in range(800)]
    assert abs(np.mean(scores)) < 0.12
    assert 0.9 < np.std(scores) < 1.1
    assert trend_name(range(30, 0, -1)) == "falling"
    assert trend_name(range(30)) == "rising"
    assert trend_name([1] * 30) == "flat"
    assert trend_name([5, 1]) == "undecided"


def test_a_section_that_runs_out_is_not_called_endless() -> None:
    draw = np.random.default_rng(2)
    refuted = 0
    for _ in range(200):  # 4,000 URLs met at random, 700 of them known in the end
        rates = 1.75 * (1 - np.linspace(0, 700, 400) / 4000)
        refuted += slope_tail(draw.poisson(rates).tolist(), 0.1) < 0.01
    assert refuted <= 6


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_any_text_has_parts_and_regions(text: str) -> None:
    parts = split_url(text)
    regions = list(regions_of(parts))
    assert regions
    assert all(region.label for region in regions)
    assert repeats(parts) >= 0
    assert date_in(parts) is None or date_in(parts)[1] in range(1, 13)
    assert page_number(parts) is None or page_number(parts)[1] >= 0


def test_shapes_put_what_varies_in_braces() -> None:
    assert shape("news") == "news"
    assert shape("2026-05-17") == "{date}"
    assert shape("3f2504e0-4f89-11d3-9a0c-0305e82c3301") == "{token}"
    assert shape("a-long-way-home-7.html") == "{slug}.html"


def test_of_regions_with_the_same_urls_one_is_kept() -> None:
    urls = [f"https://example.com/a/{n}" for n in range(30)]
    (region,) = group_urls(urls, range(30), fewest=10)
    assert region.label == "example.com/a/{number}"
    labels = [
        one.label for one in group_urls([*urls, "https://example.com/a/b"], range(30), fewest=10)
    ]
    assert labels == ["example.com/a/{number}", "example.com/a/*"]


def test_the_work_on_plain_lists_is_the_same_and_loads_no_pandas() -> None:
    crawl = trapped("sessions", 1)
    (row,) = ck.find_traps(crawl).itertuples()
    facts = facts_of_columns(
        {name: column(crawl.pages, name) for name in PAGE_COLUMNS},
        {name: column(crawl.urls, name) for name in ("url", "state", "found_on")},
        today=(2026, 6),
    )
    (trap,) = trap_regions(facts)
    assert (trap.pattern, trap.pages, trap.exclude) == (row.pattern, row.pages, row.exclude)
    code = (
        "import sys; from crawlkit.audit.crawl_facts import facts_of_columns as f; "
        "from crawlkit.audit.traps import trap_regions; "
        "urls = [f'https://e.com/{n}' for n in range(50)]; "
        "trap_regions(f({'url': urls, 'text_hash': ['a'] * 50}, {'url': urls}, today=(2026, 1))); "
        "sys.exit('pandas' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert trap.kind == "session_id"
    assert all("/sessions/" in facts.urls[number] for number in trap.members)


# --- programs that make pages of data ------------------------------------------------------------

HOST = "https://git.example"


def made(found: dict[str, tuple[str | None, str, int]], fetched: list[str]) -> dict:
    """Make tables of URL -> (found on, text, words), and the URLs that were fetched, in order."""
    pages = pd.DataFrame(
        {
            "url": fetched,
            "seq": range(len(fetched)),
            "status": 200,
            "text_hash": [found[url][1] for url in fetched],
            "words": [found[url][2] for url in fetched],
            "size": [9 * found[url][2] for url in fetched],
            "title": [re.sub(r"[0-9a-f]{9,}|\d", "", url) for url in fetched],
        }
    )
    there = set(fetched)
    urls = pd.DataFrame(
        {
            "url": list(found),
            "found_on": [origin for origin, _, _ in found.values()],
            "state": ["done" if url in there else "pending" for url in found],
        }
    )
    return {"pages": pages, "urls": urls}


def commit_hash(number: int) -> str:
    return f"{number * 0x9E3779B97F4A7C15 % 2**160:040x}"


def repository() -> dict:
    """Make a browser of a repository: each commit shows each file anew, few of them changed."""
    start = f"{HOST}/git.cgi?p=a.git;a=log"
    found: dict[str, tuple[str | None, str, int]] = {start: (None, "log", 900)}
    commits = [commit_hash(n + 1) for n in range(120)]
    files = [f"f{n}.txt" for n in range(30)]
    trees = [f"{HOST}/git.cgi?p=a.git;a=tree;hb={commit}" for commit in commits]
    for n, commit in enumerate(commits):
        page = f"{HOST}/git.cgi?p=a.git;a=commit;h={commit}"
        found[page] = (start, f"commit {n}", 60 + n * 7 % 90)
        found[trees[n]] = (page, f"tree {n}", 300)
    for at, file in enumerate(files):
        head = f"{HOST}/git.cgi?p=a.git;a=blob;f={file};hb=HEAD"
        found[head] = (start, f"{file} head", 50 + 40 * at)
        for n, commit in enumerate(commits):
            url = f"{HOST}/git.cgi?p=a.git;a=blob;f={file};hb={commit}"
            found[url] = (trees[n], f"{file} {n}", 50 + 40 * at + n % 2)
    blobs = [url for url in found if "a=blob" in url and "HEAD" not in url]
    others = [url for url in found if url not in set(blobs)]
    return made(found, [*others, *blobs[::9]])


def test_files_shown_again_at_each_commit_are_found_and_the_rest_is_kept() -> None:
    traps = ck.find_traps(repository())
    assert len(traps) == 1
    assert traps["pattern"].tolist() == ["git.example/*?hb="]
    urls = repository()["urls"]["url"].tolist()
    old = [url for url in urls if re.search("hb=[0-9a-f]{40}", url)]
    assert share(traps["exclude"].tolist(), old) == 1
    assert share(traps["exclude"].tolist(), [url for url in urls if url not in set(old)]) == 0


def test_an_id_that_alone_tells_pages_apart_is_no_session() -> None:
    start = f"{HOST}/"
    found: dict[str, tuple[str | None, str, int]] = {start: (None, "start", 10)}
    for n in range(400):
        found[f"{HOST}/item?id={commit_hash(n + 1)}"] = (start, f"text {n}", 100)
    assert not len(ck.find_traps(made(found, list(found)[:300])))
    by_tab = {
        f"{url}&tab={tab}": (url, f"{text} {tab}", 300 + 7 * len(text) * int(text[5:] or 0) % 400)
        for url, (_, text, _) in list(found.items())[1:]
        for tab in ("facts", "reviews")
    }
    both = {**found, **by_tab}
    assert not len(ck.find_traps(made(both, list(both)[::2])))


def wiki() -> dict:
    """Make a wiki: a page has forms and lists, each page and namespace an index."""
    start = f"{HOST}/wiki.php?id=start"
    found: dict[str, tuple[str | None, str, int]] = {start: (None, "start", 100)}
    names = [f"page{n}" for n in range(60)]
    for n, name in enumerate(names):
        page = f"{HOST}/wiki.php?id={name}"
        found[page] = (start if n < 9 else f"{HOST}/wiki.php?id={names[n // 7]}", name, 80 + 9 * n)
        for do in ("edit", "index", "recent", "login", "backlink", "media"):
            found[f"{page}&do={do}"] = (page, f"{name} {do}", 30 + 11 * n)
            for view in ("list", "thumbs", "rows"):
                url = f"{page}&do={do}&view={view}"
                found[url] = (f"{page}&do={do}", f"{name} {do} {view}", 25 + 13 * n)
    fetched = [url for n, url in enumerate(found) if "do=" not in url or n % 3]
    return made(found, fetched)


def test_forms_of_each_page_are_dropped_and_the_pages_kept() -> None:
    traps = ck.find_traps(wiki())
    assert set(traps["kind"]) <= {"facets", "sort_or_view"}
    urls = wiki()["urls"]["url"].tolist()
    forms = [url for url in urls if "view=" in url]
    assert share(traps["exclude"].tolist(), forms) == 1
    assert share(traps["exclude"].tolist(), [url for url in urls if "do=" not in url]) == 0


def test_parameters_may_be_separated_by_semicolons() -> None:
    parts = split_url(f"{HOST}/git.cgi?p=a.git;a=blob;f=x;hb=HEAD")
    assert parts.query == (("p", "a.git"), ("a", "blob"), ("f", "x"), ("hb", "HEAD"))
    assert split_url(f"{HOST}/?q=one;two&n=1").query == (("q", "one;two"), ("n", "1"))


def test_what_a_program_is_told_to_do_is_a_region() -> None:
    labels = [region.label for region in regions_of(split_url(f"{HOST}/g?p=a;a=blob;f=x"))]
    assert labels[:2] == ["git.example/g?a=blob&f&p", "git.example/g?a=blob&*"]


@pytest.mark.parametrize(
    "target", ["?h=85af76a36290412d662060fd9b1e1dac349591f", "?rev=1754971262", "/b/1780000000"]
)
def test_hashes_and_times_in_seconds_are_no_dates(target: str) -> None:
    assert date_in(split_url(HOST + target)) is None


@pytest.mark.parametrize(
    ("target", "month"),
    [
        ("/20260531120000/x", (2026, 5)),
        ("/202605", (2026, 5)),
        ("/events/12026/05/", (12026, 5)),
        ("?day=2031-02-03", (2031, 2)),
    ],
)
def test_dates_are_read_in_their_forms(target: str, month: tuple[int, int]) -> None:
    assert date_in(split_url(HOST + target)) == month
