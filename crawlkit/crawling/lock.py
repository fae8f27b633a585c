"""One process at a time owns a crawl folder: an operating-system lock on a file in it.

The lock dies with the process, however it dies, so there is no stale lock to clean up. The file's
text only serves to name the owner.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from crawlkit.errors import FolderInUse

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FolderLock"]

LOCK_NAME = "crawl.lock"
# Windows locks bytes, and locked bytes cannot be read: lock one far behind the text.
_FAR_BYTE = 1_000_000


def _try_lock(handle: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, _FAR_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class FolderLock:
    """The ownership of a folder, taken at construction.

    Raises
    ------
    FolderInUse
        Another process, or another crawl in this one, owns the folder; the message names it.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK_NAME
        # The descriptor is not inherited by child processes (PEP 446), so a child cannot keep
        # the lock of a parent that died.
        self._handle: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        if not _try_lock(self._handle):
            os.close(self._handle)
            self._handle = None
            raise FolderInUse(
                f"{folder} is being crawled by {owner_of(folder)}. Wait for it or stop it; "
                f"ck.open_crawl reads the folder meanwhile."
            )
        text = json.dumps(
            {
                "process": os.getpid(),
                "host": socket.gethostname(),
                "since": datetime.now(UTC).isoformat(timespec="seconds"),
            }
        ).encode()
        # A full disk must not keep a crawl from being opened: the text is a courtesy.
        with contextlib.suppress(OSError):
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, text)

    def release(self) -> None:
        """Give the folder up; harmless when done twice."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def owner_of(folder: Path) -> str:
    """Return who wrote the lock file last, in words."""
    try:
        owner = json.loads((folder / LOCK_NAME).read_text(encoding="utf-8"))
        return f"process {owner['process']} on {owner['host']} since {owner['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
