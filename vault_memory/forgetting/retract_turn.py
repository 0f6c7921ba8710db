"""Taking back one turn, by its id: what it said goes from its transcript and from all that is kept of its past.

It is done as forgetting a text is done, but what others said is left as it is, even if it is the same.
"""

import json
from datetime import datetime

from vault_memory.edits.editor import NoteEditor
from vault_memory.forgetting.vault_files import Forgetter, Forgetting
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.forgetting.redact_notes import Redacted
from vault_memory.rules.paths.layout import Layout

PATIENCE_SECONDS = 2.0
"""For a transcript that is in use"""


class TurnRetraction(Forgetter):
    """Of one turn, which stands in the transcripts of one scope."""

    def __init__(
        self, curator: NoteEditor, layout: Layout, turn_id: str, scope: str
    ) -> None:
        super().__init__(curator, layout, TextMatcher.of(turn_id), (scope,))
        self._id = turn_id

    def cut(self, path: str, raw: bytes) -> Redacted:
        """A transcript in which this turn says nothing any more; every other file as it is."""
        if self._kind(path) != "transcript" or self._id.encode() not in raw:
            return Redacted(raw)
        lines = raw.split(b"\n")
        silent = [self._silent(line) for line in lines]
        count = sum(one != line for one, line in zip(silent, lines, strict=True))
        return Redacted(b"\n".join(silent), count) if count else Redacted(raw)

    def run(self, now: datetime) -> Forgetting:
        """Raises JournalUnavailable."""
        found = Forgetting()
        self.carry_out(found, now, patience=PATIENCE_SECONDS)
        return found

    def _silent(self, line: bytes) -> bytes:
        if self._id.encode() not in line:
            return line
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            return line
        if (
            not isinstance(said, dict)
            or said.get("id") != self._id
            or not said.get("text")
        ):
            return line
        return json.dumps(
            {**said, "text": ""}, ensure_ascii=False, separators=(",", ":")
        ).encode()
