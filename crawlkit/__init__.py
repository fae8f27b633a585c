"""crawlkit: small, polite, resumable crawls into Parquet, and answers to what a crawl raises.

The public names, imported on first use; nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crawlkit.version import __version__

if TYPE_CHECKING:
    from crawlkit import lab
    from crawlkit.crawling.api import Crawl, crawl, open_crawl
    from crawlkit.crawling.settings import Limits
    from crawlkit.crawling.warc_import import import_warc
    from crawlkit.errors import (
        BadSetting,
        BadURL,
        CrawlkitError,
        FolderInUse,
        FolderUnusable,
        MissingExtra,
        SettingsChanged,
        StorageFailed,
    )
    from crawlkit.order.base import FoundPage, Ordering
    from crawlkit.order.registry import ORDERINGS
    from crawlkit.plots.crawls import plot_frontier, plot_status
    from crawlkit.web.fetch import Http
    from crawlkit.web.robots import RobotsRules, parse_robots, robots_table
    from crawlkit.web.urls import UrlRules, normalize_url, url_hash, url_table, url_template
    from crawlkit.widgets import CrawlMonitor

_HOMES = {
    "BadSetting": "errors",
    "BadURL": "errors",
    "Crawl": "crawling.api",
    "CrawlMonitor": "widgets",
    "CrawlkitError": "errors",
    "FolderInUse": "errors",
    "FolderUnusable": "errors",
    "FoundPage": "order.base",
    "Http": "web.fetch",
    "Limits": "crawling.settings",
    "MissingExtra": "errors",
    "ORDERINGS": "order.registry",
    "Ordering": "order.base",
    "RobotsRules": "web.robots",
    "SettingsChanged": "errors",
    "StorageFailed": "errors",
    "UrlRules": "web.urls",
    "crawl": "crawling.api",
    "import_warc": "crawling.warc_import",
    "normalize_url": "web.urls",
    "open_crawl": "crawling.api",
    "parse_robots": "web.robots",
    "plot_frontier": "plots.crawls",
    "plot_status": "plots.crawls",
    "robots_table": "web.robots",
    "url_hash": "web.urls",
    "url_table": "web.urls",
    "url_template": "web.urls",
}

__all__ = [
    "ORDERINGS",
    "BadSetting",
    "BadURL",
    "Crawl",
    "CrawlMonitor",
    "CrawlkitError",
    "FolderInUse",
    "FolderUnusable",
    "FoundPage",
    "Http",
    "Limits",
    "MissingExtra",
    "Ordering",
    "RobotsRules",
    "SettingsChanged",
    "StorageFailed",
    "UrlRules",
    "__version__",
    "crawl",
    "import_warc",
    "lab",
    "normalize_url",
    "open_crawl",
    "parse_robots",
    "plot_frontier",
    "plot_status",
    "robots_table",
    "url_hash",
    "url_table",
    "url_template",
]


def __getattr__(name: str) -> Any:
    if name == "lab":
        return import_module("crawlkit.lab")
    if name in _HOMES:
        value = getattr(import_module(f"crawlkit.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'crawlkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
