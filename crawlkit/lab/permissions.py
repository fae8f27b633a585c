"""Which paths the robots.txt of a practice site allows: the answer key, kept simple.

It reads only what the site itself writes: one group for every agent, with Allow and Disallow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlkit.lab.site import Site

__all__ = ["permissions"]


def permissions(site: Site, host: int) -> Callable[[str], bool]:
    """Return a function that tells whether a target (path and query) may be asked for.

    The longest rule wins, Allow wins a tie; a robots.txt that is missing (4xx) allows everything
    and one that fails (5xx) nothing (RFC 9309, 2.2.2 and 2.3.1).
    """
    answer = site.answer(host, "/robots.txt")
    for _ in range(5):
        if answer.location is None:
            break
        answer = site.answer(host, urlsplit(urljoin("/robots.txt", answer.location)).path)
    if answer.status >= 500:
        return lambda _: False
    if answer.status >= 300:
        return lambda _: True
    rules = []
    for line in answer.body.decode().splitlines():
        name, _, value = line.partition(": ")
        if name in {"Allow", "Disallow"} and value:
            pattern = re.escape(value).replace(r"\*", ".*")
            pattern = pattern.removesuffix(r"\$") + ("$" if value.endswith("$") else "")
            rules.append((len(value), name == "Allow", re.compile(pattern)))

    def allowed(target: str) -> bool:
        found = [(length, allow) for length, allow, rule in rules if rule.match(target)]
        return max(found)[1] if found else True

    return allowed
