"""Detects saves from an editor that loaded the note before the bot wrote into it.

Such a save removes the bot's lines although the person never saw them. A person who deletes the
lines on purpose saves the same bytes. When the two cannot be told apart, the note stays as the
person saved it, the bot's lines wait in INBOX, and nothing counts as deleted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.items import normalised_text
from vault_memory.markdown.merging.similarity import made_of
from vault_memory.markdown.note_items import NoteItem, items_of, texts_in
from vault_memory.rules.edits.audit_record import Proposal, Record, proposals_of, propose
from vault_memory.rules.edits.op_effects import effects_of
from vault_memory.rules.edits.ops import AddHeading, Append, Op, Replace, op_of
from vault_memory.rules.edits.ownership import Ownership, text_of_line, texts_of

WHY = "it is no longer in the note; whoever saved it may not have seen it"


@dataclass(frozen=True, slots=True)
class SeenVersion:
    """A version of a note that a person may have had in the editor."""

    raw: bytes
    by_bot: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a saved text says about the bot's items that it lacks."""

    kind: Literal["accepted", "stale", "undecided"]
    """deleted on purpose, or nothing is missing · saved without seeing the items · not decidable"""
    missing: tuple[NoteItem, ...] = ()
    """the bot's items, as they were in the version before"""


ACCEPTED = Verdict("accepted")


def classify_save(
    saved: bytes, since: Sequence[SeenVersion], owned: Ownership, *, older: bool
) -> Verdict:
    """Returns what became of the bot's items in a text that a person saved over ``since[0]``.

    ``since`` are the earlier versions, newest first, back to the one that the saved text is nearest
    to. `older` says that the text is known to be older than the bot's write: by an editor's lock,
    or by its own date.
    """
    if len(since) < 2:
        return ACCEPTED
    head = since[0].raw
    base = since[-1].raw
    added = _lacking(owned.bots_items(parse(head)), base)
    missing = _lacking(added, saved)
    # Fault (A9): an editor that has one of the new lines has loaded all of them. What
    # it lacks was deleted on purpose, and stays deleted.
    if not missing or len(missing) < len(added):
        return ACCEPTED
    if _is_reworded(missing, saved, head, base):
        return ACCEPTED
    # Fault (A7): an old buffer also lacks what people added since. A person hardly
    # deletes all of that by chance.
    if older or _lacks_people_too(saved, head, base, added):
        return Verdict("stale", missing)
    # Fault (A8): another person saved a version with the lines, so this one knew them
    # as well.
    if any(not _lacking(missing, raw) for raw in _versions_of_people(since)):
        return ACCEPTED
    return Verdict("undecided", missing)


def _versions_of_people(since: Sequence[SeenVersion]) -> Iterator[bytes]:
    """Yields the versions after the base that people saved."""
    for version in since[1:-1]:
        if not version.by_bot:
            yield version.raw
    if not since[0].by_bot:
        yield since[0].raw


def classify_revert(saved: bytes, head: bytes, owned: Ownership) -> Verdict:
    """Classifies a save that restores an earlier version exactly."""
    missing = _lacking(owned.bots_items(parse(head)), saved)
    return Verdict("undecided", missing) if missing else ACCEPTED


def propose_missing(
    note: str, items: Iterable[NoteItem], now: bytes, records: Sequence[Record]
) -> tuple[Proposal, ...]:
    """Returns proposals to write these items again.

    Items that the note has `now`, or that were proposed before, are left out.
    """
    doc = parse(now)
    proposed_texts: set[str] = set()
    for proposal in proposals_of(records).values():
        proposed_texts |= texts_of(proposal.op)
    missing = [item for item in _lacking(items, now) if item.key[1] not in proposed_texts]
    headings = {section.name for section in doc.sections}
    replaced = _replaced_texts(records)
    ops: list[Op] = []
    for heading in dict.fromkeys(item.heading for item in missing):
        lines = tuple(item.text for item in missing if item.heading == heading)
        if heading in headings:
            ops += [_op_to_restore(doc, heading, line, replaced) for line in lines]
        else:
            ops.append(AddHeading(heading, lines))
    return tuple(propose(note, op, WHY) for op in ops)


def _op_to_restore(
    doc: SectionedDoc, heading: str, line: str, replaced: dict[tuple[str, str], str]
) -> Op:
    """Returns an op to write a line again, over the text it had replaced when that came back."""
    old_text = replaced.get((heading, text_of_line(line)))
    matches = [
        item.text
        for item in items_of(doc)
        if item.heading == heading and normalised_text(item.text) == old_text
    ]
    if len(matches) == 1:
        return Replace(heading, matches[0], line)
    return Append(heading, line)


def _replaced_texts(records: Iterable[Record]) -> dict[tuple[str, str], str]:
    """Returns the texts that the bot's lines replaced, by section and normalised new text."""
    replaced: dict[tuple[str, str], str] = {}
    for record in records:
        for applied in record.applied:
            op = op_of(applied.op)
            if not isinstance(op, Replace):
                continue
            for effect in effects_of(applied):
                old_text = next(iter(texts_in(effect.removed)), "")
                replaced[op.heading, text_of_line(op.line)] = normalised_text(old_text)
    return replaced


def _lacking(items: Iterable[NoteItem], raw: bytes) -> tuple[NoteItem, ...]:
    """Returns the items whose texts are nowhere in a note."""
    texts = _texts(raw)
    return tuple(item for item in items if item.key[1] not in texts)


def _is_reworded(missing: Iterable[NoteItem], saved: bytes, head: bytes, base: bytes) -> bool:
    """Returns whether the saved text has a new wording of one of the missing items.

    A text that the editor had loaded is not a new wording. Neither is a text that is more similar
    to another lost item.
    """
    saved_texts = _texts(saved)
    base_texts = _texts(base)
    missing_texts = {item.key[1] for item in missing}
    lost_texts = (*(base_texts - saved_texts), *missing_texts)
    new_texts = saved_texts - _texts(head) - base_texts
    return any(made_of(text, lost_texts) in missing_texts for text in new_texts)


def _lacks_people_too(saved: bytes, head: bytes, base: bytes, bots: Iterable[NoteItem]) -> bool:
    """Returns whether all that people added since is missing, too: then the editor saw nothing."""
    bot_texts = Counter(item.key[1] for item in bots)
    added_by_people = _texts(head) - _texts(base) - bot_texts
    return bool(added_by_people) and not added_by_people & _texts(saved)


def _texts(raw: bytes) -> Counter[str]:
    """Returns the normalised texts of the items in a note, with their counts."""
    return Counter(item.key[1] for item in items_of(parse(raw)))
