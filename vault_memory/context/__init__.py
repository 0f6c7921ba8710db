"""What a prompt gets: live notes, facts and matching lines, put together for one caller."""
