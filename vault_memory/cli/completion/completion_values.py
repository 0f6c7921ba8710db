"""The values that complete an argument or an option, read from the vault without writing.

People, channels, groups and the names of facts come from the index as it is, notes from the folder,
and conversations from the state folder.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from vault_memory import places
from vault_memory.addons import table
from vault_memory.conversations import calls as conversation_calls
from vault_memory.errors import NoVault
from vault_memory.index.inspection import completion_rows
from vault_memory.rules.paths import layout
from vault_memory.search import results
from vault_memory.vault import locate, marker

MOST = 500
"""A longer list at a Tab key would not be read"""
NOTES = (".md", ".markdown")


class Values(NamedTuple):
    """Values with their meanings, and what else the shell may offer."""

    items: Sequence[tuple[str, str]] = ()
    also: str = "values"
    """`values` for nothing else, `files` or `folders`"""


def of(command: str, parameter: str, vault: str, word: str) -> Values:
    """Return the values of a parameter of a command."""
    usual = READERS.get(parameter, _nothing)
    reader = OTHERS.get(f"{command} {parameter}", usual)
    return reader(vault, word)


# --- The vault ----------------------------------------------------------------------------------


def _vault_folder(vault: str) -> Path:
    """Return the named folder, else the nearest one above with a marker. Raises VaultError."""
    return locate.locate(vault, {}, start=Path.cwd())


def _state(vault: str) -> Path:
    """Return the state folder. Raises VaultError."""
    vault_marker = marker.read_marker(_vault_folder(vault))
    if vault_marker is None:
        raise NoVault
    return Path(places.state_root(os.environ), vault_marker.vault)


def _index_folder(vault: str) -> Path:
    return _state(vault) / "index"


def _scopes(kind: str) -> "Reader":
    def values(vault: str, word: str) -> Values:
        names = completion_rows.scope_names(_index_folder(vault), kind, MOST)
        return Values([(name, "") for name in names])

    return values


def _entities(vault: str, word: str) -> Values:
    names = completion_rows.subjects(_index_folder(vault), word, MOST)
    return Values([(name, "") for name in names])


def _notes(vault: str, word: str) -> Values:
    """Return the notes and folders in the folder that the word begins with."""
    root = _vault_folder(vault)
    folder, slash, _ = word.rpartition("/")
    names = sorted(_note_names(root / folder))
    return Values([(f"{folder}{slash}{name}", "") for name in names[:MOST]])


def _note_names(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield f"{entry.name}/"
            elif entry.name.lower().endswith(NOTES):
                yield entry.name


def _sessions(vault: str, word: str) -> Values:
    items = []
    for file in _state(vault).glob("sessions/*/*.open"):
        session = json.loads(file.read_text(encoding="utf-8"))
        who = session["channel"] or session["user"]
        items.append((str(session["session"]), f"open, with {who}"))
    return Values(sorted(items)[:MOST])


# --- What is the same in each vault ---------------------------------------------------------------


def _kinds(vault: str, word: str) -> Values:
    return Values([(kind, "") for kind in layout.KINDS])


def _search_modes(vault: str, word: str) -> Values:
    return Values([(mode, "") for mode in results.MODES])


def _record_modes(vault: str, word: str) -> Values:
    return Values([(mode, "") for mode in conversation_calls.MODES])


def _roles(vault: str, word: str) -> Values:
    return Values([("user", "a person"), ("assistant", "the bot")])


def _hosts(vault: str, word: str) -> Values:
    names = table.part("hosts.programs").names()
    return Values([(name, "") for name in names])


def _nothing(vault: str, word: str) -> Values:
    return Values()


def _files(vault: str, word: str) -> Values:
    return Values(also="files")


def _folders(vault: str, word: str) -> Values:
    return Values(also="folders")


Reader = Callable[[str, str], Values]

READERS: dict[str, Reader] = {
    "user": _scopes("user"),
    "users": _scopes("user"),
    "channel": _scopes("channel"),
    "channels": _scopes("channel"),
    "group": _scopes("group"),
    "groups": _scopes("group"),
    "entity": _entities,
    "subject": _entities,
    "name": _entities,
    "note": _notes,
    "paths": _notes,
    "ref": _notes,
    "session": _sessions,
    "kinds": _kinds,
    "role": _roles,
    "vault": _folders,
    "path": _folders,
    "to": _folders,
    "project": _folders,
    "config": _files,
    "ops": _files,
    "password_file": _files,
    "ca_file": _files,
    "new_token": _files,
}
"""Parameter → its values, in each command"""
OTHERS: dict[str, Reader] = {
    "search mode": _search_modes,
    "record mode": _record_modes,
    "install host": _hosts,
    "hook host": _hosts,
    "mcp host": _hosts,
    "import source": _files,
    "remote user": _nothing,
    "service name": _nothing,
    "models name": _nothing,
    "search path": _nothing,
}
"""Command and parameter → its values, where they differ"""
