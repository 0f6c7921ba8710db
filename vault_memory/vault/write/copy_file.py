"""Conflict copies: text that could not be merged, put beside the note under a name that says so.

The name is one that sync programs carry along like any other, and never one that is taken.
"""

from vault_memory.vault.fs import Files
from vault_memory.vault.write.atomic_swap import (
    UNFINISHED,
    move_new,
    try_unlink,
    write_whole,
)
from vault_memory.vault.write.preconditions import CurrentFile, read_live

LONGEST_NAME = 255
"""In bytes of UTF-8."""
MOST = 1000
"""Copies of one note in one second."""


def copy_name(name: str, stamp: str, by: str = "bot", number: int = 1) -> str:
    """``USER.md`` gives ``USER (memory copy 2026-11-21 203312 bot).md``; a long stem is cut."""
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    mark = (
        f" (memory copy {stamp} {by}{f' {number}' if number > 1 else ''}){dot}{ending}"
    )
    room = LONGEST_NAME - len(mark.encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip() + mark


def put_copy(
    files: Files,
    folder: int,
    name: str,
    stamp: str,
    temp: str,
    raw: bytes,
    live: CurrentFile | None,
) -> str | None:
    """Put these bytes beside the note, durable; returns the name, or None when none was to be had.

    Done again, it finds that it was done.
    """
    unfinished = temp + UNFINISHED
    try:
        write_whole(files, folder, unfinished, raw, live)
        for number in range(1, MOST):
            wanted = copy_name(name, stamp, number=number)
            if _named(files, folder, unfinished, wanted, raw):
                files.fsync(folder)
                return wanted
    except OSError:
        try_unlink(files, folder, unfinished)
        raise
    try_unlink(files, folder, unfinished)
    return None


def _named(files: Files, folder: int, unfinished: str, wanted: str, raw: bytes) -> bool:
    """Give the copy this name, unless another file has it."""
    try:
        move_new(files, folder, unfinished, wanted)
    except FileExistsError:
        there = read_live(files, folder, wanted)
        if not isinstance(there, CurrentFile) or there.raw != raw:
            return False
        files.unlink(folder, unfinished)
    return True
