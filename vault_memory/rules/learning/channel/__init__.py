"""What a channel's notes are made of."""
