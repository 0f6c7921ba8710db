"""Distinguishes a misspelt name of a person, channel or group from a new name.

A command line names them by hand, and a wrong letter would open a memory of its own.
"""

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from vault_memory.errors import UsageError
from vault_memory.places import FOLDERS
from vault_memory.rules.paths.filenames import inside
from vault_memory.rules.paths.near_names import near_names
from vault_memory.rules.paths.scopes import OF_OWNER, READ_BY_ALL
from vault_memory.search.calls import SearchCalls

NOUNS = {"user": "person", "channel": "channel", "group": "group"}


class NameUnclear(UsageError):
    """A name on the command line is new, and nearly that of another person, channel or group."""

    def __init__(self, scope: str, near: Sequence[str]) -> None:
        kind, _, name = scope.partition(":")
        listed = " or ".join(f"`{near_name}`" for near_name in near)
        super().__init__(
            f"this vault has no {NOUNS[kind]} `{name}`; did you mean {listed}?",
            hint=f"write `--{kind} {near[0]}`, or add `--new` to use the new name",
            scope=scope,
            near=[f"{kind}:{near_name}" for near_name in near],
        )


class NotesBelongTo(UsageError):
    """The notes of the vault belong to one person, and the command names another one."""

    def __init__(self, name: str, owner: str, root: Path) -> None:
        super().__init__(
            f"these notes belong to {owner}, and this vault has no person `{name}`",
            hint=f"write `--user {owner}`; if the notes are those of {name},"
            f" `vault-memory init {shlex.quote(str(root))} --user {shlex.quote(name)}`"
            " says so; `--new` adds a second person",
            name=name,
            owner=owner,
        )
        self.name, self.owner = name, owner


def unknown_names(searcher: SearchCalls, scopes: Iterable[str]) -> list[str]:
    """Return the scopes that have neither a folder nor a note. Raises NameUnclear, NotesBelongTo."""
    root = searcher.vault.root
    unknown = [scope for scope in scopes if not has_folder(root, scope)]
    if not unknown:
        return []
    unknown = _without_known(searcher, unknown)
    people = [scope for scope in unknown if scope.startswith("user:")]
    if not people and not any(_near_scopes(searcher, scope) for scope in unknown):
        return unknown
    # Fault: a note that is newer than the index would make its owner a misspelling.
    searcher.refresh()
    unknown = _without_known(searcher, unknown)
    for scope in unknown:
        _refuse_unclear(searcher, scope)
    return unknown


def _refuse_unclear(searcher: SearchCalls, scope: str) -> None:
    """Refuses a new name that is nearly a known one, and a second person in a vault of one owner."""
    near = _near_scopes(searcher, scope)
    if near:
        raise NameUnclear(scope, near)
    kind, _, name = scope.partition(":")
    # Without a named owner, a bot may have served this person from the first day.
    is_owned = kind == "user" and bool(searcher.vault.owner)
    owner = sole_owner(searcher) if is_owned else ""
    # Fault: a bot that serves a second person by mistake finds none of the notes.
    if owner:
        raise NotesBelongTo(name, owner, searcher.vault.root)


def sole_owner(searcher: SearchCalls) -> str:
    """Return the one person who owns the notes of the vault; "" without one, or with several."""
    layout = searcher.vault.layout
    owner = f"user:{layout.user}"
    scopes = searcher.scopes()
    people = {scope for scope in scopes if scope.startswith("user:")}
    people.update(f"user:{name}" for name in _folders(searcher.vault.root / "Users"))
    if people - {owner}:
        return ""
    is_owned = owner in people or OF_OWNER in scopes
    return layout.user if is_owned else ""


def has_folder(root: Path, scope: str) -> bool:
    """Return whether a scope has a folder of its own in the vault."""
    kind, _, name = scope.partition(":")
    try:
        return os.path.isdir(root / FOLDERS[kind] / name)
    except ValueError:
        # The name has a character that no path may have: the call itself reports it.
        return True


def make_folders(root: Path, scopes: Iterable[str]) -> None:
    """Make the folder of each scope. Raises BadPath, OSError."""
    for scope in scopes:
        kind, _, name = scope.partition(":")
        (root / inside(f"{FOLDERS[kind]}/{name}")).mkdir(parents=True, exist_ok=True)


def _without_known(searcher: SearchCalls, scopes: Sequence[str]) -> list[str]:
    """Return the scopes without those that may be named although they have no folder."""
    nameable = {READ_BY_ALL, f"user:{searcher.vault.layout.user}", *searcher.scopes()}
    return [scope for scope in scopes if scope not in nameable]


def _near_scopes(searcher: SearchCalls, scope: str) -> list[str]:
    """Return the names of folders and notes that are nearly that of a scope."""
    kind, _, name = scope.partition(":")
    prefix = f"{kind}:"
    names = {
        known_scope.removeprefix(prefix)
        for known_scope in searcher.scopes()
        if known_scope.startswith(prefix)
    }
    names.update(_folders(searcher.vault.root / FOLDERS[kind]))
    return near_names(name, names)


def _folders(parent: Path) -> list[str]:
    try:
        return [
            entry.name
            for entry in os.scandir(parent)
            if entry.is_dir() and not entry.name.startswith(".")
        ]
    except OSError:
        return []
