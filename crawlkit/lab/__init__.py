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
from crawlkit.lab.faulty import FAULTS, Fault, Faulty
from crawlkit.lab.finite import Finite
from crawlkit.lab.lastmod_sites import LASTMOD_CASES, LastmodCase, Living, SimulatedClock
from crawlkit.lab.links import Broken, Canonical, Cross, Redirects
from crawlkit.lab.log import Request, read_log
from crawlkit.lab.markup import Anchor, document, sentences
from crawlkit.lab.mazes import Calendar, Deep
from crawlkit.lab.memory_walk import LabWalk, walk
from crawlkit.lab.practice import PracticeSite, serve
from crawlkit.lab.shop import Product, Shop, ShopTracking, extract_product
from crawlkit.lab.site import SECTIONS
from crawlkit.lab.trouble import Failing, Files, Large, Outage, Robots, Slow
from crawlkit.lab.truth import TruePage, Truth
from crawlkit.lab.zoo import TRAPS
from crawlkit.lab.zoo_addresses import Copies, Filters, Languages, Sessions, Views
from crawlkit.lab.zoo_pages import Anything, Events, Hidden, Listing, Loop, Searches

__all__ = [
    "FAULTS",
    "LASTMOD_CASES",
    "SECTIONS",
    "TRAPS",
    "Anchor",
    "Answer",
    "Anything",
    "Ask",
    "Broken",
    "Calendar",
    "Canonical",
    "Copies",
    "Cross",
    "Deep",
    "Events",
    "Failing",
    "Fault",
    "Faulty",
    "Files",
    "Filters",
    "Finite",
    "Hidden",
    "LabWalk",
    "Languages",
    "Large",
    "LastmodCase",
    "Listing",
    "Living",
    "Loop",
    "Outage",
    "Place",
    "PracticeSite",
    "Product",
    "Redirects",
    "Request",
    "Robots",
    "Searches",
    "Section",
    "Sessions",
    "Shop",
    "ShopTracking",
    "SimulatedClock",
    "Slow",
    "TruePage",
    "Truth",
    "Views",
    "document",
    "draw",
    "extract_product",
    "pick",
    "read_log",
    "redirect",
    "sentences",
    "serve",
    "walk",
]
