"""crawlkit: small, polite, resumable crawls into Parquet, and answers to what a crawl raises.

The public names, imported on first use; nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crawlkit.version import __version__

if TYPE_CHECKING:
    from crawlkit import lab
    from crawlkit.audit.coverage import Coverage, compare_coverage
    from crawlkit.audit.discovery import discovery_curve
    from crawlkit.audit.exclude_preview import preview_exclude
    from crawlkit.audit.lastmod import LastmodAudit, audit_lastmod, record_lastmod
    from crawlkit.audit.lastmod_findings import lastmod_spread
    from crawlkit.audit.metrics import CrawlMetrics, crawl_metrics
    from crawlkit.audit.report import make_report
    from crawlkit.audit.site import SiteAudit, audit_site
    from crawlkit.audit.site_size import estimate_size
    from crawlkit.audit.traps import find_traps
    from crawlkit.audit.url_rules import UrlRuleCheck, check_url_rules
    from crawlkit.crawling.api import crawl, open_crawl
    from crawlkit.crawling.crawl_folder import Crawl
    from crawlkit.crawling.imports import (
        tables_from_advertools,
        tables_from_scrapy_feed,
        tables_from_screaming_frog,
        tables_from_warc,
    )
    from crawlkit.crawling.settings import Limits
    from crawlkit.crawling.warc_import import import_warc
    from crawlkit.data_files import data_names, load_data
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
    from crawlkit.order.breadth_first import BreadthFirst
    from crawlkit.order.comparison import Comparison, compare_orderings
    from crawlkit.order.depth_first import DepthFirst
    from crawlkit.order.graph_files import read_graph
    from crawlkit.order.inlinks import InLinks
    from crawlkit.order.larger_sites_first import LargerSitesFirst
    from crawlkit.order.link_graph import LinkGraph
    from crawlkit.order.omniscient import Omniscient
    from crawlkit.order.one_shot import partial_pagerank, rank_frontier
    from crawlkit.order.opic_estimate import opic
    from crawlkit.order.opic_order import Opic
    from crawlkit.order.partial_pagerank_order import PartialPageRank
    from crawlkit.order.priority import Priority
    from crawlkit.order.push_pagerank import PushPageRank
    from crawlkit.order.random_order import RandomOrder
    from crawlkit.order.registry import ORDERINGS
    from crawlkit.order.replays import replay
    from crawlkit.plots.coverage import plot_coverage
    from crawlkit.plots.crawls import plot_frontier, plot_status
    from crawlkit.plots.discovery import plot_discovery
    from crawlkit.plots.graph_pictures import plot_graph
    from crawlkit.plots.lastmod import plot_lastmod
    from crawlkit.plots.orderings import plot_orderings
    from crawlkit.web.dates import page_dates
    from crawlkit.web.fetch import Http
    from crawlkit.web.robots import RobotsRules, parse_robots, robots_table
    from crawlkit.web.sitemaps import (
        LastmodWarning,
        changed_since,
        find_sitemaps,
        read_sitemaps,
    )
    from crawlkit.web.sources import (
        seeds_from_archive,
        seeds_from_feed,
        seeds_from_file,
        seeds_from_page,
        seeds_from_sitemap,
    )
    from crawlkit.web.urls import UrlRules, normalize_url, url_hash, url_table, url_template
    from crawlkit.widgets.monitor import CrawlMonitor
    from crawlkit.widgets.ordering_explorer import OrderingExplorer

_HOMES = {
    "BadSetting": "errors",
    "BadURL": "errors",
    "BreadthFirst": "order.breadth_first",
    "Comparison": "order.comparison",
    "Coverage": "audit.coverage",
    "Crawl": "crawling.crawl_folder",
    "CrawlMetrics": "audit.metrics",
    "CrawlMonitor": "widgets.monitor",
    "CrawlkitError": "errors",
    "DepthFirst": "order.depth_first",
    "FolderInUse": "errors",
    "FolderUnusable": "errors",
    "FoundPage": "order.base",
    "Http": "web.fetch",
    "InLinks": "order.inlinks",
    "LargerSitesFirst": "order.larger_sites_first",
    "LastmodAudit": "audit.lastmod",
    "LastmodWarning": "web.sitemaps",
    "Limits": "crawling.settings",
    "LinkGraph": "order.link_graph",
    "MissingExtra": "errors",
    "ORDERINGS": "order.registry",
    "Omniscient": "order.omniscient",
    "Opic": "order.opic_order",
    "Ordering": "order.base",
    "OrderingExplorer": "widgets.ordering_explorer",
    "PartialPageRank": "order.partial_pagerank_order",
    "Priority": "order.priority",
    "PushPageRank": "order.push_pagerank",
    "RandomOrder": "order.random_order",
    "RobotsRules": "web.robots",
    "SettingsChanged": "errors",
    "SiteAudit": "audit.site",
    "StorageFailed": "errors",
    "UrlRuleCheck": "audit.url_rules",
    "UrlRules": "web.urls",
    "audit_lastmod": "audit.lastmod",
    "audit_site": "audit.site",
    "changed_since": "web.sitemaps",
    "check_url_rules": "audit.url_rules",
    "compare_coverage": "audit.coverage",
    "compare_orderings": "order.comparison",
    "crawl": "crawling.api",
    "crawl_metrics": "audit.metrics",
    "data_names": "data_files",
    "discovery_curve": "audit.discovery",
    "estimate_size": "audit.site_size",
    "find_sitemaps": "web.sitemaps",
    "find_traps": "audit.traps",
    "import_warc": "crawling.warc_import",
    "lastmod_spread": "audit.lastmod_findings",
    "load_data": "data_files",
    "make_report": "audit.report",
    "normalize_url": "web.urls",
    "open_crawl": "crawling.api",
    "opic": "order.opic_estimate",
    "page_dates": "web.dates",
    "parse_robots": "web.robots",
    "partial_pagerank": "order.one_shot",
    "plot_coverage": "plots.coverage",
    "plot_discovery": "plots.discovery",
    "plot_frontier": "plots.crawls",
    "plot_graph": "plots.graph_pictures",
    "plot_lastmod": "plots.lastmod",
    "plot_orderings": "plots.orderings",
    "plot_status": "plots.crawls",
    "preview_exclude": "audit.exclude_preview",
    "rank_frontier": "order.one_shot",
    "read_graph": "order.graph_files",
    "read_sitemaps": "web.sitemaps",
    "record_lastmod": "audit.lastmod",
    "replay": "order.replays",
    "robots_table": "web.robots",
    "seeds_from_archive": "web.sources",
    "seeds_from_feed": "web.sources",
    "seeds_from_file": "web.sources",
    "seeds_from_page": "web.sources",
    "seeds_from_sitemap": "web.sources",
    "tables_from_advertools": "crawling.imports",
    "tables_from_scrapy_feed": "crawling.imports",
    "tables_from_screaming_frog": "crawling.imports",
    "tables_from_warc": "crawling.imports",
    "url_hash": "web.urls",
    "url_table": "web.urls",
    "url_template": "web.urls",
}

__all__ = [
    "ORDERINGS",
    "BadSetting",
    "BadURL",
    "BreadthFirst",
    "Comparison",
    "Coverage",
    "Crawl",
    "CrawlMetrics",
    "CrawlMonitor",
    "CrawlkitError",
    "DepthFirst",
    "FolderInUse",
    "FolderUnusable",
    "FoundPage",
    "Http",
    "InLinks",
    "LargerSitesFirst",
    "LastmodAudit",
    "LastmodWarning",
    "Limits",
    "LinkGraph",
    "MissingExtra",
    "Omniscient",
    "Opic",
    "Ordering",
    "OrderingExplorer",
    "PartialPageRank",
    "Priority",
    "PushPageRank",
    "RandomOrder",
    "RobotsRules",
    "SettingsChanged",
    "SiteAudit",
    "StorageFailed",
    "UrlRuleCheck",
    "UrlRules",
    "__version__",
    "audit_lastmod",
    "audit_site",
    "changed_since",
    "check_url_rules",
    "compare_coverage",
    "compare_orderings",
    "crawl",
    "crawl_metrics",
    "data_names",
    "discovery_curve",
    "estimate_size",
    "find_sitemaps",
    "find_traps",
    "import_warc",
    "lab",
    "lastmod_spread",
    "load_data",
    "make_report",
    "normalize_url",
    "open_crawl",
    "opic",
    "page_dates",
    "parse_robots",
    "partial_pagerank",
    "plot_coverage",
    "plot_discovery",
    "plot_frontier",
    "plot_graph",
    "plot_lastmod",
    "plot_orderings",
    "plot_status",
    "preview_exclude",
    "rank_frontier",
    "read_graph",
    "read_sitemaps",
    "record_lastmod",
    "replay",
    "robots_table",
    "seeds_from_archive",
    "seeds_from_feed",
    "seeds_from_file",
    "seeds_from_page",
    "seeds_from_sitemap",
    "tables_from_advertools",
    "tables_from_scrapy_feed",
    "tables_from_screaming_frog",
    "tables_from_warc",
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
