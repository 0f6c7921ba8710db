"""Whole sections that go from one note to another, byte for byte but for their line ends. Pure.

Two runs do it: the first puts them at the end of the note they come to, the second takes them out of the one they
leave. A section that stands there already is not put again, so both may be begun anew after a crash.
"""

from collections import Counter
from collections.abc import Iterable

from vault_memory.edits.commands import EditCommand, SectionMove
from vault_memory.edits.plans.plan import Plan
from vault_memory.markdown.document import Section, SectionedDoc, is_text, parse, render
from vault_memory.markdown.note_items import line_end
from vault_memory.rules.edits.audit_record import RecordedOp
from vault_memory.rules.edits.ops import Rejected
from vault_memory.rules.edits.ownership import MOVE
from vault_memory.rules.edits.reinsert import without_section


def moves_of(
    sections: Iterable[Section], source: str, target: str
) -> tuple[SectionMove, ...]:
    """The sections as a run has them."""
    return tuple(
        SectionMove(_text(section.heading + section.body), source, target)
        for section in sections
    )


def stands_in(raw: bytes, move: SectionMove) -> bool:
    """Whether a note has the section with all of its lines; it may say more."""
    return any(
        _holds(parse(raw), section) for section in parse(_bytes(move.text)).sections
    )


def plan_moves(
    command: EditCommand, moves: tuple[SectionMove, ...], before: bytes | None
) -> Plan:
    """All sections of a run, in this text of the note that they come to, or leave."""
    doc = parse(before or b"")
    applied: list[RecordedOp] = []
    rejected: list[Rejected] = []
    for text, source, target in moves:
        piece = _bytes(text)
        op: dict[str, object] = {
            "op": MOVE,
            "heading": parse(piece).sections[0].name,
            "from": source,
            "to": target,
        }
        done = (
            _put(doc, piece, op) if command.note == target else _taken(doc, piece, op)
        )
        if isinstance(done, Rejected):
            rejected.append(done)
        else:
            doc, told = done
            applied.append(told)
    did = any(done.outcome == "applied" for done in applied)
    return Plan(before, render(doc) if did else before, tuple(applied), tuple(rejected))


def _put(
    doc: SectionedDoc, piece: bytes, op: dict[str, object]
) -> tuple[SectionedDoc, RecordedOp] | Rejected:
    """At the end of the note, after a blank line."""
    section = parse(piece).sections[0]
    if _holds(doc, section):
        return doc, RecordedOp(op, "noop_dup")
    if not is_text(piece):
        return Rejected(op, "not_text")
    raw = render(doc)
    eol = line_end(raw or piece)
    piece = eol.join(piece.rstrip(b"\r\n").splitlines()) + eol
    gap = (
        b""
        if not raw.strip() or raw.endswith(eol * 2)
        else eol
        if raw.endswith((b"\n", b"\r"))
        else eol * 2
    )
    fresh = parse(raw + gap + piece)
    names = [one.name for one in (*doc.sections, section)]
    if [one.name for one in fresh.sections] != names or not _holds(fresh, section):
        return Rejected(op, "would_change_structure")
    return fresh, RecordedOp(op, "applied", added=piece)


def _taken(
    doc: SectionedDoc, piece: bytes, op: dict[str, object]
) -> tuple[SectionedDoc, RecordedOp] | Rejected:
    """Only where it stands just as it was: what a person wrote into it meanwhile is not elsewhere."""
    at = next(
        (at for at, one in enumerate(doc.sections) if one.heading + one.body == piece),
        None,
    )
    if at is None:
        return doc, RecordedOp(op, "noop_no_match")
    step = without_section(doc, at)
    return (
        Rejected(op, "would_change_structure")
        if step is None
        else (step.doc, RecordedOp(op, "applied", step.removed))
    )


def _holds(doc: SectionedDoc, section: Section) -> bool:
    wanted = _lines(section)
    return any(
        one.name == section.name and wanted <= _lines(one) for one in doc.sections
    )


def _lines(section: Section) -> Counter[bytes]:
    return Counter(line.strip() for line in section.body.splitlines() if line.strip())


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
