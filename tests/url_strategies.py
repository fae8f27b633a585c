"""Rules, and good, bad and hostile URLs, for the tests of everything about URLs."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from hypothesis import strategies as st
from suites import suite_path

from crawlkit.web.urls import UrlRules

__all__ = [
    "EVERYTHING",
    "PIECES",
    "PLAIN",
    "absolute",
    "bases",
    "hrefs",
    "json_cases",
    "odd_bases",
    "rule_sets",
]


def json_cases(relative: str) -> list[dict[str, Any]]:
    """Return the cases of a public suite; the strings between them are comments."""
    return [
        case
        for case in json.loads(suite_path(relative).read_text("utf-8"))
        if isinstance(case, dict)
    ]


PLAIN = UrlRules(tracking=False, sort_query=False)

EVERYTHING = UrlRules(
    drop_parameters=("view", "size*"), session_ids=True, trailing_slash=True, index_file=True,
    www=True, scheme=True, path_case=True,
)  # fmt: skip


def rule_sets() -> st.SearchStrategy[UrlRules]:
    """Every combination of rules, with odd names in their lists."""
    switches = {
        field.name: st.booleans() for field in fields(UrlRules) if isinstance(field.default, bool)
    }
    names = st.sampled_from(["a", "b*", "view", "sid", "%41", "é", "f[x]", "x=y", "a&b", "c#", "*"])
    return st.builds(
        UrlRules,
        tracking_parameters=st.none() | st.frozensets(names, max_size=2),
        drop_parameters=st.lists(names, max_size=2).map(tuple),
        **switches,
    )


PIECES = [
    "", "/", "//", "a", "b", "B", "..", ".", "../", "./", "?", "??", "#", "&", "&&", "=", ";", ":",
    "@", "\\", "\t", "\n", "\r", " ", "\x00", "\x1f", "\x7f", "%", "%%", "%2", "%zz", "%41", "%7E",
    "%7e", "%2e", "%2E%2e", "%2f", "%25", "%2541", "%c3%a9", "%C3", "%20", "é", "漢", "\u202e",
    "\ud800", "\U0001f980", "'", '"', "<", ">", "[", "]", "{", "}", "|", "^", "`", "~", "!", "$",
    "(", ")", "*", "+", ",", "-", "_", "0", "1", "utm_source=x", "gclid", "sid=1", "PHPSESSID=1",
    "view=1", ";jsessionid=1", ";sid=2", "(S(lit3py55t21z5v55vlm25s55))", "index.html", "index.php",
    "default.aspx", "http:", "https:", "http://", "https://", "//h", "http://h", "http://h/",
    "http://h/a/", "www.", "h.example", ":80", ":443", ":0", ":99999", "127.1", "0x7f", "[::1]",
    "mailto:", "javascript:", "data:,", "ftp://h/", "../..", "a/../", "/./", "x;p=1",
]  # fmt: skip

hrefs = st.lists(st.sampled_from(PIECES), max_size=9).map("".join) | st.text(max_size=20)

absolute = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["http://", "https://", "HTTP:\\\\", "http:"]),
    st.sampled_from(
        ["h", "H.example", "www.h.example", "ann:x@h", "bücher.example", "[::1]", "127.1"]
    ),
    st.sampled_from(["", ":80", ":443", ":8080", ":"]),
    hrefs.map(lambda text: "/" + text),
)

bases = st.sampled_from([
    "http://h/", "http://h", "http://h/a", "http://h/a/", "http://h/a/b/c?x=1", "http://h/a//b//?",
    "https://www.h.example:8443/a;p/b.html#f", "http://ann:x@h/%7ea/%2e/b|c", "http://h/a/b/c/d/e/f/g",
    "http://[::1]:8080/x/y?z", "http://h/é/漢", "http://h?q", "HTTP://H/A/", "http://.h/a/",
])  # fmt: skip

odd_bases = (
    bases | absolute | hrefs | st.sampled_from(["mailto:x", "data:,x", "ftp://h/a/", "h:0", ""])
)
