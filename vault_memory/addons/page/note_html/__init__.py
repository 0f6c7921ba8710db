"""Turns the text of a hostile note into HTML that is safe to show."""
