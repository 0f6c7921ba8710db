"""The projects of coding bots: folders of code, each with a name that is a channel and a group.

`install --project` registers a folder. A hook that starts in it, or below it, then answers with the
memory of the project as well.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vault_memory.config import state_file
from vault_memory.errors import UsageError
from vault_memory.rules.paths.scopes import OF_OWNER, READ_BY_ALL

REGISTER = "projects.json"
"""In the state folder: each folder, with its name and the hosts that are connected in it"""

# Fault: everybody reads the one, and each bot of the owner the other.
NOT_OF_PROJECTS = tuple(scope.partition(":")[2] for scope in (READ_BY_ALL, OF_OWNER))
"""Names of groups that are no project's"""


class Project(NamedTuple):
    folder: Path
    name: str
    hosts: tuple[str, ...]


class Projects:
    """The register of one vault. `state` is the vault's state folder."""

    def __init__(self, state: Path) -> None:
        self._file = state / REGISTER
        content = state_file.read_json(self._file) if self._file.exists() else {}
        self._entries: dict[str, Any] = content if isinstance(content, dict) else {}

    def all(self) -> Iterator[Project]:
        for folder, entry in self._entries.items():
            if isinstance(entry, Mapping):
                hosts = tuple(map(str, entry.get("hosts", ())))
                yield Project(Path(folder), str(entry.get("name", "")), hosts)

    def of(self, folder: str) -> Project | None:
        """Return the innermost project that a folder belongs to."""
        path = Path(os.path.realpath(folder))
        # A project may be a folder of another one, as in a repository of several.
        containing = [
            project
            for project in self.all()
            if project.folder == path or project.folder in path.parents
        ]
        return max(containing, key=lambda project: len(project.folder.parts), default=None)

    def name_for(self, folder: Path, taken: Collection[str] = ()) -> str:
        """Return the name of a folder: its registered one, else its own, which no other has.

        `taken` are names that others have. Raises UsageError.
        """
        names = {project.folder: project.name for project in self.all()}
        if folder in names:
            return names[folder]
        name = folder.name.lstrip(".")
        if not name:
            raise UsageError(
                f"`{folder}` has no name that a project could have",
                hint="name the project with `--channel NAME`",
            )
        # Fault: two folders of one name would read each other's notes.
        number = 2
        unique = name
        while unique in {*names.values(), *taken, *NOT_OF_PROJECTS}:
            unique = f"{name}-{number}"
            number += 1
        return unique

    def add(self, folder: Path, name: str, *new_hosts: str) -> None:
        """Register a folder. Without a host that is connected in it, it only has this name."""
        hosts = {*new_hosts, *self._hosts_of(folder)}
        self._entries[str(folder)] = {"name": name, "hosts": sorted(hosts)}
        self._save()

    def remove(self, folder: Path, host: str) -> None:
        hosts = self._hosts_of(folder) - {host}
        entry = self._entries.pop(str(folder), None)
        if entry is None:
            return
        if hosts:
            self._entries[str(folder)] = {**entry, "hosts": sorted(hosts)}
        self._save()

    def _hosts_of(self, folder: Path) -> set[str]:
        return {
            host for project in self.all() if project.folder == folder for host in project.hosts
        }

    def _save(self) -> None:
        state_file.write(self._file, json.dumps(self._entries, indent=2))
