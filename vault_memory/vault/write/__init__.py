"""Writes notes safely beside people who edit them: journal, swap, recovery."""
