"""``crawlkit audit FOLDER``: text, JSON and one HTML file, over a crawl of a real server."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from crawls import crawl as run_crawl
from crawls import page, serve

import crawlkit as ck
from crawlkit.audit.report import make_report
from crawlkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

EVIL = "<script>alert(1)</script>"
SITE = {
    "": page("a", "b", f"gone?{EVIL}", title="Start"),
    "a": page(title=f"{EVIL} \x1b[2J $x$ same"),
    "b": page(title=f"{EVIL} \x1b[2J $x$ same"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("audit") / "crawl"
    with serve(SITE) as site:
        run_crawl(site.url + "t/", path)
    return path


@pytest.fixture
def sitemap(folder: Path, tmp_path: Path) -> Path:
    start = ck.open_crawl(folder).pages["url"].iloc[0]
    path = tmp_path / "sitemap.xml"
    locs = "".join(f"<url><loc>{start}{name}</loc></url>" for name in ("a", "lost"))
    path.write_text(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locs}</urlset>')
    return path


class Tags(HTMLParser):
    """Names and attributes of all elements of a document."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_tables_come_to_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(folder), "--quiet"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Site audit: 4 pages: 1 broken_links, 1 duplicate_titles")
    assert "Mend or remove the links" in out
    assert re.search(r"^gone|/t/gone", out, re.M)
    assert "skipped: orphans (needs entries)" in out
    assert "\x1b" not in out


def test_rows_beyond_those_asked_for_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(folder), "--quiet", "--rows", "1"]) == 0
    assert "... 1 more" in capsys.readouterr().out
    assert main(["audit", str(folder), "--rows", "-1"]) == 2
    assert "--rows" in capsys.readouterr().err


def test_json_holds_everything_and_nothing_else(
    folder: Path, sitemap: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["audit", str(folder), "--json", "--sitemap", str(sitemap), "--price-per-gb", "2"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert captured.err == ""
    assert found["pages"] == 4
    assert found["metrics"]["cost"] == pytest.approx(2 * found["metrics"]["bytes"] / 1e9)
    assert [row["status"] for row in found["tables"]["broken_links"]] == [404]
    assert [row["url"].rpartition("/")[2] for row in found["tables"]["orphans"]] == ["lost"]
    assert found["coverage"][0]["orphan"] == 1
    assert found["size"]["verdict"] == "complete"
    assert found["traps"] == []


def test_the_html_report_has_pictures_and_no_script(
    folder: Path, sitemap: Path, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    given = ["audit", str(folder), "--quiet", "--sitemap", str(sitemap), "--html", str(path)]
    assert main(given) == 0
    html = path.read_text(encoding="utf-8")
    tags = Tags(html).found
    assert "script" not in {tag for tag, _ in tags}
    assert "&lt;script&gt;alert(1)" in html
    pictures = [attributes["src"] or "" for tag, attributes in tags if tag == "img"]
    assert len(pictures) == 5
    for picture in pictures:
        kind, _, data = picture.partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data).startswith(b"\x89PNG")
    assert all(attributes.get("alt") for tag, attributes in tags if tag == "img")
    # It needs nothing from elsewhere.
    assert not [a for _, a in tags if (a.get("src") or a.get("href") or "data:")[:5] != "data:"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere"], 1, "holds no crawl"),
        (["{folder}", "--html", "/nowhere/at/all.html"], 2, "audit.html"),
        (["{folder}", "--price-per-gb", "-1"], 2, "price_per_gb"),
        (["{folder}", "--html", "{folder}"], 2, "is a folder"),
        (["{folder}", "--sitemap", "empty.xml"], 1, "No entry of a sitemap"),
    ],
)
def test_what_cannot_be_done_is_said_with_an_exit_code(
    folder: Path, tmp_path: Path, monkeypatch: Any, capsys: Any, arguments: list[str],
    code: int, words: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.xml").write_text("<urlset></urlset>")
    given = [each.format(folder=folder) for each in arguments]
    assert main(["audit", *given, "--quiet"]) == code
    assert words in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_ends_the_output_and_no_traceback_follows(
    folder: Path,
) -> None:
    command = [sys.executable, "-c", "import sys, crawlkit.cli as c; sys.exit(c.main())"]
    with subprocess.Popen(
        [*command, "audit", str(folder), "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.stderr is not None
        assert child.stderr.read() == b""
        assert child.wait(60) == 1


def test_a_report_on_tables_names_what_it_could_not_do(folder: Path) -> None:
    pages = ck.open_crawl(folder).pages
    report = make_report({"pages": pages[["url", "status", "title"]]}, progress=False)
    html = report.to_html()
    assert "No picture of the discovery" in html
    assert "Traps: none found\nnot judged: urls: " in report.to_text()
    assert "Not judged: urls: " in html
    assert report.to_dict()["not_judged"][0].startswith("urls: ")
    assert "needs the table" in html
    json.dumps(report.to_dict())
    assert "skipped: broken_links (needs links" in report.to_text()
    empty = make_report({"pages": pages.head(0)}, [], progress=False)
    assert "0 pages: nothing found" in empty.to_text()
