"""What the summary of a conversation says. Pure."""
