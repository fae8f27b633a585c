"""How a process that crawls and does nothing else keeps its memory small."""

from __future__ import annotations

import importlib
import os
import sys

from crawlkit.web.spare_memory import c_function

__all__ = ["load_arrow_alone", "share_one_arena"]

# From glibc's malloc.h.
_M_ARENA_MAX = -8


def share_one_arena() -> None:
    """Let all threads of this process, and Arrow, allocate from one heap (glibc).

    For a process that is ours alone, before its first thread: the threads of a crawl hold the
    interpreter's lock while they allocate, so heaps of their own save no time, and each keeps
    what its largest page took. Arrow's allocator keeps its own reserve beside them.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    c_function("mallopt")(_M_ARENA_MAX, 1)


def load_arrow_alone() -> None:
    """Load Arrow without numpy, which it can do without (a tenth of a second, ten megabytes).

    For a process that is ours alone and makes no frames: afterwards Arrow gives none.
    """
    if "numpy" in sys.modules:
        return
    sys.modules["numpy"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("pyarrow")
    finally:
        del sys.modules["numpy"]
