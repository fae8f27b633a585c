"""Where a site's sitemaps are: what robots.txt names, else the usual places."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

from crawlkit.errors import BadSetting, BadURL
from crawlkit.web.fetch import Fetcher, Http
from crawlkit.web.robots import (
    ROBOTS_BYTES,
    RobotsVerdict,
    product_token,
    robots_url,
    rules_from_responses,
)
from crawlkit.web.sitemap_files import FileFetcher, private_rule
from crawlkit.web.sitemap_reading import read_content
from crawlkit.web.url_addresses import Refusal, resolve_address
from crawlkit.web.urls import safe_url, url_host

if TYPE_CHECKING:
    import pandas as pd

    from crawlkit.web.sitemap_files import FileBytes

__all__ = ["USUAL_PLACES", "FoundSitemap", "find_sitemaps", "look_for_sitemaps", "site_address"]

#: Where sitemaps lie that robots.txt does not name, the most usual first.
USUAL_PLACES = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/wp-sitemap.xml",
    "/sitemap.xml.gz",
    "/sitemapindex.xml",
    "/sitemap/sitemap.xml",
    "/sitemap.txt",
)

_PLACE_BYTES = 262_144
#: After these, the other places of the same site need not be tried.
_IN_VAIN = ("dns_", "connect_", "tls_", "private_", "interrupted", "timeout")


@dataclass(frozen=True, slots=True)
class FoundSitemap:
    """One address that was named or tried.

    Attributes
    ----------
    sitemap
        Its URL; None where what robots.txt says is none.
    source
        ``"robots"`` or ``"usual_place"``.
    text
        As robots.txt has it, or the path tried.
    accepted
        Whether `find_sitemaps` lists it.
    status
        The HTTP status of a place that was tried.
    reason
        Why it is not accepted.
    issues
        What is odd about a value of robots.txt: ``relative``, ``other_host``, ``duplicate``.
    """

    sitemap: str | None
    source: str
    text: str
    accepted: bool
    status: int | None = None
    reason: str | None = None
    issues: tuple[str, ...] = ()


@overload
def find_sitemaps(
    site: str, *, http: Http | None = ..., delay: float = ..., explain: Literal[False] = ...
) -> list[str]: ...
@overload
def find_sitemaps(
    site: str, *, http: Http | None = ..., delay: float = ..., explain: Literal[True]
) -> pd.DataFrame: ...
def find_sitemaps(
    site: str, *, http: Http | None = None, delay: float = 0.1, explain: bool = False
) -> list[str] | pd.DataFrame:
    """Find the sitemaps of a site: those that robots.txt names, else those at the usual places.

    Every ``Sitemap`` line of robots.txt counts, in whatever case, wherever it stands; a relative
    value is resolved. Where there is none, the usual places are tried that robots.txt allows, and
    what is there must be a sitemap: pages that say "not found" with status 200 are refused.

    Parameters
    ----------
    site
        Any URL of the site.
    http
        How to ask (`crawlkit.Http`).
    delay
        Seconds from start to start between requests.
    explain
        Return a table of all that was named and tried, instead of the list.

    Returns
    -------
    list of str, or pandas.DataFrame
        The URLs, each once; perhaps none. With `explain` one row per value or place: `sitemap`
        (str; null if it is no URL), `source` (str: ``robots``, ``usual_place``), `text` (str; as
        robots.txt has it), `accepted` (bool), `status` (Int64; of a place tried), `reason` (str;
        why it is not accepted), `issues` (str: ``relative``, ``other_host``, ``duplicate``).

    Raises
    ------
    BadSetting
        If `site` is no http(s) URL.

    References
    ----------
    RFC 9309 2.2.4; https://www.sitemaps.org/protocol.html#informing

    Examples
    --------
    >>> import crawlkit as ck
    >>> with ck.lab.serve([ck.lab.Shop(listings=1, per_page=2)]) as site:
    ...     ck.find_sitemaps(site.url)
    []
    """
    address = site_address(site, "site")
    stop = threading.Event()
    with Fetcher(http or Http(), allow_private=private_rule([url_host(address)])) as fetcher:
        files = FileFetcher(fetcher, delay=delay, seconds=30.0, stop=stop)
        found = look_for_sitemaps(address, files, fetcher.http.user_agent)
    return _frame(found) if explain else [str(one.sitemap) for one in found if one.accepted]


def site_address(site: object, name: str) -> str:
    """Return the address that a caller means.

    Raises
    ------
    BadSetting
        If it is no http(s) URL.
    """
    try:
        return safe_url(site)  # type: ignore[arg-type]
    except BadURL as bad:
        remedy = "Pass a URL such as https://example.com/."
        if isinstance(site, str) and "://" not in site and "." in site:
            remedy = f"Did you mean https://{site.strip()} ?"
        raise BadSetting(name, f"{site!r} is no http(s) URL ({bad.reason})", remedy) from None


def look_for_sitemaps(address: str, files: FileFetcher, user_agent: str) -> list[FoundSitemap]:
    """Return all that robots.txt names, or all usual places, with what came of each."""
    robots = robots_url(address)
    answer = files.fetch(robots, limit=ROBOTS_BYTES * 2)
    verdict = rules_from_responses([_as_answer(robots, answer)])
    named = _named(verdict, answer.final_url)
    if any(one.accepted for one in named):
        return named
    if verdict.status == "unreachable":
        return [
            *named,
            FoundSitemap(None, "robots", "", accepted=False, reason="robots_unreachable"),
        ]
    return named + _tried(robots, verdict, files, product_token(user_agent))


class _Answer(NamedTuple):
    """A fetched file, as the reader of robots.txt wants it."""

    url: str
    status: int | None
    body: bytes
    error: str | None


def _as_answer(url: str, found: FileBytes) -> _Answer:
    error = found.reason
    if error is not None and error.startswith("http_"):
        error = None
    elif error == "file_too_large":
        error = "body_too_large"
    return _Answer(url, found.status, found.body, error)


def _named(verdict: RobotsVerdict, robots: str) -> list[FoundSitemap]:
    """Return what the lines of robots.txt come down to."""
    found: list[FoundSitemap] = []
    seen: set[str] = set()
    for text in verdict.rules.sitemaps:
        address = resolve_address(text, robots)
        if isinstance(address, Refusal):
            found.append(FoundSitemap(None, "robots", text, accepted=False, reason=address.reason))
            continue
        relative = "://" not in text
        issues = ["relative"] if relative else []
        if url_host(address) != url_host(robots):
            issues.append("other_host")
        reason = None
        if address == robots:
            reason = "lists_itself"
        elif address in seen:
            reason = "duplicate"
        seen.add(address)
        found.append(
            FoundSitemap(
                address, "robots", text, reason is None, reason=reason, issues=tuple(issues)
            )
        )
    return found


def _tried(
    robots: str, verdict: RobotsVerdict, files: FileFetcher, agent: str
) -> list[FoundSitemap]:
    """Look at the usual places, as far as robots.txt allows."""
    found: list[FoundSitemap] = []
    seen: set[str] = set()
    for path in USUAL_PLACES:
        url = robots.removesuffix("/robots.txt") + path
        if not verdict.rules.allows(url, agent):
            found.append(FoundSitemap(url, "usual_place", path, accepted=False, reason="robots"))
            continue
        one = _try(url, path, files)
        if one.accepted and one.sitemap in seen:
            one = replace(one, accepted=False, reason="duplicate")
        seen.add(str(one.sitemap))
        found.append(one)
        if one.reason is not None and one.reason.startswith(_IN_VAIN):
            break
    return found


def _try(url: str, path: str, files: FileFetcher) -> FoundSitemap:
    answer = files.fetch(url, limit=_PLACE_BYTES)
    if answer.reason == "file_too_large" and not answer.body:  # compressed on the way: no start
        answer = files.fetch(url)
    reason = answer.reason
    if answer.body:
        content = read_content(answer.body, seconds=10.0)
        usable = content.kind not in (None, "not_a_sitemap", "rss", "atom")
        # The file may go on beyond what was read; that much of it must be sound.
        reason = None if usable else content.reason or "not_a_sitemap"
        if usable and content.reason not in (None, "truncated") and not content.entries:
            reason = content.reason
    elif reason is None:
        reason = "empty_file"
    return FoundSitemap(
        answer.final_url, "usual_place", path, reason is None, status=answer.status, reason=reason
    )


def _frame(found: list[FoundSitemap]) -> pd.DataFrame:
    import pandas as pd

    types = {
        "sitemap": "str",
        "source": "str",
        "text": "str",
        "accepted": "bool",
        "status": "Int64",
        "reason": "str",
        "issues": "str",
    }
    rows = [
        (
            one.sitemap,
            one.source,
            one.text or None,
            one.accepted,
            one.status,
            one.reason,
            " ".join(one.issues) or None,
        )
        for one in found
    ]
    return pd.DataFrame(rows, columns=list(types)).astype(types)
