"""How an audit of lastmod shows itself: words, HTML, JSON, pictures, the command line."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pandas as pd
import pytest
from lastmod_tables import HONEST, NOW, audit, entries

import crawlkit as ck
from crawlkit import lab
from crawlkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def test_an_audit_shows_itself_and_escapes_what_came_from_the_web() -> None:
    frame = HONEST.assign(loc=HONEST["loc"].str.replace("http://a/", "http://<b>x</b>/"))
    found = audit(frame, lambda start: start)
    page = found._repr_html_()
    assert "<b>x" not in page
    assert "provisional" in page
    assert str(found).count("\n") == 3
    assert json.loads(json.dumps(found.to_dict()))["verdict"] == "provisional"
    assert found.verdict_of("http://a/s.xml") == "provisional"
    assert "provisional" in repr(found)


def test_changed_since_says_on_whose_word() -> None:
    from datetime import timedelta

    living = lab.Living(case="news_stamps")
    with lab.serve([living]) as site:
        news = ck.read_sitemaps(site.url, delay=0, progress=False)
        found = ck.audit_lastmod(news, progress=False)
    six_hours = pd.Timestamp(living.clock.now, unit="s", tz="UTC") - timedelta(hours=6)
    with pytest.warns(ck.LastmodWarning, match="distrust"):
        changed = ck.changed_since(news, six_hours.to_pydatetime(), verdict=found)
    assert set(changed["change"]) == {"changed"}


def shown(ax: Any) -> list[str]:
    """Draw the figure, and return the titles."""
    ax.figure.canvas.draw()
    return [each.get_title() for each in ax.figure.axes]


def test_pictures_state_what_was_found() -> None:
    good = audit(HONEST, lambda start: start)
    assert shown(good.plot()) == [
        f"100% of 300 entries dated;\nthe densest day holds "
        f"{good.spread['densest_1d'].iloc[0]:.0%} of the dates",
        "lastmod agrees with 60 of 60 pages",
        "No page was seen twice yet",
    ]
    stamped = entries([NOW, NOW + 1] * 50, made={"last_modified": NOW, "date": NOW + 60})
    titles = shown(ck.plot_lastmod(ck.audit_lastmod(stamped, progress=False)))
    assert titles[0] == "100% of 100 entries dated;\n100% of the dates lie within one minute"
    assert titles[1] == "No page was compared"
    ax = ck.plot_lastmod(ck.audit_lastmod(stamped, progress=False))
    (line,) = ax.lines
    assert line.get_label() == "sitemap made"


@pytest.mark.parametrize("part", ["dates", "agreement", "intervals"])
def test_parts_are_drawn_on_given_axes_also_for_nothing(part: str) -> None:
    from matplotlib.figure import Figure

    for frame in (HONEST, entries([]), entries([math.nan] * 30), entries([NOW])):
        ax = Figure().subplots()
        found = audit(frame, lambda start: start)
        assert ck.plot_lastmod(found, part=part, ax=ax) is ax
        assert shown(ax)[0]


def test_changed_since_tells_files_apart() -> None:
    with lab.serve([lab.Living(case="half_true", size=80)]) as site:
        files = ck.read_sitemaps(site.url, delay=0, progress=False)
        found = ck.audit_lastmod(files, delay=0, sample=40, progress=False)
    with pytest.warns(ck.LastmodWarning, match="judges files differently"):
        changed = ck.changed_since(files, pd.Timestamp("2025-06-14", tz="UTC"), verdict=found)
    assert "distrust for 40 entries, provisional for 40 entries." in changed.attrs["note"]
    good = files[files["sitemap"].map(found.verdict_of) == "provisional"]
    assert "kept.xml" in set(good["sitemap"]).pop()


def test_a_file_made_long_after_all_dates_needs_no_legend() -> None:
    found = audit(entries([NOW], made={"date": NOW + 2_000 * 86_400}), lambda start: start)
    assert shown(found.plot(part="dates"))
    assert found.plot(part="dates").get_legend() is None


def test_an_audit_draws_one_part_of_itself() -> None:
    good = audit(HONEST, lambda start: start)
    assert shown(good.plot(part="agreement")) == ["lastmod agrees with 60 of 60 pages"]


def test_the_words_name_the_confidence_that_was_asked_for() -> None:
    found = audit(HONEST, lambda start: start, thresholds={"confidence": 0.99})
    assert "99% interval" in found.sentences[1]


def test_pictures_of_something_else_are_refused() -> None:
    with pytest.raises(ck.BadSetting, match="audit: "):
        ck.plot_lastmod(HONEST)
    with pytest.raises(ck.BadSetting, match="part: "):
        ck.plot_lastmod(audit(HONEST, lambda start: start), part="nothing")


def test_the_command_line_says_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    living = lab.Living(case="half_true", size=80)
    with lab.serve([living]) as site:
        options = [site.url, "--delay", "0", "--sample", "20", "--quiet"]
        assert main(["lastmod", *options]) == 0
        text = capsys.readouterr().out
        assert text.startswith("undecided: lastmod is right in some files and wrong in others\n")
        assert f"distrust    {site.url}living/stamped.xml (stamp_generation)" in text
        assert main(["lastmod", *options, "--json", "--history", str(tmp_path / "h")]) == 0
        assert json.loads(capsys.readouterr().out)["verdict"] == "undecided"
        assert list((tmp_path / "h").glob("*.parquet"))
        assert main(["lastmod", site.url + "nothing.xml", "--delay", "0", "--quiet"]) == 1
        assert "1 of 1 sitemap files could not be read" in capsys.readouterr().out
    assert main(["lastmod", str(tmp_path / "missing.xml")]) == 2
    assert "source: " in capsys.readouterr().err
