"""The demonstration: what it promises, it shows; a second one leaves the first alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from crawlkit.lab import demo

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX")
def test_the_demonstration_ends_in_tables_a_comparison_and_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "KILLS", 1)
    monkeypatch.setattr(demo, "SECONDS_TO_KILL", 0.4)
    monkeypatch.setattr(demo, "LATENCY", 0.005)
    crawl = demo.run_demo(tmp_path / "demo")
    said = capsys.readouterr().out
    assert crawl.finished
    assert "Kill 1: SIGKILL" in said
    for part in ("crawl.pages, first rows", "crawl.records, first rows", "results by status"):
        assert part in said
    rows = [line.split() for line in said.splitlines()]
    compared = [row for row in rows if row[:1] and row[0] in (*demo.ORDERINGS_SHOWN, "omniscient")]
    assert [row[0] for row in compared] == ["depth_first", "opic", "push_pagerank", "omniscient"]
    auc = {row[0]: float(row[1]) for row in compared}
    assert 0.3 < min(auc.values()) <= max(auc.values()) == auc["omniscient"] < 1
    assert "size of the site: unbounded" in said
    assert "search_results, 80 pages and 195 waiting" in said
    assert "Set aside and resumed: finished after" in said
    for name in ("frontier.png", "status.png", "orderings.png", "discovery.png"):
        assert (tmp_path / "demo" / name).stat().st_size > 10_000
        assert f"  {name}\n" in said
    assert str(tmp_path / "demo") in said
