"""`serve`: a practice site in this process or in one of its own, its request log, its truth."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from crawlkit.errors import BadSetting, CrawlkitError
from crawlkit.lab.content import Section
from crawlkit.lab.log import LogReader, closest, count_repeats, to_frame
from crawlkit.lab.server import LabServer, Latency
from crawlkit.lab.site import Site, make_sections, section_to_text
from crawlkit.lab.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from crawlkit.lab.log import Request

__all__ = ["PracticeSite", "serve"]

PACKAGE_ROOT = Path(__file__).resolve().parents[2]


class Backend(Protocol):
    """Where the site is served."""

    bases: list[str]
    pid: int

    def requests(self) -> list[Request]:
        """Return the log."""

    def forget(self) -> None:
        """Empty the log."""

    def set_latency(self, latency: Latency) -> None:
        """Change the latency."""

    def close(self) -> None:
        """Stop serving."""


class PracticeSite:
    """A running practice site; made by `serve`, closed by ``with`` or `close`.

    Attributes
    ----------
    url : str
        Root of the first host, with a slash at its end.
    hosts : list of str
        Roots of all hosts.
    truth : Truth
        What is true about the site.
    pid : int
        Id of the process that serves it.
    """

    def __init__(self, backend: Backend, sections: Sequence[Section], seed: int) -> None:
        self._backend = backend
        self.sections = tuple(sections)
        self.seed = seed
        self.hosts = list(backend.bases)
        self.url = self.hosts[0]
        self.pid = backend.pid
        self.truth = Truth(Site(sections, seed, backend.bases))
        # Closes also what a notebook drops without `close`, and at exit.
        self._close = weakref.finalize(self, close_here, backend, os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        names = ", ".join(section.name for section in self.sections)
        state = "" if self._close.alive else ", closed"
        return f"<PracticeSite {self.url} with {names}; {len(self.hosts)} host(s){state}>"

    @property
    def seeds(self) -> list[str]:
        """First page of every section on every host."""
        return [
            base + section.name + "/"
            for host, base in enumerate(self.hosts)
            for section in self.sections
            if section.on is None or host in section.on
        ]

    @property
    def requests(self) -> list[Request]:
        """Every request since the start, or since `forget`, in order of arrival."""
        return self._backend.requests()

    def requests_frame(self) -> pd.DataFrame:
        """Return the request log as a table.

        Returns
        -------
        DataFrame
            ``at`` (float64, seconds of the monotonic clock), ``time`` (datetime64[us, UTC]),
            ``host method url path query`` (str), ``status`` (Int64, null after a reset),
            ``bytes`` (int64), ``user_agent`` (str), ``connection`` (int64) and one str column
            for each request header of interest.
        """
        return to_frame(self.requests)

    def closest_requests(self, host: str | None = None) -> float:
        """Return the smallest gap between the starts of two requests to one host.

        Parameters
        ----------
        host
            One of `hosts`, or its ``address:port``; None looks at each host by itself.

        Returns
        -------
        float
            Seconds; infinity where no host was asked twice.
        """
        name = None if host is None else host.removeprefix("http://").rstrip("/")
        if name is not None and name not in {base.split("/")[2] for base in self.hosts}:
            raise BadSetting("host", f"{host!r} is no host of this site", "Use one of site.hosts.")
        return closest(self.requests, name)

    def repeats(self, paths: Iterable[str] | None = None) -> int:
        """Return the number of requests beyond the first of each URL.

        Parameters
        ----------
        paths
            Count these paths (with query) only; None counts all but robots.txt.
        """
        return count_repeats(self.requests, paths)

    def forget(self) -> None:
        """Empty the log; pages that fail only at first fail again."""
        self._backend.forget()

    def set_latency(self, latency: Latency) -> None:
        """Change how long every answer takes, from the next request on.

        Parameters
        ----------
        latency
            Seconds, or (not with ``process=True``) a function of the path that gives them.
        """
        self._backend.set_latency(check_latency(latency))

    def close(self) -> None:
        """Stop serving; the log stays readable, and closing twice is fine."""
        self._close()


class InThread:
    """Serves from a thread of this process."""

    def __init__(self, server: LabServer) -> None:
        self._server = server
        self.bases = server.bases
        self.pid = os.getpid()

    def requests(self) -> list[Request]:
        """Return the log."""
        return list(self._server.log.requests)

    def forget(self) -> None:
        """Empty the log."""
        self._server.forget()

    def set_latency(self, latency: Latency) -> None:
        """Change the latency."""
        self._server.latency = latency

    def close(self) -> None:
        """Stop serving."""
        self._server.close()


class InProcess:
    """Serves from a process of its own, which ends with this one however this one ends."""

    def __init__(self, options: list[str], log: Path | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="crawlkit-lab-")) if log is None else None
        path = log if self._folder is None else self._folder / "requests.jsonl"
        assert path is not None  # noqa: S101 - one of the two is there
        self._reader = LogReader(path, path.stat().st_size if path.exists() else 0)
        if self._folder is not None:
            options = [*options, "--temporary"]
        start = "import sys; sys.path.append({!r}); from crawlkit.lab.__main__ import main; main()"
        # -P: a notebook's folder must not shadow modules. A session of its own: an interrupt of
        # the notebook is meant for the crawl, not for the site.
        command = [sys.executable, "-P", "-c", start.format(str(PACKAGE_ROOT))]
        with tempfile.TemporaryFile() as errors:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [*command, "--log", str(path), *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
            self.pid = self._process.pid
            try:
                self.bases = list(self._read()["hosts"])
            except BaseException as error:
                self.close()
                errors.seek(0)
                text = errors.read().decode(errors="replace").strip().splitlines() or ["no reason"]
                if isinstance(error, CrawlkitError):
                    problem = f"the site's process did not start: {text[-1]}"
                    raise BadSetting("process", problem, "See the message.") from error
                raise

    def _read(self) -> dict[str, Any]:
        """Read one line of the other process."""
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise CrawlkitError("The practice site's process has ended.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _tell(self, command: dict[str, object]) -> None:
        """Send one command."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise CrawlkitError("The practice site's process has ended.") from error

    def requests(self) -> list[Request]:
        """Return the log."""
        return self._reader.read()

    def forget(self) -> None:
        """Empty the log; the file keeps what is in it."""
        self._tell({"forget": True})
        self._reader.skip_to(int(self._read()["size"]))

    def set_latency(self, latency: Latency) -> None:
        """Change the latency."""
        self._tell({"latency": latency_number(latency)})
        self._read()

    def close(self) -> None:
        """Stop serving, and read the last of the log."""
        process = self._process
        with contextlib.suppress(CrawlkitError):
            self._tell({"close": True})
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._reader.read()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def close_here(backend: Backend, owner: int) -> None:
    """Close the site, unless this is a fork of the process that serves it."""
    if os.getpid() == owner:
        backend.close()


def check_latency(latency: Latency) -> Latency:
    """Return a latency that can be used, or raise `BadSetting`."""
    if callable(latency):
        return latency
    if not math.isfinite(latency) or latency < 0:
        raise BadSetting("latency", f"{latency} is no time", "Pass seconds, 0 or more.")
    return latency


def latency_number(latency: Latency) -> float:
    """Return a latency that another process can be told, or raise `BadSetting`."""
    if callable(latency):
        raise BadSetting(
            "latency", "a function cannot be sent to another process", "Use process=False."
        )
    return latency


def serve(
    sections: str | Section | Sequence[str | Section] = ("shop",),
    *,
    seed: int = 0,
    latency: Latency = 0.0,
    hosts: int | Sequence[str] = 1,
    process: bool = False,
    port: int = 0,
    log: str | os.PathLike[str] | None = None,
) -> PracticeSite:
    """Serve a practice site on loopback, with a request log and the truth about it.

    Parameters
    ----------
    sections
        Names from `SECTIONS`, or section objects with their own options, such as
        ``lab.Slow(seconds=2, on=(1,))``. Each is served under ``/<name>/``.
    seed
        Same seed and sections, same pages. (Links between hosts, and one canonical and redirect
        that are absolute, name the port.)
    latency
        Seconds that every answer takes, or a function of the path that gives them.
    hosts
        How many hosts (127.0.0.1, 127.0.0.2 ... on one port; where a system has only the first
        of these, ports), or their loopback addresses. Each has its own robots.txt and content.
    process
        Serve from a process of its own: it takes no time from this one's threads, outlives no
        crash of this one, and is not hit by an interrupt of the notebook.
    port
        Port of the hosts; 0 takes a free one.
    log
        File to which every request is appended as a line of JSON before it is answered.

    Returns
    -------
    PracticeSite
        Already serving. Use it in ``with``, or call ``close``.

    Raises
    ------
    BadSetting
        On an unknown section, a taken port, an address that is not loopback.

    Examples
    --------
    >>> from crawlkit import lab
    >>> with lab.serve(("shop",)) as site:
    ...     len(site.truth.urls("shop")), len(site.requests)
    (525, 0)
    """
    if isinstance(sections, str | Section):
        sections = (sections,)
    count = hosts if isinstance(hosts, int) else len([hosts] if isinstance(hosts, str) else hosts)
    made = make_sections(sections, hosts=count)
    check_latency(latency)
    path = None if log is None else Path(log)
    if not process:
        server = LabServer(
            made, seed=seed, hosts=hosts, port=port, latency=latency, log=path, memory=True
        )
        return PracticeSite(InThread(server), made, seed)
    options = [f"--seed={seed}", f"--port={port}", f"--latency={latency_number(latency)}"]
    options += [f"--section={section_to_text(section)}" for section in made]
    if isinstance(hosts, int):
        options.append(f"--hosts={hosts}")
    else:
        options += [f"--address={each}" for each in ([hosts] if isinstance(hosts, str) else hosts)]
    return PracticeSite(InProcess(options, path), made, seed)
