"""The file ``.vault-memory`` at the top of a vault: which vault this is, whose, and in which layout.

Without it, another folder could pass for the vault: an empty mount point, a restored copy, or
another vault at the old path. It travels with the notes, so that each device reads them alike.
"""

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from vault_memory import places
from vault_memory.errors import VaultError, VaultUnreachable
from vault_memory.logs import Logger

logger = Logger(__name__)

NAME = places.MARKER
FORMAT = 1
LONGEST = places.LONGEST_MARKER
_ID_LENGTH = 32
_DIGITS = set("0123456789abcdef")


class VaultTooNew(VaultError):
    """The vault was made by a newer version of the program."""

    exit_code = 3

    def __init__(self, root: str, format_number: int) -> None:
        super().__init__(
            f"the vault `{root}` has format {format_number}, and this version knows up to {FORMAT}",
            hint="use the newer version; nothing was changed",
            found=format_number,
            known=FORMAT,
        )


class Marker(NamedTuple):
    """The content of the marker file."""

    vault: str
    """The vault's id: 32 hex digits"""
    format: int = FORMAT
    owner: str = ""
    """The person who owns the notes at the root; "" in a vault whose owner was never named"""
    layout: Mapping[str, Any] | None = None
    """The layout as the file has it, which nothing has checked; None without one"""


def read_marker(root: str | os.PathLike[str], folder: int | None = None) -> Marker | None:
    """Returns the marker of the vault at `root`; None when there is no marker.

    `folder` is a descriptor of this folder, for a caller that must not read another one.

    Raises VaultUnreachable when it cannot be read, VaultTooNew when a newer version made it.
    """
    # Fault (H120): a link could name another vault's id, and a pipe would block each
    # start.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        place = os.path.join(root, NAME) if folder is None else NAME
        fd = os.open(place, flags, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(root, error) from None
    try:
        # Fault (H122): another file may have this name. No more of it is read than a
        # marker can have.
        raw = os.read(fd, LONGEST)
    except OSError as error:
        raise _unreadable(root, error) from None
    finally:
        os.close(fd)
    return _parse(os.fspath(root), raw)


def _unreadable(root: str | os.PathLike[str], error: OSError) -> VaultUnreachable:
    return VaultUnreachable(f"the marker of `{root}` cannot be read: {error.strerror}")


def _parse(root: str, raw: bytes) -> Marker:
    try:
        payload = json.loads(raw)
        vault, number = payload["vault"], payload["format"]
        is_id = len(vault) == _ID_LENGTH and not set(vault) - _DIGITS
        if not isinstance(number, int) or not is_id:
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise VaultUnreachable(
            f"the marker `{NAME}` of `{root}` is damaged",
            hint="restore it from another device or a backup;"
            " if there is none, delete it and start again",
        ) from None
    # Fault: an older version would misread a newer vault, and write into it.
    if number > FORMAT:
        raise VaultTooNew(root, number)
    # Fault: another program may write any value. A wrong one names no owner and no layout.
    owner, layout = payload.get("owner"), payload.get("layout")
    return Marker(
        vault,
        number,
        owner if isinstance(owner, str) and _is_name(owner) else "",
        layout if isinstance(layout, dict) else None,
    )


def _is_name(owner: str) -> bool:
    return owner.isprintable() and not owner.startswith(".") and "/" not in owner


def new_id() -> str:
    """Returns an id for a vault."""
    return os.urandom(_ID_LENGTH // 2).hex()


def ensure_marker(root: str | os.PathLike[str], vault: str = "") -> Marker:
    """Returns the marker of the vault at `root`; writes it if it is missing.

    `vault` is the id of a new marker; "" for a random one. Raises VaultError when it cannot be written.
    """
    if marker := read_marker(root):
        return marker
    marker = Marker(vault or new_id())
    target = os.path.join(root, NAME)
    temporary = f"{target}.~{os.urandom(8).hex()}"
    try:
        _write(temporary, {"vault": marker.vault, "format": marker.format})
        try:
            # Fault: a rename would replace the marker of another process, and one vault
            # would have two ids.
            os.link(temporary, target, follow_symlinks=False)
        finally:
            os.unlink(temporary)
    except FileExistsError:
        # Another process wrote a marker at the same time: both use the first one.
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


def amend_marker(root: str | os.PathLike[str], values: Mapping[str, object]) -> Marker | None:
    """Sets values of the marker at `root`, and keeps the others. Returns it; None without a marker.

    Raises VaultError when it cannot be written.
    """
    if read_marker(root) is None:
        return None
    target = os.path.join(root, NAME)
    temporary = f"{target}.~{os.urandom(8).hex()}"
    try:
        with open(target, "rb") as file:
            payload = json.loads(file.read(LONGEST))
        # Fault: a newer version may keep more in the file than this one knows.
        _write(temporary, {**payload, **values})
        try:
            os.replace(temporary, target)
        except OSError:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise VaultError(
            f"the marker `{NAME}` of `{root}` cannot be written: {error.strerror}",
            hint="make the folder writable",
        ) from None
    return read_marker(root)


def amend_if_writable(root: str | os.PathLike[str], values: Mapping[str, object]) -> Marker | None:
    """Sets values of the marker as `amend_marker` does; None for a folder that can only be read."""
    try:
        return amend_marker(root, values)
    except VaultError as error:
        logger.info("%s", error)
        return None


def _write(path: str, values: Mapping[str, object]) -> None:
    body = json.dumps(values).encode() + b"\n"
    if len(body) > LONGEST:
        raise OSError(0, "it would be too long")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, body)
        os.fsync(fd)
    finally:
        os.close(fd)
