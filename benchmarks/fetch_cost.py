"""CPU time of one GET: Fetcher.fetch beside requests, urllib3 and http.client, in one run.

    python benchmarks/fetch_cost.py [--rounds 7] [--pages 600]

A server in a process of its own answers on loopback, with keep-alive, pages whose sizes are those
of a documentation site (median 11 kB). One thread asks for each page once per round and variant,
in turn; the figures are medians over the rounds, and ratios are taken within a round. Exits with
1 when Fetcher.fetch costs more than 0.55 of Session.get.
"""

from __future__ import annotations

import argparse
import http.client
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import requests
import urllib3
from requests.adapters import HTTPAdapter

from crawlkit.web.fetch import Fetcher

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = 0.55
HEADERS = {"User-Agent": "crawlkit", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}


def serve(pages: int) -> None:
    """Answer GET /<number> until killed; the port is the first line of the output."""
    draw = random.Random(7)
    answers = []
    for number in range(pages):
        size = int(min(60_000, draw.lognormvariate(9.3, 0.8)))
        body = (b"<p>page %d has <a href='/x'>a link</a> and words</p>\n" % number * size)[:size]
        head = (
            "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Mon, 30 Nov 2026 15:00:00 GMT\r\n"
            f"Content-Type: text/html; charset=utf-8\r\nContent-Length: {size}\r\n"
            "Last-Modified: Mon, 30 Nov 2026 14:00:00 GMT\r\nConnection: keep-alive\r\n"
            'ETag: "656895f0-2f1"\r\nAccept-Ranges: bytes\r\n\r\n'
        )
        answers.append(head.encode() + body)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_answer, args=(sock, answers), daemon=True).start()


def _answer(sock: socket.socket, answers: list[bytes]) -> None:
    pending = b""
    while data := sock.recv(65_536):
        pending += data
        while b"\r\n\r\n" in pending:
            head, _, pending = pending.partition(b"\r\n\r\n")
            sock.sendall(answers[int(head.split(b" ", 2)[1].rpartition(b"/")[2])])


def variants(port: int, fetcher: Fetcher) -> dict[str, Callable[[str], bytes]]:
    session, adapter = requests.Session(), HTTPAdapter()
    pool = urllib3.HTTPConnectionPool("127.0.0.1", port)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    origin = f"http://127.0.0.1:{port}"

    def session_get(url: str) -> bytes:
        return session.get(url).content

    def adapter_send(url: str) -> bytes:
        prepared = requests.PreparedRequest()
        prepared.method, prepared.url, prepared.headers = "GET", url, HEADERS  # type: ignore[assignment]
        response = adapter.send(prepared, stream=True)
        return bytes(response.raw.read(10_485_760, decode_content=True))

    def pool_urlopen(url: str) -> bytes:
        return pool.urlopen("GET", url.removeprefix(origin), headers=HEADERS, retries=False).data

    def http_client(url: str) -> bytes:
        connection.request("GET", url.removeprefix(origin), headers=HEADERS)
        return connection.getresponse().read()

    return {
        "requests Session.get": session_get,
        "requests HTTPAdapter.send": adapter_send,
        "urllib3 pool.urlopen": pool_urlopen,
        "http.client": http_client,
        "Fetcher.fetch": lambda url: fetcher.fetch(url).body,
    }


def measure(port: int, pages: int, rounds: int) -> float:
    urls = [f"http://127.0.0.1:{port}/{number}" for number in range(pages)]
    with Fetcher() as fetcher:
        asked = variants(port, fetcher)
        bodies = {name: [get(url) for url in urls] for name, get in asked.items()}  # also warms up
        assert all(body == bodies["http.client"] for body in bodies.values())
        cost: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(rounds):
            for name, get in asked.items():
                begun = time.process_time()
                for url in urls:
                    get(url)
                cost[name].append((time.process_time() - begun) / pages * 1e6)
    base = cost["requests Session.get"]
    print(f"{'CPU per GET':<28}{'us':>8}{'ratio':>8}")
    ratios = {}
    for name, each in cost.items():
        ratios[name] = statistics.median(a / b for a, b in zip(each, base, strict=True))
        print(f"{name:<28}{statistics.median(each):>8.0f}{ratios[name]:>8.2f}")
    return ratios["Fetcher.fetch"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.pages)
    command = [sys.executable, __file__, "--serve", "--pages", str(options.pages)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        ratio = measure(int(server.stdout.readline()), options.pages, options.rounds)
    finally:
        server.kill()
        server.wait()
    print(f"target: at most {TARGET} of Session.get; {'met' if ratio <= TARGET else 'MISSED'}")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
