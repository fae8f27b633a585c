"""Serves one CGI program (RFC 3875) on 127.0.0.1: a process for each request, a few at a time.

python benchmarks/cgi_host.py PROGRAM PORT [--set NAME=VALUE ...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

__all__ = ["CgiHandler"]

AT_ONCE = threading.Semaphore(3)
SECONDS = 60.0


class CgiHandler(BaseHTTPRequestHandler):
    """Answers with what the program writes; any other path does not exist."""

    protocol_version = "HTTP/1.1"
    program: ClassVar[Path]
    given: ClassVar[dict[str, str]]
    server: ThreadingHTTPServer

    def do_GET(self) -> None:
        """Run the program."""
        path, _, query = self.path.partition("?")
        script = f"/{self.program.name}"
        if path != script and not path.startswith(f"{script}/"):
            self._answer(404, [("Content-Type", "text/plain")], b"There is nothing here.\n")
            return
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "GATEWAY_INTERFACE": "CGI/1.1",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(self.server.server_port),
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": "GET",
            "REQUEST_URI": self.path,
            "SCRIPT_NAME": script,
            "SCRIPT_FILENAME": str(self.program),
            "PATH_INFO": path[len(script) :],
            "QUERY_STRING": query,
            "HTTP_HOST": self.headers.get("Host", ""),
            "HTTP_ACCEPT": self.headers.get("Accept", "*/*"),
            **self.given,
        }
        with AT_ONCE:
            done = subprocess.run(
                [str(self.program)], env=environment, capture_output=True, check=False,
                timeout=SECONDS, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        head, _, body = done.stdout.replace(b"\r\n", b"\n", 40).partition(b"\n\n")
        status, headers = 200, []
        for line in head.decode("latin-1").split("\n"):
            name, _, value = line.partition(":")
            if name.lower() == "status":
                status = int(value.split()[0])
            elif value and name.lower() not in ("connection", "content-length"):
                headers.append((name, value.strip()))
        self._answer(status if headers else 502, headers, body)

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    CgiHandler.program = given.program
    CgiHandler.given = dict(one.split("=", 1) for one in given.set)
    ThreadingHTTPServer(("127.0.0.1", given.port), CgiHandler).serve_forever()


if __name__ == "__main__":
    main()
