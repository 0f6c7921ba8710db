"""The upkeep of one vault: from hints of change to an index that search can trust."""
