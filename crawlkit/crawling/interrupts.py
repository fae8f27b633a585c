"""Work that Ctrl-C must not cut in two."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["uninterrupted"]

_WAIT_SECONDS = 0.1


def uninterrupted(work: Callable[[], object], on_interrupt: Callable[[], object]) -> None:
    """Run something to its end, however often Ctrl-C is pressed meanwhile.

    Python raises KeyboardInterrupt in the main thread between any two instructions, and crawlkit
    installs no signal handler. So the work runs in a thread of its own while the caller waits.

    Parameters
    ----------
    work
        What to run; what it raises is raised here.
    on_interrupt
        Called for each interrupt, so that the work can be told to hurry.
    """
    done = threading.Event()
    claim = threading.Lock()
    failures: list[BaseException] = []

    def run() -> None:
        if not claim.acquire(blocking=False):
            return
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failures.append(error)
        finally:
            done.set()

    while not done.is_set():
        try:
            if not claim.locked():
                # The interrupt may come while this one starts: then there are two, and one works.
                threading.Thread(target=run, name="crawlkit-ending").start()
            while not done.wait(_WAIT_SECONDS):
                pass
        except KeyboardInterrupt:
            on_interrupt()
    if failures:
        raise failures[0]
