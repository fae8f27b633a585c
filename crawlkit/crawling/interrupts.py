"""Work that Ctrl-C must not cut in two."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Gate", "uninterrupted"]

_WAIT_SECONDS = 0.1


class Gate:
    """An event for the main thread, whose wait may be interrupted any number of times.

    `threading.Event` waits in Python code; two interrupts in a row leave it with "release unlocked
    lock". A lock is waited for in one step.
    """

    def __init__(self) -> None:
        self.is_open = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def open(self) -> None:
        """Let the waiting thread go on; from any thread, any number of times."""
        self.is_open = True
        with contextlib.suppress(RuntimeError):  # it was open already
            self._lock.release()

    def wait(self, seconds: float) -> bool:
        """Wait some seconds for the gate to open; return whether it is open."""
        if not self.is_open and self._lock.acquire(timeout=seconds):
            self._lock.release()
        return self.is_open


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
    done = Gate()
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
            done.open()

    while not done.is_open:
        try:
            if not claim.locked():
                # The interrupt may come while this one starts: then there are two, and one works.
                threading.Thread(target=run, name="crawlkit-ending").start()
            while not done.wait(_WAIT_SECONDS):
                pass
        except KeyboardInterrupt:
            on_interrupt()
        except (
            RuntimeError
        ):  # two interrupts inside Thread.start: its own wait is not proof to them
            if not claim.locked():
                raise
    if failures:
        raise failures[0]
