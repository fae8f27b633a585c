"""Memory that was freed goes back to the system.

The C library keeps what was freed for later, in each thread; after some files of ten megabytes
that is more than all their entries take.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

__all__ = ["return_spare_memory"]


def return_spare_memory() -> None:
    """Return free memory to the system where the C library can (glibc); takes milliseconds."""
    _trim()(0)


@cache
def _trim() -> Any:
    if sys.platform == "linux":
        try:
            return ctypes.CDLL(None).malloc_trim
        except (OSError, AttributeError):  # another C library
            pass
    return lambda _: None
