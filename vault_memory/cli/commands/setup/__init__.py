"""Commands that set this installation up; each is imported when it is run."""
