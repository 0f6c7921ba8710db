"""Tables and measures of words, one for all readers of statements."""
