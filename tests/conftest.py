"""Shared fixtures; puts the tests' folder on the path so that tests can share helpers."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
