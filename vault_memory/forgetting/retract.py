"""Removes items when a person asks a bot not to remember something.

The items are removed by ops: policy binds them, the audit log records them, and `undo` reverts them.
What a person wrote is only proposed for removal. `forget`, in contrast, is the act of a person and
leaves nothing in the history.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vault_memory.contract import as_json
from vault_memory.errors import NoteNotFound, NoteUnreadable, UsageError
from vault_memory.markdown import note_items
from vault_memory.markdown.document import parse
from vault_memory.rules.edits.ops import Remove
from vault_memory.rules.forgetting import matcher
from vault_memory.vault import reader

if TYPE_CHECKING:
    from vault_memory.contract.answers import RetractedJson
    from vault_memory.edits.calls import EditCalls, EditOptions
    from vault_memory.edits.edit_result import Edit
    from vault_memory.markdown.note_items import NoteItem
    from vault_memory.rules.forgetting.matcher import TextMatcher
    from vault_memory.search.calls import SearchCalls

MOST_ITEMS = 20
"""The most items that one call removes: a text in more items is too general"""
SAID = "it was said in a conversation; only the person's own `vault-memory forget` removes it"
NO_ITEM = "it is not in a list item; a person can edit it"
WAITS = "a person decides about it in INBOX"


class TooManyItems(UsageError):
    """Too many items match; be more specific. Nothing was changed."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"{count} items contain that text, and at most {MOST_ITEMS} are removed at once",
            hint="give more of the text",
        )


@dataclass(frozen=True, slots=True)
class RetractRemoved:
    """Items that were removed from a note."""

    place: str
    count: int
    audit_id: str | None
    """`undo` with this id restores them"""


@dataclass(frozen=True, slots=True)
class Proposed:
    """Items of a note whose removal waits for a person's decision."""

    place: str
    count: int
    inbox: str
    """The INBOX page with the proposals"""
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remaining:
    """A place where the text is still."""

    place: str
    why: str


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The result of `take_back`."""

    matches: int
    removed: tuple[RetractRemoved, ...]
    proposed: tuple[Proposed, ...]
    remaining: tuple[Remaining, ...]

    def as_json(self) -> "RetractedJson":
        """Returns the result with the keys that `forget` has in the JSON contract."""
        answer: RetractedJson = as_json(self)
        answer["remaining"] = as_json(self.remaining) or 0
        return answer


def take_back(
    edits: "EditCalls",
    searcher: "SearchCalls",
    text: str,
    *,
    scopes: Sequence[str],
    note: str | None = None,
    options: "EditOptions",
) -> TakenBack:
    """Removes the list items that contain `text` from one `note`, or from all notes of the scopes.

    The `expected` revision belongs to the one note. Raises TextTooShort, TooManyItems,
    NoteChanged, UsageError.
    """
    if options.expected is not None and note is None:
        raise UsageError("a revision is of one note", hint="name the note")
    text_matcher = matcher.TextMatcher.of(text)
    notes = [info for info in searcher.notes(scopes) if note in (None, info.note)]
    items_by_note = {
        info.note: _outermost_items(edits, info.note, text_matcher)
        for info in notes
        if info.kind != "transcript"
    }
    count = sum(map(len, items_by_note.values()))
    # Fault (H123): a note may talk a bot into a text so general that it is in every
    # item.
    if count > MOST_ITEMS:
        raise TooManyItems(count)
    results = [
        _remove(edits, path, items, options) for path, items in items_by_note.items() if items
    ]
    kinds = {info.note: info.kind for info in notes}
    results_by_note = {edit.note: edit for edit in results}
    remaining = _remaining(edits, kinds, text_matcher, results_by_note)
    return TakenBack(count, _removed(results), _proposed(edits, results), tuple(remaining))


def _outermost_items(
    edits: "EditCalls", note: str, text_matcher: "TextMatcher"
) -> "list[NoteItem]":
    """Returns the items of a note with the text, without those nested in another one."""
    raw = _read(edits, note)
    if isinstance(raw, str) or not text_matcher.is_in_bytes(raw):
        return []
    items: list[NoteItem] = []
    for item in note_items.items_of(parse(raw)):
        is_nested = bool(items) and _is_within(item, items[-1])
        # Fault: `[x] buy milk` and `3. May: Ann` name items by more than their text.
        line = item.own.decode("utf-8", "replace")
        if not is_nested and any(map(text_matcher.hides, (item.text, line))):
            items.append(item)
    return items


def _is_within(item: "NoteItem", outer: "NoteItem") -> bool:
    return item.section == outer.section and item.start < outer.end


def _remove(
    edits: "EditCalls", note: str, items: "list[NoteItem]", options: "EditOptions"
) -> "Edit":
    ops = [Remove(item.heading, _with_box(item), exact=True) for item in items]
    return edits.apply(note, ops, options)


def _with_box(item: "NoteItem") -> str:
    """Returns the words that name an item, and not one with another box and the same text."""
    return f"[{item.box}] {item.text}" if item.box.strip() else item.text


def _removed(results: "Sequence[Edit]") -> tuple[RetractRemoved, ...]:
    counts = [(edit, [op.outcome for op in edit.applied].count("applied")) for edit in results]
    return tuple(RetractRemoved(edit.note, count, edit.audit_id) for edit, count in counts if count)


def _proposed(edits: "EditCalls", results: "Sequence[Edit]") -> tuple[Proposed, ...]:
    inbox = edits.editor.inbox
    return tuple(
        Proposed(
            edit.note,
            len(edit.proposed),
            inbox.page_of(edit.note),
            tuple(op.id for op in edit.proposed),
        )
        for edit in results
        if edit.proposed
    )


def _remaining(
    edits: "EditCalls",
    kinds: dict[str, str],
    text_matcher: "TextMatcher",
    results: "dict[str, Edit]",
) -> Iterator[Remaining]:
    """Yields the notes that contain the text after the removal, each with the reason."""
    for note, kind in kinds.items():
        raw = _read(edits, note)
        if isinstance(raw, str):
            yield Remaining(note, f"perhaps: it cannot be read now: {raw}")
        elif text_matcher.is_in_bytes(raw):
            why = SAID if kind == "transcript" else _why_remaining(results.get(note))
            yield Remaining(note, why)


def _why_remaining(edit: "Edit | None") -> str:
    if edit is None:
        return NO_ITEM
    if edit.pending:
        reason = edit.pending[0].explanation
        return f"it is removed as soon as the note can be written: {reason}"
    if edit.proposed:
        return WAITS
    if edit.rejected:
        return f"the removal was refused: {edit.rejected[0].reason}"
    return NO_ITEM


def _read(edits: "EditCalls", note: str) -> bytes | str:
    """Returns the bytes of a note, none where it is absent; or the reason why it cannot be read."""
    try:
        return edits.vault.folder.read(note, max_bytes=reader.LARGEST_STORED).raw
    except NoteNotFound:
        # A person deleted the note after the listing.
        return b""
    except NoteUnreadable as error:
        return error.reason
