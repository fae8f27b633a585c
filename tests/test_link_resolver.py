"""The fast way of links in a crawl gives the answers of the exact way, in bounded memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import example, given, settings
from hypothesis import strategies as st
from url_strategies import EVERYTHING, PIECES, absolute, hrefs, odd_bases, rule_sets

from crawlkit.web.urls import MAX_URL_LENGTH, Address, LinkResolver, Refusal, UrlRules, safe_url


def test_a_long_fragment_does_not_make_a_url_too_long() -> None:
    longest = "http://h/" + "x" * (MAX_URL_LENGTH - 9)
    assert safe_url(longest + "#" + "x" * 100_000) == longest
    assert LinkResolver().for_page("http://h/")(longest[8:] + "#x") == LinkResolver().resolve(
        longest
    )


def test_a_space_in_front_of_a_fragment_belongs_to_the_path() -> None:
    for resolve in (
        LinkResolver().for_page("http://h/"),
        lambda href: LinkResolver().resolve(href, "http://h/"),
    ):
        assert resolve("a #b").url == "http://h/a%20"  # type: ignore[union-attr]
        assert resolve("a ").url == "http://h/a"  # type: ignore[union-attr]


@given(
    st.lists(hrefs | absolute, max_size=12),
    st.lists(odd_bases, min_size=1, max_size=3),
    rule_sets(),
)
@settings(max_examples=500, deadline=None)
@example(["#x", "", "#", "?", "a#b", "a", " #x", "\t#", "#\ud800"], ["http://h/a?b"], UrlRules())
@example(["a:b", "/a:b", "a:b", "../a:b", "b", "/a/b"], ["http://h/a/b", "http://h/x"], UrlRules())
@example(
    ["../" * 9 + "a", "..", "../", "../..", "../.a", "..//a", ".../a", "./a", "./", ".//a", "./.."],
    ["http://h/a/b/c"],
    UrlRules(),
)
@example(
    ["/a'b", "/a?b'c", "/a%27b", "/a?b%27c", "/%7F", "/%E9", "/%5F"], ["http://h/"], UrlRules()
)
@example(
    ["http://h/a", "http://h", "http://h//a", "http://h/./a", "HTTP://h/a"],
    ["http://h/x"],
    UrlRules(),
)
def test_the_fast_way_gives_the_answers_of_the_exact_way(
    links: list[str], pages: list[str], rules: UrlRules
) -> None:
    shared = LinkResolver(rules)
    for page in pages:
        resolve = shared.for_page(page)
        for href in links:
            assert resolve(href) == LinkResolver(rules).resolve(href, page), (href, page)
            assert resolve(href) == shared.resolve(href, page)


def test_the_fast_way_is_exact_on_every_pair_of_nasty_pieces() -> None:
    resolver = LinkResolver()
    for base in ("http://h/a/b?c", "https://h:8443/a//"):
        resolve = resolver.for_page(base)
        for first in PIECES:
            for second in PIECES:
                for href in (first + second, "x" + first + second):
                    assert resolve(href) == resolver.resolve(href, base), (href, base)


LABELS = ["a", "h1", "A", "é", "1", "0x7f", "xn--a", "xn--mnchen-3ya", "-", "a-", "", "a_b", "%61"]
TAILS = ["", "/", "/a?b=1&utm_source=x", "/.", "/a/../b", "/%7ea", "/a b", "/?", "\\a", ":80/"]


@given(
    st.sampled_from(["http://", "https://", "HTTP://", "http:/", "http:", "//"]),
    st.lists(st.sampled_from(LABELS) | st.text("a0-x", max_size=3), min_size=1, max_size=4),
    st.sampled_from(TAILS),
)
@settings(max_examples=500, deadline=None)
def test_the_fast_way_takes_only_names_of_hosts_as_they_are(
    scheme: str, labels: list[str], tail: str
) -> None:
    href = scheme + ".".join(labels) + tail
    for base in ("http://h/a/b", "https://h1.a/"):
        assert LinkResolver().for_page(base)(href) == LinkResolver().resolve(href, base), href


def test_addresses_hold_address_key_and_host() -> None:
    resolve = LinkResolver(EVERYTHING).for_page("https://www.example.com:8443/a/b")
    answer = resolve("../C/index.html?utm_source=x#y")
    assert answer == Address(
        "https://www.example.com:8443/C/index.html?utm_source=x",
        "https://example.com:8443/c",
        "www.example.com:8443",
    )


def test_the_caches_stay_small() -> None:
    resolver = LinkResolver(cache_size=100)
    for page in range(50):
        resolve = resolver.for_page(f"http://h/{page}/")
        for link in range(20):
            resolve(f"{link}")
            resolve(f"http://other{page}-{link}")
            resolve(f"{link}?q={'x' * 3_000}")
            assert len(resolver._known) <= 101
            assert len(resolver._spelled) <= 26
    # Long URLs are not kept, whatever room there is.
    assert max(map(len, resolver._known)) < 3_000


def test_long_urls_take_more_room_than_short_ones() -> None:
    resolver = LinkResolver(cache_size=100)
    resolve = resolver.for_page("http://h/")
    for link in range(200):
        resolve(f"/{link}/{'x' * 2_000}")
        assert sum(map(len, resolver._known)) < 100 * 300


def test_threads_share_a_resolver() -> None:
    resolver = LinkResolver(cache_size=50)

    def crawl(page: int) -> list[Address | Refusal]:
        resolve = resolver.for_page(f"http://h/{page}/")
        return [resolve(f"../{link % 90}?b=1&a={page}") for link in range(300)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(crawl, range(40)))
    for page, found in enumerate(answers):
        assert found == [
            Address(f"http://h/{link % 90}?b=1&a={page}", f"http://h/{link % 90}?a={page}&b=1", "h")
            for link in range(300)
        ]
