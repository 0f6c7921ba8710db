"""Where something remembered comes from: its turns, its item and its audit record."""
