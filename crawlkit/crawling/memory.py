"""Memory that a crawl does not need goes back to the system.

The C library keeps what was freed for later; after a page of some megabytes that is many times
its size, in each thread that ever met one.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

__all__ = ["give_back", "load_arrow_alone", "share_one_arena"]

# From glibc's malloc.h.
_M_ARENA_MAX = -8

_trim: Any = None


def give_back() -> None:
    """Return free memory to the system where the C library can (glibc); takes milliseconds."""
    global _trim  # noqa: PLW0603 - looked up once
    if _trim is None:
        _trim = _c_function("malloc_trim")
    _trim(0)


def share_one_arena() -> None:
    """Let all threads of this process, and Arrow, allocate from one heap (glibc).

    For a process that is ours alone, before its first thread: the threads of a crawl hold the
    interpreter's lock while they allocate, so heaps of their own save no time, and each keeps
    what its largest page took. Arrow's allocator keeps its own reserve beside them.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    _c_function("mallopt")(_M_ARENA_MAX, 1)


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


def _c_function(name: str) -> Any:
    if sys.platform == "linux":
        import ctypes

        try:
            return getattr(ctypes.CDLL(None), name)
        except (OSError, AttributeError):  # another C library
            pass
    return lambda *_: None
