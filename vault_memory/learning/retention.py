"""The steps that end what is too old: faded items, dated notes and transcripts, old audit records."""

import logging
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from vault_memory.edits.audit.audit_folding import fold_audit
from vault_memory.edits.commands import RETENTION, RetireNote
from vault_memory.edits.edit_errors import NotCurated
from vault_memory.learning.night_deps import LifecycleDeps
from vault_memory.learning.outcomes import EditCause
from vault_memory.markdown.document import parse
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.ops import Remove, as_json
from vault_memory.rules.learning import fading, ledger_lines
from vault_memory.rules.learning.ledger_lines import COUNTS, ReadCount
from vault_memory.rules.learning.stamps import ItemStamp, stamps_of

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle


logger = logging.getLogger(__name__)


def prune(cycle: "LearningCycle") -> None:
    """Moves dated notes, episodes and transcripts to the trash that are older than the retention.

    The date in the name decides. The log of removals is written first.
    """
    if cycle.request.retention_days:
        _prune_notes(cycle, cycle.night - timedelta(days=cycle.request.retention_days))
    if cycle.request.transcript_days:
        days = timedelta(days=cycle.request.transcript_days)
        _prune_transcripts(cycle, cycle.night - days)


def _prune_notes(cycle: "LearningCycle", cutoff: date) -> None:
    why = f"older than {cutoff}"
    places = cycle.places
    for note in _before(cutoff, (*places.dated, *places.episodes)):
        _log_removal(cycle, note)
        result = cycle.edit(
            f"age {note}", note, action=RetireNote(), cause=EditCause(RETENTION, why)
        )
        cycle.outcome.pruned += bool(result.applied)


def _prune_transcripts(cycle: "LearningCycle", cutoff: date) -> None:
    files = cycle.last.files
    paths = _before(cutoff, cycle.places.transcripts)
    old = [path for path in paths if path in files]
    if not old:
        return
    # Fault: the transcript changed since it was read. Its new signature shows that.
    logs = cycle.deps.logs(cycle.scope, files)
    for path in old:
        log = logs.get(path)
        # A turn that came late from another device must be learned from before it goes.
        is_read = log is not None and log.turns is None
        if is_read:
            _log_removal(cycle, path)
            # Fault: a dry run must not remove a file.
            is_gone = cycle.request.dry_run or cycle.deps.discard(path, cycle.now)
            cycle.outcome.pruned += is_gone


def _before(cutoff: date, files: Iterable[tuple[date, str]]) -> list[str]:
    return [path for day, path in files if day < cutoff]


def _log_removal(cycle: "LearningCycle", path: str) -> None:
    # Fault: a dry run must not leave a trace.
    if cycle.request.dry_run:
        return
    logger.info("%s is older than the retention; it goes to the trash", path)
    record = {"ts": cycle.now.isoformat(), "scope": cycle.scope, "path": path}
    cycle.deps.store.log_removal(record)


def fold_audits(cycle: "LearningCycle") -> None:
    """Folds the audit records of the scope that are too old, and of groups, which have no nights."""
    days = cycle.request.audit_days
    if not days or cycle.request.dry_run:
        return
    editor = cycle.deps.editor
    until = cycle.now - timedelta(days=days)
    for note in _notes_of(cycle):
        for path in fold_audit(editor, note, until, cycle.now):
            logger.info("%s: records older than %d days are folded", path, days)
            cycle.deps.changed(path)


def _notes_of(cycle: "LearningCycle") -> Iterator[str]:
    """Yields the notes of the scope that have an audit, and those of groups."""
    editor = cycle.deps.editor
    for note in editor.trail.notes():
        try:
            scope = editor.place(note).scope
        except NotCurated:
            # A person moved the file to where no memory is.
            continue
        if scope == cycle.scope or scope.startswith("group:"):
            yield note


_NEVER_READ = ReadCount(0, "")


def fold_counts(cycle: "LearningCycle") -> None:
    """Adds the reads of the scope to its ledger. Groups have no nights, so any night adds theirs.

    After a crash between the ledger and the reads, the same reads are folded again, to no effect.
    """
    deps = cycle.deps.lifecycle
    if deps is None or cycle.request.dry_run:
        return
    reads_of: dict[str, list[tuple[str, date]]] = {}
    for read in deps.reads.reads():
        # Fault: the reads of another scope belong to the night of that scope.
        if read.scope == cycle.scope or read.scope.startswith("group:"):
            day = date.fromisoformat(read.day)
            reads_of.setdefault(read.scope, []).append((read.key, day))
    try:
        for scope, reads in reads_of.items():
            _fold(cycle, deps, scope, reads)
        folded = {
            (scope, key, day.isoformat()) for scope, reads in reads_of.items() for key, day in reads
        }
        # Fault: the reads are dropped after the ledger is on the disk. A crash between the two
        # loses none.
        deps.reads.drop(lambda read: tuple(read) in folded)
    except OSError as error:
        # A full disk: the next night folds these reads.
        logger.warning("reads cannot be folded: %s", error)


def _fold(
    cycle: "LearningCycle", deps: LifecycleDeps, scope: str, reads: Iterable[tuple[str, date]]
) -> None:
    places = cycle.deps.places(scope)
    device = deps.ledgers.device
    counts = ledger_lines.counts_in(deps.ledgers.records(places, COUNTS))
    new_counts = ledger_lines.folded(counts, device, reads)
    # Fault: a record without a change would make each device sync a new line.
    if new_counts:
        record = ledger_lines.as_record(cycle.now.isoformat(), device, new_counts)
        cycle.deps.changed(deps.ledgers.append(places, COUNTS, [record]))


def purge(cycle: "LearningCycle") -> None:
    """Removes items that were deleted for longer than `purge_days`. Each removal can be undone."""
    deps = cycle.deps.lifecycle
    if deps is None or not deps.settings.enabled or not deps.settings.purge_days:
        return
    records = deps.ledgers.records(cycle.places, COUNTS)
    counts = ledger_lines.totals(ledger_lines.counts_in(records))
    days = deps.settings.purge_days
    why = f"faded, and deleted for more than {days} days; night of {cycle.checkpoint.night}"
    for note in (*cycle.places.undated, *(path for _, path in cycle.places.dated)):
        ops = list(_removals(cycle, days, note, counts))
        result = cycle.edit(f"purge {note}", note, ops, cause=EditCause(RETENTION, why))
        cycle.outcome.pruned += len(result.applied)


def _removals(
    cycle: "LearningCycle", purge_days: int, note: str, counts: dict[str, ReadCount]
) -> Iterable[dict[str, Any]]:
    """Yields an op for each item of a note that may go."""
    editor = cycle.deps.editor
    trail = editor.trail.of(note)
    # Only a note with an audit has items of the bot.
    if not trail:
        return
    raw = cycle.text(note).encode()
    stamps = stamps_of(raw, editor.place(note), trail)
    for item, stamp in zip(items_of(parse(raw)), stamps, strict=True):
        # Fault: to remove a parent would remove the items below it.
        has_nested = item.end > item.own_end
        count = counts.get(stamp.key, _NEVER_READ)
        if not has_nested and _may_go(stamp, count, purge_days, cycle.night):
            # Fault: a line of nearly the same text must not be removed.
            yield as_json(Remove(item.heading, item.text, exact=True))


def _may_go(stamp: ItemStamp, count: ReadCount, purge_days: int, night: date) -> bool:
    if not stamp.fades:
        return False
    last = date.fromisoformat(max(stamp.learned, count.last))
    purged = fading.purged_on(fading.Vitality(stamp.type, last, count.days), purge_days)
    return purged is not None and purged <= night
