"""robots.txt by RFC 9309: which URLs a site lets a crawler ask for.

Protego compares URLs with rules; this module reads the file in front of it. It strips byte order
marks, keeps the lines that are rules, and picks the groups of our product token by equality, merged
(2.2.1), because a line that is no rule must not end a group (2.2.4) and a group for ``crawl`` must
not bind ``crawlkit``. What the RFC leaves open is decided like this:

- more than five redirects, or one that leads nowhere: "unavailable", so all is allowed (2.3.1.2);
- 429 counts as "unreachable", as every 5xx and every network failure does: nothing is allowed for
  now (2.3.1.4);
- the rules bind the scheme, host and port that were asked first, wherever redirects led;
- the first 500 KiB count, cut at a line end (2.5);
- ``Crawl-delay`` is not in the RFC; it is read as a lower bound, and the caller caps it;
- ``%2F`` and ``/`` stay different, as in the reference implementation.

A hostile file cannot hang the crawl: matching never backtracks, and time is bounded by the length
of the file times the length of the URL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import ada_url

from crawlkit.errors import BadSetting, BadURL
from crawlkit.web.robots_file import ROBOTS_BYTES, kept_bytes, product_token
from crawlkit.web.robots_rules import RobotsRules, parse_robots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from crawlkit.web.fetch import Http

__all__ = [
    "CRAWL_DELAY_CAP",
    "ROBOTS_BYTES",
    "ROBOTS_MAX_AGE",
    "RobotsRules",
    "RobotsVerdict",
    "parse_robots",
    "product_token",
    "robots_table",
    "robots_url",
    "rules_from_responses",
    "rules_from_stored",
]

#: Seconds that a caller should wait at most for a Crawl-delay.
CRAWL_DELAY_CAP = 300.0
#: Seconds after which a robots.txt should be asked for again (RFC 9309 2.4).
ROBOTS_MAX_AGE = 86_400.0

Status = Literal["ok", "unavailable", "unreachable"]

#: Redirects that come to no end.
_DEAD_ENDS = frozenset(
    {"too_many_redirects", "redirect_loop", "redirect_bad_url", "redirect_not_http"}
)


class RobotsResponse(Protocol):
    """What `rules_from_responses` reads of a response."""

    @property
    def url(self) -> str: ...
    @property
    def status(self) -> int | None: ...
    @property
    def body(self) -> bytes: ...
    @property
    def error(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """What asking a site for its robots.txt came to.

    Attributes
    ----------
    rules
        The rules to go by.
    status
        ``"ok"``, ``"unavailable"`` (allow all) or ``"unreachable"`` (disallow all for now).
    reason
        A stable code such as ``"http_404"`` when the status is not ``"ok"``, else None.
    content
        The bytes that count, to be stored; `rules_from_stored` reads them back.
    url
        The address asked first; the rules bind its scheme, host and port.
    """

    rules: RobotsRules
    status: Status
    reason: str | None
    content: bytes
    url: str = ""


def robots_url(url: str) -> str:
    """Return the address of the robots.txt that binds a URL (same scheme, host and port).

    Raises
    ------
    BadURL
        If `url` is not an absolute http or https URL.

    Examples
    --------
    >>> robots_url("https://user@Example.com:443/a?b")
    'https://example.com/robots.txt'
    """
    try:
        parsed = ada_url.URL(url)
    except ValueError:
        raise BadURL(url, "bad_url") from None
    if parsed.protocol not in ("http:", "https:"):
        raise BadURL(url, "not_http")
    return f"{parsed.protocol}//{parsed.host}/robots.txt"


def rules_from_responses(responses: Sequence[RobotsResponse]) -> RobotsVerdict:
    """Turn the answers to a request for robots.txt into rules (RFC 9309 2.3.1).

    Parameters
    ----------
    responses
        Every hop in order, the last one final; of each, `url`, `status`, `body` and `error` are
        read.

    Returns
    -------
    RobotsVerdict
        2xx is parsed; 4xx but 429, and redirects that come to no end, allow all; anything else
        disallows all for now. Rules bind the authority of the first response.
    """
    if not responses:
        return _without_file("unreachable", "no_response", "")
    url, last = responses[0].url, responses[-1]
    status, reason = _outcome(last.status, last.error, cut=bool(last.body))
    if status != "ok":
        return _without_file(status, reason, url)
    content = kept_bytes(last.body)
    return RobotsVerdict(parse_robots(content), "ok", None, content, url)


def _outcome(status: int | None, error: str | None, *, cut: bool) -> tuple[Status, str | None]:
    """Judge the final answer by its status and error; `cut` says that a too long body is there."""
    if error in _DEAD_ENDS:
        return "unavailable", error
    if status is None:
        return "unreachable", error or "no_response"
    if 200 <= status < 300:
        # A body that broke off may end in the middle of a rule. One that was cut for its length
        # will do, because what lies beyond the cut does not count.
        usable = error is None or (error == "body_too_large" and cut)
        return ("ok", None) if usable else ("unreachable", error)
    if error is None and 300 <= status < 400:
        return "unavailable", f"http_{status}"
    if 400 <= status < 500 and status != 429:
        return "unavailable", f"http_{status}"
    return "unreachable", error or f"http_{status}"


def rules_from_stored(
    status: Status, content: bytes, reason: str | None = None, *, url: str = ""
) -> RobotsVerdict:
    """Rebuild a verdict from its stored `status`, `content` and `reason`.

    Examples
    --------
    >>> rules_from_stored("unavailable", b"", "http_404").rules.allows("/", "crawlkit")
    True
    """
    if status == "ok":
        return RobotsVerdict(parse_robots(content), "ok", None, content, url)
    return _without_file(status, reason, url)


def _without_file(status: Status, reason: str | None, url: str) -> RobotsVerdict:
    if status == "unavailable":
        return RobotsVerdict(RobotsRules.allow_all(reason), status, reason, b"", url)
    return RobotsVerdict(RobotsRules.disallow_all(reason), status, reason, b"", url)


def robots_table(
    site: str | bytes | RobotsRules,
    urls: str | Iterable[str],
    agents: str | Iterable[str],
    *,
    http: Http | None = None,
) -> pd.DataFrame:
    r"""Ask one robots.txt about many URLs and agents.

    Parameters
    ----------
    site
        A URL of the site (its robots.txt is fetched, at most five redirects), the content of a
        robots.txt, or `RobotsRules`.
    urls
        Absolute URLs, or paths of the site.
    agents
        Product tokens or User-Agent lines.
    http
        How to fetch (`crawlkit.Http`), if `site` is a URL.

    Returns
    -------
    pandas.DataFrame
        One row per URL and agent: `url` (str), `agent` (str), `allowed` (boolean), `rule` (str;
        the deciding line, null if none matches), `crawl_delay` (float64, seconds, null if none is
        set), `status` (str: ``ok``, ``unavailable``, ``unreachable``; ``other_site`` or
        ``bad_url`` where the file says nothing and `allowed` is null).

    Raises
    ------
    BadURL
        If `site` is a URL that cannot be asked for over HTTP.
    BadSetting
        If `site` is none of the above.

    Examples
    --------
    >>> table = robots_table("User-agent: *\nDisallow: /a", ["/a", "/b"], "crawlkit")
    >>> table["allowed"].tolist()
    [False, True]
    """
    import pandas as pd

    authority, verdict = _site_verdict(site, http)
    rules = verdict.rules
    rows: list[tuple[str, str, bool | None, str | None, float | None, str]] = []
    asked_agents = [agents] if isinstance(agents, str) else list(agents)
    for url in [urls] if isinstance(urls, str) else urls:
        outside = _outside(url, authority)
        for agent in asked_agents:
            if outside:
                rows.append((url, agent, None, None, None, outside))
            else:
                allowed, rule = rules.allows(url, agent), rules.line_for(url, agent)
                rows.append((url, agent, allowed, rule, rules.crawl_delay(agent), verdict.status))
    types = {
        "url": "str",
        "agent": "str",
        "allowed": "boolean",
        "rule": "str",
        "crawl_delay": "float64",
        "status": "str",
    }
    return pd.DataFrame(rows, columns=list(types)).astype(types)


def _site_verdict(
    site: str | bytes | RobotsRules, http: Http | None
) -> tuple[str | None, RobotsVerdict]:
    """Return the robots.txt address that `site` stands for, if it is a URL, and its verdict."""
    if isinstance(site, RobotsRules):
        unset: dict[bool | None, Status] = {None: "ok", True: "unavailable", False: "unreachable"}
        return None, RobotsVerdict(site, unset[site._all], site.reason, b"")
    if isinstance(site, str) and re.match(r"https?://\S+$", site.strip(), re.IGNORECASE):
        from crawlkit.web.fetch import Fetcher, Http

        address = robots_url(site.strip())
        fetcher = Fetcher(http or Http())
        try:
            return address, rules_from_responses(fetcher.fetch_following(address, hops=5))
        finally:
            fetcher.close()
    if isinstance(site, str) and re.match(r"[a-z][a-z0-9+.-]*://\S*$", site.strip(), re.IGNORECASE):
        raise BadURL(site, "not_http")
    if isinstance(site, str) and re.fullmatch(r"[\w.-]+\.?[\w-]+(:\d+)?/?", site.strip()):
        raise BadSetting(
            "site", f"{site!r} has no scheme", f"Did you mean https://{site.strip()} ?"
        )
    if isinstance(site, (str, bytes)):
        return None, rules_from_stored("ok", site.encode() if isinstance(site, str) else site)
    raise BadSetting(
        "site",
        f"{site!r} is no robots.txt",
        "Pass a URL of the site, the text or bytes of a robots.txt, or parse_robots(...).",
    )


def _outside(url: str, authority: str | None) -> str | None:
    """Say why the file at `authority` does not speak of `url`; None if it does."""
    if authority is None or (url.startswith("/") and not url.startswith("//")):
        return None
    try:
        return None if robots_url(url) == authority else "other_site"
    except BadURL:
        return "bad_url"
