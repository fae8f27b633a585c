"""Seeds from a web archive: the arguments of `seeds_from_archive` checked, and its table filled."""

from __future__ import annotations

import re
import warnings
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlkit.errors import BadSetting, BadURL
from crawlkit.web.archive_index import IndexWalk, Patience
from crawlkit.web.archive_query import MATCHES, IndexQuery
from crawlkit.web.fetch import Http
from crawlkit.web.seed_documents import checked_url, fetcher_for
from crawlkit.web.seed_tables import SeedTable
from crawlkit.web.url_addresses import Refusal, resolve_address, safe_url
from crawlkit.web.w3c_dates import parse_w3c

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from crawlkit.web.archive_answers import Capture

__all__ = ["archive_stamp", "archive_table", "capture_moment", "index_query"]

_COLUMNS = {
    "captured_at": "datetime64[us, UTC]",
    "status": "Int64",
    "mime": "str",
    "urlkey": "str",
    "issues": "str",
}
_DIGITS = re.compile(r"[0-9]{4,14}")
_COLLAPSE = re.compile(r"[A-Za-z]+(?::[1-9][0-9]{0,3})?")


def archive_stamp(name: str, value: object, *, end: bool = False) -> str:
    """Return a time as the index writes it: up to 14 digits, UTC; "" for None.

    Parameters
    ----------
    name
        The argument's name, for the error.
    value
        A datetime (UTC where it names no zone), a date, an ISO date, or the digits themselves.
    end
        Whether the last second of what `value` names is meant, not the first.

    Raises
    ------
    BadSetting
        It is none of these.

    Examples
    --------
    >>> archive_stamp("since", "2024-05"), archive_stamp("until", "2024-05", end=True)
    ('20240501000000', '20240531235959')
    >>> archive_stamp("until", "2024", end=True), archive_stamp("until", "20240131", end=True)
    ('20241231235959', '20240131')
    """
    if value is None:
        return ""
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return f"{moment:%Y%m%d%H%M%S}".rjust(14, "0")
    text = value.isoformat() if isinstance(value, date) else str(value).strip()
    interval = parse_w3c(text)
    if interval is not None:
        second = interval.end - 1 if end else interval.start
        return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second):%Y%m%d%H%M%S}"
    if _DIGITS.fullmatch(text):
        return text
    raise BadSetting(
        name, f"{value!r} is no time", 'Pass a datetime, a date, "2024-05-01" or "20240501".'
    )


def index_query(
    site: object,
    endpoint: object,
    *,
    match: str,
    since: object,
    until: object,
    status: object,
    mime: object,
    collapse: object,
    output: str,
) -> IndexQuery:
    """Check the arguments of `seeds_from_archive` and return the query."""
    if match not in MATCHES:
        raise BadSetting("match", f"{match!r} is unknown", f"Pass one of {', '.join(MATCHES)}.")
    if output not in ("json", "text"):
        raise BadSetting("output", f"{output!r} is unknown", 'Pass "json" or "text".')
    if collapse is not None and not (isinstance(collapse, str) and _COLLAPSE.fullmatch(collapse)):
        raise BadSetting(
            "collapse",
            f"{collapse!r} is no field",
            'Pass "urlkey", "digest", "timestamp:8" or None.',
        )
    return IndexQuery(
        checked_url("endpoint", endpoint),
        _asked_url(site, match),
        match,
        archive_stamp("since", since),
        archive_stamp("until", until, end=True),
        _values("status", status),
        tuple(value.lower() for value in _values("mime", mime)),
        collapse,
        output,
    )


def _asked_url(site: object, match: str) -> str:
    """Return a site as the index is asked for it: without scheme; for a host, without path."""
    if not isinstance(site, str) or not site.strip():
        raise BadSetting("site", f"{site!r} is no site", 'Pass "example.com" or a URL.')
    text = site.strip().removeprefix("*.")
    try:
        address = safe_url(text if re.match("https?:", text, re.I) else f"http://{text}")
    except BadURL as error:
        raise BadSetting("site", str(error), 'Pass "example.com" or a URL.') from error
    parts = urlsplit(address)
    if match in ("host", "domain"):
        return parts.netloc
    return address.partition("://")[2]


def _values(name: str, given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    items: Iterable[Any] = [given] if isinstance(given, (str, int)) else given  # type: ignore[assignment]
    try:
        values = tuple(str(item).strip() for item in items)
    except TypeError:
        values = ("",)
    if not all(values):
        raise BadSetting(name, f"{given!r} is no list of values", "Pass a list, or None for any.")
    return values


def capture_moment(stamp: str) -> datetime | None:
    """Return the moment of a capture; missing digits are its first month, day, hour.

    Examples
    --------
    >>> capture_moment("202401").isoformat()
    '2024-01-01T00:00:00+00:00'
    >>> capture_moment("20241399000000") is None
    True
    """
    text = stamp[:14] + "00000101000000"[len(stamp) :]
    try:
        year, month, day = int(text[:4]), int(text[4:6]), int(text[6:8])
        return datetime(
            year, month, day, int(text[8:10]), int(text[10:12]), int(text[12:]), tzinfo=UTC
        )
    except ValueError:
        return None


def archive_table(
    query: IndexQuery,
    *,
    patience: Patience,
    http: Http | None,
    page_size: int,
    max_urls: int,
    resume_key: str | None,
    progress: bool,
) -> pd.DataFrame:
    """Ask the index and return what `seeds_from_archive` promises."""
    http = Http(timeout=120.0, retries=4) if http is None else http
    patience.retries = http.retries
    table = SeedTable("archive", _COLUMNS, repeated=query.collapse != "urlkey")
    with fetcher_for(query.endpoint, http) as fetcher, _bar(progress) as bar:
        walk = IndexWalk(
            query, fetcher, patience, page_size=page_size, most=max_urls, resume_key=resume_key
        )

        def take(capture: Capture) -> bool:
            new = _add(table, query, capture)
            if new and bar is not None:
                bar.update()
            return new

        walk.run(take)
    for text in walk.bad_rows:
        table.refuse(text, "bad_row", query.endpoint)
    complete = walk.stop_reason == "end"
    if walk.stop_reason not in ("end", "max_urls", "interrupted"):
        words = next((f": {p['detail']}" for p in walk.problems[::-1] if p["detail"]), "")
        warnings.warn(
            f"The archive's index was not read to its end ({walk.stop_reason}{words[:200]}). "
            f"{len(table):,} URLs were found before; see .attrs.",
            stacklevel=3,
        )
    return table.frame(
        endpoint=query.endpoint,
        stop_reason=walk.stop_reason,
        complete=complete,
        resume_key=walk.resume_key,
        requests=patience.requests,
        captures=walk.captures,
        filtered=walk.filtered,
        problems=tuple(walk.problems),
    )


def _add(table: SeedTable, query: IndexQuery, capture: Capture) -> bool:
    address = resolve_address(capture.url)
    if isinstance(address, Refusal):
        return table.refuse(capture.url, address.reason, query.endpoint)
    if not query.covers(address):
        return table.refuse(capture.url, "other_host", query.endpoint)
    captured_at = capture_moment(capture.timestamp)
    status = capture.status or ""
    return table.add_address(
        address,
        found_in=query.endpoint,
        captured_at=captured_at,
        status=int(status) if status.isascii() and status.isdigit() and len(status) < 6 else None,
        mime=capture.mime,
        urlkey=capture.urlkey,
        issues="bad_timestamp" if captured_at is None else None,
    )


def _bar(progress: bool) -> Any:  # noqa: FBT001 - internal
    if not progress:
        from contextlib import nullcontext

        return nullcontext()
    from tqdm.auto import tqdm

    return tqdm(unit="URL", desc="archive", dynamic_ncols=True)
