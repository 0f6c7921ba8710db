"""What a bot takes back when it is told that something should not be remembered: the items that say it are removed.

By ops that policy binds, the audit tells and `undo` reverts; what a person wrote waits for them in INBOX. That is not
`forget`, which a person asks for and which leaves nothing behind: here the history keeps what was removed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from vault_memory.errors import NoteNotFound, NoteUnreadable, UsageError
from vault_memory.lazy import lazy_module
from vault_memory.markdown.document import parse
from vault_memory.rules.edits.ops import Remove

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls, EditOptions
    from vault_memory.edits.edit_result import Edit
    from vault_memory.markdown import note_items
    from vault_memory.markdown.note_items import NoteItem
    from vault_memory.rules.forgetting import matcher
    from vault_memory.rules.forgetting.matcher import TextMatcher
    from vault_memory.search.calls import SearchCalls
    from vault_memory.vault import reader
else:
    note_items = lazy_module("vault_memory.markdown.note_items")
    matcher = lazy_module("vault_memory.rules.forgetting.matcher")
    reader = lazy_module("vault_memory.vault.reader")

MOST_ITEMS = 20
"""Of one call: a text that so many items say is too general"""
SAID = "it is what was said; only the person's own `vault-memory forget` takes it out"
NO_ITEM = "it stands outside of list items; a person can edit it"
WAITS = "a person decides about it in INBOX"


class TooManyItems(UsageError):
    """So many items say it that hardly all of them are meant; nothing was changed."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"{count} items say that, and at most {MOST_ITEMS} go at once",
            hint="give more of the text",
        )


@dataclass(frozen=True, slots=True)
class Removed:
    """Items that were removed from a note."""

    place: str
    count: int
    audit_id: str | None
    """`undo` brings them back"""


@dataclass(frozen=True, slots=True)
class Proposed:
    """Items of a note whose removal waits for a person."""

    place: str
    count: int
    inbox: str
    """the page on which they decide"""


@dataclass(frozen=True, slots=True)
class Remaining:
    """Where it still stands."""

    place: str
    why: str


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What became of a text that was to be taken back."""

    matches: int
    removed: tuple[Removed, ...]
    proposed: tuple[Proposed, ...]
    remaining: tuple[Remaining, ...]

    def as_json(self) -> dict[str, Any]:
        """With the keys that `forget` has in the JSON contract."""
        return {
            "matches": self.matches,
            "removed": [asdict(one) for one in self.removed],
            "proposed": [asdict(one) for one in self.proposed],
            "remaining": [asdict(one) for one in self.remaining] or 0,
        }


def take_back(
    edits: "EditCalls",
    searcher: "SearchCalls",
    text: str,
    *,
    scopes: Sequence[str],
    note: str | None = None,
    options: "EditOptions",
) -> TakenBack:
    """Remove the list items that say `text` from the notes of these scopes, or from one of them.

    The `expected` revision is of that one. Raises TextTooShort, TooManyItems, NoteChanged, UsageError.
    """
    if options.expected is not None and note is None:
        raise UsageError("a revision is of one note", hint="name the note")
    sought = matcher.TextMatcher.of(text)
    notes = [one for one in searcher.notes(scopes) if note in (None, one.note)]
    found = {
        one.note: items
        for one in notes
        if one.kind != "transcript"
        if (items := _items(edits, one.note, sought))
    }
    count = sum(map(len, found.values()))
    if count > MOST_ITEMS:
        raise TooManyItems(count)
    results = [_removed(edits, path, items, options) for path, items in found.items()]
    kinds = {one.note: one.kind for one in notes}
    return TakenBack(
        count,
        tuple(
            Removed(edit.note, done, edit.audit_id)
            for edit in results
            if (done := _done(edit))
        ),
        tuple(
            Proposed(
                edit.note, len(edit.proposed), edits.editor.inbox.page_of(edit.note)
            )
            for edit in results
            if edit.proposed
        ),
        tuple(_remaining(edits, kinds, sought, {edit.note: edit for edit in results})),
    )


def _items(edits: "EditCalls", note: str, sought: "TextMatcher") -> "list[NoteItem]":
    """The outermost items of a note that say it."""
    raw = _read(edits, note)
    if isinstance(raw, str) or not sought.is_in_bytes(raw):
        return []
    found: list[NoteItem] = []
    for item in note_items.items_of(parse(raw)):
        within = (
            bool(found)
            and found[-1].section == item.section
            and item.start < found[-1].end
        )
        if not within and sought.hides(item.text):
            found.append(item)
    return found


def _removed(
    edits: "EditCalls",
    note: str,
    items: "list[NoteItem]",
    options: "EditOptions",
) -> "Edit":
    ops = [Remove(item.heading, item.text, exact=True) for item in items]
    return edits.apply(note, ops, options)


def _done(edit: "Edit") -> int:
    return sum(one.outcome == "applied" for one in edit.applied)


def _remaining(
    edits: "EditCalls",
    kinds: dict[str, str],
    sought: "TextMatcher",
    results: "dict[str, Edit]",
) -> Iterator[Remaining]:
    """Where it stands after all that was done, and why."""
    for note, kind in kinds.items():
        raw = _read(edits, note)
        if isinstance(raw, str):
            yield Remaining(note, f"perhaps: it cannot be read now: {raw}")
        elif sought.is_in_bytes(raw):
            yield Remaining(
                note, SAID if kind == "transcript" else _why(results.get(note))
            )


def _why(edit: "Edit | None") -> str:
    if edit is None:
        return NO_ITEM
    if edit.pending:
        return f"it is removed as soon as the note can be written: {edit.pending[0].explanation}"
    if edit.proposed:
        return WAITS
    return (
        f"it was not to be removed: {edit.rejected[0].reason}"
        if edit.rejected
        else NO_ITEM
    )


def _read(edits: "EditCalls", note: str) -> bytes | str:
    """What a note says, nothing when it is gone; or the reason why it cannot be read."""
    try:
        return edits.vault.folder.read(note, max_bytes=reader.LARGEST_STORED).raw
    except NoteNotFound:
        return b""
    except NoteUnreadable as error:
        return error.reason
