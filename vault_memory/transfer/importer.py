"""Import: what another system knew becomes lines of notes and facts, as a person's act that can be taken back."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.edits.calls import aware as moment
from vault_memory.errors import NoteUnreadable, UsageError, VaultMemoryError
from vault_memory.lazy import lazy_module
from vault_memory.markdown.document import parse
from vault_memory.markdown.items import normalised
from vault_memory.markdown.note_items import folded, items_of
from vault_memory.rules.facts.fact import snake_case
from vault_memory.rules.paths.filenames import inside
from vault_memory.transfer.exporter import Skipped
from vault_memory.transfer.istota import Known, Piece, read_istota

if TYPE_CHECKING:
    from vault_memory.edits import commands
    from vault_memory.edits.calls import EditCalls
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.plans import fact_edits
    from vault_memory.facts import entity_info
    from vault_memory.learning import note_lines
    from vault_memory.markdown.document import SectionedDoc
    from vault_memory.rules.facts import fact_page
    from vault_memory.rules.facts.fact import Fact
    from vault_memory.rules.paths import scope_notes
    from vault_memory.rules.paths.scope_notes import Places
    from vault_memory.transfer import persona as transfer_persona
    from vault_memory.transfer import workspace
else:
    commands = lazy_module("vault_memory.edits.commands")
    fact_edits = lazy_module("vault_memory.edits.plans.fact_edits")
    entity_info = lazy_module("vault_memory.facts.entity_info")
    note_lines = lazy_module("vault_memory.learning.note_lines")
    fact_page = lazy_module("vault_memory.rules.facts.fact_page")
    scope_notes = lazy_module("vault_memory.rules.paths.scope_notes")
    transfer_persona = lazy_module("vault_memory.transfer.persona")
    workspace = lazy_module("vault_memory.transfer.workspace")

HEADING = "Imported"
UNDATED = "imported.md"
"""Beside the dated notes, for what is kept for good"""
WHY = "imported from {name}"
LONG_ENOUGH = 20
"""Letters of a text that, once found within a note, is taken for known"""


class NoSource(UsageError):
    """What is to be imported is not there, or nothing that can be read."""

    def __init__(self, source: Path) -> None:
        super().__init__(
            f"there is no file or folder `{source}`",
            hint="name a database of Istota, or a workspace",
        )


@dataclass(slots=True)
class Imported:
    """What came in, or with a dry run would."""

    facts: int = 0
    items: int = 0
    known: int = 0
    """facts and items that were there already"""
    notes: list[str] = field(default_factory=list)
    """that were written"""
    copies: list[str] = field(default_factory=list)
    """conflict copies beside notes that say something else"""
    left: list[str] = field(default_factory=list)
    """files of a workspace that are no memory"""
    skipped: list[Skipped] = field(default_factory=list)
    moved: int = 0
    """sections that went from one note to another"""
    diff: str = ""
    """of the notes between which they went"""


def import_from(
    edits: "EditCalls",
    source: Path,
    *,
    scopes: Collection[str] | None,
    now: datetime | None,
    dry_run: bool,
) -> Imported:
    """Take in a workspace, or the facts and chunks of a database. Raises NoSource, NoWorkspace, ForeignDatabase."""
    if isinstance(scopes, str):
        raise UsageError(
            f"`scopes` is a list of scopes, not {scopes!r}",
            hint="None means all of the source",
        )
    if persona := transfer_persona.own_persona(edits, source):
        return transfer_persona.move_compactions(
            edits, persona, scopes=scopes, now=moment(now), dry_run=dry_run
        )
    if source.is_dir():
        return workspace.import_workspace(
            edits, source, scopes=scopes, now=moment(now), dry_run=dry_run
        )
    if source.name == "CLAUDE.md" and source.is_file():
        return workspace.import_persona(
            edits, source, scopes=scopes, now=moment(now), dry_run=dry_run
        )
    if not source.is_file():
        raise NoSource(source)
    work = _Work(edits, source.name, moment(now), dry_run)
    known = read_istota(source)
    owners = sorted(
        {
            *(fact.scope for fact in known.facts),
            *(piece.scope for piece in known.pieces),
        }
    )
    for scope in owners:
        if scopes is None or scope in scopes:
            work.take(scope, known)
    return work.done


class _Work:
    """One import."""

    def __init__(
        self, edits: "EditCalls", name: str, now: datetime, dry_run: bool
    ) -> None:
        self._edits, self._now, self._dry_run = edits, now, dry_run
        self._why = WHY.format(name=name)
        self.done = Imported()

    def take(self, scope: str, known: Known) -> None:
        """All that one owner has."""
        paths = list(self._edits.vault.folder.listing().entries)
        places = scope_notes.places_of(scope, paths, self._edits.vault.layout)
        try:
            self._check(scope, places.facts, "facts")
        except VaultMemoryError as error:
            self.done.skipped.append(Skipped(scope, error.message))
            return
        if facts := [fact for fact in known.facts if fact.scope == scope]:
            with self._or_skip(places.facts):
                self._state(places.facts, scope, facts)
        by_note: dict[str, list[Piece]] = {}
        for piece in known.pieces:
            if piece.scope == scope:
                by_note.setdefault(_note_of(places, piece), []).append(piece)
        for note, pieces in sorted(by_note.items()):
            with self._or_skip(note):
                self._add(note, places, pieces)

    @contextmanager
    def _or_skip(self, note: str) -> Iterator[None]:
        """A note that cannot be read or written keeps nothing else from coming."""
        try:
            yield
        except NoteUnreadable as error:
            self.done.skipped.append(Skipped(note, error.reason))

    def _check(self, scope: str, path: str, kind: str) -> None:
        place = self._edits.vault.layout.place(inside(path))
        if place is None or (place.kind, place.scope) != (kind, scope):
            raise UsageError(f"there is no place for {scope!r} in this vault")

    # ---- facts ----------------------------------------------------------------------------------------------------

    def _state(self, page: str, scope: str, facts: "Sequence[Fact]") -> None:
        """All facts of an owner in one run, the oldest first."""
        settings = self._edits.vault.config.facts
        single = frozenset(map(snake_case, settings.single_valued))
        rules = entity_info.FactRules(self._now.date(), single, settings.conflicts)
        there = self._there(page)
        wishes = []
        for fact in facts:
            try:
                entity_info.check(fact)
            except UsageError as error:
                self.done.skipped.append(Skipped(page, error.message))
                continue
            if there and fact_page.is_said(there, fact):
                self.done.known += 1
            else:
                wishes.append(fact_edits.wish_of("add", scope, rules, fact=fact))
        if not wishes:
            return
        edit = self._run(page, commands.ChangeFacts(tuple(wishes)))
        took = 0
        for done in edit.applied:
            words = done.remark.split()
            took += words[:1] == [fact_edits.ABOUT] and words[-1] != "duplicate"
        self.done.facts += took
        self.done.known += (
            0
            if edit.pending
            else len(wishes) - took - len(edit.rejected) - len(edit.proposed)
        )

    def _there(self, page: str) -> "SectionedDoc | None":
        note = self._edits.editor.there(page)
        return parse(note.raw) if note else None

    # ---- text -----------------------------------------------------------------------------------------------------

    def _add(self, note: str, places: "Places", pieces: Iterable[Piece]) -> None:
        """The pieces that neither the note nor the profile says, as items."""
        raws = {
            path: found.raw
            for path in (note, places.profile)
            if (found := self._edits.editor.there(path))
        }
        text = "\n".join(
            folded(raw.decode("utf-8", "replace")) for raw in raws.values()
        )
        said = {
            normalised(item.text)
            for raw in raws.values()
            for item in items_of(parse(raw))
        }
        lines = []
        for piece in pieces:
            line = f"{piece.text} ({piece.marks})" if piece.marks else piece.text
            key = normalised(line)
            if key in said or (
                len(piece.text) >= LONG_ENOUGH and folded(piece.text) in text
            ):
                self.done.known += 1
                continue
            said.add(key)
            lines.append(line)
        if lines:
            edit = self._run(
                note,
                commands.ApplyOps(
                    tuple(
                        note_lines.ops_for(parse(raws.get(note, b"")), HEADING, lines)
                    )
                ),
            )
            self.done.items += sum(done.outcome == "applied" for done in edit.applied)
            self.done.known += sum(done.outcome != "applied" for done in edit.applied)

    def _run(self, note: str, action: "commands.EditAction") -> "Edit":
        curator = self._edits.editor
        run = curator.new_command(note, "cli", self._now, action, why=self._why)
        edit = curator.run(run, self._now, dry_run=self._dry_run, idle=False)
        if any(done.outcome == "applied" for done in edit.applied):
            self.done.notes.append(note)
        self.done.skipped += [
            Skipped(note, refused.reason) for refused in edit.rejected
        ]
        self.done.skipped += [
            Skipped(note, f"waits for your decision: {one.id}") for one in edit.proposed
        ]
        self.done.skipped += [
            Skipped(note, f"waits until the note is free: {one.reason}")
            for one in edit.pending[:1]
        ]
        return edit


def _note_of(places: "Places", piece: Piece) -> str:
    if piece.day:
        return places.note_of(piece.day)
    return (
        places.profile
        if places.scope.startswith("channel:")
        else places.notes + UNDATED
    )
