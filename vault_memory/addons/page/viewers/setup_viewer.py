"""What a vault is set up with: its layout, search by meaning, and the programs that know it."""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory import config as configuration
from vault_memory.addons import table
from vault_memory.addons.page import markdown
from vault_memory.addons.page.browser_sessions import BrowserSessions
from vault_memory.addons.page.forms import OPEN_AGAIN
from vault_memory.addons.page.shared_answers import MachineSight, vitals_of
from vault_memory.addons.page.wording import note_title
from vault_memory.admin import config_change, layout_setup, owner
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.sections import LayoutSettings
from vault_memory.errors import NoteNotFound, NoteUnreadable, UsageError
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.layout_survey import SUMMARIES, LayoutProposal, preset
from vault_memory.search.vault_layout import patterns_of

if TYPE_CHECKING:
    from vault_memory.config.sections import Config

MEANING = {"on": "auto", "off": "off"}
"""Button of search by meaning → the kind of embedder that it writes"""

MEANING_VARIABLE = "VAULT_MEMORY_EMBEDDING_KIND"
MOST_SCOPES = 5


class LayoutRow(NamedTuple):
    """A layout, and what it would claim of the vault."""

    proposal: LayoutProposal
    summary: str
    owners: Sequence[tuple[str, int]]
    """scopes with their files, the largest first"""


class SetupViewer:
    """The setup of a vault. Only a session that sees all of it gets one."""

    def __init__(self, memory: VaultMemory, machine: MachineSight) -> None:
        self._memory = memory
        self._machine = machine
        self.browsers = BrowserSessions(memory.vault.state.path)
        """those that are signed in"""

    def layouts(self) -> list[LayoutRow]:
        """Return every layout with what it would claim, the best first."""
        vault = self._memory.vault
        paths = list(vault.folder.listing().entries)
        settings = self.written().layout._replace(user=vault.config.layout.user)
        return [row_of(proposal, settings, paths) for proposal in layout_setup.proposals(vault)]

    def used(self) -> "Config":
        """Return the configuration with which the page was started."""
        return self._memory.vault.config

    def written(self) -> "Config":
        """Return the configuration as it is now. Raises ConfigError."""
        vault = self._memory.vault
        return configuration.load(vault.config_file, vault.environment)

    def owner(self) -> str:
        """Return who owns the notes at the top of the vault; empty without a name."""
        return self._memory.vault.owner

    def name_owner(self, name: str) -> None:
        """Write who owns these notes into the marker, as `init --user` does. Raises UsageError."""
        owner.set_owner(self._memory.root, name)

    def meaning(self) -> tuple[str, int, int]:
        """Return the state of search by meaning, and how much of how much is embedded."""
        return meaning_of(self._memory)

    def kind_of_meaning(self) -> str:
        """Return the kind of embedder that the file names; a variable may say otherwise."""
        return configuration.load(self._memory.vault.config_file, {}).embedding.kind

    def is_meaning_overridden(self) -> bool:
        """Return whether a variable of the environment decides instead of the file."""
        return MEANING_VARIABLE in self._memory.vault.environment

    def has_daemon(self) -> bool:
        """Return whether a daemon runs, which has read the configuration already."""
        return self._memory.vault.state.socket.exists()

    def hosts(self) -> "list[HostRow]":
        """Return the programs that a command connects with the vault."""
        return host_rows(self._memory, self._machine, self._memory.scopes())

    def check_unused(self) -> None:
        """Raise UsageError when something was written to the vault, or waits to be."""
        if (
            self._memory.log()
            or self.has_daemon()
            or any(row.wired != "no" for row in self.hosts())
        ):
            raise UsageError(
                "the vault is in use by now, so it stays one",
                hint="`vault-memory uninstall` takes all of ours away but the notes",
            )

    def set_layout(self, name: str) -> None:
        """Write a layout into the configuration, as `layout NAME` does. Raises ConfigError."""
        if name not in SUMMARIES:
            raise UsageError(f"there is no layout `{name}`", hint=OPEN_AGAIN)
        layout_setup.set_layout(self._memory.vault, name)

    def switch_meaning(self, state: str) -> None:
        """Switch search by meaning on or off, as `config set` does. Raises ConfigError."""
        if state not in MEANING:
            raise UsageError("the switch is `on` or `off`", hint=OPEN_AGAIN)
        config_change.change_table(self._memory.vault, "embedding", {"kind": MEANING[state]})


def row_of(proposal: LayoutProposal, settings: LayoutSettings, paths: Iterable[str]) -> LayoutRow:
    """Return a layout for a template; `settings` are those of the configuration."""
    layout = Layout(
        patterns_of(settings),
        user=settings.user,
        bot=settings.bot,
        exclude=proposal.exclude,
        preset=preset(proposal.name, proposal.daily),
    )
    places = (layout.place(path) for path in paths if path.endswith(MARKDOWN))
    owners = Counter(place.scope for place in places if place is not None)
    return LayoutRow(proposal, SUMMARIES[proposal.name], owners.most_common(MOST_SCOPES))


# --- First run ---


class HostRow(NamedTuple):
    """A program that `install` connects with the vault."""

    name: str
    command: str
    """connects it"""
    wired: str
    """`yes`, `partly` or `no`"""
    last_ran: str
    """ISO 8601; empty when it never ran"""


def host_rows(memory: VaultMemory, machine: MachineSight, scopes: Sequence[str]) -> list[HostRow]:
    """Return the programs on this machine, else a placeholder."""
    checks = table.optional_part("hosts.host_checks")
    if checks is None or not machine.hosts:
        return []
    statuses = [status for status in checks.statuses(memory) if not status.project]
    present = [status for status in statuses if any(is_here(file.path) for file in status.files)]
    if not present:
        present = [replace(statuses[0], host="HOST")]
    vault = f"--vault {shlex.quote(machine.folder)} " if machine.folder else ""
    user = shlex.quote(_person_of(memory, scopes))
    return [
        HostRow(
            status.host,
            f"vault-memory {vault}install {status.host} --user {user}",
            status.wired,
            status.last_started.isoformat() if status.last_started else "",
        )
        for status in present
    ]


def is_here(file: Path) -> bool:
    """Return whether the program with this configuration file has been on this machine."""
    home = Path.home()
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    shared = (home, settings, home / "Library" / "Application Support")
    own = (path for path in (file, *file.parents) if path.parent in shared)
    return next(own, file.parent).exists()


class FirstRun(NamedTuple):
    """What a vault shows before a bot has talked to anybody in it."""

    notes: int
    """notes of the session that are memory"""
    layout: str
    """empty: the built-in folders of people and channels"""
    meaning: str
    """search by meaning: `ready`, `warming` or `off`"""
    embedded: int
    chunks: int
    """of which so many are embedded; 0 for a session of some people"""
    hosts: Sequence[HostRow]
    """empty for a session of some people"""
    question: str
    """what could be asked of the newest note; empty without notes"""


def first_run(
    memory: VaultMemory, scopes: Sequence[str], machine: MachineSight, *, sees_all: bool
) -> FirstRun | None:
    """Return what a vault shows; None as soon as a turn was recorded in one of the scopes."""
    memory.vault.indexing.refresh()
    index = memory.vault.indexing.index()
    if any(is_turn and scope in scopes for scope, is_turn in index.speakers()):
        return None
    files = index.files()
    # To list the notes of all scopes costs twice as much as their files.
    seen = files if sees_all else {info.note for info in memory.notes(scopes)}
    newest = [(files[path].mtime_ns, path) for path in files if path in seen]
    meaning, embedded, chunks = meaning_of(memory)
    return FirstRun(
        notes=len(newest),
        layout=memory.vault.layout_report(with_counts=False).name,
        meaning=meaning,
        embedded=embedded if sees_all else 0,
        chunks=chunks if sees_all else 0,
        hosts=host_rows(memory, machine, scopes) if sees_all else (),
        question=question_about(memory, max(newest, default=(0, ""))[1]),
    )


def meaning_of(memory: VaultMemory) -> tuple[str, int, int]:
    """Return the state of search by meaning, and how much of how much is embedded."""
    _, chunks = memory.vault.indexing.index().counts()
    semantic = (vitals_of(memory) or memory.searcher.freshness()._asdict())["semantic"]
    if semantic == "warming":
        embedded = max(memory.searcher.stats()["vectors"].values(), default=0)
        return semantic, min(embedded, chunks), chunks
    # Texts that are in two notes are embedded once.
    return semantic, chunks if semantic == "ready" else 0, chunks


def question_about(memory: VaultMemory, path: str) -> str:
    """Return what could be asked of a note, by its heading `#` or its name; empty without a path."""
    if not path:
        return ""
    title = note_title(path)
    # Fault: a program may remove the newest note at this moment.
    with suppress(NoteNotFound, NoteUnreadable):
        title = markdown.title_of(memory.read(path).text) or title
    return f"What do I know about {title}?"


def _person_of(memory: VaultMemory, scopes: Sequence[str]) -> str:
    """Return the one person of these scopes, else the owner; a placeholder for several people."""
    people = [scope.removeprefix("user:") for scope in scopes if scope.startswith("user:")]
    people = people or [memory.vault.owner]
    return people[0] if len(people) == 1 and people[0] else "NAME"
