"""How many threads are at work where pages are digested in threads: as many as latency asks for.

Threads only hide waiting; on a fast server more of them cost a third more processor time.
"""

from __future__ import annotations

import math
import time

__all__ = ["WINDOW_SECONDS", "Crew"]

WINDOW_SECONDS = 0.02
"""How long the use of the processor is watched before it is judged."""
# Share of one processor above which no further worker is wanted.
_BUSY = 0.9
# Share below which servers are clearly what is waited for.
_IDLE = 0.5
# Weight of the newest answer in the mean latency, and how many times the work on a page it must
# last for the servers to be clearly what is waited for.
_SMOOTHING = 0.2
_CLEARLY = 8


class Crew:
    """Finds the number of workers that keep one processor busy.

    Parameters
    ----------
    most
        The most workers that there may be.

    Attributes
    ----------
    wanted : int
        How many are wanted now.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.wanted = 1
        self._was_scarce = False
        self._pages = 0
        self._latency = 0.0
        self.start()

    def start(self) -> None:
        """Begin to watch now."""
        self._window = (time.monotonic(), time.process_time())

    def note_page(self, elapsed: float) -> None:
        """Take note of a page that took so many seconds to come."""
        self._pages += 1
        self._latency += _SMOOTHING * (elapsed - self._latency)

    def adapt(self, working: int) -> None:
        """Follow the latency; ``working`` is the number of workers at work."""
        now = time.monotonic()
        elapsed = now - self._window[0]
        if elapsed < WINDOW_SECONDS:
            return
        cpu = time.process_time()
        used, pages = cpu - self._window[1], self._pages
        self._window, self._pages = (now, cpu), 0
        load = used / elapsed
        enough = math.ceil(max(1, working) * _BUSY / max(load, 0.01))
        scarce = enough > self.wanted and working >= self.wanted
        if scarce and self._latency > _CLEARLY * used / max(1, pages):
            # The servers are what is waited for: one page's latency hides the work on many.
            hidden = math.ceil(self._latency * max(1, pages) / max(used, 1e-6))
            self.wanted = min(max(hidden, enough), self._most)
        elif scarce and load < _IDLE:
            self.wanted = min(enough, 2 * self.wanted, self._most)
        elif scarce and self._was_scarce:  # nearly busy: one more, if that was no moment's whim
            self.wanted = min(self.wanted + 1, self._most)
        elif enough < self.wanted:
            self.wanted -= 1
        self._was_scarce = scarce
