"""A small web-archive index (CDX server) on loopback, in the dialects in use, faults on demand.

    with CdxServer(captures) as server:
        ck.seeds_from_archive("example.com", endpoint=server.url, ...)

`dialect` is ``"wayback"`` (JSON arrays, resume keys, collapse, regex filters), ``"pywb"`` (one JSON
object a line, no paging, no collapse, "contains" filters; page counts are ignored) or ``"zipnum"``
(pywb on a compressed index: numbered pages, the first when none is asked for). `faults` maps the
number of a request, from 1, to what is done instead of answering it.
"""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qs, quote_plus, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CdxServer", "Row", "Sent", "site_captures"]

NAMES = ("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length")


class Row(NamedTuple):
    """One capture of the index."""

    url: str
    timestamp: str = "20240102030405"
    mime: str = "text/html"
    status: str = "200"

    @property
    def urlkey(self) -> str:
        parts = urlsplit(self.url)
        labels = (parts.hostname or "").removeprefix("www.").split(".")
        query = f"?{parts.query}" if parts.query else ""
        return (f"{','.join(reversed(labels))}){parts.path or '/'}{query}").lower()

    def fields(self) -> dict[str, str]:
        values = (self.urlkey, self.timestamp, self.url, self.mime, self.status, "SHA1", "123")
        return dict(zip(NAMES, values, strict=True))


class Sent(NamedTuple):
    """A fault: another answer, or what is done to the right one."""

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = {}
    delay: float = 0.0
    cut: float | None = None  # send this share of the right answer, then close
    silent_cut: bool = False  # without having named the length


def site_captures(pages: int = 40, host: str = "example.com") -> list[Row]:
    """Captures of a site: two of each page; images, dead pages and a subdomain among them."""
    rows = []
    for number in range(pages):
        sub = "www." if number % 2 else "docs."
        status = "404" if number % 7 == 3 else "200"
        mime = "image/png" if number % 5 == 4 else "text/html"
        for year in ("2021", "2024"):
            url = f"http://{sub}{host}/p/{number}?a={number}"
            rows.append(Row(url, f"{year}0102030405", mime, status))
    return rows


class CdxServer:
    """See the module."""

    def __init__(
        self,
        rows: list[Row],
        *,
        dialect: str = "wayback",
        faults: Mapping[int, Sent] | Callable[[int, dict[str, str]], Sent | None] | None = None,
        rows_per_page: int = 10,
    ) -> None:
        self.rows = sorted(rows, key=lambda row: (row.urlkey, row.timestamp))
        self.dialect = dialect
        planned = faults or {}
        self.faults = planned if callable(planned) else lambda number, _: planned.get(number)
        self.rows_per_page = rows_per_page
        self.requests: list[dict[str, str]] = []
        self.times: list[float] = []
        self.filters: list[list[str]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/cdx"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = parse_qs(urlsplit(self.path).query)
                query = {name: values[0] for name, values in asked.items()}
                outer.requests.append(query)
                outer.times.append(time.monotonic())
                outer.filters.append(asked.get("filter", []))
                fault = outer.faults(len(outer.requests), query) or Sent()
                time.sleep(fault.delay)
                status, body = outer.answer(query, outer.filters[-1])
                if fault.body is not None or fault.status != 200:
                    status, body = fault.status, fault.body or b"no"
                self.send_response(status)
                for name, value in fault.headers.items():
                    self.send_header(name, value)
                if not fault.silent_cut:
                    self.send_header("Content-Length", str(len(body)))
                if fault.cut is not None or fault.silent_cut:
                    self.send_header("Connection", "close")
                    self.close_connection = True
                    body = body[: int(len(body) * (1.0 if fault.cut is None else fault.cut))]
                self.end_headers()
                try:
                    self.wfile.write(body)
                    self.wfile.flush()
                except OSError:
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        Handler.protocol_version = "HTTP/1.1"
        Handler.wbufsize = 65_536  # head and body leave together
        Handler.disable_nagle_algorithm = True
        return Handler

    def answer(self, query: dict[str, str], filters: list[str]) -> tuple[int, bytes]:
        rows = [row for row in self.rows if self._matches(row, query)]
        if self.dialect == "wayback":
            return self._wayback(rows, query, filters)
        return self._pywb(rows, query, filters)

    @staticmethod
    def _matches(row: Row, query: dict[str, str]) -> bool:
        if row.timestamp < query.get("from", "").ljust(14, "0"):
            return False
        if "to" in query and row.timestamp > query["to"].ljust(14, "9"):
            return False
        asked = Row(f"http://{query['url']}").urlkey
        host, path = asked.split(")")
        match query.get("matchType", "exact"):
            case "domain":
                return row.urlkey.startswith((host + ")", host + ","))
            case "host":
                return row.urlkey.startswith(host + ")")
            case "prefix":
                return row.urlkey.startswith(f"{host}){path}")
        return row.urlkey == asked

    def _wayback(
        self, rows: list[Row], query: dict[str, str], filters: list[str]
    ) -> tuple[int, bytes]:
        if "showNumPages" in query:
            return 400, b"Bad Request"
        limit = int(query.get("limit", "100000"))
        kept: list[Row] = []
        key, last = None, None
        resume = query.get("resumeKey")
        for row in rows:
            if resume is not None and f"{row.urlkey} {row.timestamp}" < resume:
                continue
            if len(kept) == limit:
                break
            fields = row.fields()
            wanted = (name.partition(":") for name in filters)
            if not all(re.fullmatch(value, fields[name]) for name, _, value in wanted):
                continue
            if collapse := query.get("collapse"):
                name, _, length = collapse.partition(":")
                value = fields[name][: int(length or 1000)]
                if value == last:
                    continue
                last = value
            kept.append(row)
            key = f"{row.urlkey} {int(row.timestamp) + 1}"
        more = query.get("showResumeKey") == "true" and len(kept) >= limit
        names = query["fl"].split(",") if "fl" in query else NAMES
        table = [[row.fields()[name] for name in names] for row in kept]
        if query.get("output") == "json":
            lines: list[Any] = [list(names), *table] if table else []
            if more and key:
                lines += [[], [quote_plus(key)]]
            return 200, b"[" + b",\n".join(json.dumps(line).encode() for line in lines) + b"]\n"
        text = "".join(" ".join(line) + "\n" for line in table)
        if more and key:
            text += f"\n{quote_plus(key)}\n"
        return 200, text.encode()

    def _pywb(
        self, rows: list[Row], query: dict[str, str], filters: list[str]
    ) -> tuple[int, bytes]:
        pages = -(-len(rows) // self.rows_per_page)
        if self.dialect == "zipnum":
            if "showNumPages" in query:
                counted = {"pages": pages, "pageSize": 1, "blocks": pages}
                return 200, json.dumps(counted).encode()
            start = int(query.get("page", "0")) * self.rows_per_page
            rows = rows[start : start + self.rows_per_page]
        if not rows and self.dialect == "zipnum":
            return 404, json.dumps({"message": f"No Captures found for: {query['url']}"}).encode()
        alias = {"statuscode": "status", "mimetype": "mime", "original": "url"}
        lines, limit = [], int(query.get("limit", "100000"))
        for row in rows:
            fields = {alias.get(name, name): value for name, value in row.fields().items()}
            wanted = (name.partition(":") for name in filters)
            if not all(value in fields[alias.get(name, name)] for name, _, value in wanted):
                continue
            if "fl" in query:
                fields = {name: fields[name] for name in query["fl"].split(",") if name in fields}
            lines.append(fields)
        if not lines and query.get("page", "0") != "0" and query.get("allowFuzzy") != "0":
            return 400, b'{"message": "Page invalid"}'  # as pywb does, looking for similar URLs
        lines = lines[:limit]
        if query.get("output") == "json":
            return 200, "".join(json.dumps(line) + "\n" for line in lines).encode()
        text = ""
        for line in lines:
            rest = {name: line[name] for name in line if name not in ("urlkey", "timestamp")}
            text += f"{line['urlkey']} {line['timestamp']} {json.dumps(rest)}\n"
        return 200, text.encode()
