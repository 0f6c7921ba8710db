"""Writes conflict copies: text that could not be merged, in a file beside the note.

The name of a copy is one that sync programs carry along, and never the name of another file.
"""

from vault_memory.rules.paths.filenames import is_private
from vault_memory.vault.fs import Files
from vault_memory.vault.write.atomic_swap import UNFINISHED, move_new, try_unlink, write_whole
from vault_memory.vault.write.journal import PendingWrite
from vault_memory.vault.write.preconditions import CurrentFile, read_live

LONGEST_NAME = 255
"""In bytes of UTF-8"""
MOST = 1000
"""Copies of one note in one second"""


def copy_name(name: str, stamp: str, by: str = "bot", number: int = 1) -> str:
    """``USER.md`` gives ``USER (memory copy 2026-11-21 203312 bot).md``; a long stem is cut."""
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    counter = f" {number}" if number > 1 else ""
    mark = f" (memory copy {stamp} {by}{counter}){dot}{ending}"
    room = LONGEST_NAME - len(mark.encode())
    # Fault (F109): a cut inside a character would make a name that is not valid UTF-8.
    return stem.encode()[:room].decode(errors="ignore").rstrip() + mark


def put_copy(
    files: Files, folder: int, write: PendingWrite, raw: bytes, live: CurrentFile | None
) -> str | None:
    """Writes a durable copy beside the note. Returns its name, or None when no name is free.

    The copy gets the owner and the attributes of the note. A repeated call finds the copy of the
    first one. Raises OSError.
    """
    # Fault (B33): a copy that a crash cut short must not look like a person's text.
    # Under this name, recovery removes it.
    unfinished = write.temp + UNFINISHED
    try:
        private = is_private(write.name)
        write_whole(files, folder, unfinished, raw, live, private=private)
        for number in range(1, MOST):
            candidate = copy_name(write.name, write.stamp, number=number)
            if _claim_name(files, folder, unfinished, candidate, raw):
                files.fsync(folder)
                return candidate
    except OSError:
        try_unlink(files, folder, unfinished)
        raise
    try_unlink(files, folder, unfinished)
    return None


def _claim_name(files: Files, folder: int, unfinished: str, candidate: str, raw: bytes) -> bool:
    """Gives the copy this name, unless a different file has it."""
    try:
        move_new(files, folder, unfinished, candidate)
    except FileExistsError:
        # Fault (B48): after a crash the same copy may exist already. A second one would
        # ask a person to settle the same conflict twice.
        existing = read_live(files, folder, candidate)
        if not isinstance(existing, CurrentFile) or existing.raw != raw:
            return False
        files.unlink(folder, unfinished)
    return True
