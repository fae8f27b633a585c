"""The public names: all there, documented, callable, and cheap to import."""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from crawls import crawl, serve, star

import crawlkit as ck

ROOT = Path(__file__).parents[1]
HEAVY = (
    "pandas",
    "numpy",
    "pyarrow",
    "scipy",
    "matplotlib",
    "networkx",
    "requests",
    "ipywidgets",
    "IPython",
    "tqdm",
)

# What this release promises; more may be added.
PROMISED = """
crawl open_crawl Crawl CrawlMonitor Limits Http UrlRules normalize_url url_table url_template
parse_robots RobotsRules robots_table ORDERINGS Ordering plot_frontier plot_status lab
CrawlkitError BadSetting BadURL SettingsChanged FolderInUse FolderUnusable StorageFailed
MissingExtra
"""

MADE_BY_FUNCTIONS = ("Crawl", "RobotsRules")  # nobody makes one by hand

CALLABLE = sorted(name for name in ck.__all__ if callable(getattr(ck, name)))


def modules() -> list[str]:
    """Import every module of the package but the scripts, and return their names."""
    found = [
        each.name
        for each in pkgutil.walk_packages(ck.__path__, "crawlkit.")
        if not each.name.endswith("__main__")
    ]
    for name in found:
        import_module(name)
    return found


def test_every_promised_name_is_public() -> None:
    assert set(PROMISED.split()) <= set(ck.__all__)
    assert len(ck.__all__) == len(set(ck.__all__))
    assert set(dir(ck)) == set(ck.__all__)
    assert re.fullmatch(r"\d+\.\d+(\.\d+)?\w*", ck.__version__)


@pytest.mark.parametrize("name", ck.__all__)
def test_every_name_resolves_to_one_thing(name: str) -> None:
    assert getattr(ck, name) is getattr(ck, name)
    space: dict[str, Any] = {}
    exec(f"from crawlkit import {name}", space)
    assert space[name] is getattr(ck, name)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'crawl_all'"):
        _ = ck.crawl_all


@pytest.mark.parametrize("name", CALLABLE)
def test_every_name_says_what_it_is_and_explains_its_parameters(name: str) -> None:
    thing = getattr(ck, name)
    doc = inspect.getdoc(thing) or ""
    first = doc.split("\n\n")[0].replace("\n", " ")
    assert first.endswith("."), first
    assert len(first) > 20
    if inspect.isclass(thing):
        if issubclass(thing, Exception):
            return
        signature = inspect.signature(thing)
        doc += inspect.getdoc(thing.__init__) or ""
    else:
        signature = inspect.signature(thing)
        assert (
            "Returns\n-------" in doc
            or signature.return_annotation in ("None", None)
            or (name == "open_crawl")
        )
    explained = doc.partition("Parameters\n---------")[2] + doc.partition("Attributes\n")[2]
    for parameter in signature.parameters.values():
        if parameter.name == "self" or name in MADE_BY_FUNCTIONS:
            continue
        assert re.search(rf"(?m)^[\w, *]*\b{parameter.name}\b", explained), parameter.name


@pytest.mark.parametrize(
    "thing",
    [ck.Crawl, ck.CrawlMonitor, ck.Ordering, ck.RobotsRules, ck.UrlRules, ck.Http, ck.Limits],
)
def test_every_public_method_is_documented(thing: Any) -> None:
    for name, member in inspect.getmembers(thing):
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        assert len(inspect.getdoc(member) or "") > 15, name


# Second subjects of a question, as design.md has them; everything else with a default is an option.
SUBJECTS = {
    ("normalize_url", "rules"),
    ("audit_site", "entries"),
    ("make_report", "entries"),
    ("compare_coverage", "archive"),
    ("compare_orderings", "seeds"),
    ("crawl_metrics", "price_per_gb"),
    ("opic", "downloads"),
    ("rank_frontier", "downloaded"),
}


def test_options_are_keyword_only() -> None:
    for name in CALLABLE:
        thing = getattr(ck, name)
        if not inspect.isfunction(thing):
            continue
        for parameter in inspect.signature(thing).parameters.values():
            given = parameter.default is inspect.Parameter.empty
            if not given and (name, parameter.name) not in SUBJECTS:
                assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, (name, parameter.name)


def test_no_module_bears_the_name_of_a_public_function(tmp_path: Path) -> None:
    names = modules()
    functions = {name for name in CALLABLE if inspect.isfunction(getattr(ck, name))}
    assert len(functions) >= 10
    assert not functions & {part for name in names for part in name.split(".")[1:]}
    # After every module was imported, every name is still what it was.
    for name in ck.__all__:
        assert isinstance(getattr(ck, name), ModuleType) == (name == "lab")


def test_every_function_can_be_called_after_every_import(tmp_path: Path) -> None:
    modules()
    with serve(star(1)) as site:
        made = crawl(
            site.url + "t/", tmp_path / "c", limits=ck.Limits(bytes=10_000), http=ck.Http()
        )
    assert isinstance(made, ck.Crawl)
    assert len(ck.open_crawl(tmp_path / "c").pages) == 2
    assert ck.normalize_url("HTTP://a.example/?b=1&a=2") == "http://a.example/?a=2&b=1"
    assert isinstance(ck.url_hash("http://a.example/"), int)
    assert len(ck.url_table(["http://a.example/1"])) == 1
    assert ck.url_template("http://a.example/p/17")
    assert ck.parse_robots(b"").allows("http://a.example/", "crawlkit")
    assert len(ck.robots_table("User-agent: *\nDisallow: /a", ["/a"], "crawlkit")) == 1
    assert ck.plot_frontier(made).get_title() is not None
    assert ck.plot_status(made).get_title() is not None
    assert isinstance(ck.ORDERINGS["breadth_first"](), ck.Ordering)
    assert ck.CrawlMonitor(site.url, tmp_path / "m") is not None
    import matplotlib.pyplot as plt

    plt.close("all")


def test_the_readme_mentions_only_what_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names = set(re.findall(r"\bck\.(\w+)", text))
    assert {"crawl", "open_crawl", "plot_frontier", "lab", "Http", "normalize_url"} <= names
    assert names <= set(ck.__all__)
    members = set(re.findall(r"\bcrawl\.([a-z]\w*)", text))
    assert {"pages", "links", "fetches", "urls", "records", "resume", "body", "graph"} <= members
    assert [name for name in members if not hasattr(ck.Crawl, name)] == []
    for path in re.findall(r"`([\w./-]+\.(?:py|md))`", text):
        assert (ROOT / path).exists(), path
    arguments = set(inspect.signature(ck.crawl).parameters)
    for call in re.findall(r"ck\.crawl\(([^)]*)\)", text):
        assert set(re.findall(r"(\w+)=", call)) <= arguments


# -- what an import costs ------------------------------------------------------------------


def loaded(code: str) -> list[str]:
    """Names of the modules that a new interpreter has loaded after some code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    names: list[str] = json.loads(done.stdout.splitlines()[-1])
    return names


def heavy(names: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in names} & set(HEAVY)


def test_importing_crawlkit_costs_next_to_nothing() -> None:
    bare, names = set(loaded("")), loaded("import crawlkit; dir(crawlkit); crawlkit.__version__")
    assert heavy(names) == set()
    assert len(set(names) - bare) <= 50
    own = [name for name in names if name.startswith("crawlkit")]
    assert own == ["crawlkit", "crawlkit.version"]


def test_the_crawler_itself_is_light_to_import() -> None:
    bare, names = set(loaded("")), loaded("import crawlkit as ck; ck.crawl, ck.Limits, ck.Http")
    assert heavy(names) == set()
    assert len(set(names) - bare) <= 300


CRAWL = """
import tempfile
import crawlkit as ck

with ck.lab.serve([ck.lab.Shop(listings=1, per_page=5)]) as site:
    with tempfile.TemporaryDirectory() as folder:
        crawl = ck.crawl(site.url + "shop/", folder, delay=0, progress=False)
        assert crawl.finished and crawl.summary()["pages"] == 6
        crawl._repr_html_()
"""


def test_a_whole_crawl_loads_no_pandas() -> None:
    # Arrow compresses bodies and writes the segments; it brings numpy along.
    assert heavy(loaded(CRAWL)) <= {"pyarrow", "numpy"}
