"""The request log of a practice site, and what it says about a crawler's manners."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

__all__ = ["LogReader", "LogWriter", "Request", "closest", "count_repeats", "read_log", "to_frame"]

CLOCK_OFFSET = time.time() - time.monotonic()
"""Added to the monotonic clock it gives UTC, and the differences stay exact if UTC is set."""

KEPT_HEADERS = (
    "accept",
    "accept-encoding",
    "accept-language",
    "authorization",
    "connection",
    "cookie",
    "from",
    "host",
    "if-modified-since",
    "if-none-match",
    "range",
    "referer",
)
"""Request headers that the log keeps, besides the User-Agent."""


class Request(NamedTuple):
    """One request that arrived.

    Parameters
    ----------
    at
        When it had arrived: seconds of the monotonic clock, good for differences.
    epoch
        The same as seconds of UTC.
    host
        ``address:port`` that was asked.
    method, path, query
        From the request line; ``query`` is None where there is no question mark.
    status
        What it was answered with; None where the answer was a fault without a status.
    bytes
        Bytes of the body sent.
    user_agent
        The User-Agent, or None.
    connection
        Number of the connection, counted from 1.
    headers
        The other headers of interest, names in lower case.
    """

    at: float
    epoch: float
    host: str
    method: str
    path: str
    query: str | None
    status: int | None
    bytes: int
    user_agent: str | None
    connection: int
    headers: dict[str, str]

    @property
    def target(self) -> str:
        """Path and query as they stood in the request line."""
        return self.path if self.query is None else f"{self.path}?{self.query}"

    @property
    def url(self) -> str:
        """The URL that was asked for."""
        return f"http://{self.host}{self.target}"


class LogWriter:
    """Keeps requests in memory, or appends them to a file of JSON lines, or both.

    Parameters
    ----------
    path
        The file, or None.
    memory
        Whether to keep them in memory as well.
    """

    def __init__(self, path: Path | None, *, memory: bool) -> None:
        self.requests: list[Request] = []
        self._memory = memory
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file = None if path is None else os.open(path, flags, 0o644)

    def add(self, request: Request) -> None:
        """Note one request; a line is in the file before the answer is sent."""
        if self._memory:
            self.requests.append(request)
        if self._file is not None:
            os.write(self._file, json.dumps(request, separators=(",", ":")).encode() + b"\n")

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return 0 if self._file is None else os.fstat(self._file).st_size

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class LogReader:
    """Reads a growing file of JSON lines, each line once.

    Parameters
    ----------
    path
        The file; one that is not there is empty.
    offset
        Where to begin, in bytes.
    """

    def __init__(self, path: Path, offset: int = 0) -> None:
        self._path = path
        self._offset = offset
        self._requests: list[Request] = []

    def read(self) -> list[Request]:
        """Return all requests since the offset."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._offset)
                # A line that is being written has no end yet: it waits for the next time.
                whole, newline, _ = file.read().rpartition(b"\n")
            self._offset += len(whole) + len(newline)
            self._requests += [Request(*json.loads(line)) for line in whole.splitlines() if line]
        return list(self._requests)

    def skip_to(self, offset: int) -> None:
        """Forget everything before the offset."""
        self._offset = offset
        self._requests.clear()


def read_log(path: str | os.PathLike[str]) -> list[Request]:
    """Return the requests in a log file.

    Parameters
    ----------
    path
        File written by `serve` or by ``python -m crawlkit.lab`` with ``log``.

    Returns
    -------
    list of Request
        In order of arrival.
    """
    return LogReader(Path(path)).read()


def closest(requests: Iterable[Request], host: str | None = None) -> float:
    """Return the smallest gap in seconds between two requests to one host.

    Parameters
    ----------
    requests
        Any requests.
    host
        Only this host (``address:port``); None looks at each host by itself.

    Returns
    -------
    float
        Seconds from start to start; infinity where no host was asked twice.
    """
    last: dict[str, float] = {}
    gap = float("inf")
    for request in sorted(requests, key=lambda each: each.at):
        if host is None or request.host == host:
            gap = min(gap, request.at - last.get(request.host, -float("inf")))
            last[request.host] = request.at
    return gap


def count_repeats(requests: Iterable[Request], paths: Iterable[str] | None = None) -> int:
    """Return how many requests there were beyond the first of each URL.

    Parameters
    ----------
    requests
        Any requests.
    paths
        Count these paths (with query) only; None counts all but robots.txt.
    """
    wanted = None if paths is None else set(paths)
    urls = [
        request.url
        for request in requests
        if (request.target in wanted if wanted is not None else request.path != "/robots.txt")
    ]
    return len(urls) - len(set(urls))


def to_frame(requests: Sequence[Request]) -> pd.DataFrame:
    """Return requests as a table with the same columns and dtypes also when there are none.

    Returns
    -------
    DataFrame
        ``at`` (float64, monotonic seconds), ``time`` (datetime64[us, UTC]), ``host method url
        path query`` (str), ``status`` (Int64), ``bytes`` (int64), ``user_agent`` (str),
        ``connection`` (int64), and ``accept accept_encoding accept_language authorization
        connection_header cookie from host_header if_modified_since if_none_match range referer``
        (str); what a request did not have is null.
    """
    import pandas as pd

    columns = {
        "at": pd.Series([each.at for each in requests], dtype="float64"),
        "time": pd.to_datetime(
            pd.Series([round(each.epoch * 1e6) for each in requests], dtype="int64"),
            unit="us",
            utc=True,
        ).astype("datetime64[us, UTC]"),
    }
    for name in ("host", "method", "url", "path", "query"):
        columns[name] = pd.Series([getattr(each, name) for each in requests], dtype="str")
    columns["status"] = pd.Series([each.status for each in requests], dtype="Int64")
    columns["bytes"] = pd.Series([each.bytes for each in requests], dtype="int64")
    columns["user_agent"] = pd.Series([each.user_agent for each in requests], dtype="str")
    columns["connection"] = pd.Series([each.connection for each in requests], dtype="int64")
    for header in KEPT_HEADERS:
        name = header.replace("-", "_")
        name = f"{name}_header" if name in columns else name
        columns[name] = pd.Series([each.headers.get(header) for each in requests], dtype="str")
    return pd.DataFrame(columns)
