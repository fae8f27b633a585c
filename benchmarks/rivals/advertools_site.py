"""advertools' side: ``python advertools_site.py START OUTPUT.jsonl``."""

import sys
from urllib.parse import urlsplit

import advertools as adv

if __name__ == "__main__":
    start, output = sys.argv[1:]
    settings = {"LOG_LEVEL": "INFO", "ROBOTSTXT_OBEY": True, "AUTOTHROTTLE_ENABLED": False}
    adv.crawl(
        start,
        output,
        follow_links=True,
        # Without the port: with it, advertools crawls nothing and reports no error.
        allowed_domains=[urlsplit(start).hostname],
        custom_settings=settings,
    )
