"""Real sites for the benchmarks: Debian documentation packages, served on the loopback address.

``serve("pg")`` starts an nginx of its own (one worker, own configuration, own folder, a free port
of 127.0.0.1) or, with ``latency``, a small delaying server, and stops it again. Packages and nginx
are downloaded by apt into ``benchmarks/out/`` and unpacked there: nothing is installed, no system
service is started, and no root rights are needed.

Run as a script it fetches every site and lists them; with a name it serves that site until Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OUT", "SITES", "LogLine", "Site", "read_log", "serve", "site_root", "warm_cache"]

HERE = Path(__file__).resolve().parent
OUT = HERE / "out"
START_SECONDS = 15.0


@dataclass(frozen=True)
class Site:
    """A documentation package: the folder in it that is served, and the page a crawl starts at."""

    package: str
    root: str
    start: str


# The JDK's `/usr/share/doc/openjdk-17-doc` holds only symbolic links into the folder named here,
# and its top-level index.html is a mere "refresh" to the start page of the API.
SITES = {
    "pg": Site("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html", "index.html"),
    "jdk": Site("openjdk-17-doc", "usr/share/doc/openjdk-17-jre-headless", "api/index.html"),
    "python": Site("python3.11-doc", "usr/share/doc/python3.11/html", "index.html"),
    "sqlite": Site("sqlite3-doc", "usr/share/doc/sqlite3", "index.html"),
}

NGINX_CONFIG = """\
daemon off;
{user}worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 1024; }}
http {{
  types {{
    text/html html htm; application/xhtml+xml xhtml; text/css css; text/plain txt md py;
    text/xml xml; image/svg+xml svg; image/png png; image/gif gif; image/jpeg jpg jpeg;
    application/javascript js; application/pdf pdf; application/zip zip;
  }}
  default_type application/octet-stream;
  charset utf-8;
  gzip off;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=20000 inactive=600s;
  keepalive_timeout 75s;
  keepalive_requests 1000000;
  log_format timing '$msec\\t$request_time\\t$status\\t$body_bytes_sent\\t$sent_http_content_type'
                    '\\t$request_method\\t$request_uri';
  access_log {access_log};
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    root "{root}";
    index index.html;
  }}
}}
"""


def _download(package: str) -> Path:
    """Return the package's .deb in ``out/packages``, downloading it with apt when it is missing."""
    folder = OUT / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    if not (found := sorted(folder.glob(f"{package}_*.deb"))):
        command = ["apt-get", "download", package]
        if subprocess.run(command, cwd=folder, check=False, capture_output=True).returncode:
            subprocess.run(["apt-get", "update", "-q"], check=False, capture_output=True)
            subprocess.run(command, cwd=folder, check=True)
        found = sorted(folder.glob(f"{package}_*.deb"))
    return found[-1]


def _unpacked(package: str) -> Path:
    """Return the folder that the package is unpacked in; a half-unpacked one is never used."""
    target = OUT / "sites" / package
    if not target.exists():
        partial = target.with_name(f".{package}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        subprocess.run(["dpkg", "-x", str(_download(package)), str(partial)], check=True)
        partial.rename(target)
    return target


def site_root(name: str) -> Path:
    """Return the document root of a site, fetching its package first when it is missing."""
    site = SITES[name]
    return _unpacked(site.package) / site.root


def _nginx() -> Path:
    """Return an nginx program: the system's, else one unpacked from Debian's package."""
    for candidate in (shutil.which("nginx"), "/usr/sbin/nginx"):
        if candidate and Path(candidate).exists():
            return Path(candidate)
    return _unpacked("nginx") / "usr/sbin/nginx"


def warm_cache(name: str) -> None:
    """Read every file of the site once, so that no side of a comparison pays for the disk."""
    for path in site_root(name).rglob("*"):
        if path.is_file():
            path.read_bytes()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(process: subprocess.Popen[bytes], port: int, errors: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise RuntimeError(f"the server did not start: {errors.read_text(errors='replace')[-2000:]}")


@contextlib.contextmanager
def serve(
    site_name: str, latency: float = 0.0, access_log: str | Path | None = None
) -> Iterator[str]:
    """Serve a site on 127.0.0.1 until the block ends; yields its base URL, which ends in a slash.

    Parameters
    ----------
    site_name : str
        A name in ``SITES``. The page to start at is ``base + SITES[site_name].start``.
    latency : float
        Seconds between a request's arrival and its answer; 0 for none (nginx).
    access_log : str or Path, optional
        File that gets one line per request, to be read with ``read_log``.
    """
    root = site_root(site_name)
    log = None if access_log is None else Path(access_log).resolve()
    with tempfile.TemporaryDirectory(prefix="crawlkit-bench-") as name:
        folder, port = Path(name), _free_port()
        errors = folder / "stderr"
        if latency:
            command = [sys.executable, str(HERE / "delay_server.py"), str(root), str(port)]
            command += ["--latency", str(latency), *(["--log", str(log)] if log else [])]
        else:
            config = NGINX_CONFIG.format(
                user="user root;\n" if os.geteuid() == 0 else "",  # the folders may be root's alone
                folder=folder,
                access_log=f'"{log}" timing' if log else "off",
                port=port,
                root=root,
            )
            (folder / "nginx.conf").write_text(config)
            command = [str(_nginx()), "-p", name, "-c", str(folder / "nginx.conf")]
            command += ["-e", str(folder / "error.log")]
        with errors.open("wb") as sink:
            process = subprocess.Popen(command, stderr=sink, stdout=sink)
        try:
            _wait_until_up(process, port, errors)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            process.wait(START_SECONDS)


class LogLine(NamedTuple):
    """One request as the server saw it; ``start`` and ``end`` are seconds since the epoch."""

    start: float
    end: float
    status: int
    bytes: int
    content_type: str
    method: str
    target: str


def read_log(path: str | Path, offset: int = 0) -> list[LogLine]:
    """Return the requests in an access log that ``serve`` wrote, from a byte offset on."""
    lines = []
    with Path(path).open("rb") as file:
        file.seek(offset)
        for line in file:
            end, took, status, size, kind, method, target = (
                line.decode("utf-8", "replace").rstrip("\n").split("\t", 6)
            )
            finished = float(end)
            start = finished - float(took)
            lines.append(LogLine(start, finished, int(status), int(size), kind, method, target))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", nargs="?", choices=sorted(SITES), help="serve this site")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds per response")
    arguments = parser.parse_args()
    if arguments.site is None:
        for name in SITES:
            root = site_root(name)
            html = sum(1 for _ in root.rglob("*.html"))
            print(f"{name}\t{html:,} HTML files\t{root}")
        return
    with serve(arguments.site, arguments.latency) as base, contextlib.suppress(KeyboardInterrupt):
        print(base + SITES[arguments.site].start, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
