"""The vault's folder: reading notes, listing them, and the files of its state."""
