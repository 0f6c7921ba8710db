"""The file ``.vault-memory`` at the top of a vault: which vault this is, the same on every device.

Without it a folder is never taken for the vault it stands in for: an empty mount point, a restored copy, another
vault moved to the old place.
"""

import json
import os
from typing import NamedTuple

from vault_memory import places
from vault_memory.errors import VaultError, VaultUnreachable

NAME = places.MARKER
FORMAT = 1
_LONGEST = 4096
_DIGITS = set("0123456789abcdef")


class VaultTooNew(VaultError):
    """The vault was made by a newer version of the program."""

    exit_code = 3

    def __init__(self, root: str, found: int) -> None:
        super().__init__(
            f"the vault `{root}` has format {found}, and this version knows up to {FORMAT}",
            hint="use the newer version; nothing was changed",
            found=found,
            known=FORMAT,
        )


class Marker(NamedTuple):
    """What the marker file says."""

    vault: str
    """The vault's id: 32 hex digits."""
    format: int = FORMAT


def read_marker(root: str | os.PathLike[str]) -> Marker | None:
    """The marker of the vault at ``root``; None when there is none. Raises VaultUnreachable when it cannot be had."""
    try:
        fd = os.open(
            os.path.join(root, NAME),
            os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK,
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise VaultUnreachable(
            f"the marker of `{root}` cannot be read: {error.strerror}"
        ) from None
    try:
        raw = os.read(fd, _LONGEST)
    except OSError as error:
        raise VaultUnreachable(
            f"the marker of `{root}` cannot be read: {error.strerror}"
        ) from None
    finally:
        os.close(fd)
    return _parsed(os.fspath(root), raw)


def _parsed(root: str, raw: bytes) -> Marker:
    try:
        said = json.loads(raw)
        vault, number = said["vault"], said["format"]
        if not isinstance(number, int) or len(vault) != 32 or set(vault) - _DIGITS:
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise VaultUnreachable(
            f"the marker `{NAME}` of `{root}` is damaged",
            hint="put it back from another device or a backup; if there is none, delete it and start again",
        ) from None
    if number > FORMAT:
        raise VaultTooNew(root, number)
    return Marker(vault, number)


def ensure_marker(root: str | os.PathLike[str]) -> Marker:
    """The marker of the vault at ``root``, written if there is none. Of two who write at once, both get the first."""
    if marker := read_marker(root):
        return marker
    marker = Marker(os.urandom(16).hex())
    body = json.dumps({"vault": marker.vault, "format": marker.format}).encode() + b"\n"
    target = os.path.join(root, NAME)
    temporary = f"{target}.~{os.urandom(8).hex()}"
    try:
        _write(temporary, body)
        try:
            os.link(temporary, target, follow_symlinks=False)
        finally:
            os.unlink(temporary)
    except FileExistsError:
        return ensure_marker(root)
    except FileNotFoundError:
        raise VaultUnreachable(
            f"there is no folder `{root}`", hint="`vault-memory init PATH` makes one"
        ) from None
    except OSError as error:
        raise VaultError(
            f"the marker `{NAME}` cannot be written to `{root}`: {error.strerror}",
            hint="the folder must be writable once; afterwards it may be read-only",
        ) from None
    return marker


def _write(path: str, body: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, body)
        os.fsync(fd)
    finally:
        os.close(fd)
