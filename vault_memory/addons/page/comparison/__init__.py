"""Finds what two texts have in common, and which words of a line changed."""
