"""Small sitemap files, each with one oddity, and the rows that are right for it."""

from __future__ import annotations

import gzip
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

CORE = "http://www.sitemaps.org/schemas/sitemap/0.9"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
U = "https://example.com/"
A, B, C = U + "a", U + "b", U + "c"
NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
IMAGE = "http://www.google.com/schemas/sitemap-image/1.1"
XHTML = "http://www.w3.org/1999/xhtml"


class Case(NamedTuple):
    """A file, what it lists, and the codes that must be there.

    ``row_issues`` are those of the rows in order, ``{}`` entries unchecked; ``reason`` is why the
    file is not wholly in the table.
    """

    name: str
    data: bytes
    locs: list[str]
    file_issues: str = ""
    row_issues: Mapping[int, str] = MappingProxyType({})
    reason: str | None = None
    lastmods: list[str | None] | None = None
    kind: str = "urlset"


def entry(loc: str, more: str = "") -> str:
    return f"<url><loc>{loc}</loc>{more}</url>"


def urlset(*entries: str, attributes: str = f'xmlns="{CORE}"', head: str = HEAD) -> bytes:
    return f"{head}<urlset {attributes}>{''.join(entries)}</urlset>".encode()


def index(*children: str, head: str = HEAD) -> bytes:
    return f'{head}<sitemapindex xmlns="{CORE}">{"".join(children)}</sitemapindex>'.encode()


def child(loc: str, lastmod: str | None = None) -> str:
    return (
        f"<sitemap><loc>{loc}</loc>{f'<lastmod>{lastmod}</lastmod>' if lastmod else ''}</sitemap>"
    )


def dated(text: str) -> str:
    return f"<lastmod>{text}</lastmod>"


AB = urlset(entry(A), entry(B))
FULL = urlset(entry(A, dated("2024-05-17")), entry(B), entry(C))
LATIN = U + "caf\u00e9"

ENTRIES = [
    Case("plain", AB, [A, B]),
    Case("entity in loc", urlset(entry(U + "?a=1&amp;copy=2&#38;b=3")), [U + "?a=1&copy=2&b=3"]),
    Case("entity twice escaped", urlset(entry(U + "?a&amp;amp;b")), [U + "?a&amp;b"]),
    Case("cdata", urlset(entry(f"<![CDATA[{U}?a=1&b=2]]>")), [U + "?a=1&b=2"]),
    Case("half cdata", urlset(entry(f"{U}<![CDATA[?a=1&b]]>=2")), [U + "?a=1&b=2"]),
    Case("padded cdata", urlset(entry(f"<![CDATA[\n {A} \n]]>")), [A]),
    Case(
        "cdata and references in lastmod",
        urlset(entry(A, dated("<![CDATA[2024-05-17T]]>12:00:00&#43;01:00"))),
        [A],
        lastmods=["2024-05-17T12:00:00+01:00"],
    ),
    Case(
        "unusual space",
        urlset(entry(f"\u00a0{A}\u2000"), entry(f"\u200b{B}\ufeff")),
        [A, B],
        row_issues={0: "loc_padding", 1: "loc_padding"},
    ),
    Case("usual space", urlset(entry(f"\n\t {A}\r\n ")), [A], row_issues={0: ""}),
    Case("comment inside loc", urlset(entry(f"{U}<!-- x -->a")), [A]),
    Case("comment as first child", urlset(f"<url><!-- x --><loc>{A}</loc></url>"), [A]),
    Case(
        "empty loc",
        urlset(entry(A), "<url><loc/></url>", entry(" "), "<url/>", entry(B)),
        [A, B],
        "missing_loc",
    ),
    Case(
        "empty image loc", urlset(entry(A, f'<i:image xmlns:i="{IMAGE}"><i:loc/></i:image>')), [A]
    ),
    Case(
        "two locs",
        urlset(f"<url><loc>{A}</loc>{dated('2024')}<loc>{B}</loc></url>"),
        [A, B],
        row_issues={0: "loc_repeated", 1: "loc_repeated"},
        lastmods=["2024", None],
    ),
    Case("url in loc", urlset(entry(f"<url>{A}</url>")), [A], row_issues={0: "loc_markup"}),
    Case("bare text", urlset(f"<url>{A}</url>"), [A], row_issues={0: "loc_without_tag"}),
    Case(
        "empty lastmod",
        urlset(entry(A, "<lastmod/>"), entry(B, dated(" "))),
        [A, B],
        row_issues={0: "lastmod_empty", 1: "lastmod_empty"},
        lastmods=[None, None],
    ),
    Case(
        "two lastmods",
        urlset(entry(A, dated("2024") + dated("2025"))),
        [A],
        row_issues={0: "lastmod_repeated"},
        lastmods=["2024"],
    ),
    Case(
        "relative",
        urlset(entry("/a"), entry("//example.com/b"), entry("c")),
        [A, B, C],
        row_issues={0: "loc_relative", 1: "loc_relative", 2: "loc_relative"},
    ),
    Case("fragment", urlset(entry(A + "#x")), [A + "#x"], row_issues={0: "loc_fragment"}),
    Case(
        "no http",
        urlset(entry("mailto:x@example.com")),
        ["mailto:x@example.com"],
        row_issues={0: "loc_not_http"},
    ),
    Case("space inside", urlset(entry(U + "a b")), [U + "a b"], row_issues={0: "loc_space"}),
    Case("not ascii", urlset(entry(LATIN)), [LATIN], row_issues={0: "loc_non_ascii"}),
    Case("unsafe", urlset(entry(U + "a|b")), [U + "a|b"], row_issues={0: "loc_unsafe"}),
    Case("long", urlset(entry(U + "x" * 2048)), [U + "x" * 2048], row_issues={0: "loc_long"}),
    Case(
        "image before and after",
        urlset(
            f"<url><image:image><image:loc>{C}</image:loc></image:image><loc>{A}</loc></url>",
            entry(B, f"<image:image><image:loc>{C}</image:loc></image:image>"),
            attributes=f'xmlns="{CORE}" xmlns:image="{IMAGE}"',
        ),
        [A, B],
    ),
    Case(
        "image in its own default namespace",
        urlset(entry(A, f'<image xmlns="{IMAGE}"><loc>{C}</loc></image>'), entry(B)),
        [A, B],
    ),
    Case(
        "hreflang",
        urlset(
            entry(A, f'<x:link rel="alternate" hreflang="de" href="{B}"/>'),
            entry(B, f'<x:link rel="alternate" href="{B}"/>'),
            entry(C, f'<x:link hreflang="de" href="{B}"/><x:link rel="alternate" hreflang="de"/>'),
            attributes=f'xmlns="{CORE}" xmlns:x="{XHTML}"',
        ),
        [A, B, C],
        row_issues={
            0: "",
            1: "alternate_incomplete",
            2: "alternate_without_rel alternate_incomplete",
        },
    ),
    Case(
        "news with an empty name",
        urlset(
            entry(
                A,
                "<n:news><n:publication><n:name/><n:language>en</n:language></n:publication>"
                "<n:publication_date>2024-05-17</n:publication_date><n:title>T</n:title></n:news>",
            ),
            attributes=f'xmlns="{CORE}" xmlns:n="{NEWS}"',
        ),
        [A],
        row_issues={0: "news_incomplete"},
        kind="news",
    ),
    Case(
        "priorities",
        urlset(*(entry(U + p, f"<priority>{p}</priority>") for p in ("0.5", "NaN", "2", "0,5"))),
        [U + p for p in ("0.5", "NaN", "2", "0,5")],
        row_issues={0: "", 1: "priority_invalid", 2: "priority_invalid", 3: "priority_invalid"},
    ),
    Case(
        "changefreq",
        urlset(entry(A, "<changefreq>Daily</changefreq>"), entry(B, "<changefreq>x</changefreq>")),
        [A, B],
        row_issues={0: "", 1: "changefreq_invalid"},
    ),
    Case(
        "upper case",
        f'<URLSET xmlns="{CORE}"><URL><Loc>{A}</Loc></URL></URLSET>'.encode(),
        [A],
        "tag_case",
    ),
    Case(
        "mixed case",
        f'<urlset xmlns="{CORE}"><Url><LOC>{A}</loc></url></URLSET>'.encode(),
        [A],
        "recovered tag_case",
        {0: "recovered"},
    ),
    Case(
        "duplicates",
        urlset(entry(A), entry(B), entry(A)),
        [A, B, A],
        row_issues={0: "", 2: "duplicate"},
    ),
    Case("a foreign tag with our name", urlset(entry(A, '<x:loc xmlns:x="urn:x">no</x:loc>')), [A]),
    Case("attributes", urlset(f'<url id="1"><loc x="y">{A}</loc></url>'), [A]),
]

FILES = [
    Case("byte order mark", b"\xef\xbb\xbf" + AB, [A, B]),
    Case("mark and space", b"\xef\xbb\xbf\n " + AB, [A, B], "leading_space"),
    Case("space and mark", b" \xef\xbb\xbf" + AB, [A, B], "leading_space"),
    Case("two marks", b"\xef\xbb\xbf" * 2 + AB, [A, B], "leading_space"),
    Case("forty blank lines", b"\r\n" * 40 + AB, [A, B], "leading_space"),
    Case("notice of PHP", b"<br />\n<b>Notice</b>: x in <b>y</b>\n" + AB, [A, B],
         "recovered leading_junk", {0: "recovered", 1: "recovered"}),
    Case("notice as text", b"PHP Warning: x\n" + AB, [A, B], "recovered leading_junk"),
    Case("comment after the root", AB + b"\n<!-- 0.3 s -->\n", [A, B]),
    Case("junk after the root", AB + b"\n<script>x</script>", [A, B], "trailing_junk"),
    Case("cut before the end", FULL.replace(b"</urlset>", b""), [A, B, C], reason="truncated"),
    Case("cut in a tag", FULL[: FULL.rindex(b"/loc>")], [A, B], reason="truncated"),
    Case("cut in a URL", FULL[: FULL.rindex(b"c</loc>")], [A, B], reason="truncated"),
    Case("cut after a URL", FULL[: FULL.rindex(b"</url>")], [A, B, C],
         row_issues={1: "", 2: "truncated"}, reason="truncated"),
    Case("no namespace", urlset(entry(A), attributes=""), [A], "namespace_missing"),
    Case("empty namespace", urlset(entry(A), attributes='xmlns=""'), [A], "namespace_missing"),
    Case("legacy", urlset(entry(A), attributes='xmlns="http://www.google.com/schemas/sitemap/0.84"'),
         [A], "namespace_legacy"),
    *(
        Case(f"namespace {uri}", urlset(entry(A), attributes=f'xmlns="{uri}"'), [A],
             "namespace_other")
        for uri in (
            "https://www.sitemaps.org/schemas/sitemap/0.9",
            CORE + "/",
            "//www.sitemaps.org/schemas/sitemap/0.9",
            "http://sitemaps.org/schemas/sitemap/0.9",
            "urn:x",
        )
    ),
    Case("prefixed",
         f'<s:urlset xmlns:s="{CORE}"><s:url><s:loc>{A}</s:loc></s:url></s:urlset>'.encode(), [A]),
    Case("prefix not declared", b"<s:urlset><s:url><s:loc>https://example.com/a</s:loc></s:url>"
         b"</s:urlset>", [A], "undeclared_prefix namespace_missing"),
    Case("image prefix not declared",
         urlset(entry(A, f"<image:image><image:loc>{B}</image:loc></image:image>")), [A],
         "undeclared_prefix"),
    Case("stylesheet", urlset(entry(A), head=HEAD + '<?xml-stylesheet href="/x.xsl"?>\n'), [A]),
    Case("bare doctype", urlset(entry(A), head=HEAD + "<!DOCTYPE urlset>"), [A], "doctype"),
    Case("external doctype", urlset(entry(A), head='<!DOCTYPE urlset SYSTEM "http://x.test/d">'),
         [A], "doctype"),
    Case("external doctype, entity", urlset(
        entry(U + "?a&copy;=1"), head='<!DOCTYPE urlset SYSTEM "http://x.test/d">'),
        [U + "?a\u00a9=1"], "doctype recovered", {0: "recovered loc_non_ascii"}),
    Case("XXE", urlset(entry("https://example.com/&x;"), head=HEAD
         + '<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]>'), [], "doctype",
         reason="entities_forbidden", kind="not_a_sitemap"),
    Case("parameter entity", urlset(entry(A), head=HEAD
         + '<!DOCTYPE urlset [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x"> %x;]>'), [], "doctype",
         reason="entities_forbidden", kind="not_a_sitemap"),
    Case("XInclude", urlset(entry(A), '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" '
         'href="file:///etc/passwd" parse="text"/>'), [A]),
    Case("entity bomb", urlset(entry("&c;"), head=HEAD + "<!DOCTYPE x [<!ENTITY a 'xxxxxxxxxx'>"
         "<!ENTITY b '&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'>]>"), [], "doctype",
         reason="entities_forbidden", kind="not_a_sitemap"),
    Case("entity of HTML", urlset(entry(U + "caf&eacute;"), entry(B)), [LATIN, B], "recovered",
         {0: "recovered loc_non_ascii", 1: "recovered"}),
    Case("stray ampersand", urlset(entry(A), entry(U + "?a=1&b=2&amp;copy=3"), entry(C)),
         [A, U + "?a=1&b=2&copy=3", C], "recovered"),
    Case("stray ampersand and cdata", urlset(entry(f"<![CDATA[{U}?a&b]]>"), entry(U + "?c&d")),
         [U + "?a&b", U + "?c&d"], "recovered"),
    Case("control characters", urlset(entry(U + "a\x01"), entry(B)), [A, B], "recovered"),
    Case("impossible reference", urlset(entry(U + "a&#0;"), entry(B)), [A, B], "recovered"),
    Case("one bad byte", urlset(entry(A), entry(U + "caf\u00e9")).replace(b"\xc3\xa9", b"\xe9"),
         [A, LATIN], "recovered bad_bytes"),
    Case("latin-1", urlset(entry(LATIN), head=HEAD.replace("UTF-8", "ISO-8859-1")).decode()
         .encode("latin-1"), [LATIN], "not_utf8"),
    Case("windows-1251", urlset(entry(U + "\u0446"), head=HEAD.replace("UTF-8", "windows-1251"))
         .decode().encode("cp1251"), [U + "\u0446"], "not_utf8"),
    Case("utf-16", urlset(entry(LATIN), head=HEAD.replace("UTF-8", "UTF-16")).decode()
         .encode("utf-16"), [LATIN], "not_utf8"),
    Case("utf-16 without a mark", urlset(entry(A), head="").decode().encode("utf-16-be"), [A],
         "not_utf8"),
    Case("a lying declaration", urlset(entry(LATIN), head=HEAD.replace("UTF-8", "UTF-16")),
         [LATIN]),
    Case("an unknown encoding", urlset(entry(LATIN), head=HEAD.replace("UTF-8", "x-none")),
         [LATIN]),
    Case("HTML", b"<!DOCTYPE html>\n<html><title>Shop</title><body><a href='/a'>a</a></html>", [],
         reason="html_page", kind="not_a_sitemap"),
    Case("soft 404", b"<html><head><title>Page not found</title></head></html>", [],
         reason="soft_404", kind="not_a_sitemap"),
    Case("XHTML", b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "x">'
         b'<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>', [], reason="html_page",
         kind="not_a_sitemap"),
    Case("HTML that names the namespace", f"<html><body>{CORE} &lt;urlset></body></html>".encode(),
         [], reason="html_page", kind="not_a_sitemap"),
    Case("HTML with a sitemap inside", b"<html><body>" + AB + b"</body></html>", [],
         reason="html_page", kind="not_a_sitemap"),
    Case("unknown root", b"<?xml version='1.0'?><svg><url><loc>x</loc></url></svg>", [],
         reason="unknown_root", kind="not_a_sitemap"),
    Case("empty urlset", urlset(), []),
    Case("zero bytes", b"", [], reason="empty_file", kind="not_a_sitemap"),
    Case("space only", b" \n", [], reason="empty_file", kind="not_a_sitemap"),
    Case("json", b'{"error": "https://example.com/"}', [], reason="no_urls", kind="not_a_sitemap"),
    Case("binary", b"\x89PNG\r\n\0\0\0\0https://example.com/", [], reason="binary",
         kind="not_a_sitemap"),
    Case("urlset in urlset", urlset(f"<urlset>{entry(A)}</urlset>", entry(B)), [A, B]),
    Case("text", f"{A}\n{B}\n".encode(), [A, B], kind="text"),
    Case("text with a mark and CR", b"\xef\xbb\xbf" + f"{A}\r{B}\r\n\r\n{C}".encode(), [A, B, C],
         kind="text"),
    Case("text with other lines", f"# ours\n{A}\nb\n".encode(), [A], "bad_line", kind="text"),
    Case("text in latin-1", LATIN.encode("latin-1"), [LATIN], "not_utf8 bad_bytes", kind="text"),
    Case("gzip", gzip.compress(AB), [A, B]),
    Case("gzip twice", gzip.compress(gzip.compress(AB)), [A, B], "gzip_layers"),
    Case("gzip three times", gzip.compress(gzip.compress(gzip.compress(AB))), [], reason="binary",
         kind="not_a_sitemap"),
    Case("gzip members", gzip.compress(AB[:50]) + gzip.compress(AB[50:]), [A, B], "gzip_members"),
    Case("gzip with zeros after", gzip.compress(AB) + b"\0" * 20, [A, B]),
    Case("gzip with junk after", gzip.compress(AB) + b"<!-- cached -->", [A, B], "gzip_trailing"),
    Case("gzip of text", gzip.compress(f"{A}\n{B}".encode()), [A, B], kind="text"),
]  # fmt: skip


def rss(*items: str, version: str = "2.0") -> bytes:
    channel = f"<channel><link>{U}</link>{''.join(items)}</channel>"
    return f'{HEAD}<rss version="{version}">{channel}</rss>'.encode()


FEEDS = [
    Case("RSS", rss(f"<item><title>t</title><link>{A}</link>"
         "<pubDate>Fri, 17 May 2024 12:30:00 +0200</pubDate></item>",
         f"<item><link>{B}</link></item>"), [A, B], kind="rss",
         lastmods=["Fri, 17 May 2024 12:30:00 +0200", None]),
    Case("RSS 0.91", rss(f"<item><link>{A}</link></item>", version="0.91"), [A], kind="rss"),
    Case("guid as link", rss(f"<item><guid>{A}</guid></item>",
         f'<item><guid isPermaLink="false">{B}</guid></item>'), [A], "missing_loc",
         {0: "loc_from_id"}, kind="rss"),
    Case("relative link", rss("<item><link>/a</link></item>"), [A], row_issues={0: "loc_relative"},
         kind="rss"),
    Case("RSS with atom:link", rss('<item><a:link xmlns:a="http://www.w3.org/2005/Atom" '
         f'href="{B}" rel="self"/><link>{A}</link></item>'), [A], kind="rss"),
    Case("RSS 1.0", f"""{HEAD}<rdf:RDF xmlns="http://purl.org/rss/1.0/"
         xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
         xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="{U}"/>
         <item rdf:about="{A}"><link>{A}</link><dc:date>2024-05-17</dc:date></item>
         </rdf:RDF>""".encode(), [A], kind="rss", lastmods=["2024-05-17"]),
    Case("Atom", f"""{HEAD}<feed xmlns="http://www.w3.org/2005/Atom"><link href="{U}"/>
         <updated>2020-01-01T00:00:00Z</updated><entry><link rel="edit" href="{C}"/>
         <link rel="alternate" href="{A}"/><id>urn:x</id><published>2024-01-01T00:00:00Z</published>
         <updated>2024-05-17T00:00:00Z</updated></entry>
         <entry><id>{B}</id><updated>x</updated></entry></feed>""".encode(), [A, B], kind="atom",
         row_issues={0: "", 1: "loc_from_id lastmod_unreadable"},
         lastmods=["2024-05-17T00:00:00Z", "x"]),
    Case("Atom 0.3", f"""<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry>
         <link rel="alternate" href="{A}"/><modified>2024-05-17T00:00:00Z</modified>
         </entry></feed>""".encode(), [A], kind="atom", lastmods=["2024-05-17T00:00:00Z"]),
]  # fmt: skip

CASES = ENTRIES + FILES + FEEDS
