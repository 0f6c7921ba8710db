"""Logs what a person thinks of an answer, or of what the bot keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vault_memory.edits.calls import EditCalls
from vault_memory.edits.people import refuse_twin
from vault_memory.errors import UsageError
from vault_memory.learning import ledgers
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.learning.ledger_lines import FEEDBACK
from vault_memory.rules.learning.write_policy import LOGGED, UNTOLD
from vault_memory.rules.paths.scope_notes import places_of
from vault_memory.rules.paths.scopes import READ_BY_ALL, check_scope

if TYPE_CHECKING:
    from vault_memory.learning.provenance import ProvenanceCalls

LONGEST_FEEDBACK = 1_000
NOT_SHOWN = "…"


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a person thinks of something."""

    verdict: Literal["good", "bad"]
    scope: str
    user: str = ""
    """who thinks so; empty: the person of the scope"""
    about: str = ""
    """the id of an item, a fact, a turn or a change, or `NOTE:LINE`; empty: of nothing in particular"""
    text: str = ""


class FeedbackCalls:
    """The log of feedback of one vault."""

    def __init__(
        self, edits: EditCalls, source: "ProvenanceCalls", now: datetime | None = None
    ) -> None:
        self._vault = edits.vault
        self._source = source
        moment = now or datetime.now(UTC)
        self._now = moment.astimezone() if moment.tzinfo is None else moment

    def log(self, feedback: Feedback, scopes: Sequence[str] = ()) -> None:
        """Adds a line to the log of its scope.

        `scopes` are those in which it may be about something, beside its own. Raises UnclearId,
        NoteNotFound, UsageError, NameTaken.
        """
        self._check(feedback)
        scope = feedback.scope
        _, _, name = scope.partition(":")
        if feedback.about:
            # Fault: feedback about a mistyped id would help nobody, and the person would not know.
            readable = tuple(dict.fromkeys((scope, *scopes, READ_BY_ALL)))
            self._source(feedback.about, scopes=readable, around=0, now=self._now)
        reasons = policy_cues(self._vault.state.path).reasons(feedback.text)
        record = {
            "ts": self._now.isoformat(),
            "user": feedback.user or name,
            "about": feedback.about,
            "verdict": feedback.verdict,
            # A log must not contain what no note may contain.
            "text": NOT_SHOWN if reasons & (UNTOLD | LOGGED) else feedback.text,
        }
        paths = list(self._vault.folder.listing(suffixes=(".md", ".jsonl")).entries)
        places = places_of(scope, paths, self._vault.layout)
        day = self._now.date()
        ledgers.of_vault(self._vault).append_by_day(places, FEEDBACK, day, record)

    def _check(self, feedback: Feedback) -> None:
        check_scope(feedback.scope)
        if feedback.verdict not in ("good", "bad"):
            raise UsageError(f"{feedback.verdict!r} is no feedback", hint="say `good` or `bad`")
        # Fault: a whole conversation pasted as feedback would fill the log.
        if max(len(feedback.text), len(feedback.about)) > LONGEST_FEEDBACK:
            raise UsageError(f"feedback has up to {LONGEST_FEEDBACK} letters", hint="shorten it")
        kind, _, name = feedback.scope.partition(":")
        for person in {feedback.user, name if kind == "user" else ""}:
            # Fault (H124): the log would make a folder for a name that reads like that
            # of another person.
            refuse_twin(person, Path(self._vault.folder.root), self._vault.layout)


__all__ = ["Feedback", "FeedbackCalls"]
