"""Text for a person on a terminal: its width, short times, tables, and marks on matched words."""
