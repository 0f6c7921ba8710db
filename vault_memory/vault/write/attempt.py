"""Carries out one write: read, check, make the new text, journal it, swap, and finish.

When the note changed in the meantime, the text is merged with the new version and the write is
attempted again.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from vault_memory.vault.fs import Files
from vault_memory.vault.snapshots import Version
from vault_memory.vault.write.atomic_swap import (
    Swapped,
    TargetChanged,
    swap_in,
    temporary,
    unlink_durably,
    why,
)
from vault_memory.vault.write.copy_file import put_copy
from vault_memory.vault.write.journal import JournalUnavailable, Outcome, PendingWrite
from vault_memory.vault.write.loaded_note import LoadedNote
from vault_memory.vault.write.preconditions import (
    HOLD,
    CurrentFile,
    WriteRequest,
    came_or_went,
    reason_to_wait,
)
from vault_memory.vault.write.trash import throw_away
from vault_memory.vault.write.wait_reasons import WORDS, Reason
from vault_memory.vault.write.write_context import Merge, WriteContext

ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The outcome of a write."""

    op_id: str
    path: str
    """The note that was written: the target of a link"""
    outcome: Literal["written", "merged", "copied", "unchanged", "trashed", "pending"]
    reason: str
    """Why it waits, in one word; "" when it does not"""
    before: str | None
    """Revision that was replaced"""
    after: str | None
    """Revision that was put in place; an editor may have saved since"""

    @property
    def explanation(self) -> str:
        """Why it waits, for a person."""
        return WORDS.get(self.reason, self.reason)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def of(cls, write: PendingWrite) -> "WriteResult":
        """Returns the state of a write."""
        is_done = write.phase == "done"
        outcome = (write.outcome or "unchanged") if is_done else "pending"
        return cls(write.op_id, write.path, outcome, write.reason, write.expected, write.after)


def carry_out(context: WriteContext, write: PendingWrite, merge: Merge, now: float) -> PendingWrite:
    """Returns the write, done or pending."""
    # Fault (A27): two devices that curate at once write the same facts twice. A
    # person's late save never waits for another device's lease.
    if write.side == "ours" and (reason := context.barred(write.path, now)):
        return context.postpone(write, reason)
    if not write.content:
        return throw_away(context, write, now)
    # Fault (A2): an editor may save again during each attempt. A program that saves
    # without a pause must not keep the writers' lock for ever.
    for _ in range(ATTEMPTS):
        try:
            folder = _open_folder(context.files, write)
        except OSError as error:
            return context.postpone(write, why(error))
        try:
            write = _attempt(context, folder, write, merge, now)
        except OSError as error:
            # Only reading raises here: errors of the swap itself are handled in `_swap`.
            return context.postpone(write, why(error))
        finally:
            context.files.close(folder)
        if write.phase != "planned":
            return write
    return context.postpone(write, "busy")


def _open_folder(files: Files, write: PendingWrite) -> int:
    """Opens the folder of the note; creates it for a new note."""
    try:
        return files.open_folder(write.folder)
    except FileNotFoundError:
        # The folder of an existing note is missing: a person or a sync client is moving it.
        if write.base is not None:
            raise
    return make_folders(files, write.folder)


def make_folders(files: Files, path: str) -> int:
    """Opens a folder, and creates it and its parents where they are missing. Raises OSError."""
    with suppress(FileNotFoundError):
        return files.open_folder(path)
    above, _, name = path.rpartition("/")
    parent = make_folders(files, above)
    try:
        with suppress(FileExistsError):
            # Another program may create the folder at the same moment.
            files.make_folder(parent, name)
            # Fault (B35): a power loss could lose the new folder, and with it the
            # durable note.
            files.fsync(parent)
    finally:
        files.close(parent)
    return files.open_folder(path)


def _attempt(
    context: WriteContext, folder: int, write: PendingWrite, merge: Merge, now: float
) -> PendingWrite:
    """Returns the write done, pending, or still planned when the note changed during the swap."""
    live, head = context.current(folder, write)
    if isinstance(live, str):
        return context.postpone(write, live)
    # The history gets a version that it does not know: a person saved it.
    if live is None or head is None or head.revision != live.revision or write.entry:
        context.has_new_saves = True
    if reason := _must_wait(context, folder, write, live, head, now):
        return context.postpone(write, reason)
    new = _new_text(context, write, live, merge)
    if new is None:
        return _conflict(context, folder, write, live, now)
    if live is not None and new == live.raw:
        write = replace(write, expected=live.revision)
        return context.finish(write, "unchanged", now, after=live.revision)
    return _swap(context, folder, write, live, new, now)


def _must_wait(
    context: WriteContext,
    folder: int,
    write: PendingWrite,
    live: CurrentFile | None,
    head: Version | None,
    now: float,
) -> Reason | None:
    if live is None:
        return _must_wait_for_absent(context, folder, write, head, now)
    is_head = head is not None and head.revision == live.revision
    previous = None
    if not is_head:
        previous = context.snapshots.bytes_of(head.revision if head else write.base)
    request = WriteRequest(
        size=max(live.info.size, len(context.content(write))),
        since=write.since,
        quiet=write.quiet,
        now=now,
        previous=previous,
        is_over_ours=is_head and head is not None and head.by != "person",
    )
    return reason_to_wait(context.files, folder, write.name, live, request)


def _must_wait_for_absent(
    context: WriteContext, folder: int, write: PendingWrite, head: Version | None, now: float
) -> Reason | None:
    """Decides about a note that does not exist at the moment."""
    if write.side == "theirs":
        # Fault (C23): late text of a person may come while an editor that saves by
        # rename is between its two renames.
        return "absent" if abs(now - write.since) < HOLD else None
    # Fault (C64): a sync client deletes a note and creates it again. The write waits,
    # and never brings back a note that a person deleted.
    if write.base is not None:
        return "absent"
    existed = head is not None and not context.journal.threw_away(write.path, head.revision)
    # Fault (C23): the note existed, and its folder changed seconds ago: a save by
    # rename may be under way.
    if existed and came_or_went(context.files, folder, now):
        return "absent"
    return None


def _new_text(
    context: WriteContext, write: PendingWrite, live: CurrentFile | None, merge: Merge
) -> bytes | None:
    """Returns the bytes that the note shall have; None when they cannot be merged."""
    content = context.content(write)
    if live is None or live.revision in (write.base, write.content):
        return content
    base = context.snapshots.bytes_of(write.base)
    if write.side == "ours":
        return merge(base, content, live.raw)
    return merge(base, live.raw, content)


def _swap(
    context: WriteContext,
    folder: int,
    write: PendingWrite,
    live: CurrentFile | None,
    new: bytes,
    now: float,
) -> PendingWrite:
    named = replace(write, temp=temporary(write.name, context.token()))
    # Fault (B37): a crash after the swap leaves two files whose names say nothing to a
    # person. The planned row lets recovery tell them apart.
    write = context.plan(named, live, new)
    try:
        result = swap_in(context.files, folder, write.name, write.temp, new, live)
        if isinstance(result, TargetChanged) and result.moved is not None:
            # Fault (B38): the moved file has a person's bytes. The journal must know of
            # it before its temporary disappears, or a crash would make it junk.
            context.watch(write, result.moved, now)
            unlink_durably(context.files, folder, write.temp)
    except OSError:
        # Fault (B33): the note may have the old or the new text: only the names in the
        # folder tell.
        return _leave_to_recovery(write, "io_error")
    match result:
        case Swapped(displaced, status):
            context.synced(write.folder)
            if status is not None:
                context.inodes[write.op_id] = status.ino
            if write.record and status is not None:
                file = CurrentFile(new, write.fresh, status, {})
                context.written[write.op_id] = LoadedNote(write.path, file)
            return finish_swap(context, write, displaced, now)
        case TargetChanged():
            return write
        case reason:
            return context.postpone(write, reason)


def _leave_to_recovery(write: PendingWrite, reason: Reason) -> PendingWrite:
    """Returns a waiting write whose row stays planned.

    The outcome of the attempt is unknown. A planned row makes recovery examine the folder.
    """
    return replace(write, phase="pending", reason=reason)


def finish_swap(
    context: WriteContext, write: PendingWrite, displaced: str | None, now: float
) -> PendingWrite:
    """Records that the note has the new text."""
    outcome: Outcome = "written" if write.fresh == write.content else "merged"
    try:
        return context.finish(write, outcome, now, after=write.fresh, displaced=displaced)
    except JournalUnavailable:
        # Fault (B39): the journal's disk is full. The note is written, and recovery
        # will find that out.
        context.written.pop(write.op_id, None)
        return replace(write, phase="done", outcome=outcome, after=write.fresh)


def _conflict(
    context: WriteContext, folder: int, write: PendingWrite, live: CurrentFile | None, now: float
) -> PendingWrite:
    """Keeps both texts: the person's under the note's name, the other one in a conflict copy."""
    assert live is not None, "where there is no note, there is no conflict"
    head = context.snapshots.head(write.path)
    is_head = head is not None and head.revision == live.revision
    live_is_ours = is_head and head is not None and head.by == "bot"
    # Late text of a person displaces the bot's text, and never another person's.
    person_first = write.side == "theirs" and live_is_ours
    copied = live.raw if person_first else context.content(write)
    named = replace(write, temp=temporary(write.name, context.token()))
    write = context.plan(named, live, None)
    try:
        # Fault (A21): of two texts that cannot be merged, neither may be lost. The copy
        # is durable before the note changes.
        name = put_copy(context.files, folder, write, copied, live)
    except OSError as error:
        return _leave_to_recovery(write, why(error))
    if name is None:
        return context.postpone(write, "conflict")
    if person_first:
        return _swap(context, folder, write, live, context.content(write), now)
    return context.finish(write, "copied", now, after=live.revision)
