"""Hashes of bodies and texts, and the cleaning of text from the web."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlkit.web.fingerprint import body_hash, clean_text, text_hash

ANY_TEXT = st.text(st.characters(), max_size=200)
WHITESPACE = " \t\n\r\x0b\x0c\xa0"


def test_body_hash_is_32_hexadecimal_digits_of_the_bytes():
    assert body_hash(b"") == "cae66941d9efbd404e4d88758ea67670"
    assert body_hash(b"a") != body_hash(b"b")


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("plain", "plain"),
        ("tab\tand\nlines\r\n", "tab\tand\nlines\r\n"),
        ("nul\x00", "nul\ufffd"),
        ("high\ud800 low\udfff", "high\ufffd low\ufffd"),
        ("bell\x07 escape\x1b[31m", "bell escape[31m"),
        ("delete\x7f next line\x85", "delete next line"),
        ("no-break\xa0space", "no-break\xa0space"),
        ("emoji \U0001f600", "emoji \U0001f600"),
        ("", ""),
    ],
)
def test_clean_text_replaces_what_cannot_be_stored_and_drops_controls(raw, clean):
    assert clean_text(raw) == clean


def test_clean_text_returns_clean_text_itself():
    text = "as it is\n"
    assert clean_text(text) is text


@given(st.text(st.characters(codec=None), max_size=100))
def test_clean_text_can_be_stored_and_cleaning_again_changes_nothing(text):
    cleaned = clean_text(text)
    assert clean_text(cleaned) == cleaned
    assert "\x00" not in cleaned
    with sqlite3.connect(":memory:") as database:
        assert database.execute("SELECT ?", (cleaned,)).fetchone() == (cleaned,)
    database.close()


@given(st.lists(st.text("abcé€", min_size=1, max_size=5), max_size=8), st.data())
def test_text_hash_does_not_see_whitespace(words, data):
    space = st.text(WHITESPACE, max_size=3)
    spread = "".join(data.draw(space) + word for word in words) + data.draw(space)
    assert text_hash(spread) == text_hash(" ".join(words))


@given(st.text("ab", max_size=10), st.text("ab", max_size=10))
def test_text_hash_tells_different_texts_apart(one, other):
    assert (text_hash(one) == text_hash(other)) == (one == other)


@given(ANY_TEXT)
def test_text_hash_exists_for_any_string(text):
    assert len(text_hash(text + "\ud800")) == 32
