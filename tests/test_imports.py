"""The floors of the house: a module imports only from floors below its own."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "crawlkit"
FLOORS = [
    "errors", "plots reprs", "web", "order", "data_files", "audit", "crawling", "widgets", "lab",
    "cli",
]  # fmt: skip
HEAVY = {
    "pandas", "numpy", "pyarrow", "scipy", "matplotlib", "networkx", "ipywidgets", "tqdm",
    "IPython", "warcio", "requests",
}  # fmt: skip


def contract(folder: Path, prepare: str = "") -> subprocess.CompletedProcess[str]:
    """Check the contract of the project on the package in a folder."""
    script = f"{prepare}from importlinter.cli import lint_imports_command as run; run()"
    config = str(ROOT / "pyproject.toml")
    return subprocess.run(
        [sys.executable, "-c", script, "--config", config, "--no-cache"],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_floors_are_kept() -> None:
    done = contract(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 kept, 0 broken" in done.stdout


def test_the_contract_names_every_floor_in_order_and_every_module() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (floors,) = config["tool"]["importlinter"]["contracts"]
    assert floors["type"] == "layers"
    assert "ignore_imports" not in floors
    listed = [
        {name.strip().removeprefix("crawlkit.") for name in layer.split(":")}
        for layer in reversed(floors["layers"])
    ]
    expected = [set(floor.split()) for floor in FLOORS]
    expected[0].add("version")
    assert listed == expected
    there = {
        path.stem if path.suffix else path.name
        for path in PACKAGE.iterdir()
        if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").exists()
    }
    assert there == set().union(*listed)


def test_a_broken_floor_would_be_noticed(tmp_path: Path) -> None:
    """The contract is not kept by default: an import upwards breaks it."""
    package = tmp_path / "crawlkit"
    for name in " ".join([*FLOORS, "version"]).split():
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "web" / "upwards.py").write_text("import crawlkit.crawling\n")
    done = contract(tmp_path, "import sys; sys.path.insert(0, '.'); ")
    assert done.returncode == 1
    assert "crawlkit.web" in done.stdout
    assert "0 kept, 1 broken" in done.stdout


def top_level_imports(path: Path) -> set[str]:
    """Libraries that a module imports when it is loaded, those for type checking left out."""
    found: set[str] = set()

    def walk(body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
                walk(node.body + node.orelse)
            elif isinstance(node, ast.Try):
                walk(node.body + node.orelse + node.finalbody)
            elif isinstance(node, (ast.With, ast.ClassDef)):
                walk(node.body)

    walk(ast.parse(path.read_text(encoding="utf-8")).body)
    return found


@pytest.mark.parametrize("floor", ["web", "order", "crawling", "lab"])
def test_heavy_libraries_load_on_first_use(floor: str) -> None:
    # What numba compiles must stand at the top of a module, which loads only where numba is.
    compiled = PACKAGE / "order" / "kernels.py"
    paths = sorted(set((PACKAGE / floor).rglob("*.py")) - {compiled})
    assert len(paths) >= 5
    for path in paths:
        assert not top_level_imports(path) & HEAVY, path
