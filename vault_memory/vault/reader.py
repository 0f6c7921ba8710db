"""The vault's folder as it stands: what lies in it, and the bytes of one note.

What cannot be seen is *unknown*, never absent: a name on a path that could not be listed, opened or told apart is
reported with its reason, and nobody may conclude from it that something was deleted. No link is ever followed. The
folder is opened anew for each look and compared with the one that was opened first, so that a mount that went away
or a folder put in its place is noticed, and so that nothing of ours keeps a disk from being ejected.
"""

import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import BinaryIO, NamedTuple

from vault_memory.errors import BadPath, NoteNotFound, NoteUnreadable, VaultUnreachable
from vault_memory.rules.paths.filenames import inside
from vault_memory.vault.listing import SUFFIXES, Listing, Stat, walk
from vault_memory.vault.marker import NAME, Marker, ensure_marker, read_marker
from vault_memory.vault.safe_open import open_beneath

LARGEST_PARSED = 1 << 20
"""In bytes: a larger note is listed and not read."""
LARGEST_STORED = 8 << 20
"""In bytes: a larger file is never taken in, for any purpose."""

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_AWAY = "`{root}` is not the folder it was when it was opened"
_AWAY_HINT = "mount it again, or restart; the index is kept, and nothing is deleted"


class Note(NamedTuple):
    """The bytes of one note at one moment."""

    path: str
    raw: bytes
    revision: str
    """SHA-256 of the bytes, 64 hex digits."""
    stat: Stat
    stable: bool
    """False when the file was being changed while it was read."""

    def __repr__(self) -> str:
        """Without the bytes: a log keeps no text of a note."""
        return f"Note(path={self.path!r}, revision={self.revision!r}, stable={self.stable!r})"


class Identity(Enum):
    """What stands where the vault was opened."""

    SAME = "same"
    REPLACED = "replaced"
    """The same vault by its marker, in another folder: what is known of it must be compared anew."""


class NoteTooLarge(NoteUnreadable):
    """The note is larger than what is read; it is left in peace, and its old text stays findable."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        reason = f"{size:,} bytes are more than the {limit:,} that are read"
        super().__init__(path, reason, hint="split it into smaller notes")


class Folder:
    """A vault's folder, for looking."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.abspath(root)
        self._held = threading.local()
        self._seen: tuple[int, int] | None = None
        with self._opened() as fd:
            found = os.fstat(fd)
        self._seen = (found.st_dev, found.st_ino)

    @property
    def root_id(self) -> tuple[int, int]:
        """Device and inode of the folder that was opened."""
        assert self._seen is not None
        return self._seen

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The root, open for one look; VaultUnreachable if it is another folder than before."""
        held: int | None = getattr(self._held, "fd", None)
        if held is not None:
            yield held
            return
        try:
            fd = os.open(self.root, _OPEN_FOLDER)
        except FileNotFoundError:
            raise VaultUnreachable(
                f"there is no folder `{self.root}`", hint=_AWAY_HINT
            ) from None
        except OSError as error:
            raise VaultUnreachable(
                f"`{self.root}` cannot be opened: {error.strerror}"
            ) from None
        try:
            found = os.fstat(fd)
            if self._seen is not None and (found.st_dev, found.st_ino) != self._seen:
                raise VaultUnreachable(_AWAY.format(root=self.root), hint=_AWAY_HINT)
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the root open over many reads of this thread: a little faster, and all of them from the same folder."""
        with self._opened() as fd:
            before = getattr(self._held, "fd", None)
            self._held.fd = fd
            try:
                yield
            finally:
                self._held.fd = before

    def listing(
        self, subtree: str = "", *, suffixes: tuple[str, ...] = SUFFIXES
    ) -> Listing:
        """What lies in the vault, or below one of its folders. A subtree that is not there lists as empty."""
        if subtree:
            inside(subtree)
        with self._opened() as fd:
            return walk(fd, self.root, subtree, suffixes)

    def read(self, path: str, *, max_bytes: int = LARGEST_PARSED) -> Note:
        """The note's bytes, or NoteNotFound, NoteTooLarge, NoteUnreadable, BadPath, VaultUnreachable."""
        if not path:
            raise BadPath(path, "it is empty")
        inside(path)
        with self._opened() as root:
            fd = _open_note(root, path)
            try:
                return _read(fd, path, max_bytes)
            except OSError as error:
                raise NoteUnreadable(path, _said(error)) from None
            finally:
                os.close(fd)

    @contextmanager
    def stream(self, path: str) -> Iterator[BinaryIO]:
        """A file of any size, opened to be read piece by piece. Raises as `read`, also while it is read."""
        inside(path)
        with self._opened() as root:
            fd = _open_note(root, path)
        with open(fd, "rb") as stream:
            try:
                mode = os.fstat(fd).st_mode
                if stat.S_ISDIR(mode):
                    raise NoteNotFound(path)
                if not stat.S_ISREG(mode):
                    raise NoteUnreadable(path, "it is no plain file")
                yield stream
            except OSError as error:
                raise NoteUnreadable(path, _said(error)) from None

    def stat(self, path: str) -> Stat | None:
        """Size and times of a note, or None when it is absent; NoteUnreadable when that cannot be told."""
        inside(path)
        with self._opened() as root:
            try:
                fd = _open_note(root, path)
            except NoteNotFound:
                return None
            try:
                found = os.fstat(fd)
                return None if stat.S_ISDIR(found.st_mode) else Stat.of(found)
            finally:
                os.close(fd)

    def stats(self, folder: str, names: Iterable[str]) -> dict[str, Stat]:
        """Size and times of those plain files in one folder that are there and can be looked at."""
        found = {}
        with self._entered(folder) as fd:
            for name in names if fd is not None else ():
                try:
                    seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except (OSError, ValueError):
                    continue
                if stat.S_ISREG(seen.st_mode):
                    found[name] = Stat.of(seen)
        return found

    def names(self, folder: str) -> tuple[list[str], list[str]]:
        """The names of the plain files in one folder, and of the folders; none where it cannot be listed."""
        files: list[str] = []
        folders: list[str] = []
        with self._entered(folder) as fd, suppress(OSError):
            if fd is not None:
                with os.scandir(fd) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.name)
                        elif entry.is_file(follow_symlinks=False):
                            files.append(entry.name)
        return files, folders

    @contextmanager
    def _entered(self, folder: str) -> Iterator[int | None]:
        """A folder below the root, open; None when it cannot be opened without following a link."""
        with self._opened() as root:
            if not folder:
                yield root
                return
            try:
                fd = open_beneath(root, folder)
            except OSError:
                yield None
                return
            try:
                yield fd
            finally:
                os.close(fd)

    def marker(self) -> Marker | None:
        """Which vault this is, or None when it has no marker yet."""
        return read_marker(self.root)

    def ensure_marker(self) -> Marker:
        """Which vault this is; the marker is written on first use."""
        return ensure_marker(self.root)

    def check_identity(self, vault: str) -> Identity:
        """Whether the vault with this id still stands here; VaultUnreachable when not, and then nothing is concluded.

        After REPLACED the new folder is the one that is looked at.
        """
        try:
            found = os.stat(self.root)
        except OSError as error:
            raise VaultUnreachable(
                f"`{self.root}` cannot be reached: {error.strerror}", hint=_AWAY_HINT
            ) from None
        marker = read_marker(self.root)
        if marker is None:
            raise VaultUnreachable(
                f"`{self.root}` is there, but not its marker `{NAME}`: perhaps the disk is not mounted",
                hint="mount it; if only the marker was deleted, put it back from another device or a backup",
            )
        if marker.vault != vault:
            raise VaultUnreachable(
                f"another vault stands at `{self.root}`", hint="restart to use that one"
            )
        if (found.st_dev, found.st_ino) == self._seen:
            return Identity.SAME
        self._seen = (found.st_dev, found.st_ino)
        return Identity.REPLACED


def _open_note(root: int, path: str) -> int:
    try:
        return open_beneath(root, path)
    except (FileNotFoundError, NotADirectoryError):
        raise NoteNotFound(path) from None
    except OSError as error:
        raise NoteUnreadable(path, _said(error)) from None


def _read(fd: int, path: str, max_bytes: int) -> Note:
    before = os.fstat(fd)
    if stat.S_ISDIR(before.st_mode):
        raise NoteNotFound(path)
    if not stat.S_ISREG(before.st_mode):
        raise NoteUnreadable(path, "it is no plain file")
    if before.st_size > max_bytes:
        raise NoteTooLarge(path, before.st_size, max_bytes)
    raw = _bytes_of(fd, before.st_size, max_bytes)
    after = os.fstat(fd)
    if len(raw) > max_bytes:
        raise NoteTooLarge(path, max(after.st_size, len(raw)), max_bytes)
    first, second = Stat.of(before), Stat.of(after)
    stable = first == second and len(raw) == first.size
    from hashlib import (
        sha256,  # only here: loading it costs 4 ms, and most searches read no note
    )

    return Note(path, raw, sha256(raw).hexdigest(), second, stable)


def _bytes_of(fd: int, expected: int, limit: int) -> bytes:
    """All bytes up to one more than the limit; one read is enough unless the file grows."""
    raw = os.read(fd, expected + 1)
    if len(raw) <= expected:
        return raw
    parts = [raw]
    size = len(raw)
    while size <= limit and (more := os.read(fd, min(1 << 16, limit + 1 - size))):
        parts.append(more)
        size += len(more)
    return b"".join(parts)


_WORDS = {
    "ELOOP": "it is a link, or lies behind one",
    "EXDEV": "it leads out of the vault",
    "EACCES": "permission denied",
    "ENAMETOOLONG": "its name is too long",
}


def _said(error: OSError) -> str:
    import errno

    name = errno.errorcode.get(error.errno or 0, "")
    return _WORDS.get(name) or error.strerror or name or str(error)
