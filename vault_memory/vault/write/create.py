"""Creates a new file in the vault: complete and under a free name, or not at all."""

import os
import secrets
from pathlib import Path

from vault_memory.rules.paths.filenames import inside, is_private
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.write.atomic_swap import move_new, try_unlink
from vault_memory.vault.write.attempt import make_folders


def add_file(root: str | os.PathLike[str], path: str, raw: bytes) -> bool:
    """Puts a new, durable file into the vault. Returns False when the name is taken.

    Raises BadPath, OSError.
    """
    folder_path, _, name = inside(path).rpartition("/")
    files = RealFiles(root)
    folder = make_folders(files, folder_path)
    try:
        temp = f".{secrets.token_hex(8)}.~new"
        try:
            # Fault: a sync client uploads what it sees. Under the final name it could
            # take half of the file.
            _write_temporary(files, folder, temp, raw, private=is_private(name))
            # Fault: a plain rename would overwrite a file that a person made in the
            # meantime.
            move_new(files, folder, temp, name)
        except FileExistsError:
            return False
        finally:
            try_unlink(files, folder, temp)
        files.fsync(folder)
        return True
    finally:
        files.close(folder)


def _write_temporary(
    files: RealFiles, folder: int, temp: str, raw: bytes, *, private: bool
) -> None:
    fd = files.create(folder, temp, private=private)
    try:
        files.write(fd, raw)
        files.fsync(fd)
    finally:
        files.close(fd)


def write_copy(file: Path, raw: bytes) -> None:
    """Writes a copy of a file below a folder that is not in use yet, and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "wb", opener=open_by_name) as copy:
        copy.write(raw)


def open_by_name(path: str, flags: int) -> int:
    """Opens a file; its name decides who can read a new one. Is the `opener` of `open`."""
    private = is_private(os.path.basename(path))
    return os.open(path, flags, 0o600 if private else 0o666)
