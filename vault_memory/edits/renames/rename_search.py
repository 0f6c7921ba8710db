"""Searches a vault for the notes that continue the pasts of others: collects what is known of both."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.renames import renamed_notes as pairing
from vault_memory.errors import NoteNotFound, NoteUnreadable
from vault_memory.markdown import note_items
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.listing import Listing, Stat
from vault_memory.vault.reader import LARGEST_STORED, Folder, Note
from vault_memory.vault.snapshots import Snapshots
from vault_memory.vault.write.journal import GONE, RENAMED
from vault_memory.vault.write.writer import Writer

if TYPE_CHECKING:
    from vault_memory.edits.renames.renamed_notes import FoundNote, LostPast

GRACE = timedelta(days=1)
"""A note that appears so long after another one was found to be gone does not continue it"""


class Sight(NamedTuple):
    """What a look at the vault found."""

    listing: Listing
    notes: Mapping[str, Stat]
    """all files, those of audits as well"""
    audits: frozenset[str]
    """notes that have audit files"""
    seen: Mapping[str, Sequence[Any]]
    """newest revision and inode in the journal, by path: at first only where it differs"""

    def is_gone(self, path: str) -> bool:
        """Whether there is certainly no note at a path."""
        if path in self.notes or path in self.listing.links:
            return False
        return self.listing.covers(path)

    def is_changed(self, path: str, last: Sequence[Any]) -> bool:
        """Whether no file, or another one, is where one was seen last."""
        return path not in self.notes or last[1] not in (0, self.notes[path].ino)

    def appeared(self, path: str) -> float:
        """Returns when a note got its name or its text, at the latest."""
        return self.notes[path].ctime_ns / 1e9

    def missing(self) -> list[str]:
        """Returns the paths of which something is known, and that no note has."""
        return sorted(filter(self.is_gone, self.audits | self.seen.keys()))


@dataclass(frozen=True, slots=True)
class KnownNotes:
    """What the vault, its audit and the journal know of notes."""

    folder: Folder
    layout: Layout
    trail: AuditLog
    writer: Callable[[], Writer]

    def read(self, path: str) -> Note | None:
        """Returns a note; None when it cannot be read."""
        try:
            return self.folder.read(path, max_bytes=LARGEST_STORED)
        except (NoteNotFound, NoteUnreadable):
            return None

    def owner(self, path: str) -> tuple[str | None, str]:
        """Returns the scope of a path, and its day."""
        place = self.layout.place(path)
        if place is None:
            return None, ""
        return place.scope, str(place.date or "")

    @property
    def snapshots(self) -> Snapshots:
        """The stored versions."""
        return self.writer().snapshots

    def is_another(self, note: Note, revision: str, ino: int) -> bool:
        """Whether a file is another note than the one that was seen last at its path."""
        if revision == note.revision or ino in (0, note.stat.ino):
            return False
        # Fault: many editors save a new file under the old name. That is the same note
        # as long as it has enough of the text.
        last = self.snapshots.bytes_of(revision)
        if last is None:
            return False
        return (
            note_items.share_kept(note_items.line_counts(last), note_items.line_counts(note.raw))
            < note_items.RENAMED_SHARE
        )

    def was_taken_away(self, path: str) -> bool:
        """Whether the last record of a note took it away, so that it was not renamed."""
        records = self.trail.of(path)
        return bool(records) and not pairing.newest_revision(records)

    def is_note(self, path: str) -> bool:
        """Whether a path is that of a note, and not of a log, an INBOX page or a conflict copy."""
        if not path.endswith(MARKDOWN) or conflict_copy(path.rpartition("/")[2]):
            return False
        place = self.layout.place(path)
        return place is None or place.kind != "inbox"


@dataclass(slots=True)
class RenameSearch:
    """One search for the notes that continue the pasts of others."""

    vault: KnownNotes
    sight: Sight
    lost: Sequence[str] = ()
    """paths that are gone"""

    def renamed(self) -> dict[str, str]:
        """Returns the new path of each past that was found."""
        self.lost = [
            path
            for path in self.sight.missing()
            if self.vault.is_note(path)
            and not (path in self.sight.audits and self.vault.was_taken_away(path))
        ]
        # Another note has the name of one that was seen there.
        displaced = [
            path
            for path in sorted(self.sight.seen.keys() & self.sight.notes.keys())
            if self.sight.is_changed(path, last := self.sight.seen[path])
            and self.vault.is_note(path)
            and (note := self.vault.read(path))
            and self.vault.is_another(note, *last)
        ]
        paths = (*self.lost, *displaced)
        if not paths:
            return {}
        since = self.vault.writer().journal.states(GONE)
        pasts = [self._past(path, _until(since.get(path))) for path in paths]
        return pairing.renamed_notes(pasts, list(self._notes(pasts, displaced)))

    def has_own_audit(self, path: str) -> bool:
        """Whether the audit files at a path are those of the note that was there."""
        if path in self.lost:
            return True
        # Fault: two notes swapped their names, and another device let their audits follow
        # already.
        records = self.vault.trail.of(path)
        versions = {version.revision for version in self.vault.snapshots.chain(path)}
        return not versions.isdisjoint(pairing.revisions_in(records))

    def _past(self, path: str, until: float) -> "LostPast":
        revision, ino = self.sight.seen.get(path, ("", 0))
        records = self.vault.trail.of(path) if path in self.sight.audits else ()
        raw = self.vault.snapshots.bytes_of(revision) if revision else None
        lines = pairing.lines_left(records) if raw is None else note_items.line_counts(raw)
        scope, day = self.vault.owner(path)
        newest = frozenset(filter(None, (revision, pairing.newest_revision(records))))
        has_audit = path in self.sight.audits
        return pairing.LostPast(path, newest, ino, lines, day, scope, has_audit, until)

    def _notes(
        self, pasts: "Sequence[LostPast]", displaced: Sequence[str]
    ) -> "Iterator[FoundNote]":
        """Yields the notes that may continue these pasts."""
        continued = self._continued(pasts)
        arrived = self._arrived(pasts).union(displaced)
        for path in self.sight.notes:
            is_new = path in arrived
            if not (is_new or path in continued) or not self.vault.is_note(path):
                continue
            note = self.vault.read(path)
            if note is None:
                continue
            revision = note.revision
            # Fault: the note has an audit of its own that ends with this text. A deleted
            # note with the same text was another one.
            if path in self.sight.audits:
                own = pairing.revisions_in(self.vault.trail.of(path))
                revision = "" if revision in own else revision
            scope, day = self.vault.owner(path)
            yield pairing.FoundNote(
                path,
                revision,
                note.stat.ino,
                note_items.line_counts(note.raw),
                is_new,
                frozenset(continued.get(path, ())),
                day,
                scope,
                self.sight.appeared(path),
            )

    def _arrived(self, pasts: "Sequence[LostPast]") -> set[str]:
        """Returns the notes of which nothing was known, or only since the others are gone."""
        known_paths = self.sight.seen.keys() | self.sight.audits
        paths_by_trait: dict[str | int, list[str]] = {}
        for past in pasts:
            for trait in past.traits:
                paths_by_trait.setdefault(trait, []).append(past.path)
        arrived = self.sight.notes.keys() - known_paths
        # Fault: a sync program or a daemon has seen the note under its new name already.
        # A copy that was there before is no rename.
        for path in self.sight.seen.keys() & self.sight.notes.keys():
            earlier = [
                old for trait in self.sight.seen[path] for old in paths_by_trait.get(trait, ())
            ]
            is_later = self.vault.snapshots.is_later
            if path not in self.sight.audits and any(is_later(path, old) for old in earlier):
                arrived.add(path)
        return arrived

    def _continued(self, pasts: "Sequence[LostPast]") -> dict[str, set[str]]:
        """Returns the notes that certainly continue pasts: their audit files say so."""
        continued: dict[str, set[str]] = {}
        recorded = self.vault.writer().journal.recorded()
        before = self.vault.writer().journal.states(RENAMED)
        for past in pasts:
            if past.path in self.sight.notes:
                continue
            present = self.sight.audits | {before.get(past.path, "")}
            for path in self._with_its_versions(past) & self.sight.notes.keys():
                continued.setdefault(path, set()).add(past.path)
            for path in self._heirs(past, recorded, before, present):
                continued.setdefault(path, set()).add(past.path)
        return continued

    def _heirs(
        self,
        past: "LostPast",
        recorded: Mapping[str, str],
        before: Mapping[str, str],
        present: Set[str],
    ) -> Iterator[str]:
        """Yields the notes whose audit files have records of this past."""
        last = recorded.get(past.path)
        for path in present & self.sight.notes.keys():
            if self.sight.appeared(path) >= past.until:
                continue
            is_known = path in self.sight.seen and not self.vault.snapshots.is_later(
                path, past.path
            )
            # Fault: an audit file came later than its note, or another device added a
            # record under the old name.
            if is_known and before.get(past.path) != path:
                continue
            records = self.vault.trail.of(path)
            has_record = any(last in (record.id, *record.folded) for record in records)
            own = self._all_revisions(path)
            # Fault: a copy of the note has its own audit, which begins with the same text.
            if past.has_audit and before.get(past.path) != path and records:
                own.discard(records[0].before)
            theirs = past.revisions | self._all_revisions(past.path)
            if has_record or not own.isdisjoint(theirs):
                yield path

    def _with_its_versions(self, past: "LostPast") -> set[str]:
        """Returns the notes without an audit that had a version which the audit of a past names."""
        if not past.has_audit:
            return set()
        records = self.vault.trail.of(past.path)
        # Fault: a copy has the text with which the audit begins, and so has each note
        # that was made from one template.
        revisions = pairing.revisions_in(records) - {records[0].before} if records else set()
        paths = set().union(*map(self.vault.snapshots.paths_with, revisions))
        return paths - self.sight.audits

    def _all_revisions(self, path: str) -> set[str]:
        """Returns all revisions that a note is known to have had."""
        revisions = {version.revision for version in self.vault.snapshots.chain(path)}
        if path in self.sight.audits:
            revisions |= pairing.revisions_in(self.vault.trail.of(path))
        return revisions


def _until(moment: str | None) -> float:
    """Returns the time before which a note has to appear, to continue one that is gone since a moment."""
    if moment is None:
        return float("inf")
    return (datetime.fromisoformat(moment) + GRACE).timestamp()
