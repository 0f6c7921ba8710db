"""One learning cycle of a scope: what its steps share.

The steps are in `steps.STEPS`. A cycle may be killed at any moment and run again: the brain's answer is
saved before it is used, the id of each edit is saved before the edit, and the end of the cycle is
saved last.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from vault_memory.edits.commands import (
    ApplyOps,
    ChangeFacts,
    EditAction,
    RecordDuplicates,
    RunOptions,
)
from vault_memory.errors import VaultMemoryError
from vault_memory.learning.checkpoint import CheckpointStore, OpenCycle
from vault_memory.learning.note_lines import LEARNED, ops_for
from vault_memory.learning.outcomes import BY_NIGHT, CycleOutcome, EditCause, RunOutcome
from vault_memory.learning.policy.judged import Judged
from vault_memory.learning.prompts import Question
from vault_memory.learning.unread_turns import ROOM, Gathered, Log
from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import item_id, items_of, short_hash
from vault_memory.rules.learning.candidate import Extraction
from vault_memory.rules.paths.scope_notes import Places

if TYPE_CHECKING:
    from vault_memory.contract.answers import DroppedJson
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.learning.night_deps import EpisodeDeps, LifecycleDeps, PolicyDeps
    from vault_memory.learning.token_budget import TokenBudget
    from vault_memory.learning.unread_turns import DayAgain
    from vault_memory.models.base import Brain
    from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate
    from vault_memory.rules.facts.fact_page import FactRules
    from vault_memory.rules.learning.channel_memories import ChannelRules
    from vault_memory.rules.learning.model_prompt import Excerpt, Prompt, Role
    from vault_memory.rules.learning.twins import Embed

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 6.0
"""For notes that a person edits; later writes wait until the notes are free"""
PAUSE_SECONDS = 0.1
LARGEST_COMPARED = 256 << 10
"""Bytes of a note whose items are compared with others"""
BY_RULES = "rules"
"""The model of an answer by phrases, when no model was asked"""
NOTHING = "nothing"
"""In place of a record's id: the edit left no record"""


@dataclass(frozen=True, slots=True)
class CycleDeps:
    """The dependencies of a cycle."""

    editor: "NoteEditor"
    store: CheckpointStore
    places: Callable[[str], Places]
    """returns the notes of a scope, as they are now"""
    logs: Callable[[str, Mapping[str, str]], dict[str, Log]]
    """reads the transcripts of a scope by path, except those with these signatures"""
    brain: Callable[["Role"], "Brain"]
    instructions: Callable[["Role"], str]
    fact_rules: Callable[[date], "FactRules"]
    """returns the rules for facts stated on a day"""
    discard: Callable[[str, datetime], bool]
    """moves a file that is no note to the trash; returns whether it is gone"""
    changed: Callable[[str], None] = lambda path: None
    """is called after a note was written, created or deleted"""
    policy: "PolicyDeps | None" = None
    """None: every candidate is written"""
    episodes: "EpisodeDeps | None" = None
    """None: conversations are not summed up"""
    lifecycle: "LifecycleDeps | None" = None
    """None: reads are not folded, and nothing is purged"""
    notes_stamp: Callable[[str], str] = lambda scope: ""
    """returns a digest of the names, sizes and times of the notes of a scope"""
    rules: Callable[[tuple["Excerpt", ...]], Extraction] = lambda excerpts: Extraction()
    """finds memories and facts by phrases, whatever the brain answers"""
    embedder: Callable[[], "Embed | None"] = lambda: None
    """returns a function that embeds texts; None without an embedder"""
    channel_rules: "ChannelRules" = lambda excerpts, days, people: ()
    """finds decisions, agreements and action items by phrases"""
    people: Callable[[], frozenset[str]] = frozenset
    """returns the names of the persons of the vault"""
    budget: "TokenBudget | None" = None
    """counts tokens; None: nothing is counted"""


@dataclass(frozen=True, slots=True)
class CycleRequest:
    """What a cycle shall do, and its limits."""

    scope: str
    night: date
    now: datetime
    zone: tzinfo
    lookback: timedelta = timedelta(hours=24)
    retention_days: int = 0
    transcript_days: int = 0
    audit_days: int = 0
    curate: bool = False
    dry_run: bool = False
    session: str = ""
    """only this conversation, which has ended; the night follows later"""
    at_once: bool = False
    """only what needs no second thought; the turns stay unread"""
    explicit_only: bool = False
    """only rules and requests: a model reads the turns later"""
    room: int = ROOM
    """characters of one question to the brain, without its instructions"""
    again: "DayAgain | None" = None
    """turns to read once more; for a dry run, which may not mark them as unread"""
    has_model: bool = False
    """whether a language model is configured"""


class LearningCycle:
    """The state of one cycle, its look-ups and its edits; `steps.run_steps` runs it."""

    def __init__(self, deps: CycleDeps, request: CycleRequest) -> None:
        self.deps = deps
        self.request = request
        self.scope = request.scope
        self.zone = request.zone
        self.now = request.now
        self.kind, _, self.name = request.scope.partition(":")
        self.last = deps.store.last(self.scope)
        self.outcome = CycleOutcome(self.scope, request.night.isoformat())
        self.checkpoint = OpenCycle()
        if deps.budget is not None:
            deps.budget.begin_round(self.scope)
        self._note_tokens()
        self.read_marks = set[str]()
        """the marks of turns that earlier cycles read"""
        self.finished_logs: dict[str, str] = {}
        """signatures of the transcripts without unread turns after this cycle"""
        self.gathered = Gathered()
        self.extraction = Extraction()
        self.personal: list[DroppedJson] = []
        """what a channel's notes leave out because it is about a single person"""
        self.judged = Judged()
        self.late_skips: dict[str, list[SkippedDuplicate]] = {}
        """texts that items of a new note say; the note is not written yet"""
        self.has_open_pairs = False
        """whether a model was not asked yet about all pairs that may contradict each other"""
        self.has_failed_step = False
        """whether a step failed that takes no other with it"""
        self._patience = PATIENCE_SECONDS
        self._places: Places | None = None

    @property
    def night(self) -> date:
        """The local date of the cycle. A cycle that was killed keeps its date."""
        return date.fromisoformat(self.checkpoint.night)

    # ---- notes -------------------------------------------------------------------------------

    @property
    def places(self) -> Places:
        """The notes of the scope. Looked up again after an edit, which may create one."""
        # Fault: the note of a new day may not have existed at the last look.
        if self._places is None:
            self._places = self.deps.places(self.scope)
        return self._places

    def text(self, path: str) -> str:
        """Returns the text of a note; empty when it is missing or unreadable."""
        return self._raw(path).decode("utf-8", "replace")

    def doc(self, path: str) -> SectionedDoc:
        """Returns a parsed note; empty when it is missing or unreadable."""
        return parse(self._raw(path))

    def compared_doc(self, path: str) -> SectionedDoc:
        """Returns a parsed note whose items are compared; empty for a very long one.

        A note of a hundred thousand bullets would take seconds and a hundred megabytes.
        """
        raw = self._raw(path)
        # Fault: a huge note would take seconds and a hundred megabytes.
        return parse(raw if len(raw) <= LARGEST_COMPARED else b"")

    @property
    def has_new_notes(self) -> bool:
        """Whether a note of the scope changed since a night compared all of them."""
        stamp = self.deps.notes_stamp(self.scope)
        return not stamp or stamp != self.last.compared

    def days(self, first: date, last: date) -> dict[date, str]:
        """Returns the texts of the dated notes of these days, both included."""
        return {day: self.text(note) for day, note in self.places.dated if first <= day <= last}

    def topics_on(self, day: date) -> list[str]:
        """Returns the topics of the items in the dated note of a day."""
        doc = self.compared_doc(self.places.note_of(day))
        return [parse_item(item.text).topic for item in items_of(doc)]

    def _raw(self, path: str) -> bytes:
        # Fault: a scope without a file of this kind has an empty path.
        if not path:
            return b""
        try:
            note = self.deps.editor.there(path)
        except VaultMemoryError as error:
            # One unreadable note must not end the night of the whole scope.
            logger.warning("%s", error)
            return b""
        return note.raw if note else b""

    # ---- the brain ---------------------------------------------------------------------------

    def question(self, role: "Role", about: str) -> Question:
        """Returns the instructions and limits of a question about a person or a note."""
        template = self.deps.instructions(role)
        return Question(template, about, self.night, self.request.room)

    def ask(self, step: str, prompt: "Prompt") -> str:
        """Returns the brain's answer, and saves it: a model would answer differently again."""
        answers = self.checkpoint.answers
        digest = sha256(repr(prompt.excerpts).encode("utf-8", "replace")).hexdigest()
        # The user may forget a turn after the crash: the answer must not contain it.
        if step not in answers or answers[step].get("about") != digest:
            answer = self.deps.brain(prompt.role).answer(prompt)
            answers[step] = {
                "text": answer.text,
                "rung": answer.rung,
                "model": answer.model,
                "reason": answer.reason,
                "about": digest,
            }
            # Fault: a night that is killed after the answer must not pay for it a second time.
            # Rules answer again for nothing; the save before the first edit has their answer.
            if (answer.model, answer.reason) != (BY_RULES, ""):
                self.save()
            self._note_tokens()
        return str(answers[step]["text"])

    @property
    def may_ask(self) -> bool:
        """Whether a model read the last turns of the night, and is there to ask more."""
        outcome = self.outcome
        # Fault: a round that is not finished asks too early, and would pay for the same items
        # twice.
        if outcome.more or outcome.reason or self.checkpoint.session:
            return False
        # Fault: the rules answered, because no model is there.
        return outcome.rung not in ("", BY_RULES)

    def keep_asked(self, about: Literal["pairs", "entities"], keys: Iterable[str]) -> None:
        """Remembers what a model was asked, so that it is asked once; a dry run does not."""
        if not self.request.dry_run:
            self.deps.store.add_keys(self.scope, about, keys)

    def _note_tokens(self) -> None:
        budget = self.deps.budget
        if budget is not None:
            self.outcome.tokens = budget.as_json(self.scope)

    def save(self) -> None:
        """Saves the checkpoint, before the action that it names."""
        if not self.request.dry_run:
            self.deps.store.save(self.scope, self.checkpoint)

    # ---- edits -------------------------------------------------------------------------------

    def edit(
        self,
        step: str,
        note: str,
        ops: Iterable[Mapping[str, Any]] = (),
        *,
        action: EditAction | None = None,
        cause: EditCause = BY_NIGHT,
    ) -> RunOutcome:
        """Edits a note once, even when the cycle runs again. `action` replaces `ops`."""
        action = action or ApplyOps(tuple(ops))
        if action in (ApplyOps(), ChangeFacts(()), RecordDuplicates(())):
            return RunOutcome()
        # Fault: the cycle was killed after this edit, and must not make it twice.
        previous = self._previous_run(step, note)
        if previous is not None:
            return self._count(previous, note)
        editor = self.deps.editor
        why = cause.why or self._why()
        command = editor.new_command(note, cause.source, self.now, action, why=why)
        run_id = self._run_id(command.id, step)
        command = replace(command, id=run_id, origin=cause.origin, spoken=self._spoken_in(action))
        # Fault: the id is on the disk before the edit. A crash between the two finds the record by
        # it.
        self._save_run(step, run_id)
        edit = editor.run(command, self.now, RunOptions(dry_run=self.request.dry_run))
        self.deps.changed(note)
        self._places = None
        if edit.audit_id is None and not edit.pending:
            self._save_run(step, NOTHING)
        if edit.pending:
            outcome = self._wait_for_write(step, note)
        else:
            outcome = RunOutcome(
                tuple(item.op for item in edit.applied if item.outcome == "applied"),
                tuple(item.remark for item in edit.applied),
                len(edit.proposed),
                len(edit.rejected),
            )
        return self._count(outcome, note)

    def _spoken_in(self, action: EditAction) -> dict[str, str]:
        """Returns when the person said the turns that an edit names."""
        text = str(action.fields())
        turns = self.gathered.evidence
        return {id_: turn.ts for id_, turn in turns.items() if id_ in text}

    def _save_run(self, step: str, run_id: str) -> None:
        if not self.request.dry_run:
            self.checkpoint.runs[step] = run_id
            self.save()

    def _wait_for_write(self, step: str, note: str) -> RunOutcome:
        """Waits until a newly saved note is free; PATIENCE_SECONDS in all edits of the cycle."""
        began = time.monotonic()
        outcome = RunOutcome(waits=True)
        # Fault: a person types in the note all night. The cycle must not wait for ever.
        while outcome.waits and self._patience > 0:
            time.sleep(PAUSE_SECONDS)
            elapsed = timedelta(seconds=time.monotonic() - began)
            self.deps.editor.tend(self.now + elapsed)
            outcome = self._previous_run(step, note) or RunOutcome()
            self._patience -= PAUSE_SECONDS
        return outcome

    def _run_id(self, new_id: str, step: str) -> str:
        """Returns an id that is the same when the cycle repeats the step."""
        steps = list(self.checkpoint.runs)
        number = steps.index(step) if step in steps else len(steps)
        digest = short_hash(self.scope, str(self.checkpoint.serial), step)
        return f"{new_id[:12]}{number % 256:02x}{digest[:6]}"

    def _previous_run(self, step: str, note: str) -> RunOutcome | None:
        """Returns the result of the edit if the cycle made it before it was killed."""
        run_id = self.checkpoint.runs.get(step)
        if run_id is None:
            return None
        if run_id == NOTHING:
            return RunOutcome()
        editor = self.deps.editor
        # Fault: the edit waits for an editor that has the note open. A second one would write it
        # twice.
        if any(pending.id == run_id for pending in editor.waiting()):
            return RunOutcome(waits=True)
        record = editor.trail.held(run_id, note)
        if record is None:
            # Fault: the process was killed before the edit was written.
            return None
        proposed = sum(proposal.state == "open" for proposal in record.proposed)
        if proposed:
            # The crash may have come before the proposals were written to the inbox.
            editor.inbox.carry_out(editor.inbox.page_of(note), self.now)
        return RunOutcome(
            tuple(item.op for item in record.applied if item.outcome == "applied"),
            tuple(item.remark for item in record.applied),
            proposed,
            len(record.rejected),
        )

    def _count(self, run: RunOutcome, note: str) -> RunOutcome:
        self.outcome.proposed += run.proposed
        self.outcome.refused += run.refused
        self.outcome.waiting += run.waits
        if run.applied and note not in self.outcome.notes:
            self.outcome.notes.append(note)
        return run

    def commit(self, kind: str, note: str, applied: Iterable[Mapping[str, Any]]) -> None:
        """Tells which items an edit wrote."""
        policy = self.deps.policy
        note_kind = policy.kind_of(note) if policy else ""
        for op in applied:
            lines = op.get("lines") or [op.get("line", "")]
            is_addition = op.get("op") in ("append", "add_heading")
            for line in lines if is_addition else ():
                id_ = item_id(self.scope, note_kind, line)
                self.outcome.committed.append({"id": id_, "note": note, "kind": kind})

    def run_alone(self, step: Callable[["LearningCycle"], None]) -> None:
        """Runs a step that must not take the others with it; the outcome names its failure."""
        try:
            step(self)
        except VaultMemoryError as error:
            reason = error.message
        except Exception as error:
            # A fault in one step must not keep a night from being finished for ever.
            logger.exception("the step %s failed", step.__name__)
            reason = str(error) or type(error).__name__
        else:
            return
        self.has_failed_step = True
        failure = f"{step.__name__.replace('_', ' ')} failed: {reason}"
        reasons = filter(None, [self.outcome.reason, failure])
        self.outcome.reason = "; ".join(reasons)

    def _why(self) -> str:
        """Explains an edit in the audit log: which night, which model, why no better one."""
        kind = "conversation" if self.checkpoint.session else "night"
        reason = f"{kind} of {self.checkpoint.night}"
        answers = self.checkpoint.answers
        answer = answers.get("extraction") or answers.get("channel")
        if not answer:
            return reason
        reason += f", answered by {answer['model']} ({answer['rung']})"
        if answer.get("reason"):
            reason += f": {answer['reason']}"
        return reason

    def first_lines(self, note: str, lines: list[str]) -> list[str]:
        """Moves a line that policy allows to the front: the first one creates the heading."""
        doc = self.doc(note)
        has_heading = any(section.name == LEARNED for section in doc.sections)
        if len(lines) < 2 or has_heading:
            return lines
        for position, line in enumerate(lines):
            if self._is_allowed(note, ops_for(doc, LEARNED, [line])):
                return [line, *lines[:position], *lines[position + 1 :]]
        return lines

    def _is_allowed(self, note: str, ops: Iterable[Mapping[str, Any]]) -> bool:
        editor = self.deps.editor
        action = ApplyOps(tuple(ops))
        command = editor.new_command(note, "nightly", self.now, action)
        command = replace(command, spoken=self._spoken_in(action))
        edit = editor.run(command, self.now, RunOptions(dry_run=True))
        return any(item.outcome == "applied" for item in edit.applied)


__all__ = ["CycleDeps", "CycleOutcome", "CycleRequest", "LearningCycle", "RunOutcome"]
