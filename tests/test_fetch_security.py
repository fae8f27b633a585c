"""What must not leak or be taken on trust: TLS, secrets, cookies, proxies, the environment."""

from __future__ import annotations

import base64
import ssl
import time
from typing import TYPE_CHECKING

import pytest
from hostile_server import (
    CLOSE,
    SILENCE,
    Drip,
    HostileServer,
    Tunnel,
    answer,
    certificate,
    unused_port,
)
from requests.auth import AuthBase, HTTPDigestAuth

from crawlkit.errors import BadSetting
from crawlkit.web.fetch import Fetcher, Http

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import requests

PAGE = b"<p>a page of some words</p>" * 40
OK = answer(PAGE)


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as running:
        yield running


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    with Fetcher(Http(timeout=5)) as made:
        yield made


# TLS


def tls_context(file: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("own"), "DNS:localhost", "IP:127.0.0.1")


def test_https_checks_the_certificate_and_keeps_the_connection(own: Path) -> None:
    with HostileServer(tls=tls_context(own)) as server, Fetcher(Http(verify=str(own))) as fetcher:
        urls = [server.on("/", OK), server.url("/").replace("127.0.0.1", "localhost")]
        assert [fetcher.fetch(url).body for url in urls * 2] == [PAGE] * 4
        assert server.connections == 2


def test_a_certificate_that_nobody_vouches_for_is_an_error(own: Path) -> None:
    with HostileServer(tls=tls_context(own)) as server, Fetcher() as fetcher:
        response = fetcher.fetch(server.on("/", OK))
        assert response.error == "tls_certificate"
        assert response.detail is not None
        assert "self-signed" in response.detail
        assert server.seen == []


@pytest.mark.parametrize("problem", ["expired", "other host"])
def test_a_wrong_certificate_is_an_error(tmp_path: Path, problem: str) -> None:
    end = "20210101000000Z" if problem == "expired" else "20991231000000Z"
    names = ("IP:127.0.0.1",) if problem == "expired" else ("DNS:other.example",)
    file = certificate(tmp_path / "made", *names, end=end)
    with HostileServer(tls=tls_context(file)) as server, Fetcher(Http(verify=str(file))) as fetcher:
        response = fetcher.fetch(server.on("/", OK))
    assert response.error == "tls_certificate"
    assert ("expired" if problem == "expired" else "mismatch") in str(response.detail)


def test_certificates_are_not_checked_where_that_is_asked_for(own: Path) -> None:
    with HostileServer(tls=tls_context(own)) as server, Fetcher(Http(verify=False)) as fetcher:
        assert fetcher.fetch(server.on("/", OK)).body == PAGE


@pytest.mark.filterwarnings("ignore:.*TLSv1:DeprecationWarning")
@pytest.mark.parametrize("problem", ["old TLS", "no TLS"])
def test_encryption_that_cannot_be_agreed_on_is_an_error(own: Path, problem: str) -> None:
    context = tls_context(own)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    greeting = (b"HTTP/1.1 400 Bad\r\n\r\n",) if problem == "no TLS" else ()
    with HostileServer(tls=context, greeting=greeting) as server, Fetcher() as fetcher:
        assert fetcher.fetch(server.on("/", OK)).error == "tls_failed"


def test_a_slow_handshake_ends_in_time(own: Path) -> None:
    drip = Drip(b"\x16\x03\x03\x40\0" * 9, 0.1)
    with (
        HostileServer(tls=tls_context(own), greeting=(drip,)) as server,
        Fetcher(Http(timeout=0.5)) as fetcher,
    ):
        begun = time.monotonic()
        assert fetcher.fetch(server.on("/", OK)).error == "timeout"
        assert time.monotonic() - begun < 2


def test_a_redirect_from_https_to_http_is_flagged(own: Path) -> None:
    with HostileServer(tls=tls_context(own)) as server, Fetcher(Http(verify=str(own))) as fetcher:
        url = server.on("/", answer(b"", "Location: http://127.0.0.1/", status="301 Moved"))
        response = fetcher.fetch(url)
    assert (response.location, response.flags) == ("http://127.0.0.1/", ("downgrade",))


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_certificate_file_that_cannot_be_used_is_a_wrong_setting(
    tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "ca.pem").write_text(content)
    with pytest.raises(BadSetting, match="verify"):
        Fetcher(Http(verify=str(tmp_path / "ca.pem")))


# Secrets


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


SECRETS = Http(
    auth=("me", "p\u00e4ss"), headers={"Cookie": "id=1", "X-Api-Key": "k", "Accept-Language": "en"}
)


def test_secrets_go_to_the_first_host_only(server: HostileServer) -> None:
    with HostileServer() as other, Fetcher(SECRETS) as fetcher:
        for url in (server.on("/", OK), other.on("/", OK), server.url("/")):
            assert fetcher.fetch(url).body == PAGE
        for seen in server.seen:
            assert seen.header("Authorization") == basic("me", "p\u00e4ss")
            assert (seen.header("Cookie"), seen.header("X-Api-Key")) == ("id=1", "k")
        (leaked,) = other.seen
    for name in ("Authorization", "Cookie", "X-Api-Key"):
        assert leaked.header(name) is None
    assert leaked.header("Accept-Language") == "en"


def test_secrets_go_to_the_named_hosts(server: HostileServer) -> None:
    with (
        HostileServer() as other,
        Fetcher(SECRETS, auth_hosts=[f"127.0.0.1:{other.port}"]) as fetcher,
    ):
        fetcher.fetch(server.on("/", OK))
        fetcher.fetch(other.on("/", OK))
        assert server.seen[0].header("Authorization") is None
        assert other.seen[0].header("Authorization") is not None


def test_secrets_of_an_https_host_are_not_sent_in_the_clear(own: Path) -> None:
    http = Http(auth=("me", "pw"), verify=str(own), timeout=2)
    with HostileServer(tls=tls_context(own)) as server, Fetcher(http) as fetcher:
        assert fetcher.fetch(server.on("/", OK)).body == PAGE
        assert server.seen[0].header("Authorization") is not None
        # The same name and port, now without encryption: a middleman could ask for that.
        assert not fetcher._credentials._trusts(server.url("/").replace("https", "http"))


class TokenAuth(AuthBase):
    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        r.headers["Authorization"] = f"Token {r.path_url}"
        return r


def test_an_auth_object_of_requests_sets_headers(server: HostileServer) -> None:
    with Fetcher(Http(auth=TokenAuth())) as fetcher:
        assert fetcher.fetch(server.on("/a?b", OK)).body == PAGE
    assert server.seen[0].header("Authorization") == "Token /a?b"
    assert server.seen[0].header("User-Agent") == fetcher.http.user_agent


def test_an_auth_object_that_fails_is_a_reason_and_nothing_is_sent(server: HostileServer) -> None:
    def broken(_: requests.PreparedRequest) -> requests.PreparedRequest:
        raise KeyError("no token")

    with Fetcher(Http(auth=broken)) as fetcher:  # type: ignore[arg-type]
        response = fetcher.fetch(server.on("/", OK))
    assert (response.error, response.detail) == ("auth_failed", "KeyError('no token')")
    assert server.seen == []


def test_digest_answers_the_challenge_and_says_so(server: HostileServer) -> None:
    challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=MD5'
    url = server.on("/", answer(b"no", challenge, status="401 Unauthorized"))
    server.on("/", OK)
    with Fetcher(Http(auth=HTTPDigestAuth("me", "pw"))) as fetcher:
        response = fetcher.fetch(url)
    assert (response.body, response.flags) == (PAGE, ("auth_challenge",))
    first, second = (seen.header("Authorization") for seen in server.seen)
    assert first is None
    assert second is not None
    assert second.startswith('Digest username="me", realm="r", nonce="n", uri="/"')


@pytest.mark.parametrize(
    "challenge",
    [
        "Basic realm=x",
        "Digest",
        'Digest nonce="only"',
        'Digest realm="r", nonce="n", algorithm=NONE',
    ],
)
def test_a_challenge_made_of_nonsense_is_no_crash(server: HostileServer, challenge: str) -> None:
    url = server.on("/", answer(b"no", f"WWW-Authenticate: {challenge}", status="401 Unauthorized"))
    with Fetcher(Http(auth=HTTPDigestAuth("me", "pw"))) as fetcher:
        response = fetcher.fetch(url)
    assert response.status == 401
    assert response.error in {None, "auth_failed"}


def test_cookies_are_neither_kept_nor_sent_by_default(
    server: HostileServer, fetcher: Fetcher
) -> None:
    url = server.on("/", answer(PAGE, "Set-Cookie: id=1; Path=/"))
    fetcher.fetch(url)
    fetcher.fetch(url)
    assert [seen.header("Cookie") for seen in server.seen] == [None, None]


def test_cookies_go_back_to_their_own_host_only(server: HostileServer) -> None:
    lines = ("Set-Cookie: id=1; Path=/", "Set-Cookie: foreign=1; Domain=example.com", "Set-Cookie:")
    url = server.on("/", answer(PAGE, *lines))
    with Fetcher(Http(cookies=True)) as fetcher:
        for asked in (url, url, url.replace("127.0.0.1", "localhost")):
            assert fetcher.fetch(asked).body == PAGE
    assert [seen.header("Cookie") for seen in server.seen] == [None, "id=1", None]


def test_a_flood_of_cookies_is_cut_off(server: HostileServer) -> None:
    with Fetcher(Http(cookies=True)) as fetcher:
        for page in range(14):
            lines = [f"Set-Cookie: c{page}x{number}={'v' * 9000}" for number in range(5)]
            lines += [f"Set-Cookie: d{page}x{number}=v; Path=/p{page}" for number in range(80)]
            fetcher.fetch(server.on(f"/{page}", answer(PAGE, *lines)))
        jar = fetcher._credentials._jar
        assert jar is not None
        assert 1000 <= len(jar) < 1100


# Proxies and the environment


def test_the_environment_is_not_read(
    server: HostileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port()}")
    with Fetcher() as fetcher:
        assert fetcher.fetch(server.on("/", OK)).body == PAGE
    assert server.seen[0].header("Authorization") is None


def test_a_proxy_is_asked_for_the_whole_url(server: HostileServer) -> None:
    server.on("http://site.example/a?b", OK)
    proxy = f"http://me:p%40ss@127.0.0.1:{server.port}"
    with Fetcher(Http(proxies={"http": proxy}, auth=("site", "pw"))) as fetcher:
        assert fetcher.fetch("http://site.example/a?b").body == PAGE
    (seen,) = server.seen
    assert seen.header("Host") == "site.example"
    assert seen.header("Proxy-Authorization") == basic("me", "p@ss")
    assert seen.header("Authorization") == basic("site", "pw")


def test_the_environments_proxy_counts_where_that_is_asked_for(
    server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"127.0.0.1:{server.port}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server.on("http://site.example/", OK)
    server.on("/", OK)
    with Fetcher(Http(proxies="environment")) as fetcher:
        assert fetcher.fetch("http://site.example/").body == PAGE
        assert fetcher.fetch(server.url("/")).body == PAGE


def test_https_goes_through_the_proxy_in_a_tunnel(own: Path) -> None:
    with (
        HostileServer(tls=tls_context(own)) as site,
        HostileServer() as proxy,
        Fetcher(
            Http(proxies=f"http://me:pw@127.0.0.1:{proxy.port}", verify=str(own), auth=("s", "x"))
        ) as fetcher,
    ):
        target = f"localhost:{site.port}"
        proxy.on(target, b"HTTP/1.1 200 Connection established\r\n\r\n", Tunnel(site.port))
        site.on("/", OK)
        assert [fetcher.fetch(f"https://{target}/").body for _ in range(2)] == [PAGE] * 2
        (connect,) = proxy.seen
        assert connect.head.startswith(f"CONNECT {target}")
        assert connect.header("Proxy-Authorization") == basic("me", "pw")
        assert connect.header("Authorization") is None
        assert site.seen[0].header("Proxy-Authorization") is None
        assert site.seen[0].header("Authorization") == basic("s", "x")


def test_a_silent_proxy_ends_in_time(server: HostileServer) -> None:
    server.on("site.example:443", SILENCE)
    with Fetcher(Http(proxies=f"http://127.0.0.1:{server.port}", timeout=0.5)) as fetcher:
        response = fetcher.fetch("https://site.example/")
    assert response.error == "timeout"
    assert response.elapsed < 2


def test_a_proxy_of_another_kind_in_the_environment_is_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "socks5://me:hunter2@127.0.0.1:1")
    with Fetcher(Http(proxies="environment")) as fetcher:
        response = fetcher.fetch("http://site.example/")
    assert response.error == "proxy_failed"
    assert "hunter2" not in str(response.detail)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("problem", ["down", "refuses", "hangs up"])
def test_what_the_proxy_cannot_do_is_not_blamed_on_the_site(
    server: HostileServer, scheme: str, problem: str
) -> None:
    refusal = answer(b"", status="407 Proxy Authentication Required")
    for target in ("site.example:443", "http://site.example/"):
        server.on(target, *((refusal,) if problem == "refuses" else (CLOSE,)))
    port = unused_port() if problem == "down" else server.port
    with Fetcher(Http(proxies=f"http://127.0.0.1:{port}")) as fetcher:
        response = fetcher.fetch(f"{scheme}://site.example/")
    if scheme == "http" and problem != "down":  # here the proxy itself gives the answer
        assert (response.status, response.error) in {(407, None), (None, "empty_reply")}
    else:
        assert response.error == "proxy_failed"


def test_through_a_proxy_private_hosts_are_judged_by_their_name(server: HostileServer) -> None:
    http = Http(proxies=f"http://127.0.0.1:{server.port}")
    with Fetcher(http, allow_private=False) as fetcher:
        for host in ("10.0.0.1", "localhost", "[::1]"):
            assert fetcher.fetch(f"http://{host}/").error == "private_address"
        assert fetcher.fetch("http://site.example/").status == 404
    assert len(server.seen) == 1
