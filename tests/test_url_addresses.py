"""Addresses: the public suites, refusals with a reason, and what is sent on the wire."""

from __future__ import annotations

import csv
import http.server
import json
import threading
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
import requests
import urllib3
from hypothesis import given, settings
from hypothesis import strategies as st
from suites import suite_path
from url_strategies import EVERYTHING, absolute, hrefs, json_cases, odd_bases

from crawlkit.errors import BadURL
from crawlkit.web.url_addresses import resolve_address, safe_tail
from crawlkit.web.urls import (
    MAX_URL_LENGTH,
    REFUSALS,
    LinkResolver,
    Refusal,
    normalize_url,
    registered_domain,
    safe_url,
    url_host,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def without_fragment_and_userinfo(href: str) -> str:
    start, _, rest = href.partition("#")[0].partition("://")
    authority, _, tail = rest.partition("/")
    return f"{start}://{authority.rpartition('@')[2]}/{tail}"


def test_whatwg_urls_resolve_as_the_standard_says() -> None:
    cases = [
        case
        for case in json_cases("whatwg-url/urltestdata.json")
        if not case.get("failure") and case["protocol"] in ("http:", "https:")
    ]
    assert len(cases) == 247
    exact = respelled = port_zero = 0
    for case in cases:
        expected = without_fragment_and_userinfo(case["href"])
        address = resolve_address(case["input"], case["base"])
        if case["port"] == "0":
            assert address == Refusal("bad_port")
            port_zero += 1
        elif address == expected:
            exact += 1
        else:
            # Only what clients do on the wire differs: escapes and a bare "?".
            assert isinstance(address, str)
            same_octets = unquote_to_bytes(address) == unquote_to_bytes(expected.removesuffix("?"))
            assert same_octets, case
            assert urlsplit(address).netloc == urlsplit(expected).netloc
            respelled += 1
    assert (exact, respelled, port_zero) == (225, 20, 2)


def test_whatwg_urls_that_do_not_parse_are_refused() -> None:
    cases = [
        case
        for case in json_cases("whatwg-url/urltestdata.json")
        if case.get("failure")
        and "http" in (case["input"].strip()[:4].lower(), (case["base"] or "")[:4].lower())
    ]
    assert len(cases) == 199
    for case in cases:
        answer = resolve_address(case["input"], case["base"])
        assert isinstance(answer, Refusal), case
        assert answer.reason in REFUSALS


@pytest.mark.parametrize(("name", "good", "bad"), [("toascii", 68, 19), ("IdnaTestV2", 1553, 1117)])
def test_international_hosts_become_ascii_as_the_standard_says(
    name: str, good: int, bad: int
) -> None:
    counts = {True: 0, False: 0}
    for case in json_cases(f"whatwg-url/{name}.json"):
        if case["input"] == "":
            continue  # an empty host is ignored in front of a path: https:///x is https://x/
        answer = resolve_address(f"https://{case['input']}/x")
        if case["output"] is None:
            assert isinstance(answer, Refusal), case
        else:
            assert answer == f"https://{case['output']}/x", case
        counts[case["output"] is not None] += 1
    assert counts == {True: good, False: bad}


def test_rfc_3986_5_4_resolution() -> None:
    cases = json_cases("rfc3986/section-5.4.json")
    assert len(cases) == 42
    for case in cases:
        answer = resolve_address(case["ref"], case["base"])
        if case["ref"] == "g:h":
            assert answer == Refusal("not_http")
        elif case["ref"] == "http:g":
            assert answer == "http://a/b/c/g"  # the form that 5.4.2 allows for old references
        else:
            assert answer == safe_url(case["target"]), case


def test_crawler_commons_invalid_urls_are_refused() -> None:
    lines = suite_path("crawler-commons/normalizer/invalidUrls.csv").read_text("utf-8").split("\n")
    urls = [line for line in lines if line.startswith("http")]
    assert len(urls) == 2
    for url in urls:
        assert isinstance(resolve_address(url), Refusal)


def test_crawler_commons_resolution() -> None:
    text = suite_path("crawler-commons/url-utils/url-resolve.csv").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    rows = list(csv.reader(lines, skipinitialspace=True))
    assert len(rows) == 22
    for href, base, target in rows:
        if target.startswith("http"):
            assert resolve_address(href, base or None) == safe_url(target)
        else:
            assert resolve_address(href, base) == Refusal("not_http")


def test_urlcanon_dot_segments() -> None:
    cases = json.loads(suite_path("urlcanon/path_dots.json").read_text("utf-8"))["special"]
    assert len(cases) == 376
    for path, resolved in cases.items():
        # Its expectations keep backslashes; the URL Standard makes slashes of them.
        assert resolve_address("http://h" + path) == "http://h" + (
            resolved.replace("\\", "/") or "/"
        )


def test_urlcanon_numeric_hosts_become_ip_addresses() -> None:
    cases = json.loads(suite_path("urlcanon/funky_ipv4.json").read_text("utf-8"))
    hosts = {host: address for host, address in cases.items() if address}
    assert len(hosts) == 31
    for host, address in hosts.items():
        assert url_host(f"http://{host}/") == address


@pytest.mark.parametrize(
    ("href", "base", "reason"),
    [
        ("mailto:ann@example.com", "http://h/", "not_http"),
        (" JavaScript:void(0)", "http://h/", "not_http"),
        ("java\nscript:void(0)", "http://h/", "not_http"),
        ("data:text/html," + "x" * 100_000, "http://h/", "not_http"),
        ("tel:+4930123456", None, "not_http"),
        ("ftp://h/", None, "not_http"),
        ("blob:https://h/0", "http://h/", "not_http"),
        ("x", "mailto:ann@example.com", "not_http"),
        ("#x", "data:text/html,x", "not_http"),
        ("", "ftp://h/", "not_http"),
        ("www.example.com", None, "no_scheme"),
        ("localhost:8000/x", None, "no_scheme"),
        ("example.com:8000", None, "no_scheme"),
        ("//example.com/", None, "no_scheme"),
        ("", None, "no_scheme"),
        ("x", "/no/url", "no_scheme"),
        ("http://", None, "bad_url"),
        ("http://[::1", None, "bad_url"),
        ("http://[v1.x]/", None, "bad_url"),
        ("http://[::1%25eth0]/", None, "bad_url"),
        ("http://256.1.1.1/", None, "bad_url"),
        ("http://a b/", None, "bad_url"),
        ("http://ex^ample/", None, "bad_url"),
        ("//a b/", "http://h/", "bad_url"),
        ("http://h:0/", None, "bad_port"),
        ("http://h:000/", None, "bad_port"),
        ("http://h:65536/", None, "bad_port"),
        ("http://h:8o/", None, "bad_port"),
        ("//h:99999/", "http://h/", "bad_port"),
        ("http://h/" + "x" * MAX_URL_LENGTH, None, "too_long"),
        ("/" + "€" * 1_000, "http://h/", "too_long"),
        ("x", "http://h/" + "x" * MAX_URL_LENGTH, "too_long"),
        ("../" * 4_000, "http://h/", "too_long"),
    ],
)  # fmt: skip
def test_refusals_have_stable_reasons(href: str, base: str | None, reason: str) -> None:
    assert resolve_address(href, base) == Refusal(reason)
    assert LinkResolver().resolve(href, base) == Refusal(reason)
    if base is not None:
        assert LinkResolver().for_page(base)(href) == Refusal(reason)
    with pytest.raises(BadURL) as raised:
        normalize_url(href, base=base)
    assert raised.value.reason == reason
    assert reason in REFUSALS


def test_what_is_no_text_is_refused() -> None:
    for value in (None, 7, b"http://h/"):
        with pytest.raises(BadURL) as raised:
            safe_url(value)  # type: ignore[arg-type]
        assert raised.value.reason == "not_text"


@given(hrefs, st.none() | odd_bases)
@settings(max_examples=400, deadline=None)
def test_resolving_is_total_and_addresses_are_fixed_points(href: str, base: str | None) -> None:
    answer = resolve_address(href, base)
    if isinstance(answer, Refusal):
        assert answer.reason in REFUSALS
        return
    assert answer.isascii()
    assert len(answer) <= MAX_URL_LENGTH
    assert "#" not in answer
    assert "@" not in answer.split("/", 3)[2]
    assert resolve_address(answer) == answer
    assert resolve_address(answer, base) == answer
    assert safe_tail(answer[answer.index("/", 8) :]) == answer[answer.index("/", 8) :]


sendable = absolute.filter(lambda url: "[" not in url[:12])


@given(sendable)
@settings(max_examples=400, deadline=None)
def test_requests_and_urllib3_send_an_address_as_it_is(url: str) -> None:
    address = resolve_address(url)
    if isinstance(address, Refusal):
        return
    prepared = requests.Request("GET", address).prepare()
    assert prepared.url == address
    assert address.endswith(prepared.path_url)
    assert urllib3.util.parse_url(address).url == address
    # A key can be asked for, too.
    key = normalize_url(url, EVERYTHING)
    assert requests.Request("GET", key).prepare().url == key


def test_requests_sends_the_urls_of_the_standard_as_addresses() -> None:
    """All 247 but those whose host no client sends."""
    sent = 0
    for case in json_cases("whatwg-url/urltestdata.json"):
        address = None if case.get("failure") else resolve_address(case["input"], case["base"])
        if not isinstance(address, str):
            continue
        host = urlsplit(address).netloc
        try:
            prepared = requests.Request("GET", address).prepare().url
        except requests.exceptions.InvalidURL:
            assert host.startswith((".", "*")) or not set(host) <= set(
                "abcdefghijklmnopqrstuvwxyz0123456789-.:[]"
            ), address
            continue
        sent += 1
        if set(host) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.:[]"):
            assert prepared == address
    assert sent >= 235


@pytest.fixture
def targets() -> Iterator[tuple[str, list[str]]]:
    """A server on the loopback address that notes the request targets as they come in."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.requestline.split(" ")[1])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_request_line_is_the_address(targets: tuple[str, list[str]]) -> None:
    root, seen = targets
    tails = [
        "/", "//a", "/a//b/", "/%7euser/%c3%a9|[x]^`{}", "/100%/50%25/%2541", "/é?ü='[x]&y=\\|",
        "/?", "/??", "/a?b#c", "/a;b=1/../c;d", "/%2e%2e/%2E/x", "/a b?c d", "/a?x=http://h/?y",
        "/'\"<>", "/%00%ff",
    ]  # fmt: skip
    addresses = [safe_url(root + tail) for tail in tails]
    with requests.Session() as session:
        session.trust_env = False
        for address in addresses:
            session.get(address, timeout=5).close()
    assert [root + target for target in seen] == addresses


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", "example.com"),
        ("www.example.co.uk:8080", "example.co.uk"),
        ("a.b.ann.github.io", "ann.github.io"),
        ("github.io", "github.io"),
        ("co.uk", "co.uk"),
        ("localhost:8000", "localhost"),
        ("127.0.0.1:8000", "127.0.0.1"),
        ("[2001:db8::1]:8000", "[2001:db8::1]"),
        ("www.example.com.", "example.com"),
        ("www.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("a..b", "a..b"),
        ("", ""),
    ],
)
def test_registered_domain(host: str, domain: str) -> None:
    assert registered_domain(host) == domain
