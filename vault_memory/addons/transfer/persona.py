"""Moves summaries of conversations from SOUL.md, where an older bot left them, to MEMORY.md.

SOUL.md is the persona of the bot: it says who the bot is.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.transfer.import_report import ImportReport, ImportRequest
from vault_memory.edits import commands
from vault_memory.edits.plans import move_sections
from vault_memory.markdown.document import parse_main
from vault_memory.rules.paths import scope_notes

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.edits.edit_result import Edit

COMPACTION = re.compile(r"session compaction\b", re.IGNORECASE)
"""The beginning of the heading of such a summary"""
REASON = "summaries of conversations belong to {target}"


def own_persona(edits: "EditCalls", source: Path) -> str:
    """Return the path in the vault of its own persona, if `source` is that; else empty."""
    root = Path(edits.vault.root).resolve()
    is_own_path = source.exists() or source.is_absolute()
    named = source if is_own_path else root / source
    try:
        path = named.resolve().relative_to(root).as_posix()
    except (ValueError, OSError):
        # The source is outside of the vault, or its links lead in a circle.
        return ""
    place = edits.vault.layout.place(path)
    is_persona = place is not None and place.kind == "persona"
    if is_persona and named.is_file():
        return path
    return ""


def move_compactions(edits: "EditCalls", persona: str, request: ImportRequest) -> ImportReport:
    """Move the summaries to MEMORY.md. After a crash, a second call finishes the move."""
    report = ImportReport()
    if not request.dry_run:
        # Fault (B33): a crash may have left an edit without its audit record.
        edits.editor.tend(request.now)
    place = edits.vault.layout.place(persona)
    note = edits.editor.there(persona)
    if place is None or note is None or not request.includes(place.scope):
        return report
    paths = list(edits.vault.folder.listing().entries)
    target = scope_notes.places_of(place.scope, paths, edits.vault.layout).profile
    sections = [
        section for section in parse_main(note.raw).sections if COMPACTION.match(section.name)
    ]
    moves = move_sections.moves_of(sections, persona, target)
    if moves:
        _Move(edits, request, report).run(persona, target, moves)
    return report


class _Move:
    """One move of sections, in two edits: add them to the target, remove them from the source."""

    def __init__(self, edits: "EditCalls", request: ImportRequest, report: ImportReport) -> None:
        self._edits = edits
        self._request = request
        self._report = report

    def run(self, source: str, target: str, moves: "tuple[commands.SectionMove, ...]") -> None:
        added = self._edit(target, moves)
        self._report.known = sum(op.outcome == "noop_dup" for op in added.applied)
        if added.pending:
            return
        if not self._request.dry_run:
            # Fault (B33): a crash between the two edits must not lose a section. Only
            # sections that the target has on disk may leave the source.
            moves = self._arrived(target, moves)
        if moves:
            removed = self._edit(source, moves)
            self._report.moved = sum(op.outcome == "applied" for op in removed.applied)

    def _arrived(
        self, target: str, moves: "tuple[commands.SectionMove, ...]"
    ) -> "tuple[commands.SectionMove, ...]":
        note = self._edits.editor.there(target)
        if note is None:
            return ()
        return tuple(move for move in moves if move_sections.stands_in(note.raw, move))

    def _edit(self, note: str, moves: "tuple[commands.SectionMove, ...]") -> "Edit":
        editor = self._edits.editor
        now = self._request.now
        report = self._report
        reason = REASON.format(target=moves[0].target)
        action = commands.MoveSections(moves)
        command = editor.new_command(note, "cli", now, action, why=reason)
        edit = editor.run(command, now, commands.RunOptions(dry_run=self._request.dry_run))
        if edit.changed:
            report.notes.append(note)
            report.diff += edit.diff
        for refused in edit.rejected:
            report.skip(note, refused.reason)
        for op in edit.pending[:1]:
            report.skip(note, f"waits until the note is free: {op.reason}")
        return edit
