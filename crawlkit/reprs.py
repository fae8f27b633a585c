"""What a notebook shows of results: small escaped tables, one-line texts, a sketch of a curve.

Nothing that came from the web reaches a notebook or a terminal other than through `escape` or
`plain_text`. The HTML brings no style sheet, no script and no picture of its own, and takes its
colors from the page around it, so that it reads in a light and in a dark theme.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

__all__ = [
    "crawl_html",
    "curves_svg",
    "escape",
    "facts_html",
    "format_bytes",
    "format_number",
    "format_seconds",
    "frame_html",
    "is_null",
    "link_html",
    "plain_text",
    "progress_text",
]

# Control characters (C0, DEL, C1), line and paragraph separators, marks that turn the direction
# of writing, and lone surrogates: all that can end a line, drive a terminal, let a text look like
# another one, or cannot be encoded.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# The classes keep MathJax from reading a pair of "$" in a title as a formula.
_OPEN = '<div class="mathjax_ignore tex2jax_ignore">'
_CELL = "text-align: left; vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere"
_LONGEST = 300


def plain_text(value: object, *, longest: int | None = _LONGEST) -> str:
    r"""Return any value as one line of text that no terminal obeys.

    Parameters
    ----------
    value
        Anything; None gives "".
    longest
        Characters kept; what is left out shows as an ellipsis. None keeps all.

    Examples
    --------
    >>> plain_text("two" + chr(10) + "lines" + chr(27) + "[2J")
    'two\\nlines\\x1b[2J'
    """
    if value is None:
        return ""
    text = str(value)
    if longest is not None and len(text) > longest:
        text = text[: max(0, longest - 1)] + "…"
    return _UNSAFE.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def escape(value: object, *, longest: int | None = _LONGEST) -> str:
    """Return any value as HTML that shows it and does nothing.

    Parameters
    ----------
    value
        Anything; None gives "".
    longest
        Characters kept, counted before escaping.

    Examples
    --------
    >>> escape("<img src=x onerror='alert(1)'>")
    '&lt;img src=x onerror=&#x27;alert(1)&#x27;&gt;'
    """
    from html import escape as escape_markup  # with every named character of HTML: on first use

    return escape_markup(plain_text(value, longest=longest), quote=True)


def link_html(url: object) -> str:
    """Return a link to an http(s) URL; anything else is shown and leads nowhere.

    Examples
    --------
    >>> link_html("javascript:alert(1)")
    'javascript:alert(1)'
    """
    if not isinstance(url, str) or not re.match(r"https?://", url, re.I) or _UNSAFE.search(url):
        return escape(url)
    target = escape(url, longest=None)
    return f'<a href="{target}" target="_blank" rel="noopener noreferrer">{escape(url)}</a>'


# -- numbers -------------------------------------------------------------------------------


def is_null(value: object) -> bool:
    """Return whether a value is missing: None, NaN, or the null of a table."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def format_number(value: object) -> str:
    """Return a count with thousands separated; "-" for null.

    Examples
    --------
    >>> format_number(1234567), format_number(None)
    ('1,234,567', '-')
    """
    if is_null(value):
        return "-"
    return f"{value:,}" if isinstance(value, (int, float)) else plain_text(value)


def format_bytes(count: float | None) -> str:
    """Return a number of bytes in a unit that suits it.

    Examples
    --------
    >>> format_bytes(999), format_bytes(1_234_567)
    ('999 bytes', '1.2 MB')
    """
    if count is None:
        return "-"
    if abs(count) < 1_000:
        return f"{count:.0f} bytes"
    size = float(count)
    for unit in ("kB", "MB", "GB"):
        size /= 1_000
        if abs(size) < 999.95:
            return f"{size:.1f} {unit}"
    return f"{size / 1_000:,.1f} TB"


def format_seconds(seconds: float | None) -> str:
    """Return a duration in words.

    Examples
    --------
    >>> format_seconds(4.2), format_seconds(200), format_seconds(8_100)
    ('4.2 s', '3 min 20 s', '2 h 15 min')
    """
    if seconds is None:
        return "-"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


# -- tables --------------------------------------------------------------------------------


def facts_html(
    title: str, facts: Iterable[tuple[str, object]], notes: Iterable[object] = ()
) -> str:
    """Return a small table of named facts, with notes below; every text is escaped.

    Parameters
    ----------
    title
        Heading of the table.
    facts
        Pairs of name and value; a pair whose value is None or "" is left out.
    notes
        Sentences below the table.

    Examples
    --------
    >>> facts_html("Crawl", [("pages", 3)]).count("<tr>")
    1
    """
    rows = "".join(
        f'<tr><th scope="row" style="{_CELL}">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(value)}</td></tr>'
        for name, value in facts
        if value is not None and value != ""
    )
    below = "".join(f"<p>{escape(note, longest=None)}</p>" for note in notes)
    return (
        f'{_OPEN}<table><caption style="caption-side: top; text-align: left; color: inherit">'
        f"<b>{escape(title)}</b></caption><tbody>{rows}</tbody></table>{below}</div>"
    )


def frame_html(frame: pd.DataFrame, *, rows: int = 10, title: str | None = None) -> str:
    """Return the first rows of a table as HTML; cells, index and column labels are escaped.

    Parameters
    ----------
    frame
        Any table.
    rows
        Rows shown; how many there are stands below.
    title
        Heading.

    Examples
    --------
    >>> import pandas as pd
    >>> "<img" in frame_html(pd.DataFrame({"<img>": ["<img>"]}))
    False
    """
    labels = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in ("", *frame.columns))
    shown = frame.head(rows)
    body = "".join(
        "<tr>"
        + f'<th style="{_CELL}">{escape(index)}</th>'
        + "".join(f'<td style="{_CELL}">{_cell(value)}</td>' for value in values)
        + "</tr>"
        for index, *values in shown.itertuples(name=None)
    )
    heading = f"<p><b>{escape(title)}</b></p>" if title else ""
    size = f"{format_number(len(frame))} rows"
    if len(shown) < len(frame):
        size = f"{format_number(len(shown))} of {size}"
    return (
        f"{_OPEN}{heading}<table><thead><tr>{labels}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{size}</p></div>"
    )


def _cell(value: Any) -> str:
    """Show one cell; a missing value is a dash, numbers are short."""
    if is_null(value):
        return "-"
    return escape(f"{value:.4g}" if isinstance(value, float) else value)


def _counts(counts: Mapping[str, Any] | None, *, most: int = 6) -> str:
    """Return counts by name as one text, the largest first; null where there are none."""
    given = {str(name): int(count) for name, count in (counts or {}).items() if count}
    if not given:
        return ""
    ordered = sorted(given.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{format_number(count)} {name}" for name, count in ordered[:most]]
    rest = sum(count for _, count in ordered[most:])
    if rest:
        parts.append(f"{format_number(rest)} for other reasons")
    return ", ".join(parts)


def crawl_html(summary: Mapping[str, Any]) -> str:
    """Return a crawl's summary as a small table.

    Parameters
    ----------
    summary
        What ``crawl.summary()`` returns; what is missing in it is left out.

    Examples
    --------
    >>> "max_pages" in crawl_html({"folder": "shop", "stop_reason": "max_pages", "pages": 30})
    True
    """
    get = summary.get
    states: Mapping[str, int] = get("urls") or {}
    requests = format_number(get("requests"))
    if get("retries"):
        requests += f", {format_number(get('retries'))} of them asked again later"
    known = f"{format_number(sum(states.values()))}: {_counts(states)}" if states else ""
    facts = [
        ("ended", get("stop_reason") or "not yet, or by a kill"),
        ("pages asked for", _number(get("pages"))),
        ("URLs known", known),
        ("failed", _counts(get("failed"))),
        ("excluded", _counts(get("excluded"))),
        ("beyond a limit", _counts(get("beyond"))),
        ("records", _number(get("records")) if get("records") else ""),
        ("hosts asked", _number(get("hosts"))),
        ("requests", requests if get("requests") is not None else ""),
        ("bytes on the wire", format_bytes(get("bytes")) if get("bytes") is not None else ""),
        ("time", format_seconds(get("seconds")) if get("seconds") is not None else ""),
        ("order", get("order")),
    ]
    return facts_html(f"Crawl {plain_text(get('folder'))}", facts, get("hints") or ())


def _number(value: object) -> str:
    return "" if value is None else format_number(value)


# -- a running crawl -----------------------------------------------------------------------


def progress_text(numbers: Mapping[str, Any], state: str = "") -> str:
    """Return how a running crawl stands as one line of text.

    Parameters
    ----------
    numbers
        The live numbers of a crawl, as a progress function is given them.
    state
        A word that goes first.

    Examples
    --------
    >>> progress_text({"pages": 12, "pending": 40, "known_urls": 53, "requests": 13}, "running")
    'running: 12 pages, 40 pending, 53 URLs known, 13 requests'
    """
    names = (
        ("pages", "pages"),
        ("pending", "pending"),
        ("known_urls", "URLs known"),
        ("requests", "requests"),
    )
    counts = [f"{format_number(numbers[name])} {words}" for name, words in names if name in numbers]
    return ": ".join(part for part in (plain_text(state), ", ".join(counts)) if part)


def curves_svg(
    curves: Mapping[str, Sequence[tuple[float, float]]], *, width: int = 420, height: int = 90
) -> str:
    """Return a sketch of some curves on common axes from zero, as SVG made of numbers alone.

    A widget in a worker thread can show it: it needs no drawing library. For a figure with axes
    there is ``ck.plot_frontier``.

    Parameters
    ----------
    curves
        Points by name; curves are told apart by their dashes and, in the caption, by name.
    width, height
        Size in pixels.

    Examples
    --------
    >>> curves_svg({"pending": [(0, 1), (10, 5)]}).count("<polyline")
    1
    """
    points = [point for curve in curves.values() for point in curve]
    right = max((x for x, _ in points), default=0) or 1
    top = max((y for _, y in points), default=0) or 1
    dashes = ("none", "6 3", "2 3", "8 3 2 3")
    lines = []
    for number, curve in enumerate(curves.values()):
        path = " ".join(
            f"{x / right * (width - 4) + 2:.1f},{height - 2 - y / top * (height - 4):.1f}"
            for x, y in curve
        )
        dash = dashes[number % len(dashes)]
        lines.append(
            f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="1.5" '
            f'stroke-dasharray="{dash}"/>'
        )
    label = escape(", ".join(curves))
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{label}" style="border: 1px solid currentColor; opacity: 0.8">'
        f"{''.join(lines)}</svg>"
    )
