"""Contradictions among facts, items and rules: what contradicts what, and which line loses. Pure."""
