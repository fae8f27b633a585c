"""``python -m crawlkit.lab``: serve a practice site until killed or until the parent is gone."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from crawlkit.errors import BadSetting
from crawlkit.lab.practice import check_latency
from crawlkit.lab.server import LabServer
from crawlkit.lab.site import SECTIONS, make_sections, section_from_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

PARENT_CHECK = 0.5
"""Seconds between two looks at whether the parent is still there."""


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    made = argparse.ArgumentParser(
        prog="python -m crawlkit.lab",
        description="Serve a practice site on loopback. Prints its addresses as a line of JSON, "
        "and serves until it is killed, its standard input (a pipe) is closed, or its parent ends.",
        epilog="example: python -m crawlkit.lab --section shop --section 'slow:{\"seconds\": 2}' "
        "--port 8000 --log requests.jsonl",
    )
    made.add_argument(
        "--section",
        action="append",
        metavar="NAME[:JSON]",
        help=f"a section with its options; again for more (default: shop). "
        f"There are: {', '.join(SECTIONS)}",
    )
    made.add_argument("--seed", type=int, default=0, help="seed of the content (default: 0)")
    made.add_argument("--latency", type=float, default=0.0, help="seconds each answer takes")
    made.add_argument("--hosts", type=int, default=1, help="number of hosts: 127.0.0.1, .2 ...")
    made.add_argument("--address", action="append", help="a loopback address, instead of --hosts")
    made.add_argument("--port", type=int, default=0, help="port; 0 takes a free one (default)")
    made.add_argument("--log", type=Path, help="file to append requests to, as JSON lines")
    # Set by `serve`, which removes the log's folder itself unless it is killed.
    made.add_argument("--temporary", action="store_true", help=argparse.SUPPRESS)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve; exit code 2 says that an argument cannot work."""
    parent = os.getppid()
    given = parser().parse_args(arguments)
    try:
        sections = [section_from_text(text) for text in given.section or ["shop"]]
        hosts = given.address or given.hosts
        count = len(hosts) if isinstance(hosts, list) else hosts
        server = LabServer(
            make_sections(sections, hosts=count),
            seed=given.seed,
            hosts=hosts,
            port=given.port,
            latency=check_latency(given.latency),
            log=given.log,
            memory=False,
        )
    except (BadSetting, OSError) as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from error
    asked = False
    try:
        # Ctrl-C ends it, and so does a parent that no longer listens.
        with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
            say({"url": server.bases[0], "hosts": server.bases, "pid": os.getpid()})
            asked = attend(server, parent)
    finally:
        server.close()
        if given.temporary and not asked:
            shutil.rmtree(given.log.parent, ignore_errors=True)


def say(message: dict[str, object]) -> None:
    """Write a line of JSON."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def attend(server: LabServer, parent: int) -> bool:
    """Obey commands on standard input until told to close, or until nobody is there.

    Returns whether it was told to close.
    """
    source = sys.stdin.fileno() if sys.stdin is not None else None
    if source is not None:
        # Only a pipe says that somebody is there: a terminal belongs to the user, and a server
        # in the background has /dev/null, which is at its end from the start.
        mode = os.fstat(source).st_mode
        source = source if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None
    pending = b""
    while os.getppid() == parent:
        if source is None:
            time.sleep(PARENT_CHECK)
            continue
        if os.name == "posix" and not select.select([source], [], [], PARENT_CHECK)[0]:
            continue
        data = os.read(source, 65_536)
        if not data:
            return False
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            if command.get("close"):
                return True
            say(obey(server, command))
    return False


def obey(server: LabServer, command: dict[str, object]) -> dict[str, object]:
    """Carry out one command."""
    latency = command.get("latency")
    if isinstance(latency, int | float):
        server.latency = float(latency)
    size = 0
    if command.get("forget"):

        def run() -> None:
            nonlocal size
            server.site.forget()
            size = server.log.size()

        server.call(run)
    return {"done": True, "size": size}


if __name__ == "__main__":
    main()
