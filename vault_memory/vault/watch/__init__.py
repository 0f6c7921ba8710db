"""Watches the vault: change events, debounce, the queue of paths to look at."""
