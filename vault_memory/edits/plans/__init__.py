"""Plans of edits: what a command makes of a note, before anything is written."""
