"""What is being read just now, so that a note that ended the program twice is left alone, and the others are read.

A program that runs out of memory is killed, and would be killed again at each start. So before a large note is taken
apart its path and revision are written down, and crossed out afterwards. Who finds them there twice reads it no more,
until it has other bytes or somebody asks for it. Small notes end nothing, and leave no crumb.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vault_memory.errors import NoteUnreadable
from vault_memory.index.store import Index
from vault_memory.vault.reader import Note

LARGE = 64 << 10
"""Bytes from which a note leaves a crumb"""
OFTEN = 2
"""Times that it may end the program"""
FOLDER = "reading"
ENDED_TWICE = "the program ended twice while it was read"


class EndedTwice(NoteUnreadable):
    """Reading the note ended the program twice; it is not tried again by itself."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            ENDED_TWICE,
            hint=f"`vault-memory index {path}` tries again; a smaller note may do better",
        )


@contextmanager
def reading(index: Index, note: Note) -> Iterator[None]:
    """While a note is taken apart. Raises EndedTwice."""
    fd = _begun(index, note) if len(note.raw) >= LARGE else None
    try:
        yield
    finally:
        if fd is not None:
            with suppress(OSError):
                os.unlink(_crumb(index, note.path))
            os.close(fd)


def forget_crumb(index: Index, path: str) -> None:
    """Let it be read once more."""
    with suppress(OSError):
        os.unlink(_crumb(index, path))


def _begun(index: Index, note: Note) -> int | None:
    """The crumb, locked; None where none can be left, or another process reads the note at this moment."""
    if index.path in ("", ":memory:"):
        return None
    crumb = _crumb(index, note.path)
    try:
        crumb.parent.mkdir(mode=0o700, exist_ok=True)
        fd = os.open(crumb, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        times = _times(fd, note)
        if times < OFTEN:
            raw = json.dumps(
                {"note": note.path, "revision": note.revision, "times": times + 1}
            ).encode()
            os.pwrite(fd, raw, 0)
            os.ftruncate(fd, len(raw))
    except OSError:
        os.close(fd)
        return None
    if times >= OFTEN:
        os.close(fd)
        raise EndedTwice(note.path)
    return fd


def _times(fd: int, note: Note) -> int:
    """How often reading these bytes was begun and not ended."""
    try:
        said = json.loads(os.pread(fd, 1 << 16, 0))
        return int(said["times"]) if said["revision"] == note.revision else 0
    except (ValueError, TypeError, KeyError, OverflowError):
        return 0


def _crumb(index: Index, path: str) -> Path:
    from hashlib import (
        sha256,  # only here: loading it costs 4 ms, and most searches read no note
    )

    return (
        Path(index.path).parent
        / FOLDER
        / sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    )
