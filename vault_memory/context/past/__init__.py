"""What a prompt got on an earlier day: the notes of that day, rebuilt and searched."""
