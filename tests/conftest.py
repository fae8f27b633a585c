"""Shared fixtures; puts the tests' folder on the path so that tests can share helpers."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# A busy machine is no bug: properties are tested for what holds, not for how fast it is shown.
settings.register_profile("crawlkit", deadline=None)
settings.load_profile("crawlkit")
