"""Shared fixtures; puts the tests' folder on the path so that tests can share helpers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

sys.path.insert(0, str(Path(__file__).parent))

# A busy machine is no bug: properties are tested for what holds, not for how fast it is shown.
settings.register_profile("crawlkit", deadline=None)
settings.load_profile("crawlkit")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests have recorded, whichever process ran them."""
    for done in terminalreporter.getreports("passed"):
        for name, value in done.user_properties:
            if name == "figure":
                terminalreporter.write_line(str(value))
