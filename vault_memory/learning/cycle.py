"""One night of one scope: learn from what was said, write it down, tidy up. The steps stand in `STEPS`, in their order.

A night may be killed anywhere and done again: what the brain said is kept before it is used, each change of a note has
its id in the audit written down before it is made, and where the night ends is kept last of all.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, tzinfo
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from vault_memory.edits.commands import ApplyOps, EditAction
from vault_memory.errors import VaultMemoryError
from vault_memory.lazy import lazy_module
from vault_memory.learning.checkpoint import CheckpointStore, OpenCycle
from vault_memory.learning.note_lines import LEARNED, ops_for
from vault_memory.learning.unread_turns import ROOM, Gathered, Log
from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.note_items import short_hash
from vault_memory.rules.learning.candidate import Extraction
from vault_memory.rules.paths.scope_notes import Places

if TYPE_CHECKING:
    from vault_memory.edits.editor import NoteEditor
    from vault_memory.learning import steps as learning_steps
    from vault_memory.models.base import Brain
    from vault_memory.rules.facts.fact_page import FactRules
    from vault_memory.rules.learning.model_prompt import Prompt, Role
else:
    learning_steps = lazy_module("vault_memory.learning.steps")

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 6.0
"""For notes that somebody works on; what is not written by then waits, and is written when they are left alone"""
PAUSE_SECONDS = 0.1
NOTHING = "nothing"
"""In the place of a record's id: the run left none"""


@dataclass(frozen=True, slots=True)
class CycleDeps:
    """What a night works with."""

    curator: "NoteEditor"
    shelf: CheckpointStore
    places: Callable[[str], Places]
    """the notes of a scope, as they are now"""
    logs: Callable[[str, Mapping[str, str]], dict[str, Log]]
    """the transcripts of a scope by path; those whose signatures are given and still right are not read"""
    brain: Callable[["Role"], "Brain"]
    instructions: Callable[["Role"], str]
    fact_rules: Callable[[date], "FactRules"]
    """as of the day on which something was said"""
    discard: Callable[[str, datetime], bool]
    """throws a file that is no note away; whether it is gone"""
    changed: Callable[[str], None] = lambda path: None
    """a note was written, made or thrown away"""


@dataclass(frozen=True, slots=True)
class CycleRequest:
    """What is asked of a night."""

    scope: str
    night: date
    now: datetime
    zone: tzinfo
    lookback: timedelta = timedelta(hours=24)
    retention_days: int = 0
    transcript_days: int = 0
    curate: bool = False
    dry_run: bool = False
    session: str = ""
    """only this conversation, which has ended; the night is still to come"""
    room: int = ROOM
    """characters of one question to the brain, beside its instructions"""


@dataclass(slots=True)
class Outcome:
    """What a night did."""

    scope: str
    night: str
    gathered: int = 0
    memories: int = 0
    facts: int = 0
    rules: int = 0
    curated: int = 0
    proposed: int = 0
    refused: int = 0
    pruned: int = 0
    reflected: int = 0
    more: int = 0
    """turns for which there was no room; the next question of the night begins with them"""
    waiting: int = 0
    """writes that wait until their notes are left alone"""
    rung: str = ""
    """how the brain's answer was had; empty when nothing was asked"""
    model: str = ""
    reason: str = ""
    """why it was not had better"""
    state: str = "done"
    """done, quiet (nothing was said), partial (there was more than fits), or failed"""
    idle: int = 0
    session: str = ""
    """the conversation, when it was no night"""
    heard: int = 0
    """turns that were read before, when their conversations ended"""
    learned: list[str] = field(default_factory=list)
    """the lines that were written, for the report; they are in the notes, too"""
    notes: list[str] = field(default_factory=list)
    """the notes that were written"""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What became of one run."""

    applied: tuple[Mapping[str, Any], ...] = ()
    """the ops that had an effect"""
    remarks: tuple[str, ...] = ()
    proposed: int = 0
    refused: int = 0
    waits: bool = False


class LearningCycle:
    """Does the steps. `after` is told the name of each step that is done."""

    def __init__(
        self,
        desk: CycleDeps,
        wanted: CycleRequest,
        after: Callable[[str], None] = lambda step: None,
    ) -> None:
        self.desk, self.wanted, self._after = desk, wanted, after
        self.scope, self.zone, self.now = wanted.scope, wanted.zone, wanted.now
        self.kind, _, self.name = wanted.scope.partition(":")
        self.last = desk.shelf.last(self.scope)
        self.out = Outcome(self.scope, wanted.night.isoformat())
        self.open = OpenCycle()
        self.read = set[str]()
        """the marks of what was read before"""
        self.read_out: dict[str, str] = {}
        """the transcripts that are read to their end with this"""
        self.gathered = Gathered()
        self.extraction = Extraction()
        self._patience = PATIENCE_SECONDS
        self._places: Places | None = None

    @property
    def night(self) -> date:
        """The local date of the night that is done, which may have been begun by a process that was killed."""
        return date.fromisoformat(self.open.night)

    def run(self) -> Outcome:
        """All steps. What fails is said in the outcome, and done again the next time."""
        for step in learning_steps.STEPS:
            if not (self.open.session and step in learning_steps.OF_THE_NIGHT):
                step(self)
                self._after(step.__name__)
        return self.out

    # ---- what the steps share ------------------------------------------------------------------------------------

    @property
    def places(self) -> Places:
        """The notes there are; looked for again after an edit, which may have made one."""
        if self._places is None:
            self._places = self.desk.places(self.scope)
        return self._places

    def keep(self) -> None:
        """The open night's file, before anything is done that it tells of."""
        if not self.wanted.dry_run:
            self.desk.shelf.keep(self.scope, self.open)

    def text(self, path: str) -> str:
        """A note as it stands; empty when it is not there or cannot be read."""
        return self.doc_and_text(path)[1]

    def doc(self, path: str) -> SectionedDoc:
        return self.doc_and_text(path)[0]

    def doc_and_text(self, path: str) -> tuple[SectionedDoc, str]:
        try:
            note = self.desk.curator.there(path) if path else None
        except VaultMemoryError as error:
            logger.warning("%s", error)
            note = None
        raw = note.raw if note else b""
        return parse(raw), raw.decode("utf-8", "replace")

    def ask(self, step: str, prompt: "Prompt") -> str:
        """What the brain says, which is kept: asked again, a model would say something else."""
        known = self.open.answers.get(step)
        about = sha256(repr(prompt.excerpts).encode("utf-8", "replace")).hexdigest()
        if (
            known is None or known.get("about") != about
        ):  # something that it is about was forgotten meanwhile
            answer = self.desk.brain(prompt.role).answer(prompt)
            known = {
                "text": answer.text,
                "rung": answer.rung,
                "model": answer.model,
                "reason": answer.reason,
            }
            known["about"] = about
            self.open.answers[step] = known
            self.keep()
        return str(known["text"])

    def edit(
        self, step: str, note: str, ops: Iterable[Mapping[str, Any]] = (), **asked: Any
    ) -> RunOutcome:
        """One run on one note, made once however often the night is begun."""
        ops = tuple(ops)
        action: EditAction = asked.pop("action", ApplyOps(ops))
        if action == ApplyOps():
            return RunOutcome()
        if (known := self._made(step, note)) is not None:
            return self._count(known, note)
        source, why = (
            asked.pop("source", "nightly"),
            asked.pop("why", "") or self._why(),
        )
        run = self.desk.curator.new_command(note, source, self.now, action, why=why)
        origin = asked.pop("origin", "owner")
        run = replace(run, id=self._run_id(run.id, step), origin=origin)
        if not self.wanted.dry_run:
            self.open.runs[step] = run.id
            self.keep()
        edit = self.desk.curator.run(run, self.now, dry_run=self.wanted.dry_run)
        self.desk.changed(note)
        self._places = None
        if edit.audit_id is None and not edit.pending and not self.wanted.dry_run:
            self.open.runs[step] = NOTHING
            self.keep()
        told = RunOutcome(
            tuple(one.op for one in edit.applied if one.outcome == "applied"),
            tuple(one.remark for one in edit.applied),
            len(edit.proposed),
            len(edit.rejected),
            bool(edit.pending),
        )
        return self._count(
            self._wait_for_write(step, note) if told.waits else told, note
        )

    def _wait_for_write(self, step: str, note: str) -> RunOutcome:
        """A note that was saved just now is left alone for a moment; the writes of a night wait that long, in all."""
        curator, began = self.desk.curator, time.monotonic()
        told = RunOutcome(waits=True)
        while told.waits and self._patience > 0:
            time.sleep(PAUSE_SECONDS)
            curator.tend(self.now + timedelta(seconds=time.monotonic() - began))
            told = self._made(step, note) or RunOutcome()
            self._patience -= PAUSE_SECONDS
        return told

    def _run_id(self, given: str, step: str) -> str:
        """An id that the same step of the same night has again, in the order of the steps."""
        steps = list(self.open.runs)
        number = steps.index(step) if step in steps else len(steps)
        return (
            given[:12]
            + f"{number % 256:02x}"
            + short_hash(self.scope, str(self.open.serial), step)[:6]
        )

    def _made(self, step: str, note: str) -> RunOutcome | None:
        """What became of the run when a night that was killed had come so far."""
        known = self.open.runs.get(step)
        if known is None:
            return None
        if known == NOTHING:
            return RunOutcome()
        if any(one.id == known for one in self.desk.curator.waiting()):
            return RunOutcome(waits=True)
        record = self.desk.curator.trail.held(known, note)
        if record is None:
            return None
        if any(
            one.state == "open" for one in record.proposed
        ):  # perhaps it was killed before it could show them
            inbox = self.desk.curator.inbox
            inbox.carry_out(inbox.page_of(note), self.now)
        return RunOutcome(
            tuple(one.op for one in record.applied if one.outcome == "applied"),
            tuple(one.remark for one in record.applied),
            sum(one.state == "open" for one in record.proposed),
            len(record.rejected),
        )

    def _count(self, told: RunOutcome, note: str) -> RunOutcome:
        self.out.proposed += told.proposed
        self.out.refused += told.refused
        self.out.waiting += told.waits
        if told.applied and note not in self.out.notes:
            self.out.notes.append(note)
        return told

    def _why(self) -> str:
        """For the audit: which night, who answered, and why it was not answered better."""
        answer = self.open.answers.get("extraction", {})
        told = (
            f"{'conversation' if self.open.session else 'night'} of {self.open.night}"
        )
        if answer:
            told += f", answered by {answer['model']} ({answer['rung']})"
        return f"{told}: {answer['reason']}" if answer.get("reason") else told

    def first_lines(self, note: str, lines: list[str]) -> list[str]:
        """The lines in an order in which a heading can be made with the first: one that may be written."""
        doc = self.doc(note)
        if len(lines) < 2 or any(section.name == LEARNED for section in doc.sections):
            return lines
        for line in lines:
            action = ApplyOps(tuple(ops_for(doc, LEARNED, [line])))
            run = self.desk.curator.new_command(note, "nightly", self.now, action)
            if any(
                one.outcome == "applied"
                for one in self.desk.curator.run(run, self.now, dry_run=True).applied
            ):
                return [line, *(one for one in lines if one is not line)]
        return lines


__all__ = ["CycleDeps", "CycleRequest", "LearningCycle", "Outcome", "RunOutcome"]
