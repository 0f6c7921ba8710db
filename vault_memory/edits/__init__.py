"""Edits on notes that people edit too: the editor, the audit log, the inbox, conflict copies, and their calls."""
