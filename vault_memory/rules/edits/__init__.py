"""Rules of edits: ops, policy, ownership, audit records, undo."""
