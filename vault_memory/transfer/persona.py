"""SOUL.md says who the bot is. Summaries of conversations that an older bot left there go to MEMORY.md, on request."""

import re
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.lazy import lazy_module
from vault_memory.markdown.document import parse
from vault_memory.transfer.exporter import Skipped
from vault_memory.transfer.importer import Imported

if TYPE_CHECKING:
    from vault_memory.edits import commands
    from vault_memory.edits.calls import EditCalls
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.plans import move_sections
    from vault_memory.rules.paths import scope_notes
else:
    commands = lazy_module("vault_memory.edits.commands")
    move_sections = lazy_module("vault_memory.edits.plans.move_sections")
    scope_notes = lazy_module("vault_memory.rules.paths.scope_notes")

COMPACTION = re.compile(r"session compaction\b", re.IGNORECASE)
"""With this the headings of such summaries begin"""
WHY = "summaries of conversations belong to {target}"


def own_persona(edits: "EditCalls", source: Path) -> str:
    """The path of the vault's own persona, when that is what is meant; else empty."""
    root = Path(edits.vault.root).resolve()
    named = source if source.exists() or source.is_absolute() else root / source
    try:
        path = named.resolve().relative_to(root).as_posix()
    except (ValueError, OSError):
        return ""
    place = edits.vault.layout.place(path)
    return (
        path
        if place is not None and place.kind == "persona" and named.is_file()
        else ""
    )


def move_compactions(
    edits: "EditCalls",
    persona: str,
    *,
    scopes: Collection[str] | None,
    now: datetime,
    dry_run: bool,
) -> Imported:
    """Move the sections: first they stand in both notes, then in one. Begun again, it goes on where it was."""
    done = Imported()
    if not dry_run:
        edits.editor.tend(now)  # what a crash left without its record gets it
    place, note = edits.vault.layout.place(persona), edits.editor.there(persona)
    if (
        place is None
        or note is None
        or (scopes is not None and place.scope not in scopes)
    ):
        return done
    target = scope_notes.places_of(
        place.scope, list(edits.vault.folder.listing().entries), edits.vault.layout
    ).profile
    sections = [one for one in parse(note.raw).sections if COMPACTION.match(one.name)]
    moves = move_sections.moves_of(sections, persona, target)
    if moves and not _run(edits, done, target, moves, now, dry_run=dry_run).pending:
        if not dry_run:
            there = edits.editor.there(target)
            moves = tuple(
                move
                for move in moves
                if there is not None and move_sections.stands_in(there.raw, move)
            )
        if moves:
            left = _run(edits, done, persona, moves, now, dry_run=dry_run)
            done.moved = sum(one.outcome == "applied" for one in left.applied)
    return done


def _run(
    edits: "EditCalls",
    done: Imported,
    note: str,
    moves: "tuple[commands.SectionMove, ...]",
    now: datetime,
    *,
    dry_run: bool,
) -> "Edit":
    target = moves[0].target
    run = edits.editor.new_command(
        note,
        "cli",
        now,
        commands.MoveSections(moves),
        why=WHY.format(target=target),
    )
    edit = edits.editor.run(run, now, dry_run=dry_run)
    if edit.changed:
        done.notes.append(note)
        done.diff += edit.diff
    if note == target:
        done.known = sum(one.outcome == "noop_dup" for one in edit.applied)
    done.skipped += [Skipped(note, refused.reason) for refused in edit.rejected]
    done.skipped += [
        Skipped(note, f"waits until the note is free: {one.reason}")
        for one in edit.pending[:1]
    ]
    return edit
