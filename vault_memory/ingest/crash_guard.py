"""Crash guard: a note that crashed the process twice while being parsed is skipped.

A process that runs out of memory is killed, and would be killed again after each start. So the
path and revision of a large note are written to a file, the crumb, before it is parsed, and the
crumb is removed afterwards. A note with a crumb that counts two crashes is not parsed until it
has other bytes, or until the user asks for it. Small notes leave no crumb.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vault_memory import places
from vault_memory.errors import NoteUnreadable
from vault_memory.index.store import Index
from vault_memory.vault.reader import Note

LARGE = 64 << 10
"""Bytes from which a note leaves a crumb"""
MOST_CRASHES = 2
"""After so many crashes a note is skipped"""
FOLDER = "reading"
ENDED_TWICE = "the program ended twice while it was read"


class EndedTwice(NoteUnreadable):
    """Parsing the note crashed the process twice. It is not tried again automatically."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            ENDED_TWICE,
            hint=f"`vault-memory index {path}` tries again; a smaller note may do better",
        )


@contextmanager
def reading(index: Index, note: Note) -> Iterator[None]:
    """Guards the parsing of a note. Raises EndedTwice."""
    descriptor = _leave_crumb(index, note) if len(note.raw) >= LARGE else None
    try:
        yield
    finally:
        if descriptor is not None:
            # Fault: another process must not find a finished crumb. So it is unlinked
            # before the lock ends.
            with suppress(OSError):
                os.unlink(_crumb(index, note.path))
            os.close(descriptor)


def forget_crumb(index: Index, path: str) -> None:
    """Lets a note be parsed again."""
    with suppress(OSError):
        os.unlink(_crumb(index, path))


def _leave_crumb(index: Index, note: Note) -> int | None:
    """Writes the crumb and locks it. Returns its descriptor; None if that is impossible."""
    if index.path in ("", ":memory:"):
        return None
    crumb = _crumb(index, note.path)
    try:
        places.make_private(crumb.parent)
        descriptor = os.open(crumb, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        # A full disk or a read-only folder must not keep the note out of the index.
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Fault (B49): out of memory, the system kills the process without a chance to
        # clean up. The next start can only read what was written before.
        crashes = _crashes(descriptor, note)
        if crashes < MOST_CRASHES:
            _write_crumb(descriptor, note, crashes + 1)
    except OSError:
        # Another process holds the lock, because it parses the note at this moment.
        os.close(descriptor)
        return None
    if crashes >= MOST_CRASHES:
        os.close(descriptor)
        raise EndedTwice(note.path)
    return descriptor


def _write_crumb(descriptor: int, note: Note, times: int) -> None:
    record = {"note": note.path, "revision": note.revision, "times": times}
    raw = json.dumps(record).encode()
    os.pwrite(descriptor, raw, 0)
    os.ftruncate(descriptor, len(raw))


def _crashes(descriptor: int, note: Note) -> int:
    """Counts how often parsing these bytes was started and not finished."""
    try:
        record = json.loads(os.pread(descriptor, 1 << 16, 0))
        return int(record["times"]) if record["revision"] == note.revision else 0
    except (ValueError, TypeError, KeyError, OverflowError):
        # Fault (B49): the crash may have torn the crumb itself.
        return 0


def _crumb(index: Index, path: str) -> Path:
    # Loading hashlib costs 4 ms, and most searches parse no large note.
    from hashlib import sha256

    name = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return Path(index.path).parent / FOLDER / name
