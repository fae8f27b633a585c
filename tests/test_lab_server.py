"""The practice site as a server: HTTP, several hosts, its log, its own process, its end."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import pytest
from lab_client import FOREVER, Client, is_alive, raw, wait_for

from crawlkit import lab
from crawlkit.errors import BadSetting, CrawlkitError
from crawlkit.lab import addresses
from crawlkit.lab.log import LogReader, closest, count_repeats, to_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.allow_hosts(["127.0.0.0/8", "::1", "localhost"])


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


# --- the server ---------------------------------------------------------------------------------


def test_one_connection_serves_many_requests_and_head_has_no_body(client: Client) -> None:
    with lab.serve() as site:
        whole = client.get(site.url + "shop/")
        head = client.get(site.url + "shop/", method="HEAD")
        assert head.body == b""
        assert head.headers["Content-Length"] == str(len(whole.body))
        assert client.get(site.url + "nothing").status == 404
        assert {request.connection for request in site.requests} == {1}
        assert [request.bytes for request in site.requests[:2]] == [len(whole.body), 0]


def test_validators_give_304(client: Client) -> None:
    with lab.serve() as site:
        url = site.url + "shop/"
        first = client.get(url).headers
        for headers, status in (
            ({"If_None_Match": first["ETag"]}, 304),
            ({"If_None_Match": f'"x", W/{first["ETag"]}'}, 304),
            ({"If_None_Match": "*"}, 304),
            ({"If_None_Match": '"x"', "If_Modified_Since": first["Last-Modified"]}, 200),
            ({"If_Modified_Since": first["Last-Modified"]}, 304),
            ({"If_Modified_Since": "Thu, 01 Jan 1970 00:00:00 GMT"}, 200),
            ({"If_Modified_Since": "soon"}, 200),
        ):
            reply = client.get(url, **headers)
            assert reply.status == status, headers
            assert (reply.body == b"") == (status == 304)
            assert reply.headers["ETag"] == first["ETag"]
        frame = site.requests_frame()
        assert frame["if_none_match"].notna().sum() == 4
        assert set(frame["status"]) == {200, 304}


def test_pipelined_and_split_requests_are_answered_in_order() -> None:
    two = b"GET /shop/ HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n"
    with lab.serve(latency=lambda path: 0.1 if path == "/shop/" else 0.0) as site:
        for pieces in (1, 40):
            answer = raw(site, two, pieces=pieces)
            assert answer.count(b"HTTP/1.1 200 OK") == 2
            assert answer.index(b"All products") < answer.index(b"Practice site")
        assert [request.path for request in site.requests] == ["/shop/", "/"] * 2


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /shop/ HTTP/1.0\r\n\r\n", 200),
        (b"\r\n\r\nGET /shop/ HTTP/1.1\r\nConnection: close\r\n\r\n", 200),
        (b"GET http://127.0.0.1:1/shop/ HTTP/1.1\r\nConnection: close\r\n\r\n", 200),
        (b"GET /%73hop/ HTTP/1.1\r\nno colon here\r\nConnection: close\r\n\r\n", 200),
        (b"GET shop HTTP/1.1\r\nConnection: close\r\n\r\n", 400),
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 505),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 405),
        (b"GET /\xff\xfe HTTP/1.1\r\nConnection: close\r\n\r\n", 404),
        (b"GET /shop/?page=\xd9\xa3 HTTP/1.1\r\nConnection: close\r\n\r\n", 404),
        (b"GET /" + b"a" * 70_000, 431),
    ],
)
def test_odd_requests_get_an_answer_and_the_connection_is_closed(
    request_bytes: bytes, status: int
) -> None:
    with lab.serve() as site:
        assert raw(site, request_bytes).startswith(b"HTTP/1.1 %d " % status)


def test_an_answer_under_way_survives_the_end_of_sending() -> None:
    with lab.serve(latency=0.1) as site:
        host, port = site.url[7:-1].split(":")
        with socket.create_connection((host, int(port)), timeout=FOREVER) as plug:
            plug.sendall(b"GET /shop/ HTTP/1.1\r\n\r\n")
            plug.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := plug.recv(65_536):
                answer += piece
        assert answer.endswith(b"</html>\n")


def test_latency_can_be_a_function_and_can_change(client: Client) -> None:
    def seconds(url: str) -> float:
        began = time.monotonic()
        client.get(url)
        return time.monotonic() - began

    with lab.serve(latency=lambda path: 0.2 if "page" in path else 0.0) as site:
        assert seconds(site.url + "page") >= 0.2
        site.set_latency(0.1)
        assert seconds(site.url + "page") >= 0.1
        site.set_latency(lambda path: 1 / 0)
        assert client.get(site.url).status == 500


def test_another_section_is_a_small_class(client: Client) -> None:
    @dataclass(frozen=True)
    class Moody(lab.Section):
        name: ClassVar[str] = "moody"

        def paths(self, place: lab.Place) -> list[str]:
            return [self.start]

        def answer(self, ask: lab.Ask) -> lab.Answer:
            if ask.query == "fail":
                raise RuntimeError("no")
            return lab.document("Moody", lab.sentences(2, ask.place.seed))

    with lab.serve([Moody()]) as site:
        assert client.get(site.url + "moody/").status == 200
        reply = client.get(site.url + "moody/?fail")
        assert (reply.status, b"RuntimeError: no" in reply.body) == (500, True)
        assert client.get(site.url + "moody/").status == 200
        assert site.seeds == [site.url + "moody/"]
    with pytest.raises(BadSetting, match="process=False"):
        lab.serve([Moody()], process=True)


# --- several hosts ------------------------------------------------------------------------------


def test_hosts_are_loopback_addresses_that_link_to_each_other(client: Client) -> None:
    with lab.serve(("cross", "shop"), hosts=3) as site:
        assert [urlsplit(base).hostname for base in site.hosts] == [
            "127.0.0.1",
            "127.0.0.2",
            "127.0.0.3",
        ]
        assert len({urlsplit(base).port for base in site.hosts}) == 1
        assert len(site.truth.reachable(site.url + "cross/")) == 33
        assert len(site.truth.reachable(site.url)) == 3 * (525 + 11 + 1)
        names = [client.get(base + "shop/").body for base in site.hosts]
        assert len(set(names)) == 3
        assert {request.host for request in site.requests} == {base[7:-1] for base in site.hosts}
        assert len(site.seeds) == 6


def test_where_only_one_address_is_loopback_hosts_are_ports(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = addresses._bind

    def only_first(address: str, port: int) -> socket.socket:
        if address != "127.0.0.1":
            raise OSError(errno.EADDRNOTAVAIL, "Can't assign requested address")
        return real(address, port)

    monkeypatch.setattr(addresses, "_bind", only_first)
    with lab.serve(hosts=3) as site:
        assert {urlsplit(base).hostname for base in site.hosts} == {"127.0.0.1"}
        assert len({urlsplit(base).port for base in site.hosts}) == 3
        assert {client.get(base).status for base in site.hosts} == {200}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"sections": ("shop", "nope")}, "sections"),
        ({"sections": ()}, "sections"),
        ({"sections": ("shop", lab.Shop(listings=2))}, "sections"),
        ({"sections": [lab.Slow(on=(1,))]}, "sections"),
        ({"hosts": ["0.0.0.0"]}, "hosts"),
        ({"hosts": ["127.0.0.1", "192.168.1.1"]}, "hosts"),
        ({"hosts": ["localhost.example.com"]}, "hosts"),
        ({"hosts": []}, "hosts"),
        ({"hosts": 0}, "hosts"),
        ({"hosts": 10_000}, "hosts"),
        ({"latency": -1}, "latency"),
        ({"latency": float("nan")}, "latency"),
        ({"port": 70_000}, "port"),
        ({"latency": len, "process": True}, "latency"),
        ({"hosts": ["8.8.8.8"], "process": True}, "process"),
    ],
)
def test_arguments_that_cannot_work_raise_and_leave_nothing(
    arguments: dict[str, Any], name: str
) -> None:
    before = threading.active_count()
    with pytest.raises(BadSetting) as raised:
        lab.serve(**arguments)
    assert raised.value.name == name
    assert threading.active_count() == before


def test_a_taken_port_is_named_and_a_free_one_can_be_used_again(client: Client) -> None:
    with lab.serve() as site:
        port = urlsplit(site.url).port or 0
        client.get(site.url)
        with pytest.raises(BadSetting, match=str(port)):
            lab.serve(port=port)
    with lab.serve(port=port) as site:
        assert urlsplit(site.url).port == port


# --- the log ------------------------------------------------------------------------------------


def test_the_log_has_every_request_in_order_with_its_headers(client: Client) -> None:
    with lab.serve() as site:
        before = time.time()
        client.get(site.url + "shop/", User_Agent="tester/1 (+http://a.example)", Referer="x")
        client.get(site.url + "shop/?page=2&a=%20")
        client.get(site.url + "none?")
        first, second, third = site.requests
        assert (first.user_agent, first.headers["referer"]) == ("tester/1 (+http://a.example)", "x")
        assert first.headers["host"] == first.host == site.url[7:-1]
        assert (first.query, second.query) == (None, "page=2&a=%20")
        assert second.url == site.url + "shop/?page=2&a=%20"
        assert (third.status, third.method) == (404, "GET")
        assert first.at < second.at < third.at
        assert before - 1 < first.epoch < time.time() + 1
        frame = site.requests_frame()
        assert list(frame["url"]) == [request.url for request in site.requests]
        site.forget()
        assert site.requests == []
        empty = site.requests_frame()
        assert list(empty.dtypes.items()) == list(frame.dtypes.items())


def test_gaps_and_repeats_are_counted_by_host_and_url() -> None:
    def request(at: float, host: str, path: str, query: str | None = None) -> lab.Request:
        return lab.Request(at, at, host, "GET", path, query, 200, 0, None, 1, {})

    requests = [
        request(1.0, "a", "/robots.txt"),
        request(1.1, "b", "/"),
        request(2.5, "a", "/"),
        request(3.0, "b", "/"),
        request(3.75, "a", "/", "x=1"),
        request(9.0, "a", "/robots.txt"),
    ]
    assert closest(requests) == closest(requests, "a") == 1.25
    assert closest(requests, "b") == pytest.approx(1.9)
    assert closest(requests[:2]) == float("inf")
    assert count_repeats(requests) == 1
    assert count_repeats(requests, ["/robots.txt"]) == 1
    assert count_repeats(requests, ["/?x=1"]) == 0
    assert len(to_frame(requests)) == 6


def test_the_site_measures_a_crawlers_pauses(client: Client) -> None:
    with lab.serve(hosts=2) as site:
        for host in (*site.hosts, site.hosts[0]):
            client.get(host)
            time.sleep(0.05)
        assert site.closest_requests() == site.closest_requests(site.url) >= 0.1
        assert site.closest_requests(site.hosts[1]) == float("inf")
        assert site.repeats() == site.repeats(["/"]) == 1
        with pytest.raises(BadSetting, match="host"):
            site.closest_requests("other.example")


@pytest.mark.parametrize("process", [False, True])
def test_the_log_file_is_appended_to_and_read_back(
    client: Client, tmp_path: Path, process: bool
) -> None:
    path = tmp_path / "log with space.jsonl"
    for count in (1, 2):
        with lab.serve(log=path, process=process) as site:
            client.get(site.url + "shop/?page=2")
            assert len(site.requests) == 1
        assert len(site.requests) == 1
        assert len(lab.read_log(path)) == count
    assert lab.read_log(path)[-1] == site.requests[0]
    assert lab.read_log(tmp_path / "none") == []


def test_a_line_that_is_being_written_waits_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    line = json.dumps([1.0, 1.0, "a", "GET", "/", None, 200, 0, None, 1, {}]).encode()
    path.write_bytes(line + b"\n" + line[:20])
    reader = LogReader(path)
    assert len(reader.read()) == 1
    with path.open("ab") as file:
        file.write(line[20:] + b"\n")
    assert [request.path for request in reader.read()] == ["/", "/"]


# --- its own process ----------------------------------------------------------------------------


def test_a_site_in_its_own_process_obeys_and_leaves_nothing(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sections: list[str | lab.Section] = [
        "shop",
        lab.Failing(failures=1),
        lab.Slow(seconds=0, on=(1,)),
    ]
    with lab.serve(sections, process=True, hosts=2) as site:
        pid = site.pid
        assert client.get(site.url + "failing/busy-1").status == 503
        assert client.get(site.url + "failing/busy-1").status == 200
        assert client.get(site.hosts[1] + "slow/").status == 200
        assert client.get(site.hosts[0] + "slow/").status == 404
        assert len(site.requests) == 4
        site.forget()
        assert site.requests == []
        assert client.get(site.url + "failing/busy-1").status == 503
        site.set_latency(0.2)
        began = time.monotonic()
        client.get(site.url + "shop/")
        assert time.monotonic() - began >= 0.2
        with pytest.raises(BadSetting):
            site.set_latency(len)
    assert [request.path for request in site.requests] == ["/failing/busy-1", "/shop/"]
    assert not is_alive(pid)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_gone_is_said_to_be(client: Client) -> None:
    with lab.serve(process=True) as site:
        client.get(site.url)
        os.kill(site.pid, signal.SIGKILL)
        assert wait_for(lambda: not is_alive(site.pid))
        with pytest.raises(CrawlkitError, match="ended"):
            site.set_latency(1)
        assert len(site.requests) == 1


HOLDER = """
import sys, time
from crawlkit import lab
site = lab.serve(process=True)
print(site.pid, site.url, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_sites_process_dies_with_its_parent(sign: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(
        command,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as parent:
        assert parent.stdout is not None
        pid, url = parent.stdout.readline().decode().split()
        assert is_alive(int(pid))
        assert len(list(tmp_path.iterdir())) == 1
        with urllib.request.urlopen(url, timeout=FOREVER) as response:
            assert response.status == 200
        os.killpg(parent.pid, sign)
        parent.wait()
        assert wait_for(lambda: not is_alive(int(pid)))
        assert list(tmp_path.iterdir()) == []


def test_an_interrupt_of_the_whole_group_does_not_stop_the_site(client: Client) -> None:
    with lab.serve(process=True) as site:
        pid = site.pid
        assert os.getpgid(pid) != os.getpgid(0)
        assert client.get(site.url).status == 200


def command(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    given = [sys.executable, "-m", "crawlkit.lab", *arguments]
    return subprocess.Popen(given, stdout=subprocess.PIPE, **options)


def test_the_command_prints_its_addresses_and_ends_with_its_input(
    client: Client, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    more = ("--section", "shop", "--section", 'slow:{"seconds": 0}', "--log", str(log))
    with command("--hosts", "2", *more, stdin=subprocess.PIPE) as served:
        said = first_line(served)
        assert said["pid"] == served.pid
        assert said["url"] == said["hosts"][0]
        assert client.get(said["hosts"][1] + "slow/").status == 200
        assert lab.read_log(log)[0].path == "/slow/"
        assert served.stdin is not None
        served.stdin.close()
        assert served.wait(FOREVER) == 0


def test_the_command_serves_in_the_background_until_it_is_stopped(client: Client) -> None:
    with command(stdin=subprocess.DEVNULL) as served:
        said = first_line(served)
        time.sleep(1)
        assert client.get(said["url"]).status == 200
        served.send_signal(signal.SIGINT)
        assert served.wait(FOREVER) == 0


def first_line(served: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert served.stdout is not None
    said: dict[str, Any] = json.loads(served.stdout.readline())
    return said


@pytest.mark.parametrize(
    "arguments",
    [
        ("--section", "nope"),
        ("--section", "slow:{"),
        ("--section", 'slow:{"speed": 1}'),
        ("--address", "0.0.0.0"),
        ("--latency", "-1"),
        ("--port", "-5"),
    ],
)
def test_the_command_says_what_is_wrong_with_an_argument(arguments: tuple[str, ...]) -> None:
    with command(*arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as served:
        out, error = served.communicate(timeout=FOREVER)
        assert served.returncode == 2
        assert out == b""
        assert b"Traceback" not in error
        assert len(error.splitlines()) >= 1


# --- the end ------------------------------------------------------------------------------------


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc").exists(), reason="counts files in /proc")
@pytest.mark.parametrize("process", [False, True])
def test_closing_leaves_no_thread_socket_or_process(client: Client, process: bool) -> None:
    def once() -> None:
        with lab.serve(("shop", "slow"), hosts=2, latency=0.05, process=process) as site:
            idle = socket.create_connection((urlsplit(site.url).hostname, urlsplit(site.url).port))
            client.get(site.url)
            idle.sendall(b"GET /slow/ HTTP/1.1\r\n\r\n")
            assert wait_for(lambda: len(site.requests) == 2)
        with idle:
            assert idle.recv(10) == b""
        client.close()
        site.close()

    once()
    threads, files = threading.active_count(), open_files()
    for _ in range(3):
        once()
    assert (threading.active_count(), open_files()) == (threads, files)


def test_it_runs_while_an_event_loop_is_running_twice_in_a_row(client: Client) -> None:
    async def cell() -> int:
        with lab.serve() as site:
            return (await asyncio.to_thread(client.get, site.url + "shop/")).status

    async def notebook() -> list[int]:
        return [await cell(), await cell()]

    assert asyncio.run(notebook()) == [200, 200]


def test_a_site_that_is_dropped_is_closed() -> None:
    threads = threading.active_count()
    site = lab.serve()
    assert threading.active_count() == threads + 1
    assert "closed" not in repr(site)
    del site
    gc.collect()
    assert wait_for(lambda: threading.active_count() == threads)


def test_importing_the_lab_loads_no_heavy_library() -> None:
    heavy = "{'pandas', 'numpy', 'pyarrow', 'matplotlib', 'networkx', 'requests', 'selectolax'}"
    code = f"import sys, crawlkit.lab; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
