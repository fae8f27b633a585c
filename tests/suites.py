"""Where the public suites and graphs lie; a test skips, with the reason, where they are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def suite_path(relative: str) -> Path:
    """Return a file of the public suites, or skip the calling test."""
    root = Path(os.environ.get("CRAWLKIT_SUITES", REPOSITORY.parent / "shared" / "suites"))
    path = root / relative
    if not path.exists():
        pytest.skip(f"public suite not found: {path} (set CRAWLKIT_SUITES)")
    return path


def graph_path(name: str) -> Path:
    """Return a file of the public graphs, or skip the calling test."""
    root = Path(os.environ.get("CRAWLKIT_GRAPHS", REPOSITORY.parent / "shared" / "graphs"))
    path = root / name
    if not path.exists():
        pytest.skip(f"public graph not found: {path} (set CRAWLKIT_GRAPHS)")
    return path
