"""What a cycle did, and the report of a night."""
