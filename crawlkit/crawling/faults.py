"""Deaths on demand, so that tests can kill a crawl between any two steps of a commit.

``CRAWLKIT_FAULT=name:n`` ends the process with SIGKILL at the n-th time that it passes the point
of that name; nothing is cleaned up, as in a real death. Without the variable a point costs one
comparison.
"""

from __future__ import annotations

import os
import signal

__all__ = ["POINTS", "point"]

POINTS = (
    "commit.begun",
    "commit.written",
    "commit.done",
    "fetch.done",
    "segment.written",
    "segment.renamed",
    "segment.recorded",
    "compact.written",
    "compact.renamed",
    "compact.recorded",
    "finish.recorded",
)

_wanted, _, _count = os.environ.get("CRAWLKIT_FAULT", "").partition(":")
_left = int(_count or 1)


def point(name: str) -> None:
    """Die here if the environment asks for it."""
    if name != _wanted:
        return
    global _left  # noqa: PLW0603 - one countdown for the whole process is the point
    _left -= 1
    if _left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
