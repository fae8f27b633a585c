"""The rules of one robots.txt: groups picked and merged by RFC 9309, compared by Protego."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from protego import Protego

from crawlkit.web.patterns import UNRESERVED, Wildcard, respell, split_authority
from crawlkit.web.robots_file import (
    decode,
    delay_seconds,
    kept_bytes,
    printable,
    product_token,
    read_records,
    sitemap_urls,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["RobotsRules", "parse_robots"]

_Lines = list[tuple[bool, str]]  # whether it allows, and the path as written
_Delays = list[float]

_PLAIN = UNRESERVED | frozenset(b"/=")
_PLAIN_IN_RULE = _PLAIN | frozenset(b"*")
_DECODED = UNRESERVED | frozenset(b"=")
_HIGH_OCTETS = re.compile(r"(?:%[89A-F][0-9A-F])+")


class _Rule(NamedTuple):
    """An Allow or Disallow line: its path pattern in the one spelling that is compared."""

    allow: bool
    pattern: str
    text: str


class _Group:
    """All rules that bind one agent, merged."""

    __slots__ = ("_longest_first", "delay", "protego", "rules")

    def __init__(self, lines: Iterable[tuple[bool, str]], delay: float | None) -> None:
        rules: dict[tuple[bool, str], _Rule] = {}
        for allow, value in lines:
            pattern = _rule_pattern(value)
            if pattern is not None:
                text = f"{'Allow' if allow else 'Disallow'}: {printable(value)}"
                rules.setdefault((allow, pattern), _Rule(allow, pattern, text))
        self.rules = tuple(rules.values())
        self.delay = delay
        self.protego = Protego.parse(_as_robots_txt(self.rules)) if self.rules else None
        self._longest_first: tuple[tuple[_Rule, Wildcard], ...] | None = None

    def deciding_rule(self, path: str, *, allowed: bool) -> str | None:
        """Return the longest rule that says what Protego said, or None if none matches."""
        if self._longest_first is None:
            variants = [variant for rule in self.rules for variant in _variants(rule)]
            variants.sort(key=lambda rule: len(rule.pattern), reverse=True)
            self._longest_first = tuple((rule, Wildcard(rule.pattern)) for rule in variants)
        for rule, wildcard in self._longest_first:
            if rule.allow == allowed and wildcard.matches(path):
                return rule.text
        return None


class RobotsRules:
    """The rules of one robots.txt, asked by URL and agent; see `parse_robots`.

    Attributes
    ----------
    sitemaps
        The ``Sitemap`` lines in order, each once, as written (a relative one stays relative).
    reason
        Why there is no file to go by, or None.
    """

    __slots__ = ("_all", "_bound", "_delays", "_groups", "reason", "sitemaps")

    def __init__(
        self,
        groups: Mapping[str, Sequence[_Lines]] | None = None,
        delays: Mapping[str, Sequence[_Delays]] | None = None,
        sitemaps: tuple[str, ...] = (),
        *,
        everything: bool | None = None,
        reason: str | None = None,
    ) -> None:
        self._groups = groups or {}
        self._delays = delays or {}
        self._all = everything
        self._bound: dict[str, _Group] = {}
        self.sitemaps = sitemaps
        self.reason = reason

    @classmethod
    def allow_all(cls, reason: str | None = None) -> RobotsRules:
        """Return rules that allow every URL: the file is unavailable."""
        return cls(everything=True, reason=reason)

    @classmethod
    def disallow_all(cls, reason: str | None = None) -> RobotsRules:
        """Return rules that allow /robots.txt alone: the file cannot be reached for now."""
        return cls(everything=False, reason=reason)

    @property
    def agents(self) -> tuple[str, ...]:
        """The product tokens that the file names, in lower case, with ``*`` for any."""
        return tuple(self._groups)

    def allows(self, url: str, agent: str) -> bool:
        """Whether `agent` may ask for `url`.

        The longest matching rule decides, Allow wins a tie, no match allows, and /robots.txt is
        always allowed (RFC 9309 2.2.2). The caller sees to it that the URL belongs to the
        authority whose file this is.

        Parameters
        ----------
        url
            An absolute URL, or a path with its query.
        agent
            A product token, or a whole User-Agent line that begins with one.
        """
        group = self._bound.get(agent) or self._bind(agent)
        if group.protego is None and self._all is not False:
            return True
        path = _compared_path(url)
        if path == "/robots.txt":
            return True
        return group.protego is not None and _ask(group.protego, path)

    def line_for(self, url: str, agent: str) -> str | None:
        """Return the rule that decides, for example ``"Disallow: /private/"``.

        None means that no rule matches, that the URL is /robots.txt itself, or that there is no
        file to go by (see `reason`).
        """
        group = self._bound.get(agent) or self._bind(agent)
        path = _compared_path(url)
        if group.protego is None or path == "/robots.txt":
            return None
        return group.deciding_rule(_respelled_path(path), allowed=_ask(group.protego, path))

    def crawl_delay(self, agent: str) -> float | None:
        """Return the Crawl-delay for `agent` in seconds, or None; the caller caps it.

        What is not a finite number of 0 or more is ignored; of several the largest counts.
        """
        return (self._bound.get(agent) or self._bind(agent)).delay

    def _bind(self, agent: str) -> _Group:
        """Pick the agent's groups once: those of its token, else those for ``*``."""
        name = product_token(agent).lower()
        name = name if name in self._groups else "*"
        lines = dict.fromkeys(chain.from_iterable(self._groups.get(name, ())))
        delays = chain.from_iterable(self._delays.get(name, ()))
        group = _Group(lines, max(delays, default=None))
        self._bound[agent] = group
        return group

    def __repr__(self) -> str:
        if self._all is not None:
            return f"RobotsRules.{'allow' if self._all else 'disallow'}_all({self.reason!r})"
        shown = ", ".join(self.agents[:5]) + (", ..." if len(self.agents) > 5 else "")
        return f"<RobotsRules for {shown or 'nobody'}; {len(self.sitemaps)} sitemaps>"


def parse_robots(content: bytes | str) -> RobotsRules:
    r"""Read a robots.txt; whatever it holds, this returns rules.

    Every line that reads as a rule counts, also in an HTML page. UTF-8 and UTF-16 byte order
    marks, NUL bytes, line ends of any kind, and octets that are no UTF-8 are taken as they come;
    beyond 500 KiB nothing is read.

    Parameters
    ----------
    content
        The file's bytes, or its text.

    Returns
    -------
    RobotsRules
        With ``.allows(url, agent)``, ``.line_for(url, agent)``, ``.crawl_delay(agent)``,
        ``.sitemaps`` and ``.agents``.

    Examples
    --------
    >>> rules = parse_robots("User-agent: *\nDisallow: /private/\nAllow: /private/open\n")
    >>> rules.allows("https://example.com/private/a", "crawlkit")
    False
    >>> rules.line_for("https://example.com/private/open", "crawlkit")
    'Allow: /private/open'
    """
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    groups: dict[str, list[_Lines]] = {}
    delays: dict[str, list[_Delays]] = {}
    sitemaps: dict[str, None] = {}
    # A group's lines are kept once, however many agents it names, so that a file of many agents
    # and many rules takes no more room than it has bytes.
    lines: _Lines = []
    agent_delays: _Delays = []
    ruled = naming = False
    for record, value in read_records(decode(kept_bytes(content))):
        if record == "user-agent":
            # An Allow or Disallow closes the list of agents. A Crawl-delay does not (RFC 9309
            # 2.2.4), but speaks of the agents right above it alone.
            if ruled:
                lines, ruled = [], False
            if not naming:
                agent_delays, naming = [], True
            groups.setdefault(value, []).append(lines)
            delays.setdefault(value, []).append(agent_delays)
        elif record == "sitemap":
            sitemaps.update(dict.fromkeys(sitemap_urls(value)))
        elif record == "crawl-delay":
            naming = False
            delay = delay_seconds(value)
            agent_delays.extend(() if delay is None else (delay,))
        else:
            naming, ruled = False, True
            lines.extend(((record == "allow", value),) if value else ())
    for unnamed in (groups, delays):
        unnamed.pop("", None)
    return RobotsRules(groups, delays, tuple(sitemaps))


def _rule_pattern(value: str) -> str | None:
    """Spell a rule's path the way Protego compares it; None if it can match no path."""
    if not value.startswith(("/", "*")):
        return None  # RFC 9309 2.2.2: a path begins with a slash
    anchor = "$" if value.endswith("$") else ""
    spelled = respell(value.removesuffix("$"), literal=_PLAIN_IN_RULE, decoded=_DECODED)
    return _utf8_only(spelled) + anchor


def _variants(rule: _Rule) -> Iterator[_Rule]:
    """Yield a rule and the readings that Protego adds to it."""
    yield rule
    if rule.pattern.endswith("$"):
        yield rule._replace(pattern=rule.pattern[:-1] + "%24")
    elif rule.allow and rule.pattern.endswith("/index.html"):
        yield rule._replace(pattern=rule.pattern.removesuffix("index.html") + "$")


def _as_robots_txt(rules: Iterable[_Rule]) -> str:
    body = (f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern}\n" for rule in rules)
    return "User-agent: *\n" + "".join(body)


def _compared_path(url: str) -> str:
    """Return path and query of a URL, respelled where Protego would misread them."""
    path = split_authority(url)[1]
    if "%" in path or not path.isascii() or path.startswith(("/robots.txt?", "//")):
        return _respelled_path(path)
    return path


def _respelled_path(path: str) -> str:
    return _utf8_only(respell(path, literal=_PLAIN, decoded=_DECODED))


def _utf8_only(spelled: str) -> str:
    """Escape the escapes that are no UTF-8, which Protego cannot tell apart."""
    return _HIGH_OCTETS.sub(_hide_bad_octets, spelled) if "%" in spelled else spelled


def _hide_bad_octets(match: re.Match[str]) -> str:
    text = unquote_to_bytes(match[0]).decode("utf-8", "surrogateescape")
    return "".join(
        f"%25{ord(char) - 0xDC00:02X}" if "\udc80" <= char <= "\udcff" else quote(char)
        for char in text
    )


def _ask(protego: Protego, path: str) -> bool:
    """Ask Protego, and see to it that it takes ``//`` for a path and not for an authority."""
    return bool(protego.can_fetch("http://host" + path if path[:2] == "//" else path, "crawlkit"))
