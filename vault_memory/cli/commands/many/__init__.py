"""Commands that serve many vaults; each is imported when it is run."""
