"""Decides what merging a conflict copy into its note would give, and plans the merge. Pure.

A copy and its note both go back to some earlier version. Which version is unknown, so each possible version
(`copy_ancestors`) is tried. The copy is merged without asking only where all of them lead to the same text, and none
to a conflict. Otherwise a merge could replace what a person wrote after the two texts parted.
"""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from operator import itemgetter
from typing import Literal

from vault_memory.edits.commands import MergeCopy
from vault_memory.edits.plans.copy_ancestors import (
    MOST_BASES,
    Bases,
    Version,
    lines_of,
    possible_bases,
)
from vault_memory.edits.plans.plan import EditPlan, PlanInputs
from vault_memory.markdown.document import parse
from vault_memory.markdown.merging.similarity import alike
from vault_memory.markdown.merging.three_way import Conflict, merge
from vault_memory.rules.edits.audit_record import RecordedOp
from vault_memory.vault.jsonl_log import absorbed_ids, id_of_record, read_records

MOST_GONE = 5
"""Lines that a merge may take out of a note without asking"""
SHARE_GONE = 0.3
"""Share of the lines of a note that a merge may take out without asking"""
PAIRS = 2000
"""Pairs of differing lines that are compared; where there are more, a person decides"""

CORRECTION_RATIO = 0.85
"""Share of letters that two lines have in common when one corrects the other"""

_UNCERTAIN = (
    "the copy lacks lines of the note, and it is unknown whether they were removed"
    " there or never seen"
)

IsRival = Callable[[str, str], bool]
State = Literal["identical", "contained", "mergeable", "conflict"]


@dataclass(frozen=True, slots=True)
class MergedCopy:
    """Result of merging a copy into its note."""

    state: State
    """`contained`: the note has all lines of the copy; `conflict`: a person decides"""
    result: bytes | None = field(default=None, repr=False)
    """the merged text; None where there is none, or nothing to write"""
    base: str = ""
    """revision of the common ancestor; empty when none is stored"""
    conflicts: tuple[Conflict, ...] = ()
    why: str = ""
    """the reason, for a person"""
    certain: bool = False
    """mergeable without asking"""


def fold(
    note: bytes,
    copy: bytes,
    versions: Iterable[Version],
    *,
    day: str,
    is_page_of_ours: bool = False,
) -> MergedCopy:
    """Merges a copy into its note; `versions` are the note's from before the copy came, the newest first.

    A page of the program, such as INBOX, has no text of a person but ticks: there the last possible version is enough.
    """
    if note == copy:
        return MergedCopy("identical", why="it says the same as the note")
    history = list(versions)
    bases = possible_bases(note, copy, history)
    if is_page_of_ours:
        bases = Bases(bases.versions[-1:])
    # Fault: each version is one merge. A note with a long history would keep the vault
    # locked for minutes.
    if len(bases.versions) > MOST_BASES:
        return _union(note, copy, day, "it is unknown from which version it was made")
    was_the_note = any(raw == copy for _, raw in history)
    is_rival = _is_correction if was_the_note else None
    attempts = [
        _attempt(note, copy, (revision, raw), day, is_rival) for revision, raw in bases.versions
    ]
    if not attempts:
        attempts = [_attempt(note, copy, None, day, alike)]
    older_attempts = []
    if bases.older is not None:
        older_attempts.append(_attempt(note, copy, ("", bases.older), day, is_rival))
    for attempt in attempts:
        if attempt.state == "conflict":
            return attempt
    if not _all_agree([*attempts, *older_attempts], note):
        return _union(note, copy, day, _UNCERTAIN)
    # Fault (D70): only a stored version shows whether a missing line was removed.
    certain = bool(bases.versions) or not lines_of(note) - lines_of(copy)
    return replace(attempts[0], certain=certain)


def _attempt(
    note: bytes, copy: bytes, base: Version | None, day: str, is_rival: IsRival | None
) -> MergedCopy:
    """Merges a note and a copy as if `base` were their common ancestor."""
    revision, base_text = base or ("", None)
    merged = merge(base_text, copy, note, between_people=True, date=day)
    if merged.result is None:
        return MergedCopy("conflict", None, revision, why="the two texts cannot be merged")
    if merged.result == note and not merged.conflicts:
        return MergedCopy("contained", None, revision, why="the note has all that it says")
    doubt = _find_doubt(note, copy, merged.result, merged.conflicts, is_rival)
    state: State = "conflict" if doubt else "mergeable"
    why = doubt or "both changed other lines"
    return MergedCopy(state, merged.result, revision, merged.conflicts, why)


def _union(note: bytes, copy: bytes, day: str, why: str) -> MergedCopy:
    """Returns a conflict whose result keeps all lines of both texts."""
    merged = merge(None, copy, note, between_people=True, date=day)
    return MergedCopy("conflict", merged.result, "", merged.conflicts, why)


def _all_agree(attempts: Sequence[MergedCopy], note: bytes) -> bool:
    """Whether all bases lead to one text, apart from the order of lines within a section."""
    if any(attempt.state == "conflict" for attempt in attempts):
        return False
    texts = [note if attempt.result is None else attempt.result for attempt in attempts]
    first = _lines_by_section(texts[0])
    return all(text == texts[0] or _lines_by_section(text) == first for text in texts[1:])


def _lines_by_section(raw: bytes) -> list[tuple[bytes, Counter[bytes]]]:
    doc = parse(raw)
    sections = [(section.heading, lines_of(section.body)) for section in doc.sections]
    return [(b"", lines_of(doc.preamble)), *sections]


def _find_doubt(
    note: bytes, copy: bytes, result: bytes, conflicts: Sequence[Conflict], is_rival: IsRival | None
) -> str:
    """Returns why a person should look at the merge first, or an empty string.

    `is_rival` compares two lines where the common ancestor does not show whether one replaces the other.
    """
    if len(conflicts) == 1:
        return "both changed the same place"
    if conflicts:
        return f"both changed the same {len(conflicts)} places"
    if is_rival and _has_rivals(note, copy, is_rival):
        return "it is unknown which of two similar lines replaces the other"
    before, after = _count_lines(note), _count_lines(result)
    removed = (before - after).total() - (after - before).total()
    most_removed = min(MOST_GONE, max(1, SHARE_GONE * before.total()))
    # Fault (D77): a device that was away for long brings a copy of an old text. Merged
    # on a wrong base, it would delete what came since.
    if removed > most_removed:
        return f"it would take {removed} lines out of the note"
    return ""


def _has_rivals(note: bytes, copy: bytes, is_rival: IsRival) -> bool:
    """Whether a line of only the note and a line of only the copy may be versions of one line."""
    note_lines, copy_lines = _count_lines(note), _count_lines(copy)
    only_note = [_text(line) for line in note_lines - copy_lines]
    only_copy = [_text(line) for line in copy_lines - note_lines]
    # Fault (H122): two texts without a common line take quadratic time to compare.
    if len(only_note) * len(only_copy) > PAIRS:
        return True
    return any(is_rival(ours, theirs) for ours in only_note for theirs in only_copy)


def _is_correction(line: str, other_line: str) -> bool:
    """Whether one line corrects the other.

    A copy that was the note once is what a sync program set aside, and hardly an old version of what replaced it. So
    only lines that are nearly equal count as rivals.
    """
    matcher = SequenceMatcher(None, line, other_line, autojunk=False)
    # The quick ratios are upper bounds, and much cheaper.
    return (
        matcher.real_quick_ratio() >= CORRECTION_RATIO
        and matcher.quick_ratio() >= CORRECTION_RATIO
        and matcher.ratio() >= CORRECTION_RATIO
    )


def _count_lines(raw: bytes) -> Counter[bytes]:
    lines = (line.strip() for line in raw.removeprefix(BOM_UTF8).splitlines())
    return Counter(line for line in lines if line)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").lower()


def plan_merge(action: MergeCopy, before: bytes | None, inputs: PlanInputs) -> EditPlan:
    """Returns the plan that merges a copy, or a plan without effect where both changed the same line."""
    copy = inputs.bytes_of(action.revision)
    base = inputs.bytes_of(action.base or None)
    after: bytes | None = None
    if before is not None and copy is not None:
        after = merged_text(before, copy, base, action.day, keep_both=action.keep_both)
    op = {"op": "merge", "copy": action.path, "revision": action.revision}
    if after is None:
        return EditPlan(before, before, (RecordedOp(op, "noop_no_match"),))
    outcome = "noop_dup" if after == before else "applied"
    return EditPlan(before, after, (RecordedOp(op, outcome),))


def merged_text(
    note: bytes, copy: bytes, base: bytes | None, day: str, *, keep_both: bool
) -> bytes | None:
    """Returns the merged text, or None where both changed the same line and `keep_both` is off."""
    merged = merge(base, copy, note, between_people=True, date=day)
    return None if merged.conflicts and not keep_both else merged.result


def fold_log(log: bytes, copy: bytes) -> MergedCopy:
    """Merges a copy of an audit log by the ids of its records; the result has only the missing lines.

    A redacted record stays redacted, and a folded one folded. Any other record that differs between
    log and copy is a conflict.
    """
    if log == copy:
        return MergedCopy("identical", why="it says the same as the log")
    log_records = read_records(log).records
    records = {_record_id(record): record for record in log_records}
    absorbed = set[object]().union(*map(absorbed_ids, log_records))
    log_lines = log.split(b"\n")
    missing: list[bytes] = []
    for line in copy.split(b"\n"):
        line_records = read_records(line).records
        if not line_records:
            # Fault (B42): a copy that was made during an append ends in a torn line,
            # which is no text of a person.
            if not _is_fragment(line, log_lines):
                why = "it has a line that is no record, and that is not in the log"
                return MergedCopy("conflict", why=why)
            continue
        record = line_records[0]
        ours = records.get(_record_id(record))
        # Fault: the copy is older than the fold of the log, or newer. Both forms of a
        # record say the same of what matters.
        if _record_id(record) in absorbed or _is_other_form(record, ours):
            continue
        if ours is None or (record.get("redacted") and not ours.get("redacted")):
            missing.append(line)
        # Fault: a copy has the record as it was before the user forgot its text. That
        # text must not come back.
        elif ours != record and not ours.get("redacted"):
            return MergedCopy(
                "conflict",
                why=f"the record {record.get('id')} differs between the log and the copy",
            )
    if not missing:
        return MergedCopy("contained", why="the log has all its records")
    why = f"{len(missing)} of its records are not in the log"
    return MergedCopy("mergeable", b"\n".join(missing), why=why, certain=True)


def _is_other_form(record: dict[str, object], ours: dict[str, object] | None) -> bool:
    """Whether one of two forms of a record is folded, and neither is redacted."""
    if ours is None or record.get("redacted") or ours.get("redacted"):
        return False
    return bool(record.get("folded") or ours.get("folded"))


def _is_fragment(line: bytes, log_lines: Sequence[bytes]) -> bool:
    """Whether a line is blank, or the torn beginning of a line that the log has in full."""
    if not line.strip(b"\0 \t\r"):
        return True
    return any(log_line.startswith(line) for log_line in log_lines)


def _record_id(record: dict[str, object]) -> object:
    return id_of_record(record) or repr(sorted(record.items(), key=itemgetter(0)))
