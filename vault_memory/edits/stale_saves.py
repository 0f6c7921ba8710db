"""What people save over the bot's lines is judged: were those deleted, or had the editor never seen them?

Asked once of each version that a person put in the place of one of the bot's. Lines that were taken away without
having been seen are put back, if that is certain, and else wait in INBOX; the note stays as it was saved.
"""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from vault_memory.edits.backup_detection import adopt_newer_vault
from vault_memory.edits.commands import ApplyOps, RestoreLines
from vault_memory.edits.edit_errors import NotCurated
from vault_memory.edits.plans.plan import Plan
from vault_memory.errors import VaultMemoryError
from vault_memory.lazy import lazy_module
from vault_memory.rules.edits.ownership import Ownership, replay
from vault_memory.vault.reader import Note
from vault_memory.vault.snapshots import Version
from vault_memory.vault.write.preconditions import (
    HOLD,
    came_or_went,
    editor_locks,
    half_saved,
)

if TYPE_CHECKING:
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.rules.edits import stale_save
    from vault_memory.rules.edits.stale_save import SeenVersion, Verdict
    from vault_memory.vault import version_distance
else:
    stale_save = lazy_module("vault_memory.rules.edits.stale_save")
    version_distance = lazy_module("vault_memory.vault.version_distance")

logger = logging.getLogger(__name__)

VERSIONS = 40
"""How many earlier versions somebody may have had in the editor, at most"""
QUIET_SECONDS = 0.3
"""For which a note must have been left alone before what it lacks means anything"""
UNREAD_SECONDS = 2.0
"""So soon after a write nobody has read it, and deleted it, and saved"""
RECENT_SECONDS = 60.0
"""So soon after a write whoever deletes what it brought is asked, if they may as well never have seen it"""
UNSEEN = ""
"""In the place of a revision: what stood there before the bot made the note, if anything did"""
SET_BACK_SECONDS = 2.0
"""A file that is so much older than its appearance was written elsewhere"""
WHY = "saved from an editor, or by a program, that had not seen what was written"


class StaleSaveDetector:
    """For one vault; called within a turn of its curator."""

    def __init__(self, curator: "NoteEditor") -> None:
        self._curator = curator

    def notice(self, note: Note, now: datetime) -> None:
        """Keep a version that stands there and was not seen before, so that it is judged; half a save is none."""
        snapshots = self._curator.writer.snapshots
        head = snapshots.head(note.path)
        if head is None or head.revision == note.revision:
            return
        if any(op.path == note.path for op in self._curator.writer.begun()):
            return  # it may be what the bot wrote
        age = now.timestamp() - note.stat.ctime_ns / 1e9
        last = snapshots.bytes_of(head.revision)
        if age >= HOLD or (age >= QUIET_SECONDS and not half_saved(note.raw, last)):
            snapshots.record(note.path, note.raw, at=now.timestamp())

    def look(self, now: datetime) -> None:
        """Judge all that was not judged yet. What cannot be done now is judged again later."""
        writer = self._curator.writer
        snapshots = writer.snapshots
        saved = snapshots.unjudged()
        if saved and adopt_newer_vault(
            writer,
            self._curator.trail,
            self._curator.folder,
            [one.path for one in saved],
            now,
        ):
            return
        unrecorded = {op.path for op in (*writer.begun(), *writer.finished())}
        for version in saved:
            if version.path in unrecorded:
                continue  # a verdict would change what the record of that write is told from
            try:
                if not self._judge(version, now):
                    continue
            except NotCurated:
                pass  # an INBOX page: what is missing there was decided
            except (VaultMemoryError, OSError) as error:
                logger.warning(
                    "what `%s` lacks since it was saved cannot be told yet: %s",
                    version.path,
                    error,
                )
                continue
            snapshots.judged(version)

    def _judge(self, version: Version, now: datetime) -> bool:
        """Whether that could be done: a note that went just now may be on its way back."""
        note = self._curator.there(version.path)
        if note is None:
            return now.timestamp() - version.at >= HOLD and not self._came_or_went(
                version.path, now
            )
        snapshots = self._curator.writer.snapshots
        before = [one for one in snapshots.chain(version.path) if one.id < version.id]
        saved = snapshots.bytes_of(version.revision) or b""
        records = self._curator.trail.of(version.path)
        owned = replay(records)
        if any(one.revision == version.revision for one in before):
            verdict, base = (
                stale_save.classify_revert(
                    saved, snapshots.bytes_of(before[0].revision) or b"", owned
                ),
                before[0],
            )
        else:
            verdict, base = self._infer_base_version(
                version, note, saved, before, owned
            )
        if verdict.kind == "stale":
            self._restore_lost_lines(
                note, (base.revision, before[0].revision, version.revision), now
            )
        elif verdict.kind == "undecided" and (
            ops := stale_save.propose_missing(
                note.path, verdict.missing, note.raw, records
            )
        ):
            run = self._curator.new_command(
                note.path, "proposal", now, ApplyOps(), why=WHY
            )
            self._curator.record_without_change(
                run, Plan(note.raw, note.raw, proposed=ops)
            )
        return True

    def _infer_base_version(
        self,
        version: Version,
        note: Note,
        saved: bytes,
        before: Sequence[Version],
        owned: Ownership,
    ) -> "tuple[Verdict, Version]":
        """The verdict, and the version that this one was most likely made from."""
        snapshots = self._curator.writer.snapshots
        likely = [before[0], *islice((one for one in before[1:] if one.kept), VERSIONS)]
        texts = {
            one.revision: snapshots.bytes_of(one.revision) or b"" for one in likely
        }
        if (
            all(one.by == "bot" for one in before)
            and not version_distance.contains_new_lines(saved, texts.values(), ())
            and saved.strip()
        ):
            likely.append(replace(before[-1], revision=UNSEEN, by="person"))
            texts[UNSEEN] = b""
        times = _times(version, note)
        far = version_distance.distances(saved, [texts[one.revision] for one in likely])
        at = min(_by_likelihood(likely, texts, saved, times), key=far.__getitem__)
        since = [
            stale_save.SeenVersion(texts[one.revision], one.by == "bot")
            for one in likely
        ]
        wrote = min((one.at for one in likely[:at] if one.by == "bot"), default=None)
        older = wrote is not None and (
            _too_soon(wrote, times) or self._is_older(version, note, wrote)
        )
        verdict = stale_save.classify_save(saved, since[: at + 1], owned, older=older)
        if verdict.kind != "stale" and (
            at or _within(RECENT_SECONDS, before[0].at, times)
        ):
            verdict = _doubted(
                verdict, saved, since, [one <= far[at] for one in far], owned
            )
        return verdict, likely[at]

    def _is_older(self, version: Version, note: Note, wrote: float) -> bool:
        """Whether what was saved is known to have been made before anybody could see what the bot wrote."""
        if note.revision == version.revision:
            made, came = note.stat.mtime_ns / 1e9, note.stat.ctime_ns / 1e9
            if made < wrote and came - made > SET_BACK_SECONDS:
                return True
        folder, _, name = note.path.rpartition("/")
        return any(
            _made(os.path.join(self._curator.folder.root, folder, lock), wrote)
            for lock in editor_locks(name)
        )

    def _came_or_went(self, path: str, now: datetime) -> bool:
        """Whether the note may be away for a moment only."""
        files = self._curator.files
        try:
            folder = files.open_folder(path.rpartition("/")[0])
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            return came_or_went(files, folder, now.timestamp())
        finally:
            files.close(folder)

    def _restore_lost_lines(
        self, note: Note, versions: tuple[str, str, str], now: datetime
    ) -> None:
        action = RestoreLines(*versions)
        run = self._curator.new_command(note.path, "merge", now, action, why=WHY)
        self._curator.carry_out(run, note, now)


def _times(version: Version, note: Note) -> tuple[float, ...]:
    """Moments at which a version was there already: when it was seen, and when its file came, if that still stands."""
    stands = note.revision == version.revision
    return version.at, *((note.stat.ctime_ns / 1e9,) if stands else ())


def _too_soon(wrote: float, times: Iterable[float]) -> bool:
    """Whether what was there by one of these times cannot be by somebody who had read what was written."""
    return _within(UNREAD_SECONDS, wrote, times)


def _within(seconds: float, wrote: float, times: Iterable[float]) -> bool:
    """Whether one of these times is so soon after a moment."""
    return any(0 <= at - wrote < seconds for at in times)


def _by_likelihood(
    likely: Sequence[Version],
    texts: Mapping[str, bytes],
    saved: bytes,
    times: Sequence[float],
) -> Sequence[int]:
    """The places of the versions, those that are too fresh to have been read last, unless one of them was."""
    fresh = [
        at
        for at, one in enumerate(likely)
        if one.by == "bot" and _too_soon(one.at, times)
    ]
    older = [at for at in range(len(likely)) if at not in fresh]
    new, old = (
        (texts[likely[at].revision] for at in places) for places in (fresh, older)
    )
    return (
        range(len(likely))
        if version_distance.contains_new_lines(saved, new, old)
        else [*older, *fresh]
    )


def _doubted(
    verdict: "Verdict",
    saved: bytes,
    since: "Sequence[SeenVersion]",
    near: Sequence[bool],
    owned: Ownership,
) -> "Verdict":
    """The verdict on the newest of the versions that are as `near`, or doubt where the oldest lacks more of the bot's.

    So it is when a person took away, in what they had loaded, the very lines that the bot took away, too.
    """
    newest, oldest = near.index(True), len(near) - 1 - near[::-1].index(True)
    if newest == oldest or version_distance.contains_new_lines(
        saved, (one.raw for one in since[: newest + 1]), (since[oldest].raw,)
    ):
        return verdict
    other = stale_save.classify_save(saved, since[: oldest + 1], owned, older=False)
    return (
        stale_save.Verdict("undecided", other.missing)
        if len(other.missing) > len(verdict.missing)
        else verdict
    )


def _made(path: str, before: float) -> bool:
    """Whether there is such a file, made before a moment."""
    try:
        return os.lstat(path).st_mtime < before
    except OSError:
        return False
