"""Pairs of URLs that one rule of normalization would merge: met by a crawl, or spelled anew."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.errors import BadURL
from crawlkit.web.urls import KEY_RULES, UrlRules, normalize_url, registered_domain, url_host

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

__all__ = ["UrlPair", "met_pairs", "parameter_counts", "respelled", "rule_names", "without"]

_OFF = {"tracking": False, "sort_query": False}
_PAIRS_OF_ONE_PAGE = 3
_MOST_PARAMETERS = 50
_LONGEST_NAME = 128


class UrlPair(NamedTuple):
    """Two URLs that are one under a rule.

    Attributes
    ----------
    rule
        A name in `KEY_RULES`.
    parameter
        The parameter that is dropped, where that is the rule.
    first, second
        The URLs.
    made
        Whether the second one was spelled here, and not met by the crawl.
    """

    rule: str
    parameter: str | None
    first: str
    second: str
    made: bool = False


def rule_names() -> tuple[str, ...]:
    """Return the rules that are tested one by one; dropped parameters come with their names."""
    return tuple(name for name in KEY_RULES if name != "drop_parameters")


def _only(rule: str) -> UrlRules:
    return UrlRules.from_dict({**_OFF, rule: True})


def _names(url: str) -> list[str]:
    query = url.partition("?")[2]
    names = dict.fromkeys(part.partition("=")[0] for part in query.split("&"))
    # A name with a star at its end would stand for any continuation.
    return [name for name in names if name and len(name) <= _LONGEST_NAME and name[-1] != "*"]


def without(url: str, parameter: str) -> str:
    """Return a URL without a parameter.

    Examples
    --------
    >>> without("https://a.example/?view=list&page=2", "view")
    'https://a.example/?page=2'
    """
    front, _, query = url.partition("?")
    kept = "&".join(part for part in query.split("&") if part.partition("=")[0] != parameter)
    return f"{front}?{kept}" if kept else front


def parameter_counts(urls: Iterable[str]) -> dict[str, int]:
    """Return the 50 most common parameters, with the number of URLs that have each."""
    counts = Counter(name for url in urls for name in _names(url))
    return dict(counts.most_common(_MOST_PARAMETERS))


def met_pairs(
    urls: Sequence[str], parameters: Iterable[str], *, sample: int, draw: random.Random
) -> list[UrlPair]:
    """Return pairs among the URLs of a crawl, at most ``sample`` for each rule and parameter.

    Parameters
    ----------
    urls
        Addresses, each once.
    parameters
        Names to test.
    sample
        Pairs of one rule; first one of each group of URLs that the rule makes one, then up to
        three, so that one page with many spellings does not speak for the site.
    draw
        Makes the draw.

    Examples
    --------
    >>> import random
    >>> urls = ["https://a.example/b", "https://a.example/b/", "https://a.example/c"]
    >>> [pair[:1] + pair[2:4] for pair in met_pairs(urls, (), sample=5, draw=random.Random(0))]
    [('trailing_slash', 'https://a.example/b', 'https://a.example/b/')]
    """
    pairs: list[UrlPair] = []
    for rule in rule_names():
        rules = _only(rule)
        groups: dict[str, list[str]] = defaultdict(list)
        for url in urls:
            groups[normalize_url(url, rules)].append(url)
        pairs += _drawn(rule, None, list(groups.values()), sample, draw)
    known = set(urls)
    by_name: dict[str, dict[str, list[str]]] = {name: {} for name in parameters}
    for url in urls:
        for name in _names(url):
            if name in by_name:
                rest = without(url, name)
                group = by_name[name].setdefault(rest, [rest] if rest in known else [])
                group.append(url)
    for name, by_rest in by_name.items():
        pairs += _drawn("drop_parameters", name, list(by_rest.values()), sample, draw)
    return pairs


def _drawn(
    rule: str,
    parameter: str | None,
    groups: list[list[str]],
    sample: int,
    draw: random.Random,
) -> list[UrlPair]:
    groups = [group for group in groups if len(group) > 1]
    draw.shuffle(groups)
    rounds: list[list[UrlPair]] = [[] for _ in range(_PAIRS_OF_ONE_PAGE)]
    for group in groups[:sample]:
        first, others = group[0], group[1:]
        chosen = draw.sample(others, min(len(others), _PAIRS_OF_ONE_PAGE))
        for place, second in enumerate(chosen):
            rounds[place].append(UrlPair(rule, parameter, first, second))
    return [pair for each in rounds for pair in each][:sample]


def respelled(url: str, rule: str, parameter: str | None = None) -> str | None:
    """Return another spelling of a URL, one that a rule makes the same; None where there is none.

    Examples
    --------
    >>> respelled("https://a.example/b?x=1&y=2", "sort_query")
    'https://a.example/b?y=2&x=1'
    >>> respelled("https://a.example/b", "trailing_slash")
    'https://a.example/b/'
    >>> respelled("https://a.example/b", "index_file") is None
    True
    """
    if rule == "drop_parameters":
        other = url if parameter is None else without(url, parameter)
    elif (key := normalize_url(url, _only(rule))) != url and rule != "sort_query":
        other = key
    else:
        other = _with(url, rule)
    try:
        # What is spelled here is checked: the rule must make it the same, and nothing else.
        same = rule == "drop_parameters" or (
            normalize_url(other, _only(rule)) == normalize_url(url, _only(rule))
        )
    except BadURL:
        return None
    return other if same and other != url else None


def _with(url: str, rule: str) -> str:
    """Return a URL with what a rule would take away."""
    front, mark, query = url.partition("?")
    scheme, _, rest = front.partition("://")
    if rule == "sort_query":
        return f"{front}?{'&'.join(reversed(query.split('&')))}" if mark else url
    if rule == "tracking":
        return f"{front}?{query}&utm_source=letter" if mark else f"{front}?utm_source=letter"
    if rule == "trailing_slash":
        last = front.rpartition("/")[2]
        return url if "." in last or not last else f"{front}/{mark}{query}"
    if rule == "www":
        host = url_host(url)
        bare = "." in host and registered_domain(host) == host and not host[-1].isdigit()
        return f"{scheme}://www.{rest}{mark}{query}" if bare else url
    if rule == "scheme" and scheme == "http":
        return f"https://{rest}{mark}{query}"
    return url
