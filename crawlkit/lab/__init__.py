"""A practice site on loopback: finite sections, traps and faults, a request log, known truth.

Examples
--------
>>> import urllib.request
>>> from crawlkit import lab
>>> with lab.serve(("shop",)) as site:
...     with urllib.request.urlopen(site.url + "shop/") as response:
...         title = response.read().partition(b"<title>")[2][:12]
...     title, site.requests[0].path, len(site.truth.urls("shop"))
(b'All products', '/shop/', 525)
"""

from __future__ import annotations

from crawlkit.lab.content import Answer, Ask, Place, Section, draw, pick, redirect
from crawlkit.lab.links import Broken, Canonical, Cross, Redirects
from crawlkit.lab.log import Request, read_log
from crawlkit.lab.markup import Anchor, document, sentences
from crawlkit.lab.mazes import Calendar, Deep
from crawlkit.lab.practice import PracticeSite, serve
from crawlkit.lab.shop import Product, Shop, ShopTracking, extract_product
from crawlkit.lab.site import SECTIONS
from crawlkit.lab.trouble import Failing, Files, Large, Outage, Robots, Slow
from crawlkit.lab.truth import TruePage, Truth

__all__ = [
    "SECTIONS",
    "Anchor",
    "Answer",
    "Ask",
    "Broken",
    "Calendar",
    "Canonical",
    "Cross",
    "Deep",
    "Failing",
    "Files",
    "Large",
    "Outage",
    "Place",
    "PracticeSite",
    "Product",
    "Redirects",
    "Request",
    "Robots",
    "Section",
    "Shop",
    "ShopTracking",
    "Slow",
    "TruePage",
    "Truth",
    "document",
    "draw",
    "extract_product",
    "pick",
    "read_log",
    "redirect",
    "sentences",
    "serve",
]
