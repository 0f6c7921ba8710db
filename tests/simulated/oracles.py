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
from vault_memory.rules.edits.ops import Append, Remove, Replace
from vault_memory.rules.edits.ownership import op_of
from vault_memory.rules.edits.unified_diff import taken_back


def whole(disk: Disk) -> None:
    """O2: what stands under the note's name is no half of anything, unless a person is writing it just now."""
    number = disk.find(NOTE)
    if number is None:
        if not disk.away and disk.exchanges:
            raise Violation(
                "O2 no half file", "there is no note, and no person took it away"
            )
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
    """O1, O5: what a person saved is there, or a person took it away, or wrote over it without having seen it."""
    live = set(items_in(disk.text(NOTE)))
    beside = {item for raw in disk.others_texts().values() for item in items_in(raw)}
    gone = ledger.deleted.keys() | ledger.overwritten.keys()
    gone |= ledger.let_go | {
        item for item in ledger.by if item.startswith(tuple(ledger.dismissed))
    }
    gone |= ledger.missed & {
        item for raw in engine.versions() for item in items_in(raw)
    }
    for item, who in ledger.by.items():
        if item not in live and item not in beside and item not in gone:
            raise Violation(
                "O1 no loss", f"`{item.decode()}`, saved by {who}, is nowhere"
            )


def no_halves(disk: Disk, ledger: Ledger) -> None:
    """O2: every item is one that somebody wrote, not a part of one."""
    live = items_in(disk.text(NOTE))
    unknown = [
        item for item in live if item not in ledger.typed and item not in ledger.asked
    ]
    if unknown:
        raise Violation("O2 no half file", f"nobody ever saved {unknown}")


def each_once(disk: Disk) -> None:
    """Nothing is there twice."""
    twice = [
        item for item, times in Counter(items_in(disk.text(NOTE))).items() if times > 1
    ]
    if twice:
        raise Violation("O5 evidence", f"these stand there more than once: {twice}")


def human_order(disk: Disk, ledger: Ledger) -> None:
    """O6: neighbours that people wrote stand in an order in which somebody saved them, if anybody saved both.

    A line that a person deleted has no such place. It comes back where a save of many changes is nearer to
    an older version than to the one that the editor had loaded: the texts do not tell which of them it was.
    """
    live = [
        item
        for item in items_in(disk.text(NOTE))
        if item in ledger.by and item not in ledger.deleted
    ]
    places = [
        {item: at for at, item in enumerate(items_in(text))} for text in ledger.texts
    ]
    for one, other in pairwise(live):
        both = [seen for seen in places if one in seen and other in seen]
        if both and not any(seen[one] < seen[other] for seen in both):
            raise Violation(
                "O6 human order",
                f"{one!r} stands before {other!r}, as nobody ever saved it",
            )


def audit(
    disk: Disk, ledger: Ledger, engine: Engine, *, alone: bool, halves: bool
) -> None:
    """O8: each run has at most one record, each record gives back what was there, and all the bot wrote has one."""
    records = engine.records()
    if records is None:
        return
    assert isinstance(engine, Real)
    _one_record_each(disk)
    for record in records:
        _tells_the_truth(record, engine)
    _nothing_vanished(
        disk, ledger, engine, records, alone=alone and not halves, halves=halves
    )


def _one_record_each(disk: Disk) -> None:
    ids: Counter[str] = Counter()
    for line in (disk.text(AUDIT) or b"").split(b"\n"):
        try:
            ids[json.loads(line)["id"]] += 1
        except ValueError:
            continue
    twice = [one for one, times in ids.items() if times > 1]
    if twice:
        raise Violation("O8 audit", f"these runs have more than one record: {twice}")


def _tells_the_truth(record: Record, engine: Real) -> None:
    before = engine.bytes_of(record.before) if record.before else b""
    after = engine.bytes_of(record.after) if record.after else b""
    if before is None or after is None:
        if record.before != record.after:
            raise Violation(
                "O8 audit", f"the versions of record {record.id} are not kept"
            )
        return
    if taken_back(after, record.diff) != before:
        raise Violation(
            "O8 audit", f"the diff of record {record.id} does not lead back"
        )
    for done in record.applied:
        op = op_of(done.op)
        if done.outcome == "applied" and isinstance(op, Append | Replace):
            item = b"- " + op.line.encode()
            if item not in items_in(after) and not _rewritten_later(item, record):
                raise Violation(
                    "O8 audit", f"record {record.id} says that it wrote {item!r}"
                )


def _rewritten_later(item: bytes, record: Record) -> bool:
    """Whether a later op of the same run took it away again."""
    ops = [op_of(done.op) for done in record.applied]
    return any(
        isinstance(op, Remove | Replace) and op.match.encode() in item for op in ops
    )


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

    What was written over unseen is proposed again where one person is alone with the bot; where there are more, some
    of them may have seen it and others not, and it need only be in the history; so, too, where half a save may have
    been taken for a whole one.
    """
    written: set[bytes] = set()
    for record in records:
        for line in _added(record):
            written.add(line)
    live = set(items_in(disk.text(NOTE)))
    beside = b"\n".join(disk.others_texts().values())
    proposed = "\n".join(
        str(one.op) for record in records for one in record.proposed
    ).encode()
    shown = proposed + (disk.text(PAGE) or b"")
    past = b"\n".join(engine.versions())
    for item in written - live:
        if (
            item in ledger.deleted
            or item in ledger.dismissed
            or item in ledger.let_go
            or item in beside
        ):
            continue
        unseen = item in ledger.overwritten or item in ledger.missed or halves
        if unseen and (item[2:] in shown or (not alone and item in past)):
            continue
        raise Violation(
            "O1 no loss", f"`{item.decode()}`, written by the bot, is nowhere"
        )
    unrecorded = [item for item in live if item in ledger.asked and item not in written]
    doubtful = not disk.exchanges and not disk.replaces_not
    if (
        unrecorded and not doubtful
    ):  # put by a link, and saved anew before the crash was noticed: nobody can tell
        raise Violation(
            "O8 audit", f"the bot wrote {unrecorded}, and no record says so"
        )


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
    left = {
        "waiting": engine.waits(),
        "temporaries": disk.strays(),
        "watched": engine.watched(),
        "open": list(disk.open_files),
    }
    if any(left.values()):
        raise Violation(
            "O12 bounded",
            f"there is left: { {name: one for name, one in left.items() if one} }",
        )
