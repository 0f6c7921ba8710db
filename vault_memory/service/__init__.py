"""The process that keeps vaults: one beside a chat bot with `run`, many with `host`."""
