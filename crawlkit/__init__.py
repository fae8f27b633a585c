"""crawlkit."""
