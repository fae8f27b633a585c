"""Pages: links with their places, facts of head and headers, text, and hostile markup."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from crawlkit.web.fingerprint import text_hash
from crawlkit.web.html import DEFAULT_LINKS_PER_PAGE, Link, parse_page
from crawlkit.web.html_text import count_words, readable, split_text

URL = "https://example.com/a/page.html"


def parse(body, **options):
    if isinstance(body, str):
        body = body.encode()
    options.setdefault("content_type", "text/html; charset=utf-8")
    return parse_page(body, url=URL, **options)


def hrefs(body, **options):
    return [link.href for link in parse(body, **options).links]


# Links


def test_a_link_has_its_attribute_place_text_rel_and_kind():
    page = parse(
        "<nav><a href='../x?a=1&amp;b=2' rel='NoFollow  UGC'> Two\n <b>words</b> </a></nav>"
    )
    assert page.links == [
        Link("../x?a=1&b=2", 0, "nav", "Two words", "nofollow ugc", "anchor"),
    ]
    assert (page.links_found, page.skipped_links) == (1, 0)


@pytest.mark.parametrize(
    ("markup", "kind"),
    [
        ("<a href=x>y</a>", "anchor"),
        ("<a href=x rel=next>y</a>", "pagination"),
        ("<a href=x rel='nofollow prev'>y</a>", "pagination"),
        ("<a href=x rel=canonical>y</a>", "anchor"),
        ("<map><area href=x></map>", "area"),
        ("<iframe src=x></iframe>", "frame"),
        ("<link rel=canonical href=x>", "canonical"),
        ("<link rel='ALTERNATE' hreflang=de href=x>", "alternate"),
        ("<link rel=alternate type=application/rss+xml href=x>", "alternate"),
        ("<link rel=next href=x>", "pagination"),
        ("<svg><a href=x>y</a></svg>", "anchor"),
        ("<svg><a xlink:href=x role=link>y</a></svg>", "anchor"),
        ("<noscript><a href=x>y</a></noscript>", "anchor"),
    ],
)
def test_kinds_of_links(markup, kind):
    assert [(link.href, link.kind) for link in parse(markup).links] == [("x", kind)]


def test_frames_of_a_frameset_are_links():
    page = parse("<frameset><frame src=a title=Menu><frame src=b></frameset>")
    assert [(link.href, link.kind, link.text) for link in page.links] == [
        ("a", "frame", "Menu"),
        ("b", "frame", None),
    ]


@pytest.mark.parametrize(
    "markup",
    [
        "<!-- <a href=x>y</a> -->",
        "<script>document.write('<a href=x>y</a>')</script>",
        "<template><a href=x>y</a></template>",
        "<style><a href=x></style>",
        "<textarea><a href=x></textarea>",
        "<title><a href=x></title>",
        "<a name=x>y</a>",
        "<link rel=stylesheet href=x>",
        "<link rel='alternate stylesheet' href=x>",
        "<link rel=icon href=x>",
        "<svg><use href=x></svg>",
        "<form action=x></form>",
        "<img src=x>",
        "<a title='<a href=x>'>y</a>",
    ],
)
def test_what_is_no_link(markup):
    page = parse(markup)
    assert page.links == []
    assert page.links_found == 0


def test_positions_count_all_links_in_document_order():
    page = parse(
        "<head><link rel=next href=0></head><body><a href=1>a</a><map><area href=2></map>"
        "<iframe src=3></iframe><a href=4 role=button>b</a><a href>c</a><a href=''>d</a>"
    )
    assert [link.href for link in page.links] == ["0", "1", "2", "3", "4", "", ""]
    assert [link.position for link in page.links] == list(range(7))


def test_hrefs_are_left_as_they_are():
    raw = [" x ", "javascript:void(0)", "mailto:a@b", "\\a\\b", "x\ty", "//h", "#f", "é", "%zz"]
    body = "".join(f'<a href="{href}">t</a>' for href in raw)
    assert hrefs(body) == raw


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<a href=x>  one \n two\t</a>", "one two"),
        ("<a href=x>J<b>ohn</b></a>", "John"),
        ("<a href=x><code>a</code>, <code>b</code></a>", "a, b"),
        ("<a href=x><div>Title</div><div>More</div></a>", "Title More"),
        ("<a href=x>one<br>two</a>", "one two"),
        ("<a href=x><img src=i alt='  A  picture '></a>", "A picture"),
        ("<a href=x> <img src=i alt=''></a>", None),
        ("<a href=x><img src=i alt=no>Text</a>", "Text"),
        ("<a href=x></a>", None),
        ("<a href=x>a&nbsp;&#x200b;b</a>", "a \u200bb"),
        ("<a href=x>esc&#27;ape &#0; &#xd800;</a>", "escape \ufffd \ufffd"),
        ("<a href=x>one<!-- no -->two</a>", "onetwo"),
        ("<a href=x>" + "long " * 200 + "</a>", ("long " * 200)[:500]),
        ("<a href=x>" + " " * 9000 + "late</a>", "late"),
        ("<map><area href=x alt=' a b '></map>", "a b"),
    ],
)
def test_text_of_a_link(markup, text):
    for _ in range(2):  # the second time it may be remembered
        assert [link.text for link in parse(markup).links] == [text]


def test_text_of_a_link_does_not_depend_on_what_was_seen_before():
    markups = ["<a href=x>onetwo</a>", "<a href=x>one<br>two</a>", "<a href=x>one<b>two</b></a>"]
    for markup in (*markups, *reversed(markups)):
        expected = "one two" if "<br>" in markup else "onetwo"
        assert [link.text for link in parse(markup).links] == [expected]


@pytest.mark.parametrize(
    ("markup", "region"),
    [
        ("<nav>{}</nav>", "nav"),
        ("<header>{}</header>", "header"),
        ("<main>{}</main>", "main"),
        ("<footer>{}</footer>", "footer"),
        ("<div role=navigation>{}</div>", "nav"),
        ("<div role=' BANNER '>{}</div>", "header"),
        ("<div role='main foo'>{}</div>", "main"),
        ("<ul role=contentinfo><li>{}</ul>", "footer"),
        ("<div role=button>{}</div>", None),
        ("<div role>{}</div>", None),
        ("<aside>{}</aside>", None),
        ("<nav role=navigation>{}</nav>", "nav"),
        ("<main><nav>{}</nav></main>", "nav"),
        ("<nav></nav>{}<nav></nav>", None),
        ("<main><nav><a href=n>n</a></nav>{}</main>", "main"),
        ("<header><p><span>{}</span></header>", "header"),
        ("{}", None),
    ],
)
def test_region_is_the_nearest_landmark(markup, region):
    page = parse(markup.format("<a href=it>t</a>"))
    assert [link.region for link in page.links if link.href == "it"] == [region]


TAGS = st.sampled_from(
    [
        "nav",
        "header",
        "main",
        "footer",
        "div",
        "section",
        "p",
        "ul",
        "li",
        "div role=navigation",
        "div role=main",
        "table",
        "span",
        "aside",
    ]
)
TREES = st.recursive(
    st.just("<a href=x>t</a>"),
    lambda inner: st.builds(
        lambda tag, parts, closed: f"<{tag}>{''.join(parts)}" + f"</{tag.split()[0]}>" * closed,
        TAGS,
        st.lists(inner, max_size=4),
        st.booleans(),
    ),
    max_leaves=25,
)
REGIONS = {
    "nav": "nav",
    "header": "header",
    "main": "main",
    "footer": "footer",
    "navigation": "nav",
    "banner": "header",
    "contentinfo": "footer",
}


def region_by_walking(node):
    while (node := node.parent) is not None:
        for name in (node.tag, node.attributes.get("role")):
            if name in REGIONS:
                return REGIONS[name]
    return None


@settings(max_examples=300)
@given(TREES)
def test_regions_are_those_that_a_walk_from_each_link_finds(markup):
    nodes = LexborHTMLParser(markup).css("a[href]")
    assert [link.region for link in parse(markup).links] == [region_by_walking(n) for n in nodes]


def test_links_beyond_the_cap_are_counted():
    body = "<nav>" + "<a href=x>t</a>" * 30 + "</nav>" + "<a href=y role=button>t</a>" * 20
    page = parse(body, links_per_page=40)
    assert (len(page.links), page.links_found, page.skipped_links) == (40, 50, 10)
    assert [link.region for link in page.links] == ["nav"] * 30 + [None] * 10
    page = parse(body, links_per_page=0)
    assert (page.links, page.links_found, page.skipped_links) == ([], 50, 50)
    assert len(parse("<a href=x>t</a>" * (DEFAULT_LINKS_PER_PAGE + 5)).links) == (
        DEFAULT_LINKS_PER_PAGE
    )


# Base


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("", URL),
        ("<base href='/b/'>", "https://example.com/b/"),
        ("<base href='sub/'>", "https://example.com/a/sub/"),
        ("<base href='//other.example/'>", "https://other.example/"),
        ("<base href='http://other.example/x'><base href='/second'>", "http://other.example/x"),
        ("<base href='data:text/plain,x'><base href='/second'>", "https://example.com/second"),
        ("<base href='javascript:alert(1)'>", URL),
        ("<base href='http://['>", URL),
        ("<base href=''>", URL),
        ("<base target=_top><base href='/b'>", "https://example.com/b"),
        ("<base href=' \n/b '>", "https://example.com/b"),
        ("<!-- <base href='/b'> -->", URL),
    ],
)
def test_base_url_is_the_first_that_can_be_one(head, base):
    page = parse(f"<head>{head}</head><a href=x>y</a>")
    assert page.base_url == base
    assert page.url == URL
    assert [link.href for link in page.links] == ["x"]


# Facts


def test_title_description_h1_lang():
    page = parse(
        "<html lang=' de-AT '><head><title>\n A  title </title><title>No</title>"
        "<meta name=Description content=' What  it is '><meta name=description content=no>"
        "</head><body><svg><title>no</title></svg><h1>First <i>one</i></h1><h1>Second</h1>"
    )
    facts = (page.title, page.description, page.h1, page.lang)
    assert facts == ("A title", "What it is", "First one", "de-AT")


def test_facts_that_are_missing_are_none():
    page = parse("<p>x<svg><title>of a picture</title></svg>")
    assert (page.title, page.description, page.h1, page.lang) == (None, None, None, None)
    assert (page.robots, page.canonical, page.canonicals, page.hreflang) == (None, None, (), ())
    assert (page.indexable, page.nofollow, page.refresh, page.error) == (True, False, None, None)
    page = parse("<html lang=''><title> </title><meta name=description content=' '><h1></h1>")
    assert (page.title, page.description, page.h1, page.lang) == (None, None, None, None)


def test_a_title_in_the_body_is_better_than_none():
    assert parse("<p>x<svg><title>no</title></svg><title>yes</title>").title == "yes"


def test_long_texts_are_cut():
    page = parse(f"<title>{'t' * 5000}</title><h1>{'h ' * 5000}</h1>")
    assert len(page.title) == 1000
    assert len(page.h1) <= 1000


def test_canonicals_of_the_head_come_before_those_of_the_headers():
    page = parse(
        "<base href='/b/'><link rel=canonical href='x'><link rel='foo CANONICAL' href='http://h/#f'>"
        "<link rel=canonical href=''><link rel=canonical href='http://['>"
        "<link rel=canonical href='x'>",
        headers={"Link": '</y>; rel="canonical", </z>; rel=next'},
    )
    assert page.canonicals == (
        "https://example.com/b/x",
        "http://h/#f",
        "http://[",
        "https://example.com/y",
    )
    assert page.canonical == "https://example.com/b/x"


def test_a_canonical_in_the_body_is_a_link_but_no_fact():
    page = parse("<body><div><link rel=canonical href=/evil></div>")
    assert page.canonical is None
    assert [link.kind for link in page.links] == ["canonical"]


def test_what_a_noscript_drives_out_of_the_head_still_counts():
    page = parse(
        "<head><noscript><img src=pixel.gif></noscript><link rel=canonical href=/c>"
        "<title>T</title><meta name=robots content=noindex></head><body><p>text"
        "<link rel=canonical href=/evil><meta name=robots content=nofollow>"
    )
    assert page.canonicals == ("https://example.com/c",)
    assert (page.title, page.indexable, page.nofollow) == ("T", False, False)


@pytest.mark.parametrize(
    ("metas", "header", "robots", "indexable", "nofollow"),
    [
        ("<meta name=robots content='NOINDEX, nofollow'>", None, "noindex, nofollow", False, True),
        ("<meta name=robots content=none>", None, "none", False, True),
        ("<meta name=robots content='index,follow'>", None, "index, follow", True, False),
        ("<meta name=ROBOTS content='noindex nofollow'>", None, "noindex nofollow", False, True),
        ("<meta name=crawlkit content=nofollow>", None, "nofollow", True, True),
        ("<meta name=googlebot content=noindex>", None, None, True, False),
        ("<meta name=robots content='max-image-preview: none'>", None,
         "max-image-preview: none", True, False),
        ("<meta name=robots content=noarchive>", "noindex", "noarchive, noindex", False, False),
        ("", "googlebot: noindex", None, True, False),
        ("", "CrawlKit: NoIndex", "noindex", False, False),
        ("", "noarchive, googlebot: noindex, nofollow", "noarchive", True, False),
        ("", "googlebot: noindex, crawlkit: nofollow", "nofollow", True, True),
        ("", "unavailable_after: 25 Jun 2010 15:00:00 PST", "unavailable_after: 25 jun 2010 "
         "15:00:00 pst", True, False),
        ("", "", None, True, False),
        ("<p><meta name=robots content=noindex>", None, None, True, False),
    ],
)  # fmt: skip
def test_robots_directives_of_elements_and_headers(metas, header, robots, indexable, nofollow):
    headers = None if header is None else {"X-Robots-Tag": header}
    page = parse(f"<head>{metas}</head>", headers=headers)
    assert (page.robots, page.indexable, page.nofollow) == (robots, indexable, nofollow)


def test_robots_directives_can_name_another_crawler():
    page = parse("<meta name=mybot content=noindex>", robots_agent="MyBot")
    assert not page.indexable


def test_hreflang_of_elements_and_headers():
    page = parse(
        "<link rel=alternate hreflang=de href='/de'><link rel=alternate hreflang=' x-default '"
        " href='HTTPS://example.com/'><link rel=alternate href=/rss><link hreflang=fr href=/fr>",
        headers={"Link": '</fr>; rel="alternate"; hreflang="fr"; title="a, b; c"'},
    )
    assert page.hreflang == (
        ("de", "https://example.com/de"),
        ("x-default", "HTTPS://example.com/"),
        ("fr", "https://example.com/fr"),
    )


@pytest.mark.parametrize(
    ("header", "canonicals"),
    [
        ('<x>; rel="canonical"', ("https://example.com/a/x",)),
        ("<x>;rel=canonical", ("https://example.com/a/x",)),
        ('<x>; title="<y>; rel=canonical"; rel="foo canonical"', ("https://example.com/a/x",)),
        ('<x>; rel=next; rel=canonical', ()),
        ('<x>; rel="canonical"; anchor="#part"', ()),
        ("x; rel=canonical", ()),
        ("<x>; rel", ()),
        ("<x", ()),
        ('<x>; rel="canonical', ()),
        (",,;;<>;=", ()),
        ("<a>;" * 30_000, ()),
        ('<a>; rel="' + "\\" * 50_000, ()),
    ],
)  # fmt: skip
def test_link_headers_are_read_as_far_as_they_can_be(header, canonicals):
    assert parse("<p>x", headers={"link": header}).canonicals == canonicals


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=/next", "/next"),
        ("5;URL='next page'", "next page"),
        ('0, "x"', "x"),
        ("30", None),
        ("", None),
    ],
)
def test_refresh_target(content, target):
    body = f"<meta http-equiv=Refresh content='{content}'>".replace(
        "'next page'", "&#39;next page&#39;"
    )
    assert parse(body).refresh == target


# Text


def test_words_are_those_that_are_seen():
    page = parse(
        "<title>not this</title><nav>Home</nav><p>One, <b>two</b>, three.</p><p>four-five</p>"
        "<script>no no</script><style>no</style><template>no</template><noscript>no</noscript>"
        "<!-- no --><p>(six) - &mdash; it's</p>"
    )
    # Home One two three four-five six — it's
    assert page.words == 8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Привет, мир!", 2),
        ("日本語 テキスト", 2),
        ("a&nbsp;b &nbsp; c", 3),
        ("<table><td>one</td><td>two</td></table>", 2),
        ("... -- !", 0),
        ("x", 1),
        (" ", 0),
    ],
)
def test_words_of_any_script(text, words):
    assert parse(f"<p>{text}").words == words


def test_text_is_one_line_and_main_text_leaves_out_what_surrounds_it():
    page = parse(
        "<header>Shop</header><nav>Home<p>About</p></nav><div><p>Buy <b>this</b>,\n now.</p>"
        "<p>Nice</p><aside>Ad</aside></div><footer>Imprint</footer><script>x</script>"
    )
    assert page.text == "Shop Home About Buy this, now. Nice Ad Imprint"
    assert page.main_text == "Buy this, now. Nice"
    assert page.words == 9


def test_a_page_without_main_text_is_known_by_all_of_it():
    page = parse("<header><h1>Only this</h1></header><script>x</script>")
    assert page.main_text == "Only this"
    assert page.text_hash == text_hash("Only this")
    assert parse("").text_hash == text_hash("")


def test_text_hash_sees_the_text_alone():
    one = parse("<nav>Home</nav><p>Some <b>text</b></p><script>a()</script>")
    same = parse("<nav>Changed</nav>\n <p>\n Some\n  <i>text</i>\n</p><div></div>")
    other = parse("<nav>Home</nav><p>Some texts</p>")
    assert one.text_hash == same.text_hash != other.text_hash
    assert one.text_hash_by == "visible_main_v1"


@given(TREES, st.sampled_from(["", "<script>s</script>", "<style>s</style>tail"]))
def test_reading_the_text_leaves_the_tree_as_it_was(markup, tail):
    tree = LexborHTMLParser(markup + tail)
    before = tree.html
    hidden = tree.css("script,style")
    boilerplate = [node for node in tree.css("*") if node.tag in ("nav", "header", "footer")]
    main, around = split_text(tree, hidden, boilerplate)
    assert tree.html == before
    assert (main + around).count("t") == tree.body.text().count("t")


@given(
    st.lists(
        st.sampled_from(["a", " b", ".", "-", "\n", " ", "\xa0", "&#11;", "<b>", "</b>", "<p>"]),
        max_size=20,
    )
)
def test_blank_text_is_left_out_only_where_nothing_depends_on_it(parts):
    markup = "".join(parts)
    whole, _ = split_text(LexborHTMLParser(markup), [], [])
    page = parse(markup)
    assert page.words == count_words(whole.replace("\xa0", " ").encode())
    assert page.text_hash == text_hash(whole if page.words else "")
    assert page.main_text == readable(whole if page.words else "")


def test_extractors_see_the_whole_tree():
    page = parse("<nav>n</nav><script type=application/ld+json>{}</script><td class=price>9</td>")
    assert page.css_first("script").text() == "{}"
    assert [node.text() for node in page.css("nav")] == ["n"]
    assert page.css_first("em") is None
    assert page.html.startswith("<nav>n</nav>")


# Types, encodings and broken input


@pytest.mark.parametrize(
    "body",
    [
        b"%PDF-1.7 <a href=x>",
        b"\x89PNG\r\n\x1a\n<a href=x>",
        b"GIF89a",
        b"PK\x03\x04",
        b"\x1f\x8b\x08",
        b"\x00\x00\x00\x18ftypmp42",
        b"\x7fELF\x02",
        bytes(range(32)) * 40,
        b"\x00" * 2000,
    ],
)
def test_other_things_called_html_are_refused(body):
    page = parse(body, content_type="text/html")
    assert (page.error, page.links, page.title, page.words) == ("not_html", [], None, 0)
    assert (page.css("a"), page.css_first("a"), page.text, page.html) == ([], None, "", "")


@pytest.mark.parametrize(
    ("content_type", "body", "parsed"),
    [
        ("text/html", b"just words", True),
        ("TEXT/HTML ; charset=x", b"<a href=x>", True),
        ("text/html, text/html; charset=utf-8", b"<a href=x>", True),
        ("application/xhtml+xml", b"<a href='x'/>", True),
        (None, b"<a href=x>", True),
        ("", b"<a href=x>", True),
        ("application/xml", b"<?xml version='1.0'?>\n<!DOCTYPE html><html>", True),
        ("application/xml", b"<?xml version='1.0'?><rss><a href='x'/></rss>", False),
        ("text/plain", b"<html><a href=x>", True),
        ("text/plain", b"see <html> and <a href=x>", False),
        ("application/octet-stream", b"<!doctype html><a href=x>", True),
        ("application/json", b"<html>", False),
        ("image/png", b"<html>", False),
        ("text/css", b"<!doctype html>", False),
    ],
)
def test_the_declared_type_decides_what_is_parsed(content_type, body, parsed):
    assert (parse(body, content_type=content_type).error is None) == parsed


def test_headers_of_what_is_not_html_still_count():
    page = parse(
        b"%PDF-1.7",
        content_type="application/pdf",
        headers={"X-Robots-Tag": "noindex", "Link": "<https://example.com/doc>; rel=canonical"},
    )
    assert page.error == "not_html"
    assert (page.indexable, page.canonical) == (False, "https://example.com/doc")


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        ("<title>é</title><a href=é>é</a>".encode(), "text/html; charset=utf-8", "utf-8"),
        ("<title>é</title><a href=é>é</a>".encode(), "text/html", "utf-8"),
        ("\ufeff<title>é</title><a href=é>é</a>".encode(), "text/html", "utf-8"),
        ("<title>é</title><a href=é>é</a>".encode("latin-1"), "text/html", "windows-1252"),
        ("<title>é</title><a href=é>é</a>".encode("utf-16"), "text/html", "utf-16le"),
        (
            "<title>é</title><a href=é>é</a>".encode("utf-16-be"),
            "text/html; charset=utf-16be",
            "utf-16be",
        ),
        (
            "<meta charset=gbk><title>é</title><a href=é>é</a>".encode("gb18030"),
            "text/html",
            "gbk",
        ),
    ],
)
def test_the_encoding_is_found_and_the_text_is_right(body, content_type, encoding):
    page = parse(body, content_type=content_type)
    assert page.encoding == encoding
    assert page.title == "é"
    assert [(link.href, link.text) for link in page.links] == [("é", "é")]
    assert "<a href=é>" in page.html


def test_ascii_bytes_of_an_encoding_that_is_not_ascii():
    body = b"<title>\x1b$B$3\x1b(B</title><a href=x>\x1b$B$3\x1b(B</a>"
    page = parse(body, content_type="text/html; charset=iso-2022-jp")
    assert (page.title, page.links[0].text) == ("こ", "こ")


def test_bytes_that_the_encoding_does_not_allow_are_replaced():
    page = parse(b"<title>\xff\xed\xa0\x80</title><a href='\xff'>x\xc3</a>")
    assert set(page.title) == {"\ufffd"}
    assert page.links[0].href == "\ufffd"
    assert page.links[0].text == "x\ufffd"


def test_a_decoded_string_may_have_an_xml_declaration_and_lone_surrogates():
    text = "<?xml version='1.0' encoding='latin1'?><html><title>é\ud800</title><a href='x'>y</a>"
    page = parse_page(text, url=URL)
    assert (page.title, page.encoding) == ("é?", "utf-8")
    assert [link.href for link in page.links] == ["x"]


def test_empty_elements_of_xhtml_are_closed_as_xml_says():
    body = (
        b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/>"
        b"<script src='a>b'/></head><body><a id='top'/><br/><a href='x'/>text</body></html>"
    )
    page = parse(body, content_type="application/xhtml+xml; charset=utf-8")
    assert [(link.href, link.text) for link in page.links] == [("x", None)]
    assert page.words == 1


@pytest.mark.parametrize("body", [b"", b" ", b"\n\n", b"<", b"<!", b"<a", b"<a href", b"</"])
def test_hardly_anything_is_a_page_without_links(body):
    page = parse(body)
    assert (page.links, page.error) == ([], None)


MARKUP = st.text(
    st.sampled_from("<>/='\" abhreflinktdvsypo!-\x00\x1f\ud800é&#;\n"), max_size=300
).map(lambda text: text.encode("utf-8", "surrogatepass"))


@settings(max_examples=300)
@given(
    st.binary(max_size=300) | MARKUP,
    st.none() | st.sampled_from(["text/html", "text/html; charset=utf-16le", "text/xml", "x"]),
    st.dictionaries(st.sampled_from(["Link", "X-Robots-Tag"]), st.text(max_size=80)),
    st.none() | st.integers(0, 3),
)
def test_any_bytes_are_a_page_and_all_its_strings_are_clean(body, content_type, headers, cap):
    page = parse_page(body, url=URL, content_type=content_type, headers=headers, links_per_page=cap)
    strings = [page.title, page.description, page.h1, page.lang, page.robots, page.text]
    strings += [page.main_text, page.html, page.base_url, *page.canonicals]
    strings += [part for pair in page.hreflang for part in pair]
    strings += [part for link in page.links for part in link if isinstance(part, str)]
    for string in filter(None, strings):
        assert "\x00" not in string
        string.encode("utf-8")  # no lone surrogate
    assert page.links_found == len(page.links) + page.skipped_links
    assert [link.position for link in page.links] == list(range(len(page.links)))
    assert page.words >= 0


# Bombs: all in a process of its own, with limits on its time and memory.

BOMBS = {
    "divs": "b'<a href=first>x</a>' + b'<div>' * 100_000 + b'<a href=last>x</a>'",
    "closed divs": "b'<div>' * 50_000 + b'</div>' * 50_000 + b'<a href=last>x</a>'",
    "lists": "b'<ul><li>' * 50_000",
    "hidden nesting": "b'<div><object></div></object>' * 30_000",
    "nested anchors": "(b'<a href=x><object>' + b'text ' * 100) * 10_000",
    "links": "b'<a href=x>' * 1_000_000",
    "whole links": "b'<a href=\"/page/17\">x</a>' * 200_000",
    "one line": "b'<p>' + b'x' * 10_000_000",
    "attributes": "b'<a href=x ' + b' '.join(b'a%d=1' % i for i in range(100_000)) + b'>x</a>'",
    "quoted attributes": "b'<a ' + b' '.join(b\"a%d='<>'\" % i for i in range(50_000)) + b'>'",
    "attribute names": "b''.join(b'<br a%d>' % i for i in range(100_000))",
    "tag names": "b''.join(b'<x%d></x%d>' % (i, i) for i in range(100_000))",
    "end tag names": "b''.join(b'</x%d>' % i for i in range(300_000))",
    "formatting": "b'<p>' + b''.join(b'<font a=%d>' % i for i in range(3_000)) + b'<p>x' * 9_000",
    "landmarks": "b'<nav><a href=x>y</a>' * 30_000",
    "closed landmarks": "b'<nav><a href=x>y</a></nav>' * 50_000",
    "scripts": "b'<script>x</script>y' * 100_000",
    "left open quotes": "b'<a b=\"' * 300_000",
    "left angles": "b'<' * 3_000_000",
    "comments": "b'<!--' * 500_000",
    "base elements": "b'<base href=data:x>' * 50_000",
    "canonicals": "b'<link rel=canonical href=x>' * 50_000",
    "metas": "b'<meta name=robots content=noindex>' * 50_000",
    "roles": "b'<p role=x>' * 100_000",
    "nul": "b'<p>\\0' * 100_000",
}
RUN = f"""
import json, resource, sys
from crawlkit.web.html import parse_page
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
for name, source in json.load(sys.stdin).items():
    page = parse_page(eval(source), url={URL!r}, content_type="text/html; charset=utf-8")
    print(json.dumps([name, page.error, page.links_found, len(page.links),
                      len(page.text_hash), page.links[:1]]), flush=True)
"""


@pytest.fixture(scope="module")
def bombs():
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(BOMBS),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(BOMBS), (results[-1:], done.stderr[-2000:])
    return {name: rest for name, *rest in results}


def test_every_bomb_is_over_in_bounded_time_and_memory(bombs):
    assert list(bombs) == list(BOMBS)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("divs", "nesting"),
        ("closed divs", "nesting"),
        ("lists", "nesting"),
        ("hidden nesting", "nesting"),
        ("formatting", "nesting"),
        ("landmarks", "nesting"),
        ("attributes", "attributes"),
        ("quoted attributes", "attributes"),
        ("attribute names", "attributes"),
        ("tag names", "attributes"),
        ("end tag names", "attributes"),
        ("links", None),
        ("whole links", None),
        ("one line", None),
        ("closed landmarks", None),
        ("scripts", None),
        ("comments", None),
    ],
)
def test_bombs_are_cut_with_a_reason_and_large_pages_are_not(bombs, name, error):
    assert bombs[name][0] == error


def test_links_before_the_bomb_are_kept(bombs):
    error, found, kept, _, first = bombs["divs"]
    assert (error, found, kept) == ("nesting", 1, 1)
    assert first == [["first", 0, None, "x", None, "anchor"]]


def test_links_are_capped_and_counted(bombs):
    assert bombs["links"][1:3] == [1_000_000, DEFAULT_LINKS_PER_PAGE]
    assert bombs["whole links"][1:3] == [200_000, DEFAULT_LINKS_PER_PAGE]
