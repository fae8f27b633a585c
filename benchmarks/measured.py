"""Runs a command and measures its process tree: wall time, CPU time and peak memory."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import psutil  # type: ignore[import-untyped]
from sites import OUT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["RIVALS", "Usage", "rivals_python", "run_measured", "spread"]

RIVALS = ("scrapy==2.19.*", "advertools==0.18.*")
SAMPLE_SECONDS = 0.25


@dataclass(frozen=True)
class Usage:
    """What a process tree cost: seconds, seconds of user and system CPU, MB at the peak."""

    wall: float
    cpu: float
    peak_mb: float

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return asdict(self)


def _tree_megabytes(root: psutil.Process) -> float:
    """Resident memory of a process and its descendants; 0 when they have gone."""
    total = 0
    try:
        for process in (root, *root.children(recursive=True)):
            total += process.memory_info().rss
    except psutil.Error:
        return 0.0
    return total / 1e6


class _Sampler(threading.Thread):
    """Samples a tree's memory; the kernel's own peak knows only its largest single process."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak, self._done, self._root = 0.0, threading.Event(), psutil.Process(pid)

    def run(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, _tree_megabytes(self._root))

    def finish(self) -> float:
        self._done.set()
        self.join()
        return self.peak


def run_measured(
    command: Sequence[str],
    *,
    log: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 3600.0,
) -> Usage:
    """Run a command to its end and return what it and its descendants cost.

    Output goes to ``log``. A command that fails, or that runs into the timeout and is stopped,
    raises RuntimeError with the end of the log.
    """
    environment = {**os.environ, **(env or {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # no side compiles its modules at every start
    with log.open("wb") as sink:
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdout=sink,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
        sampler = _Sampler(process.pid)
        sampler.start()
        # The group is the child's own session, so nothing but this command's tree is stopped.
        stopper = threading.Timer(timeout, os.killpg, (process.pid, signal.SIGKILL))
        stopper.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        finally:
            stopper.cancel()
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    peak = max(used.ru_maxrss * 1024 / 1e6, sampler.finish())
    if process.returncode:
        tail = log.read_text(errors="replace")[-3000:]
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(command)}\n{tail}")
    return Usage(wall, used.ru_utime + used.ru_stime, peak)


def rivals_python() -> Path:
    """Return the Python of the rivals' own virtual environment, making it when it is missing."""
    venv = OUT / "rivals-venv"
    python = venv / "bin" / "python"
    if not (venv / "complete").exists():
        print("making the rivals' virtual environment ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *RIVALS], check=True)
        (venv / "complete").touch()
    return python


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return the median, the least and the greatest of some figures."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}
