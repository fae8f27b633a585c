"""Requests that are out: watched by one thread where nothing must be waited for."""

from __future__ import annotations

import select
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from crawls import crawl, serve, star
from hostile_server import CLOSE, SILENCE, HostileServer, Pause, answer

import crawlkit as ck
from crawlkit.crawling import engine, worker, writer
from crawlkit.errors import StorageFailed
from crawlkit.web.fetch import Fetcher

if TYPE_CHECKING:
    from crawlkit.crawling.leases import Lease
    from crawlkit.crawling.results import PageResult
    from crawlkit.web.asked import Asked
    from crawlkit.web.response import Response


def threads_of_errands() -> set[str]:
    return {each.name for each in threading.enumerate() if each.name.startswith("crawlkit-errand")}


@pytest.mark.parametrize("has_poll", [True, False])
def test_pages_are_asked_for_without_threads_once_connections_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_poll: bool
) -> None:
    if not has_poll:  # as on Windows
        monkeypatch.delattr(select, "poll")
    begun: list[str] = []
    fetched: list[str] = []
    begin, fetch = Fetcher.begin, Fetcher.fetch

    def noting_begin(self: Fetcher, url: str, *, body_limit: int | None = None) -> Asked | None:
        asked = begin(self, url, body_limit=body_limit)
        if asked is not None:
            begun.append(url)
        return asked

    def noting_fetch(self: Fetcher, url: str, **options: object) -> Response:
        fetched.append(url)
        return fetch(self, url, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Fetcher, "begin", noting_begin)
    monkeypatch.setattr(Fetcher, "fetch", noting_fetch)
    with serve(star(60)) as site:
        found = crawl(site.url + "t/", tmp_path / "c", workers=4)
        asked = [each.path for each in site.requests]
    assert found.finished
    assert sorted(set(asked)) == sorted(asked)
    assert len(begun) + len(fetched) == len(asked)
    assert len(fetched) < 20, "robots.txt, and the first pages on each connection"
    assert threads_of_errands() == set()


def test_answers_in_pieces_and_broken_connections_do_not_hold_up_the_others(
    tmp_path: Path,
) -> None:
    with HostileServer() as server:
        names = [f"/p{number}" for number in range(12)]
        links = "".join(f'<a href="{name}">{name}</a>' for name in names)
        start = server.on("/", answer(links.encode()))
        body = b"<p>a page in pieces " * 99
        whole = answer(body)
        for number, name in enumerate(names):
            if number % 3 == 0:  # slow pieces, more of them than are looked at
                pieces = [whole[cut : cut + 500] for cut in range(0, len(whole), 500)]
                steps = [step for piece in pieces for step in (piece, Pause(0.05))]
                server.on(name, *steps)
            elif number % 3 == 1:
                server.on(name, CLOSE)
                server.on(name, whole)
            else:
                server.on(name, whole)
        found = crawl(start, tmp_path / "c", workers=3, http=ck.Http(retries=0))
    pages = found.pages.set_index("url")
    assert found.finished
    assert pages["status"].eq(200).all()
    assert pages.loc[pages.index != start, "size"].eq(len(body)).all()
    assert len(pages) == 13


def test_what_an_errand_raises_ends_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: worker.Worker, lease: Lease) -> Response:
        raise ZeroDivisionError(lease.url)

    monkeypatch.setattr(worker.Worker, "fetch", fails)
    with serve(star(3)) as site, pytest.raises(ZeroDivisionError):
        # robots.txt would leave an open connection
        crawl(site.url + "t/", tmp_path / "c", workers=2, obey_robots=False)
    assert threads_of_errands() == set()


def test_an_interrupt_before_the_engine_could_end_leaves_no_thread_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def run(self: engine.Engine, on_tick: object = None) -> str:
        """Go as far as a second Ctrl-C lets the engine, which then has ended nothing."""
        self._thread.start()
        while not self.counters.fetches:
            time.sleep(0.001)
        taken.append("run")
        raise KeyboardInterrupt

    monkeypatch.setattr(engine.Engine, "run", run)
    with serve(star(200, wait=0.02)) as site:
        found = crawl(site.url + "t/", tmp_path / "c", workers=4)
        assert taken == ["run"]
        assert not any(each.name == "crawlkit-crawl" for each in threading.enumerate())
        asked = len(site.requests)
        time.sleep(0.2)
        assert len(site.requests) == asked
    assert found.stop_reason == "interrupted"
    assert not found.finished
    assert len(found.fetches) == asked


def test_a_redirect_without_its_text_holds_nobody_up(tmp_path: Path) -> None:
    head = b"HTTP/1.1 301 Moved\r\nLocation: /to\r\nContent-Length: 20\r\n\r\n"
    with HostileServer() as server:
        start = server.on("/", answer(b'<a href="/from">'))
        server.on("/from", head, SILENCE)
        server.on("/to", answer(b"text"))
        found = crawl(start, tmp_path / "c", http=ck.Http(retries=0, timeout=30))
    fetches = found.fetches.set_index("url")
    assert fetches.loc[start + "from", "status"] == 301
    assert fetches["elapsed"].max() < 10


@pytest.mark.parametrize("granted", [0, 2])
def test_where_threads_are_scarce_those_that_there_are_do_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, granted: int
) -> None:
    start = threading.Thread.start
    names = {f"crawlkit-errand-{number}" for number in range(granted)}

    def scarce(self: threading.Thread) -> None:
        if self.name.startswith("crawlkit-errand") and self.name not in names:
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", scarce)
    with serve(star(30, wait=0.02)) as site:
        if granted:
            assert crawl(site.url + "t/", tmp_path / "c").finished
        else:
            with pytest.raises(RuntimeError, match="can't start"):
                crawl(site.url + "t/", tmp_path / "c")
            monkeypatch.undo()
            assert crawl(site.url + "t/", tmp_path / "c").finished
        assert len(site.requests) == 32
    assert threads_of_errands() == set()


def test_no_thread_is_left_where_the_disk_was_slower_than_the_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = engine.Engine._save_totals
    slow = threading.Event()

    def save_slowly(self: engine.Engine) -> None:
        save(self)
        if self.counters.fetches > 1 and not slow.is_set():  # twenty pages are about to be asked
            slow.set()
            self.stop("interrupted")
            time.sleep(2.0)

    monkeypatch.setattr(engine.Engine, "_save_totals", save_slowly)
    with serve(star(20)) as site:
        crawl(site.url + "t/", tmp_path / "c", workers=20)
        until = time.monotonic() + 5
        while threads_of_errands() and time.monotonic() < until:
            time.sleep(0.01)
        assert len(site.requests) == 2
    assert threads_of_errands() == set()


@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
def test_a_full_disk_leaves_no_connection_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = writer.ResultWriter.write
    written: list[str] = []

    def fails(self: writer.ResultWriter, result: PageResult) -> None:
        written.append(result.lease.url)
        if len(written) == 20:
            raise sqlite3.OperationalError("database or disk is full")
        write(self, result)

    def sockets() -> int:
        count = 0
        for handle in Path("/proc/self/fd").iterdir():
            try:
                count += str(handle.readlink()).startswith("socket:")
            except OSError:  # the handle of the list itself
                continue
        return count

    monkeypatch.setattr(writer.ResultWriter, "write", fails)
    with serve(star(100, wait=0.05)) as site:
        before = sockets()
        with pytest.raises(StorageFailed) as failure:
            crawl(site.url + "t/", tmp_path / "c")
        until = time.monotonic() + 5
        while sockets() > before and time.monotonic() < until:
            time.sleep(0.01)  # the server's own ends
        assert sockets() == before
        assert failure.value is not None  # its frames hold the engine
