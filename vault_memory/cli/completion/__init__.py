"""Completion at the Tab key: what a shell may offer, and the scripts that ask for it."""
