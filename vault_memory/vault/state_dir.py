"""Finds the state folder of a vault: outside the vault, named by the id in the vault's marker."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from vault_memory import places
from vault_memory.config import state_file
from vault_memory.errors import ConfigError, VaultUnreachable
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import Marker, ensure_marker, new_id, read_marker

PLACES = "places"
"""Folder with a file for each folder that was a vault: the vaults' ids, named by the path's hash"""
COMPLETE = "complete"
"""File in `PLACES` that says that the states of older versions are registered"""
OTHERS = 0o077
"""Rights of all but the owner"""
_PLACE = "place.json"
"""File in a state folder with the path of its vault"""


class TwoCopies(ConfigError):
    """Two live folders carry the same vault id."""

    def __init__(self, root: Path, registered: Path) -> None:
        super().__init__(
            f"`{root}` and `{registered}` carry the same vault id",
            hint=f"say which it is: `vault-memory init {root} --copied` makes it"
            " a vault of its own, `--moved` takes over the state of the other",
            here=str(root),
            other=str(registered),
        )


class StateFolderUnusable(ConfigError):
    """The state folder of a vault cannot be made or written."""


class StateFolder(NamedTuple):
    """The state folder of one vault on this machine. The notes can be read without it."""

    path: Path

    @property
    def config_file(self) -> Path:
        return self.path / places.CONFIG

    @property
    def layout_file(self) -> Path:
        """The layout that the program chose, where the configuration names none"""
        return self.path / "layout.json"

    @property
    def unmarked_file(self) -> Path:
        """Exists while the folder was only read, and has no marker yet"""
        return self.path / "unmarked"

    @property
    def had_files_file(self) -> Path:
        """Exists if that folder was not empty: then an empty one is a disk that is away"""
        return self.path / "had-files"

    @property
    def index_folder(self) -> Path:
        return self.path / "index"

    @property
    def lock_file(self) -> Path:
        return self.path / "daemon.lock"

    @property
    def socket(self) -> Path:
        return self.path / places.SOCKET

    @property
    def journal(self) -> Path:
        return self.path / "journal.sqlite"

    @property
    def sync_state(self) -> Path:
        return self.path / "sync.sqlite"

    @property
    def hook_log(self) -> Path:
        """Reasons why a hook returned nothing, one line for each time"""
        return self.path / "hook.log"


def state_of(root: Path, marker: Marker, environment: Mapping[str, str]) -> StateFolder:
    """Returns the state folder of the vault at `root`; creates it when it does not exist.

    A vault that was moved keeps its state. Raises TwoCopies when another live folder has the same
    id, StateFolderUnusable when the folder cannot be created.
    """
    state = StateFolder(state_root(environment) / marker.vault)
    _make(state.path)
    root_path = os.path.realpath(root)
    registered = _registered_root(state.path / _PLACE)
    if registered == root_path:
        return state
    if registered is not None and _is_copy(root_path, registered, marker):
        raise TwoCopies(Path(root_path), Path(registered))
    claim(state, root)
    return state


def _is_copy(root_path: str, registered: str, marker: Marker) -> bool:
    """Whether the registered folder still is the vault of this marker, and is not `root_path`."""
    # Fault (F108): a case-folding file system or a bind mount gives one folder two
    # paths.
    return _is_live(Path(registered), marker) and not os.path.samefile(registered, root_path)


def first_marker(root: Path, environment: Mapping[str, str]) -> Marker:
    """Returns the marker of a folder that is used for the first time.

    Raises VaultUnreachable if the folder was a vault already.
    """
    _check_mounted(root, state_root(environment))
    return mark(root, environment)


def mark(root: Path, environment: Mapping[str, str]) -> Marker:
    """Returns the marker of the vault at `root`; a new one takes over the state of `future_marker`."""
    state = _unmarked_state(os.path.realpath(root), state_root(environment))
    if state is None:
        return ensure_marker(root)
    # Fault: a vault with a marker and an unmarked state would lose its guard against C57.
    _make(state.path)
    marker = ensure_marker(root, state.path.name)
    if marker.vault == state.path.name:
        state.unmarked_file.unlink(missing_ok=True)
    return marker


def future_marker(root: Path, environment: Mapping[str, str]) -> Marker:
    """Returns the marker that a folder gets when it is first written to. Writes nothing to it.

    Raises VaultUnreachable if the folder was a vault already.
    """
    root_path = os.path.realpath(root)
    states = state_root(environment)
    _check_mounted(root, states)
    # The marker that a folder gets later has this id, so the index is not built twice.
    # Fault: a random id, since one made from the path would be that of another vault which is
    # at this path later.
    state = _unmarked_state(root_path, states) or StateFolder(states / new_id())
    if not state.unmarked_file.exists():
        _make(state.path)
        state_file.write(state.unmarked_file, "")
    if not state.had_files_file.exists() and _has_files(root):
        state_file.write(state.had_files_file, "")
    return Marker(state.path.name)


def _check_mounted(root: Path, states: Path) -> None:
    """Raises VaultUnreachable for a folder without a marker that had one, or that had files."""
    root_path = os.path.realpath(root)
    # Fault (C57): the folder may be the empty mount point of a disk that has the vault.
    if _was_a_vault(root_path, states):
        raise _marker_is_gone(root)
    state = _unmarked_state(root_path, states)
    if state is None or not state.had_files_file.exists() or _has_files(root):
        return
    raise VaultUnreachable(
        f"`{root}` is empty, and had files when it was last read: perhaps the disk is not mounted",
        hint=f"mount it; `vault-memory init {root}` makes a new vault of this folder",
    )


def _has_files(root: Path) -> bool:
    try:
        return any(root.iterdir())
    except OSError:
        # A folder that cannot be listed is reported by its reader.
        return True


def _unmarked_state(root_path: str, states: Path) -> StateFolder | None:
    """Returns the state of a folder that was only read so far; None without one."""
    for vault in vaults_at(root_path, states):
        state = StateFolder(states / vault)
        is_here = _registered_root(state.path / _PLACE) == root_path
        if is_here and state.unmarked_file.exists():
            return state
    return None


def _marker_is_gone(root: Path) -> VaultUnreachable:
    return VaultUnreachable(
        f"`{root}` was a vault, and its marker `{MARKER}` is gone: perhaps the disk is not mounted",
        hint="mount it, or restore the marker;"
        f" `vault-memory init {root}` makes a new vault of this folder",
    )


def _was_a_vault(root_path: str, states: Path) -> bool:
    """Whether a state belongs to this folder. Reads only the states of vaults that were in it."""
    if not (states / PLACES / COMPLETE).exists():
        _register_all(states)
    return any(
        _registered_root(states / vault / _PLACE) == root_path
        and not StateFolder(states / vault).unmarked_file.exists()
        for vault in vaults_at(root_path, states)
    )


def _register_all(states: Path) -> None:
    """Registers the states that older versions made; once."""
    for place in states.glob(f"*/{_PLACE}"):
        registered = _registered_root(place)
        if registered is not None:
            _register(registered, place.parent)
    _make(states / PLACES)
    (states / PLACES / COMPLETE).touch()


def _register(root_path: str, state: Path) -> None:
    """Notes that this state belongs to a folder, which may have been another vault before."""
    vaults = vaults_at(root_path, state.parent)
    if state.name in vaults:
        return
    entry = _entry(root_path, state.parent)
    _make(entry.parent)
    state_file.write(entry, "\n".join([*vaults, state.name]))


def registered_root(state: StateFolder) -> str | None:
    """Returns the folder of the vault that a state belongs to; None without a known one."""
    return _registered_root(state.path / _PLACE)


def state_at(root: Path, environment: Mapping[str, str]) -> StateFolder | None:
    """Returns the state folder of the vault that was last opened in this folder, which may be away."""
    root_path = os.path.realpath(root)
    states = state_root(environment)
    for vault in reversed(vaults_at(root_path, states)):
        state = StateFolder(states / vault)
        if registered_root(state) == root_path:
            return state
    return None


def temporary_root(environment: Mapping[str, str]) -> Path:
    """Returns a private folder for state folders, for as long as the user's own cannot be used.

    It is the same until the computer starts again. Raises StateFolderUnusable.
    """
    import tempfile

    parent = environment.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    root = Path(parent) / f"vault-memory-{os.geteuid()}"
    _make(root)
    status = root.lstat()
    # Fault (H120): another user may have made a folder or a link of this name, and would read
    # the memory.
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise StateFolderUnusable(
            f"`{root}` belongs to another user", hint="remove it, or set XDG_RUNTIME_DIR"
        )
    return root


def vaults_at(root_path: str, states: Path) -> list[str]:
    """Returns the ids of the vaults that were opened in this folder."""
    try:
        return _entry(root_path, states).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return []


def _entry(root_path: str, states: Path) -> Path:
    """Returns the file that names the vaults of one folder."""
    # Loading hashlib costs 4 ms, and the start of a registered vault does not come here.
    from hashlib import sha256

    return states / PLACES / sha256(os.fsencode(root_path)).hexdigest()[:32]


def _make(folder: Path) -> None:
    hint = "free it, or name another folder in VAULT_MEMORY_STATE; the notes are not touched"
    try:
        places.make_private(folder)
    except OSError as error:
        raise StateFolderUnusable(
            f"the state folder `{folder}` cannot be made: {error.strerror}", hint=hint
        ) from None
    status = folder.stat()
    # Fault: a folder that somebody made by hand may be open to others, and the journal in it
    # has the text of every note.
    if status.st_mode & OTHERS and status.st_uid == os.geteuid():
        folder.chmod(stat.S_IMODE(status.st_mode) & ~OTHERS)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise StateFolderUnusable(f"the state folder `{folder}` cannot be written", hint=hint)


def claim(state: StateFolder, root: Path) -> None:
    """Makes this state belong to the vault at `root`."""
    root_path = os.path.realpath(root)
    _register(root_path, state.path)
    state_file.write(state.path / _PLACE, json.dumps({"path": root_path}))


def state_root(environment: Mapping[str, str]) -> Path:
    """Returns the folder of all state folders."""
    return Path(places.state_root(environment))


def cache_root(environment: Mapping[str, str]) -> Path:
    """Returns the folder of downloaded models."""
    return Path(places.cache_root(environment))


def _registered_root(place: Path) -> str | None:
    try:
        return str(json.loads(place.read_text(encoding="utf-8"))["path"])
    except (OSError, ValueError, KeyError, TypeError):
        # Fault (B42): a damaged file names no folder. The vault registers itself again.
        return None


def _is_live(root: Path, marker: Marker) -> bool:
    try:
        live = read_marker(root)
    except (OSError, ConfigError):
        return False
    return live is not None and live.vault == marker.vault
