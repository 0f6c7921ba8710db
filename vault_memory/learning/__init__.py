"""The night's work: reads what was said and writes what is worth remembering."""
