"""The search index: everything in it follows from the files of the vault, and it can be deleted."""
