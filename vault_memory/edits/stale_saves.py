"""Decides whether a save deleted lines of the bot on purpose, or came from an editor that had not loaded them.

Each version that a person puts in place of one of the bot's is judged once. Lines that were lost unseen are written
again where that is certain. In doubt they are proposed in INBOX, and the note stays as it was saved.
"""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from vault_memory.edits.backup_detection import adopt_newer_vault
from vault_memory.edits.commands import ApplyOps, RestoreLines
from vault_memory.edits.edit_errors import NotCurated
from vault_memory.edits.plans.plan import EditPlan
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.edits import stale_save
from vault_memory.rules.edits.ownership import Ownership, replay
from vault_memory.vault import version_distance
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Version
from vault_memory.vault.write.preconditions import HOLD, came_or_went, editor_locks, half_saved

if TYPE_CHECKING:
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.rules.edits.stale_save import SeenVersion, Verdict

logger = logging.getLogger(__name__)

MOST_VERSIONS = 40
"""How many earlier versions may be the one that the editor had loaded"""
QUIET_SECONDS = 0.3
"""A note must be unchanged for this long before missing lines mean anything"""
UNREAD_SECONDS = 2.0
"""Nobody reads a write, deletes from it and saves within this time"""
RECENT_SECONDS = 60.0
"""Within this time after a write, a deletion of its lines is doubtful if the editor may not have loaded them"""
UNSEEN = ""
"""Stands for the revision of the note before the bot made it"""
SET_BACK_SECONDS = 2.0
"""A file whose modification is so much older than its arrival was written elsewhere"""
WHY = "saved from an editor, or by a program, that had not seen what was written"


@dataclass(frozen=True, slots=True)
class _Save:
    """A version that a person saved, and all that its judgement needs."""

    version: Version
    note: Note
    """as it is now"""
    raw: bytes
    earlier: Sequence[Version]
    """the newest first"""
    owned: Ownership

    @property
    def is_current(self) -> bool:
        """Whether the note still has this version."""
        return self.note.revision == self.version.revision

    @property
    def moments(self) -> tuple[float, ...]:
        """Moments at which the version was already there: when it was noticed, and when its file came."""
        if not self.is_current:
            return (self.version.at,)
        return self.version.at, self.note.stat.ctime_ns / 1e9

    def is_within(self, seconds: float, write_time: float) -> bool:
        """Whether the version was there so soon after a write."""
        return any(0 <= moment - write_time < seconds for moment in self.moments)


@dataclass(frozen=True, slots=True)
class _Bases:
    """The versions that an editor may have loaded, the newest first, with their texts."""

    versions: Sequence[Version]
    texts: Mapping[str, bytes]
    """by revision"""

    def seen(self) -> "list[SeenVersion]":
        """Returns the versions in the form of `rules.edits.stale_save`."""
        return [
            stale_save.SeenVersion(self.texts[version.revision], version.by == "bot")
            for version in self.versions
        ]

    def distances(self, raw: bytes) -> Sequence[float]:
        """Returns how far a text is from each of the versions."""
        texts = [self.texts[version.revision] for version in self.versions]
        return version_distance.distances(raw, texts)

    def by_likelihood(self, save: _Save) -> Sequence[int]:
        """Returns the indexes of the versions. Those too new to have been read come last, unless one clearly was."""
        unread = [
            index
            for index, version in enumerate(self.versions)
            if version.by == "bot" and save.is_within(UNREAD_SECONDS, version.at)
        ]
        readable = [index for index in range(len(self.versions)) if index not in unread]
        has_unread_lines = version_distance.contains_new_lines(
            save.raw, self._texts_at(unread), self._texts_at(readable)
        )
        if has_unread_lines:
            return range(len(self.versions))
        return [*readable, *unread]

    def _texts_at(self, indexes: Iterable[int]) -> Iterable[bytes]:
        return (self.texts[self.versions[index].revision] for index in indexes)


class StaleSaveDetector:
    """Judges the saves in one vault; called inside a transaction of the editor."""

    def __init__(self, editor: "NoteEditor") -> None:
        self._editor = editor

    def notice(self, note: Note, head: Version | None, now: datetime) -> bool:
        """Stores a version of a note that is new, so that it is judged. Half a save does not count.

        `head` is the newest version that was seen. Returns whether the note was stored.
        """
        if head is None or head.revision == note.revision:
            return False
        snapshots = self._editor.writer.snapshots
        # Fault (B37): an interrupted write may have made it. Judged as a person's save,
        # it would let the bot doubt its own lines.
        if any(write.path == note.path for write in self._editor.writer.begun()):
            return False
        age = now.timestamp() - note.stat.ctime_ns / 1e9
        last = snapshots.bytes_of(head.revision)
        is_complete = age >= QUIET_SECONDS and not half_saved(note.raw, last)
        # Fault (A3): half a save lacks lines that no person deleted.
        if age < HOLD and not is_complete:
            return False
        snapshots.record_notes([note], at=now.timestamp())
        return True

    def look(self, now: datetime) -> None:
        """Judges all versions that were not judged yet. What is not possible now is tried again later."""
        writer = self._editor.writer
        snapshots = writer.snapshots
        versions = snapshots.unjudged()
        editor = self._editor
        paths = [version.path for version in versions]
        if adopt_newer_vault(writer, editor.trail, editor.folder, paths, now):
            return
        unrecorded = {write.path for write in (*writer.begun(), *writer.finished())}
        for version in versions:
            # Fault (B33): a verdict would change the audit log from which the record of
            # that write is planned.
            if version.path in unrecorded:
                continue
            try:
                is_judged = self._judge(version, now)
            except NotCurated:
                # Fault: of an INBOX page, a missing line is a decision and no stale
                # save.
                is_judged = True
            except (VaultMemoryError, OSError) as error:
                logger.warning(
                    "what `%s` lacks since it was saved cannot be determined yet: %s",
                    version.path,
                    error,
                )
                continue
            if is_judged:
                snapshots.judged(version)

    def _judge(self, version: Version, now: datetime) -> bool:
        """Judges one version. False when that must wait: the note may be away for a moment only."""
        note = self._editor.there(version.path)
        # Fault (C23): the note may be away for a moment only, as in a save by rename.
        if note is None:
            age = now.timestamp() - version.at
            return age >= HOLD and not self._came_or_went(version.path, now)
        snapshots = self._editor.writer.snapshots
        chain = snapshots.chain(version.path)
        records = self._editor.trail.of(version.path)
        save = _Save(
            version,
            note,
            snapshots.bytes_of(version.revision) or b"",
            [earlier for earlier in chain if earlier.id < version.id],
            replay(records),
        )
        verdict, base = self._classify(save)
        match verdict.kind:
            case "stale":
                overwritten = save.earlier[0].revision
                action = RestoreLines(base.revision, overwritten, version.revision)
                command = self._editor.new_command(note.path, "merge", now, action, why=WHY)
                self._editor.carry_out(command, note, now)
            case "undecided":
                ops = stale_save.propose_missing(note.path, verdict.missing, note.raw, records)
                if ops:
                    command = self._editor.new_command(
                        note.path, "proposal", now, ApplyOps(), why=WHY
                    )
                    plan = EditPlan(note.raw, note.raw, proposed=ops)
                    self._editor.record_without_change(command, plan)
        return True

    def _classify(self, save: _Save) -> "tuple[Verdict, Version]":
        """Returns the verdict, and the version that the editor most likely had loaded."""
        snapshots = self._editor.writer.snapshots
        revision = save.version.revision
        if any(earlier.revision == revision for earlier in save.earlier):
            overwritten = save.earlier[0]
            overwritten_raw = snapshots.bytes_of(overwritten.revision) or b""
            verdict = stale_save.classify_revert(save.raw, overwritten_raw, save.owned)
            return verdict, overwritten
        bases = self._possible_bases(save)
        distances = bases.distances(save.raw)
        # `min` takes the first of several equally near versions.
        index = min(bases.by_likelihood(save), key=distances.__getitem__)
        seen = bases.seen()
        is_older = self._is_older(save, bases.versions[:index])
        verdict = stale_save.classify_save(save.raw, seen[: index + 1], save.owned, older=is_older)
        is_recent = save.is_within(RECENT_SECONDS, save.earlier[0].at)
        if verdict.kind != "stale" and (index or is_recent):
            nearness = [distance <= distances[index] for distance in distances]
            verdict = _doubted(verdict, save, seen, nearness)
        return verdict, bases.versions[index]

    def _possible_bases(self, save: _Save) -> _Bases:
        """Returns the versions that the editor may have loaded."""
        snapshots = self._editor.writer.snapshots
        stored = (version for version in save.earlier[1:] if version.kept)
        versions = [save.earlier[0], *islice(stored, MOST_VERSIONS)]
        texts = {
            version.revision: snapshots.bytes_of(version.revision) or b"" for version in versions
        }
        if _may_predate_note(save, texts.values()):
            before_note = replace(save.earlier[-1], revision=UNSEEN, by="person")
            versions.append(before_note)
            texts[UNSEEN] = b""
        return _Bases(versions, texts)

    def _is_older(self, save: _Save, newer: Sequence[Version]) -> bool:
        """Whether the save was certainly made before anybody could read the first write after its base."""
        write_times = [version.at for version in newer if version.by == "bot"]
        if not write_times:
            return False
        first_write = min(write_times)
        if save.is_within(UNREAD_SECONDS, first_write):
            return True
        if save.is_current:
            modified = save.note.stat.mtime_ns / 1e9
            arrived = save.note.stat.ctime_ns / 1e9
            # Fault (D69): a sync program sets the time at which the file was written on
            # another device.
            was_set_back = arrived - modified > SET_BACK_SECONDS
            if modified < first_write and was_set_back:
                return True
        # Fault (A7): an editor that holds a lock from before the write has not loaded
        # the note since.
        folder, _, name = save.note.path.rpartition("/")
        locks = editor_locks(name)
        folder_path = os.path.join(self._editor.folder.root, folder)
        return any(_existed_before(os.path.join(folder_path, lock), first_write) for lock in locks)

    def _came_or_went(self, path: str, now: datetime) -> bool:
        """Whether a file came or went in the folder just now, as in a save by rename."""
        files = self._editor.files
        try:
            folder = files.open_folder(path.rpartition("/")[0])
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            return came_or_went(files, folder, now.timestamp())
        finally:
            files.close(folder)


def _may_predate_note(save: _Save, texts: Iterable[bytes]) -> bool:
    """Whether the save may come from an editor that was opened before the bot made the note."""
    if any(version.by != "bot" for version in save.earlier):
        return False
    shares_lines = version_distance.contains_new_lines(save.raw, texts, ())
    return not shares_lines and bool(save.raw.strip())


def _doubted(
    verdict: "Verdict", save: _Save, seen: "Sequence[SeenVersion]", nearness: Sequence[bool]
) -> "Verdict":
    """Returns the verdict, or doubt where an equally near older version lacks more lines of the bot.

    This happens when a person removed, from what they had loaded, the very lines that the bot removed, too.
    """
    newest = nearness.index(True)
    oldest = len(nearness) - 1 - nearness[::-1].index(True)
    # Fault (A10): a person may have removed, from an older text, the very lines that
    # the bot removed as well. Two versions are then equally near, and the newer one
    # hides the bot's other lines.
    if newest == oldest:
        return verdict
    newer_texts = (version.raw for version in seen[: newest + 1])
    if version_distance.contains_new_lines(save.raw, newer_texts, (seen[oldest].raw,)):
        return verdict
    older_verdict = stale_save.classify_save(save.raw, seen[: oldest + 1], save.owned, older=False)
    if len(older_verdict.missing) <= len(verdict.missing):
        return verdict
    return stale_save.Verdict("undecided", older_verdict.missing)


def _existed_before(path: str, moment: float) -> bool:
    """Whether there is a file that was last changed before a moment."""
    try:
        return os.lstat(path).st_mtime < moment
    except OSError:
        return False
