"""Rules of conversations: turns, and what they state."""
