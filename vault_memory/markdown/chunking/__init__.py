"""Cuts a note into the chunks that search finds."""
