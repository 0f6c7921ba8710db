"""Calendar days in place of words such as "tomorrow"."""
