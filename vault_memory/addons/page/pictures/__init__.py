"""Draws pictures of memory as SVG, each with the numbers for the table beside it."""
