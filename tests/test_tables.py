"""Tables: fixed columns and dtypes, segments that are seen whole or not at all."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlkit.crawling.buffer import buffer_to_arrow, pack_rows
from crawlkit.crawling.database import open_for_writing, transaction
from crawlkit.crawling.schema import COLUMNS, SEGMENTED, arrow_schema, empty_frame, to_json
from crawlkit.crawling.segment_readers import read_table
from crawlkit.crawling.tables import clean_folder, compact, flush_buffer

NOW = 1_790_000_000_000_000


def add(connection, seq: int, **tables) -> None:
    tables = {name: rows if isinstance(rows, list) else [rows] for name, rows in tables.items()}
    with transaction(connection):
        connection.execute(
            "INSERT INTO buffer (seq, rows) VALUES (?, ?)", (seq, json.dumps(tables))
        )


def page(number: int, **facts):
    url = f"http://a.example/{number}"
    return {"url": url, "key": url, "status": 200, "fetched_at": NOW, "seq": number, **facts}


def links(number: int, count: int):
    return {
        "source": f"http://a.example/{number}",
        "target": [f"http://a.example/{n}" for n in range(count)],
        "href": [str(n) for n in range(count)],
        "position": list(range(count)),
        "region": [None] * count,
        "text": ["2026-01-01T00:00:00"] * count,  # text that looks like a date stays text
        "rel": [None] * count,
        "kind": ["anchor"] * count,
        "internal": [True] * count,
        "new": [False] * count,
    }


@pytest.fixture
def connection(tmp_path):
    connection = open_for_writing(tmp_path)
    with transaction(connection):
        connection.execute("INSERT INTO meta VALUES ('settings', '{}')")
    yield connection
    connection.close()


@pytest.mark.parametrize("table", COLUMNS)
def test_an_empty_table_has_the_documented_columns_and_dtypes(table):
    frame = empty_frame(table)
    assert list(frame.columns) == list(COLUMNS[table])
    assert len(frame) == 0
    kinds = {"text": "str", "int": "Int64", "float": "float64", "bool": "boolean"}
    for name, kind in COLUMNS[table].items():
        expected = {**kinds, "time": "datetime64[us, UTC]"}.get(kind, "object")
        assert str(frame[name].dtype) == expected, name


@pytest.mark.parametrize("table", SEGMENTED)
def test_dtypes_are_the_same_from_the_buffer_from_segments_and_when_empty(
    tmp_path, connection, table
):
    rows = {
        "pages": page(1, hreflang=[{"lang": "de", "url": "http://a.example/de"}], words=7),
        "links": links(1, 3),
        "fetches": [{"seq": 1, "url": "u", "started_at": NOW, "elapsed": 0.5}],
        "changes": [{"url": "u", "round": 1}],
        "events": [{"at": NOW, "kind": "robots"}],
    }
    expected = empty_frame(table).dtypes
    pd.testing.assert_series_equal(read_table(tmp_path, table).dtypes, expected)
    add(connection, 1, **rows)
    buffered = read_table(tmp_path, table)
    pd.testing.assert_series_equal(buffered.dtypes, expected)
    flush_buffer(connection, tmp_path)
    flushed = read_table(tmp_path, table)
    pd.testing.assert_frame_equal(flushed, buffered)
    assert len(flushed) == (3 if table == "links" else 1)


def test_links_unfold_in_order_with_their_source(tmp_path, connection):
    add(connection, 1, links=links(1, 2))
    add(connection, 2, fetches=[{"seq": 1, "url": "u"}])
    add(connection, 3, links=links(3, 1))
    frame = read_table(tmp_path, "links")
    assert list(zip(frame["source"].str[-1], frame["position"], strict=True)) == [
        ("1", 0),
        ("1", 1),
        ("3", 0),
    ]
    assert set(frame["text"]) == {"2026-01-01T00:00:00"}


def test_a_file_that_is_not_recorded_does_not_exist(tmp_path, connection):
    add(connection, 1, pages=page(1))
    flush_buffer(connection, tmp_path)
    known = tmp_path / "pages" / "part-000001.parquet"
    stray = tmp_path / "pages" / "part-000002.parquet"
    half = tmp_path / "pages" / ".part-000003.parquet"
    stray.write_bytes(known.read_bytes())
    half.write_bytes(b"PAR1 and then the power went")
    assert len(read_table(tmp_path, "pages")) == 1
    assert sorted(clean_folder(connection, tmp_path)) == [
        "pages/.part-000003.parquet",
        "pages/part-000002.parquet",
    ]
    assert known.exists()
    assert not stray.exists()
    assert not half.exists()


def test_compaction_joins_segments_and_changes_no_row(tmp_path, connection):
    for number in range(1, 6):
        add(connection, number, pages=page(number), links=links(number, number))
        flush_buffer(connection, tmp_path)
    before = {table: read_table(tmp_path, table) for table in ("pages", "links")}
    compact(connection, tmp_path)
    for table, frame in before.items():
        pd.testing.assert_frame_equal(read_table(tmp_path, table), frame)
        files = list((tmp_path / table).iterdir())
        assert len(files) == 1
        written = pq.read_schema(files[0])
        assert written.names == arrow_schema(table).names
        assert written.metadata == arrow_schema(table).metadata
    compact(connection, tmp_path)
    assert len(read_table(tmp_path, "links")) == 15


def test_a_page_fetched_again_shows_its_latest_fetch(tmp_path, connection):
    add(connection, 1, pages=page(1, status=503))
    add(connection, 2, pages=page(2))
    flush_buffer(connection, tmp_path)
    add(connection, 3, pages=page(1, status=200, seq=9))
    frame = read_table(tmp_path, "pages")
    assert list(frame["seq"]) == [2, 9]


def test_text_that_no_encoding_holds_is_kept_readable(tmp_path, connection):
    with transaction(connection):
        rows = to_json({"pages": [page(1, title="a\ud800b")]})
        connection.execute("INSERT INTO buffer (seq, rows) VALUES (1, ?)", (rows,))
    assert len(read_table(tmp_path, "pages")) == 1


def test_segments_of_an_earlier_release_lack_a_column_and_are_read(tmp_path, connection):
    add(connection, 1, pages=page(1, links_not_http=3))
    flush_buffer(connection, tmp_path)
    path = next((tmp_path / "pages").iterdir())
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["links_not_http"]), path)
    add(connection, 2, pages=page(2, links_not_http=4))
    flush_buffer(connection, tmp_path)
    frame = read_table(tmp_path, "pages")
    assert list(frame["links_not_http"].isna()) == [True, False]
    pd.testing.assert_series_equal(frame.dtypes, empty_frame("pages").dtypes)


# Whatever could be taken for the end of a line, of a field, for a null or for a quote.
_TEXT = st.text(st.sampled_from('ab,"\\\n\r\x00\x1e\x1f\u2028\u00e9'), max_size=3)
_LINK = st.fixed_dictionaries(
    {
        "target": _TEXT.map("http://a.example/".__add__),
        "href": _TEXT,
        "region": st.sampled_from(["nav", "main", None]),
        "text": st.none() | _TEXT,
        "rel": st.none() | _TEXT,
        "kind": st.sampled_from(["anchor", "redirect"]),
        "internal": st.booleans(),
        "new": st.booleans(),
    }
)


def _columns(number: int, found: list[dict], first: int) -> dict:
    columns = {
        name: [link[name] for link in found] for name in COLUMNS["links"] if name in found[0]
    }
    position = list(range(first, first + len(found)))
    return {"source": f"http://a.example/{number}", "position": position, **columns}


@given(
    st.lists(
        st.tuples(st.lists(_LINK, min_size=1, max_size=4), st.sampled_from([0, 0, 0, 2])),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=60, deadline=None)
def test_links_come_out_of_the_buffer_as_they_went_in(pages):
    written = [_columns(number, found, first) for number, (found, first) in enumerate(pages)]
    rows = [pack_rows({"pages": [page(n)], "links": [one]}) for n, one in enumerate(written)]
    tables = buffer_to_arrow([row.encode() for row in rows])
    expected = [
        {**{name: one[name][at] for name in one if name != "source"}, "source": one["source"]}
        for one in written
        for at in range(len(one["target"]))
    ]
    assert tables["links"].to_pylist() == expected
    assert tables["links"].schema == arrow_schema("links")
    assert tables["pages"]["seq"].to_pylist() == list(range(len(pages)))


def test_plain_links_stand_in_lines_and_such_as_could_be_cut_wrongly_do_not():
    plain, cut, lone = links(1, 3), links(1, 3), links(1, 3)
    cut["href"][1] = "a\nb"
    lone["text"][2] = "a\ud800b"
    assert pack_rows({"links": [plain]}).count("\n") == 15
    assert "\n" not in pack_rows({"links": [cut]})
    assert "\n" not in pack_rows({"links": [lone]})
    rows = [pack_rows({"links": [one]}).encode() for one in (plain, cut, lone)]
    assert buffer_to_arrow(rows)["links"]["href"].to_pylist()[3:6] == ["0", "a\nb", "2"]


def test_a_buffer_of_an_earlier_release_is_read_with_newer_rows_behind_it(tmp_path, connection):
    add(connection, 1, links=links(1, 2))
    with transaction(connection):
        row = pack_rows({"links": [links(2, 3)]})
        connection.execute("INSERT INTO buffer (seq, rows) VALUES (2, ?)", (row,))
    waiting = read_table(tmp_path, "links")
    flush_buffer(connection, tmp_path)
    frame = read_table(tmp_path, "links")
    pd.testing.assert_frame_equal(frame, waiting)
    assert list(frame["position"]) == [0, 1, 0, 1, 2]
    assert frame["rel"].isna().all()
    assert list(frame["source"].str[-1]) == ["1", "1", "2", "2", "2"]
