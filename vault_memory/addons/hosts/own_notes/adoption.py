"""Makes the notes that a program writes by itself notes of the vault: `install --adopt`.

The program gets a folder of the vault for them, so that it and the vault have the same files. What
it wrote before is copied there, and stays where it was: `--uninstall` gives the program its own
folder again, as it was. The notes of a person are the person's, and those of a folder of code
belong to the group of that project.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.addons.hosts import config_edits, jsonc_edit, projects
from vault_memory.addons.hosts.installer import FileChange
from vault_memory.addons.hosts.own_notes.adopted import Adopted
from vault_memory.addons.hosts.own_notes.note_exchange import Exchange
from vault_memory.errors import ConfigError, VaultError
from vault_memory.rules.paths import scope_notes
from vault_memory.rules.paths.scopes import Caller
from vault_memory.search import scope_names
from vault_memory.vault.reader import LARGEST_STORED, Folder

if TYPE_CHECKING:
    from vault_memory.addons.hosts.config_edits import Choice, KeyPath
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest
    from vault_memory.api.vault_memory import VaultMemory


class OwnMemory(NamedTuple):
    """Notes that a program writes by itself: of a folder of code, or of the person everywhere."""

    sources: tuple[Path, ...]
    """Folders in which they lie; one may be missing"""
    settings: Path | None = None
    """The file that names another folder; None: the notes are copied, and no more"""
    key: "KeyPath" = ()
    project: Path | None = None
    name: str = ""
    """Of a project whose folder is not known"""
    patterns: tuple[str, ...] = ()
    """Notes that are exchanged with a program that keeps its folder; `!` leaves out"""
    remark: str = ""
    """What the person has to know"""


class NoPlace(ConfigError):
    """The layout of the vault has no place for notes of a program."""

    def __init__(self, folder: str, owner: str) -> None:
        super().__init__(
            f"the layout has no place for notes of {owner} in `{folder}`",
            hint="add one to `[layout]`, or leave out `--adopt`",
        )


class Adoption:
    """One adoption for a person who uses the host."""

    def __init__(
        self,
        memory: "VaultMemory",
        request: "InstallRequest",
        host: str,
        now: datetime,
        *,
        dry_run: bool,
    ) -> None:
        self._memory = memory
        self._host = host
        self._request = request
        self._now = now
        self._dry_run = dry_run
        self._adopted = Adopted(memory.vault.state.path, host)
        self._projects = projects.Projects(memory.vault.state.path)
        self._taken = self._names_of_others()
        self._changes: list[FileChange] = []
        self._choices: dict[Path, Choice] = {}
        self.remarks: list[str] = []

    def of_all(
        self, memories: Iterable[OwnMemory], plan: "InstallPlan"
    ) -> "tuple[InstallPlan, list[FileChange]]":
        """Return the plan that chooses their folders, and the notes that were copied."""
        for own in memories:
            self._adopt(own)
        return with_choices(plan, self._choices), self._changes

    def _adopt(self, own: OwnMemory) -> None:
        """Copy the notes, and choose their folder. Raises NoPlace, VaultError, HostFileUnusable."""
        target, scope = self._target(own)
        folder = self._request.vault / target
        previous = self._adopted.settings.get(str(own.settings), {}).get("folder", "")
        if own.remark:
            self.remarks.append(own.remark)
        if own.patterns:
            self._exchange(own, target)
            return
        sources = [source for source in own.sources if source != folder and str(source) != previous]
        if any(map(self._is_entangled, sources)):
            return
        for source in sources:
            self._bring_in(source, target, scope)
        if own.settings is None:
            self.remarks.append(
                f"copied once, for the folder of this project is gone or not known: {own.name};"
                " `--project FOLDER` names it"
            )
        else:
            self._choose(own, own.settings, str(folder), previous)
        # Before the settings change: `--uninstall` has to know the folder after a crash.
        if not self._dry_run:
            self._adopted.save()

    def _choose(self, own: OwnMemory, settings: Path, folder: str, previous: str) -> None:
        """Have the settings name the folder of the vault."""
        previous_setting = jsonc_edit.plain_in(settings).get(own.key[0])
        if previous_setting not in (None, folder, previous):
            self.remarks.append(
                f"`{own.key[0]}` in {settings} was {previous_setting}; `--uninstall` puts that back"
            )
        self._choices[settings] = config_edits.Choice(own.key, folder, previous)
        project = str(own.project or "")
        self._adopted.settings[str(settings)] = {
            "key": own.key,
            "folder": folder,
            "project": project,
        }

    def _exchange(self, own: OwnMemory, target: str) -> None:
        """Begin the exchange with a folder of the program, or show what it would do."""
        for source in own.sources:
            if self._is_entangled(source):
                continue
            self._adopted.exchanged[str(source)] = {
                "folder": target,
                "patterns": list(own.patterns),
            }
            if not self._dry_run:
                self._adopted.save()
            exchange = Exchange(self._memory, self._adopted, self._now, dry_run=self._dry_run)
            exchange.run(Caller(self._request.user))
            for note, file in exchange.saved:
                path = str(self._request.vault / note)
                self._changes.append(FileChange(path, changed=True, backup=str(file)))
            self.remarks += exchange.failures

    def _is_entangled(self, source: Path) -> bool:
        """Whether a folder has the vault in it, or is in it; a remark says so."""
        vault, real = self._request.vault.resolve(), source.resolve()
        # Fault: the notes would be there twice, and those of others would be the person's own.
        is_entangled = real == vault or real in vault.parents or vault in real.parents
        if is_entangled:
            self.remarks.append(
                f"{source} and the vault are inside one another already, so it stays as it is"
            )
        return is_entangled

    def _bring_in(self, source: Path, target: str, scope: str) -> None:
        new = dict(self._new_files(source, target))
        reasons = self._import(source, list(new), target, scope) if new else {}
        for name, revision in new.items():
            if name in reasons:
                self.remarks.append(f"left out {source / name}: {reasons[name]}")
                continue
            note = f"{target}/{name}"
            self._adopted.files[str(source / name)] = [note, revision]
            path = str(self._request.vault / note)
            self._changes.append(FileChange(path, changed=True, backup=str(source / name)))

    def _import(self, source: Path, names: list[str], target: str, scope: str) -> dict[str, str]:
        """Copy these notes; return why some were left out."""
        if self._dry_run:
            return {}
        report = self._memory.transfer.import_notes(
            source, names, target, scopes=[scope], now=self._now
        )
        for copy in report.copies:
            self.remarks.append(f"the vault had another text, so there is `{copy}`")
        reasons = dict.fromkeys(report.left, "it is no note here")
        return reasons | {skipped.path: skipped.reason for skipped in report.skipped}

    def _new_files(self, source: Path, target: str) -> Iterator[tuple[str, str]]:
        """Yield the notes of a folder that were not copied yet, or have changed since."""
        if not source.is_dir():
            return
        folder = Folder(source)
        for name in sorted(folder.listing(suffixes=(".md",)).entries):
            try:
                revision = folder.read(name, max_bytes=LARGEST_STORED).revision
            except VaultError:
                # The import says why.
                revision = ""
            # Fault: the program may have deleted a line in the vault since, which would come back.
            if self._adopted.files.get(str(source / name)) != [f"{target}/{name}", revision]:
                yield name, revision

    def _target(self, own: OwnMemory) -> tuple[str, str]:
        """Return the folder in the vault, and the scope of the notes in it."""
        user = self._request.user
        layout = self._memory.layout
        scopes: tuple[str, ...] = Caller(user).scopes(layout)
        owner = f"user:{user}"
        if own.project or own.name:
            owner = f"group:{self._name_of(own)}"
            scopes = (owner,)
        paths = list(self._memory.vault.folder.listing().entries)
        target = scope_notes.places_of(owner, paths, layout).notes + self._host
        place = layout.place(f"{target}/MEMORY.md")
        # Fault: others would read what a person told a program.
        if place is None or not place.indexed or place.scope not in scopes:
            raise NoPlace(target, owner.partition(":")[2])
        return target, place.scope

    def _name_of(self, own: OwnMemory) -> str:
        if own.project is None:
            return own.name
        channel = self._request.channel if self._request.project else ""
        name = channel or self._projects.name_for(own.project, self._taken)
        if not self._dry_run:
            self._projects.add(own.project, name)
        self._taken.add(name)
        return name

    def _names_of_others(self) -> set[str]:
        """Return the groups that may be open to others; the owner of all notes has no others."""
        if scope_names.sole_owner(self._memory.searcher) == self._request.user:
            return set()
        groups = (scope.partition(":") for scope in self._memory.scopes())
        return {name for kind, _, name in groups if kind == "group"}


def with_choices(plan: "InstallPlan", choices: "Mapping[Path, Choice]") -> "InstallPlan":
    """Return the plan with these choices, each in the edit of its file."""
    remaining = dict(choices)
    edits = []
    for file, edit in plan.edits:
        # Fault: after two edits of one file, the record knows only what the last one found there.
        if file in remaining and isinstance(edit, config_edits.JsonEdit):
            edit = replace(edit, entries=(*edit.entries, remaining.pop(file)))
        edits.append((file, edit))
    more = ((file, config_edits.JsonEdit((choice,))) for file, choice in remaining.items())
    return replace(plan, edits=(*edits, *more))


class Return:
    """Puts back what was set for an adoption, for the person or in one project."""

    def __init__(self, state: Path, host: str, project: Path | None) -> None:
        self._adopted = Adopted(state, host)
        # What is connected in a project by itself is disconnected there.
        connected = {
            project.folder for project in projects.Projects(state).all() if host in project.hosts
        }
        self._settings = {
            file: entry
            for file, entry in self._adopted.settings.items()
            if _is_of(Path(entry["project"] or os.sep), project, connected)
        }
        self._exchanged = {} if project else self._adopted.exchanged

    @property
    def is_due(self) -> bool:
        """Whether the program has a folder of the vault here."""
        return bool(self._settings or self._exchanged)

    def added_to(self, plan: "InstallPlan") -> "InstallPlan":
        """Return the plan that also takes the choices back."""
        choices = {
            Path(file): config_edits.Choice(tuple(entry["key"]), entry["folder"])
            for file, entry in self._settings.items()
        }
        return with_choices(plan, choices)

    def complete(self, dry_run: bool) -> Iterator[str]:
        """Forget the adoption; yield where the notes are that were written since."""
        if dry_run:
            return
        for file, entry in self._settings.items():
            del self._adopted.settings[file]
            yield f"what was written since the adoption stays in {entry['folder']}"
        for source, entry in self._exchanged.items():
            yield f"{source} and {entry['folder']} in the vault keep what they have"
        if self.is_due:
            self._adopted.exchanged = {}
            self._adopted.save()


def _is_of(folder: Path, project: Path | None, connected: Collection[Path]) -> bool:
    return folder == project if project else folder not in connected
