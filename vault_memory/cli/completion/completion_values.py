"""The values that complete an argument or an option, read from the vault without writing.

People, channels, groups and the names of facts come from the index as it is, notes from the folder,
and conversations from the state folder.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from vault_memory import places
from vault_memory.errors import NoVault
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    import apsw

    from vault_memory.conversations import calls as conversation_calls
    from vault_memory.hosts import programs
    from vault_memory.rules.paths import layout
    from vault_memory.search import results
    from vault_memory.vault import locate, marker
else:
    apsw = lazy_module("apsw")
    conversation_calls = lazy_module("vault_memory.conversations.calls")
    programs = lazy_module("vault_memory.hosts.programs")
    layout = lazy_module("vault_memory.rules.paths.layout")
    locate = lazy_module("vault_memory.vault.locate")
    marker = lazy_module("vault_memory.vault.marker")
    results = lazy_module("vault_memory.search.results")

MOST = 500
"""A longer list at a Tab key would not be read"""
NOTES = (".md", ".markdown")


class Values(NamedTuple):
    """Values with their meanings, and what else the shell may offer."""

    items: Sequence[tuple[str, str]] = ()
    also: str = "values"
    """`values` for nothing else, `files` or `folders`"""


def of(
    command: str,
    parameter: str,
    vault: str,
    word: str,
) -> Values:
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


def _query(
    vault: str,
    statement: str,
    *values: str,
) -> list[str]:
    """Return a column of the index. Raises OSError without one."""
    folder = _state(vault) / "index"
    number = int((folder / "current").read_text(encoding="ascii"))
    file = folder / f"index-{number}.sqlite"
    log = Path(f"{file}-wal")
    address = f"file:{quote(str(file))}?mode=ro"
    # Without a log an ordinary reader would create one; it is removed only by a writer.
    if not log.exists():
        address += "&immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(address, flags=flags)) as connection:
        rows = connection.execute(statement, values).fetchall()
    return [str(row[0]) for row in rows]


def _scopes(kind: str) -> "Reader":
    statement = (
        "SELECT substr(name, length(?1) + 1) FROM scope"
        f" WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name LIMIT {MOST}"
    )

    def values(vault: str, word: str) -> Values:
        return Values([(name, "") for name in _query(vault, statement, f"{kind}:")])

    return values


def _entities(vault: str, word: str) -> Values:
    statement = (
        "SELECT DISTINCT subject FROM fact WHERE substr(subject, 1, length(?1)) = ?1"
        f" ORDER BY subject LIMIT {MOST}"
    )
    return Values([(name, "") for name in _query(vault, statement, word)])


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
    return Values([(name, "") for name in programs.names()])


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
