"""What must be true of a simulated world: at every moment, and once all is quiet."""

import json
from collections import Counter
from itertools import pairwise

from tests.simulated.disk import AUDIT, NOTE, PAGE, Disk
from tests.simulated.engines import Engine
from tests.simulated.ledger import Ledger, items_in
from tests.simulated.real import Real
from tests.simulated.violation import Violation
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.ops import Append, Remove, Replace, op_of
from vault_memory.rules.edits.unified_diff import taken_back


def whole(disk: Disk) -> None:
    """O2: the note is whole, unless a person is writing it just now."""
    number = disk.find(NOTE)
    if number is None:
        if not disk.away and disk.exchanges:
            raise Violation("O2 no half file", "there is no note, and no person took it away")
        return
    if number in disk.windows:
        return
    raw = disk.inodes[number].data
    if raw is disk.seen_whole:
        return
    disk.seen_whole = raw
    if not raw.strip() or b"\0" in raw:
        raise Violation("O2 no half file", f"the note is {raw!r}")


def no_loss(disk: Disk, ledger: Ledger, engine: Engine) -> None:
    """O1, O5: what a person saved is there, or a person removed it or wrote over it unseen."""
    items_in_note = set(items_in(disk.text(NOTE)))
    items_elsewhere = {item for raw in disk.others_texts().values() for item in items_in(raw)}
    accounted = ledger.deleted.keys() | ledger.overwritten.keys()
    accounted |= ledger.let_go | {
        item for item in ledger.by if item.startswith(tuple(ledger.dismissed))
    }
    accounted |= ledger.missed & {item for raw in engine.versions() for item in items_in(raw)}
    accounted |= items_in_note | items_elsewhere
    for item, who in ledger.by.items():
        if item not in accounted:
            raise Violation("O1 no loss", f"`{item.decode()}`, saved by {who}, is nowhere")


def no_halves(disk: Disk, ledger: Ledger) -> None:
    """O2: every item is one that somebody wrote, not a part of one."""
    unknown = [
        item
        for item in items_in(disk.text(NOTE))
        if item not in ledger.typed and item not in ledger.asked
    ]
    if unknown:
        raise Violation("O2 no half file", f"nobody ever saved {unknown}")


def each_once(disk: Disk) -> None:
    """Nothing is there twice."""
    counts = Counter(items_in(disk.text(NOTE)))
    repeated = [item for item, count in counts.items() if count > 1]
    if repeated:
        raise Violation("O5 evidence", f"these stand there more than once: {repeated}")


def human_order(disk: Disk, ledger: Ledger) -> None:
    """O6: neighbours that people wrote stand in an order in which somebody saved them, if anybody saved both.

    A line that a person deleted has no such place. It comes back where a save of many changes is nearer to
    an older version than to the one that the editor had loaded: the texts do not tell which of them it was.
    """
    items = [
        item
        for item in items_in(disk.text(NOTE))
        if item in ledger.by and item not in ledger.deleted
    ]
    saves = [{item: index for index, item in enumerate(items_in(text))} for text in ledger.texts]
    for first, second in pairwise(items):
        shared = [save for save in saves if first in save and second in save]
        if shared and not any(save[first] < save[second] for save in shared):
            raise Violation(
                "O6 human order", f"{first!r} stands before {second!r}, as nobody ever saved it"
            )


def audit(disk: Disk, ledger: Ledger, engine: Engine, *, alone: bool, halves: bool) -> None:
    """O8: a run has at most one record, a record leads back, and all the bot wrote has one."""
    records = engine.records()
    if records is None:
        return
    assert isinstance(engine, Real)
    _one_record_each(disk)
    for record in records:
        _tells_the_truth(record, engine)
    _nothing_vanished(disk, ledger, engine, records, alone=alone and not halves, halves=halves)


def _one_record_each(disk: Disk) -> None:
    ids: Counter[str] = Counter()
    for line in (disk.text(AUDIT) or b"").split(b"\n"):
        try:
            ids[json.loads(line)["id"]] += 1
        except ValueError:
            continue
    repeated = [run_id for run_id, count in ids.items() if count > 1]
    if repeated:
        raise Violation("O8 audit", f"these runs have more than one record: {repeated}")


def _tells_the_truth(record: Record, engine: Real) -> None:
    before = engine.bytes_of(record.before) if record.before else b""
    after = engine.bytes_of(record.after) if record.after else b""
    if before is None or after is None:
        if record.before != record.after:
            raise Violation("O8 audit", f"the versions of record {record.id} are not kept")
        return
    if taken_back(after, record.diff) != before:
        raise Violation("O8 audit", f"the diff of record {record.id} does not lead back")
    for done in record.applied:
        op = op_of(done.op)
        if done.outcome == "applied" and isinstance(op, Append | Replace):
            item = b"- " + op.line.encode()
            if item not in items_in(after) and not _rewritten_later(item, record):
                raise Violation("O8 audit", f"record {record.id} says that it wrote {item!r}")


def _rewritten_later(item: bytes, record: Record) -> bool:
    """Whether a later op of the same run took it away again."""
    ops = [op_of(done.op) for done in record.applied]
    return any(isinstance(op, Remove | Replace) and op.match.encode() in item for op in ops)


def _nothing_vanished(
    disk: Disk,
    ledger: Ledger,
    engine: Real,
    records: tuple[Record, ...],
    *,
    alone: bool,
    halves: bool,
) -> None:
    """O1 for the bot: what it wrote is there, or somebody or the bot took it away.

    What was written over unseen is proposed again where one person is alone with the bot. Where there
    are more people, some of them may have seen it, and it need only be in the history. The same holds
    where half a save may pass for a whole one.
    """
    written: set[bytes] = set()
    for record in records:
        for line in _added(record):
            written.add(line)
    items_in_note = items_in(disk.text(NOTE))
    other_notes = b"\n".join(disk.others_texts().values())
    proposals = "\n".join(
        str(proposal.op) for record in records for proposal in record.proposed
    ).encode()
    proposals += disk.text(PAGE) or b""
    history = b"\n".join(engine.versions())
    for item in written.difference(items_in_note):
        if (
            item in ledger.deleted
            or item in ledger.dismissed
            or item in ledger.let_go
            or item in other_notes
        ):
            continue
        unseen = item in ledger.overwritten or item in ledger.missed or halves
        if unseen and (item[2:] in proposals or (not alone and item in history)):
            continue
        raise Violation("O1 no loss", f"`{item.decode()}`, written by the bot, is nowhere")
    unrecorded = [item for item in items_in_note if item in ledger.asked and item not in written]
    # A link may have put the note there, and a person saved again before the crash was noticed.
    doubtful = not disk.exchanges and not disk.replaces_not
    if unrecorded and not doubtful:
        raise Violation("O8 audit", f"the bot wrote {unrecorded}, and no record says so")


def _added(record: Record) -> list[bytes]:
    added = []
    for done in record.applied:
        if done.outcome == "applied":
            op = op_of(done.op)
            lines = getattr(op, "lines", None) or [getattr(op, "line", "")]
            added += [b"- " + line.encode() for line in lines if line]
    return added


def nothing_left(disk: Disk, engine: Engine) -> None:
    """O10, O12: nothing waits without a reason, and no temporary, watched file or descriptor is left."""
    remaining = {
        "waiting": engine.waits(),
        "temporaries": disk.strays(),
        "watched": engine.watched(),
        "open": list(disk.open_files),
    }
    if any(remaining.values()):
        raise Violation(
            "O12 bounded",
            f"there is left: { {kind: names for kind, names in remaining.items() if names} }",
        )
