"""HTTP: the calls of VaultMemory for bots, each let in by a token. Needs the extra `web`."""
