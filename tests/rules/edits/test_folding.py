"""Folded audit records say the same about owners, deletions, supports and proposals."""

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.every import every
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import (
    Proposal,
    Record,
    RecordedOp,
    proposals_of,
    propose,
    record_run,
    union,
)
from vault_memory.rules.edits.blame import bots_lines, record_of_line
from vault_memory.rules.edits.folding import _dump, fold_lines, plan_fold
from vault_memory.rules.edits.ops import Append, Op, Rejected, Remove, Replace, as_json
from vault_memory.rules.edits.ownership import DELETED, replay
from vault_memory.rules.edits.skipped_duplicates import (
    SkippedDuplicate,
    last_supported,
    skipped_op,
    supports,
    undone_silent_ops,
)
from vault_memory.rules.edits.undo import Folded, NotUndoable, undo
from vault_memory.rules.learning.stamps import stamps_of
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.jsonl_log import merge_records

START = datetime(2025, 1, 1, tzinfo=UTC)
NOTE = "Users/alice/memories/tea.md"
TEXTS = ("drinks green tea", "sails on Sundays", "flies to Oslo (2025-02-01)", "sings")
HEADINGS = ("Tea", "Boats")


@dataclass
class Life:
    """A note, its edits on two devices, and the files of their audits."""

    chance: random.Random
    raw: bytes = b"# Me\n\n## Tea\n\n- green\n\n## Boats\n\nAll of them.\n"
    records: list[Record] = field(default_factory=list)
    """as nobody folded them"""
    files: dict[str, bytes] = field(default_factory=lambda: {"d1": b"", "d2": b""})

    def live(self, days: int) -> None:
        for _ in range(days):
            self._act()

    def fold(self, device: str, until: datetime) -> None:
        plan = plan_fold(self.folded(), device, until, self.raw)
        self.files = {name: fold_lines(raw, plan) for name, raw in self.files.items()}

    def folded(self) -> tuple[Record, ...]:
        return union(*map(records_in, self.files.values()))

    def _head(self, source: str, **fields: str) -> Record:
        number = len(self.records)
        return Record(
            f"{number:012}",
            (START + timedelta(days=number)).isoformat(),
            "alice",
            source,
            NOTE,
            device=self.chance.choice(("d1", "d2")),
            why="because",
            **fields,
        )

    def _add(self, record: Record, after: bytes) -> None:
        self.records.append(record)
        self.files[record.device] += _dump(record) + b"\n"
        self.raw = after

    def _act(self) -> None:
        match self.chance.randrange(9):
            case 0:
                self._save_by_hand()
            case 1:
                self._undo()
            case 2:
                self._skip()
            case 3:
                self._propose()
            case 4:
                self._refuse()
            case _:
                self._edit()

    def _edit(self) -> None:
        source = self.chance.choice(("nightly", "tool", "cli", "talk", "retention"))
        outcome = apply_ops(parse(self.raw), [self._op()])
        after = render(outcome.doc)
        head = self._head(source)
        record = record_run(
            head, before=self.raw, after=after, applied=outcome.applied, rejected=outcome.rejected
        )
        self._add(record, after)

    def _op(self) -> Op:
        heading = self.chance.choice(HEADINGS)
        text = self.chance.choice(TEXTS)
        items = [item for item in items_of(parse(self.raw)) if item.heading == heading]
        if not items or self.chance.random() < 0.5:
            return Append(heading, text)
        item = self.chance.choice(items)
        if self.chance.random() < 0.5:
            return Remove(heading, item.text, exact=True)
        return Replace(heading, item.text, text, exact=True)

    def _save_by_hand(self) -> None:
        lines = self.raw.splitlines(keepends=True)
        items = [line for line in lines if line.startswith(b"- ")]
        if items and self.chance.random() < 0.6:
            lines.remove(self.chance.choice(items))
        else:
            lines.append(b"- " + self.chance.choice(TEXTS).encode() + b"\n")
        self.raw = b"".join(lines)

    def _undo(self) -> None:
        gone = {id_ for record in self.folded() for id_ in record.folded}
        recent = [record for record in self.records if record.id not in gone]
        if not recent:
            return
        record = self.chance.choice(recent)
        head = self._head("undo", undoes=record.id)
        skips = undone_silent_ops(record)
        if skips:
            self._add(replace(head, applied=skips), self.raw)
            return
        try:
            undone = undo(record, self.raw)
        except NotUndoable:
            return
        run = record_run(
            head,
            before=self.raw,
            after=undone.raw,
            applied=undone.applied,
            proposed=undone.proposed,
        )
        self._add(run, undone.raw)

    def _skip(self) -> None:
        text = self.chance.choice(TEXTS)
        turn = f"t{self.chance.randrange(5)}"
        skip = SkippedDuplicate("Tea", text, f"key of {text}", turn)
        ops = (skipped_op(skip.as_op()),)
        self._add(replace(self._head("nightly"), applied=ops), self.raw)

    def _propose(self) -> None:
        open_ids = [
            proposal for proposal in proposals_of(self.records).values() if proposal.state == "open"
        ]
        source = self.chance.choice(("nightly", "proposal"))
        proposal = propose(NOTE, self._op(), "a doubt")
        if open_ids and self.chance.random() < 0.5:
            chosen = self.chance.choice(open_ids)
            proposal = Proposal(chosen.id, NOTE, {}, state="rejected", reason="no")
            source = "inbox"
        head = self._head(source)
        proposed = (replace(proposal, ts=head.ts),)
        self._add(replace(head, proposed=proposed), self.raw)

    def _refuse(self) -> None:
        refused = Rejected(as_json(self._op()), DELETED)
        self._add(replace(self._head("nightly"), rejected=(refused,)), self.raw)


def records_in(raw: bytes) -> list[Record]:
    records = (read_line(line) for line in raw.split(b"\n") if line)
    return [
        record if record.note == NOTE else replace(record, note=NOTE)
        for record in records
        if record is not None
    ]


def meaning(records: tuple[Record, ...], raw: bytes) -> dict[str, object]:
    """What later edits conclude from an audit."""
    place = Layout([]).place(NOTE)
    assert place is not None
    items = items_of(parse(raw))
    authors = {item.text: record_of_line(records, item.text) for item in items}
    return {
        "owners": replay(records),
        "lines": +Counter(bots_lines(records)),
        "supports": supports(records),
        "supported": last_supported(records),
        "proposals": {id_: proposal.state for id_, proposal in proposals_of(records).items()},
        "stamps": stamps_of(raw, place, records),
        "provenance": {
            text: record and (record.id, record.ts, record.source)
            for text, record in authors.items()
        },
    }


@pytest.mark.sampled
@every("seed", range(100))
def test_folding_any_old_records_changes_nothing_that_later_edits_rely_on(seed: int) -> None:
    life = Life(random.Random(seed))
    for _ in range(3):
        life.live(days=12)
        devices = ["d1", "d2"]
        life.chance.shuffle(devices)
        for device in devices[: life.chance.randrange(3)]:
            until = START + timedelta(days=life.chance.randrange(len(life.records) + 1))
            life.fold(device, until)

    assert meaning(life.folded(), life.raw) == meaning(tuple(life.records), life.raw)


@pytest.mark.sampled
@every("seed", range(25))
def test_two_devices_that_folded_different_ages_agree_in_any_order(seed: int) -> None:
    life = Life(random.Random(seed))
    life.live(days=30)
    ages = {"d1": 10, "d2": 20}
    merged = []
    for order in (("d1", "d2"), ("d2", "d1")):
        copy = replace(life, files=dict(life.files))
        for device in order:
            copy.fold(device, START + timedelta(days=ages[device]))
        merged.append(copy)
    logs = [log for copy in merged for log in copy.files.values()]
    logs += life.files.values()

    first, second = (meaning(copy.folded(), copy.raw) for copy in merged)
    forward = union(records_in(merge_records(logs)))
    backward = union(records_in(merge_records(logs[::-1])))

    assert first == second
    assert meaning(forward, life.raw) == meaning(backward, life.raw) == first
    assert any(record.folded for record in forward)


def test_a_folded_audit_no_longer_has_what_is_gone_from_the_note() -> None:
    life = Life(random.Random(1))
    for day in range(40):
        for op in (Append("Tea", f"plan {day}"), Remove("Tea", f"plan {day}")):
            outcome = apply_ops(parse(life.raw), [op])
            after = render(outcome.doc)
            head = replace(life._head("nightly"), device="d1")
            record = record_run(head, before=life.raw, after=after, applied=outcome.applied)
            life._add(record, after)
    size = len(life.files["d1"])

    life.fold("d1", START + timedelta(days=1000))

    assert b"plan" not in life.files["d1"]
    assert len(life.files["d1"]) < size / 10
    ids = {id_ for record in life.folded() for id_ in record.folded}
    assert ids == {record.id for record in life.records}


def test_a_folded_record_cannot_be_undone() -> None:
    life = Life(random.Random(1))
    life._edit()
    device = life.records[0].device
    life.fold(device, START + timedelta(days=9))
    [record] = life.folded()

    with pytest.raises(Folded) as refusal:
        undo(record, life.raw)

    assert refusal.value.code == "folded"
    assert refusal.value.exit_code == 2


def test_a_fold_repeated_changes_nothing() -> None:
    life = Life(random.Random(7))
    life.live(days=40)
    until = START + timedelta(days=25)
    life.fold("d1", until)
    files = dict(life.files)

    life.fold("d1", until)

    assert life.files == files


def test_lines_that_are_no_records_and_records_of_other_devices_stay() -> None:
    life = Life(random.Random(3))
    life.live(days=20)
    broken = b'{"id": torn\n'
    life.files["d1"] = broken + life.files["d1"]
    other = life.files["d2"]

    life.fold("d1", START + timedelta(days=99))

    assert life.files["d1"].startswith(broken)
    assert life.files["d2"] == other


def test_an_op_of_an_unknown_kind_is_no_obstacle() -> None:
    life = Life(random.Random(3))
    op = RecordedOp({"op": "sparkle", "text": 4}, "applied")
    life._add(replace(life._head("tool"), applied=(op,)), life.raw)

    life.fold(life.records[0].device, START + timedelta(days=9))

    assert [record.folded for record in life.folded()] == [("000000000000",)]
