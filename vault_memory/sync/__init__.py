"""Keeps the vault in step with a folder on a server."""
