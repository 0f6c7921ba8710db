"""The programs that a vault is plugged into: their configuration, and their hooks."""
