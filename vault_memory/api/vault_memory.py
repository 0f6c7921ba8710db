"""class VaultMemory: one vault, opened; what a bot written in Python calls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack

from vault_memory.api import doctor as api_doctor
from vault_memory.api import scoped_vault, status_report
from vault_memory.api.vault_parts import VaultParts
from vault_memory.context.calls import ContextOptions
from vault_memory.conversations.calls import RecordOptions
from vault_memory.edits.calls import EditCalls, EditOptions
from vault_memory.index.retry_on_corruption import rebuild_if_damaged
from vault_memory.learning import calls as learning_calls
from vault_memory.memory_tool import tool
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.conversations import turn
from vault_memory.rules.conversations import turn as conversations_turn
from vault_memory.rules.facts import fact as facts_fact
from vault_memory.rules.paths import scopes
from vault_memory.search.calls import SearchCalls, SearchOptions

if TYPE_CHECKING:
    from vault_memory.api.scoped_vault import ScopedVault
    from vault_memory.context.blocks import ContextBlock
    from vault_memory.contract import Origin, RecordMode, Role, Source
    from vault_memory.contract.status_answers import StatusJson
    from vault_memory.conversations.calls import Recorded
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.reports import Check, Ended
    from vault_memory.facts.entity_info import FactChange, FactList
    from vault_memory.forgetting.forget_text import Forgotten
    from vault_memory.learning.remember import Remembered
    from vault_memory.learning.runner import Slept
    from vault_memory.memory_tool.tool import MemoryTool
    from vault_memory.rules.edits.ops import Op
    from vault_memory.search.freshness import SearchAnswer
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def _of(
    concept: str, call: Callable[Concatenate[Any, Arguments], Answer]
) -> Callable[Concatenate["VaultMemory", Arguments], Answer]:
    """Return the call of a concept as one of the vault."""

    @wraps(call)
    def run(
        self: "VaultMemory", *arguments: Arguments.args, **keywords: Arguments.kwargs
    ) -> Answer:
        return call(getattr(self, concept), *arguments, **keywords)

    # The checker sees `self` as a keyword of the one, and not of the other.
    return run  # type: ignore[return-value]


@checked_calls
class VaultMemory(VaultParts):
    """One vault, opened. Any number of threads may call it; each call takes its own lock.

    Each of these attributes has all calls of one concept; docs/reference/python.md lists them:
    `facts`, `source`, `edits`, `conflicts`, `sync`, `conversations`, `searcher`, `learning`,
    `forgetting`, `transfer`. `vault`, `root` and `layout` describe what was opened. A wrong value
    raises UsageError. All errors are VaultMemoryError, with `code` and `hint`.
    """

    def as_seen_by(self, caller: "scopes.Caller") -> "ScopedVault":
        """Return this vault with the scopes of a caller; what they may not see is absent there."""
        return scoped_vault.ScopedVault(self, caller)

    # ---- the state of the vault ------------------------------------------------------

    @rebuild_if_damaged
    def status(self, *, refresh: bool = True, now: datetime | None = None) -> "StatusJson":
        """Report the state of index, sync, night, inbox and daemon as in the JSON contract."""
        if refresh:
            self.searcher.refresh()
        return status_report.status(self, now)

    def doctor(self, *, fix: bool = False) -> "list[Check]":
        """Check all of a vault that can break; with `fix`, repair what needs no change of a note."""
        self.vault.check_open()
        with self.vault.lock:
            return api_doctor.examine(self, fix=fix)

    # ---- search ----------------------------------------------------------------------

    index = _of("searcher", SearchCalls.index)
    refresh = _of("searcher", SearchCalls.refresh)
    warm = _of("searcher", SearchCalls.warm)
    scopes = _of("searcher", SearchCalls.scopes)
    notes = _of("searcher", SearchCalls.notes)
    read = _of("searcher", SearchCalls.read)

    def search(
        self, query: str, *, scopes: Sequence[str], **options: Unpack[SearchOptions]
    ) -> "SearchAnswer":
        """Find the chunks that answer `query` best, in the notes of `scopes` and no others.

        `since` and `until` are dates, times, or texts such as `yesterday`. `tags`, `where` (as
        `{"done": "yes"}`) and `paths` choose notes. `archived`: faded ones. `preview`: no reads.
        """
        return self.searcher.search(query, scopes, options)

    # ---- conversations ---------------------------------------------------------------

    def context(
        self, prompt: str = "", *, scopes: Sequence[str], **options: Unpack[ContextOptions]
    ) -> "ContextBlock":
        """Compose the memory block for a prompt: quotations of the notes as they are now.

        A `briefing` is impersonal; so is a channel without `private`. A `preview` counts no reads.
        """
        may_learn = options.get("refresh", True) and not options.get("preview")
        if may_learn and options.get("as_of") is None:
            self.learning.commit_before(options.get("session"), scopes, options.get("now"))
        return self._prompts.context(prompt, scopes, options)

    def record_turn(
        self,
        *,
        session: str,
        role: "Role",
        text: str,
        user: str | None = None,
        channel: str | None = None,
        source: str = "talk",
        mode: "RecordMode" = "persistent",
        origin: "Origin | None" = None,
        silent: bool = False,
        automated: bool = False,
        now: datetime | None = None,
        chance: int | None = None,
        again: bool = False,
    ) -> "Recorded":
        """Record one turn in the transcript of its channel, else of its person.

        `origin` follows from `source` by default. Without `user` the session must have turns. `incognito`
        leaves no trace, and an `automated` turn teaches nothing. A retry passes `now`, `chance`, `again`.
        """
        draft = conversations_turn.Turn(
            id="",
            ts="",
            session=session,
            role=role,
            user=user or "",
            channel=channel or "",
            text=text,
            origin=origin or turn.origin_of(source),
            source=source,
            automated=automated,
        )
        options = RecordOptions(mode, silent, now, chance, again)
        return self.conversations.record(draft, options)

    def end_session(
        self,
        session: str,
        *,
        user: str | None = None,
        channel: str | None = None,
        now: datetime | None = None,
    ) -> "Ended":
        """End a conversation, and decide what is kept of it."""
        ended = self.conversations.end_session(session, user=user, channel=channel, now=now)
        return self.learning.end_sessions(ended.sessions, ended.turn_ids, now=now)

    def memory_tool(self, *, user: str, channel: str = "", private: bool = False) -> "MemoryTool":
        """Make Anthropic's memory tool over the notes of a person, or of a channel."""
        return tool.MemoryTool(self.edits, scopes.Caller(user, channel, private=private))

    # ---- edits -----------------------------------------------------------------------

    def apply(
        self,
        note: str,
        ops: "Iterable[Op | Mapping[str, object]]",
        *,
        source: "Source" = "tool",
        expected: str | None = None,
        merge: bool = False,
        dry_run: bool = False,
        why: str = "",
        origin: str = "owner",
        now: datetime | None = None,
    ) -> "Edit":
        """Apply ops to a note, as the bot (`tool`) or a person (`cli`). Raises NoteChanged."""
        options = EditOptions(
            source=source,
            expected=expected,
            merge=merge,
            dry_run=dry_run,
            why=why,
            origin=origin,
            now=now,
        )
        return self.edits.apply(note, ops, options)

    def undo(
        self,
        record_id: str,
        *,
        dry_run: bool = False,
        now: datetime | None = None,
        scopes: Sequence[str] | None = None,
    ) -> "Edit":
        """Undo the change of one audit record. The undo can be undone, too."""
        edit = self.edits.undo(record_id, dry_run=dry_run, now=now, scopes=scopes)
        if edit.changed and not dry_run:
            # Fault: a beginning may be that of a record of another person, too.
            self.learning.reject_undone(self.edits.undone_by(edit) or record_id)
        return edit

    log = _of("edits", EditCalls.log)
    history = _of("edits", EditCalls.history)
    restore = _of("edits", EditCalls.restore)
    inbox = _of("edits", EditCalls.inbox)
    approve = _of("edits", EditCalls.approve)
    reject = _of("edits", EditCalls.reject)

    # ---- facts, learning, forgetting -------------------------------------------------

    def timeline(
        self, entity: str, *, scopes: Sequence[str], now: datetime | None = None
    ) -> "FactList":
        """List all present and past facts about an entity, oldest first."""
        return self.facts.timeline(entity, scopes=scopes, now=now)

    def add_fact(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        scope: str,
        valid_from: date | None = None,
        valid_until: date | None = None,
        temporary: bool = False,
        confidence: float = 1.0,
        ref: str = "",
        origin: str = "owner",
        source: "Source" = "tool",
        why: str = "",
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "FactChange":
        """State a fact of a scope: new, better than another, or its end."""
        fact = facts_fact.Fact(
            id="",
            subject=subject,
            predicate=predicate,
            object=object,
            valid_from=valid_from,
            valid_until=valid_until,
            temporary=temporary,
            confidence=confidence,
            ref=ref,
            origin=origin,
            scope=scope,
        )
        options = EditOptions(source, why=why, dry_run=dry_run, now=now)
        return self.facts.add(fact, options)

    def correct_fact(
        self,
        /,
        fact_id: str,
        *,
        scopes: Sequence[str],
        source: "Source" = "cli",
        expected: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
        **right: Any,
    ) -> "FactChange":
        """Replace a fact that was never true; `right` has the correct fields."""
        options = EditOptions(source, expected=expected, dry_run=dry_run, now=now)
        return self.facts.correct(fact_id, scopes, right, options)

    def remember(
        self,
        text: str,
        *,
        scope: str,
        source: "Source" = "tool",
        expected: str | None = None,
        now: datetime | None = None,
        dry_run: bool = False,
    ) -> "Remembered":
        """Write one sentence into USER.md, CHANNEL.md, MEMORY.md or RULES.md of a scope."""
        options = EditOptions(source, expected=expected, dry_run=dry_run, now=now)
        return self.learning.remember(text, scope=scope, options=options)

    def sleep(
        self,
        *,
        scopes: Sequence[str] | None = None,
        due: bool = False,
        again: date | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
        after: Callable[[str, str], None] = lambda scope, step: None,
    ) -> "Slept":
        """Run the nightly learning cycle of `user:NAME` and `channel:NAME` scopes, or of all."""
        request = learning_calls.NightRequest(scopes, due, again, dry_run, now)
        return self.learning.sleep(request, after)

    def forget(
        self,
        text: str,
        *,
        scopes: Sequence[str] | None = None,
        now: datetime | None = None,
        dry_run: bool = False,
    ) -> "Forgotten":
        """Remove `text` from notes, history, index and state, and check that no copy remains."""
        return self.forgetting.forget(text, scopes=scopes, now=now, dry_run=dry_run)
