"""Calls that learn from conversations, at night or at once."""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal

from vault_memory.conversations.calls import ConversationCalls
from vault_memory.edits import reports
from vault_memory.edits.calls import EditCalls, EditOptions
from vault_memory.errors import VaultMemoryError
from vault_memory.learning import checkpoint, night_reports, runner
from vault_memory.learning import remember as learning_remember
from vault_memory.learning.enrichment import episode_writer
from vault_memory.learning.policy import feedback as policy_feedback
from vault_memory.learning.policy import held_calls
from vault_memory.models.llm import policy_tables
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.learning import write_policy
from vault_memory.rules.paths.scopes import check_scope, check_scopes
from vault_memory.search.calls import SearchCalls

if TYPE_CHECKING:
    from vault_memory.contract.answers import DecidedJson, HeldJson, ScopeNightJson
    from vault_memory.contract.status_answers import NightJson
    from vault_memory.conversations.sessions import Session
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.reports import Ended
    from vault_memory.learning.enrichment.episode_writer import Compacted
    from vault_memory.learning.night_reports import NightReport
    from vault_memory.learning.policy.feedback import Feedback
    from vault_memory.learning.policy.held_calls import Verdict
    from vault_memory.learning.provenance import ProvenanceCalls
    from vault_memory.learning.remember import Remembered
    from vault_memory.learning.runner import LearningRunner, LearningVault, Slept
    from vault_memory.rules.paths.scopes import Caller

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NightRequest:
    """Which nights run, and how."""

    scopes: Sequence[str] | None = None
    """None: all"""
    due: bool = False
    """only nights that have begun and are not done"""
    again: date | None = None
    """a local day whose turns are read again"""
    dry_run: bool = False
    now: datetime | None = None


@checked_calls
class LearningCalls:
    """Learn from the conversations of one vault."""

    def __init__(
        self,
        edits: EditCalls,
        searcher: SearchCalls,
        open_vault: "Callable[[], AbstractContextManager[LearningVault]]",
        conversations: ConversationCalls,
        source: "Callable[[], ProvenanceCalls]",
    ) -> None:
        """`open_vault` opens the vault once more: a cycle has its own index connection and editor.

        `source` returns the calls that find where something comes from.
        """
        self.vault = edits.vault
        self._edits = edits
        self._searcher = searcher
        self._open_vault = open_vault
        self._conversations = conversations
        self._source = source

    def sleep(
        self, request: NightRequest, after: Callable[[str, str], None] = lambda scope, step: None
    ) -> "Slept":
        """Run the nightly learning cycle; see `VaultMemory.sleep`. `after` is called with each finished step."""
        if not request.dry_run:
            self.vault.keep_layout()
        run = self._runner(request.now, dry_run=request.dry_run, after=after)
        return run.run(request.scopes, due=request.due, again=request.again)

    def learn_from_ended(self, *, by_phrases: bool = False, now: datetime | None = None) -> "Slept":
        """Learn from ended conversations of persons now, when a language model is configured.

        `by_phrases` learns without a model, and only where none is configured. Channels wait for their night. Without an answer of the model the scope is `failed`, and nothing was done.
        Raises NightRuns.
        """
        config = self.vault.config
        # Fault: the call that ends a conversation tells what it learned. The daemon would learn
        # it first.
        has_model = config.brain.kind != "rules"
        if has_model is by_phrases or not config.sleep_cycle.enabled:
            return runner.Slept((), "", "", "")
        return self._runner(now).learn_from_ended()

    def commit_at_once(self) -> "list[ScopeNightJson]":
        """Write what conversations of persons ask for, without a model and without waiting.

        With a model configured only rules and requests: it reads the turns later. Each turn is
        judged once by all processes.
        """
        return self._commit(None)

    def commit_before(
        self, session: str | None, scopes: Sequence[str], now: datetime | None = None
    ) -> None:
        """Write what the people of these scopes asked for in other conversations than `session`.

        So a conversation begins with it, however the last one ended. Beside a daemon it is
        written already.
        """
        if not session:
            return
        try:
            self._commit(lambda other: other.id != session and f"user:{other.user}" in scopes, now)
        except (VaultMemoryError, OSError) as error:
            # Fault: what is learned later must not cost the memory of now.
            logger.warning("nothing was learned before a conversation: %s", error)

    def _commit(
        self, is_chosen: "Callable[[Session], bool] | None", now: datetime | None = None
    ) -> "list[ScopeNightJson]":
        """Write what the chosen sessions ask for (None: all), until none of them has a new turn."""
        sessions = list(filter(is_chosen, self._conversations.sessions.unjudged()))
        if not (sessions and self.vault.config.sleep_cycle.enabled):
            return []
        outcomes = self._runner(now).commit_at_once(sessions)
        # Fault: what another process recorded meanwhile, which found the lock taken, would wait
        # for the next turn. So the one that held the lock looks again.
        return outcomes and outcomes + self._commit(is_chosen, now)

    def end_sessions(
        self, sessions: "Sequence[Session]", turn_ids: Sequence[str], *, now: datetime | None = None
    ) -> "Ended":
        """Decide what becomes of what ended conversations told; see `VaultMemory.end_session`."""
        people = [session for session in sessions if session.user and not session.channel]
        if not people or not self.vault.config.sleep_cycle.enabled:
            return reports.Ended(waiting=tuple(turn_ids))
        run = self._runner(now)
        outcomes: list[ScopeNightJson]
        if self.vault.config.brain.kind == "rules":
            try:
                outcomes = run.learn_from_sessions(people)
            except checkpoint.NightRuns:
                # A night in another process reads these turns as well.
                outcomes = []
        else:
            outcomes = run.commit_at_once(people, again=True)
        waiting = run.unread_of(people[0].scope, turn_ids)
        return reports.Ended(
            tuple(entry for outcome in outcomes for entry in outcome["committed"]),
            tuple(entry for outcome in outcomes for entry in outcome["held"]),
            tuple(entry for outcome in outcomes for entry in outcome["dropped"]),
            waiting,
        )

    def held(
        self, scopes: Sequence[str] | None = None, *, now: datetime | None = None
    ) -> "list[HeldJson]":
        """List the candidates that wait for more turns, the oldest first; None: of all scopes."""
        return held_calls.HeldCalls(self._edits, now).list(scopes)

    def decide_held(
        self,
        candidate_id: str,
        verdict: "Verdict",
        scopes: Sequence[str] | None = None,
        *,
        now: datetime | None = None,
    ) -> "DecidedJson":
        """Write a held candidate (`promote`), or give it up for good (`drop`), as a person's act.

        `candidate_id` may be the beginning of an id. Raises UnclearId.
        """
        calls = held_calls.HeldCalls(self._edits, now)
        return calls.decide(candidate_id, verdict, scopes)

    def reject_undone(self, record_id: str) -> None:
        """Give up the held candidate whose promotion was undone."""
        held_calls.HeldCalls(self._edits).reject_undone(record_id)

    def feedback(
        self,
        verdict: Literal["good", "bad"],
        *,
        scope: str,
        about: str = "",
        text: str = "",
        now: datetime | None = None,
    ) -> None:
        """Log what the person of `scope` thinks of an answer, or of what is kept.

        Raises UnclearId with candidates for what is not there, NoteNotFound, UsageError.
        """
        opinion = policy_feedback.Feedback(verdict, scope, about=about, text=text)
        self.log_feedback(opinion, now=now)

    def log_feedback(
        self, feedback: "Feedback", scopes: Sequence[str] = (), *, now: datetime | None = None
    ) -> None:
        """Log what a person thinks of an answer, or of what is kept.

        `scopes` are those in which it may be about something, beside the scope of the feedback.
        Raises UnclearId with candidates for what is not there, NoteNotFound, UsageError.
        """
        calls = policy_feedback.FeedbackCalls(self._edits, self._source(), now)
        calls.log(feedback, scopes)

    def next_night(self, now: datetime | None = None) -> datetime:
        """When the next night of any scope begins."""
        return self._runner(now, dry_run=True).next_begins()

    def status(self, now: datetime | None = None) -> "NightJson":
        """When the last night was, when the next one begins, and the scopes whose night is due."""
        return self._runner(now, dry_run=True).status()

    def night_reports(
        self, scopes: Sequence[str], *, since: date | None = None
    ) -> "list[NightReport]":
        """The reports of the nights, newest first, with the sections of these scopes only."""
        check_scopes(scopes)
        store = checkpoint.CheckpointStore(self.vault.state.path)
        first = since.isoformat() if since else ""
        return night_reports.read_reports(store, scopes, first)

    def remember(self, text: str, *, scope: str, options: EditOptions) -> "Remembered":
        """Write one sentence into the profile of a scope, or a rule into its RULES.md; see `VaultMemory.remember`."""
        check_scope(scope)
        return learning_remember.remember(self._edits, text, scope, options)

    def tells_secret(self, lines: Sequence[str], heading: str = "") -> bool:
        """Whether lines have a password, a key or a number, by the tables of the write policy.

        `heading` is what stands above them, or the subject of a fact.
        """
        cues = policy_tables.policy_cues(self._edits.vault.state.path)
        return write_policy.reason_to_keep_out(heading, lines, cues.reasons) == "secret"

    def scope_to_remember(self, text: str, caller: "Caller") -> str:
        """The scope in which a bot keeps a text: the caller's own, or that of a project.

        A project is a channel and a group of one name, with the person's own notes open.
        """
        if caller.private and caller.channel in caller.groups:
            return learning_remember.scope_for(text, caller.user, caller.channel)
        return caller.scopes(self._edits.vault.layout)[0]

    def compact(
        self,
        session: str,
        text: str = "",
        *,
        user: str | None = None,
        channel: str | None = None,
        now: datetime | None = None,
    ) -> "Compacted":
        """Sum a conversation up in `memories/sessions`, and end it.

        Each line of `text` becomes an item. Without a text, the episode quotes the person.
        `channel` None means any, and an empty one none. Raises UnclearId, UsageError.
        """
        request = episode_writer.SessionQuery(session, user, channel)
        match, turns, compacted = episode_writer.compact(
            self._edits, self._conversations, request, text, now
        )
        self._conversations.sessions.end(match)
        ids = [turn.id for turn in turns if turn.session == match.id]
        self.end_sessions([match], ids, now=now)
        return compacted

    def sum_up(
        self,
        session: str,
        text: str = "",
        *,
        user: str | None = None,
        channel: str | None = None,
        now: datetime | None = None,
    ) -> "Compacted":
        """Sum a conversation up as `compact` does, but do not end it.

        Nothing is written about a short conversation, or without `[learning] episodes`. No
        language model is asked. Raises UnclearId, UsageError.
        """
        if not self.vault.config.learning.episodes:
            return episode_writer.NOTHING
        request = episode_writer.SessionQuery(session, user, channel)
        return episode_writer.sum_up(self._edits, self._conversations, request, text, now)

    def append_summary(self, scope: str, text: str, ts: datetime | str) -> "Edit":
        """Write the summary of a conversation that its host shortens into the dated note of its day."""
        check_scope(scope)
        return learning_remember.append_summary(self._edits, scope, text, ts)

    def _runner(
        self,
        now: datetime | None,
        *,
        dry_run: bool = False,
        after: Callable[[str, str], None] = lambda scope, step: None,
    ) -> "LearningRunner":
        self.vault.check_open()
        return runner.LearningRunner(
            self._searcher, self._open_vault, now, dry_run=dry_run, after=after
        )
