"""Give memory back to the system after a large page or a segment.

The C library keeps what was freed for later; after a page of some megabytes that is many times
its size, in each thread that ever met one.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["give_back"]

_trim: Any = None


def give_back() -> None:
    """Return free memory to the system where the C library can (glibc); takes milliseconds."""
    global _trim  # noqa: PLW0603 - looked up once
    if _trim is None:
        _trim = _find_trim()
    _trim(0)


def _find_trim() -> Any:
    if sys.platform == "linux":
        import ctypes

        try:
            return ctypes.CDLL(None).malloc_trim
        except (OSError, AttributeError):  # another C library
            pass
    return lambda _: None
