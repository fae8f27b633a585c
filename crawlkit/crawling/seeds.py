"""Seeds as a caller gives them: a URL, a list, or a table with provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.crawling.session import Seed
from crawlkit.errors import BadSetting, BadURL
from crawlkit.web.urls import Address, normalize_url, safe_url, url_host

if TYPE_CHECKING:
    from crawlkit.web.urls import UrlRules

__all__ = ["seeds_from_argument"]


def seeds_from_argument(seeds: Any, rules: UrlRules) -> list[Seed]:
    """Return checked seeds.

    Parameters
    ----------
    seeds
        A URL, a list of URLs, or a DataFrame with a column ``url`` or ``loc`` and, where present,
        ``source`` and ``lastmod``.
    rules
        The rules that make keys.

    Raises
    ------
    BadSetting
        There is no seed, or one is no http(s) URL; the message names it.
    """
    if isinstance(seeds, str):
        rows: list[tuple[Any, str, float | None]] = [(seeds, "seed", None)]
    elif hasattr(seeds, "columns"):
        rows = _rows_of_frame(seeds)
    else:
        try:
            rows = [(seed, "seed", None) for seed in seeds]
        except TypeError:
            raise BadSetting(
                "seeds",
                f"{seeds!r} is neither a URL nor a list",
                "Pass a URL, a list of URLs, or a DataFrame with a column 'url' or 'loc'.",
            ) from None
    found = [Seed(_address(url, rules), source, lastmod) for url, source, lastmod in rows]
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


def _rows_of_frame(frame: Any) -> list[tuple[Any, str, float | None]]:
    name = next((name for name in ("url", "loc") if name in frame.columns), None)
    if name is None:
        raise BadSetting(
            "seeds",
            f"the table has the columns {list(frame.columns)!r}",
            "Name the column with the URLs 'url' or 'loc'.",
        )
    urls = frame[name].tolist()
    sources = (
        [str(source) for source in frame["source"].tolist()]
        if "source" in frame.columns
        else ["sitemap" if name == "loc" else "seed"] * len(urls)
    )
    lastmods: list[float | None] = [None] * len(urls)
    if "lastmod" in frame.columns:
        lastmods = [
            None if missing else value.timestamp()
            for value, missing in zip(
                frame["lastmod"].tolist(), frame["lastmod"].isna().tolist(), strict=True
            )
        ]
    return list(zip(urls, sources, lastmods, strict=True))
