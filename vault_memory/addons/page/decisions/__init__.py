"""What waits for a person: proposals, conflict copies and notes in the trash, the set-up."""
