"""Where the program keeps what is its own: outside the vault, under a key made from the vault's marker."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from vault_memory import places
from vault_memory.errors import ConfigError, VaultUnreachable
from vault_memory.vault.marker import NAME as MARKER
from vault_memory.vault.marker import Marker, ensure_marker, read_marker

PLACES = "places"
"""The folder with one file for each folder that was a vault: the ids of the vaults, under a hash of the path"""
COMPLETE = "complete"
"""Stands in `PLACES` once the states that older versions made are in it"""


class TwoCopies(ConfigError):
    """Two live folders carry the same vault id."""

    def __init__(self, here: Path, other: Path) -> None:
        super().__init__(
            f"`{here}` and `{other}` carry the same vault id",
            hint=f"say which it is: `vault-memory init {here} --copied` makes it a vault of its own, "
            f"`--moved` takes over the state of the other",
            here=str(here),
            other=str(other),
        )


class StateFolder(NamedTuple):
    """The state of one vault on this machine. Nothing in it is needed to read the notes."""

    path: Path

    @property
    def config_file(self) -> Path:
        return self.path / "vault-memory.toml"

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
        """Why hooks gave nothing, one line for each time"""
        return self.path / "hook.log"


def state_of(root: Path, marker: Marker, environment: Mapping[str, str]) -> StateFolder:
    """The state folder of the vault at `root`, made when it is not there.

    Raises TwoCopies when another live folder has the same id. A folder that was moved is followed.
    """
    state = StateFolder(state_root(environment) / marker.vault)
    _make(state.path)
    place = state.path / "place.json"
    here = os.path.realpath(root)
    known = _known_place(place)
    if known == here:
        return state
    if (
        known is not None
        and _is_live(Path(known), marker)
        and not os.path.samefile(known, here)
    ):
        raise TwoCopies(Path(here), Path(known))
    claim(state, root)
    return state


def first_marker(root: Path, environment: Mapping[str, str]) -> Marker:
    """The marker of a folder that is used for the first time. Raises VaultUnreachable if it was a vault already:
    what is without its marker there may be the empty place that a disk was mounted to.
    """
    here = os.path.realpath(root)
    if _was_a_vault(here, state_root(environment)):
        raise VaultUnreachable(
            f"`{root}` was a vault, and its marker `{MARKER}` is gone: perhaps the disk is not mounted",
            hint=f"mount it, or put the marker back; `vault-memory init {root}` makes a new vault of what is there",
        )
    return ensure_marker(root)


def _was_a_vault(here: str, states: Path) -> bool:
    """Whether one of the states belongs to the folder `here`. Reads no state of a vault that never was there."""
    if not (states / PLACES / COMPLETE).exists():
        _register_all(states)
    return any(
        _known_place(states / vault / "place.json") == here
        for vault in _vaults_at(here, states)
    )


def _register_all(states: Path) -> None:
    """Note the places of states that older versions made; once."""
    for place in states.glob("*/place.json"):
        known = _known_place(place)
        if known is not None:
            _register(known, place.parent)
    _make(states / PLACES)
    (states / PLACES / COMPLETE).touch()


def _register(here: str, state: Path) -> None:
    """Note that this state belongs to the folder `here`, where another one may have been before."""
    vaults = _vaults_at(here, state.parent)
    if state.name in vaults:
        return
    entry = _entry(here, state.parent)
    _make(entry.parent)
    fresh = entry.with_name(f"{entry.name}.{os.getpid()}.new")
    fresh.write_text("\n".join([*vaults, state.name]), encoding="utf-8")
    os.replace(fresh, entry)


def _vaults_at(here: str, states: Path) -> list[str]:
    """The ids of the vaults that were opened in the folder `here`."""
    try:
        return _entry(here, states).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return []


def _entry(here: str, states: Path) -> Path:
    """The file that names the vaults of one folder."""
    from hashlib import (
        sha256,  # only here: loading it costs 4 ms, and a vault that is known needs none of it
    )

    return states / PLACES / sha256(os.fsencode(here)).hexdigest()[:32]


def _make(folder: Path) -> None:
    hint = "free it, or name another folder in VAULT_MEMORY_STATE; the notes are not touched"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigError(
            f"the state folder `{folder}` cannot be made: {error.strerror}", hint=hint
        ) from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise ConfigError(f"the state folder `{folder}` cannot be written", hint=hint)


def claim(state: StateFolder, root: Path) -> None:
    """From now on this state belongs to the vault at `root`."""
    here = os.path.realpath(root)
    _register(here, state.path)
    fresh = state.path / "place.json.new"
    fresh.write_text(json.dumps({"path": here}), encoding="utf-8")
    os.replace(fresh, state.path / "place.json")


def state_root(environment: Mapping[str, str]) -> Path:
    """The folder of all vaults' states."""
    return Path(places.state_root(environment))


def cache_root(environment: Mapping[str, str]) -> Path:
    """Where downloaded models lie."""
    return Path(places.cache_root(environment))


def _known_place(place: Path) -> str | None:
    try:
        return str(json.loads(place.read_text(encoding="utf-8"))["path"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_live(root: Path, marker: Marker) -> bool:
    try:
        return read_marker(root) == marker
    except (OSError, ConfigError):
        return False
