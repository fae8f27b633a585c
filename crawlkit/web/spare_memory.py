"""Memory that was freed goes back to the system.

The C library keeps what was freed for later, in each thread; after a page or a file of some
megabytes that is many times its size.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

__all__ = ["c_function", "return_spare_memory"]


def return_spare_memory() -> None:
    """Return free memory to the system where the C library can (glibc); takes milliseconds."""
    c_function("malloc_trim")(0)


@cache
def c_function(name: str) -> Any:
    """Return a function of glibc, or one that does nothing where there is no such thing."""
    if sys.platform == "linux":
        import ctypes

        try:
            return getattr(ctypes.CDLL(None), name)
        except (OSError, AttributeError):  # another C library
            pass
    return lambda *_: None
