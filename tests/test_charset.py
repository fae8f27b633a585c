"""The encoding of a page: byte-order mark, header, declaration, fallback."""

from __future__ import annotations

import pytest
import webencodings
from hypothesis import given
from hypothesis import strategies as st
from suites import suite_path

from crawlkit.web.charset import decode, detect_encoding, is_ascii_transparent


def late(declaration: bytes, at: int) -> bytes:
    return b"<!--" + b"x" * (at - 7) + b"-->" + declaration


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        # The mark wins over the header, the header over the page.
        (b"\xef\xbb\xbf<meta charset=koi8-r>", "text/html; charset=latin1", "utf-8"),
        (b"\xff\xfe<\x00", "text/html; charset=utf-8", "utf-16le"),
        (b"\xfe\xff\x00<", None, "utf-16be"),
        (b"<meta charset=koi8-r>", "text/html; charset=utf-8", "utf-8"),
        # Labels are those of the standard.
        (b"", "text/html; charset=iso-8859-1", "windows-1252"),
        (b"", "text/html; charset=ascii", "windows-1252"),
        (b"", "text/html; charset=x-sjis", "shift_jis"),
        (b"", 'text/html; charset="UTF-8"', "utf-8"),
        (b"", "text/html; CHARSET = 'utf8' ", "utf-8"),
        (b"", "text/html;charset=GB2312", "gbk"),
        # A label that means nothing is none; of two headers joined, the first that means something.
        (b"<meta charset=koi8-r>", "text/html; charset=nope", "koi8-r"),
        (b"", "text/html; charset=rot13", "windows-1252"),
        (b"", "text/html; charset=utf-7", "windows-1252"),
        (b"", "text/html; charset=nope, text/html; charset=utf-8", "utf-8"),
        (b"", "text/html; charset=", "windows-1252"),
        # Declarations in the page.
        (b"<meta charset=koi8-r>", None, "koi8-r"),
        (b"<META CHARSET='KOI8-R'>", None, "koi8-r"),
        (b"<meta/charset=koi8-r>", None, "koi8-r"),
        (b"<metacharset=koi8-r>", None, "windows-1252"),
        (b"<!-- <meta charset=koi8-r> -->", None, "windows-1252"),
        (b"<!--><meta charset=koi8-r>", None, "koi8-r"),
        (b"<a title='<meta charset=koi8-r>'>", None, "windows-1252"),
        (b"<meta charset=utf-16>", None, "utf-8"),
        (b"<meta charset=x-user-defined>", None, "windows-1252"),
        (
            b'<meta content="text/html; charset=koi8-r" http-equiv=content-type>',
            None,
            "koi8-r",
        ),
        (b'<meta name=description content="charset=koi8-r">', None, "windows-1252"),
        (b'<meta charset="koi8-r', None, "windows-1252"),
        # XML declarations, also of XML in UTF-16.
        (b"<?xml version='1.0' encoding='koi8-r'?><html>", None, "koi8-r"),
        (b'<?xml version="1.0" encoding="utf-16"?><html>', None, "utf-8"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=utf-8>", None, "utf-8"),
        ("<?xml version='1.0'?>".encode("utf-16-le"), None, "utf-16le"),
        ("<?xml version='1.0'?>".encode("utf-16-be"), None, "utf-16be"),
        # Past the first 1,024 bytes, where a browser would start over.
        (late(b"<meta charset=koi8-r>", 2_000), None, "koi8-r"),
        (late(b"<meta charset=koi8-r>", 100_000), None, "windows-1252"),
        # Nothing declared.
        (b"", None, "windows-1252"),
        (b"caf\xe9", None, "windows-1252"),
        ("café".encode(), None, "utf-8"),
        ("café".encode() + b"\xe9", None, "windows-1252"),
    ],
)
def test_encoding_is_the_one_a_browser_picks(body, content_type, encoding):
    assert detect_encoding(body, content_type) == encoding


def test_html5lib_encoding_suite():
    wrong = []
    cases = 0
    for name in ("tests1.dat.txt", "tests2.dat.txt", "test-yahoo-jp.dat.txt"):
        data = suite_path(f"html5lib-encoding/{name}").read_bytes()
        for case in data.split(b"#data\n")[1:]:
            body, label = case.split(b"\n#encoding\n")[:2]
            expected = webencodings.lookup(label.strip().decode("ascii")).name
            found = detect_encoding(body, None)
            cases += 1
            if found != expected:
                wrong.append((body[-80:], expected, found))
    assert cases == 82
    assert wrong == []


@pytest.mark.parametrize(
    ("body", "content_type", "text", "had_errors"),
    [
        (b"caf\xe9", "text/html; charset=latin1", "café", False),
        (b"\x80", "text/html; charset=iso-8859-1", "€", False),
        (b"caf\xe9", "text/html; charset=utf-8", "caf\ufffd", True),
        (b"\xef\xbb\xbfcaf\xc3\xa9", None, "café", False),
        ("é𝄞".encode("utf-16-be"), "text/html; charset=utf-16be", "é𝄞", False),
        (b"\xff\xfe" + "é".encode("utf-16-le"), None, "é", False),
        (b"\xff\xfe\x00\xd8", None, "\ufffd", True),  # half of a surrogate pair
        (b"\x82\xb1\x87\x40", "text/html; charset=shift_jis", "こ①", False),
        ("你€".encode("gb18030"), "text/html; charset=gb2312", "你€", False),
        (b"\x1b$B$3\x1b(B", "text/html; charset=iso-2022-jp", "こ", False),
        (b"<p>anything", "text/html; charset=iso-2022-kr", "\ufffd", True),
        (b"", "text/html; charset=hz-gb-2312", "", False),
        (b"", None, "", False),
    ],
)
def test_decode_replaces_what_the_encoding_does_not_allow(body, content_type, text, had_errors):
    decoded = decode(body, content_type)
    assert (decoded.text, decoded.had_errors) == (text, had_errors)


def test_encodings_in_which_ascii_bytes_are_not_ascii_are_known():
    for label in ("utf-16le", "utf-16be", "iso-2022-jp", "replacement"):
        assert not is_ascii_transparent(label)
    for label in ("utf-8", "windows-1252", "shift_jis", "gbk", "euc-kr", "koi8-r"):
        assert is_ascii_transparent(label)
        ascii_bytes = bytes(range(0x80))
        assert decode(ascii_bytes, f"text/html; charset={label}").text == ascii_bytes.decode()


@given(
    st.binary(max_size=300)
    | st.text(st.sampled_from("<meta charset=\"'>/!-? xmlut8;"), max_size=200),
    st.none() | st.text(max_size=60) | st.text("charset=;, \"'utf-816", max_size=40),
)
def test_any_bytes_have_an_encoding_and_a_text(body, content_type):
    if isinstance(body, str):
        body = body.encode()
    decoded = decode(body, content_type)
    assert decoded.encoding == detect_encoding(body, content_type)
    assert webencodings.lookup(decoded.encoding) is not None
    decoded.text.encode("utf-8")  # no lone surrogate


def test_a_long_head_full_of_openings_is_read_once():
    # Each of these made a prescan with backtracking quadratic.
    for unit in (b"<meta ", b"<meta charset", b"<!--", b'<a x="', b"<"):
        assert detect_encoding(unit * 100_000, None) == "windows-1252"
