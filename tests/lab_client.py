"""What the tests of the practice site share: a client, a walk over links, a wait."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from crawlkit import lab

FOREVER = 20.0


class Reply:
    """What came back over a real socket."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()


class Client:
    """A keep-alive client for each host."""

    def __init__(self) -> None:
        self._connections: dict[str, http.client.HTTPConnection] = {}

    def get(self, url: str, *, method: str = "GET", **headers: str) -> Reply:
        parts = urlsplit(url)
        connection = self._connections.setdefault(
            parts.netloc, http.client.HTTPConnection(parts.netloc, timeout=FOREVER)
        )
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, target, headers=sent)
            return Reply(connection.getresponse())
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


def node(page: LexborHTMLParser, selector: str) -> LexborNode:
    """Return the first node, which has to be there."""
    found = page.css_first(selector)
    assert found is not None, selector
    return found


class Hrefs(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href:
            self.found.append(href)


def closure(client: Client, start: str, key: Callable[[str], str] = str) -> dict[str, Reply]:
    """Walk all links of one host, independent of the site's own truth: key -> reply."""
    host = urlsplit(start).netloc
    replies: dict[str, Reply] = {}
    waiting, known = [start], {key(start)}
    while waiting:
        url = waiting.pop()
        reply = replies[key(url)] = client.get(url)
        parser = Hrefs()
        parser.feed(reply.body.decode())
        for href in parser.found:
            link = urldefrag(urljoin(url, href)).url
            if urlsplit(link).netloc == host and key(link) not in known:
                known.add(key(link))
                waiting.append(link)
    return replies


def raw(site: lab.PracticeSite, data: bytes, *, pieces: int = 1) -> bytes:
    """Send bytes, and read until the server closes."""
    host, port = site.hosts[0][7:-1].split(":")
    with socket.create_connection((host, int(port)), timeout=FOREVER) as plug:
        step = -(-len(data) // pieces)
        for at in range(0, len(data), step):
            plug.sendall(data[at : at + step])
            if pieces > 1:
                time.sleep(0.01)
        answer = b""
        while piece := plug.recv(65_536):
            answer += piece
        return answer


def wait_for(condition: Callable[[], object]) -> bool:
    """Wait until a condition holds, or give up."""
    end = time.monotonic() + FOREVER
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return False
