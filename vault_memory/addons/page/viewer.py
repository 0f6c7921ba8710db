"""The only way from a view to the vault: each call has the scopes of the session."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from vault_memory.addons.page import markdown, shared_answers
from vault_memory.addons.page.diffs import recorded
from vault_memory.addons.page.outside_programs import ConnectedPrograms
from vault_memory.addons.page.page_answers import NotHere
from vault_memory.addons.page.shared_answers import Counts, SharedAnswers, VaultState
from vault_memory.addons.page.viewers.decision_viewers import ProposalViewer
from vault_memory.addons.page.viewers.fact_viewer import FactViewer
from vault_memory.addons.page.viewers.note_viewer import NoteViewer
from vault_memory.addons.page.viewers.record_viewer import RecordRow, RecordViewer
from vault_memory.addons.page.viewers.setup_viewer import FirstRun, SetupViewer, first_run
from vault_memory.api import json_contract
from vault_memory.api.daemon_client import ask
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.errors import VaultMemoryError
from vault_memory.rules.paths.scopes import Caller
from vault_memory.search.calls import SearchOptions

if TYPE_CHECKING:
    from vault_memory.contract.answers import RememberedJson, SearchAnswerJson
    from vault_memory.contract.source_answers import SourceJson
    from vault_memory.contract.status_answers import PathRemarkJson, SyncStatusJson
    from vault_memory.edits.conflict_copy import ConflictCopy
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.reports import Check
    from vault_memory.edits.versions import Waiting
    from vault_memory.rules.edits.audit_record import Proposal
    from vault_memory.rules.paths.layout import Layout


class SessionCaller(Caller):
    """Somebody at the page, who sees the notes of some people or of all."""

    opened: tuple[str, ...] = ()

    def scopes(self, layout: "Layout") -> tuple[str, ...]:
        """Returns the scopes of the session."""
        return self.opened


def as_html(report: str) -> Markup:
    """Return a report as HTML. It has names of notes and people, and no links."""
    try:
        return Markup(markdown.render(report, lambda target: None))
    except markdown.TooLong:
        return Markup("<pre>{}</pre>").format(report)


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
        self.notes = NoteViewer(memory, self.scopes)
        self.records = RecordViewer(memory, self.scopes, sees_all=self.sees_all)
        """the audit"""
        self.facts = FactViewer(memory, self.scopes)
        """facts, and who or what they are about"""
        self.proposals = ProposalViewer(memory, self.scopes, self.vault.scope_of)
        """the inbox"""

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

    def open_proposals(self) -> "list[Proposal]":
        """The proposals that wait for a person, the oldest first."""
        proposals: list[Proposal]
        proposals = self.shared.kept("proposals", self.scopes, self.proposals.open_proposals)
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
        readable = [note for note in stale if self.vault.scope_of(note)]
        return shared_answers.describe(self._memory, readable)

    def reason(self, error: VaultMemoryError) -> str:
        """What an error says, without folders of the machine."""
        return self.vault.clean(f"{error.message}; {error.hint}")

    def waiting(self) -> "list[Waiting]":
        """The writes that wait until their notes can be written."""
        writes = self._memory.edits.waiting()
        return [write for write in writes if self.vault.scope_of(write.note)]

    def save(self, note: str, text: bytes, base: bytes) -> "Edit":
        """Writes a whole note. Raises SaveConflict, NoteGone, NotSavable."""
        return self._memory.edits.save(self.notes.path(note), text, base=base)

    def tells_secret(self, heading: str, lines: Sequence[str]) -> bool:
        """Return whether lines below a heading have a password, a key or a number."""
        return self._memory.learning.tells_secret(lines, heading)

    def notice(self, record_id: str) -> RecordRow | None:
        """What a record says that was just made; None when the session may not see it."""
        try:
            row = self.records.row(record_id)
        except VaultMemoryError:
            # A link may name any id, and the view itself is there without it.
            return None
        merged = self.shared.from_disk(record_id)
        return replace(row, from_disk=recorded(merged.encode()))

    # ---- the vault as a whole ----------------------------------------------------------

    def check_sees_all(self) -> None:
        """Raises NotHere for a session that sees only some people."""
        # Fault: the answers about all of the vault name the notes of everybody.
        if not self.sees_all:
            raise NotHere

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

    def setup(self) -> SetupViewer:
        """The setup of the vault. Raises NotHere for a session that sees only some people."""
        # Fault: the layout names the files of everybody, and decides whose each of them is.
        self.check_sees_all()
        return SetupViewer(self._memory, self.shared.machine)

    def examine(self) -> "list[Check]":
        """What `doctor` finds now, without places of the machine."""
        return [
            replace(check, reason=self.vault.clean(check.reason), fix=self.vault.clean(check.fix))
            for check in self._memory.doctor()
        ]

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

    def source(self, ref: str, around: int) -> "SourceJson":
        """The turns that something comes from. Raises UnclearId, NoteNotFound."""
        return json_contract.of_source(self.calls.source(ref, around=around))

    def remember(self, text: str, scope: str) -> "RememberedJson":
        """Keeps a sentence for good. Raises NotHere for a scope of others, UsageError for no text."""
        if scope not in self.scopes:
            raise NotHere
        remembered = self._memory.remember(text, scope=scope, source="cli")
        return json_contract.of_remembered(remembered)

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

    def owner(self) -> str:
        """The person whose notes are at the root of the vault."""
        return self._memory.layout.user

    def readable_by(self, caller: Caller) -> tuple[str, ...]:
        """The scopes that a bot reads for a caller."""
        return caller.reads(self._memory.layout)

    def block_budget(self) -> int:
        """The longest memory block by the configuration, in characters; 0: no limit."""
        return self._memory.vault.config.max_memory_chars
