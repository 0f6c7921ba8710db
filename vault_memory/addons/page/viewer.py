"""The only way from a view to the vault: each call has the scopes of the session."""

import time
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from vault_memory.addons.page import shared_answers
from vault_memory.addons.page.outside_programs import ConnectedPrograms
from vault_memory.addons.page.page_answers import NotHere
from vault_memory.addons.page.shared_answers import (
    Counts,
    FirstRun,
    SharedAnswers,
    VaultState,
    first_run,
)
from vault_memory.api import json_contract
from vault_memory.api.daemon_client import ask
from vault_memory.api.scoped_vault import ScopedCalls
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.paths.scopes import Caller
from vault_memory.search.calls import SearchOptions

if TYPE_CHECKING:
    from vault_memory.contract.answers import HeldJson, RememberedJson, SearchAnswerJson
    from vault_memory.contract.status_answers import PathRemarkJson, SyncStatusJson
    from vault_memory.edits.conflict_copy import ConflictCopy
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.versions import Waiting
    from vault_memory.rules.edits.audit_record import Proposal
    from vault_memory.rules.paths.layout import Layout


class SessionCaller(Caller):
    """Somebody at the page, who sees the notes of some people or of all."""

    opened: tuple[str, ...] = ()

    def scopes(self, layout: "Layout") -> tuple[str, ...]:
        """Returns the scopes of the session."""
        return self.opened


class SessionAccess(NamedTuple):
    """What a session may see and do now."""

    scopes: tuple[str, ...]
    may_write: bool
    csrf: str
    """the token that each of its forms carries"""
    sees_all: bool
    """whether it sees all of the vault, and not only some people"""


class Viewer:
    """A vault as one session may see it. What lies outside is answered as if it did not exist."""

    def __init__(self, memory: VaultMemory, access: SessionAccess, shared: SharedAnswers) -> None:
        self.scopes = access.scopes
        self.may_write = access.may_write
        self.sees_all = access.sees_all
        self.csrf = access.csrf
        self.shared = shared
        self._memory = memory
        caller = SessionCaller(memory.layout.user or "page")
        caller.opened = access.scopes
        self.vault = memory.as_seen_by(caller)
        self.calls = self.vault.calls
        self.note = self.vault.note
        self.audit = ScopedCalls(memory, scopes=None if access.sees_all else self.scopes)
        """the calls about records, also of notes that are in no scope any more"""
        self.state_folder = memory.vault.state.path

    # ---- the frame of each view --------------------------------------------------------

    def vault_name(self) -> str:
        """The name of the vault's folder."""
        return self._memory.root.name

    def counts(self) -> Counts:
        """What waits for a person."""
        try:
            return Counts(len(self.open_proposals()), len(self.conflict_copies()))
        except VaultMemoryError:
            # The vault is unreachable: the view says so itself.
            return Counts(0, 0)

    def open_proposals(self) -> "tuple[Proposal, ...]":
        """The proposals that wait for a person, the oldest first."""
        proposals: tuple[Proposal, ...]
        proposals = self.shared.kept("proposals", self.scopes, self.calls.inbox)
        return proposals

    def conflict_copies(self) -> "list[ConflictCopy]":
        """The conflict copies, by note."""
        # Fault: to look for copies, the folder is listed, and a person types a letter each
        # tenth of a second.
        copies: list[ConflictCopy]
        copies = self.shared.kept("conflicts", self.scopes, self.calls.conflicts)
        return copies

    def state(self) -> VaultState:
        """The state of the vault."""
        stale = self._memory.searcher.freshness().stale_files
        return shared_answers.describe(self._memory, list(filter(self.vault.scope_of, stale)))

    def reason(self, error: VaultMemoryError) -> str:
        """What an error says, without folders of the machine."""
        return self.vault.clean(f"{error.message}; {error.hint}")

    def waiting(self) -> "list[Waiting]":
        """The writes that wait until their notes can be written."""
        writes = self._memory.edits.waiting()
        return [write for write in writes if self.vault.scope_of(write.note)]

    def tells_secret(self, heading: str, lines: Sequence[str]) -> bool:
        """Return whether lines below a heading have a password, a key or a number."""
        return self._memory.learning.tells_secret(lines, heading)

    # ---- the vault as a whole ----------------------------------------------------------

    def whole(self) -> VaultMemory:
        """The vault itself. Raises NotHere for a session that sees only some people."""
        # Fault: the answers about all of the vault name the notes of everybody.
        if not self.sees_all:
            raise NotHere
        return self._memory

    def first_run(self) -> FirstRun | None:
        """What the vault shows before a bot has talked to the people of the session."""
        run: FirstRun | None
        run = self.shared.kept(
            "first run",
            self.scopes,
            lambda: first_run(
                self._memory, self.scopes, self.shared.machine, sees_all=self.sees_all
            ),
        )
        return run

    def connections(self) -> ConnectedPrograms:
        """The programs outside that have the memory of the people of the session."""
        # Fault: a connection of a person without notes could not be ended.
        users = None if self.sees_all else self.names("user")
        return ConnectedPrograms(self._memory.vault.state.path, users)

    def has_connections(self) -> bool:
        """Whether programs outside ask here, or have a memory of the session."""
        return self.shared.connector is not None or bool(self.connections().all())

    def sync_status(self) -> "SyncStatusJson | None":
        """The state of the sync, with remarks about the session's notes only; None without one."""
        vitals = shared_answers.vitals_of(self._memory)
        status = vitals["sync"] if vitals else self._memory.sync.status()
        return status and {
            **status,
            "reason": self.vault.clean(status["reason"]),
            "errors": self._readable(status["errors"]),
            "held": self._readable(status["held"]),
        }

    def _readable(self, remarks: "list[PathRemarkJson]") -> "list[PathRemarkJson]":
        """The remarks about notes of the session; one without a path is about all of the vault."""
        return [
            remark
            for remark in remarks
            if self.vault.scope_of(remark["path"]) or (self.sees_all and not remark["path"])
        ]

    def sync_now(self) -> None:
        """Asks the daemon to sync; without one, does it. Raises NotHere and errors of a sync."""
        # Fault: a form that was opened before the remote was removed would be answered as a
        # failure of the server.
        if not self._memory.vault.config.remote.url:
            raise NotHere(
                "this vault has no remote", hint="`vault-memory remote add URL` sets one up"
            )
        # Fault: two passes at once would each find the folder locked by the other.
        if ask(self._memory.vault.state.socket, "sync", {}) is None:
            self._memory.sync()

    # ---- search ----------------------------------------------------------------------

    def search(
        self, query: str, options: SearchOptions, scopes: Sequence[str]
    ) -> "SearchAnswerJson":
        """The chunks that answer a question, from those of these scopes that the session may see."""
        start = time.perf_counter()
        answer: SearchAnswerJson = self.vault.ask("search", query, scopes, options)
        self.shared.searches.append((time.perf_counter() - start) * 1000)
        return answer

    def next_night(self) -> str:
        """When the next night begins, ISO 8601; empty when nights are switched off."""
        if not self._memory.vault.config.sleep_cycle.enabled:
            return ""
        return self._memory.learning.next_night().isoformat()

    def remember(self, text: str, scope: str) -> "RememberedJson":
        """Keeps a sentence for good. Raises NotHere for a scope of others, UsageError for no text."""
        if scope not in self.scopes:
            raise NotHere
        remembered = self._memory.remember(text, scope=scope, source="cli")
        return json_contract.of_remembered(remembered)

    def add_fact(self, fact: Mapping[str, Any], scope: str) -> "Edit":
        """Adds a fact to one of the scopes. Raises UsageError."""
        return self._memory.add_fact(**fact, scope=scope, source="cli").edit

    def changed_on(self, note: str) -> str:
        """The day on which a file was changed; empty when that is not known."""
        folder, _, name = note.rpartition("/")
        stat = self._memory.vault.folder.stats(folder, [name]).get(name)
        return date.fromtimestamp(stat.mtime_ns / 1e9).isoformat() if stat else ""

    def editor_link(self, note: str) -> str:
        """The link that opens a note in the configured editor; empty without one."""
        pattern = self._memory.vault.config.web.editor_url
        # The only place of the machine that the page shows: the person asked for the link.
        file = quote(str(self._memory.root / note), errors="surrogateescape")
        return pattern.replace("{path}", file).replace("{line}", "1")

    # ---- people, and what a bot may read of them ---------------------------------------

    def names(self, kind: str) -> list[str]:
        """The names of the people (`user`), channels or groups of the session, sorted."""
        prefix = f"{kind}:"
        return sorted(
            scope.removeprefix(prefix) for scope in self.scopes if scope.startswith(prefix)
        )

    def people(self) -> list[str]:
        """The people of the session, the owner of the vault first."""
        owner = self.owner()
        return sorted(self.names("user"), key=lambda name: (name != owner, name))

    def reader(self) -> str:
        """The scope of the person who reads the page: the owner, or the only person."""
        people = self.names("user")
        return f"user:{people[0] if len(people) == 1 else self.owner()}"

    def held(self) -> "list[HeldJson]":
        """What the bot keeps only if more turns say it."""
        # Fault: without a scope, the list would be that of the complete vault.
        return self.calls.learning.held() if self.scopes else []

    def owner(self) -> str:
        """The person whose notes are at the root of the vault."""
        return self._memory.layout.user

    def readable_by(self, caller: Caller) -> tuple[str, ...]:
        """The scopes that a bot reads for a caller."""
        return caller.reads(self._memory.layout)

    def block_budget(self) -> int:
        """The longest memory block by the configuration, in characters; 0: no limit."""
        return self._memory.vault.config.max_memory_chars
