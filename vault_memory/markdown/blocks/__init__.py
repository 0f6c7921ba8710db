"""Finds the blocks of a note: headings, lists, fences, paragraphs."""
