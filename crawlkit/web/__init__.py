"""What the web is: URLs, robots.txt, HTTP, HTML. Knows no crawl and no crawl folder."""
