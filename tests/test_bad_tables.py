"""Tables from elsewhere hold anything: every analysis gives an answer, or says what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import crawlkit as ck

if TYPE_CHECKING:
    from collections.abc import Callable

URLS = [f"https://shop.example/{number}" for number in range(30)]
STRANGE = [
    "https://shop.example/", "https://shop.example/stra\u00dfe?q=\u65e5", "//x", " ", "", None,
    float("nan"), 5, "not a url", "http://[::1", "https://shop.example/%ff%zz", "javascript:1",
    "https://shop.example/half\ud800", "https://shop.example/" + "a/" * 4_000,
    "https://shop.example/?" + "&".join(f"k{n}={'v' * 20}" for n in range(330)),
]  # fmt: skip
ANALYSES: dict[str, Callable[[Any], object]] = {
    "discovery_curve": lambda tables: [
        ck.discovery_curve(tables, by=by) for by in (None, "host", "section", "template")
    ],
    "find_traps": lambda tables: ck.find_traps(tables, undecided=True),
    "estimate_size": ck.estimate_size,
    "crawl_metrics": lambda tables: ck.crawl_metrics(tables, price_per_gb=1),
    "audit_site": lambda tables: ck.audit_site(tables, [*STRANGE, *URLS], progress=False),
    "compare_coverage": lambda tables: ck.compare_coverage(tables, [*STRANGE, *URLS], STRANGE),
    "preview_exclude": lambda tables: ck.preview_exclude(tables, "/*?q="),
    "check_url_rules": lambda tables: ck.check_url_rules(tables, progress=False),
}


def tables(urls: list[Any]) -> dict[str, pd.DataFrame]:
    """Return tables of pages, links, URLs and fetches that are as they should be."""
    count = len(urls)
    pages = pd.DataFrame(
        {
            "url": urls, "seq": range(count), "status": 200, "title": "t", "words": 10, "size": 99,
            "elapsed": 0.1, "text_hash": "x", "canonical": None, "indexable": True,
            "redirected_to": None, "new_urls": 1, "known_urls": 9, "frontier_size": 3,
            "wire_bytes": 50, "attempt": 1, "fetched_at": pd.Timestamp("2026-01-01", tz="UTC"),
        }
    )  # fmt: skip
    links = pd.DataFrame({"source": urls, "target": urls[::-1], "href": urls, "kind": "anchor"})
    known = pd.DataFrame({"url": urls, "state": "done", "found_on": urls[::-1], "reason": None})
    return {"pages": pages, "links": links, "urls": known, "fetches": pages.copy()}


def filled(value: Any) -> dict[str, pd.DataFrame]:
    """Return tables where every column but the URL holds one value."""
    made = tables(URLS)
    for name in ("pages", "fetches"):
        frame = made[name]
        for column in frame.columns.drop("url"):
            frame[column] = [value] * len(frame)
    return made


def of_all(change: Callable[[pd.DataFrame], pd.DataFrame]) -> dict[str, pd.DataFrame]:
    return {name: change(frame) for name, frame in tables(URLS).items()}


CASES: dict[str, Callable[[], dict[str, pd.DataFrame]]] = {
    "nothing": lambda: of_all(lambda frame: frame.iloc[:0]),
    "one page": lambda: tables(URLS[:1]),
    "strange URLs": lambda: tables(STRANGE),
    "columns twice": lambda: of_all(lambda frame: pd.concat([frame, frame], axis=1)),
    "rows twice": lambda: of_all(lambda frame: pd.concat([frame, frame])),
    "an index of columns": lambda: of_all(
        lambda frame: frame.set_index(["url" if "url" in frame else "source"], drop=False)
    ),
    "no numbers": lambda: filled(np.nan),
    "infinite numbers": lambda: filled(np.inf),
    "words": lambda: filled("junk"),
    "dicts": lambda: filled({"a": 1}),
    "negative numbers": lambda: filled(-5),
    "numbers beyond 64 bits": lambda: filled(10**30),
}


@pytest.mark.parametrize("case", CASES)
def test_every_analysis_takes_tables_with(case: str) -> None:
    given = CASES[case]()
    before = {table: frame.copy() for table, frame in given.items()}
    for analysis in ANALYSES.values():
        assert str(analysis(given))
    for table, frame in given.items():
        pd.testing.assert_frame_equal(frame, before[table])


def test_the_curve_of_words_and_numbers_as_text_counts_the_numbers() -> None:
    rows = pd.DataFrame({"url": URLS[:4], "seq": ["3", "1", "2", "x"]})
    rows["new_urls"] = ["2", "junk", "7", np.inf]
    curve = ck.discovery_curve(rows)
    assert curve["new_urls"].tolist() == [7, 2]
    assert curve["url"].tolist() == [URLS[2], URLS[0]]


def test_half_of_a_surrogate_pair_is_shown_as_a_question_mark() -> None:
    half = pd.Series(["https://a.example/half\ud800"], dtype=object)
    given = {"pages": pd.DataFrame({"url": half})}
    table = ck.compare_coverage(
        given, ["https://a.example/half\ud800", "https://a.example/b"]
    ).table
    assert table["url"].tolist() == ["https://a.example/b", "https://a.example/half?"]


def test_the_picture_of_a_curve_of_strange_rows_is_drawn() -> None:
    for value in ("junk", np.inf, 10**30):
        assert ck.plot_discovery(filled(value)) is not None
        plt.close("all")
