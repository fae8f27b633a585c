"""Sitemaps of a site: found, read into one table, and split by what changed.

Everything about sitemaps can be imported from here. How bytes become entries is told in
``sitemap_reading.py``, how entries become a table in ``sitemap_tables.py``, and how the files are
walked in ``sitemap_walk.py``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlkit.errors import BadSetting
from crawlkit.web.changed_entries import LastmodWarning, changed_since
from crawlkit.web.fetch import Fetcher, Http
from crawlkit.web.sitemap_content import ENTRY_ISSUES, FILE_ISSUES, FILE_REASONS
from crawlkit.web.sitemap_discovery import find_sitemaps, look_for_sitemaps, site_address
from crawlkit.web.sitemap_files import FileFetcher, private_rule
from crawlkit.web.sitemap_tables import entries_frame, file_row
from crawlkit.web.sitemap_walk import Job, Walk, WalkLimits
from crawlkit.web.urls import url_host

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ENTRY_ISSUES",
    "FILE_ISSUES",
    "FILE_REASONS",
    "LastmodWarning",
    "changed_since",
    "find_sitemaps",
    "read_sitemaps",
]

_HOST = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?(/\S*)?")
_FILE_NAMES = re.compile(r".*\.(?:xml|txt|rss|atom|rdf|gz)", re.I)
_REMEDY = "Pass a URL, a Path of a file or folder, bytes, or a list of them."


class _Files(tuple[Any, ...]):
    """The records of files; pandas copies attrs with every table, and these never change."""

    __slots__ = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> _Files:
        return self


def read_sitemaps(
    source: Any,
    *,
    max_files: int = 1_000,
    max_depth: int = 5,
    workers: int = 4,
    delay: float = 0.1,
    seconds_per_file: float = 60.0,
    http: Http | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    r"""Read sitemaps, and all that they list, into one table.

    XML sitemaps and indexes, texts of URLs, RSS and Atom are read, compressed or not, whatever
    their names and types say. Every deviation from the protocol has a code and keeps its row. A
    broken file is repaired once, and its rows carry ``recovered``. Whatever keeps a file out of
    the table, in whole or in part, is a row of its own in which `loc` is null.

    Parameters
    ----------
    source
        The URL of a site (its sitemaps are found as by `find_sitemaps`) or of a sitemap; a file
        or folder of the disk, as a path; the bytes of a file; or a list of these.
    max_files
        The most files to ask for. The newest are read first, by what the index says.
    max_depth
        How many indexes deep to go.
    workers
        How many files are asked for at a time.
    delay
        Seconds from start to start between two requests to one host.
    seconds_per_file
        The most time for one file, its redirects and retries included.
    http
        How to ask (`crawlkit.Http`); its timeout gives way to `seconds_per_file`.
    progress
        Whether to show a bar over the files.

    Returns
    -------
    pandas.DataFrame
        One row per entry: `loc` (str; absolute, null where the row tells of a file), `lastmod`
        (datetime64[us, UTC]; the start of the interval that the text names, as if in UTC where it
        gives no zone), `lastmod_text` (str; as written), `lastmod_granularity` (str: ``year``,
        ``month``, ``day``, ``minute``, ``second``), `sitemap` (str; the file), `sitemap_lastmod`
        (datetime64[us, UTC]; of the file, from its index), `kind` (str: ``urlset``, ``news``,
        ``image``, ``video``, ``text``, ``rss``, ``atom``; of a file's own row the kind of file),
        `publication_date` (datetime64[us, UTC]), `alternates` (object: lists of ``lang`` and
        ``url``), `scope` (str: ``ok``, ``other_dir``, ``other_scheme``, ``other_host``,
        ``cross_submitted``; null where the file is of no site), `issues` (str: codes of
        ``crawlkit.web.sitemaps.ENTRY_ISSUES``, or of ``FILE_REASONS`` and ``FILE_ISSUES`` where
        `loc` is null, with spaces between).

        ``.attrs["files"]`` is a tuple of dicts, one per file: `url final_url status reason kind
        entries skipped bytes wire_bytes depth fetched_at date last_modified sitemap_lastmod
        seconds issues`, times in seconds since 1970. ``.attrs["unread"]`` says how many files lie
        beyond which limit, ``.attrs["max_files_reached"]`` whether that of files was reached.

    Raises
    ------
    BadSetting
        If `source` is none of the above, or a limit is out of range.

    References
    ----------
    https://www.sitemaps.org/protocol.html

    Examples
    --------
    >>> entries = read_sitemaps(
    ...     b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>'
    ...     b"<loc>https://example.com/?a=1&amp;b=2</loc><lastmod>2024-05</lastmod></url></urlset>",
    ...     progress=False,
    ... )
    >>> entries[["loc", "lastmod_text", "lastmod_granularity"]].values.tolist()
    [['https://example.com/?a=1&b=2', '2024-05', 'month']]
    """
    limits = _checked_limits(max_files, max_depth, workers, seconds_per_file)
    if isinstance(delay, bool) or not isinstance(delay, (int, float)) or not 0 <= delay < 3600:
        raise BadSetting("delay", f"{delay!r} is no number of seconds", "Pass 0 or more.")
    sources = _sources(source)
    hosts = [url_host(one) for one in sources if isinstance(one, str)]
    with Fetcher(http or Http(), allow_private=private_rule(hosts)) as fetcher:
        return _read(sources, fetcher, limits, float(delay), progress=progress)


def _read(
    sources: list[str | Path | bytes],
    fetcher: Fetcher,
    limits: WalkLimits,
    delay: float,
    *,
    progress: bool,
) -> pd.DataFrame:
    """Read checked sources with a fetcher of one's own."""
    stop = threading.Event()
    files = FileFetcher(fetcher, delay=delay, seconds=limits.seconds, stop=stop)
    walk = Walk(files, limits, stop)
    nothing: list[Any] = []
    for number, one in enumerate(sources, 1):
        if isinstance(one, bytes):
            name = "<bytes>" if len(sources) == 1 else f"<bytes {number}>"
            walk.add(Job(one, name))
        elif isinstance(one, Path):
            for path in _files_of(one):
                walk.add(Job(path, str(path)))
        elif _is_site(one):
            nothing += _add_site(one, walk, files, fetcher.http.user_agent)
        else:
            walk.add(Job(one, one))
    walk.run(progress=progress)
    tables, walk.tables = [*nothing, *walk.tables], []
    frame = entries_frame(tables)
    frame.attrs["files"] = _Files(walk.records)
    frame.attrs["unread"] = {why: len(names) for why, names in walk.unread.items()}
    frame.attrs["max_files_reached"] = "max_files" in walk.unread
    return frame


def _add_site(site: str, walk: Walk, files: FileFetcher, user_agent: str) -> list[Any]:
    """Queue the sitemaps of a site; where there are none, return the row that says so."""
    origin = "/".join(site.split("/")[:3])
    found = look_for_sitemaps(site, files, user_agent)
    for one in found:
        if one.accepted and one.sitemap is not None:
            walk.add(Job(one.sitemap, one.sitemap, submitted_by=frozenset((origin,))))
    if any(one.accepted for one in found):
        return []
    codes = ["no_sitemap_found"]
    if any(one.reason == "robots_unreachable" for one in found):
        codes = ["robots_unreachable"]
    reasons = {one.reason for one in found if one.reason and one.status is None}
    return [file_row(origin + "/", None, [*codes, *sorted(reasons - {"robots"})], None)]


def _is_site(url: str) -> bool:
    parts = urlsplit(url)
    return parts.path in ("", "/", "/robots.txt") and not parts.query


def _files_of(path: Path) -> list[Path]:
    """Return the files that a path stands for: itself, or all in it that may be sitemaps."""
    if not path.is_dir():
        return [path]
    return sorted(
        one
        for one in path.rglob("*")
        if _FILE_NAMES.fullmatch(one.name) and not one.name.startswith(".") and one.is_file()
    )


# -- arguments -----------------------------------------------------------------------------


def _sources(source: Any) -> list[str | Path | bytes]:
    if isinstance(source, (str, bytes, bytearray, memoryview, Path)):
        return [_source(source)]
    if hasattr(source, "columns"):
        raise BadSetting("source", "a table is no source", _REMEDY)
    if isinstance(source, Iterable) and not isinstance(source, dict):
        sources = [_source(one) for one in source]
        if sources:
            return sources
        raise BadSetting("source", "the list is empty", _REMEDY)
    raise BadSetting("source", f"{type(source).__name__} is no source", _REMEDY)


def _source(one: Any) -> str | Path | bytes:
    if isinstance(one, (bytes, bytearray, memoryview)):
        return bytes(one)
    if isinstance(one, Path):
        return _existing(one)
    if not isinstance(one, str):
        raise BadSetting("source", f"{type(one).__name__} is no source", _REMEDY)
    if not one.strip():
        raise BadSetting("source", "it is empty", _REMEDY)
    if one.lstrip().startswith("<"):
        raise BadSetting("source", "text of a sitemap", "Pass it as bytes: text.encode().")
    local = "://" not in one and _exists(Path(one))
    host_like = _HOST.fullmatch(one) and not _FILE_NAMES.fullmatch(one)
    if local or not ("://" in one or host_like):
        return _existing(Path(one))
    return site_address(one, "source")  # tells also which scheme is missing


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long a name, a NUL
        return False


def _existing(path: Path) -> Path:
    if not _exists(path):
        raise BadSetting("source", f"there is no file or folder {str(path)[:200]!r}", _REMEDY)
    return path


def _checked_limits(max_files: Any, max_depth: Any, workers: Any, seconds: Any) -> WalkLimits:
    for name, value, least, most in (
        ("max_files", max_files, 1, 10_000_000),
        ("max_depth", max_depth, 0, 100),
        ("workers", workers, 1, 64),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            problem = f"{value!r} is no whole number from {least} to {most:,}"
            raise BadSetting(name, problem, f"Pass for example {name}={max(least, 4)}.")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 1e6:
        raise BadSetting("seconds_per_file", f"{seconds!r} is no time", "Pass seconds above 0.")
    return WalkLimits(max_files, max_depth, workers, float(seconds))
