"""Which page next: one ordering a file, used unchanged by the live crawl and by the replay."""
