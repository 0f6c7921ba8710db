"""Plans moves of whole sections between notes; the bytes stay, except for line ends.

A move is two commands: the first puts the sections at the end of their target, the second takes them out of their
source. A section that the target has already is not put there again, so both commands may be repeated after a crash.
"""

from collections import Counter
from collections.abc import Iterable

from vault_memory.edits.commands import EditCommand, SectionMove
from vault_memory.edits.plans.plan import EditPlan, any_applied
from vault_memory.markdown.document import Section, SectionedDoc, is_text, parse_main, render
from vault_memory.markdown.note_items import line_end
from vault_memory.rules.edits.audit_record import RecordedOp
from vault_memory.rules.edits.op_effects import MOVE
from vault_memory.rules.edits.ops import Rejected
from vault_memory.rules.edits.reinsert import without_section

_Step = tuple[SectionedDoc, RecordedOp] | Rejected
"""The text after a move and the op to record, or the reason for a refusal"""


def moves_of(sections: Iterable[Section], source: str, target: str) -> tuple[SectionMove, ...]:
    """Returns the moves of these sections from one note to another."""
    return tuple(
        SectionMove(
            (section.heading + section.body).decode("utf-8", "surrogateescape"), source, target
        )
        for section in sections
    )


def stands_in(raw: bytes, move: SectionMove) -> bool:
    """Whether a note has the moved section with all of its lines; it may have more."""
    doc = parse_main(raw)
    sections = parse_main(_encode(move.text)).sections
    return any(_contains_section(doc, section) for section in sections)


def plan_moves(
    command: EditCommand, moves: tuple[SectionMove, ...], before: bytes | None
) -> EditPlan:
    """Returns the plan for the note of the command, which is the target or the source of the moves."""
    doc = parse_main(before or b"")
    applied: list[RecordedOp] = []
    rejected: list[Rejected] = []
    for move in moves:
        step = _plan_move(doc, move, is_target=command.note == move.target)
        if isinstance(step, Rejected):
            rejected.append(step)
        else:
            doc, op = step
            applied.append(op)
    after = render(doc) if any_applied(applied) else before
    return EditPlan(before, after, tuple(applied), tuple(rejected))


def _plan_move(doc: SectionedDoc, move: SectionMove, *, is_target: bool) -> _Step:
    raw = _encode(move.text)
    op: dict[str, object] = {
        "op": MOVE,
        "heading": parse_main(raw).sections[0].name,
        "from": move.source,
        "to": move.target,
    }
    return _put_section(doc, raw, op) if is_target else _take_section(doc, raw, op)


def _put_section(doc: SectionedDoc, raw: bytes, op: dict[str, object]) -> _Step:
    """Adds a section at the end of the note, after a blank line."""
    section = parse_main(raw).sections[0]
    # Fault (B48): after a crash both commands of a move are carried out again.
    if _contains_section(doc, section):
        return doc, RecordedOp(op, "noop_dup")
    # Fault: bytes that are not UTF-8 would change on their way through JSON.
    if not is_text(raw):
        return Rejected(op, "not_text")
    note = render(doc)
    eol = line_end(note or raw)
    raw = eol.join(raw.rstrip(b"\r\n").splitlines()) + eol
    new_doc = parse_main(note + _gap(note, eol) + raw)
    names = [section.name for section in (*doc.sections, section)]
    # Fault (A21): an open code fence at the end of the note would swallow the section.
    has_same_structure = [section.name for section in new_doc.sections] == names
    if not has_same_structure or not _contains_section(new_doc, section):
        return Rejected(op, "would_change_structure")
    return new_doc, RecordedOp(op, "applied", added=raw)


def _gap(note: bytes, eol: bytes) -> bytes:
    """Returns the line ends that make a blank line after the note."""
    if not note.strip() or note.endswith(eol * 2):
        return b""
    if note.endswith((b"\n", b"\r")):
        return eol
    return eol * 2


def _take_section(doc: SectionedDoc, raw: bytes, op: dict[str, object]) -> _Step:
    """Removes a section, only where it is unchanged: what a person added to it meanwhile is nowhere else."""
    for index, section in enumerate(doc.sections):
        # Fault (A1): what a person added to the section meanwhile is nowhere else. So
        # only the unchanged section is removed.
        if section.heading + section.body == raw:
            step = without_section(doc, index, parse_main)
            if step is None:
                return Rejected(op, "would_change_structure")
            return step.doc, RecordedOp(op, "applied", step.removed)
    return doc, RecordedOp(op, "noop_no_match")


def _contains_section(doc: SectionedDoc, section: Section) -> bool:
    lines = _count_lines(section)
    return any(
        candidate.name == section.name and lines <= _count_lines(candidate)
        for candidate in doc.sections
    )


def _count_lines(section: Section) -> Counter[bytes]:
    return Counter(line.strip() for line in section.body.splitlines() if line.strip())


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
