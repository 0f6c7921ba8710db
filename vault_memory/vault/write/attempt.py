"""Carrying out one write: look, pass the gate, make the new text, keep it in the journal, swap, and finish.

When the note changed meanwhile, the text is merged with what is there now and the next attempt is made.
"""

from contextlib import suppress
from dataclasses import replace

from vault_memory.vault.fs import Files
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
from vault_memory.vault.write.preconditions import (
    HOLD,
    CurrentFile,
    WriteRequest,
    came_or_went,
    read_live,
    reason_to_wait,
)
from vault_memory.vault.write.trash import throw_away
from vault_memory.vault.write.wait_reasons import Reason
from vault_memory.vault.write.write_context import Merge, WriteContext

ATTEMPTS = 5


def carry_out(
    means: WriteContext, op: PendingWrite, merge: Merge, now: float
) -> PendingWrite:
    """The op, done or pending."""
    if op.side == "ours" and (reason := means.barred(op.path, now)):
        return means.postpone(op, reason)
    if not op.content:
        return throw_away(means, op, now)
    for _ in range(ATTEMPTS):
        try:
            folder = _folder_of(means.files, op)
        except OSError as error:
            return means.postpone(op, why(error))
        try:
            tried = _attempt(means, folder, op, merge, now)
        except (
            OSError
        ) as error:  # from looking; what goes wrong in the swap itself is judged there
            return means.postpone(op, why(error))
        finally:
            means.files.close(folder)
        if tried.phase != "planned":
            return tried
        op = tried
    return means.postpone(op, "busy")


def _folder_of(files: Files, op: PendingWrite) -> int:
    """The folder of the note; for a new note it is made."""
    try:
        return files.open_folder(op.folder)
    except FileNotFoundError:
        if op.base is not None:
            raise
    return make_folders(files, op.folder)


def make_folders(files: Files, path: str) -> int:
    """Open a folder, and make it and those above it where they are not there."""
    with suppress(FileNotFoundError):
        return files.open_folder(path)
    above, _, name = path.rpartition("/")
    parent = make_folders(files, above)
    try:
        with suppress(FileExistsError):
            files.make_folder(parent, name)
            files.fsync(parent)
    finally:
        files.close(parent)
    return files.open_folder(path)


def _attempt(
    means: WriteContext, folder: int, op: PendingWrite, merge: Merge, now: float
) -> PendingWrite:
    """The op done, pending, or still planned when the note changed under our hands."""
    live = read_live(means.files, folder, op.name)
    if isinstance(live, str):
        return means.postpone(op, live)
    if reason := _must_wait(means, folder, op, live, now):
        return means.postpone(op, reason)
    fresh = _fresh(means, op, live, merge)
    if fresh is None:
        return _conflict(means, folder, op, live, now)
    if live is not None and fresh == live.raw:
        op = replace(op, expected=live.revision)
        return means.finish(op, "unchanged", now, after=live.revision)
    return _swap(means, folder, op, live, fresh, now)


def _must_wait(
    means: WriteContext,
    folder: int,
    op: PendingWrite,
    live: CurrentFile | None,
    now: float,
) -> Reason | None:
    head = means.snapshots.head(op.path)
    if live is None:
        if op.side == "theirs":
            return "absent" if abs(now - op.since) < HOLD else None
        known = head is not None and not means.journal.threw_away(
            op.path, head.revision
        )
        return (
            "absent"
            if op.base is not None or (known and came_or_went(means.files, folder, now))
            else None
        )
    known = head is not None and head.revision == live.revision
    last = None
    if not known:
        last = means.snapshots.bytes_of(head.revision if head else op.base)
    asked = WriteRequest(
        max(live.found.size, len(means.content(op))), op.since, op.quiet, now
    )
    own = known and head is not None and head.by != "person"
    return reason_to_wait(means.files, folder, op.name, live, asked, last, own=own)


def _fresh(
    means: WriteContext, op: PendingWrite, live: CurrentFile | None, merge: Merge
) -> bytes | None:
    """The whole text that is to stand there."""
    content = means.content(op)
    if live is None:
        return content
    if live.revision in (op.base, op.content):
        return content
    base = means.snapshots.bytes_of(op.base)
    return (
        merge(base, content, live.raw)
        if op.side == "ours"
        else merge(base, live.raw, content)
    )


def _swap(
    means: WriteContext,
    folder: int,
    op: PendingWrite,
    live: CurrentFile | None,
    fresh: bytes,
    now: float,
) -> PendingWrite:
    op = means.plan(replace(op, temp=temporary(op.name, means.token())), live, fresh)
    try:
        result = swap_in(means.files, folder, op.name, op.temp, fresh, live)
        if isinstance(result, TargetChanged) and result.taken is not None:
            means.watch(op, result.taken, now)
            unlink_durably(means.files, folder, op.temp)
    except OSError:
        return _left_to_recovery(op, "io_error")
    match result:
        case Swapped(displaced):
            means.synced(op.folder)
            return finish_swap(means, op, displaced, now)
        case TargetChanged():
            return op
        case reason:
            return means.postpone(op, reason)


def _left_to_recovery(op: PendingWrite, reason: Reason) -> PendingWrite:
    """It waits, and is still planned in the journal, so that what is left of this attempt is looked for."""
    return replace(op, phase="pending", reason=reason)


def finish_swap(
    means: WriteContext, op: PendingWrite, displaced: str | None, now: float
) -> PendingWrite:
    """The new text stands; when the journal cannot take that now, recovery will find it out again."""
    outcome: Outcome = "written" if op.fresh == op.content else "merged"
    try:
        return means.finish(op, outcome, now, after=op.fresh, displaced=displaced)
    except JournalUnavailable:
        return replace(op, phase="done", outcome=outcome, after=op.fresh)


def _conflict(
    means: WriteContext,
    folder: int,
    op: PendingWrite,
    live: CurrentFile | None,
    now: float,
) -> PendingWrite:
    """Both texts stay: a person's under the note's name, the other beside it."""
    assert live is not None, "where there is nothing, there is no conflict"
    head = means.snapshots.head(op.path)
    person_first = (
        op.side == "theirs"
        and head is not None
        and head.by == "bot"
        and head.revision == live.revision
    )
    aside = live.raw if person_first else means.content(op)
    temp = temporary(op.name, means.token())
    op = means.plan(replace(op, temp=temp), live, None)
    try:
        name = put_copy(means.files, folder, op.name, op.stamp, temp, aside, live)
    except OSError as error:
        return _left_to_recovery(op, why(error))
    if name is None:
        return means.postpone(op, "conflict")
    if person_first:
        return _swap(means, folder, op, live, means.content(op), now)
    return means.finish(op, "copied", now, after=live.revision)
