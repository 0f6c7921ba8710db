"""Ops that were thought of for one text of a note, made to fit a newer one that a person saved meanwhile."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.merging.similarity import alike
from vault_memory.markdown.merging.three_way import Conflict
from vault_memory.markdown.note_items import (
    NoteItem,
    folded,
    items_of,
    section_items,
    section_named,
    texts_in,
)
from vault_memory.rules.edits.audit_record import Proposal, propose
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Remove, Replace
from vault_memory.rules.edits.ownership import op_of

SAME_SECTION = 0.5
"""The share of a section's items by which it is known under another name"""
REWRITTEN = "a person changed the item while this was written"


@dataclass(frozen=True, slots=True)
class Rebased:
    """Ops for the newer text, and what a person is asked about them."""

    ops: tuple[object, ...]
    proposed: tuple[Proposal, ...] = ()


def rebase_ops(
    ops: Iterable[object],
    base: SectionedDoc,
    newer: SectionedDoc,
    note: str,
    *,
    by_bot: bool = False,
    of_bot: Collection[NoteItem] = (),
) -> Rebased:
    """The ops for `newer`: a section that was renamed is followed, an item that was moved too.

    Of its items, `of_bot` are those that the bot wrote: no person made them of others.

    A section that was deleted comes back with just the new item, and INBOX asks whether that is right. An item that a
    person changed stays as they changed it, and INBOX has what it was to become.
    """
    made: list[object] = []
    proposed: list[Proposal] = []
    for said in ops:
        op = op_of(said)
        if (
            op is None
            or section_named(base, op.heading) is None
            or isinstance(op, AddHeading)
        ):
            made.append(said)
            continue
        name = (
            op.heading
            if section_named(newer, op.heading) is not None
            else renamed(op.heading, base, newer)
        )
        other = (
            _rewritten(op, name, base, newer, of_bot)
            if isinstance(op, Replace)
            else None
        )
        if (
            isinstance(op, Replace)
            and other
            and (by_bot or folded(op.match) not in folded(other.text))
        ):
            proposed.append(
                propose(note, Replace(other.heading, other.text, op.line), REWRITTEN)
            )
            continue
        if isinstance(op, Remove | Replace):
            made.append(replace(op, heading=_where(op, name, newer)))
        elif name is not None:
            made.append(replace(op, heading=name))
        else:
            made.append(_brought_back(op, made))
            why = f"its section {op.heading} was deleted while this was written"
            proposed.append(propose(note, Remove(op.heading, op.line), why))
    return Rebased(tuple(made), tuple(proposed))


def proposals_for_conflicts(
    conflicts: Iterable[Conflict], note: str, why: str
) -> tuple[Proposal, ...]:
    """Items that somebody else changed too, and so stayed: each may become the other one, if a person says so."""
    found = []
    for one in conflicts:
        kept, other = texts_in(one.kept), texts_in(one.other)
        if one.kind == "item" and kept and other:
            wish = op_of(Replace(one.section, kept[0], other[0]))
            found += [propose(note, wish, why)] if wish else []
    return tuple(found)


def renamed(heading: str, base: SectionedDoc, newer: SectionedDoc) -> str | None:
    """What a section is called now: a new one with most of its items, or with the very same text."""
    at = section_named(base, heading)
    if at is None:
        return None
    old = {section.name for section in base.sections}
    texts, body = (
        {item.text for item in section_items(base, at)},
        base.sections[at].body.strip(),
    )
    for here, section in enumerate(newer.sections):
        if section.name in old:
            continue
        shared = texts & {item.text for item in section_items(newer, here)}
        if (body and section.body.strip() == body) or (
            texts and len(shared) > SAME_SECTION * len(texts)
        ):
            return section.name
    return None


def _rewritten(
    op: Replace,
    name: str | None,
    base: SectionedDoc,
    newer: SectionedDoc,
    of_bot: Collection[NoteItem],
) -> NoteItem | None:
    """What a person made of the item that is meant; None when it stands as it was, or nothing was made of it."""
    old, now = items_of(base), items_of(newer)
    meant = [
        item
        for item in old
        if item.heading == op.heading and folded(op.match) in folded(item.text)
    ]
    if len(meant) != 1 or meant[0].text in {item.text for item in now}:
        return None
    known = {item.text for item in old}
    fresh = [item for item in now if item.text not in known and item not in of_bot]
    fresh = [item for item in fresh if item.heading == name] or fresh
    like = [item for item in fresh if alike(folded(meant[0].text), folded(item.text))]
    found = like or _in_its_place(
        meant[0], old, [item for item in now if item.heading == name]
    )
    return found[0] if len(found) == 1 and found[0] in fresh else None


def _in_its_place(
    meant: NoteItem, old: Sequence[NoteItem], now: Sequence[NoteItem]
) -> list[NoteItem]:
    """The item that stands where it stood, when the section has as many items as before."""
    before = [item for item in old if item.section == meant.section]
    return [now[before.index(meant)]] if len(before) == len(now) else []


def _where(op: Remove | Replace, name: str | None, newer: SectionedDoc) -> str:
    """The section in which an item stands that was moved; the one named when it is there or nowhere."""
    wanted = " ".join(op.match.casefold().split())
    found = [
        section.name
        for at, section in enumerate(newer.sections)
        if any(wanted in item.text.casefold() for item in section_items(newer, at))
    ]
    return found[0] if len(found) == 1 and name not in found else name or op.heading


def _brought_back(op: Append, made: list[object]) -> Op:
    """The op that writes the item with its section, or into the section that an op before it brought back."""
    back = any(
        isinstance(other, AddHeading) and other.heading == op.heading for other in made
    )
    return op if back else AddHeading(op.heading, (op.line,))
