"""What becomes of a note when a conflict copy of it is folded in. Pure.

A copy and its note both go back to some earlier version. Which one it is cannot be known, so each
version that is possible (`ancestors`) is tried. Only where all of them lead to the same text, and none
to a conflict, is the copy merged without asking: otherwise a merge could replace what a person wrote
after the two texts parted.
"""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Literal

from vault_memory.edits.commands import MergeCopy
from vault_memory.edits.copy_ancestors import (
    MOST_BASES,
    Bases,
    Version,
    lines_of,
    possible_bases,
)
from vault_memory.edits.plans.plan import Plan, PlanInputs
from vault_memory.markdown.document import parse
from vault_memory.markdown.merging.similarity import alike
from vault_memory.markdown.merging.three_way import Conflict, merge
from vault_memory.rules.edits.audit_record import RecordedOp
from vault_memory.vault.jsonl_log import read_records

MOST_GONE = 5
"""Lines that a merge takes out of a note without asking"""
SHARE_GONE = 0.3
PAIRS = 2000
"""Of differing lines that are compared; where there are more, a person looks"""

HARDLY = 0.85
"""The share of letters that two lines have in common of which one corrects the other"""

_UNCERTAIN = "the copy lacks lines of the note, and nobody can tell whether they were removed there or never seen"

Same = Callable[[str, str], bool]
State = Literal["identical", "contained", "mergeable", "conflict"]


@dataclass(frozen=True, slots=True)
class Folded:
    """What a note and a copy make together."""

    state: State
    """identical; contained: the note says all that the copy says; mergeable; conflict: a person decides"""
    result: bytes | None = field(default=None, repr=False)
    """the text with both; None where there is none, or nothing is to be written"""
    base: str = ""
    """revision of the version that both go back to; empty when none is kept"""
    conflicts: tuple[Conflict, ...] = ()
    why: str = ""
    """for a person"""
    certain: bool = False
    """mergeable without asking anybody"""


def fold(
    note: bytes,
    copy: bytes,
    versions: Iterable[Version],
    *,
    day: str,
    is_page_of_ours: bool = False,
) -> Folded:
    """Fold a copy into its note; `versions` are the note's, saved before the copy came, the newest first.

    A page that we write, such as INBOX, holds no text of a person but ticks: there the last possible version serves.
    """
    if note == copy:
        return Folded("identical", why="it says the same as the note")
    history = list(versions)
    bases = possible_bases(note, copy, history)
    if is_page_of_ours:
        bases = Bases(bases.versions[-1:])
    if len(bases.versions) > MOST_BASES:
        return _union(note, copy, day, "nobody can tell from which version it was made")
    same = _hardly_differ if any(raw == copy for _, raw in history) else None
    attempts = [
        _attempt(note, copy, raw, revision, day, same)
        for revision, raw in bases.versions
    ]
    if not attempts:
        attempts = [_attempt(note, copy, None, "", day, alike)]
    others = (
        [_attempt(note, copy, bases.older, "", day, same)]
        if bases.older is not None
        else []
    )
    for attempt in attempts:
        if attempt.state == "conflict":
            return attempt
    if not _all_say_the_same([*attempts, *others], note):
        return _union(note, copy, day, _UNCERTAIN)
    # A change or removal is only carried out unasked where a kept version shows that it is one.
    certain = bool(bases.versions) or not lines_of(note) - lines_of(copy)
    return replace(attempts[0], certain=certain)


def _attempt(
    note: bytes,
    copy: bytes,
    base: bytes | None,
    revision: str,
    day: str,
    same: Same | None,
) -> Folded:
    """What a note and a copy make together if this is the version that both go back to."""
    merged = merge(base, copy, note, between_people=True, date=day)
    if merged.result is None:
        return Folded("conflict", None, revision, why="the two texts cannot be merged")
    if merged.result == note and not merged.conflicts:
        return Folded("contained", None, revision, why="the note has all that it says")
    why = _doubt(note, copy, merged.result, merged.conflicts, same)
    state: State = "conflict" if why else "mergeable"
    return Folded(
        state,
        merged.result,
        revision,
        merged.conflicts,
        why or "both changed other lines",
    )


def _union(note: bytes, copy: bytes, day: str, why: str) -> Folded:
    """A conflict in which both texts stay whole for whoever keeps both."""
    merged = merge(None, copy, note, between_people=True, date=day)
    return Folded("conflict", merged.result, "", merged.conflicts, why)


def _all_say_the_same(attempts: Sequence[Folded], note: bytes) -> bool:
    """Whether all bases lead to one text, but for the order of lines within a section."""
    if any(attempt.state == "conflict" for attempt in attempts):
        return False
    texts = [note if attempt.result is None else attempt.result for attempt in attempts]
    first = _by_section(texts[0])
    return all(text == texts[0] or _by_section(text) == first for text in texts[1:])


def _by_section(raw: bytes) -> list[tuple[bytes, Counter[bytes]]]:
    doc = parse(raw)
    return [
        (b"", lines_of(doc.preamble)),
        *((part.heading, lines_of(part.body)) for part in doc.sections),
    ]


def _doubt(
    note: bytes,
    copy: bytes,
    result: bytes,
    conflicts: Sequence[Conflict],
    same: Same | None,
) -> str:
    """Why a person is to look at this first; empty when there is no need.

    `same` tells whether two lines may be versions of one, where the version that both go back to does not.
    """
    if conflicts:
        number = len(conflicts)
        return (
            "both changed the same place"
            if number == 1
            else f"both changed the same {number} places"
        )
    if same and _rivals(note, copy, same):
        return "nobody can tell which of two lines that are alike replaces the other"
    before, after = _lines(note), _lines(result)
    gone = (before - after).total() - (after - before).total()
    if gone > MOST_GONE or (gone > 1 and gone > SHARE_GONE * before.total()):
        return f"it would take {gone} lines out of the note"
    return ""


def _rivals(note: bytes, copy: bytes, same: Same) -> bool:
    mine, its = _lines(note), _lines(copy)
    ours, theirs = [*(mine - its)], [*(its - mine)]
    if len(ours) * len(theirs) > PAIRS:
        return True
    return any(same(_text(one), _text(other)) for one in ours for other in theirs)


def _hardly_differ(one: str, other: str) -> bool:
    """A copy that once was the note is rather what a sync program put aside than an old version of what replaced it."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return (
        matcher.real_quick_ratio() >= HARDLY
        and matcher.quick_ratio() >= HARDLY
        and matcher.ratio() >= HARDLY
    )


def _lines(raw: bytes) -> Counter[bytes]:
    return Counter(
        line
        for line in (line.strip() for line in raw.removeprefix(BOM_UTF8).splitlines())
        if line
    )


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").lower()


def plan_merge(action: MergeCopy, before: bytes | None, inputs: PlanInputs) -> Plan:
    """Returns the plan that merges a copy into its note, or a plan without effect where both changed the same."""
    copy = inputs.bytes_of(action.revision)
    base = inputs.bytes_of(action.base or None)
    after = (
        None
        if before is None or copy is None
        else merged_text(before, copy, base, action.day, keep_both=action.keep_both)
    )
    outcome = (
        "noop_no_match"
        if after is None
        else "noop_dup"
        if after == before
        else "applied"
    )
    op = {"op": "merge", "copy": action.path, "revision": action.revision}
    return Plan(before, before if after is None else after, (RecordedOp(op, outcome),))


def merged_text(
    note: bytes, copy: bytes, base: bytes | None, day: str, *, keep_both: bool
) -> bytes | None:
    """Returns the merged text, or None where both changed the same line and `keep_both` is off."""
    merged = merge(base, copy, note, between_people=True, date=day)
    return None if merged.conflicts and not keep_both else merged.result


def fold_log(log: bytes, copy: bytes) -> Folded:
    """What a log lacks of a copy of it, by the ids of the records; the result are the lines to be added.

    A record that one redacted stays so; one that says two things is for a person to judge.
    """
    if log == copy:
        return Folded("identical", why="it says the same as the log")
    here = {_id(record): record for record in read_records(log).records}
    lines = set(log.split(b"\n"))
    missing = []
    for line in copy.split(b"\n"):
        records = read_records(line).records
        known = here.get(_id(records[0])) if records else None
        if records and (
            known is None or (records[0].get("redacted") and not known.get("redacted"))
        ):
            missing.append(line)
        elif records and known != records[0] and not (known and known.get("redacted")):
            return Folded(
                "conflict",
                why=f"the record {records[0].get('id')} says one thing here and another there",
            )
        elif (
            not records
            and line.strip(b"\0 \t\r")
            and not any(other.startswith(line) for other in lines)
        ):
            return Folded(
                "conflict",
                why="it has a line that is no record, and that is not in the log",
            )
    if not missing:
        return Folded("contained", why="the log has all its records")
    why = f"{len(missing)} of its records are not in the log"
    return Folded("mergeable", b"\n".join(missing), why=why, certain=True)


def _id(record: dict[str, object]) -> object:
    found = record.get("id")
    return (
        found
        if isinstance(found, str)
        else repr(sorted(record.items(), key=lambda one: one[0]))
    )
