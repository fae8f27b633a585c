"""What tables say about a site: pure functions and their statistics."""
