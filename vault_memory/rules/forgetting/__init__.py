"""Rules of forgetting: finds a text in all its spellings, and removes it from files."""
