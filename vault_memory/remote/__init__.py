"""A folder on a server: its listing, and conditional writes, so that no edit overwrites an unread version."""
