"""A process that crawls, or reads a crawl, and may be killed: it is told by one JSON argument.

It prints one line of JSON. Exit code 0: `crawl` returned; 3: it raised an error of crawlkit; 4: it
let a KeyboardInterrupt through.

    python crawl_child.py '{"seeds": "http://127.0.0.1:8000/", "folder": "crawl", "delay": 0}'

Beside the arguments of `crawlkit.crawl`, whose ``limits`` are a dict here:

``extract``           ``"product"``, or ``"deadly:TEXT"``, which ends the process on pages whose URL
                      holds TEXT
``clock``             seconds that `time.time` is off; with ``clock_after``, only after so many
``segment_results``   results to a Parquet segment
``file_size``         no file may grow beyond so many bytes (RLIMIT_FSIZE)
``user``              go on as this user id, once everything is imported
``go``                wait until this file is there, so that several processes start at once
``read_until``        do not crawl: read the tables again and again until this file is there
``die_at_every``      name of a fault point: crawl into folders 1, 2, 3 ... of the folder, each in a
                      fork that dies when it passes the point for the first, second, third time
                      ..., until one lives
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import crawlkit as ck
from crawlkit.crawling import engine, faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Extractor = Callable[[Any], Iterable[dict[str, object]]]

EXIT_RETURNED, EXIT_ERROR, EXIT_INTERRUPTED = 0, 3, 4
EXIT_POISONED = 9


def deadly_extractor(text: str) -> Extractor:
    """Return an extractor that takes the whole process down on some pages."""

    def extract(page: Any) -> Iterator[dict[str, object]]:
        if text in page.url:
            os._exit(EXIT_POISONED)
        yield from ck.lab.extract_product(page)

    return extract


def extractor_named(name: str | None) -> Extractor | None:
    if name is None:
        return None
    kind, _, text = name.partition(":")
    return ck.lab.extract_product if kind == "product" else deadly_extractor(text)


def shift_clock(seconds: float, after: float) -> None:
    """Set the clock that crawlkit reads; the monotonic clock goes on as it does."""
    real, start = time.time, time.monotonic() + after
    time.time = lambda: real() + (seconds if time.monotonic() >= start else 0.0)


def load_everything() -> None:
    """Import now what would be imported on first use."""
    import pandas  # noqa: F401, ICN001
    import pyarrow.compute
    import pyarrow.json
    import pyarrow.parquet  # noqa: F401

    for module in ("crawling.api", "lab", "web.robots"):
        importlib.import_module(f"crawlkit.{module}")


def become(user: int) -> None:
    """Give the rights of root up; what is imported later may be out of reach."""
    load_everything()
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def prepare(options: dict[str, Any]) -> None:
    """Do what the options say about the process itself."""
    if "clock" in options:
        shift_clock(options.pop("clock"), options.pop("clock_after", 0.0))
    if "segment_results" in options:
        engine._SEGMENT_RESULTS = options.pop("segment_results")
    if "file_size" in options:
        import resource

        size = options.pop("file_size")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    if "user" in options:
        become(options.pop("user"))
    if "go" in options:
        importlib.import_module("crawlkit.crawling.api")
        go = Path(options.pop("go"))
        while not go.exists():
            time.sleep(0.001)


def crawl(options: dict[str, Any]) -> dict[str, Any]:
    options["extract"] = extractor_named(options.pop("extract", None))
    options["limits"] = ck.Limits(**options.pop("limits", {}))
    found = ck.crawl(progress=False, **options)
    # Returned: a signal that comes only now is too late to show anything.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    summary = found.summary()
    return {
        "stop_reason": summary["stop_reason"],
        "pages": summary["pages"],
        "urls": summary["urls"],
        "hints": summary["hints"],
    }


def die_at_every(point: str, options: dict[str, Any]) -> dict[str, Any]:
    """Die at each passage of a fault point; forks save the start of a process for each death."""
    load_everything()
    folder = Path(options["folder"])
    ends: list[int] = []
    while not ends or ends[-1] == -signal.SIGKILL:
        number = len(ends) + 1
        child = os.fork()
        if child == 0:
            os.environ["CRAWLKIT_FAULT"] = f"{point}:{number}"
            importlib.reload(faults)
            try:
                crawl({**options, "folder": str(folder / str(number))})
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return {"ends": ends}


def begun(folder: str) -> bool:
    try:
        ck.open_crawl(folder)
    except ck.FolderUnusable:
        return False
    return True


def read(folder: str, until: Path) -> dict[str, Any]:
    """Read while somebody else crawls; every look must show each row once, and no fewer rows."""
    while not begun(folder):
        time.sleep(0.001)
    pages = links = 0
    for look in itertools.count(1):
        last = until.exists()
        crawl = ck.open_crawl(folder)
        urls = crawl.pages["url"]
        assert urls.is_unique, f"look {look}: pages shows a URL twice"
        assert len(urls) >= pages, f"look {look}: {len(urls)} pages after {pages}"
        pages = len(urls)
        found = crawl.links
        assert not found.duplicated(["source", "position"]).any(), f"look {look}: a link twice"
        assert len(found) >= links, f"look {look}: {len(found)} links after {links}"
        links = len(found)
        if last:
            break
    return {"looks": look, "pages": pages, "links": links}


def main() -> int:
    options: dict[str, Any] = json.loads(sys.argv[1])
    # A shell starts background jobs with interrupts ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = EXIT_RETURNED
    try:
        prepare(options)
        if "die_at_every" in options:
            answer = die_at_every(options.pop("die_at_every"), options)
        elif "read_until" in options:
            answer = read(options["folder"], Path(options["read_until"]))
        else:
            answer = crawl(options)
    except ck.CrawlkitError as error:
        answer, code = {"error": type(error).__name__, "message": str(error)}, EXIT_ERROR
    except KeyboardInterrupt:
        answer, code = {"error": "KeyboardInterrupt"}, EXIT_INTERRUPTED
    print(json.dumps(answer), flush=True)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
