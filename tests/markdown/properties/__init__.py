"""Front matter, tags, aliases and links of notes."""
