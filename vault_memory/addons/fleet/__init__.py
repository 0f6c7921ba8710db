"""Serves vaults from several hosts: a vault is visited by one host at a time."""
