"""Did whoever saved this note know what the bot had written into it?

An editor that loaded a note before the bot wrote, and saves after, takes the bot's lines away without having seen
them. So does a person who deletes them. Where it cannot be told which of the two it was, the note stays as the person
saved it, the bot's lines wait in INBOX, and nothing counts as deleted.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.items import normalised
from vault_memory.markdown.merging.similarity import made_of
from vault_memory.markdown.note_items import NoteItem, items_of, texts_in
from vault_memory.rules.edits.audit_record import (
    Proposal,
    Record,
    proposals_of,
    propose,
)
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Replace
from vault_memory.rules.edits.ownership import Ownership, effect_of, op_of, texts_of

WHY = "it is no longer in the note; whoever saved it may not have seen it"


@dataclass(frozen=True, slots=True)
class SeenVersion:
    """A version of a note that somebody may have had in the editor."""

    raw: bytes
    by_bot: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a saved text says about the bot's items that it lacks."""

    kind: Literal["accepted", "stale", "undecided"]
    """deleted knowingly, or nothing is missing · written without having seen them · nobody can tell"""
    missing: tuple[NoteItem, ...] = ()
    """the bot's items, as they stood in the version before"""


ACCEPTED = Verdict("accepted")


def classify_save(
    saved: bytes, since: Sequence[SeenVersion], owned: Ownership, *, older: bool
) -> Verdict:
    """What became of the bot's items in a text that a person saved over ``since[0]``.

    ``since`` are the versions before it, the newest first, down to the one that the saved text is nearest to. `older`
    says that the saved text is known to have been made before the bot wrote: by an editor's lock, or by its own date.
    """
    if len(since) < 2:
        return ACCEPTED
    head, base = since[0].raw, since[-1].raw
    added = _lacking(owned.bots_items(parse(head)), base)
    missing = _lacking(added, saved)
    if not missing or len(missing) < len(added):  # who knew one of them knew all
        return ACCEPTED
    if _reworded(missing, saved, head, base):
        return ACCEPTED
    if older or _lost_of_people(saved, head, base, added):
        return Verdict("stale", missing)
    seen_by_people = (version.raw for version in since[1:-1] if not version.by_bot)
    if any(
        not _lacking(missing, raw)
        for raw in (*seen_by_people, *(() if since[0].by_bot else (head,)))
    ):
        return ACCEPTED
    return Verdict("undecided", missing)


def classify_revert(saved: bytes, head: bytes, owned: Ownership) -> Verdict:
    """Of a text that is, to the byte, one that stood there before."""
    missing = _lacking(owned.bots_items(parse(head)), saved)
    return Verdict("undecided", missing) if missing else ACCEPTED


def propose_missing(
    note: str, items: Iterable[NoteItem], now: bytes, records: Sequence[Record]
) -> tuple[Proposal, ...]:
    """Proposals to write these items again, as far as the note as it is `now` lacks them and none was made before."""
    doc = parse(now)
    asked = frozenset[str]().union(
        *(texts_of(one.op) for one in proposals_of(records).values())
    )
    missing = [item for item in _lacking(items, now) if item.key[1] not in asked]
    headings = {section.name for section in doc.sections}
    former = _replaced(records)
    ops: list[Op] = []
    for heading in dict.fromkeys(item.heading for item in missing):
        lines = tuple(item.text for item in missing if item.heading == heading)
        if heading not in headings:
            ops.append(AddHeading(heading, lines))
        else:
            ops += [_again(doc, heading, line, former) for line in lines]
    return tuple(propose(note, op, WHY) for op in ops)


def _again(
    doc: SectionedDoc, heading: str, line: str, former: dict[tuple[str, str], str]
) -> Op:
    """To write a line again, in the place of what it had replaced where that came back."""
    was = former.get((heading, normalised(line)))
    found = [
        item.text
        for item in items_of(doc)
        if item.heading == heading and normalised(item.text) == was
    ]
    return (
        Replace(heading, found[0], line) if len(found) == 1 else Append(heading, line)
    )


def _replaced(records: Iterable[Record]) -> dict[tuple[str, str], str]:
    """What the bot's lines had replaced, by section and normalised text."""
    found = {}
    for done in (done for record in records for done in record.applied):
        op, effect = op_of(done.op), effect_of(done)
        if isinstance(op, Replace) and effect is not None and effect.removed:
            found[op.heading, normalised(op.line)] = normalised(
                next(iter(texts_in(effect.removed)), "")
            )
    return found


def _lacking(items: Iterable[NoteItem], raw: bytes) -> tuple[NoteItem, ...]:
    """Those items whose texts stand nowhere in a note."""
    there = {item.key[1] for item in items_of(parse(raw))}
    return tuple(item for item in items if item.key[1] not in there)


def _reworded(
    missing: Iterable[NoteItem], saved: bytes, head: bytes, base: bytes
) -> bool:
    """Whether one of these items stands there with a part of its words; what had been loaded is no new wording, and
    what is more like another item that was loaded and is gone is one of that.
    """
    now, loaded = _texts(saved), _texts(base)
    lost = {item.key[1] for item in missing}
    olds = (*(loaded - now), *lost)
    return any(made_of(text, olds) in lost for text in now - _texts(head) - loaded)


def _lost_of_people(
    saved: bytes, head: bytes, base: bytes, bots: Iterable[NoteItem]
) -> bool:
    """Whether all that people had added since is missing too: then nobody who saved this had seen any of it."""
    added = _texts(head) - _texts(base) - Counter(item.key[1] for item in bots)
    return bool(added) and not added & _texts(saved)


def _texts(raw: bytes) -> Counter[str]:
    return Counter(item.key[1] for item in items_of(parse(raw)))
