"""What may be given to the parser: pages whole, bombs up to where they begin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from crawlkit.web.html_limits import safe_length
from crawlkit.web.html_outline import MAX_NESTING, Cut, outline_cut

# Text long enough that the cheap bounds do not end the matter.
TEXT = b"some words of text, " * 20_000


def depth(body: bytes) -> int:
    deepest = 0
    stack = [(LexborHTMLParser(body).root, 0)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        child = node.first_child
        while child is not None:
            stack.append((child, level + 1))
            child = child.next
    return deepest


@pytest.mark.parametrize(
    "page",
    [
        b"<div><p>x</p></div>" * 30_000,
        b"<ul>" + b"<li>item" * 60_000,
        b"<table>" + b"<tr><td>1<td>2" * 30_000,
        b"<p>x" * 90_000,
        b"<dl>" + b"<dt>a<dd>b" * 40_000,
        b"<select>" + b"<option>x" * 60_000,
        b"<a name=x>y" * 60_000,
        b"<h2>x<h2>" * 40_000,
        b"<script>var x = '<div>'.repeat(3) + \"<b>\"</script><p>x</p>" * 30_000,
        b"<style>a > b {}</style><i>x</i>" * 30_000,
        b"<!-- <div> --><i>x</i>" * 40_000,
        b"<svg><path d='x'/><g><rect/></g></svg>" * 20_000,
        b"<div title='</div>'>x</div><b a='>'>y</b>" * 20_000,
        b"<font color=red><p>x</p></font>" * 30_000,
        b"<TABLE><TR><TD>x</TD></TR></TABLE>" * 20_000,
        b"<div>" * (MAX_NESTING - 2) + b"<b>x</b>" * 30_000,
        b"<button>x<button>" * 20_000,
        b"<textarea><div></textarea><div>x</div>" * 20_000,
        TEXT,
    ],
)
def test_large_pages_are_left_whole(page):
    assert safe_length(page) is None
    assert outline_cut(page) is None


@pytest.mark.parametrize(
    ("bomb", "reason"),
    [
        (b"<div>", "nesting"),
        (b"<DIV>", "nesting"),
        (b"<div><span>", "nesting"),
        (b"<ul><li>", "nesting"),
        (b"<dd><li>", "nesting"),
        (b"<table><tr><td>", "nesting"),
        # End tags that a parser ignores, or that mean something else.
        (b"<div></b>", "nesting"),
        (b"<div><object></div></object>", "nesting"),
        (b"<div><!-- </div> -->", "nesting"),
        (b"<div title='</div>'>", "nesting"),
        (b"<div><script></div></script>", "nesting"),
        (b"<div><script><!--<script></script></div>--></script>", "nesting"),
        (b"<div><textarea></div></textarea>", "nesting"),
        (b"<div><svg><desc></div></desc></svg>", "nesting"),
        (b"<b><div></b>", "nesting"),
        (b"<form><div></form>", "nesting"),
        (b"<svg><div></svg>", "nesting"),
        (b"<span><div></span>", "nesting"),
        (b"<div><select></div></select>", "nesting"),
        (b"<a><div></a>", "nesting"),
    ],
)
def test_deep_nesting_is_found_however_it_hides(bomb, reason):
    body = bomb * 60_000
    cut = safe_length(body)
    assert cut is not None
    assert cut.reason == reason
    assert cut == outline_cut(body)
    assert depth(body[: cut.length]) <= 4 * MAX_NESTING


def test_formatting_that_would_be_opened_again_and_again_is_found():
    fonts = b"<p>" + b"".join(b"<font a=%d>" % number for number in range(400))
    assert safe_length(fonts + b"<p>x" * 20_000).reason == "nesting"
    assert safe_length(b"<p>" + b"<font a=1>" * 300 + b"<p>x" * 20_000) is None
    assert safe_length(fonts.upper() + b"<p>x" * 20_000).reason == "nesting"


@pytest.mark.parametrize(
    "body",
    [
        b"<a " + b" ".join(b"a%d=1" % number for number in range(40_000)) + b">",
        b"<a " + b" ".join(b"a%d='<>'" % number for number in range(40_000)) + b">",
        b"<a " + b"/".join(b"a%d" % number for number in range(60_000)) + b">",
        TEXT + b"".join(b"<i a%d>x</i>" % number for number in range(60_000)),
        b"".join(b"<x%d></x%d>" % (number, number) for number in range(40_000)),
        b"".join(b"</x%d>" % number for number in range(90_000)),
        b"".join(b"<b><x%d>t</x%d></b>" % (number, number) for number in range(40_000)),
    ],
)
def test_floods_of_names_are_found(body):
    cut = safe_length(body)
    assert cut is not None
    assert cut.reason == "attributes"


def test_small_pages_are_never_cut():
    assert safe_length(b"<div>" * 1_500) is None
    assert safe_length(b"") is None


def test_the_cut_is_where_one_element_too_many_begins():
    assert safe_length(b"<div>" * 30_000) == Cut(5 * MAX_NESTING, "nesting")


TAGS = (
    "div span p a b i font table td tr select option button form h1 li ul dl dd object svg math"
    " title g desc template style script noscript body frameset ruby rt br"
)
NAMES = st.sampled_from(TAGS.split())
PIECES = st.one_of(
    st.builds(lambda name, rest: f"<{name}{rest}>", NAMES, st.sampled_from(["", " a=1", "/"])),
    st.builds(lambda name: f"</{name}>", NAMES),
    st.sampled_from(["x", " ", "<!--", "-->", "<b c='</div>'>", "<![CDATA[", "]]>"]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=7).map("".join))
def test_nothing_that_repeats_gets_deep_unnoticed(unit):
    body = unit.encode() * 700
    cut = outline_cut(body)
    if cut is None:
        assert depth(body) <= 4 * MAX_NESTING
