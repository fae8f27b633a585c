"""All replays of a comparison, in this process and where it pays in others beside it.

The helpers are plain ``python -m`` processes that read tasks from a pipe. They never import the
caller's script or notebook, so nothing in it runs twice, whatever the platform; an ordering that
is defined there is replayed in the caller's own process, and so is all that fails in a helper.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections import deque
from typing import IO, TYPE_CHECKING, Any

from crawlkit.order.comparison_runs import Plan, RunResult, Task, run_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawlkit.order.base import Ordering

__all__ = ["run_all"]

# Starting a helper costs about two seconds: worth it from this many links to follow, all in all.
_WORTH_HELPERS = 20_000_000


def run_all(
    plan: Plan,
    tasks: list[Task],
    *,
    processes: int | None,
    done: Callable[[], object],
) -> tuple[list[RunResult], bool]:
    """Work off all tasks; return the results, and whether an interrupt ended it early.

    Parameters
    ----------
    plan
        What the tasks share.
    tasks
        The tasks; they are begun in this order.
    processes
        Processes to use, this one included; by default one a processor where that pays.
    done
        Called after each task.
    """
    waiting: deque[Task] = deque()
    local: deque[Task] = deque()
    movable = [_can_travel(ordering) for ordering in (plan.orders[0] if plan.orders else [])]
    for task in tasks:
        (waiting if task.order is None or movable[task.order] else local).append(task)
    results: list[RunResult] = []
    finished: queue.SimpleQueue[RunResult] = queue.SimpleQueue()
    helpers: list[_Helper] = []
    try:
        count = _helper_count(plan, len(waiting), processes)
        shipped = plan.without(movable) if count else plan
        helpers += [_Helper(shipped, waiting, local, finished) for _ in range(count)]
        while len(results) < len(tasks):
            next_task = _pop(local) or _pop(waiting)
            if next_task is not None:
                results.append(run_task(plan, next_task))
                done()
            for result in _arrived(finished, wait=next_task is None):
                results.append(result)
                done()
    except KeyboardInterrupt:
        return results, True
    finally:
        for helper in helpers:
            helper.stop()
    return results, False


def _arrived(finished: queue.SimpleQueue[RunResult], *, wait: bool) -> Iterator[RunResult]:
    """Give the results that helpers have sent; wait a little for the first one."""
    with contextlib.suppress(queue.Empty):
        yield finished.get(block=wait, timeout=0.2)
        while True:
            yield finished.get_nowait()


def _pop(tasks: deque[Task]) -> Task | None:
    try:
        return tasks.popleft()
    except IndexError:
        return None


def _can_travel(ordering: Ordering) -> bool:
    """Return whether another process could have the ordering: not if it is of the notebook's."""
    if type(ordering).__module__ == "__main__":
        return False
    try:
        return b"__main__" not in pickle.dumps(ordering)
    except Exception:  # noqa: BLE001 - whatever an object of the caller's does not like
        return False


def _helper_count(plan: Plan, tasks: int, processes: int | None) -> int:
    if processes is None:
        work = tasks * (plan.graph.nodes + plan.graph.links)
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
        processes = (available or os.cpu_count() or 1) if work >= _WORTH_HELPERS else 1
    return max(0, min(processes - 1, tasks - 1))


class _Helper(threading.Thread):
    """Feeds one helper process with tasks; what it cannot do, this process does."""

    def __init__(
        self,
        plan: Plan,
        waiting: deque[Task],
        local: deque[Task],
        finished: queue.SimpleQueue[RunResult],
    ) -> None:
        super().__init__(daemon=True)
        self._plan, self._waiting, self._local, self._finished = plan, waiting, local, finished
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        # A new session: an interrupt at the terminal is for this process, which ends the others.
        with contextlib.suppress(OSError, ValueError):  # then this process does it alone
            self._process = subprocess.Popen(
                [sys.executable, "-m", "crawlkit.order.comparison_helpers"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,
            )
            self.start()

    def run(self) -> None:
        """Send tasks one by one and collect the results."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return
        task: Task | None = None
        try:
            _send(process.stdin, self._plan)
            while not self._stopped:
                with contextlib.suppress(IndexError):
                    task = self._waiting.popleft()
                if task is None:
                    return
                _send(process.stdin, task)
                answer = pickle.load(process.stdout)  # noqa: S301 - from our own child
                if answer is None:  # this process will see the error for itself
                    self._local.append(task)
                else:
                    self._finished.put(answer)
                task = None
        except Exception:  # noqa: BLE001 - a pipe that broke, labels that no other process can have
            if task is not None:
                self._local.append(task)

    def stop(self) -> None:
        """End the process and wait for it."""
        self._stopped = True
        if self._process is None:
            return
        self._process.kill()
        if self.is_alive():
            self.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()


def _send(pipe: IO[bytes], thing: Any) -> None:
    pickle.dump(thing, pipe, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Be a helper: read the plan, then answer one task after the other."""
    plan: Plan = pickle.load(source)  # noqa: S301 - from the process that started this one
    while True:
        try:
            task: Task = pickle.load(source)  # noqa: S301 - as above
        except EOFError:
            return
        answer: RunResult | None = None
        with contextlib.suppress(Exception):
            answer = run_task(plan, task)
        _send(sink, answer)


def _main() -> None:
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what an ordering prints is no answer
    with sink:
        _serve(sys.stdin.buffer, sink)


if __name__ == "__main__":
    _main()
