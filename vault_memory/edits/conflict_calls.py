"""Calls on conflict copies and on the trash."""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from vault_memory.edits import conflict_copies as edits_conflict_copies
from vault_memory.edits import conflict_copy, edit_errors, reports
from vault_memory.edits.audit import scope_filter
from vault_memory.edits.calls import EditCalls, aware
from vault_memory.markdown import note_items
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.paths.conflict_names import named_copies

if TYPE_CHECKING:
    from vault_memory.edits.audit.scope_filter import ScopeFilter
    from vault_memory.edits.conflict_copies import Conflicts
    from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict
    from vault_memory.edits.reports import ThrownNote

UNTRASH_OUTCOMES = {"pending": "pending", "copied": "beside"}
"""The write's outcome -> the outcome in the report; else `restored`"""


@checked_calls
class ConflictCalls:
    """Find and resolve the conflict copies of one vault, and restore notes from its trash."""

    def __init__(self, edits: EditCalls) -> None:
        self.vault = edits.vault
        self._edits = edits
        self._copies: Conflicts | None = None

    def close(self) -> None:
        """Drop the resolver with its editor."""
        self._copies = None

    @property
    def copies(self) -> "Conflicts":
        """The resolver of conflict copies; made when it is first needed."""
        if self._copies is None:
            self._copies = edits_conflict_copies.Conflicts(
                self._edits.editor, self.vault.folder, self.vault.layout
            )
        return self._copies

    def __call__(self, scopes: Sequence[str] | None = None) -> "list[ConflictCopy]":
        """List the conflict copies beside notes, of all scopes or of `scopes`, each with a proposed resolution."""
        with self._edits.transaction():
            return self._list(scopes)

    def count(self) -> int:
        """Count the conflict copies by their names alone; cheap."""
        copies = self.vault.folder.listing().copies
        return sum(1 for _ in named_copies(copies, self.vault.layout.place))

    def merge(
        self,
        ids: Iterable[str] = (),
        *,
        both: bool = False,
        dry_run: bool = False,
        now: datetime | None = None,
        scopes: Sequence[str] | None = None,
    ) -> "list[ResolvedConflict]":
        """Merge copies into their notes and move them to the trash; without ids all whose names are certain.

        Lines that both changed are left to a person, unless `both`: then both lines stay, the copy's with a mark.
        Raises UnclearId.
        """
        moment = aware(now)
        return self._resolve(
            self._choice(ids, scopes),
            dry_run,
            moment,
            lambda copy: self.copies.merge(copy, moment, both=both),
        )

    def take(
        self,
        copy_id: str,
        *,
        dry_run: bool = False,
        now: datetime | None = None,
        scopes: Sequence[str] | None = None,
    ) -> "list[ResolvedConflict]":
        """Replace a note's text with its copy's; the replaced text stays in the history. Raises UnclearId."""
        moment = aware(now)
        return self._resolve(
            self._choice([copy_id], scopes),
            dry_run,
            moment,
            lambda copy: self.copies.take(copy, moment),
        )

    def discard(
        self,
        ids: Sequence[str],
        *,
        dry_run: bool = False,
        now: datetime | None = None,
        scopes: Sequence[str] | None = None,
    ) -> "list[ResolvedConflict]":
        """Move copies to the trash as they are; the trash keeps them for 30 days. Raises UnclearId."""
        moment = aware(now)
        return self._resolve(
            self._choice(ids, scopes),
            dry_run,
            moment,
            lambda copy: self.copies.discard(copy, moment),
        )

    def settle(
        self, now: datetime | None = None, *, among: Collection[str] | None = None
    ) -> "list[ResolvedConflict]":
        """Resolve the copies that need no person: those without new text, and those that merge cleanly.

        `among` are the paths of copies that the caller has listed; else the vault is searched for them.
        """
        with self._edits.transaction():
            paths = self.vault.folder.listing().copies if among is None else among
            copies = named_copies(paths, self.vault.layout.place)
            names = [path for path, _ in copies]
            return self.copies.settle(aware(now), names) if names else []

    def trash(self, scopes: Sequence[str] | None = None) -> "list[ThrownNote]":
        """List the trash, newest first."""
        with self._edits.transaction():
            chosen = self._filter(scopes)
            writer = self._edits.editor.writer
            return [
                reports.ThrownNote(
                    entry.id,
                    entry.path,
                    _timestamp(entry.at),
                    len(writer.snapshots.bytes_of(entry.revision) or b""),
                    entry.revision,
                )
                for entry in writer.thrown()
                if chosen is None or chosen.has_file(entry.path)
            ]

    def untrash(
        self, thrown_id: str, *, now: datetime | None = None, scopes: Sequence[str] | None = None
    ) -> "ThrownNote":
        """Restore a note from the trash, beside the note that has its name now, if any. Raises UnclearId."""
        thrown = {entry.id: entry for entry in self.trash(scopes)}
        match = note_items.resolve(thrown_id, thrown)
        if not match.id:
            raise edit_errors.UnclearId(
                "note in the trash", thrown_id, match.candidates, "`vault-memory trash` lists them"
            )
        with self._edits.transaction():
            op_id = f"untrash-{os.urandom(8).hex()}"
            result = self._edits.editor.writer.untrash(match.id, now=aware(now), op_id=op_id)
            self.vault.reindex(result.path)
        entry = thrown[match.id]
        return reports.ThrownNote(
            entry.id,
            entry.note,
            entry.ts,
            entry.bytes,
            entry.revision,
            outcome=UNTRASH_OUTCOMES.get(result.outcome, "restored"),
            why=result.explanation,
        )

    def _resolve(
        self,
        choose: "Callable[[], list[ConflictCopy]]",
        dry_run: bool,
        moment: datetime,
        resolve: "Callable[[ConflictCopy], ResolvedConflict]",
    ) -> "list[ResolvedConflict]":
        with self._edits.transaction():
            if not dry_run:
                self._edits.editor.tend(moment)
            chosen = choose()
            if dry_run:
                return [conflict_copy.ResolvedConflict(copy, "none", copy.why) for copy in chosen]
            # Read again one by one: the resolution of one copy may change what another one still adds.
            current = (self.copies.read_again(copy) for copy in chosen)
            return [resolve(copy) for copy in current if copy is not None]

    def _choice(
        self, ids: Iterable[str], scopes: Sequence[str] | None
    ) -> "Callable[[], list[ConflictCopy]]":
        """A call that gives the copies of these ids, else all whose names are certain. It raises UnclearId."""
        wanted = list(ids)

        def choose() -> "list[ConflictCopy]":
            copies = self._list(scopes)
            if wanted:
                return [edits_conflict_copies.find_copy(copies, copy_id) for copy_id in wanted]
            return [copy for copy in copies if copy.sure]

        return choose

    def _list(self, scopes: Sequence[str] | None) -> "list[ConflictCopy]":
        chosen = self._filter(scopes)
        return [
            copy
            for copy in self.copies.list_all()
            if chosen is None or chosen.opens_note(copy.note)
        ]

    def _filter(self, scopes: Sequence[str] | None) -> "ScopeFilter | None":
        if scopes is None:
            return None
        layout = self.vault.layout
        return scope_filter.ScopeFilter(layout, scopes, self._edits.editor.real)


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
