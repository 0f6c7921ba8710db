"""What only some commands need of the audit: all files of a vault, old records, the records of some scopes."""
