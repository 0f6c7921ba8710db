"""Lets the past of a note follow it to its new name."""
