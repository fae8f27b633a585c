"""Seeds from a web archive: paging, filters, faults, and what is said of them."""

from __future__ import annotations

import json
import random
import warnings
from datetime import UTC, date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import pandas as pd
import pytest
from cdx_server import CdxServer, Row, Sent, site_captures
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit.web import archive_index
from crawlkit.web.archive_answers import read_answer

if TYPE_CHECKING:
    from collections.abc import Callable

DIALECTS = ("wayback", "pywb", "zipnum")
QUICK = ck.Http(retries=2, timeout=5.0)
COLUMNS = {
    "url": "str",
    "source": "str",
    "lastmod": "datetime64[us, UTC]",
    "found_in": "str",
    "captured_at": "datetime64[us, UTC]",
    "status": "Int64",
    "mime": "str",
    "urlkey": "str",
    "issues": "str",
}


def seeds(server: CdxServer, site: str = "example.com", **options: Any) -> pd.DataFrame:
    given: dict[str, Any] = {"delay": 0.0, "http": QUICK, "progress": False} | options
    return ck.seeds_from_archive(site, endpoint=server.url, **given)


def expected(rows: list[Row], wanted: Callable[[Row], bool] | None = None) -> list[str]:
    """The right answer, worked out without any paging: the first wanted capture of each key."""
    found: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: (row.urlkey, row.timestamp)):
        if wanted(row) if wanted else row.status == "200" and row.mime == "text/html":
            found.setdefault(row.urlkey, row.url)
    return list(found.values())


@pytest.mark.parametrize("output", ["json", "text"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_gives_the_same_rows(dialect: str, output: str) -> None:
    rows = site_captures()
    with CdxServer(rows, dialect=dialect) as server:
        table = seeds(server, page_size=7, output=output)
    assert table["url"].tolist() == expected(rows)
    assert table.dtypes.astype(str).to_dict() == COLUMNS
    assert set(table["source"]) == {"archive"}
    assert table["lastmod"].isna().all()
    assert set(table["found_in"]) == {server.url}
    assert set(table["captured_at"]) == {pd.Timestamp("2021-01-02 03:04:05", tz="UTC")}
    assert table["captured_at"].iloc[0].year == 2021
    assert set(table["status"]) == {200}
    assert table.attrs["stop_reason"] == "end"
    assert table.attrs["complete"] is True
    assert table.attrs["refused"] == ()
    assert table.attrs["problems"] == ()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_rows_is_an_empty_table_of_the_same_form(dialect: str) -> None:
    with CdxServer(site_captures(), dialect=dialect) as server:
        table = seeds(server, "nowhere.example")
    assert len(table) == 0
    assert table.dtypes.astype(str).to_dict() == COLUMNS
    assert table.attrs["complete"] is True


def test_a_crawl_takes_the_table() -> None:
    with CdxServer(site_captures(4)) as server:
        table = seeds(server)
    assert {"url", "source", "lastmod", "found_in"} <= set(table.columns)


def test_resume_keys_are_followed_to_the_end_without_asking_twice() -> None:
    with CdxServer(site_captures()) as server:
        table = seeds(server, page_size=5)
        pages = -(-len(table) // 5)
        assert [request.get("resumeKey") is not None for request in server.requests] == [
            False, *[True] * (len(server.requests) - 1)
        ]  # fmt: skip
        assert len(server.requests) in (pages, pages + 1)
        assert len({request.get("resumeKey") for request in server.requests}) == len(
            server.requests
        )
        assert server.requests[1]["fl"] == "urlkey,timestamp,original,mimetype,statuscode"
        assert server.filters[0] == ["statuscode:200", "mimetype:text/html"]
        assert table.attrs["requests"] == len(server.requests)


@pytest.mark.parametrize("output", ["json", "text"])
def test_a_page_without_rows_but_with_a_key_is_not_the_end(output: str) -> None:
    rows = site_captures()
    key = Row("http://docs.example.com/p/2?a=2").urlkey + " 2021"
    body = json.dumps([["urlkey", "timestamp", "original"], [], [key]])
    if output == "text":
        body = f"\n{quote_plus(key)}\n"
    with CdxServer(rows, faults={1: Sent(body=body.encode())}) as server:
        table = seeds(server, output=output)
    assert 0 < len(table) < len(expected(rows))
    assert table.attrs["complete"] is True
    assert server.requests[1]["resumeKey"] == key


def test_numbered_pages_are_asked_each_once() -> None:
    rows = site_captures()
    with CdxServer(rows, dialect="zipnum", rows_per_page=9) as server:
        table = seeds(server, page_size=3)
        numbers = [int(request["page"]) for request in server.requests if "page" in request]
    assert numbers == list(range(-(-len(rows) // 9)))
    assert table["url"].tolist() == expected(rows)


def test_a_first_page_without_any_wanted_row_is_not_the_end() -> None:
    rows = [Row(f"http://example.com/a/{n:03}", status="404") for n in range(30)]
    rows += [Row(f"http://example.com/b/{n:03}") for n in range(30)]
    with CdxServer(rows, dialect="zipnum") as server:
        table = seeds(server)
    assert len(table) == 30
    assert table.attrs["complete"] is True


def test_a_server_that_fails_to_count_its_pages_is_not_called_complete() -> None:
    rows = site_captures()
    down = lambda number, query: Sent(status=503) if "showNumPages" in query else None  # noqa: E731
    with CdxServer(rows, dialect="zipnum", faults=down) as server:
        with pytest.warns(UserWarning, match="http_503"):
            table = seeds(server)
    assert 0 < len(table) < len(expected(rows))
    assert table.attrs["complete"] is False
    unknown = lambda number, query: Sent(status=400) if "showNumPages" in query else None  # noqa: E731
    with CdxServer(rows, dialect="pywb", faults=unknown) as server:
        table = seeds(server)
    assert table["url"].tolist() == expected(rows)
    assert table.attrs["complete"] is True


def test_a_server_without_pages_is_asked_once_and_for_their_number() -> None:
    with CdxServer(site_captures(), dialect="pywb") as server:
        table = seeds(server)
    assert len(server.requests) == 2
    assert table.attrs["complete"] is True


def test_a_server_without_any_paging_is_asked_for_everything_once() -> None:
    rows = site_captures()
    with CdxServer(rows, dialect="pywb") as server:
        table = seeds(server, page_size=3)
    assert table["url"].tolist() == expected(rows)
    assert len(server.requests) == 3  # the probe, the question for pages, everything
    assert server.requests[1]["limit"] == "1"  # so that the question costs nothing


def test_an_unpaged_answer_as_long_as_its_limit_is_called_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive_index, "UNPAGED_ROWS", 12)
    with CdxServer(site_captures(), dialect="pywb") as server:
        with pytest.warns(UserWarning, match="cut_by_limit"):
            table = seeds(server, page_size=3)
    assert table.attrs["complete"] is False
    assert len(table) > 3


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"status": None, "mime": None}, lambda row: True),
        ({"status": (200, 404)}, lambda row: row.mime == "text/html"),
        ({"status": 404, "mime": None}, lambda row: row.status == "404"),
        (
            {"mime": ("text/html", "image/png"), "status": "200"},
            lambda row: row.status == "200",
        ),
        (
            {"since": "2023", "mime": None, "status": None},
            lambda row: row.timestamp >= "2023",
        ),
        (
            {"until": date(2021, 1, 2), "mime": None, "status": None},
            lambda row: row.timestamp < "20210103",
        ),
        (
            {"match": "host", "status": None, "mime": None},
            lambda row: "docs." not in row.url,
        ),
    ],
)
def test_filters_hold_whatever_the_server_makes_of_them(
    dialect: str, options: dict[str, Any], wanted: Callable[[Row], bool]
) -> None:
    rows = site_captures()
    with CdxServer(rows, dialect=dialect) as server:
        table = seeds(server, page_size=11, **options)
    assert table["url"].tolist() == expected(rows, wanted)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("collapse", [None, "timestamp:4", "urlkey:12"])
def test_other_collapsing_is_of_neighbors(dialect: str, collapse: str | None) -> None:
    rows = site_captures(9)
    with CdxServer(rows) as server:
        right = seeds(server, collapse=collapse, page_size=1000)
    with CdxServer(rows, dialect=dialect) as server:
        table = seeds(server, collapse=collapse, page_size=4)
    if collapse is None:
        assert len(table) == sum(row.status == "200" and row.mime == "text/html" for row in rows)
    assert table["url"].tolist() == right["url"].tolist()
    assert table["captured_at"].tolist() == right["captured_at"].tolist()


def test_prefix_and_exact_match_take_a_url() -> None:
    rows = site_captures()
    with CdxServer(rows) as server:
        exact = seeds(server, "http://docs.example.com/p/2?a=2", match="exact")
        prefix = seeds(server, "https://docs.example.com/p/2", match="prefix")
    assert exact["url"].tolist() == ["http://docs.example.com/p/2?a=2"]
    assert set(prefix["url"]) > set(exact["url"])
    assert server.requests[0]["url"] == "docs.example.com/p/2?a=2"


@pytest.mark.parametrize(("most", "page_size"), [(7, 5), (5, 5), (6, 5), (7, 1000), (1, 5)])
def test_max_urls_is_exact_and_a_resume_key_goes_on_from_there(most: int, page_size: int) -> None:
    rows = site_captures()
    with CdxServer(rows) as server:
        first = seeds(server, max_urls=most, page_size=page_size)
        rest = seeds(server, page_size=5, resume_key=first.attrs["resume_key"])
    assert len(first) == most
    assert first.attrs["stop_reason"] == "max_urls"
    assert first.attrs["complete"] is False
    assert rest.attrs["complete"] is True
    assert first["url"].tolist() + rest["url"].tolist() == expected(rows)


@pytest.mark.parametrize("dialect", ["pywb", "zipnum"])
def test_max_urls_is_exact_without_resume_keys(dialect: str) -> None:
    rows = site_captures()
    with CdxServer(rows, dialect=dialect) as server:
        table = seeds(server, max_urls=7, page_size=5)
    assert table["url"].tolist() == expected(rows)[:7]
    assert table.attrs["stop_reason"] == "max_urls"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Sent(status=429, headers={"Retry-After": "0"}), "http_429"),
        (Sent(status=503), "http_503"),
        (Sent(status=504, body=b"<html>busy</html>"), "http_504"),
        (Sent(cut=0.6), "truncated"),
        (Sent(cut=0.6, silent_cut=True), "truncated"),
    ],
)
@pytest.mark.parametrize("number", [1, 3])
def test_a_failure_that_time_cures_costs_no_row(fault: Sent, reason: str, number: int) -> None:
    rows = site_captures()
    with CdxServer(rows, faults={number: fault}) as server:
        table = seeds(server, page_size=5)
    assert table["url"].tolist() == expected(rows)
    assert table.attrs["complete"] is True
    assert [problem["reason"] for problem in table.attrs["problems"]] == [reason]
    assert table.attrs["problems"][0]["request"] == number


def test_a_slow_page_is_asked_again_with_fewer_rows() -> None:
    rows = site_captures(300)
    http = ck.Http(retries=2, timeout=0.5)
    with CdxServer(rows, faults={1: Sent(delay=1.0)}) as server:
        table = seeds(server, page_size=1000, http=http)
    assert table["url"].tolist() == expected(rows)
    assert [request["limit"] for request in server.requests[:2]] == ["1000", "500"]
    assert table.attrs["problems"][0]["reason"] == "timeout"


def test_retry_after_is_obeyed_and_the_delay_kept() -> None:
    with CdxServer(
        site_captures(), faults={2: Sent(status=503, headers={"Retry-After": "1"})}
    ) as server:
        seeds(server, page_size=8, delay=0.05)
    gaps = [after - before for before, after in zip(server.times, server.times[1:], strict=False)]
    assert min(gaps) >= 0.04
    assert gaps[1] >= 0.95


def test_a_server_that_asks_for_too_long_a_pause_ends_the_walk_with_what_there_is() -> None:
    faults = {2: Sent(status=429, headers={"Retry-After": "86400"})}
    with CdxServer(site_captures(), faults=faults) as server:
        with pytest.warns(UserWarning, match="retry_after_too_long"):
            table = seeds(server, page_size=5)
    assert len(table) == 5
    assert table.attrs["stop_reason"] == "retry_after_too_long"
    assert table.attrs["resume_key"]


def test_a_lasting_failure_in_the_middle_keeps_the_rows_before_and_says_so() -> None:
    rows = site_captures()
    down = lambda number, _: Sent(status=503) if number > 2 else None  # noqa: E731
    with CdxServer(rows, faults=down) as server:
        with pytest.warns(UserWarning, match=r"http_503.*9 URLs were found before"):
            table = seeds(server, page_size=5)
    # Five and five, but a page may begin with a later capture of the URL that the last one ended
    # with: the server collapses each answer by itself.
    assert table["url"].tolist() == expected(rows)[:9]
    assert table.attrs["complete"] is False
    assert table.attrs["stop_reason"] == "http_503"
    assert len(server.requests) == 5  # two pages, one failure, two repeats
    with CdxServer(rows) as server:
        rest = seeds(server, page_size=5, resume_key=table.attrs["resume_key"])
    assert table["url"].tolist() + rest["url"].tolist() == expected(rows)


def test_the_whole_rows_of_a_half_page_are_kept_at_the_end_of_patience() -> None:
    rows = site_captures()
    cut = lambda number, _: Sent(cut=0.7, silent_cut=True)  # noqa: E731
    for dialect in ("wayback", "pywb"):
        with CdxServer(rows, faults=cut, dialect=dialect) as server:
            with pytest.warns(UserWarning, match="truncated"):
                table = seeds(server)
        assert 0 < len(table) < len(expected(rows))
        assert table["url"].tolist() == expected(rows)[: len(table)]


def test_endless_paging_ends() -> None:
    names = ["urlkey", "timestamp", "original", "mimetype", "statuscode"]
    row = ["com,example)/", "2024", "http://example.com/", "text/html", "200"]

    def same_key(number: int, _: object) -> Sent:
        return Sent(body=json.dumps([names, row, [], [f"key{number % 3}"]]).encode())

    with CdxServer([], faults=same_key) as server:
        with pytest.warns(UserWarning, match="resume_key_repeats"):
            table = seeds(server)
        assert len(table) == 1
        assert len(server.requests) == 4

    def new_key(number: int, _: object) -> Sent:
        return Sent(body=json.dumps([names, row, [], [f"key{number}"]]).encode())

    with CdxServer([], faults=new_key) as server:
        with pytest.warns(UserWarning, match="max_requests"):
            table = seeds(server, max_requests=25)
        assert len(server.requests) == 25
        assert table.attrs["stop_reason"] == "max_requests"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Sent(body=b"<!doctype html><title>Blocked</title>"), "not_an_index"),
        (Sent(body=b"\x00\x01garbage"), "not_an_index"),
        (Sent(body=b'["a", "b"]'), "not_an_index"),
        (Sent(body=b"[" * 100_000), "truncated"),
        (Sent(body=b'{"a":' * 100_000), "not_an_index"),
        (Sent(body=b'{"message": "Invalid query"}'), "index_error"),
        (Sent(status=400, body=b'{"message": "Invalid match_type"}'), "http_400"),
        (Sent(status=403, body=b"Blocked Site Error"), "http_403"),
        (Sent(status=404, body=b"<html>nothing here"), "http_404"),
        (Sent(status=500, body=b""), "http_500"),
    ],
)
def test_an_answer_that_is_no_index_is_a_reason(fault: Sent, reason: str) -> None:
    with CdxServer([], faults=lambda *_: fault) as server:
        with pytest.warns(UserWarning, match=reason):
            table = seeds(server, http=ck.Http(retries=1))
    assert len(table) == 0
    assert table.attrs["stop_reason"] == reason
    assert table.dtypes.astype(str).to_dict() == COLUMNS


def test_a_server_that_is_not_there_is_a_reason() -> None:
    with CdxServer([]) as server:
        pass
    with pytest.warns(UserWarning, match="connect_refused"):
        table = seeds(server)
    assert table.attrs["stop_reason"] == "connect_refused"


def test_strange_rows_are_refused_visibly() -> None:
    rows = [
        ["com,example)/", "20240102030405", "http://example.com/", "text/html", "200"],
        ["com,evil)/", "20240102030405", "http://evil.example/", "text/html", "200"],
        ["com,example)/a", "20240102030405", "http://example.com:99999/a", "text/html", "200"],
        ["com,example)/b", "20249902030405", "http://example.com/b", "text/html", "200"],
        ["com,example)/c", "never", "http://example.com/c", "text/html", "200"],
        ["com,example)/d", "20240102030405", None, "text/html", "200"],
        "row",
        ["com,example)/e", 20240102030405, "http://WWW.example.com/e%7e", "TEXT/HTML; x", 200],
    ]
    names = ["urlkey", "timestamp", "original", "mimetype", "statuscode"]
    with CdxServer([], faults={1: Sent(body=json.dumps([names, *rows]).encode())}) as server:
        table = seeds(server)
    assert table["url"].tolist() == [
        "http://example.com/",
        "http://example.com/b",
        "http://www.example.com/e~",
    ]
    assert table["captured_at"].isna().tolist() == [False, True, False]
    assert table["issues"].tolist()[1] == "bad_timestamp"
    assert table["issues"].isna().tolist() == [True, False, True]
    reasons = [row["reason"] for row in table.attrs["refused"]]
    assert reasons == ["other_host", "bad_port", "bad_row", "bad_row", "bad_row"]
    assert table.attrs["refused"].table["reason"].tolist() == reasons
    assert table.attrs["refused_count"] == 5
    assert table.head(1).attrs["refused"] is table.attrs["refused"]


def test_an_international_host_is_the_same_in_either_spelling() -> None:
    row = ["de,xn--mnchen-3ya)/", "2024", "http://www.m\u00fcnchen.de/a", "text/html", "200"]
    names = ["urlkey", "timestamp", "original", "mimetype", "statuscode"]
    with CdxServer([], faults={1: Sent(body=json.dumps([names, row]).encode())}) as server:
        table = seeds(server, "m\u00fcnchen.de")
    assert table["url"].tolist() == ["http://www.xn--mnchen-3ya.de/a"]
    assert server.requests[0]["url"] == "xn--mnchen-3ya.de"


def test_an_interrupt_leaves_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = site_captures()
    ask = archive_index.Patience.ask

    def interrupted(self: archive_index.Patience, *given: Any) -> Any:
        if self.requests == 2:
            raise KeyboardInterrupt
        return ask(self, *given)

    monkeypatch.setattr(archive_index.Patience, "ask", interrupted)
    with CdxServer(rows) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        table = seeds(server, page_size=5)
    assert table["url"].tolist() == expected(rows)[:9]
    assert table.attrs["stop_reason"] == "interrupted"
    assert table.attrs["resume_key"]


def test_times_are_sent_as_the_index_writes_them() -> None:
    east = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    cases = [
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "20240102030405", "20240102030405"),
        (datetime(2024, 1, 2), "20240102000000", "20240102000000"),
        (east, "20231231230000", "20231231230000"),
        (pd.Timestamp("2024-01-02"), "20240102000000", "20240102000000"),
        (date(2024, 2, 29), "20240229000000", "20240229235959"),
        ("2024-02", "20240201000000", "20240229235959"),
        ("20240229", "20240229", "20240229"),
    ]
    with CdxServer([]) as server:
        for value, since, until in cases:
            seeds(server, since=value, until=value)
            assert (server.requests[-1]["from"], server.requests[-1]["to"]) == (since, until)


@pytest.mark.parametrize(
    "options",
    [
        {"match": "all"},
        {"endpoint": "example.com/cdx"},
        {"endpoint": None},
        {"site": ""},
        {"site": None},
        {"site": "http://"},
        {"since": "yesterday"},
        {"until": object()},
        {"status": [None, ""]},
        {"status": 2.5j},
        {"collapse": "urlkey&limit=1"},
        {"page_size": 0},
        {"page_size": True},
        {"max_urls": 1.5},
        {"delay": -1},
        {"delay": float("nan")},
        {"max_wait": float("inf")},
        {"output": "xml"},
    ],
)
def test_a_wrong_argument_is_named(options: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "site": "example.com",
        "endpoint": "http://127.0.0.1:9/",
        "progress": False,
    } | options
    with pytest.raises(ck.BadSetting) as caught:
        ck.seeds_from_archive(**given)
    assert caught.value.name == next(iter(options))


def test_a_bar_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with CdxServer(site_captures(4)) as server:
        seeds(server, progress=True)
    assert "archive" in capsys.readouterr().err


@settings(max_examples=60)
@given(st.binary(max_size=200) | st.text(alphabet='[]{}",: \nabc05', max_size=60).map(str.encode))
def test_no_bytes_upset_the_reader(body: bytes) -> None:
    for whole in (True, False):
        answer = read_answer(body, whole=whole)
        assert all(capture.url and capture.timestamp for capture in answer.captures)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(["json", "text"]), st.booleans())
def test_a_cut_answer_never_gives_a_row_that_is_not_there(
    seed: int, output: str, pywb: bool
) -> None:
    draw = random.Random(seed)
    server = CdxServer(site_captures(6), dialect="pywb" if pywb else "wayback")
    server._server.server_close()
    query = {"url": "example.com", "matchType": "domain"}
    if output == "json":
        query["output"] = "json"
    _, body = server.answer(query, [])
    cut = read_answer(body[: draw.randrange(len(body))], whole=False)
    whole = read_answer(body)
    assert cut.captures == whole.captures[: len(cut.captures)]
    assert not cut.bad_rows
