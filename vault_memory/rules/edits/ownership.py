"""Whose item is it? The audit, replayed, tells what the bot wrote; every other item of a note is a person's.

Items are known by their section and normalised text. What the bot wrote and a person then changed or moved is the
person's. What the bot wrote and that is gone, though the bot did not take it away, a person deleted knowingly: it does
not come back by the bot until the person writes it again or lifts it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from operator import is_

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import normalised
from vault_memory.markdown.note_items import NoteItem, items_of, said, texts_in
from vault_memory.rules.edits.audit_record import Record, RecordedOp
from vault_memory.rules.edits.ops import (
    AddHeading,
    Append,
    Op,
    OpRefused,
    Rejected,
    Remove,
    Replace,
    read_op,
)

DELETED = "deleted_by_person"
MOVE = "move"
"""The op of a whole section that came from another note, or went to one"""
_FORGETTING = frozenset({"retention", "forget"})
_GAVE_BACK = frozenset({"proposal", "merge"})
"""Sources of records that propose what was lost and not deleted"""

MANY = 64
"""Records, from which on what followed from an audit is remembered"""
MOST = 4
"""So many long audits are remembered"""

Key = tuple[str, str]
"""A section's name and a normalised text"""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one op that was carried out did to a note."""

    heading: str
    removed: bytes = b""
    added: bytes = b""
    whole_section: bool = False
    """the bytes are a section with its heading, not an item"""


@dataclass(frozen=True, slots=True)
class Ownership:
    """What the audit of one note says about its items."""

    written: frozenset[Key] = frozenset()
    """by the bot, and not taken away by it again"""
    buried: frozenset[Key] = frozenset()
    """once written by the bot, and seen to be deleted by a person"""

    def bots_items(self, doc: SectionedDoc) -> tuple[NoteItem, ...]:
        """The items of the note whose own text the bot wrote; what is nested in them may be another's.

        Where a section says the same twice, nobody can tell which is whose: then both are a person's.
        """
        return self.bots_among(items_of(doc))

    def bots_among(self, items: Sequence[NoteItem]) -> tuple[NoteItem, ...]:
        """Those of some sections' items that the bot wrote."""
        keys = [item.key for item in items]
        times = Counter(keys)
        return tuple(
            item
            for item, key in zip(items, keys, strict=True)
            if key in self.written and times[key] == 1
        )

    def deleted(self, doc: SectionedDoc, heading: str, line: str) -> bool:
        """Whether a person deleted, or moved away, what an item with this line under this heading would say."""
        text = normalised(said(line))
        once = {
            known
            for known, known_text in self.written | self.buried
            if known_text == text
        }
        if not once:
            return False
        here = {item.heading for item in items_of(doc) if item.key[1] == text}
        return not here or (heading in once and heading not in here)

    def tombstones(self, doc: SectionedDoc) -> frozenset[str]:
        """The normalised texts that a person deleted."""
        there = {item.key[1] for item in items_of(doc)}
        return frozenset(
            text for _, text in self.written | self.buried if text not in there
        )

    def after(self, dones: Iterable[RecordedOp], *, source: str) -> "Ownership":
        """What is so once these ops were carried out, too."""
        return replay([Record("", "", "", source, "", tuple(dones))], since=self)


def replay(records: Iterable[Record], *, since: Ownership | None = None) -> Ownership:
    """Whose items are whose after these records of one note, which are in the order of time."""
    if since is None and isinstance(records, tuple) and len(records) >= MANY:
        return _replay_again(records)
    return _replay(records, since or Ownership())


_recent: tuple[tuple[tuple[Record, ...], Ownership], ...] = ()


def _replay_again(records: tuple[Record, ...]) -> Ownership:
    """Of a long audit that was replayed before, only what came to it since."""
    global _recent
    recent = _recent
    for at, (known, owned) in enumerate(recent):
        if len(known) <= len(records) and all(map(is_, known, records)):
            owned = _replay(records[len(known) :], owned)
            _recent = ((records, owned), *recent[:at], *recent[at + 1 :])
            return owned
    owned = _replay(records, Ownership())
    _recent = ((records, owned), *recent[: MOST - 1])
    return owned


def _replay(records: Iterable[Record], since: Ownership) -> Ownership:
    written, buried = set(since.written), set(since.buried)
    for record in records:
        for done in record.applied:
            removed, added = _keys(done)
            if record.by_bot:
                written -= removed
                written |= added
                buried -= added
            elif record.source in _FORGETTING:
                written -= removed
            else:
                written -= added
                buried -= added
                lifted = _lifted(done)
                written -= _saying(written, lifted)
                buried -= _saying(buried, lifted)
                written |= _under_new_headings(written, done)
        if record.by_bot:
            for refused in record.rejected:
                gone = _seen_gone(refused, written)
                written -= gone
                buried |= gone
        for proposal in record.proposed:
            if proposal.state == "open" and (
                record.source in _GAVE_BACK
                or not isinstance(op_of(proposal.op), Replace)
            ):
                written -= _wanted(proposal.op)
                if record.source in _GAVE_BACK:
                    buried -= _saying(buried, texts_of(proposal.op))
    return Ownership(frozenset(written), frozenset(buried))


def allow_again(text: str) -> RecordedOp:
    """What a record of a person holds to let the bot write again what was deleted."""
    return RecordedOp({"op": "lift", "text": text}, "applied")


def effect_of(done: RecordedOp) -> Effect | None:
    """What an op of the audit did; None when it had no effect, or none that can be understood."""
    if done.outcome != "applied":
        return None
    if done.op.get("op") == "undo":
        of = done.op.get("of")
        heading = of.get("heading") if isinstance(of, Mapping) else None
        if not isinstance(of, Mapping) or not isinstance(heading, str):
            return None
        return Effect(
            heading, done.removed, done.added, of.get("op") in ("add_heading", MOVE)
        )
    if done.op.get("op") == MOVE:
        return Effect(str(done.op.get("heading")), done.removed, done.added, True)
    op = op_of(done.op)
    match op:
        case Append(heading, line):
            return Effect(heading, b"", b"- " + line.encode())
        case AddHeading(heading, lines):
            return Effect(heading, b"", _section(heading, lines), True)
        case Remove(heading):
            return Effect(heading, done.removed) if done.removed else None
        case Replace(heading, _, line):
            return (
                Effect(heading, done.removed, b"- " + line.encode())
                if done.removed
                else None
            )
    return None


def op_of(value: object) -> Op | None:
    """The op that a JSON value means, or None."""
    try:
        return value if isinstance(value, Op) else read_op(value)
    except OpRefused:
        return None


def texts_of(value: object) -> frozenset[str]:
    """What an op is to write, normalised: by that it is known again, whatever its bytes are."""
    return frozenset(text for _, text in _wanted(value))


def _under_new_headings(written: Set[Key], done: RecordedOp) -> set[Key]:
    """What the bot wrote in sections under whose new names a merge has put it."""
    renamed = (
        done.op.get("renamed")
        if done.op.get("op") == "merge" and done.outcome == "applied"
        else None
    )
    if not isinstance(renamed, Mapping):
        return set()
    return {
        (str(renamed[heading]), text) for heading, text in written if heading in renamed
    }


def _section(heading: str, lines: Sequence[str]) -> bytes:
    return "".join([f"## {heading}\n\n", *(f"- {line}\n" for line in lines)]).encode()


def _keys(done: RecordedOp) -> tuple[set[Key], set[Key]]:
    """What an op took away, and what it wrote."""
    if "wrote" in done.op and done.outcome == "applied":
        return _listed(done.op.get("took")), _listed(done.op["wrote"])
    effect = effect_of(done)
    if effect is None:
        return set(), set()
    removed = (
        {(effect.heading, normalised(text)) for text in texts_in(effect.removed)}
        if effect.removed
        else set()
    )
    op = op_of(done.op)
    if op is not None:
        return removed, _wanted(op)
    return removed, {
        (effect.heading, normalised(text)) for text in texts_in(effect.added)
    } if effect.added else set()


def _listed(value: object) -> set[Key]:
    """Items as the edit of a text tells them."""
    pairs = value if isinstance(value, list | tuple) else ()
    return {
        (str(one[0]), str(one[1]))
        for one in pairs
        if isinstance(one, list | tuple) and len(one) == 2
    }


def _wanted(value: object) -> set[Key]:
    """What an op is to write."""
    match op_of(value):
        case Append(heading, line) | Replace(heading, _, line):
            return {(heading, normalised(said(line)))}
        case AddHeading(heading, lines):
            return {(heading, normalised(said(line))) for line in lines}
    return set()


def _seen_gone(refused: Rejected, written: set[Key]) -> set[Key]:
    """What a refusal tells to have been deleted: the item itself, or else its text wherever the bot wrote it."""
    if refused.reason != DELETED or isinstance(op_of(refused.op), AddHeading):
        return set()
    wanted = _wanted(refused.op)
    return wanted & written or _saying(written, {text for _, text in wanted})


def _saying(keys: set[Key], texts: Set[str]) -> set[Key]:
    return {key for key in keys if key[1] in texts} if texts else set()


def _lifted(done: RecordedOp) -> set[str]:
    text = done.op.get("text")
    return (
        {normalised(said(text))}
        if done.op.get("op") == "lift" and isinstance(text, str)
        else set()
    )
