"""Reads the vault's folder: its listing, and the bytes of one note.

A name that cannot be listed, opened or classified is *unknown*, never absent: it is reported with
its reason, and no caller may conclude that it was deleted. No link is ever followed. The folder is
opened for each call and compared with the one that was opened first. So a mount that disappeared,
or a folder in its place, is noticed, and no open descriptor keeps a disk from being ejected.
"""

import errno
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import BinaryIO, NamedTuple

from vault_memory.errors import BadPath, NoteNotFound, NoteUnreadable, VaultUnreachable
from vault_memory.markdown.chunking import splitter
from vault_memory.markdown.letters import without_case
from vault_memory.rules.paths.filenames import inside
from vault_memory.vault.listing import SUFFIXES, Listing, Stat, walk
from vault_memory.vault.marker import NAME, Marker, ensure_marker, read_marker
from vault_memory.vault.safe_open import open_beneath

LARGEST_PARSED = 1 << 20
"""In bytes, without long runs of letters: a larger note is listed and not read"""
LARGEST_STORED = 8 << 20
"""In bytes: a larger file is never read, for any purpose"""

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_BLOCK = 1 << 16
"""Bytes of one read of a file that grows"""
_AWAY = "`{root}` is not the folder it was when it was opened"
_AWAY_HINT = "mount it again, or restart; the index is kept, and nothing is deleted"
MOST_NAMES = 200_000
"""Names that are remembered at the same time"""


class Note(NamedTuple):
    """The bytes of one note at one moment."""

    path: str
    raw: bytes
    revision: str
    """SHA-256 of the bytes, 64 hex digits"""
    stat: Stat
    stable: bool
    """False when the file changed while it was read"""

    def __repr__(self) -> str:
        """Omits the bytes: a log must not contain the text of a note."""
        return f"Note(path={self.path!r}, revision={self.revision!r}, stable={self.stable!r})"


class Identity(Enum):
    """Compares the folder at the vault's path with the one that was opened."""

    SAME = "same"
    REPLACED = "replaced"
    """The same vault by its marker, in another folder: the whole index must be compared with it"""


class NoteTooLarge(NoteUnreadable):
    """The note is too large to be read; it stays unchanged, and its old text can be found."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        reason = f"{size:,} bytes are more than the {limit:,} that are read"
        super().__init__(path, reason, hint="split it into smaller notes")


class Folder:
    """Reads the folder of a vault. Raises VaultUnreachable when it is another folder than before."""

    def __init__(self, root: str | os.PathLike[str], *, needs_marker: bool = True) -> None:
        """Without `needs_marker`, the folder is only read, and may have no marker yet."""
        self.root = os.path.abspath(root)
        self.needs_marker = needs_marker
        self._spelling: Spelling | None = None
        self._folds: bool | None = None
        """Whether other spellings of a name open the same file"""
        self._cached = threading.local()
        self._root_id: tuple[int, int] | None = None
        with self._opened() as fd:
            status = os.fstat(fd)
        self._root_id = (status.st_dev, status.st_ino)

    @property
    def root_id(self) -> tuple[int, int]:
        """Device and inode of the folder that was opened."""
        assert self._root_id is not None
        return self._root_id

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Opens the root for one call."""
        cached: int | None = getattr(self._cached, "fd", None)
        if cached is not None:
            yield cached
            return
        fd = self._open_root()
        try:
            status = os.fstat(fd)
            root_id = (status.st_dev, status.st_ino)
            # Fault (C57): an empty mount point must not look like a vault whose notes
            # were all deleted.
            if self._root_id is not None and root_id != self._root_id:
                raise VaultUnreachable(_AWAY.format(root=self.root), hint=_AWAY_HINT)
            yield fd
        finally:
            os.close(fd)

    def _open_root(self) -> int:
        try:
            return os.open(self.root, _OPEN_FOLDER)
        except FileNotFoundError:
            raise VaultUnreachable(f"there is no folder `{self.root}`", hint=_AWAY_HINT) from None
        except OSError as error:
            raise VaultUnreachable(f"`{self.root}` cannot be opened: {error.strerror}") from None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps the root open over many reads of this thread: faster, and all from one folder."""
        with self._opened() as fd:
            previous = getattr(self._cached, "fd", None)
            self._cached.fd = fd
            try:
                yield
            finally:
                self._cached.fd = previous

    def listing(self, subtree: str = "", *, suffixes: tuple[str, ...] = SUFFIXES) -> Listing:
        """Lists the vault, or one of its folders. An absent folder gives an empty listing."""
        if subtree:
            inside(subtree)
        with self._opened() as fd:
            return walk(fd, self.root, subtree, suffixes)

    def read(self, path: str, *, max_bytes: int | None = None) -> Note:
        """Reads a note, by default of at most `LARGEST_PARSED` bytes without its images.

        Raises NoteNotFound, NoteTooLarge, NoteUnreadable, BadPath, VaultUnreachable.
        """
        if not path:
            raise BadPath(path, "it is empty")
        inside(path)
        with self._opened() as root:
            fd = self._open_listed(root, path)
            try:
                if max_bytes is not None:
                    return _read(fd, path, max_bytes)
                note = _read(fd, path, LARGEST_STORED, LARGEST_PARSED)
            except OSError as error:
                raise NoteUnreadable(path, _reason(error)) from None
            finally:
                os.close(fd)
        size = len(note.raw)
        if size <= LARGEST_PARSED:
            return note
        if len(splitter.without_long_runs(note.raw)) > LARGEST_PARSED:
            raise NoteTooLarge(path, size, LARGEST_PARSED)
        return note

    def listed(self, path: str) -> str:
        """Returns a path as the folders of the vault spell it. What they do not list stays as it is."""
        if self._folds is None:
            self._folds = self._folds_names()
        if not self._folds:
            return path
        if self._spelling is None:
            self._spelling = Spelling(self.root)
        return self._spelling.listed(path)

    def _folds_names(self) -> bool:
        marker = os.path.join(self.root, NAME)
        other = os.path.join(self.root, NAME.upper())
        try:
            return os.path.samestat(os.lstat(other), os.lstat(marker))
        except OSError:
            return False

    def _open_listed(self, root: int, path: str) -> int:
        fd = _open_note(root, path)
        # Fault: a second spelling of a note would be a second note, and could belong to
        # another person.
        if self.listed(path) == path:
            return fd
        os.close(fd)
        raise NoteNotFound(path)

    @contextmanager
    def stream(self, path: str) -> Iterator[BinaryIO]:
        """Opens a file of any size for reading in blocks. Raises as `read`, also while it is read.

        `path` comes from a listing, or was checked by `inside`.
        """
        with self._opened() as root:
            fd = self._open_listed(root, path)
        with open(fd, "rb") as stream:
            try:
                mode = os.fstat(fd).st_mode
                if stat.S_ISDIR(mode):
                    raise NoteNotFound(path)
                if not stat.S_ISREG(mode):
                    raise NoteUnreadable(path, "it is no plain file")
                yield stream
            except OSError as error:
                raise NoteUnreadable(path, _reason(error)) from None

    def stat(self, path: str) -> Stat | None:
        """Returns size and times of a note; None when it is absent.

        Raises NoteUnreadable when that cannot be determined.
        """
        inside(path)
        with self._opened() as root:
            try:
                fd = self._open_listed(root, path)
            except NoteNotFound:
                return None
            try:
                status = os.fstat(fd)
            finally:
                os.close(fd)
        return None if stat.S_ISDIR(status.st_mode) else Stat.of(status)

    def stats(self, folder: str, names: Iterable[str]) -> dict[str, Stat]:
        """Returns size and times of the plain files of these names; omits unreadable ones."""
        stats: dict[str, Stat] = {}
        with self._entered(folder) as fd:
            if fd is None:
                return stats
            for name in names:
                try:
                    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except (OSError, ValueError):
                    continue
                if stat.S_ISREG(status.st_mode):
                    stats[name] = Stat.of(status)
        return stats

    def names(self, folder: str) -> tuple[list[str], list[str]]:
        """Returns the names of the plain files in one folder, and of the folders.

        Returns none where the folder cannot be listed.
        """
        files: list[str] = []
        folders: list[str] = []
        with self._entered(folder) as fd, suppress(OSError):
            if fd is None:
                return files, folders
            with os.scandir(fd) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        files.append(entry.name)
        return files, folders

    @contextmanager
    def _entered(self, folder: str) -> Iterator[int | None]:
        """Opens a folder below the root; None when that needs a link or fails."""
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
        """Returns the marker of this vault; None when it has none yet."""
        return read_marker(self.root)

    def ensure_marker(self) -> Marker:
        """Returns the marker of this vault; writes it on first use."""
        return ensure_marker(self.root)

    def check_identity(self, vault: str) -> Identity:
        """Compares the folder at the vault's path with the vault of this id.

        Raises VaultUnreachable for any other folder: its listing proves nothing about the vault.
        After REPLACED, later calls read the new folder.
        """
        try:
            folder = os.open(self.root, _OPEN_FOLDER)
        except OSError as error:
            raise VaultUnreachable(
                f"`{self.root}` cannot be reached: {error.strerror}", hint=_AWAY_HINT
            ) from None
        try:
            # Fault: between two looks at the path, another vault may take the place.
            status = os.fstat(folder)
            marker = read_marker(self.root, folder)
        finally:
            os.close(folder)
        # Fault (C57): the folder exists, but it may be the mount point of a disk that
        # is not mounted.
        if marker is None and self.needs_marker:
            raise VaultUnreachable(
                f"`{self.root}` exists, but not its marker `{NAME}`:"
                " perhaps the disk is not mounted",
                hint="mount it; if only the marker was deleted,"
                " restore it from another device or a backup",
            )
        if marker is not None and marker.vault != vault:
            raise VaultUnreachable(
                f"another vault is at `{self.root}`", hint="restart to use that one"
            )
        root_id = (status.st_dev, status.st_ino)
        if root_id == self._root_id:
            return Identity.SAME
        self._root_id = root_id
        return Identity.REPLACED


def _open_note(root: int, path: str) -> int:
    try:
        return open_beneath(root, path)
    except (FileNotFoundError, NotADirectoryError):
        raise NoteNotFound(path) from None
    except OSError as error:
        raise NoteUnreadable(path, _reason(error)) from None


def _read(fd: int, path: str, max_bytes: int, named_limit: int = 0) -> Note:
    """Reads at most `max_bytes`; an error names `named_limit`, if there is one."""
    before = os.fstat(fd)
    if stat.S_ISDIR(before.st_mode):
        raise NoteNotFound(path)
    # Fault (H120): a pipe never ends, and reading a device may have an effect.
    if not stat.S_ISREG(before.st_mode):
        raise NoteUnreadable(path, "it is no plain file")
    # Fault (H122): a huge file would fill the memory before its parser could refuse it.
    if before.st_size > max_bytes:
        raise NoteTooLarge(path, before.st_size, named_limit or max_bytes)
    raw = _read_bytes(fd, before.st_size, max_bytes)
    after = os.fstat(fd)
    # Fault (H122): the file grew while it was read.
    if len(raw) > max_bytes:
        raise NoteTooLarge(path, max(after.st_size, len(raw)), named_limit or max_bytes)
    first, second = Stat.of(before), Stat.of(after)
    # Fault (A4): an editor that writes during the read leaves half of the old and half
    # of the new text.
    stable = first == second and len(raw) == first.size
    # Loading hashlib costs 4 ms, and most searches read no note.
    from hashlib import sha256

    return Note(path, raw, sha256(raw).hexdigest(), second, stable)


def _read_bytes(fd: int, expected: int, limit: int) -> bytes:
    """Reads all bytes up to one more than the limit; one read is enough unless the file grows."""
    raw = os.read(fd, expected + 1)
    if len(raw) <= expected:
        return raw
    blocks = [raw]
    size = len(raw)
    # Fault (H122): a file that a program extends without end must not be read without
    # end.
    while size <= limit:
        block = os.read(fd, min(_BLOCK, limit + 1 - size))
        if not block:
            break
        blocks.append(block)
        size += len(block)
    return b"".join(blocks)


_REASONS = {
    errno.ELOOP: "it is a link, or behind one",
    errno.EXDEV: "it leads out of the vault",
    errno.EACCES: "permission denied",
    errno.ENAMETOOLONG: "its name is too long",
}


def _reason(error: OSError) -> str:
    code = error.errno or 0
    name = errno.errorcode.get(code, "")
    return _REASONS.get(code) or error.strerror or name or str(error)


# --- Spelling ---

# Knows how a folder spells its names, on file systems where other spellings open the same file.
#
# macOS, Windows drives in WSL and many network folders take `boat.md` for `Boat.md`. A layout
# compares names letter by letter, so another spelling could belong to another person.


class Spelling:
    """The names of one vault as its folders list them."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._names: dict[str, frozenset[str]] = {}
        """Folder → its names, as they were at some time"""

    def listed(self, path: str) -> str:
        """Returns the path as the folders spell it. What they do not list stays as it is."""
        folder = ""
        for name in path.split("/"):
            folder = f"{folder}/{self._listed_name(folder, name)}".lstrip("/")
        return folder

    def _listed_name(self, folder: str, name: str) -> str:
        if name in self._names.get(folder, ()):
            return name
        names = self._read_names(folder)
        if name in names:
            return name
        same = [other for other in names if without_case(other) == without_case(name)]
        return same[0] if same else name

    def _read_names(self, folder: str) -> frozenset[str]:
        try:
            names = frozenset(os.listdir(os.path.join(self._root, folder)))
        except OSError:
            return frozenset()
        # Fault: in a very large vault these names would fill the memory.
        if sum(map(len, self._names.values())) > MOST_NAMES:
            self._names.clear()
        self._names[folder] = names
        return names
