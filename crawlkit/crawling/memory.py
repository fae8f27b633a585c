"""How a process that crawls and does nothing else keeps its memory, and its start, small."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from typing import TYPE_CHECKING

from crawlkit.web.spare_memory import c_function

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["load_arrow_alone", "loaded_for_good", "share_one_arena"]

# From glibc's malloc.h.
_M_ARENA_MAX = -8

# What Arrow loads when it is there and can do without: numpy costs it a tenth of a second and ten
# megabytes, the clients of storage services ten milliseconds and a clean-up at the exit.
_OPTIONAL = (
    "numpy",
    "pyarrow._azurefs",
    "pyarrow._gcsfs",
    "pyarrow._hdfs",
    "pyarrow._s3fs",
)


def share_one_arena() -> None:
    """Let all threads of this process, and Arrow, allocate from one heap (glibc).

    For a process that is ours alone, before its first thread: the threads of a crawl hold the
    interpreter's lock while they allocate, so heaps of their own save no time, and each keeps
    what its largest page took. Arrow's allocator keeps its own reserve beside them.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    c_function("mallopt")(_M_ARENA_MAX, 1)


@contextlib.contextmanager
def loaded_for_good() -> Iterator[None]:
    """Keep the garbage collector away from what is loaded in the block, then and later.

    For a process that is ours alone: modules stay until its end, so that a search for garbage in
    them, a dozen times while they load and again at the exit, finds nothing.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def load_arrow_alone() -> None:
    """Load Arrow, with what a crawl needs of it, without the packages it can do without.

    For a process that is ours alone and makes no frames: afterwards Arrow gives none.
    """
    if "numpy" in sys.modules:
        return
    barred = [name for name in _OPTIONAL if name not in sys.modules]
    sys.modules.update(dict.fromkeys(barred))  # type: ignore[arg-type]  # None bars an import
    try:
        for name in ("pyarrow", "pyarrow.json", "pyarrow.parquet"):
            importlib.import_module(name)
    finally:
        for name in barred:
            del sys.modules[name]
