"""Calls on conflict copies and on the trash."""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

from vault_memory.edits import audit_log, conflict_copy, reports
from vault_memory.edits import conflict_copies as edits_conflict_copies
from vault_memory.edits.calls import CallKeywords, EditCalls, aware
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.paths.conflict_names import named_copies

if TYPE_CHECKING:
    from vault_memory.edits.conflict_copies import Conflicts
    from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict
    from vault_memory.edits.plans.copy_places import PlaceChoice
    from vault_memory.edits.reports import ThrownNote

TRASH = "`vault-memory trash` lists them"
UNTRASH_OUTCOMES = {"pending": "pending", "copied": "beside"}
"""The write's outcome -> the outcome in the report; else `restored`"""


@checked_calls
class ConflictCalls:
    """Find and resolve the conflict copies of one vault, and restore notes from its trash."""

    def __init__(self, edits: EditCalls) -> None:
        self.vault = edits.vault
        self._edits = edits

    def close(self) -> None:
        """Drop the resolver with its editor."""
        vars(self).pop("copies", None)

    @cached_property
    def copies(self) -> "Conflicts":
        """The resolver of conflict copies; made when it is first needed."""
        return edits_conflict_copies.Conflicts(
            self._edits.editor, self.vault.folder, self.vault.layout
        )

    def __call__(self, scopes: Sequence[str] | None = None) -> "list[ConflictCopy]":
        """List the conflict copies beside notes, of all scopes or of `scopes`, each with a proposed resolution."""
        with self._edits.transaction():
            return self._list(scopes)

    def count(self) -> int:
        """Count the conflict copies by their names alone; cheap."""
        return len(list(named_copies(self.vault.folder.listing().copies, self.vault.layout.place)))

    def merge(
        self, ids: Iterable[str] = (), *, both: bool = False, **keywords: Unpack[CallKeywords]
    ) -> "list[ResolvedConflict]":
        """Merge copies into their notes and move them to the trash; without ids all whose names are certain.

        Lines that both changed are left to a person, unless `both`: then both lines stay, the copy's with a mark.
        Raises UnclearId.
        """
        return self._resolve(
            ids, lambda copy, moment: self.copies.merge(copy, moment, both=both), **keywords
        )

    def take(self, copy_id: str, **keywords: Unpack[CallKeywords]) -> "list[ResolvedConflict]":
        """Replace a note's text with its copy's; the replaced text stays in the history. Raises UnclearId."""
        return self._resolve([copy_id], self.copies.take, **keywords)

    def discard(
        self, ids: Sequence[str], **keywords: Unpack[CallKeywords]
    ) -> "list[ResolvedConflict]":
        """Move copies to the trash as they are; the trash keeps them for 30 days. Raises UnclearId."""
        return self._resolve(ids, self.copies.discard, **keywords)

    def settle_place(
        self, copy_id: str, place_id: str, choice: "PlaceChoice", **keywords: Unpack[CallKeywords]
    ) -> "list[ResolvedConflict]":
        """Decide one place where a copy differs: `keep` the note's lines, `take` the copy's, or `both`.

        After the last place the copy goes to the trash. Raises UnclearId, UsageError, SaveConflict.
        """
        return self._resolve(
            [copy_id],
            lambda copy, moment: self.copies.settle_place(copy, place_id, choice, moment),
            **keywords,
        )

    def settle(
        self, now: datetime | None = None, *, among: Collection[str] | None = None
    ) -> "list[ResolvedConflict]":
        """Resolve the copies that need no person: those without new text, and those that merge cleanly.

        `among` are the paths of copies that the caller has listed; else the vault is searched for them.
        """
        with self._edits.transaction():
            paths = self.vault.folder.listing().copies if among is None else among
            return self.copies.settle(aware(now), paths) if paths else []

    def trash(self, scopes: Sequence[str] | None = None) -> "list[ThrownNote]":
        """List the trash, newest first."""
        with self._edits.transaction():
            chosen = self._edits.chosen(scopes)
            writer = self._edits.editor.writer
            return [
                reports.ThrownNote(
                    entry.id,
                    entry.path,
                    datetime.fromtimestamp(entry.at, UTC).isoformat(timespec="seconds"),
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
        match = audit_log.only_match("note in the trash", thrown_id, thrown, TRASH)
        with self._edits.transaction():
            op_id = f"untrash-{os.urandom(8).hex()}"
            result = self._edits.editor.writer.untrash(match.id, now=aware(now), op_id=op_id)
            self.vault.reindex(result.path)
        outcome = UNTRASH_OUTCOMES.get(result.outcome, "restored")
        return replace(match, outcome=outcome, why=result.explanation)

    def _resolve(
        self,
        ids: Iterable[str],
        resolve: "Callable[[ConflictCopy, datetime], ResolvedConflict]",
        **keywords: Unpack[CallKeywords],
    ) -> "list[ResolvedConflict]":
        """Resolve the copies of these ids, else all whose names are certain. Raises UnclearId."""
        moment, dry_run = aware(keywords.get("now")), keywords.get("dry_run")
        wanted = list(ids)
        with self._edits.transaction():
            if not dry_run:
                self._edits.editor.tend(moment)
            copies = self._list(keywords.get("scopes"))
            if wanted:
                chosen = [edits_conflict_copies.find_copy(copies, copy_id) for copy_id in wanted]
            else:
                chosen = [copy for copy in copies if copy.sure]
            if dry_run:
                return [conflict_copy.ResolvedConflict(copy, "none", copy.why) for copy in chosen]
            # Read again one by one: the resolution of one copy may change what another one still adds.
            current = (self.copies.read_again(copy) for copy in chosen)
            return [resolve(copy, moment) for copy in current if copy is not None]

    def _list(self, scopes: Sequence[str] | None) -> "list[ConflictCopy]":
        chosen = self._edits.chosen(scopes)
        return [
            copy
            for copy in self.copies.list_all()
            if chosen is None or chosen.opens_note(copy.note)
        ]
