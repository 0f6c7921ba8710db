"""The steps of a learning cycle, in order.

Each step may run again after a crash. The audit log and the checkpoint tell what it did before.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from vault_memory.edits.commands import ChangeFacts
from vault_memory.learning import prompts
from vault_memory.learning.asking import ask_the_brain
from vault_memory.learning.attributes import fact_wishes, without_attributes
from vault_memory.learning.checkpoint import OpenCycle
from vault_memory.learning.duplicates import (
    duplicates,
    record_late_skips,
    record_skips,
    without_duplicates,
)
from vault_memory.learning.enrichment.curation import curate
from vault_memory.learning.enrichment.episode_notes import episodes
from vault_memory.learning.enrichment.name_entities import entities
from vault_memory.learning.enrichment.settlement import conflicts
from vault_memory.learning.enrichment.weekly_reflection import reflect
from vault_memory.learning.learned_rules import (
    ARCHIVED,
    archive_ops,
    rule_ops,
    rule_skips,
    with_room,
)
from vault_memory.learning.night_reports import joined
from vault_memory.learning.note_lines import LEARNED, by_section, lines_by_day, ops_for, sections_of
from vault_memory.learning.outcomes import EditCause
from vault_memory.learning.policy.committing import (
    NO_ROOM,
    end_logs,
    hold_candidates,
    propose_facts,
    propose_rules,
    request_lines,
    take_back,
    tell_archived,
    write_requests,
)
from vault_memory.learning.policy.judging import judge
from vault_memory.learning.retention import fold_audits, fold_counts, prune, purge
from vault_memory.learning.unread_turns import gather, mark_of, moment_of, read_out, unread
from vault_memory.rules.conversations.turn import Turn

if TYPE_CHECKING:
    from vault_memory.contract import NightState
    from vault_memory.learning.cycle import CycleOutcome, LearningCycle

logger = logging.getLogger(__name__)

BEGINNING = datetime.min.replace(tzinfo=UTC)
MOST_DOUBTS = 10
"""Proposals in one cycle for candidates without evidence"""
FACT_REMARK = "fact "
"""Begins the remark of an op that states a fact"""
NEW_FACT = frozenset({"added", "refined", "superseded"})
UNSTORED = ("learned",)
"""What an outcome tells at once, and the notes tell later"""
RULE_OPS = frozenset({"append", "add_heading"})


def load_checkpoint(cycle: "LearningCycle") -> None:
    """Loads what was read before, and a cycle that was interrupted and is finished first."""
    last, store = cycle.last, cycle.deps.store
    checkpoint = None if cycle.request.dry_run else store.open_cycle(cycle.scope)
    # It may have crashed after committing, before it removed its checkpoint.
    if checkpoint is None or checkpoint.serial <= last.serial:
        checkpoint = OpenCycle(
            cycle.scope,
            cycle.request.night.isoformat(),
            last.serial + 1,
            cycle.now.isoformat(),
            cycle.request.session,
        )
    cycle.checkpoint = checkpoint
    cycle.outcome.night = checkpoint.night
    cycle.outcome.session = checkpoint.session
    # Fault: an older version stored the newest turn only. Without marks the night would read all
    # turns twice.
    if last.newest_ts and not last.since:
        _import_newest(cycle)
    # Fault: the first night of a large vault would read years of turns.
    if not last.since:
        since = moment_of(checkpoint.began) - cycle.request.lookback
        last.since = since.isoformat()
    cycle.read_marks |= store.read(cycle.scope, last.serial)
    # Fault: the turns of this day have marks, and their transcripts count as read.
    if cycle.request.again is not None:
        cycle.request.again.reopen(last)
        cycle.read_marks -= cycle.request.again.marks


def _import_newest(cycle: "LearningCycle") -> None:
    """Converts a file of an older version, which has only the newest turn that was read."""
    last, store = cycle.last, cycle.deps.store
    last.since = BEGINNING.isoformat()
    turns = unread(cycle.deps.logs(cycle.scope, {}), set(), BEGINNING)
    ids = [turn.id for turn in turns]
    if last.newest in ids:
        read_turns = turns[: ids.index(last.newest) + 1]
    else:
        newest_moment = moment_of(last.newest_ts)
        # Fault: the newest turn may be gone from its transcript. Then its time tells what was read.
        read_turns = [turn for turn in turns if turn.at <= newest_moment]
    cycle.read_marks |= {mark_of(turn.id) for turn in read_turns}
    if not cycle.request.dry_run:
        store.add_read(cycle.scope, last.serial, sorted(cycle.read_marks))
        store.save(cycle.scope, last)


def gather_turns(cycle: "LearningCycle") -> None:
    """Collects unread turns of all devices, however late they arrived; cut to size."""
    checkpoint = cycle.checkpoint
    logs = cycle.deps.logs(cycle.scope, cycle.last.files)
    # Fault: turns of another device arrive days later. Marks show what was read, and times do not.
    new_turns = unread(logs, cycle.read_marks, moment_of(cycle.last.since))
    turns = _turns_of(checkpoint, new_turns)
    # Fault: the notes grow while a cycle is repeated. With another room the stored answer would
    # belong to other turns.
    if turns and not checkpoint.room:
        checkpoint.room = prompts.room_for_turns(
            cycle.request.room,
            profile=cycle.text(cycle.places.profile),
            facts=cycle.text(cycle.places.facts),
        )
    user = cycle.name if cycle.kind == "user" else ""
    cycle.gathered = gather(turns, user=user, room=checkpoint.room, zone=cycle.zone)
    gathered_ids = {turn.id for turn in cycle.gathered.turns}
    remaining = [turn for turn in new_turns if turn.id not in gathered_ids]
    cycle.finished_logs = read_out(logs, remaining)
    cycle.outcome.gathered = len(gathered_ids)
    cycle.outcome.more = len(_of_session(checkpoint, remaining))
    cycle.outcome.heard = 0 if checkpoint.session else len(cycle.last.heard)
    marks = sorted(map(mark_of, gathered_ids))
    # A cycle that an older version began may list more turns than fit into its question.
    if marks != checkpoint.taken:
        checkpoint.taken = marks
        cycle.save()


def _of_session(checkpoint: OpenCycle, turns: Iterable[Turn]) -> list[Turn]:
    """Returns the turns of the conversation; all turns in a cycle of a night."""
    return [turn for turn in turns if checkpoint.session in ("", turn.session)]


def _turns_of(checkpoint: OpenCycle, new_turns: Iterable[Turn]) -> list[Turn]:
    """Returns the turns that belong into the question of this cycle."""
    turns = _of_session(checkpoint, new_turns)
    if checkpoint.taken:
        # The brain answered before the crash. Turns that arrived since are not in its answer.
        return [turn for turn in turns if mark_of(turn.id) in checkpoint.taken]
    ids = [turn.id for turn in turns]
    # Fault: an older version stored the last turn of the question in place of marks.
    if checkpoint.newest in ids:
        return turns[: ids.index(checkpoint.newest) + 1]
    return turns


def write_notes(cycle: "LearningCycle") -> None:
    """Appends memories to the dated note of their day. Refused ones go into the audit log."""
    places, outcome = cycle.places, cycle.outcome
    by_day = lines_by_day(
        without_attributes(cycle),
        cycle.gathered.evidence,
        cycle.zone,
        attributed=cycle.kind == "channel",
        topics_on=cycle.topics_on,
    )
    dropped: list[Mapping[str, Any]] = [
        {"op": "memory", "line": memory.text, "reason": memory.reason}
        for memory in cycle.extraction.dropped
    ]
    if not cycle.request.at_once:
        # The text of what policy drops must not be stored: the turn names it.
        dropped += [{"op": "memory", **drop} for drop in cycle.judged.dropped]
    requests = request_lines(cycle)
    # Fault: a cycle that runs again has the same lines, and the note has them already.
    by_note = without_duplicates(cycle, by_day, LEARNED, requests)
    cycle.judged.new_requests = by_note.get(places.profile, [])
    sections = {}
    if cycle.kind == "channel":
        turns = cycle.gathered.evidence
        sections = sections_of(cycle.extraction, turns, cycle.zone)
    for day in by_day:
        note = places.note_of(day)
        if note not in by_note:
            continue
        grouped = by_section(by_note[note], sections)
        grouped[LEARNED] = cycle.first_lines(note, grouped[LEARNED])
        doc = cycle.doc(note)
        ops = [op for name in grouped for op in ops_for(doc, name, grouped[name])]
        result = cycle.edit(f"note {day}", note, [*ops, *dropped])
        cycle.commit("memory", note, result.applied)
        # Fault: each note would tell the same refusals again. The first one tells them.
        dropped = []
        outcome.memories += len(result.applied)
        for op in result.applied:
            outcome.learned += op.get("lines") or [op.get("line", "")]
    record_late_skips(cycle)
    # Fault: a night without any new line would lose its refusals.
    cycle.edit("refused", places.note_of(cycle.night), dropped)


def propose_doubts(cycle: "LearningCycle") -> None:
    """Proposes candidates without evidence, so that a person decides."""
    doubts = cycle.extraction.proposals[:MOST_DOUBTS]
    # A model that invents much must not fill INBOX.md; the audit names the others.
    surplus = [
        {"op": "memory", "line": doubt.text, "reason": "too many proposals"}
        for doubt in cycle.extraction.proposals[MOST_DOUBTS:]
    ]
    note = cycle.places.profile
    doc = cycle.doc(note)
    ops = [op for doubt in doubts for op in ops_for(doc, LEARNED, [doubt.text])]
    why = f"night of {cycle.checkpoint.night}: {doubts[0].reason}" if doubts else ""
    cause = EditCause(why=why, origin="document")
    cycle.edit("doubts", note, [*ops, *surplus], cause=cause)


def state_facts(cycle: "LearningCycle") -> None:
    """Writes facts into FACTS.md, also when there are no memories."""
    action = ChangeFacts(fact_wishes(cycle))
    result = cycle.edit("facts", cycle.places.facts, action=action)
    _commit_facts(cycle, result.remarks)
    cycle.outcome.facts = sum(
        remark.startswith(FACT_REMARK) and remark.split()[-1] in NEW_FACT
        for remark in result.remarks
    )


def _commit_facts(cycle: "LearningCycle", remarks: Iterable[str]) -> None:
    """Tells which facts were written."""
    for remark in remarks:
        words = remark.split()
        if remark.startswith(FACT_REMARK) and words[-1] in NEW_FACT:
            cycle.outcome.committed.append(
                {"id": words[1], "note": cycle.places.facts, "kind": "fact"}
            )


def keep_rules(cycle: "LearningCycle") -> None:
    """Writes the person's rules for the future into RULES.md, word for word."""
    note = cycle.places.rules
    if not note:
        return
    doc = cycle.doc(note)
    lines, surplus = with_room(doc, [rule.line for rule in cycle.judged.rules])
    cycle.judged.proposed_rules[NO_ROOM] = [
        rule for rule in cycle.judged.rules if rule.line in surplus
    ]
    ops = rule_ops(doc, lines) or archive_ops(doc)
    why = f"asked for; night of {cycle.checkpoint.night}"
    result = cycle.edit("rules", note, ops, cause=EditCause("talk", why))
    tell_archived(cycle, result.applied)
    # Fault: beside a page that does not exist yet, nothing can be recorded.
    record_skips(cycle, note, rule_skips(doc, lines, cycle.scope))
    cycle.commit("rule", note, result.applied)
    cycle.outcome.rules = sum(
        op.get("op") in RULE_OPS and op.get("heading") != ARCHIVED for op in result.applied
    )


def count_idle(cycle: "LearningCycle") -> None:
    """Counts the nights in a row in which nothing was learned, conversations included."""
    last, checkpoint, outcome = cycle.last, cycle.checkpoint, cycle.outcome
    is_night = not checkpoint.session
    is_further_question = is_night and last.outcome.get("night") == checkpoint.night
    learned = _count_learned(outcome.as_json())
    if is_night:
        learned += _count_learned(last.by_day)
    if is_further_question:
        learned += _count_learned(last.outcome)
    if learned:
        outcome.idle = 0
    else:
        # Fault: several questions of the same night would count as several idle nights.
        is_new_night = is_night and checkpoint.night != last.night
        outcome.idle = last.idle + (is_new_night and not is_further_question)
    if outcome.state == "done":
        outcome.state = _final_state(outcome.more, outcome.gathered)


def _final_state(more: int, gathered: int) -> "NightState":
    if more:
        return "partial"
    return "done" if gathered else "quiet"


def _count_learned(outcome: Mapping[str, Any]) -> int:
    return sum(int(outcome.get(name, 0)) for name in ("memories", "facts", "rules"))


def save_checkpoint(cycle: "LearningCycle") -> None:
    """Marks the turns as read, last of all. A failed cycle is repeated."""
    # Fault: marks after a failed cycle would hide its turns from each later night.
    if cycle.request.dry_run or cycle.outcome.state == "failed":
        return
    checkpoint, last = cycle.checkpoint, cycle.last
    # Fault: the marks are on the disk before the checkpoint counts them. A crash between the two
    # repeats the cycle.
    cycle.deps.store.add_read(cycle.scope, checkpoint.serial, checkpoint.taken)
    outcome: dict[str, Any] = dict(cycle.outcome.as_json())
    # Fault: a deleted line would live on in the checkpoint. Only the notes hold what was learned.
    for name in UNSTORED:
        del outcome[name]
    if checkpoint.session:
        last.by_day = joined(last.by_day, outcome)
        last.heard = [*last.heard, *cycle.gathered.evidence]
    else:
        _close_night(cycle, outcome)
    if cycle.kind == "channel":
        speakers = {turn.user for turn in cycle.gathered.evidence.values()}
        last.speakers = sorted({*last.speakers, *speakers})
    _remember_newest(cycle, cycle.gathered.turns)
    last.scope = cycle.scope
    last.serial = checkpoint.serial
    last.idle = cycle.outcome.idle
    last.files = cycle.finished_logs
    cycle.deps.store.close(cycle.scope, last)


def _close_night(cycle: "LearningCycle", outcome: dict[str, Any]) -> None:
    """Adds what earlier questions of the night and its conversations learned."""
    night, last = cycle.checkpoint.night, cycle.last
    earlier = last.outcome if last.outcome.get("night") == night else {}
    for previous in (last.by_day, earlier):
        labels = {"scope": cycle.scope, "night": night, "session": ""}
        outcome = joined(previous, outcome | labels)
    last.outcome = outcome
    last.by_day = {}
    last.heard = []
    # Fault: a night with turns left to read would count as done.
    if not cycle.outcome.more:
        last.night = night
        # Fault: after a step that failed, no night would compare the unchanged notes again.
        # A model is asked about few pairs a night: the others must not wait for another edit.
        has_compared = not cycle.has_failed_step and not cycle.has_open_pairs
        last.compared = cycle.deps.notes_stamp(cycle.scope) if has_compared else ""
    if cycle.outcome.reflected:
        last.reflected = night


def _remember_newest(cycle: "LearningCycle", turns: Sequence[Turn]) -> None:
    """Saves the newest turn for older versions, which know no marks."""
    last = cycle.last
    newest = max(turns, key=lambda turn: turn.at, default=None)
    if newest is not None:
        # Fault: a late turn of another device is older than the newest that was read.
        is_newer = not last.newest_ts or newest.at >= moment_of(last.newest_ts)
        if is_newer:
            last.newest = newest.id
            last.newest_ts = newest.ts
    last.newest_ts = last.newest_ts or cycle.checkpoint.began


STEPS: tuple[Callable[["LearningCycle"], None], ...] = (
    load_checkpoint,
    gather_turns,
    ask_the_brain,
    judge,
    take_back,
    state_facts,
    write_notes,
    keep_rules,
    write_requests,
    hold_candidates,
    propose_doubts,
    propose_rules,
    propose_facts,
    episodes,
    conflicts,
    entities,
    duplicates,
    prune,
    curate,
    reflect,
    fold_counts,
    purge,
    fold_audits,
    end_logs,
    count_idle,
    save_checkpoint,
)

OF_THE_NIGHT = frozenset(
    {conflicts, duplicates, prune, curate, reflect, fold_counts, purge, fold_audits, end_logs}
)
"""Steps that a cycle of a single conversation leaves to the night"""

AT_ONCE = frozenset(
    {
        load_checkpoint,
        gather_turns,
        ask_the_brain,
        judge,
        take_back,
        state_facts,
        write_notes,
        keep_rules,
        write_requests,
    }
)
"""Steps of a pass over turns that stay unread"""


ALONE = frozenset(
    {
        propose_doubts,
        propose_rules,
        propose_facts,
        episodes,
        conflicts,
        duplicates,
        prune,
        curate,
        reflect,
        fold_audits,
    }
)
"""Steps after the notes; where one fails, the others run"""


def run_steps(
    cycle: "LearningCycle", after: Callable[[str], None] = lambda step: None
) -> "CycleOutcome":
    """Runs a cycle. Calls `after` with the name of each finished step.

    The outcome names a failure, and the next cycle tries again. A failure of a step after the notes
    is its own: the other steps run, and the turns count as read.
    """
    for step in STEPS:
        if step in OF_THE_NIGHT and cycle.checkpoint.session:
            continue
        # Fault: the session goes on. Its turns are still unread, and the night judges them in full.
        if cycle.request.at_once and step not in AT_ONCE:
            continue
        # Fault: a fault of a model in a late step would make the night repeat all its memories.
        if step in ALONE:
            cycle.run_alone(step)
        else:
            step(cycle)
        after(step.__name__)
    return cycle.outcome


__all__ = ["OF_THE_NIGHT", "STEPS", "run_steps"]
