"""A crawl and its folder."""
