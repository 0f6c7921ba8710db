"""What people and the bot say: transcripts, sessions, the drop folder, and the calls that record."""
