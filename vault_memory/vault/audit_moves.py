"""Moves the audit files of a note to the note's new path. A move that was interrupted can be repeated."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from vault_memory.vault.audit_folders import AUDIT_NAME
from vault_memory.vault.fs import FileStatus, RealFiles, move_between
from vault_memory.vault.jsonl_log import append_lines

_NOTE = "note.md"
"""Stands for a note whose name no audit file has, such as one on its way between two names"""


class _Ends(NamedTuple):
    """The folders of the old and of the new path, open, and the names there."""

    old: int
    old_name: str
    new: int
    new_name: str


def move_audits(root: str | os.PathLike[str], old: str, new: str) -> None:
    """Moves all audit files of a note; without its old folder there are none. Raises OSError.

    Where the new path has such a file already, the lines that it lacks are added to it.
    """
    files = RealFiles(root)
    try:
        files.close(files.open_folder(old.rpartition("/")[0]))
    except FileNotFoundError:
        return
    with _ends(files, old, new) as ends:
        moved = [name for name in sorted(os.listdir(ends.old)) if _is_audit_of(name, ends.old_name)]
        for name in moved:
            target = ends.new_name + name.removeprefix(ends.old_name)
            _move(files, ends, name, new.removesuffix(ends.new_name) + target)
        if moved:
            files.fsync(ends.new)
            files.fsync(ends.old)


@contextmanager
def _ends(files: RealFiles, old: str, new: str) -> Iterator[_Ends]:
    old_folder, _, old_name = old.rpartition("/")
    new_folder, _, new_name = new.rpartition("/")
    old_fd = files.open_folder(old_folder)
    try:
        new_fd = files.open_folder(new_folder)
        try:
            yield _Ends(old_fd, old_name, new_fd, new_name)
        finally:
            files.close(new_fd)
    finally:
        files.close(old_fd)


def _is_audit_of(name: str, note: str) -> bool:
    if not name.startswith(f"{note}.audit."):
        return False
    return AUDIT_NAME.fullmatch(_NOTE + name.removeprefix(note)) is not None


def _move(files: RealFiles, ends: _Ends, name: str, target: str) -> None:
    source = files.look(ends.old, name)
    # Fault (H120): a link or a pipe may have this name.
    if source is None or not stat.S_ISREG(source.mode):
        return
    new_name = target.rpartition("/")[2]
    try:
        move_between(ends.old, name, ends.new, new_name)
        return
    except FileExistsError:
        existing = files.look(ends.new, new_name)
    # Fault: where case does not count, the new spelling of a name opens the same file.
    if existing is not None and _is_same(existing, source):
        os.rename(name, new_name, src_dir_fd=ends.old, dst_dir_fd=ends.new)
        return
    lines = _lines(files, ends.old, name)
    present_lines = set(_lines(files, ends.new, new_name))
    missing = [line for line in lines if line not in present_lines]
    if missing:
        append_lines(files.root, target, b"".join(missing))
    # Fault (B35): the lines are on the disk before the file that had them goes.
    os.unlink(name, dir_fd=ends.old)


def _is_same(left: FileStatus, right: FileStatus) -> bool:
    return (left.dev, left.ino) == (right.dev, right.ino)


def _lines(files: RealFiles, folder: int, name: str) -> list[bytes]:
    """Returns the lines of a file, each with its newline."""
    fd = files.open(folder, name)
    try:
        return [line + b"\n" for line in files.read(fd).split(b"\n") if line]
    finally:
        files.close(fd)
