"""The calls of VaultMemory about conflict copies, and about what was thrown away."""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from vault_memory.edits.calls import NoteEditCalls, aware
from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.conflict_names import named_copies

if TYPE_CHECKING:
    from vault_memory.edits import conflict_copies as edits_conflict_copies
    from vault_memory.edits import conflict_copy, edit_errors, reports
    from vault_memory.edits.conflict_copies import Conflicts
    from vault_memory.edits.conflict_copy import ConflictCopy, Resolved
    from vault_memory.edits.reports import ThrownNote
    from vault_memory.markdown import note_items
else:
    edits_conflict_copies = lazy_module("vault_memory.edits.conflict_copies")
    conflict_copy = lazy_module("vault_memory.edits.conflict_copy")
    edit_errors = lazy_module("vault_memory.edits.edit_errors")
    reports = lazy_module("vault_memory.edits.reports")
    note_items = lazy_module("vault_memory.markdown.note_items")


class ConflictCalls(NoteEditCalls):
    """What VaultMemory is made of besides."""

    _copies: "Conflicts | None" = None

    @property
    def conflict_copies(self) -> "Conflicts":
        """What finds and resolves them; made when it is first needed."""
        if self._copies is None:
            self._copies = edits_conflict_copies.Conflicts(
                self.curator, self.folder, self.layout
            )
        return self._copies

    def conflicts(self, scopes: Sequence[str] | None = None) -> "list[ConflictCopy]":
        """The conflict copies beside notes, of all scopes or of those named, each with what is to be done about it."""
        with self._there():
            return [
                copy
                for copy in self.conflict_copies.found()
                if scopes is None or copy.scope in scopes
            ]

    def count_conflicts(self) -> int:
        """How many conflict copies there are, by their names alone; cheap."""
        return sum(
            1 for _ in named_copies(self.folder.listing().copies, self.layout.place)
        )

    def merge_conflicts(
        self,
        ids: Iterable[str] = (),
        *,
        both: bool = False,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "list[Resolved]":
        """Merge copies into their notes, one by one, and throw them away; without ids all whose names are certain.

        What both changed is left to a person, unless `both`: then both lines stay, the copy's with a mark. Raises
        UnclearId.
        """
        at = aware(now)
        return self._each(
            ids,
            dry_run,
            at,
            lambda copy: self.conflict_copies.merge(copy, at, both=both),
        )

    def take_conflict(
        self, copy_id: str, *, dry_run: bool = False, now: datetime | None = None
    ) -> "list[Resolved]":
        """Put a copy's text in the place of its note's, which stays in the history. Raises UnclearId."""
        at = aware(now)
        return self._each(
            [copy_id], dry_run, at, lambda copy: self.conflict_copies.take(copy, at)
        )

    def discard_conflicts(
        self, ids: Sequence[str], *, dry_run: bool = False, now: datetime | None = None
    ) -> "list[Resolved]":
        """Throw copies away as they are; they lie in the trash for 30 days. Raises UnclearId."""
        at = aware(now)
        return self._each(
            ids, dry_run, at, lambda copy: self.conflict_copies.discard(copy, at)
        )

    def settle_conflicts(
        self, now: datetime | None = None, *, among: Collection[str] | None = None
    ) -> "list[Resolved]":
        """Resolve the copies that need nobody: those that say nothing new, and those that merge cleanly.

        `among` are the paths of copies that are known already; else the vault is searched for them.
        """
        with self._there():
            paths = self.folder.listing().copies if among is None else among
            named = [path for path, _ in named_copies(paths, self.layout.place)]
            return self.conflict_copies.settle(aware(now), named) if named else []

    def trash(self) -> "list[ThrownNote]":
        """What lies in the trash, the newest first."""
        with self._there():
            writer = self.curator.writer
            found = [
                (one, writer.snapshots.bytes_of(one.revision) or b"")
                for one in writer.thrown()
            ]
        return [
            reports.ThrownNote(one.id, one.path, _ts(one.at), len(raw), one.revision)
            for one, raw in found
        ]

    def untrash(self, thrown_id: str, *, now: datetime | None = None) -> "ThrownNote":
        """Put a note back; beside the one that stands under its name by now, if one does. Raises UnclearId."""
        import secrets

        thrown = {one.id: one for one in self.trash()}
        found = note_items.resolve(thrown_id, thrown)
        if not found.id:
            raise edit_errors.UnclearId(
                "note in the trash",
                thrown_id,
                found.candidates,
                "`vault-memory trash` lists them",
            )
        with self._there():
            op_id = f"untrash-{secrets.token_hex(8)}"
            done = self.curator.writer.untrash(found.id, now=aware(now), op_id=op_id)
            self._learn(done.path)
        outcome = {"pending": "pending", "copied": "beside"}.get(
            done.outcome, "restored"
        )
        from dataclasses import replace  # only here: a hook would wait for it

        return replace(thrown[found.id], outcome=outcome, why=done.explanation)

    def _each(
        self,
        ids: Iterable[str],
        dry_run: bool,
        now: datetime,
        resolve: "Callable[[ConflictCopy], Resolved]",
    ) -> "list[Resolved]":
        with self._there():
            copies = self.conflict_copies
            if not dry_run:
                self.curator.tend(now)
            named = list(ids)
            wanted = (
                [copies.find(one) for one in named]
                if named
                else [one for one in copies.found() if one.sure]
            )
            if dry_run:
                return [
                    conflict_copy.Resolved(copy, "none", copy.why) for copy in wanted
                ]
            fresh = (copies.again(copy) for copy in wanted)
            return [resolve(copy) for copy in fresh if copy is not None]

    def _close_editing(self) -> None:
        self._copies = None
        super()._close_editing()


def _ts(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
