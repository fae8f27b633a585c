"""The lessons run from top to bottom, say what is true, and have the form of a lesson."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
LESSONS = sorted(FOLDER.glob("*.ipynb"))

# What a lesson states in words, and what must be true after it has run.
STATED: dict[str, list[tuple[str, str]]] = {
    "01_first_crawl": [
        ("The limit is exact, 100 pages", "'100 pages' in first and 'max_pages' in first"),
        ("The known URLs level off at 525", "len(crawl.urls) == 525"),
        ("It took 526 requests", "crawl.summary()['requests'] == 526 and crawl.finished"),
        ("Nothing was excluded", "not crawl.summary()['excluded'] and not len(crawl.events)"),
        ("lead to 525 pages", "links['target'].nunique() == 525"),
        ("only 524 of them", "links['new'].sum() == 524"),
        ("All 525 answers are of class 2xx", "crawl.pages['status'].eq(200).sum() == 525"),
        ("500 records come from 525 pages", "(len(shop.records), len(shop.pages)) == (500, 525)"),
        ("some 1,600 requests", "1_590 < 3 * 526 + 27 < 1_640"),
    ],
    "02_one_page_many_urls": [
        ("the five have 3 keys", "len({ck.normalize_url(s) for s in spellings}) == 3"),
        ("a shop of 210 pages", "len(merged.pages) == 210 == merged.pages['body_hash'].nunique()"),
        ("it needs 666", "len(apart.pages) == 666"),
        ("three times as many", "3 < 666 / 210 < 3.3"),
        ("two of three requests were wasted", "0.65 < duplicates(apart) < 0.7"),
        ("The tracking list fires most often", "rules.str.contains('tracking').sum() > 400"),
        ("saves few requests", "len(unsorted.pages) - 210 < 20"),
        ("pages are missing", "lossy.finished and len(lossy.pages) < 210"),
        ("One key for 9 different bodies", "refuted(merged, loose).tolist() == [9]"),
        ("nothing against the default rules", "refuted(apart, ck.UrlRules()).empty"),
        ("25 keys become 10", "trusted.pages['key'].nunique() == 10"),
        ("Here that is one request", "(len(noted.pages), len(trusted.pages)) == (25, 24)"),
        ("Two keys now stand for", "(keys > 1).sum() == 2"),
        ("some 1,400 requests", "1_300 < 210 + 666 + 219 + len(lossy.pages) + 50 + 131 < 1_500"),
    ],
    "03_frontier_and_politeness": [
        ("11 requests, 10 pages and robots.txt", "requests == 11 and len(one.pages) == 10"),
        ("so 2.5 s is the least", "one.summary()['seconds'] >= 2.4"),
        ("Four times the pages, in nearly the same time", "len(four.pages) == 40"),
        ("never has more than one request in flight", "len(last) == 2 and last.max() > last.min()"),
        ("The calendar stays at 1.0", "discovery(crawls['calendar'], 50) == 1.0"),
        ("its rate falls to nothing", "discovery(crawls['shop'], 50) < 0.1"),
        ("3 URLs were known and not asked for", "crawl.summary()['excluded'] == {'robots': 3}"),
        ("keeps to it as a lower bound", "rules.closest_requests() > 0.25"),
    ],
    "04_which_page_next": [
        ("`club/` has four", "graph['target'].eq('club/').sum() == 4"),
        (
            "goes fourth, and with breadth first it went seventh",
            "[orders[o].index('club/faq') for o in ('opic', 'breadth_first')] == [3, 6]",
        ),
        ("which had 0.375", "ck.rank_frontier(graph, 'opic', ['shop/', 'blog/']).iloc[0] == 0.375"),
        ("adds up to 1 at every step", "abs(sum(cash.values()) - 1) < 1e-12"),
        ("Four orders of the same eight pages", "len(set(map(tuple, orders.values()))) == 5"),
        (
            "OPIC has 73 % of the value and breadth first 50 %",
            "[round(gathered.at[4, o], 2) for o in ('opic', 'breadth_first')] == [0.73, 0.5]",
        ),
        ("a site of some 400 pages", "whole.finished and 390 < len(whole.pages) < 410"),
        (
            "between 44 % and 65 % of the PageRank",
            "(round(min(share.values()), 2), round(max(share.values()), 2)) == (0.44, 0.65)",
        ),
        ("Depth first is the worst", "min(share, key=share.get) == 'depth_first'"),
        ("99 of its 100 pages are of the manual", "manual.sum() == 99"),
        ("what would OPIC take next", "ranked.index[0] != oldest.index[0]"),
    ],
    "05_comparing_orderings": [
        (
            "OPIC: 0.739 against 0.697 for breadth first",
            "once.table['auc'].round(3)[[2, 0]].tolist() == [0.739, 0.697]",
        ),
        (
            "`larger_sites_first` is exactly breadth first",
            "once.table['auc'][4] == once.table['auc'][0]",
        ),
        (
            "OPIC gains 0.071 (0.065 to 0.076), from every seed",
            "runs.table.loc[1, ['auc_gain', 'auc_gain_low', 'auc_gain_high', 'wins']].astype(float)"
            ".round(3).tolist() == [0.071, 0.065, 0.076, 1.0]",
        ),
        ("The home page alone had said 0.042", "round(once.table['auc_gain'][2], 3) == 0.042"),
        ("one holds 317 of the pages", "pages['url'].map(folder).value_counts().iloc[0] == 317"),
        ("0.206 below breadth first", "round(gains[0]['larger_sites_first'], 3) == -0.206"),
        ("0.000 to breadth first that rests", "abs(gains[20]['larger_sites_first']) < 5e-4"),
        (
            "OPIC still gains, 0.035 instead of 0.066",
            "[round(gains[rest]['opic'], 3) for rest in (20, 0)] == [0.035, 0.066]",
        ),
        (
            "Even `omniscient` falls",
            "polite.table['auc'][3] < rude.table['auc'][3] - 0.05",
        ),
        (
            "OPIC gains 0.005 (0.000 to 0.011)",
            "text.table.loc[1, ['auc_gain', 'auc_gain_low', 'auc_gain_high']].astype(float)"
            ".round(3).tolist() == [0.005, 0.0, 0.011]",
        ),
        ("shows that 0.152 could be had", "round(text.table['auc_gain'][2], 3) == 0.152"),
        (
            "has not the truest picture (0.63), and breadth first has a better one (0.75)",
            "runs.table['tau'].round(2)[[4, 0]].tolist() == [0.63, 0.75]",
        ),
    ],
    "06_is_lastmod_true": [
        ("read its 300 entries", "len(news.numbers()) == 300"),
        ("46 pages changed",
         "(news.truth('', seed=6)['changed_at'] > now(news, hours=6)).sum() == 46"),
        ("fetches six times too much", "6 < 300 / 46 < 7"),
        ("`stamp_generation` and `absent`", "list(stamped.reasons) == ['stamp_generation']"),
        ("10,236 entries without a date", "len(archive.numbers()) == 10_236"),
        ("All 80 agree", "first.sample['agreement'].eq('agrees').sum() == 80"),
        ("the verdict is `provisional`", "first.verdict == 'provisional'"),
        ("Now it is `trust`", "later.verdict == 'trust'"),
        ("26 had a `lastmod` that moved", "later.pairs['moved'].sum() == 26"),
        ("on the other 54 it had not", "(later.pairs['moved'] == later.pairs['changed']).all()"
         " and len(later.pairs) == 80"),
        ("a rate of at least 87 %", "round(later.scorecard['low'].iloc[0], 2) == 0.87"),
        ("137 requests instead of 400", "(len(due), len(entries)) == (137, 400)"),
        ("exactly the right ones", "due == set(truth.loc[truth['changed_at'] > monday, 'url'])"),
        ("There are nine such sites", "len(ck.lab.LASTMOD_CASES) == 9 == len(names)"),
        ("the first visit finds nothing wrong", "one.verdict == 'provisional'"),
        ("The second visit does", "two.verdict == 'distrust' and 'phantom_moves' in two.reasons"),
        ("All ten agree", "small.sample['agreement'].eq('agrees').sum() == 10"),
    ],
    "07_traps_and_the_discovery_rate": [
        ("All three stopped at their budget",
         "{name: size.fetched for name, size in sizes.items()} == budgets"),
        ("about 88 % done", "'about 88 % done' in axes[0].get_title()"),
        ("exactly one new URL per page, for ever",
         "calendar.fetches.sort_values('seq')['new_urls'].iloc[81:151].eq(1).all()"),
        ("has the color of alarm", "axes[2].get_title().startswith('Trap: search_results, 99 %')"
         " and axes[0].get_title().startswith('No trap found')"),
        ("will have 249 URLs, at most 564",
         "(sizes['finite'].pages, sizes['finite'].low, sizes['finite'].high) == (249, 249, 564)"),
        ("the answer is `unbounded`",
         "{sizes[name].verdict for name in ('calendar', 'mixed')} == {'unbounded'}"),
        ("2.5 new URLs per page: this is a site of 249 pages",
         "'Not falling yet' in (title := ck.plot_discovery(early).get_title())"
         " and '2.5 new URLs' in title"
         " and len(finite.pages) == 249"),
        ("the estimate says `open` and gives an interval in which the truth lies",
         "(lambda size: size.verdict == 'open' and size.low <= 249 <= size.high)"
         "(ck.estimate_size(early))"),
        ("and here it finds none", "ck.find_traps(early).empty"),
        ("`kind` is one of twelve",
         "len(__import__('crawlkit.audit.traps', fromlist=['KINDS']).KINDS) == 12"),
        ("It is 0 in the calendar", "ck.find_traps(calendar)['duplicate_share'][0] == 0"),
        ("326 of the 364 URLs that wait",
         "(preview.pending, preview.pending + preview.pending_left) == (326, 364)"
         " and not preview.lost['new_elsewhere'].sum()"),
        ("convicted by its dates, years past today",
         "'54 of the last 54 dated pages lie more than a year past'"
         " in ck.find_traps(calendar)['evidence'][0]"),
        ("none is missing", "len(real) == 192 and real <= set(mixed.pages['url'])"),
        ("The first ten months each led to four events",
         "months['new_elsewhere'].tolist()[:11] == [4] * 10 + [0]"),
        ("costs one waiting month; in a new crawl it would cost all 40 events",
         "events == [40, 0] and (calendar.urls['reason'] == 'set_aside').sum() == 1"),
        ("and without our help", "held.finished and real <= set(held.pages['url'])"
         " and set(held.summary()['excluded']) == {'trap_held'}"),
        ("how many different texts would a crawl without these regions lack?",
         "drop.lost_texts == 263"),
        ("A site that ends can waste as much", "len(copies.pages) == 2 * trap['pages'] + 2"),
    ],
    "09_killed_ten_times": [
        ("each is killed ten times", "len(moments) == 10"),
        ("exactly 500 rows, whenever", "killed['rows'].iloc[-1] == 500"),
        ("500 products once more", "naive['rows'].iloc[-1] > naive['rows'].iloc[-2] + 499"),
        ("An exit of -9 is a kill", "list(killed['exit']) == [-9] * 10 + [0]"),
        ("ends by itself with 0", "killed['exit'].equals(naive['exit'])"),
        ("here 10", "525 <= killed['requests'].iloc[-1] <= 535"),
        ("takes back the leases of the dead", "crawl.events['kind'].eq('lease_recovered').any()"),
        ("Three deliveries, 500 messages", "len(received) == 500"),
    ],
    "10_a_site_audit": [
        ("All 110 URLs that links lead to", "crawl.finished and len(crawl.pages) == 110"),
        ("more than a quarter of the requests went to copies", "0.25 < traps['pages'][0] / 111"),
        ("Of 110 pages, 71 are useful", "metrics['useful_pages'] == 71"),
        ("Fifteen checks", "len(audit.summary) == 15 and audit.summary['skipped'].isna().all()"),
        ("two broken *targets*, not three broken links",
         "audit.tables['broken_links']['target'].nunique() == 2"
         " and len(audit.tables['broken_links']) == 3"),
        ("The 31 duplicate titles", "audit.tables['duplicate_titles']['cluster'].nunique() == 31"),
        ("`gone` is linked from two pages",
         "audit.tables['broken_links']['target'].str.endswith('/gone').sum() == 2"),
        ("Five of them lead to an error",
         "set(audit.tables['canonical_conflicts']['problem'])"
         " == {'to_error', 'to_redirect', 'chain', 'off_host', 'several'}"),
        ("a long article on error pages with such a title is not listed",
         "not audit.tables['soft_404']['url'].str.contains('about-error-pages').any()"),
        ("`soft_blocks` names `wall`",
         "audit.tables['soft_blocks']['url'].tolist() == [site.url + 'faulty/wall']"),
        ("30 of the 31 clusters are the copies",
         "(twice['cluster'].nunique(), twice[in_copies]['cluster'].nunique()) == (31, 30)"),
        ("92 % of its word triples",
         "audit.tables['near_duplicates']['similarity'].round(2).tolist() == [1.0, 0.92]"),
        ("Six URLs are listed, and 105 that links lead to are not",
         "len(entries) == 6 and coverage.table['finding'].eq('unlisted').sum() == 105"),
        ("the crawl has never seen it",
         "coverage.table.query(\"finding == 'orphan'\")['fetched'].tolist() == [False]"),
        ("30 pairs, all the same, so at most 11 %",
         "rules.parameters.set_index('parameter').loc['print', ['pairs', 'same', 'high']]"
         ".astype(float).round(2).tolist() == [30, 30, 0.11]"),
        ("one pair is the same page and one is not",
         "rules.parameters.set_index('parameter').loc['view', ['same', 'different']].tolist()"
         " == [1, 1]"),
        ("The next crawl is a quarter smaller", "len(again.pages) == 80"),
        ("pictures included and without a script in it",
         "'data:image/png' in (work / 'report.html').read_text(encoding='utf-8')"
         " and '<script' not in (work / 'report.html').read_text(encoding='utf-8')"),
        ("A single name in either list would refute the audit", "missed == wrong == set()"),
    ],
}  # fmt: skip


def lesson(path: Path) -> Any:
    reader: Any = nbformat.read
    return reader(path, as_version=4)


def text_of(notebook: Any, kind: str) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == kind)


def test_the_lessons_are_there() -> None:
    assert {path.stem for path in LESSONS} >= set(STATED)


@pytest.fixture(params=LESSONS, ids=[path.stem for path in LESSONS])
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


# -- form ----------------------------------------------------------------------------------


def test_a_lesson_is_a_valid_notebook_without_outputs(path: Path) -> None:
    notebook = lesson(path)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor >= 5) == (4, True)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


def test_a_lesson_has_the_form_of_a_lesson(path: Path) -> None:
    notebook = lesson(path)
    prose, cells = text_of(notebook, "markdown"), notebook.cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert 20 <= len(cells) <= 40
    assert 400 <= len(re.findall(r"\w+", prose)) <= 1_000
    assert sum(len(cell.source.splitlines()) for cell in code) <= 150
    assert max(len(cell.source.splitlines()) for cell in code) <= 16
    assert cells[0].source.startswith("# ")
    assert "?" in cells[0].source.splitlines()[0], "the question comes first"
    assert len(re.findall(r"^# ", prose, re.M)) == 1
    assert 4 <= len(re.findall(r"^## ", prose, re.M)) <= 8
    assert "## What to try next" in prose
    assert re.search(r"takes about \d+ seconds", prose)
    assert "refute" in prose or "It would be wrong" in prose, "what would falsify the reading?"


def test_exercises_have_a_folded_solution_that_checks_itself(path: Path) -> None:
    cells = lesson(path).cells
    solutions = [cell for cell in cells if "solution" in cell.metadata.get("tags", ())]
    assert len(solutions) >= 2
    for cell in solutions:
        assert cell.metadata["jupyter"]["source_hidden"] is True
        assert cell.source.splitlines()[-1].startswith("assert ")
    exercises = re.findall(r"^\*\*\d\.\*\* ", text_of(lesson(path), "markdown"), re.M)
    assert len(exercises) == len(solutions)


def test_code_of_a_lesson_is_formatted_and_free_of_slips(path: Path) -> None:
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    form = [ruff, "format", "--isolated", "--no-cache", "--check", "--line-length=88", str(path)]
    done = subprocess.run(form, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lint = [ruff, "check", "--isolated", "--no-cache", "--select=E4,E7,E9,F,I,B,UP", str(path)]
    done = subprocess.run(lint, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_lesson_names_no_site_of_others(path: Path) -> None:
    hosts = set(re.findall(r"https?://([\w.:-]+)", path.read_text(encoding="utf-8")))
    assert {host.lower().removesuffix(":80") for host in hosts} <= {"example.com", "a.com"}


# -- truth ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_lesson_runs_offline_and_says_what_is_true(path: Path, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    if path.stem == "09_killed_ten_times" and sys.platform == "win32":
        pytest.skip("SIGKILL is of POSIX")
    notebook = lesson(path)
    prose = " ".join(text_of(notebook, "markdown").split())
    for phrase, condition in STATED.get(path.stem, []):
        assert phrase in prose, "the text has changed, so must this table"
        source = f"assert {condition}, {phrase!r}"
        new_cell: Any = nbformat.v4.new_code_cell
        notebook.cells.append(new_cell(source))
    if path.stem == "01_first_crawl":
        shown = next(cell for cell in notebook.cells if "max_pages=100)" in cell.source)
        shown.source = shown.source.replace("\ncrawl", "\nfirst = repr(crawl)\ncrawl")
    client = nbclient.NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    pictures = [out for out in outputs if "image/png" in out.get("data", {})]
    assert pictures, "a lesson has a picture"
    assert not [out for out in outputs if out.get("text", "").startswith("Traceback")]
    assert list(tmp_path.iterdir()) == [], "a lesson writes into folders of its own"
