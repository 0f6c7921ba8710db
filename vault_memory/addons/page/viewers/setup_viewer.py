"""What a vault is set up with: its layout, search by meaning, and the programs that know it."""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

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

MEANING = {"on": "auto", "off": "off"}
"""Button of search by meaning → the kind of embedder that it writes"""

MEANING_VARIABLE = "VAULT_MEMORY_EMBEDDING_KIND"
MOST_SCOPES = 5


class SetupViewer:
    """The setup of a vault. Only a session that sees all of it gets one."""

    def __init__(self, memory: VaultMemory, machine: MachineSight) -> None:
        self._memory = memory
        self._machine = machine
        self.browsers = BrowserSessions(memory.vault.state.path)
        """those that are signed in"""

    def overview(self) -> dict[str, Any]:
        """Return what the view of the setup shows. Raises ConfigError."""
        vault = self._memory.vault
        used = vault.config
        written = configuration.load(vault.config_file, vault.environment)
        settings = written.layout._replace(user=used.layout.user)
        paths = list(vault.folder.listing().entries)
        layouts = [row_of(proposal, settings, paths) for proposal in layout_setup.proposals(vault)]
        # The built-in folders are those of the layout `shared`.
        name = written.layout.name or used.layout.name or "shared"
        # A layout that the program chose is in the state folder, not in the configuration.
        is_new_layout = written.layout.name not in ("", used.layout.name)
        # A variable of the environment may say otherwise than the file.
        kind = configuration.load(vault.config_file, {}).embedding.kind
        meaning, embedded, chunks = meaning_of(self._memory)
        return {
            "layouts": layouts,
            "current": next(row for row in layouts if row["proposal"].name == name),
            "must_restart": is_new_layout or used.embedding != written.embedding,
            "owner": vault.owner,
            "has_meaning": kind != "off",
            "is_overridden": MEANING_VARIABLE in vault.environment,
            "meaning": meaning,
            "embedded": embedded,
            "chunks": chunks,
            "has_daemon": self._has_daemon(),
            "hosts": self._hosts(),
            "browsers": self.browsers.count(),
        }

    def name_owner(self, name: str) -> None:
        """Write who owns these notes into the marker, as `init --user` does. Raises UsageError."""
        owner.set_owner(self._memory.root, name)

    def _has_daemon(self) -> bool:
        """Whether a daemon runs, which has read the configuration already."""
        return self._memory.vault.state.socket.exists()

    def _hosts(self) -> list[dict[str, str]]:
        return host_rows(self._memory, self._machine, self._memory.scopes())

    def check_unused(self) -> None:
        """Raise UsageError when something was written to the vault, or waits to be."""
        is_wired = any(row["wired"] != "no" for row in self._hosts())
        if is_wired or self._memory.log() or self._has_daemon():
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


def row_of(
    proposal: LayoutProposal, settings: LayoutSettings, paths: Iterable[str]
) -> dict[str, Any]:
    """Return a layout with the scopes that it would claim, and how many files of each."""
    layout = Layout(
        patterns_of(settings),
        user=settings.user,
        bot=settings.bot,
        exclude=proposal.exclude,
        preset=preset(proposal.name, proposal.daily),
    )
    places = (layout.place(path) for path in paths if path.endswith(MARKDOWN))
    owners = Counter(place.scope for place in places if place is not None)
    return {
        "proposal": proposal,
        "summary": SUMMARIES[proposal.name],
        "owners": owners.most_common(MOST_SCOPES),
    }


# --- First run ---


def host_rows(
    memory: VaultMemory, machine: MachineSight, scopes: Sequence[str]
) -> list[dict[str, str]]:
    """Return the programs on this machine that `install` connects, else a placeholder.

    `wired` is `yes`, `partly` or `no`; `last_ran` is empty when it never ran.
    """
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
        {
            "name": status.host,
            "command": f"vault-memory {vault}install {status.host} --user {user}",
            "wired": status.wired,
            "last_ran": status.last_started.isoformat() if status.last_started else "",
        }
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
    hosts: Sequence[dict[str, str]]
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
