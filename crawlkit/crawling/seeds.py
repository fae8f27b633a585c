"""Seeds as a caller gives them: a URL, a list, or a table with provenance."""

from __future__ import annotations

import contextlib
import datetime as dt
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.admission import FOUND_BY_LINK
from crawlkit.crawling.session import Seed
from crawlkit.errors import BadSetting, BadURL
from crawlkit.web.fingerprint import clean_text
from crawlkit.web.urls import Address, normalize_url, safe_url, url_host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlkit.web.urls import UrlRules

__all__ = ["seeds_from_argument"]

# What a crawl itself writes about URLs that it found; a table of URLs may come from a crawl.
_NOT_OF_SEEDS = (*FOUND_BY_LINK, "warc")
# Characters kept of a table's text.
_LONGEST_SOURCE = 64
_LONGEST_PLACE = 2_048
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def seeds_from_argument(seeds: Any, rules: UrlRules) -> list[Seed]:
    """Return checked seeds.

    Parameters
    ----------
    seeds
        A URL, a list of URLs, or a DataFrame with a column ``url`` or ``loc`` and, where present,
        ``source`` (a word such as ``"sitemap"`` or ``"feed"``), ``lastmod`` (timestamps, dates or
        W3C text; without a zone, UTC) and ``found_in`` (what the URL was read from). Each of
        these may be null; a lastmod that cannot be read is null, and longer text is cut.
    rules
        The rules that make keys.

    Raises
    ------
    BadSetting
        A list is empty, or a seed is no http(s) URL; the message names it.
    """
    if isinstance(seeds, str):
        found = [Seed(_address(seeds, rules))]
    elif hasattr(seeds, "columns"):
        # A table may be empty, as that of a sitemap in which nothing changed today is.
        return list(_seeds_of_frame(seeds, rules))
    else:
        try:
            listed = list(seeds)
        except TypeError:
            raise BadSetting(
                "seeds",
                f"{seeds!r} is neither a URL nor a list",
                "Pass a URL, a list of URLs, or a DataFrame with a column 'url' or 'loc'.",
            ) from None
        found = [Seed(_address(seed, rules)) for seed in listed]
    if not found:
        raise BadSetting("seeds", "there is none", "Pass at least one URL.")
    return found


def _address(url: Any, rules: UrlRules) -> Address:
    if not isinstance(url, str):
        raise BadSetting("seeds", f"{url!r} is no text", "Pass URLs as text.")
    try:
        address = safe_url(url)
        return Address(address, normalize_url(address, rules), url_host(address))
    except BadURL as error:
        remedy = "Pass URLs that start with http:// or https://."
        if "://" not in url and "." in url:
            remedy = f"Did you mean https://{url.strip()} ?"
        raise BadSetting("seeds", str(error), remedy) from error


def _seeds_of_frame(frame: Any, rules: UrlRules) -> Iterator[Seed]:
    name = next((name for name in ("url", "loc") if name in frame.columns), None)
    if name is None:
        raise BadSetting(
            "seeds",
            f"the table has the columns {list(frame.columns)!r}",
            "Name the column with the URLs 'url' or 'loc'.",
        )
    usual = "sitemap" if name == "loc" else "seed"
    columns = [_values(frame, column) for column in (name, "source", "lastmod", "found_in")]
    for url, source, lastmod, found_in in zip(*columns, strict=True):
        yield Seed(
            _address(url, rules), _source(source) or usual, _epoch(lastmod), _place(found_in)
        )


def _values(frame: Any, name: str) -> list[Any]:
    """Return a column as a list, in which whatever is missing is None."""
    if name not in frame.columns:
        return [None] * len(frame)
    column = frame[name]
    if getattr(column, "ndim", 1) != 1:
        raise BadSetting("seeds", f"the table has two columns {name!r}", "Pass one of them.")
    missing = column.isna().tolist()
    return [None if gone else value for value, gone in zip(column.tolist(), missing, strict=True)]


def _source(value: Any) -> str | None:
    """Return what named a seed, as one short line; None where that says nothing of seeds."""
    text = " ".join(clean_text(value).split())[:_LONGEST_SOURCE] if isinstance(value, str) else ""
    return None if not text or text in _NOT_OF_SEEDS else text


def _place(value: Any) -> str | None:
    """Return what a seed was read from: an address without its password, a path, any text."""
    if value is None:
        return None
    text = clean_text(str(value)).strip()
    with contextlib.suppress(BadURL):
        text = safe_url(text)
    return text[:_LONGEST_PLACE] or None


def _epoch(value: Any) -> float | None:
    """Return a moment as UTC epoch seconds; None for what is none.

    Examples
    --------
    >>> _epoch("1970-01-02"), _epoch(dt.date(1970, 1, 2)), _epoch("yesterday")
    (86400.0, 86400.0, None)
    """
    if isinstance(value, str):
        from crawlkit.web.w3c_dates import parse_w3c

        read = parse_w3c(value)
        return None if read is None else read.start
    if type(value).__name__ == "datetime64":  # numpy's, in a column of mixed kinds
        value = value.astype("datetime64[us]").item()
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    if not isinstance(value, dt.datetime):
        return None
    if value.tzinfo is None:
        value = value.replace(tzinfo=dt.UTC)
    return float((value - _EPOCH).total_seconds())
