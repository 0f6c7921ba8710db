"""Reads what people wrote about a note: front matter, tags, aliases and links."""
