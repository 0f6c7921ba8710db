"""From the vault into the index: a pure plan, and one transaction a note."""
