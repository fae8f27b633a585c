"""robots.txt: RFC 9309, the reference cases, real files, and files that are none."""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego
from suites import suite_path

from crawlkit.errors import BadSetting, BadURL
from crawlkit.web.robots import (
    CRAWL_DELAY_CAP,
    ROBOTS_BYTES,
    ROBOTS_MAX_AGE,
    RobotsRules,
    parse_robots,
    product_token,
    robots_table,
    robots_url,
    rules_from_responses,
    rules_from_stored,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hostile_server import HostileServer

AGENT = "crawlkit/0.1 (+https://example.com/bot)"


def allows(content: bytes | str, url: str, agent: str = AGENT) -> bool:
    return parse_robots(content).allows(url, agent)


# The public suites


def google_cases(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(suite_path(f"google-robots/{name}").read_text())
    return cases


def verdict_is_right(case: dict[str, Any]) -> bool:
    url = case["url_latin1"].encode("latin-1").decode("utf-8", "surrogateescape")
    return allows(case["robots_latin1"].encode("latin-1"), url, case["ua"]) is case["allow"]


@pytest.mark.parametrize(
    ("name", "cases", "at_least"),
    [("spec-test-cases.json", 400, 390), ("robots_test_cc-cases.json", 142, 138)],
)
def test_google_cases_come_out_as_published(name: str, cases: int, at_least: int) -> None:
    verdicts = [verdict_is_right(case) for case in google_cases(name)]
    assert len(verdicts) == cases
    assert sum(verdicts) >= at_least


def test_every_google_case_that_follows_the_rfc_comes_out_as_published() -> None:
    strict = [
        case
        for name in ("spec-test-cases.json", "robots_test_cc-cases.json")
        for case in google_cases(name)
        if not case.get("notes")
    ]
    assert len(strict) == 423
    assert [case for case in strict if not verdict_is_right(case)] == []


CRAWLER_COMMONS = [
    # file, agent, path, allowed
    ("robots-with-utf8-bom.txt", "foobot", "/profile", False),
    ("robots-with-utf16le-bom.txt", "foobot", "/profile", False),
    ("robots-with-utf16be-bom.txt", "foobot", "/profile", False),
    ("robots-with-utf16be-bom.txt", "foobot", "/profil", True),
    ("www.flot.com-robots.txt", "foobot", "/img/", False),
    ("directive-typos-robots.txt", "bot1", "/desallow/", False),
    ("directive-typos-robots.txt", "bot1", "/dissalow/", False),
    ("directive-typos-robots.txt", "bot2", "/useragent/", False),
    ("directive-typos-robots.txt", "bot4", "/useragent-no-colon/", False),
    ("format-errors-robots.txt", "bot1", "/whitespace-before-colon/", False),
    ("format-errors-robots.txt", "bot1", "/no-colon/", False),
    ("format-errors-robots.txt", "bot2", "/no-colon-useragent/", False),
    # A product token holds no digits, so bot1, bot2 and bot3 are one agent here.
    ("format-errors-robots.txt", "bot3", "/whitespace-before-colon-3", True),
    ("format-errors-robots.txt", "bot3", "/other", False),
    ("many-user-agents.txt", "wget", "/", False),
    ("many-user-agents.txt", "nosuchbot", "/", True),
    ("many-user-agents.txt", "nosuchbot", "/bot-trap/", False),
    ("malformed-path.txt", "bot1", "/wiki/Wikipedia_talk:Mediation_Committee/", False),
    ("malformed-path.txt", "bot1", "/wiki/", True),
    ("dos-line-endings.txt", "bot1", "/", True),
    ("wildcards.txt", "anybot", "/wishlist/bogus", False),
    ("wildcards.txt", "anybot", "/wishlist/universal/page", True),
    ("wildcards.txt", "anybot", "/anydirectoryhere/gcrnsts", False),
    ("rfc9309-example-simple-robots.txt", "foobot", "/example/page.html", True),
    ("rfc9309-example-simple-robots.txt", "foobot", "/example/allowed.gif", True),
    ("rfc9309-example-simple-robots.txt", "foobot", "/", False),
    ("rfc9309-example-simple-robots.txt", "bazbot", "/example/page.html", False),
    ("rfc9309-example-simple-robots.txt", "bazbot", "/example/", True),
    ("rfc9309-example-simple-robots.txt", "quxbot", "/example/", True),
    ("rfc9309-example-simple-robots.txt", "otherbot", "/a/b.gif", False),
    ("rfc9309-example-simple-robots.txt", "otherbot", "/publications/a.gif", True),
    ("rfc9309-example-longest-match-robots.txt", "foobot", "/example/page/", True),
    ("rfc9309-example-longest-match-robots.txt", "foobot", "/example/page/disallowed.gif", False),
    ("rfc9309-example-rule-group-merging.txt", "examplebot", "/baz", False),
    ("rfc9309-example-rule-group-merging.txt", "examplebot", "/foo", False),
    ("rfc9309-example-rule-group-merging.txt", "bazbot", "/foo", True),
    ("merge-rules.txt", "wget", "/foo/bar", True),  # Allow wins the tie with the merged group
    ("merge-rules.txt", "wget", "/tmp/bar", False),
    ("crawl-delay-group-merging.txt", "mybot", "/private/", False),
    ("crawl-delay-group-merging.txt", "mybot", "/login/", True),
    ("crawl-delay-group-merging.txt", "yourbot", "/private/", False),
    ("crawl-delay-group-merging.txt", "yourbot", "/login/", False),
    ("extensions-group-merging.txt", "mybot", "/private/", False),
    ("extensions-group-merging.txt", "mybot", "/", True),
    ("extensions-group-merging.txt", "otherbot", "/", False),
    ("extensions-group-merging.txt", "otherbot", "/llms.txt", True),
]


@pytest.mark.parametrize(("name", "agent", "path", "allowed"), CRAWLER_COMMONS)
def test_crawler_commons_files_are_understood(
    name: str, agent: str, path: str, allowed: bool
) -> None:
    content = suite_path(f"crawler-commons/robots/{name}").read_bytes()
    assert allows(content, "http://example.com" + path, agent) is allowed


def test_crawler_commons_sitemaps_and_delays_are_found() -> None:
    def read(name: str) -> RobotsRules:
        return parse_robots(suite_path(f"crawler-commons/robots/{name}").read_bytes())

    assert read("sitemap-robots.txt").sitemaps[-1].endswith("MixedCased-sitemap.xml")
    assert read("sitemap-robots-dedup.txt").sitemaps == ("http://example.org/sitemap.xml",)
    assert read("relative-sitemap-robots.txt").sitemaps == ("/sitemap.xml",)
    assert read("dos-line-endings.txt").crawl_delay("bot1") == 1.0
    merging = read("crawl-delay-group-merging.txt")
    delays = [merging.crawl_delay(agent) for agent in ("mybot", "yourbot", "anybot")]
    assert delays == [10.0, None, 30.0]


# Groups and tokens


@pytest.mark.parametrize(
    ("content", "blocked"),
    [
        ("User-agent: crawlkit\nDisallow: /", True),
        ("User-Agent: CrawlKit\nDisallow: /", True),
        ("User-agent: crawlkit/9.9\nDisallow: /", True),
        ("User-agent: crawlkit and friends\nDisallow: /", True),
        ("User-agent: crawl\nDisallow: /", False),  # no prefix match
        ("User-agent: crawlkitten\nDisallow: /", False),
        ("User-agent: kit\nDisallow: /", False),
        ("User-agent: 008\nDisallow: /", False),  # no product token, so nobody's group
        ("User-agent:\nDisallow: /", False),
        ("User-agent: *\nDisallow: /", True),
        ("User-agent: * # all\nDisallow: /", True),
        ("User-agent: *bot\nDisallow: /", False),
        ("Disallow: /", False),  # before any group
        ("User-agent: *\nDisallow: /\n\nUser-agent: crawlkit\nDisallow:\n", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: crawlkit\n", False),
        ("User-agent: crawlkit\n\n\nDisallow: /", True),  # a blank line ends nothing
        ("User-agent: a\nUser-agent: crawlkit\nUser-agent: b\nDisallow: /", True),
        ("User-agent: a\nDisallow: /\nUser-agent: crawlkit\nAllow: /x", False),
        ("User-agent: crawlkit\nNoindex: /a\nHost: x\nUser-agent: b\nDisallow: /", True),
        ("User-agent: crawlkit\nSitemap: /s.xml\nUser-agent: b\nDisallow: /", True),
        ("User-agent: crawlkit\nCrawl-delay: 3\nUser-agent: b\nDisallow: /", True),
        ("User-agent: crawlkit\nAllow: /x\n\nUser-agent: b\nAllow: /\n\n"
         "User-agent: crawlkit\nDisallow: /", True),  # groups of one agent are merged
    ],
)  # fmt: skip
def test_a_group_binds_exactly_the_agents_it_names(content: str, blocked: bool) -> None:
    assert allows(content, "https://example.com/a") is not blocked


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("crawlkit/0.1 (+https://example.com/bot)", "crawlkit"),
        ("crawlkit", "crawlkit"),
        ("  My_Own-Bot 2.0", "My_Own-Bot"),
        ("Mozilla/5.0 (compatible; crawlkit/0.1; +https://example.com)", "crawlkit"),
        ("Mozilla/5.0 AppleWebKit/537.36 (KHTML) (compatible; crawlkit)", "Mozilla"),
        ("Mozilla/5.0 (X11; Linux x86_64)", "Mozilla"),
        ("3dbot", ""),
        ("", ""),
    ],
)
def test_the_product_token_is_the_name_at_the_front(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token


def test_agents_are_listed_as_tokens() -> None:
    content = "User-agent: B/1\nUser-agent: a\nDisallow: /\n\nUser-agent: *\nUser-agent: 9\n"
    assert parse_robots(content).agents == ("b", "a", "*")


# Rules


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Disallow: /a", "/ab", False),
        ("Disallow: /a", "/A", True),
        ("Disallow: /a", "/b/a", True),
        ("Disallow: /a/", "/a", True),
        ("Disallow: /a$", "/a", False),
        ("Disallow: /a$", "/ab", True),
        ("Disallow: /*.pdf$", "/x/y.pdf", False),
        ("Disallow: *.pdf$", "/x/y.pdf?z", True),
        ("Disallow: /*?*session=", "/a?b=1&session=2", False),
        ("Disallow: /?", "/?a", False),
        ("Disallow: /a # not /ab", "/ab", False),
        ("Disallow:", "/a", True),
        ("Disallow: /\nAllow: /a", "/a", True),
        ("Allow: /a\nDisallow: /a", "/a", True),  # a tie
        ("Allow: /a\nDisallow: /ab", "/ab", False),
        ("Allow: /\nDisallow: /*", "/a", False),
        ("Disallow: /", "/robots.txt", True),
        ("Disallow: /", "/robots.txt?x", False),
        ("Disallow: /", "/robots.txt/x", False),
        ("Disallow: /a", "//a", True),
        ("Disallow: //a", "//a/b", False),
        ("Disallow: a", "/a", True),  # a path begins with a slash
        ("Disallow: https://example.com/a", "/https://example.com/a", True),
        ("Disallow: /caf\u00e9", "/caf%C3%A9", False),
        ("Disallow: /caf%c3%a9", "/caf\u00e9", False),
        ("Disallow: /%7Eann", "/~ann", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        ("Disallow: /a%2fb", "/a%2Fb", False),
        ("Disallow: /a?b=https://c.d", "/a?b=https%3A//c.d", False),  # reserved octets (2.2.2)
        ("Disallow: /50%", "/50%25", False),
        ("Disallow: /a*b", "/a%2Ab", False),
        ("Disallow: /a%2Ab", "/axb", True),
        ("Disallow: /a%2Ab", "/a*b", False),
        ("Disallow: /%E9", "/%E9t", False),
        ("Disallow: /%E9", "/%E8t", True),  # octets that are no UTF-8 stay apart
        ("Disallow: /%EA%EE%F2", "/%EC%E0%EC", True),
        ("Disallow: /%FF*x", "/%ff/x", False),
    ],
)
def test_the_longest_matching_rule_decides(rules: str, path: str, allowed: bool) -> None:
    content = f"User-agent: *\n{rules}\n"
    assert allows(content, "https://example.com" + path) is allowed
    if not path.startswith("//"):
        assert allows(content, path) is allowed


def test_octets_that_are_no_utf8_match_their_escapes() -> None:
    rules = b"User-agent: *\nDisallow: /caf\xe9\n"
    assert not allows(rules, "https://example.com/caf%E9")
    assert allows(rules, "https://example.com/caf%C3%A9")


def test_a_url_without_a_path_or_with_a_fragment_is_understood() -> None:
    content = "User-agent: *\nDisallow: /$\nDisallow: /?\nDisallow: /*frag\n"
    assert not allows(content, "https://example.com")
    assert not allows(content, "https://example.com?a")
    assert allows(content, "https://example.com/a#frag")


def test_the_deciding_line_is_named_as_written() -> None:
    rules = parse_robots(
        "User-agent: *\n"
        "disallow:/private/   # keep out\n"
        "Allow: /private/open/\n"
        "Disallow: /caf\u00e9\n"
        "Disallow: /*.pdf$\n"
        "Allow: /docs/index.html\n"
        "Disallow: /docs/\n"
    )
    named = {
        "/private/a": "Disallow: /private/",
        "/private/open/a": "Allow: /private/open/",
        "/caf%C3%A9": "Disallow: /caf\u00e9",
        "/private/open/a.pdf": "Allow: /private/open/",
        "/a.pdf": "Disallow: /*.pdf$",
        "/docs/index.html": "Allow: /docs/index.html",
        "/docs/": "Allow: /docs/index.html",  # a site's front page is its index.html
        "/docs/a": "Disallow: /docs/",
        "/other": None,
        "/robots.txt": None,
    }
    assert {path: rules.line_for(path, AGENT) for path in named} == named


def test_without_a_file_no_line_is_named_but_the_reason_is_kept() -> None:
    rules = RobotsRules.disallow_all("http_503")
    assert rules.line_for("/a", AGENT) is None
    assert rules.reason == "http_503"
    assert not rules.allows("https://example.com/a", AGENT)
    assert rules.allows("https://example.com/robots.txt", AGENT)
    assert RobotsRules.allow_all("http_404").allows("https://example.com/a", AGENT)
    assert "http_503" in repr(rules)
    assert "allow_all" in repr(RobotsRules.allow_all())
    assert "*" in repr(parse_robots("User-agent: *\nDisallow: /"))


# Rules from few pieces, so that they compete; Protego is asked about each alone.
_PATHS = st.lists(st.sampled_from(["a", "b", "/", "*", "%C3%A9", "?"]), max_size=5).map("".join)
_RULES = st.lists(
    st.tuples(st.sampled_from(["Allow", "Disallow"]), _PATHS, st.sampled_from(["", "$"])),
    min_size=1,
    max_size=6,
)


@given(rules=_RULES, path=_PATHS)
def test_the_named_line_decides_alone_as_all_rules_do_together(
    rules: list[tuple[str, str, str]], path: str
) -> None:
    lines = [f"{kind}: /{pattern}{end}" for kind, pattern, end in rules]
    url = "https://example.com/" + path
    together = parse_robots("User-agent: *\n" + "\n".join(lines))
    named = together.line_for(url, AGENT)
    if named is None:
        assert together.allows(url, AGENT)
        matching = [
            line for line in lines if parse_robots(f"User-agent: *\n{line}").line_for(url, AGENT)
        ]
        assert matching == []
    else:
        assert named in lines
        assert together.allows(url, AGENT) is named.startswith("Allow")
        for rival in lines:  # no other line can overrule it
            pair = parse_robots(f"User-agent: *\n{named}\n{rival}")
            assert pair.allows(url, AGENT) is named.startswith("Allow")


@given(rules=_RULES, path=_PATHS)
def test_plain_files_are_judged_as_protego_judges_them(
    rules: list[tuple[str, str, str]], path: str
) -> None:
    content = "User-agent: *\n" + "\n".join(f"{kind}: /{rule}{end}" for kind, rule, end in rules)
    url = "https://example.com/" + path.replace("*", "x")
    assert allows(content, url) == Protego.parse(content).can_fetch(url, "crawlkit")


# Files that are hard to read


FILE = "User-agent: *\nDisallow: /private/\nSitemap: https://example.com/s.xml\n"


@pytest.mark.parametrize(
    "content",
    [
        FILE.encode(),
        FILE.encode("utf-8-sig"),
        FILE.encode("utf-16"),
        b"\xfe\xff" + FILE.encode("utf-16-be"),
        FILE.encode("utf-16-le"),  # no byte order mark: every other byte is NUL
        FILE.replace("\n", "\r").encode(),
        FILE.replace("\n", "\r\n").encode(),
        FILE.replace("\n", "\n\r\n\r").encode(),
        b"<html><body>It works!</body>\n" + FILE.encode() + b"</html>",
        FILE.replace("Disallow: ", "disallow\t:\u00a0").encode(),
        FILE.replace("/private/", "/private/\0").encode(),
        b"\xff\xfa\x00garbage\n" + FILE.encode() + b"\x80\x81",
        (FILE + "x" * 2_000_000).encode(),
        FILE.replace("Disallow", "# \u2028 \x0b \x1c Allow: /\nDisallow").encode(),
    ],
)
def test_rules_are_found_in_any_encoding_with_any_line_end(content: bytes) -> None:
    rules = parse_robots(content)
    assert not rules.allows("https://example.com/private/a", AGENT)
    assert rules.allows("https://example.com/a", AGENT)
    assert rules.sitemaps == ("https://example.com/s.xml",)


def test_only_the_first_500_kib_count_cut_at_a_line_end() -> None:
    head = "User-agent: *\nDisallow: /a\n"
    last = "Disallow: /tmp/cache\n"
    filler = "#" * (ROBOTS_BYTES - len(head) - len("Disallow: /") - 1) + "\n"
    content = (head + filler + last + "Disallow: /b\n").encode()
    assert content[:ROBOTS_BYTES].endswith(b"\nDisallow: /")  # read so far, it would forbid all
    rules = parse_robots(content)
    assert not rules.allows("/a", AGENT)
    assert rules.allows("/tmp/cache", AGENT)
    assert rules.allows("/b", AGENT)
    wide = b"\xff\xfe" + content.decode().encode("utf-16-le")
    assert not parse_robots(wide).allows("/a", AGENT)
    assert parse_robots(wide).allows("/b", AGENT)
    assert ROBOTS_BYTES == 512_000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 100_000,
        b"\xff\xfe",
        b"\xff\xfea",
        b"\xef",
        b"a" * 20_000_000,
        b"\n" * 20_000_000,
        b"\r" * 1_000_000,
        b":" * 600_000,
        b"Disallow: /" + b"a" * 20_000_000,
        b"Sitemap: " + b", " * 250_000,
        b"Sitemap: " + b" http://a" * 50_000 + b"\n",
        b"User-agent: *\nDisallow: /" + b"%" * 100_000 + b"\n",
        b"User-agent: *\nDisallow: /" + b"*" * 400_000 + b"x\n",
        b"".join(b"User-agent: %s\n" % (b"ab"[i % 2 :] * (i % 20 + 1)) for i in range(14_000))
        + b"".join(b"Crawl-delay: %d\nDisallow: /%d\n" % (i, i) for i in range(6_000)),
        "\ud800\udfff User-agent: *\nDisallow: /\ud800\nSitemap: \udc80",
        "\ufeffUser-agent: *\nDisallow: /\ufeff",
    ],
)
def test_no_file_raises_or_takes_long(content: bytes | str) -> None:
    before = time.perf_counter()
    rules = parse_robots(content)
    assert rules.allows("https://example.com/" + "a" * 2_000, AGENT)
    rules.line_for("https://example.com/a", "ab")
    rules.crawl_delay("ab")
    "".join(rules.sitemaps).encode()
    assert time.perf_counter() - before < 10  # quadratic time would take minutes


@pytest.mark.parametrize(
    "rules",
    [
        "Disallow: /" + "*a" * 100_000 + "b\n",
        ("Disallow: /" + "*a" * 1_900 + "*b\n") * 130,
        "".join(f"Disallow: /*a{number}*b\n" for number in range(20_000)),
        "".join("Disallow: /*" + "a" * 45 + "b" + "a" * 40 + f"*{i}\n" for i in range(5_000)),
    ],
)
def test_many_wildcards_do_not_hang(rules: str) -> None:
    parsed = parse_robots("User-agent: *\n" + rules)
    url = "https://example.com/" + "a" * 2_000
    parsed.allows(url, AGENT)
    before = time.perf_counter()
    assert parsed.allows(url, AGENT)
    assert time.perf_counter() - before < 5


@given(st.binary(max_size=300), st.text(max_size=50), st.text(max_size=20))
def test_any_bytes_any_url_and_any_agent_can_be_asked_about(
    content: bytes, url: str, agent: str
) -> None:
    for prefix in (b"", b"User-agent: *\nDisallow: /", b"\xff\xfe"):
        rules = parse_robots(prefix + content)
        rules.allows("https://example.com/" + url, agent)
        rules.allows(url, agent)
        (rules.line_for(url, agent) or "").encode()
        rules.crawl_delay(agent)
        json.dumps(rules.sitemaps).encode()


def test_a_url_with_lone_surrogates_or_brackets_can_be_asked_about() -> None:
    rules = parse_robots("User-agent: *\nDisallow: /x")
    for url in ("https://[/x", "https://a/\ud800", "//", "", "?", "#", "x", "\udcff://"):
        rules.allows(url, AGENT)
        rules.line_for(url, AGENT)


# Crawl-delay and sitemaps


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ("Crawl-delay: 10", 10.0),
        ("crawl-delay:0.5", 0.5),
        ("Crawl-delay 7", 7.0),
        ("Crawl-delay: 0", 0.0),
        ("Crawl-delay: 100000", 100_000.0),
        ("Crawl-delay: 2\nCrawl-delay: 5\nCrawl-delay: 3", 5.0),
        ("Crawl-delay: 2\nCrawl-delay: junk", 2.0),
        ("Crawl-delay: -1", None),
        ("Crawl-delay: nan", None),
        ("Crawl-delay: inf", None),
        ("Crawl-delay: ten", None),
        ("Crawl-delay:", None),
        ("Crawl-delay: 10 seconds", None),
        ("Disallow: /x\nCrawl-delay: 4\nAllow: /y", 4.0),
    ],
)
def test_crawl_delay_is_seconds_or_nothing(lines: str, seconds: float | None) -> None:
    for agent in ("*", "other\nUser-agent: crawlkit"):
        assert parse_robots(f"User-agent: {agent}\n{lines}\n").crawl_delay(AGENT) == seconds


def test_a_crawl_delay_is_for_the_agents_above_it_alone() -> None:
    content = (
        "User-agent: a\nUser-agent: b\nCrawl-delay: 1\nUser-agent: c\nCrawl-delay: 2\n"
        "Disallow: /x\nUser-agent: *\nCrawl-delay: 9\nUser-agent: d\nDisallow:\n"
    )
    rules = parse_robots(content)
    delays = [rules.crawl_delay(agent) for agent in ("a", "b", "c", "d", "e")]
    assert delays == [1.0, 1.0, 2.0, None, 9.0]
    assert parse_robots("Crawl-delay: 3\n").crawl_delay(AGENT) is None
    assert CRAWL_DELAY_CAP == 300.0


def test_sitemaps_are_found_wherever_and_however_they_are_written() -> None:
    content = (
        "Sitemap: https://example.com/a.xml\n"
        "User-agent: x\nDisallow: /\n"
        "SITEMAP : <https://example.com/b.xml> # new\n"
        "sitemap https://example.com/c.xml\n"
        'Site-map: "https://example.com/d.xml"\n'
        "Sitemap: https://example.com/e.xml, https://example.com/F.xml HTTPS://example.com/g.xml\n"
        "Sitemap: https://example.com/a.xml\n"
        "Sitemap: /relative.xml\n"
        "Sitemap: https://example.com/h.xml<br>\n"
        "Sitemap:\n"
        "The sitemap is elsewhere\n"
    )
    expected = [f"https://example.com/{name}.xml" for name in "abcdeF"]
    expected += ["HTTPS://example.com/g.xml", "/relative.xml", "https://example.com/h.xml"]
    assert list(parse_robots(content).sitemaps) == expected


# Verdicts


@dataclass
class Answer:
    """What the verdict reads of a response."""

    status: int | None = 200
    body: bytes = b""
    error: str | None = None
    url: str = "https://example.com/robots.txt"


BLOCKING = b"User-agent: *\nDisallow: /private/\n"


@pytest.mark.parametrize(
    ("answers", "status", "reason"),
    [
        ([Answer(200, BLOCKING)], "ok", None),
        ([Answer(204)], "ok", None),
        ([Answer(200, BLOCKING, "body_too_large")], "ok", None),
        ([Answer(301), Answer(200, BLOCKING, url="https://other.example/r")], "ok", None),
        ([Answer(status) for status in (301, 302, 303, 307, 308)] + [Answer(200)], "ok", None),
        ([Answer(400)], "unavailable", "http_400"),
        ([Answer(401)], "unavailable", "http_401"),
        ([Answer(403)], "unavailable", "http_403"),
        ([Answer(404, BLOCKING)], "unavailable", "http_404"),
        ([Answer(410)], "unavailable", "http_410"),
        ([Answer(404, error="undecodable")], "unavailable", "http_404"),
        ([Answer(301)] * 5 + [Answer(404)], "unavailable", "http_404"),
        ([Answer(301)], "unavailable", "http_301"),  # leads nowhere
        ([Answer(301)] * 6 + [Answer(None, error="too_many_redirects")],
         "unavailable", "too_many_redirects"),
        ([Answer(301), Answer(None, error="redirect_loop")], "unavailable", "redirect_loop"),
        ([Answer(301, error="redirect_not_http")], "unavailable", "redirect_not_http"),
        ([Answer(429)], "unreachable", "http_429"),
        ([Answer(500)], "unreachable", "http_500"),
        ([Answer(503, BLOCKING)], "unreachable", "http_503"),
        ([Answer(999)], "unreachable", "http_999"),
        ([Answer(101)], "unreachable", "http_101"),
        ([Answer(None, error="dns_not_found")], "unreachable", "dns_not_found"),
        ([Answer(None, error="timeout")], "unreachable", "timeout"),
        ([Answer(301), Answer(None, error="private_address")], "unreachable", "private_address"),
        ([Answer(200, BLOCKING, "truncated")], "unreachable", "truncated"),
        ([Answer(200, b"", "body_too_large")], "unreachable", "body_too_large"),
        ([Answer(200, b"\x1f\x8b", "undecodable")], "unreachable", "undecodable"),
        ([Answer(None)], "unreachable", "no_response"),
        ([], "unreachable", "no_response"),
    ],
)  # fmt: skip
def test_the_final_answer_says_what_is_allowed(
    answers: list[Answer], status: str, reason: str | None
) -> None:
    verdict = rules_from_responses(answers)
    assert (verdict.status, verdict.reason) == (status, reason)
    assert verdict.rules.allows("https://example.com/a", AGENT) is (status != "unreachable")
    blocks = status == "unreachable" or (status == "ok" and answers[-1].body == BLOCKING)
    assert verdict.rules.allows("https://example.com/private/a", AGENT) is not blocks
    assert verdict.rules.allows("https://example.com/robots.txt", AGENT)
    assert verdict.content == (answers[-1].body if status == "ok" else b"")
    if status != "ok":
        assert verdict.rules.reason == reason


def test_a_verdict_names_the_address_asked_first() -> None:
    verdict = rules_from_responses(
        [Answer(301), Answer(200, BLOCKING, url="https://other.example/robots.txt")]
    )
    assert verdict.url == "https://example.com/robots.txt"


def test_a_verdict_is_rebuilt_from_what_is_stored() -> None:
    long = BLOCKING + b"#" * ROBOTS_BYTES + b"\nAllow: /private/\n"
    for answer in (Answer(200, long), Answer(404), Answer(503), Answer(None, error="timeout")):
        verdict = rules_from_responses([answer])
        again = rules_from_stored(verdict.status, verdict.content, verdict.reason, url=verdict.url)
        assert len(verdict.content) <= ROBOTS_BYTES
        assert (again.status, again.reason) == (verdict.status, verdict.reason)
        assert (again.content, again.url) == (verdict.content, verdict.url)
        for url in ("https://example.com/private/a", "https://example.com/a"):
            assert again.rules.allows(url, AGENT) is verdict.rules.allows(url, AGENT)
    assert ROBOTS_MAX_AGE == 24 * 3600


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/a/b?c#d", "https://example.com/robots.txt"),
        ("HTTP://EXAMPLE.com:80", "http://example.com/robots.txt"),
        ("http://example.com:8080/", "http://example.com:8080/robots.txt"),
        ("https://user:secret@example.com/", "https://example.com/robots.txt"),
        ("http://[::1]:9/", "http://[::1]:9/robots.txt"),
        ("https://b\u00fccher.example/", "https://xn--bcher-kva.example/robots.txt"),
    ],
)
def test_the_address_of_robots_txt_is_one_per_scheme_host_and_port(url: str, expected: str) -> None:
    assert robots_url(url) == expected


@pytest.mark.parametrize(
    "url", ["", "/a", "ftp://example.com/", "mailto:a@b", "http://[", "https://"]
)
def test_what_has_no_robots_txt_is_a_bad_url(url: str) -> None:
    with pytest.raises(BadURL):
        robots_url(url)


# The table

DTYPES = {
    "url": "str",
    "agent": "str",
    "allowed": "boolean",
    "rule": "str",
    "crawl_delay": "float64",
    "status": "str",
}


def test_the_table_has_one_row_per_url_and_agent() -> None:
    content = "User-agent: a\nCrawl-delay: 3\nDisallow: /x\n\nUser-agent: *\nAllow: /\n"
    table = robots_table(content, ["/x", "https://example.com/y"], ["a/2.0", "b"])
    assert dict(table.dtypes.astype(str)) == DTYPES
    assert table.astype(object).where(table.notna(), None).values.tolist() == [
        ["/x", "a/2.0", False, "Disallow: /x", 3.0, "ok"],
        ["/x", "b", True, "Allow: /", None, "ok"],
        ["https://example.com/y", "a/2.0", True, None, 3.0, "ok"],
        ["https://example.com/y", "b", True, "Allow: /", None, "ok"],
    ]
    for same in (content.encode(), parse_robots(content)):
        assert robots_table(same, ["/x", "https://example.com/y"], ["a/2.0", "b"]).equals(table)


def test_an_empty_table_has_the_same_columns() -> None:
    for table in (robots_table("", [], ["a"]), robots_table(b"", ["/a"], [])):
        assert len(table) == 0
        assert dict(table.dtypes.astype(str)) == DTYPES


def test_a_table_of_rules_without_a_file_says_so() -> None:
    closed = robots_table(RobotsRules.disallow_all("http_500"), "/a", "b")
    assert closed[["allowed", "status"]].values.tolist() == [[False, "unreachable"]]
    opened = robots_table(RobotsRules.allow_all(), "/a", "b")
    assert opened[["allowed", "status"]].values.tolist() == [[True, "unavailable"]]


def test_a_site_that_is_neither_url_nor_content_is_a_typed_error() -> None:
    with pytest.raises(BadSetting, match="parse_robots"):
        robots_table(3, ["/"], ["a"])  # type: ignore[arg-type]


@pytest.fixture
def server() -> Iterator[HostileServer]:
    from hostile_server import HostileServer

    with HostileServer() as running:
        yield running


def test_the_table_of_a_site_asks_it_once_and_speaks_of_no_other(server: HostileServer) -> None:
    from hostile_server import answer

    server.on("/robots.txt", answer(b"", "Location: /moved", status="302 Found"))
    server.on("/moved", answer(BLOCKING))
    urls = ["/private/a", server.url("/b"), "https://example.com/c", "mailto:a@b"]
    table = robots_table(server.url("/any/page"), urls, "crawlkit")
    assert table["status"].tolist() == ["ok", "ok", "other_site", "bad_url"]
    assert table["allowed"].isna().tolist() == [False, False, True, True]
    assert table["allowed"].tolist()[:2] == [False, True]
    assert len(server.asked("/robots.txt")) == 1


def test_the_table_of_a_site_that_fails_allows_nothing(server: HostileServer) -> None:
    from hostile_server import answer

    server.on("/robots.txt", answer(b"", status="503 Service Unavailable"))
    table = robots_table(server.url(), ["/a"], "crawlkit")
    assert table[["allowed", "status"]].values.tolist() == [[False, "unreachable"]]


# Speed


def _median_seconds(function: Callable[[], object]) -> float:
    times = []
    for _ in range(9):
        before = time.perf_counter()
        for _ in range(2_000):
            function()
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def test_asking_costs_next_to_nothing_where_no_rule_concerns_us() -> None:
    url = "https://example.com/shop/item?colour=red&size=9"
    ours = parse_robots("User-agent: *\nDisallow: /cart\nDisallow: /*?sort=\n")
    others = parse_robots("User-agent: badbot\nDisallow: /\n" * 50)
    for free in (others, RobotsRules.allow_all("http_404")):
        with_rules = _median_seconds(lambda: ours.allows(url, AGENT))
        without = _median_seconds(lambda rules=free: rules.allows(url, AGENT))  # type: ignore[misc]
        assert with_rules / without > 5
