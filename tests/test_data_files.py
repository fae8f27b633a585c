"""The data that comes along: there, small, described, without text of pages, also in a wheel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import crawlkit as ck

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "data"
INDEX = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
SITES = ("python_docs", "sqlite_docs")


def test_the_index_names_every_file_and_every_set_says_where_it_is_from() -> None:
    named = {file for entry in INDEX.values() for file in entry["tables"].values()}
    there = {path.name for path in FOLDER.iterdir()}
    assert there == named | {"index.json", "README.md"}
    for name, entry in INDEX.items():
        assert set(entry) == {"what", "origin", "license", "tables"}, name
        assert all(len(entry[key]) > 10 for key in ("what", "origin", "license")), name
        assert f"`{name}`" in (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2_000_000


@pytest.mark.parametrize("name", sorted(INDEX))
def test_every_set_loads_with_what_is_known_of_it(name: str) -> None:
    assert name in ck.data_names()
    data = ck.load_data(name)
    assert (data.name, data.license) == (name, INDEX[name]["license"])
    assert list(data.tables) == list(INDEX[name]["tables"])
    for table, frame in data.tables.items():
        assert len(frame)
        assert getattr(data, table) is frame
        assert table in dir(data)
        assert f"{len(frame):,} {table}" in repr(data)
    assert "<script" not in data._repr_html_()
    assert data.origin.split(",")[0] in data._repr_html_()


@pytest.mark.parametrize("name", SITES)
def test_a_site_has_its_pages_and_links_and_no_text_of_pages(name: str) -> None:
    data = ck.load_data(name)
    pages, links = data.pages, data.links
    assert pages["url"].is_unique
    assert pages["seq"].is_monotonic_increasing
    assert set(links["source"]) <= set(pages["url"])
    assert set(pages["found_on"].dropna()) <= set(links["source"])
    assert not any((pages[column].astype(str) == "").any() for column in pages.columns)
    inside = links.loc[links["internal"], "target"]
    assert set(inside) <= set(pages["url"])
    assert not {"text", "description", "h1", "words"} & {*pages.columns, *links.columns}
    assert not pages["url"].str.contains("127.0.0.1", regex=False).any()
    assert pages["host"].unique().tolist() == [f"{name.replace('_', '-')}.example"]


def test_a_site_is_a_graph_to_every_function_that_takes_one() -> None:
    data = ck.load_data("sqlite_docs")
    seed = data.pages["url"].iloc[0]
    graph = data.graph()
    assert sum(done for _, done in graph.nodes(data="downloaded")) == len(data.pages) == 1_184
    replayed = ck.replay(data, "breadth_first", seed)
    assert set(replayed["page"]) == set(graph)
    inside = data.links[data.links["internal"]]
    # The tables are those of a breadth-first crawl: a replay takes the same way.
    again = ck.replay(inside, "breadth_first", seed)["page"]
    assert again.tolist() == data.pages["url"].tolist()


def test_the_crawl_with_traps_is_taken_by_every_audit() -> None:
    data = ck.load_data("lab_traps")
    traps = ck.find_traps(data)
    assert traps["kind"].tolist() == ["search_results", "path_loop"]
    assert traps.attrs["skipped"] == {}
    waiting = data.urls.loc[data.urls["state"] == "pending", "url"]
    honest = waiting[waiting.str.contains("/finite/|/faulty/")]
    assert ck.preview_exclude(data, traps["exclude"].tolist()).pending_left == len(honest) == 78
    curve = ck.discovery_curve(data, by="section")
    assert len(curve) == len(data.pages) == 600
    assert curve["frontier_size"].iloc[-1] == len(waiting) == 891
    late = curve.groupby("group")["rate"].last()
    assert late["lab-traps.example/searches/"] > 2 > late["lab-traps.example/finite/"]
    size = ck.estimate_size(data)
    assert (size.verdict, size.known, len(size.traps)) == ("unbounded", 1_491, 2)
    audit = ck.audit_site(data, data.entries, progress=False)
    done = audit.summary.set_index("check")
    assert done["skipped"].dropna().to_dict() == {
        "near_duplicates": "needs bodies",
        "expected_missing": "needs pages.expected_found",
    }
    assert (done["count"].drop("near_duplicates") > 0).all()
    for fault in ck.lab.FAULTS:
        table = audit.tables[fault.check]
        urls = table["target" if "target" in table else "url"]
        found = {url.split("/faulty/")[-1] for url in urls if "/faulty/" in url}
        if fault.check != "near_duplicates":
            assert set(fault.faulty) <= found, fault.check
            assert not set(fault.alike) & found, fault.check
    assert ck.compare_coverage(data, data.entries).table["finding"].eq("orphan").sum() == 1


def test_the_crawl_with_traps_names_one_host_and_no_time_of_its_making() -> None:
    data = ck.load_data("lab_traps")
    text = "".join(frame.to_csv() for frame in data.tables.values())
    assert "127.0.0.1" not in text
    assert set(re.findall(r"https?://([^/\s\"',]+)", text)) == {
        "lab-traps.example",
        "shop.example.com",
    }
    assert data.fetches["started_at"].diff().dropna().dt.total_seconds().eq(1).all()
    assert set(data.pages["elapsed"] % 0.25) == {0.0}
    assert not any(
        (frame[name].astype("str") == "").any()
        for frame in data.tables.values()
        for name in frame.columns
    )


def test_the_example_of_the_readme_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    mpl = pytest.importorskip("matplotlib")
    mpl.use("Agg")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = [code for code in re.findall(r"```python\n(.*?)```", text, re.S) if "traps" in code]
    assert len(examples) == 1
    names: dict[str, object] = {}
    exec(examples[0], names)
    assert capsys.readouterr().out.startswith("/searches/?q= /loop/*/*/ drops 813 of 891 pending")
    assert len(names["audit"].tables["broken_links"]) == 3  # type: ignore[attr-defined]
    import matplotlib.pyplot as plt

    plt.close("all")


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(ck.BadSetting, match=r"no data named 'nothing'.*sqlite_docs"):
        ck.load_data("nothing")
    with pytest.raises(ck.BadSetting, match="name"):
        ck.load_data(3)  # type: ignore[arg-type]
    data = ck.load_data("sqlite_docs")
    with pytest.raises(AttributeError, match=r"no table 'fetches'; it has pages, links"):
        _ = data.fetches


def test_an_installation_without_data_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from crawlkit import data_files

    monkeypatch.setattr(data_files, "_PLACES", (ROOT / "nowhere",))
    with pytest.raises(ck.CrawlkitError, match="Install crawlkit anew"):
        ck.data_names()


def test_the_data_is_in_a_wheel_and_found_there(tmp_path: Path) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    (wheel,) = builder.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    code = "import crawlkit as ck; print(ck.__file__, len(ck.load_data('sqlite_docs').pages))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "installed",
        capture_output=True,
        text=True,
        check=True,
    )
    place, count = done.stdout.rsplit(maxsplit=1)
    assert Path(place).is_relative_to(tmp_path)
    assert count == "1184"
