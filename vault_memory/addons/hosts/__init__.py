"""Hosts: the programs in which people talk to a bot, their configuration, and their hooks."""
