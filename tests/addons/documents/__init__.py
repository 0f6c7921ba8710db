"""Documents: files that are no notes are found by name, PDFs by text, and nobody waits for their reading."""
