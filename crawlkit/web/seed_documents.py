"""Documents that seeds are read from, fetched politely: a feed, a listing page; or a reason."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from crawlkit.errors import BadSetting, BadURL
from crawlkit.web.addresses import is_private_name
from crawlkit.web.fetch import Fetcher, Http, backoff_seconds, is_retryable
from crawlkit.web.response import Response
from crawlkit.web.robots import RobotsVerdict, robots_url, rules_from_responses
from crawlkit.web.urls import safe_url, url_host

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DocumentFetcher", "checked_url", "fetcher_for", "private_allowance"]

#: Seconds that a server can ask to wait; more is told as a failure.
MAX_WAIT = 60.0


def checked_url(name: str, url: object) -> str:
    """Return the address of a URL that a caller gave; `name` is the argument's.

    Raises
    ------
    BadSetting
        It is no http(s) URL.
    """
    try:
        return safe_url(url)  # type: ignore[arg-type]
    except BadURL as error:
        remedy = "Pass a URL that starts with http:// or https://."
        if isinstance(url, str) and "://" not in url and "." in url:
            remedy = f"Did you mean https://{url.strip()} ?"
        raise BadSetting(name, str(error), remedy) from error


def private_allowance(url: str) -> Callable[[str], bool] | bool:
    """Return which private hosts may be asked: any for a private start, else the URL's own alone.

    Examples
    --------
    >>> private_allowance("http://127.0.0.1:8000/feed")
    True
    >>> private_allowance("https://example.com/feed")("10.0.0.1")
    False
    """
    name = urlsplit(url).hostname or ""
    if is_private_name(name):
        return True
    return lambda host: (urlsplit(f"//{host}").hostname or "") == name


def fetcher_for(url: str, http: Http, body_limit: int = 10_485_760) -> Fetcher:
    """Return a fetcher that sends secrets to one URL's host alone, and asks no hidden neighbor."""
    return Fetcher(
        http,
        body_limit=body_limit,
        allow_private=private_allowance(url),
        auth_hosts=[url_host(url)],
    )


class DocumentFetcher:
    """Fetches the few documents of one seed source; obeys robots.txt, follows, repeats, waits.

    Parameters
    ----------
    url
        The first address that will be asked; its host may be private and gets the secrets.
    http
        How to ask.
    obey_robots
        Whether robots.txt is asked first, on every host that redirects lead to.

    Examples
    --------
    >>> with DocumentFetcher("http://127.0.0.1:9/", Http(retries=0, timeout=1.0)) as documents:
    ...     documents.fetch("http://127.0.0.1:9/feed").error
    'robots_unreachable'
    """

    def __init__(self, url: str, http: Http | None = None, *, obey_robots: bool = True) -> None:
        self._http = Http() if http is None else http
        self._fetcher = fetcher_for(url, self._http)
        self._obey_robots = obey_robots
        self._verdicts: dict[str, RobotsVerdict] = {}
        self._draw = random.Random(0).random  # noqa: S311 - jitter, no secret

    def fetch(self, url: str) -> Response:
        """Return the answer behind all redirects; `error` says why there is none.

        Besides the codes of `REASONS`: ``"robots"`` (disallowed), ``"robots_unreachable"``.
        """
        refusal = self._forbidden(url)
        if refusal is not None:
            return Response(url, error=refusal)
        attempt = 0
        while True:
            last = self._fetcher.fetch_following(url, before_hop=self._forbidden)[-1]
            attempt += 1
            if attempt > self._http.retries or not is_retryable(last):
                return last
            pause = last.retry_after
            if pause is None:
                pause = backoff_seconds(attempt, draw=self._draw)
            if pause > MAX_WAIT:
                return last
            time.sleep(pause)

    def _forbidden(self, url: str) -> str | None:
        if not self._obey_robots:
            return None
        address = robots_url(url)
        verdict = self._verdicts.get(address)
        if verdict is None:
            verdict = rules_from_responses(self._fetcher.fetch_following(address, keep_start=True))
            self._verdicts[address] = verdict
        if verdict.rules.allows(url, self._http.user_agent_line()):
            return None
        return "robots_unreachable" if verdict.status == "unreachable" else "robots"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._fetcher.close()
