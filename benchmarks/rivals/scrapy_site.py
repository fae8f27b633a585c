"""Scrapy's side: every HTML page of one host, an item per page.

Run by ``scrapy runspider scrapy_site.py -a start=URL -o items.jsonl -s JOBDIR=...``. The item holds
the number of links and not the links themselves, which is in Scrapy's favor: crawlkit keeps them.
"""

from typing import ClassVar
from urllib.parse import urlsplit

import scrapy
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor


class SiteSpider(scrapy.Spider):
    """Follows every link to the start's host and port."""

    name = "site"
    handle_httpstatus_all = True
    custom_settings: ClassVar = {
        "ROBOTSTXT_OBEY": True,
        "AUTOTHROTTLE_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "LOG_LEVEL": "INFO",
        "TELNETCONSOLE_ENABLED": False,
    }

    def __init__(self, start, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]
        self.allowed_domains = [urlsplit(start).hostname]
        # By host and port; no pattern on the path, so that nothing reachable is left out.
        self.extractor = LinkExtractor(allow_domains=[urlsplit(start).netloc])

    def parse(self, response):
        """Yield the page's item and its links."""
        links = []
        if isinstance(response, HtmlResponse) and response.status == 200:
            links = self.extractor.extract_links(response)
        yield {
            "url": response.url,
            "title": response.css("title::text").get() if links else None,
            "status": response.status,
            "links": len(links),
        }
        for link in links:
            yield scrapy.Request(link.url, callback=self.parse)
