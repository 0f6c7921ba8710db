"""Replays the audit to find the items that the bot wrote; every other item is a person's.

Items are identified by their section and normalised text. An item that the bot wrote and a person
changed or moved is the person's. An item that the bot wrote and that is gone, without a removal by
the bot, was deleted by a person on purpose. The bot does not write it again until the person writes
it or allows it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import is_

from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import normalised_text, recognised
from vault_memory.markdown.note_items import NoteItem, items_of, said, texts_in
from vault_memory.rules.edits.audit_record import Proposal, Record, RecordedOp
from vault_memory.rules.edits.op_effects import Effect, effects_of
from vault_memory.rules.edits.ops import NewText, Rejected, new_text, op_of

DELETED = "deleted_by_person"
_FORGETTING = frozenset({"retention", "forget"})
_GAVE_BACK = frozenset({"proposal", "merge"})
"""Sources of records that propose lost lines, which nobody deleted"""

MOST = 8
"""The number of audits whose results are cached"""

LINES = 256
"""The number of lines whose text is cached: each op asks for that of its line several times"""

Key = tuple[str, str]
"""A section's name and a normalised text"""


@dataclass(frozen=True, slots=True)
class Ownership:
    """What the audit of a note says about its items."""

    written: frozenset[Key] = frozenset()
    """written by the bot, and not removed by it"""
    buried: frozenset[Key] = frozenset()
    """written by the bot and deleted by a person"""
    recorded: frozenset[Key] = field(default=frozenset(), compare=False)
    """written by anybody through the program, and not taken away by the program itself; a folded
    audit no longer has those of people"""

    def bots_items(self, doc: SectionedDoc) -> tuple[NoteItem, ...]:
        """Returns the items whose own text the bot wrote; nested items may be a person's."""
        return self.bots_among(items_of(doc))

    def bots_among(self, items: Sequence[NoteItem]) -> tuple[NoteItem, ...]:
        """Returns those of some sections' items that the bot wrote."""
        keys = [item.key for item in items]
        counts = Counter(keys)
        # Fault (A17): of two equal items one may be a person's copy, so both count as a
        # person's.
        return tuple(
            item
            for item, key in zip(items, keys, strict=True)
            if key in self.written and counts[key] == 1
        )

    def deleted(self, doc: SectionedDoc, heading: str, line: str) -> bool:
        """Returns whether a person deleted or moved away the item that this line would write."""
        text = text_of_line(line)
        former_headings = {
            former_heading
            for former_heading, former_text in self.written | self.buried
            if former_text == text
        }
        if not former_headings:
            return False
        headings = {item.heading for item in items_of(doc) if item.key[1] == text}
        if not headings:
            return True
        return heading in former_headings and heading not in headings

    @property
    def texts(self) -> frozenset[str]:
        """Normalised texts that the bot wrote and did not remove."""
        return frozenset(text for _, text in self.written | self.buried)

    def allowing(self, texts: Set[str]) -> "Ownership":
        """Returns the ownership after a person allowed these texts again."""
        if self.texts.isdisjoint(texts):
            return self
        written = frozenset(key for key in self.written if key[1] not in texts)
        buried = frozenset(key for key in self.buried if key[1] not in texts)
        return replace(self, written=written, buried=buried)

    def after(self, applied: Iterable[RecordedOp], *, source: str) -> "Ownership":
        """Returns the ownership after some more ops of this source."""
        record = Record("", "", "", source, "", tuple(applied))
        return replay([record], since=self)


# --- Replaying --------------------------------------------------------------------------------


def replay(records: Iterable[Record], *, since: Ownership | None = None) -> Ownership:
    """Returns the ownership after the records of one note, which are in the order of time."""
    if since is None and isinstance(records, tuple) and records:
        return _replay_cached(records)
    return _replay(records, since or Ownership())


_cache: tuple[tuple[tuple[Record, ...], Ownership], ...] = ()
"""Audits with their results, the latest first"""


def _replay_cached(records: tuple[Record, ...]) -> Ownership:
    """Replays only the records that were added to an audit since its last replay."""
    global _cache
    cache = _cache
    for index, (cached_records, ownership) in enumerate(cache):
        if not _continues(records, cached_records):
            continue
        ownership = _replay(records[len(cached_records) :], ownership)
        _cache = ((records, ownership), *cache[:index], *cache[index + 1 :])
        return ownership
    ownership = _replay(records, Ownership())
    _cache = ((records, ownership), *cache[: MOST - 1])
    return ownership


def _continues(records: tuple[Record, ...], earlier: tuple[Record, ...]) -> bool:
    """Returns whether the same objects begin both lists; comparing contents would take longer."""
    return len(earlier) <= len(records) and all(map(is_, earlier, records))


def _replay(records: Iterable[Record], since: Ownership) -> Ownership:
    state = _Replay(set(since.written), set(since.buried), set(since.recorded))
    for record in records:
        for applied in record.applied:
            state.apply(record, applied)
        if record.by_bot:
            for rejected in record.rejected:
                state.bury(rejected)
        for proposal in record.proposed:
            state.propose(record, proposal)
    return Ownership(frozenset(state.written), frozenset(state.buried), frozenset(state.recorded))


@dataclass(slots=True)
class _Replay:
    """The ownership between two records."""

    written: set[Key]
    buried: set[Key]
    recorded: set[Key]

    def apply(self, record: Record, applied: RecordedOp) -> None:
        """Follows an op that changed the note."""
        removed, added = _keys_of_change(applied)
        if record.by_bot:
            # A person's rule that the bot moved to the archive is still the person's.
            if applied.op.get("op") == "archive":
                own = {text for _, text in removed & self.written}
                added = _with_texts(added, own)
            self.written -= removed
            self.written |= added
            self.buried -= added
            self.recorded -= removed
            self.recorded |= added
        elif record.source in _FORGETTING:
            # Nobody decided about a line that retention removed, so it is not buried.
            self.written -= removed
            self.recorded -= removed
        else:
            self.written -= added
            self.buried -= added
            allowed = _allowed_texts(applied)
            self.recorded |= added
            self.recorded -= _with_texts(self.recorded, allowed)
            self.written -= _with_texts(self.written, allowed)
            self.buried -= _with_texts(self.buried, allowed)
            self.written |= _renamed_keys(self.written, applied)

    def bury(self, rejected: Rejected) -> None:
        """Moves the item of a rejected op to the deleted ones, when a person deleted it."""
        keys = _deleted_keys(rejected, self.written)
        self.written -= keys
        self.buried |= keys

    def propose(self, record: Record, proposal: Proposal) -> None:
        """Leaves the decision about a proposed line to the person."""
        gave_back = record.source in _GAVE_BACK
        if proposal.state != "open":
            return
        text = _new_text_of(proposal.op)
        if not gave_back and text is not None and text.place == "item":
            return
        self.written -= _written_keys(proposal.op)
        if gave_back:
            self.buried -= _with_texts(self.buried, texts_of(proposal.op))


def allow_again(text: str) -> RecordedOp:
    """Returns the op with which a person lets the bot write a deleted text again."""
    return RecordedOp({"op": "lift", "text": text}, "applied")


# --- Keys of items ----------------------------------------------------------------------------


def texts_of(value: object) -> frozenset[str]:
    """Returns the normalised texts that an op would write."""
    return frozenset(text for _, text in _written_keys(value))


def changed_texts(applied: RecordedOp) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the normalised texts of items that an op removed, and of those that it wrote."""
    removed, added = _keys_of_change(applied)
    return frozenset(text for _, text in removed), frozenset(text for _, text in added)


def mentioned_texts(applied: RecordedOp) -> frozenset[str]:
    """Returns the normalised texts of all items that an op in the audit names."""
    removed, added = _keys_of_change(applied)
    texts = {text for _, text in removed | added}
    return texts_of(applied.op) | texts | _allowed_texts(applied)


@lru_cache(maxsize=LINES)
def text_of_line(line: str) -> str:
    """Returns the normalised text of an item that is written with this line."""
    return normalised_text(said(line))


def _written_keys(value: object) -> set[Key]:
    """Returns the items that an op would write."""
    text = _new_text_of(value)
    return set() if text is None else _keys_of_lines(text.heading, text.lines)


def _new_text_of(value: object) -> NewText | None:
    op = op_of(value)
    return None if op is None else new_text(op)


def _keys_of_lines(heading: str, lines: Iterable[str]) -> set[Key]:
    return {(heading, text_of_line(line)) for line in lines}


def _keys_of_change(applied: RecordedOp) -> tuple[set[Key], set[Key]]:
    """Returns the items that an op removed, and those that it wrote."""
    # An edit of a text lists its items itself.
    if "wrote" in applied.op and applied.outcome == "applied":
        return listed_keys(applied.op.get("took")), listed_keys(applied.op["wrote"])
    removed: set[Key] = set()
    added: set[Key] = set()
    for effect in effects_of(applied):
        removed |= _keys_in(effect.heading, effect.removed)
        added |= _added_keys(effect)
    return removed, added


def _added_keys(effect: Effect) -> set[Key]:
    # Parsing the bytes takes longer, and a replay reads every record of the audit.
    if effect.lines:
        return _keys_of_lines(effect.heading, effect.lines)
    return _keys_in(effect.heading, effect.added)


def _keys_in(heading: str, raw: bytes) -> set[Key]:
    if not raw:
        return set()
    return {(heading, normalised_text(text)) for text in texts_in(raw)}


def listed_keys(value: object) -> set[Key]:
    """Returns the items in a JSON list of pairs; other values in it are ignored."""
    if not isinstance(value, list | tuple):
        return set()
    pairs = (pair for pair in value if isinstance(pair, list | tuple))
    return {(str(pair[0]), recognised(str(pair[1]))) for pair in pairs if len(pair) == 2}


def _deleted_keys(rejected: Rejected, written: set[Key]) -> set[Key]:
    """Returns the items that a rejection shows to be deleted by a person.

    When the item moved, all items with its text are returned.
    """
    text = _new_text_of(rejected.op)
    if rejected.reason != DELETED or text is None or text.place == "section":
        return set()
    keys = _keys_of_lines(text.heading, text.lines)
    return keys & written or _with_texts(written, {text for _, text in keys})


def _with_texts(keys: set[Key], texts: Set[str]) -> set[Key]:
    if not texts:
        return set()
    return {key for key in keys if key[1] in texts}


def _allowed_texts(applied: RecordedOp) -> set[str]:
    """Returns the text that `allow_again` names."""
    text = applied.op.get("text")
    if applied.op.get("op") != "lift" or not isinstance(text, str):
        return set()
    return {normalised_text(said(text))}


def _renamed_keys(written: Set[Key], applied: RecordedOp) -> set[Key]:
    """Returns the bot's items under the new names that a merge gave their sections."""
    if applied.op.get("op") != "merge" or applied.outcome != "applied":
        return set()
    renamed = applied.op.get("renamed")
    if not isinstance(renamed, Mapping):
        return set()
    return {(str(renamed[heading]), text) for heading, text in written if heading in renamed}
