"""Exclude patterns for a trap: candidates from its region, tried on the URLs that are known.

A candidate is a robots-style wildcard where one can tell the trap's URLs from the others, else a
compiled regex (numbers above a limit, one of several parameters, a language code). The one that
covers most of the trap and least of everything else is taken; the simpler one of two equals.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlkit.audit.trap_names import PAGE_NAMES
from crawlkit.audit.url_regions import split_url
from crawlkit.web.patterns import compile_patterns, split_authority

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlkit.audit.suspects import Finding
    from crawlkit.audit.url_regions import Region

__all__ = ["above_pattern", "choose_pattern"]

TRIED_ON, LETTERS = 1_500, 150_000
"""URLs, and characters of URLs, on which candidates are tried."""
LONGEST = 200
"""Characters of a path that may stand in a pattern as a whole."""
_BRACES = re.compile(r"\{slug\}|\{[a-z]+\}")
_LANGUAGE = r"[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?"


def above_pattern(number: int) -> str:
    """Return a regex for the whole numbers above a number, without leading zeros.

    Examples
    --------
    >>> above = re.compile(above_pattern(149))
    >>> [above.fullmatch(str(n)) is not None for n in (9, 149, 150, 200, 1000)]
    [False, False, True, True, True]
    """
    digits = str(number)
    parts = [rf"[1-9]\d{{{len(digits)},}}"]
    for at, digit in enumerate(digits):
        if digit != "9":
            rest = len(digits) - at - 1
            after = rf"\d{{{rest}}}" if rest else ""
            parts.append(f"{digits[:at]}[{int(digit) + 1}-9]{after}")
    return f"(?:{'|'.join(parts)})"


def choose_pattern(
    urls: Sequence[str], finding: Finding, region: Region
) -> tuple[str | re.Pattern[str], float, float]:
    """Return the best pattern, the share of the trap it covers and of the others it takes too.

    Parameters
    ----------
    urls
        All known URLs.
    finding
        What was found; its members are the trap.
    region
        Where.
    """
    trap = set(finding.members)
    inside = _sample([urls[number] for number in finding.members])
    near: list[str] = []
    far: list[str] = []
    start = region.path.split("{", 1)[0] if region.path else "/"
    for number, url in enumerate(urls):
        if number not in trap:
            (near if start in url else far).append(url)
    # What lies beside the trap is what a pattern could take by mistake: look at more of it.
    outside = _sample(near) + _sample(far)
    best: tuple[float, str | re.Pattern[str], float, float] | None = None
    for candidate in _candidates(finding, region, inside):
        pattern = compile_patterns(candidate)
        covered = sum(pattern.matches(url) is not None for url in inside) / max(1, len(inside))
        lost = sum(pattern.matches(url) is not None for url in outside) / max(1, len(outside))
        # A handful of others proves little: ten that are spared are added to them.
        # One that takes nothing of the trap spares everything else, and is no use.
        score = round(covered - 3 * lost * len(outside) / (len(outside) + 10), 3)
        score = score if covered else -10.0
        if best is None or score > best[0] + 0.004:
            best = (score, candidate, covered, lost)
    assert best is not None  # noqa: S101 - there is always a candidate
    return best[1:]


def _common_start(texts: Sequence[str]) -> str:
    """Return the longest text with which all of them begin."""
    if not texts:
        return ""
    first, last = min(texts), max(texts)
    length = next(
        (n for n, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), None
    )
    return first if length is None else first[:length]


def _sample(urls: list[str]) -> list[str]:
    letters = sum(map(len, urls))
    return urls[:: max(1, len(urls) // TRIED_ON, letters // LETTERS)]


def _candidates(
    finding: Finding, region: Region, inside: Sequence[str]
) -> Iterator[str | re.Pattern[str]]:
    """Give patterns, the simplest first."""
    targets = [split_authority(url)[1] for url in inside]
    paths = {target.partition("?")[0] for target in targets}
    single = paths.pop() if len(paths) == 1 else None
    if single is not None and len(single) > LONGEST:
        single = None
    if finding.above is not None:
        yield from _numbered(region, finding.above, single)
    if region.kind == "parameter" and single is not None:
        yield f"{single}?{region.names[0]}="
        yield f"{single}?*&{region.names[0]}="
    if finding.names and region.kind == "query":
        yield from _with_names(set(finding.names), single)
        for name in finding.names:
            yield from _query_regexes(f"{re.escape(name)}=", single)
    yield from _by_kind(region)
    common = _common_start(targets)
    for prefix in (re.sub(r"\d+\Z", "", common), re.sub(r"(?<=\d\d)\d+\Z", "", common)):
        if 1 < len(prefix) <= LONGEST:
            yield prefix
    yield from _by_shape(region, inside, single)
    path = _wildcard(region.path) if region.path else "/"
    for depth in range(1, 4):
        yield path.rstrip("/") + "/*" * depth + "/"
    authority = split_authority(inside[0])[0] if inside else ""
    if authority:
        for pattern in list(_by_kind(region)):
            if isinstance(pattern, str):
                yield authority + pattern


def _by_shape(
    region: Region, inside: Sequence[str], single: str | None
) -> Iterator[str | re.Pattern[str]]:
    """Give patterns of the shape of the path, and of all parameters."""
    if region.kind == "template" and "{" in region.path and not region.names:
        yield _shape_pattern(region.path)
    if region.kind in {"query", "folder", "template"}:
        names = {name for url in inside for name, _ in split_url(url).query}
        yield from _with_names(names, single)


def _by_kind(region: Region) -> Iterator[str | re.Pattern[str]]:
    """Give the patterns that say what a region says."""
    path = _wildcard(region.path)
    if region.kind == "parameter":
        name = region.names[0]
        yield f"/*?{name}="
        yield f"/*?*{name}="
        yield re.compile(rf"[?&;]{re.escape(name)}=")
        yield re.compile(rf"[?&;]{re.escape(name)}=[0-9A-Za-z-]{{12,}}(?:[&;#]|$)")
    elif region.kind == "action":
        yield f"{path}?{region.action}"
        yield f"{path}?*{region.action}"
        yield re.compile(rf"[?&;]{re.escape(region.action)}(?:[&;#]|$)")
    elif region.kind == "matrix":
        yield f"/*;{region.names[0]}="
    elif region.kind == "language":
        before = region.path.partition("{language}")[0]
        yield re.compile(
            rf"^https?://[^/]+{'[^/]+'.join(map(re.escape, _BRACES.split(before)))}{_LANGUAGE}/"
        )
    elif region.kind == "leaf":
        yield f"/*/{path}" if path.endswith("/") else f"/*/{path}$"
    elif region.kind == "query":
        yield f"{path}?"
    elif region.kind == "folder":
        yield path
    elif region.names:
        yield f"{path}?{region.names[0]}="
        yield f"{path}?*"
    elif "{" in region.path:
        yield f"{path}$" if not path.endswith("*") else path
        yield path
    else:
        yield f"{path}$"


def _with_names(names: set[str], path: str | None) -> Iterator[re.Pattern[str]]:
    """Give regexes for any of several parameters, on any path and on one."""
    paging = {name for name in names if name.lower() in PAGE_NAMES}
    for chosen in (names - paging, names):
        if 0 < len(chosen) <= 20:
            either = "|".join(map(re.escape, sorted(chosen)))
            yield from _query_regexes(f"(?:{either})=" if len(chosen) > 1 else f"{either}=", path)


def _query_regexes(parameter: str, path: str | None) -> Iterator[re.Pattern[str]]:
    """Give regexes for a parameter, on any path and on one."""
    yield re.compile(rf"[?&;]{parameter}")
    if path is not None:
        yield re.compile(rf"^https?://[^/]+{re.escape(path)}\?(?:[^#]*[&;])?{parameter}")


def _numbered(region: Region, above: int, path: str | None) -> Iterator[re.Pattern[str]]:
    """Give regexes for page numbers above a limit, in a parameter or in the path."""
    number = above_pattern(above)
    for name in region.names:
        yield from _query_regexes(f"{re.escape(name)}={number}(?:[&;]|$)", path)
    if "{number}" in region.path:
        before, _, after = region.path.rpartition("{number}")
        pieces = [re.escape(piece) for piece in _BRACES.split(before)]
        tail = "[^/]+".join(re.escape(piece) for piece in _BRACES.split(after))
        yield re.compile(rf"^https?://[^/]+{'[^/]+'.join(pieces)}{number}{tail}(?:$|[?#])")


_CLASSES = {
    "{number}": r"\d+",
    "{date}": r"\d{4,}[-_.]?\d\d(?:[-_.]?\d\d)?",
    "{token}": r"[0-9A-Za-z-]{8,}",
    "{slug}": r"[^/?]*[-_+.%][^/?]*[-_+.%][^/?]*",
}


def _shape_pattern(path: str) -> re.Pattern[str]:
    """Return a regex for a shape of path."""
    pieces = re.split(r"(\{[a-z]+\})", path)
    inner = "".join(_CLASSES.get(piece, re.escape(piece)) for piece in pieces)
    return re.compile(rf"^https?://[^/]+{inner}(?:$|[?#])")


def _wildcard(path: str) -> str:
    """Return a shape as a wildcard."""
    text = _BRACES.sub(lambda found: "*-*-*" if found[0] == "{slug}" else "*", path)
    return re.sub(r"\*{2,}", "*", text)
