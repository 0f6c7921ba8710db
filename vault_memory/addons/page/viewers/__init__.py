"""What a session may see of each kind, and the calls that it may make."""
