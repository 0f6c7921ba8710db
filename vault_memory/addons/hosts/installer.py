"""Changes a host's configuration on disk.

A file of the person gets a backup beside it. It is replaced in one step, and never when it was
saved since it was read.
"""

import difflib
import json
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, assert_never

from vault_memory.addons.hosts.config_edits import SERVER_NAME, CreatedPaths, Edit, OwnFile
from vault_memory.addons.hosts.install_plan import InstallPlan
from vault_memory.config import state_file
from vault_memory.config.durable import sync_folder
from vault_memory.errors import ConfigError, VaultMemoryError
from vault_memory.vault import marker, state_dir

RECORD = "hosts.json"
"""In the state folder: what was created in which file, so that exactly that is removed"""
LARGEST_FILE = 64 << 20
MOST_ATTEMPTS = 3
MOST_BACKUPS = 100
"""Of one file in one second"""

_OUR_NAME = re.compile("vault[-_]memory")
"""In each of our entries: the name of the server, of the program or of its module"""

Direction = Literal["install", "uninstall"]


class HostFileUnusable(ConfigError):
    """A file of the host's configuration cannot be read or changed, and was left as it was."""

    def __init__(self, file: Path, reason: str, hint: str = "") -> None:
        super().__init__(f"`{file}`: {reason}", hint=hint or "it was left as it is", file=str(file))


@dataclass(frozen=True, slots=True)
class FileChange:
    """What became of one file, or what would become of it."""

    file: str
    changed: bool
    backup: str = ""
    """Path of the copy of the file as it was; "" without one"""
    diff: str = ""


class Installer:
    """Carries out plans for one vault. `state` is the vault's state folder."""

    def __init__(
        self, direction: Direction, state: Path, *, now: datetime, dry_run: bool = False
    ) -> None:
        self._direction = direction
        self._now = now
        self._dry_run = dry_run
        self._record = _Record(state)

    def carry_out(self, plan: InstallPlan) -> list[FileChange]:
        """Put everything in, or remove it. Raises HostFileUnusable."""
        # Fault: half an installation is worse than none. All files are read before the
        # first is written, and a file that cannot be changed stops all.
        for file, edit in plan.edits:
            self._edited(file, edit, _read(file))
        changes = []
        for file, edit in plan.edits:
            changes.append(self._change(file, edit))
            if not self._dry_run:
                self._record.save()
        return changes

    def _change(self, file: Path, edit: Edit) -> FileChange:
        for _attempt in range(MOST_ATTEMPTS):
            before = _read(file)
            after = self._edited(file, edit, before)
            if after == before:
                return FileChange(str(file), changed=False)
            diff = _diff(file, before, after)
            if self._dry_run:
                return FileChange(str(file), changed=True, diff=diff)
            backup = ""
            if before is not None and not _is_own(edit, before, after):
                backup = str(_back_up(file, before, self._now))
            if replace_file(file, before, after):
                self._note(file, edit, before)
                return FileChange(str(file), changed=True, backup=backup, diff=diff)
        raise HostFileUnusable(
            file, "it changed each time it was about to be written", "close the host and try again"
        )

    def _edited(self, file: Path, edit: Edit, before: bytes | None) -> bytes | None:
        """Return the file's new bytes; None when the file is to disappear."""
        text = _decode(file, before)
        created = self._record.created_in(file)
        try:
            match self._direction:
                case "install":
                    after, _ = edit.put(text, created)
                    return after.encode("utf-8")
                case "uninstall":
                    if before is None:
                        return None
                    after = _without_ours(edit, text, created)
                case _:
                    assert_never(self._direction)
        except ConfigError as error:
            raise HostFileUnusable(file, error.message, error.hint) from None
        is_our_file = isinstance(edit, OwnFile) or self._record.is_created(file)
        if is_our_file and edit.is_empty(after):
            return None
        return after.encode("utf-8")

    def _note(self, file: Path, edit: Edit, before: bytes | None) -> None:
        """Record what was created in the file."""
        if self._direction == "uninstall":
            self._record.forget(file)
            return
        text = _decode(file, before)
        _, created = edit.put(text, self._record.created_in(file))
        self._record.note(file, created, is_new=before is None)


def _without_ours(edit: Edit, text: str, created: CreatedPaths | None) -> str:
    # Fault: without a record, what is empty in a file that is not connected would count as ours.
    if created is None and not _OUR_NAME.search(text):
        return text
    return edit.remove(text, created)


def recorded_state(root: Path | None, plan: InstallPlan, environment: Mapping[str, str]) -> Path:
    """Return the state folder whose record names a file of the plan, first that of `root`.

    The vault at `root` may be away. Without any record it is that vault's, else that of no vault.
    """
    states = state_dir.state_root(environment)
    own = _state_of(root, environment) if root else None
    with_record = sorted(file.parent for file in states.glob(f"*/{RECORD}"))
    files = [file for file, _edit in plan.edits + plan.shared]
    for state in ([own] if own else []) + with_record:
        record = _Record(state)
        if any(record.created_in(file) is not None for file in files):
            return state
    return own or states


def _state_of(root: Path, environment: Mapping[str, str]) -> Path | None:
    try:
        live = marker.read_marker(root)
    except VaultMemoryError:
        # Fault: a damaged marker, or one of a newer version, names no state.
        live = None
    if live:
        return state_dir.state_root(environment) / live.vault
    state = state_dir.state_at(root, environment)
    return state.path if state else None


def _is_own(edit: Edit, before: bytes, after: bytes | None) -> bool:
    """Whether nothing of the person is in the file, so that it needs no backup."""
    if after is None:
        return True
    return isinstance(edit, OwnFile) and edit.mark.encode() in before


# --- Files ---


def _read(file: Path) -> bytes | None:
    """Return the bytes of a file; None for a missing one. Raises HostFileUnusable."""
    try:
        status = os.stat(file)
        # Fault: a pipe or a device would be read for ever.
        if not stat.S_ISREG(status.st_mode):
            raise HostFileUnusable(file, "it is not a file")
        if status.st_size > LARGEST_FILE:
            raise HostFileUnusable(file, "it is too large for a configuration")
        return file.read_bytes()
    except FileNotFoundError:
        if os.path.islink(file):
            raise HostFileUnusable(file, "it is a link that leads nowhere") from None
        return None
    except OSError as error:
        raise HostFileUnusable(file, error.strerror or str(error)) from None


def _decode(file: Path, raw: bytes | None) -> str:
    """Return the text of a file; "" for a missing one. Raises HostFileUnusable."""
    if raw is None:
        return ""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise HostFileUnusable(file, "it is not UTF-8") from None


def _back_up(file: Path, raw: bytes, now: datetime) -> Path:
    """Write a copy beside the file, with its mode. It never replaces another file."""
    real = Path(os.path.realpath(file))
    mode = stat.S_IMODE(os.stat(real).st_mode)
    stamp = now.astimezone(UTC).strftime("%Y%m%d-%H%M%S")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for number in range(MOST_BACKUPS):
        suffix = f"-{number}" if number else ""
        copy = real.with_name(f"{real.name}.{stamp}{suffix}.bak")
        try:
            fd = os.open(copy, flags, 0o600)
        except FileExistsError:
            # Fault: a backup of the same second must not be overwritten.
            continue
        except OSError as error:
            raise HostFileUnusable(
                file, f"no backup can be written beside it: {error.strerror}"
            ) from None
        _fill(fd, raw, mode)
        return copy
    raise HostFileUnusable(file, "there are too many backups beside it")


def replace_file(file: Path, before: bytes | None, after: bytes | None) -> bool:
    """Replace or remove the file, behind links, too. False when it changed since it was read."""
    real = Path(os.path.realpath(file))
    try:
        if after is not None:
            return _swap_in(real, before, after)
        # Fault: a program may have saved the file since it was read.
        if _read(real) != before:
            return False
        real.unlink()
        _remove_own_folder(real.parent)
        return True
    except OSError as error:
        raise HostFileUnusable(file, error.strerror or str(error)) from None


def _swap_in(file: Path, before: bytes | None, after: bytes) -> bool:
    mode = 0o600 if before is None else stat.S_IMODE(os.stat(file).st_mode)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd, new_file = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".new", dir=file.parent)
    try:
        _fill(fd, after, mode)
        # Fault: a program may have saved the file since it was read.
        if _read(file) != before:
            return False
        os.replace(new_file, file)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(new_file)
    sync_folder(file.parent)
    return True


def _remove_own_folder(folder: Path) -> None:
    """Remove a folder with our name after its last file, and what Python compiled in it."""
    if folder.name != SERVER_NAME:
        return
    for compiled in folder.glob("__pycache__/__init__.*.pyc"):
        compiled.unlink(missing_ok=True)
    for empty in (folder / "__pycache__", folder):
        with suppress(OSError):
            empty.rmdir()


def _fill(fd: int, raw: bytes, mode: int) -> None:
    with os.fdopen(fd, "wb") as stream:
        stream.write(raw)
        stream.flush()
        # Fault: a configuration may hold keys of other programs. The temporary is
        # private until it is complete.
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())


def _diff(file: Path, before: bytes | None, after: bytes | None) -> str:
    lines = difflib.unified_diff(_lines(before), _lines(after), str(file), str(file))
    complete = (line if line.endswith("\n") else f"{line}\n\\ no line end\n" for line in lines)
    return "".join(complete)


def _lines(raw: bytes | None) -> list[str]:
    return (raw or b"").decode("utf-8", "replace").splitlines(keepends=True)


# --- The record ---


class _Record:
    """What `install` created in files of hosts. Without it, all that is empty counts as ours."""

    def __init__(self, state: Path) -> None:
        self._file = state / RECORD
        content = state_file.read_json(self._file)
        self._entries: dict[str, Any] = content if isinstance(content, dict) else {}

    def created_in(self, file: Path) -> CreatedPaths | None:
        """Return the paths that were created in a file; None when there is no record of it."""
        entry = self._entry(file)
        if not entry:
            return None
        return tuple(tuple(map(str, path)) for path in entry.get("made", ()))

    def is_created(self, file: Path) -> bool:
        """Whether there was no such file before."""
        return bool(self._entry(file).get("created"))

    def note(self, file: Path, created: CreatedPaths, *, is_new: bool) -> None:
        self._entries[str(file)] = {
            "made": [list(path) for path in created],
            "created": is_new or self.is_created(file),
        }

    def forget(self, file: Path) -> None:
        self._entries.pop(str(file), None)

    def save(self) -> None:
        # Fault: the state folder may be gone together with its record.
        if not self._entries and not self._file.exists():
            return
        state_file.write(self._file, json.dumps(self._entries, indent=2))

    def _entry(self, file: Path) -> Mapping[str, Any]:
        entry = self._entries.get(str(file))
        return entry if isinstance(entry, dict) else {}
