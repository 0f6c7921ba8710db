"""What of ours is on this machine outside of the vaults: the things that `uninstall` lists."""

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from vault_memory import places
from vault_memory.admin import service_units
from vault_memory.cli.commands import init
from vault_memory.conversations import drop_folder
from vault_memory.database.connection import DatabaseError
from vault_memory.database.secure_delete import stored_values
from vault_memory.errors import VaultMemoryError
from vault_memory.models.embedding import catalog, hub_download
from vault_memory.vault import marker, state_dir
from vault_memory.vault.state_dir import StateFolder

Kind = Literal["process", "service", "program", "completion", "state", "cache"]
DROP, DRAFTS = drop_folder.FOLDER, "drafts"
HOSTS = "hosts"
"""In the folder of all states: a folder for each host of many vaults"""
FLEET = "fleet"
"""In the folder of all states: the copies of the vaults of a fleet"""
_ID = re.compile(r"[0-9a-f]{32}")
PLACE = "place.json"
_STATE_SIGNS = (PLACE, "unmarked")
"""One of these is in the state folder of each vault"""
LOCKS = ("host.lock", "web.lock")
"""Held while a host of many vaults or a page runs; one of these is in the state folder of a host"""
IDENTITY = (PLACE, "unmarked", "had-files", "device", "devices")
"""Files that say to which vault an only copy belongs"""
_TITLES = {
    places.CONFIG: "your configuration",
    "remote-password": "the password of the server",
    "web-sessions.json": "browsers that are signed in",
    "web-passphrases.json": "passphrases for the page",
    "connector.json": "programs elsewhere that you let in",
    "index": "made from the notes",
    "sessions": "open conversations",
    "nights": "reports of nights",
    **dict.fromkeys(IDENTITY, "tells which vault this belongs to"),
}
_ONLY_COPIES = {
    "journal.sqlite": "earlier versions of notes, and the trash",
    "sync.sqlite": "what the vault and its server last had in common",
    places.PHRASES: "phrases that you wrote",
    "prompts": "prompts that you wrote",
    DRAFTS: "texts that were open in an editor",
    DROP: "lines that could not be recorded",
}
"""Beginning of a name in a state folder → words that are nowhere else"""
PURGE = "`--purge` removes it, too"
HAS_VAULT = "it has a vault"
"""In our folder, with which it would go"""
_UNIT_MARK = re.compile(r"written by vault-memory for the (?:vault|host) ([0-9a-f]{32})")


class Trace(NamedTuple):
    """A thing of ours, and why it stays."""

    kind: Kind
    path: Path
    title: str
    stays: str = ""
    """Empty for what `uninstall` removes"""


# --- The states of vaults ---


@dataclass(frozen=True, slots=True)
class VaultTraces:
    """The state folder of one vault, which may be away."""

    folder: Path

    @property
    def vault(self) -> Path | None:
        """The folder of the vault; None when the state does not say."""
        root = state_dir.registered_root(StateFolder(self.folder))
        return Path(root) if root else None

    @property
    def title(self) -> str:
        return f"the state of `{self.vault or 'a vault without a known folder'}`"

    def is_here(self) -> bool:
        """Whether the vault can be opened now."""
        root = self.vault
        if root is None or not root.is_dir():
            return False
        if StateFolder(self.folder).unmarked_file.exists():
            return True
        try:
            live = marker.read_marker(root)
        except VaultMemoryError:
            return False
        return live is not None and live.vault == self.folder.name

    def unsettled(self, *, late: bool = True) -> list[str]:
        """Return what was said or written, and is in no note yet.

        With `late` also the earlier files of notes, into which an editor may still save.
        """
        reasons = []
        if drop_folder.DropFolder(self.folder).is_waiting():
            reasons.append("turns in the drop folder")
        journal = StateFolder(self.folder).journal
        if not journal.exists():
            return reasons
        try:
            tables = {table for table, _ in stored_values(journal)}
        except (DatabaseError, VaultMemoryError):
            # Fault: a damaged journal may have a write that a crash interrupted.
            return [*reasons, "a journal that cannot be read"]
        if "ops" in tables:
            reasons.append("writes")
        if late and "displaced" in tables:
            reasons.append("notes that an editor may have open")
        return reasons

    def traces(self, *, purge: bool) -> Iterator[Trace]:
        """Yield the entries of the folder, and last the one by which it is known."""
        # Fault: after a crash in between, nobody would know that the others are ours.
        names = sorted(os.listdir(self.folder), key=lambda name: (name == PLACE, name))
        words = {name: self._words(name) for name in names}
        keeps_words = any(words.values()) and not purge
        for name in names:
            stays = PURGE if keeps_words and (words[name] or name in IDENTITY) else ""
            # An index of a past day is made from a copy of the vault.
            if not name.startswith("as-of-") and _has_vault(self.folder / name):
                stays = HAS_VAULT
            yield Trace("state", self.folder / name, words[name] or _TITLES.get(name, ""), stays)

    def _words(self, name: str) -> str:
        """Return which words of an entry may be nowhere else; "" for those of no other entry."""
        if name.endswith(".lock"):
            return ""
        if ".damaged-" in name:
            return "a database that was set aside as damaged"
        for beginning, words in _ONLY_COPIES.items():
            if name.startswith(beginning) and not _is_empty(self.folder / name):
                return words
        return ""


def roots(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders of all states: that of the user, and that of hooks which could not use it."""
    parent = environment.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    temporary = Path(parent) / f"vault-memory-{os.geteuid()}"
    usual = Path(os.path.realpath(state_dir.state_root(environment)))
    # Fault (H120): another user may have made a folder or a link of this name.
    is_own = _is_folder(temporary) and temporary.stat().st_uid == os.geteuid()
    return [usual, temporary] if is_own else [usual]


def vault_states(root: Path) -> list[VaultTraces]:
    """Return the state folders of vaults."""
    return [VaultTraces(folder) for folder in _ids_with(root, _STATE_SIGNS)]


def host_folders(root: Path) -> list[Path]:
    """Return the state folders of hosts of many vaults."""
    return _ids_with(root / HOSTS, LOCKS)


def shared_traces(root: Path, *, keeps_states: bool) -> Iterator[Trace]:
    """Yield the other entries of the folder of all states."""
    for folder in host_folders(root):
        reason = HAS_VAULT if _has_vault(folder) else ""
        yield Trace("state", folder, "the state of a host of many vaults", reason)
    patterns = ("hook.log", "hook.log.1", "vault-memory*.log")
    logs = (file for pattern in patterns for file in root.glob(pattern))
    yield from (Trace("state", file, "a log") for file in sorted(logs))
    register, fleet = root / state_dir.PLACES, root / FLEET
    # Fault: a folder that the user named may have another folder of this name.
    if _is_folder(register) and all(map(_is_of_register, os.listdir(register))):
        reason = PURGE if keeps_states else ""
        yield Trace("state", register, "the folders that were vaults", reason)
    if _is_folder(fleet):
        # Fault: a copy may have an operation that its home lacks.
        reason = "`vault-memory fleet drain` writes them home first; then delete the folder"
        yield Trace("state", fleet, "copies of the vaults of a fleet", reason)


def _is_of_register(name: str) -> bool:
    return bool(_ID.fullmatch(name)) or name == state_dir.COMPLETE


def _ids_with(folder: Path, signs: Iterable[str]) -> list[Path]:
    """Return the folders whose names are ids, and that have one of these files; no links."""
    if not _is_folder(folder):
        return []
    return [
        path
        for path in sorted(folder.iterdir())
        if _ID.fullmatch(path.name)
        and _is_folder(path)
        # Fault: a folder that the user named may have other folders with such names.
        and any((path / sign).is_file() for sign in signs)
    ]


def _has_vault(path: Path) -> bool:
    return _is_folder(path) and any(places.MARKER in files for _, _, files in os.walk(path))


def _is_folder(path: Path) -> bool:
    """Whether it is a folder and no link to one."""
    return path.is_dir() and not path.is_symlink()


def _is_empty(path: Path) -> bool:
    """Whether a folder has nothing but its lock."""
    return _is_folder(path) and not set(os.listdir(path)) - {".lock"}


# --- Services, completions and the cache ---


class OwnUnit(NamedTuple):
    """A unit that we wrote."""

    place: service_units.UnitPlace
    owner: str


def units(environment: Mapping[str, str], ids: Sequence[str]) -> Iterator[OwnUnit]:
    """Yield our units of the user, and those of the machine for these vaults and hosts."""
    for own in (True, False):
        folder = service_units.place_of("x", own=own, kind=None, environment=environment).folder
        for file in sorted((*folder.glob("*.service"), *folder.glob("*.plist"))):
            if file.is_symlink() or not file.is_file():
                continue
            mark = _UNIT_MARK.search(file.read_text(encoding="utf-8", errors="replace"))
            if mark and (own or mark[1] in ids):
                place = service_units.place_of(
                    file.stem, own=own, kind=None, environment=environment
                )
                yield OwnUnit(place, mark[1])


def completions(environment: Mapping[str, str]) -> Iterator[Trace]:
    """Yield the scripts that `completion --install` wrote."""
    for shell in ("bash", "zsh", "fish"):
        place = init.place_of(shell, environment)
        first = init.script_of(shell).partition("\n")[0]
        if not place.file.is_symlink() and place.file.is_file():
            text = place.file.read_text(encoding="utf-8", errors="replace")
            if text.startswith(first):
                line = f"; its line in `{place.start_file}` does nothing then"
                title = f"completes commands in {shell}{line if place.start_file else ''}"
                yield Trace("completion", place.file, title)


def zsh_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of ours in which zsh finds its script."""
    return init.place_of("zsh", environment).file.parent


def models(environment: Mapping[str, str]) -> Path:
    """Return the folder of fetched models."""
    cache = os.path.realpath(state_dir.cache_root(environment))
    return catalog.models_folder(Path(cache))


def cache_traces(environment: Mapping[str, str]) -> Iterator[Trace]:
    """Yield the models that were fetched."""
    folder = models(environment)
    if not _is_folder(folder):
        return
    names = {*catalog.MODELS, hub_download.minilm_folder(folder.parent).name}
    hidden = {*names, "removed", "lock"}
    for path in sorted(folder.iterdir()):
        begin, _, rest = path.name.partition(".")
        # Fault: a folder that the user named may have models of other programs.
        if path.name in names or (not begin and rest.partition(".")[0] in hidden):
            yield Trace("cache", path, "a fetched model" if path.is_dir() else "")


# --- Processes ---


class Running(NamedTuple):
    """A process of ours."""

    pid: int
    command: str


def running(folders: Sequence[Path]) -> list[Running]:
    """Return the processes that use a folder of states, but this one; none outside of Linux."""
    if sys.platform != "linux":
        return []
    real = [os.path.realpath(folder) for folder in folders]
    processes = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) not in (os.getpid(), os.getppid()):
            command = _command_if_ours(Path(entry.path), real)
            if command:
                processes.append(Running(int(entry.name), command))
    return processes


def _command_if_ours(process: Path, folders: Sequence[str]) -> str:
    """Return the command line of a process that uses one of these folders; else ""."""
    try:
        words = _strings(process / "cmdline")
        environment = dict(text.partition("=")[::2] for text in _strings(process / "environ"))
        files = [os.readlink(link) for link in (process / "fd").iterdir()]
    except OSError:
        # It has ended, or belongs to another user.
        return ""
    uses = any(file.startswith(f"{folder}/") for file in files for folder in folders)
    # Fault: a server that waits for its client has no file of ours open.
    if uses or (_is_program(words) and _root_of(environment) in folders):
        return " ".join(words)
    return ""


def _strings(file: Path) -> list[str]:
    return os.fsdecode(file.read_bytes()).rstrip("\0").split("\0")


def _is_program(words: Sequence[str]) -> bool:
    first = [os.path.basename(word) for word in words[:2]]
    is_python = first[:1] and first[0].startswith("python")
    if is_python and "-m" in words:
        return words[words.index("-m") + 1 :][:1] == ["vault_memory"]
    return "vault-memory" in (first if is_python else first[:1])


def _root_of(environment: Mapping[str, str]) -> str:
    """Return the folder of states of a process with this environment."""
    home = environment.get("HOME", "/")
    usual = environment.get("XDG_STATE_HOME", "").strip() or f"{home}/.local/state"
    return os.path.realpath(environment.get("VAULT_MEMORY_STATE") or f"{usual}/vault-memory")
