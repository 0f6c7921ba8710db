"""Rules of forgetting: what matches a text, and what is cut out."""
