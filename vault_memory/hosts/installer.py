"""A host's configuration is changed on disk: a backup beside it, then all or nothing, and never over a newer save."""

import difflib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vault_memory.config.durable import sync_folder
from vault_memory.errors import ConfigError
from vault_memory.hosts.config_edits import NAME, Edit, Made, OwnFile
from vault_memory.hosts.recipes import Plan

RECORD = "hosts.json"
"""In the state folder: what was made in which file, so that exactly that is taken out"""
LARGEST = 64 << 20
ATTEMPTS = 3


class HostFileUnusable(ConfigError):
    """A file of the host's configuration cannot be read or changed, and was left as it was."""

    def __init__(self, file: Path, reason: str, hint: str = "") -> None:
        super().__init__(
            f"`{file}`: {reason}", hint=hint or "it was left as it is", file=str(file)
        )


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of one file, or would."""

    file: str
    changed: bool
    backup: str
    """where the file as it was lies; empty when there was none, or nothing changed"""
    diff: str


def install(
    plan: Plan, state: Path, *, now: datetime, dry_run: bool = False
) -> list[Changed]:
    """Put everything in. All files are looked at before the first is written. Raises HostFileUnusable."""
    return _carry_out(plan, state, now, dry_run, out=False)


def uninstall(
    plan: Plan, state: Path, *, now: datetime, dry_run: bool = False
) -> list[Changed]:
    """Take out exactly what was put in. Raises HostFileUnusable."""
    return _carry_out(plan, state, now, dry_run, out=True)


def _carry_out(
    plan: Plan, state: Path, now: datetime, dry_run: bool, *, out: bool
) -> list[Changed]:
    record = _Record(state)
    for file, edit in plan.files:
        _after(file, edit, _read(file), record, out=out)
    changed = []
    for file, edit in plan.files:
        changed.append(_one(file, edit, record, now, dry_run, out=out))
        if not dry_run:
            record.save()
    return changed


def _one(
    file: Path,
    edit: Edit,
    record: "_Record",
    now: datetime,
    dry_run: bool,
    *,
    out: bool,
) -> Changed:
    for _ in range(ATTEMPTS):
        before = _read(file)
        after = _after(file, edit, before, record, out=out)
        if after == before:
            return Changed(str(file), False, "", "")
        diff = _diff(file, before, after)
        if dry_run:
            return Changed(str(file), True, "", diff)
        ours = after is None or (
            isinstance(edit, OwnFile) and edit.mark.encode() in (before or b"")
        )
        backup = "" if before is None or ours else str(_backup(file, before, now))
        if _replaced(file, before, after):
            record.note(file, edit, before, out=out)
            return Changed(str(file), True, backup, diff)
    raise HostFileUnusable(
        file,
        "it changed each time it was about to be written",
        "close the host and try again",
    )


def _after(
    file: Path, edit: Edit, before: bytes | None, record: "_Record", *, out: bool
) -> bytes | None:
    """The file's bytes afterwards; None when there is to be no file."""
    try:
        text = "" if before is None else before.decode("utf-8")
        if not out:
            return edit.put(text, record.made(file))[0].encode("utf-8")
        if before is None:
            return None
        after = edit.take(text, record.made(file))
    except UnicodeDecodeError:
        raise HostFileUnusable(file, "it is not UTF-8") from None
    except HostFileUnusable:
        raise
    except ConfigError as error:
        raise HostFileUnusable(file, error.message, error.hint) from None
    gone = edit.is_bare(after) and (
        isinstance(edit, OwnFile) or record.is_created(file)
    )
    return None if gone else after.encode("utf-8")


# ---- files ---------------------------------------------------------------------------------------------------------


def _read(file: Path) -> bytes | None:
    try:
        found = os.stat(file)
        if not stat.S_ISREG(found.st_mode):
            raise HostFileUnusable(file, "it is not a file")
        if found.st_size > LARGEST:
            raise HostFileUnusable(file, "it is too large for a configuration")
        return file.read_bytes()
    except FileNotFoundError:
        if os.path.islink(file):
            raise HostFileUnusable(file, "it is a link that leads nowhere") from None
        return None
    except OSError as error:
        raise HostFileUnusable(file, error.strerror or str(error)) from None


def _backup(file: Path, raw: bytes, now: datetime) -> Path:
    """A copy beside the file, with its mode; it never takes the place of another."""
    real = Path(os.path.realpath(file))
    stamp = now.astimezone(UTC).strftime("%Y%m%d-%H%M%S")
    mode = stat.S_IMODE(os.stat(real).st_mode)
    for number in range(100):
        copy = real.with_name(
            f"{real.name}.{stamp}{f'-{number}' if number else ''}.bak"
        )
        try:
            fd = os.open(
                copy,
                os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o600,
            )
        except FileExistsError:
            continue
        except OSError as error:
            raise HostFileUnusable(
                file, f"no backup can be written beside it: {error.strerror}"
            ) from None
        _fill(fd, raw, mode)
        return copy
    raise HostFileUnusable(file, "there are too many backups beside it")


def _replaced(file: Path, before: bytes | None, after: bytes | None) -> bool:
    """Put the new file into the place of the old one; False when that was changed meanwhile. Links are followed."""
    real = Path(os.path.realpath(file))
    try:
        if after is None:
            if _read(real) != before:
                return False
            real.unlink()
            _remove_own_folder(real.parent)
            return True
        mode = 0o600 if before is None else stat.S_IMODE(os.stat(real).st_mode)
        real.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd, fresh = tempfile.mkstemp(
            prefix=f".{real.name}.", suffix=".new", dir=real.parent
        )
        try:
            _fill(fd, after, mode)
            if _read(real) != before:
                return False
            os.replace(fresh, real)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(fresh)
        sync_folder(real.parent)
    except OSError as error:
        raise HostFileUnusable(file, error.strerror or str(error)) from None
    return True


def _remove_own_folder(folder: Path) -> None:
    """A folder that carries our name goes with its last file, and with what Python compiled of it."""
    if folder.name == NAME:
        for compiled in folder.glob("__pycache__/__init__.*.pyc"):
            compiled.unlink(missing_ok=True)
        for empty in (folder / "__pycache__", folder):
            with suppress(OSError):
                empty.rmdir()


def _fill(fd: int, raw: bytes, mode: int) -> None:
    with os.fdopen(fd, "wb") as stream:
        stream.write(raw)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())


def _diff(file: Path, before: bytes | None, after: bytes | None) -> str:
    old, new = (
        raw.decode("utf-8", "replace").splitlines(keepends=True) if raw else []
        for raw in (before, after)
    )
    lines = difflib.unified_diff(old, new, str(file), str(file))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ no line end\n" for line in lines
    )


# ---- what was made -------------------------------------------------------------------------------------------------


class _Record:
    """What we made in files that are not ours; without it whatever is empty is thought ours."""

    def __init__(self, state: Path) -> None:
        self._file = state / RECORD
        try:
            said = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            said = {}
        self._known: dict[str, Any] = said if isinstance(said, dict) else {}

    def made(self, file: Path) -> Made | None:
        known = self._of(file)
        return (
            tuple(tuple(map(str, path)) for path in known.get("made", ()))
            if known
            else None
        )

    def is_created(self, file: Path) -> bool:
        return bool(self._of(file).get("created"))

    def note(self, file: Path, edit: Edit, before: bytes | None, *, out: bool) -> None:
        """What was done."""
        if out:
            self._known.pop(str(file), None)
            return
        known = self._of(file)
        made = edit.put(
            "" if before is None else before.decode("utf-8"), self.made(file)
        )[1]
        self._known[str(file)] = {
            "made": [*map(list, made)],
            "created": before is None or bool(known.get("created")),
        }

    def save(self) -> None:
        fresh = self._file.with_name(f"{self._file.name}.new")
        fresh.write_text(json.dumps(self._known, indent=2), encoding="utf-8")
        os.replace(fresh, self._file)

    def _of(self, file: Path) -> Mapping[str, Any]:
        known = self._known.get(str(file))
        return known if isinstance(known, dict) else {}
