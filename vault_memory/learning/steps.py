"""The steps of a night, in their order. Each may be done again: what it did before is found by its id in the audit."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from vault_memory.edits.commands import RETENTION, ChangeFacts, RetireNote
from vault_memory.errors import VaultMemoryError
from vault_memory.lazy import lazy_module
from vault_memory.learning import prompts
from vault_memory.learning.checkpoint import OpenCycle
from vault_memory.learning.learned_rules import (
    ARCHIVED,
    archive_ops,
    rule_lines,
    rule_ops,
)
from vault_memory.learning.note_lines import LEARNED, lines_by_day, ops_for
from vault_memory.learning.report import joined
from vault_memory.learning.unread_turns import (
    day_of,
    gather,
    mark_of,
    moment_of,
    read_out,
    unread,
)
from vault_memory.learning.weekly_reflection import reflect
from vault_memory.markdown.items import day as parse_day
from vault_memory.rules.facts.fact import Fact
from vault_memory.rules.learning.extraction import read_answer

if TYPE_CHECKING:
    from vault_memory.edits.plans import fact_edits
    from vault_memory.learning.cycle import LearningCycle
else:
    fact_edits = lazy_module("vault_memory.edits.plans.fact_edits")

logger = logging.getLogger(__name__)

BEGINNING = datetime.min.replace(tzinfo=UTC)
MOST_DOUBTS = 10
"""Proposals that one night makes of what the brain could not show evidence for"""
RECENT_DAYS = 3
"""Of dated notes, for curation"""
ABOUT = "fact"
"""With this word begins the remark of an op that a statement of a fact ended in"""


def load_checkpoint(night: "LearningCycle") -> None:
    """What was read before; and where a night was killed that is to be finished first."""
    last = night.last
    kept = None if night.wanted.dry_run else night.desk.shelf.open(night.scope)
    if (
        kept is None or kept.serial <= night.last.serial
    ):  # killed between its last two breaths
        began, serial = night.now.isoformat(), last.serial + 1
        kept = OpenCycle(
            night.scope,
            night.wanted.night.isoformat(),
            serial,
            began,
            night.wanted.session,
        )
    night.open = kept
    night.out.night, night.out.session = kept.night, kept.session
    if last.newest_ts and not last.since:
        _know_by_marks(night)
    last.since = (
        last.since or (moment_of(kept.began) - night.wanted.lookback).isoformat()
    )
    night.read |= night.desk.shelf.read(night.scope, last.serial)


def _know_by_marks(night: "LearningCycle") -> None:
    """A file of an older version tells the newest turn alone: what is there up to that has been read."""
    last = night.last
    last.since = BEGINNING.isoformat()
    turns = unread(night.desk.logs(night.scope, {}), set(), BEGINNING)
    at = next((at for at, turn in enumerate(turns) if turn.id == last.newest), None)
    known = (
        [turn for turn in turns if turn.at <= moment_of(last.newest_ts)]
        if at is None
        else turns[: at + 1]
    )
    night.read |= {mark_of(turn.id) for turn in known}
    if not night.wanted.dry_run:
        night.desk.shelf.add_read(night.scope, last.serial, sorted(night.read))
        night.desk.shelf.keep(night.scope, last)


def gather_turns(night: "LearningCycle") -> None:
    """What nobody has read yet, on whichever device it was said and whenever it arrived; cut to size."""
    kept, logs = night.open, night.desk.logs(night.scope, night.last.files)
    fresh = unread(logs, night.read, moment_of(night.last.since))
    turns = [turn for turn in fresh if kept.session in ("", turn.session)]
    ids = [turn.id for turn in turns]
    if (
        kept.taken
    ):  # begun before: what arrived meanwhile is not in the answer that was had
        turns = [turn for turn in turns if mark_of(turn.id) in kept.taken]
    elif kept.newest in ids:
        turns = turns[: ids.index(kept.newest) + 1]
    if turns and not kept.room:
        profile, facts = (
            night.text(night.places.profile),
            night.text(night.places.facts),
        )
        kept.room = prompts.room_for_turns(
            night.wanted.room, profile=profile, facts=facts
        )
    night.gathered = gather(
        turns, user=night.name if night.kind == "user" else "", room=kept.room
    )
    taken = {turn.id for turn in night.gathered.turns}
    left = [turn for turn in fresh if turn.id not in taken]
    night.read_out = read_out(logs, left)
    night.out.gathered = len(taken)
    night.out.more = sum(kept.session in ("", turn.session) for turn in left)
    night.out.heard = 0 if kept.session else len(night.last.heard)
    marks = sorted(map(mark_of, taken))
    if (
        marks != kept.taken
    ):  # a night that an older version began took in more than stands in its question
        kept.taken = marks
        night.keep()


def ask_the_brain(night: "LearningCycle") -> None:
    """Memories, facts and topics; the answer is kept before anything is made of it."""
    evidence = night.gathered.evidence
    if not evidence:
        return
    places = night.places
    try:
        prompt = prompts.extraction_prompt(
            night.desk.instructions("extraction"),
            who=night.name,
            night=night.night,
            profile=night.text(places.profile),
            facts=night.text(places.facts),
            excerpts=night.gathered.excerpts,
            room=night.wanted.room,
        )
        text = night.ask("extraction", prompt)
    except VaultMemoryError as error:
        night.out.state, night.out.reason = "failed", error.message
        return
    answer = night.open.answers["extraction"]
    night.out.rung, night.out.model, night.out.reason = (
        answer["rung"],
        answer["model"],
        answer["reason"],
    )
    night.extraction = read_answer(
        text, evidence, other_turns=night.gathered.others, rung=night.out.rung
    )


def write_notes(night: "LearningCycle") -> None:
    """Append to the dated note of the day on which it was said. What cannot be taken is told in the audit."""
    places, found = night.places, night.extraction
    attributed = night.kind == "channel"
    by_day = lines_by_day(
        found, night.gathered.evidence, night.zone, attributed=attributed
    )
    dropped = [
        {"op": "memory", "line": one.text, "reason": one.reason}
        for one in found.dropped
    ]
    for day, lines in by_day.items():
        note = places.note_of(day)
        ops = ops_for(night.doc(note), LEARNED, night.first_lines(note, lines))
        told = night.edit(f"note {day}", note, [*ops, *dropped])
        dropped = []
        night.out.memories += len(told.applied)
        night.out.learned += [
            line
            for op in told.applied
            for line in op.get("lines") or [op.get("line", "")]
        ]
    night.edit("refused", places.note_of(night.night), dropped)


def propose_doubts(night: "LearningCycle") -> None:
    """What the brain could not show evidence for is a person's to decide."""
    doubts = list(night.extraction.proposals)[:MOST_DOUBTS]
    note = night.places.profile
    lines = [doubt.text for doubt in doubts]
    why = f"night of {night.open.night}: {doubts[0].reason}" if doubts else ""
    doc = night.doc(note)
    ops = [op for line in lines for op in ops_for(doc, LEARNED, [line])]
    night.edit("doubts", note, ops, origin="document", why=why)


def state_facts(night: "LearningCycle") -> None:
    """Facts go to FACTS.md, also when there are no memories."""
    wishes = []
    for found in night.extraction.facts:
        said = next(
            (
                night.gathered.evidence[one]
                for one in found.evidence
                if one in night.gathered.evidence
            ),
            None,
        )
        if said is None:
            continue
        fact = Fact(
            "",
            found.subject,
            found.predicate,
            found.object,
            parse_day(found.valid_from),
            parse_day(found.valid_until),
            ref=said.id,
            scope=night.scope,
        )
        wishes.append(
            fact_edits.wish_of(
                "add",
                night.scope,
                night.desk.fact_rules(day_of(said, night.zone)),
                fact=fact,
            )
        )
    told = night.edit("facts", night.places.facts, action=ChangeFacts(tuple(wishes)))
    kept = [remark.split() for remark in told.remarks if remark.startswith(ABOUT + " ")]
    night.out.facts = sum(
        words[-1] in ("added", "refined", "superseded") for words in kept
    )


def keep_rules(night: "LearningCycle") -> None:
    """What the person asked for from now on, word for word, stands in RULES.md."""
    note = night.places.rules
    if not note:
        return
    own = [
        (turn, day_of(turn, night.zone)) for turn in night.gathered.evidence.values()
    ]
    doc = night.doc(note)
    ops = rule_ops(doc, rule_lines(own)) or archive_ops(doc)
    told = night.edit(
        "rules", note, ops, source="talk", why=f"asked for; night of {night.open.night}"
    )
    night.out.rules = sum(
        op.get("op") in ("append", "add_heading") and op.get("heading") != ARCHIVED
        for op in told.applied
    )


def prune(night: "LearningCycle") -> None:
    """Dated notes and transcripts that are too old go to the trash: by the date in their names, logged first."""
    wanted, places = night.wanted, night.places
    if wanted.retention_days:
        cutoff = night.night - timedelta(days=wanted.retention_days)
        for day, note in places.dated:
            if day < cutoff:
                _log(night, note)
                told = night.edit(
                    f"age {note}",
                    note,
                    action=RetireNote(),
                    source=RETENTION,
                    why=f"older than {cutoff}",
                )
                night.out.pruned += bool(told.applied)
    if wanted.transcript_days:
        cutoff = night.night - timedelta(days=wanted.transcript_days)
        old = [
            path
            for day, path in places.transcripts
            if day < cutoff and path in night.last.files
        ]
        logs = night.desk.logs(night.scope, night.last.files) if old else {}
        for path in old:
            if (
                path in logs and logs[path].turns is None
            ):  # an earlier night has read all of it
                _log(night, path)
                night.out.pruned += wanted.dry_run or night.desk.discard(
                    path, night.now
                )


def _log(night: "LearningCycle", path: str) -> None:
    if not night.wanted.dry_run:
        logger.info("%s is older than it is kept; it goes to the trash", path)
        night.desk.shelf.note(
            {"ts": night.now.isoformat(), "scope": night.scope, "path": path}
        )


def curate(night: "LearningCycle") -> None:
    """The brain may edit USER.md, within what policy allows, once all turns of the night are read."""
    if (
        night.out.more
        or not (night.wanted.curate and (night.gathered.turns or night.last.heard))
        or night.kind != "user"
        or night.out.state == "failed"
    ):
        return
    places = night.places
    text = night.text(places.profile)
    since = night.night - timedelta(days=RECENT_DAYS)
    days = {
        day: night.text(note)
        for day, note in places.dated
        if since <= day <= night.night
    }
    try:
        prompt = prompts.curation_prompt(
            night.desk.instructions("curation"),
            note=places.profile.rpartition("/")[2],
            night=night.night,
            text=text,
            days=days,
            facts=night.text(places.facts),
            room=night.wanted.room,
        )
        said = night.ask("curation", prompt)
    except VaultMemoryError as error:
        night.out.reason = night.out.reason or error.message
        return
    ops = read_answer(said, ()).ops
    told = night.edit("curation", places.profile, ops)
    night.out.curated = len(told.applied)


def count_idle(night: "LearningCycle") -> None:
    """How many nights in a row nothing was learned, at the ends of conversations neither."""
    last, open_ = night.last, night.open
    by_day = 0 if open_.session else _learned(last.by_day)
    begun = (
        not open_.session and last.outcome.get("night") == open_.night
    )  # this is a further question of a night
    before = _learned(last.outcome) if begun else 0
    another = not (open_.session or begun or open_.night == last.night)
    night.out.idle = (
        0 if _learned(asdict(night.out)) + by_day + before else last.idle + another
    )
    if night.out.state == "done":
        night.out.state = (
            "partial" if night.out.more else "done" if night.out.gathered else "quiet"
        )


def _learned(outcome: Mapping[str, Any]) -> int:
    return sum(int(outcome.get(name, 0)) for name in ("memories", "facts", "rules"))


def save_checkpoint(night: "LearningCycle") -> None:
    """Only now what was read counts as read. What failed is done again."""
    if night.wanted.dry_run or night.out.state == "failed":
        return
    open_, last = night.open, night.last
    night.desk.shelf.add_read(night.scope, open_.serial, open_.taken)
    outcome = {
        name: value for name, value in asdict(night.out).items() if name != "learned"
    }
    if open_.session:
        last.by_day = joined(last.by_day, outcome)
        last.heard = [*last.heard, *night.gathered.evidence]
    else:
        for before in (
            last.by_day,
            last.outcome if last.outcome.get("night") == open_.night else {},
        ):
            outcome = joined(
                before,
                outcome | {"scope": night.scope, "night": open_.night, "session": ""},
            )
        last.outcome, last.by_day, last.heard = outcome, {}, []
        last.night = last.night if night.out.more else open_.night
        last.reflected = open_.night if night.out.reflected else last.reflected
    newest = max(
        (turn for turn in night.gathered.turns), key=lambda turn: turn.at, default=None
    )
    if newest is not None and (
        not last.newest_ts or newest.at >= moment_of(last.newest_ts)
    ):
        last.newest, last.newest_ts = newest.id, newest.ts
    last.scope, last.serial, last.idle, last.files = (
        night.scope,
        open_.serial,
        night.out.idle,
        night.read_out,
    )
    last.newest_ts = last.newest_ts or open_.began
    night.desk.shelf.close(night.scope, last)


STEPS: tuple[Callable[["LearningCycle"], None], ...] = (
    load_checkpoint,
    gather_turns,
    ask_the_brain,
    write_notes,
    state_facts,
    keep_rules,
    propose_doubts,
    prune,
    curate,
    reflect,
    count_idle,
    save_checkpoint,
)

OF_THE_NIGHT = frozenset({prune, curate, reflect})
"""What waits for the night when only a conversation is learned from"""

__all__ = ["OF_THE_NIGHT", "STEPS"]
