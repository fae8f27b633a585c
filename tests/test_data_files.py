"""The data that comes along: there, small, described, without text of pages, also in a wheel."""

from __future__ import annotations

import json
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
