"""Sets vaults up, and writes the service files that keep a daemon running."""
