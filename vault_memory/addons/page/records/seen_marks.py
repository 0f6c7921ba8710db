"""Seen marks: up to which audit record the sessions with the same rights have seen everything.

They are in a file of the state folder, `web-seen.json`: digest of the scopes → id of the record.
"""

import hashlib
import json
from collections.abc import Collection
from pathlib import Path

from vault_memory import places
from vault_memory.config import state_file

FILE = "web-seen.json"
MOST_MARKS = 200


class SeenMarks:
    """The seen marks of one vault. Several processes may use the same file."""

    def __init__(self, state: Path) -> None:
        self._file = state / FILE
        self._lock = state / f"{FILE}.lock"

    def mark(self, scopes: Collection[str]) -> str:
        """Return the id of the newest record that was seen; empty before the first mark."""
        return self._marks().get(_digest(scopes), "")

    def move(self, scopes: Collection[str], record_id: str) -> None:
        """Move the mark forward to a record."""
        key = _digest(scopes)
        places.make_private(self._lock.parent)
        with state_file.lock(self._lock):
            marks = self._marks()
            # Fault: an old view that is still open in another tab would move the mark back.
            newest = max(marks.pop(key, ""), record_id)
            marks[key] = newest
            recent = dict(list(marks.items())[-MOST_MARKS:])
            state_file.write(self._file, json.dumps(recent))

    def _marks(self) -> dict[str, str]:
        value = state_file.read_json(self._file)
        # Fault: a person may edit any file of the state folder. Then all records are new.
        if not isinstance(value, dict):
            return {}
        return {key: mark for key, mark in value.items() if isinstance(mark, str)}


def _digest(scopes: Collection[str]) -> str:
    """Return a digest: the file shall not say who looks at whose notes."""
    names = "\n".join(sorted(scopes))
    return hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()
