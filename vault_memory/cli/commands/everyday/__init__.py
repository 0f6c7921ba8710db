"""Commands of every day: what is known of a person, the last night, proposals, notes, settings."""
