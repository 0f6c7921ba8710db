"""A folder on a server: its listing, and writes that never overwrite a version nobody read."""
