"""Retracts one turn by its id: redacts its text in the transcript and in the stored past of the transcript.

This works like `forget`, except that other turns with the same text stay.
"""

import json
from datetime import datetime
from operator import ne

from vault_memory.edits.editor import NoteEditor
from vault_memory.forgetting.vault_files import Forgetter, RedactionReport
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.forgetting.redaction import Redacted
from vault_memory.rules.paths.layout import Layout

PATIENCE_SECONDS = 2.0
"""How long to wait for a transcript that is in use"""


class TurnRetraction(Forgetter):
    """Retracts one turn from the transcripts of one scope."""

    def __init__(self, editor: NoteEditor, layout: Layout, turn_id: str, scope: str) -> None:
        super().__init__(editor, layout, TextMatcher.of(turn_id), (scope,))
        self._turn_id = turn_id

    def cut(self, path: str, raw: bytes) -> Redacted:
        """Returns a transcript in which this turn has no text; every other file as it is."""
        if self._kind(path) != "transcript" or self._turn_id.encode() not in raw:
            return Redacted(raw)
        lines = raw.split(b"\n")
        new_lines = list(map(self._blank, lines))
        count = sum(map(ne, lines, new_lines))
        return Redacted(b"\n".join(new_lines), count)

    def run(self, now: datetime) -> RedactionReport:
        """Retracts the turn. Raises JournalUnavailable."""
        report = RedactionReport()
        self.redact(report, now, patience=PATIENCE_SECONDS)
        return report

    def _blank(self, line: bytes) -> bytes:
        """Returns the line of this turn without its text; any other line as it is."""
        if self._turn_id.encode() not in line:
            return line
        try:
            turn = json.loads(line)
        except (ValueError, RecursionError):
            return line
        # Fault: another turn may quote this id in its text. Only the line of the turn
        # itself is blanked.
        if not isinstance(turn, dict) or turn.get("id") != self._turn_id:
            return line
        if not turn.get("text"):
            return line
        blank_turn = {**turn, "text": ""}
        return json.dumps(blank_turn, ensure_ascii=False, separators=(",", ":")).encode()
