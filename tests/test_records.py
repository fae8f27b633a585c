"""Records: ids from the data, written again only when the content changed."""

from __future__ import annotations

import datetime as dt

import pytest

from crawlkit.crawling.database import open_for_writing, transaction
from crawlkit.crawling.readers import read_records
from crawlkit.crawling.records import extract_records, make_record, upsert_records


class FakePage:
    url = "http://a.example/1"


def write(folder, fields, at):
    connection = open_for_writing(folder)
    try:
        with transaction(connection):
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('settings', '{}')")
            upsert_records(connection, [make_record(fields, site="a.example", url="u")], at)
    finally:
        connection.close()


def test_the_same_record_again_changes_nothing(tmp_path):
    write(tmp_path, {"id": 7, "price": 1.5}, 100.0)
    first = read_records(tmp_path)
    write(tmp_path, {"price": 1.5, "id": "7"}, 200.0)
    assert read_records(tmp_path).equals(first)


def test_changed_content_moves_last_changed_and_the_version_key(tmp_path):
    write(tmp_path, {"id": 7, "price": 1.5}, 100.0)
    first = read_records(tmp_path).iloc[0]
    write(tmp_path, {"id": 7, "price": 2.5}, 200.0)
    second = read_records(tmp_path).iloc[0]
    assert second["record_id"] == first["record_id"]
    assert second["version_key"] != first["version_key"]
    assert second["first_seen"] == first["first_seen"]
    assert (second["last_changed"] - first["last_changed"]).total_seconds() == 100.0
    assert second["price"] == 2.5


def test_ids_depend_on_the_site_and_the_natural_key_only():
    one = make_record({"id": 1, "a": 1}, site="a.example", url="u")
    assert make_record({"id": 1, "a": 2}, site="a.example", url="v").record_id == one.record_id
    assert make_record({"id": 1, "a": 1}, site="b.example", url="u").record_id != one.record_id


def test_columns_of_mixed_types_become_text_and_taken_names_give_way(tmp_path):
    write(tmp_path, {"id": 1, "size": 3, "url": "mine"}, 1.0)
    write(tmp_path, {"id": 2, "size": "large", "when": dt.date(2026, 1, 2)}, 1.0)
    frame = read_records(tmp_path)
    assert sorted(frame["size"]) == ['"large"', "3"]
    assert "mine" in set(frame["url_"])
    assert "2026-01-02" in set(frame["when"])


def failing(page):
    yield {"id": 1}
    raise RuntimeError("no price on this page")


@pytest.mark.parametrize(
    ("extractor", "problem"),
    [
        (failing, "RuntimeError: no price on this page"),
        (lambda page: [{"name": "x"}], "natural key"),
        (lambda page: [{"id": 1, "tree": object()}], "cannot be kept"),
        (lambda page: [{"id": float("nan")}], "none was given"),
        (lambda page: [{"id": 1, "x": [float("nan")]}], "ValueError"),
        (lambda page: 5, "TypeError"),
        (lambda page: exit(3), "SystemExit"),
    ],
)
def test_an_extractor_that_fails_gives_no_record_and_its_reason(extractor, problem):
    records, reason = extract_records(FakePage(), extractor, "a.example")
    assert records == []
    assert problem in reason


def test_an_extractor_may_give_nothing_one_dict_or_many():
    for value, count in [(None, 0), ([], 0), ({"id": 1}, 1), ([{"id": 1}, {"id": 2}], 2)]:
        records, reason = extract_records(FakePage(), lambda page, v=value: v, "a.example")
        assert reason is None
        assert len(records) == count


def test_a_missing_number_becomes_null(tmp_path):
    write(tmp_path, {"id": 1, "price": float("nan")}, 1.0)
    assert read_records(tmp_path)["price"].isna().all()
