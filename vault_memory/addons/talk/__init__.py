"""Nextcloud Talk: the events of its bots, and what of them is recorded."""
