"""The settings of requests: what is refused, what is saved, and that no secret is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from requests.auth import HTTPDigestAuth

from crawlkit.errors import BadSetting
from crawlkit.web.fetch import Http
from crawlkit.web.http_settings import is_secret_header
from crawlkit.web.proxies import without_user


def test_the_defaults_say_who_asks_and_carry_nothing() -> None:
    http = Http()
    product, _, version = http.user_agent_line().partition("/")
    assert product == "crawlkit"
    assert version[0].isdigit()
    assert (http.timeout, http.retries, http.headers, http.auth) == (30.0, 2, (), None)
    assert (http.proxies, http.cookies, http.verify) == (None, False, True)


SECRET = "hunter2"
WITH_SECRETS = Http(
    auth=("me", SECRET),
    headers={
        "Authorization": f"Bearer {SECRET}",
        "Cookie": f"id={SECRET}",
        "X-Anything": SECRET,
        "Accept-Language": "en",
    },
    proxies={"http": f"http://me:{SECRET}@proxy:3128", "https://a.example": "http://b:1"},
)


def test_what_is_saved_or_shown_contains_no_secret() -> None:
    saved = json.dumps(WITH_SECRETS.to_dict())
    assert SECRET not in saved
    assert SECRET not in repr(WITH_SECRETS)
    assert SECRET not in str(WITH_SECRETS)
    for shown in ("Accept-Language", '"en"', "http://proxy:3128", "http://b:1"):
        assert shown in saved


def test_settings_come_back_without_their_secrets() -> None:
    saved = json.loads(json.dumps(WITH_SECRETS.to_dict()))
    back = Http.from_dict(saved)
    assert back.headers == (("Accept-Language", "en"),)
    assert back.auth is None
    assert back.proxies == {"http": "http://proxy:3128", "https://a.example": "http://b:1"}
    assert Http.from_dict(Http(contact="a@b.example", verify="/x").to_dict()) == Http(
        contact="a@b.example", verify="/x"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("user_agent", ""),
        ("user_agent", "a\r\nb"),
        ("user_agent", "b\u00f6t"),
        ("contact", " "),
        ("timeout", 0),
        ("timeout", float("inf")),
        ("timeout", float("nan")),
        ("timeout", "30"),
        ("timeout", True),
        ("retries", -1),
        ("retries", 1.5),
        ("headers", "X: y"),
        ("headers", 7),
        ("headers", ["X"]),
        ("headers", {"X": 1}),
        ("headers", {"X Y": "a"}),
        ("headers", {"X": "a\nb"}),
        ("headers", {"Host": "other"}),
        ("headers", {"accept-encoding": "br"}),
        ("headers", {"User-Agent": "x"}),
        ("auth", "me:pw"),
        ("auth", ("me",)),
        ("auth", ("me:you", "pw")),
        ("auth", HTTPDigestAuth),
        ("proxies", "socks5://proxy:1080"),
        ("proxies", {"http": "proxy:3128"}),
        ("proxies", {"http": "http://proxy:99999"}),
        ("proxies", {"http": None}),
    ],
)
def test_a_setting_that_cannot_work_is_named(name: str, value: Any) -> None:
    with pytest.raises(BadSetting) as caught:
        Http(**{name: value})
    assert caught.value.name == name


def test_a_bad_proxy_is_named_without_its_password() -> None:
    with pytest.raises(BadSetting) as caught:
        Http(proxies="socks5://me:hunter2@proxy:1080")
    assert "hunter2" not in str(caught.value)


def test_settings_are_frozen_and_comparable() -> None:
    mapping = {"http": "http://proxy:1"}
    http = Http(proxies=mapping, auth=HTTPDigestAuth("a", "b"))
    mapping["http"] = "http://other:1"
    assert http.proxies == {"http": "http://proxy:1"}
    with pytest.raises(AttributeError):
        http.timeout = 1.0  # type: ignore[misc]
    assert Http(timeout=5) == Http(timeout=5.0) != Http(timeout=6)
    assert hash(Http(proxies=mapping)) == hash(Http(proxies=mapping))


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("Authorization", True),
        ("COOKIE", True),
        ("X-Auth-Token", True),
        ("x-api-key", True),
        ("X-Amz-Signature", True),
        ("Accept", False),
        ("Referer", False),
    ],
)
def test_secret_headers_are_known_by_their_names(name: str, secret: bool) -> None:
    assert is_secret_header(name) is secret


@given(st.text("abc:/@#?%\\", max_size=20), st.text("ab:@", max_size=8))
def test_no_user_info_survives(rest: str, user: str) -> None:
    shown = without_user(f"http://{user}SECRET@{rest}")
    assert "SECRET" not in shown
